#include "services/adx/miner/home_priv.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/version.h"
#include "crypto/ec/ed25519.h"
#include "services/adx/miner/key_file.h"

#include <stdio.h>

enum { DIR_MODE = 0700, CONNS_MAX = 4096, EXCHANGE_CONNS = 64, ORIGIN_CONNS = 4, PATH_LEN = 4096, EARNINGS_MS = 5000 };

static void path_of(char out[PATH_LEN], const char *dir, const char *name)
{
    (void)snprintf(out, PATH_LEN, "%.4000s/%s", dir, name);
}

static cd_err key_of(u8 seed[32], const char *data_dir, cd_errinfo *why)
{
    char path[PATH_LEN];
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), data_dir, DIR_MODE, why));
    path_of(path, data_dir, "miner.key");
    return cd_key_file(seed, path, why);
}

static void id_of(char out[17], const u8 seed[32])
{
    u8 public[32];
    cd_ed25519_public(public, seed);
    cd_wire_miner_id(out, public);
}

cd_err cd_home_id(char out[17], const char *data_dir, cd_errinfo *why)
{
    u8 seed[32];
    CD_TRY(key_of(seed, data_dir, why));
    id_of(out, seed);
    cd_wipe(seed, sizeof seed);
    return CD_OK;
}

/* --- commands --- */

static void on_earnings(void *ctx, const cd_http_result *r)
{
    cd_home *h = ctx;
    h->asking--;
    if (r->err == CD_OK && r->body.n != 0) {
        cd_control_answer(h->control, r->body);
    } else {
        cd_buf text = {0};
        cd_buf_fmt(&text, "{\"error\":{\"code\":\"unreachable\",\"message\":\"the exchange does not answer: %s\"}}",
                   r->reason == NULL ? "" : r->reason);
        cd_control_answer(h->control, cd_buf_bytes(&text));
        cd_buf_fini(&text);
    }
}

static void ask_earnings(cd_home *h)
{
    cd_buf url = {0};
    cd_buf_fmt(&url, "%s/miner/stats?id=%s", h->cfg.exchange, h->id);
    const cd_http_ask ask = {.url = cd_buf_cstr(&url), .timeout_ms = EARNINGS_MS};
    h->asking++;
    (void)cd_http_client_call(h->exchange, &ask, on_earnings, h);
    cd_buf_fini(&url);
}

static void on_command(void *ctx, const char *word)
{
    cd_home *h = ctx;
    if (strcmp(word, "status") == 0) {
        cd_buf text = {0};
        cd__home_status(h, &text);
        cd_control_answer(h->control, cd_buf_bytes(&text));
        cd_buf_fini(&text);
    } else if (strcmp(word, "earnings") == 0) {
        ask_earnings(h);
    } else if (strcmp(word, "stop") == 0) {
        cd_control_answer(h->control, cd_bytes_str("{\"stopping\":true}"));
        h->cfg.stop(h->cfg.stop_ctx);
    } else {
        cd_control_answer(h->control,
                          cd_bytes_str("{\"error\":{\"code\":\"unknown\",\"message\":\"no such command\"}}"));
    }
}

/* --- life --- */

static void on_change(void *ctx)
{
    cd_home *h = ctx;
    if (h->link != NULL) {
        cd_link_beat(h->link);
    }
}

static cd_err open_store(cd_home *h, cd_errinfo *why)
{
    char path[PATH_LEN];
    const cd_http_client_cfg origins = {.user_agent = "candela-adx/" CD_VERSION, .conns_max = ORIGIN_CONNS};
    const cd_http_client_cfg exchange = {
        .user_agent = "candela-adx/" CD_VERSION, .conns_max = EXCHANGE_CONNS, .host_conns_max = EXCHANGE_CONNS};
    CD_TRY(cd_dirlock_take(cd_fs_real(), &h->lock, h->cfg.data_dir, why));
    h->is_locked = true;
    path_of(path, h->cfg.data_dir, "cache");
    CD_TRY(cd_vault_open(&h->vault, h->cfg.loop, path, h->cfg.cache_size, why));
    CD_TRY(cd_http_client_new(&h->origins, h->cfg.loop, &origins, why));
    CD_TRY(cd_http_client_new(&h->exchange, h->cfg.loop, &exchange, why));
    h->played = cd_played_new();
    h->fill = cd_fill_new(h->cfg.loop, h->cfg.log, h->origins, h->vault, on_change, h);
    return CD_OK;
}

static cd_err open_front(cd_home *h, cd_errinfo *why)
{
    static const char *const any[] = {"*"};
    char path[PATH_LEN];
    const cd_http_cfg http = {.conns_max = CONNS_MAX, .body_max = 4096, .allowed_hosts = any, .allowed_hosts_cnt = 1};
    h->server = cd_http_server_new(h->cfg.loop, &http);
    cd__home_routes(h);
    cd__home_page_open(h);
    CD_TRY(cd_http_server_listen(h->server, h->cfg.bind, h->cfg.port, why));
    cd_tunnel_cfg tunnel = h->cfg.tunnel;
    tunnel.loop = h->cfg.loop;
    tunnel.log = h->cfg.log;
    tunnel.http = h->exchange;
    tunnel.port = cd_http_server_port(h->server);
    tunnel.changed = on_change;
    tunnel.ctx = h;
    CD_TRY(cd_tunnel_open(&h->tunnel, &tunnel, why));
    path_of(path, h->cfg.data_dir, "miner.sock");
    return cd_control_open(&h->control, h->cfg.loop, path, on_command, h, why);
}

static cd_err open_link(cd_home *h, cd_errinfo *why)
{
    cd_link_cfg link = {.loop = h->cfg.loop,
                        .log = h->cfg.log,
                        .exchange = h->cfg.exchange,
                        .wallet = h->wallet,
                        .cache_size = h->cfg.cache_size,
                        .fill = h->fill,
                        .played = h->played,
                        .vault = h->vault,
                        .tunnel = h->tunnel,
                        .tunnel_name = cd_tunnel_kind_text(h->cfg.tunnel.kind)};
    cd_err err = key_of(link.seed, h->cfg.data_dir, why);
    if (err == CD_OK) {
        id_of(h->id, link.seed);
        err = cd_link_open(&h->link, &link, why);
    }
    cd_wipe(link.seed, sizeof link.seed);
    return err;
}

static cd_err open_all(cd_home *h, cd_errinfo *why)
{
    if (cd_wire_wallet(h->wallet, cd_bytes_str(h->cfg.wallet)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--wallet must be 0x and 40 hexadecimal digits");
    }
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), h->cfg.data_dir, DIR_MODE, why));
    CD_TRY(open_store(h, why));
    CD_TRY(open_front(h, why));
    return open_link(h, why);
}

cd_err cd_home_open(cd_home **out, const cd_home_cfg *cfg, cd_errinfo *why)
{
    cd_home *h = cd_new(cd_home);
    h->cfg = *cfg;
    h->m.requests = cd_metrics_counter(cfg->metrics, "media_requests_total", "Requests for media.", NULL, 0);
    h->m.bytes = cd_metrics_counter(cfg->metrics, "media_bytes_total", "Bytes of media that were sent.", NULL, 0);
    h->m.refused =
        cd_metrics_counter(cfg->metrics, "media_refused_total", "Requests that could not be served.", NULL, 0);
    cd_err err = open_all(h, why);
    if (err != CD_OK) {
        cd_home_close(h);
        return err;
    }
    *out = h;
    return CD_OK;
}

u16 cd_home_port(const cd_home *h)
{
    return cd_http_server_port(h->server);
}

static void on_link_gone(void *ctx)
{
    cd_home *h = ctx;
    h->done(h->done_ctx);
}

static void on_stopped(void *ctx)
{
    cd_home *h = ctx;
    cd_fill_end(h->fill);
    cd_tunnel_end(h->tunnel);
    cd_link_end(h->link, on_link_gone, h);
}

void cd_home_drain(cd_home *h, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    h->done = done;
    h->done_ctx = ctx;
    cd_http_server_stop(h->server, grace_ms, on_stopped, h);
}

void cd_home_close(cd_home *h)
{
    if (h == NULL) {
        return;
    }
    cd_control_close(h->control);
    cd_vault_end(h->vault);
    cd_link_free(h->link);
    cd_tunnel_close(h->tunnel);
    cd_http_server_free(h->server);
    cd__home_page_close(h);
    cd_fill_free(h->fill);
    cd_played_free(h->played);
    cd_vault_free(h->vault);
    cd_http_client_free(h->origins);
    cd_http_client_free(h->exchange);
    if (h->is_locked) {
        cd_dirlock_release(&h->lock);
    }
    cd_free(h);
}
