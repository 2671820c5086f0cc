#include "services/adx/exchange/exchange_priv.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "base/version.h"
#include "services/adx/miner/key_file.h"

#include <stdio.h>

enum {
    EXPLAIN_MAX = 32 << 20,
    EXPLAIN_S = 86400,
    DSP_CONNS = 2048,
    DSP_HOST_CONNS = 512,
    NOTICE_CONNS = 256,
    RATES_MAX = 65536
};
enum { DIR_MODE = 0700 };

/* --- configuration --- */

static cd_err read_config(cd_adx_config **out, const cd_exchange *x, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_errinfo inner = {0};
    cd_err err = CD_OK;
    if (x->cfg.config_path != NULL) {
        CD_TRY(cd_fs_read_file(cd_fs_real(), &text, x->cfg.config_path, CD_ADX_CONFIG_MAX, why));
    }
    err = cd_adx_config_parse(out, cd_buf_bytes(&text), &inner);
    cd_buf_fini(&text);
    return err == CD_OK ? CD_OK : cd_fail(why, err, "%s: %.160s", x->cfg.config_path, inner.msg);
}

static void setup_drop(cd__setup *s)
{
    if (s != NULL && --s->refs == 0) {
        cd_adx_config_unref(s->config);
        cd_free(s);
    }
}

static cd_err load(cd_exchange *x, cd_errinfo *why)
{
    cd_adx_config *config = NULL;
    CD_TRY(read_config(&config, x, why));
    cd__setup *s = cd_new(cd__setup);
    s->refs = 1;
    s->config = config;
    for (usize i = 0; i < config->dsps_cnt; i++) {
        s->dsp_no[i] = cd_bidders_put(x->bidders, &config->dsps[i]);
    }
    for (usize i = 0; i < config->campaigns_cnt; i++) {
        cd_adx_campaign *c = &config->campaigns[i];
        c->budget_no = cd_budget_put(x->budget, c->id, c->budget, c->daily, c->usual);
    }
    setup_drop(x->setup);
    x->setup = s;
    cd_gate_config(x->gate, config);
    cd_log_info(x->cfg.log, "configuration", CD_F("dsps", config->dsps_cnt), CD_F("campaigns", config->campaigns_cnt),
                CD_F("slots", config->slots_cnt));
    return CD_OK;
}

cd_err cd_exchange_reload(cd_exchange *x, cd_errinfo *why)
{
    return load(x, why);
}

/* --- the key of the tokens --- */

static cd_err key_open(cd_exchange *x, cd_errinfo *why)
{
    char path[4096];
    u8 key[CD_KEY_FILE_LEN];
    (void)snprintf(path, sizeof path, "%.4000s/beacon.key", x->cfg.data_dir);
    cd_err err = cd_key_file(key, path, why);
    if (err == CD_OK) {
        cd_hmac_sha256_init(&x->key, cd_bytes_of(key, sizeof key));
    }
    cd_wipe(key, sizeof key);
    return err;
}

/* --- life --- */

static void make_metrics(cd_exchange *x)
{
    static const u64 bounds[] = {100000,   200000,   500000,   1000000,   2000000,   5000000,
                                 10000000, 20000000, 50000000, 100000000, 200000000, 500000000};
    cd_metrics *m = x->cfg.metrics;
    const cd_label local = {"from", "campaign"};
    const cd_label dsp = {"from", "dsp"};
    x->m.requests = cd_metrics_counter(m, "rtb_requests_total", "Bid requests.", NULL, 0);
    x->m.invalid = cd_metrics_counter(m, "rtb_invalid_total", "Bid requests that were refused.", NULL, 0);
    x->m.shed = cd_metrics_counter(m, "shed_total", "Requests refused because of too many.", NULL, 0);
    x->m.sold = cd_metrics_counter(m, "auctions_sold_total", "Auctions with a winner.", NULL, 0);
    x->m.unsold = cd_metrics_counter(m, "auctions_unsold_total", "Auctions without one.", NULL, 0);
    x->m.wins_local = cd_metrics_counter(m, "wins_total", "Winning bids by where they came from.", &local, 1);
    x->m.wins_dsp = cd_metrics_counter(m, "wins_total", "Winning bids by where they came from.", &dsp, 1);
    x->m.impressions = cd_metrics_counter(m, "impressions_total", "Impressions that were paid.", NULL, 0);
    x->m.replays = cd_metrics_counter(m, "beacons_replayed_total", "Impressions that had been paid before.", NULL, 0);
    x->m.refused = cd_metrics_counter(m, "beacons_refused_total", "Beacons too late or not covered.", NULL, 0);
    x->m.events = cd_metrics_counter(m, "events_total", "Beacons of other events.", NULL, 0);
    const cd_label allowed = {"outcome", "allowed"};
    const cd_label denied = {"outcome", "denied"};
    x->m.freq_allowed = cd_metrics_counter(m, "freq_checks_total", "Frequency checks by outcome.", &allowed, 1);
    x->m.freq_denied = cd_metrics_counter(m, "freq_checks_total", "Frequency checks by outcome.", &denied, 1);
    x->m.seconds = cd_metrics_hist(m, "auction_seconds", "Time from a request to its winners.", NULL, 0, bounds,
                                   CD_COUNT(bounds), 1e9);
}

static cd_err open_clients(cd_exchange *x, cd_errinfo *why)
{
    const cd_http_client_cfg dsps = {
        .user_agent = "candela-adx/" CD_VERSION, .conns_max = DSP_CONNS, .host_conns_max = DSP_HOST_CONNS};
    const cd_http_client_cfg notices = {.user_agent = "candela-adx/" CD_VERSION, .conns_max = NOTICE_CONNS};
    CD_TRY(cd_http_client_new(&x->dsp_http, x->cfg.loop, &dsps, why));
    return cd_http_client_new(&x->notice_http, x->cfg.loop, &notices, why);
}

static cd_err open_money(cd_exchange *x, cd_errinfo *why)
{
    char url[4200];
    (void)snprintf(url, sizeof url, "sqlite:%.4000s/ledger.db", x->cfg.data_dir);
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), x->cfg.data_dir, DIR_MODE, why));
    CD_TRY(key_open(x, why));
    CD_TRY(cd_clerk_open(&x->clerk, x->cfg.loop, x->cfg.db != NULL ? x->cfg.db : url, why));
    const cd_budget_cfg budget = {.loop = x->cfg.loop,
                                  .clerk = x->clerk,
                                  .clock = x->cfg.clock,
                                  .log = x->cfg.log,
                                  .promise_max_s = 2 * x->cfg.token_life_s};
    x->budget = cd_budget_new(&budget);
    return CD_OK;
}

static cd_err open_gate(cd_exchange *x, cd_errinfo *why)
{
    char path[4096];
    cd_gate_cfg cfg = {
        .loop = x->cfg.loop,
        .log = x->cfg.log,
        .metrics = x->cfg.metrics,
        .clock = x->cfg.clock,
        .clerk = x->clerk,
        .key = &x->key,
        .period_s = x->cfg.miner_period_s,
        .proof_fee_micro = x->cfg.proof_fee_micro,
    };
    (void)snprintf(path, sizeof path, "%.4000s/miners.key", x->cfg.data_dir);
    cd_err err = cd_key_file(cfg.seed, path, why);
    if (err == CD_OK) {
        err = cd_gate_new(&x->gate, &cfg, why);
    }
    cd_wipe(cfg.seed, sizeof cfg.seed);
    x->stats = cd__stats_new(x);
    return err;
}

/* On the books thread. */
static void on_outcome(void *ctx, cd_bytes json)
{
    cd_gate_outcome(((cd_exchange *)ctx)->gate, json);
}

static cd_err open_caps(cd_exchange *x, cd_errinfo *why)
{
    cd_caps_cfg cfg = {.url = x->cfg.shared_caps, .clock = x->cfg.clock, .window_s = x->cfg.freq_window_s};
    cd_notary_secret(cfg.secret, x->notary);
    cd_err err = cd_caps_open(&x->caps, x->cfg.loop, &cfg, why);
    cd_wipe(cfg.secret, sizeof cfg.secret);
    return err;
}

static cd_err open_notary(cd_exchange *x, cd_errinfo *why)
{
    const cd_notary_cfg cfg = {
        .log = x->cfg.log,
        .clock = x->cfg.clock,
        .metrics = x->cfg.metrics,
        .data_dir = x->cfg.data_dir,
        .db = x->cfg.db,
        .default_reserve = (u64)x->cfg.floor,
        .window_s = x->cfg.freq_window_s,
        .settled = on_outcome,
        .settled_ctx = x,
    };
    x->rates = cd_rate_new(RATES_MAX);
    CD_TRY(cd__freq_open(x, why));
    CD_TRY(cd_notary_open(&x->notary, &cfg, why));
    return x->cfg.shared_caps == NULL ? CD_OK : open_caps(x, why);
}

static void name_beacons(cd_exchange *x)
{
    const char *base = x->cfg.public_url;
    usize n = base == NULL ? 64 : strlen(base) + 8;
    x->beacons = cd_alloc(n);
    if (base == NULL) {
        (void)snprintf(x->beacons, n, "http://127.0.0.1:%u/t/", cd_exchange_port(x));
    } else {
        usize k = strlen(base);
        (void)snprintf(x->beacons, n, "%s%s", base, k != 0 && base[k - 1] == '/' ? "t/" : "/t/");
    }
}

/* The chain is chosen at the start; another one wants a restart. */
static cd_err open_settler(cd_exchange *x, cd_errinfo *why)
{
    const cd_settler_cfg cfg = {.loop = x->cfg.loop,
                                .log = x->cfg.log,
                                .metrics = x->cfg.metrics,
                                .clock = x->cfg.clock,
                                .clerk = x->clerk,
                                .escrow = &x->setup->config->escrow};
    return cfg.escrow->rpc == NULL ? CD_OK : cd_settler_new(&x->settler, &cfg, why);
}

static cd_err open_all(cd_exchange *x, cd_errinfo *why)
{
    CD_TRY(open_clients(x, why));
    x->bidders = cd_bidders_new(x->dsp_http, x->cfg.clock, x->cfg.metrics);
    x->explain = cd_explain_new(EXPLAIN_MAX, EXPLAIN_S);
    x->notices = cd__notices_new(x);
    CD_TRY(open_money(x, why));
    CD_TRY(open_gate(x, why));
    CD_TRY(open_notary(x, why));
    CD_TRY(load(x, why));
    CD_TRY(open_settler(x, why));
    cd__pages_open(x);
    cd__front_new(x);
    CD_TRY(cd_http_server_listen(x->server, x->cfg.bind, x->cfg.port, why));
    name_beacons(x);
    return CD_OK;
}

cd_err cd_exchange_open(cd_exchange **out, const cd_exchange_cfg *cfg, cd_errinfo *why)
{
    cd_exchange *x = cd_new(cd_exchange);
    cd_rng os = cd_rng_os();
    x->cfg = *cfg;
    x->secret_rng = os;
    x->rng = cd_rng_seeded(cd_rng_u64(&os));
    cd_list_init(&x->idle);
    make_metrics(x);
    cd_err err = open_all(x, why);
    if (err != CD_OK) {
        cd_exchange_close(x);
        return err;
    }
    *out = x;
    return CD_OK;
}

u16 cd_exchange_port(const cd_exchange *x)
{
    return cd_http_server_port(x->server);
}

static void on_money_back(void *ctx)
{
    cd_exchange *x = ctx;
    x->done(x->done_ctx);
}

static void on_miners_gone(void *ctx)
{
    cd_exchange *x = ctx;
    cd_budget_end(x->budget, on_money_back, x);
}

static void on_settled(void *ctx)
{
    cd_exchange *x = ctx;
    cd_gate_end(x->gate, on_miners_gone, x);
}

static void on_stopped(void *ctx)
{
    cd_exchange *x = ctx;
    if (x->settler != NULL) {
        cd_settler_end(x->settler, on_settled, x);
    } else {
        on_settled(x);
    }
}

void cd_exchange_drain(cd_exchange *x, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    x->done = done;
    x->done_ctx = ctx;
    cd_http_server_stop(x->server, grace_ms, on_stopped, x);
}

void cd_exchange_close(cd_exchange *x)
{
    if (x == NULL) {
        return;
    }
    cd_timer_free(x->live_timer);
    cd_caps_close(x->caps);
    cd_http_server_free(x->server);
    cd_sse_free(x->live);
    x->live = NULL;
    cd_notary_close(x->notary);
    cd_gate_free(x->gate);
    cd__stats_free(x->stats);
    cd_freq_free(x->freq);
    cd_rate_free(x->rates);
    cd_http_client_free(x->dsp_http);
    cd_http_client_free(x->notice_http);
    cd_clerk_close(x->clerk);
    cd_settler_free(x->settler);
    cd_budget_free(x->budget);
    cd__notices_free(x->notices);
    cd_explain_free(x->explain);
    cd_bidders_free(x->bidders);
    setup_drop(x->setup);
    while (!cd_list_is_empty(&x->idle)) {
        cd__run *run = cd_list_of(cd_list_first(&x->idle), cd__run, link);
        cd_list_del(&run->link);
        cd_arena_fini(&run->mem);
        cd_buf_fini(&run->text);
        cd_free(run);
    }
    cd_wipe(&x->key, sizeof x->key);
    cd_free(x->beacons);
    cd_free(x);
}
