#include "services/webhook/webhook.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/table/list.h"
#include "services/webhook/webhook_priv.h"

enum {
    AGAIN_MS = 1000,
    TELL_EVERY = 60, /* questions that a node does not answer */
    MINUTE_MS = 60 * 1000,
    RETAIN_ROWS = 2000, /* of one bite */
    ROWS_DAYS = 400,    /* how long the ledger's rows stay */
    DAY_MS = 24 * 3600 * 1000,
    GRACE_MS = 5000,     /* when the server was away, for all to come back */
    HOOK_TTL_MS = 10000, /* for how long a change may be missed while the server is away */
};

/* --- chains --- */

static void ask_id(cd__webhook_chain *c);

static void on_made(void *ctx, const cd_wh_delivery *rows, usize cnt)
{
    cd_wh_deliver_offer(((cd__webhook_chain *)ctx)->owner->deliverer, rows, cnt);
}

static void on_due(void *ctx)
{
    cd_wh_deliver_due(((cd__webhook_chain *)ctx)->owner->deliverer);
}

static void on_quota(void *ctx, const cd_wh_quota_note *notes, usize cnt)
{
    cd_webhook *w = ((cd__webhook_chain *)ctx)->owner;
    cd_wh_deliver_due(w->deliverer); /* who is told of it */
    if (w->mailer != NULL) {
        cd_wh_mailer_quota(w->mailer, notes, cnt);
    }
}

cd_wh_chain cd__webhook_told(const cd__webhook_chain *c)
{
    const cd_webhook_chain *cfg = c->cfg;
    return (cd_wh_chain){
        .name = cfg->name, .symbol = cfg->symbol, .id = c->id, .is_final = c->owner->cfg.is_final_only};
}

static void follow(cd__webhook_chain *c)
{
    cd_webhook *w = c->owner;
    cd_errinfo why = {0};
    const cd_wh_intake_cfg cfg = {
        .db = w->db,
        .http = w->http,
        .hub = w->hub,
        .clock = w->cfg.store.clock,
        .log = w->cfg.log,
        .metrics = w->cfg.metrics,
        .chain = cd__webhook_told(c),
        .http_url = c->cfg->http_url,
        .ws_url = c->cfg->ws_url,
        .confirmations = w->cfg.confirmations,
        .replaced = w->cfg.replaced,
        .is_dev = c->is_dev,
        .ctx = c,
        .made = on_made,
        .due = on_due,
        .quota = on_quota,
    };
    if (cd_wh_intake_new(&c->intake, w->cfg.loop, &cfg, &why) != CD_OK) {
        cd_log_error(w->cfg.log, "chain not followed", CD_F("chain", c->cfg->name), CD_F("why", why.msg));
        return;
    }
    cd_log_info(w->cfg.log, "following", CD_F("chain", c->cfg->name), CD_F("id", (u64)c->id));
    if (w->cfg.l1_look_ms == 0) {
        return;
    }
    const cd_wh_l1_cfg l1 = {
        .db = w->db,
        .http = w->http,
        .log = w->cfg.log,
        .chain = c->cfg->name,
        .http_url = c->cfg->http_url,
        .look_ms = (u32)w->cfg.l1_look_ms,
        .ctx = c,
        .due = on_due,
    };
    cd_wh_l1_watch_new(&c->l1, w->cfg.loop, &l1);
}

/* A node that takes blocks back when it is told to. */
static bool is_dev(const cd_answer *version)
{
    static const char *const names[] = {"anvil/", "HardhatNetwork/"};
    cd_bytes text;
    for (usize i = 0; i < CD_COUNT(names); i++) {
        usize n = strlen(names[i]);
        if (!version->is_error && cd_json_str(&text, version->result, NULL) == CD_OK && text.n >= n &&
            memcmp(text.p, names[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static void on_again(void *ctx)
{
    ask_id(ctx);
}

static void on_id(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd__webhook_chain *c = ctx;
    u64 id = 0;
    c->call = NULL;
    if (err == CD_OK && !answers[0].is_error && cd_json_qty_u64(&id, answers[0].result, NULL) == CD_OK && id != 0) {
        c->id = id;
        c->is_dev = is_dev(&answers[1]);
        follow(c);
    } else {
        if (c->silent++ % TELL_EVERY == 0) {
            cd_log_warn(c->owner->cfg.log, "node does not answer", CD_F("chain", c->cfg->name),
                        CD_F("why", err != CD_OK ? reason : "eth_chainId is not answered"));
        }
        cd_timer_start(c->again, AGAIN_MS, 0);
    }
}

static void ask_id(cd__webhook_chain *c)
{
    static const cd_ask asks[] = {
        {.method = "eth_chainId", .params = "[]"},
        {.method = "web3_clientVersion", .params = "[]"},
    };
    cd_arena_reset(&c->mem);
    c->call = cd_call_new(&c->node, &c->mem, asks, CD_COUNT(asks), 0, on_id, c);
}

static void chain_open(cd_webhook *w, const cd_webhook_chain *cfg)
{
    cd__webhook_chain *c = &w->chains[w->chains_cnt++];
    c->owner = w;
    c->cfg = cfg;
    c->node = (cd_upstream){.http = w->http, .url = cfg->http_url};
    c->again = cd_timer_new(w->cfg.loop, on_again, c);
    ask_id(c);
}

static void chain_stop(cd__webhook_chain *c)
{
    cd_call_cancel(c->call);
    c->call = NULL;
    cd_timer_free(c->again);
    c->again = NULL;
    cd_wh_l1_watch_stop(c->l1);
    if (c->intake != NULL) {
        cd_wh_intake_stop(c->intake);
    }
}

/* --- housekeeping --- */

static cd_err run_retain(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_webhook *w = cd_list_of(job, cd_webhook, retain);
    u64 now = cd_clock_wall_ns(w->cfg.store.clock) / CD_NS_PER_MS;
    u64 texts = now > w->cfg.retention_ms ? now - w->cfg.retention_ms : 0;
    u64 keep = (u64)ROWS_DAYS * DAY_MS;
    u64 rows = cd_min_u64(texts, now > keep ? now - keep : 0);
    return cd_wh_retain(s, &w->retains, texts, rows, RETAIN_ROWS, why);
}

static void done_retain(cd_job *job)
{
    cd_webhook *w = cd_list_of(job, cd_webhook, retain);
    if (job->err != CD_OK) {
        cd_log_warn(w->cfg.log, "retention failed", CD_F("why", job->why.msg));
        w->retains = false;
    }
    if (w->retains && !w->is_stopping) {
        w->retain = (cd_job){.run = run_retain, .done = done_retain};
        cd_jobs_write(w->db, &w->retain);
        return;
    }
    w->retains = false;
}

static void on_minute(void *ctx)
{
    cd_webhook *w = ctx;
    if (!w->retains) {
        w->retains = true;
        w->retain = (cd_job){.run = run_retain, .done = done_retain};
        cd_jobs_write(w->db, &w->retain);
    }
}

static cd_err run_look(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_webhook *w = cd_list_of(job, cd_webhook, look);
    return cd_wh_backlog_get(s, &w->backlog, cd_clock_wall_ns(w->cfg.store.clock) / CD_NS_PER_MS, why);
}

static void done_look(cd_job *job)
{
    cd_webhook *w = cd_list_of(job, cd_webhook, look);
    w->looks = false;
    if (job->err == CD_OK) {
        cd_gauge_set(w->depth, (i64)(w->backlog.waiting + w->backlog.in_hand));
        cd_gauge_set(w->overdue, (i64)(w->backlog.overdue_ms / 1000));
        cd_gauge_set(w->paused, (i64)w->backlog.paused);
    }
}

/* --- a store that takes nothing --- */

void cd__webhook_trouble(cd_webhook *w)
{
    bool had = w->trouble[0] != '\0';
    bool has = cd_jobs_trouble(w->db, w->trouble);
    if (has && !had) {
        cd_log_error(w->cfg.log, "the database takes nothing: blocks and deliveries wait",
                     CD_F("why", (const char *)w->trouble));
    } else if (had && !has) {
        cd_log_info(w->cfg.log, "the database works again");
    }
}

/* Nobody may have anything to write, and the trouble be over. */
static cd_err run_probe(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_webhook *w = cd_list_of(job, cd_webhook, probe);
    u64 now = cd_clock_wall_ns(w->cfg.store.clock);
    return cd_wh_setting_put(s, cd_bytes_of(&now, sizeof now), "", "probe", why);
}

static void done_probe(cd_job *job)
{
    cd_list_of(job, cd_webhook, probe)->probes = false;
}

static void look_for_trouble(cd_webhook *w)
{
    cd__webhook_trouble(w);
    if (w->trouble[0] != '\0' && !w->probes) {
        w->probes = true;
        w->probe = (cd_job){.run = run_probe, .done = done_probe};
        cd_jobs_write(w->db, &w->probe);
    }
}

/* --- other workers --- */

/* What a dead worker had in hand is due again; what it had to tell of the past is told by who is left. */
static cd_err run_bury(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_webhook *w = cd_list_of(job, cd_webhook, bury);
    w->dead = 0;
    if (cd_jobs_losses(w->db) != w->bury_losses) {
        return CD_OK; /* the server was away: nobody has his name back yet */
    }
    if (w->bury_lives) {
        CD_TRY(cd_wh_worker_lives(s, why));
    }
    return cd_wh_workers_bury(s, &w->dead, why);
}

static void done_bury(cd_job *job)
{
    cd_webhook *w = cd_list_of(job, cd_webhook, bury);
    w->buries = false;
    if (job->err != CD_OK || w->is_stopping || cd_jobs_losses(w->db) != w->bury_losses) {
        w->was_away |= w->bury_lives;
        return;
    }
    if (w->dead != 0) {
        cd_log_warn(w->cfg.log, "a worker is gone, others go on with its work", CD_F("workers", (u64)w->dead));
        cd_wh_deliver_due(w->deliverer);
        for (usize i = 0; i < w->chains_cnt; i++) {
            if (w->chains[i].intake != NULL) {
                cd_wh_intake_resume(w->chains[i].intake);
            }
        }
    }
}

/* A commit whose answer was lost with the connection may have given us deliveries of which the deliverer does not
 * know; those that it has it leaves. */
static cd_err run_again(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_webhook *w = cd_list_of(job, cd_webhook, again);
    cd_arena_reset(&w->again_mem);
    return cd_wh_worker_rows(s, &w->again_rows, &w->again_cnt, &w->again_mem, why);
}

static void done_again(cd_job *job)
{
    cd_webhook *w = cd_list_of(job, cd_webhook, again);
    w->is_again = false;
    if (job->err == CD_OK && !w->is_stopping) {
        cd_wh_deliver_offer(w->deliverer, w->again_rows, w->again_cnt);
    }
    cd_arena_fini(&w->again_mem);
}

static void look_for_losses(cd_webhook *w)
{
    u64 losses = cd_jobs_losses(w->db);
    if (losses != w->losses) {
        w->bury_ms = cd_loop_now_ms(w->cfg.loop) + GRACE_MS;
    }
    if (losses != w->losses && w->trouble[0] == '\0' && !w->is_again) {
        w->losses = losses;
        w->is_again = true;
        w->again = (cd_job){.run = run_again, .done = done_again};
        cd_jobs_write(w->db, &w->again);
    }
}

/* A webhook that another worker has changed, for the deliverer. */
typedef struct reading {
    cd_job job;
    cd_webhook *w;
    cd_arena mem;
    i64 key;
    cd_wh_hook hook;
} reading;

static cd_err run_reading(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    reading *r = cd_list_of(job, reading, job);
    return cd_wh_hook_by_key(s, &r->hook, &r->mem, r->key, false, why);
}

static void done_reading(cd_job *job)
{
    reading *r = cd_list_of(job, reading, job);
    if (job->err == CD_OK && !r->w->is_stopping) {
        cd_wh_deliver_hook(r->w->deliverer, &r->hook);
    } else if (job->err == CD_ENOENT && !r->w->is_stopping) {
        cd_wh_deliver_hook_gone(r->w->deliverer, r->key);
    }
    cd_arena_fini(&r->mem);
    cd_free(r);
}

static void on_heard(void *ctx, i64 hook)
{
    cd_webhook *w = ctx;
    reading *r = cd_new(reading);
    *r = (reading){.job = {.run = run_reading, .done = done_reading}, .w = w, .key = hook};
    cd_jobs_read(w->db, &r->job);
}

static void on_missed(void *ctx)
{
    cd_webhook *w = ctx;
    w->was_away = true;
    w->bury_ms = cd_loop_now_ms(w->cfg.loop) + GRACE_MS;
}

static void on_second(void *ctx)
{
    cd_webhook *w = ctx;
    look_for_trouble(w);
    look_for_losses(w);
    if (w->peers != NULL && !w->buries && cd_loop_now_ms(w->cfg.loop) >= w->bury_ms) {
        w->buries = true;
        w->bury_losses = w->losses;
        w->bury_lives = w->was_away;
        w->was_away = false;
        w->bury = (cd_job){.run = run_bury, .done = done_bury};
        cd_jobs_write(w->db, &w->bury);
    }
    if (!w->looks) {
        w->looks = true;
        w->look = (cd_job){.run = run_look, .done = done_look};
        cd_jobs_read(w->db, &w->look);
    }
}

static void metrics_open(cd_webhook *w)
{
    cd_metrics *m = w->cfg.metrics;
    w->depth = cd_metrics_gauge(m, "queue_depth", "Deliveries that wait or are under way.", NULL, 0);
    w->overdue =
        cd_metrics_gauge(m, "overdue_seconds", "For how long the oldest delivery that nobody has is due.", NULL, 0);
    w->paused = cd_metrics_gauge(m, "inactive", "Webhooks that are not active.", NULL, 0);
    w->second = cd_timer_new(w->cfg.loop, on_second, w);
    w->minute = cd_timer_new(w->cfg.loop, on_minute, w);
    cd_timer_start(w->second, AGAIN_MS, AGAIN_MS);
    cd_timer_start(w->minute, MINUTE_MS, MINUTE_MS);
}

/* --- life --- */

static bool on_page(void *ctx, cd_http_req *r)
{
    return cd_wh_pages_take(((cd_webhook *)ctx)->pages, r);
}

static void on_settled(void *ctx, const cd_wh_settled *s)
{
    cd_wh_pages_attempt(((cd_webhook *)ctx)->pages, s->hook, s->d, s->attempt, s->state);
}

static cd_err on_ended(void *ctx, cd_wh_store *s, const cd_wh_ending *e, cd_errinfo *why)
{
    cd_webhook *w = ctx;
    CD_TRY(cd_wh_notice_given_up(s, e->d, e->status, why));
    return w->mailer == NULL || e->status == CD_WH_ACTIVE ? CD_OK : cd_wh_mailer_ended(w->mailer, s, e, why);
}

static cd_err open_mailer(cd_webhook *w, cd_errinfo *why)
{
    const cd_wh_mailer_cfg cfg = {
        .db = w->db,
        .clock = w->cfg.store.clock,
        .log = w->cfg.log,
        .metrics = w->cfg.metrics,
        .brand = w->cfg.brand,
        .from = w->cfg.mail_from,
        .base = w->cfg.public_url,
        .smtp = {.url = w->cfg.smtp_url, .ca_file = w->cfg.ca_file},
    };
    return w->cfg.smtp_url == NULL ? CD_OK : cd_wh_mailer_new(&w->mailer, w->cfg.loop, &cfg, why);
}

static cd_err open_front(cd_webhook *w, cd_errinfo *why)
{
    const cd_wh_api_cfg api = {
        .loop = w->cfg.loop,
        .db = w->db,
        .engine = &w->engine,
        .metrics = w->cfg.metrics,
        .log = w->cfg.log,
        .access_log = w->cfg.access_log,
        .clock = w->cfg.store.clock,
        .faces = w->cfg.faces,
        .brand = w->cfg.brand,
        .no_rate_limit = w->cfg.no_rate_limit,
        .page = on_page,
        .page_ctx = w,
    };
    w->api = cd_wh_api_new(&api);
    const cd_wh_pages_cfg pages = {
        .loop = w->cfg.loop,
        .db = w->db,
        .api = w->api,
        .engine = &w->engine,
        .log = w->cfg.log,
        .clock = w->cfg.store.clock,
        .master_key = w->master_key,
        .brand = w->cfg.brand,
    };
    w->pages = cd_wh_pages_new(&pages);
    for (usize i = 0; i < CD_COUNT(w->cfg.ports) && (i == 0 || w->cfg.ports[i] != 0); i++) {
        CD_TRY(cd_wh_api_listen(w->api, w->cfg.bind, w->cfg.ports[i], why));
    }
    return CD_OK;
}

static cd_err open_engine(cd_webhook *w, cd_errinfo *why)
{
    const cd_wh_guard_cfg guard = {
        .allow_http = w->cfg.allow_http,
        .allow_cidrs = w->cfg.allow_cidrs,
        .allow_cidrs_cnt = w->cfg.allow_cidrs_cnt,
    };
    static const cd_peers_events peers = {.heard = on_heard, .missed = on_missed};
    CD_TRY(cd_wh_guard_new(&w->guard, w->cfg.loop, &guard, why));
    const cd_peers_cfg others = {.url = w->cfg.store.url, .channel = CD_WH_CHANNEL, .name = w->cfg.store.worker};
    CD_TRY(cd_peers_new(&w->peers, w->cfg.loop, &others, &peers, w, why)); /* before the store takes up its work */
    CD_TRY(cd_wh_db_open(&w->db, w->cfg.loop, &w->cfg.store, w->cfg.metrics, why));
    const cd_http_client_cfg http = {.ca_file = w->cfg.ca_file};
    CD_TRY(cd_http_client_new(&w->http, w->cfg.loop, &http, why));
    w->hub = cd_ws_hub_new(w->cfg.loop, &(cd_ws_cfg){.ca_file = w->cfg.ca_file});
    const cd_wh_deliver_cfg deliver = {
        .db = w->db,
        .guard = w->guard,
        .clock = w->cfg.store.clock,
        .log = w->cfg.log,
        .metrics = w->cfg.metrics,
        .brand = w->cfg.brand,
        .ca_file = w->cfg.ca_file,
        .jitter = w->cfg.jitter,
        .hook_ttl_ms = w->peers == NULL ? 0 : HOOK_TTL_MS,
        .ctx = w,
        .settled = on_settled,
        .hook_ended = on_ended,
    };
    CD_TRY(open_mailer(w, why));
    return cd_wh_deliver_new(&w->deliverer, w->cfg.loop, &deliver, why);
}

cd_err cd_webhook_open(cd_webhook **out, const cd_webhook_cfg *cfg, cd_errinfo *why)
{
    if (cfg->chains_cnt > CD__WEBHOOK_CHAINS_MAX) {
        return cd_fail(why, CD_EINVAL, "at most %d chains", CD__WEBHOOK_CHAINS_MAX);
    }
    cd_webhook *w = cd_new(cd_webhook);
    w->cfg = *cfg;
    memcpy(w->master_key, cfg->store.master_key, sizeof w->master_key);
    cd__webhook_engine(w);
    cd_err err = open_engine(w, why);
    if (err == CD_OK) {
        err = open_front(w, why);
    }
    if (err != CD_OK) {
        cd_webhook_close(w);
        return err;
    }
    metrics_open(w);
    for (usize i = 0; i < cfg->chains_cnt; i++) {
        chain_open(w, &cfg->chains[i]);
    }
    *out = w;
    return CD_OK;
}

u16 cd_webhook_port(const cd_webhook *w)
{
    return cd_wh_api_port(w->api);
}

static void on_part(void *ctx)
{
    cd_webhook *w = ctx;
    if (--w->to_stop == 0) {
        w->done(w->done_ctx);
    }
}

void cd_webhook_drain(cd_webhook *w, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    w->is_stopping = true;
    w->done = done;
    w->done_ctx = ctx;
    w->to_stop = 2;
    cd_timer_free(w->second);
    cd_timer_free(w->minute);
    w->second = w->minute = NULL;
    for (usize i = 0; i < w->chains_cnt; i++) {
        chain_stop(&w->chains[i]);
    }
    cd_wh_deliver_drain(w->deliverer, grace_ms, on_part, w);
    cd_wh_api_stop(w->api, grace_ms, on_part, w);
}

void cd_webhook_close(cd_webhook *w)
{
    if (w == NULL) {
        return;
    }
    cd_timer_free(w->second);
    cd_timer_free(w->minute);
    for (usize i = 0; i < w->chains_cnt; i++) {
        chain_stop(&w->chains[i]);
    }
    cd_peers_free(w->peers);
    cd_jobs_close(w->db);
    for (usize i = 0; i < w->chains_cnt; i++) {
        cd_wh_l1_watch_free(w->chains[i].l1);
        cd_wh_intake_free(w->chains[i].intake);
        cd_arena_fini(&w->chains[i].mem);
    }
    cd_wh_deliver_free(w->deliverer);
    cd_wh_mailer_free(w->mailer);
    cd_wh_pages_free(w->pages);
    cd_wh_api_free(w->api);
    cd_wh_guard_free(w->guard);
    cd_ws_hub_free(w->hub);
    cd_http_client_free(w->http);
    cd_wipe(w->master_key, sizeof w->master_key);
    cd_free(w);
}
