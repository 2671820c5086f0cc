#include "services/adx/ledger/budget.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/list.h"

enum {
    TICK_MS = 250,
    REAP_TICKS = 40,
    RETRY_MS = 1000,
    SHARES = 16,   /* a lease is added this part of what was ever funded */
    LEAST = 256,   /* but at least so many impressions */
    SLOTS = 16384, /* seconds that reservations may live, a power of two */
    DAY_S = 86400,
    SLACK_S = 30,
};

/* A lease that this process has, or had until midnight. */
typedef struct lease {
    i64 id;
    u64 day, until_ms;
    i64 left, reserved;
} lease;

typedef enum ask_kind { ASK_FUND, ASK_LEASE, ASK_END } ask_kind;

typedef struct campaign {
    cd_budget *b;
    char id[CD_LEDGER_ID_MAX + 1];
    i64 total, daily, usual;
    lease now;
    bool is_funded, was_leased, is_asking, wants_fund;
    u64 ask_again_ms;
    cd_clerk_cmd cmd; /* one at a time */
    ask_kind kind;
    cd_lease_ask ask;
    cd_lease got;
    i64 end_lease, end_unused;
    u64 end_until_ms, now_ms;
} campaign;

typedef struct reservation {
    cd_list link; /* of those that expire in the same second */
    u8 token[CD_LEDGER_TOKEN_LEN];
    u32 campaign;
    i64 lease, amount;
} reservation;

typedef struct reaper {
    cd_clerk_cmd cmd;
    u64 now_ms;
    bool is_out;
} reaper;

struct cd_budget {
    cd_budget_cfg cfg;
    campaign **campaigns;
    usize cnt;
    cd_hmap reservations; /* token to reservation * */
    cd_list *expiring;    /* SLOTS lists, by second */
    u64 swept_s;
    cd_timer *timer;
    u32 ticks;
    reaper reaper;
    bool is_ended;
    usize out; /* commands that the clerk has */
    void (*done)(void *ctx);
    void *done_ctx;
};

static u64 now_ms(const cd_budget *b)
{
    return cd_clock_wall_ns(b->cfg.clock) / CD_NS_PER_MS;
}

/* --- commands --- */

static campaign *campaign_of(cd_clerk_cmd *cmd)
{
    return (campaign *)(void *)((char *)cmd - offsetof(campaign, cmd));
}

static cd_err run_cmd(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    campaign *c = campaign_of(cmd);
    cd_err err = CD_OK;
    switch (c->kind) {
    case ASK_FUND:
        return cd_ledger_fund(l, c->id, c->ask.want, c->now_ms, why);
    case ASK_LEASE:
        return cd_ledger_lease(l, &c->got, &c->ask, c->now_ms, why);
    case ASK_END:
        err = cd_ledger_unlease(l, c->end_lease, c->end_unused, c->end_until_ms, c->now_ms, why);
        return err == CD_ENOENT ? CD_OK : err;
    }
    CD_UNREACHABLE();
}

static void maybe_done(cd_budget *b)
{
    if (b->is_ended && b->out == 0 && b->done != NULL) {
        void (*done)(void *ctx) = b->done;
        b->done = NULL;
        done(b->done_ctx);
    }
}

static void take_lease(campaign *c)
{
    if (c->now.id == 0) {
        c->now = (lease){.id = c->got.id, .day = c->ask.day};
    }
    c->now.until_ms = c->got.until_ms;
    c->now.left += c->got.added;
    if (c->got.added == 0) {
        c->ask_again_ms = c->now_ms + RETRY_MS;
    }
}

static void end_next(campaign *c);
static void tend(campaign *c, u64 now);

static void on_done(cd_clerk_cmd *cmd)
{
    campaign *c = campaign_of(cmd);
    cd_budget *b = c->b;
    c->is_asking = false;
    b->out--;
    if (cmd->err != CD_OK) {
        if (c->kind == ASK_LEASE && cmd->err == CD_ENOENT) {
            c->now = (lease){0}; // it ended while this process slept
        } else {
            cd_log_error(b->cfg.log, "ledger", CD_F("campaign", (const char *)c->id),
                         CD_F("why", (const char *)cmd->why.msg));
        }
        c->ask_again_ms = now_ms(b) + RETRY_MS;
        c->wants_fund = c->wants_fund || c->kind == ASK_FUND;
    } else if (c->kind == ASK_FUND) {
        c->is_funded = true;
    } else if (c->kind == ASK_LEASE) {
        take_lease(c);
    }
    c->was_leased = c->was_leased || c->kind == ASK_LEASE;
    if (!b->is_ended) {
        tend(c, now_ms(b));
    } else if (c->kind != ASK_END) {
        end_next(c);
    }
    maybe_done(b);
}

static void ask(campaign *c, ask_kind kind)
{
    c->kind = kind;
    c->now_ms = now_ms(c->b);
    c->cmd.run = run_cmd;
    c->cmd.done = on_done;
    if (cd_clerk_post(c->b->cfg.clerk, &c->cmd) == CD_OK) {
        c->is_asking = true;
        c->b->out++;
    }
}

/* Gives back what is left of the lease; what was promised out of it stays set aside until the promises end. */
static void end_lease(campaign *c)
{
    cd_budget *b = c->b;
    c->end_lease = c->now.id;
    c->end_unused = c->now.left;
    c->end_until_ms = c->now.reserved == 0 ? 0 : now_ms(b) + (b->cfg.promise_max_s + SLACK_S) * 1000ull;
    c->now = (lease){0};
    ask(c, ASK_END);
}

static void end_next(campaign *c)
{
    if (!c->is_asking && c->now.id != 0) {
        end_lease(c);
    }
}

/* --- leases --- */

static i64 step_of(const campaign *c)
{
    i64 least = c->usual * LEAST;
    i64 share = c->total / SHARES;
    return share > least ? share : least;
}

static void ask_lease(campaign *c, u64 now)
{
    u64 life_ms = (2ull * c->b->cfg.promise_max_s + SLACK_S) * 1000;
    i64 step = step_of(c);
    c->ask = (cd_lease_ask){
        .campaign = c->id,
        .lease = c->now.id,
        .want = c->now.left < step ? step - c->now.left : 0,
        .daily_max = c->daily,
        .day = now / 1000 / DAY_S,
        .until_ms = now + life_ms,
    };
    ask(c, ASK_LEASE);
}

/* What a campaign needs next, if anything. */
static void tend(campaign *c, u64 now)
{
    u64 day = now / 1000 / DAY_S;
    if (c->is_asking || now < c->ask_again_ms) {
        return;
    }
    if (c->wants_fund) {
        c->wants_fund = false;
        c->ask.want = c->total;
        ask(c, ASK_FUND);
    } else if (!c->is_funded) {
        return;
    } else if (c->now.id != 0 && c->now.day != day) {
        end_lease(c);
    } else {
        bool is_low = c->now.left < step_of(c) / 2;
        bool ends_soon = c->now.until_ms < now + (c->b->cfg.promise_max_s + c->b->cfg.promise_max_s / 2) * 1000ull;
        if (is_low || ends_soon) {
            ask_lease(c, now);
        }
    }
}

/* --- reservations --- */

static void drop(cd_budget *b, reservation *r, bool is_spent)
{
    campaign *c = b->campaigns[r->campaign];
    if (c->now.id == r->lease) {
        c->now.reserved -= r->amount;
        c->now.left += is_spent ? 0 : r->amount;
    }
    cd_list_del(&r->link);
    (void)cd_hmap_del(&b->reservations, r->token);
    cd_free(r);
}

static void sweep(cd_budget *b, u64 now_s)
{
    for (; b->swept_s < now_s; b->swept_s++) {
        cd_list *head = &b->expiring[b->swept_s % SLOTS];
        cd_list_each_safe(it, head)
        {
            drop(b, cd_list_of(it, reservation, link), false);
        }
    }
}

static reservation *find(const cd_budget *b, const u8 token[CD_LEDGER_TOKEN_LEN])
{
    reservation **r = cd_hmap_get(&b->reservations, token);
    return r == NULL ? NULL : *r;
}

bool cd_budget_has(const cd_budget *b, u32 n, i64 amount)
{
    const campaign *c = b->campaigns[n];
    return !b->is_ended && c->now.left >= amount && c->now.id != 0;
}

bool cd_budget_reserve(cd_budget *b, i64 *lease_id, u32 n, i64 amount, const u8 token[CD_LEDGER_TOKEN_LEN], u32 life_s)
{
    campaign *c = b->campaigns[n];
    u64 now = now_ms(b);
    bool is_new;
    CD_ASSERT(life_s <= b->cfg.promise_max_s);
    if (!cd_budget_has(b, n, amount) || c->now.until_ms < now + (life_s + 1) * 1000ull ||
        cd_hmap_cnt(&b->reservations) >= CD_BUDGET_RESERVED_MAX) {
        tend(c, now);
        return false;
    }
    reservation **slot = cd_hmap_put(&b->reservations, &is_new, token);
    CD_ASSERT(is_new);
    reservation *r = cd_new(reservation);
    *r = (reservation){.campaign = n, .lease = c->now.id, .amount = amount};
    memcpy(r->token, token, sizeof r->token);
    *slot = r;
    /* A second more than the token lives: nobody is told of the end of a second in which he may still come. */
    cd_list_push_back(&b->expiring[(now / 1000 + life_s + 1) % SLOTS], &r->link);
    c->now.left -= amount;
    c->now.reserved += amount;
    *lease_id = c->now.id;
    if (c->now.left < step_of(c) / 2) {
        tend(c, now);
    }
    return true;
}

void cd_budget_settle(cd_budget *b, const u8 token[CD_LEDGER_TOKEN_LEN])
{
    reservation *r = find(b, token);
    if (r != NULL) {
        drop(b, r, true);
    }
}

void cd_budget_cancel(cd_budget *b, const u8 token[CD_LEDGER_TOKEN_LEN])
{
    reservation *r = find(b, token);
    if (r != NULL) {
        drop(b, r, false);
    }
}

/* --- time --- */

static cd_err run_reap(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    return cd_ledger_reap(l, ((reaper *)(void *)cmd)->now_ms, why);
}

static cd_budget *budget_of(cd_clerk_cmd *cmd)
{
    return (cd_budget *)(void *)((char *)cmd - offsetof(cd_budget, reaper));
}

static void on_reaped(cd_clerk_cmd *cmd)
{
    cd_budget *b = budget_of(cmd);
    b->reaper.is_out = false;
    b->out--;
    if (cmd->err != CD_OK) {
        cd_log_error(b->cfg.log, "ledger", CD_F("why", (const char *)cmd->why.msg));
    }
    maybe_done(b);
}

static void reap(cd_budget *b)
{
    if (b->reaper.is_out) {
        return;
    }
    b->reaper.now_ms = now_ms(b);
    b->reaper.cmd.run = run_reap;
    b->reaper.cmd.done = on_reaped;
    if (cd_clerk_post(b->cfg.clerk, &b->reaper.cmd) == CD_OK) {
        b->reaper.is_out = true;
        b->out++;
    }
}

static void on_tick(void *ctx)
{
    cd_budget *b = ctx;
    u64 now = now_ms(b);
    sweep(b, now / 1000);
    for (usize i = 0; i < b->cnt; i++) {
        tend(b->campaigns[i], now);
    }
    if (b->ticks++ % REAP_TICKS == 0) {
        reap(b);
    }
}

/* --- life --- */

cd_budget *cd_budget_new(const cd_budget_cfg *cfg)
{
    cd_budget *b = cd_new(cd_budget);
    CD_ASSERT(cfg->promise_max_s + 2 < SLOTS);
    b->cfg = *cfg;
    cd_hmap_init(&b->reservations, CD_HASH_KEYED, CD_LEDGER_TOKEN_LEN, sizeof(reservation *));
    b->expiring = cd_new_array(cd_list, SLOTS);
    for (usize i = 0; i < SLOTS; i++) {
        cd_list_init(&b->expiring[i]);
    }
    b->swept_s = now_ms(b) / 1000;
    b->timer = cd_timer_new(cfg->loop, on_tick, b);
    cd_timer_start(b->timer, 0, TICK_MS);
    return b;
}

void cd_budget_free(cd_budget *b)
{
    if (b == NULL) {
        return;
    }
    cd_timer_free(b->timer);
    for (usize i = 0; i < SLOTS; i++) {
        cd_list_each_safe(it, &b->expiring[i])
        {
            cd_free(cd_list_of(it, reservation, link));
        }
    }
    for (usize i = 0; i < b->cnt; i++) {
        cd_free(b->campaigns[i]);
    }
    cd_free(b->campaigns);
    cd_free(b->expiring);
    cd_hmap_fini(&b->reservations);
    cd_free(b);
}

void cd_budget_end(cd_budget *b, void (*done)(void *ctx), void *ctx)
{
    b->is_ended = true;
    b->done = done;
    b->done_ctx = ctx;
    cd_timer_stop(b->timer);
    for (usize i = 0; i < b->cnt; i++) {
        end_next(b->campaigns[i]);
    }
    maybe_done(b);
}

u32 cd_budget_put(cd_budget *b, const char *id, i64 total, i64 daily, i64 usual)
{
    usize n = 0;
    usize len = strlen(id);
    CD_ASSERT(len <= CD_LEDGER_ID_MAX);
    while (n < b->cnt && strcmp(b->campaigns[n]->id, id) != 0) {
        n++;
    }
    if (n == b->cnt) {
        b->campaigns = cd_realloc(b->campaigns, (n + 1) * sizeof(campaign *));
        b->campaigns[n] = cd_new(campaign);
        b->campaigns[n]->b = b;
        memcpy(b->campaigns[n]->id, id, len);
        b->cnt++;
    }
    campaign *c = b->campaigns[n];
    c->wants_fund = c->wants_fund || !c->is_funded || c->total != total;
    c->total = total;
    c->daily = daily;
    c->usual = usual;
    tend(c, now_ms(b));
    return (u32)n;
}

bool cd_budget_is_ready(const cd_budget *b)
{
    for (usize i = 0; i < b->cnt; i++) {
        if (!b->campaigns[i]->is_funded || !b->campaigns[i]->was_leased) {
            return false;
        }
    }
    return true;
}

i64 cd_budget_left(const cd_budget *b, u32 n)
{
    return b->campaigns[n]->now.left;
}

i64 cd_budget_reserved(const cd_budget *b, u32 n)
{
    return b->campaigns[n]->now.reserved;
}
