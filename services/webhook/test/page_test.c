/* The dashboard as a browser without scripts sees it: sessions, tokens of forms, every page, what forms do. */
#include "services/webhook/test/api_rig.h"

#include "services/webhook/core/chain/event.h"
#include "web/page.h"

#include <stdio.h>

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

static api_rig rig;
static char csrf[64];

static int open_rig(void **state)
{
    *state = &rig;
    api_rig_open(&rig);
    return 0;
}

static int close_rig(void **state)
{
    api_rig_close(*state);
    return 0;
}

/* With the session's cookie, which an answer may set anew. */
static const char *visit(api_rig *g, const char *method, const char *path, const char *form)
{
    char head[4096];
    cd_clock_virtual_advance(&g->clock, CD_NS_PER_SEC);
    (void)snprintf(head, sizeof head, FORM "%s%s%s", g->cookie[0] != '\0' ? "Cookie: a=b; " : "", g->cookie,
                   g->cookie[0] != '\0' ? "\r\n" : "");
    const char *answer = api_rig_ask(g, -1, method, path, head, form);
    const char *set = strstr(answer, "Set-Cookie: ");
    if (set != NULL) {
        set += strlen("Set-Cookie: ");
        usize n = strcspn(set, ";");
        assert_true(n < sizeof g->cookie);
        memcpy(g->cookie, set, n);
        g->cookie[n] = '\0';
        assert_non_null(strstr(set, "HttpOnly; SameSite=Lax"));
    }
    const char *token = strstr(answer, "name=\"csrf\" value=\"");
    if (token != NULL) {
        token += strlen("name=\"csrf\" value=\"");
        usize n = strcspn(token, "\"");
        assert_int_equal(n, 32);
        memcpy(csrf, token, n);
        csrf[n] = '\0';
    }
    return answer;
}

static const char *post(api_rig *g, const char *path, const char *fields)
{
    char form[2048];
    (void)snprintf(form, sizeof form, "csrf=%s%s%s", csrf, fields[0] != '\0' ? "&" : "", fields);
    return visit(g, "POST", path, form);
}

static void want(const char *answer, int status, const char *text)
{
    if (api_rig_status(answer) != status || (text != NULL && strstr(answer, text) == NULL)) {
        fail_msg("want %d and %s, got %s", status, text == NULL ? "" : text, answer);
    }
}

static void sign_in(api_rig *g, int face)
{
    char fields[128];
    g->cookie[0] = '\0';
    want(visit(g, "GET", "/sign-in", NULL), 200, "<h1>Sign in</h1>");
    (void)snprintf(fields, sizeof fields, "key=%s", g->keys[face]);
    want(post(g, "/sign-in", fields), 303, "Location: /\r\n");
    want(visit(g, "GET", "/", NULL), 200, "Overview");
}

static void sessions(void **state)
{
    api_rig *g = *state;
    want(visit(g, "GET", "/", NULL), 303, "Location: /sign-in");
    want(visit(g, "POST", "/webhooks/new", "csrf=00000000000000000000000000000000"), 403, NULL);
    want(visit(g, "GET", "/sign-in", NULL), 200, "Content-Security-Policy: " CD_PAGE_CSP);
    want(post(g, "/sign-in", "key=sk_wrong"), 401, "not valid");
    assert_null(strstr((const char *)g->answer.p, "sk_wrong"));
    sign_in(g, CD_WH_B);
    assert_null(strstr(g->cookie, g->keys[CD_WH_B]));
    // a cookie that was changed is none
    usize n = strlen(g->cookie);
    char last = g->cookie[n - 1];
    g->cookie[n - 1] = last == '0' ? '1' : '0';
    want(visit(g, "GET", "/", NULL), 303, "Location: /sign-in");
    g->cookie[n - 1] = last;
    want(visit(g, "POST", "/keys", "label=x&csrf=00000000000000000000000000000000"), 403, NULL);
    char copied[sizeof g->cookie];
    memcpy(copied, g->cookie, sizeof copied);
    want(post(g, "/sign-out", ""), 303, "/sign-in");
    memcpy(g->cookie, copied, sizeof copied); /* what was kept of it is of no use */
    want(visit(g, "GET", "/", NULL), 303, "Location: /sign-in");
    g->cookie[0] = '\0';
    want(visit(g, "GET", "/", NULL), 303, "Location: /sign-in");
}

/* Deliveries of every state, with an attempt that answered with markup. */
static cd_err fill(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_arena mem = {0};
    cd_wh_hook *hooks;
    usize cnt;
    const cd_wh_hook_query q = {.project = "pb", .status = -1, .limit = 1};
    static const u8 hash[32] = {1};
    (void)job;
    CD_TRY(cd_wh_hook_list(s, &hooks, &cnt, NULL, &mem, &q, why));
    for (u32 i = 0; i < 4; i++) {
        cd_wh_event e = {.hook = hooks[0].key,
                         .type = CD_WH_B_ADDRESS,
                         .h = {(u8)(i + 1)},
                         .block = 100 + i,
                         .time_ms = 1768473322000,
                         .body = cd_bytes_str("{\"id\":\"evt_1\",\"data\":{\"x\":\"it's\"}}")};
        (void)snprintf(e.id, sizeof e.id, "evt_%u", i);
        cd_wh_enqueued out;
        CD_TRY(cd_wh_enqueue(s, &out, &mem, &e, 1, "lux", 100 + i, hash, why));
        const cd_wh_attempt a = {
            .number = 1,
            .at_ms = 1768473322500,
            .ms = 41,
            .status = i == 3 ? 0 : 503,
            .error = i == 3 ? "timeout" : "",
            .request = "POST /hook HTTP/1.1\r\nHost: example.com\r\nX-Svc-Attempt: 1\r\n",
            .response = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 120\r\n",
            .body = cd_bytes_str("<h1>Upgrade in progress</h1><script>alert(1)</script>"),
        };
        static const cd_wh_state states[] = {CD_WH_RETRYING, CD_WH_FAILED, CD_WH_DELIVERED, CD_WH_FAILED};
        CD_TRY(cd_wh_settle(s, &out.made[0], &a, states[i], states[i] == CD_WH_RETRYING ? 1768473400000 : 0, why));
    }
    cd_arena_fini(&mem);
    return CD_OK;
}

#define NEW                                                                                                            \
    "url=https%3A%2F%2Fexample.com%2Fhook%3Ftoken%3D7&chain=lux&type=address_activity&addresses="                      \
    "0x9011e888251ab053b7bd1cdb598db4f9ded94714%0D%0A%0D%"                                                             \
    "0A0x52226d1637c2248f1d3ccc4405dd2ea1fafab4bf"

static void pages(void **state)
{
    api_rig *g = *state;
    char id[128];
    char path[256];
    static const char *const all[] = {"/",     "/webhooks",      "/webhooks/new", "/dead-letters",
                                      "/keys", "/notifications", "/events",       "/audit"};
    sign_in(g, CD_WH_B);
    for (usize i = 0; i < CD_COUNT(all); i++) {
        want(visit(g, "GET", all[i], NULL), 200, "<h1");
        assert_null(strstr((const char *)g->answer.p, " style="));
    }
    want(post(g, "/webhooks/preview", NEW), 200, "<b>12</b> of the last");
    want(post(g, "/webhooks/new", "url=&chain=lux"), 400, "must not be empty");
    want(post(g, "/webhooks/new",
              "url=https%3A%2F%2Fexample.com%2F&chain=lux&type=log&addresses="
              "0x9011e888251ab053b7bd1cdb598db4f9ded94714&abi=event+A%28uint256+a%2C+bool%29%0D%"
              "0Ano"),
         400, "abi[1]");
    want(post(g, "/webhooks/new", "url=https%3A%2F%2F10.0.0.1%2F&chain=lux&type=nft_transfer"), 400,
         "the address is not allowed");
    want(post(g, "/webhooks/new", NEW), 200, "whsec_");
    const char *at = strstr((const char *)g->answer.p, "action=\"/webhooks/wh_");
    assert_non_null(at);
    at += strlen("action=\"/webhooks/");
    usize n = strcspn(at, "/");
    memcpy(id, at, n);
    id[n] = '\0';
    (void)snprintf(path, sizeof path, "/webhooks/%s", id);
    want(visit(g, "GET", path, NULL), 200, "Nothing yet");
    assert_null(strstr((const char *)g->answer.p, "whsec_"));
    api_rig_work(g, fill);
    want(visit(g, "GET", path, NULL), 200, "evt_3");
    want(visit(g, "GET", "/", NULL), 200, "Latest attempts");
    (void)snprintf(path, sizeof path, "/webhooks/%s/test", id);
    want(post(g, path, ""), 200, "The receiver took the test event");
    assert_null(strstr((const char *)g->answer.p, "thanks <b>"));
    // numbers and what became of them: the strip, its words, its shapes
    (void)snprintf(path, sizeof path, "/webhooks/%s?span=7d", id);
    want(visit(g, "GET", path, NULL), 200, "Numbers 1 to 4: 1 delivered, 1 waiting, 2 never delivered.");
    want((const char *)g->answer.p, 200, "<title>2: never delivered</title>");
    want((const char *)g->answer.p, 200, "Success, 7 d");
    want((const char *)g->answer.p, 200, "aria-current=\"true\">7 d</a>");
    (void)snprintf(path, sizeof path, "/webhooks/%s/test", id);
    want(post(g, path, ""), 200, "The receiver took the test event");
    // a delivery, as curl would make it, with quotes that a shell understands
    const char *link = strstr((const char *)g->answer.p, "/deliveries/");
    assert_non_null(link);
    link += strlen("/deliveries/");
    (void)snprintf(path, sizeof path, "/webhooks/%s/deliveries/%.*s", id, (int)strcspn(link, "\""), link);
    want(visit(g, "GET", path, NULL), 200, "curl -X POST ");
    want((const char *)g->answer.p, 200, "it&#39;\\&#39;&#39;s");
    assert_null(strstr((const char *)g->answer.p, "<script>alert"));
    want(post(g, path, ""), 303, "done=replayed");
    want(visit(g, "GET", "/dead-letters", NULL), 200, "evt_1");
    want(post(g, "/dead-letters", "what=chosen"), 303, "done=none");
    want(post(g, "/dead-letters", "what=all"), 303, "done=replayed");
    assert_true(g->due >= 2);
    (void)snprintf(path, sizeof path, "/webhooks/%s/status", id);
    want(post(g, path, ""), 303, "done=paused");
    want(visit(g, "GET", "/webhooks?status=paused", NULL), 200, id);
    want(post(g, path, "on=1&replay=skipped"), 303, "done=resumed");
    // several at once, found by what they watch
    want(visit(g, "GET", "/webhooks?q=0x52226D1637C2248F1D3CCC4405DD2EA1FAFAB4BF", NULL), 200, id);
    want(visit(g, "GET", "/webhooks?q=0x52226d1637c2248f1d3ccc4405dd2ea1fafab4b0", NULL), 200,
         "No webhook watches this address");
    char chosen[200];
    (void)snprintf(chosen, sizeof chosen, "do=pause&id=%s", id);
    u32 changed = g->changed;
    want(post(g, "/webhooks/chosen", chosen), 303, "done=paused");
    assert_int_equal(g->changed, changed + 1);
    want(visit(g, "GET", "/webhooks?status=paused&span=30d", NULL), 200, id);
    (void)snprintf(chosen, sizeof chosen, "do=replay&id=%s", id);
    want(post(g, "/webhooks/chosen", chosen), 303, "done=resumed");
    want(post(g, "/webhooks/chosen", "do=pause"), 303, "done=none");
    want(post(g, "/webhooks/chosen", "do=pause&id=wh_none"), 404, NULL);
    want(visit(g, "GET", "/webhooks?status=active", NULL), 200, id);
    // who is told of it, and the certificate that it shows
    (void)snprintf(path, sizeof path, "/webhooks/%s/operations", id);
    want(post(g, path, "ops_url=https%3A%2F%2F10.0.0.1%2F"), 400, "not allowed");
    want(post(g, path, "ops_url=https%3A%2F%2Fops.example%2F"), 200, "whsec_");
    want(post(g, path, "ops_url=https%3A%2F%2Fops.example%2Fother"), 303, "done=saved");
    (void)snprintf(path, sizeof path, "/webhooks/%s", id);
    want(visit(g, "GET", path, NULL), 200, "https://ops.example/other");
    want(visit(g, "GET", "/webhooks", NULL), 200, "<span>1 in all</span>");
    (void)snprintf(path, sizeof path, "/webhooks/%s/certificate", id);
    want(post(g, path, "cert=no&key=no"), 400, "no PEM");
    want(post(g, path, "cert=&key="), 303, "done=saved");
    (void)snprintf(path, sizeof path, "/webhooks/%s/operations", id);
    want(post(g, path, "ops_url="), 303, "done=saved");
    g->gone = 0;
    (void)snprintf(path, sizeof path, "/webhooks/%s/rotate", id);
    want(post(g, path, ""), 200, "whsec_");
    (void)snprintf(path, sizeof path, "/webhooks/%s/confirm", id);
    want(post(g, path, ""), 303, "done=confirmed");
    (void)snprintf(path, sizeof path, "/webhooks?q=%s", id);
    want(visit(g, "GET", path, NULL), 303, id);
    want(visit(g, "GET", "/webhooks?q=nothing", NULL), 200, "No webhook fits");
    want(visit(g, "GET", "/webhooks/wh_none", NULL), 404, "Not found");
    (void)snprintf(path, sizeof path, "/webhooks/%s/delete", id);
    want(visit(g, "GET", path, NULL), 200, "Keep it");
    want(post(g, path, "confirm=no"), 400, "not the id");
    char confirm[160];
    (void)snprintf(confirm, sizeof confirm, "confirm=%s", id);
    want(post(g, path, confirm), 303, "done=deleted");
    assert_int_equal(g->gone, 1);
    want(visit(g, "GET", "/audit", NULL), 200, "webhook.delete");
}

static void project(void **state)
{
    api_rig *g = *state;
    sign_in(g, CD_WH_C);
    want(visit(g, "GET", "/", NULL), 200, "Quota today");
    want(visit(g, "GET", "/events", NULL), 200, "PENDING_TRANSACTION");
    want(visit(g, "GET", "/keys", NULL), 200, "main");
    want(post(g, "/keys", "label=%3Cb%3Eci"), 200, "sk_");
    assert_null(strstr((const char *)g->answer.p, "<b>ci"));
    want(post(g, "/notifications", "email=a%40b.example&mail_quota=on"), 303, "done=saved");
    want(visit(g, "GET", "/notifications", NULL), 200, "a@b.example");
    want(post(g, "/notifications", "email=a%0D%0ABcc%3A"), 400, NULL);
    want(post(g, "/notifications", "ops_url=https%3A%2F%2F10.0.0.1%2F"), 400, "cannot be used");
    want(post(g, "/notifications", "ops_url=https%3A%2F%2Fops.example%2F%3Ft%3D1"), 200, "Send a test event");
    want(visit(g, "GET", "/notifications", NULL), 200, "https://ops.example/?t=1");
    want(post(g, "/notifications", "ops_url="), 303, "done=saved");
    // one that may only read
    char fields[128];
    g->cookie[0] = '\0';
    (void)visit(g, "GET", "/sign-in", NULL);
    (void)snprintf(fields, sizeof fields, "key=%s", g->reader);
    want(post(g, "/sign-in", fields), 303, NULL);
    want(visit(g, "GET", "/", NULL), 200, NULL);
    want(visit(g, "GET", "/keys", NULL), 403, "may only read");
    want(post(g, "/webhooks/new", NEW), 403, "may only read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions),
        cmocka_unit_test(pages),
        cmocka_unit_test(project),
    };
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
