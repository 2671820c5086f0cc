/* finality/finality.h - the protocol by which validators make accepted blocks final, for all chains of a node.
 *
 *   accepted ──► own share ──► shares of others ──► two thirds: certificate by BLS
 *                                                     └ a checkpoint: own stamp ──► stamps of others ──► two thirds:
 *                                                                        certificate by BLS and ML-DSA: final
 *
 * Pure: blocks, messages, time and keys come in, messages and certificates go out. Nothing here delays a chain or takes
 * a block back. A block that is a checkpoint is so by the times of blocks alone, the same for all: the first of its
 * CD_FIN_SLOT_S, and the last one of a chain that stands still for as long. Who says what it must not say loses that
 * word for the block; each node speaks for itself only, once of each kind for a block. Bounds: CD_FIN_OPEN_MAX blocks of
 * a chain under way, CD_FIN_EARLY_MAX words of a node for blocks that are not here yet, CD_FIN_EARLY_BYTES of all.
 * Threading: confined. [spec:finality#1] [spec:finality#6] */
#ifndef CD_FINALITY_FINALITY_H
#define CD_FINALITY_FINALITY_H

#include "base/log/log.h"
#include "finality/epochs.h"
#include "finality/store.h"
#include "vm/signer.h"

enum {
    CD_FIN_SLOT_S = 3,
    CD_FIN_RESEND_S = 2,
    CD_FIN_GIVE_UP_S = 60,
    CD_FIN_OPEN_MAX = 256,
    CD_FIN_CHAINS = 64,
    CD_FIN_EARLY_MAX = 64,
    CD_FIN_EARLY_BYTES = 4 << 20,
};

typedef struct cd_fin cd_fin;

/* A certificate that has come to be. */
typedef struct cd_fin_news {
    cd_hash32 chain;
    cd_fin_mark mark;
    cd_bytes cert; /* borrowed */
} cd_fin_news;

/* Where it goes; calls come from the functions below. */
typedef struct cd_fin_out {
    void *ctx;
    void (*gossip)(void *ctx, cd_bytes message);                       /* to all validators of the primary network */
    void (*tell)(void *ctx, const cd_node_id *node, cd_bytes message); /* to one */
    void (*certified)(void *ctx, const cd_fin_news *news);
} cd_fin_out;

/* Who this node is; all of it borrowed. */
typedef struct cd_fin_cfg {
    cd_fin_epochs *epochs;
    cd_fin_store *store;
    cd_node_id self;
    const cd_vm_signer *signer; /* NULL: it signs nothing, and only collects */
    const u8 *mldsa_sk;         /* CD_MLDSA_SK bytes; NULL: it has no stamp */
    const u8 *mldsa_pk;
    cd_logger *log;
    cd_fin_out out;
} cd_fin_cfg;

/* cd_fin_new copies cfg; cd_fin_free: NULL is allowed. */
cd_fin *cd_fin_new(const cd_fin_cfg *cfg) __attribute__((returns_nonnull));
void cd_fin_free(cd_fin *f);

/* A block that was accepted just now; time_s of its parent says whether it is a checkpoint. */
typedef struct cd_fin_block {
    cd_hash32 chain;
    u64 height;
    cd_fin_msg m;
    u64 parent_time_s;
} cd_fin_block;

/* cd_fin_accepted begins to make a block final; blocks that were accepted long ago, while catching up, are not told. */
void cd_fin_accepted(cd_fin *f, const cd_fin_block *b, u64 now_ns);

/* cd_fin_hear takes what a node has said. False: it must not have said that. */
bool cd_fin_hear(cd_fin *f, const cd_node_id *from, cd_bytes message, u64 now_ns);

/* cd_fin_connected: somebody has come who may not know this node's key. */
void cd_fin_connected(cd_fin *f, const cd_node_id *node);

/* cd_fin_wake does what is due, and gives when to be called next (monotonic ns; UINT64_MAX: never). */
u64 cd_fin_wake(cd_fin *f, u64 now_ns);

/* How things stand, for metrics and health. */
typedef struct cd_fin_counts {
    u64 shares;  /* heard that counted */
    u64 refused; /* words that must not have been said */
    u64 by_bls;  /* certificates */
    u64 final;
    u64 given_up; /* blocks */
    usize open;
    usize early; /* words for blocks that are not here yet */
} cd_fin_counts;

/* cd_fin_counts_get gives them since the start. */
void cd_fin_counts_get(const cd_fin *f, cd_fin_counts *out);

#endif
