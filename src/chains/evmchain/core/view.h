/* chains/evmchain/core/view.h - the accepted chain at one moment, frozen: what every reading request is answered from.
 *
 *   executor ── accept ──► new view ──publish──► cd_view_newest ◄── any thread takes a reference
 *
 * A view holds a snapshot of the store and the decoded head; nothing in it changes, so a request sees one consistent
 * chain however long it takes, and needs no lock. Blocks and receipts of the newest heights come from memory.
 * All views are given back before the chain closes.
 * Threading: frozen; references are counted atomically. [spec:style#B6] */
#ifndef CD_CHAINS_EVMCHAIN_VIEW_H
#define CD_CHAINS_EVMCHAIN_VIEW_H

#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/core/world/reader.h"

typedef struct cd_view cd_view;

/* An accepted block with its receipts, senders recovered; shared and frozen. */
typedef struct cd_accepted {
    cd_block block;
    cd_bytes rlp;
    cd_receipt *receipts; /* one a transaction */
    bool is_bare;         /* what the transactions came to is not kept: the receipts say what the block says */
} cd_accepted;

/* cd_view_newest gives the view of the last accepted block, a reference of the caller's. Any thread. */
cd_view *cd_view_newest(cd_chain *c) __attribute__((returns_nonnull));
cd_view *cd_view_ref(cd_view *v) __attribute__((returns_nonnull)); /* one more */
void cd_view_unref(cd_view *v);                                    /* NULL is allowed */

/* What the chain is, its genesis and its head; borrowed from the view. */
const cd_chain_rules *cd_view_rules(const cd_view *v);
const cd_hash32 *cd_view_genesis(const cd_view *v);
const cd_accepted *cd_view_head(const cd_view *v);

/* cd_view_epoch counts the truncations of a development network (evm_revert and like); 0 elsewhere. */
u64 cd_view_epoch(const cd_view *v);

/* cd_view_block gives an accepted block of a height; the result is borrowed from the view's memory or lies in the
 * arena. _by_hash the one of a hash, _tx the one that holds a transaction, and its place. Errors: CD_ENOENT, those
 * of the store. */
cd_err cd_view_block(cd_view *v, const cd_accepted **out, cd_arena *a, u64 number) CD_CHECK;
cd_err cd_view_block_by_hash(cd_view *v, const cd_accepted **out, cd_arena *a, const cd_hash32 *hash) CD_CHECK;
cd_err cd_view_tx(cd_view *v, const cd_accepted **out, usize *idx, cd_arena *a, const cd_hash32 *hash) CD_CHECK;

/* cd_view_blocks gives cnt blocks from a height up; those that lie in one run of empty blocks are computed in one
 * go. Errors: as cd_view_block. */
cd_err cd_view_blocks(cd_view *v, const cd_accepted **out, cd_arena *a, u64 from, usize cnt) CD_CHECK;

/* cd_view_run tells whether a height lies in a run of empty blocks, which a development network has, and gives the
 * first of them. Walks leave such runs out, since each of their blocks alone is computed from the run's beginning. */
bool cd_view_run(cd_view *v, u64 *first, u64 number);

/* cd_view_recent gives the block of a height, or of a hash, if it is in memory, else NULL; borrowed from the view. */
const cd_accepted *cd_view_recent(const cd_view *v, u64 number);
const cd_accepted *cd_view_recent_by_hash(const cd_view *v, const cd_hash32 *hash);

/* cd_view_first gives the lowest height from which on all blocks are in memory. */
u64 cd_view_first(const cd_view *v);

/* cd_view_header is cd_view_block without transactions and receipts; cd_view_hash the hash of a height. */
cd_err cd_view_header(cd_view *v, cd_header *out, cd_arena *a, u64 number) CD_CHECK;
cd_err cd_view_hash(cd_view *v, cd_hash32 *out, u64 number) CD_CHECK;

/* cd_view_child gives what the block of a height decides for its child: fees (eth_feeConfig), coinbase. Errors: as
 * cd_view_source_init. */
cd_err cd_view_child(cd_view *v, cd_child_rules *out, cd_arena *a, u64 number) CD_CHECK;

/* A reader of the state after an accepted block, ancestors' hashes included; confined to its user. */
typedef struct cd_view_source {
    cd_world_reader world; /* first: the EVM is given the address of its src */
    cd_view *view;
    cd_state_source store;         /* reads what is not known */
    cd_state_source *other;        /* who answers in its place, or NULL */
    struct cd__known_hash *hashes; /* of ancestors asked for before */
} cd_view_source;

/* cd_view_source_init reads as after block number, which is not above the head; what was read last of the head's
 * state is remembered for all. Errors: CD_EMISSING when that state is not kept any more. */
cd_err cd_view_source_init(cd_view_source *s, cd_view *v, u64 number) CD_CHECK;
void cd_view_source_fini(cd_view_source *s);

/* cd_view_source_init_quick is cd_view_source_init for the head's state, for a thread that may not wait: reads that
 * have to go to the disk end with CD_EAGAIN. Errors: CD_EAGAIN for other states, and where the store cannot tell. */
cd_err cd_view_source_init_quick(cd_view_source *s, cd_view *v, u64 number) CD_CHECK;

/* cd_view_account reads an account as after the head. One that does not exist is empty.
 * may_wait: the disk may be read, else CD_EAGAIN where it would have to be. */
cd_err cd_view_account(cd_view *v, cd_account *out, const cd_addr20 *addr, bool may_wait) CD_CHECK;

/* cd_view_source_stand_for has other answer in place of s, which stays open: the state behind a block that is not
 * accepted (development network). */
void cd_view_source_stand_for(cd_view_source *s, cd_state_source *other);

/* cd_view_oldest_state gives the lowest height whose state is kept. */
u64 cd_view_oldest_state(const cd_view *v);

/* cd_view_floor gives the lowest height from which on all blocks have receipts: behind the block to which the state was
 * synced, 0 where it was not. Below it blocks may be bare, or missing. */
u64 cd_view_floor(const cd_view *v);

/* cd_view_kv borrows the frozen store, for indices and proofs. */
cd_kv *cd_view_kv(cd_view *v);

#endif
