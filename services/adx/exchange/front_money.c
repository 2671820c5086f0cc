/* The routes of settlement, for whoever runs the exchange. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/mem/mem.h"
#include "net/http/query.h"
#include "num/u256_text.h"
#include "services/adx/auction/text.h"

enum { LISTED_MAX = 100, CLAIMS_MAX = 100 };

typedef struct looking {
    cd_clerk_cmd cmd;
    cd_exchange *x;
    cd_http_req *r;
    char publisher[CD_LEDGER_ID_MAX + 1]; /* whose claims; empty: the state of all */
    cd_buf claims;
    cd_settle_sums sums;
    usize cnt;
    cd_sending rows[LISTED_MAX];
} looking;

static cd_err run_look(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    looking *k = (looking *)(void *)cmd;
    if (k->publisher[0] != '\0') {
        cd_buf_clear(&k->claims);
        return cd_settle_claims(l, &k->claims, k->publisher, CLAIMS_MAX, why);
    }
    CD_TRY(cd_settle_sum(l, &k->sums, why));
    return cd_settle_list(l, k->rows, &k->cnt, LISTED_MAX, why);
}

static void put_units(cd_json_w *w, const char *key, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    cd_json_put_str(w, key, cd_bytes_of(text, cd_u256_fmt_dec(text, v)));
}

static void put_sending(cd_json_w *w, const cd_sending *s)
{
    static const char *const states[] = {"made", "signed", "done"};
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "kind", s->kind == CD_SENDING_BATCH ? "batch" : "payout");
    cd_json_put_cstr(w, s->kind == CD_SENDING_BATCH ? "campaign" : "miner", s->ref);
    cd_json_put_cstr(w, "state", states[s->state]);
    cd_adx_put_u64(w, "nano_usd", (u64)s->total);
    cd_json_put_u64(w, "impressions", s->cnt);
    if (s->kind == CD_SENDING_BATCH) {
        cd_json_put_hash(w, "merkle_root", &s->root);
    }
    if (s->state != CD_SENDING_MADE) {
        cd_json_put_hash(w, "tx", &s->tx);
    }
    if (s->block != 0) {
        cd_json_put_u64(w, "block", s->block);
        cd_json_put_u64(w, "gas", s->gas);
    }
    cd_adx_put_time(w, "made_at", s->made_ms);
    cd_json_w_obj_end(w);
}

static void put_chain(cd_json_w *w, const cd_settler *settler)
{
    cd_json_w_key(w, "chain");
    if (settler == NULL) {
        cd_json_w_null(w);
        return;
    }
    cd_settler_state s = cd_settler_look(settler);
    cd_json_w_obj(w);
    cd_json_put_hex(w, "account", cd_bytes_of(s.account.b, 20));
    cd_json_put_hex(w, "contract", cd_bytes_of(s.contract.b, 20));
    cd_json_put_bool(w, "settles_here", s.is_mine);
    cd_json_put_cstr(w, "trouble", s.trouble);
    cd_json_put_u64(w, "sent", s.sent);
    cd_json_put_bool(w, "compared", s.compared_ms != 0);
    cd_json_put_bool(w, "equal", s.is_equal);
    cd_json_w_key(w, "campaigns");
    cd_json_w_arr(w);
    for (usize i = 0; i < s.compared_cnt; i++) {
        cd_json_w_obj(w);
        cd_json_put_cstr(w, "campaign", s.compared[i].campaign);
        put_units(w, "ledger", &s.compared[i].ledger);
        put_units(w, "chain", &s.compared[i].chain);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static void put_state(cd_buf *out, const looking *k)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_adx_put_u64(&w, "unsettled", (u64)k->sums.unsettled);
    cd_adx_put_u64(&w, "waiting", (u64)k->sums.waiting);
    cd_adx_put_u64(&w, "settled", (u64)k->sums.settled);
    cd_adx_put_u64(&w, "paid_to_miners", (u64)k->sums.paid_out);
    cd_json_put_u64(&w, "transactions", k->sums.sendings);
    cd_json_put_u64(&w, "open", k->sums.open);
    cd_json_put_cstr(&w, "trouble", k->sums.trouble);
    put_chain(&w, k->x->settler);
    cd_json_w_key(&w, "newest");
    cd_json_w_arr(&w);
    for (usize i = 0; i < k->cnt; i++) {
        put_sending(&w, &k->rows[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
}

static void on_looked(cd_clerk_cmd *cmd)
{
    looking *k = (looking *)(void *)cmd;
    if (cmd->err != CD_OK) {
        cd_http_req_add_lines(k->r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__front_error(k->r, 503, "busy", "the books cannot be read now, try again");
    } else {
        if (k->publisher[0] != '\0') {
            cd_buf_put(cd_http_req_out(k->r), cd_buf_bytes(&k->claims));
        } else {
            put_state(cd_http_req_out(k->r), k);
        }
        cd_http_req_add_lines(k->r, cd_bytes_str("Cache-Control: no-store\r\n"));
        cd_http_reply(k->r, 200, "application/json");
    }
    cd_buf_fini(&k->claims);
    cd_free(k);
}

bool cd__front_money(cd_exchange *x, cd_http_req *r, cd_bytes path)
{
    bool is_claims = cd_bytes_eq(path, cd_bytes_str("/settlement/claims"));
    cd_arena mem = {0};
    cd_bytes publisher = {0};
    if (!is_claims && !cd_bytes_eq(path, cd_bytes_str("/settlement"))) {
        return false;
    }
    looking *k = cd_new(looking);
    k->x = x;
    k->r = r;
    bool is_read = cd_query_get(&publisher, &mem, cd_http_req_query(r), "publisher") == CD_OK &&
                   publisher.n <= CD_LEDGER_ID_MAX && (!is_claims || publisher.n != 0) &&
                   (publisher.n == 0 || memchr(publisher.p, 0, publisher.n) == NULL);
    if (is_claims && is_read) {
        memcpy(k->publisher, publisher.p, publisher.n);
    }
    cd_arena_fini(&mem);
    k->cmd.run = run_look;
    k->cmd.done = on_looked;
    if (cd_http_req_method(r) != CD_HTTP_GET) {
        cd__front_not_allowed(r, "GET");
    } else if (!cd__front_is_admin(x, r)) {
        cd__front_error(r, 401, "unauthorized", "this route wants the admin token");
    } else if (!is_read) {
        cd__front_error(r, 400, "malformed", "publisher is missing");
    } else if (cd_clerk_post(x->clerk, &k->cmd) != CD_OK) {
        cd__front_error(r, 503, "busy", "the books cannot be read now, try again");
    } else {
        return true;
    }
    cd_free(k);
    return true;
}
