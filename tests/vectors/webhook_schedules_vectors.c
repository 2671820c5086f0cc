/* Attempt times of the three faces, and what an answer does to them (webhooks/schedules.json), on a clock that is a
 * number. [spec:webhooks#1, #4] */
#include "services/webhook/core/send/schedule.h"
#include "tests/vectors/vec.h"

#define BEGIN_MS 1768473322000ull

/* All attempts of one event that never succeeds, each taking ms. */
static void run_face(vec *v, cd_json spec, const char *name, cd_wh_face face, const char *key, u64 ms)
{
    cd_json times = cd_json_get(spec, key);
    u64 at = BEGIN_MS;
    u32 number = 1;
    cd_wh_verdict last = {0};
    for (cd_json_it it = cd_json_iter(times); cd_json_next(&it); number++) {
        u64 want;
        vec_check(v, cd_json_u64(&want, it.val, NULL) == CD_OK && at == BEGIN_MS + want * 1000, "%s %s: attempt %u",
                  name, key, number);
        const cd_wh_met met = {.status = ms == 0 ? 500 : 0};
        last = cd_wh_judge(face, number, &met, CD_WH_ACTIVE, at + ms, 0, NULL);
        bool is_last = number == cd_json_len(times);
        vec_check(v, last.state == (is_last ? CD_WH_FAILED : CD_WH_RETRYING), "%s: state after %u", name, number);
        vec_check(v, last.ends_hook == (is_last && face != CD_WH_C), "%s: webhook after %u", name, number);
        at = last.next_ms;
    }
    vec_check(v, number - 1 == cd_wh_attempts_max(face), "%s: number of attempts", name);
    static const char *const terminal[] = {"webhook disabled", "webhook paused, one e-mail",
                                           "event failed, webhook stays active"};
    cd_bytes text;
    vec_check(v,
              cd_json_str(&text, cd_json_get(spec, "terminal"), NULL) == CD_OK &&
                  cd_bytes_eq(text, cd_bytes_str(terminal[face])) &&
                  (!last.ends_hook || last.hook_status == (face == CD_WH_A ? CD_WH_DISABLED : CD_WH_PAUSED)),
              "%s: terminal", name);
}

static void run_answer(vec *v, cd_json row)
{
    cd_bytes face = {0};
    cd_bytes retry_after = {0};
    u64 number;
    u64 status;
    u64 want_s;
    bool ok = cd_json_str(&face, cd_json_get(row, "face"), NULL) == CD_OK && face.n == 1 &&
              cd_json_u64(&number, cd_json_get(row, "attempt"), NULL) == CD_OK &&
              cd_json_u64(&status, cd_json_get(row, "status"), NULL) == CD_OK;
    vec_check(v, ok, "a row of retry_after is malformed");
    if (!ok) {
        return;
    }
    if (cd_json_has(cd_json_get(row, "retry_after"))) {
        vec_check(v, cd_json_str(&retry_after, cd_json_get(row, "retry_after"), NULL) == CD_OK, "text");
    }
    const cd_wh_met met = {.status = (u32)status, .retry_after = retry_after};
    cd_wh_verdict got = cd_wh_judge((cd_wh_face)(face.p[0] - 'A'), (u32)number, &met, CD_WH_ACTIVE, BEGIN_MS, 0, NULL);
    if (cd_json_u64(&want_s, cd_json_get(row, "next_delay_s"), NULL) == CD_OK) {
        ok = got.state == CD_WH_RETRYING && got.next_ms == BEGIN_MS + want_s * 1000;
    } else {
        cd_bytes next = {0};
        ok = cd_json_str(&next, cd_json_get(row, "next"), NULL) == CD_OK;
        ok = ok && got.state == (cd_bytes_eq(next, cd_bytes_str("delivered")) ? CD_WH_DELIVERED : CD_WH_FAILED);
    }
    vec_check(v, ok, "%.1s, attempt %u, status %u", face.p, (unsigned)number, (unsigned)status);
}

/* What the file does not say: dates, jitter, webhooks that are paused meanwhile. */
static void run_rest(vec *v)
{
    static const struct {
        const char *text;
        u64 want_ms;
    } rows[] = {
        {"0", 0},
        {"1", 1000},
        {"86399", 86399000},
        {"86400", 86400000},
        {"99999999999999999999999", 86400000},
        {"", 0},
        {"-1", 0},
        {"1.5", 0},
        {" 5", 0},
        {"soon", 0},
        {"Thu, 15 Jan 2026 10:36:22 GMT", 60000},
        {"Thu, 15 Jan 2026 10:35:22 GMT", 0},
        {"Thu, 15 Jan 2025 10:36:22 GMT", 0},
        {"Fri, 15 Jan 2027 10:36:22 GMT", 86400000},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        vec_check(v, cd_wh_retry_after_ms(cd_bytes_str(rows[i].text), BEGIN_MS) == rows[i].want_ms, "Retry-After: %s",
                  rows[i].text);
    }
    cd_rng rng = cd_rng_seeded(7);
    u64 least = UINT64_MAX;
    u64 most = 0;
    for (u32 i = 0; i < 1000; i++) {
        u64 at = cd_wh_judge(CD_WH_B, 1, &(cd_wh_met){.status = 500}, CD_WH_ACTIVE, 0, 0.1, &rng).next_ms;
        least = cd_min_u64(least, at);
        most = cd_max_u64(most, at);
    }
    vec_check(v, least >= 10000 && least < 10050 && most <= 11000 && most > 10950, "jitter: between %u and %u",
              (unsigned)least, (unsigned)most);
    cd_wh_verdict got = cd_wh_judge(CD_WH_B, 2, &(cd_wh_met){0}, CD_WH_PAUSED, 0, 0, NULL);
    vec_check(v, got.state == CD_WH_HELD && got.next_ms == 60000 && !got.ends_hook, "paused meanwhile");
    got = cd_wh_judge(CD_WH_B, 6, &(cd_wh_met){0}, CD_WH_PAUSED, 0, 0, NULL);
    vec_check(v, got.state == CD_WH_FAILED && !got.ends_hook, "paused already when the last one failed");
    got = cd_wh_judge(CD_WH_A, 1, &(cd_wh_met){.is_hopeless = true}, CD_WH_ACTIVE, 0, 0, NULL);
    vec_check(v, got.state == CD_WH_FAILED && !got.ends_hook, "an event that cannot be sent");
    got = cd_wh_judge(CD_WH_C, 1, &(cd_wh_met){.status = 410}, CD_WH_ACTIVE, 0, 0, NULL);
    vec_check(v, got.state == CD_WH_FAILED && !got.ends_hook, "C, 410");
    got = cd_wh_judge(CD_WH_A, 9, &(cd_wh_met){.status = 500}, CD_WH_ACTIVE, 0, 0, NULL);
    vec_check(v, got.state == CD_WH_FAILED && got.ends_hook, "more attempts than there are delays");
    static const u32 failures[] = {0, 100, 199, 300, 302, 400, 404, 500, 599};
    for (usize i = 0; i < CD_COUNT(failures); i++) {
        got = cd_wh_judge(CD_WH_C, 1, &(cd_wh_met){.status = failures[i]}, CD_WH_ACTIVE, 0, 0, NULL);
        vec_check(v, got.state == CD_WH_RETRYING, "%u is a failure", failures[i]);
    }
    vec_check(v,
              cd_wh_judge(CD_WH_C, 8, &(cd_wh_met){.status = 299}, CD_WH_PAUSED, 0, 0, NULL).state == CD_WH_DELIVERED,
              "a late success");
}

int main(void)
{
    vec v = {0};
    cd_json doc;
    if (vec_json(&v, &doc, vec_path(&v, "webhooks/schedules.json"))) {
        static const char *const faces[] = {"A", "B", "C"};
        for (usize i = 0; i < CD_COUNT(faces); i++) {
            cd_json spec = cd_json_get(doc, faces[i]);
            run_face(&v, spec, faces[i], (cd_wh_face)i, "attempt_times_s_if_each_attempt_takes_0s", 0);
            run_face(&v, spec, faces[i], (cd_wh_face)i, "attempt_times_s_if_each_attempt_times_out_after_15s", 15000);
            u32 number = 1;
            for (cd_json_it it = cd_json_iter(cd_json_get(spec, "delays_s")); cd_json_next(&it); number++) {
                u64 want;
                vec_check(&v,
                          cd_json_u64(&want, it.val, NULL) == CD_OK &&
                              cd_wh_delay_ms((cd_wh_face)i, number) == want * 1000,
                          "%s: delay %u", faces[i], number);
            }
        }
        for (cd_json_it it = cd_json_iter(cd_json_get(doc, "retry_after")); cd_json_next(&it);) {
            run_answer(&v, it.val);
        }
        run_rest(&v);
    }
    return vec_end(&v);
}
