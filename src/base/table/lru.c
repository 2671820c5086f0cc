#include "base/table/lru.h"

#include "base/mem/mem.h"
#include "base/table/list.h"

/*   map: key ─► node ─► value
 *   order: most recent ◄─► ... ◄─► least recent      a node holds its key, to be removed from the map */
struct cd_lru {
    cd_hmap map;
    cd_list order;
    u64 cost;
    u64 max_cost;
    u32 key_size;
    cd_lru_drop *drop;
    void *ctx;
};

typedef struct node {
    cd_list link;
    void *val;
    u64 cost;
    u8 key[];
} node;

static node *node_of(cd_list *l)
{
    return cd_list_of(l, node, link);
}

cd_lru *cd_lru_new(cd_hash_kind kind, u32 key_size, u64 max_cost, cd_lru_drop *drop, void *ctx)
{
    cd_lru *l = cd_new(cd_lru);
    cd_hmap_init(&l->map, kind, key_size, sizeof(node *));
    cd_list_init(&l->order);
    l->max_cost = max_cost;
    l->key_size = key_size;
    l->drop = drop;
    l->ctx = ctx;
    return l;
}

void cd_lru_free(cd_lru *l)
{
    if (l == NULL) {
        return;
    }
    cd_lru_clear(l);
    cd_hmap_fini(&l->map);
    cd_free(l);
}

static node *node_get(cd_lru *l, const void *key)
{
    node **at = cd_hmap_get(&l->map, key);
    return at == NULL ? NULL : *at;
}

static void val_drop(cd_lru *l, void *val)
{
    if (l->drop != NULL) {
        l->drop(l->ctx, val);
    }
}

static void node_evict(cd_lru *l, node *n)
{
    bool was_there = cd_hmap_del(&l->map, n->key);
    CD_ASSERT(was_there);
    cd_list_del(&n->link);
    l->cost -= n->cost;
    val_drop(l, n->val);
    cd_free(n);
}

void *cd_lru_get(cd_lru *l, const void *key)
{
    node *n = node_get(l, key);
    if (n == NULL) {
        return NULL;
    }
    cd_list_del(&n->link);
    cd_list_push_front(&l->order, &n->link);
    return n->val;
}

bool cd_lru_put(cd_lru *l, const void *key, void *val, u64 cost)
{
    CD_ASSERT(val != NULL);
    if (cost > l->max_cost) {
        return false;
    }
    (void)cd_lru_del(l, key);
    while (l->max_cost - l->cost < cost) {
        node_evict(l, node_of(cd_list_last(&l->order)));
    }
    node *n = cd_alloc(sizeof *n + l->key_size);
    n->val = val;
    n->cost = cost;
    memcpy(n->key, key, l->key_size);
    *(node **)cd_hmap_put(&l->map, NULL, key) = n;
    cd_list_push_front(&l->order, &n->link);
    l->cost += cost;
    return true;
}

bool cd_lru_del(cd_lru *l, const void *key)
{
    node *n = node_get(l, key);
    if (n != NULL) {
        node_evict(l, n);
    }
    return n != NULL;
}

void cd_lru_clear(cd_lru *l)
{
    while (!cd_list_is_empty(&l->order)) {
        node_evict(l, node_of(cd_list_last(&l->order)));
    }
}

usize cd_lru_cnt(const cd_lru *l)
{
    return cd_hmap_cnt(&l->map);
}

u64 cd_lru_cost(const cd_lru *l)
{
    return l->cost;
}
