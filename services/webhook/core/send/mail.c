#include "services/webhook/core/send/mail.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "services/common/outbox.h"
#include "services/webhook/core/names.h"
#include "services/webhook/core/store/records.h"

#define DAY_MS 86400000ull

enum {
    HOOKS_AT_A_TIME = 500,
    LISTED_MAX = 20, /* events in a digest */
};

struct cd_wh_mailer {
    cd_wh_mailer_cfg cfg;
    cd_outbox *outbox;
    u64 day; /* of the round that runs, since 1970 */
};

static u64 now_ms(const cd_wh_mailer *m)
{
    return cd_clock_wall_ns(m->cfg.clock) / CD_NS_PER_MS;
}

/* --- what they say --- */

/* Without what stands behind "?": it may hold a secret. */
static void put_url(cd_buf *out, const char *url)
{
    usize n = strcspn(url, "?");
    cd_buf_put(out, cd_bytes_of(url, n));
    cd_buf_str(out, url[n] == '\0' ? "" : "?...");
}

static void put_time(cd_buf *out, u64 ms)
{
    char text[CD_TIME_TEXT_LEN];
    cd_time_fmt(text, ms * CD_NS_PER_MS);
    cd_buf_fmt(out, "%.19sZ", text);
}

static void put_link(const cd_wh_mailer *m, cd_buf *out, const char *what, const char *id)
{
    if (m->cfg.base != NULL) {
        cd_buf_fmt(out, "\n%s: %s/webhooks/%s\n", what, m->cfg.base, id);
    }
}

/* "500", or why there was no answer. */
static void put_result(cd_buf *out, const cd_wh_attempt *a)
{
    if (a->status != 0) {
        cd_buf_fmt(out, "status %u", a->status);
    } else {
        cd_buf_str(out, a->error);
    }
}

/* Queues a mail to a project's owner, when there is one who wants such mails; name is the switch. */
static cd_err put_mail(cd_wh_mailer *m, cd_wh_store *s, cd_arena *mem, const char *project, const char *name,
                       const char *subject, cd_buf *body, const char *once, cd_errinfo *why)
{
    cd_wh_project p;
    cd_bytes word;
    CD_TRY(cd_wh_project_get(s, &p, mem, project, why));
    cd_err e = cd_wh_setting_get(s, &word, mem, project, name, why);
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    if (!cd_mail_is_address(p.email) || (e == CD_OK && cd_bytes_eq(word, cd_bytes_str("off")))) {
        return CD_OK;
    }
    const cd_letter mail = {
        .to = p.email,
        .subject = subject,
        .body = cd_buf_cstr(body),
        .once = once,
        .next_ms = now_ms(m),
        .created_ms = now_ms(m),
    };
    e = cd_wh_mail_put(s, &mail, why);
    return e == CD_EEXIST ? CD_OK : e;
}

static cd_err ended(cd_wh_mailer *m, cd_wh_store *s, cd_arena *mem, cd_buf *body, const cd_wh_ending *e,
                    cd_errinfo *why)
{
    cd_wh_hook hook;
    cd_wh_delivery row;
    cd_wh_attempt *attempts;
    usize cnt;
    CD_TRY(cd_wh_hook_by_key(s, &hook, mem, e->d->hook, false, why));
    CD_TRY(cd_wh_delivery_get(s, &row, &attempts, &cnt, mem, e->d->hook, e->d->key, why));
    const char *word = e->status == CD_WH_DISABLED ? "disabled" : "paused";
    cd_buf_fmt(body, "Webhook %s was %s: event %s could not be delivered.\n\nURL: ", hook.id, word, row.event.id);
    put_url(body, hook.url);
    if (cnt > 0) {
        cd_buf_str(body, "\nLast answer: ");
        put_result(body, &attempts[cnt - 1]);
    }
    cd_buf_str(body, "\nAttempts:\n");
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(body, "  %u  ", attempts[i].number);
        put_time(body, attempts[i].at_ms);
        cd_buf_str(body, "  ");
        put_result(body, &attempts[i]);
        cd_buf_str(body, "\n");
    }
    cd_buf_str(body, "\nWhat matches from now on is logged and not sent; it can be replayed later.\n");
    put_link(m, body, "Resume it", hook.id);
    const char *subject = cd_arena_fmt(mem, "[%s] Webhook %s %s after %zu failed attempt%s", m->cfg.brand, hook.id,
                                       word, cnt, cnt == 1 ? "" : "s");
    const char *once = cd_arena_fmt(mem, "ended/%lld/%lld/%llu", (long long)hook.key, (long long)row.key,
                                    (unsigned long long)e->now_ms);
    return put_mail(m, s, mem, hook.project, "mail_paused", subject, body, once, why);
}

cd_err cd_wh_mailer_ended(cd_wh_mailer *m, cd_wh_store *s, const cd_wh_ending *e, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_buf body = {0};
    cd_err err = ended(m, s, &mem, &body, e, why);
    cd_buf_fini(&body);
    cd_arena_fini(&mem);
    cd_outbox_noted(m->outbox); /* found when it is committed: rounds run behind this job */
    return err;
}

/* --- quotas --- */

typedef struct quota {
    cd_job job;
    cd_wh_mailer *mailer;
    cd_arena mem;
    cd_wh_quota_note *notes;
    usize cnt;
} quota;

static cd_err run_quota(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    quota *q = cd_list_of(job, quota, job);
    cd_wh_mailer *m = q->mailer;
    for (usize i = 0; i < q->cnt; i++) {
        const cd_wh_quota_note *n = &q->notes[i];
        cd_buf body = {0};
        cd_buf_fmt(&body, "%u %% of the events of your quota are used.\n%s", n->percent,
                   n->percent < 100 ? ""
                                    : "\nFurther events are logged and not sent; they can be replayed when the "
                                      "next period has begun.\n");
        const char *subject = cd_arena_fmt(&q->mem, "[%s] %u %% of the quota used", m->cfg.brand, n->percent);
        const char *once =
            cd_arena_fmt(&q->mem, "quota/%s/%u/%llu", n->project, n->percent, (unsigned long long)(now_ms(m) / DAY_MS));
        cd_err e = put_mail(m, s, &q->mem, n->project, "mail_quota", subject, &body, once, why);
        cd_buf_fini(&body);
        CD_TRY(e);
    }
    return CD_OK;
}

static void on_quota(cd_job *job)
{
    quota *q = cd_list_of(job, quota, job);
    if (job->err != CD_OK) {
        cd_log_error(q->mailer->cfg.log, "mail cannot be queued", CD_F("error", job->why.msg));
    }
    cd_wh_mailer_due(q->mailer);
    cd_arena_fini(&q->mem);
    cd_free(q);
}

void cd_wh_mailer_quota(cd_wh_mailer *m, const cd_wh_quota_note *notes, usize cnt)
{
    quota *q = cd_new(quota);
    q->job = (cd_job){.run = run_quota, .done = on_quota};
    q->mailer = m;
    q->cnt = cnt;
    q->notes = cd_arena_array(&q->mem, cd_wh_quota_note, cnt);
    for (usize i = 0; i < cnt; i++) {
        q->notes[i].percent = notes[i].percent;
        q->notes[i].project = cd_arena_str(&q->mem, cd_bytes_str(notes[i].project));
    }
    cd_jobs_write(m->cfg.db, &q->job);
}

/* --- once a day --- */

static cd_err remind(cd_wh_mailer *m, cd_wh_store *s, cd_arena *mem, const cd_wh_hook *h, cd_errinfo *why)
{
    cd_buf body = {0};
    const char *word = cd_wh_status_name(h->face, h->status);
    cd_buf_fmt(&body, "Webhook %s is still %s; what matches is logged and not sent.\n\nURL: ", h->id, word);
    put_url(&body, h->url);
    cd_buf_str(&body, "\n");
    put_link(m, &body, "Resume it", h->id);
    const char *subject = cd_arena_fmt(mem, "[%s] Webhook %s is still %s", m->cfg.brand, h->id, word);
    const char *once = cd_arena_fmt(mem, "remind/%lld/%llu", (long long)h->key, (unsigned long long)m->day);
    cd_err e = put_mail(m, s, mem, h->project, "mail_paused", subject, &body, once, why);
    cd_buf_fini(&body);
    return e;
}

static cd_err remind_all(cd_wh_mailer *m, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    static const cd_wh_status statuses[] = {CD_WH_PAUSED, CD_WH_DISABLED};
    for (usize k = 0; k < CD_COUNT(statuses); k++) {
        cd_wh_hook_query q = {.status = (int)statuses[k], .with_targets = true, .limit = HOOKS_AT_A_TIME};
        usize cnt = HOOKS_AT_A_TIME;
        while (cnt == HOOKS_AT_A_TIME) {
            cd_wh_hook *hooks;
            CD_TRY(cd_wh_hook_list(s, &hooks, &cnt, NULL, mem, &q, why));
            for (usize i = 0; i < cnt; i++) {
                CD_TRY(remind(m, s, mem, &hooks[i], why));
                q.before = hooks[i].key;
            }
        }
    }
    return CD_OK;
}

static cd_err digest(cd_wh_mailer *m, cd_wh_store *s, cd_arena *mem, const cd_wh_project *p, cd_errinfo *why)
{
    cd_wh_delivery *rows;
    usize cnt;
    const cd_wh_delivery_query q = {
        .project = p->id,
        .states = 1u << CD_WH_FAILED,
        .from_ms = now_ms(m) - DAY_MS,
        .events_only = true,
        .limit = LISTED_MAX,
    };
    CD_TRY(cd_wh_delivery_list(s, &rows, &cnt, mem, &q, why));
    if (cnt == 0) {
        return CD_OK;
    }
    cd_buf body = {0};
    cd_buf_fmt(&body, "Events of the last day that could not be delivered%s:\n\n",
               cnt == LISTED_MAX ? ", the newest of them" : "");
    for (usize i = 0; i < cnt; i++) {
        cd_buf_str(&body, "  ");
        put_time(&body, rows[i].created_ms);
        cd_buf_fmt(&body, "  %s  %u attempts\n", rows[i].event.id, rows[i].attempts);
    }
    cd_buf_str(&body, "\nThey can be replayed.\n");
    const char *subject = cd_arena_fmt(mem, "[%s] Events that could not be delivered", m->cfg.brand);
    const char *once = cd_arena_fmt(mem, "digest/%s/%llu", p->id, (unsigned long long)m->day);
    cd_err e = put_mail(m, s, mem, p->id, "mail_dead", subject, &body, once, why);
    cd_buf_fini(&body);
    return e;
}

static cd_err write_all(cd_wh_mailer *m, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_project *projects;
    usize cnt;
    CD_TRY(remind_all(m, s, mem, why));
    CD_TRY(cd_wh_project_list(s, &projects, &cnt, mem, why));
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(digest(m, s, mem, &projects[i], why));
    }
    return CD_OK;
}

/* At the first round of a day; the store knows which day was the last. */
static cd_err daily(cd_wh_mailer *m, cd_wh_store *s, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_bytes last;
    m->day = now_ms(m) / DAY_MS;
    const char *day = cd_arena_fmt(&mem, "%llu", (unsigned long long)m->day);
    cd_err e = cd_wh_setting_get(s, &last, &mem, "", "mail_day", why);
    bool is_done = e == CD_OK && cd_bytes_eq(last, cd_bytes_str(day));
    if (e == CD_OK && !is_done) {
        e = write_all(m, s, &mem, why);
    }
    if (!is_done && (e == CD_OK || e == CD_ENOENT)) {
        e = cd_wh_setting_put(s, cd_bytes_str(day), "", "mail_day", why);
    }
    cd_arena_fini(&mem);
    return e;
}

/* --- the mail table --- */

/* Every round of the outbox claims, so the first of a day writes the daily mails. The store alone knows whether they
 * were written: a transaction that was undone has written none. */
static cd_err claim(void *ctx, void *store, cd_letter **out, usize *cnt, cd_arena *mem, u64 now, u64 lease_ms, u32 max,
                    cd_errinfo *why)
{
    cd_wh_mailer *m = ctx;
    CD_TRY(daily(m, store, why));
    return cd_wh_mail_claim(store, out, cnt, mem, now, lease_ms, max, why);
}

static cd_err settle(void *ctx, void *store, i64 key, u64 next_ms, cd_errinfo *why)
{
    (void)ctx;
    return cd_wh_mail_settle(store, key, next_ms, why);
}

bool cd_wh_mailer_is_idle(const cd_wh_mailer *m)
{
    return cd_outbox_is_idle(m->outbox);
}

void cd_wh_mailer_due(cd_wh_mailer *m)
{
    cd_outbox_due(m->outbox);
}

/* --- life --- */

cd_err cd_wh_mailer_new(cd_wh_mailer **out, cd_loop *loop, const cd_wh_mailer_cfg *cfg, cd_errinfo *why)
{
    static const cd_outbox_store store = {.claim = claim, .settle = settle};
    cd_wh_mailer *m = cd_new(cd_wh_mailer);
    m->cfg = *cfg;
    m->cfg.clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    const cd_outbox_cfg outbox = {
        .db = cfg->db,
        .store = &store,
        .ctx = m,
        .clock = m->cfg.clock,
        .log = cfg->log,
        .metrics = cfg->metrics,
        .name = cfg->brand,
        .from = cfg->from,
        .smtp = cfg->smtp,
    };
    cd_err e = cd_outbox_new(&m->outbox, loop, &outbox, why);
    if (e != CD_OK) {
        cd_free(m);
        return e;
    }
    *out = m;
    return CD_OK;
}

void cd_wh_mailer_free(cd_wh_mailer *m)
{
    if (m != NULL) {
        cd_outbox_free(m->outbox);
        cd_free(m);
    }
}
