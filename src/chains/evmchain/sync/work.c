#include "base/mem/mem.h"
#include "base/rd.h"
#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/sync/check.h"
#include "chains/evmchain/sync/client_priv.h"

enum { BLOCKS = 'b', PART = 'm', QUEUE = 'q', CODE = 'k', SIDE = 'x' };

/* --- records --- */

typedef struct key {
    u8 b[33];
    usize n;
} key;

static cd_bytes key_of(key *k, u8 table, const void *rest, usize n)
{
    k->b[0] = table;
    if (n != 0) {
        memcpy(k->b + 1, rest, n);
    }
    return cd_bytes_of(k->b, 1 + n);
}

static void put_blocks(cd_kv_batch *batch, const cd__task *t)
{
    key k;
    u8 v[42];
    memcpy(v, t->hash.b, 32);
    cd_put_be64(v + 32, t->height);
    cd_put_be16(v + 40, (u16)t->left);
    cd_adopt_add(batch, key_of(&k, BLOCKS, NULL, 0), cd_bytes_of(v, sizeof v));
}

static void put_part(cd_kv_batch *batch, const cd__task *t, bool is_done)
{
    key k;
    u8 v[33];
    const u8 part = (u8)t->part;
    memcpy(v, t->next, 32);
    v[32] = is_done;
    cd_adopt_add(batch, key_of(&k, PART, &part, 1), cd_bytes_of(v, sizeof v));
}

static void put_storage(cd_kv_batch *batch, const cd_hash32 *account, const cd_hash32 *root, const u8 next[32])
{
    key k;
    u8 v[64];
    memcpy(v, root->b, 32);
    memcpy(v + 32, next, 32);
    cd_adopt_add(batch, key_of(&k, QUEUE, account->b, 32), cd_bytes_of(v, sizeof v));
}

static void drop(cd_kv_batch *batch, u8 table, const cd_hash32 *hash)
{
    key k;
    cd_adopt_add(batch, key_of(&k, table, hash->b, 32), (cd_bytes){0});
}

/* Reads a record of n bytes. Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
static cd_err read(cd_sync_client *c, u8 *out, usize n, cd_bytes at)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(c->part, &v, at);
    e = e == CD_OK && v.n != n ? CD_ECORRUPT : e;
    if (e == CD_OK) {
        memcpy(out, v.p, n);
    }
    cd_buf_fini(&v);
    return e;
}

/* --- from the store --- */

static cd_err load_blocks(cd_sync_client *c)
{
    key k;
    u8 v[42];
    cd__task *t = &c->tasks[CD__AT_BLOCKS];
    cd_err e = read(c, v, sizeof v, key_of(&k, BLOCKS, NULL, 0));
    *t = (cd__task){.kind = CD__TASK_BLOCKS, .hash = c->target.hash, .height = c->target.height};
    t->left = (u32)cd_min_u64(CD_SYNC_ANCESTORS + 1, t->height);
    if (e == CD_OK) {
        memcpy(t->hash.b, v, 32);
        t->height = cd_be64(v + 32);
        t->left = cd_be16(v + 40);
    }
    t->kind = t->left == 0 ? CD__TASK_NONE : t->kind;
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err load_part(cd_sync_client *c, u32 part)
{
    key k;
    u8 v[33] = {0};
    const u8 letter = (u8)part;
    cd__task *t = &c->tasks[CD__AT_ACCOUNTS + part];
    cd_err e = read(c, v, sizeof v, key_of(&k, PART, &letter, 1));
    *t = (cd__task){.kind = CD__TASK_ACCOUNTS, .part = part, .root = c->target.root};
    memset(t->last, 0xff, sizeof t->last);
    t->last[0] = (u8)(part << 4 | 0xf);
    v[0] = e == CD_ENOENT ? (u8)(part << 4) : v[0];
    memcpy(t->next, v, 32);
    t->kind = v[32] != 0 ? CD__TASK_NONE : t->kind;
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err load_side(cd_sync_client *c)
{
    key k;
    u8 v[CD_SYNC_SIDE_KEY + 1] = {0};
    cd__task *t = &c->tasks[CD__AT_SIDE];
    *t = (cd__task){.kind = CD__TASK_NONE, .root = c->target.atomic_root};
    if (c->cfg.side == NULL || cd_hash32_eq(&t->root, &CD_TRIE_EMPTY_ROOT)) {
        return CD_OK;
    }
    cd_err e = read(c, v, sizeof v, key_of(&k, SIDE, NULL, 0));
    if (e == CD_ENOENT) {
        cd_put_be64(v, c->cfg.side->first(c->cfg.side->ctx));
    }
    memcpy(t->next, v, CD_SYNC_SIDE_KEY);
    t->kind = v[CD_SYNC_SIDE_KEY] != 0 ? CD__TASK_NONE : CD__TASK_SIDE;
    return e == CD_ENOENT ? CD_OK : e;
}

cd_err cd__work_load(cd_sync_client *c)
{
    memset(c->tasks, 0, sizeof c->tasks);
    c->open = 0;
    c->has_codes = true;
    c->has_queue = true;
    c->code_at = (cd_hash32){{0}};
    c->queue_at = (cd_hash32){{0}};
    cd_err e = load_blocks(c);
    for (u32 i = 0; i < CD__PARTS && e == CD_OK; i++) {
        e = load_part(c, i);
    }
    return e != CD_OK ? e : load_side(c);
}

static bool is_in_hand(const cd_sync_client *c, u8 table, const cd_hash32 *hash)
{
    bool is = false;
    for (u32 i = CD__AT_CODE; i < CD__AT_ACCOUNTS && !is; i++) {
        const cd__task *t = &c->tasks[i];
        if (t->kind == CD__TASK_STORAGE && table == QUEUE) {
            is = cd_hash32_eq(&t->account, hash);
        }
        for (u32 n = 0; t->kind == CD__TASK_CODE && table == CODE && n < t->cnt && !is; n++) {
            is = cd_hash32_eq(&t->hashes[n], hash);
        }
    }
    return is;
}

/* A place for a thing of a table that waits: an empty one, or one for code with room; NULL: there is none. */
static cd__task *place_for(cd_sync_client *c, u8 table)
{
    u32 from = table == CODE ? CD__AT_CODE : CD__AT_STORAGE;
    u32 to = table == CODE ? CD__AT_STORAGE : CD__AT_ACCOUNTS;
    for (u32 i = from; i < to; i++) {
        cd__task *t = &c->tasks[i];
        bool has_room = t->kind == CD__TASK_CODE && !t->is_asked && t->cnt < CD_SYNC_CODE_MAX;
        if (t->kind == CD__TASK_NONE || has_room) {
            return t;
        }
    }
    return NULL;
}

static cd_err take_in_hand(cd__task *t, u8 table, const cd_hash32 *hash, cd_bytes value)
{
    if (table == CODE) {
        t->kind = CD__TASK_CODE;
        t->hashes[t->cnt++] = *hash;
        return CD_OK;
    }
    if (value.n != 64) {
        return CD_ECORRUPT;
    }
    *t = (cd__task){.kind = CD__TASK_STORAGE, .account = *hash};
    memcpy(t->root.b, value.p, 32);
    memcpy(t->next, value.p + 32, 32);
    return CD_OK;
}

/* Reads on from *at, as far as there is room; *ended: the end of the table was reached, *took: something was found. */
static cd_err read_on(cd_sync_client *c, u8 table, cd_hash32 *at, bool *ended, bool *took)
{
    key from;
    cd_kv_iter *it;
    const cd_kv_range range = {.prefix = cd_bytes_of(&table, 1), .start = key_of(&from, table, at->b, 32)};
    cd__task *t = place_for(c, table);
    CD_TRY(cd_kv_iter_new(&it, c->part, &range));
    cd_err e = CD_OK;
    *ended = false;
    while (e == CD_OK && t != NULL && !*ended) {
        *ended = !cd_kv_iter_next(it);
        cd_hash32 hash;
        if (!*ended && cd_kv_iter_key(it).n != 33) {
            e = CD_ECORRUPT;
        } else if (!*ended) {
            memcpy(hash.b, cd_kv_iter_key(it).p + 1, 32);
            *at = hash;
            if (!is_in_hand(c, table, &hash)) {
                e = take_in_hand(t, table, &hash, cd_kv_iter_value(it));
                *took = true;
                t = place_for(c, table);
            }
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

/* Begins again at the front when the end was reached: the store may have got more there meanwhile. */
static cd_err fill(cd_sync_client *c, u8 table, cd_hash32 *at, bool *has)
{
    bool ended = false;
    bool took = false;
    if (!*has || place_for(c, table) == NULL) {
        return CD_OK;
    }
    bool from_front = cd_hash32_is_zero(at);
    CD_TRY(read_on(c, table, at, &ended, &took));
    if (ended) {
        *at = (cd_hash32){{0}};
        *has = !from_front || took;
    }
    return CD_OK;
}

cd_err cd__work_fill(cd_sync_client *c)
{
    /* Twice: the second time from the front, where the first has reached the end. */
    for (u32 i = 0; i < 2; i++) {
        CD_TRY(fill(c, CODE, &c->code_at, &c->has_codes));
        CD_TRY(fill(c, QUEUE, &c->queue_at, &c->has_queue));
    }
    return CD_OK;
}

bool cd__work_is_done(const cd_sync_client *c)
{
    bool is = !c->has_codes && !c->has_queue;
    for (u32 i = 0; i < CD__TASKS && is; i++) {
        is = c->tasks[i].kind == CD__TASK_NONE;
    }
    return is;
}

double cd__work_part(const cd_sync_client *c)
{
    const double whole = (double)((u64)1 << 60);
    double sum = 0;
    for (u32 i = 0; i < CD__PARTS; i++) {
        const cd__task *t = &c->tasks[CD__AT_ACCOUNTS + i];
        sum += t->kind == CD__TASK_NONE ? 1 : (double)(cd_be64(t->next) - ((u64)i << 60)) / whole;
    }
    return sum / CD__PARTS;
}

/* --- questions --- */

/* Leafs are asked for without an end: behind the last one before it the original's servers prove nothing, so that one
 * could not tell from their answer that none is left. What is beyond a part is cut off here. */
static void question(const cd_sync_client *c, cd_sync_ask *out, cd__task *t)
{
    u32 most = c->cfg.leafs_max == 0 ? CD_SYNC_LEAFS_MAX : c->cfg.leafs_max;
    if (t->kind == CD__TASK_BLOCKS) {
        *out = (cd_sync_ask){.kind = CD_SYNC_BLOCKS, .blocks = {.hash = t->hash, .height = t->height}};
        out->blocks.cnt = (u16)cd_min_u64(t->left, CD_SYNC_BLOCKS_MAX);
    } else if (t->kind == CD__TASK_CODE) {
        *out = (cd_sync_ask){.kind = CD_SYNC_CODE, .code = {.hashes = {.v = t->hashes, .cnt = t->cnt}}};
    } else {
        *out = (cd_sync_ask){.kind = CD_SYNC_LEAFS, .leafs = {.root = t->root, .account = t->account}};
        bool is_side = t->kind == CD__TASK_SIDE;
        out->leafs.start = cd_bytes_of(t->next, is_side ? CD_SYNC_SIDE_KEY : 32);
        out->leafs.limit = (u16)cd_min_u64(most, CD_SYNC_LEAFS_MAX);
        out->leafs.of = is_side ? CD_SYNC_OF_ATOMIC : CD_SYNC_OF_STATE;
    }
}

void cd__work_ask(cd_sync_client *c)
{
    u32 most = c->cfg.asks_max == 0 ? 16 : c->cfg.asks_max;
    cd_buf msg = {0};
    for (u32 i = 0; i < CD__TASKS && c->open < most; i++) {
        cd__task *t = &c->tasks[i];
        cd__peer *p = NULL;
        cd_sync_ask ask;
        if (t->kind == CD__TASK_NONE || t->is_asked) {
            continue;
        }
        const cd_node_id *to = cd__peer_pick(c, &p);
        if (to == NULL) {
            break;
        }
        p->open++;
        c->open++;
        c->stats.asked++;
        c->request = c->request + 2 < CD__FIRST_REQUEST ? CD__FIRST_REQUEST : c->request + 2;
        t->is_asked = true;
        t->from = *to;
        t->request = c->request;
        question(c, &ask, t);
        cd_buf_clear(&msg);
        cd_sync_ask_put(&msg, c->cfg.family, &ask);
        c->cfg.sender->request(c->cfg.sender, &t->from, t->request, cd_buf_bytes(&msg));
    }
    cd_buf_fini(&msg);
}

/* --- answers --- */

static cd_err lie(bool *is_lie, cd_err e)
{
    *is_lie = true;
    return e;
}

static cd_err take_blocks(cd_sync_client *c, cd__task *t, cd_arena *a, const cd_sync_ask *ask, cd_bytes msg,
                          usize *items, bool *is_lie, cd_errinfo *why)
{
    cd_block *blocks;
    cd_bytes *raw;
    cd_err e = cd_sync_check_blocks(&blocks, &raw, items, a, c->cfg.layout, &ask->blocks, msg, why);
    if (e != CD_OK) {
        return lie(is_lie, e);
    }
    if (t->height == c->target.height && !cd_hash32_eq(&blocks[0].header.state_root, &c->target.root)) {
        return cd_fail(why, CD_ECORRUPT, "the block of the summary has another state");
    }
    for (usize i = 0; i < *items; i++) {
        cd_chaindb_put_body(&c->batch, &blocks[i], raw[i]);
        cd_adopt_add_hash(&c->batch, blocks[i].header.number, &blocks[i].hash);
    }
    const cd_header *lowest = &blocks[*items - 1].header;
    t->hash = lowest->parent_hash;
    t->height -= *items;
    t->left -= (u32)*items;
    c->stats.blocks += *items;
    put_blocks(&c->batch, t);
    t->kind = t->left == 0 ? CD__TASK_NONE : t->kind;
    return CD_OK;
}

static cd_err take_code(cd_sync_client *c, cd__task *t, cd_arena *a, const cd_sync_ask *ask, cd_bytes msg, usize *items,
                        bool *is_lie, cd_errinfo *why)
{
    cd_bytes *code;
    cd_err e = cd_sync_check_code(&code, a, &ask->code, msg, why);
    if (e != CD_OK) {
        return lie(is_lie, e);
    }
    for (u32 i = 0; i < t->cnt; i++) {
        cd_adopt_add_code(&c->batch, &t->hashes[i], code[i]);
        drop(&c->batch, CODE, &t->hashes[i]);
    }
    *items = t->cnt;
    c->stats.codes += t->cnt;
    *t = (cd__task){.kind = CD__TASK_NONE};
    return CD_OK;
}

/* An account, and what hangs on it. */
static cd_err take_account(cd_sync_client *c, const cd_trie_item *item, cd_errinfo *why)
{
    static const u8 first[32];
    cd_account x;
    cd_hash32 hash;
    key k;
    bool has = true;
    memcpy(hash.b, item->key.p, 32);
    if (cd_account_dec(&x, c->cfg.form, item->value) != CD_OK) {
        return cd_fail(why, CD_ECORRUPT, "the state has an account of another form");
    }
    cd_adopt_add_account(&c->batch, &hash, item->value);
    if (!cd_hash32_eq(&x.storage_root, &CD_HASH_EMPTY_TRIE)) {
        put_storage(&c->batch, &hash, &x.storage_root, first);
        c->has_queue = true;
    }
    if (!cd_hash32_eq(&x.code_hash, &CD_HASH_EMPTY_CODE)) {
        CD_TRY(cd_adopt_has_code(c->cfg.kv, &has, &x.code_hash));
    }
    if (!has && !is_in_hand(c, CODE, &x.code_hash)) {
        cd_adopt_add(&c->batch, key_of(&k, CODE, x.code_hash.b, 32), cd_bytes_str("\x01"));
        c->has_codes = true;
    }
    return CD_OK;
}

static cd_err take_leafs(cd_sync_client *c, cd__task *t, cd_arena *a, const cd_sync_ask *ask, cd_bytes msg,
                         usize *items, bool *is_lie, cd_errinfo *why)
{
    cd_sync_run run;
    cd_sync_ask_leafs wanted = ask->leafs;
    wanted.end = t->kind == CD__TASK_ACCOUNTS ? cd_bytes_of(t->last, 32) : wanted.end;
    cd_err e = cd_sync_check_leafs(&run, a, &wanted, msg, why);
    if (e == CD_OK && run.more && run.cnt == 0) {
        e = cd_fail(why, CD_EPROOF, "no leafs, and more of them");
    }
    if (e != CD_OK) {
        return lie(is_lie, e);
    }
    for (usize i = 0; i < run.cnt; i++) {
        cd_hash32 slot;
        memcpy(slot.b, run.items[i].key.p, 32);
        if (t->kind == CD__TASK_ACCOUNTS) {
            CD_TRY(take_account(c, &run.items[i], why));
        } else {
            cd_adopt_add_slot(&c->batch, &t->account, &slot, run.items[i].value);
        }
    }
    *items = run.cnt;
    bool goes_on = run.more && cd_sync_next_key(t->next, run.items[run.cnt - 1].key.p, 32);
    if (t->kind == CD__TASK_ACCOUNTS) {
        c->stats.accounts += run.cnt;
        put_part(&c->batch, t, !goes_on);
    } else {
        c->stats.slots += run.cnt;
        if (goes_on) {
            put_storage(&c->batch, &t->account, &t->root, t->next);
        } else {
            drop(&c->batch, QUEUE, &t->account);
        }
    }
    t->kind = goes_on ? t->kind : CD__TASK_NONE;
    return CD_OK;
}

static cd_err take_side(cd_sync_client *c, cd__task *t, cd_arena *a, const cd_sync_ask *ask, cd_bytes msg, usize *items,
                        bool *is_lie, cd_errinfo *why)
{
    cd_sync_run run;
    key k;
    u8 v[CD_SYNC_SIDE_KEY + 1];
    cd_err e = cd_sync_check_leafs(&run, a, &ask->leafs, msg, why);
    if (e == CD_OK && run.more && run.cnt == 0) {
        e = cd_fail(why, CD_EPROOF, "no leafs, and more of them");
    }
    if (e != CD_OK) {
        return lie(is_lie, e);
    }
    for (usize i = 0; i < run.cnt; i++) {
        /* What is above the summary's height cannot be in its trie. */
        if (cd_be64(run.items[i].key.p) > c->target.height) {
            return cd_fail(why, CD_ECORRUPT, "the atomic trie goes beyond its height");
        }
        CD_TRY(c->cfg.side->take(c->cfg.side->ctx, &c->batch, &run.items[i], why));
    }
    *items = run.cnt;
    c->stats.requests += run.cnt;
    bool goes_on = run.more && cd_sync_next_key(t->next, run.items[run.cnt - 1].key.p, CD_SYNC_SIDE_KEY);
    memcpy(v, t->next, CD_SYNC_SIDE_KEY);
    v[CD_SYNC_SIDE_KEY] = !goes_on;
    cd_adopt_add(&c->batch, key_of(&k, SIDE, NULL, 0), cd_bytes_of(v, sizeof v));
    t->kind = goes_on ? t->kind : CD__TASK_NONE;
    return CD_OK;
}

cd_err cd__work_take(cd_sync_client *c, cd__task *t, cd_bytes msg, usize *items, bool *is_lie, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_sync_ask ask;
    cd_err e = CD_OK;
    cd__task was = *t;
    *is_lie = false;
    question(c, &ask, &was); /* borrows from what does not change */
    cd_kv_batch_for(&c->batch, c->cfg.kv);
    if (t->kind == CD__TASK_BLOCKS) {
        e = take_blocks(c, t, &a, &ask, msg, items, is_lie, why);
    } else if (t->kind == CD__TASK_CODE) {
        e = take_code(c, t, &a, &ask, msg, items, is_lie, why);
    } else if (t->kind == CD__TASK_SIDE) {
        e = take_side(c, t, &a, &ask, msg, items, is_lie, why);
    } else {
        e = take_leafs(c, t, &a, &ask, msg, items, is_lie, why);
    }
    if (e == CD_OK) {
        e = cd_kv_commit(c->cfg.kv, &c->batch, CD_KV_NOSYNC, why);
    }
    *t = e == CD_OK ? *t : was;
    t->is_asked = false;
    cd_arena_fini(&a);
    return e;
}
