/* finality/messages.h - what nodes say to each other to make blocks final: bytes, taken apart and put together.
 *
 *   u16 version 0 │ u8 kind │ chain │ M │ fields of the kind
 *
 * A message has one encoding and known lengths; what is read is borrowed. What it claims is not looked at here.
 * Threading: pure. [spec:finality#6] */
#ifndef CD_FINALITY_MESSAGES_H
#define CD_FINALITY_MESSAGES_H

#include "finality/cert/cert.h"

/* The handler's number in app messages of the P-Chain; bytes of encoded commitments, answers and of a tag with its
 * party; the most bytes of a message. */
enum {
    CD_FIN_HANDLER = 9630,
    CD_FIN_D_BYTES = 8 + CD_RT_ROWS * (8 + (1 + CD_RT_COMMITS) * CD_LPOLY_BYTES),
    CD_FIN_Z_BYTES = 8 + CD_RT_COLS * CD_LPOLY_BYTES,
    CD_FIN_TAG_BYTES = 36,
    CD_FIN_MESSAGE_MAX = CD_FIN_CERT_MAX + 128,
};

/* What is said. */
typedef enum cd_fin_kind {
    CD_FIN_SAYS_SHARE = 1,    /* a BLS signature of M */
    CD_FIN_SAYS_ROUND1 = 2,   /* commitments of a lattice session, a tag for each other party */
    CD_FIN_SAYS_ROUND2 = 3,   /* the answer */
    CD_FIN_SAYS_STAMP = 4,    /* an ML-DSA signature of M */
    CD_FIN_SAYS_CERT = 5,     /* a certificate */
    CD_FIN_SAYS_WANTED = 6,   /* a request: the certificate of M; M zero: the newest final one */
    CD_FIN_SAYS_KEY = 7,      /* an ML-DSA key, signed with the BLS key; chain and M are zero */
    CD_FIN_SAYS_NEXT_KEY = 8, /* one that takes the place of another, with its number */
} cd_fin_kind;

/* A message; a kind uses its fields and leaves the others empty. */
typedef struct cd_fin_says {
    cd_fin_kind kind;
    cd_hash32 chain;
    cd_fin_msg msg;
    cd_node_id node; /* 1, 4, 7, 8: whose */
    u64 session;     /* 2, 3 */
    u64 number;      /* 8: of the key, from 1 */
    u32 party;       /* 2, 3: index of the sender */
    cd_bytes bytes;  /* 1: BLS signature; 2: D; 3: z; 4: ML-DSA signature; 5: certificate; 7, 8: ML-DSA key */
    cd_bytes tags;   /* 2: CD_FIN_TAG_BYTES each, parties rising */
    cd_bytes proof;  /* 7, 8: BLS signature */
} cd_fin_says;

/* cd_fin_says_put appends the encoding; the ranges have the lengths of their kind.
 * cd_fin_says_read takes a message apart, which *out borrows from. Errors: CD_EFORMAT, CD_ESHORT, CD_ETRAIL,
 * CD_ELIMIT. */
void cd_fin_says_put(cd_buf *out, const cd_fin_says *s);
cd_err cd_fin_says_read(cd_fin_says *out, cd_bytes bytes) CD_CHECK;

/* cd_fin_key_text appends what a BLS key signs of an ML-DSA key: "mldsa", node ID, key, and the number unless it is 0.
 */
void cd_fin_key_text(cd_buf *out, const cd_node_id *node, const u8 key[CD_MLDSA_PK], u64 number);

#endif
