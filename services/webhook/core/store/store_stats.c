#include "services/webhook/core/store/store_priv.h"

#define DAY_MS  ((u64)86400000)
#define HOUR_MS ((u64)3600000)

enum { WRITE_EVERY_MS = 1000 };

/* What a number of an hour counts; from LATENCY on, attempts of a bucket. */
enum { ATTEMPTS, DELIVERED, FAILED, RETRIED, LATENCY };

/* --- counting --- */

static void count(cd_wh_store *s, i64 hook, u32 hour, u32 what)
{
    const cd__wh_stat_key key = {.hook = hook, .hour = hour, .what = what};
    u64 *n = cd_hmap_put(&s->stats, NULL, &key);
    ++*n;
}

static u32 bucket_of(u64 ms)
{
    u32 bits = ms == 0 ? 0 : 64 - (u32)__builtin_clzll(ms);
    return bits < CD_WH_BUCKETS ? bits : CD_WH_BUCKETS - 1;
}

void cd__wh_stats_note(cd_wh_store *s)
{
    u32 hour = s->notes_cnt == 0 ? 0 : (u32)(cd__wh_now(s) / HOUR_MS);
    for (usize i = 0; i < s->notes_cnt; i++) {
        const cd__wh_note *n = &s->notes[i];
        if (n->is_test || !n->is_attempt) {
            continue;
        }
        count(s, n->hook, hour, ATTEMPTS);
        count(s, n->hook, hour,
              n->state == CD_WH_DELIVERED  ? DELIVERED
              : n->state == CD_WH_RETRYING ? RETRIED
                                           : FAILED);
        if (n->is_answer) {
            count(s, n->hook, hour, LATENCY + bucket_of(n->latency_ms));
        }
    }
}

bool cd__wh_stats_due(const cd_wh_store *s, bool is_last)
{
    return cd_hmap_cnt(&s->stats) > 0 && (is_last || cd__wh_now(s) - s->stats_since_ms >= WRITE_EVERY_MS);
}

cd_err cd__wh_stats_write(cd_wh_store *s, cd_errinfo *why)
{
    const void *key = NULL;
    void *n = NULL;
    for (usize it = 0; cd_hmap_next(&s->stats, &it, &key, &n);) {
        const cd__wh_stat_key *k = key;
        CD_TRY(WH_RUN(s, STAT_ADD, why, cd_sql_i(k->hook), cd_sql_i(k->hour), cd_sql_i(k->what),
                      cd_sql_u(*(const u64 *)n)));
    }
    return CD_OK;
}

void cd__wh_stats_written(cd_wh_store *s)
{
    cd_hmap_clear(&s->stats);
    s->stats_since_ms = cd__wh_now(s);
}

/* --- asking --- */

cd_err cd_wh_stats(cd_wh_store *s, cd_wh_stat **out, usize *cnt, cd_arena *mem, i64 hook, const char *project,
                   u64 from_hour, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_wh_stat row = {0};
    bool is_open = false;
    cd_err err = hook != 0 ? WH_QUERY(s, &st, STATS_HOOK, why, cd_sql_i(hook), cd_sql_u(from_hour))
                           : WH_QUERY(s, &st, STATS_PROJECT, why, cd_sql_t(project), cd_sql_u(from_hour));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        bool ends = err == CD_OK && (!is_row || cd_sql_col_u(st, 0) != row.hour);
        if (is_open && ends) {
            cd_buf_put(&rows, cd_bytes_of(&row, sizeof row));
            row = (cd_wh_stat){0};
        }
        if (err != CD_OK || !is_row) {
            break;
        }
        u64 what = cd_sql_col_u(st, 1);
        u64 n = cd_sql_col_u(st, 2);
        u64 *places[] = {&row.attempts, &row.delivered, &row.failed, &row.retried};
        is_open = true;
        row.hour = cd_sql_col_u(st, 0);
        if (what < LATENCY) {
            *places[what] += n;
        } else if (what - LATENCY < CD_WH_BUCKETS) {
            row.latency[what - LATENCY] += n;
        }
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof row, err);
}

u64 cd_wh_stat_percentile(const cd_wh_stat *st, u32 percent)
{
    u64 all = 0;
    u64 below = 0;
    for (usize i = 0; i < CD_WH_BUCKETS; i++) {
        all += st->latency[i];
    }
    for (usize i = 0; i < CD_WH_BUCKETS && all > 0; i++) {
        below += st->latency[i];
        if (below * 100 >= all * percent) {
            return (u64)1 << i;
        }
    }
    return 0;
}

/* --- quota --- */

/* Days since 1970 of the first of the month that day is in, and of the next month's. */
static void month_of(u64 day, u64 *first, u64 *after)
{
    /* Civil calendar by eras of 400 years that begin on the 1st of March, so that the leap day is a year's last. */
    u64 z = day + 719468;
    u64 doe = z % 146097;
    u64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    u64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    u64 month = (5 * doy + 2) / 153; /* from March */
    u64 begins = (153 * month + 2) / 5;
    u64 ends = (153 * (month + 1) + 2) / 5;
    bool is_february = month == 11;
    bool is_leap = is_february && (yoe + 1) % 4 == 0 && ((yoe + 1) % 100 != 0 || (yoe + 1) % 400 == 0);
    *first = day - (doy - begins);
    *after = *first + (is_february ? (is_leap ? 29 : 28) : ends - begins);
}

cd_err cd__wh_used(cd_wh_store *s, u64 *events, i64 project, cd_wh_period period, u64 now_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    u64 first = now_ms / DAY_MS;
    u64 after = first + 1;
    if (period != CD_WH_PER_DAY) {
        month_of(first, &first, &after);
    }
    CD_TRY(WH_ONE(s, &st, USAGE_GET, why, cd_sql_i(project), cd_sql_u(first), cd_sql_u(after)));
    *events = cd_sql_col_u(st, 0);
    return CD_OK;
}

cd_err cd_wh_usage(cd_wh_store *s, u64 *events, const char *project, u64 at_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    i64 key = 0;
    CD_TRY(cd__wh_project_key(s, &key, project, why));
    CD_TRY(WH_ONE(s, &st, PROJECT_GET, why, cd_sql_t(project)));
    return cd__wh_used(s, events, key, (cd_wh_period)cd_sql_col_i(st, 5), at_ms, why);
}

/* --- backlog --- */

cd_err cd_wh_backlog_get(cd_wh_store *s, cd_wh_backlog *out, u64 now_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_backlog b = {0};
    bool is_row = false;
    CD_TRY(cd__wh_one(s, &st, CD__WH_COUNT_WAITING, NULL, 0, why));
    b.waiting = cd_sql_col_u(st, 0);
    CD_TRY(cd__wh_one(s, &st, CD__WH_IN_HAND, NULL, 0, why));
    b.in_hand = cd_sql_col_u(st, 0);
    CD_TRY(cd__wh_one(s, &st, CD__WH_STILL, NULL, 0, why));
    b.paused = cd_sql_col_u(st, 0);
    CD_TRY(WH_QUERY(s, &st, OVERDUE, why, cd_sql_u(now_ms)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (is_row && cd_sql_col_u(st, 0) < now_ms) {
        b.overdue_ms = now_ms - cd_sql_col_u(st, 0);
    }
    *out = b;
    return CD_OK;
}

cd_err cd_wh_backlog_of(cd_wh_store *s, cd_wh_backlog *out, const char *project, u64 now_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_backlog b = {0};
    i64 key = 0;
    CD_TRY(cd__wh_project_key(s, &key, project, why));
    CD_TRY(WH_ONE(s, &st, PROJECT_WAITING, why, cd_sql_i(key)));
    b.waiting = cd_sql_col_u(st, 0);
    u64 due = cd_sql_col_is_null(st, 1) ? now_ms : cd_sql_col_u(st, 1);
    b.overdue_ms = due < now_ms ? now_ms - due : 0;
    CD_TRY(WH_ONE(s, &st, PROJECT_IN_HAND, why, cd_sql_i(key)));
    b.in_hand = cd_sql_col_u(st, 0);
    *out = b;
    return CD_OK;
}
