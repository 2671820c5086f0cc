/* consensus/snow/snowman_priv.h - between the parts of the engine.
 *
 *   snowman.c   the seat: life, what peers say, building
 *   intake.c    blocks on their way in: pending, fetched, verified, issued
 *   query.c     who is asked, votes, decisions
 *
 * Threading: confined. */
#ifndef CD_CONSENSUS_SNOWMAN_PRIV_H
#define CD_CONSENSUS_SNOWMAN_PRIV_H

#include "base/table/hmap.h"
#include "base/table/lru.h"
#include "consensus/sample/voters.h"
#include "consensus/snow/mutant_priv.h"
#include "consensus/snow/poll.h"
#include "consensus/snow/snowman.h"
#include "consensus/snow/tree.h"

/* How many questions that belong to no poll are remembered; answers to older ones are ignored. */
enum { ASIDES = 32 };

typedef struct peer {
    bool has_accepted;
    cd_hash32 accepted; /* the peer's last accepted block, by its own word */
    u32 pending_cnt;
    u32 fetch_cnt;
    u64 pending_bytes;
} peer;

/* A block that waits for its parent, held once. */
typedef struct pending {
    cd_vm_block *block;
    cd_node_id from;
} pending;

typedef struct fetch {
    cd_node_id from;
    u32 request;
} fetch;

/* A vote for a block that is still to come. */
typedef struct waiting {
    cd_node_id node;
    u32 request;
    cd_hash32 options[2];
} waiting;

typedef struct aside {
    cd_node_id node;
    u32 request; /* 0: none */
} aside;

/* The validators at one height of the P-Chain. */
typedef struct electorate {
    cd_voters voters;
    bool is_counted; /* connected is up to date */
    u64 connected;   /* weight of the validators that are connected, this node included */
} electorate;

typedef struct snowman {
    cd_engine engine; /* first */
    cd_snowman_cfg cfg;
    cd_vm *vm;
    cd_snow_tree *tree; /* user: cd_vm_block *, held once */
    cd_snow_polls *polls;
    cd_hmap peers;   /* cd_node_id -> peer */
    cd_hmap pending; /* cd_hash32 -> pending */
    cd_hmap fetches; /* cd_hash32 -> fetch */
    u64 pending_bytes;
    cd_lru *invalid; /* cd_hash32 -> cd_hash32 *: parents of blocks that did not verify */
    waiting *waiting;
    u32 waiting_cnt;
    u32 waiting_cap;
    cd_vm_block **ready; /* blocks whose parents have come */
    u32 ready_cnt;
    u32 ready_cap;
    aside asides[ASIDES];
    u32 aside_at;
    electorate who;
    cd_kv_batch batch;
    u32 request;
    bool is_due; /* the VM wants a block */
    bool is_halted;
} snowman;

CD_INLINE snowman *snowman_of(cd_engine *e)
{
    return (snowman *)(void *)e;
}

/* --- intake.c --- */

/* cd__snowman_issue takes over a use of a block that a peer sent, or of one that was built here (from: NULL,
 * is_ours). */
void cd__snowman_issue(snowman *s, cd_vm_block *b, const cd_node_id *from, bool is_ours);

/* cd__snowman_fetch asks a peer for a block unless it is here or on its way. */
void cd__snowman_fetch(snowman *s, const cd_hash32 *id, const cd_node_id *from);

/* cd__snowman_is_coming tells whether a block may still become an undecided one. */
bool cd__snowman_is_coming(const snowman *s, const cd_hash32 *id);

/* cd__snowman_above gives the parent of a block that is not undecided, if it is known; a vote for the block counts for
 * that parent. */
bool cd__snowman_above(const snowman *s, cd_hash32 *parent, const cd_hash32 *id);

/* cd__snowman_end_fetch ends a fetch, and gives the ID that was asked for; false: there was no such fetch. */
bool cd__snowman_end_fetch(snowman *s, cd_hash32 *id, const cd_node_id *from, u32 request);

/* cd__snowman_abandon releases everything that waits for a block that will not come. */
void cd__snowman_abandon(snowman *s, const cd_hash32 *id);

/* cd__snowman_mend asks again for parents that nobody was asked for, or releases the blocks that wait for them. */
void cd__snowman_mend(snowman *s);

/* cd__snowman_forget drops what a peer was asked for, and the blocks that are kept for it. */
void cd__snowman_forget(snowman *s, const cd_node_id *node);

/* --- query.c --- */

/* cd__snowman_query asks k validators about a block; is_shown sends the block along. */
void cd__snowman_query(snowman *s, const cd_hash32 *id, cd_bytes block, bool is_shown);

/* cd__snowman_repoll starts polls about the preference as long as a block is undecided and too few polls run. */
void cd__snowman_repoll(snowman *s);

/* cd__snowman_aside asks one connected validator about our preference. */
void cd__snowman_aside(snowman *s);

/* cd__snowman_vote counts the vote of a node for the first of two IDs that is, or leads to, an undecided block; a vote
 * for a block that is still to come waits for it. */
void cd__snowman_vote(snowman *s, const cd_node_id *node, u32 request, const cd_hash32 options[2]);
void cd__snowman_drop(snowman *s, const cd_node_id *node, u32 request);

/* cd__snowman_settle counts votes whose blocks have come, ends polls, applies what they decide, and tells the VM its
 * preference. */
void cd__snowman_settle(snowman *s);

#endif
