#include "chains/platform/state/uptime.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/thread/thread.h"
#include "chains/platform/state/records_priv.h"

struct cd_uptime {
    cd_kv *kv;
    const cd_clock *clock;
    cd_mutex lock; /* of what follows */
    bool is_tracking;
    cd_hmap peers; /* node ID ──► u64, seconds when it came */
    cd_hmap known; /* node ID ──► record, as it is in kv */
};

/* What is kept of a validator: reachable for up_s of the time from its start to updated_s. */
typedef struct record {
    u64 start_s;
    u64 up_s;
    u64 updated_s;
} record;

/* Records in memory; when there would be more, they are forgotten and read again. */
enum { KNOWN_MAX = 1 << 16 };

cd_uptime *cd_uptime_new(cd_kv *kv, const cd_clock *clock)
{
    cd_uptime *u = cd_new(cd_uptime);
    u->kv = kv;
    u->clock = clock;
    cd_mutex_init(&u->lock);
    cd_hmap_init(&u->peers, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(u64));
    cd_hmap_init(&u->known, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(record));
    return u;
}

void cd_uptime_free(cd_uptime *u)
{
    if (u == NULL) {
        return;
    }
    cd_hmap_fini(&u->known);
    cd_hmap_fini(&u->peers);
    cd_mutex_fini(&u->lock);
    cd_free(u);
}

static cd__key record_key(const cd_node_id *node)
{
    cd__key k = cd__key_of('i');
    cd__key_put(&k, node->b, 20);
    return k;
}

/* Remembers a record. Call with the lock. */
static void know(cd_uptime *u, const cd_node_id *node, const record *r)
{
    if (cd_hmap_cnt(&u->known) >= KNOWN_MAX) {
        cd_hmap_clear(&u->known);
    }
    *(record *)cd_hmap_put(&u->known, NULL, node) = *r;
}

/* Reads what is kept of a node; nothing: zeroes. Call with the lock. */
static cd_err stored_get(cd_uptime *u, record *out, const cd_node_id *node)
{
    const record *known = cd_hmap_get(&u->known, node);
    if (known != NULL) {
        *out = *known;
        return CD_OK;
    }
    cd__key k = record_key(node);
    cd_buf v = {0};
    record r = {0};
    cd_err e = cd_kv_get(u->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK) {
        cd_rd rd = cd_rd_init(cd_buf_bytes(&v));
        r = (record){.start_s = cd_rd_be64(&rd), .up_s = cd_rd_be64(&rd), .updated_s = cd_rd_be64(&rd)};
        e = cd_rd_end(&rd) == CD_OK ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&v);
    if (e == CD_OK || e == CD_ENOENT) {
        know(u, node, &r);
        *out = r;
        e = CD_OK;
    }
    return e;
}

/* A record of an earlier stay of the same node does not count. Call with the lock. */
static cd_err record_get(cd_uptime *u, record *out, const cd_p_staker *t)
{
    record stored;
    CD_TRY(stored_get(u, &stored, &t->node_id));
    *out = stored.updated_s != 0 && stored.start_s == t->start ? stored
                                                               : (record){.start_s = t->start, .updated_s = t->start};
    return CD_OK;
}

/* Call with the lock. */
static cd_err record_put(cd_uptime *u, const cd_node_id *node, const record *r)
{
    u8 b[24];
    cd_put_be64(b, r->start_s);
    cd_put_be64(b + 8, r->up_s);
    cd_put_be64(b + 16, r->updated_s);
    cd__key k = record_key(node);
    CD_TRY(cd_kv_put(u->kv, cd__key_bytes(&k), cd_bytes_of(b, sizeof b)));
    know(u, node, r);
    return CD_OK;
}

/* Brings a record to this moment. Call with the lock. */
static void bring_on(cd_uptime *u, record *r, const cd_node_id *node, u64 now_s)
{
    if (now_s <= r->updated_s) {
        return; /* the clock went back, or the stay has not begun */
    }
    u64 since = r->updated_s;
    if (u->is_tracking) {
        const u64 *came = cd_hmap_get(&u->peers, node);
        since = came == NULL ? now_s : cd_max_u64(since, *came);
    }
    r->up_s += now_s > since ? now_s - since : 0;
    r->updated_s = now_s;
}

static cd_err save(cd_uptime *u, const cd_p_staker *t, u64 now_s)
{
    record r;
    CD_TRY(record_get(u, &r, t));
    bring_on(u, &r, &t->node_id, now_s);
    return record_put(u, &t->node_id, &r);
}

/* Call with the lock. */
static cd_err save_all(cd_uptime *u)
{
    static const cd_hash32 primary;
    cd_p_staker_iter it;
    CD_TRY(cd_pstate_stakers_of_net(&(cd_pstate){.kv = u->kv}, &it, CD_P_CURRENT, &primary));
    u64 now_s = cd_clock_wall_s(u->clock);
    cd_p_staker t;
    cd_err e = CD_OK;
    while (e == CD_OK && cd_p_staker_next(&it, &t)) {
        if (!cd_p_priority_delegates(t.priority)) {
            e = save(u, &t, now_s);
        }
    }
    e = e != CD_OK ? e : it.err;
    cd_p_staker_iter_fini(&it);
    return e;
}

static cd_err save_and(cd_uptime *u, bool is_tracking)
{
    cd_mutex_lock(&u->lock);
    cd_err e = save_all(u);
    u->is_tracking = is_tracking;
    cd_mutex_unlock(&u->lock);
    return e;
}

cd_err cd_uptime_start(cd_uptime *u)
{
    return save_and(u, true);
}

cd_err cd_uptime_stop(cd_uptime *u)
{
    return save_and(u, false);
}

cd_err cd_uptime_save(cd_uptime *u)
{
    cd_mutex_lock(&u->lock);
    cd_err e = u->is_tracking ? save_all(u) : CD_OK;
    cd_mutex_unlock(&u->lock);
    return e;
}

void cd_uptime_connected(cd_uptime *u, const cd_node_id *node)
{
    u64 now_s = cd_clock_wall_s(u->clock);
    cd_mutex_lock(&u->lock);
    if (cd_hmap_get(&u->peers, node) == NULL && cd_hmap_cnt(&u->peers) < CD_UPTIME_PEERS_MAX) {
        *(u64 *)cd_hmap_put(&u->peers, NULL, node) = now_s;
    }
    cd_mutex_unlock(&u->lock);
}

cd_err cd_uptime_disconnected(cd_uptime *u, const cd_node_id *node)
{
    static const cd_hash32 primary;
    cd_p_staker t;
    cd_mutex_lock(&u->lock);
    cd_err e = CD_ENOENT;
    if (u->is_tracking) {
        e = cd_pstate_validator_get(&(cd_pstate){.kv = u->kv}, &t, CD_P_CURRENT, &primary, node);
        e = e != CD_OK ? e : save(u, &t, cd_clock_wall_s(u->clock));
    }
    cd_hmap_del(&u->peers, node);
    cd_mutex_unlock(&u->lock);
    return e == CD_ENOENT ? CD_OK : e;
}

bool cd_uptime_is_connected(cd_uptime *u, const cd_node_id *node)
{
    cd_mutex_lock(&u->lock);
    bool found = cd_hmap_get(&u->peers, node) != NULL;
    cd_mutex_unlock(&u->lock);
    return found;
}

cd_err cd_uptime_get(cd_uptime *u, u64 *up_s, u64 *span_s, const cd_p_staker *validator)
{
    record r;
    cd_mutex_lock(&u->lock);
    cd_err e = record_get(u, &r, validator);
    u64 now_s = cd_clock_wall_s(u->clock);
    if (e == CD_OK) {
        bring_on(u, &r, &validator->node_id, now_s);
    }
    cd_mutex_unlock(&u->lock);
    if (e == CD_OK) {
        *span_s = now_s > validator->start ? now_s - validator->start : 0;
        *up_s = cd_min_u64(r.up_s, *span_s);
    }
    return e;
}
