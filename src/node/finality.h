/* node/finality.h - the node's seat of finality: a thread that makes accepted blocks of the primary network final with
 * other validators, and what is known of it.
 *
 *   chains' executors ── blocks ──►┐                        ┌──► sender of the P-Chain ──► peers
 *   P-Chain's executor ─ messages ►┤ queues ══► thread ─────┤
 *                                  ┘   (finality/finality)  └──► store ──► info.finality, info.getFinalityCertificate
 *
 * Chains never wait for it: what finds no room among CD_NODE_FINALITY_ITEMS and CD_NODE_FINALITY_BYTES is dropped, and
 * said again by whoever wants an answer. Threading: shared, but for what says otherwise. [spec:finality#6] */
#ifndef CD_NODE_FINALITY_H
#define CD_NODE_FINALITY_H

#include "base/log/metrics.h"
#include "finality/finality.h"
#include "finality/keys.h"
#include "node/peers/inbox.h"

enum {
    CD_NODE_FINALITY_ITEMS = 8192,
    CD_NODE_FINALITY_BYTES = 16 << 20,
    CD_NODE_FINALITY_PBLOCKS = 1 << 20, /* blocks of the P-Chain that wait to be looked at, while it catches up */
};

typedef struct cd_node_finality cd_node_finality;

/* What it stands on; all of it outlives it. */
typedef struct cd_node_finality_cfg {
    cd_kv *store;
    const cd_clock *clock;
    cd_logger *log;
    const cd_vm_validators *validators;
    const cd_vm_signer *signer; /* NULL: the node signs nothing, and only collects */
    const u8 *mldsa_seed;       /* CD_MLDSA_SEED bytes; NULL: it has no stamp */
    const cd_fin_group *group;  /* the dealt threshold key; NULL: none */
    const cd_rt_share *share;   /* this node's share of it; NULL: none */
    cd_node_id self;
    u32 network_id;
    bool wants_threshold; /* chains are told of threshold signatures alone, not of the ML-DSA ones in their place */
    cd_metrics *metrics;  /* NULL: none are kept */
} cd_node_finality_cfg;

/* cd_node_finality_new starts the thread. _stop ends it, once, while the chains are still there. _free: after the
 * chains, NULL is allowed. Errors: those of cd_fin_epochs_open, CD_EAGAIN. */
cd_err cd_node_finality_new(cd_node_finality **out, const cd_node_finality_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_node_finality_stop(cd_node_finality *f);
void cd_node_finality_free(cd_node_finality *f);

/* --- of the P-Chain, on its executor --- */

/* cd_node_finality_speak says through whom the thread speaks: NULL before that ends. cd_node_finality_ear is what hears
 * peers. */
void cd_node_finality_speak(cd_node_finality *f, const cd_vm_sender *sender);
const cd_inbox_ear *cd_node_finality_ear(const cd_node_finality *f);

/* cd_node_finality_open tells all accepted blocks that were not told yet; cd_node_finality_pblock one more. Errors: the
 * VM's. */
cd_err cd_node_finality_open(cd_node_finality *f, cd_vm *vm, cd_errinfo *why) CD_CHECK;
void cd_node_finality_pblock(cd_node_finality *f, u64 height, u64 time_s);

/* --- of any chain --- */

/* cd_node_finality_chain has checkpoints name a chain; any thread. */
void cd_node_finality_chain(cd_node_finality *f, const char *name, const cd_hash32 *id);

/* cd_node_finality_block has a block that was accepted just now made final. */
void cd_node_finality_block(cd_node_finality *f, const cd_hash32 *chain, u64 height, const cd_fin_msg *msg);

/* cd_node_finality_hear has hear(ctx, …) told each further final block of a chain, as an app message of kind 5
 * (decisions.md D 22); on the thread, so that it must be quick. False: it could not take it, and is told the newest
 * again soon. NULL: nobody is told any more, when this returns. cd_node_finality_last appends the message about the
 * newest one that is known. Errors: CD_ENOENT, the store's. */
typedef bool cd_node_finality_told(void *ctx, cd_bytes message);
void cd_node_finality_hear(cd_node_finality *f, const cd_hash32 *chain, cd_node_finality_told *hear, void *ctx);
cd_err cd_node_finality_last(cd_node_finality *f, cd_buf *message, const cd_hash32 *chain) CD_CHECK;

/* --- what is known --- */

/* A block with a certificate. */
typedef struct cd_node_final cd_node_final;
struct cd_node_final {
    bool is_there;
    cd_hash32 block;
    u64 height;
    cd_fin_type type;
};

/* cd_node_finality_get gives the highest block of a chain that two thirds have signed since the start, and the highest
 * final one. Any thread. */
void cd_node_finality_get(cd_node_finality *f, cd_node_final *by_bls, cd_node_final *final, const cd_hash32 *chain);

/* What is going on: who signs in the newest epoch, and how far the newest blocks of a chain are. */
typedef struct cd_node_finality_now {
    u64 epoch;
    u64 from;  /* the P-Chain height that it begins at */
    u64 total; /* weight of all */
    u32 cnt;   /* validators, 0: no epoch is known */
    u32 keyed; /* that have announced an ML-DSA key */
    bool has_group;
    bool is_set_signed; /* by the set before, by ML-DSA as well */
    cd_node_id *nodes;  /* cnt each, in the order of bits; freed by cd_node_finality_now_fini */
    u64 *weights;
    u32 row_cnt;
    cd_finality_row rows[CD_FINALITY_ROWS]; /* newest first */
} cd_node_finality_now;

/* cd_node_finality_look fills it; any thread. cd_node_finality_mark gives a number that changes when rows do. */
void cd_node_finality_look(cd_node_finality *f, cd_node_finality_now *out, const cd_hash32 *chain);
void cd_node_finality_now_fini(cd_node_finality_now *n);
u64 cd_node_finality_mark(cd_node_finality *f, const cd_hash32 *chain);

/* cd_node_finality_report appends what pages for people show of a chain, as JSON (finality_report.c). Any thread. */
void cd_node_finality_report(cd_node_finality *f, cd_buf *out, const cd_hash32 *chain);

/* cd_node_finality_checkpoint appends what somebody needs to check certificates by himself: the newest epoch with its
 * set (finality/cert/epoch.h). Errors: CD_ENOENT while there is none. */
cd_err cd_node_finality_checkpoint(cd_node_finality *f, cd_buf *out) CD_CHECK;

/* cd_node_finality_changes appends the signed changes of the set since an epoch: none when it is the newest, or when
 * the next one is not signed yet. One list at a time is made; the last one is kept. Errors: CD_ENOENT as above;
 * CD_EMISSING for an epoch that is not known here. */
cd_err cd_node_finality_changes(cd_node_finality *f, cd_buf *out, u64 epoch) CD_CHECK;

/* cd_node_finality_cert appends the certificate of a block, _cert_at that of a height. Errors: CD_ENOENT, the
 * store's. */
cd_err cd_node_finality_cert(const cd_node_finality *f, cd_buf *out, const cd_hash32 *chain,
                             const cd_hash32 *block) CD_CHECK;
cd_err cd_node_finality_cert_at(const cd_node_finality *f, cd_buf *out, const cd_hash32 *chain, u64 height) CD_CHECK;

#endif
