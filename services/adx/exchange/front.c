#define _GNU_SOURCE // memmem
/* The routes of the exchange. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/hex.h"
#include "base/mem/secret.h"
#include "base/num_text.h"
#include "base/os/process.h"
#include "base/version.h"
#include "codec/gzip.h"
#include "net/http/query.h"
#include "services/adx/openrtb/adcom.h"

enum { CONNS_MAX = 20000, SIZE_PX_MAX = 16384, WIDTH = 1920, HEIGHT = 1080, ADS_MAX = 20 };

static const char json_type[] = "application/json";

/* --- answers --- */

void cd__front_error(cd_http_req *r, u32 status, const char *code, const char *message)
{
    cd_buf *out = cd_http_req_out(r);
    cd_json_w w = {.out = out};
    cd_buf_clear(out);
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "error");
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "code");
    cd_json_w_cstr(&w, code);
    cd_json_w_key(&w, "message");
    cd_json_w_cstr(&w, message);
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, status, json_type);
}

void cd__front_not_allowed(cd_http_req *r, const char *methods)
{
    cd_http_req_add_header(r, "Allow", methods);
    cd__front_error(r, 405, "method_not_allowed", "this route has other methods");
}

/* --- POST /rtb/bid --- */

static void add_version(cd_http_req *r, cd_rtb_version v)
{
    cd_http_req_add_header(r, "x-openrtb-version", cd_rtb_version_text(v));
}

/* 400 has no body, unless the caller wants to know why. */
static void invalid(cd_exchange *x, cd_http_req *r, bool wants_reason, const char *why)
{
    cd_counter_add(x->m.invalid, 1);
    if (!wants_reason) {
        cd_http_reply(r, 400, NULL);
        return;
    }
    const char *colon = strstr(why, ": ");
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "error");
    cd_json_w_cstr(&w, colon == NULL ? why : colon + 2);
    cd_json_w_key(&w, "path");
    cd_json_w_str(&w, cd_bytes_of(why, colon == NULL ? 0 : (usize)(colon - why)));
    cd_json_w_obj_end(&w);
    cd_http_reply(r, 400, json_type);
}

static void put_reply(cd__run *run)
{
    cd_buf *out = cd_http_req_out(run->r);
    cd_rtb_won *wins = cd_arena_array(&run->mem, cd_rtb_won, run->wins_cnt);
    for (usize i = 0; i < run->wins_cnt; i++) {
        wins[i] = run->wins[i].won;
    }
    cd_rtb_reply_put(out, run->version, run->req.id, cd_bytes_str(run->hex), run->rules.cur, wins, run->wins_cnt);
}

static void on_bid_done(cd__run *run)
{
    cd_http_req *r = run->r;
    bool has_body = true;
    add_version(r, run->version);
    if (run->wins_cnt != 0) {
        put_reply(run);
    } else if (run->req.is_test || run->req.wants_nbr) {
        cd_rtb_reply_nbr(cd_http_req_out(r), run->version, run->req.id, run->nbr);
    } else {
        has_body = false;
    }
    cd__run_free(run);
    cd_http_reply(r, has_body ? 200 : 204, has_body ? json_type : NULL);
}

/* The body as text: unpacked where it is packed. */
static cd_err body_of(cd_bytes *out, cd__run *run, cd_http_req *r, cd_errinfo *why)
{
    cd_bytes coding = cd_http_req_header(r, "Content-Encoding");
    *out = cd_http_req_body(r);
    if (coding.n == 0 || cd_bytes_eq(coding, cd_bytes_str("identity"))) {
        return CD_OK;
    }
    if (!cd_http_name_eq(coding, cd_bytes_str("gzip"))) {
        return cd_fail(why, CD_EUNSUPPORTED, "only gzip is unpacked");
    }
    cd_buf_clear(&run->text);
    cd_err err = cd_gzip_dec(&run->text, *out, CD_RTB_BODY_MAX);
    *out = cd_arena_dup(&run->mem, cd_buf_bytes(&run->text));
    return err == CD_OK ? CD_OK : cd_fail(why, err, "is no gzip, or too large");
}

/* Whose version it is: the header's, else what the body looks like. */
static cd_err version_of(cd_rtb_version *out, cd_http_req *r, cd_bytes body, cd_errinfo *why)
{
    cd_bytes v = cd_http_req_header(r, "x-openrtb-version");
    if (v.n == 0) {
        *out = cd_adcom_is_root(body) ? CD_RTB_30 : CD_RTB_26;
        return CD_OK;
    }
    bool is_two = v.n >= 2 && v.p[0] == '2' && v.p[1] == '.';
    bool is_three = v.n >= 2 && v.p[0] == '3' && v.p[1] == '.';
    *out = is_three ? CD_RTB_30 : cd_bytes_eq(v, cd_bytes_str("2.5")) ? CD_RTB_25 : CD_RTB_26;
    return is_two || is_three ? CD_OK : cd_fail(why, CD_EVERSION, "x-openrtb-version must be 2.x or 3.0");
}

static cd_err parse_bid(cd__run *run, cd_bytes body, cd_errinfo *why)
{
    if (run->version == CD_RTB_30) {
        cd_buf_clear(&run->text);
        CD_TRY(cd_adcom_down(&run->text, &run->mem, body, why));
        body = cd_buf_bytes(&run->text);
    }
    CD_TRY(cd_rtb_req_parse(&run->req, &run->mem, body, why));
    cd_cur cur;
    return cd_rtb_cur_choose(&cur, &run->req, &run->setup->config->fx)
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "cur: names no currency that has a rate");
}

static bool is_json_type(cd_bytes type)
{
    const u8 *end = type.n == 0 ? NULL : memchr(type.p, ';', type.n);
    usize n = end == NULL ? type.n : (usize)(end - type.p);
    while (n > 0 && type.p[n - 1] == ' ') {
        n--;
    }
    return n == 0 || cd_http_name_eq(cd_bytes_of(type.p, n), cd_bytes_str(json_type));
}

static bool has_word(cd_bytes in, const char *word)
{
    return in.n >= strlen(word) && memmem(in.p, in.n, word, strlen(word)) != NULL;
}

/* A request that is not valid may still say that it is a test. */
static bool says_test(cd_bytes body)
{
    return has_word(body, "\"test\":1") || has_word(body, "\"test\": 1");
}

static void on_bid(cd_exchange *x, cd_http_req *r)
{
    cd_errinfo why = {0};
    cd_bytes body = {0};
    cd_counter_add(x->m.requests, 1);
    if (!is_json_type(cd_http_req_header(r, "Content-Type"))) {
        cd_http_reply(r, 415, NULL);
        return;
    }
    cd__run *run = cd__run_new(x);
    if (run == NULL) {
        cd_counter_add(x->m.shed, 1);
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd_http_reply(r, 503, NULL);
        return;
    }
    run->r = r;
    cd_err err = body_of(&body, run, r, &why);
    if (err == CD_OK) {
        err = version_of(&run->version, r, body, &why);
    }
    if (err == CD_OK) {
        err = parse_bid(run, body, &why);
    }
    if (err != CD_OK) {
        bool is_asked = cd_bytes_eq(cd_http_req_query(r), cd_bytes_str("debug=1"));
        add_version(r, run->version);
        invalid(x, r, is_asked || says_test(body), why.msg);
        cd__run_free(run);
        return;
    }
    cd__run_begin(run, on_bid_done);
}

/* --- GET /vast --- */

static void allow_origin(cd_http_req *r)
{
    char value[256];
    cd_bytes origin = cd_http_req_header(r, "Origin");
    bool is_named = origin.n != 0 && origin.n < sizeof value;
    if (is_named) {
        memcpy(value, origin.p, origin.n);
        value[origin.n] = '\0';
        cd_http_req_add_lines(r, cd_bytes_str("Access-Control-Allow-Credentials: true\r\nVary: Origin\r\n"));
    }
    cd_http_req_add_header(r, "Access-Control-Allow-Origin", is_named ? value : "*");
}

static void reply_vast(cd_http_req *r)
{
    allow_origin(r);
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, "application/xml; charset=utf-8");
}

/* The documents of a pod in one: those of others only where they are of its version. */
static void put_ads(cd__run *run, cd_buf *out)
{
    bool is_pod = run->req.imps[0].video.poddur != 0;
    cd_vast_begin(out, run->vast);
    for (usize i = 0; i < run->wins_cnt; i++) {
        const cd__win *w = &run->wins[i];
        u32 sequence = is_pod ? (u32)i + 1 : 0;
        cd_vast_ad ad;
        if (w->tree == NULL) {
            cd__show_ad(&ad, run, w);
            ad.sequence = sequence;
            cd_vast_ad_put(out, run->vast, &ad);
        } else if (cd_vast_tree_version(w->tree) == run->vast) {
            cd_vast_tree_put_ads(out, w->tree, sequence);
        }
    }
    cd_vast_end(out);
}

static void on_vast_done(cd__run *run)
{
    cd_http_req *r = run->r;
    cd_buf *out = cd_http_req_out(r);
    bool is_foreign = run->wins_cnt == 1 && run->wins[0].tree != NULL;
    if (run->wins_cnt == 0) {
        cd_bytes error_url = run->slots[0] == NULL ? (cd_bytes){0} : run->slots[0]->error_url;
        cd_vast_none(out, run->vast, error_url);
    } else if (is_foreign) {
        cd_buf_put(out, run->wins[0].won.adm);
    } else {
        put_ads(run, out);
    }
    cd__run_free(run);
    reply_vast(r);
}

typedef struct vast_ask {
    cd_bytes slot, ifa, miner;
    u64 w, h, dur, adcount;
    bool unwraps;
    cd_vast_version version;
} vast_ask;

static cd_err read_number(u64 *out, cd_arena *a, cd_bytes query, const char *name, u64 max, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_query_get(&text, a, query, name));
    if (text.n == 0) {
        return CD_OK;
    }
    if (cd_u64_parse(out, text) != CD_OK || *out == 0 || *out > max) {
        return cd_fail(why, CD_ERANGE, "%s must be 1 to %llu", name, (unsigned long long)max);
    }
    return CD_OK;
}

static cd_err read_vast(vast_ask *out, cd_arena *a, cd_bytes query, cd_errinfo *why)
{
    cd_bytes version;
    *out = (vast_ask){.version = CD_VAST_42};
    CD_TRY(cd_query_get(&out->slot, a, query, "slot"));
    CD_TRY(cd_query_get(&out->ifa, a, query, "ifa"));
    CD_TRY(cd_query_get(&out->miner, a, query, "miner"));
    CD_TRY(cd_query_flag(&out->unwraps, a, query, "unwrap"));
    CD_TRY(cd_query_get(&version, a, query, "version"));
    if (out->slot.n == 0) {
        return cd_fail(why, CD_ENOENT, "slot is missing");
    }
    if (version.n != 0 && !cd_vast_version_of(&out->version, version)) {
        return cd_fail(why, CD_EVERSION, "version must be 2.0, 3.0 or 4.0 to 4.3");
    }
    CD_TRY(read_number(&out->w, a, query, "w", SIZE_PX_MAX, why));
    CD_TRY(read_number(&out->h, a, query, "h", SIZE_PX_MAX, why));
    CD_TRY(read_number(&out->dur, a, query, "dur", 86400, why));
    return read_number(&out->adcount, a, query, "adcount", ADS_MAX, why);
}

/* The request that a player's question stands for. */
static void write_request(cd_buf *out, const vast_ask *ask, const cd_adx_slot *slot, const char *id, cd_bytes ua)
{
    u64 w = ask->w != 0 ? ask->w : slot != NULL && slot->w > 0 ? (u64)slot->w : WIDTH;
    u64 h = ask->h != 0 ? ask->h : slot != NULL && slot->h > 0 ? (u64)slot->h : HEIGHT;
    bool is_pod = ask->adcount > 1;
    u64 poddur = slot != NULL && slot->poddur > 0 ? (u64)slot->poddur : ask->adcount * 30;
    cd_json_w j = {.out = out};
    cd_json_w_obj(&j);
    cd_json_w_key(&j, "id");
    cd_json_w_cstr(&j, id);
    cd_json_w_key(&j, "imp");
    cd_json_w_arr(&j);
    cd_json_w_obj(&j);
    cd_json_w_key(&j, "id");
    cd_json_w_cstr(&j, "1");
    cd_json_w_key(&j, "tagid");
    cd_json_w_str(&j, ask->slot);
    cd_json_w_key(&j, "video");
    cd_json_w_raw(&j,
                  cd_bytes_str("{\"mimes\":[\"video/mp4\",\"application/x-mpegURL\",\"video/webm\"],\"linearity\":1,"
                               "\"protocols\":[2,3,5,6,7,8,11,12,13,14,15,16]"));
    cd_buf_fmt(out, ",\"w\":%llu,\"h\":%llu", (unsigned long long)w, (unsigned long long)h);
    if (ask->dur != 0) {
        cd_buf_fmt(out, ",\"maxduration\":%llu", (unsigned long long)ask->dur);
    }
    if (is_pod) {
        cd_buf_fmt(out, ",\"maxseq\":%llu,\"poddur\":%llu,\"podid\":\"1\"", (unsigned long long)ask->adcount,
                   (unsigned long long)poddur);
    }
    cd_buf_u8(out, '}');
    cd_json_w_obj_end(&j);
    cd_json_w_arr_end(&j);
    cd_json_w_key(&j, "device");
    cd_json_w_obj(&j);
    cd_json_w_key(&j, "ua");
    cd_json_w_str(&j, ua);
    if (ask->ifa.n != 0) {
        cd_json_put_str(&j, "ifa", ask->ifa);
    }
    cd_json_w_obj_end(&j);
    cd_json_w_obj_end(&j);
}

static void vast_busy(cd_exchange *x, cd_http_req *r)
{
    cd_counter_add(x->m.shed, 1);
    cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
    cd__front_error(r, 503, "busy", "too many auctions at once, try again");
}

static void on_vast(cd_exchange *x, cd_http_req *r)
{
    cd_errinfo why = {0};
    vast_ask ask;
    char id[33] = {0};
    u64 words[2] = {cd_rng_u64(&x->rng), cd_rng_u64(&x->rng)};
    cd__run *run = cd__run_new(x);
    if (run == NULL) {
        vast_busy(x, r);
        return;
    }
    cd_hex_fmt(id, cd_bytes_of(words, sizeof words));
    cd_err err = read_vast(&ask, &run->mem, cd_http_req_query(r), &why);
    if (err == CD_OK) {
        const cd_adx_slot *slot = cd_adx_config_slot(run->setup->config, ask.slot);
        cd_buf_clear(&run->text);
        write_request(&run->text, &ask, slot, id, cd_http_req_header(r, "User-Agent"));
        err = cd_rtb_req_parse(&run->req, &run->mem, cd_buf_bytes(&run->text), &why);
    }
    if (err != CD_OK) {
        cd__run_free(run);
        cd__front_error(r, 400, "malformed", why.msg[0] != '\0' ? why.msg : "malformed percent-encoding");
        return;
    }
    run->r = r;
    run->is_vast = true;
    run->vast = ask.version;
    run->prefer_miner = ask.miner;
    run->unwraps = ask.unwraps;
    cd__run_begin(run, on_vast_done);
}

/* --- what people and machines look at --- */

bool cd__front_is_admin(const cd_exchange *x, cd_http_req *r)
{
    static const char scheme[] = "Bearer ";
    cd_bytes given = cd_http_req_header(r, "Authorization");
    const char *want = x->cfg.admin_token;
    if (want == NULL) {
        return cd_http_req_is_local(r);
    }
    usize n = sizeof scheme - 1;
    return given.n == n + strlen(want) && memcmp(given.p, scheme, n) == 0 && cd_ct_eq(given.p + n, want, strlen(want));
}

static void on_explain(cd_exchange *x, cd_http_req *r, cd_bytes rest)
{
    cd_arena mem = {0};
    cd_bytes id;
    if (!cd__front_is_admin(x, r)) {
        cd__front_error(r, 401, "unauthorized", "this route wants the admin token");
        return;
    }
    cd_bytes doc = cd_query_unescape(&id, &mem, rest) == CD_OK
                       ? cd_explain_get(x->explain, id, cd_clock_wall_s(x->cfg.clock))
                       : (cd_bytes){0};
    cd_arena_fini(&mem);
    if (doc.p == NULL) {
        cd__front_error(r, 404, "not_found", "no auction of the last day has this id");
        return;
    }
    cd_buf_put(cd_http_req_out(r), doc);
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, json_type);
}

static void on_health(cd_http_req *r)
{
    cd_buf_str(cd_http_req_out(r), "{\"status\":\"healthy\",\"version\":\"" CD_VERSION "\"}\n");
    cd_http_reply(r, 200, json_type);
}

static void on_ready(cd_exchange *x, cd_http_req *r)
{
    bool is_ready = cd_budget_is_ready(x->budget);
    cd_buf_str(cd_http_req_out(r), is_ready ? "{\"status\":\"ready\"}\n" : "{\"status\":\"starting\"}\n");
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, is_ready ? 200 : 503, json_type);
}

static void on_metrics(cd_exchange *x, cd_http_req *r)
{
    cd_process_metrics(x->cfg.metrics);
    cd_metrics_fmt(x->cfg.metrics, cd_http_req_out(r));
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, CD_METRICS_CONTENT_TYPE);
}

/* --- what the notary answers --- */

void cd__front_post(cd_exchange *x, cd_http_req *r, cd_notary_desk desk, cd_notary_fn *fn)
{
    char peer[CD_TCP_PEER_MAX];
    cd_http_req_peer(r, peer);
    if (x->cfg.client_rate != 0 &&
        !cd_rate_take(x->rates, peer, x->cfg.client_rate, cd_clock_wall_s(x->cfg.clock)).is_in) {
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(r, 429, "too_many_requests", "this address asks too often");
    } else if (cd_notary_post(x->notary, desk, fn, r) != CD_OK) {
        cd_counter_add(x->m.shed, 1);
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(r, 503, "busy", "too many requests wait, try again");
    }
}

/* --- the table --- */

static bool below(cd_bytes *rest, cd_bytes path, const char *folder)
{
    usize n = strlen(folder);
    if (path.n <= n || memcmp(path.p, folder, n) != 0) {
        return false;
    }
    *rest = cd_bytes_sub(path, n, path.n - n);
    return true;
}

static bool is_path(cd_bytes path, const char *name)
{
    return cd_bytes_eq(path, cd_bytes_str(name));
}

static void on_read(cd_exchange *x, cd_http_req *r, cd_bytes path)
{
    cd_bytes rest;
    if (is_path(path, "/vast")) {
        on_vast(x, r);
    } else if (is_path(path, "/ready")) {
        on_ready(x, r);
    } else if (is_path(path, "/metrics")) {
        on_metrics(x, r);
    } else if (below(&rest, path, "/rtb/explain/")) {
        on_explain(x, r, rest);
    } else {
        cd__front_error(r, 404, "not_found", "there is no such route");
    }
}

static void on_request(void *ctx, cd_http_req *r)
{
    cd_exchange *x = ctx;
    cd_bytes path = cd_http_req_path(r);
    cd_http_method method = cd_http_req_method(r);
    cd_bytes rest;
    if (is_path(path, "/rtb/bid")) {
        if (method == CD_HTTP_POST) {
            on_bid(x, r);
        } else {
            cd__front_not_allowed(r, "POST");
        }
    } else if (is_path(path, "/health")) {
        on_health(r);
    } else if (below(&rest, path, "/t/")) {
        if (method == CD_HTTP_GET || method == CD_HTTP_POST) {
            cd__beacon(x, r, rest);
        } else {
            cd__front_not_allowed(r, "GET, POST");
        }
    } else if (cd__front_auction(x, r, path) || cd__front_freq(x, r, path) || cd__front_miner(x, r, path) ||
               cd__front_money(x, r, path) ||
               ((method == CD_HTTP_GET || method == CD_HTTP_HEAD) && cd__pages(x, r, path))) {
        return;
    } else if (method == CD_HTTP_GET || method == CD_HTTP_HEAD) {
        on_read(x, r, path);
    } else {
        cd__front_not_allowed(r, "GET, HEAD");
    }
}

static void on_refused(void *ctx, cd_http_req *r, u32 status, const char *text)
{
    (void)ctx;
    cd__front_error(r, status, "refused", text);
}

void cd__front_new(cd_exchange *x)
{
    static const cd_http_site site = {.request = on_request, .refused = on_refused};
    const cd_http_cfg http = {
        .conns_max = CONNS_MAX,
        .body_max = CD_RTB_BODY_MAX,
        .gzip = true,
        .site = &site,
        .site_ctx = x,
    };
    x->server = cd_http_server_new(x->cfg.loop, &http);
}
