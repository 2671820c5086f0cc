/* Beacons: an impression is answered when it is in the ledger, everything else is counted. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/mem/mem.h"
#include "net/http/query.h"

/* The smallest picture there is. */
static const u8 pixel[] = {0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 1, 0, 1, 0,    0x80, 0, 0,    0, 0,
                           0,    0xff, 0xff, 0xff, 0x21, 0xf9, 4, 1, 0, 0,    0,    0, 0x2c, 0, 0,
                           0,    0,    1,    0,    1,    0,    0, 2, 2, 0x44, 1,    0, 0x3b};

typedef struct paying {
    cd_clerk_cmd cmd;
    cd_exchange *x;
    cd_http_req *r;
    bool is_gif;
    cd_token token;
    cd_bill bill;
    cd_billed billed;
    cd_buf burl; /* what was kept for the token */
    u64 now_ms;
} paying;

static void answer(cd_http_req *r, bool is_gif)
{
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\nAccess-Control-Allow-Origin: *\r\n"));
    if (is_gif) {
        cd_buf_put(cd_http_req_out(r), cd_bytes_of(pixel, sizeof pixel));
    }
    cd_http_reply(r, is_gif ? 200 : 204, is_gif ? "image/gif" : NULL);
}

static cd_err run_pay(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    paying *p = (paying *)(void *)cmd;
    cd_buf_clear(&p->burl);
    CD_TRY(cd_ledger_bill(l, &p->billed, &p->bill, p->now_ms, why));
    bool wants_burl = p->billed == CD_BILLED && !p->bill.is_campaign;
    return wants_burl ? cd_ledger_take_note(l, &p->burl, p->bill.token, why) : CD_OK;
}

static void note(cd_exchange *x, const paying *p)
{
    cd_counter *const counters[] = {
        [CD_BILLED] = x->m.impressions, [CD_BILLED_BEFORE] = x->m.replays, [CD_BILLED_NOT] = x->m.refused};
    cd_counter_add(counters[p->billed], 1);
    if (p->billed == CD_BILLED) {
        cd_budget_settle(x->budget, p->bill.token);
        if (p->burl.n != 0) {
            cd__notices_paid(x->notices, cd_buf_bytes(&p->burl));
        }
    }
}

static void on_paid(cd_clerk_cmd *cmd)
{
    paying *p = (paying *)(void *)cmd;
    if (cmd->err == CD_OK) {
        note(p->x, p);
        answer(p->r, p->is_gif);
    } else {
        cd_log_error(p->x->cfg.log, "impression not written", CD_F("why", (const char *)cmd->why.msg));
        cd_http_req_add_lines(p->r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(p->r, 503, "not_written", "the ledger cannot be written, try again");
    }
    cd_buf_fini(&p->burl);
    cd_free(p);
}

static void pay(cd_exchange *x, cd_http_req *r, const cd_token *t, bool is_gif)
{
    paying *p = cd_new(paying);
    p->x = x;
    p->r = r;
    p->is_gif = is_gif;
    p->token = *t;
    p->now_ms = cd_clock_wall_ns(x->cfg.clock) / CD_NS_PER_MS;
    p->bill = (cd_bill){
        .is_campaign = t->is_campaign,
        .payer = p->token.payer,
        .publisher = p->token.publisher,
        .lease = t->lease,
        .amount = t->price,
        .expires_s = t->expires_s,
        .miner = p->token.miner,
        .auctioneer = x->cfg.node_miner,
        .period_s = x->cfg.miner_period_s,
    };
    cd_token_name(p->bill.token, t);
    p->cmd.run = run_pay;
    p->cmd.done = on_paid;
    if (cd_clerk_post(x->clerk, &p->cmd) != CD_OK) {
        cd_free(p);
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(r, 503, "busy", "too many impressions at once, try again");
    }
}

static bool is_event(cd_bytes name)
{
    static const char *const more[] = {"impression",  "error",        "click",          "progress", "creativeView",
                                       "closeLinear", "playerExpand", "playerCollapse", "loaded"};
    for (usize i = 0; i < CD_COUNT(more); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(more[i]))) {
            return true;
        }
    }
    for (const char *const *e = cd_vast_events(); *e != NULL; e++) {
        if (cd_bytes_eq(name, cd_bytes_str(*e))) {
            return true;
        }
    }
    return false;
}

void cd__beacon(cd_exchange *x, cd_http_req *r, cd_bytes event)
{
    static const char gif[] = ".gif";
    cd_arena mem = {0};
    cd_bytes text = {0};
    cd_token t;
    bool is_gif = event.n > 4 && memcmp(event.p + event.n - 4, gif, 4) == 0;
    event.n -= is_gif ? 4 : 0;
    bool is_read =
        cd_query_get(&text, &mem, cd_http_req_query(r), "b") == CD_OK && cd_token_read(&t, &x->key, text) == CD_OK;
    cd_arena_fini(&mem);
    if (!is_event(event)) {
        cd__front_error(r, 404, "unknown_event", "there is no such event");
    } else if (!is_read) {
        cd__front_error(r, 400, "invalid_token", "b is no token of this exchange");
    } else if (t.expires_s <= cd_clock_wall_s(x->cfg.clock)) {
        cd_counter_add(x->m.refused, 1);
        answer(r, is_gif);
    } else if (cd_bytes_eq(event, cd_bytes_str("impression"))) {
        pay(x, r, &t, is_gif);
    } else {
        cd_counter_add(x->m.events, 1);
        answer(r, is_gif);
    }
}
