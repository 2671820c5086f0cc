/* The routes of miners: their WebSocket, and what all of them have done. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/mem/mem.h"
#include "codec/api_json.h"
#include "net/http/query.h"
#include "services/adx/auction/text.h"

enum { FRESH_MS = 1000, WAITING_MAX = 256 };

/* What is read for an answer. */
typedef struct looking {
    cd_clerk_cmd cmd;
    cd_exchange *x;
    cd_http_req *r; /* of one miner; NULL: of all */
    char miner[CD_MINER_ID_LEN + 1];
    u64 now_s;
    cd_wages_sums sums;
    usize cnt;
    cd_miner_row rows[CD_GATE_LISTED_MAX];
} looking;

/* The answer for all miners is made at most once a second, however many ask. */
struct cd__stats {
    cd_buf json;
    u64 made_ms;
    bool is_out;
    cd_http_req *waiting[WAITING_MAX];
    usize waiting_cnt;
};

struct cd__stats *cd__stats_new(cd_exchange *x)
{
    (void)x;
    return cd_new(struct cd__stats);
}

void cd__stats_free(struct cd__stats *s)
{
    if (s != NULL) {
        cd_buf_fini(&s->json);
        cd_free(s);
    }
}

/* --- JSON --- */

static void put_nusd(cd_json_w *w, const char *key, u64 nusd)
{
    cd_buf text = {0};
    cd_nusd_fmt(&text, nusd);
    cd_json_put_str(w, key, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

/* part of whole with five decimals, cut off. */
static void put_share(cd_json_w *w, const char *key, u64 part, u64 whole)
{
    u64 p = whole == 0 ? 0 : (u64)((u128)cd_min_u64(part, whole) * 100000 / whole);
    cd_buf text = {0};
    cd_buf_fmt(&text, "%llu.%05llu", (unsigned long long)(p / 100000), (unsigned long long)(p % 100000));
    cd_json_put_str(w, key, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void put_rewards(cd_json_w *w, const cd_wages_sums *s)
{
    cd_json_w_key(w, "rewards");
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "currency", "USD");
    put_nusd(w, "base", s->reward.base);
    put_nusd(w, "bandwidth", s->reward.bandwidth);
    put_nusd(w, "uptime_bonus", s->reward.uptime_bonus);
    put_nusd(w, "auction_fees", s->reward.auction_fee);
    put_nusd(w, "proof_fees", s->reward.proof_fees);
    put_nusd(w, "total", s->reward.total);
    put_nusd(w, "pending", s->pending);
    put_nusd(w, "paid", s->paid);
    cd_json_w_obj_end(w);
}

static void put_cache(cd_json_w *w, u64 size, u64 used, u64 objects, u64 hits, u64 misses)
{
    cd_json_w_key(w, "cache");
    cd_json_w_obj(w);
    cd_json_put_u64(w, "size", size);
    cd_json_put_u64(w, "used", used);
    cd_json_put_u64(w, "objects", objects);
    put_share(w, "hit_ratio", hits, hits + misses);
    cd_json_w_obj_end(w);
}

static void put_miner(cd_json_w *w, const cd_exchange *x, const cd_miner_row *m, u64 now_s)
{
    cd_gate_view v;
    cd_gate_look(x->gate, &v, m->id);
    bool is_elsewhere = v.state == CD_GATE_OFFLINE && m->seen_s >= now_s;
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "id", m->id);
    cd_json_put_cstr(w, "wallet", m->wallet);
    cd_json_put_cstr(w, "tunnel", v.tunnel);
    cd_json_put_cstr(w, "public_url", v.url);
    cd_json_put_cstr(w, "state", is_elsewhere ? "active" : cd_gate_state_text(v.state));
    cd_json_put_u64(w, "assigned", v.assigned);
    cd_json_put_u64(w, "serving", v.audited);
    cd_adx_put_time(w, "last_seen", cd_max_u64(v.last_seen_s, cd_min_u64(m->seen_s, now_s)) * 1000);
    cd_json_w_obj_end(w);
}

static void put_stats(cd_buf *out, const looking *k)
{
    cd_json_w w = {.out = out};
    const cd_wages_sums *s = &k->sums;
    cd_gate_totals t = cd_gate_totals_get(k->x->gate);
    bool is_one = k->miner[0] != '\0';
    cd_gate_view v;
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "miners");
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "registered", s->registered);
    cd_json_put_u64(&w, "active", s->active);
    cd_json_w_obj_end(&w);
    cd_json_put_u64(&w, "impressions", s->impressions);
    cd_adx_put_u64(&w, "bytes_transferred", s->bytes);
    put_share(&w, "uptime_ratio", s->up_s, s->seconds);
    put_rewards(&w, s);
    if (is_one) {
        cd_gate_look(k->x->gate, &v, k->miner);
        put_cache(&w, v.cache_size, v.cache_used, v.objects, v.hits, v.misses);
    } else {
        put_cache(&w, t.cache_size, t.cache_used, t.objects, t.hits, t.misses);
    }
    cd_json_w_key(&w, "by_miner");
    cd_json_w_arr(&w);
    for (usize i = 0; i < k->cnt; i++) {
        if (!is_one || strcmp(k->rows[i].id, k->miner) == 0) {
            put_miner(&w, k->x, &k->rows[i], k->now_s);
        }
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
}

/* --- reading --- */

static cd_err run_look(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    looking *k = (looking *)(void *)cmd;
    CD_TRY(cd_wages_sum(l, &k->sums, k->miner[0] == '\0' ? NULL : k->miner, k->now_s, why));
    return cd_wages_list(l, k->rows, &k->cnt, CD_GATE_LISTED_MAX, why);
}

static void reply(cd_http_req *r, cd_bytes json)
{
    cd_buf_put(cd_http_req_out(r), json);
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, "application/json");
}

static void unread(cd_http_req *r)
{
    cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
    cd__front_error(r, 503, "busy", "the books cannot be read now, try again");
}

static void on_looked(cd_clerk_cmd *cmd)
{
    looking *k = (looking *)(void *)cmd;
    struct cd__stats *s = k->x->stats;
    cd_buf one = {0};
    cd_buf *json = k->r != NULL ? &one : &s->json;
    if (cmd->err == CD_OK) {
        cd_buf_clear(json);
        put_stats(json, k);
    }
    if (k->r != NULL && cmd->err == CD_ENOENT) {
        cd__front_error(k->r, 404, "not_found", "there is no such miner");
    } else if (k->r != NULL && cmd->err != CD_OK) {
        unread(k->r);
    } else if (k->r != NULL) {
        reply(k->r, cd_buf_bytes(json));
    } else {
        s->is_out = false;
        s->made_ms = cmd->err == CD_OK ? cd_clock_mono_ns(k->x->cfg.clock) / CD_NS_PER_MS : 0;
        for (usize i = 0; i < s->waiting_cnt; i++) {
            if (cmd->err == CD_OK) {
                reply(s->waiting[i], cd_buf_bytes(json));
            } else {
                unread(s->waiting[i]);
            }
        }
        s->waiting_cnt = 0;
    }
    cd_buf_fini(&one);
    cd_free(k);
}

/* r NULL: for all who wait. */
static bool look(cd_exchange *x, cd_http_req *r, cd_bytes id)
{
    looking *k = cd_new(looking);
    k->x = x;
    k->r = r;
    k->now_s = cd_clock_wall_s(x->cfg.clock);
    if (id.n != 0) {
        memcpy(k->miner, id.p, CD_MINER_ID_LEN);
    }
    k->cmd.run = run_look;
    k->cmd.done = on_looked;
    if (cd_clerk_post(x->clerk, &k->cmd) != CD_OK) {
        cd_free(k);
        return false;
    }
    return true;
}

static void on_all(cd_exchange *x, cd_http_req *r)
{
    struct cd__stats *s = x->stats;
    u64 now = cd_clock_mono_ns(x->cfg.clock) / CD_NS_PER_MS;
    if (s->made_ms != 0 && now < s->made_ms + FRESH_MS) {
        reply(r, cd_buf_bytes(&s->json));
    } else if (s->waiting_cnt == WAITING_MAX || (!s->is_out && !look(x, NULL, (cd_bytes){0}))) {
        unread(r);
    } else {
        s->is_out = true;
        s->waiting[s->waiting_cnt++] = r;
    }
}

static bool is_id(cd_bytes id)
{
    bool is_good = id.n == CD_MINER_ID_LEN;
    for (usize i = 0; i < id.n && is_good; i++) {
        is_good = (id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'f');
    }
    return is_good;
}

/* One address asks so often, whoever it asks for. */
static bool may_ask(cd_exchange *x, cd_http_req *r)
{
    char peer[CD_TCP_PEER_MAX];
    cd_http_req_peer(r, peer);
    return x->cfg.client_rate == 0 ||
           cd_rate_take(x->rates, peer, x->cfg.client_rate, cd_clock_wall_s(x->cfg.clock)).is_in;
}

static void on_stats(cd_exchange *x, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_bytes id = {0};
    bool is_read = cd_query_get(&id, &mem, cd_http_req_query(r), "id") == CD_OK;
    if (!may_ask(x, r)) {
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(r, 429, "too_many_requests", "this address asks too often");
    } else if (!is_read || (id.n != 0 && !is_id(id))) {
        cd__front_error(r, 400, "malformed", "id must be 16 hex digits");
    } else if (id.n == 0) {
        on_all(x, r);
    } else if (!look(x, r, id)) {
        unread(r);
    }
    cd_arena_fini(&mem);
}

bool cd__front_miner(cd_exchange *x, cd_http_req *r, cd_bytes path)
{
    bool is_connect = cd_bytes_eq(path, cd_bytes_str("/miner/connect"));
    if (!is_connect && !cd_bytes_eq(path, cd_bytes_str("/miner/stats"))) {
        return false;
    }
    if (cd_http_req_method(r) != CD_HTTP_GET) {
        cd__front_not_allowed(r, "GET");
    } else if (!is_connect) {
        on_stats(x, r);
    } else if (!may_ask(x, r)) {
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(r, 429, "too_many_requests", "this address asks too often");
    } else {
        cd_gate_accept(x->gate, r);
    }
    return true;
}
