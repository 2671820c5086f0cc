#include "base/mem/mem.h"
#include "services/webhook/core/store/store_priv.h"

/* Replays are made from a list of at most so many. */
enum { REPLAY_MAX = 10000 };

/* --- where in the ledger --- */

/* The first key whose row was made at at_ms or later; keys grow with time, so it is searched for by halving. */
static cd_err key_at(cd_wh_store *s, i64 *key, u64 at_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(cd__wh_one(s, &st, CD__WH_KEY_RANGE, NULL, 0, why));
    i64 lo = cd_sql_col_i(st, 0);
    i64 hi = cd_sql_col_i(st, 1) + 1;
    while (lo < hi) {
        i64 mid = lo + (hi - lo) / 2;
        bool is_row = false;
        CD_TRY(WH_QUERY(s, &st, KEY_NEAR, why, cd_sql_i(mid)));
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (is_row && cd_sql_col_u(st, 1) < at_ms) {
            lo = cd_sql_col_i(st, 0) + 1;
        } else {
            hi = mid;
        }
    }
    *key = lo;
    return CD_OK;
}

/* Keys of the query's time and place: lo <= key < hi. */
static cd_err key_range(cd_wh_store *s, i64 *lo, i64 *hi, const cd_wh_delivery_query *q, cd_errinfo *why)
{
    i64 from = 0;
    i64 to = q->before > 0 ? q->before : INT64_MAX;
    if (q->from_ms != 0) {
        CD_TRY(key_at(s, &from, q->from_ms, why));
    }
    if (q->to_ms != 0) {
        i64 end = 0;
        CD_TRY(key_at(s, &end, q->to_ms + 1, why));
        to = end < to ? end : to;
    }
    *lo = from;
    *hi = to;
    return CD_OK;
}

/* A row of the webhook at or above key `hi`, near it: the place from which the chain of prev leads to all below. */
static cd_err entry(cd_wh_store *s, i64 *key, i64 hook, i64 hi, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_row = false;
    CD_TRY(WH_QUERY(s, &st, MARK_AFTER, why, cd_sql_i(hook), cd_sql_i(hi)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (!is_row) {
        CD_TRY(WH_ONE(s, &st, QUEUE_TAIL, why, cd_sql_i(hook)));
    }
    *key = cd_sql_col_i(st, 0);
    return CD_OK;
}

/* --- the list --- */

/* A text with its values. */
typedef struct query {
    cd_buf text;
    cd_sql_val vals[16];
    usize cnt;
} query;

static void put(query *x, const char *text, cd_sql_val v)
{
    x->vals[x->cnt++] = v;
    cd_buf_fmt(&x->text, "%s?%zu", text, x->cnt);
}

static void filters(query *x, const cd_wh_delivery_query *q, i64 lo, i64 hi)
{
    put(x, " AND d.key >= ", cd_sql_i(lo));
    put(x, " AND d.key < ", cd_sql_i(hi));
    if (q->from_block != 0) {
        put(x, " AND d.block >= ", cd_sql_u(q->from_block));
    }
    if (q->to_block != 0) {
        put(x, " AND d.block <= ", cd_sql_u(q->to_block));
    }
    if (q->event_id != NULL) {
        put(x, " AND e.id = ", cd_sql_t(q->event_id));
    }
    if (q->events_only) {
        cd_buf_str(&x->text, " AND d.kind IN (0, 3)");
    }
    if (q->states != 0) {
        const char *comma = "";
        cd_buf_str(&x->text, " AND d.state IN (");
        for (u32 i = 0; i < CD_WH_STATES_CNT; i++) {
            if ((q->states >> i & 1) != 0) {
                cd_buf_fmt(&x->text, "%s%u", comma, i);
                comma = ", ";
            }
        }
        cd_buf_str(&x->text, ")");
    }
}

/* Four ways, each of which reads little more than it gives: what went wrong has an index; a webhook's rows are chained;
 * a project's are picked from the newest of all. */
static void compose(query *x, const cd_wh_delivery_query *q, i64 lo, i64 hi, i64 start)
{
    static const char rows[] = "SELECT " CD__WH_ROW " FROM ";
    static const char joined[] = "delivery AS d JOIN event AS e ON e.key = d.key WHERE ";
    bool is_odd = q->states != 0 && q->states >> CD__WH_ODD_FROM << CD__WH_ODD_FROM == q->states;
    if (is_odd) {
        cd_buf_fmt(&x->text, "%s%sd.state >= %d", rows, joined, CD__WH_ODD_FROM);
        if (q->hook != 0) {
            put(x, " AND d.hook = ", cd_sql_i(q->hook));
        } else {
            put(x,
                " AND d.hook IN (SELECT h.key FROM hook AS h JOIN project AS p ON p.key = "
                "h.project "
                "WHERE p.id = ",
                cd_sql_t(q->project));
            cd_buf_str(&x->text, ")");
        }
    } else if (q->hook != 0) {
        put(x, "WITH RECURSIVE w(k) AS (SELECT CAST(", cd_sql_i(start));
        put(x,
            " AS BIGINT) UNION ALL SELECT c.prev FROM w JOIN delivery AS c ON c.key = w.k WHERE "
            "c.prev > 0 AND c.prev >= ",
            cd_sql_i(lo));
        cd_buf_fmt(&x->text, ") %sw JOIN %s1 = 1", rows,
                   "delivery AS d ON d.key = w.k JOIN event AS "
                   "e ON e.key = d.key WHERE ");
    } else {
        cd_buf_fmt(&x->text, "%s%s", rows, joined);
        put(x,
            "d.hook IN (SELECT h.key FROM hook AS h JOIN project AS p ON p.key = h.project WHERE "
            "p.id = ",
            cd_sql_t(q->project));
        cd_buf_str(&x->text, ")");
    }
    filters(x, q, lo, hi);
    /* The chain comes newest first by itself; to be told so would make the engine read all of it. */
    put(x, is_odd || q->hook == 0 ? " ORDER BY d.key DESC LIMIT " : " LIMIT ", cd_sql_i(q->limit));
}

static cd_err list(cd_wh_store *s, cd_buf *rows, cd_arena *mem, const cd_wh_delivery_query *q, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    query x = {0};
    cd_wh_delivery d;
    i64 lo = 0;
    i64 hi = 0;
    i64 start = 0;
    cd_err err = key_range(s, &lo, &hi, q, why);
    if (err == CD_OK && q->hook != 0) {
        err = entry(s, &start, q->hook, hi, why);
    }
    if (err == CD_OK) {
        compose(&x, q, lo, hi, start);
        err = cd_sql_prepare(s->q, &st, cd_buf_cstr(&x.text), why);
    }
    if (err == CD_OK) {
        err = cd_sql_query_n(st, x.vals, x.cnt, why);
    }
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        cd__wh_row(&d, st, q->with_body ? mem : NULL);
        cd_buf_put(rows, cd_bytes_of(&d, sizeof d));
    }
    cd_sql_drop(st);
    cd_buf_fini(&x.text);
    return err;
}

cd_err cd_wh_delivery_list(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem,
                           const cd_wh_delivery_query *q, cd_errinfo *why)
{
    cd_buf rows = {0};
    cd_err err = list(s, &rows, mem, q, why);
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof **out, err);
}

static void attempt_row(cd_wh_attempt *out, cd_sql_stmt *st, cd_arena *mem)
{
    *out = (cd_wh_attempt){
        .number = (u32)(cd_sql_col_u(st, 0) & ((1u << CD__WH_ATTEMPTS_BITS) - 1)),
        .at_ms = cd_sql_col_u(st, 1),
        .ms = (u32)cd_sql_col_u(st, 2),
        .dns_ms = (u32)cd_sql_col_u(st, 3),
        .connect_ms = (u32)cd_sql_col_u(st, 4),
        .tls_ms = (u32)cd_sql_col_u(st, 5),
        .ttfb_ms = (u32)cd_sql_col_u(st, 6),
        .status = (u32)cd_sql_col_u(st, 7),
        .error = cd_sql_col_str(st, 8, mem),
        .request = cd_sql_col_str(st, 9, mem),
        .response = cd_sql_col_str(st, 10, mem),
        .body = cd_sql_col_dup(st, 11, mem),
    };
}

cd_err cd_wh_delivery_get(cd_wh_store *s, cd_wh_delivery *out, cd_wh_attempt **attempts, usize *attempts_cnt,
                          cd_arena *mem, i64 hook, i64 delivery, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_wh_delivery d;
    cd_wh_attempt a;
    CD_TRY(WH_ONE(s, &st, DELIVERY_GET, why, cd_sql_i(hook), cd_sql_i(delivery)));
    cd__wh_row(&d, st, mem);
    cd_err err = WH_QUERY(s, &st, ATTEMPTS, why, cd_sql_i(delivery << CD__WH_ATTEMPTS_BITS),
                          cd_sql_i((delivery + 1) << CD__WH_ATTEMPTS_BITS));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        attempt_row(&a, st, mem);
        cd_buf_put(&rows, cd_bytes_of(&a, sizeof a));
    }
    err = cd__wh_rows((void **)attempts, attempts_cnt, mem, &rows, sizeof a, err);
    if (err == CD_OK) {
        *out = d;
    }
    return err;
}

/* --- replay --- */

static bool waits(cd_wh_state state)
{
    return state == CD_WH_PENDING || state == CD_WH_DELIVERING || state == CD_WH_RETRYING || state == CD_WH_HELD;
}

/* Copies a row: the same event, a new life. */
static cd_err replay_row(cd_wh_store *s, i64 *made, i64 hook, i64 of, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    i64 now = (i64)cd__wh_now(s);
    i64 key = 0;
    CD_TRY(WH_ONE(s, &st, QUEUE_LOCK, why, cd_sql_i(hook)));
    bool is_active = cd_sql_col_i(st, 0) == CD_WH_ACTIVE;
    CD_TRY(WH_ONE(s, &st, QUEUE_TAIL, why, cd_sql_i(hook)));
    i64 tail = cd_sql_col_i(st, 0);
    i64 due = cd_sql_col_i(st, 2) == 0 ? now : CD__WH_BLOCKED;
    CD_TRY(cd__wh_keys(s, &key, 1, why));
    CD_TRY(WH_RUN(s, REPLAY_EVENT, why, cd_sql_i(key), cd_sql_i(of)));
    CD_TRY(WH_RUN(s, REPLAY_ROW, why, cd_sql_i(key), cd_sql_i(of), cd_sql_i(is_active ? CD_WH_PENDING : CD_WH_HELD),
                  cd_sql_i(now), is_active ? cd_sql_i(due) : cd_sql_null(), cd_sql_i(tail)));
    if (key % CD__WH_MARK_EVERY == 0) {
        CD_TRY(WH_RUN(s, MARK_ADD, why, cd_sql_i(hook), cd_sql_i(key)));
    }
    *made = key;
    return WH_RUN(s, TAIL_MOVE, why, cd_sql_i(hook), cd_sql_i(key), cd_sql_i(is_active), cd_sql_i(now));
}

cd_err cd_wh_replay_one(cd_wh_store *s, i64 *made, i64 hook, i64 delivery, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_delivery d;
    CD_TRY(WH_ONE(s, &st, DELIVERY_GET, why, cd_sql_i(hook), cd_sql_i(delivery)));
    cd__wh_row(&d, st, NULL);
    if (waits(d.state)) {
        return cd_fail(why, CD_EEXIST, "the delivery still waits");
    }
    if (cd_sql_col_b(st, 15).n == 0) {
        return cd_fail(why, CD_ENOENT, "the delivery's body is gone");
    }
    return replay_row(s, made, hook, delivery, why);
}

cd_err cd_wh_replay(cd_wh_store *s, u64 *queued, const cd_wh_delivery_query *q, cd_errinfo *why)
{
    cd_buf rows = {0};
    cd_arena mem = {0};
    cd_wh_delivery_query all = *q;
    u64 cnt = 0;
    i64 made = 0;
    all.limit = q->limit == 0 || q->limit > REPLAY_MAX ? REPLAY_MAX : q->limit;
    all.with_body = false;
    all.events_only = true;
    cd_err err = list(s, &rows, &mem, &all, why);
    for (usize i = rows.n / sizeof(cd_wh_delivery); i-- > 0 && err == CD_OK;) {
        const cd_wh_delivery *d = (const cd_wh_delivery *)(const void *)rows.p + i;
        if (waits(d->state)) {
            continue;
        }
        err = cd_wh_replay_one(s, &made, d->hook, d->key, why);
        if (err == CD_ENOENT) { /* the retention has been there */
            err = CD_OK;
            continue;
        }
        cnt += err == CD_OK ? 1 : 0;
    }
    cd_buf_fini(&rows);
    cd_arena_fini(&mem);
    if (err == CD_OK) {
        *queued = cnt;
    }
    return err;
}

/* --- the ledger by blocks --- */

/* The last block that is looked at. */
static cd_err ledger_end(cd_wh_store *s, u64 *end, u64 from_block, u64 to_block, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_row = false;
    CD_TRY(WH_QUERY(s, &st, BLOCK_AHEAD, why, cd_sql_u(from_block), cd_sql_i(CD_WH_LEDGER_ROWS)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    u64 ahead = is_row ? cd_sql_col_u(st, 0) : UINT64_MAX;
    *end = cd_min_u64(to_block, cd_max_u64(ahead - 1, from_block));
    return CD_OK;
}

cd_err cd_wh_ledger(cd_wh_store *s, cd_wh_block_row **out, usize *cnt, u64 *next, cd_arena *mem, i64 hook,
                    u64 from_block, u64 to_block, u32 limit, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_wh_block_row row = {0};
    u64 end = 0;
    CD_TRY(ledger_end(s, &end, from_block, to_block, why));
    *next = end < to_block ? end + 1 : 0;
    cd_err err = WH_QUERY(s, &st, BLOCKS, why, cd_sql_i(hook), cd_sql_u(from_block), cd_sql_u(end));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        u64 block = err == CD_OK && is_row ? cd_sql_col_u(st, 0) : 0;
        if (row.matches > 0 && block != row.block) {
            cd_buf_put(&rows, cd_bytes_of(&row, sizeof row));
            row = (cd_wh_block_row){0};
            if (is_row && rows.n / sizeof row == limit) {
                *next = block;
                break;
            }
        }
        if (err != CD_OK || !is_row) {
            break;
        }
        u64 state = cd_sql_col_u(st, 1);
        u64 n = cd_sql_col_u(st, 2);
        u64 low = cd_sql_col_u(st, 3);
        row.block = block;
        row.first_sequence = row.matches == 0 || low < row.first_sequence ? low : row.first_sequence;
        row.last_sequence = cd_max_u64(row.last_sequence, cd_sql_col_u(st, 4));
        row.matches += n;
        row.states[state < CD_WH_STATES_CNT ? state : CD_WH_CANCELLED] += n;
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof row, err);
}

cd_err cd_wh_ledger_events(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, u64 block, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_wh_delivery d;
    cd_err err = WH_QUERY(s, &st, BLOCK_ROWS, why, cd_sql_u(block));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        cd__wh_row(&d, st, NULL);
        cd_buf_put(&rows, cd_bytes_of(&d, sizeof d));
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof d, err);
}
