/* warp/sets.h - canonical validator sets with the nodes behind each key, kept while they are asked for.
 *
 *   subnet, height ──► P-Chain: who validates ──► keys checked, merged, sorted ──► set, its digest
 *                  └──► the same validators at another height are the same set: keys are checked once
 *
 * Threading: shared. [spec:warp#5] */
#ifndef CD_WARP_SETS_H
#define CD_WARP_SETS_H

#include "types/warp_set.h"
#include "vm/validators.h"

/* The nodes that sign with one key. */
typedef struct cd_warp_nodes {
    const cd_node_id *nodes;
    usize cnt;
} cd_warp_nodes;

/* A canonical set. */
typedef struct cd_warp_signers {
    cd_warp_set set;
    const cd_warp_nodes *of; /* the nodes of each member */
    cd_hash32 digest;        /* of who validates, with which keys and weights */
    struct {
        cd_arena mem;
        _Atomic u32 refs;
    } own; /* sets.c's */
} cd_warp_signers;

typedef struct cd_warp_sets cd_warp_sets;

enum { CD_WARP_SETS_MAX = 32 }; /* sets that are kept */

/* cd_warp_sets_new: validators is borrowed; NULL: nobody says who validates. cd_warp_sets_free: NULL is allowed. */
cd_warp_sets *cd_warp_sets_new(const cd_vm_validators *validators);
void cd_warp_sets_free(cd_warp_sets *s);

/* cd_warp_sets_get gives the set of a subnet at a height of the P-Chain, for cd_warp_signers_unref (NULL allowed).
 * Errors: those of cd_vm_validators.at, CD_ENOENT without validators, CD_ERANGE when weights exceed 64 bits. */
cd_err cd_warp_sets_get(cd_warp_sets *s, cd_warp_signers **out, const cd_hash32 *subnet, u64 height) CD_CHECK;
void cd_warp_signers_unref(cd_warp_signers *s);

#endif
