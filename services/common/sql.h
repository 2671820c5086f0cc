/* services/common/sql.h - a thin statement layer over SQLite and PostgreSQL: one SQL text, two engines.
 *
 *   cd_sql_prepare once ─► cd_sql_run (no rows)                      values are given by position: ?1, ?2 …
 *                      └─► cd_sql_query ─► cd_sql_next … columns
 *
 * The subset: BIGINT, TEXT and @blob columns, ?N for values, ON CONFLICT, RETURNING. Words that differ begin with @ and
 * are put in when a text is prepared:
 *   @id     an integer primary key that the engine may draw      @blob     bytes
 *   @lock   rows stay ours until the end of the transaction      @skip     the same, without rows that others have
 *   @least  @greatest  of two values                             @like     compares without case
 *   @tell('channel', text)  who listens there is told after the commit; nothing where nobody else can be
 *   @orphan(name)  nobody has taken this name by cd_sql_listen, nor may until the end of the transaction
 *   @find(a, b)  where bytes b stand in bytes a, from 1; 0: nowhere
 *   @each(?1)  rows `value` of a JSON array of integers          @norowid  keep the table in its key
 * PostgreSQL gets what has no rows without waiting for the answer: an error then comes with a later call, with
 * cd_sql_commit or cd_sql_flush at the latest. After an error the transaction must be undone, to its savepoint at
 * least; so do not rely on constraints, use ON CONFLICT. What was wrong is in why, never the values. SQLite: WAL,
 * every commit that is not soft is on the disk before it returns, and how many there were is noted in PATH-head: a
 * file that has less was damaged, and is not opened (CD_ELOST, why says what to do). Connections that were lost are
 * made again at the next begin. Threading: confined. Errors: CD_EIO, CD_ENOSPC, CD_EACCES, CD_EEXIST (a constraint),
 * CD_ECORRUPT; CD_EBUSY (a lock, a deadlock) and CD_ECLOSED (the connection is lost, and if that was at the commit,
 * nobody knows of what became of it) are worth another try of the whole transaction. */
#ifndef CD_SERVICES_COMMON_SQL_H
#define CD_SERVICES_COMMON_SQL_H

#include "base/mem/arena.h"

typedef struct cd_sql cd_sql;
typedef struct cd_sql_stmt cd_sql_stmt;

/* Which database, and how it is opened. */
typedef struct cd_sql_cfg {
    const char *url; /* sqlite:PATH, postgresql://… or postgres://… */
    bool may_write;
    u32 cache_kib; /* SQLite's pages in memory; 0: 2,000 */
} cd_sql_cfg;

/* cd_sql_open opens a database; a SQLite file is made when it is missing and cfg may write. CD_EFORMAT for a URL of
 * neither kind, CD_EFOREIGN for a file that is no database, CD_ELOST for one that has
 * less than it acknowledged. */
cd_err cd_sql_open(cd_sql **out, const cd_sql_cfg *cfg, cd_errinfo *why) CD_CHECK;
/* cd_sql_close ends statements and connection; what was not committed is undone. NULL is allowed. */
void cd_sql_close(cd_sql *q);

/* cd_sql_is_shared: other machines may use the database at the same time (PostgreSQL). cd_sql_is_shared_url: it
 * would be. */
bool cd_sql_is_shared(const cd_sql *q);
bool cd_sql_is_shared_url(const char *url);

/* Of a shared database, by a connection for nothing else. cd_sql_listen takes a name, for as long as the connection
 * lives (CD_EBUSY: another process has it), and listens to a channel; anew after CD_ECLOSED. cd_sql_hear waits until
 * something was told there, gives all of it, and returns; at once when wake_fd can be read, and now and then for
 * nothing. */
cd_err cd_sql_listen(cd_sql *q, const char *channel, const char *name, cd_errinfo *why) CD_CHECK;
cd_err cd_sql_hear(cd_sql *q, int wake_fd, void (*fn)(void *ctx, const char *text), void *ctx,
                   cd_errinfo *why) CD_CHECK;

/* cd_sql_tidy does what the engine puts off: SQLite's log is copied into the file while others go on writing, by a
 * connection of another thread. cd_sql_untidy: pages that a connection has put off, 0 where that is nobody's
 * business. A connection that nobody tidies up behind does so itself, at 64 MB. */
cd_err cd_sql_tidy(cd_sql *q, cd_errinfo *why) CD_CHECK;
u32 cd_sql_untidy(const cd_sql *q);

/* cd_sql_exec runs statements without values, separated by semicolons. */
cd_err cd_sql_exec(cd_sql *q, const char *text, cd_errinfo *why) CD_CHECK;

/* cd_sql_migrate brings the schema up to date: of steps (numbered from 1) those which the database has not seen, in one
 * transaction. CD_EVERSION when it has seen more than there are. */
cd_err cd_sql_migrate(cd_sql *q, const char *const *steps, usize cnt, cd_errinfo *why) CD_CHECK;

/* Transactions. save begins a part that undo takes back and keep keeps; one at a time. rollback cannot fail. */
cd_err cd_sql_begin(cd_sql *q, bool is_write, cd_errinfo *why) CD_CHECK;
cd_err cd_sql_commit(cd_sql *q, cd_errinfo *why) CD_CHECK;
void cd_sql_rollback(cd_sql *q);
cd_err cd_sql_save(cd_sql *q, cd_errinfo *why) CD_CHECK;
cd_err cd_sql_keep(cd_sql *q, cd_errinfo *why) CD_CHECK;
cd_err cd_sql_undo(cd_sql *q, cd_errinfo *why) CD_CHECK;

/* cd_sql_soft: commits from now on may be undone by a power cut (never by a kill, nor without all that came later),
 * and do not wait for the disk; the next one that is not soft puts all of them there. False at first; between
 * transactions. */
cd_err cd_sql_soft(cd_sql *q, bool is_soft, cd_errinfo *why) CD_CHECK;

/* cd_sql_flush waits for what is under way. */
cd_err cd_sql_flush(cd_sql *q, cd_errinfo *why) CD_CHECK;

/* cd_sql_prepare makes a statement; the connection owns it, cd_sql_drop ends it before (NULL is allowed). */
cd_err cd_sql_prepare(cd_sql *q, cd_sql_stmt **out, const char *text, cd_errinfo *why) CD_CHECK;
void cd_sql_drop(cd_sql_stmt *st);

/* Types of a value. */
typedef enum cd_sql_kind { CD_SQL_NULL, CD_SQL_INT, CD_SQL_TEXT, CD_SQL_BLOB } cd_sql_kind;

/* A parameter of a statement. */
typedef struct cd_sql_val {
    cd_sql_kind kind;
    i64 i;
    cd_bytes b; /* borrowed for the call */
} cd_sql_val;

/* cd_sql_i … make a value; cd_sql_u of a number above 2^63 - 1 is that. */
CD_INLINE cd_sql_val cd_sql_i(i64 v)
{
    return (cd_sql_val){.kind = CD_SQL_INT, .i = v};
}
CD_INLINE cd_sql_val cd_sql_u(u64 v)
{
    return (cd_sql_val){.kind = CD_SQL_INT, .i = v > INT64_MAX ? INT64_MAX : (i64)v};
}
CD_INLINE cd_sql_val cd_sql_b(cd_bytes v)
{
    return (cd_sql_val){.kind = CD_SQL_BLOB, .b = v};
}
CD_INLINE cd_sql_val cd_sql_t(const char *v)
{
    return (cd_sql_val){.kind = CD_SQL_TEXT, .b = cd_bytes_str(v)};
}
CD_INLINE cd_sql_val cd_sql_null(void)
{
    return (cd_sql_val){.kind = CD_SQL_NULL};
}

/* cd_sql_run_n does a statement that gives no rows; cd_sql_query_n begins one that does. CD_SQL_RUN(st, why,
 * values…) and CD_SQL_QUERY are how they are written. */
cd_err cd_sql_run_n(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why) CD_CHECK;
cd_err cd_sql_query_n(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why) CD_CHECK;
#define CD_SQL_RUN(st, why, ...)                                                                                       \
    cd_sql_run_n((st), (const cd_sql_val[]){__VA_ARGS__},                                                              \
                 sizeof((const cd_sql_val[]){__VA_ARGS__}) / sizeof(cd_sql_val), (why))
#define CD_SQL_QUERY(st, why, ...)                                                                                     \
    cd_sql_query_n((st), (const cd_sql_val[]){__VA_ARGS__},                                                            \
                   sizeof((const cd_sql_val[]){__VA_ARGS__}) / sizeof(cd_sql_val), (why))

/* cd_sql_next steps to the next row; *is_row is false behind the last. cd_sql_one wants a row: CD_ENOENT. */
cd_err cd_sql_next(cd_sql_stmt *st, bool *is_row, cd_errinfo *why) CD_CHECK;
cd_err cd_sql_one(cd_sql_stmt *st, cd_errinfo *why) CD_CHECK;

/* Columns of the row, from 0; bytes are borrowed until the next call with this statement. NULL is 0 and empty.
 * cd_sql_col_str and cd_sql_col_dup copy. */
i64 cd_sql_col_i(cd_sql_stmt *st, int col);
cd_bytes cd_sql_col_b(cd_sql_stmt *st, int col);
bool cd_sql_col_is_null(cd_sql_stmt *st, int col);
CD_INLINE u64 cd_sql_col_u(cd_sql_stmt *st, int col)
{
    i64 v = cd_sql_col_i(st, col);
    return v < 0 ? 0 : (u64)v;
}
CD_INLINE const char *cd_sql_col_str(cd_sql_stmt *st, int col, cd_arena *mem)
{
    return cd_arena_str(mem, cd_sql_col_b(st, col));
}
CD_INLINE cd_bytes cd_sql_col_dup(cd_sql_stmt *st, int col, cd_arena *mem)
{
    return cd_arena_dup(mem, cd_sql_col_b(st, col));
}

#endif
