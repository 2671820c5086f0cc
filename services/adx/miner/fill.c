#include "services/adx/miner/fill.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "services/adx/auction/text.h"

enum { PIECE = 4 << 20, TIMEOUT_MS = 60000, PAUSE_MIN_S = 2, PAUSE_MAX_S = 600, TICK_MS = 500 };

typedef struct item {
    cd_hash32 digest;
    u64 size;
    char *url;
    bool is_have;
    u64 after_ms;
    u32 failures;
} item;

/* What is being done; one thing at a time. */
typedef enum step { IDLE, LOOKING, OPENING, FETCHING, PUTTING, CLOSING, DROPPING } step;

struct cd_fill {
    cd_loop *loop;
    cd_logger *log;
    cd_http_client *http;
    cd_vault *vault;
    void (*changed)(void *ctx);
    void *ctx;
    item *items;
    usize cnt;
    cd_timer *timer;
    u64 failures;
    bool is_ended;
    /* of the object that is being fetched: copies, as the list may be replaced meanwhile */
    step step;
    cd_vault_job job;
    cd_http_call *call;
    cd_hash32 digest;
    u64 size, found;
    char *url;
    cd_cache_in in;
    bool is_open;
    cd_buf piece;
    char why[160];
};

static item *item_of(const cd_fill *f, const cd_hash32 *digest)
{
    for (usize i = 0; i < f->cnt; i++) {
        if (cd_hash32_eq(&f->items[i].digest, digest)) {
            return &f->items[i];
        }
    }
    return NULL;
}

/* --- the steps --- */

static void on_job(cd_vault_job *job);
static void ask_piece(cd_fill *f);

static cd_err run_step(cd_vault_job *job, cd_cache *c, cd_errinfo *why)
{
    cd_fill *f = (cd_fill *)(void *)((char *)job - offsetof(cd_fill, job));
    switch (f->step) {
    case LOOKING:
        return cd_cache_find(c, &f->found, &f->digest, why);
    case OPENING:
        return cd_cache_in_open(&f->in, c, &f->digest, f->size, why);
    case PUTTING:
        return cd_cache_in_put(&f->in, cd_buf_bytes(&f->piece), why);
    case CLOSING:
        return cd_cache_in_close(&f->in, why);
    case DROPPING:
        cd_cache_in_drop(&f->in);
        return CD_OK;
    case IDLE:
    case FETCHING:
        break;
    }
    CD_UNREACHABLE();
}

static void finish(cd_fill *f, bool is_good)
{
    item *it = item_of(f, &f->digest);
    f->step = IDLE;
    f->is_open = false;
    cd_free(f->url);
    f->url = NULL;
    cd_buf_fini(&f->piece);
    if (it == NULL) {
        return; // not wanted any more
    }
    if (is_good) {
        it->is_have = true;
        it->failures = 0;
        f->changed(f->ctx);
        return;
    }
    f->failures++;
    u64 pause = (u64)PAUSE_MIN_S << cd_min_u64(it->failures++, 9);
    it->after_ms = cd_loop_now_ms(f->loop) + cd_min_u64(pause, PAUSE_MAX_S) * 1000;
    cd_log_warn(f->log, "object not fetched", CD_F_HEX("sha256", cd_bytes_of(f->digest.b, 32)),
                CD_F("why", (const char *)f->why), CD_F("again_s", cd_min_u64(pause, PAUSE_MAX_S)));
}

static void post(cd_fill *f, step s)
{
    f->step = s;
    f->job.run = run_step;
    f->job.done = on_job;
    if (cd_vault_post(f->vault, &f->job) != CD_OK) {
        /* The vault ends, or is overrun: an open object is left to the next start, which removes what is no object. */
        memcpy(f->why, "the cache is busy", 18);
        finish(f, false);
    }
}

static void give_up(cd_fill *f, const char *why)
{
    usize n = cd_min_u64(strlen(why), sizeof f->why - 1);
    memcpy(f->why, why, n);
    f->why[n] = '\0';
    if (f->is_open) {
        f->is_open = false;
        post(f, DROPPING);
    } else {
        finish(f, false);
    }
}

static void on_job(cd_vault_job *job)
{
    cd_fill *f = (cd_fill *)(void *)((char *)job - offsetof(cd_fill, job));
    switch (f->step) {
    case LOOKING:
        if (job->err == CD_OK && f->found == f->size) {
            finish(f, true);
        } else {
            post(f, OPENING);
        }
        return;
    case OPENING:
        f->is_open = job->err == CD_OK;
        if (job->err != CD_OK) {
            give_up(f, job->why.msg);
        } else {
            ask_piece(f);
        }
        return;
    case PUTTING:
        f->is_open = job->err == CD_OK; // after an error nothing is left of it
        if (job->err != CD_OK) {
            give_up(f, job->why.msg);
        } else if (f->in.got == f->size) {
            post(f, CLOSING);
        } else {
            ask_piece(f);
        }
        return;
    case CLOSING:
        f->is_open = false;
        if (job->err != CD_OK) {
            give_up(f, job->why.msg);
        } else {
            finish(f, true);
        }
        return;
    case DROPPING:
        finish(f, false);
        return;
    case IDLE:
    case FETCHING:
        break;
    }
    CD_UNREACHABLE();
}

/* --- the origin --- */

static void on_piece(void *ctx, const cd_http_result *r)
{
    cd_fill *f = ctx;
    u64 wanted = cd_min_u64(PIECE, f->size - f->in.got);
    bool is_part = r->status == 206 && r->body.n == wanted;
    bool is_whole = r->status == 200 && f->in.got == 0 && r->body.n == f->size;
    f->call = NULL;
    if (r->err != CD_OK) {
        give_up(f, r->err == CD_ELIMIT ? "the origin does not serve ranges, or not this size" : r->reason);
    } else if (!is_part && !is_whole) {
        give_up(f, r->status == 200 || r->status == 206 ? "the origin sends another size" : "the origin refuses");
    } else {
        cd_buf_clear(&f->piece);
        cd_buf_put(&f->piece, r->body);
        post(f, PUTTING);
    }
}

static void ask_piece(cd_fill *f)
{
    char range[96];
    cd_buf text = {0};
    u64 first = f->in.got;
    u64 n = cd_min_u64(PIECE, f->size - first);
    cd_buf_fmt(&text, "Range: bytes=%llu-%llu", (unsigned long long)first, (unsigned long long)(first + n - 1));
    memcpy(range, cd_buf_cstr(&text), text.n + 1);
    cd_buf_fini(&text);
    const char *const headers[] = {range, "Accept-Encoding: identity"};
    bool is_small = f->size <= PIECE;
    const cd_http_ask ask = {.url = f->url,
                             .headers = headers,
                             .headers_cnt = CD_COUNT(headers),
                             .timeout_ms = TIMEOUT_MS,
                             .body_max = (usize)(is_small ? f->size : n)};
    f->step = FETCHING;
    f->call = cd_http_client_call(f->http, &ask, on_piece, f);
}

/* --- what is next --- */

static void begin(cd_fill *f, const item *it)
{
    usize n = strlen(it->url);
    f->digest = it->digest;
    f->size = it->size;
    f->url = cd_alloc(n + 1);
    memcpy(f->url, it->url, n + 1);
    post(f, LOOKING);
}

static void on_tick(void *ctx)
{
    cd_fill *f = ctx;
    u64 now = cd_loop_now_ms(f->loop);
    for (usize i = 0; i < f->cnt && f->step == IDLE && !f->is_ended; i++) {
        if (!f->items[i].is_have && f->items[i].after_ms <= now) {
            begin(f, &f->items[i]);
        }
    }
}

static void drop_items(item *items, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_free(items[i].url);
    }
    cd_free(items);
}

static cd_err read_item(item *out, cd_json v, cd_errinfo *why)
{
    cd_bytes url;
    CD_TRY(cd_adx_hex_fixed(out->digest.b, 32, cd_json_get(v, "sha256"), why));
    CD_TRY(cd_adx_u64(&out->size, cd_json_get(v, "size"), why));
    CD_TRY(cd_json_str(&url, cd_json_get(v, "url"), why));
    bool is_http = url.n > 8 && (memcmp(url.p, "http://", 7) == 0 || memcmp(url.p, "https://", 8) == 0);
    if (!is_http || url.n > 8192 || memchr(url.p, 0, url.n) != NULL || out->size == 0) {
        return cd_json_fail(v, CD_EFORMAT, "is no object to fetch", why);
    }
    out->url = cd_alloc(url.n + 1);
    memcpy(out->url, url.p, url.n);
    out->url[url.n] = '\0';
    return CD_OK;
}

cd_err cd_fill_assign(cd_fill *f, cd_json objects, cd_errinfo *why)
{
    CD_TRY(cd_json_arr(objects, why));
    usize cnt = cd_json_len(objects);
    usize i = 0;
    cd_err err = CD_OK;
    if (cnt > CD_WIRE_OBJECTS_MAX) {
        return cd_json_fail(objects, CD_ELIMIT, "has too many elements", why);
    }
    item *items = cd_new_array(item, cnt + 1);
    for (cd_json_it it = cd_json_iter(objects); err == CD_OK && cd_json_next(&it); i++) {
        err = read_item(&items[i], it.val, why);
        const item *old = item_of(f, &items[i].digest);
        items[i].is_have = old != NULL && old->is_have;
    }
    if (err != CD_OK) {
        drop_items(items, cnt);
        return err;
    }
    drop_items(f->items, f->cnt);
    f->items = items;
    f->cnt = cnt;
    on_tick(f);
    return CD_OK;
}

void cd_fill_put_have(const cd_fill *f, cd_json_w *w)
{
    for (usize i = 0; i < f->cnt; i++) {
        if (f->items[i].is_have) {
            cd_buf digits = {0};
            cd_hex_put(&digits, cd_bytes_of(f->items[i].digest.b, 32));
            cd_json_w_str(w, cd_buf_bytes(&digits));
            cd_buf_fini(&digits);
        }
    }
}

u64 cd_fill_size(const cd_fill *f, const cd_hash32 *digest)
{
    const item *it = item_of(f, digest);
    return it != NULL && it->is_have ? it->size : 0;
}

void cd_fill_gone(cd_fill *f, const cd_hash32 *digest)
{
    item *it = item_of(f, digest);
    if (it != NULL && it->is_have) {
        it->is_have = false;
        f->changed(f->ctx);
    }
}

cd_fill_state cd_fill_look(const cd_fill *f)
{
    cd_fill_state s = {.assigned = f->cnt, .failures = f->failures};
    for (usize i = 0; i < f->cnt; i++) {
        s.have += f->items[i].is_have ? 1 : 0;
    }
    return s;
}

/* --- life --- */

cd_fill *cd_fill_new(cd_loop *loop, cd_logger *log, cd_http_client *http, cd_vault *vault, void (*changed)(void *ctx),
                     void *ctx)
{
    cd_fill *f = cd_new(cd_fill);
    *f = (cd_fill){.loop = loop, .log = log, .http = http, .vault = vault, .changed = changed, .ctx = ctx};
    f->timer = cd_timer_new(loop, on_tick, f);
    cd_timer_start(f->timer, TICK_MS, TICK_MS);
    return f;
}

void cd_fill_end(cd_fill *f)
{
    if (f == NULL) {
        return;
    }
    f->is_ended = true;
    cd_timer_stop(f->timer);
    if (f->call != NULL) {
        cd_http_call_cancel(f->call);
        f->call = NULL;
        give_up(f, "ends");
    }
}

void cd_fill_free(cd_fill *f)
{
    if (f == NULL) {
        return;
    }
    cd_timer_free(f->timer);
    if (f->is_open) {
        cd_cache_in_drop(&f->in);
    }
    drop_items(f->items, f->cnt);
    cd_free(f->url);
    cd_buf_fini(&f->piece);
    cd_free(f);
}
