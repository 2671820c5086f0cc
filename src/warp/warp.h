/* warp/warp.h - Warp messages of one chain on one node: what this node signs, and signatures of others.
 *
 *   accepted block ── put ──► messages ─┐
 *   configuration ────────────────────► ├─► sign ──► BLS key of the node ──► signature, remembered
 *   the VM: judge (blocks, claims) ───► ┘     ▲
 *                                             ├── peers: handler 2 (ACP-118)
 *                                             └── methods: service.h            collect.h: the other direction
 *
 * Nothing is signed but what the chain itself said, the operator put into the configuration, or the VM judges true: a
 * signature is a statement to other chains. Messages are rows of the chain's own store, written with the block: each
 * was paid for by gas and stands in a receipt, too. Threading: confined to the chain's executor; put, del: pure.
 * [spec:warp#8] [spec:p2p#12] */
#ifndef CD_WARP_WARP_H
#define CD_WARP_WARP_H

#include "store/kv.h"
#include "types/warp.h"
#include "vm/gossip/gossip.h"
#include "warp/sets.h"

typedef struct cd_warp cd_warp;

/* cd_warp_judge says whether a message that is none of the chain's own is true, given its justification: 0, or the code
 * of a refusal (above 0, or CD_P2P_APP_UNEXPECTED) with its words in why. */
typedef i32 cd_warp_judge(void *ctx, const cd_warp_unsigned *m, cd_bytes justification, cd_errinfo *why);

/* What it is made of; borrowed, but for off_chain. */
typedef struct cd_warp_cfg {
    const cd_vm_ctx *ctx; /* network, chain, net, node, signer, validators, clock, metrics */
    cd_kv *kv;            /* where the chain's messages are; NULL: it sends none */
    cd_gossip *gossip;
    cd_warp_judge *judge;
    void *judge_ctx;
    const cd_bytes *off_chain; /* messages of the configuration, checked; copied */
    usize off_chain_cnt;
} cd_warp_cfg;

enum {
    CD_WARP_CACHE_MAX = 500,  /* signatures that are remembered */
    CD_WARP_PEER_ASKS = 2000, /* requests of one peer that are answered in CD_WARP_WINDOW_S seconds */
    CD_WARP_SIGNS_MAX = 5000, /* signatures that are made for all peers in that time */
    CD_WARP_WINDOW_S = 10,
};

/* cd_warp_new registers the handler of signature requests. cd_warp_free: before the gossip is freed; NULL is
 * allowed. */
cd_warp *cd_warp_new(const cd_warp_cfg *cfg) __attribute__((returns_nonnull));
void cd_warp_free(cd_warp *w);

/* cd_warp_put appends the row of a message that an accepted block sends, cd_warp_del its removal. */
void cd_warp_put(cd_kv_batch *batch, cd_bytes message);
void cd_warp_del(cd_kv_batch *batch, cd_bytes message);

/* cd_warp_find finds a message of this chain, or of the configuration, by its ID. Errors: CD_ENOENT, the store's. */
cd_err cd_warp_find(const cd_warp *w, cd_buf *out, const cd_hash32 *id) CD_CHECK;

/* cd_warp_sign signs a message if it is to be signed: 0, or the code of the refusal with its words. */
i32 cd_warp_sign(cd_warp *w, u8 out[CD_WARP_SIG_LEN], cd_bytes message, cd_bytes justification, cd_errinfo *why);

/* cd_warp_block_message appends the message that attests an accepted block. */
void cd_warp_block_message(const cd_warp *w, cd_buf *out, const cd_hash32 *block);

/* cd_warp_sets_of borrows the validator sets; shared with all threads. cd_warp_ctx borrows the VM's context. */
cd_warp_sets *cd_warp_sets_of(cd_warp *w);
const cd_vm_ctx *cd_warp_ctx(const cd_warp *w);

/* cd_warp_wake does what is due and gives when to be called next (monotonic ns, UINT64_MAX: no need). */
u64 cd_warp_wake(cd_warp *w);

#endif
