#include "vm/gossip/stakers.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"

#include <math.h>
#include <stdlib.h>

void cd_gossip_stakers_init(cd_gossip_stakers *s, const cd_vm_validators *validators, const cd_hash32 *subnet,
                            const cd_node_id *self)
{
    *s = (cd_gossip_stakers){.validators = validators, .subnet = *subnet, .self = *self};
    cd_hmap_init(&s->here, CD_HASH_KEYED, sizeof(cd_node_id), 0);
    cd_hmap_init(&s->set, CD_HASH_KEYED, sizeof(cd_node_id), 0);
    cd_gossip_stakers_come(s, self);
}

void cd_gossip_stakers_fini(cd_gossip_stakers *s)
{
    cd_hmap_fini(&s->here);
    cd_hmap_fini(&s->set);
    cd_free(s->nodes);
    cd_free(s->weights);
}

void cd_gossip_stakers_come(cd_gossip_stakers *s, const cd_node_id *node)
{
    (void)cd_hmap_put(&s->here, NULL, node);
}

void cd_gossip_stakers_go(cd_gossip_stakers *s, const cd_node_id *node)
{
    if (memcmp(node, &s->self, sizeof *node) != 0) {
        (void)cd_hmap_del(&s->here, node);
    }
}

/* --- reading --- */

static int by_stake(const void *x, const void *y)
{
    const cd_vm_validator *a = x;
    const cd_vm_validator *b = y;
    int order = (a->weight < b->weight) - (a->weight > b->weight);
    return order != 0 ? order : memcmp(&a->node_id, &b->node_id, sizeof a->node_id);
}

/* Takes over the validators of a list. Those without a node ID (inactive ones of an L1) cannot be spoken to: they are
 * left out. */
static void take(cd_gossip_stakers *s, const cd_vm_validator *from, usize cnt, cd_arena *a)
{
    cd_vm_validator *all = cd_arena_array(a, cd_vm_validator, cnt);
    if (cnt != 0) {
        memcpy(all, from, cnt * sizeof *all);
    }
    if (cnt > 1) {
        qsort(all, cnt, sizeof *all, by_stake);
    }
    cd_free(s->nodes);
    cd_free(s->weights);
    s->nodes = cd_new_array(cd_node_id, cnt);
    s->weights = cd_new_array(u64, cnt);
    s->cnt = 0;
    s->weight = 0;
    cd_hmap_clear(&s->set);
    for (usize i = 0; i < cnt; i++) {
        static const cd_node_id nobody;
        if (memcmp(&all[i].node_id, &nobody, sizeof nobody) != 0) {
            s->nodes[s->cnt] = all[i].node_id;
            s->weights[s->cnt++] = all[i].weight;
            s->weight += all[i].weight;
            (void)cd_hmap_put(&s->set, NULL, &all[i].node_id);
        }
    }
}

static void refresh(cd_gossip_stakers *s, u64 now_ns)
{
    const cd_vm_validator *all;
    cd_arena a = {0};
    usize cnt;
    u64 height;
    if (s->validators == NULL || now_ns < s->read_again_ns) {
        return;
    }
    cd_err e = s->validators->current(s->validators, &height);
    e = e != CD_OK ? e : s->validators->at(s->validators, &all, &cnt, &a, &s->subnet, height);
    if (e == CD_OK) {
        take(s, all, cnt, &a);
    }
    s->read_again_ns = now_ns + (e == CD_OK ? CD_GOSSIP_STALE_S : CD_GOSSIP_RETRY_S) * CD_NS_PER_SEC;
    cd_arena_fini(&a);
}

/* --- asking --- */

bool cd_gossip_stakers_has(cd_gossip_stakers *s, const cd_node_id *node, u64 now_ns)
{
    refresh(s, now_ns);
    return cd_hmap_get(&s->set, node) != NULL && cd_hmap_get(&s->here, node) != NULL;
}

const cd_node_id *cd_gossip_stakers_top(cd_gossip_stakers *s, usize *cnt, double share, u64 now_ns)
{
    refresh(s, now_ns);
    double target = ceil(share * (double)s->weight);
    double stake = 0;
    usize n = 0;
    while (n < s->cnt && stake < target) {
        stake += (double)s->weights[n++];
    }
    *cnt = n;
    return s->nodes;
}

bool cd_gossip_stakers_any(cd_gossip_stakers *s, cd_node_id *out, cd_rng *rng, u64 now_ns)
{
    u64 seen = 0;
    refresh(s, now_ns);
    for (usize i = 0; i < s->cnt; i++) {
        const cd_node_id *node = &s->nodes[i];
        bool is_candidate = memcmp(node, &s->self, sizeof *node) != 0 && cd_hmap_get(&s->here, node) != NULL;
        if (is_candidate && cd_rng_below(rng, ++seen) == 0) {
            *out = *node;
        }
    }
    return seen != 0;
}
