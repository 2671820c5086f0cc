/* consensus/sample/voters.h - who counts, and how much: the validators of a subnet, or a list that somebody made.
 *
 * Threading: confined. [spec:consensus#4] */
#ifndef CD_CONSENSUS_VOTERS_H
#define CD_CONSENSUS_VOTERS_H

#include "consensus/sample/weighted.h"
#include "vm/validators.h"

/* Nodes and their weights; zeroed, it has none. An index of weights is one of nodes, too. */
typedef struct cd_voters {
    cd_weighted weights;
    cd_node_id *nodes;
    bool is_known;     /* somebody was read */
    u64 pchain_height; /* where */
} cd_voters;

/* cd_voters_read makes *v the validators at the newest height of the P-Chain, and tells whether it was changed. When
 * they cannot be read, *v stays as it is. */
bool cd_voters_read(cd_voters *v, const cd_vm_validators *from, const cd_hash32 *subnet);

/* cd_voters_set makes *v a list of cnt different nodes, each of weight 1. */
void cd_voters_set(cd_voters *v, const cd_node_id *nodes, u32 cnt);

/* cd_voters_fini releases the memory; *v has no nodes then. */
void cd_voters_fini(cd_voters *v);

#endif
