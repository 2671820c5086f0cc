#include "chains/evmchain/atomic/pool.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/lru.h"

typedef struct entry {
    cd_arena arena; /* holds tx */
    cd_atomic_tx tx;
    u128 price; /* wei a gas */
    u64 seq;    /* of two of one price the older comes first */
} entry;

struct cd_atomic_pool {
    u64 rate;
    entry **sorted; /* dearest first */
    usize cnt;
    usize bytes;
    u64 seq;
    cd_hmap by_input; /* cd_hash32 to entry* */
    cd_lru *dropped;
};

static void forget_name(void *ctx, void *val)
{
    (void)ctx;
    (void)val;
}

cd_atomic_pool *cd_atomic_pool_new(u64 rate)
{
    cd_atomic_pool *p = cd_new(cd_atomic_pool);
    p->rate = rate;
    p->sorted = cd_new_array(entry *, CD_ATOMIC_POOL_MAX);
    p->dropped = cd_lru_new(CD_HASH_KEYED, 32, CD_ATOMIC_POOL_DROPPED, forget_name, NULL);
    cd_hmap_init(&p->by_input, CD_HASH_KEYED, 32, sizeof(entry *));
    return p;
}

static void entry_free(entry *e)
{
    cd_arena_fini(&e->arena);
    cd_free(e);
}

void cd_atomic_pool_free(cd_atomic_pool *p)
{
    if (p == NULL) {
        return;
    }
    for (usize i = 0; i < p->cnt; i++) {
        entry_free(p->sorted[i]);
    }
    cd_hmap_fini(&p->by_input);
    cd_lru_free(p->dropped);
    cd_free(p->sorted);
    cd_free(p);
}

usize cd_atomic_pool_cnt(const cd_atomic_pool *p)
{
    return p->cnt;
}

usize cd_atomic_pool_bytes(const cd_atomic_pool *p)
{
    return p->bytes;
}

const cd_atomic_tx *cd_atomic_pool_at(const cd_atomic_pool *p, usize i)
{
    return &p->sorted[i]->tx;
}

static bool comes_first(const entry *a, const entry *b)
{
    return a->price > b->price || (a->price == b->price && a->seq < b->seq);
}

/* The place of e, or where it would be. */
static usize place_of(const cd_atomic_pool *p, const entry *e)
{
    usize low = 0;
    usize high = p->cnt;
    while (low < high) {
        usize mid = low + (high - low) / 2;
        if (comes_first(p->sorted[mid], e)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

const cd_atomic_tx *cd_atomic_pool_find(const cd_atomic_pool *p, const cd_hash32 *id)
{
    for (usize i = 0; i < p->cnt; i++) {
        if (cd_hash32_eq(&p->sorted[i]->tx.id, id)) {
            return &p->sorted[i]->tx;
        }
    }
    return NULL;
}

/* Takes e out; the caller frees it. */
static void take_out(cd_atomic_pool *p, entry *e)
{
    usize i = place_of(p, e);
    CD_ASSERT(p->sorted[i] == e);
    memmove(p->sorted + i, p->sorted + i + 1, (p->cnt - i - 1) * sizeof *p->sorted);
    p->cnt--;
    p->bytes -= e->tx.bytes.n;
    for (usize k = 0; k < e->tx.input_cnt; k++) {
        (void)cd_hmap_del(&p->by_input, &e->tx.inputs[k]);
    }
}

static void drop(cd_atomic_pool *p, entry *e)
{
    take_out(p, e);
    (void)!cd_lru_put(p->dropped, &e->tx.id, p, 1); /* the value says nothing */
    entry_free(e);
}

void cd_atomic_pool_drop(cd_atomic_pool *p, usize i)
{
    drop(p, p->sorted[i]);
}

bool cd_atomic_pool_was_dropped(const cd_atomic_pool *p, const cd_hash32 *id)
{
    return cd_lru_get(p->dropped, id) != NULL;
}

static entry *user_of(const cd_atomic_pool *p, const cd_hash32 *input)
{
    entry **at = cd_hmap_get(&p->by_input, input);
    return at == NULL ? NULL : *at;
}

void cd_atomic_pool_accepted(cd_atomic_pool *p, const cd_atomic_tx *t)
{
    for (usize k = 0; k < t->input_cnt; k++) {
        entry *e = user_of(p, &t->inputs[k]);
        if (e != NULL && cd_hash32_eq(&e->tx.id, &t->id)) {
            take_out(p, e);
            entry_free(e);
        } else if (e != NULL) {
            drop(p, e);
        }
    }
    (void)cd_lru_del(p->dropped, &t->id);
}

/* --- adding --- */

static u64 shown(u128 price)
{
    return price > UINT64_MAX ? UINT64_MAX : (u64)price;
}

/* Those that wait and use an input of t must all be cheaper. */
static cd_err check_conflicts(const cd_atomic_pool *p, const cd_atomic_tx *t, u128 price, cd_errinfo *why)
{
    const entry *dearest = NULL;
    usize cnt = 0;
    for (usize k = 0; k < t->input_cnt; k++) {
        const entry *e = user_of(p, &t->inputs[k]);
        if (e == NULL) {
            continue;
        }
        cnt++;
        if (dearest == NULL || e->price > dearest->price) {
            dearest = e;
        }
    }
    if (dearest == NULL || price > dearest->price) {
        return CD_OK;
    }
    cd_buf own = {0};
    cd_buf other = {0};
    cd_id_put(&own, &t->id);
    cd_id_put(&other, &dearest->tx.id);
    cd_err err =
        cd_fail(why, CD_EBUSY,
                "conflict present: issued tx (%s) gas price %llu <= conflict tx (%s) gas price %llu (%zu total "
                "conflicts in mempool)",
                cd_buf_cstr(&own), (unsigned long long)shown(price), cd_buf_cstr(&other),
                (unsigned long long)shown(dearest->price), cnt);
    cd_buf_fini(&own);
    cd_buf_fini(&other);
    return err;
}

/* Is there room for t, or would there be, without all that are cheaper? */
static cd_err check_room(const cd_atomic_pool *p, const cd_atomic_tx *t, u128 price, cd_errinfo *why)
{
    usize cnt = p->cnt;
    usize bytes = p->bytes;
    while (cnt != 0 && (cnt == CD_ATOMIC_POOL_MAX || bytes + t->bytes.n > CD_ATOMIC_POOL_BYTES)) {
        const entry *e = p->sorted[--cnt];
        bytes -= e->tx.bytes.n;
        if (e->price >= price) {
            return cd_fail(why, CD_EFULL, "mempool full: insufficient fee: gas price %llu <= %llu",
                           (unsigned long long)shown(price), (unsigned long long)shown(e->price));
        }
    }
    return CD_OK;
}

static void insert(cd_atomic_pool *p, const cd_atomic_tx *t, u128 price)
{
    entry *e = cd_new(entry);
    cd_err err = cd_atomic_parse(&e->tx, &e->arena, t->bytes, NULL);
    CD_ASSERT(err == CD_OK); /* t was read from them */
    e->price = price;
    e->seq = p->seq++;
    usize i = place_of(p, e);
    memmove(p->sorted + i + 1, p->sorted + i, (p->cnt - i) * sizeof *p->sorted);
    p->sorted[i] = e;
    p->cnt++;
    p->bytes += e->tx.bytes.n;
    for (usize k = 0; k < e->tx.input_cnt; k++) {
        *(entry **)cd_hmap_put(&p->by_input, NULL, &e->tx.inputs[k]) = e;
    }
}

cd_err cd_atomic_pool_add(cd_atomic_pool *p, const cd_atomic_tx *t, cd_errinfo *why)
{
    u64 burned = 0;
    CD_TRY(cd_atomic_burned(&burned, t));
    u128 price = (u128)burned * p->rate / t->gas;
    const entry *same = t->input_cnt == 0 ? NULL : user_of(p, &t->inputs[0]);
    if (same != NULL && cd_hash32_eq(&same->tx.id, &t->id)) {
        return cd_fail(why, CD_EEXIST, "already known");
    }
    CD_TRY(check_conflicts(p, t, price, why));
    CD_TRY(check_room(p, t, price, why));
    for (usize k = 0; k < t->input_cnt; k++) {
        entry *e = user_of(p, &t->inputs[k]);
        if (e != NULL) {
            drop(p, e);
        }
    }
    while (p->cnt == CD_ATOMIC_POOL_MAX || p->bytes + t->bytes.n > CD_ATOMIC_POOL_BYTES) {
        drop(p, p->sorted[p->cnt - 1]);
    }
    (void)cd_lru_del(p->dropped, &t->id);
    insert(p, t, price);
    return CD_OK;
}
