/* consensus/proposer/windower.h - whose turn it is to propose a block.
 *
 *   parent's time ──┬── slot 0 ──┬── slot 1 ──┬── slot 2 ──► …      5 seconds each, one validator each, for ever
 *
 * Who has a slot follows from the chain, the height of the block and the validators at its parent's P-Chain height, so
 * every node finds the same. Sets that were asked for are remembered. Threading: confined. [spec:consensus#6] */
#ifndef CD_CONSENSUS_WINDOWER_H
#define CD_CONSENSUS_WINDOWER_H

#include "vm/validators.h"

enum {
    CD_WINDOW_S = 5,            /* length of a slot in seconds */
    CD_WINDOW_LOOK_AHEAD = 720, /* slots that are searched for a node's turn */
};

typedef struct cd_windower cd_windower;

/* cd_windower_new makes the schedule of a chain of a network. validators is borrowed; NULL: nobody validates. */
cd_windower *cd_windower_new(const cd_vm_validators *validators, const cd_hash32 *subnet, const cd_hash32 *chain)
    __attribute__((returns_nonnull));
void cd_windower_free(cd_windower *w); /* NULL is allowed */

/* The place of a block in the schedule. */
typedef struct cd_window {
    u64 height;        /* height of the block */
    u64 pchain_height; /* P-Chain height of its parent */
    u64 slot;
} cd_window;

/* cd_windower_expected says who may propose. Errors: CD_ENOENT when nobody validates and anybody may; those of
 * cd_vm_validators.at. */
cd_err cd_windower_expected(cd_windower *w, cd_node_id *out, const cd_window *at, cd_errinfo *why) CD_CHECK;

/* cd_windower_next finds the first slot of node, at->slot or later. When node has none among the next
 * CD_WINDOW_LOOK_AHEAD slots, it gives the slot behind them, from which to ask again. Errors: as above. */
cd_err cd_windower_next(cd_windower *w, u64 *slot, const cd_window *at, const cd_node_id *node,
                        cd_errinfo *why) CD_CHECK;

#endif
