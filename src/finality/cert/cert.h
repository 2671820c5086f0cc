/* finality/cert/cert.h - the certificate of a final block: its bytes, taken apart and put together.
 *
 *   version, type │ chain │ M: block, P-Chain height, time │ weights │ bits of the signers │ body
 *                                                                                 BLS │ threshold │ ML-DSA
 *
 * A certificate has exactly one encoding; what is read is borrowed from the bytes. Whether it is true, that is, what
 * finality/cert/verify.h says. Threading: pure. [spec:finality#2] */
#ifndef CD_FINALITY_CERT_H
#define CD_FINALITY_CERT_H

#include "base/mem/buf.h"
#include "codec/ids.h"
#include "crypto/bls/bls.h"
#include "crypto/lattice/ringtail.h"
#include "crypto/pq/mldsa.h"

/* The message that is signed, in bytes; the most validators of a set; the most bytes of a certificate, so that it fits
 * into a message between peers; the bytes of a node ID, and of a node ID with its ML-DSA signature. */
enum {
    CD_FIN_MSG_BYTES = 48,
    CD_FIN_VALIDATORS_MAX = 4096,
    CD_FIN_CERT_MAX = 2000000,
    CD_FIN_NODE_BYTES = 20,
    CD_FIN_MLDSA_BYTES = CD_FIN_NODE_BYTES + CD_MLDSA_SIG,
};

/* Which signatures a certificate holds. Final are CD_FIN_BOTH, and CD_FIN_MLDSA where there is no threshold key. */
typedef enum cd_fin_type {
    CD_FIN_BLS = 0,
    CD_FIN_LATTICE = 1,
    CD_FIN_BOTH = 2,
    CD_FIN_MLDSA = 3,
} cd_fin_type;

/* What is wrong with a certificate: rows of flaws.def. */
typedef enum cd_fin_flaw {
    CD_FLAW_NONE = 0,
#define X(name, sentence) CD_FLAW_##name,
#include "finality/cert/flaws.def"
#undef X
} cd_fin_flaw;

/* cd_fin_flaw_name gives the name of the row ("QUORUM"), cd_fin_flaw_text its sentence. Of CD_FLAW_NONE they
 * are "GOOD" and "good". */
const char *cd_fin_flaw_name(cd_fin_flaw flaw);
const char *cd_fin_flaw_text(cd_fin_flaw flaw);

/* M: what is signed of a block. */
typedef struct cd_fin_msg {
    cd_hash32 block;
    u64 height;  /* of the P-Chain in the block's proposer context */
    u64 time_ns; /* of the block, since 1970 */
} cd_fin_msg;

/* cd_fin_msg_enc writes the 48 bytes, cd_fin_msg_dec reads them. */
void cd_fin_msg_enc(u8 out[CD_FIN_MSG_BYTES], const cd_fin_msg *m);
void cd_fin_msg_dec(cd_fin_msg *out, const u8 bytes[CD_FIN_MSG_BYTES]);

/* A certificate; its ranges are borrowed. A type uses those of its row and leaves the others empty. */
typedef struct cd_fin_cert {
    cd_fin_type type;
    cd_hash32 chain;
    cd_fin_msg msg;
    u64 total;        /* weights as the certificate has them: claims, which verifying compares */
    u64 signed_by;    /* weight of those in bits */
    cd_bytes bits;    /* bit i of byte i / 8, lowest first: whether validator i signed; of type 1, took part */
    cd_bytes bls;     /* types 0, 2, 3: CD_BLS_SIG_LEN bytes */
    cd_bytes parties; /* types 1, 2: node IDs of those who took part, CD_FIN_NODE_BYTES each; nothing signs this list */
    cd_bytes lattice; /* types 1, 2: CD_RT_SIG_BYTES, see cd_rt_sig_put */
    cd_bytes mldsa;   /* type 3: CD_FIN_MLDSA_BYTES each */
} cd_fin_cert;

/* cd_fin_cert_parse takes bytes apart, which the certificate borrows from. Gives what is wrong with them, up to BODY;
 * then *out is undefined. */
cd_fin_flaw cd_fin_cert_parse(cd_fin_cert *out, cd_bytes bytes) CD_CHECK;

/* cd_fin_cert_put appends the encoding; zero bytes at the end of bits are left out. The caller has made the ranges of
 * the lengths above. */
void cd_fin_cert_put(cd_buf *out, const cd_fin_cert *cert);

/* cd_fin_bit says whether bit i is set; bits that the set does not reach are not. */
CD_INLINE bool cd_fin_bit(cd_bytes bits, usize i)
{
    return i / 8 < bits.n && (bits.p[i / 8] >> (i % 8) & 1) != 0;
}

/* cd_fin_is_final says whether a certificate of this type makes a block final once it is verified. */
CD_INLINE bool cd_fin_is_final(cd_fin_type type)
{
    return type == CD_FIN_BOTH || type == CD_FIN_MLDSA;
}

#endif
