/* finality/messages.h - what validators say to each other about final blocks, inside app messages of the P-Chain.
 *
 *   u16 version 0 │ u8 kind │ 32 chain of the block │ 48 M │ fields of the kind
 *
 * Integers are big-endian; a message has one form. What is parsed borrows from the bytes. Threading: pure.
 * [spec:finality#6] */
#ifndef CD_FINALITY_MESSAGES_H
#define CD_FINALITY_MESSAGES_H

#include "finality/cert/cert.h"

/* The number of the handler under which they travel (p2p/sdk.h). */
enum { CD_FIN_HANDLER = 9630 };

/* Kinds; 2 and 3 are the two rounds of a lattice session. */
typedef enum cd_fin_kind {
    CD_FIN_SHARE = 1,    /* node, a BLS signature of M */
    CD_FIN_STAMP = 4,    /* node, an ML-DSA signature of M */
    CD_FIN_CERT = 5,     /* a certificate */
    CD_FIN_ANNOUNCE = 7, /* node, its ML-DSA key, a BLS signature that says so; chain and M are zero */
} cd_fin_kind;

/* A message; ranges are borrowed. */
typedef struct cd_fin_message {
    cd_fin_kind kind;
    cd_hash32 chain;
    cd_fin_msg m;
    cd_node_id node; /* kinds 1, 4, 7 */
    cd_bytes sig;    /* 1: CD_BLS_SIG_LEN bytes; 4: CD_MLDSA_SIG; 7: CD_BLS_SIG_LEN */
    cd_bytes key;    /* 7: CD_MLDSA_PK bytes */
    cd_bytes cert;   /* 5 */
} cd_fin_message;

/* cd_fin_message_parse reads a whole message. Errors: CD_EVERSION, CD_EUNSUPPORTED (another kind), CD_ESHORT,
 * CD_ETRAIL. */
cd_err cd_fin_message_parse(cd_fin_message *out, cd_bytes bytes, cd_errinfo *why) CD_CHECK;

/* cd_fin_message_put appends one; the ranges have the lengths above. */
void cd_fin_message_put(cd_buf *out, const cd_fin_message *m);

/* cd_fin_announce_text appends what an announcement signs: "mldsa" ‖ node ‖ key. */
void cd_fin_announce_text(cd_buf *out, const cd_node_id *node, cd_bytes key);

#endif
