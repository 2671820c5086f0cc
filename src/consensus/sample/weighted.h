/* consensus/sample/weighted.h - draws one of many by weight, in a way that everybody who draws the same numbers agrees
 * on.
 *
 *   weights 1 2 3 4 5  ──►  heap, heaviest on top:      5(15)        a node: weight (sum of what hangs on it)
 *                                                      ╱     ╲
 *                                                   4(7)     3(3)    a number from [0, 15) walks down: 0..4 is the top,
 *                                                  ╱   ╲             5..11 goes left, 12..14 goes right
 *                                               2(2)   1(1)
 *
 * Randomness comes in as a source. Threading: pure; a set is frozen, a bag confined. [spec:consensus#6] */
#ifndef CD_CONSENSUS_WEIGHTED_H
#define CD_CONSENSUS_WEIGHTED_H

#include "base/table/hmap.h"

/* Where numbers come from: next draws 64 bits. */
typedef struct cd_draw {
    u64 (*next)(void *ctx);
    void *ctx;
} cd_draw;

/* cd_draw_upto gives a uniform number in [0, max]. */
u64 cd_draw_upto(const cd_draw *d, u64 max);

/* An element that can be drawn; a heap of them finds one by the sum of weights before it. */
typedef struct cd_weighted_node {
    u64 weight;
    u64 sum; /* sum of the weights in its subtree */
    u32 idx; /* index in the weights that were given */
} cd_weighted_node;

/* Elements to draw from, by weight. */
typedef struct cd_weighted {
    cd_weighted_node *heap;
    u32 cnt;
    u64 total;
} cd_weighted;

/* cd_weighted_init makes a set of cnt weights, fini releases it. Errors: CD_ERANGE when their sum does not fit; *w is
 * then empty. */
cd_err cd_weighted_init(cd_weighted *w, const u64 *weights, u32 cnt) CD_CHECK;
void cd_weighted_fini(cd_weighted *w);

/* cd_weighted_at gives the index that unit v falls on; v is less than the total weight. */
u32 cd_weighted_at(const cd_weighted *w, u64 v);

/* cd_weighted_pick draws one index; the total weight must not be 0. */
u32 cd_weighted_pick(const cd_weighted *w, const cd_draw *d);

/* A bag of units: what was drawn is not put back, so that an index comes up at most weight times. */
typedef struct cd_weighted_bag {
    const cd_weighted *set;
    cd_hmap moved; /* u64 -> u64: place in the bag -> the unit there, where that is not the place's own */
    u64 taken;
} cd_weighted_bag;

/* cd_weighted_bag_init begins with every unit in the bag; the set is borrowed. _next draws one; false: the bag is
 * empty. */
void cd_weighted_bag_init(cd_weighted_bag *b, const cd_weighted *set);
void cd_weighted_bag_fini(cd_weighted_bag *b);
bool cd_weighted_bag_next(cd_weighted_bag *b, u32 *idx, const cd_draw *d);

#endif
