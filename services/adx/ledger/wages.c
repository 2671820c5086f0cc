#include "services/adx/ledger/wages.h"

#include "base/mem/mem.h"
#include "services/adx/ledger/ledger_priv.h"

enum { DAY_S = 86400, SURPLUS_PART = 10, DUE_MAX = 256 };

#define WORKDAY_ADD                                                                                                    \
    "INSERT INTO workdays (miner, period, length_s, from_s, covered_s, up_s, impressions, bytes, proofs, proof_fees,"  \
    " clearing) VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (miner, period) DO UPDATE SET"           \
    " impressions = workdays.impressions + excluded.impressions, bytes = workdays.bytes + excluded.bytes,"             \
    " proofs = workdays.proofs + excluded.proofs, proof_fees = workdays.proof_fees + excluded.proof_fees,"             \
    " clearing = workdays.clearing + excluded.clearing"

#define WORKDAY "length_s, from_s, covered_s, up_s, impressions, bytes, proofs, proof_fees, clearing"

#define STATEMENTS(X)                                                                                                  \
    X(MINER, "SELECT since_s FROM miners WHERE id = ?1")                                                               \
    X(MINERS_CNT, "SELECT COUNT(*) FROM miners")                                                                       \
    X(MINERS_ACTIVE, "SELECT COUNT(*) FROM miners WHERE seen_s >= ?1 AND (id = ?2 OR ?2 = '')")                        \
    X(MINER_PUT,                                                                                                       \
      "INSERT INTO miners (id, public_key, wallet, since_s, seen_s) VALUES (?1, ?2, ?3, ?4, ?4) ON CONFLICT"           \
      " (id) DO UPDATE SET wallet = excluded.wallet, seen_s = excluded.seen_s")                                        \
    X(MINER_SEEN, "UPDATE miners SET seen_s = ?2 WHERE id = ?1 AND seen_s < ?2")                                       \
    X(MINERS_OVER, "DELETE FROM miners WHERE seen_s < ?1 AND NOT EXISTS (SELECT 1 FROM wages WHERE wages.miner ="      \
                   " miners.id) AND NOT EXISTS (SELECT 1 FROM workdays WHERE workdays.miner = miners.id)")             \
    X(MINERS, "SELECT id, public_key, wallet, since_s, seen_s FROM miners ORDER BY seen_s DESC, id LIMIT ?1")          \
    X(DELIVERY, "SELECT miner, bytes, is_paid FROM deliveries WHERE token = ?1")                                       \
    X(DELIVERY_PUT, "INSERT INTO deliveries (token, miner, bytes, is_paid, expires_s) VALUES (?1, ?2, ?3, ?4, ?5)"     \
                    " ON CONFLICT (token) DO UPDATE SET bytes = excluded.bytes, is_paid = excluded.is_paid")           \
    X(DELIVERIES_OVER, "DELETE FROM deliveries WHERE expires_s < ?1")                                                  \
    X(WORK_ADD, WORKDAY_ADD)                                                                                           \
    X(WORK_UP, "INSERT INTO workdays (miner, period, length_s, from_s, covered_s, up_s, impressions, bytes, proofs,"   \
               " proof_fees, clearing) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0) ON CONFLICT (miner, period) DO"  \
               " UPDATE SET covered_s = excluded.covered_s, up_s = excluded.up_s")                                     \
    X(WORK, "SELECT " WORKDAY " FROM workdays WHERE miner = ?1 AND period = ?2")                                       \
    X(WORK_DUE, "SELECT miner, period, " WORKDAY " FROM workdays WHERE (period + 1) * length_s + CASE WHEN length_s <" \
                " 600 THEN length_s / 10 ELSE 60 END <= ?1 ORDER BY period, miner LIMIT ?2")                           \
    X(WORK_OPEN, "SELECT miner, period, " WORKDAY " FROM workdays WHERE miner = ?1 OR ?1 = ''")                        \
    X(WORK_END, "DELETE FROM workdays WHERE miner = ?1 AND period = ?2")                                               \
    X(WAGES_ADD, "INSERT INTO wages (miner, up_s, seconds, impressions, bytes, base, bandwidth, bonus, auction,"       \
                 " proofs) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (miner) DO UPDATE SET"         \
                 " up_s = wages.up_s + excluded.up_s, seconds = wages.seconds + excluded.seconds,"                     \
                 " impressions = wages.impressions + excluded.impressions, bytes = wages.bytes + excluded.bytes,"      \
                 " base = wages.base + excluded.base, bandwidth = wages.bandwidth + excluded.bandwidth,"               \
                 " bonus = wages.bonus + excluded.bonus, auction = wages.auction + excluded.auction,"                  \
                 " proofs = wages.proofs + excluded.proofs")                                                           \
    X(WAGES_SUM, "SELECT CAST(COALESCE(SUM(up_s), 0) AS BIGINT), CAST(COALESCE(SUM(seconds), 0) AS BIGINT),"           \
                 " CAST(COALESCE(SUM(impressions), 0) AS BIGINT), CAST(COALESCE(SUM(bytes), 0) AS BIGINT),"            \
                 " CAST(COALESCE(SUM(base), 0) AS BIGINT), CAST(COALESCE(SUM(bandwidth), 0) AS BIGINT),"               \
                 " CAST(COALESCE(SUM(bonus), 0) AS BIGINT), CAST(COALESCE(SUM(auction), 0) AS BIGINT),"                \
                 " CAST(COALESCE(SUM(proofs), 0) AS BIGINT) FROM wages WHERE miner = ?1 OR ?1 = ''")                   \
    X(PAID_SUM, "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM accounts WHERE name = 'paid/' || ?1 OR (?1 = ''" \
                " AND name LIKE 'paid/%')")                                                                            \
    X(CARRY, "SELECT rest FROM carries WHERE publisher = 'miner/' || ?1")                                              \
    X(CARRY_PUT, "INSERT INTO carries (publisher, rest) VALUES ('miner/' || ?1, ?2) ON CONFLICT (publisher) DO UPDATE" \
                 " SET rest = excluded.rest")

enum { STATEMENTS(CD__ST_NAME) ST_CNT };
static const char *const texts[] = {STATEMENTS(CD__ST_TEXT)};

cd_err cd__wages_open(cd_ledger *l, cd_errinfo *why)
{
    return cd__ledger_prepare(&l->wages, l, texts, CD_COUNT(texts), why);
}

static cd_err number(cd_ledger *l, int st, i64 *out, const char *name, cd_errinfo *why)
{
    const cd_sql_val v = cd_sql_t(name);
    return cd__ledger_number(l->wages[st], out, &v, name == NULL ? 0 : 1, why);
}

/* --- who --- */

cd_err cd_wages_register(cd_ledger *l, cd_miner_row *m, u64 most, u64 now_s, cd_errinfo *why)
{
    i64 since;
    CD_TRY(number(l, ST_MINER, &since, m->id, why));
    if (since == 0) {
        i64 cnt;
        CD_TRY(cd__ledger_number(l->wages[ST_MINERS_CNT], &cnt, NULL, 0, why));
        if ((u64)cnt >= most) {
            return cd_fail(why, CD_EFULL, "there are %llu miners already", (unsigned long long)most);
        }
    }
    m->since_s = since != 0 ? (u64)since : now_s;
    m->seen_s = now_s;
    return CD_SQL_RUN(l->wages[ST_MINER_PUT], why, cd_sql_t(m->id), cd_sql_b(cd_bytes_of(m->public_key, 32)),
                      cd_sql_t(m->wallet), cd_sql_u(now_s));
}

cd_err cd_wages_forget(cd_ledger *l, u64 before_s, cd_errinfo *why)
{
    return CD_SQL_RUN(l->wages[ST_MINERS_OVER], why, cd_sql_u(before_s));
}

static void copy_text(char *out, usize max, cd_bytes from)
{
    usize n = from.n < max ? from.n : max;
    memcpy(out, from.p, n);
    out[n] = '\0';
}

cd_err cd_wages_list(cd_ledger *l, cd_miner_row *out, usize *cnt, usize max, cd_errinfo *why)
{
    cd_sql_stmt *st = l->wages[ST_MINERS];
    bool is_row = true;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_u(max)));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        CD_ASSERT(*cnt < max);
        cd_miner_row *m = &out[(*cnt)++];
        copy_text(m->id, CD_MINER_ID_LEN, cd_sql_col_b(st, 0));
        cd_bytes key = cd_sql_col_b(st, 1);
        memset(m->public_key, 0, 32);
        memcpy(m->public_key, key.p, key.n < 32 ? key.n : 32);
        copy_text(m->wallet, CD_MINER_WALLET_LEN, cd_sql_col_b(st, 2));
        m->since_s = cd_sql_col_u(st, 3);
        m->seen_s = cd_sql_col_u(st, 4);
    }
}

/* --- what they did --- */

/* What is added to a workday. */
typedef struct work {
    u64 impressions, bytes, proofs, proof_fees, clearing;
} work;

static u64 length_of(u64 period_s)
{
    return period_s == 0 ? DAY_S : period_s;
}

/* Where a workday begins for a miner: with the period, or with the registration. */
static cd_err begin_of(cd_ledger *l, u64 *out, const char *miner, u64 period, u64 length, cd_errinfo *why)
{
    i64 since;
    CD_TRY(number(l, ST_MINER, &since, miner, why));
    *out = cd_max_u64(period * length, (u64)since);
    return CD_OK;
}

static cd_err add_work(cd_ledger *l, const char *miner, const work *w, u64 period_s, u64 now_s, cd_errinfo *why)
{
    u64 length = length_of(period_s);
    u64 period = now_s / length;
    u64 from;
    CD_TRY(begin_of(l, &from, miner, period, length, why));
    return CD_SQL_RUN(l->wages[ST_WORK_ADD], why, cd_sql_t(miner), cd_sql_u(period), cd_sql_u(length), cd_sql_u(from),
                      cd_sql_u(w->impressions), cd_sql_u(w->bytes), cd_sql_u(w->proofs), cd_sql_u(w->proof_fees),
                      cd_sql_u(w->clearing));
}

typedef struct delivery {
    bool is_known, is_mine, is_paid;
    u64 bytes;
} delivery;

static cd_err read_delivery(cd_ledger *l, delivery *out, const u8 token[CD_LEDGER_TOKEN_LEN], const char *miner,
                            cd_errinfo *why)
{
    cd_sql_stmt *st = l->wages[ST_DELIVERY];
    bool is_row;
    *out = (delivery){.is_mine = true};
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_b(cd_bytes_of(token, CD_LEDGER_TOKEN_LEN))));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (!is_row) {
        return CD_OK;
    }
    *out = (delivery){.is_known = true,
                      .is_mine = cd_bytes_eq(cd_sql_col_b(st, 0), cd_bytes_str(miner)),
                      .bytes = cd_sql_col_u(st, 1),
                      .is_paid = cd_sql_col_i(st, 2) != 0};
    return cd_sql_next(st, &is_row, why);
}

static cd_err put_delivery(cd_ledger *l, const u8 token[CD_LEDGER_TOKEN_LEN], const char *miner, const delivery *d,
                           u64 expires_s, cd_errinfo *why)
{
    return CD_SQL_RUN(l->wages[ST_DELIVERY_PUT], why, cd_sql_b(cd_bytes_of(token, CD_LEDGER_TOKEN_LEN)),
                      cd_sql_t(miner), cd_sql_u(d->bytes), cd_sql_i(d->is_paid ? 1 : 0), cd_sql_u(expires_s));
}

cd_err cd__wages_billed(cd_ledger *l, const cd_bill *b, u64 now_ms, cd_errinfo *why)
{
    delivery d;
    if (b->auctioneer != NULL && b->auctioneer[0] != '\0') {
        const work w = {.clearing = (u64)b->amount};
        CD_TRY(add_work(l, b->auctioneer, &w, b->period_s, now_ms / 1000, why));
    }
    if (b->miner == NULL || b->miner[0] == '\0') {
        return CD_OK;
    }
    CD_TRY(read_delivery(l, &d, b->token, b->miner, why));
    if (!d.is_mine || d.is_paid) {
        return CD_OK;
    }
    d.is_paid = true;
    CD_TRY(put_delivery(l, b->token, b->miner, &d, b->expires_s, why));
    const work w = {.impressions = 1, .bytes = d.bytes};
    return d.bytes == 0 ? CD_OK : add_work(l, b->miner, &w, b->period_s, now_ms / 1000, why);
}

cd_err cd_wages_deliver(cd_ledger *l, const char *miner, const cd_delivery *in, u64 period_s, u64 now_s,
                        cd_errinfo *why)
{
    delivery d;
    u64 most = in->size + in->size / SURPLUS_PART;
    u64 bytes = cd_min_u64(in->bytes, most);
    CD_TRY(read_delivery(l, &d, in->token, miner, why));
    if (!d.is_mine || bytes <= d.bytes) {
        return CD_OK;
    }
    const work w = {.impressions = d.bytes == 0 ? 1 : 0, .bytes = bytes - d.bytes};
    d.bytes = bytes;
    CD_TRY(put_delivery(l, in->token, miner, &d, in->expires_s, why));
    return d.is_paid ? add_work(l, miner, &w, period_s, now_s, why) : CD_OK;
}

cd_err cd__wages_reap(cd_ledger *l, u64 over_s, cd_errinfo *why)
{
    return CD_SQL_RUN(l->wages[ST_DELIVERIES_OVER], why, cd_sql_u(over_s));
}

cd_err cd_wages_proof(cd_ledger *l, const char *miner, u64 fee_nusd, u64 period_s, u64 now_s, cd_errinfo *why)
{
    const work w = {.proofs = 1, .proof_fees = fee_nusd};
    return add_work(l, miner, &w, period_s, now_s, why);
}

/* --- up --- */

static cd_err up_in(cd_ledger *l, const char *miner, u64 since_s, u64 from_s, u64 to_s, u64 length, cd_errinfo *why)
{
    u64 period = from_s / length;
    u64 start = cd_max_u64(period * length, since_s);
    const cd_sql_val key[] = {cd_sql_t(miner), cd_sql_u(period)};
    cd_sql_stmt *st = l->wages[ST_WORK];
    bool is_row;
    u64 covered = 0;
    u64 up = 0;
    CD_TRY(cd_sql_query_n(st, key, CD_COUNT(key), why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (is_row) {
        covered = cd_sql_col_u(st, 2);
        up = cd_sql_col_u(st, 3);
        CD_TRY(cd_sql_next(st, &is_row, why));
    }
    u64 first = cd_max_u64(cd_max_u64(from_s, covered), start);
    if (to_s <= first) {
        return CD_OK;
    }
    return CD_SQL_RUN(l->wages[ST_WORK_UP], why, cd_sql_t(miner), cd_sql_u(period), cd_sql_u(length), cd_sql_u(start),
                      cd_sql_u(to_s), cd_sql_u(up + (to_s - first)));
}

cd_err cd_wages_up(cd_ledger *l, const char *miner, u64 since_s, u64 from_s, u64 to_s, u64 period_s, cd_errinfo *why)
{
    u64 length = length_of(period_s);
    while (from_s < to_s) {
        u64 end = cd_min_u64(to_s, (from_s / length + 1) * length);
        CD_TRY(up_in(l, miner, since_s, from_s, end, length, why));
        from_s = end;
    }
    return CD_SQL_RUN(l->wages[ST_MINER_SEEN], why, cd_sql_t(miner), cd_sql_u(to_s));
}

/* --- what they are owed --- */

/* A workday as it stands in the row, and what it comes to. */
typedef struct workday {
    char miner[CD_MINER_ID_LEN + 1];
    u64 period, length, from, up, proof_fees;
    cd_reward_counts counts;
} workday;

static void read_workday(workday *out, cd_sql_stmt *st)
{
    *out = (workday){.period = cd_sql_col_u(st, 1),
                     .length = cd_sql_col_u(st, 2),
                     .from = cd_sql_col_u(st, 3),
                     .up = cd_sql_col_u(st, 5),
                     .proof_fees = cd_sql_col_u(st, 9)};
    copy_text(out->miner, CD_MINER_ID_LEN, cd_sql_col_b(st, 0));
    out->counts = (cd_reward_counts){.impressions = cd_sql_col_u(st, 6),
                                     .bytes = cd_sql_col_u(st, 7),
                                     .up_s = out->up,
                                     .period_s = (out->period + 1) * out->length - out->from,
                                     .clearing_sum = cd_sql_col_u(st, 10)};
}

/* Fees of proofs were fixed when each was verified. */
static cd_err reward_of(cd_reward *out, const workday *d, cd_errinfo *why)
{
    if (cd_reward_of(out, &d->counts) != CD_OK || !cd_add_u64(&out->total, out->total, d->proof_fees) ||
        out->total > INT64_MAX) {
        return cd_fail(why, CD_ERANGE, "the reward of miner %s is beyond all bounds", d->miner);
    }
    out->proof_fees = d->proof_fees;
    return CD_OK;
}

static cd_err close_one(cd_ledger *l, cd_reward *out, workday *d, u64 now_ms, cd_errinfo *why)
{
    i64 carry;
    CD_TRY(number(l, ST_CARRY, &carry, d->miner, why));
    d->counts.fee_carry = (u64)carry;
    CD_TRY(reward_of(out, d, why));
    if (d->counts.clearing_sum != 0) {
        CD_TRY(CD_SQL_RUN(l->wages[ST_CARRY_PUT], why, cd_sql_t(d->miner), cd_sql_u(out->auction_fee_carry)));
    }
    if (out->total != 0) {
        const cd__posting list[] = {cd__posting_of("fees", NULL, -(i64)out->total),
                                    cd__posting_of("miner/", d->miner, (i64)out->total)};
        CD_TRY(cd__ledger_post(l, "reward", cd_bytes_str(d->miner), list, CD_COUNT(list), now_ms, why));
    }
    CD_TRY(CD_SQL_RUN(l->wages[ST_WAGES_ADD], why, cd_sql_t(d->miner), cd_sql_u(d->up), cd_sql_u(d->counts.period_s),
                      cd_sql_u(d->counts.impressions), cd_sql_u(d->counts.bytes), cd_sql_u(out->base),
                      cd_sql_u(out->bandwidth), cd_sql_u(out->uptime_bonus), cd_sql_u(out->auction_fee),
                      cd_sql_u(out->proof_fees)));
    return CD_SQL_RUN(l->wages[ST_WORK_END], why, cd_sql_t(d->miner), cd_sql_u(d->period));
}

cd_err cd_wages_close(cd_ledger *l, cd_wages_paid *out, usize *cnt, usize max, u64 now_s, cd_errinfo *why)
{
    workday due[DUE_MAX];
    usize n = 0;
    bool is_row = true;
    cd_sql_stmt *st = l->wages[ST_WORK_DUE];
    usize most = max < DUE_MAX ? max : DUE_MAX;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_u(now_s), cd_sql_u(most)));
    while (is_row) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (is_row && n < most) {
            read_workday(&due[n++], st);
        }
    }
    for (usize i = 0; i < n; i++) {
        cd_wages_paid *p = &out[i];
        CD_TRY(close_one(l, &p->reward, &due[i], now_s * 1000, why));
        memcpy(p->miner, due[i].miner, sizeof p->miner);
        p->period = due[i].period;
    }
    *cnt = n;
    return CD_OK;
}

cd_err cd_wages_pay(cd_ledger *l, const char *miner, i64 amount, cd_bytes ref, u64 now_ms, cd_errinfo *why)
{
    i64 owed;
    const cd__posting list[] = {cd__posting_of("miner/", miner, -amount), cd__posting_of("paid/", miner, amount)};
    CD_TRY(cd_ledger_account(l, &owed, list[0].account, why));
    if (amount <= 0 || owed < amount) {
        return cd_fail(why, CD_ELIMIT, "miner %s is owed %lld", miner, (long long)owed);
    }
    return cd__ledger_post(l, "payout", ref, list, CD_COUNT(list), now_ms, why);
}

/* --- the sums --- */

static void add_reward(cd_reward *to, const cd_reward *r)
{
    to->base += r->base;
    to->bandwidth += r->bandwidth;
    to->uptime_bonus += r->uptime_bonus;
    to->auction_fee += r->auction_fee;
    to->proof_fees += r->proof_fees;
    to->total += r->total;
}

/* The periods that are not over: seconds up to now, no bonus before the end. */
static cd_err sum_open(cd_ledger *l, cd_wages_sums *out, const char *miner, u64 now_s, cd_errinfo *why)
{
    cd_sql_stmt *st = l->wages[ST_WORK_OPEN];
    bool is_row = true;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_t(miner)));
    while (true) {
        workday d;
        cd_reward r;
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        read_workday(&d, st);
        u64 end = (d.period + 1) * d.length;
        bool is_over = end <= now_s;
        d.counts.up_s = is_over ? d.up : 0;
        CD_TRY(reward_of(&r, &d, why));
        add_reward(&out->reward, &r);
        out->impressions += d.counts.impressions;
        out->bytes += d.counts.bytes;
        u64 seconds = cd_min_u64(end, now_s);
        seconds = seconds > d.from ? seconds - d.from : 0;
        out->up_s += cd_min_u64(d.up, seconds);
        out->seconds += seconds;
    }
}

cd_err cd_wages_sum(cd_ledger *l, cd_wages_sums *out, const char *miner, u64 now_s, cd_errinfo *why)
{
    cd_sql_stmt *st = l->wages[ST_WAGES_SUM];
    const char *who = miner == NULL ? "" : miner;
    i64 n;
    bool is_row;
    *out = (cd_wages_sums){0};
    if (miner != NULL) {
        CD_TRY(number(l, ST_MINER, &n, miner, why));
        out->registered = n != 0 ? 1 : 0;
    } else {
        CD_TRY(cd__ledger_number(l->wages[ST_MINERS_CNT], &n, NULL, 0, why));
        out->registered = (u64)n;
    }
    if (miner != NULL && n == 0) {
        return cd_fail(why, CD_ENOENT, "there is no such miner");
    }
    const cd_sql_val seen[] = {cd_sql_u(now_s), cd_sql_t(who)};
    CD_TRY(cd__ledger_number(l->wages[ST_MINERS_ACTIVE], &n, seen, CD_COUNT(seen), why));
    out->active = (u64)n;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_t(who)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (is_row) {
        out->up_s = cd_sql_col_u(st, 0);
        out->seconds = cd_sql_col_u(st, 1);
        out->impressions = cd_sql_col_u(st, 2);
        out->bytes = cd_sql_col_u(st, 3);
        out->reward = (cd_reward){.base = cd_sql_col_u(st, 4),
                                  .bandwidth = cd_sql_col_u(st, 5),
                                  .uptime_bonus = cd_sql_col_u(st, 6),
                                  .auction_fee = cd_sql_col_u(st, 7),
                                  .proof_fees = cd_sql_col_u(st, 8)};
        cd_reward *r = &out->reward;
        r->total = r->base + r->bandwidth + r->uptime_bonus + r->auction_fee + r->proof_fees;
        CD_TRY(cd_sql_next(st, &is_row, why));
    }
    CD_TRY(sum_open(l, out, who, now_s, why));
    CD_TRY(number(l, ST_PAID_SUM, &n, who, why));
    out->paid = (u64)n;
    out->pending = out->reward.total - out->paid;
    return CD_OK;
}
