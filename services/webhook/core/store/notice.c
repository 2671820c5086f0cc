#include "services/webhook/core/store/notice.h"

#include "base/num_text.h"
#include "codec/json.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/core/chain/event.h"
#include "services/webhook/core/names.h"
#include "services/webhook/core/store/records.h"
#include "services/webhook/core/store/store_priv.h"

/* --- targets --- */

static const char *setting_of(cd_arena *mem, i64 hook)
{
    return hook == 0 ? "ops" : cd_arena_fmt(mem, "ops/%lld", (long long)hook);
}

cd_err cd_wh_notice_target(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, const char *project, i64 hook,
                           cd_errinfo *why)
{
    cd_bytes text;
    i64 key;
    CD_TRY(cd_wh_setting_get(s, &text, mem, project, setting_of(mem, hook), why));
    if (cd_i64_parse(&key, text) != CD_OK || key == 0) {
        return cd_fail(why, CD_ENOENT, "nobody is told of what happens");
    }
    return cd_wh_hook_by_key(s, out, mem, key, false, why);
}

cd_err cd_wh_notice_target_set(cd_wh_store *s, const char *project, i64 hook, i64 target, cd_errinfo *why)
{
    cd_arena mem = {0};
    char text[CD_U64_TEXT_MAX + 1];
    usize n = cd_i64_fmt(text, target);
    cd_err err = cd_wh_setting_put(s, cd_bytes_of(text, n), project, setting_of(&mem, hook), why);
    cd_arena_fini(&mem);
    return err;
}

/* The webhook's own, else the project's. */
static cd_err target_find(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, const cd_wh_notice *n, cd_errinfo *why)
{
    cd_err err = n->hook == NULL ? CD_ENOENT : cd_wh_notice_target(s, out, mem, n->project, n->hook->key, why);
    return err != CD_ENOENT ? err : cd_wh_notice_target(s, out, mem, n->project, 0, why);
}

/* --- bodies --- */

/* A and C write names in camel case. */
static void put_key(cd_json_w *w, cd_wh_face face, const char *name)
{
    char out[32];
    usize n = 0;
    for (const char *p = name; *p != '\0' && n < sizeof out - 1; p++) {
        bool is_hump = *p == '_' && face != CD_WH_B;
        p += is_hump ? 1 : 0;
        out[n] = *p;
        if (is_hump) {
            out[n] &= (char)~0x20; /* capital */
        }
        n++;
    }
    out[n] = '\0';
    cd_json_w_key(w, out);
}

static void put_str(cd_json_w *w, cd_wh_face face, const char *name, const char *text)
{
    put_key(w, face, name);
    if (text == NULL) {
        cd_json_w_null(w);
    } else {
        cd_json_w_cstr(w, text);
    }
}

static void put_u64(cd_json_w *w, cd_wh_face face, const char *name, u64 v)
{
    put_key(w, face, name);
    cd_json_w_u64(w, v);
}

static void put_l1(cd_json_w *w, const cd_wh_l1 *l1, cd_wh_face face)
{
    put_str(w, face, "chain", l1->chain);
    put_str(w, face, "subnet_id", l1->net);
    put_str(w, face, "state", l1->state);
    put_str(w, face, "severity", l1->severity);
    put_str(w, face, "cause", l1->cause[0] == '\0' ? NULL : l1->cause);
    put_str(w, face, "message", l1->text);
    put_str(w, face, "help", l1->help[0] == '\0' ? NULL : l1->help);
}

static void put_data(cd_json_w *w, const cd_wh_notice *n, cd_wh_face face)
{
    if (n->l1 != NULL) {
        put_l1(w, n->l1, face);
        return;
    }
    if (n->hook == NULL) {
        put_u64(w, face, "percent", n->percent);
        return;
    }
    put_str(w, face, "webhook_id", n->hook->id);
    put_key(w, face, "url"); /* what stands behind "?" may be a secret */
    cd_json_w_str(w, cd_bytes_of(n->hook->url, strcspn(n->hook->url, "?")));
    put_str(w, face, "status", cd_wh_status_name(face, n->hook->status));
    put_str(w, face, "reason", n->reason);
    if (n->d != NULL) {
        put_str(w, face, "event_id", n->d->event.id);
        put_key(w, face, "delivery_id");
        char text[CD_U64_TEXT_MAX + 1];
        cd_json_w_str(w, cd_bytes_of(text, cd_i64_fmt(text, n->d->key)));
        put_u64(w, face, "attempts", n->d->attempts);
        put_key(w, face, "last_status");
        if (n->last != NULL && n->last->status != 0) {
            cd_json_w_u64(w, n->last->status);
        } else {
            cd_json_w_null(w);
        }
        put_str(w, face, "last_error", n->last != NULL && n->last->error[0] != '\0' ? n->last->error : NULL);
    }
}

static void put_time(cd_json_w *w, const char *key, u64 ms, bool with_ms)
{
    char text[CD_TIME_TEXT_LEN];
    cd_time_fmt(text, ms * CD_NS_PER_MS);
    cd_json_w_key(w, key);
    if (with_ms) {
        cd_json_w_str(w, cd_bytes_of(text, 24));
    } else {
        text[19] = 'Z';
        cd_json_w_str(w, cd_bytes_of(text, 20));
    }
}

static void put_body(cd_buf *out, const cd_wh_notice *n, const cd_wh_event *e, const cd_wh_hook *target, bool is_test)
{
    cd_json_w w = {.out = out};
    const char *name = cd_wh_type_name(e->type);
    cd_wh_face face = target->face;
    cd_json_w_obj(&w);
    put_str(&w, face, "id", e->id);
    if (face == CD_WH_A) { /* flat, as all of A's */
        put_str(&w, face, "event", name);
        put_data(&w, n, face);
        put_time(&w, "timestamp", e->time_ms, false);
    } else {
        put_str(&w, face, face == CD_WH_B ? "event_type" : "type", name);
        if (face == CD_WH_B) {
            put_str(&w, face, "webhook_id", target->id);
        }
        put_time(&w, face == CD_WH_B ? "created_at" : "createdAt", e->time_ms, face == CD_WH_C);
        cd_json_w_key(&w, "data");
        cd_json_w_obj(&w);
        put_data(&w, n, face);
        cd_json_w_obj_end(&w);
    }
    if (is_test) {
        cd_json_w_key(&w, "test");
        cd_json_w_bool(&w, true);
    }
    cd_json_w_obj_end(&w);
}

static void event_make(cd_wh_event *e, cd_arena *mem, const cd_wh_notice *n, const cd_wh_hook *target, u64 now_ms,
                       bool is_test)
{
    cd_buf text = {0};
    cd_hash32 sum;
    *e = (cd_wh_event){.hook = target->key, .type = (cd_wh_type)n->type, .time_ms = now_ms};
    /* Of events that are given up one a minute is told: where one is, there are more. An L1 that comes and goes, or
     * that several workers look at, is told of once an hour. */
    enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };
    bool is_of_many = n->type == CD_WH_NOTICE_FAILED;
    u64 unit = is_of_many ? MINUTE_MS : n->l1 != NULL ? HOUR_MS : 1;
    cd_buf_fmt(&text, "svc/notice/v1 %s %s %s %lld %llu", cd_wh_type_name(e->type), target->id,
               n->hook == NULL ? "" : n->hook->id, n->d == NULL || is_of_many ? 0LL : (long long)n->d->key,
               (unsigned long long)(now_ms / unit));
    if (n->l1 != NULL) {
        cd_buf_fmt(&text, " %s %s %s", n->l1->net, n->l1->severity, n->l1->cause);
    }
    cd_sha256(&sum, cd_buf_bytes(&text));
    memcpy(e->h, sum.b, 32);
    cd_wh_event_id(e->id, target->face, e->h, now_ms);
    cd_buf_clear(&text);
    put_body(&text, n, e, target, is_test);
    e->body = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

/* --- telling --- */

static cd_err put(cd_wh_store *s, const cd_wh_notice *n, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_hook target;
    cd_wh_event e;
    cd_wh_enqueued made;
    cd_err err = target_find(s, &target, mem, n, why);
    if (err != CD_OK) {
        return err == CD_ENOENT ? CD_OK : err;
    }
    event_make(&e, mem, n, &target, cd__wh_now(s), false);
    u32 ahead = s->ahead;
    s->ahead = 0; /* nothing is handed out here: it waits for a claim */
    err = cd_wh_enqueue(s, &made, mem, &e, 1, NULL, 0, NULL, why);
    s->ahead = ahead;
    return err;
}

cd_err cd_wh_notice_put(cd_wh_store *s, const cd_wh_notice *n, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_err err = n->hook != NULL && cd_wh_hook_is_target(n->hook) ? CD_OK : put(s, n, &mem, why);
    cd_arena_fini(&mem);
    return err;
}

static cd_err given_up(cd_wh_store *s, const cd_wh_delivery *d, cd_wh_status status, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_hook hook;
    cd_wh_delivery row;
    cd_wh_attempt *attempts;
    usize cnt;
    cd_err err = cd_wh_hook_by_key(s, &hook, mem, d->hook, false, why);
    if (err != CD_OK) {
        return err == CD_ENOENT ? CD_OK : err;
    }
    CD_TRY(cd_wh_delivery_get(s, &row, &attempts, &cnt, mem, d->hook, d->key, why));
    const cd_wh_attempt *last = cnt == 0 ? NULL : &attempts[cnt - 1];
    hook.status = status;
    const cd_wh_notice n = {
        .type = status == CD_WH_PAUSED     ? CD_WH_NOTICE_PAUSED
                : status == CD_WH_DISABLED ? CD_WH_NOTICE_DISABLED
                                           : CD_WH_NOTICE_FAILED,
        .project = hook.project,
        .hook = &hook,
        .reason = last != NULL && last->status == 410 ? "gone" : "attempts_exhausted",
        .d = &row,
        .last = last,
    };
    return cd_wh_notice_put(s, &n, why);
}

cd_err cd_wh_notice_given_up(cd_wh_store *s, const cd_wh_delivery *d, cd_wh_status status, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_err err = given_up(s, d, status, &mem, why);
    cd_arena_fini(&mem);
    return err;
}

/* --- an L1 --- */

/* Whether a project has a webhook on the chain. */
static cd_err is_on(cd_wh_store *s, bool *out, const char *project, const char *chain, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    i64 key = 0;
    *out = false;
    CD_TRY(cd__wh_project_key(s, &key, project, why));
    CD_TRY(WH_QUERY(s, &st, HOOK_ON_CHAIN, why, cd_sql_i(key), cd_sql_t(chain)));
    return cd_sql_next(st, out, why);
}

/* Whether that is what was told last ("MS NET SEVERITY CAUSE"), less than a day ago; who is well is not told again. */
static bool was_told(cd_bytes last, const char *what, bool is_well, u64 now_ms)
{
    enum { DAY_MS = 24 * 3600 * 1000 };
    u64 at = 0;
    usize digits = 0;
    while (digits < last.n && last.p[digits] != ' ') {
        digits++;
    }
    if (digits == last.n || cd_u64_parse(&at, cd_bytes_sub(last, 0, digits)) != CD_OK) {
        return false;
    }
    return cd_bytes_eq(cd_bytes_sub(last, digits + 1, last.n - digits - 1), cd_bytes_str(what)) &&
           (is_well || now_ms < at + DAY_MS);
}

/* Of every project is remembered what it was told, so that one that comes later hears of what is wrong already. */
static cd_err tell_project(cd_wh_store *s, const cd_wh_l1 *l1, cd_arena *mem, const char *project, cd_errinfo *why)
{
    cd_wh_hook target;
    cd_bytes last = {0};
    bool on;
    u64 now = cd__wh_now(s);
    bool is_well = strcmp(l1->severity, "well") == 0;
    const cd_wh_notice n = {.type = CD_WH_NOTICE_L1, .project = project, .l1 = l1};
    const char *name = cd_arena_fmt(mem, "l1/%s", l1->chain);
    const char *what = cd_arena_fmt(mem, "%s %s %s", l1->net, l1->severity, l1->cause);
    cd_err err = target_find(s, &target, mem, &n, why);
    if (err != CD_OK) {
        return err == CD_ENOENT ? CD_OK : err;
    }
    err = cd_wh_setting_get(s, &last, mem, project, name, why);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    if (err == CD_ENOENT ? is_well : was_told(last, what, is_well, now)) {
        return CD_OK;
    }
    CD_TRY(is_on(s, &on, project, l1->chain, why));
    if (!on) {
        return CD_OK;
    }
    CD_TRY(cd_wh_notice_put(s, &n, why));
    const char *value = cd_arena_fmt(mem, "%llu %s", (unsigned long long)now, what);
    return cd_wh_setting_put(s, cd_bytes_str(value), project, name, why);
}

static cd_err tell_l1(cd_wh_store *s, const cd_wh_l1 *l1, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_project *p;
    usize cnt;
    cd_err err = cd_wh_project_list(s, &p, &cnt, mem, why);
    for (usize i = 0; err == CD_OK && i < cnt; i++) {
        err = tell_project(s, l1, mem, p[i].id, why);
    }
    return err;
}

cd_err cd_wh_notice_l1(cd_wh_store *s, const cd_wh_l1 *l1, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_err err = tell_l1(s, l1, &mem, why);
    cd_arena_fini(&mem);
    return err;
}

/* --- examples --- */

cd_wh_event cd_wh_notice_example(cd_arena *mem, const cd_wh_hook *target, cd_wh_notice_type type, u64 now_ms)
{
    static const cd_wh_hook hook = {.id = "example", .url = "https://example.com/hook"};
    static const cd_wh_attempt last = {.status = 503, .error = "status"};
    static const cd_wh_l1 l1 = {
        .chain = "mine",
        .net = "29uVeLPJB1eQJkzRemU8g8wZDw5uJRqpab5U2mX9euieVwiEbL",
        .state = "runs",
        .severity = "warning",
        .cause = "balances",
        .text = "The balance of one validator ends in 6 days.",
        .help = "Top it up: candela-cli l1 top-up.",
    };
    const cd_wh_delivery d = {.key = 1, .attempts = 6, .event = {.id = "evt_example"}};
    bool is_l1 = type == CD_WH_NOTICE_L1;
    bool is_quota = type == CD_WH_NOTICE_WARNING || type == CD_WH_NOTICE_QUOTA;
    bool is_resumed = type == CD_WH_NOTICE_RESUMED;
    cd_wh_hook subject = hook;
    subject.status = type == CD_WH_NOTICE_PAUSED     ? CD_WH_PAUSED
                     : type == CD_WH_NOTICE_DISABLED ? CD_WH_DISABLED
                                                     : CD_WH_ACTIVE;
    const cd_wh_notice n = {
        .type = type,
        .hook = is_quota || is_l1 ? NULL : &subject,
        .reason = is_resumed ? "request" : "attempts_exhausted",
        .d = is_quota || is_resumed || is_l1 ? NULL : &d,
        .last = &last,
        .percent = type == CD_WH_NOTICE_WARNING ? 80 : 100,
        .l1 = is_l1 ? &l1 : NULL,
    };
    cd_wh_event e;
    event_make(&e, mem, &n, target, now_ms, true);
    return e;
}
