#include "services/adx/miner/link.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/thread/mbox.h"
#include "base/thread/thread.h"
#include "base/version.h"
#include "crypto/ec/ed25519.h"
#include "net/ws/client.h"
#include "services/adx/auction/outcome.h"
#include "services/adx/auction/text.h"

enum {
    BACK_OFF_MAX_MS = 60000,
    TICK_MS = 1000,
    DIAL_MS = 10000,
    QUIET_S = 45, /* without a word of the exchange, pings aside */
    REPORT_S = 2,
    FORGET_S = 60,
    TASKS_MAX = 4,
};

/* A proof task on its way through the thread. */
typedef struct task {
    struct task *next;
    u64 id, connection;
    bool is_valid;
    cd_buf outcome;
} task;

struct cd_link {
    cd_link_cfg cfg;
    char *url;
    u8 public_key[32];
    cd_ws_hub *hub;
    cd_ws_dial *dial;
    cd_ws *ws;
    cd_timer *tick, *again;
    u32 pause_ms;
    u64 connection; /* which one it is */
    bool has_hello, is_registered, is_ended;
    u8 exchange_key[32], challenge[32];
    u64 seq_in;
    cd_wire_out out;
    u64 beat_s, reported_s, forgot_s;
    char trouble[200];
    cd_link_state state;
    void (*done)(void *ctx);
    void *done_ctx;
    /* proofs */
    cd_mbox *tasks; /* task * */
    cd_thread thread;
    bool is_running;
    u32 tasks_cnt;
    cd_mutex lock;
    task *ready; /* under the lock */
    bool is_posted;
    cd_loop_task posted;
};

static u64 now_s(void)
{
    return cd_clock_wall_s(cd_clock_real());
}

static void note_trouble(cd_link *l, const char *what, const char *why)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%s%s%s", what, why[0] == '\0' ? "" : ": ", why);
    const char *s = cd_buf_cstr(&text);
    usize n = cd_min_u64(text.n, sizeof l->trouble - 1);
    bool is_new = strncmp(l->trouble, s, n) != 0;
    memcpy(l->trouble, s, n);
    l->trouble[n] = '\0';
    if (is_new) {
        cd_log_warn(l->cfg.log, "exchange", CD_F("why", (const char *)l->trouble));
    }
    cd_buf_fini(&text);
}

/* --- out --- */

static bool send(cd_link *l, cd_json_w *w)
{
    cd_buf message = {0};
    cd_wire_end(&l->out, w, &message);
    bool is_sent = l->ws != NULL && cd_ws_send_bytes(l->ws, CD_WS_TEXT, cd_buf_bytes(&message)) == CD_OK;
    cd_buf_fini(&message);
    cd_buf_fini(w->out);
    return is_sent;
}

static void put_hex(cd_json_w *w, const char *key, const u8 b[32])
{
    cd_adx_put_hex(w, key, cd_bytes_of(b, 32));
}

static void say_register(cd_link *l)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_wire_begin(&l->out, &w, "register");
    put_hex(&w, "key", l->public_key);
    cd_json_put_cstr(&w, "wallet", l->cfg.wallet);
    cd_json_put_cstr(&w, "tunnel", l->cfg.tunnel_name);
    cd_json_put_cstr(&w, "public_url", cd_tunnel_url(l->cfg.tunnel));
    cd_json_put_u64(&w, "cache_size", l->cfg.cache_size);
    cd_json_put_cstr(&w, "version", CD_VERSION);
    (void)send(l, &w);
}

void cd_link_beat(cd_link *l)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_cache_stats s = cd_vault_stats(l->cfg.vault);
    if (!l->is_registered) {
        return;
    }
    l->beat_s = now_s();
    cd_wire_begin(&l->out, &w, "heartbeat");
    cd_json_put_cstr(&w, "public_url", cd_tunnel_url(l->cfg.tunnel));
    cd_json_put_cstr(&w, "tunnel_state", cd_tunnel_state(l->cfg.tunnel));
    cd_json_w_key(&w, "cache");
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "size", s.size);
    cd_json_put_u64(&w, "used", s.used);
    cd_json_put_u64(&w, "objects", s.objects);
    cd_json_put_u64(&w, "hits", s.hits);
    cd_json_put_u64(&w, "misses", s.misses);
    cd_json_w_obj_end(&w);
    cd_json_w_key(&w, "have");
    cd_json_w_arr(&w);
    cd_fill_put_have(l->cfg.fill, &w);
    cd_json_w_arr_end(&w);
    (void)send(l, &w);
}

static void report(cd_link *l)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (!l->is_registered || cd_played_waiting(l->cfg.played) == 0) {
        return;
    }
    cd_wire_begin(&l->out, &w, "report");
    cd_json_w_key(&w, "deliveries");
    cd_json_w_arr(&w);
    (void)cd_played_put(l->cfg.played, &w, l->out.seq);
    cd_json_w_arr_end(&w);
    (void)send(l, &w);
}

/* --- proofs --- */

static void on_ready(cd_loop_task *t);

static void check(void *arg)
{
    cd_link *l = arg;
    task *t;
    while (cd_mbox_recv(l->tasks, &t, -1) == CD_OK) {
        cd_arena mem = {0};
        cd_outcome o;
        t->is_valid = cd_outcome_parse(&o, &mem, cd_buf_bytes(&t->outcome), NULL) == CD_OK &&
                      cd_outcome_verify(&o, NULL) == CD_OK;
        cd_arena_fini(&mem);
        cd_mutex_lock(&l->lock);
        t->next = l->ready;
        l->ready = t;
        bool is_first = !l->is_posted;
        l->is_posted = true;
        cd_mutex_unlock(&l->lock);
        if (is_first) {
            l->posted.fn = on_ready;
            cd_loop_post(l->cfg.loop, &l->posted);
        }
    }
}

static void task_free(task *t)
{
    cd_buf_fini(&t->outcome);
    cd_free(t);
}

static task *take_ready(cd_link *l)
{
    cd_mutex_lock(&l->lock);
    task *t = l->ready;
    l->ready = NULL;
    l->is_posted = false;
    cd_mutex_unlock(&l->lock);
    return t;
}

static void on_ready(cd_loop_task *posted)
{
    cd_link *l = (cd_link *)(void *)((char *)posted - offsetof(cd_link, posted));
    for (task *t = take_ready(l); t != NULL;) {
        task *next = t->next;
        cd_buf text = {0};
        cd_json_w w = {.out = &text};
        l->tasks_cnt--;
        if (t->connection == l->connection && l->is_registered) {
            l->state.proofs_checked++;
            cd_wire_begin(&l->out, &w, "proof_task");
            cd_json_put_u64(&w, "task", t->id);
            cd_json_put_bool(&w, "valid", t->is_valid);
            (void)send(l, &w);
        }
        task_free(t);
        t = next;
    }
}

static cd_err on_task(cd_link *l, const cd_wire_in *in, cd_errinfo *why)
{
    u64 id;
    cd_bytes outcome;
    CD_TRY(cd_json_u64(&id, cd_json_get(in->doc, "task"), why));
    CD_TRY(cd_json_str(&outcome, cd_json_get(in->doc, "outcome"), why));
    if (l->tasks_cnt == TASKS_MAX || outcome.n > CD_WIRE_OUTCOME_MAX) {
        return CD_OK; // not answered
    }
    task *t = cd_new(task);
    t->id = id;
    t->connection = l->connection;
    cd_buf_put(&t->outcome, outcome);
    if (cd_mbox_send(l->tasks, &t) != CD_OK) {
        task_free(t);
        return CD_OK;
    }
    l->tasks_cnt++;
    return CD_OK;
}

/* --- in --- */

/* The greeting names the key that signs it and all that follows. */
static cd_err on_hello(cd_link *l, const cd_wire_in *in, cd_errinfo *why)
{
    CD_TRY(cd_adx_hex_fixed(l->exchange_key, 32, cd_json_get(in->doc, "key"), why));
    CD_TRY(cd_adx_hex_fixed(l->challenge, 32, cd_json_get(in->doc, "challenge"), why));
    CD_TRY(cd_wire_check(in, CD_WIRE_EXCHANGE, l->exchange_key, l->challenge, &l->seq_in, why));
    l->has_hello = true;
    memcpy(l->out.challenge, l->challenge, sizeof l->challenge);
    say_register(l);
    return CD_OK;
}

static cd_err on_registered(cd_link *l)
{
    l->is_registered = true;
    l->pause_ms = 0;
    l->trouble[0] = '\0';
    cd_log_info(l->cfg.log, "registered at the exchange", CD_F("exchange", l->cfg.exchange));
    cd_link_beat(l);
    return CD_OK;
}

static cd_err on_payout(cd_link *l, const cd_wire_in *in, cd_errinfo *why)
{
    cd_bytes total;
    CD_TRY(cd_json_str(&total, cd_json_get(in->doc, "total"), why));
    usize n = cd_min_u64(total.n, sizeof l->state.last_total - 1);
    memcpy(l->state.last_total, total.p, n);
    l->state.last_total[n] = '\0';
    l->state.rewards++;
    cd_log_info(l->cfg.log, "credited", CD_F("usd", (const char *)l->state.last_total));
    return CD_OK;
}

static cd_err handle(cd_link *l, cd_arena *mem, cd_bytes data, cd_errinfo *why)
{
    cd_wire_in in;
    u64 ack;
    CD_TRY(cd_wire_read(&in, mem, data, why));
    if (!l->has_hello) {
        return cd_bytes_eq(in.type, cd_bytes_str("hello")) ? on_hello(l, &in, why)
                                                           : cd_fail(why, CD_EFORMAT, "no greeting");
    }
    CD_TRY(cd_wire_check(&in, CD_WIRE_EXCHANGE, l->exchange_key, l->challenge, &l->seq_in, why));
    if (cd_bytes_eq(in.type, cd_bytes_str("registered"))) {
        return on_registered(l);
    }
    if (cd_bytes_eq(in.type, cd_bytes_str("assign"))) {
        CD_TRY(cd_fill_assign(l->cfg.fill, cd_json_get(in.doc, "objects"), why));
        return CD_OK;
    }
    if (cd_bytes_eq(in.type, cd_bytes_str("report"))) {
        CD_TRY(cd_json_u64(&ack, cd_json_get(in.doc, "ack"), why));
        cd_played_ack(l->cfg.played, ack);
        return CD_OK;
    }
    if (cd_bytes_eq(in.type, cd_bytes_str("proof_task"))) {
        return on_task(l, &in, why);
    }
    if (cd_bytes_eq(in.type, cd_bytes_str("payout"))) {
        return on_payout(l, &in, why);
    }
    if (cd_bytes_eq(in.type, cd_bytes_str("error"))) {
        cd_bytes text;
        CD_TRY(cd_json_str(&text, cd_json_get(in.doc, "message"), why));
        return cd_fail(why, CD_EACCES, "refused: %.*s", (int)cd_min_u64(text.n, 120), (const char *)text.p);
    }
    return CD_OK; // of a later version
}

static void on_message(void *ctx, cd_ws *ws, cd_ws_kind kind, cd_bytes data)
{
    cd_link *l = ctx;
    cd_arena mem = {0};
    cd_errinfo why = {0};
    (void)kind;
    if (handle(l, &mem, data, &why) != CD_OK) {
        note_trouble(l, "message of the exchange", why.msg);
        l->is_registered = false;
        cd_ws_close(ws, CD_WS_POLICY, cd_bytes_str(why.msg));
    }
    cd_arena_fini(&mem);
}

/* --- connection --- */

static void dial(void *ctx);

static void maybe_done(cd_link *l)
{
    if (l->is_ended && l->ws == NULL && l->done != NULL) {
        void (*done)(void *ctx) = l->done;
        l->done = NULL;
        done(l->done_ctx);
    }
}

static void try_again(cd_link *l)
{
    if (l->is_ended) {
        return;
    }
    l->pause_ms = l->pause_ms == 0 ? 1000 : (u32)cd_min_u64(2ull * l->pause_ms, BACK_OFF_MAX_MS);
    l->state.reconnects++;
    cd_timer_start(l->again, l->pause_ms, 0);
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    cd_link *l = ctx;
    l->ws = NULL;
    l->is_registered = false;
    cd_played_lost(l->cfg.played);
    if (!l->is_ended && (code != CD_WS_POLICY || l->trouble[0] == '\0')) {
        char text[128];
        usize n = cd_min_u64(reason.n, sizeof text - 1);
        memcpy(text, n == 0 ? (const u8 *)"" : reason.p, n);
        text[n] = '\0';
        note_trouble(l, "connection lost", text);
    }
    try_again(l);
    maybe_done(l);
}

static const cd_ws_events events = {.message = on_message, .closed = on_closed};

static void on_opened(void *ctx, cd_ws *w, const char *reason)
{
    cd_link *l = ctx;
    l->dial = NULL;
    l->ws = w;
    if (w == NULL) {
        note_trouble(l, "exchange not reached", reason);
        try_again(l);
        return;
    }
    l->connection++;
    l->has_hello = false;
    l->seq_in = 0;
    l->out.seq = 0;
}

static void dial(void *ctx)
{
    cd_link *l = ctx;
    cd_errinfo why = {0};
    if (cd_ws_dial_new(&l->dial, l->hub, l->url, DIAL_MS, &events, on_opened, l, &why) != CD_OK) {
        note_trouble(l, "exchange not reached", why.msg);
        try_again(l);
    }
}

static void on_tick(void *ctx)
{
    cd_link *l = ctx;
    u64 now = now_s();
    if (now >= l->beat_s + CD_WIRE_BEAT_S || now < l->beat_s) {
        cd_link_beat(l);
    }
    if (now >= l->reported_s + REPORT_S || now < l->reported_s) {
        l->reported_s = now;
        report(l);
    }
    if (now >= l->forgot_s + FORGET_S) {
        l->forgot_s = now;
        cd_played_forget(l->cfg.played, now);
    }
}

/* --- life --- */

/* http://host:port becomes ws://host:port/miner/connect. */
static cd_err name_url(cd_link *l, cd_errinfo *why)
{
    static const char *const schemes[][2] = {
        {"http://", "ws://"}, {"https://", "wss://"}, {"ws://", "ws://"}, {"wss://", "wss://"}};
    cd_buf text = {0};
    cd_bytes from = cd_bytes_str(l->cfg.exchange);
    while (from.n != 0 && from.p[from.n - 1] == '/') {
        from.n--;
    }
    for (usize i = 0; i < CD_COUNT(schemes) && text.n == 0; i++) {
        usize n = strlen(schemes[i][0]);
        if (from.n > n && memcmp(from.p, schemes[i][0], n) == 0) {
            cd_buf_str(&text, schemes[i][1]);
            cd_buf_put(&text, cd_bytes_sub(from, n, from.n - n));
            cd_buf_str(&text, "/miner/connect");
        }
    }
    (void)cd_buf_cstr(&text);
    l->url = (char *)text.p;
    return text.n != 0 && cd_ws_url_check(l->url, why) == CD_OK
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "--exchange must be a URL such as https://ads.example");
}

cd_err cd_link_open(cd_link **out, const cd_link_cfg *cfg, cd_errinfo *why)
{
    const cd_ws_cfg ws = {.message_max = CD_WIRE_MESSAGE_MAX, .ping_ms = 15000, .pong_ms = 15000};
    cd_link *l = cd_new(cd_link);
    l->cfg = *cfg;
    l->out = (cd_wire_out){.from = CD_WIRE_MINER, .seed = l->cfg.seed};
    cd_ed25519_public(l->public_key, l->cfg.seed);
    cd_mutex_init(&l->lock);
    cd_err err = name_url(l, why);
    if (err == CD_OK) {
        l->hub = cd_ws_hub_new(cfg->loop, &ws);
        l->tick = cd_timer_new(cfg->loop, on_tick, l);
        l->again = cd_timer_new(cfg->loop, dial, l);
        l->tasks = cd_mbox_new(TASKS_MAX, sizeof(task *));
        err = cd_thread_start(&l->thread, "proofs", check, l, why);
        l->is_running = err == CD_OK;
    }
    if (err != CD_OK) {
        cd_link_free(l);
        return err;
    }
    cd_timer_start(l->tick, TICK_MS, TICK_MS);
    cd_timer_start(l->again, 0, 0);
    *out = l;
    return CD_OK;
}

void cd_link_end(cd_link *l, void (*done)(void *ctx), void *ctx)
{
    report(l);
    l->is_ended = true;
    l->done = done;
    l->done_ctx = ctx;
    cd_timer_stop(l->tick);
    cd_timer_stop(l->again);
    if (l->dial != NULL) {
        cd_ws_dial_drop(l->dial);
        l->dial = NULL;
    }
    if (l->ws != NULL) {
        cd_ws_close(l->ws, CD_WS_GOING_AWAY, (cd_bytes){0});
    }
    if (l->is_running) {
        cd_mbox_close(l->tasks);
        cd_thread_join(&l->thread);
        l->is_running = false;
    }
    maybe_done(l);
}

void cd_link_free(cd_link *l)
{
    if (l == NULL) {
        return;
    }
    if (l->is_running) {
        cd_mbox_close(l->tasks);
        cd_thread_join(&l->thread);
    }
    for (task *t = take_ready(l); t != NULL;) {
        task *next = t->next;
        task_free(t);
        t = next;
    }
    cd_mbox_free(l->tasks);
    cd_timer_free(l->tick);
    cd_timer_free(l->again);
    cd_ws_hub_free(l->hub);
    cd_mutex_fini(&l->lock);
    cd_wipe(l->cfg.seed, sizeof l->cfg.seed);
    cd_free(l->url);
    cd_free(l);
}

cd_link_state cd_link_look(const cd_link *l)
{
    cd_link_state s = l->state;
    s.is_registered = l->is_registered;
    s.trouble = l->trouble;
    return s;
}
