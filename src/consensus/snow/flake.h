/* consensus/snow/flake.h - one decision among children of a block: a snowflake over the bits of their IDs.
 *
 *   two choices that differ at bit 5:   unary [0,5) ──► binary 5 ─┬─ 0 ─► unary [6,256)
 *                                                                 └─ 1 ─► unary [6,256)
 *
 * Bits count from the least significant one of each byte. Every node has a preference and a confidence of its own; a
 * poll walks down the side that reaches the quorum. A node that is decided is replaced by what is below it, so that
 * the decision is made when the root is decided. Votes are looked at in place: a poll takes no memory.
 * Threading: confined. [spec:consensus#2] */
#ifndef CD_CONSENSUS_FLAKE_H
#define CD_CONSENSUS_FLAKE_H

#include "base/bytes.h"
#include "consensus/snow/params.h"

/* A number of votes for one ID. */
typedef struct cd_snow_vote {
    cd_hash32 id;
    u32 cnt;
} cd_snow_vote;

/* cd_snow_bit gives bit i of an ID; cd_snow_first_diff the first bit in [from, to) at which two differ, or to. */
CD_INLINE u32 cd_snow_bit(const cd_hash32 *id, u32 i)
{
    return ((u32)id->b[i / 8] >> (i % 8)) & 1u;
}
u32 cd_snow_first_diff(const cd_hash32 *a, const cd_hash32 *b, u32 from, u32 to);

/* A node of the trie over the bits of the IDs; see flake.c. */
typedef struct cd_flake_node {
    bool is_binary;
    bool is_final;
    bool should_reset[2]; /* a unary node uses the first */
    u8 side;              /* binary: the preferred one */
    u16 decided;          /* unary: its first bit; binary: its bit */
    u16 common;           /* unary: the bit behind its last */
    u32 confidence;
    u32 child[2];         /* a unary node uses the first */
    cd_hash32 prefers[2]; /* the choice that each side prefers; a unary node uses the first */
} cd_flake_node;

/* A decision. */
typedef struct cd_flake {
    cd_flake_node *nodes;
    u32 cnt;
    u32 cap;
    u32 root;
    bool should_reset;
} cd_flake;

/* cd_flake_init begins with one choice, cd_flake_fini releases the memory. */
void cd_flake_init(cd_flake *f, const cd_hash32 *choice);
void cd_flake_fini(cd_flake *f);

/* cd_flake_add adds a choice; one that contradicts what is decided is ignored. */
void cd_flake_add(cd_flake *f, const cd_hash32 *choice);

/* cd_flake_poll counts votes, whose order it changes, and tells whether there was a quorum. */
bool cd_flake_poll(cd_flake *f, const cd_snow_params *p, cd_snow_vote *votes, u32 cnt);

/* cd_flake_fail counts a poll without a quorum. */
CD_INLINE void cd_flake_fail(cd_flake *f)
{
    f->should_reset = true;
}

/* cd_flake_preference borrows the preferred choice until the next change; cd_flake_is_final tells whether it is decided
 * on. */
const cd_hash32 *cd_flake_preference(const cd_flake *f);
bool cd_flake_is_final(const cd_flake *f);

/* cd_flake_confidence gives the polls in a row that have gone for the preferred side of the first open decision. */
u32 cd_flake_confidence(const cd_flake *f);

#endif
