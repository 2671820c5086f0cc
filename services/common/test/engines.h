/* services/common/test/engines.h - databases for tests: SQLite in a temporary folder, and PostgreSQL on a server of the
 * test's own. */
#ifndef CD_SERVICES_COMMON_TEST_ENGINES_H
#define CD_SERVICES_COMMON_TEST_ENGINES_H

#include "services/common/sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What all engines are: engines_count counts them, 1 when PostgreSQL is not installed (with CI=true that fails).
 * engines_end stops the server and removes what it kept; call it last. */
usize engines_count(void);
void engines_end(void);
/* engines_group_end is engines_end as what cmocka calls behind a group of tests. */
int engines_group_end(void **state);

/* The server dies at once, as if killed, and comes back. */
void engines_server_stop(void);
void engines_server_start(void);

/* engines_dir makes a temporary folder. engines_url gives the URL of an empty database on engine 0 (SQLite, a file in
 * dir) or 1 (PostgreSQL, a schema of its own). */
void engines_dir(char dir[64]);
void engines_url(char url[256], usize engine, const char *dir);

/* engines_ok fails the test with the reason. */
#define engines_ok(expr)                                                                                               \
    do {                                                                                                               \
        cd_errinfo engines_why_ = {0};                                                                                 \
        cd_errinfo *why = &engines_why_;                                                                               \
        cd_err engines_err_ = (expr);                                                                                  \
        if (engines_err_ != CD_OK) {                                                                                   \
            fail_msg("%s: %s: %s", #expr, cd_err_name(engines_err_), engines_why_.msg);                                \
        }                                                                                                              \
    } while (0)

#endif
