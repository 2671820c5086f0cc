/* chains/evmchain/chain.h - one EVM chain on its store: accepted blocks, state, and blocks on their way in.
 *
 *   bytes ──parse──► block ──verify──► view of its state ──accept──► tables, state, head: one atomic batch
 *   pool  ──build──►   "                                 └─drop
 *
 * Rules come from the genesis (chain_rules.h); nothing here knows of consensus or JSON. Threading: confined to the
 * executor. [spec:evm-chain#1] [spec:evm-chain#6] */
#ifndef CD_CHAINS_EVMCHAIN_CHAIN_H
#define CD_CHAINS_EVMCHAIN_CHAIN_H

#include "chains/evmchain/chain_rules.h"
#include "chains/evmchain/pool.h"
#include "chains/evmchain/world/world.h"
#include "evm/transition.h"
#include "types/block.h"
#include "types/receipt.h"

typedef struct cd_chain cd_chain;

typedef struct cd_chain_cfg {
    cd_kv *kv;           /* borrowed */
    cd_bytes genesis;    /* JSON document */
    cd_pool *pool;       /* workers for hashing and signatures; NULL = inline */
    cd_kv_sync sync;     /* how durable an accepted block is when accept returns */
    bool allow_empty;    /* dev network: blocks without transactions are valid */
    u64 commit_interval; /* see cd_world_cfg */
    bool
        is_ethereum; /* the laboratory: Ethereum's own layout and rules, whatever the genesis selects */
} cd_chain_cfg;

/* A block that is not accepted yet, with what its verification found. */
typedef struct cd_chain_block cd_chain_block;
struct cd_chain_block {
    cd_block block;
    cd_bytes rlp;
    cd_receipt *receipts;   /* once verified */
    cd_world_view *view;    /* once verified; the world owns it */
    cd_chain_block *parent; /* NULL: the accepted head */
    bool has_body_stored;   /* bytes and transaction index were written ahead of acceptance */
    cd_arena arena;         /* everything above */
    cd_chain_block *next;   /* all blocks of the chain object */
};

/* cd_chain_open opens the chain in cfg->kv, or makes it from the genesis when there is none.
 * Errors: CD_EINVAL on a bad genesis, CD_EFOREIGN when the store belongs to another genesis, those of the store. */
cd_err cd_chain_open(cd_chain **out, const cd_chain_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_chain_close(cd_chain *c); /* NULL is allowed */

/* What the chain is, and its last accepted block (borrowed until the next accept). */
const cd_chain_rules *cd_chain_rules_of(const cd_chain *c);
const cd_block *cd_chain_head(const cd_chain *c);
void cd_chain_genesis_hash(const cd_chain *c, cd_hash32 *out);

/* --- accepted blocks ---------------------------------------------------------------------------- */

/* cd_chain_block_at / _by_hash read an accepted block into the arena; senders are not recovered. size (NULL allowed) is
 * that of its RLP. Errors: CD_ENOENT. */
cd_err cd_chain_block_at(cd_chain *c, cd_block *out, usize *size, cd_arena *a, u64 number) CD_CHECK;
cd_err cd_chain_block_by_hash(cd_chain *c, cd_block *out, usize *size, cd_arena *a,
                              const cd_hash32 *hash) CD_CHECK;

/* cd_chain_receipts reads the receipts of an accepted block. */
cd_err cd_chain_receipts(cd_chain *c, cd_receipt **out, cd_arena *a,
                         const cd_block *block) CD_CHECK;

/* cd_chain_tx finds an accepted transaction: its block and place. Errors: CD_ENOENT. */
cd_err cd_chain_tx(cd_chain *c, cd_block *block, usize *idx, cd_arena *a,
                   const cd_hash32 *hash) CD_CHECK;

/* --- state and execution ------------------------------------------------------------------------- */

/* cd_chain_source_init makes a reader of the accepted state, ancestors' hashes included; end with
 * cd_world_source_fini. */
typedef struct cd_chain_source {
    cd_world_source world; /* first: the EVM is given the address of its src */
    cd_chain *chain;
    cd_chain_block *parent; /* the block whose state is read; NULL = the accepted head */
} cd_chain_source;
void cd_chain_source_init(cd_chain_source *s, cd_chain *c, cd_chain_block *parent);

/* cd_chain_env fills in what byte code sees of a block; cd_chain_next_header the header of the block that would be
 * built on the head at time (roots and gas used left zero; extra lies in the arena). */
void cd_chain_env(const cd_chain *c, cd_block_env *out, const cd_header *h);
cd_err cd_chain_next_header(cd_chain *c, cd_header *out, cd_arena *a, u64 time) CD_CHECK;

/* --- blocks on their way in ---------------------------------------------------------------------- */

/* cd_chain_parse decodes and checks form; cd_chain_build makes a block on the head from what the pool holds, executed and
 * ready to accept. Errors of build: CD_ENOENT when there is nothing to put in. */
cd_err cd_chain_parse(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why) CD_CHECK;
cd_err cd_chain_build(cd_chain *c, cd_chain_block **out, cd_txpool *pool, u64 time,
                      cd_errinfo *why) CD_CHECK;

/* cd_chain_verify executes a parsed block on its parent. Errors: CD_EINVAL with what is wrong, CD_ENOENT when the parent
 * is neither the head nor verified. now is the wall clock in seconds. */
cd_err cd_chain_verify(cd_chain *c, cd_chain_block *b, u64 now, cd_errinfo *why) CD_CHECK;

/* cd_chain_accept makes a verified block, whose parent is the head, the head. Its siblings, and what stands on them, count
 * as not verified from then on. cd_chain_drop ends b, which every parsed or built block needs once; what stands on a
 * verified, not accepted b counts as not verified. */
cd_err cd_chain_accept(cd_chain *c, cd_chain_block *b, cd_errinfo *why) CD_CHECK;
void cd_chain_drop(cd_chain *c, cd_chain_block *b);

/* cd_chain_recover fills in the senders of transactions, on the pool's threads. Errors: CD_ESIG. */
cd_err cd_chain_recover(cd_pool *pool, cd_tx *txs, usize cnt, cd_errinfo *why) CD_CHECK;

/* cd_chain_find gives a block on its way in by hash, or NULL. */
cd_chain_block *cd_chain_find(cd_chain *c, const cd_hash32 *hash);

#endif
