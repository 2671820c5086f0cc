/* p2p/identity.h - who this node is: its staking certificate and key, and its BLS signer, from files or made.
 *
 *   staker.crt, staker.key   TLS, signatures of addresses and blocks; the node's ID is the hash of the certificate
 *   signer.key               32 bytes: the BLS secret that validators register with a proof of possession
 *
 * What is missing is made on the first start, readable for its owner only. Keys are secret: nothing here is logged.
 * Threading: frozen once open. [spec:p2p#1] */
#ifndef CD_P2P_IDENTITY_H
#define CD_P2P_IDENTITY_H

#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "crypto/bls/bls.h"
#include "crypto/x509/x509.h"
#include "types/cert.h"

/* Who this node is to its peers. */
typedef struct cd_p2p_identity {
    cd_node_id node_id;
    cd_buf cert;     /* DER */
    cd_buf cert_pem; /* the text of the file */
    cd_secret key_pem;
    cd_signkey *key;
    cd_secret bls; /* holds a cd_bls_sk */
    u8 bls_public[CD_BLS_PK_LEN];
    u8 bls_pop[CD_BLS_SIG_LEN]; /* proof of possession */
} cd_p2p_identity;

/* Paths of the files. NULL: the keys are in memory only, and gone with the process. cert and key are both given or both
 * NULL. */
typedef struct cd_p2p_identity_files {
    const char *cert;
    const char *key;
    const char *signer;
} cd_p2p_identity_files;

/* cd_p2p_identity_open reads the files, after making those that are missing (their folders too); a certificate is made
 * only when there is no key. now_ns is the wall clock. Errors: those of files, CD_EFORMAT, CD_EKEY (key and
 * certificate do not belong together, or no key for staking), those of cd_cert_parse. */
cd_err cd_p2p_identity_open(cd_p2p_identity *out, cd_fs *fs, const cd_p2p_identity_files *files, u64 now_ns,
                            cd_errinfo *why) CD_CHECK;

/* cd_p2p_identity_of takes the contents instead: PEM texts and the 32 bytes of the signer (empty: made). Errors: as
 * above without those of files. */
cd_err cd_p2p_identity_of(cd_p2p_identity *out, cd_bytes cert_pem, cd_bytes key_pem, cd_bytes signer,
                          cd_errinfo *why) CD_CHECK;

/* cd_p2p_identity_close wipes and releases the keys; {0} is allowed. */
void cd_p2p_identity_close(cd_p2p_identity *id);

#endif
