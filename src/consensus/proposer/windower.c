#include "consensus/proposer/windower.h"

#include "base/mem/mem.h"
#include "base/table/lru.h"
#include "consensus/sample/mt19937.h"
#include "consensus/sample/weighted.h"

/* How many validators are kept in memory, over the sets of all heights; a larger set is kept alone. */
enum { REMEMBERED_MAX = 1 << 16 };

/* The validators at one height. */
typedef struct set {
    cd_node_id *nodes;
    cd_weighted weights;
} set;

struct cd_windower {
    const cd_vm_validators *validators;
    cd_hash32 subnet;
    u64 chain; /* the first eight bytes of the chain's ID, as a number */
    cd_lru *sets;
    cd_mt64 mt;
};

static void set_free(void *ctx, void *val)
{
    set *s = val;
    (void)ctx;
    cd_weighted_fini(&s->weights);
    cd_free(s->nodes);
    cd_free(s);
}

cd_windower *cd_windower_new(const cd_vm_validators *validators, const cd_hash32 *subnet, const cd_hash32 *chain)
{
    cd_windower *w = cd_new(cd_windower);
    w->validators = validators;
    w->subnet = *subnet;
    w->chain = cd_be64(chain->b);
    w->sets = cd_lru_new(CD_HASH_KEYED, sizeof(u64), REMEMBERED_MAX, set_free, NULL);
    return w;
}

void cd_windower_free(cd_windower *w)
{
    if (w != NULL) {
        cd_lru_free(w->sets);
        cd_free(w);
    }
}

/* Makes a set. Validators without a node ID stand for nodes that are switched off: they propose nothing and are left
 * out. */
static cd_err set_make(set **out, const cd_vm_validator *v, usize cnt)
{
    static const cd_node_id nobody;
    set *s = cd_new(set);
    u64 *weights = cd_new_array(u64, cnt);
    u32 n = 0;
    s->nodes = cd_new_array(cd_node_id, cnt);
    for (usize i = 0; i < cnt; i++) {
        if (memcmp(v[i].node_id.b, nobody.b, sizeof nobody.b) != 0) {
            s->nodes[n] = v[i].node_id;
            weights[n++] = v[i].weight;
        }
    }
    cd_err e = cd_weighted_init(&s->weights, weights, n);
    cd_free(weights);
    if (e != CD_OK) {
        set_free(NULL, s);
        return e;
    }
    *out = s;
    return CD_OK;
}

/* The validators at a height, borrowed until the next call. */
static cd_err set_at(cd_windower *w, const set **out, u64 pchain_height, cd_errinfo *why)
{
    const cd_vm_validator *v = NULL;
    usize cnt = 0;
    cd_arena a = {0};
    set *s = cd_lru_get(w->sets, &pchain_height);
    if (s != NULL) {
        *out = s;
        return CD_OK;
    }
    cd_err e = w->validators->at(w->validators, &v, &cnt, &a, &w->subnet, pchain_height);
    if (e == CD_OK) {
        e = set_make(&s, v, cnt);
    }
    cd_arena_fini(&a);
    if (e != CD_OK) {
        return cd_fail(why, e, "failed to fetch the validators at P-chain height %llu: %s",
                       (unsigned long long)pchain_height, cd_err_str(e));
    }
    bool is_kept = cd_lru_put(w->sets, &pchain_height, s, cd_min_u64(cnt + 1, REMEMBERED_MAX));
    CD_ASSERT(is_kept);
    *out = s;
    return CD_OK;
}

static u64 reversed(u64 v)
{
    v = ((v >> 1) & 0x5555555555555555u) | ((v & 0x5555555555555555u) << 1);
    v = ((v >> 2) & 0x3333333333333333u) | ((v & 0x3333333333333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((v & 0x0f0f0f0f0f0f0f0fu) << 4);
    return __builtin_bswap64(v);
}

static u64 draw_mt(void *ctx)
{
    return cd_mt64_next(ctx);
}

static const cd_node_id *owner_of(cd_windower *w, const set *s, u64 height, u64 slot)
{
    const cd_draw draw = {.next = draw_mt, .ctx = &w->mt};
    cd_mt64_seed(&w->mt, w->chain ^ height ^ reversed(slot));
    return &s->nodes[cd_weighted_pick(&s->weights, &draw)];
}

static cd_err anybody(const set *s, cd_errinfo *why)
{
    return s->weights.total != 0 ? CD_OK : cd_fail(why, CD_ENOENT, "anyone can propose");
}

cd_err cd_windower_expected(cd_windower *w, cd_node_id *out, const cd_window *at, cd_errinfo *why)
{
    static const set nobody;
    const set *s = &nobody;
    if (w->validators != NULL) {
        CD_TRY(set_at(w, &s, at->pchain_height, why));
    }
    CD_TRY(anybody(s, why));
    *out = *owner_of(w, s, at->height, at->slot);
    return CD_OK;
}

cd_err cd_windower_next(cd_windower *w, u64 *slot, const cd_window *at, const cd_node_id *node, cd_errinfo *why)
{
    static const set nobody;
    const set *s = &nobody;
    u64 behind;
    if (w->validators != NULL) {
        CD_TRY(set_at(w, &s, at->pchain_height, why));
    }
    CD_TRY(anybody(s, why));
    if (!cd_add_u64(&behind, at->slot, CD_WINDOW_LOOK_AHEAD)) {
        return cd_fail(why, CD_ERANGE, "no slot is that late");
    }
    u64 i = at->slot;
    while (i < behind && memcmp(owner_of(w, s, at->height, i)->b, node->b, sizeof node->b) != 0) {
        i++;
    }
    *slot = i;
    return CD_OK;
}
