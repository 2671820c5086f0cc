/* consensus/proposer/staking.h - whose certificate it is, and what its key has signed: all that the proposer rules know
 * of certificates. Who speaks TLS with peers implements it, by the same rules for both.
 *
 * Threading: shared. [spec:consensus#5] */
#ifndef CD_CONSENSUS_STAKING_H
#define CD_CONSENSUS_STAKING_H

#include "base/mem/buf.h"
#include "codec/ids.h"

typedef struct cd_staking cd_staking;
struct cd_staking {
    /* node_of reads a certificate (DER) and says whose it is. Errors: CD_EFORMAT and like. */
    cd_err (*node_of)(const cd_staking *s, cd_node_id *out, cd_bytes cert, cd_errinfo *why);
    /* check says whether sig is the signature of msg, hashed with SHA-256, by the key of a certificate. Errors:
     * CD_ESIG, those of node_of. */
    cd_err (*check)(const cd_staking *s, cd_bytes cert, cd_bytes msg, cd_bytes sig, cd_errinfo *why);
    /* sign appends the signature of msg by the key of this node. */
    cd_err (*sign)(const cd_staking *s, cd_buf *sig, cd_bytes msg, cd_errinfo *why);
    cd_bytes cert; /* this node's certificate, DER */
};

#endif
