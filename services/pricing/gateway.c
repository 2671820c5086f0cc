#include "services/pricing/gateway.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "base/thread/mbox.h"
#include "base/thread/pool.h"
#include "base/version.h"
#include "net/http/client.h"
#include "services/pricing/market.h"
#include "services/pricing/share_redis.h"
#include "services/pricing/snapshot.h"

#include <stdio.h>

enum { SAVE_MS = 60000, TIMEOUT_MS = 30000, FILE_MODE = 0600 };

/* A snapshot on its way to the disk; the thread that writes it frees it. */
typedef struct save {
    cd_mbox *told;
    const char *path;
    u64 changes;
    cd_buf bytes;
} save;

/* What became of it. */
typedef struct saved {
    u64 changes;
    cd_err err;
    cd_errinfo why;
} saved;

struct cd_gateway {
    cd_loop *loop;
    cd_logger *log;
    cd_http_client *http;
    cd_share_redis *share;
    cd_timer *alarm;
    cd_timer *save_timer;
    cd_pool *saver;
    cd_mbox *told; /* by the saver: saved */
    char *cache_file;
    cd_prices *prices;
    u32 timeout_ms;
    u64 saved_changes;
    bool is_saving;
};

/* --- calls to providers --- */

typedef struct upstream_call {
    cd_http_call *http;
    cd_prices_result_fn *fn;
    void *ctx;
} upstream_call;

static void on_http(void *ctx, const cd_http_result *r)
{
    upstream_call *c = ctx;
    const cd_prices_result result = {
        .err = r->err,
        .status = r->status,
        .retry_after = cd_http_call_header(r->call, "Retry-After"),
        .body = r->body,
    };
    cd_prices_result_fn *fn = c->fn;
    void *fn_ctx = c->ctx;
    cd_free(c);
    fn(fn_ctx, &result);
}

static void *net_get(void *ctx, const char *url, const cd_prices_provider *to, cd_prices_result_fn *fn, void *fn_ctx)
{
    cd_gateway *g = ctx;
    upstream_call *c = cd_new(upstream_call);
    cd_buf key = {0};
    const char *headers[2] = {"Accept: application/json"};
    usize cnt = 1;
    if (to->key_header != NULL && to->key != NULL) {
        cd_buf_fmt(&key, "%s: %s", to->key_header, to->key);
        headers[cnt++] = cd_buf_cstr(&key);
    }
    const cd_http_ask ask = {
        .url = url,
        .headers = headers,
        .headers_cnt = cnt,
        .timeout_ms = g->timeout_ms,
        .body_max = CD_MARKET_BODY_MAX,
    };
    c->fn = fn;
    c->ctx = fn_ctx;
    c->http = cd_http_client_call(g->http, &ask, on_http, c);
    if (key.n != 0) {
        explicit_bzero(key.p, key.n);
    }
    cd_buf_fini(&key);
    return c;
}

static void net_cancel(void *ctx, void *call)
{
    upstream_call *c = call;
    (void)ctx;
    cd_http_call_cancel(c->http);
    cd_free(c);
}

/* --- time --- */

static void on_alarm(void *ctx)
{
    cd_prices_run(((cd_gateway *)ctx)->prices);
}

static void alarm_set(void *ctx, u64 delay_ns)
{
    cd_gateway *g = ctx;
    cd_timer_start(g->alarm, (delay_ns + CD_NS_PER_MS - 1) / CD_NS_PER_MS, 0);
}

/* --- the snapshot --- */

static void write_snapshot(saved *out, const save *s)
{
    *out = (saved){.changes = s->changes};
    out->err = cd_fs_replace_file(cd_fs_real(), s->path, cd_buf_bytes(&s->bytes), FILE_MODE, &out->why);
}

static void save_free(save *s)
{
    cd_buf_fini(&s->bytes);
    cd_free(s);
}

static void saver_job(void *arg)
{
    save *s = arg;
    saved out;
    write_snapshot(&out, s);
    cd_err err = cd_mbox_send(s->told, &out);
    CD_ASSERT(err == CD_OK); /* there is one at a time */
    save_free(s);
}

static void take_saved(cd_gateway *g, const saved *s)
{
    g->is_saving = false;
    if (s->err == CD_OK) {
        g->saved_changes = s->changes;
    } else {
        cd_log_error(g->log, "snapshot not written", CD_F("why", (const char *)s->why.msg));
    }
}

/* The state as of now; NULL when the file holds it already, or one is being written. */
static save *save_begin(cd_gateway *g)
{
    saved last;
    if (g->is_saving && cd_mbox_try_recv(g->told, &last) == CD_OK) {
        take_saved(g, &last);
    }
    u64 changes = cd_snapshot_changes(g->prices);
    if (g->is_saving || changes == g->saved_changes) {
        return NULL;
    }
    save *s = cd_new(save);
    s->told = g->told;
    s->path = g->cache_file;
    s->changes = changes;
    cd_snapshot_enc(&s->bytes, g->prices);
    return s;
}

static void on_save(void *ctx)
{
    cd_gateway *g = ctx;
    save *s = save_begin(g);
    if (s != NULL) {
        g->is_saving = true;
        cd_err err = cd_pool_submit(g->saver, saver_job, s);
        CD_ASSERT(err == CD_OK); /* there is one at a time */
    }
}

static void save_last(cd_gateway *g)
{
    save *s = save_begin(g);
    if (s != NULL) {
        saved out;
        write_snapshot(&out, s);
        take_saved(g, &out);
        save_free(s);
    }
}

static void set_aside(const cd_gateway *g, const cd_errinfo *why)
{
    char bad[4096];
    (void)snprintf(bad, sizeof bad, "%.4000s.bad", g->cache_file);
    bool is_moved = rename(g->cache_file, bad) == 0;
    cd_log_error(g->log, "snapshot cannot be used", CD_F("why", (const char *)why->msg),
                 CD_F("moved_to", is_moved ? (const char *)bad : ""));
}

static void load(cd_gateway *g)
{
    cd_buf bytes = {0};
    cd_errinfo why = {0};
    usize cnt = 0;
    cd_err err = cd_fs_read_file(cd_fs_real(), &bytes, g->cache_file, CD_SNAPSHOT_MAX, &why);
    if (err == CD_OK) {
        err = cd_snapshot_load(g->prices, &cnt, cd_buf_bytes(&bytes), &why);
        if (err == CD_OK) {
            cd_log_info(g->log, "snapshot loaded", CD_F("prices", cnt));
            g->saved_changes = cd_snapshot_changes(g->prices);
        } else {
            set_aside(g, &why);
        }
    } else if (err != CD_ENOENT) {
        cd_log_error(g->log, "snapshot cannot be read", CD_F("why", (const char *)why.msg));
    }
    cd_buf_fini(&bytes);
}

/* --- life --- */

static cd_err prices_open(cd_gateway *g, const cd_gateway_cfg *cfg, cd_errinfo *why)
{
    const cd_prices_net net = {.ctx = g, .get = net_get, .cancel = net_cancel};
    cd_rng rng = cd_rng_os();
    cd_prices_cfg c = cfg->prices;
    cd_prices_share share;
    if (cfg->shared_cache != NULL) {
        CD_TRY(cd_share_redis_open(&g->share, &share, g->loop, cfg->shared_cache, g->log, why));
        c.share = &share;
    }
    c.net = &net;
    c.alarm = alarm_set;
    c.alarm_ctx = g;
    c.seed = cd_rng_u64(&rng);
    g->prices = cd_prices_new(&c);
    return CD_OK;
}

cd_err cd_gateway_open(cd_gateway **out, const cd_gateway_cfg *cfg, cd_errinfo *why)
{
    const cd_http_client_cfg http = {.user_agent = "candela-pricing/" CD_VERSION};
    cd_gateway *g = cd_new(cd_gateway);
    g->loop = cfg->loop;
    g->log = cfg->prices.log;
    g->timeout_ms = cfg->prices.timeout_ms != 0 ? cfg->prices.timeout_ms : TIMEOUT_MS;
    cd_err err = cd_http_client_new(&g->http, cfg->loop, &http, why);
    if (err == CD_OK && cfg->cache_file != NULL) {
        usize n = strlen(cfg->cache_file) + 1;
        g->cache_file = memcpy(cd_alloc(n), cfg->cache_file, n);
        g->told = cd_mbox_new(2, sizeof(saved));
        err = cd_pool_new(&g->saver, 1, 2, "snapshot", why);
    }
    if (err == CD_OK) {
        g->alarm = cd_timer_new(g->loop, on_alarm, g);
        err = prices_open(g, cfg, why);
    }
    if (err != CD_OK) {
        cd_gateway_close(g);
        return err;
    }
    if (g->cache_file != NULL) {
        load(g);
        g->save_timer = cd_timer_new(g->loop, on_save, g);
        cd_timer_start(g->save_timer, SAVE_MS, SAVE_MS);
    }
    *out = g;
    return CD_OK;
}

void cd_gateway_close(cd_gateway *g)
{
    if (g == NULL) {
        return;
    }
    cd_timer_free(g->save_timer);
    cd_pool_free(g->saver); /* waits for what is being written */
    if (g->cache_file != NULL && g->prices != NULL) {
        save_last(g);
    }
    cd_mbox_free(g->told);
    cd_share_redis_close(g->share); /* before the engine, which it calls */
    cd_prices_free(g->prices);
    cd_timer_free(g->alarm);
    cd_http_client_free(g->http);
    cd_free(g->cache_file);
    cd_free(g);
}

cd_prices *cd_gateway_prices(cd_gateway *g)
{
    return g->prices;
}
