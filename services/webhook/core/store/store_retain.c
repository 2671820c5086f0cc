#include "services/webhook/core/store/store_priv.h"

#define DAY_MS  ((u64)86400000)
#define HOUR_MS ((u64)3600000)
#define SEEN_MS (3 * DAY_MS) /* how long an event of no block is known, and a row stays at least */
#define MAIL_MS (90 * DAY_MS)
#define STAT_MS (90 * DAY_MS)

/* One walk over the ledger from its old end; counter has how far it came. */
typedef struct walk {
    const char *counter;
    u64 before_ms;
    cd_err (*cut)(cd_wh_store *s, i64 key, cd_errinfo *why);
} walk;

static cd_err cut_texts(cd_wh_store *s, i64 key, cd_errinfo *why)
{
    CD_TRY(WH_RUN(s, BODY_CUT, why, cd_sql_i(key), cd_sql_b((cd_bytes){0})));
    return WH_RUN(s, ATTEMPTS_CUT, why, cd_sql_i(key << CD__WH_ATTEMPTS_BITS),
                  cd_sql_i((key + 1) << CD__WH_ATTEMPTS_BITS));
}

static cd_err cut_row(cd_wh_store *s, i64 key, cd_errinfo *why)
{
    CD_TRY(WH_RUN(s, ATTEMPTS_CUT, why, cd_sql_i(key << CD__WH_ATTEMPTS_BITS),
                  cd_sql_i((key + 1) << CD__WH_ATTEMPTS_BITS)));
    CD_TRY(WH_RUN(s, EVENT_CUT, why, cd_sql_i(key)));
    CD_TRY(WH_RUN(s, MARKS_CUT, why, cd_sql_i(key)));
    return WH_RUN(s, ROW_CUT, why, cd_sql_i(key));
}

/* The next bite of a walk: what waits or is held stays as it is. */
static cd_err bite(cd_wh_store *s, bool *more, const walk *w, u32 max, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf keys = {0};
    i64 at = 0;
    usize seen = 0;
    CD_TRY(WH_ONE(s, &st, COUNTER_GET, why, cd_sql_t(w->counter)));
    at = cd_sql_col_i(st, 0);
    cd_err err = WH_QUERY(s, &st, BITE, why, cd_sql_i(at), cd_sql_i(max));
    for (bool is_row = true; err == CD_OK; seen++) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row || cd_sql_col_u(st, 1) >= w->before_ms) {
            break;
        }
        at = cd_sql_col_i(st, 0);
        if (cd_sql_col_i(st, 2) == 0) {
            cd_buf_put(&keys, cd_bytes_of(&at, sizeof at));
        }
    }
    for (usize i = 0; i < keys.n && err == CD_OK; i += sizeof at) {
        i64 key = 0;
        memcpy(&key, keys.p + i, sizeof key);
        err = w->cut(s, key, why);
    }
    cd_buf_fini(&keys);
    if (err == CD_OK && seen > 0) {
        err = WH_RUN(s, COUNTER_PUT, why, cd_sql_t(w->counter), cd_sql_i(at));
    }
    if (err == CD_OK) {
        *more = seen == max;
    }
    return err;
}

cd_err cd_wh_retain(cd_wh_store *s, bool *more, u64 texts_ms, u64 rows_ms, u32 max, cd_errinfo *why)
{
    u64 now = cd__wh_now(s);
    const walk texts = {.counter = "texts", .before_ms = texts_ms, .cut = cut_texts};
    const walk rows = {
        .counter = "rows", .before_ms = cd_min_u64(rows_ms, now < SEEN_MS ? 0 : now - SEEN_MS), .cut = cut_row};
    bool more_texts = false;
    bool more_rows = false;
    CD_TRY(bite(s, &more_texts, &texts, max, why));
    CD_TRY(bite(s, &more_rows, &rows, max, why));
    if (!more_texts && !more_rows) {
        CD_TRY(WH_RUN(s, SEEN_CUT, why, cd_sql_u(now < SEEN_MS ? 0 : now - SEEN_MS)));
        CD_TRY(WH_RUN(s, KEPT_CUT, why, cd_sql_u(now < DAY_MS ? 0 : now - DAY_MS)));
        CD_TRY(WH_RUN(s, STATS_CUT, why, cd_sql_u(now < STAT_MS ? 0 : (now - STAT_MS) / HOUR_MS)));
        CD_TRY(WH_RUN(s, MAIL_CUT, why, cd_sql_u(now < MAIL_MS ? 0 : now - MAIL_MS)));
    }
    *more = more_texts || more_rows;
    return CD_OK;
}
