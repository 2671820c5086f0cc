/* services/adx/ledger/clerk.h - the ledger on a thread of its own: commands, many to a commit.
 *
 *   loop ── command ──► clerk: BEGIN, all that wait, COMMIT ──► done on the loop
 *
 * done is called on the loop once the commit is on the disk, so whoever is answered then loses nothing by a kill. A
 * command that fails is undone alone: the others of its group are done again without it. Threading: posting from the
 * loop only; run on the clerk's thread. [spec:adx#10] */
#ifndef CD_ADX_LEDGER_CLERK_H
#define CD_ADX_LEDGER_CLERK_H

#include "net/loop.h"
#include "services/adx/ledger/ledger.h"

typedef struct cd_clerk cd_clerk;

/* A member of the caller's struct; stays until done was called. */
typedef struct cd_clerk_cmd {
    cd_err (*run)(struct cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why); /* may run more than once */
    void (*done)(struct cd_clerk_cmd *cmd);
    cd_err err; /* for done */
    cd_errinfo why;
    cd_loop_task task; /* the clerk's */
} cd_clerk_cmd;

/* cd_clerk_open opens the ledger at url and starts the thread. Errors: those of cd_ledger_open. */
cd_err cd_clerk_open(cd_clerk **out, cd_loop *loop, const char *url, cd_errinfo *why) CD_CHECK;

/* cd_clerk_close does what was posted, then ends the thread. done is called for it if the loop runs
 * again. NULL is allowed. */
void cd_clerk_close(cd_clerk *c);

/* cd_clerk_post posts a command. Errors: CD_EFULL when too many wait; then done is not called. */
cd_err cd_clerk_post(cd_clerk *c, cd_clerk_cmd *cmd) CD_CHECK;

#endif
