/* chains/evmchain/dev/console.h - what contracts print: calls to Hardhat's console address, decoded, and how
 * transactions ended.
 *
 *   execution ──calls──► cd_console_watch (an EVM tracer) ──► lines and outcomes, one list a transaction
 *                                └── selector ──► cd_console (frozen table of signatures) ──► text
 *
 * The table is made of the signatures' shape: no value; one of any elementary type; up to four of string, bool,
 * address, uint256; under today's selectors and those of older libraries, which hashed "uint" for "uint256".
 * Threading: cd_console is frozen; a watch is confined. [spec:dev-rpc#2.7] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_CONSOLE_H
#define CD_CHAINS_EVMCHAIN_DEV_CONSOLE_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "evm/evm.h"

typedef struct cd_console cd_console;

/* cd_console_new makes the table of known selectors; cd_console_free ends it (NULL is allowed). */
cd_console *cd_console_new(void);
void cd_console_free(cd_console *c);

/* cd_console_text appends what a call with that input prints; false when its selector is unknown. */
bool cd_console_text(const cd_console *c, cd_buf *out, cd_bytes input);

/* cd_console_put appends text of a contract with its control characters escaped: they must not reach a terminal. */
void cd_console_put(cd_buf *out, cd_bytes text);

/* cd_console_cnt counts the selectors known. */
usize cd_console_cnt(const cd_console *c);

/* A line, in the order of execution. */
typedef struct cd_console_line {
    const char *text;
    struct cd_console_line *next;
} cd_console_line;

/* How a transaction ended. */
typedef struct cd_console_tx {
    cd_console_line *lines;
    cd_evm_status status;
    const char *words; /* for that */
    cd_bytes output;
    struct cd_console_tx *next;
} cd_console_tx;

/* Listens for console.log while transactions run. */
typedef struct cd_console_watch {
    cd_tracer tracer; /* first: for cd_evm_set_tracer */
    const cd_console *console;
    cd_arena arena;
    cd_console_tx *txs; /* first to last */
    cd_console_tx **last;
    cd_console_line **last_line;
} cd_console_watch;

/* cd_console_watch_init starts a watch, which stays where it is; fini releases what it found. */
void cd_console_watch_init(cd_console_watch *w, const cd_console *c);
void cd_console_watch_fini(cd_console_watch *w);

#endif
