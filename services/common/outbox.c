#include "services/common/outbox.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/table/list.h"

#include <stdatomic.h>

enum {
    TICK_MS = 1000,
    TICKS = 30, /* between rounds that nobody asked for */
    LEASE_MS = 120000,
    AT_A_TIME = 4,
};

/* Pauses before another try, in minutes; after the last the mail is given up. */
static const u32 retry_min[] = {1, 5, 30};

/* A mail on its way, and what came of it. */
typedef struct sending {
    cd_outbox *outbox;
    i64 key;
    u32 attempts; /* before this one */
    u64 next_ms;
} sending;

struct cd_outbox {
    cd_outbox_cfg cfg;
    cd_smtp *smtp;
    cd_timer *timer;
    u32 ticks;
    _Atomic bool has_new; /* a mail was written */
    cd_job round;         /* settles what was sent, claims what is due */
    bool is_under_way, wants_round;
    sending sent[AT_A_TIME];
    usize sent_cnt; /* of the last claim */
    usize open;     /* of them, not over yet */
    cd_letter *claimed;
    usize claimed_cnt;
    cd_arena mem;
    cd_counter *counters[3]; /* sent, retried, given up; NULL: none */
};

static u64 now_ms(const cd_outbox *o)
{
    return cd_clock_wall_ns(o->cfg.clock) / CD_NS_PER_MS;
}

/* On the store's thread. */
static cd_err run_round(cd_job *job, void *store, cd_errinfo *why)
{
    cd_outbox *o = cd_list_of(job, cd_outbox, round);
    cd_arena_reset(&o->mem); /* what an earlier run has claimed, when this is another try */
    for (usize i = 0; i < o->sent_cnt; i++) {
        CD_TRY(o->cfg.store->settle(o->cfg.ctx, store, o->sent[i].key, o->sent[i].next_ms, why));
    }
    return o->cfg.store->claim(o->cfg.ctx, store, &o->claimed, &o->claimed_cnt, &o->mem, now_ms(o), LEASE_MS, AT_A_TIME,
                               why);
}

static void turn(cd_outbox *o);

static void count(cd_outbox *o, usize outcome)
{
    if (o->counters[outcome] != NULL) {
        cd_counter_add(o->counters[outcome], 1);
    }
}

static void on_sent(void *ctx, cd_err err, const char *reason)
{
    sending *l = ctx;
    cd_outbox *o = l->outbox;
    bool gives_up = err == CD_OK || err == CD_EACCES || l->attempts >= CD_COUNT(retry_min);
    l->next_ms = gives_up ? 0 : now_ms(o) + retry_min[l->attempts] * 60000ull;
    if (err != CD_OK) {
        cd_log_warn(o->cfg.log, gives_up ? "a mail is given up" : "a mail will be tried again", CD_F("error", reason));
    }
    count(o, err == CD_OK ? 0 : gives_up ? 2 : 1);
    if (--o->open == 0) {
        o->wants_round = true;
        turn(o);
    }
}

static void send_out(cd_outbox *o, sending *l, const cd_letter *mail)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    cd_arena mem = {0};
    const cd_mail out = {
        .from = o->cfg.from,
        .to = mail->to,
        .name = o->cfg.name,
        .subject = mail->subject,
        .body = cd_bytes_str(mail->body),
        .id = cd_arena_fmt(&mem, "%lld.%llu", (long long)mail->key, (unsigned long long)mail->created_ms),
        .unix_s = now_ms(o) / 1000,
    };
    *l = (sending){.outbox = o, .key = mail->key, .attempts = mail->attempts};
    if (cd_mail_compose(&text, &out, &why) == CD_OK) {
        o->open++;
        cd_smtp_send(o->smtp, o->cfg.from, mail->to, cd_buf_bytes(&text), on_sent, l);
    } else { /* an address that was none: next_ms is 0 */
        cd_log_warn(o->cfg.log, "a mail is given up", CD_F("error", why.msg));
        count(o, 2);
    }
    cd_buf_fini(&text);
    cd_arena_fini(&mem);
}

static void on_round(cd_job *job)
{
    cd_outbox *o = cd_list_of(job, cd_outbox, round);
    o->is_under_way = false;
    if (job->err != CD_OK) {
        cd_log_error(o->cfg.log, "mails cannot be read", CD_F("error", job->why.msg));
        return; /* what was sent is settled by the next round */
    }
    o->sent_cnt = 0;
    for (usize i = 0; i < o->claimed_cnt; i++) {
        send_out(o, &o->sent[o->sent_cnt++], &o->claimed[i]);
    }
    o->wants_round |= o->sent_cnt > 0 && o->open == 0;
    o->claimed_cnt = 0;
    turn(o);
}

static void turn(cd_outbox *o)
{
    if (o->wants_round && !o->is_under_way && o->open == 0) {
        o->wants_round = false;
        o->is_under_way = true;
        o->round.run = run_round;
        o->round.done = on_round;
        cd_jobs_write(o->cfg.db, &o->round);
    }
}

bool cd_outbox_is_idle(const cd_outbox *o)
{
    return o->open == 0 && !o->is_under_way && !o->wants_round;
}

void cd_outbox_noted(cd_outbox *o)
{
    atomic_store(&o->has_new, true);
}

void cd_outbox_due(cd_outbox *o)
{
    o->wants_round = true;
    turn(o);
}

static void on_timer(void *ctx)
{
    cd_outbox *o = ctx;
    if (atomic_exchange(&o->has_new, false) || o->ticks++ % TICKS == 0) {
        cd_outbox_due(o);
    }
}

cd_err cd_outbox_new(cd_outbox **out, cd_loop *loop, const cd_outbox_cfg *cfg, cd_errinfo *why)
{
    if (!cd_mail_is_address(cfg->from)) {
        return cd_fail(why, CD_EINVAL, "%s is no address to send mail from", cfg->from);
    }
    cd_outbox *o = cd_new(cd_outbox);
    cd_err e = cd_smtp_new(&o->smtp, loop, &cfg->smtp, why);
    if (e != CD_OK) {
        cd_free(o);
        return e;
    }
    o->cfg = *cfg;
    o->cfg.clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    static const char *const outcomes[] = {"sent", "retried", "given_up"};
    for (usize i = 0; i < CD_COUNT(outcomes) && cfg->metrics != NULL; i++) {
        const cd_label label = {"outcome", outcomes[i]};
        o->counters[i] = cd_metrics_counter(cfg->metrics, "smtp_total", "Mails by outcome.", &label, 1);
    }
    o->timer = cd_timer_new(loop, on_timer, o);
    cd_timer_start(o->timer, 0, TICK_MS);
    *out = o;
    return CD_OK;
}

void cd_outbox_free(cd_outbox *o)
{
    if (o != NULL) {
        cd_smtp_free(o->smtp);
        cd_timer_free(o->timer);
        cd_arena_fini(&o->mem);
        cd_free(o);
    }
}
