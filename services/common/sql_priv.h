/* services/common/sql_priv.h - what an engine is to services/common/sql.c. */
#ifndef CD_SERVICES_COMMON_SQL_PRIV_H
#define CD_SERVICES_COMMON_SQL_PRIV_H

#include "services/common/sql.h"

enum { CD__SQL_VALS_MAX = 32 };

/* Texts of transaction control, prepared once. */
typedef enum cd__sql_control {
    CD__SQL_BEGIN_READ,
    CD__SQL_BEGIN_WRITE,
    CD__SQL_COMMIT,
    CD__SQL_ROLLBACK,
    CD__SQL_SAVE,
    CD__SQL_KEEP,
    CD__SQL_UNDO,
    CD__SQL_CONTROLS,
} cd__sql_control;

typedef struct cd__sql_ops {
    bool is_shared;
    const char *control[CD__SQL_CONTROLS];
    void (*close)(cd_sql *q);
    cd_err (*exec)(cd_sql *q, const char *text, cd_errinfo *why);
    cd_err (*ready)(cd_sql *q, cd_errinfo *why); /* before a transaction: the connection is there */
    cd_err (*flush)(cd_sql *q, cd_errinfo *why);
    cd_err (*tidy)(cd_sql *q, cd_errinfo *why);
    cd_err (*soft)(cd_sql *q, bool is_soft, cd_errinfo *why);
    cd_err (*listen)(cd_sql *q, const char *channel, const char *name, cd_errinfo *why); /* NULL */
    cd_err (*hear)(cd_sql *q, int wake_fd, void (*fn)(void *ctx, const char *text), void *ctx,
                   cd_errinfo *why); /* NULL */
    /* Around the commit of what may have written; NULL. */
    cd_err (*seal)(cd_sql *q, cd_errinfo *why);
    void (*sealed)(cd_sql *q);
    void (*rest)(cd_sql *q); /* no statement is under way any more */
    cd_err (*prepare)(cd_sql *q, cd_sql_stmt **out, const char *text, cd_errinfo *why);
    void (*drop)(cd_sql_stmt *st);
    cd_err (*run)(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why);
    cd_err (*query)(cd_sql_stmt *st, const cd_sql_val *vals, usize cnt, cd_errinfo *why);
    cd_err (*next)(cd_sql_stmt *st, bool *is_row, cd_errinfo *why);
    i64 (*col_i)(cd_sql_stmt *st, int col);
    cd_bytes (*col_b)(cd_sql_stmt *st, int col);
    bool (*col_is_null)(cd_sql_stmt *st, int col);
} cd__sql_ops;

struct cd_sql {
    const cd__sql_ops *ops;
    cd_sql_stmt *stmts;
    cd_sql_stmt *control[CD__SQL_CONTROLS];
    u32 untidy;
    bool in_tx;
    bool is_soft;
};

struct cd_sql_stmt {
    cd_sql *q;
    cd_sql_stmt *prev, *next;
};

/* cd__sql_sqlite and cd__sql_pg connect. path and url as the engines want them. */
cd_err cd__sql_sqlite(cd_sql **out, const char *path, const cd_sql_cfg *cfg, cd_errinfo *why);
cd_err cd__sql_pg(cd_sql **out, const char *url, const cd_sql_cfg *cfg, cd_errinfo *why);

#endif
