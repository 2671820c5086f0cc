#include "chains/platform/state/sets.h"

#include "base/mem/mem.h"
#include "base/table/lru.h"
#include "base/thread/thread.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/state/records_priv.h"
#include "chains/platform/state/sets_priv.h"
#include "chains/platform/state/uptime.h"

#include <stdlib.h>

/* --- a set from records --- */

/* Validators that are being collected. */
typedef struct list {
    cd_buf buf; /* cd_vm_validator */
} list;

static cd_err list_add(list *l, const u8 node[20], cd_bytes seat)
{
    cd__seat s;
    CD_TRY(cd__seat_dec(&s, seat));
    cd_vm_validator v = {.weight = s.weight, .has_key = s.has_key};
    memcpy(v.node_id.b, node, 20);
    memcpy(v.key, s.key, sizeof v.key);
    cd_buf_put(&l->buf, cd_bytes_of(&v, sizeof v));
    return CD_OK;
}

static usize list_cnt(const list *l)
{
    return l->buf.n / sizeof(cd_vm_validator);
}

static cd_vm_validator *list_v(list *l)
{
    return (cd_vm_validator *)(void *)l->buf.p;
}

/* The set of today. */
static cd_err read_current(const cd_pstate *s, list *out, const cd_hash32 *net)
{
    cd__key k = cd__key_id('W', net);
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&k)}));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        e = key.n == 1 + 32 + 20 ? list_add(out, key.p + 33, cd_kv_iter_value(it)) : CD_ECORRUPT;
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

static cd_err read_copy(list *out, cd_bytes copy)
{
    cd_rd r = cd_rd_init(copy);
    cd_err e = CD_OK;
    while (e == CD_OK && cd_rd_left(&r) != 0) {
        u8 node[20];
        cd_rd_copy(&r, node, sizeof node);
        u8 n = cd_rd_u8(&r);
        e = list_add(out, node, cd_rd_take(&r, n));
    }
    return cd_rd_end(&r) != CD_OK ? CD_ECORRUPT : e;
}

/* The set at the lowest height from `height` on that has been copied, else that of today; *of is its height. */
static cd_err read_base(const cd_pstate *s, list *out, u64 *of, const cd_hash32 *net, u64 height)
{
    cd__key prefix = cd__key_id('Z', net);
    cd__key start = prefix;
    cd__key_be64(&start, height);
    cd_kv_iter *it;
    CD_TRY(
        cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&prefix), .start = cd__key_bytes(&start)}));
    cd_err e;
    if (cd_kv_iter_next(it)) {
        *of = cd_be64(cd_kv_iter_key(it).p + 33);
        e = read_copy(out, cd_kv_iter_value(it));
    } else {
        *of = UINT64_MAX;
        e = cd_kv_iter_err(it);
        e = e != CD_OK ? e : read_current(s, out, net);
    }
    cd_kv_iter_free(it);
    return e;
}

/* What stood before the changes at heights above `height` and up to `to`, in the order of the heights. */
static cd_err read_changes(const cd_pstate *s, list *out, const cd_hash32 *net, u64 height, u64 to)
{
    cd__key prefix = cd__key_id('D', net);
    cd__key start = prefix;
    cd__key_be64(&start, height + 1);
    cd_kv_iter *it;
    CD_TRY(
        cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&prefix), .start = cd__key_bytes(&start)}));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        if (key.n != 1 + 32 + 8 + 20) {
            e = CD_ECORRUPT;
        } else if (cd_be64(key.p + 33) > to) {
            break;
        } else {
            e = list_add(out, key.p + 41, cd_kv_iter_value(it));
        }
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

/* Orders pointers into the list of changes by node, then by height, which is their order in the list. */
static int by_node(const void *a, const void *b)
{
    const cd_vm_validator *x = *(const cd_vm_validator *const *)a;
    const cd_vm_validator *y = *(const cd_vm_validator *const *)b;
    int c = memcmp(x->node_id.b, y->node_id.b, 20);
    return c != 0 ? c : (x > y) - (x < y);
}

/* base with the oldest change of each node put back. */
static void put_back(cd_vm_validator *out, usize *cnt, const list *base, const cd_vm_validator **changes,
                     usize change_cnt)
{
    const cd_vm_validator *b = (const cd_vm_validator *)(const void *)base->buf.p;
    usize base_cnt = list_cnt(base);
    usize n = 0;
    usize i = 0;
    usize j = 0;
    while (i < base_cnt || j < change_cnt) {
        int c = i == base_cnt ? 1 : j == change_cnt ? -1 : memcmp(b[i].node_id.b, changes[j]->node_id.b, 20);
        if (c < 0) {
            out[n++] = b[i++];
            continue;
        }
        i += c == 0;
        const cd_vm_validator *oldest = changes[j];
        if (oldest->weight != 0) {
            out[n++] = *oldest;
        }
        while (j < change_cnt && memcmp(changes[j]->node_id.b, oldest->node_id.b, 20) == 0) {
            j++;
        }
    }
    *cnt = n;
}

cd_err cd_pstate_set_at(const cd_pstate *s, const cd_vm_validator **out, usize *cnt, cd_arena *a, const cd_hash32 *net,
                        u64 height)
{
    u64 last;
    CD_TRY(cd_pstate_num_get(s, &last, CD_PSTATE_LAST_HEIGHT));
    if (height > last) {
        return CD_ERANGE;
    }
    list base = {0};
    list changes = {0};
    u64 of;
    cd_err e = read_base(s, &base, &of, net, height);
    e = e != CD_OK ? e : read_changes(s, &changes, net, height, of);
    if (e == CD_OK) {
        usize n = list_cnt(&changes);
        const cd_vm_validator **order = cd_new_array(const cd_vm_validator *, n + 1);
        for (usize i = 0; i < n; i++) {
            order[i] = &list_v(&changes)[i];
        }
        qsort(order, n, sizeof *order, by_node);
        cd_vm_validator *v = cd_arena_array(a, cd_vm_validator, list_cnt(&base) + n);
        put_back(v, cnt, &base, order, n);
        *out = v;
        cd_free(order);
    }
    cd_buf_fini(&base.buf);
    cd_buf_fini(&changes.buf);
    return e;
}

/* --- the interface --- */

/* Others refer to heights that all have seen: not the newest, unless that is old enough. */
enum { RECENT_MAX = 64 };
#define RECENT_NS (30 * CD_NS_PER_SEC)

typedef struct which {
    cd_hash32 net;
    u64 height;
} which;

typedef struct kept {
    usize cnt;
    cd_vm_validator v[];
} kept;

struct cd_sets {
    cd_vm_validators iface; /* first */
    cd_kv *base;
    const cd_clock *clock;
    cd_uptime *uptime; /* NULL: nobody counts */
    cd_mutex lock;     /* of what follows */
    cd_lru *sets;
    struct {
        u64 height;
        u64 at_ns;
    } recent[RECENT_MAX]; /* the oldest at recent_first */
    usize recent_first;
    usize recent_cnt;
};

static cd_sets *of(const cd_vm_validators *v)
{
    return (cd_sets *)(uintptr_t)v;
}

static cd_err get_current(const cd_vm_validators *v, u64 *height)
{
    return cd_pstate_num_get(&(cd_pstate){.kv = of(v)->base}, height, CD_PSTATE_LAST_HEIGHT);
}

static void forget_old(cd_sets *sets, u64 now_ns)
{
    while (sets->recent_cnt != 0 && now_ns - sets->recent[sets->recent_first].at_ns > RECENT_NS) {
        sets->recent_first = (sets->recent_first + 1) % RECENT_MAX;
        sets->recent_cnt--;
    }
}

static cd_err get_minimum(const cd_vm_validators *v, u64 *height)
{
    cd_sets *sets = of(v);
    cd_mutex_lock(&sets->lock);
    forget_old(sets, cd_clock_mono_ns(sets->clock));
    bool is_recent = sets->recent_cnt != 0;
    u64 oldest = sets->recent[sets->recent_first].height;
    cd_mutex_unlock(&sets->lock);
    if (!is_recent) {
        return get_current(v, height);
    }
    *height = oldest == 0 ? 0 : oldest - 1;
    return CD_OK;
}

static cd_err get_subnet_of(const cd_vm_validators *v, cd_hash32 *subnet, const cd_hash32 *chain)
{
    cd_p_chain c;
    if (cd_hash32_is_zero(chain)) { /* the P-Chain itself */
        *subnet = *chain;
        return CD_OK;
    }
    CD_TRY(cd_pstate_chain_get(&(cd_pstate){.kv = of(v)->base}, &c, chain));
    *subnet = c.net_id;
    return CD_OK;
}

static bool from_kept(cd_sets *sets, const cd_vm_validator **out, usize *cnt, cd_arena *a, const which *w)
{
    cd_mutex_lock(&sets->lock);
    const kept *k = cd_lru_get(sets->sets, w);
    if (k != NULL) {
        cd_vm_validator *v = cd_arena_array(a, cd_vm_validator, k->cnt);
        memcpy(v, k->v, k->cnt * sizeof *v);
        *out = v;
        *cnt = k->cnt;
    }
    cd_mutex_unlock(&sets->lock);
    return k != NULL;
}

static void keep(cd_sets *sets, const which *w, const cd_vm_validator *v, usize cnt)
{
    usize bytes = sizeof(kept) + cnt * sizeof *v;
    kept *k = cd_alloc(bytes);
    k->cnt = cnt;
    memcpy(k->v, v, cnt * sizeof *v);
    /* Each entry costs a fair part at least, so their number is bounded, too. */
    u64 cost = cd_max_u64(bytes, CD_SETS_KEPT_BYTES / CD_SETS_KEPT);
    cd_mutex_lock(&sets->lock);
    bool is_taken = cd_lru_put(sets->sets, w, k, cost);
    cd_mutex_unlock(&sets->lock);
    if (!is_taken) {
        cd_free(k);
    }
}

static cd_err get_at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                     const cd_hash32 *subnet, u64 height)
{
    cd_sets *sets = of(v);
    which w;
    memset(&w, 0, sizeof w);
    w.net = *subnet;
    w.height = height;
    if (from_kept(sets, out, cnt, a, &w)) {
        return CD_OK;
    }
    cd_kv *frozen;
    CD_TRY(cd_kv_snapshot(&frozen, sets->base));
    cd_err e = cd_pstate_set_at(&(cd_pstate){.kv = frozen}, out, cnt, a, subnet, height);
    cd_kv_close(frozen);
    if (e == CD_OK) {
        keep(sets, &w, *out, *cnt);
    }
    return e;
}

static void drop_kept(void *ctx, void *val)
{
    (void)ctx;
    cd_free(val);
}

static cd_err get_uptime(const cd_vm_validators *v, u64 *up_s, u64 *span_s, const cd_node_id *node)
{
    static const cd_hash32 primary;
    const cd_sets *sets = of(v);
    cd_p_staker t;
    CD_TRY(sets->uptime == NULL ? CD_EAGAIN : CD_OK);
    CD_TRY(cd_pstate_validator_get(&(cd_pstate){.kv = sets->base}, &t, CD_P_CURRENT, &primary, node));
    return cd_uptime_get(sets->uptime, up_s, span_s, &t);
}

cd_sets *cd_sets_new(cd_kv *base, const cd_clock *clock)
{
    cd_sets *sets = cd_new(cd_sets);
    sets->iface = (cd_vm_validators){
        .current = get_current, .minimum = get_minimum, .subnet_of = get_subnet_of, .at = get_at, .uptime = get_uptime};
    sets->base = base;
    sets->clock = clock;
    cd_mutex_init(&sets->lock);
    sets->sets = cd_lru_new(CD_HASH_KEYED, sizeof(which), CD_SETS_KEPT_BYTES, drop_kept, NULL);
    return sets;
}

void cd_sets_free(cd_sets *sets)
{
    if (sets == NULL) {
        return;
    }
    cd_lru_free(sets->sets);
    cd_mutex_fini(&sets->lock);
    cd_free(sets);
}

const cd_vm_validators *cd_sets_validators(const cd_sets *sets)
{
    return &sets->iface;
}

void cd_sets_count_uptime(cd_sets *sets, cd_uptime *uptime)
{
    sets->uptime = uptime;
}

void cd_sets_accepted(cd_sets *sets, u64 height)
{
    u64 now = cd_clock_mono_ns(sets->clock);
    cd_mutex_lock(&sets->lock);
    forget_old(sets, now);
    if (sets->recent_cnt == RECENT_MAX) {
        sets->recent_first = (sets->recent_first + 1) % RECENT_MAX;
        sets->recent_cnt--;
    }
    usize at = (sets->recent_first + sets->recent_cnt) % RECENT_MAX;
    sets->recent[at].height = height;
    sets->recent[at].at_ns = now;
    sets->recent_cnt++;
    cd_mutex_unlock(&sets->lock);
}
