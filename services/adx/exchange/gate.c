/* Connections of miners: challenge, registration, heartbeats, and what becomes of those who break the rules. */
#include "services/adx/exchange/gate_priv.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/version.h"
#include "crypto/ec/ed25519.h"

enum {
    TICK_MS = 1000,
    FLUSH_S = 5,
    FORGET_S = 3600,
    UNSEEN_S = 7 * 86400,
    MESSAGE_MS = 200, /* what a message costs: five a second, */
    BURST_MS = 10000, /* after fifty at once */
    QUEUE_MAX = 2 << 20,
    AUDIT_CONNS = 16,
    OUTCOMES_WAITING = 16,
};

u64 cd__gate_now_s(const cd_gate *g)
{
    return cd_clock_wall_s(g->cfg.clock);
}

const char *cd_gate_state_text(cd_gate_state s)
{
    static const char *const texts[] = {[CD_GATE_OFFLINE] = "offline",
                                        [CD_GATE_ACTIVE] = "active",
                                        [CD_GATE_SILENT] = "silent",
                                        [CD_GATE_SUSPENDED] = "suspended"};
    return texts[s];
}

/* --- peers --- */

void cd__peer_ref(cd__peer *p)
{
    p->refs++;
}

void cd__peer_unref(cd__peer *p)
{
    if (--p->refs == 0) {
        cd_hmap_fini(&p->holdings);
        cd_free(p);
    }
}

void cd__peer_send(cd__peer *p, cd_json_w *w)
{
    cd_buf message = {0};
    cd_wire_end(&p->out, w, &message);
    if (p->ws != NULL && !p->is_closing && cd_ws_send_bytes(p->ws, CD_WS_TEXT, cd_buf_bytes(&message)) == CD_EFULL) {
        p->is_closing = true;
        cd_ws_close(p->ws, CD_WS_POLICY, cd_bytes_str("does not read"));
    }
    cd_buf_fini(&message);
    cd_buf_fini(w->out);
}

void cd__peer_refuse(cd__peer *p, const char *why)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (p->is_closing || p->ws == NULL) {
        return;
    }
    cd_counter_add(p->gate->m.refused, 1);
    cd_log_info(p->gate->cfg.log, "miner refused", CD_F("id", (const char *)p->row.id),
                CD_F("from", (const char *)p->addr), CD_F("why", why));
    cd_wire_begin(&p->out, &w, "error");
    cd_json_put_cstr(&w, "message", why);
    cd__peer_send(p, &w);
    p->is_closing = true;
    cd_ws_close(p->ws, CD_WS_POLICY, cd_bytes_str(why));
}

bool cd__gate_is_suspended(cd_gate *g, const char *id)
{
    const u64 *until = cd_hmap_get(&g->suspended, id);
    if (until != NULL && *until <= cd__gate_now_s(g)) {
        (void)cd_hmap_del(&g->suspended, id);
        until = NULL;
    }
    return until != NULL;
}

void cd__peer_strike(cd__peer *p, const char *what)
{
    cd_gate *g = p->gate;
    cd_log_warn(g->cfg.log, "miner is not believed", CD_F("id", (const char *)p->row.id), CD_F("what", what));
    if (++p->strikes < CD__GATE_STRIKES) {
        return;
    }
    p->strikes = 0;
    if (cd_hmap_cnt(&g->suspended) >= CD__GATE_MINERS_MAX) {
        cd_hmap_clear(&g->suspended);
    }
    *(u64 *)cd_hmap_put(&g->suspended, NULL, p->row.id) = cd__gate_now_s(g) + CD__GATE_SUSPEND_S;
    cd__gate_leave(p);
    g->is_assignment_old = true;
}

/* --- messages --- */

static void copy_word(char *out, usize size, cd_bytes from)
{
    usize n = 0;
    for (usize i = 0; i < from.n && n + 1 < size; i++) {
        u8 c = from.p[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') {
            out[n++] = (char)c;
        }
    }
    out[n] = '\0';
}

/* A public URL may be missing: then nobody is sent there. */
static cd_err read_url(cd__peer *p, cd_json doc, cd_errinfo *why)
{
    cd_json v = cd_json_get(doc, "public_url");
    cd_bytes text = {0};
    char url[CD_WIRE_URL_MAX + 1] = {0};
    if (cd_json_has(v)) {
        CD_TRY(cd_json_str(&text, v, why));
    }
    if (text.n != 0 && cd_wire_url(url, text) != CD_OK) {
        return cd_json_fail(v, CD_EFORMAT, "is no http or https URL", why);
    }
    if (strcmp(url, p->url) != 0) {
        memcpy(p->url, url, sizeof p->url);
        cd_hmap_clear(&p->holdings); // what was found at the old place says nothing of the new one
    }
    return CD_OK;
}

static cd_err read_registration(cd__peer *p, const cd_wire_in *in, cd_errinfo *why)
{
    cd_bytes wallet;
    cd_bytes tunnel = cd_bytes_str("none");
    cd_json word = cd_json_get(in->doc, "tunnel");
    CD_TRY(cd_json_fixed(p->key, sizeof p->key, cd_json_get(in->doc, "key"), why));
    CD_TRY(cd_wire_check(in, CD_WIRE_MINER, p->key, p->out.challenge, &p->seq_in, why));
    CD_TRY(cd_json_str(&wallet, cd_json_get(in->doc, "wallet"), why));
    if (cd_wire_wallet(p->row.wallet, wallet) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "wallet: must be 0x and 40 hexadecimal digits");
    }
    if (cd_json_has(word)) {
        CD_TRY(cd_json_str(&tunnel, word, why));
    }
    copy_word(p->tunnel, sizeof p->tunnel, tunnel);
    CD_TRY(read_url(p, in->doc, why));
    CD_TRY(cd_json_u64(&p->cache_size, cd_json_get(in->doc, "cache_size"), why));
    memcpy(p->row.public_key, p->key, sizeof p->key);
    cd_wire_miner_id(p->row.id, p->key);
    return CD_OK;
}

static cd_err read_number(u64 *out, cd_json obj, const char *key, cd_errinfo *why)
{
    return cd_json_u64(out, cd_json_get(obj, key), why);
}

static cd_err on_heartbeat(cd__peer *p, const cd_wire_in *in, cd_errinfo *why)
{
    cd_gate *g = p->gate;
    cd_json cache = cd_json_get(in->doc, "cache");
    cd_bytes state = {0};
    u64 now = cd__gate_now_s(g);
    CD_TRY(read_url(p, in->doc, why));
    CD_TRY(cd_json_str(&state, cd_json_get(in->doc, "tunnel_state"), why));
    copy_word(p->tunnel_state, sizeof p->tunnel_state, state);
    CD_TRY(read_number(&p->cache_size, cache, "size", why));
    CD_TRY(read_number(&p->cache_used, cache, "used", why));
    CD_TRY(read_number(&p->objects, cache, "objects", why));
    CD_TRY(read_number(&p->hits, cache, "hits", why));
    CD_TRY(read_number(&p->misses, cache, "misses", why));
    if (p->up_to_s < now || p->up_from_s == 0) { // a gap: what came before is written first
        if (p->up_from_s < p->up_to_s) {
            cd__gate_flush(g);
        }
        p->up_from_s = now;
    }
    p->up_to_s = now + CD_REWARD_HEARTBEAT_S;
    cd__gate_beat_have(p, cd_json_get(in->doc, "have"));
    return CD_OK;
}

static cd_err handle(cd__peer *p, cd_arena *mem, cd_bytes data, cd_errinfo *why)
{
    cd_wire_in in;
    CD_TRY(cd_wire_read(&in, mem, data, why));
    bool is_register = cd_bytes_eq(in.type, cd_bytes_str("register"));
    if (!p->is_registered) {
        if (!is_register || p->row.id[0] != '\0') {
            return cd_fail(why, CD_EFORMAT, "the first message must be register, then wait for registered");
        }
        CD_TRY(read_registration(p, &in, why));
        cd__gate_register(p);
        return CD_OK;
    }
    CD_TRY(cd_wire_check(&in, CD_WIRE_MINER, p->key, p->out.challenge, &p->seq_in, why));
    if (cd_bytes_eq(in.type, cd_bytes_str("heartbeat"))) {
        CD_TRY(on_heartbeat(p, &in, why));
    } else if (cd_bytes_eq(in.type, cd_bytes_str("report"))) {
        cd_json list = cd_json_get(in.doc, "deliveries");
        CD_TRY(cd_json_arr(list, why));
        if (cd_json_len(list) > CD_WIRE_REPORT_MAX) {
            return cd_fail(why, CD_ELIMIT, "a report has at most %d deliveries", CD_WIRE_REPORT_MAX);
        }
        cd__gate_report(p, list);
    } else if (cd_bytes_eq(in.type, cd_bytes_str("proof_task"))) {
        cd__gate_answer(p, &in);
    } else {
        return cd_fail(why, CD_EFORMAT, "no such type of message");
    }
    p->last_s = cd__gate_now_s(p->gate);
    return CD_OK;
}

/* Messages cost time that comes back with time. */
static bool is_too_often(cd__peer *p)
{
    u64 now = cd_clock_mono_ns(p->gate->cfg.clock) / CD_NS_PER_MS;
    p->credit_ms = cd_max_u64(p->credit_ms, now) + MESSAGE_MS;
    return p->credit_ms > now + BURST_MS;
}

static void on_message(void *ctx, cd_ws *ws, cd_ws_kind kind, cd_bytes data)
{
    cd__peer *p = ctx;
    cd_arena mem = {0};
    cd_errinfo why = {0};
    (void)ws;
    if (p->is_closing) {
        return;
    }
    cd_counter_add(p->gate->m.messages, 1);
    if (kind != CD_WS_TEXT) {
        cd__peer_refuse(p, "messages are text");
    } else if (is_too_often(p)) {
        cd__peer_refuse(p, "too many messages");
    } else if (handle(p, &mem, data, &why) != CD_OK) {
        cd__peer_refuse(p, why.msg);
    }
    cd_arena_fini(&mem);
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    cd__peer *p = ctx;
    cd_gate *g = p->gate;
    cd__peer **known = p->row.id[0] == '\0' ? NULL : cd_hmap_get(&g->by_id, p->row.id);
    (void)reason;
    cd_log_debug(g->cfg.log, "miner gone", CD_F("id", (const char *)p->row.id), CD_F("code", code));
    if (p->up_from_s < p->up_to_s) {
        p->up_to_s = cd_min_u64(p->up_to_s, cd__gate_now_s(g)); // it is not up any more
        cd__gate_flush(g);
    }
    p->ws = NULL;
    cd__gate_leave(p);
    g->is_assignment_old = true;
    if (known != NULL && *known == p) {
        (void)cd_hmap_del(&g->by_id, p->row.id);
    }
    cd_list_del(&p->link);
    g->peers_cnt--;
    cd_gauge_set(g->m.connected, (i64)g->peers_cnt);
    cd__peer_unref(p);
}

static const cd_ws_events events = {.message = on_message, .closed = on_closed};

/* --- connections --- */

static void say_hello(cd__peer *p)
{
    cd_buf text = {0};
    char digits[64];
    cd_json_w w = {.out = &text};
    cd_wire_begin(&p->out, &w, "hello");
    cd_hex_fmt(digits, cd_bytes_of(p->out.challenge, 32));
    cd_json_put_str(&w, "challenge", cd_bytes_of(digits, sizeof digits));
    cd_hex_fmt(digits, cd_bytes_of(p->gate->public_key, 32));
    cd_json_put_str(&w, "key", cd_bytes_of(digits, sizeof digits));
    cd_json_put_u64(&w, "heartbeat_s", CD_WIRE_BEAT_S);
    cd_json_put_u64(&w, "period_s", p->gate->cfg.period_s);
    cd__peer_send(p, &w);
}

static bool has_room(const cd_gate *g, const char *addr)
{
    usize same = 0;
    cd_list_each(it, &g->peers)
    {
        same += strcmp(cd_list_of(it, cd__peer, link)->addr, addr) == 0 ? 1 : 0;
    }
    return g->peers_cnt < CD__GATE_PEERS_MAX && same < CD__GATE_ADDR_MAX && !g->is_ended;
}

void cd_gate_accept(cd_gate *g, cd_http_req *r)
{
    char addr[CD_TCP_PEER_MAX];
    cd_http_req_peer(r, addr);
    if (!has_room(g, addr)) {
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 60\r\n"));
        cd_http_reply_error(r, 503, "too many miners are connected, or too many from this address");
        return;
    }
    cd__peer *p = cd_new(cd__peer);
    p->gate = g;
    p->refs = 1;
    memcpy(p->addr, addr, sizeof addr);
    p->is_local = cd_http_req_is_local(r);
    p->opened_s = p->last_s = cd__gate_now_s(g);
    p->out = (cd_wire_out){.from = CD_WIRE_EXCHANGE, .seed = g->cfg.seed};
    cd_rng_fill(&g->rng, p->out.challenge, sizeof p->out.challenge);
    cd_hmap_init(&p->holdings, CD_HASH_KEYED, sizeof(cd_hash32), 1);
    p->ws = cd_ws_accept(g->hub, r, &events, p);
    if (p->ws == NULL) {
        cd__peer_unref(p);
        return;
    }
    cd_list_push_back(&g->peers, &p->link);
    g->peers_cnt++;
    cd_gauge_set(g->m.connected, (i64)g->peers_cnt);
    say_hello(p);
}

/* --- time --- */

static void look_after(cd__peer *p, u64 now)
{
    if (!p->is_registered && now > p->opened_s + CD__GATE_HELLO_S) {
        cd__peer_refuse(p, "did not register in time");
    } else if (p->is_registered && now > p->last_s + CD__GATE_SILENT_S) {
        cd__peer_refuse(p, "no heartbeat");
    }
}

static void on_tick(void *ctx)
{
    cd_gate *g = ctx;
    u64 now = cd__gate_now_s(g);
    cd_list_each_safe(it, &g->peers)
    {
        look_after(cd_list_of(it, cd__peer, link), now);
    }
    if (g->is_assignment_old) {
        cd__gate_assign(g);
    }
    cd__gate_audit(g);
    cd__gate_tasks(g);
    if (now >= g->flushed_s + FLUSH_S || now < g->flushed_s) {
        g->flushed_s = now;
        cd__gate_flush(g);
        cd__gate_close_periods(g);
    }
    cd_gauge_set(g->m.active, (i64)cd_gate_totals_get(g).active);
}

/* --- life --- */

static void make_metrics(cd_gate *g)
{
    cd_metrics *m = g->cfg.metrics;
    const cd_label ok = {"end", "ok"};
    const cd_label failed = {"end", "failed"};
    g->m.connected = cd_metrics_gauge(m, "miners_connected", "Miners that are connected.", NULL, 0);
    g->m.active = cd_metrics_gauge(m, "miners_active", "Miners whose heartbeat came in time.", NULL, 0);
    g->m.messages = cd_metrics_counter(m, "miner_messages_total", "Messages of miners.", NULL, 0);
    g->m.refused = cd_metrics_counter(m, "miners_refused_total", "Connections of miners that were ended.", NULL, 0);
    g->m.deliveries = cd_metrics_counter(m, "miner_deliveries_total", "Deliveries that miners reported.", NULL, 0);
    g->m.audits_ok = cd_metrics_counter(m, "miner_audits_total", "Looks at what miners serve.", &ok, 1);
    g->m.audits_failed = cd_metrics_counter(m, "miner_audits_total", "Looks at what miners serve.", &failed, 1);
    g->m.proofs_ok = cd_metrics_counter(m, "miner_proofs_total", "Proofs that miners checked.", &ok, 1);
    g->m.proofs_wrong = cd_metrics_counter(m, "miner_proofs_total", "Proofs that miners checked.", &failed, 1);
}

/* Addresses that are not everybody's: a stranger may not make us ask there. */
static bool is_far(void *ctx, cd_bytes a, u16 port)
{
    static const u8 mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    (void)ctx;
    (void)port;
    if (a.n == 16 && memcmp(a.p, mapped, sizeof mapped) == 0) {
        a = cd_bytes_sub(a, 12, 4);
    }
    if (a.n == 4) {
        const u8 *p = a.p;
        return !(p[0] == 0 || p[0] == 10 || p[0] == 127 || p[0] >= 224 || (p[0] == 100 && (p[1] & 0xc0) == 64) ||
                 (p[0] == 169 && p[1] == 254) || (p[0] == 172 && (p[1] & 0xf0) == 16) ||
                 (p[0] == 192 && (p[1] == 168 || (p[1] == 0 && p[2] <= 2) || (p[1] == 88 && p[2] == 99))) ||
                 (p[0] == 198 && ((p[1] & 0xfe) == 18 || (p[1] == 51 && p[2] == 100))) ||
                 (p[0] == 203 && p[1] == 0 && p[2] == 113));
    }
    /* Global unicast, less what stands for addresses of version 4, tunnels and documents. */
    return a.n == 16 && (a.p[0] & 0xe0) == 0x20 && !(a.p[0] == 0x20 && a.p[1] == 0x02) &&
           !(a.p[0] == 0x20 && a.p[1] == 0x01 && (a.p[2] < 2 || (a.p[2] == 0x0d && a.p[3] == 0xb8)));
}

cd_err cd_gate_new(cd_gate **out, const cd_gate_cfg *cfg, cd_errinfo *why)
{
    const cd_ws_cfg ws = {.message_max = CD_WIRE_MESSAGE_MAX,
                          .input_max = 64 << 20,
                          .queue_max = QUEUE_MAX,
                          .output_max = 128 << 20,
                          .fragments_max = 1024,
                          .no_deflate = true};
    cd_http_client_cfg http = {.user_agent = "candela-adx/" CD_VERSION, .conns_max = AUDIT_CONNS};
    cd_gate *g = cd_new(cd_gate);
    g->cfg = *cfg;
    g->rng = cd_rng_os();
    cd_ed25519_public(g->public_key, cfg->seed);
    cd_list_init(&g->peers);
    cd_hmap_init(&g->by_id, CD_HASH_KEYED, CD_MINER_ID_LEN, sizeof(cd__peer *));
    cd_hmap_init(&g->suspended, CD_HASH_KEYED, CD_MINER_ID_LEN, sizeof(u64));
    cd_hmap_init(&g->by_digest, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(u32));
    g->outcomes = cd_mbox_new(OUTCOMES_WAITING, sizeof(cd_buf));
    g->hub = cd_ws_hub_new(cfg->loop, &ws);
    g->timer = cd_timer_new(cfg->loop, on_tick, g);
    make_metrics(g);
    cd_err err = cd_http_client_new(&g->near, cfg->loop, &http, why);
    http.may_connect = is_far;
    if (err == CD_OK) {
        err = cd_http_client_new(&g->far, cfg->loop, &http, why);
    }
    if (err != CD_OK) {
        cd_gate_free(g);
        return err;
    }
    cd_timer_start(g->timer, TICK_MS, TICK_MS);
    *out = g;
    return CD_OK;
}

void cd_gate_end(cd_gate *g, void (*done)(void *ctx), void *ctx)
{
    cd__gate_flush(g);
    cd_timer_stop(g->timer);
    g->is_ended = true;
    g->done = done;
    g->done_ctx = ctx;
    if (g->commands == 0) {
        g->done = NULL;
        done(ctx);
    }
}

void cd_gate_free(cd_gate *g)
{
    cd_buf json;
    if (g == NULL) {
        return;
    }
    cd_timer_free(g->timer);
    cd_http_client_free(g->near);
    cd_http_client_free(g->far);
    cd_ws_hub_free(g->hub);
    cd__gate_drop_objects(g);
    for (usize i = 0; i < CD_COUNT(g->docs); i++) {
        cd_buf_fini(&g->docs[i].json);
    }
    while (cd_mbox_try_recv(g->outcomes, &json) == CD_OK) {
        cd_buf_fini(&json);
    }
    cd_mbox_free(g->outcomes);
    cd_hmap_fini(&g->by_id);
    cd_hmap_fini(&g->suspended);
    cd_hmap_fini(&g->by_digest);
    cd_wipe(g->cfg.seed, sizeof g->cfg.seed);
    cd_free(g);
}

/* --- views --- */

static cd_gate_state state_of(const cd__peer *p)
{
    const u64 *until = cd_hmap_get(&p->gate->suspended, p->row.id);
    u64 now = cd__gate_now_s(p->gate);
    if (until != NULL && *until > now) {
        return CD_GATE_SUSPENDED;
    }
    return p->up_to_s >= now ? CD_GATE_ACTIVE : CD_GATE_SILENT;
}

void cd_gate_look(const cd_gate *g, cd_gate_view *out, const char *miner)
{
    cd__peer **found = cd_hmap_get(&g->by_id, miner);
    *out = (cd_gate_view){.state = CD_GATE_OFFLINE, .tunnel = "", .tunnel_state = "", .url = ""};
    if (found == NULL) {
        return;
    }
    const cd__peer *p = *found;
    const void *key;
    void *val;
    *out = (cd_gate_view){.state = state_of(p),
                          .tunnel = p->tunnel,
                          .tunnel_state = p->tunnel_state,
                          .url = p->url,
                          .cache_size = p->cache_size,
                          .cache_used = p->cache_used,
                          .objects = p->objects,
                          .hits = p->hits,
                          .misses = p->misses,
                          .last_seen_s = p->last_s,
                          .assigned = p->assigned};
    for (usize it = 0; cd_hmap_next(&p->holdings, &it, &key, &val);) {
        out->audited += *(u8 *)val == CD__AUDITED ? 1 : 0;
    }
}

cd_gate_totals cd_gate_totals_get(const cd_gate *g)
{
    cd_gate_totals t = {0};
    cd_list_each(it, &g->peers)
    {
        const cd__peer *p = cd_list_of(it, cd__peer, link);
        if (p->is_registered) {
            t.active += state_of(p) == CD_GATE_ACTIVE ? 1 : 0;
            t.cache_size += p->cache_size;
            t.cache_used += p->cache_used;
            t.objects += p->objects;
            t.hits += p->hits;
            t.misses += p->misses;
        }
    }
    return t;
}
