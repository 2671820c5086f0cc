#include "p2p/throttle.h"

#include <math.h>

/* --- pool --- */

typedef struct taken {
    u64 large;
    u64 part;
} taken;

void cd_p2p_pool_init(cd_p2p_pool *p, u64 large, u64 large_node_max, u64 part, bool part_first)
{
    *p = (cd_p2p_pool){.large_left = large,
                       .large_node_max = large_node_max,
                       .part_max = part,
                       .part_left = part,
                       .part_first = part_first};
    cd_hmap_init(&p->nodes, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(taken));
}

void cd_p2p_pool_fini(cd_p2p_pool *p)
{
    cd_hmap_fini(&p->nodes);
}

bool cd_p2p_pool_take(cd_p2p_pool *p, const cd_node_id *node, u64 n, u64 weight, u64 total)
{
    const taken *found = cd_hmap_get(&p->nodes, node);
    taken has = found == NULL ? (taken){.large = 0} : *found;
    u64 own = total == 0 ? 0 : (u64)((u128)p->part_max * weight / total);
    u64 part = own > has.part ? cd_min_u64(own - has.part, p->part_left) : 0;
    u64 large = cd_min_u64(p->large_node_max > has.large ? p->large_node_max - has.large : 0, p->large_left);
    if (p->part_first) {
        part = cd_min_u64(part, n);
        large = cd_min_u64(large, n - part);
    } else {
        large = cd_min_u64(large, n);
        part = cd_min_u64(part, n - large);
    }
    if (large + part != n) {
        return false;
    }
    taken *t = cd_hmap_put(&p->nodes, NULL, node);
    t->large += large;
    t->part += part;
    p->large_left -= large;
    p->part_left -= part;
    return true;
}

void cd_p2p_pool_give(cd_p2p_pool *p, const cd_node_id *node, u64 n)
{
    taken *t = cd_hmap_get(&p->nodes, node);
    CD_ASSERT(t != NULL && n <= t->part + t->large);
    u64 part = cd_min_u64(n, t->part);
    t->part -= part;
    t->large -= n - part;
    p->part_left += part;
    p->large_left += n - part;
    if (t->part == 0 && t->large == 0) {
        (void)cd_hmap_del(&p->nodes, node);
    }
}

/* --- bucket --- */

void cd_p2p_bucket_init(cd_p2p_bucket *b, u64 rate, u64 burst, u64 now_ns)
{
    *b = (cd_p2p_bucket){.rate = rate, .burst = burst, .left = burst, .at_ns = now_ns};
}

u64 cd_p2p_bucket_take(cd_p2p_bucket *b, u64 n, u64 now_ns)
{
    CD_ASSERT(n <= b->burst);
    u128 gained = (u128)(now_ns - b->at_ns) * b->rate + b->rest;
    u128 whole = gained / CD_NS_PER_SEC;
    b->at_ns = now_ns;
    b->rest = (u64)(gained % CD_NS_PER_SEC);
    b->left = whole > b->burst - b->left ? b->burst : b->left + (u64)whole;
    if (n <= b->left) {
        b->left -= n;
        return 0;
    }
    return (n - b->left) * CD_NS_PER_SEC / b->rate + 1;
}

/* --- usage --- */

typedef struct used {
    double ns; /* processor time up to at_ns, with its decay */
    u64 at_ns;
} used;

void cd_p2p_usage_init(cd_p2p_usage *u, u64 half_ns)
{
    u->half_ns = half_ns;
    cd_hmap_init(&u->nodes, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(used));
}

void cd_p2p_usage_fini(cd_p2p_usage *u)
{
    cd_hmap_fini(&u->nodes);
}

static double decayed(const cd_p2p_usage *u, const used *v, u64 now_ns)
{
    return v->ns * exp2(-(double)(now_ns - v->at_ns) / (double)u->half_ns);
}

void cd_p2p_usage_add(cd_p2p_usage *u, const cd_node_id *node, u64 cpu_ns, u64 now_ns)
{
    used *v = cd_hmap_put(&u->nodes, NULL, node);
    v->ns = decayed(u, v, now_ns) + (double)cpu_ns;
    v->at_ns = now_ns;
}

double cd_p2p_usage_of(const cd_p2p_usage *u, const cd_node_id *node, u64 now_ns)
{
    const used *v = cd_hmap_get(&u->nodes, node);
    /* For a node that uses one processor all the time ns comes to half-life / ln 2. */
    return v == NULL ? 0 : decayed(u, v, now_ns) * M_LN2 / (double)u->half_ns;
}

void cd_p2p_usage_forget(cd_p2p_usage *u, const cd_node_id *node)
{
    (void)cd_hmap_del(&u->nodes, node);
}

double cd_p2p_usage_share(u32 cpus, u32 cnt, u64 weight, u64 total)
{
    double each = 0.8 * cpus / (cnt == 0 ? 1 : cnt);
    double most = cpus / 8.0;
    double part = total == 0 ? 0 : (double)cpus * (double)weight / (double)total;
    return (each < most ? each : most) + part;
}
