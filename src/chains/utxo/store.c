#include "chains/utxo/store.h"

#include <stdlib.h>

enum {
    BY_ID = 'u',
    BY_OWNER = 'o',
    ID_KEY = 1 + 32,
    OWNER_KEY = 1 + 20 + 32,
    ID_AT = 1 + 20,
    PAGE_BYTES = 16 << 20,
    PASSED_OVER = 16 << 10, /* UTXOs that a page may look at in vain */
    FOUND_MIN = 16,         /* places to begin with: most addresses own few */
};

/* --- keys --- */

static cd_bytes id_key(u8 key[ID_KEY], const cd_hash32 *id)
{
    key[0] = BY_ID;
    memcpy(key + 1, id->b, sizeof id->b);
    return cd_bytes_of(key, ID_KEY);
}

static cd_bytes owner_key(u8 key[OWNER_KEY], const cd_addr20 *addr, const cd_hash32 *id)
{
    key[0] = BY_OWNER;
    memcpy(key + 1, addr->b, sizeof addr->b);
    memcpy(key + ID_AT, id->b, sizeof id->b);
    return cd_bytes_of(key, OWNER_KEY);
}

/* --- changes --- */

void cd_utxo_put(cd_kv_batch *b, const cd_linear_type *table, const cd_utxo *u)
{
    cd_hash32 id;
    u8 key[OWNER_KEY];
    cd_buf value = {0};
    const cd_owners *owners = cd_utxo_owners(&u->out);
    cd_utxo_id(&id, &u->tx_id, u->output_idx);
    cd_linear_put(&value, table, u);
    cd_kv_batch_put(b, id_key(key, &id), cd_buf_bytes(&value));
    bool is_sole = owners != NULL && owners->addrs.cnt == 1;
    for (u32 i = 0; owners != NULL && i < owners->addrs.cnt; i++) {
        cd_kv_batch_put(b, owner_key(key, &((const cd_addr20 *)owners->addrs.v)[i], &id),
                        is_sole ? cd_buf_bytes(&value) : (cd_bytes){0});
    }
    cd_buf_fini(&value);
}

void cd_utxo_del(cd_kv_batch *b, const cd_utxo *u)
{
    cd_hash32 id;
    u8 key[OWNER_KEY];
    const cd_owners *owners = cd_utxo_owners(&u->out);
    cd_utxo_id(&id, &u->tx_id, u->output_idx);
    cd_kv_batch_del(b, id_key(key, &id));
    for (u32 i = 0; owners != NULL && i < owners->addrs.cnt; i++) {
        cd_kv_batch_del(b, owner_key(key, &((const cd_addr20 *)owners->addrs.v)[i], &id));
    }
}

/* --- reading --- */

/* Reads a UTXO out of bytes, which are copied; all lies in the arena. */
static cd_err parse(cd_utxo *out, cd_bytes *bytes, cd_arena *a, const cd_linear_type *table, cd_bytes value)
{
    cd_utxo u = {0};
    *bytes = cd_arena_dup(a, value);
    if (cd_utxo_parse(&u, table, a, *bytes, NULL) != CD_OK) {
        return CD_ECORRUPT;
    }
    *out = u;
    return CD_OK;
}

/* Reads a UTXO and its bytes; both lie in the arena. */
static cd_err load(cd_utxo *out, cd_bytes *bytes, cd_kv *kv, cd_arena *a, const cd_linear_type *table,
                   const cd_hash32 *id)
{
    u8 key[ID_KEY];
    cd_buf value = {0};
    cd_err e = cd_kv_get(kv, &value, id_key(key, id));
    e = e != CD_OK ? e : parse(out, bytes, a, table, cd_buf_bytes(&value));
    cd_buf_fini(&value);
    return e;
}

cd_err cd_utxo_get(cd_utxo *out, cd_kv *kv, cd_arena *a, const cd_linear_type *table, const cd_hash32 *id)
{
    cd_bytes bytes;
    return load(out, &bytes, kv, a, table, id);
}

/* What an index row names must be there: in the row, or by its ID. */
static cd_err load_indexed(cd_utxo *out, cd_bytes *bytes, cd_kv *kv, cd_arena *a, const cd_linear_type *table,
                           const cd_hash32 *id, cd_bytes row)
{
    if (row.n != 0) {
        return parse(out, bytes, a, table, row);
    }
    cd_err e = load(out, bytes, kv, a, table, id);
    return e == CD_ENOENT ? CD_ECORRUPT : e;
}

/* Begins a walk over the index rows of an address, behind `after` when it is not zero. A zero ID is no UTXO's. */
static cd_err walk(cd_kv_iter **out, cd_kv *kv, const cd_addr20 *addr, const cd_hash32 *after)
{
    u8 key[OWNER_KEY];
    cd_bytes start = owner_key(key, addr, after);
    cd_kv_range range = {.start = start, .prefix = cd_bytes_of(key, ID_AT)};
    return cd_kv_iter_new(out, kv, &range);
}

static bool walk_next(cd_kv_iter *it, cd_hash32 *id, const cd_hash32 *after)
{
    bool found;
    do {
        found = cd_kv_iter_next(it);
        if (found) {
            CD_ASSERT(cd_kv_iter_key(it).n == OWNER_KEY);
            memcpy(id->b, cd_kv_iter_key(it).p + ID_AT, sizeof id->b);
        }
    } while (found && cd_hash32_eq(id, after));
    return found;
}

/* --- pages --- */

static int compare_addrs(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

static usize sort_unique(cd_addr20 *addrs, usize cnt)
{
    usize kept = 0;
    qsort(addrs, cnt, sizeof *addrs, compare_addrs);
    for (usize i = 0; i < cnt; i++) {
        if (kept == 0 || !cd_addr20_eq(&addrs[kept - 1], &addrs[i])) {
            addrs[kept++] = addrs[i];
        }
    }
    return kept;
}

/* Whether one of the addresses, all of which were walked before, owns the UTXO: then it was given already. */
static bool was_given(const cd_utxo *u, const cd_addr20 *before, usize cnt)
{
    const cd_owners *owners = cd_utxo_owners(&u->out);
    for (u32 i = 0; cnt > 0 && owners != NULL && i < owners->addrs.cnt; i++) {
        const cd_addr20 *owner = &((const cd_addr20 *)owners->addrs.v)[i];
        if (bsearch(owner, before, cnt, sizeof *before, compare_addrs) != NULL) {
            return true;
        }
    }
    return false;
}

typedef struct page {
    cd_utxo_found *found;
    usize cnt;
    usize cap;
    usize limit;
    usize bytes; /* of all that was looked at */
    usize passed;
    cd_kv *kv;
    cd_arena *arena;
    const cd_linear_type *table;
} page;

static bool is_full(const page *p)
{
    return p->cnt == p->limit || p->bytes >= PAGE_BYTES || p->passed >= PASSED_OVER;
}

/* A place for one more; what was there stays where it was, and is copied. */
static cd_utxo_found *room(page *p)
{
    if (p->cnt == p->cap) {
        usize cap = cd_min_u64(p->cap == 0 ? FOUND_MIN : 2 * p->cap, p->limit);
        cd_utxo_found *more = cd_arena_array(p->arena, cd_utxo_found, cap);
        if (p->cnt != 0) {
            memcpy(more, p->found, p->cnt * sizeof *more);
        }
        p->found = more;
        p->cap = cap;
    }
    return &p->found[p->cnt++];
}

/* Takes what one address owns until the page is full; at->addr is that address. */
static cd_err page_of(page *p, cd_utxo_cursor *at, const cd_addr20 *before, usize before_cnt)
{
    cd_kv_iter *it = NULL;
    cd_hash32 start = at->utxo;
    cd_hash32 id;
    cd_err e = walk(&it, p->kv, &at->addr, &start);
    while (e == CD_OK && !is_full(p) && walk_next(it, &id, &start)) {
        cd_arena_mark mark = cd_arena_mark_get(p->arena);
        cd_utxo_found f = {.id = id};
        e = load_indexed(&f.utxo, &f.bytes, p->kv, p->arena, p->table, &id, cd_kv_iter_value(it));
        if (e != CD_OK) {
            break;
        }
        at->utxo = id;
        p->bytes += f.bytes.n;
        if (was_given(&f.utxo, before, before_cnt)) {
            cd_arena_rewind(p->arena, mark);
            p->passed++;
        } else {
            *room(p) = f;
        }
    }
    if (it != NULL) {
        e = e == CD_OK ? cd_kv_iter_err(it) : e;
        cd_kv_iter_free(it);
    }
    return e;
}

cd_err cd_utxo_page(cd_utxo_found **out, usize *out_cnt, cd_utxo_cursor *at, cd_kv *kv, cd_arena *a,
                    const cd_linear_type *table, cd_addr20 *addrs, usize *cnt, usize limit)
{
    page p = {.limit = limit, .kv = kv, .arena = a, .table = table};
    cd_utxo_cursor here = *at;
    CD_ASSERT(limit >= 1 && limit <= CD_UTXO_PAGE_MAX);
    *cnt = sort_unique(addrs, *cnt);
    for (usize i = 0; i < *cnt && !is_full(&p); i++) {
        int c = memcmp(&addrs[i], &at->addr, sizeof *addrs);
        if (c < 0) {
            continue;
        }
        if (c > 0) {
            here = (cd_utxo_cursor){.addr = addrs[i]};
        }
        CD_TRY(page_of(&p, &here, addrs, i));
    }
    *out = p.found;
    *out_cnt = p.cnt;
    *at = here;
    return CD_OK;
}

cd_err cd_utxo_each(cd_kv *kv, const cd_linear_type *table, const cd_addr20 *addr, const cd_hash32 *after,
                    cd_utxo_visit *visit, void *ctx)
{
    static const cd_hash32 zero;
    cd_arena arena = {0};
    cd_kv_iter *it = NULL;
    cd_hash32 id;
    bool goes_on = true;
    after = after == NULL ? &zero : after;
    cd_err e = walk(&it, kv, addr, after);
    while (e == CD_OK && goes_on && walk_next(it, &id, after)) {
        cd_utxo u = {0};
        cd_bytes bytes;
        cd_arena_reset(&arena);
        e = load_indexed(&u, &bytes, kv, &arena, table, &id, cd_kv_iter_value(it));
        goes_on = e == CD_OK && visit(ctx, &id, &u);
    }
    if (it != NULL) {
        e = e == CD_OK ? cd_kv_iter_err(it) : e;
        cd_kv_iter_free(it);
    }
    cd_arena_fini(&arena);
    return e;
}
