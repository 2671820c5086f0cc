#include "base/mem/mem.h"
#include "services/adx/cap/freq.h"
#include "services/common/sql.h"

struct cd_spent_sql {
    cd_sql *q;
    cd_sql_stmt *spend, *purge, *seed_put, *seed_get;
};

static const char SCHEMA[] =
    "CREATE TABLE IF NOT EXISTS freq_spent (epoch BIGINT NOT NULL, campaign @blob NOT NULL, nonce @blob NOT NULL,"
    " PRIMARY KEY (epoch, campaign, nonce));"
    "CREATE TABLE IF NOT EXISTS freq_seed (id BIGINT PRIMARY KEY, seed @blob NOT NULL)";

static cd_err finish(cd_spent_sql *s, cd_err e, cd_errinfo *why)
{
    if (e == CD_OK) {
        e = cd_sql_commit(s->q, why);
    }
    if (e != CD_OK) {
        cd_sql_rollback(s->q);
    }
    return e;
}

static cd_err spend(void *ctx, bool *was_new, u64 epoch, cd_bytes campaign, const u8 nonce[32], cd_errinfo *why)
{
    cd_spent_sql *s = ctx;
    bool is_row = false;
    bool more = false;
    CD_TRY(cd_sql_begin(s->q, true, why));
    cd_err e = CD_SQL_QUERY(s->spend, why, cd_sql_u(epoch), cd_sql_b(campaign), cd_sql_b(cd_bytes_of(nonce, 32)));
    if (e == CD_OK) {
        e = cd_sql_next(s->spend, &is_row, why);
    }
    if (e == CD_OK && is_row) {
        e = cd_sql_next(s->spend, &more, why);
    }
    CD_TRY(finish(s, e, why));
    *was_new = is_row;
    return CD_OK;
}

static cd_err purge(void *ctx, u64 epoch, cd_errinfo *why)
{
    cd_spent_sql *s = ctx;
    CD_TRY(cd_sql_begin(s->q, true, why));
    return finish(s, CD_SQL_RUN(s->purge, why, cd_sql_u(epoch)), why);
}

static cd_err seed(void *ctx, u8 out[32], cd_errinfo *why)
{
    cd_spent_sql *s = ctx;
    u8 found[32] = {0};
    CD_TRY(cd_sql_begin(s->q, true, why));
    cd_err e = CD_SQL_RUN(s->seed_put, why, cd_sql_b(cd_bytes_of(out, 32)));
    if (e == CD_OK) {
        e = CD_SQL_QUERY(s->seed_get, why, cd_sql_i(1));
    }
    if (e == CD_OK) {
        e = cd_sql_one(s->seed_get, why);
    }
    if (e == CD_OK) {
        cd_bytes b = cd_sql_col_b(s->seed_get, 0);
        e = b.n == 32 ? CD_OK : cd_fail(why, CD_ECORRUPT, "the seed of frequency tokens is not 32 bytes");
        memcpy(found, b.n == 32 ? b.p : found, 32);
    }
    CD_TRY(finish(s, e, why));
    memcpy(out, found, 32);
    return CD_OK;
}

static cd_err prepare(cd_spent_sql *s, cd_errinfo *why)
{
    CD_TRY(cd_sql_prepare(s->q, &s->spend,
                          "INSERT INTO freq_spent (epoch, campaign, nonce) VALUES (?1, ?2, ?3)"
                          " ON CONFLICT DO NOTHING RETURNING epoch",
                          why));
    CD_TRY(cd_sql_prepare(s->q, &s->purge, "DELETE FROM freq_spent WHERE epoch < ?1", why));
    CD_TRY(cd_sql_prepare(s->q, &s->seed_put, "INSERT INTO freq_seed (id, seed) VALUES (1, ?1) ON CONFLICT DO NOTHING",
                          why));
    return cd_sql_prepare(s->q, &s->seed_get, "SELECT seed FROM freq_seed WHERE id = ?1", why);
}

cd_err cd_spent_sql_open(cd_spent_sql **out, cd_sql *q, cd_errinfo *why)
{
    cd_spent_sql *s = cd_new(cd_spent_sql);
    s->q = q;
    cd_err e = cd_sql_exec(q, SCHEMA, why);
    if (e == CD_OK) {
        e = prepare(s, why);
    }
    if (e != CD_OK) {
        cd_spent_sql_close(s);
        return e;
    }
    *out = s;
    return CD_OK;
}

cd_spent_store cd_spent_sql_store(cd_spent_sql *s)
{
    return (cd_spent_store){.ctx = s, .spend = spend, .purge = purge, .seed = seed};
}

void cd_spent_sql_close(cd_spent_sql *s)
{
    if (s != NULL) {
        cd_sql_drop(s->spend);
        cd_sql_drop(s->purge);
        cd_sql_drop(s->seed_put);
        cd_sql_drop(s->seed_get);
        cd_free(s);
    }
}
