/* chains/evmchain/core/chain_priv.h - the chain object as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_CHAIN_PRIV_H
#define CD_CHAINS_EVMCHAIN_CHAIN_PRIV_H

#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/core/view_priv.h"

/* Hashes of the newest accepted blocks, by number modulo the size; BLOCKHASH reaches 256 back. */
enum { CD__CHAIN_RECENT = 512, CD__BLOCKHASH_REACH = 256, CD__CHAIN_INDICES = 4 };

struct cd_chain {
    cd_chain_cfg cfg;
    cd_chain_rules rules;
    cd_addr20 fee_recipient; /* where cfg.fee_recipient points */
    cd_world *world;
    cd_evm *evm;
    cd_state *st;
    cd__views views; /* the head is the newest of its blocks */
    cd_hash32 genesis;
    cd_hash32 recent[CD__CHAIN_RECENT];
    u64 recent_from; /* hashes of [recent_from, head] are in recent */
    cd_chain_block *blocks;
    const cd_chain_index *indices[CD__CHAIN_INDICES];
    usize index_cnt;
    cd_transfers *transfers; /* NULL: nobody wants them */
};

/* cd__genesis_make builds the genesis block and its state as a view in the world of c. cd__genesis_digest gives what
 * two documents of the same genesis have in common, whatever their configurations. */
cd_err cd__genesis_make(cd_chain *c, cd_chain_block *out, const cd_genesis *g, cd_errinfo *why) CD_CHECK;
void cd__genesis_digest(cd_hash32 *out, const cd_genesis *g);

/* cd__chain_parent finds the header of b's parent: the head, or a verified block (*block, else NULL). */
cd_err cd__chain_parent(cd_chain *c, const cd_header **header, cd_chain_block **block, const cd_hash32 *hash) CD_CHECK;

/* cd__chain_decode makes a block of its bytes; senders are not recovered. */
cd_err cd__chain_decode(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why) CD_CHECK;

/* cd__chain_check_form checks what can be seen of a block alone. Errors: CD_EINVAL. */
cd_err cd__chain_check_form(const cd_chain *c, const cd_block *b, cd_errinfo *why) CD_CHECK;

/* cd__chain_watch lets the transactions of a block be seen by tracer (NULL: by nobody), and their transfers be
 * recorded where an index wants them: idx is the place of the one that comes next. cd__chain_unwatch ends it, b
 * keeps what was recorded. */
void cd__chain_watch(cd_chain *c, cd_tracer *tracer);
void cd__chain_watch_tx(cd_chain *c, usize idx);
void cd__chain_unwatch(cd_chain *c, cd_chain_block *b);

/* cd__chain_add_paid adds what extra data paid to the tips of a block, saturating. */
void cd__chain_add_paid(cd_u256 *tips, const cd_u256 *paid);

/* cd__chain_put appends all that an accepted block leaves beside the state. */
void cd__chain_put(const cd_chain *c, cd_kv_batch *batch, const cd_chain_block *b);

/* The run that a block brings: what accepting it writes before the block itself (_put), and makes known (_install);
 * _plan_free, NULL is allowed. */
void cd__run_plan_put(const struct cd__run_plan *p, cd_kv_batch *batch);
void cd__run_plan_install(cd_chain *c, struct cd__run_plan *p);
void cd__run_plan_free(struct cd__run_plan *p);

/* cd__chain_advance makes b, which is accepted in the store, the head in memory and publishes a view. What b holds is
 * shared from then on. cd__chain_share does only the sharing. */
cd_err cd__chain_advance(cd_chain *c, cd_chain_block *b, cd_errinfo *why) CD_CHECK;
struct cd__accepted *cd__chain_share(cd_chain_block *b) __attribute__((returns_nonnull));

/* cd__chain_reload makes the accepted block of a hash the head in memory; _remember notes the hash of a new head. */
cd_err cd__chain_reload(cd_chain *c, const cd_hash32 *hash) CD_CHECK;
void cd__chain_remember(cd_chain *c, u64 number, const cd_hash32 *hash);

/* cd__chain_forget_pending makes every block on its way in count as not verified: the state they stand on is gone. */
void cd__chain_forget_pending(cd_chain *c);

cd_chain_block *cd__chain_block_new(cd_chain *c);
void cd__chain_block_free(cd_chain *c, cd_chain_block *b);

#endif
