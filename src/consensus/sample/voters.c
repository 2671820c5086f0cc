#include "consensus/sample/voters.h"

#include "base/mem/mem.h"

/* Takes over nodes and weights. False: the sum of the weights is too large, nobody is known. */
static bool take(cd_voters *v, cd_node_id *nodes, u64 *weights, u32 cnt, u64 height)
{
    cd_voters_fini(v);
    v->nodes = nodes;
    v->is_known = cd_weighted_init(&v->weights, weights, cnt) == CD_OK;
    v->pchain_height = height;
    cd_free(weights);
    return v->is_known;
}

bool cd_voters_read(cd_voters *v, const cd_vm_validators *from, const cd_hash32 *subnet)
{
    const cd_vm_validator *list = NULL;
    usize cnt = 0;
    u64 height = 0;
    cd_arena a = {0};
    if (from->current(from, &height) != CD_OK || (v->is_known && v->pchain_height == height)) {
        return false;
    }
    bool is_read = from->at(from, &list, &cnt, &a, subnet, height) == CD_OK;
    if (is_read) {
        u64 *weights = cd_new_array(u64, cnt);
        cd_node_id *nodes = cd_new_array(cd_node_id, cnt);
        for (usize i = 0; i < cnt; i++) {
            weights[i] = list[i].weight;
            nodes[i] = list[i].node_id;
        }
        is_read = take(v, nodes, weights, (u32)cnt, height);
    }
    cd_arena_fini(&a);
    return is_read;
}

void cd_voters_set(cd_voters *v, const cd_node_id *nodes, u32 cnt)
{
    u64 *weights = cd_new_array(u64, cnt);
    cd_node_id *copy = cd_new_array(cd_node_id, cnt);
    for (u32 i = 0; i < cnt; i++) {
        weights[i] = 1;
        copy[i] = nodes[i];
    }
    (void)take(v, copy, weights, cnt, 0);
}

void cd_voters_fini(cd_voters *v)
{
    cd_weighted_fini(&v->weights);
    cd_free(v->nodes);
    *v = (cd_voters){0};
}
