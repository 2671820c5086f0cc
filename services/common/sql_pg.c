#include "services/common/sql_priv.h"

#include "base/mem/mem.h"

#include <libpq-fe.h>

#include <poll.h>
#include <stdio.h>

/* After so many statements without an answer they are read: they take memory, here and there. */
enum { SENT_MAX = 512 };

enum { HEAR_MS = 10000 };

/* Types of values as the server numbers them. */
enum { OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25 };

typedef struct pg {
    cd_sql base;
    PGconn *conn;
    bool is_lost; /* the server has ended the connection, or an error has said so */
    u64 life;     /* number of the connection: statements have to be prepared anew in the next one */
    u64 names;    /* number of names that statements were given */
    u64 sent;     /* number of statements whose answers were not read yet */
    u64 batch;    /* number of the pipeline that they are in */
    cd_err err;   /* the first error that one of them had */
    cd_errinfo why;
} pg;

typedef struct pg_stmt {
    cd_sql_stmt base;
    char *text;
    char name[24];
    u64 life;  /* number of the connection that it is prepared in; 0: none */
    u64 batch; /* number of the pipeline that it was prepared in */
    PGresult *rows;
    int row, cnt;
} pg_stmt;

static cd_err err_of(const char *state)
{
    static const struct {
        const char *prefix;
        cd_err err;
    } table[] = {
        {"23", CD_EEXIST},      {"53100", CD_ENOSPC}, {"40", CD_EBUSY},     {"55P03", CD_EBUSY},
        {"28", CD_EACCES},      {"42501", CD_EACCES}, {"25006", CD_EACCES}, {"XX001", CD_ECORRUPT},
        {"XX002", CD_ECORRUPT}, {"08", CD_ECLOSED},   {"57P", CD_ECLOSED},
    };
    for (usize i = 0; i < CD_COUNT(table); i++) {
        if (strncmp(state, table[i].prefix, strlen(table[i].prefix)) == 0) {
            return table[i].err;
        }
    }
    return CD_EIO;
}

/* The first line of what the server says, which has no values in it. What it has not said itself is said of the
 * connection, which libpq does not always take for lost by itself. */
static cd_err fail(const PGresult *r, pg *p, cd_errinfo *why)
{
    const char *text = r == NULL ? NULL : PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    const char *state = r == NULL ? NULL : PQresultErrorField(r, PG_DIAG_SQLSTATE);
    cd_err err = state == NULL ? CD_ECLOSED : err_of(state);
    if (text == NULL || *text == '\0') {
        text = PQerrorMessage(p->conn);
    }
    p->is_lost = p->is_lost || err == CD_ECLOSED;
    return cd_fail(why, err, "database: %.*s", (int)strcspn(text, "\n"), text);
}

static void remember(pg *p, const PGresult *r)
{
    if (p->err == CD_OK) {
        p->err = fail(r, p, &p->why);
    }
}

static void name_it(pg *p, pg_stmt *s)
{
    s->life = 0;
    (void)snprintf(s->name, sizeof s->name, "s%llu", (unsigned long long)++p->names);
}

/* Sends the end of what is under way and reads all answers; the rows of the last statement that gave some. */
static cd_err drain(pg *p, PGresult **rows, cd_errinfo *why)
{
    bool is_over = p->sent == 0;
    if (!is_over && PQpipelineSync(p->conn) != 1) {
        remember(p, NULL);
        is_over = true;
    }
    while (!is_over) {
        PGresult *r = PQgetResult(p->conn);
        if (r == NULL) { /* between the answers of two statements, or nobody is there any more */
            is_over = p->is_lost || PQstatus(p->conn) != CONNECTION_OK;
            if (is_over) {
                remember(p, NULL);
            }
            continue;
        }
        ExecStatusType status = PQresultStatus(r);
        is_over = status == PGRES_PIPELINE_SYNC;
        if (status == PGRES_TUPLES_OK && rows != NULL) {
            PQclear(*rows);
            *rows = r;
            continue;
        }
        if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
            remember(p, r);
        }
        PQclear(r);
    }
    p->sent = 0;
    cd_err err = p->err;
    for (cd_sql_stmt *st = err == CD_OK ? NULL : p->base.stmts; st != NULL; st = st->next) {
        if (((pg_stmt *)st)->batch == p->batch) { /* nobody knows whether it came before the error */
            name_it(p, (pg_stmt *)st);
        }
    }
    p->batch++;
    if (err != CD_OK && why != NULL) {
        *why = p->why;
    }
    p->err = CD_OK;
    return err;
}

static cd_err flush(cd_sql *q, cd_errinfo *why)
{
    return drain((pg *)q, NULL, why);
}

/* The server does it. */
static cd_err tidy(cd_sql *q, cd_errinfo *why)
{
    (void)q;
    (void)why;
    return CD_OK;
}

static cd_err soft(cd_sql *q, bool is_soft, cd_errinfo *why)
{
    CD_TRY(q->ops->ready(q, why));
    return q->ops->exec(q, is_soft ? "SET synchronous_commit = off" : "SET synchronous_commit = on", why);
}

static void rest(cd_sql *q)
{
    (void)q; /* rows are in memory */
}

static void close_it(cd_sql *q)
{
    pg *p = (pg *)q;
    PQfinish(p->conn);
    cd_free(p);
}

static cd_err exec(cd_sql *q, const char *text, cd_errinfo *why)
{
    pg *p = (pg *)q;
    CD_TRY(flush(q, why));
    if (PQexitPipelineMode(p->conn) != 1) {
        return fail(NULL, p, why);
    }
    PGresult *r = PQexec(p->conn, text);
    ExecStatusType status = PQresultStatus(r);
    cd_err err = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? CD_OK : fail(r, p, why);
    PQclear(r);
    if (PQenterPipelineMode(p->conn) != 1 && err == CD_OK) {
        err = fail(NULL, p, why);
    }
    return err;
}

static void quiet(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

/* Nothing waits for ever on a lock, and a server that does not answer is noticed. */
static cd_err connected(pg *p, cd_errinfo *why)
{
    if (PQstatus(p->conn) != CONNECTION_OK) {
        return fail(NULL, p, why);
    }
    p->life++;
    p->is_lost = false;
    p->base.is_soft = false;
    p->batch++;
    p->sent = 0;
    p->err = CD_OK;
    PQsetNoticeProcessor(p->conn, quiet, NULL);
    if (PQenterPipelineMode(p->conn) != 1) {
        return fail(NULL, p, why);
    }
    return exec(&p->base, "SET lock_timeout = '10s'; SET client_encoding = 'UTF8'", why);
}

/* A connection that was closed while nobody asked has that to be read: why, and then its end. */
static bool is_there(const pg *p)
{
    struct pollfd fd = {.fd = PQsocket(p->conn), .events = POLLIN};
    for (int i = 0; i < 3 && poll(&fd, 1, 0) > 0; i++) {
        if (PQconsumeInput(p->conn) != 1) {
            return false;
        }
    }
    return true;
}

static cd_err ready(cd_sql *q, cd_errinfo *why)
{
    pg *p = (pg *)q;
    if (!p->is_lost && PQstatus(p->conn) == CONNECTION_OK && is_there(p)) {
        return CD_OK;
    }
    PQreset(p->conn);
    return connected(p, why);
}

/* Names are of a schema: others may use the same in theirs. */
static cd_err take_name(pg *p, const char *name, cd_errinfo *why)
{
    static const char text[] = "SELECT pg_try_advisory_lock(hashtextextended(current_schema() || $1, 0))";
    PGresult *r = PQexecParams(p->conn, text, 1, NULL, &name, NULL, NULL, 0);
    cd_err err = CD_OK;
    if (PQresultStatus(r) != PGRES_TUPLES_OK) {
        err = fail(r, p, why);
    } else if (PQgetvalue(r, 0, 0)[0] != 't') {
        err = cd_fail(why, CD_EBUSY, "another process goes by the name of \"%s\"", name);
    }
    PQclear(r);
    return err;
}

static cd_err listen_to(cd_sql *q, const char *channel, const char *name, cd_errinfo *why)
{
    pg *p = (pg *)q;
    char text[80];
    CD_TRY(ready(q, why));
    (void)snprintf(text, sizeof text, "LISTEN %s", channel);
    CD_TRY(exec(q, text, why));
    if (PQexitPipelineMode(p->conn) != 1) {
        return fail(NULL, p, why);
    }
    cd_err err = take_name(p, name, why);
    return PQenterPipelineMode(p->conn) == 1 || err != CD_OK ? err : fail(NULL, p, why);
}

/* Without anything to hear the server is asked for a sign of life now and then. */
static cd_err hear(cd_sql *q, int wake_fd, void (*fn)(void *ctx, const char *text), void *ctx, cd_errinfo *why)
{
    pg *p = (pg *)q;
    struct pollfd fds[] = {{.fd = PQsocket(p->conn), .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    int n = poll(fds, CD_COUNT(fds), HEAR_MS);
    if (n == 0) {
        CD_TRY(exec(q, "SELECT 1", why));
    } else if (fds[0].revents != 0 && PQconsumeInput(p->conn) != 1) {
        return fail(NULL, p, why);
    }
    for (PGnotify *told; (told = PQnotifies(p->conn)) != NULL; PQfreemem(told)) {
        fn(ctx, told->extra);
    }
    return CD_OK;
}

static cd_err prepare(cd_sql *q, cd_sql_stmt **out, const char *text, cd_errinfo *why)
{
    pg_stmt *s = cd_new(pg_stmt);
    usize n = strlen(text);
    (void)why;
    s->text = cd_alloc(n + 1);
    memcpy(s->text, text, n);
    name_it((pg *)q, s);
    *out = &s->base;
    return CD_OK;
}

static void drop(cd_sql_stmt *st)
{
    pg_stmt *s = (pg_stmt *)st;
    pg *p = (pg *)st->q;
    if (s->life == p->life && PQstatus(p->conn) == CONNECTION_OK) {
        char text[48];
        (void)snprintf(text, sizeof text, "DEALLOCATE %s", s->name);
        if (PQsendQueryParams(p->conn, text, 0, NULL, NULL, NULL, NULL, 1) == 1) {
            p->sent++;
        }
    }
    PQclear(s->rows);
    cd_free(s->text);
    cd_free(s);
}

/* The server is told the types of the values: it would guess four bytes for a number that stands beside a small one. */
static cd_err send(pg_stmt *s, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    static const Oid oids[] = {
        [CD_SQL_NULL] = 0,
        [CD_SQL_INT] = OID_INT8,
        [CD_SQL_TEXT] = OID_TEXT,
        [CD_SQL_BLOB] = OID_BYTEA,
    };
    pg *p = (pg *)s->base.q;
    Oid types[CD__SQL_VALS_MAX];
    u8 numbers[CD__SQL_VALS_MAX][8];
    const char *at[CD__SQL_VALS_MAX];
    int lengths[CD__SQL_VALS_MAX];
    int formats[CD__SQL_VALS_MAX];
    CD_ASSERT(cnt <= CD__SQL_VALS_MAX);
    for (usize i = 0; i < cnt; i++) {
        const cd_sql_val *v = &vals[i];
        bool is_int = v->kind == CD_SQL_INT;
        CD_ASSERT(v->b.n <= INT32_MAX);
        cd_put_be64(numbers[i], (u64)v->i);
        types[i] = oids[v->kind];
        at[i] = v->kind == CD_SQL_NULL ? NULL
                : is_int               ? (const char *)numbers[i]
                : v->b.n == 0          ? ""
                                       : (const char *)v->b.p;
        lengths[i] = is_int ? 8 : (int)v->b.n;
        formats[i] = 1;
    }
    if (s->life != p->life) {
        if (PQsendPrepare(p->conn, s->name, s->text, (int)cnt, types) != 1) {
            return fail(NULL, p, why);
        }
        s->life = p->life;
        s->batch = p->batch;
        p->sent++;
    }
    if (PQsendQueryPrepared(p->conn, s->name, (int)cnt, at, lengths, formats, 1) != 1) {
        return fail(NULL, p, why);
    }
    p->sent++;
    return CD_OK;
}

static cd_err run(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    pg *p = (pg *)st->q;
    CD_TRY(send((pg_stmt *)st, vals, cnt, why));
    return p->sent < SENT_MAX ? CD_OK : drain(p, NULL, why);
}

static cd_err query(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why)
{
    pg_stmt *s = (pg_stmt *)st;
    PQclear(s->rows);
    s->rows = NULL;
    s->row = -1;
    s->cnt = 0;
    CD_TRY(send(s, vals, cnt, why));
    CD_TRY(drain((pg *)st->q, &s->rows, why));
    s->cnt = PQntuples(s->rows);
    return CD_OK;
}

static cd_err next(cd_sql_stmt *st, bool *is_row, cd_errinfo *why)
{
    pg_stmt *s = (pg_stmt *)st;
    (void)why;
    *is_row = s->row + 1 < s->cnt;
    s->row += *is_row ? 1 : 0;
    return CD_OK;
}

static cd_bytes col_b(cd_sql_stmt *st, int col)
{
    const pg_stmt *s = (const pg_stmt *)st;
    return cd_bytes_of(PQgetvalue(s->rows, s->row, col), (usize)PQgetlength(s->rows, s->row, col));
}

static i64 col_i(cd_sql_stmt *st, int col)
{
    cd_bytes b = col_b(st, col);
    return b.n == 8 ? (i64)cd_be64(b.p) : b.n == 4 ? (i64)(i32)cd_be32(b.p) : 0;
}

static bool col_is_null(cd_sql_stmt *st, int col)
{
    const pg_stmt *s = (const pg_stmt *)st;
    return PQgetisnull(s->rows, s->row, col) == 1;
}

static const cd__sql_ops ops = {
    .is_shared = true,
    .control =
        {
            [CD__SQL_BEGIN_READ] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            [CD__SQL_BEGIN_WRITE] = "BEGIN",
            [CD__SQL_COMMIT] = "COMMIT",
            [CD__SQL_ROLLBACK] = "ROLLBACK",
            [CD__SQL_SAVE] = "SAVEPOINT part",
            [CD__SQL_KEEP] = "RELEASE SAVEPOINT part",
            [CD__SQL_UNDO] = "ROLLBACK TO SAVEPOINT part",
        },
    .close = close_it,
    .exec = exec,
    .ready = ready,
    .flush = flush,
    .tidy = tidy,
    .soft = soft,
    .listen = listen_to,
    .hear = hear,
    .rest = rest,
    .prepare = prepare,
    .drop = drop,
    .run = run,
    .query = query,
    .next = next,
    .col_i = col_i,
    .col_b = col_b,
    .col_is_null = col_is_null,
};

cd_err cd__sql_pg(cd_sql **out, const char *url, const cd_sql_cfg *cfg, cd_errinfo *why)
{
    (void)cfg;
    pg *p = cd_new(pg);
    p->base.ops = &ops;
    /* What the URL says of these is what counts; by themselves they would be for ever. */
    static const char *const names[] = {"connect_timeout", "tcp_user_timeout", "dbname", NULL};
    const char *const values[] = {"5", "10000", url, NULL};
    p->conn = PQconnectdbParams(names, values, 1);
    cd_err err = connected(p, why);
    if (err != CD_OK) {
        close_it(&p->base);
        return err;
    }
    *out = &p->base;
    return CD_OK;
}
