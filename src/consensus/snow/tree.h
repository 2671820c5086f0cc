/* consensus/snow/tree.h - the undecided blocks, the votes on them, and what is decided.
 *
 *   L ─┬─ A ─┬─ C      L: the last accepted block. Every block with children has a flake (snow/flake.h) that decides
 *      │     └─ D      among them. A vote for C is one for A. The preference is a leaf: from L down, what each flake
 *      └─ B            prefers. Once L's flake is decided, its child is accepted and the others go.
 *
 * Pure: blocks and votes come in as arguments, what was accepted and rejected goes out as a list. A poll takes no
 * memory. Not done here: asking anybody, verifying, fetching.
 * Threading: confined. [spec:consensus#3] */
#ifndef CD_CONSENSUS_TREE_H
#define CD_CONSENSUS_TREE_H

#include "consensus/snow/flake.h"

typedef struct cd_snow_tree cd_snow_tree;

/* cd_snow_tree_new begins with no undecided block; params have passed cd_snow_params_check. */
cd_snow_tree *cd_snow_tree_new(const cd_snow_params *params, const cd_hash32 *last, u64 height)
    __attribute__((returns_nonnull));
void cd_snow_tree_free(cd_snow_tree *t); /* NULL is allowed */

/* cd_snow_tree_add makes a block undecided. user belongs to the caller, and comes back with the decision. Errors:
 * CD_ENOENT "unknown parent block", CD_EEXIST "duplicate add". */
cd_err cd_snow_tree_add(cd_snow_tree *t, const cd_hash32 *id, const cd_hash32 *parent, u64 height, void *user,
                        cd_errinfo *why) CD_CHECK;

/* A decision on a block. */
typedef struct cd_snow_decision {
    cd_hash32 id;
    void *user; /* as cd_snow_tree_add was given it */
    bool is_accepted;
} cd_snow_decision;

/* cd_snow_tree_poll counts the votes of a poll, k at most in sum, and gives the blocks that they decide, in order: each
 * accepted block is followed by those that were rejected for it, parents first. Borrowed until the next call. */
const cd_snow_decision *cd_snow_tree_poll(cd_snow_tree *t, u32 *cnt, const cd_snow_vote *votes, u32 vote_cnt);

/* cd_snow_tree_last gives the last accepted block. */
void cd_snow_tree_last(const cd_snow_tree *t, cd_hash32 *id, u64 *height);

/* cd_snow_tree_preference borrows the preferred leaf; the last accepted block when nothing is undecided. */
const cd_hash32 *cd_snow_tree_preference(const cd_snow_tree *t);

/* cd_snow_tree_preference_at gives the preferred block of a height; false: none is undecided there. */
bool cd_snow_tree_preference_at(const cd_snow_tree *t, cd_hash32 *id, u64 height);

/* cd_snow_tree_find tells whether a block is undecided, and gives its user (NULL allowed); _is_preferred whether it is
 * on the preferred branch. */
bool cd_snow_tree_find(const cd_snow_tree *t, void **user, const cd_hash32 *id);
bool cd_snow_tree_is_preferred(const cd_snow_tree *t, const cd_hash32 *id);

/* cd_snow_tree_parent gives the parent of an undecided block; false: it is not undecided. */
bool cd_snow_tree_parent(const cd_snow_tree *t, cd_hash32 *parent, const cd_hash32 *id);

/* cd_snow_tree_each calls fn with the user of every undecided block, in no particular order. */
void cd_snow_tree_each(const cd_snow_tree *t, void (*fn)(void *ctx, void *user), void *ctx);

/* cd_snow_tree_cnt counts the undecided blocks. */
u32 cd_snow_tree_cnt(const cd_snow_tree *t);

/* An undecided block, as the tree sees it. */
typedef struct cd_snow_view {
    cd_hash32 id;
    cd_hash32 parent;
    u64 height;
    u32 confidence; /* polls in a row that preferred it, if it is its parent's preferred child; otherwise 0 */
    bool is_preferred;
} cd_snow_view;

/* cd_snow_tree_look calls fn for every undecided block, in no particular order. */
void cd_snow_tree_look(const cd_snow_tree *t, void (*fn)(void *ctx, const cd_snow_view *v), void *ctx);

#endif
