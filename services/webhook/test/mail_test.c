/* Mails between the real store and a mail server that this test plays: which are written, once, when they are sent and
 * tried again. */
#include "services/webhook/core/send/mail.h"

#include "base/os/fileio.h"
#include "base/table/list.h"
#include "services/common/test/sink.h"
#include "services/webhook/core/store/records.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BEGIN_MS 1768473322000ull
#define DAY_MS   86400000ull

typedef struct rig {
    char dir[64];
    cd_loop *loop;
    cd_jobs *db;
    cd_wh_mailer *mailer;
    cd_clock_virtual clock;
    sink sink;
    i64 hook;
    i64 delivery;
} rig;

/* --- the store --- */

typedef struct job {
    cd_job job;
    rig *r;
    cd_err (*fn)(rig *r, cd_wh_store *s, cd_arena *mem, cd_errinfo *why);
    cd_arena mem;
    bool is_done;
} job;

static cd_err run_job(cd_job *j, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    job *t = cd_list_of(j, job, job);
    return t->fn(t->r, s, &t->mem, why);
}

static void job_done(cd_job *j)
{
    job *t = cd_list_of(j, job, job);
    t->is_done = true;
    cd_loop_stop(t->r->loop);
}

static void store_do(rig *r, cd_err (*fn)(rig *r, cd_wh_store *s, cd_arena *mem, cd_errinfo *why))
{
    job t = {.job = {.run = run_job, .done = job_done}, .r = r, .fn = fn};
    cd_jobs_write(r->db, &t.job);
    while (!t.is_done) {
        cd_loop_run(r->loop);
    }
    if (t.job.err != CD_OK) {
        fail_msg("%s", t.job.why.msg);
    }
    cd_arena_fini(&t.mem);
}

static u64 now_ms(rig *r)
{
    return cd_clock_wall_ns(&r->clock.clock) / CD_NS_PER_MS;
}

/* A project with a webhook, and an event of it that has failed twice. */
static cd_err fill(rig *r, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    const cd_wh_project p = {.id = "p", .name = "p", .tier = "free", .email = "owner@b.example", .face = CD_WH_B};
    cd_wh_hook hook = {
        .id = "wh_abc",
        .project = "p",
        .face = CD_WH_B,
        .name = "",
        .url = "https://a.example/hook?token=hidden",
        .chain = "lux",
        .network = "",
        .types = 1u << CD_WH_B_TOKEN,
        .config = cd_bytes_str("{}"),
        .settings = cd_bytes_str("{}"),
        .secret = cd_bytes_str("whsec_k7m9p2q4r6s8t0v2w4x6y8z0"),
        .created_ms = now_ms(r),
        .updated_ms = now_ms(r),
    };
    cd_wh_event e = {
        .type = CD_WH_B_TOKEN, .id = "evt_1", .block = 1, .time_ms = now_ms(r), .body = cd_bytes_str("{}")};
    cd_wh_enqueued made;
    const u8 hash[32] = {1};
    CD_TRY(cd_wh_project_put(s, &p, why));
    CD_TRY(cd_wh_hook_add(s, &hook, 0, why));
    r->hook = e.hook = hook.key;
    CD_TRY(cd_wh_enqueue(s, &made, mem, &e, 1, "lux", 1, hash, why));
    r->delivery = made.made[0].key;
    cd_wh_attempt a = {
        .number = 1, .at_ms = now_ms(r), .status = 500, .error = "status", .request = "", .response = ""};
    CD_TRY(cd_wh_settle(s, &made.made[0], &a, CD_WH_RETRYING, now_ms(r), why));
    a = (cd_wh_attempt){.number = 2, .at_ms = now_ms(r) + 10000, .error = "timeout", .request = "", .response = ""};
    made.made[0].attempts = 1;
    return cd_wh_settle(s, &made.made[0], &a, CD_WH_FAILED, 0, why);
}

static cd_err end_hook(rig *r, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    bool changed;
    const cd_wh_delivery d = {.key = r->delivery, .hook = r->hook};
    const cd_wh_ending e = {.d = &d, .status = CD_WH_PAUSED, .now_ms = now_ms(r)};
    (void)mem;
    CD_TRY(cd_wh_hook_pause(s, &changed, r->hook, CD_WH_PAUSED, why));
    CD_TRY(cd_wh_mailer_ended(r->mailer, s, &e, why));
    return cd_wh_mailer_ended(r->mailer, s, &e, why); /* told twice, written once */
}

static cd_err switch_off(rig *r, cd_wh_store *s, cd_arena *mem, cd_errinfo *why)
{
    (void)r;
    (void)mem;
    return cd_wh_setting_put(s, cd_bytes_str("off"), "p", "mail_quota", why);
}

/* --- running --- */

typedef struct until {
    rig *r;
    const _Atomic u32 *what;
    u32 want;
} until;

static void look(void *ctx)
{
    const until *u = ctx;
    if (atomic_load(u->what) >= u->want) {
        cd_loop_stop(u->r->loop);
    }
}

static void wait_for(rig *r, const _Atomic u32 *what, u32 want)
{
    until u = {r, what, want};
    cd_timer *t = cd_timer_new(r->loop, look, &u);
    cd_timer_start(t, 1, 1);
    cd_loop_run(r->loop);
    cd_timer_free(t);
}

static void look_idle(void *ctx)
{
    rig *r = ctx;
    if (cd_wh_mailer_is_idle(r->mailer)) {
        cd_loop_stop(r->loop);
    }
}

/* What is due is sent, and recorded. */
static void settle(rig *r)
{
    cd_timer *t = cd_timer_new(r->loop, look_idle, r);
    cd_wh_mailer_due(r->mailer);
    cd_timer_start(t, 1, 1);
    cd_loop_run(r->loop);
    cd_timer_free(t);
}

static void pass(rig *r, u64 ms)
{
    cd_clock_virtual_advance(&r->clock, ms * CD_NS_PER_MS);
    cd_wh_mailer_due(r->mailer);
}

static int set_up(void **state)
{
    static const u8 master[32] = {1};
    rig *r = calloc(1, sizeof *r);
    cd_errinfo why = {0};
    char url[100];
    char smtp[100];
    (void)snprintf(r->dir, sizeof r->dir, "/tmp/candela-mail-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(url, sizeof url, "sqlite:%s/webhooks.db", r->dir);
    cd_clock_virtual_init(&r->clock, BEGIN_MS * CD_NS_PER_MS);
    assert_int_equal(cd_loop_new(&r->loop, &why), CD_OK);
    const cd_wh_store_cfg store = {.url = url, .worker = "w1", .master_key = master, .clock = &r->clock.clock};
    assert_int_equal(cd_wh_db_open(&r->db, r->loop, &store, NULL, &why), CD_OK);
    sink_start(&r->sink);
    (void)snprintf(smtp, sizeof smtp, "smtp://127.0.0.1:%u", r->sink.port);
    const cd_wh_mailer_cfg cfg = {
        .db = r->db,
        .clock = &r->clock.clock,
        .brand = "Svc",
        .from = "webhooks@candela.example",
        .base = "https://webhooks.example",
        .smtp = {.url = smtp, .timeout_ms = 5000},
    };
    assert_int_equal(cd_wh_mailer_new(&r->mailer, r->loop, &cfg, &why), CD_OK);
    store_do(r, fill);
    settle(r);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    rig *r = *state;
    settle(r);
    cd_jobs_close(r->db);
    cd_wh_mailer_free(r->mailer);
    cd_loop_free(r->loop);
    sink_stop(&r->sink);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
    free(r);
    return 0;
}

/* --- tests --- */

static void paused(void **state)
{
    rig *r = *state;
    assert_int_equal(atomic_load(&r->sink.taken), 0);
    store_do(r, end_hook);
    wait_for(r, &r->sink.taken, 1);
    settle(r);
    const char *mail = r->sink.last;
    assert_non_null(strstr(mail, "From: \"Svc\" <webhooks@candela.example>\r\nTo: <owner@b.example>\r\n"));
    assert_non_null(strstr(mail, "Subject: [Svc] Webhook wh_abc paused after 2 failed attempts\r\n"));
    assert_non_null(strstr(mail, "event evt_1 could not be delivered"));
    assert_non_null(strstr(mail, "https://a.example/hook?..."));
    assert_null(strstr(mail, "hidden"));
    assert_non_null(strstr(mail, "Last answer: timeout\r\n"));
    assert_non_null(strstr(mail, "  1  2026-01-15T10:35:22Z  status 500\r\n  2  2026-01-15T10:35:32Z  timeout\r\n"));
    assert_non_null(strstr(mail, "Resume it: https://webhooks.example/webhooks/wh_abc\r\n"));
    /* Every day while it is, and what failed; each once. */
    pass(r, DAY_MS);
    wait_for(r, &r->sink.taken, 3);
    settle(r);
    pass(r, DAY_MS / 4);
    settle(r);
    assert_int_equal(atomic_load(&r->sink.taken), 3);
    pass(r, DAY_MS); /* the failure lies more than a day behind by now */
    wait_for(r, &r->sink.taken, 4);
    settle(r);
    assert_non_null(strstr(r->sink.last, "Subject: [Svc] Webhook wh_abc is still paused\r\n"));
    assert_int_equal(atomic_load(&r->sink.taken), 4);
}

static void retries(void **state)
{
    rig *r = *state;
    static const u32 minutes[] = {1, 5, 30};
    atomic_store(&r->sink.refuses, true);
    store_do(r, end_hook);
    wait_for(r, &r->sink.refused, 1);
    for (u32 i = 0; i < CD_COUNT(minutes); i++) {
        settle(r);
        pass(r, minutes[i] * 60000 - 1000);
        settle(r);
        assert_int_equal(atomic_load(&r->sink.refused), i + 1);
        pass(r, 1000);
        wait_for(r, &r->sink.refused, i + 2);
    }
    settle(r);
    atomic_store(&r->sink.refuses, false);
    pass(r, 3600000); /* it was given up */
    settle(r);
    settle(r);
    assert_int_equal(atomic_load(&r->sink.refused), 4);
    assert_int_equal(atomic_load(&r->sink.taken), 0);
}

static void quotas(void **state)
{
    rig *r = *state;
    const cd_wh_quota_note notes[] = {{"p", 80}, {"p", 80}};
    cd_wh_mailer_quota(r->mailer, notes, 2);
    wait_for(r, &r->sink.taken, 1);
    settle(r);
    assert_non_null(strstr(r->sink.last, "Subject: [Svc] 80 % of the quota used\r\n"));
    store_do(r, switch_off);
    const cd_wh_quota_note full = {"p", 100};
    cd_wh_mailer_quota(r->mailer, &full, 1);
    settle(r);
    settle(r);
    assert_int_equal(atomic_load(&r->sink.taken), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(paused), T(retries), T(quotas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
