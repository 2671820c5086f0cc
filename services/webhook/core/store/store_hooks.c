#include "base/mem/mem.h"
#include "services/webhook/core/store/records.h"
#include "services/webhook/core/store/seal.h"
#include "services/webhook/core/store/store_priv.h"

/* Addresses lie in chunks: 100,000 are 25 rows of 80 KB, and ten million are read in one sweep at the start. */
enum { CHUNK = 4096 };

/* Of webhooks that changed, at a time. */
enum { CHANGES_MAX = 1024, CHANGES_BYTES = 64 << 20 };

/* A secret is sealed for the webhook that it belongs to. */
static cd_bytes sealed(cd_wh_store *s, cd_arena *mem, cd_bytes secret, const char *id)
{
    return secret.n == 0 ? secret : cd_wh_seal(mem, s->master_key, secret, cd_arena_fmt(mem, "secret of %s", id));
}

static cd_err unsealed(cd_bytes *out, cd_wh_store *s, cd_arena *mem, cd_bytes in, const char *id, cd_errinfo *why)
{
    if (in.n == 0) {
        *out = in;
        return CD_OK;
    }
    return cd_wh_unseal(out, mem, s->master_key, in, cd_arena_fmt(mem, "secret of %s", id), why);
}

static cd_err load_addresses(cd_wh_store *s, cd_buf *out, i64 hook, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_QUERY(s, &st, CHUNKS, why, cd_sql_i(hook)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return out->n % sizeof(cd_addr20) == 0 ? CD_OK : cd_fail(why, CD_ECORRUPT, "stored addresses are damaged");
        }
        cd_buf_put(out, cd_sql_col_b(st, 0));
    }
}

/* Writes the chunks from the one that holds index `from` on; the ones before it are as they were. */
static cd_err save_addresses(cd_wh_store *s, i64 hook, const cd_buf *addrs, usize from, cd_errinfo *why)
{
    usize cnt = addrs->n / sizeof(cd_addr20);
    usize chunk = from / CHUNK;
    for (; chunk * CHUNK < cnt; chunk++) {
        usize n = cnt - chunk * CHUNK < CHUNK ? cnt - chunk * CHUNK : CHUNK;
        cd_bytes data = cd_bytes_of(addrs->p + chunk * CHUNK * sizeof(cd_addr20), n * sizeof(cd_addr20));
        CD_TRY(WH_RUN(s, CHUNK_PUT, why, cd_sql_i(hook), cd_sql_u(chunk), cd_sql_b(data)));
    }
    return WH_RUN(s, CHUNKS_CUT, why, cd_sql_i(hook), cd_sql_u(chunk));
}

static cd_err hook_row(cd_wh_store *s, cd_wh_hook *out, cd_sql_stmt *st, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_hook h = {
        .key = cd_sql_col_i(st, 0),
        .id = cd_sql_col_str(st, 1, mem),
        .project = cd_sql_col_str(st, 2, mem),
        .face = (cd_wh_face)cd_sql_col_i(st, 3),
        .name = cd_sql_col_str(st, 4, mem),
        .url = cd_sql_col_str(st, 5, mem),
        .chain = cd_sql_col_str(st, 6, mem),
        .network = cd_sql_col_str(st, 7, mem),
        .types = (u32)cd_sql_col_u(st, 8),
        .status = (cd_wh_status)cd_sql_col_i(st, 9),
        .config = cd_sql_col_dup(st, 10, mem),
        .settings = cd_sql_col_dup(st, 11, mem),
        .grace_until_ms = cd_sql_col_u(st, 14),
        .failures = cd_sql_col_u(st, 15),
        .last_ms = cd_sql_col_u(st, 16),
        .created_ms = cd_sql_col_u(st, 17),
        .updated_ms = cd_sql_col_u(st, 18),
        .from_block = cd_sql_col_u(st, 19),
        .is_strict = cd_sql_col_i(st, 20) != 0,
        .concurrency = (u32)cd_sql_col_u(st, 21),
        .version = cd_sql_col_u(st, 23),
    };
    CD_TRY(unsealed(&h.secret, s, mem, cd_sql_col_b(st, 12), h.id, why));
    CD_TRY(unsealed(&h.secret_next, s, mem, cd_sql_col_b(st, 13), h.id, why));
    CD_TRY(cd__wh_filter_dec(&h.filter, mem, cd_sql_col_b(st, 22), why));
    *out = h;
    return CD_OK;
}

static cd_err with_addresses(cd_wh_store *s, cd_wh_hook *hook, cd_arena *mem, cd_errinfo *why)
{
    cd_buf addrs = {0};
    cd_err err = load_addresses(s, &addrs, hook->key, why);
    if (err == CD_OK) {
        cd_bytes all = cd_arena_dup(mem, cd_buf_bytes(&addrs));
        hook->filter.addresses = (cd_wh_addrs){.p = (const cd_addr20 *)all.p, .n = all.n / sizeof(cd_addr20)};
    }
    cd_buf_fini(&addrs);
    return err;
}

/* The number of a project's webhooks is counted under a lock on the project, so two at once cannot pass the limit. */
static cd_err check_limit(cd_wh_store *s, i64 project, u32 limit, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, HOOK_LOCK, why, cd_sql_i(project)));
    CD_TRY(WH_ONE(s, &st, HOOK_COUNT, why, cd_sql_i(project)));
    return limit == 0 || cd_sql_col_u(st, 0) < limit
               ? CD_OK
               : cd_fail(why, CD_EFULL, "the project has %u webhooks, which is its limit", limit);
}

static cd_err version_by(cd_wh_store *s, u64 *version, cd__wh_sql how, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(cd__wh_one(s, &st, how, NULL, 0, why));
    *version = cd_sql_col_u(st, 0);
    return CD_OK;
}

cd_err cd_wh_hooks_lock(cd_wh_store *s, u64 *version, cd_errinfo *why)
{
    return version_by(s, version, CD__WH_HOOKS_LOCK, why);
}

cd_err cd_wh_hooks_version(cd_wh_store *s, u64 *version, cd_errinfo *why)
{
    return version_by(s, version, CD__WH_HOOKS_VERSION, why);
}

cd_err cd__wh_hooks_next(cd_wh_store *s, u64 *version, cd_errinfo *why)
{
    return version_by(s, version, CD__WH_HOOKS_NEXT, why);
}

static cd_err changes(cd_wh_store *s, cd_buf *rows, u64 version, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_QUERY(s, &st, HOOKS_AFTER, why, cd_sql_u(version), cd_sql_i(CHANGES_MAX)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        bool is_there = cd_sql_col_i(st, 1) == 0;
        const cd_wh_hook row = {.key = cd_sql_col_i(st, 0), .id = is_there ? "" : NULL, .version = cd_sql_col_u(st, 2)};
        cd_buf_put(rows, cd_bytes_of(&row, sizeof row));
    }
}

cd_err cd_wh_hooks_after(cd_wh_store *s, cd_wh_changes *out, cd_arena *mem, u64 version, cd_errinfo *why)
{
    cd_buf rows = {0};
    usize bytes = 0;
    cd_wh_changes got = {.version = version};
    cd_err err = changes(s, &rows, version, why);
    cd_wh_hook *hooks = (cd_wh_hook *)(void *)rows.p;
    while (err == CD_OK && got.cnt < rows.n / sizeof *hooks && bytes < CHANGES_BYTES) {
        cd_wh_hook *hook = &hooks[got.cnt++];
        got.version = hook->version;
        if (hook->id != NULL) {
            err = cd_wh_hook_by_key(s, hook, mem, hook->key, true, why);
            bytes += hook->filter.addresses.n * sizeof(cd_addr20);
        }
    }
    rows.n = got.cnt * sizeof *hooks;
    err = cd__wh_rows((void **)&got.hooks, &got.cnt, mem, &rows, sizeof *hooks, err);
    if (err == CD_OK) {
        *out = got;
    }
    return err;
}

static cd_err add(cd_wh_store *s, cd_wh_hook *hook, i64 project, cd_arena *mem, cd_buf *filter, cd_errinfo *why)
{
    static const u8 zeros[32];
    cd_sql_stmt *st = NULL;
    bool is_new = false;
    cd__wh_filter_enc(filter, &hook->filter);
    CD_TRY(WH_QUERY(s, &st, HOOK_ADD, why, cd_sql_t(hook->id), cd_sql_i(project), cd_sql_i(hook->face),
                    cd_sql_t(hook->name), cd_sql_t(hook->url), cd_sql_t(hook->chain), cd_sql_t(hook->network),
                    cd_sql_i(hook->types), cd_sql_b(hook->config), cd_sql_b(hook->settings),
                    cd_sql_b(sealed(s, mem, hook->secret, hook->id)),
                    cd_sql_b(sealed(s, mem, hook->secret_next, hook->id)), cd_sql_u(hook->grace_until_ms),
                    cd_sql_u(hook->created_ms), cd_sql_u(hook->updated_ms), cd_sql_u(hook->from_block),
                    cd_sql_i(hook->concurrency), cd_sql_b(cd_buf_bytes(filter)), cd_sql_u(hook->version)));
    CD_TRY(cd_sql_next(st, &is_new, why));
    if (!is_new) {
        return cd_fail(why, CD_EEXIST, "the webhook %s is there already", hook->id);
    }
    i64 key = cd_sql_col_i(st, 0);
    CD_TRY(WH_RUN(s, QUEUE_ADD, why, cd_sql_i(key), cd_sql_i(project), cd_sql_i(hook->status),
                  cd_sql_i(hook->is_strict), cd_sql_b(cd_bytes_of(zeros, sizeof zeros))));
    const cd_buf addrs = {.p = (u8 *)(uintptr_t)hook->filter.addresses.p,
                          .n = hook->filter.addresses.n * sizeof(cd_addr20)};
    CD_TRY(save_addresses(s, key, &addrs, 0, why));
    hook->key = key;
    return CD_OK;
}

cd_err cd_wh_hook_add(cd_wh_store *s, cd_wh_hook *hook, u32 limit, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_buf filter = {0};
    i64 project = 0;
    if (hook->filter.addresses.n > CD_WH_ADDRESSES_MAX) {
        return cd_fail(why, CD_EFULL, "a webhook has at most %d addresses", CD_WH_ADDRESSES_MAX);
    }
    CD_TRY(cd__wh_project_key(s, &project, hook->project, why));
    CD_TRY(cd__wh_hooks_next(s, &hook->version, why));
    CD_TRY(check_limit(s, project, limit, why));
    cd_err err = add(s, hook, project, &mem, &filter, why);
    cd_buf_fini(&filter);
    cd_arena_fini(&mem);
    return err;
}

cd_err cd_wh_hook_save(cd_wh_store *s, const cd_wh_hook *hook, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_arena mem = {0};
    cd_buf filter = {0};
    u64 version = 0;
    CD_TRY(cd__wh_hooks_next(s, &version, why));
    cd__wh_filter_enc(&filter, &hook->filter);
    cd_err err = WH_ONE(s, &st, HOOK_SAVE, why, cd_sql_i(hook->key), cd_sql_t(hook->name), cd_sql_t(hook->url),
                        cd_sql_t(hook->chain), cd_sql_t(hook->network), cd_sql_i(hook->types), cd_sql_b(hook->config),
                        cd_sql_b(hook->settings), cd_sql_b(sealed(s, &mem, hook->secret, hook->id)),
                        cd_sql_b(sealed(s, &mem, hook->secret_next, hook->id)), cd_sql_u(hook->grace_until_ms),
                        cd_sql_u(hook->updated_ms), cd_sql_u(hook->from_block), cd_sql_i(hook->concurrency),
                        cd_sql_b(cd_buf_bytes(&filter)), cd_sql_u(version));
    if (err == CD_OK) {
        err = WH_RUN(s, QUEUE_STRICT, why, cd_sql_i(hook->key), cd_sql_i(hook->is_strict));
    }
    if (err == CD_OK) {
        err = cd__wh_tell(s, hook->key, why);
    }
    if (err == CD_OK && !hook->is_strict) {
        err = WH_RUN(s, QUEUE_UNBLOCK, why, cd_sql_i(hook->key), cd_sql_u(cd__wh_now(s)), cd_sql_i(CD__WH_BLOCKED));
    }
    cd_buf_fini(&filter);
    cd_arena_fini(&mem);
    return err;
}

cd_err cd_wh_hook_move(cd_wh_store *s, i64 hook, u64 from_block, cd_errinfo *why)
{
    return WH_RUN(s, HOOK_MOVE, why, cd_sql_i(hook), cd_sql_u(from_block));
}

cd_err cd_wh_hook_get(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, const char *project, const char *id,
                      bool with_lists, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_hook hook;
    CD_TRY(WH_ONE(s, &st, HOOK_GET, why, cd_sql_t(id), cd_sql_t(project)));
    CD_TRY(hook_row(s, &hook, st, mem, why));
    if (with_lists) {
        CD_TRY(with_addresses(s, &hook, mem, why));
    }
    CD_TRY(cd_wh_client_get(s, &hook, mem, why));
    *out = hook;
    return CD_OK;
}

cd_err cd_wh_hook_by_key(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, i64 key, bool with_lists, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_hook hook;
    CD_TRY(WH_ONE(s, &st, HOOK_BY_KEY, why, cd_sql_i(key)));
    CD_TRY(hook_row(s, &hook, st, mem, why));
    if (with_lists) {
        CD_TRY(with_addresses(s, &hook, mem, why));
    }
    CD_TRY(cd_wh_client_get(s, &hook, mem, why));
    *out = hook;
    return CD_OK;
}

/* Conditions of a list; a value for each placeholder. */
typedef struct cond {
    cd_buf text;
    cd_sql_val vals[16];
    usize cnt;
} cond;

static void also(cond *c, const char *text, cd_sql_val v)
{
    c->vals[c->cnt++] = v;
    cd_buf_fmt(&c->text, " AND %s?%zu", text, c->cnt);
}

static void conditions(cond *c, const cd_wh_hook_query *q, cd_arena *mem)
{
    if (q->project != NULL) {
        also(c, "p.id = ", cd_sql_t(q->project));
    }
    if (q->chain != NULL) {
        also(c, "h.chain = ", cd_sql_t(q->chain));
    }
    if (q->status >= 0) {
        also(c, "l.status = ", cd_sql_i(q->status));
    }
    if (!q->with_targets) {
        cd_buf_str(&c->text, " AND h.types < 16777216");
    }
    if (q->types != 0) {
        also(c, "0 <> h.types & ", cd_sql_i(q->types));
    }
    if (q->watched != NULL) { /* as bytes: the lists lie in chunks, the others in the filter */
        c->vals[c->cnt++] = cd_sql_b(cd_bytes_of(q->watched->b, sizeof q->watched->b));
        cd_buf_fmt(&c->text,
                   " AND (@find(h.filter, ?%zu) > 0 OR EXISTS (SELECT 1 FROM hook_addresses AS a "
                   "WHERE a.hook = h.key AND @find(a.data, ?%zu) > 0))",
                   c->cnt, c->cnt);
    }
    if (q->search != NULL && *q->search != '\0') {
        cd_buf like = {0};
        cd_buf_u8(&like, '%');
        for (const char *p = q->search; *p != '\0'; p++) {
            if (*p == '%' || *p == '_' || *p == '\\') {
                cd_buf_u8(&like, '\\');
            }
            cd_buf_u8(&like, (u8)*p);
        }
        cd_buf_u8(&like, '%');
        also(c, "(h.name || ' ' || h.url) @like ", cd_sql_t(cd_arena_str(mem, cd_buf_bytes(&like))));
        cd_buf_str(&c->text, " ESCAPE '\\'");
        cd_buf_fini(&like);
    }
}

static cd_err count_hooks(cd_wh_store *s, u64 *total, cond *c, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf text = {0};
    cd_buf_fmt(&text, "SELECT count(*) FROM %s WHERE h.deleted = 0%s", CD__WH_HOOKED, cd_buf_cstr(&c->text));
    cd_err err = cd_sql_prepare(s->q, &st, cd_buf_cstr(&text), why);
    if (err == CD_OK) {
        err = cd_sql_query_n(st, c->vals, c->cnt, why);
    }
    if (err == CD_OK) {
        err = cd_sql_one(st, why);
    }
    if (err == CD_OK) {
        *total = cd_sql_col_u(st, 0);
    }
    cd_sql_drop(st);
    cd_buf_fini(&text);
    return err;
}

static cd_err list_hooks(cd_wh_store *s, cd_buf *rows, cond *c, cd_arena *mem, const cd_wh_hook_query *q,
                         cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf text = {0};
    cd_wh_hook hook;
    if (q->before > 0) {
        also(c, "h.key < ", cd_sql_i(q->before));
    }
    c->vals[c->cnt++] = cd_sql_i(q->limit);
    c->vals[c->cnt++] = cd_sql_i(q->skip);
    cd_buf_fmt(&text, "SELECT %s FROM %s WHERE h.deleted = 0%s ORDER BY h.key DESC LIMIT ?%zu OFFSET ?%zu", CD__WH_HOOK,
               CD__WH_HOOKED, cd_buf_cstr(&c->text), c->cnt - 1, c->cnt);
    cd_err err = cd_sql_prepare(s->q, &st, cd_buf_cstr(&text), why);
    if (err == CD_OK) {
        err = cd_sql_query_n(st, c->vals, c->cnt, why);
    }
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        err = hook_row(s, &hook, st, mem, why);
        if (err == CD_OK) {
            cd_buf_put(rows, cd_bytes_of(&hook, sizeof hook));
        }
    }
    cd_sql_drop(st);
    cd_buf_fini(&text);
    return err;
}

cd_err cd_wh_hook_list(cd_wh_store *s, cd_wh_hook **out, usize *cnt, u64 *total, cd_arena *mem,
                       const cd_wh_hook_query *q, cd_errinfo *why)
{
    cond c = {0};
    cd_buf rows = {0};
    cd_err err = CD_OK;
    conditions(&c, q, mem);
    if (total != NULL) {
        err = count_hooks(s, total, &c, why);
    }
    if (err == CD_OK) {
        err = list_hooks(s, &rows, &c, mem, q, why);
    }
    cd_buf_fini(&c.text);
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof **out, err);
}

cd_err cd_wh_hook_each(cd_wh_store *s, cd_err (*fn)(void *ctx, const cd_wh_hook *hook), void *ctx, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_arena mem = {0};
    cd_err err = CD_OK;
    i64 after = 0;
    for (usize cnt = 1; cnt > 0 && err == CD_OK;) {
        cd_buf rows = {0};
        cd_wh_hook hook;
        err = WH_QUERY(s, &st, HOOK_AFTER, why, cd_sql_i(after));
        for (bool is_row = true; err == CD_OK;) {
            err = cd_sql_next(st, &is_row, why);
            if (err != CD_OK || !is_row) {
                break;
            }
            err = hook_row(s, &hook, st, &mem, why);
            if (err == CD_OK) {
                cd_buf_put(&rows, cd_bytes_of(&hook, sizeof hook));
            }
        }
        cnt = rows.n / sizeof hook;
        for (usize i = 0; i < cnt && err == CD_OK; i++) {
            cd_arena_mark mark = cd_arena_mark_get(&mem);
            memcpy(&hook, rows.p + i * sizeof hook, sizeof hook);
            err = with_addresses(s, &hook, &mem, why);
            if (err == CD_OK) {
                err = fn(ctx, &hook);
            }
            cd_arena_rewind(&mem, mark);
            after = hook.key;
        }
        cd_buf_fini(&rows);
        cd_arena_reset(&mem);
    }
    cd_arena_fini(&mem);
    return err;
}

/* addrs without those of remove and with those of add that are missing; *from: the first index that changed. */
static void change_list(cd_buf *addrs, usize *from, cd_wh_addrs add, cd_wh_addrs remove)
{
    cd_hmap gone;
    cd_hmap there;
    usize cnt = addrs->n / sizeof(cd_addr20);
    usize kept = 0;
    cd_hmap_init(&gone, CD_HASH_KEYED, sizeof(cd_addr20), 0);
    cd_hmap_init(&there, CD_HASH_KEYED, sizeof(cd_addr20), 0);
    for (usize i = 0; i < remove.n; i++) {
        (void)cd_hmap_put(&gone, NULL, &remove.p[i]);
    }
    *from = cnt;
    for (usize i = 0; i < cnt; i++) {
        u8 *a = addrs->p + i * sizeof(cd_addr20);
        if (cd_hmap_get(&gone, a) == NULL) {
            (void)cd_hmap_put(&there, NULL, a);
            memmove(addrs->p + kept * sizeof(cd_addr20), a, sizeof(cd_addr20));
            kept++;
        } else if (kept < *from) {
            *from = kept;
        }
    }
    addrs->n = kept * sizeof(cd_addr20);
    for (usize i = 0; i < add.n; i++) {
        bool is_new = false;
        (void)cd_hmap_put(&there, &is_new, &add.p[i]);
        if (is_new) {
            cd_buf_put(addrs, cd_bytes_of(&add.p[i], sizeof(cd_addr20)));
        }
    }
    cd_hmap_fini(&there);
    cd_hmap_fini(&gone);
}

cd_err cd_wh_hook_addresses(cd_wh_store *s, usize *cnt, i64 hook, cd_wh_addrs add, cd_wh_addrs remove, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf addrs = {0};
    usize from = 0;
    u64 version = 0;
    CD_TRY(cd__wh_hooks_next(s, &version, why));
    cd_err err = WH_ONE(s, &st, QUEUE_LOCK, why, cd_sql_i(hook));
    if (err == CD_OK && cd_sql_col_i(st, 0) == CD__WH_GONE) {
        err = cd_fail(why, CD_ENOENT, "there is no such webhook");
    }
    if (err == CD_OK) {
        err = load_addresses(s, &addrs, hook, why);
    }
    if (err == CD_OK) {
        change_list(&addrs, &from, add, remove);
        if (addrs.n / sizeof(cd_addr20) > CD_WH_ADDRESSES_MAX) {
            err = cd_fail(why, CD_EFULL, "a webhook has at most %d addresses", CD_WH_ADDRESSES_MAX);
        }
    }
    if (err == CD_OK) {
        err = save_addresses(s, hook, &addrs, from, why);
    }
    if (err == CD_OK) {
        err = WH_RUN(s, HOOK_TOUCH, why, cd_sql_i(hook), cd_sql_u(version));
    }
    if (err == CD_OK) {
        *cnt = addrs.n / sizeof(cd_addr20);
    }
    cd_buf_fini(&addrs);
    return err;
}
