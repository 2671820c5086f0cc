/* What the ledger is told of miners, on the clerk's thread, and what its answers lead to. */
#include "services/adx/exchange/gate_priv.h"

#include "base/mem/mem.h"
#include "services/adx/auction/text.h"

enum { CLOSE_MAX = 64, TRIES = 5, UNSEEN_S = 7 * 86400, FORGET_S = 3600, DAY_S = 86400 };

static void begin(cd_gate *g)
{
    g->commands++;
}

static void end(cd_gate *g)
{
    g->commands--;
    if (g->is_ended && g->commands == 0 && g->done != NULL) {
        void (*done)(void *ctx) = g->done;
        g->done = NULL;
        done(g->done_ctx);
    }
}

static void trouble(const cd_gate *g, const cd_clerk_cmd *cmd)
{
    cd_log_error(g->cfg.log, "miners' books not written", CD_F("why", (const char *)cmd->why.msg));
}

/* --- registration --- */

typedef struct registering {
    cd_clerk_cmd cmd;
    cd__peer *peer;
    cd_miner_row row;
    u64 now_s;
} registering;

static cd_err run_register(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    registering *r = (registering *)(void *)cmd;
    return cd_wages_register(l, &r->row, CD__GATE_MINERS_MAX, r->now_s, why);
}

/* The newest connection of a key is the one that counts. */
static void take_place(cd__peer *p)
{
    cd_gate *g = p->gate;
    cd__peer **slot = cd_hmap_put(&g->by_id, NULL, p->row.id);
    cd__peer *old = *slot;
    *slot = p;
    if (old != NULL && old != p) {
        cd__gate_leave(old);
        cd__peer_refuse(old, "another connection has this key");
    }
}

static void welcome(cd__peer *p)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_wire_begin(&p->out, &w, "registered");
    cd_json_put_cstr(&w, "id", p->row.id);
    cd__peer_send(p, &w);
}

static void on_registered(cd_clerk_cmd *cmd)
{
    registering *r = (registering *)(void *)cmd;
    cd__peer *p = r->peer;
    cd_gate *g = p->gate;
    if (p->ws == NULL || p->is_closing) {
        // it did not wait
    } else if (cmd->err != CD_OK) {
        trouble(g, cmd);
        cd__peer_refuse(p, cmd->err == CD_EFULL ? "there are too many miners" : "not written, try again");
    } else {
        p->row.since_s = r->row.since_s;
        p->is_registered = true;
        p->last_s = cd__gate_now_s(g);
        take_place(p);
        g->is_assignment_old = true;
        welcome(p);
        cd_log_info(g->cfg.log, "miner registered", CD_F("id", (const char *)p->row.id),
                    CD_F("from", (const char *)p->addr));
    }
    cd_free(r);
    cd__peer_unref(p);
    end(g);
}

void cd__gate_register(cd__peer *p)
{
    cd_gate *g = p->gate;
    registering *r = cd_new(registering);
    r->peer = p;
    r->row = p->row;
    r->now_s = cd__gate_now_s(g);
    r->cmd.run = run_register;
    r->cmd.done = on_registered;
    if (cd_clerk_post(g->cfg.clerk, &r->cmd) != CD_OK) {
        cd_free(r);
        cd__peer_refuse(p, "too busy, try again");
        return;
    }
    cd__peer_ref(p);
    begin(g);
}

/* --- up --- */

typedef struct up_row {
    char miner[CD_MINER_ID_LEN + 1];
    u64 since_s, from_s, to_s;
} up_row;

typedef struct flushing {
    cd_clerk_cmd cmd;
    cd_gate *gate;
    u64 period_s, forget_s;
    u32 tries;
    usize cnt;
    up_row rows[];
} flushing;

static cd_err run_flush(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    flushing *f = (flushing *)(void *)cmd;
    for (usize i = 0; i < f->cnt; i++) {
        const up_row *r = &f->rows[i];
        CD_TRY(cd_wages_up(l, r->miner, r->since_s, r->from_s, r->to_s, f->period_s, why));
    }
    return f->forget_s == 0 ? CD_OK : cd_wages_forget(l, f->forget_s, why);
}

static void on_flushed(cd_clerk_cmd *cmd)
{
    flushing *f = (flushing *)(void *)cmd;
    cd_gate *g = f->gate;
    if (cmd->err != CD_OK) {
        trouble(g, cmd);
        if (++f->tries < TRIES && cd_clerk_post(g->cfg.clerk, cmd) == CD_OK) {
            return;
        }
    }
    cd_free(f);
    end(g);
}

void cd__gate_flush(cd_gate *g)
{
    u64 now = cd__gate_now_s(g);
    flushing *f = cd_alloc(sizeof *f + g->peers_cnt * sizeof(up_row));
    *f = (flushing){.gate = g, .period_s = g->cfg.period_s};
    if (now >= g->forgot_s + FORGET_S) {
        g->forgot_s = now;
        f->forget_s = now - UNSEEN_S;
    }
    cd_list_each(it, &g->peers)
    {
        cd__peer *p = cd_list_of(it, cd__peer, link);
        if (p->is_registered && p->up_from_s < p->up_to_s) {
            up_row *r = &f->rows[f->cnt++];
            *r = (up_row){.since_s = p->row.since_s, .from_s = p->up_from_s, .to_s = p->up_to_s};
            memcpy(r->miner, p->row.id, sizeof r->miner);
            p->up_from_s = p->up_to_s;
        }
    }
    f->cmd.run = run_flush;
    f->cmd.done = on_flushed;
    if ((f->cnt == 0 && f->forget_s == 0) || cd_clerk_post(g->cfg.clerk, &f->cmd) != CD_OK) {
        cd_free(f);
        return;
    }
    begin(g);
}

/* --- the end of a period --- */

typedef struct closing {
    cd_clerk_cmd cmd;
    cd_gate *gate;
    u64 now_s;
    usize cnt;
    cd_wages_paid paid[CLOSE_MAX];
} closing;

static cd_err run_close(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    closing *c = (closing *)(void *)cmd;
    return cd_wages_close(l, c->paid, &c->cnt, CLOSE_MAX, c->now_s, why);
}

static void put_nusd(cd_json_w *w, const char *key, u64 nusd)
{
    cd_buf text = {0};
    cd_nusd_fmt(&text, nusd);
    cd_json_put_str(w, key, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void tell_reward(cd_gate *g, const cd_wages_paid *paid)
{
    cd__peer **found = cd_hmap_get(&g->by_id, paid->miner);
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (found == NULL) {
        return;
    }
    const cd_reward *r = &paid->reward;
    cd_wire_begin(&(*found)->out, &w, "payout");
    cd_json_put_u64(&w, "period", paid->period);
    put_nusd(&w, "base", r->base);
    put_nusd(&w, "bandwidth", r->bandwidth);
    put_nusd(&w, "uptime_bonus", r->uptime_bonus);
    put_nusd(&w, "auction_fees", r->auction_fee);
    put_nusd(&w, "proof_fees", r->proof_fees);
    put_nusd(&w, "total", r->total);
    cd__peer_send(*found, &w);
}

static void on_periods_closed(cd_clerk_cmd *cmd)
{
    closing *c = (closing *)(void *)cmd;
    cd_gate *g = c->gate;
    bool is_more = cmd->err == CD_OK && c->cnt == CLOSE_MAX;
    g->is_closing_periods = false;
    if (cmd->err != CD_OK) {
        trouble(g, cmd);
    }
    for (usize i = 0; i < c->cnt && cmd->err == CD_OK; i++) {
        tell_reward(g, &c->paid[i]);
    }
    cd_free(c);
    if (is_more && !g->is_ended) {
        cd__gate_close_periods(g);
    }
    end(g);
}

void cd__gate_close_periods(cd_gate *g)
{
    if (g->is_closing_periods) {
        return;
    }
    closing *c = cd_new(closing);
    c->gate = g;
    c->now_s = cd__gate_now_s(g);
    c->cmd.run = run_close;
    c->cmd.done = on_periods_closed;
    if (cd_clerk_post(g->cfg.clerk, &c->cmd) != CD_OK) {
        cd_free(c);
        return;
    }
    g->is_closing_periods = true;
    begin(g);
}

/* --- reports --- */

typedef struct reporting {
    cd_clerk_cmd cmd;
    cd__peer *peer;
    u64 seq, now_s;
    usize cnt;
    cd_delivery rows[CD_WIRE_REPORT_MAX];
} reporting;

static cd_err run_report(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    reporting *r = (reporting *)(void *)cmd;
    for (usize i = 0; i < r->cnt; i++) {
        CD_TRY(cd_wages_deliver(l, r->peer->row.id, &r->rows[i], r->peer->gate->cfg.period_s, r->now_s, why));
    }
    return CD_OK;
}

static void on_reported(cd_clerk_cmd *cmd)
{
    reporting *r = (reporting *)(void *)cmd;
    cd__peer *p = r->peer;
    cd_gate *g = p->gate;
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (cmd->err == CD_OK) {
        cd_wire_begin(&p->out, &w, "report");
        cd_json_put_u64(&w, "ack", r->seq);
        cd__peer_send(p, &w);
    } else {
        trouble(g, cmd); // it is told again: nothing was acknowledged
    }
    cd_free(r);
    cd__peer_unref(p);
    end(g);
}

/* One delivery; false where it is none of this miner's. */
static bool read_delivery(const cd__peer *p, cd_delivery *out, cd_json v, u64 now_s)
{
    cd_bytes text;
    cd_media_token t;
    u64 bytes;
    bool is_read = cd_json_str(&text, cd_json_get(v, "token"), NULL) == CD_OK &&
                   cd_adx_u64(&bytes, cd_json_get(v, "bytes"), NULL) == CD_OK &&
                   cd_media_token_read(&t, p->gate->cfg.key, text) == CD_OK;
    if (!is_read || memcmp(t.miner, p->row.id, CD_MINER_ID_LEN) != 0 || t.expires_s + CD_WAGES_GRACE_S < now_s) {
        return false;
    }
    *out = (cd_delivery){.bytes = bytes, .size = t.size, .expires_s = t.expires_s};
    memcpy(out->token, t.name, sizeof out->token);
    return true;
}

void cd__gate_report(cd__peer *p, cd_json list)
{
    cd_gate *g = p->gate;
    reporting *r = cd_new(reporting);
    r->peer = p;
    r->seq = p->seq_in;
    r->now_s = cd__gate_now_s(g);
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it) && r->cnt < CD_WIRE_REPORT_MAX;) {
        r->cnt += read_delivery(p, &r->rows[r->cnt], it.val, r->now_s) ? 1 : 0;
    }
    cd_counter_add(g->m.deliveries, r->cnt);
    r->cmd.run = run_report;
    r->cmd.done = on_reported;
    if (cd_clerk_post(g->cfg.clerk, &r->cmd) != CD_OK) {
        cd_free(r);
        return;
    }
    cd__peer_ref(p);
    begin(g);
}

/* --- proofs --- */

typedef struct crediting {
    cd_clerk_cmd cmd;
    cd_gate *gate;
    char miner[CD_MINER_ID_LEN + 1];
    u64 fee, now_s;
} crediting;

static cd_err run_credit(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    crediting *c = (crediting *)(void *)cmd;
    return cd_wages_proof(l, c->miner, c->fee, c->gate->cfg.period_s, c->now_s, why);
}

static void on_credited(cd_clerk_cmd *cmd)
{
    crediting *c = (crediting *)(void *)cmd;
    cd_gate *g = c->gate;
    if (cmd->err != CD_OK) {
        trouble(g, cmd);
    }
    cd_free(c);
    end(g);
}

void cd__gate_proof_paid(cd__peer *p)
{
    cd_gate *g = p->gate;
    u64 now = cd__gate_now_s(g);
    if (g->proofs_day != now / DAY_S) {
        g->proofs_day = now / DAY_S;
        g->proofs_paid = 0;
    }
    if (g->proofs_paid == CD__GATE_PROOFS_MAX) {
        return;
    }
    crediting *c = cd_new(crediting);
    c->gate = g;
    c->fee = g->cfg.proof_fee_micro * 1000;
    c->now_s = now;
    memcpy(c->miner, p->row.id, sizeof c->miner);
    c->cmd.run = run_credit;
    c->cmd.done = on_credited;
    if (cd_clerk_post(g->cfg.clerk, &c->cmd) != CD_OK) {
        cd_free(c);
        return;
    }
    g->proofs_paid++;
    begin(g);
}
