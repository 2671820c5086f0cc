/* The routes of frequency caps. Counters are in memory and looked at on the loop; tokens are the notary's. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "services/adx/auction/text.h"

static const char json_type[] = "application/json";

static void reply_json(cd_http_req *r)
{
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, json_type);
}

static void malformed(cd_http_req *r, const char *why)
{
    cd__front_error(r, 400, "malformed", why);
}

/* device_id, campaign_id and cap of a body, and the body. */
static cd_err read_ask(cd_freq_ask *out, cd_json *doc, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    *out = (cd_freq_ask){0};
    CD_TRY(cd_json_parse(doc, mem, text, CD_RTB_BODY_MAX, why));
    CD_TRY(cd_json_obj(*doc, why));
    CD_TRY(cd_json_str(&out->device, cd_json_get(*doc, "device_id"), why));
    CD_TRY(cd_json_str(&out->campaign, cd_json_get(*doc, "campaign_id"), why));
    return cd_json_u64(&out->cap, cd_json_get(*doc, "cap"), why);
}

/* --- POST /frequency/check --- */

static void put_decision(cd_http_req *r, const cd_freq_ask *ask, const cd_freq_decision *d)
{
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_put_bool(&w, "allowed", d->is_allowed);
    cd_json_put_str(&w, "campaign_id", ask->campaign);
    cd_json_put_u64(&w, "epoch_id", d->epoch);
    cd_json_w_key(&w, "reset_at");
    char text[CD_TIME_TEXT_LEN];
    cd_time_fmt(text, d->reset_s * CD_NS_PER_SEC);
    text[19] = 'Z'; /* whole seconds */
    cd_json_w_str(&w, cd_bytes_of(text, 20));
    if (!d->is_allowed) {
        cd_json_put_cstr(&w, "reason", "cap_exceeded");
    }
    cd_adx_put_hex(&w, "receipt", cd_bytes_of(d->receipt, sizeof d->receipt));
    cd_json_w_obj_end(&w);
}

/* Answers by this exchange's own counters. */
static void decide(cd_exchange *x, cd_http_req *r, const cd_freq_ask *ask)
{
    cd_freq_decision d;
    cd_err err = cd_freq_check(x->freq, &d, ask, cd_clock_wall_s(x->cfg.clock));
    if (err == CD_OK) {
        cd_counter_add(d.is_allowed ? x->m.freq_allowed : x->m.freq_denied, 1);
        put_decision(r, ask, &d);
        reply_json(r);
    } else if (err == CD_EFULL) {
        cd__front_error(r, 503, "busy", "too many counters, show no ad");
    } else {
        malformed(r, "names have 1 to 256 bytes, a cap is 0 to 10000");
    }
}

/* A check that waits for the shared counters. */
typedef struct waiting {
    cd_exchange *x;
    cd_http_req *r;
    cd_freq_ask ask;
    u8 names[2 * CD_FREQ_NAME_MAX];
} waiting;

/* Without an answer our own counters decide; a cap of 0 is denied, which is what the others say. */
static void on_shared(void *ctx, const u32 *left, usize cnt)
{
    waiting *w = ctx;
    (void)cnt;
    if (left != NULL && left[0] == 0) {
        w->ask.cap = 0;
    }
    decide(w->x, w->r, &w->ask);
    cd_free(w);
}

/* What our own counters deny is not asked about. */
static bool ask_shared(cd_exchange *x, cd_http_req *r, const cd_freq_ask *ask)
{
    cd_freq_decision d;
    cd_freq_ask look = *ask;
    look.is_peek = true;
    if (x->caps == NULL || cd_freq_check(x->freq, &d, &look, cd_clock_wall_s(x->cfg.clock)) != CD_OK || !d.is_allowed) {
        return false;
    }
    waiting *w = cd_new(waiting);
    *w = (waiting){.x = x, .r = r, .ask = *ask};
    memcpy(w->names, ask->device.p, ask->device.n);
    memcpy(w->names + CD_FREQ_NAME_MAX, ask->campaign.p, ask->campaign.n);
    w->ask.device.p = w->names;
    w->ask.campaign.p = w->names + CD_FREQ_NAME_MAX;
    const cd_caps_row row = {w->ask.campaign, ask->cap};
    if (!cd_caps_ask(x->caps, w->ask.device, &row, 1, !ask->is_peek, on_shared, w)) {
        cd_free(w);
        return false;
    }
    return true;
}

static void on_check(cd_exchange *x, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_json doc;
    cd_freq_ask ask;
    cd_err err = read_ask(&ask, &doc, &mem, cd_http_req_body(r), &why);
    if (err != CD_OK) {
        malformed(r, why.msg);
        cd_arena_fini(&mem);
        return;
    }
    ask.is_peek = cd_bytes_eq(cd_http_req_query(r), cd_bytes_str("peek=1"));
    if (!ask_shared(x, r, &ask)) {
        decide(x, r, &ask);
    }
    cd_arena_fini(&mem);
}

/* --- POST /frequency/tokens and /frequency/redeem, on the books thread --- */

static cd_err read_blinded(cd_point **out, usize *cnt, cd_arena *mem, cd_json list, cd_errinfo *why)
{
    CD_TRY(cd_json_arr(list, why));
    *cnt = cd_json_len(list);
    if (*cnt == 0 || *cnt > CD_FREQ_TOKENS_MAX) {
        return cd_json_fail(list, CD_ERANGE, "not 1 to 256 points", why);
    }
    *out = cd_arena_array(mem, cd_point, *cnt);
    usize i = 0;
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it); i++) {
        u8 bytes[32];
        CD_TRY(cd_adx_hex_fixed(bytes, sizeof bytes, it.val, why));
        if (cd_point_get(&(*out)[i], bytes) != CD_OK) {
            return cd_json_fail(it.val, CD_EFORMAT, "not a point", why);
        }
    }
    return CD_OK;
}

static void put_point(cd_json_w *w, const char *key, const cd_point *p)
{
    u8 bytes[32];
    cd_point_put(bytes, p);
    cd_adx_put_hex(w, key, cd_bytes_of(bytes, sizeof bytes));
}

static void put_issued(cd_http_req *r, const cd_freq_issued *issued, usize cnt)
{
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "epoch_id", issued->epoch);
    put_point(&w, "public_key", &issued->public);
    cd_json_w_key(&w, "evaluated");
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        u8 bytes[32];
        char digits[64];
        cd_point_put(bytes, &issued->evaluated[i]);
        cd_hex_fmt(digits, cd_bytes_of(bytes, sizeof bytes));
        cd_json_w_str(&w, cd_bytes_of(digits, sizeof digits));
    }
    cd_json_w_arr_end(&w);
    cd_adx_put_hex(&w, "proof", cd_bytes_of(issued->proof, sizeof issued->proof));
    cd_json_w_obj_end(&w);
}

static void on_tokens(const cd_notary_room *room, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_json doc;
    cd_freq_ask ask;
    cd_point *blinded = NULL;
    cd_freq_issued issued = {0};
    usize cnt = 0;
    cd_err err = read_ask(&ask, &doc, &mem, cd_http_req_body(r), &why);
    if (err == CD_OK) {
        err = read_blinded(&blinded, &cnt, &mem, cd_json_get(doc, "blinded"), &why);
    }
    if (err != CD_OK) {
        malformed(r, why.msg);
        cd_arena_fini(&mem);
        return;
    }
    issued.evaluated = cd_arena_array(&mem, cd_point, cnt);
    err = cd_freq_issue(room->freq, &issued, &ask, blinded, cnt, room->now_ms / 1000);
    if (err == CD_OK) {
        cd_counter_add(room->counters->tokens_made, cnt);
        put_issued(r, &issued, cnt);
        reply_json(r);
    } else if (err == CD_ELIMIT) {
        cd__front_error(r, 429, "cap_exceeded", "the device has had its tokens of this epoch");
    } else if (err == CD_EFULL) {
        cd__front_error(r, 503, "busy", "too many counters, show no ad");
    } else {
        malformed(r, "names have 1 to 256 bytes, a cap is 1 to 10000");
    }
    cd_arena_fini(&mem);
}

static void on_redeem(const cd_notary_room *room, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_json doc;
    cd_bytes campaign = {0};
    u64 epoch = 0;
    u8 nonce[32];
    u8 token[CD_VOPRF_OUTPUT];
    cd_freq_redeemed what = CD_FREQ_INVALID;
    cd_err err = cd_json_parse(&doc, &mem, cd_http_req_body(r), CD_RTB_BODY_MAX, &why);
    err = err == CD_OK ? cd_json_str(&campaign, cd_json_get(doc, "campaign_id"), &why) : err;
    err = err == CD_OK ? cd_adx_u64(&epoch, cd_json_get(doc, "epoch_id"), &why) : err;
    err = err == CD_OK ? cd_adx_hex_fixed(nonce, sizeof nonce, cd_json_get(doc, "nonce"), &why) : err;
    err = err == CD_OK ? cd_adx_hex_fixed(token, sizeof token, cd_json_get(doc, "token"), &why) : err;
    if (err != CD_OK || campaign.n == 0 || campaign.n > CD_FREQ_NAME_MAX) {
        malformed(r, err != CD_OK ? why.msg : "campaign_id has 1 to 256 bytes");
    } else if (cd_freq_redeem(room->freq, &what, campaign, epoch, nonce, token, room->now_ms / 1000, &why) != CD_OK) {
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(r, 503, "unavailable", "the token cannot be spent now, try again");
    } else {
        cd_json_w w = {.out = cd_http_req_out(r)};
        cd_json_w_obj(&w);
        cd_json_put_bool(&w, "allowed", what == CD_FREQ_ALLOWED);
        cd_counter_add(what == CD_FREQ_ALLOWED ? room->counters->tokens_taken : room->counters->tokens_refused, 1);
        if (what != CD_FREQ_ALLOWED) {
            cd_json_put_cstr(&w, "reason", what == CD_FREQ_SPENT ? "spent" : "invalid");
        }
        cd_json_w_obj_end(&w);
        reply_json(r);
    }
    cd_arena_fini(&mem);
}

bool cd__front_freq(cd_exchange *x, cd_http_req *r, cd_bytes path)
{
    bool is_check = cd_bytes_eq(path, cd_bytes_str("/frequency/check"));
    bool is_tokens = cd_bytes_eq(path, cd_bytes_str("/frequency/tokens"));
    if (!is_check && !is_tokens && !cd_bytes_eq(path, cd_bytes_str("/frequency/redeem"))) {
        return false;
    }
    if (cd_http_req_method(r) != CD_HTTP_POST) {
        cd__front_not_allowed(r, "POST");
    } else if (is_check) {
        on_check(x, r);
    } else {
        cd__front_post(x, r, CD_NOTARY_BOOKS, is_tokens ? on_tokens : on_redeem);
    }
    return true;
}

/* --- caps of campaigns --- */

static cd_err no_spend(void *ctx, bool *was_new, u64 epoch, cd_bytes campaign, const u8 nonce[32], cd_errinfo *why)
{
    (void)ctx;
    (void)was_new;
    (void)epoch;
    (void)campaign;
    (void)nonce;
    return cd_fail(why, CD_EUNSUPPORTED, "tokens are spent by the notary");
}

static cd_err no_purge(void *ctx, u64 epoch, cd_errinfo *why)
{
    (void)ctx;
    (void)epoch;
    (void)why;
    return CD_OK;
}

static cd_err own_seed(void *ctx, u8 seed[32], cd_errinfo *why)
{
    (void)ctx;
    (void)seed; /* the random one it came with: no token is made with it */
    (void)why;
    return CD_OK;
}

cd_err cd__freq_open(cd_exchange *x, cd_errinfo *why)
{
    const cd_freq_cfg cfg = {
        .store = {.spend = no_spend, .purge = no_purge, .seed = own_seed},
        .rng = &x->secret_rng,
        .window_s = x->cfg.freq_window_s,
    };
    return cd_freq_new(&x->freq, &cfg, why);
}

static bool ask_cap(cd__run *run, const cd_adx_campaign *c, u32 promised, bool is_peek)
{
    cd_freq_decision d;
    if (c->freq_cap == 0) {
        return true;
    }
    if (run->req.ifa.n == 0 || run->req.ifa.n > CD_FREQ_NAME_MAX || promised >= (u32)c->freq_cap) {
        return false;
    }
    if (run->left != NULL && promised >= run->left[c - run->setup->config->campaigns]) {
        return false;
    }
    const cd_freq_ask ask = {
        .device = run->req.ifa,
        .campaign = cd_bytes_str(c->id),
        .cap = (u64)c->freq_cap - promised,
        .is_peek = is_peek,
    };
    return cd_freq_check(run->x->freq, &d, &ask, cd_clock_wall_s(run->x->cfg.clock)) == CD_OK && d.is_allowed;
}

bool cd__freq_allows(cd__run *run, const cd_adx_campaign *c, u32 promised)
{
    return ask_cap(run, c, promised, true);
}

typedef struct looking {
    cd__run *run;
    void (*then)(cd__run *run);
    usize which[CD_CAPS_ROWS_MAX];
} looking;

static void on_looked(void *ctx, const u32 *left, usize cnt)
{
    looking *a = ctx;
    cd__run *run = a->run;
    usize all = run->setup->config->campaigns_cnt;
    if (left != NULL) {
        run->left = cd_arena_array(&run->mem, u32, all);
        memset(run->left, 0xff, all * sizeof *run->left); // others have no cap
        for (usize i = 0; i < cnt; i++) {
            run->left[a->which[i]] = left[i];
        }
    }
    a->then(run);
}

bool cd__freq_ask(cd__run *run, void (*then)(cd__run *run))
{
    const cd_adx_config *config = run->setup->config;
    cd_caps_row rows[CD_CAPS_ROWS_MAX];
    cd_bytes device = run->req.ifa;
    usize cnt = 0;
    if (run->x->caps == NULL || device.n == 0 || device.n > CD_FREQ_NAME_MAX) {
        return false;
    }
    looking *a = cd_arena_new(&run->mem, looking);
    for (usize i = 0; i < config->campaigns_cnt && cnt < CD_CAPS_ROWS_MAX; i++) {
        const cd_adx_campaign *c = &config->campaigns[i];
        if (c->freq_cap != 0) {
            rows[cnt] = (cd_caps_row){cd_bytes_str(c->id), (u64)c->freq_cap};
            a->which[cnt++] = i;
        }
    }
    a->run = run;
    a->then = then;
    return cnt != 0 && cd_caps_ask(run->x->caps, device, rows, cnt, false, on_looked, a);
}

void cd__freq_count(cd__run *run, const cd_adx_campaign *c)
{
    const cd_caps_row row = {cd_bytes_str(c->id), (u64)c->freq_cap};
    (void)ask_cap(run, c, 0, false);
    if (run->x->caps != NULL && c->freq_cap != 0) {
        bool is_sent = cd_caps_ask(run->x->caps, run->req.ifa, &row, 1, true, NULL, NULL);
        (void)is_sent; // else our own counters alone have it
    }
}
