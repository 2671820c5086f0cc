/* Where each chain's ledger ends, and what is done when the blocks before that were replaced. */
#include "codec/json.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/core/chain/event.h"
#include "services/webhook/core/store/store_priv.h"

static cd_err hash_read(u8 out[32], cd_sql_stmt *st, int col, cd_errinfo *why)
{
    cd_bytes hash = cd_sql_col_b(st, col);
    if (hash.n != 32) {
        return cd_fail(why, CD_ECORRUPT, "a stored block hash is damaged");
    }
    memcpy(out, hash.p, 32);
    return CD_OK;
}

/* --- webhooks of a chain --- */

typedef struct finding {
    const char *chain;
    u64 from_block; /* 0: those that want word of what is removed; else those that are told from a later block on */
    cd_buf keys;
} finding;

static bool wants_removed(const cd_wh_hook *hook)
{
    cd_arena mem = {0};
    cd_json settings;
    bool wants = false;
    if (cd_json_parse(&settings, &mem, hook->settings, 0, NULL) == CD_OK) {
        (void)!cd_json_bool(&wants, cd_json_get(settings, "removed"), NULL);
    }
    cd_arena_fini(&mem);
    return wants;
}

static cd_err on_hook(void *ctx, const cd_wh_hook *hook)
{
    finding *f = ctx;
    if (strcmp(hook->chain, f->chain) == 0 &&
        (f->from_block == 0 ? wants_removed(hook) : hook->from_block > f->from_block)) {
        cd_buf_put(&f->keys, cd_bytes_of(&hook->key, sizeof hook->key));
    }
    return CD_OK;
}

/* The blocks from from_block on are new to everybody. */
static cd_err lower_hooks(cd_wh_store *s, const char *chain, u64 from_block, cd_errinfo *why)
{
    finding f = {.chain = chain, .from_block = from_block};
    cd_err err = cd_wh_hook_each(s, on_hook, &f, why);
    for (usize i = 0; err == CD_OK && i < f.keys.n / sizeof(i64); i++) {
        err = cd_wh_hook_move(s, ((const i64 *)(void *)f.keys.p)[i], from_block, why);
    }
    cd_buf_fini(&f.keys);
    return err;
}

/* --- the cursor --- */

cd_err cd_wh_cursor_get(cd_wh_store *s, u64 *height, u8 block_hash[32], const char *chain, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, CURSOR_GET, why, cd_sql_t(chain)));
    CD_TRY(hash_read(block_hash, st, 1, why));
    *height = cd_sql_col_u(st, 0);
    return CD_OK;
}

cd_err cd_wh_known_put(cd_wh_store *s, const char *chain, u64 height, const u8 block_hash[32], cd_errinfo *why)
{
    return WH_RUN(s, KNOWN_PUT, why, cd_sql_t(chain), cd_sql_u(height % CD_WH_KNOWN_MAX), cd_sql_u(height),
                  cd_sql_b(cd_bytes_of(block_hash, 32)));
}

cd_err cd_wh_cursor_put(cd_wh_store *s, const char *chain, u64 height, const u8 block_hash[32], cd_errinfo *why)
{
    CD_TRY(WH_RUN(s, CURSOR_PUT, why, cd_sql_t(chain), cd_sql_u(height), cd_sql_b(cd_bytes_of(block_hash, 32))));
    return cd_wh_known_put(s, chain, height, block_hash, why);
}

cd_err cd_wh_cursor_reset(cd_wh_store *s, const char *chain, const u64 *height, cd_errinfo *why)
{
    static const u8 any[32];
    u64 version;
    CD_TRY(cd_wh_hooks_lock(s, &version, why));
    CD_TRY(WH_RUN(s, CURSOR_DEL, why, cd_sql_t(chain)));
    CD_TRY(WH_RUN(s, KNOWN_CUT, why, cd_sql_t(chain), cd_sql_i(-1)));
    if (height == NULL) {
        return CD_OK;
    }
    CD_TRY(WH_RUN(s, CURSOR_PUT, why, cd_sql_t(chain), cd_sql_u(*height), cd_sql_b(cd_bytes_of(any, 32))));
    return lower_hooks(s, chain, *height + 1, why);
}

/* --- lists --- */

static cd_err list_read(cd_wh_cursor **out, usize *cnt, cd_arena *mem, cd_sql_stmt *st, int height_col, cd_errinfo *why)
{
    cd_buf list = {0};
    cd_err err = CD_OK;
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        cd_wh_cursor c = {.height = cd_sql_col_u(st, height_col)};
        c.chain = height_col == 0 ? NULL : cd_sql_col_str(st, 0, mem);
        err = hash_read(c.hash, st, height_col + 1, why);
        cd_buf_put(&list, cd_bytes_of(&c, sizeof c));
    }
    if (err == CD_OK) {
        *cnt = list.n / sizeof **out;
        *out = cd_arena_array(mem, cd_wh_cursor, *cnt);
        if (*cnt != 0) {
            memcpy(*out, list.p, list.n);
        }
    }
    cd_buf_fini(&list);
    return err;
}

cd_err cd_wh_cursor_list(cd_wh_store *s, cd_wh_cursor **out, usize *cnt, cd_arena *mem, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_QUERY(s, &st, CURSORS, why));
    return list_read(out, cnt, mem, st, 1, why);
}

cd_err cd_wh_known(cd_wh_store *s, cd_wh_cursor **out, usize *cnt, cd_arena *mem, const char *chain, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_QUERY(s, &st, KNOWN, why, cd_sql_t(chain)));
    return list_read(out, cnt, mem, st, 0, why);
}

/* --- replaced blocks --- */

/* The same body with an id of its own, and a word at its end. */
static cd_bytes body_of(cd_arena *mem, cd_bytes body, const char *old_id, const char *id)
{
    cd_buf text = {0};
    usize n = strlen(old_id);
    usize at = 0;
    while (at + n < body.n && memcmp(body.p + at, old_id, n) != 0) {
        at++;
    }
    bool has_id = at + n < body.n && strlen(id) == n;
    cd_buf_put(&text, cd_bytes_sub(body, 0, body.n - 1));
    if (has_id) {
        memcpy(text.p + at, id, n);
    }
    cd_buf_str(&text, ",\"removed\":true}");
    cd_bytes out = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

/* That an event is no more: an event of its own, which names the row that it takes back. */
static void removed_make(cd_wh_event *e, cd_arena *mem, const cd_wh_hook *hook, const cd_wh_delivery *d)
{
    u8 text[15 + 8 + 32] = "svc/removed/v1";
    cd_hash32 h;
    cd_put_be64(text + 15, (u64)d->key);
    memcpy(text + 23, d->event.h, 32);
    cd_sha256(&h, cd_bytes_of(text, sizeof text));
    *e = d->event;
    e->hook = hook->key;
    memcpy(e->h, h.b, 32);
    cd_wh_event_id(e->id, hook->face, e->h, e->time_ms);
    e->body = body_of(mem, d->event.body, d->event.id, e->id);
}

/* Of one webhook, the newest first: as they were made, backwards. */
static cd_err take_back(cd_wh_store *s, cd_buf *events, cd_arena *mem, const cd_wh_hook *hook, u64 height,
                        cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_QUERY(s, &st, REPLACED_ROWS, why, cd_sql_i(hook->key), cd_sql_u(height)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        cd_wh_delivery d;
        cd_wh_event e;
        cd__wh_row(&d, st, mem);
        if (d.event.body.n != 0) { /* else the retention took it */
            removed_make(&e, mem, hook, &d);
            cd_buf_put(events, cd_bytes_of(&e, sizeof e));
        }
    }
}

static cd_err tell_removed(cd_wh_store *s, cd_wh_enqueued *out, cd_arena *mem, const char *chain, u64 height,
                           cd_errinfo *why)
{
    finding w = {.chain = chain};
    cd_buf events = {0};
    cd_err err = cd_wh_hook_each(s, on_hook, &w, why);
    for (usize i = 0; err == CD_OK && i < w.keys.n / sizeof(i64); i++) {
        cd_wh_hook hook;
        err = cd_wh_hook_by_key(s, &hook, mem, ((const i64 *)(void *)w.keys.p)[i], false, why);
        err = err != CD_OK ? err : take_back(s, &events, mem, &hook, height, why);
    }
    if (err == CD_OK) {
        err = cd__wh_enqueue_as(s, out, mem, (const cd_wh_event *)(void *)events.p, events.n / sizeof(cd_wh_event),
                                CD__WH_KIND_REPLACED, why);
    }
    cd_buf_fini(&events);
    cd_buf_fini(&w.keys);
    return err;
}

cd_err cd_wh_rewind(cd_wh_store *s, cd_wh_enqueued *out, bool *done, cd_arena *mem, const cd_wh_cursor *from,
                    u64 height, const u8 block_hash[32], cd_errinfo *why)
{
    u64 version, at;
    u8 hash[32];
    *out = (cd_wh_enqueued){0};
    *done = false;
    CD_TRY(cd_wh_hooks_lock(s, &version, why));
    CD_TRY(cd_wh_cursor_get(s, &at, hash, from->chain, why));
    if (at != from->height || memcmp(hash, from->hash, 32) != 0) {
        return CD_OK;
    }
    CD_TRY(tell_removed(s, out, mem, from->chain, height, why));
    CD_TRY(WH_RUN(s, REPLACED_MARK, why, cd_sql_t(from->chain), cd_sql_u(height)));
    CD_TRY(WH_RUN(s, KNOWN_CUT, why, cd_sql_t(from->chain), cd_sql_u(height)));
    CD_TRY(lower_hooks(s, from->chain, height + 1, why));
    CD_TRY(cd_wh_cursor_put(s, from->chain, height, block_hash, why));
    *done = true;
    return CD_OK;
}
