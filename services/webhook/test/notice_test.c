/* Operational events: who is told, what, how often, and that they are rows of the ledger like any other; on SQLite and
 * PostgreSQL. */
#include "services/webhook/core/names.h"
#include "services/webhook/core/store/notice.h"
#include "services/webhook/core/store/records.h"
#include "services/webhook/test/store_rig.h"

#include <stdio.h>

static const u8 block_hash[32] = {1, 2, 3};

static i64 add_target(rig *r, const char *id, cd_wh_face face, i64 hook)
{
    cd_wh_hook h = {
        .id = id,
        .project = "p",
        .face = face,
        .name = "",
        .url = "https://ops.example/hook",
        .chain = "",
        .network = "",
        .types = CD_WH_NOTICES,
        .config = cd_bytes_str("{}"),
        .settings = cd_bytes_str("{}"),
        .created_ms = rig_now(r),
    };
    rig_ok(cd_wh_hook_add(r->s, &h, 0, why));
    rig_ok(cd_wh_notice_target_set(r->s, "p", hook, h.key, why));
    return h.key;
}

static cd_wh_hook hook_get(rig *r, i64 key)
{
    cd_wh_hook h;
    rig_ok(cd_wh_hook_by_key(r->s, &h, &r->mem, key, false, why));
    return h;
}

static void tell(rig *r, i64 hook, cd_wh_notice_type type)
{
    cd_wh_hook h = hook_get(r, hook);
    const cd_wh_notice n = {.type = type, .project = "p", .hook = &h, .reason = "request"};
    rig_ok(cd_wh_notice_put(r->s, &n, why));
}

/* The newest row of a target and how many there are. */
static cd_wh_delivery last_of(rig *r, i64 target, usize *cnt)
{
    cd_wh_delivery *rows;
    const cd_wh_delivery_query q = {.hook = target, .limit = 100};
    rig_ok(cd_wh_delivery_list(r->s, &rows, cnt, &r->mem, &q, why));
    cd_wh_delivery d = {0};
    if (*cnt != 0) {
        cd_wh_attempt *attempts;
        usize n;
        rig_ok(cd_wh_delivery_get(r->s, &d, &attempts, &n, &r->mem, target, rows[0].key, why));
    }
    return d;
}

static void who_is_told(usize engine)
{
    rig r;
    usize cnt;
    u64 total = 0;
    cd_wh_hook *hooks;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 one = rig_hook(&r, 1, false);
    i64 two = rig_hook(&r, 2, false);
    tell(&r, one, CD_WH_NOTICE_PAUSED); /* nobody */
    i64 common = add_target(&r, "wh_common", CD_WH_B, 0);
    i64 own = add_target(&r, "wh_own", CD_WH_B, one);
    tell(&r, one, CD_WH_NOTICE_PAUSED);
    tell(&r, two, CD_WH_NOTICE_PAUSED);
    tell(&r, own, CD_WH_NOTICE_PAUSED); /* of whom others are told nobody is told */
    cd_wh_delivery d = last_of(&r, own, &cnt);
    assert_int_equal(cnt, 1);
    assert_int_equal(d.state, CD_WH_PENDING);
    assert_int_equal(d.sequence, 1);
    assert_non_null(strstr((const char *)d.event.body.p, "\"webhook_id\":\"wh_1\""));
    (void)last_of(&r, common, &cnt);
    assert_int_equal(cnt, 1);
    rig_commit(&r);

    /* it comes by the claim */
    cd_wh_delivery *rows;
    rig_begin(&r);
    rig_ok(cd_wh_claim(r.s, &rows, &cnt, &r.mem, rig_now(&r), 60000, 10, 8, why));
    assert_int_equal(cnt, 2);
    rig_commit(&r);

    /* they are not among the webhooks, and do not count for the limit */
    const cd_wh_hook_query q = {.project = "p", .status = -1, .limit = 10};
    cd_wh_hook third = hook_get(&r, two);
    rig_begin(&r);
    rig_ok(cd_wh_hook_list(r.s, &hooks, &cnt, &total, &r.mem, &q, why));
    assert_int_equal(cnt, 2);
    assert_int_equal(total, 2);
    third.id = "wh_3";
    rig_ok(cd_wh_hook_add(r.s, &third, 3, why));
    third.id = "wh_4";
    assert_int_equal(cd_wh_hook_add(r.s, &third, 3, NULL), CD_EFULL);

    /* one that is paused itself: a row, not sent */
    bool changed;
    rig_ok(cd_wh_hook_pause(r.s, &changed, own, CD_WH_PAUSED, why));
    rig_wait(&r, 1);
    tell(&r, one, CD_WH_NOTICE_RESUMED);
    d = last_of(&r, own, &cnt);
    assert_int_equal(d.state, CD_WH_SKIPPED);
    assert_int_equal(d.sequence, 2);

    /* one that is gone: the project's */
    rig_ok(cd_wh_hook_delete(r.s, own, why));
    rig_wait(&r, 1);
    tell(&r, one, CD_WH_NOTICE_PAUSED);
    (void)last_of(&r, common, &cnt);
    assert_int_equal(cnt, 2);
    rig_commit(&r);
    rig_close(&r);
}

static void what_is_told(usize engine)
{
    static const struct {
        cd_wh_face face;
        const char *id, *rest; /* how it begins, and what is behind the id */
    } cases[] = {
        {CD_WH_A, "{\"id\":\"evt-",
         "\",\"event\":\"webhook.paused\",\"webhookId\":\"wh_1\","
         "\"url\":\"https://receiver.example/hook\",\"status\":\"enabled\","
         "\"reason\":\"request\",\"timestamp\":\"2026-01-15T10:35:22Z\"}"},
        {CD_WH_B, "{\"id\":\"evt_",
         "\",\"event_type\":\"webhook.paused\",\"webhook_id\":\"wh_t1\","
         "\"created_at\":\"2026-01-15T10:35:22Z\",\"data\":{\"webhook_id\":\"wh_1\","
         "\"url\":\"https://receiver.example/"
         "hook\",\"status\":\"active\",\"reason\":\"request\"}}"},
        {CD_WH_C, "{\"id\":\"evt_",
         "\",\"type\":\"webhook.paused\",\"createdAt\":\"2026-01-15T10:35:22.000Z\","
         "\"data\":{\"webhookId\":\"wh_1\",\"url\":\"https://receiver.example/hook\","
         "\"status\":\"active\",\"reason\":\"request\"}}"},
    };
    rig r;
    usize cnt;
    char want[512];
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_wh_hook h = hook_get(&r, hook);
        h.url = "https://receiver.example/hook?token=secret";
        const cd_wh_notice n = {.type = CD_WH_NOTICE_PAUSED, .project = "p", .hook = &h, .reason = "request"};
        i64 target = add_target(&r, cd_arena_fmt(&r.mem, "wh_t%zu", i), cases[i].face, hook);
        rig_ok(cd_wh_notice_put(r.s, &n, why));
        cd_wh_delivery d = last_of(&r, target, &cnt);
        (void)snprintf(want, sizeof want, "%s%s%s", cases[i].id, d.event.id + 4, cases[i].rest);
        assert_string_equal(cd_arena_str(&r.mem, d.event.body), want);
    }
    rig_commit(&r);
    rig_close(&r);
}

static void given_up(usize engine)
{
    static const cd_wh_attempt bad = {.number = 6, .status = 503, .error = "status", .request = "", .response = ""};
    rig r;
    usize cnt;
    cd_wh_enqueued made;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    i64 target = add_target(&r, "wh_t", CD_WH_B, hook);
    const cd_wh_event events[] = {rig_event(&r, hook, 1, 0), rig_event(&r, hook, 1, 1)};
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, events, 2, "lux", 1, block_hash, why));
    for (usize i = 0; i < 2; i++) {
        rig_ok(cd_wh_settle(r.s, &made.made[i], &bad, CD_WH_FAILED, 0, why));
    }
    rig_ok(cd_wh_notice_given_up(r.s, &made.made[0], CD_WH_PAUSED, why));
    cd_wh_delivery d = last_of(&r, target, &cnt);
    const char *body = cd_arena_str(&r.mem, d.event.body);
    assert_non_null(strstr(body, "\"event_type\":\"webhook.paused\""));
    assert_non_null(strstr(body, "\"status\":\"paused\",\"reason\":\"attempts_exhausted\""));
    assert_non_null(strstr(body, cd_arena_fmt(&r.mem, "\"event_id\":\"%s\"", events[0].id)));
    assert_non_null(strstr(body, "\"attempts\":6,\"last_status\":503,\"last_error\":\"status\""));
    /* a webhook that goes on: one a minute */
    rig_ok(cd_wh_notice_given_up(r.s, &made.made[0], CD_WH_ACTIVE, why));
    rig_ok(cd_wh_notice_given_up(r.s, &made.made[1], CD_WH_ACTIVE, why));
    (void)last_of(&r, target, &cnt);
    assert_int_equal(cnt, 2);
    rig_wait(&r, 60000);
    rig_ok(cd_wh_notice_given_up(r.s, &made.made[1], CD_WH_ACTIVE, why));
    d = last_of(&r, target, &cnt);
    assert_int_equal(cnt, 3);
    assert_non_null(strstr(cd_arena_str(&r.mem, d.event.body), "\"delivery.failed\""));
    rig_commit(&r);
    rig_close(&r);
}

/* Told in the transaction that passes it, also when nothing else may be sent any more. */
static void quotas(usize engine)
{
    static const char *const names[] = {"quota.warning", "quota.exceeded"};
    rig r;
    cd_wh_enqueued made;
    usize cnt;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    i64 target = add_target(&r, "wh_t", CD_WH_B, 0);
    const cd_wh_project p = {.id = "p",
                             .name = "P",
                             .tier = "free",
                             .email = "",
                             .face = CD_WH_B,
                             .quota_period = CD_WH_PER_DAY,
                             .quota = 10};
    rig_ok(cd_wh_project_put(r.s, &p, why));
    for (u32 i = 0; i < 12; i++) {
        const cd_wh_event e = rig_event(&r, hook, i + 1, 0);
        rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, &e, 1, "lux", i + 1, block_hash, why));
        cd_wh_delivery d = last_of(&r, target, &cnt);
        assert_int_equal(cnt, i < 7 ? 0 : i < 9 ? 1 : 2);
        if (cnt != 0) {
            assert_string_equal(cd_wh_type_name(d.event.type), names[cnt - 1]);
            assert_int_equal(d.state, CD_WH_PENDING);
        }
    }
    u64 used = 0;
    rig_ok(cd_wh_usage(r.s, &used, "p", rig_now(&r), why));
    assert_int_equal(used, 10);
    rig_commit(&r);
    rig_close(&r);
}

static void tell_l1(rig *r, const char *severity, const char *cause)
{
    const cd_wh_l1 l1 = {
        .chain = "lux",
        .net = "2Net",
        .state = "runs",
        .severity = severity,
        .cause = cause,
        .text = "It ends.",
        .help = "",
    };
    rig_ok(cd_wh_notice_l1(r->s, &l1, why));
}

/* Told when it changes and once a day, after a restart too; to those who listen to the chain. */
static void health_of_an_l1(usize engine)
{
    static const u64 HOUR_MS = 3600ull * 1000;
    rig r;
    usize cnt;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    i64 target = add_target(&r, "wh_t", CD_WH_B, 0);
    tell_l1(&r, "well", "");
    (void)last_of(&r, target, &cnt);
    assert_int_equal(cnt, 0);
    rig_ok(cd_wh_notice_target_set(r.s, "p", 0, 0, why));
    tell_l1(&r, "warning", "balances"); /* nobody yet */
    rig_ok(cd_wh_notice_target_set(r.s, "p", 0, target, why));
    tell_l1(&r, "warning", "balances");
    tell_l1(&r, "warning", "balances");
    cd_wh_delivery d = last_of(&r, target, &cnt);
    assert_int_equal(cnt, 1);
    assert_string_equal(cd_wh_type_name(d.event.type), "l1.health");
    assert_int_equal(d.state, CD_WH_PENDING);
    assert_non_null(strstr(cd_arena_str(&r.mem, d.event.body),
                           "\"data\":{\"chain\":\"lux\",\"subnet_id\":\"2Net\",\"state\":\"runs\",\"severity\":"
                           "\"warning\",\"cause\":\"balances\",\"message\":\"It ends.\",\"help\":null}"));
    rig_commit(&r);
    rig_again(&r);
    rig_begin(&r);
    rig_wait(&r, 23 * HOUR_MS);
    tell_l1(&r, "warning", "balances");
    (void)last_of(&r, target, &cnt);
    assert_int_equal(cnt, 1);
    rig_wait(&r, HOUR_MS);
    tell_l1(&r, "warning", "balances"); /* a day later */
    tell_l1(&r, "halt", "unreachable");
    tell_l1(&r, "warning", "balances"); /* the same within the hour */
    tell_l1(&r, "halt", "unreachable");
    (void)last_of(&r, target, &cnt);
    assert_int_equal(cnt, 3);
    tell_l1(&r, "well", "");
    rig_wait(&r, 48 * HOUR_MS);
    tell_l1(&r, "well", "");
    d = last_of(&r, target, &cnt);
    assert_int_equal(cnt, 4);
    assert_non_null(strstr(cd_arena_str(&r.mem, d.event.body), "\"severity\":\"well\",\"cause\":null"));

    /* another worker that saw the same at the same time */
    rig_ok(cd_wh_setting_put(r.s, cd_bytes_str("0 2Net well "), "p", "l1/lux", why));
    tell_l1(&r, "warning", "balances");
    rig_ok(cd_wh_setting_put(r.s, cd_bytes_str("0 2Net well "), "p", "l1/lux", why));
    tell_l1(&r, "warning", "balances");
    (void)last_of(&r, target, &cnt);
    assert_int_equal(cnt, 5);

    /* nobody listens to the chain */
    rig_wait(&r, 24 * HOUR_MS);
    rig_ok(cd_wh_hook_delete(r.s, hook, why));
    tell_l1(&r, "halt", "unreachable");
    (void)last_of(&r, target, &cnt);
    assert_int_equal(cnt, 5);
    rig_commit(&r);
    rig_close(&r);
}

static void every_engine(void (*fn)(usize engine))
{
    for (usize i = 0; i < engines_count(); i++) {
        fn(i);
    }
}

#define ON_ALL(name)                                                                                                   \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        every_engine(name);                                                                                            \
    }
ON_ALL(who_is_told)
ON_ALL(what_is_told)
ON_ALL(given_up)
ON_ALL(quotas)
ON_ALL(health_of_an_l1)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_told), cmocka_unit_test(test_what_is_told),    cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_quotas),      cmocka_unit_test(test_health_of_an_l1),
    };
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
