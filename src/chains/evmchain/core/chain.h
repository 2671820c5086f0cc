/* chains/evmchain/core/chain.h - one EVM chain on its store: accepted blocks, state, and blocks on their way in.
 *
 *   bytes ──parse──► block ──verify──► view of its state ──accept──► tables, state, head: one atomic batch ──► new view
 *   pool  ──build──►   "                                 └─drop
 *
 * Rules come from the genesis and the upgrade file (chain_rules.h); nothing here knows of consensus or JSON-RPC.
 * Whoever only reads takes a view (view.h). Threading: confined to the executor. [spec:evm-chain#1]
 * [spec:evm-chain#6] */
#ifndef CD_CHAINS_EVMCHAIN_CHAIN_H
#define CD_CHAINS_EVMCHAIN_CHAIN_H

#include "chains/evmchain/core/ext.h"
#include "chains/evmchain/core/pool/pool.h"
#include "chains/evmchain/core/rules/chain_rules.h"
#include "chains/evmchain/core/rules/header_l1.h"
#include "chains/evmchain/core/transfers.h"
#include "chains/evmchain/core/world/proof.h"
#include "chains/evmchain/core/world/world.h"
#include "evm/transition.h"
#include "precompile/warp_verify.h"
#include "types/block.h"
#include "types/receipt.h"

typedef struct cd_chain cd_chain;

/* A block with transactions that is accepted or taken back, as an index sees it. */
typedef struct cd_chain_entry {
    const cd_block *block;
    const cd_receipt *receipts;
    const cd_transfer *transfers; /* inside its transactions, creations too; NULL: not known */
    usize transfer_cnt;
} cd_chain_entry;

/* Something that is written and removed together with blocks, in their batch (the log index). cut and end may be
 * NULL. */
typedef struct cd_chain_index {
    void (*put)(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b);
    /* The chain goes back: cut once, to which height, then del for each block with transactions, whose transfers are
     * not known. */
    void (*cut)(void *ctx, cd_kv_batch *batch, u64 height);
    void (*del)(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b);
    void (*end)(void *ctx); /* the chain closes: every view is given back */
    bool wants_transfers;
    void *ctx;
} cd_chain_index;

/* What a chain is opened with. */
typedef struct cd_chain_cfg {
    cd_kv *kv;         /* borrowed */
    cd_bytes genesis;  /* JSON document */
    cd_bytes upgrades; /* upgrade file; empty = none */
    cd_bytes airdrop;  /* file that the genesis names by its hash; looked at in a fresh store only */
    /* The network: see cd_chain_rules_cfg. */
    const cd_upgrade_times *network;
    u32 network_id;
    cd_hash32 blockchain_id;
    cd_module_addrs addrs;
    bool is_dev;
    bool is_ethereum;        /* the laboratory: Ethereum's own layout and rules, whatever the genesis selects */
    const cd_chain_ext *ext; /* what extra data of blocks does; NULL: they have none; borrowed */
    bool skip_upgrade_check; /* go on with another configuration than the stored one whatever it changes */
    cd_pool *pool;           /* workers for hashing and signatures; NULL = inline */
    cd_kv_sync sync;         /* how durable an accepted block is when accept returns */
    u64 commit_interval;     /* these six: see cd_world_cfg */
    usize trie_bytes;
    usize cache_bytes;
    u64 history;
    u64 summaries;
    bool preimages;
    const cd_addr20 *fee_recipient; /* coinbase of blocks built here, where the rules leave it free; NULL = none */
    cd_warp_host *warp;             /* who can check predicates; NULL = nobody, they fail */
    const cd_chain_index *index;    /* NULL = none; borrowed */
    u64 warp_quorum_min;            /* these two: see cd_chain_rules_cfg */
    bool unverified;
} cd_chain_cfg;

/* A block that is not accepted yet, with what its verification found. */
typedef struct cd_chain_block cd_chain_block;
struct cd__accepted;
struct cd_world_frozen;
struct cd_chain_block {
    cd_block block;
    cd_bytes rlp;
    cd_dev_record dev;            /* development network: what no rule gives */
    u64 pchain_height;            /* of the block's context, for predicates; set by who has one before verify */
    cd_receipt *receipts;         /* once verified */
    cd_world_view *view;          /* once verified; the world owns it */
    cd_chain_block *parent;       /* NULL: the accepted head */
    bool has_body_stored;         /* bytes and transaction index were written ahead of acceptance */
    cd_arena arena;               /* everything above, until it is accepted */
    const cd_transfer *transfers; /* once verified, if an index wants them */
    usize transfer_cnt;
    struct cd__accepted *accepted; /* then what holds it */
    struct cd__run_plan *run;      /* empty blocks that come before it; NULL: none */
    cd_chain_block *next;          /* all blocks of the chain object */
};

/* cd_chain_open opens the chain in cfg->kv, or makes it from the genesis when there is none.
 * Errors: CD_EINVAL on a bad genesis or upgrade file, or when either contradicts what the chain has run with
 * [spec:evm-chain#7]; CD_EFOREIGN when the store belongs to another genesis; those of the store. */
cd_err cd_chain_open(cd_chain **out, const cd_chain_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_chain_close(cd_chain *c); /* NULL is allowed */

/* cd_chain_add_index lets one more index (borrowed) hear of every block from now on. Blocks on their way in count as
 * not verified. */
void cd_chain_add_index(cd_chain *c, const cd_chain_index *index);

/* cd_chain_publish makes a new view of what the store holds now: for who wrote to it beside the chain. Errors: the
 * store's; the last view stays then. */
cd_err cd_chain_publish(cd_chain *c, cd_errinfo *why) CD_CHECK;

/* cd_chain_adopted stands at the block whose state was put in place (adopt.h). Blocks on their way in count as not
 * verified. Errors: the store's, CD_ECORRUPT: the chain is of no use then. */
cd_err cd_chain_adopted(cd_chain *c, cd_errinfo *why) CD_CHECK;

/* What the chain is, and its last accepted block (borrowed until the next accept). */
const cd_chain_rules *cd_chain_rules_of(const cd_chain *c);
const cd_block *cd_chain_head(const cd_chain *c);
void cd_chain_genesis_hash(const cd_chain *c, cd_hash32 *out);

/* cd_chain_child gives what the head decides for its child: fees, coinbase. Errors: the store's. */
cd_err cd_chain_child(cd_chain *c, cd_child_rules *out) CD_CHECK;

/* cd_chain_world_stats gives the state's figures for metrics. */
void cd_chain_world_stats(cd_chain *c, cd_world_stats *out);

/* --- accepted blocks, for the executor itself --- */

/* cd_chain_block_at / _by_hash give an accepted block, senders included; it lies in the arena or is borrowed until
 * the chain moves. size (NULL allowed) is that of its RLP. Errors: CD_ENOENT. */
cd_err cd_chain_block_at(cd_chain *c, cd_block *out, usize *size, cd_arena *a, u64 number) CD_CHECK;
cd_err cd_chain_block_by_hash(cd_chain *c, cd_block *out, usize *size, cd_arena *a, const cd_hash32 *hash) CD_CHECK;

/* --- state and execution --- */

/* cd_chain_source_init makes a reader of the accepted state, ancestors' hashes included; end with
 * cd_world_source_fini. */
typedef struct cd_chain_source {
    cd_world_source world; /* first: the EVM is given the address of its src */
    cd_chain *chain;
    cd_chain_block *parent; /* the block whose state is read; NULL = the accepted head */
} cd_chain_source;
void cd_chain_source_init(cd_chain_source *s, cd_chain *c, cd_chain_block *parent);

/* cd_chain_freeze copies the state behind b, whose parent is the head, for readers on other threads
 * (world/frozen.h). */
cd_err cd_chain_freeze(cd_chain *c, struct cd_world_frozen **out, const cd_chain_block *b,
                       cd_state_source *base) CD_CHECK;

/* cd_chain_prove proves an account of the accepted state and cnt of its slots, as cd_world_prove does. */
cd_err cd_chain_prove(cd_chain *c, cd_world_proof *out, cd_arena *a, const cd_addr20 *addr, const cd_hash32 *keys,
                      usize cnt, cd_errinfo *why) CD_CHECK;

/* cd_chain_next_header_as gives the header of the block that would be built on the head by a wish (roots and gas used
 * left zero; extra lies in the arena). Errors: those of cd_header_make_l1, the store's. */
cd_err cd_chain_next_header_as(cd_chain *c, cd_header *out, cd_arena *a, const cd_header_wish *wish,
                               cd_errinfo *why) CD_CHECK;

/* --- blocks on their way in --- */

/* cd_chain_parse decodes and checks form; _parse_as also takes the dev record of a block that another development
 * network made. Errors: the decoders', CD_ESIG, CD_EINVAL with the words of [spec:evm-chain#1]. */
cd_err cd_chain_parse(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why) CD_CHECK;
cd_err cd_chain_parse_as(cd_chain *c, cd_chain_block **out, cd_bytes rlp, const cd_dev_record *dev,
                         cd_errinfo *why) CD_CHECK;

/* cd_chain_stored makes one of an accepted block, which is not checked again. Errors: CD_ENOENT, the store's. */
cd_err cd_chain_stored(cd_chain *c, cd_chain_block **out, const cd_hash32 *hash) CD_CHECK;

/* What a build goes by. */
typedef struct cd_build_cfg {
    cd_header_wish wish;
    cd_chain_block *parent; /* verified; NULL: the head */
    u64 pchain_height;      /* of the block's context */
    bool may_be_empty;      /* development network: a block without transactions will do */
    bool no_pool;           /* and none are taken from the pool */
    cd_tracer *tracer;      /* sees its transactions run; NULL = none */
} cd_build_cfg;

/* cd_chain_build makes a block on the head from what the pool (NULL: none) holds, executed and ready to accept;
 * _build_as with wishes. What the parent and its ancestors that are not accepted have taken from the pool is left out.
 * Errors: CD_ENOENT when there is nothing to put in, CD_EINVAL when what there is does not make a valid block. */
cd_err cd_chain_build(cd_chain *c, cd_chain_block **out, cd_txpool *pool, u64 time, cd_errinfo *why) CD_CHECK;
cd_err cd_chain_build_as(cd_chain *c, cd_chain_block **out, cd_txpool *pool, const cd_build_cfg *cfg,
                         cd_errinfo *why) CD_CHECK;

/* cd_chain_why_no_block appends in words why a build at that time gives nothing, or that it gives a block. */
cd_err cd_chain_why_no_block(cd_chain *c, cd_buf *words, cd_txpool *pool, u64 time) CD_CHECK;

/* cd_chain_verify executes a parsed block on its parent. Errors: CD_EINVAL with what is wrong, CD_ENOENT when the
 * parent is neither the head nor verified. now_ms is the wall clock in Unix milliseconds. */
cd_err cd_chain_verify(cd_chain *c, cd_chain_block *b, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_chain_verify_on is cd_chain_verify for who knows the verified parent (NULL: the head). A verified block only has
 * its predicates checked again, for b->pchain_height may have changed. cd_chain_needs_context: it has predicates. */
cd_err cd_chain_verify_on(cd_chain *c, cd_chain_block *b, cd_chain_block *parent, u64 now_ms, cd_errinfo *why) CD_CHECK;
bool cd_chain_needs_context(const cd_chain *c, const cd_chain_block *b);

/* cd_chain_accept makes a verified block, whose parent is the head, the head. Its siblings, and what stands on them,
 * count as not verified from then on. In two steps, for who commits more in the same write: cd_chain_accept_put appends
 * what accepting b writes to batch, which is for the chain's kv, and changes nothing; cd_chain_accepted follows once
 * that is committed, with no other call in between. */
cd_err cd_chain_accept(cd_chain *c, cd_chain_block *b, cd_errinfo *why) CD_CHECK;
cd_err cd_chain_accept_put(cd_chain *c, cd_chain_block *b, cd_kv_batch *batch, cd_errinfo *why) CD_CHECK;
cd_err cd_chain_accepted(cd_chain *c, cd_chain_block *b, cd_errinfo *why) CD_CHECK;

/* cd_chain_reject forgets what verifying b left, if it was; what stands on it counts as not verified. cd_chain_drop
 * rejects and frees b, which every parsed or built block needs once. */
void cd_chain_reject(cd_chain *c, cd_chain_block *b);
void cd_chain_drop(cd_chain *c, cd_chain_block *b);

/* cd_chain_recover fills in the senders of transactions, on the pool's threads. Errors: CD_ESIG. */
cd_err cd_chain_recover(cd_pool *pool, cd_tx *txs, usize cnt, cd_errinfo *why) CD_CHECK;

/* cd_chain_find gives a block on its way in by hash, or NULL. */
cd_chain_block *cd_chain_find(cd_chain *c, const cd_hash32 *hash);

/* --- development network --- */

/* cd_chain_edit lets change alter the state after the head, outside of any block, and makes it durable: reads at the
 * head see it, the next block executes on it. Blocks on their way in count as not verified. An error of change is
 * returned and leaves nothing. [spec:dev-rpc#1.1] */
typedef cd_err cd_chain_change(void *ctx, cd_state *st, cd_errinfo *why);
cd_err cd_chain_edit(cd_chain *c, cd_chain_change *change, void *ctx, cd_errinfo *why) CD_CHECK;

/* cd_chain_version names the present moment: the head and the edits after it. */
u64 cd_chain_version(const cd_chain *c);

/* cd_chain_truncate takes chain, receipts, indices and state back to a version that cd_chain_version gave, or to
 * cd_world_version_of a height: to that block with every edit after it. One batch; a new epoch begins.
 * Errors: CD_EMISSING when that state is not kept, CD_EUNSUPPORTED when a block on the way has extra data (what it did
 * elsewhere cannot be taken back), the store's. */
cd_err cd_chain_truncate(cd_chain *c, u64 version, cd_errinfo *why) CD_CHECK;

/* cd_chain_build_run makes cnt (2 or more) empty blocks on the head, interval seconds apart, as one object: the last of
 * them, which brings the others as a run; verified. wish is for the first. Errors: CD_EUNSUPPORTED when the rules
 * change on the way (make single blocks then), CD_EINVAL, the store's. [spec:dev-rpc#3.2] */
cd_err cd_chain_build_run(cd_chain *c, cd_chain_block **out, u64 cnt, u64 interval, const cd_header_wish *wish,
                          cd_errinfo *why) CD_CHECK;

/* cd_chain_mine_empty makes and accepts cnt (1 or more) empty blocks on the head, interval seconds apart, for who has
 * no engine above the chain (laboratory, tests); wish is for the first of them. A crash may leave fewer. Errors: as
 * build and accept. */
cd_err cd_chain_mine_empty(cd_chain *c, u64 cnt, u64 interval, const cd_header_wish *wish, cd_errinfo *why) CD_CHECK;

#endif
