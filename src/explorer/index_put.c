/* A block's entries: collected, and stored as one record with their block, which costs the executor little. The
 * index's thread folds them into rows, one an address and table: sorted, for neighbours go into the store faster. */
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "evm/interp/opcode.h"
#include "explorer/index_priv.h"

#include <stdlib.h>

/* A power of two each. What was forgotten is written once more, or looked up. */
enum { HELD_CNT = 1 << 16, TOKENS_CNT = 1 << 12 };

void cd__ix_writer_init(cd__ix_writer *w, cd_kv *kv)
{
    cd_rng rng = cd_rng_os();
    *w = (cd__ix_writer){.kv = kv};
    cd_rng_fill(&rng, &w->key, sizeof w->key);
    w->held = cd_new_array(u64, HELD_CNT);
    w->tokens = cd_new_array(u64, TOKENS_CNT);
}

void cd__ix_writer_fini(cd__ix_writer *w)
{
    cd_free(w->v);
    cd_free(w->got);
    cd_free(w->fresh);
    cd_free(w->held);
    cd_free(w->tokens);
}

void cd__ix_writer_forget(cd__ix_writer *w)
{
    memset(w->held, 0, HELD_CNT * sizeof *w->held);
    memset(w->tokens, 0, TOKENS_CNT * sizeof *w->tokens);
}

/* Notes key in a table of hashes; false when it was there. The hash is keyed: nobody can make two that are alike. */
static bool is_new(const cd__ix_writer *w, u64 *table, usize cnt, cd_bytes key)
{
    u64 hash = cd_siphash13(w->key, key);
    u64 *at = &table[hash & (cnt - 1)];
    bool differs = *at != hash;
    *at = hash;
    return differs;
}

cd_bytes cd__ix_key(u8 out[CD__IX_ROW], cd__ix_table t, const cd_addr20 *addr, u64 height)
{
    out[0] = CD__IX_PREFIX;
    out[1] = (u8)t;
    memcpy(out + 2, addr->b, 20);
    cd_put_be64(out + CD__IX_ADDR, height);
    return cd_bytes_of(out, CD__IX_ROW);
}

cd_bytes cd__ix_height_key(u8 out[2 + 8], cd__ix_table t, u64 height)
{
    out[0] = CD__IX_PREFIX;
    out[1] = (u8)t;
    cd_put_be64(out + 2, height);
    return cd_bytes_of(out, 2 + 8);
}

/* --- collecting --- */

static void add(cd__ix_writer *w, cd__ix_table t, const cd_addr20 *addr, usize tx, usize item)
{
    if (w->cnt == w->cap) {
        w->cap = w->cap == 0 ? 256 : 2 * w->cap;
        w->v = cd_realloc(w->v, w->cap * sizeof *w->v);
    }
    u8 *b = w->v[w->cnt++].b;
    b[0] = (u8)t;
    memcpy(b + 1, addr->b, 20);
    cd_put_be32(b + 21, (u32)tx);
    cd_put_be32(b + 25, (u32)item);
}

static int compare(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(cd__ix_entry));
}

static bool creates(const cd_transfer *t)
{
    return t->op == CD_OP_CREATE || t->op == CD_OP_CREATE2;
}

static void collect(cd__ix_writer *w, const cd_chain_entry *b)
{
    w->cnt = 0;
    for (usize i = 0; i < b->block->tx_cnt; i++) {
        const cd_tx *tx = &b->block->txs[i];
        const cd_receipt *r = &b->receipts[i];
        add(w, CD__IX_TXS, &tx->sender, i, 0);
        if (!tx->is_create) {
            add(w, CD__IX_TXS, &tx->to, i, 0);
        } else if (r->ok) {
            add(w, CD__IX_TXS, &r->created, i, 0);
        }
        for (usize j = 0; j < r->log_cnt; j++) {
            cd_token_move m;
            if (cd_token_moves_cnt(&r->logs[j]) != 0) {
                cd_token_moves_get(&m, &r->logs[j], 0);
                add(w, CD__IX_MOVES, &m.from, i, j);
                add(w, CD__IX_MOVES, &m.to, i, j);
                add(w, CD__IX_SAID, &m.token, i, j);
            }
        }
    }
    for (usize k = 0; k < b->transfer_cnt; k++) {
        const cd_transfer *t = &b->transfers[k];
        add(w, CD__IX_INTERNALS, &t->from, t->tx, k);
        add(w, CD__IX_INTERNALS, &t->to, t->tx, k);
    }
}

/* --- who got what --- */

static void add_got(cd__ix_writer *w, cd__ix_table t, const cd_addr20 *a, const cd_addr20 *b, const cd_token_move *m)
{
    static const cd_addr20 none;
    if (w->got_cnt == w->got_cap) {
        w->got_cap = w->got_cap == 0 ? 64 : 2 * w->got_cap;
        w->got = cd_realloc(w->got, w->got_cap * sizeof *w->got);
    }
    u8 *p = w->got[w->got_cnt++].b;
    p[0] = (u8)t;
    memcpy(p + 1, a->b, 20);
    memcpy(p + 21, (b == NULL ? &none : b)->b, 20);
    p[41] = (u8)m->kind;
    cd_u256_store_be(p + 42, &m->id);
}

static void add_move(cd__ix_writer *w, const cd_token_move *m)
{
    static const cd_addr20 nobody;
    usize first = w->got_cnt;
    if (cd_addr20_eq(&m->to, &nobody)) {
        return;
    }
    add_got(w, CD__IX_HOLDS, &m->to, &m->token, m);
    if (!is_new(w, w->held, HELD_CNT, cd_bytes_of(w->got[first].b, sizeof w->got[first].b))) {
        w->got_cnt = first;
        return;
    }
    add_got(w, CD__IX_HOLDERS, &m->token, &m->to, m);
    if (m->kind != CD_TOKEN_ERC20) {
        add_got(w, CD__IX_IDS, &m->token, NULL, m);
    }
}

static int compare_got(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(cd__ix_got));
}

static void collect_got(cd__ix_writer *w, const cd_chain_entry *b)
{
    w->got_cnt = 0;
    for (usize i = 0; i < b->block->tx_cnt; i++) {
        for (usize j = 0; j < b->receipts[i].log_cnt; j++) {
            const cd_log *log = &b->receipts[i].logs[j];
            u32 cnt = cd_token_moves_cnt(log);
            for (u32 k = 0; k < cnt; k++) {
                cd_token_move m;
                cd_token_moves_get(&m, log, k);
                add_move(w, &m);
            }
        }
    }
}

static void sort(cd__ix_writer *w)
{
    if (w->cnt > 1) {
        qsort(w->v, w->cnt, sizeof *w->v, compare);
    }
    if (w->got_cnt > 1) {
        qsort(w->got, w->got_cnt, sizeof *w->got, compare_got);
    }
}

/* The rows of who got what: keys alone. */
static void put_got_rows(const cd__ix_writer *w, cd_kv_batch *batch)
{
    for (usize i = 0; i < w->got_cnt; i++) {
        const u8 *p = w->got[i].b;
        u8 key[CD__IX_HELD + 32] = {CD__IX_PREFIX};
        usize n = p[0] == CD__IX_IDS ? 21 : 41;
        usize id = p[41] == CD_TOKEN_ERC20 ? 1 : 33;
        memcpy(key + 1, p, n);
        memcpy(key + 1 + n, p + 41, id);
        cd_kv_batch_put(batch, cd_bytes_of(key, 1 + n + id), (cd_bytes){0});
    }
}

/* --- creations --- */

static void put_made(cd_kv_batch *batch, const cd_index_creation *c, const cd_addr20 *contract, bool is_del)
{
    u8 key[CD__IX_ROW];
    u8 value[CD__IX_MADE_SIZE];
    (void)cd__ix_key(key, CD__IX_MADE, contract, c->at.height);
    if (is_del) {
        cd_kv_batch_del(batch, cd_bytes_of(key, sizeof key));
        return;
    }
    cd_put_be32(value, c->at.tx);
    cd_put_be32(value + 4, c->at.item);
    value[8] = c->is_internal;
    memcpy(value + 9, c->creator.b, 20);
    cd_kv_batch_put(batch, cd_bytes_of(key, sizeof key), cd_bytes_of(value, sizeof value));
}

static void put_creations(cd_kv_batch *batch, const cd_chain_entry *b, bool is_del)
{
    u64 height = b->block->header.number;
    for (usize i = 0; i < b->block->tx_cnt; i++) {
        if (b->block->txs[i].is_create && b->receipts[i].ok) {
            const cd_index_creation c = {.at = {.height = height, .tx = (u32)i}, .creator = b->block->txs[i].sender};
            put_made(batch, &c, &b->receipts[i].created, is_del);
        }
    }
    for (usize k = 0; k < b->transfer_cnt; k++) {
        const cd_transfer *t = &b->transfers[k];
        if (creates(t)) {
            const cd_index_creation c = {
                .at = {.height = height, .tx = t->tx, .item = (u32)k}, .creator = t->from, .is_internal = true};
            put_made(batch, &c, &t->to, is_del);
        }
    }
}

/* --- transfers of the block --- */

static void put_inside(cd_kv_batch *batch, const cd_chain_entry *b)
{
    u8 key[10];
    (void)cd__ix_height_key(key, CD__IX_BLOCK, b->block->header.number);
    u8 *p = cd_kv_batch_put2(batch, cd_bytes_of(key, 2), cd_bytes_of(key + 2, 8), b->transfer_cnt * CD__IX_INSIDE);
    for (usize k = 0; k < b->transfer_cnt; k++, p += CD__IX_INSIDE) {
        const cd_transfer *t = &b->transfers[k];
        cd_put_be32(p, t->tx);
        cd_put_be32(p + 4, t->depth);
        p[8] = t->op;
        memcpy(p + 9, t->from.b, 20);
        memcpy(p + 29, t->to.b, 20);
        cd_u256_store_be(p + 49, &t->value);
    }
}

cd_err cd__ix_inside(cd_kv *kv, cd_transfer **out, usize *cnt, cd_arena *a, u64 height)
{
    u8 key[10];
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd__ix_height_key(key, CD__IX_BLOCK, height));
    if (e == CD_OK && v.n % CD__IX_INSIDE != 0) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK || e == CD_ENOENT) {
        *cnt = e == CD_OK ? v.n / CD__IX_INSIDE : 0;
        *out = cd_arena_array(a, cd_transfer, *cnt);
        e = CD_OK;
        for (usize k = 0; k < *cnt; k++) {
            const u8 *p = v.p + k * CD__IX_INSIDE;
            cd_transfer *t = &(*out)[k];
            t->tx = cd_be32(p);
            t->depth = cd_be32(p + 4);
            t->op = p[8];
            memcpy(t->from.b, p + 9, 20);
            memcpy(t->to.b, p + 29, 20);
            cd_u256_load_be(&t->value, p + 49);
        }
    }
    cd_buf_fini(&v);
    return e;
}

/* --- tokens --- */

cd_err cd__ix_first(cd_kv *kv, cd_index_token *out, const cd_addr20 *token)
{
    u8 key[CD__IX_ROW];
    cd_kv_iter *it = NULL;
    (void)cd__ix_key(key, CD__IX_FIRST, token, 0);
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(key, CD__IX_ADDR)}));
    cd_err e = CD_ENOENT;
    if (cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        cd_bytes v = cd_kv_iter_value(it);
        e = k.n == CD__IX_ROW && v.n == CD__IX_FIRST_SIZE && v.p[8] <= CD_TOKEN_ERC1155 ? CD_OK : CD_ECORRUPT;
        if (e == CD_OK) {
            *out = (cd_index_token){
                .addr = *token,
                .kind = (cd_token_kind)v.p[8],
                .first = {cd_be64(k.p + CD__IX_ADDR), cd_be32(v.p), cd_be32(v.p + 4), 0},
            };
        }
    } else if (cd_kv_iter_err(it) != CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}

static void token_keys(u8 first[CD__IX_ROW], u8 list[CD__IX_ROW + CD__IX_ITEM], const cd__ix_entry *e, u64 height)
{
    cd_addr20 token;
    memcpy(token.b, e->b + 1, 20);
    (void)cd__ix_key(first, CD__IX_FIRST, &token, height);
    (void)cd__ix_height_key(list, CD__IX_TOKENS, height);
    memcpy(list + 10, e->b + 21, CD__IX_ITEM);
    memcpy(list + 18, token.b, 20);
}

/* Did the token move before in the block in hand, or is that noted now? */
static bool is_fresh(cd__ix_writer *w, const u8 *token)
{
    for (usize i = 0; i < w->fresh_cnt; i++) {
        if (memcmp(w->fresh[i], token, 20) == 0) {
            return false;
        }
    }
    if (w->fresh_cnt == w->fresh_cap) {
        w->fresh_cap = w->fresh_cap == 0 ? 16 : 2 * w->fresh_cap;
        w->fresh = cd_realloc(w->fresh, w->fresh_cap * sizeof *w->fresh);
    }
    w->fresh[w->fresh_cnt++] = token;
    return true;
}

/* A token moved: is that the first time there ever was? */
static cd_err put_token(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b, const cd__ix_entry *entry)
{
    u8 first[CD__IX_ROW];
    u8 list[CD__IX_ROW + CD__IX_ITEM];
    u8 value[CD__IX_FIRST_SIZE];
    u64 height = b->block->header.number;
    cd_index_token known;
    cd_token_move m;
    if (!is_new(w, w->tokens, TOKENS_CNT, cd_bytes_of(entry->b + 1, 20)) || !is_fresh(w, entry->b + 1)) {
        return CD_OK;
    }
    memcpy(known.addr.b, entry->b + 1, 20);
    cd_err e = cd__ix_first(w->kv, &known, &known.addr);
    if (e != CD_ENOENT && (e != CD_OK || known.first.height <= height)) {
        return e;
    }
    token_keys(first, list, entry, height);
    cd_token_moves_get(&m, &b->receipts[cd_be32(entry->b + 21)].logs[cd_be32(entry->b + 25)], 0);
    memcpy(value, entry->b + 21, CD__IX_ITEM);
    value[8] = (u8)m.kind;
    cd_kv_batch_put(batch, cd_bytes_of(first, sizeof first), cd_bytes_of(value, sizeof value));
    cd_kv_batch_put(batch, cd_bytes_of(list, sizeof list), cd_bytes_of(value, sizeof value));
    return CD_OK;
}

static void del_token(cd_kv_batch *batch, const cd__ix_entry *entry, u64 height)
{
    u8 first[CD__IX_ROW];
    u8 list[CD__IX_ROW + CD__IX_ITEM];
    token_keys(first, list, entry, height);
    cd_kv_batch_del(batch, cd_bytes_of(first, sizeof first));
    cd_kv_batch_del(batch, cd_bytes_of(list, sizeof list));
}

/* --- rows of addresses --- */

/* Appends the row of the entries from the one at first on that have its table and address; gives where the next
 * begins. */
static usize put_row(const cd__ix_writer *w, cd_kv_batch *batch, usize first, u64 height, bool is_del)
{
    enum { GROUP = 1 + 20 };
    u8 prefix[CD__IX_ADDR] = {CD__IX_PREFIX};
    u8 at[8];
    usize end = first;
    usize twice = 0;
    while (end < w->cnt && memcmp(w->v[end].b, w->v[first].b, GROUP) == 0) {
        twice += end != first && compare(&w->v[end], &w->v[end - 1]) == 0 ? 1 : 0;
        end++;
    }
    memcpy(prefix + 1, w->v[first].b, GROUP);
    cd_put_be64(at, height);
    if (is_del) {
        cd_kv_batch_del2(batch, cd_bytes_of(prefix, sizeof prefix), cd_bytes_of(at, 8));
        return end;
    }
    u8 *out = cd_kv_batch_put2(batch, cd_bytes_of(prefix, sizeof prefix), cd_bytes_of(at, 8),
                               (end - first - twice) * CD__IX_ITEM);
    for (usize i = first; i < end; i++) {
        if (i == first || compare(&w->v[i], &w->v[i - 1]) != 0) {
            memcpy(out, w->v[i].b + GROUP, CD__IX_ITEM);
            out += CD__IX_ITEM;
        }
    }
    return end;
}

static void put_rows(cd__ix_writer *w, cd_kv_batch *batch, u64 height)
{
    sort(w);
    for (usize i = 0; i < w->cnt;) {
        i = put_row(w, batch, i, height, false);
    }
    put_got_rows(w, batch);
}

/* Collects the entries of a block and appends what is never folded. */
static cd_err put_rest(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b)
{
    collect(w, b);
    collect_got(w, b);
    w->fresh_cnt = 0;
    for (usize i = 0; i < w->cnt; i++) {
        if (w->v[i].b[0] == CD__IX_SAID) {
            CD_TRY(put_token(w, batch, b, &w->v[i]));
        }
    }
    put_creations(batch, b, false);
    if (b->transfer_cnt != 0) {
        put_inside(batch, b);
    }
    return CD_OK;
}

static void put_array(cd_kv_batch *batch, cd__ix_table t, u64 height, const void *v, usize n)
{
    u8 key[10];
    if (n != 0) {
        cd_kv_batch_put(batch, cd__ix_height_key(key, t, height), cd_bytes_of(v, n));
    }
}

cd_err cd__ix_put(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b)
{
    u64 height = b->block->header.number;
    CD_TRY(put_rest(w, batch, b));
    put_array(batch, CD__IX_ENTRIES, height, w->v, w->cnt * sizeof *w->v);
    put_array(batch, CD__IX_GOT, height, w->got, w->got_cnt * sizeof *w->got);
    return CD_OK;
}

cd_err cd__ix_put_rows(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b)
{
    CD_TRY(put_rest(w, batch, b));
    put_rows(w, batch, b->block->header.number);
    return CD_OK;
}

static void del_arrays(cd_kv_batch *batch, u64 height)
{
    u8 key[10];
    cd_kv_batch_del(batch, cd__ix_height_key(key, CD__IX_ENTRIES, height));
    cd_kv_batch_del(batch, cd__ix_height_key(key, CD__IX_GOT, height));
}

/* Reads an array of a block; *v is replaced. */
static cd_err get_array(cd_kv *kv, void **v, usize *cnt, usize *cap, usize size, cd__ix_table t, u64 height)
{
    u8 key[10];
    cd_buf value = {0};
    cd_err e = cd_kv_get(kv, &value, cd__ix_height_key(key, t, height));
    if (e == CD_OK && value.n % size != 0) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        *cnt = value.n / size;
        if (*cap < *cnt) {
            *cap = *cnt;
            *v = cd_realloc(*v, value.n);
        }
        memcpy(*v, value.p, value.n);
    }
    cd_buf_fini(&value);
    return e;
}

cd_err cd__ix_fold(cd__ix_writer *w, cd_kv_batch *batch, cd_kv *kv, u64 height)
{
    void *v = w->v;
    void *got = w->got;
    cd_err e = get_array(kv, &v, &w->cnt, &w->cap, sizeof *w->v, CD__IX_ENTRIES, height);
    w->v = v;
    CD_TRY(e);
    w->got_cnt = 0;
    e = get_array(kv, &got, &w->got_cnt, &w->got_cap, sizeof *w->got, CD__IX_GOT, height);
    w->got = got;
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    put_rows(w, batch, height);
    del_arrays(batch, height);
    return CD_OK;
}

cd_err cd__ix_del(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b)
{
    u64 height = b->block->header.number;
    u8 key[10];
    cd_arena a = {0};
    cd_transfer *inside = NULL;
    cd_chain_entry all = *b;
    cd_err e = cd__ix_inside(w->kv, &inside, &all.transfer_cnt, &a, height);
    if (e == CD_OK) {
        all.transfers = inside;
        collect(w, &all);
        w->got_cnt = 0;
        sort(w);
        for (usize i = 0; i < w->cnt;) {
            if (w->v[i].b[0] == CD__IX_SAID) {
                del_token(batch, &w->v[i], height);
            }
            i = put_row(w, batch, i, height, true);
        }
        put_creations(batch, &all, true);
        cd_kv_batch_del(batch, cd__ix_height_key(key, CD__IX_BLOCK, height));
        del_arrays(batch, height);
        cd__ix_writer_forget(w);
    }
    cd_arena_fini(&a);
    return e;
}

/* --- how far it is --- */

enum { FORM = 1, STATE_SIZE = 1 + 2 * 8, UPTO_SIZE = 2 * 8 };

static const u8 state_key[2] = {CD__IX_PREFIX, CD__IX_STATE};
static const u8 upto_key[2] = {CD__IX_PREFIX, CD__IX_UPTO};

void cd__ix_state_put(cd_kv_batch *batch, const cd__ix_state *s)
{
    u8 v[STATE_SIZE] = {FORM};
    cd_put_be64(v + 1, s->done);
    cd_put_be64(v + 9, s->traced_from);
    cd_kv_batch_put(batch, cd_bytes_of(state_key, 2), cd_bytes_of(v, sizeof v));
}

void cd__ix_upto_put(cd_kv_batch *batch, const cd__ix_upto *u)
{
    u8 v[UPTO_SIZE];
    cd_put_be64(v, u->top);
    cd_put_be64(v + 8, u->epoch);
    cd_kv_batch_put(batch, cd_bytes_of(upto_key, 2), cd_bytes_of(v, sizeof v));
}

cd_err cd__ix_state_read(cd_kv *kv, cd__ix_state *out)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd_bytes_of(state_key, 2));
    if (e == CD_OK && (v.n != STATE_SIZE || v.p[0] != FORM)) {
        e = CD_ENOENT;
    }
    if (e == CD_OK) {
        *out = (cd__ix_state){.done = cd_be64(v.p + 1), .traced_from = cd_be64(v.p + 9)};
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd__ix_upto_read(cd_kv *kv, cd__ix_upto *out)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd_bytes_of(upto_key, 2));
    if (e == CD_OK && v.n != UPTO_SIZE) {
        e = CD_ENOENT;
    }
    if (e == CD_OK) {
        *out = (cd__ix_upto){.top = cd_be64(v.p), .epoch = cd_be64(v.p + 8)};
    }
    cd_buf_fini(&v);
    return e;
}
