/* types/cert.h - the certificate that names a node: read strictly, its ID, signatures checked with its key.
 *
 * Only what identifies the node is looked at: neither names nor dates nor who signed it. Error texts are the
 * original's; which certificates are read decides who is a node, so this is a rule of consensus.
 * Threading: pure. [spec:p2p#1.1] */
#ifndef CD_TYPES_CERT_H
#define CD_TYPES_CERT_H

#include "codec/ids.h"

enum { CD_CERT_LEN_MAX = 2048, CD_CERT_KEY_MAX = 512 };

/* Types of keys, and what cd_cert.key holds for them. */
typedef enum cd_cert_kind {
    CD_CERT_RSA,  /* key: the modulus, big-endian, 2048 or 4096 bits; the exponent is 65537 */
    CD_CERT_P256, /* key: x || y */
} cd_cert_kind;

/* What is read of a peer's certificate. */
typedef struct cd_cert {
    cd_node_id node_id;
    cd_cert_kind kind;
    u32 key_len;
    u8 key[CD_CERT_KEY_MAX];
} cd_cert;

/* cd_cert_node_id hashes a certificate (DER) to the ID of its node. */
void cd_cert_node_id(cd_node_id *out, cd_bytes der);

/* cd_cert_parse reads a certificate. Errors, with the original's words: CD_ELIMIT (longer than CD_CERT_LEN_MAX),
 * CD_EFORMAT, CD_EKEY (of an algorithm or a size that is not allowed). */
cd_err cd_cert_parse(cd_cert *out, cd_bytes der, cd_errinfo *why) CD_CHECK;

/* cd_cert_check checks the certificate's signature of msg. Errors: CD_ESIG. */
cd_err cd_cert_check(const cd_cert *cert, cd_bytes msg, cd_bytes sig, cd_errinfo *why) CD_CHECK;

#endif
