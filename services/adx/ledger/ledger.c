#define _GNU_SOURCE // memrchr
#include "services/adx/ledger/ledger_priv.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/hmap.h"
#include "crypto/hash/sha2.h"

enum { FEE_PART = 1000, HONOUR_MS = 60000 };

static const char *const steps[] = {
    "CREATE TABLE journal (seq BIGINT PRIMARY KEY, at_ms BIGINT NOT NULL, kind TEXT NOT NULL, ref @blob NOT NULL,"
    " postings TEXT NOT NULL, hash @blob NOT NULL);"
    "CREATE TABLE head (one BIGINT PRIMARY KEY, seq BIGINT NOT NULL, hash @blob NOT NULL);"
    "CREATE TABLE accounts (name TEXT PRIMARY KEY, amount BIGINT NOT NULL);"
    "CREATE TABLE leases (id @id, campaign TEXT NOT NULL, day BIGINT NOT NULL, amount BIGINT NOT NULL,"
    " billed BIGINT NOT NULL, until_ms BIGINT NOT NULL);"
    "CREATE INDEX leases_until ON leases (until_ms);"
    "CREATE TABLE days (campaign TEXT NOT NULL, day BIGINT NOT NULL, used BIGINT NOT NULL,"
    " PRIMARY KEY (campaign, day));"
    "CREATE TABLE spent (token @blob PRIMARY KEY, expires_s BIGINT NOT NULL);"
    "CREATE INDEX spent_expires ON spent (expires_s);"
    "CREATE TABLE carries (publisher TEXT PRIMARY KEY, rest BIGINT NOT NULL);",
    CD__WAGES_STEP,
    CD__SETTLE_STEP,
    CD__NOTICES_STEP,
};

#define STATEMENTS(X)                                                                                                  \
    X(HEAD, "SELECT seq, hash FROM head WHERE one = 1 @lock")                                                          \
    X(HEAD_READ, "SELECT seq, hash FROM head WHERE one = 1")                                                           \
    X(HEAD_PUT, "INSERT INTO head (one, seq, hash) VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE SET"                 \
                " seq = excluded.seq, hash = excluded.hash")                                                           \
    X(JOURNAL, "INSERT INTO journal (seq, at_ms, kind, ref, postings, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")          \
    X(READ, "SELECT seq, at_ms, kind, ref, postings, hash FROM journal ORDER BY seq")                                  \
    X(ACCOUNT, "SELECT amount FROM accounts WHERE name = ?1")                                                          \
    X(ACCOUNTS, "SELECT name, amount FROM accounts")                                                                   \
    X(POST, "INSERT INTO accounts (name, amount) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET"                     \
            " amount = accounts.amount + excluded.amount")                                                             \
    X(DAY, "SELECT used FROM days WHERE campaign = ?1 AND day = ?2")                                                   \
    X(DAY_PUT, "INSERT INTO days (campaign, day, used) VALUES (?1, ?2, ?3) ON CONFLICT (campaign, day) DO UPDATE SET"  \
               " used = days.used + excluded.used")                                                                    \
    X(LEASE_NEW, "INSERT INTO leases (campaign, day, amount, billed, until_ms) VALUES (?1, ?2, 0, 0, ?3)"              \
                 " RETURNING id")                                                                                      \
    X(LEASE, "SELECT campaign, day, amount, billed FROM leases WHERE id = ?1")                                         \
    X(LEASE_ADD, "UPDATE leases SET amount = amount + ?2, until_ms = ?3 WHERE id = ?1")                                \
    X(LEASE_BILL, "UPDATE leases SET billed = billed + ?2 WHERE id = ?1")                                              \
    X(LEASE_END, "DELETE FROM leases WHERE id = ?1")                                                                   \
    X(LEASES_OVER, "SELECT id FROM leases WHERE until_ms < ?1 ORDER BY id LIMIT 100")                                  \
    X(SPEND, "INSERT INTO spent (token, expires_s) VALUES (?1, ?2) ON CONFLICT (token) DO NOTHING RETURNING"           \
             " expires_s")                                                                                             \
    X(SPENT_OVER, "DELETE FROM spent WHERE expires_s < ?1")                                                            \
    X(NOTICE_PUT, "INSERT INTO notices (token, url, expires_s) VALUES (?1, ?2, ?3) ON CONFLICT (token) DO NOTHING")    \
    X(NOTICE_TAKE, "DELETE FROM notices WHERE token = ?1 RETURNING url")                                               \
    X(NOTICES_OVER, "DELETE FROM notices WHERE expires_s < ?1")                                                        \
    X(CARRY, "SELECT rest FROM carries WHERE publisher = ?1")                                                          \
    X(CARRY_PUT, "INSERT INTO carries (publisher, rest) VALUES (?1, ?2) ON CONFLICT (publisher) DO UPDATE SET"         \
                 " rest = excluded.rest")

enum { STATEMENTS(CD__ST_NAME) ST_CNT };
static const char *const texts[] = {STATEMENTS(CD__ST_TEXT)};

/* --- life --- */

cd_err cd__ledger_prepare(cd_sql_stmt ***out, cd_ledger *l, const char *const *texts_of, usize cnt, cd_errinfo *why)
{
    *out = cd_new_array(cd_sql_stmt *, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_sql_prepare(l->q, &(*out)[i], texts_of[i], why));
    }
    return CD_OK;
}

cd_err cd_ledger_open(cd_ledger **out, const char *url, bool may_write, cd_errinfo *why)
{
    const cd_sql_cfg cfg = {.url = url, .may_write = may_write};
    cd_ledger *l = cd_new(cd_ledger);
    cd_err err = cd_sql_open(&l->q, &cfg, why);
    if (err == CD_OK && may_write) {
        err = cd_sql_migrate(l->q, steps, CD_COUNT(steps), why);
    }
    if (err == CD_OK) {
        err = cd__ledger_prepare(&l->st, l, texts, CD_COUNT(texts), why);
    }
    if (err == CD_OK) {
        err = cd__wages_open(l, why);
    }
    if (err == CD_OK) {
        err = cd__settle_open(l, why);
    }
    if (err != CD_OK) {
        cd_ledger_close(l);
        return err;
    }
    *out = l;
    return CD_OK;
}

void cd_ledger_close(cd_ledger *l)
{
    if (l != NULL) {
        cd_sql_close(l->q);
        cd_free(l->st);
        cd_free(l->wages);
        cd_free(l->settle);
        cd_free(l);
    }
}

/* --- transactions --- */

/* st: with the lock that makes a writer the only one, or without. */
static cd_err read_head(cd_ledger *l, cd_sql_stmt *st, cd_errinfo *why)
{
    bool is_row;
    l->seq = 0;
    l->hash = (cd_hash32){0};
    CD_TRY(cd_sql_query_n(st, NULL, 0, why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (!is_row) {
        return CD_OK;
    }
    l->seq = cd_sql_col_u(st, 0);
    cd_bytes hash = cd_sql_col_b(st, 1);
    if (hash.n != sizeof l->hash) {
        return cd_fail(why, CD_ECORRUPT, "the head of the journal is damaged");
    }
    memcpy(&l->hash, hash.p, hash.n);
    return cd_sql_next(st, &is_row, why);
}

cd_err cd_ledger_begin(cd_ledger *l, cd_errinfo *why)
{
    CD_TRY(cd_sql_begin(l->q, true, why));
    cd_err err = read_head(l, l->st[ST_HEAD], why);
    if (err != CD_OK) {
        cd_sql_rollback(l->q);
    }
    return err;
}

cd_err cd_ledger_commit(cd_ledger *l, cd_errinfo *why)
{
    cd_err err = l->seq == 0 ? CD_OK
                             : CD_SQL_RUN(l->st[ST_HEAD_PUT], why, cd_sql_u(l->seq),
                                          cd_sql_b(cd_bytes_of(l->hash.b, sizeof l->hash.b)));
    if (err == CD_OK) {
        err = cd_sql_commit(l->q, why);
    }
    if (err != CD_OK) {
        cd_sql_rollback(l->q);
    }
    return err;
}

void cd_ledger_rollback(cd_ledger *l)
{
    cd_sql_rollback(l->q);
}

/* --- the journal --- */

cd__posting cd__posting_of(const char *kind, const char *id, i64 amount)
{
    cd__posting p = {.amount = amount};
    usize n = strlen(kind);
    usize k = id == NULL ? 0 : strlen(id);
    CD_ASSERT(n + k < sizeof p.account && k <= CD_LEDGER_ID_MAX);
    memcpy(p.account, kind, n);
    if (k != 0) {
        memcpy(p.account + n, id, k);
    }
    return p;
}

/* What a row's hash is made of; every part has its length, so that none can pass for two. */
static void hash_row(cd_hash32 *out, const cd_hash32 *before, u64 seq, u64 at_ms, cd_bytes kind, cd_bytes ref,
                     cd_bytes postings)
{
    const cd_bytes parts[] = {kind, ref, postings};
    cd_sha256_ctx c;
    u8 num[16];
    cd_sha256_init(&c);
    cd_sha256_update(&c, cd_bytes_of(before->b, sizeof before->b));
    cd_put_be64(num, seq);
    cd_put_be64(num + 8, at_ms);
    cd_sha256_update(&c, cd_bytes_of(num, 16));
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        cd_put_be64(num, parts[i].n);
        cd_sha256_update(&c, cd_bytes_of(num, 8));
        cd_sha256_update(&c, parts[i]);
    }
    cd_sha256_final(&c, out);
}

cd_err cd__ledger_post(cd_ledger *l, const char *kind, cd_bytes ref, const cd__posting *list, usize cnt, u64 now_ms,
                       cd_errinfo *why)
{
    cd_buf text = {0};
    i64 sum = 0;
    cd_err err = CD_OK;
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&text, "%s %lld\n", list[i].account, (long long)list[i].amount);
        sum += list[i].amount;
    }
    CD_ASSERT(sum == 0);
    hash_row(&l->hash, &l->hash, l->seq + 1, now_ms, cd_bytes_str(kind), ref, cd_buf_bytes(&text));
    l->seq++;
    err = CD_SQL_RUN(l->st[ST_JOURNAL], why, cd_sql_u(l->seq), cd_sql_u(now_ms), cd_sql_t(kind), cd_sql_b(ref),
                     (cd_sql_val){.kind = CD_SQL_TEXT, .b = cd_buf_bytes(&text)},
                     cd_sql_b(cd_bytes_of(l->hash.b, sizeof l->hash.b)));
    for (usize i = 0; i < cnt && err == CD_OK; i++) {
        err = CD_SQL_RUN(l->st[ST_POST], why, cd_sql_t(list[i].account), cd_sql_i(list[i].amount));
    }
    cd_buf_fini(&text);
    return err;
}

cd_err cd__ledger_number(cd_sql_stmt *st, i64 *out, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    bool is_row;
    *out = 0;
    CD_TRY(cd_sql_query_n(st, vals, cnt, why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (is_row) {
        *out = cd_sql_col_i(st, 0);
        CD_TRY(cd_sql_next(st, &is_row, why));
    }
    return CD_OK;
}

cd_err cd_ledger_account(cd_ledger *l, i64 *out, const char *name, cd_errinfo *why)
{
    const cd_sql_val v = cd_sql_t(name);
    return cd__ledger_number(l->st[ST_ACCOUNT], out, &v, 1, why);
}

static cd_err account_of(cd_ledger *l, i64 *out, const char *kind, const char *id, cd_errinfo *why)
{
    const cd__posting p = cd__posting_of(kind, id, 0);
    return cd_ledger_account(l, out, p.account, why);
}

/* --- campaigns --- */

cd_err cd_ledger_fund(cd_ledger *l, const char *campaign, i64 total, u64 now_ms, cd_errinfo *why)
{
    i64 funded;
    i64 escrow;
    CD_TRY(account_of(l, &funded, "advertiser/", campaign, why));
    CD_TRY(account_of(l, &escrow, "escrow/", campaign, why));
    i64 more = total + funded; // what was funded stands there as a debt
    more = more < -escrow ? -escrow : more;
    if (more == 0) {
        return CD_OK;
    }
    const cd__posting list[] = {cd__posting_of("advertiser/", campaign, -more),
                                cd__posting_of("escrow/", campaign, more)};
    return cd__ledger_post(l, "fund", cd_bytes_str(campaign), list, CD_COUNT(list), now_ms, why);
}

/* What may be leased: what is there, within the day's limit. */
static cd_err grant_of(cd_ledger *l, i64 *out, const cd_lease_ask *ask, cd_errinfo *why)
{
    i64 escrow;
    i64 used;
    const cd_sql_val day[] = {cd_sql_t(ask->campaign), cd_sql_u(ask->day)};
    CD_TRY(account_of(l, &escrow, "escrow/", ask->campaign, why));
    CD_TRY(cd__ledger_number(l->st[ST_DAY], &used, day, CD_COUNT(day), why));
    i64 grant = ask->want < escrow ? ask->want : escrow;
    if (ask->daily_max != 0 && grant > ask->daily_max - used) {
        grant = ask->daily_max - used;
    }
    *out = grant > 0 ? grant : 0;
    return CD_OK;
}

typedef struct lease_row {
    char campaign[CD_LEDGER_ID_MAX + 1];
    u64 day;
    i64 amount, billed;
} lease_row;

/* Errors: CD_ENOENT: it has ended. */
static cd_err read_lease(cd_ledger *l, lease_row *out, i64 id, cd_errinfo *why)
{
    cd_sql_stmt *st = l->st[ST_LEASE];
    bool is_row;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_i(id)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (!is_row) {
        return cd_fail(why, CD_ENOENT, "the lease has ended");
    }
    cd_bytes campaign = cd_sql_col_b(st, 0);
    *out = (lease_row){.day = cd_sql_col_u(st, 1), .amount = cd_sql_col_i(st, 2), .billed = cd_sql_col_i(st, 3)};
    CD_ASSERT(campaign.n <= CD_LEDGER_ID_MAX);
    memcpy(out->campaign, campaign.p, campaign.n);
    return cd_sql_next(st, &is_row, why);
}

static cd_err new_lease(cd_ledger *l, i64 *out, const cd_lease_ask *ask, cd_errinfo *why)
{
    const cd_sql_val vals[] = {cd_sql_t(ask->campaign), cd_sql_u(ask->day), cd_sql_u(ask->until_ms)};
    return cd__ledger_number(l->st[ST_LEASE_NEW], out, vals, CD_COUNT(vals), why);
}

cd_err cd_ledger_lease(cd_ledger *l, cd_lease *out, const cd_lease_ask *ask, u64 now_ms, cd_errinfo *why)
{
    cd_lease got = {.id = ask->lease, .until_ms = ask->until_ms};
    lease_row row;
    if (ask->lease != 0) {
        CD_TRY(read_lease(l, &row, ask->lease, why));
    }
    CD_TRY(grant_of(l, &got.added, ask, why));
    if (got.id == 0) {
        CD_TRY(new_lease(l, &got.id, ask, why));
    }
    CD_TRY(CD_SQL_RUN(l->st[ST_LEASE_ADD], why, cd_sql_i(got.id), cd_sql_i(got.added), cd_sql_u(got.until_ms)));
    if (got.added != 0) {
        const cd__posting list[] = {cd__posting_of("escrow/", ask->campaign, -got.added),
                                    cd__posting_of("leased/", ask->campaign, got.added)};
        CD_TRY(cd__ledger_post(l, "lease", cd_bytes_str(ask->campaign), list, CD_COUNT(list), now_ms, why));
        CD_TRY(CD_SQL_RUN(l->st[ST_DAY_PUT], why, cd_sql_t(ask->campaign), cd_sql_u(ask->day), cd_sql_i(got.added)));
    }
    *out = got;
    return CD_OK;
}

static cd_err give_back(cd_ledger *l, const lease_row *row, i64 amount, u64 now_ms, cd_errinfo *why)
{
    if (amount == 0) {
        return CD_OK;
    }
    const cd__posting list[] = {cd__posting_of("leased/", row->campaign, -amount),
                                cd__posting_of("escrow/", row->campaign, amount)};
    CD_TRY(cd__ledger_post(l, "return", cd_bytes_str(row->campaign), list, CD_COUNT(list), now_ms, why));
    return CD_SQL_RUN(l->st[ST_DAY_PUT], why, cd_sql_t(row->campaign), cd_sql_u(row->day), cd_sql_i(-amount));
}

cd_err cd_ledger_unlease(cd_ledger *l, i64 lease, i64 unused, u64 until_ms, u64 now_ms, cd_errinfo *why)
{
    lease_row row;
    CD_TRY(read_lease(l, &row, lease, why));
    i64 left = row.amount - row.billed;
    i64 back = unused < left ? unused : left;
    CD_TRY(give_back(l, &row, back, now_ms, why));
    return CD_SQL_RUN(l->st[ST_LEASE_ADD], why, cd_sql_i(lease), cd_sql_i(-back), cd_sql_u(until_ms));
}

cd_err cd_ledger_reap(cd_ledger *l, u64 now_ms, cd_errinfo *why)
{
    i64 ids[128];
    usize cnt = 0;
    bool is_row = true;
    cd_sql_stmt *st = l->st[ST_LEASES_OVER];
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_u(now_ms)));
    while (is_row) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (is_row && cnt < CD_COUNT(ids)) {
            ids[cnt++] = cd_sql_col_i(st, 0);
        }
    }
    for (usize i = 0; i < cnt; i++) {
        lease_row row;
        CD_TRY(read_lease(l, &row, ids[i], why));
        CD_TRY(give_back(l, &row, row.amount - row.billed, now_ms, why));
        CD_TRY(CD_SQL_RUN(l->st[ST_LEASE_END], why, cd_sql_i(ids[i])));
    }
    u64 over_ms = now_ms < HONOUR_MS ? 0 : now_ms - HONOUR_MS;
    CD_TRY(cd__wages_reap(l, over_ms / 1000, why));
    CD_TRY(CD_SQL_RUN(l->st[ST_NOTICES_OVER], why, cd_sql_u(over_ms / 1000)));
    return CD_SQL_RUN(l->st[ST_SPENT_OVER], why, cd_sql_u(over_ms / 1000));
}

/* --- impressions --- */

/* The exchange's part of amount; the publisher's fractions add up until they make a whole unit. */
static cd_err fee_of(cd_ledger *l, i64 *out, const char *publisher, i64 amount, cd_errinfo *why)
{
    const cd_sql_val v = cd_sql_t(publisher);
    i64 rest;
    CD_TRY(cd__ledger_number(l->st[ST_CARRY], &rest, &v, 1, why));
    i64 sum = rest + amount;
    *out = sum / FEE_PART;
    return CD_SQL_RUN(l->st[ST_CARRY_PUT], why, v, cd_sql_i(sum % FEE_PART));
}

static cd_err spend(cd_ledger *l, bool *is_new, const cd_bill *b, cd_errinfo *why)
{
    cd_sql_stmt *st = l->st[ST_SPEND];
    bool more = false;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_b(cd_bytes_of(b->token, sizeof b->token)), cd_sql_u(b->expires_s)));
    CD_TRY(cd_sql_next(st, is_new, why));
    return *is_new ? cd_sql_next(st, &more, why) : CD_OK;
}

static cd_err take_from_lease(cd_ledger *l, bool *is_covered, const cd_bill *b, cd_errinfo *why)
{
    lease_row row = {0};
    cd_err err = read_lease(l, &row, b->lease, why);
    *is_covered = err == CD_OK && strcmp(row.campaign, b->payer) == 0 && b->amount <= row.amount - row.billed;
    if (err == CD_ENOENT || !*is_covered) {
        return err == CD_ENOENT ? CD_OK : err;
    }
    return CD_SQL_RUN(l->st[ST_LEASE_BILL], why, cd_sql_i(b->lease), cd_sql_i(b->amount));
}

cd_err cd_ledger_bill(cd_ledger *l, cd_billed *out, const cd_bill *b, u64 now_ms, cd_errinfo *why)
{
    bool is_new;
    bool is_covered = true;
    i64 fee;
    CD_ASSERT(b->amount >= 0);
    CD_TRY(spend(l, &is_new, b, why));
    if (is_new && b->is_campaign) {
        CD_TRY(take_from_lease(l, &is_covered, b, why));
    }
    if (!is_new || !is_covered) {
        *out = is_new ? CD_BILLED_NOT : CD_BILLED_BEFORE;
        return CD_OK;
    }
    CD_TRY(fee_of(l, &fee, b->publisher, b->amount, why));
    const cd__posting list[] = {cd__posting_of(b->is_campaign ? "leased/" : "bidder/", b->payer, -b->amount),
                                cd__posting_of("publisher/", b->publisher, b->amount - fee),
                                cd__posting_of("fees", NULL, fee)};
    CD_TRY(cd__ledger_post(l, "impression", cd_bytes_of(b->token, sizeof b->token), list, CD_COUNT(list), now_ms, why));
    *out = CD_BILLED;
    CD_TRY(cd__settle_billed(l, b, why));
    return cd__wages_billed(l, b, now_ms, why);
}

cd_err cd_ledger_note(cd_ledger *l, const u8 token[CD_LEDGER_TOKEN_LEN], cd_bytes url, u64 expires_s, cd_errinfo *why)
{
    const cd_sql_val text = {.kind = CD_SQL_TEXT, .b = url};
    return CD_SQL_RUN(l->st[ST_NOTICE_PUT], why, cd_sql_b(cd_bytes_of(token, CD_LEDGER_TOKEN_LEN)), text,
                      cd_sql_u(expires_s));
}

cd_err cd_ledger_take_note(cd_ledger *l, cd_buf *url, const u8 token[CD_LEDGER_TOKEN_LEN], cd_errinfo *why)
{
    cd_sql_stmt *st = l->st[ST_NOTICE_TAKE];
    bool is_row;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_b(cd_bytes_of(token, CD_LEDGER_TOKEN_LEN))));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (!is_row) {
        return CD_OK;
    }
    cd_buf_put(url, cd_sql_col_b(st, 0));
    return cd_sql_next(st, &is_row, why);
}

/* --- the check --- */

/* Sums of the journal, by account name. */
typedef struct sums {
    cd_hmap map; /* name, padded with zeros, to i64 */
    cd_ledger_state state;
} sums;

static void key_of(char out[CD__ACCOUNT_MAX], cd_bytes name)
{
    memset(out, 0, CD__ACCOUNT_MAX);
    memcpy(out, name.p, name.n < CD__ACCOUNT_MAX ? name.n : CD__ACCOUNT_MAX - 1);
}

static bool begins(cd_bytes s, const char *with)
{
    usize n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static void add_up(sums *s, cd_bytes kind, cd_bytes name, i64 amount)
{
    char key[CD__ACCOUNT_MAX];
    key_of(key, name);
    i64 *sum = cd_hmap_put(&s->map, NULL, key);
    *sum += amount;
    if (cd_bytes_eq(kind, cd_bytes_str("reward")) && begins(name, "miner/")) {
        s->state.rewards += amount;
    }
    if (!cd_bytes_eq(kind, cd_bytes_str("impression"))) {
        return;
    }
    if (begins(name, "publisher/")) {
        s->state.earned += amount;
    } else if (cd_bytes_eq(name, cd_bytes_str("fees"))) {
        s->state.fees += amount;
    } else {
        s->state.spent -= amount;
    }
}

/* The postings of a row, which must add up to zero. */
static bool read_postings(sums *s, cd_bytes kind, cd_bytes text)
{
    i64 sum = 0;
    while (text.n != 0) {
        const u8 *end = memchr(text.p, '\n', text.n);
        const u8 *blank = end == NULL ? NULL : memrchr(text.p, ' ', (usize)(end - text.p));
        i64 amount;
        if (blank == NULL || cd_i64_parse(&amount, cd_bytes_of(blank + 1, (usize)(end - blank) - 1)) != CD_OK) {
            return false;
        }
        add_up(s, kind, cd_bytes_of(text.p, (usize)(blank - text.p)), amount);
        sum += amount;
        usize n = (usize)(end - text.p) + 1;
        text = cd_bytes_sub(text, n, text.n - n);
    }
    return sum == 0;
}

static cd_err verify_rows(cd_ledger *l, sums *s, cd_hash32 *head, cd_errinfo *why)
{
    cd_sql_stmt *st = l->st[ST_READ];
    bool is_row = true;
    CD_TRY(cd_sql_query_n(st, NULL, 0, why));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        u64 seq = cd_sql_col_u(st, 0);
        cd_bytes kind = cd_sql_col_b(st, 2);
        cd_bytes postings = cd_sql_col_b(st, 4);
        s->state.rows++;
        hash_row(head, head, seq, cd_sql_col_u(st, 1), kind, cd_sql_col_b(st, 3), postings);
        if (seq != s->state.rows || !cd_bytes_eq(cd_sql_col_b(st, 5), cd_bytes_of(head->b, sizeof head->b))) {
            return cd_fail(why, CD_ECORRUPT, "row %llu of the journal does not follow the one before",
                           (unsigned long long)s->state.rows);
        }
        if (!read_postings(s, kind, postings)) {
            return cd_fail(why, CD_ECORRUPT, "row %llu of the journal does not add up", (unsigned long long)seq);
        }
    }
}

static cd_err verify_accounts(cd_ledger *l, sums *s, cd_errinfo *why)
{
    cd_sql_stmt *st = l->st[ST_ACCOUNTS];
    bool is_row = true;
    usize cnt = 0;
    CD_TRY(cd_sql_query_n(st, NULL, 0, why));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return cnt == cd_hmap_cnt(&s->map) ? CD_OK : cd_fail(why, CD_ECORRUPT, "accounts are missing");
        }
        char key[CD__ACCOUNT_MAX];
        cd_bytes name = cd_sql_col_b(st, 0);
        key_of(key, name);
        const i64 *sum = cd_hmap_get(&s->map, key);
        cnt++;
        if (sum == NULL || *sum != cd_sql_col_i(st, 1)) {
            return cd_fail(why, CD_ECORRUPT, "account %s is not what the journal makes of it", key);
        }
        if (*sum < 0 && (begins(name, "escrow/") || begins(name, "leased/") || begins(name, "publisher/") ||
                         begins(name, "miner/"))) {
            return cd_fail(why, CD_ECORRUPT, "account %s is below zero", key);
        }
    }
}

cd_err cd_ledger_verify(cd_ledger *l, cd_ledger_state *out, cd_errinfo *why)
{
    sums s = {0};
    cd_hash32 hash = {0};
    CD_TRY(cd_sql_begin(l->q, false, why));
    cd_hmap_init(&s.map, CD_HASH_KEYED, CD__ACCOUNT_MAX, sizeof(i64));
    cd_err err = read_head(l, l->st[ST_HEAD_READ], why);
    if (err == CD_OK) {
        err = verify_rows(l, &s, &hash, why);
    }
    if (err == CD_OK && (s.state.rows != l->seq || (l->seq != 0 && !cd_hash32_eq(&hash, &l->hash)))) {
        err = cd_fail(why, CD_ECORRUPT, "rows are missing at the end of the journal");
    }
    if (err == CD_OK) {
        err = verify_accounts(l, &s, why);
    }
    cd_sql_rollback(l->q);
    cd_hmap_fini(&s.map);
    if (err == CD_OK) {
        *out = s.state;
    }
    return err;
}
