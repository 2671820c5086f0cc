/* node/budget.h - one budget of memory, and the only place where it is divided. Threading: pure.
 * [spec:architecture#9] */
#ifndef CD_NODE_BUDGET_H
#define CD_NODE_BUDGET_H

#include "base/base.h"

/* Bytes; together they are the budget. What a share is not used for stays free: they are bounds, nothing is taken
 * ahead. */
typedef struct cd_budget {
    usize store;    /* blocks of the store's files, and what is to be written to them */
    usize state;    /* accounts and slots read from the store */
    usize tries;    /* standing tries */
    usize texts;    /* answers kept as text */
    usize requests; /* requests and answers, the pool; of it: */
    usize http;     /* bodies, and answers that wait for clients (cd_http_cfg) */
    usize ws_in;    /* unfinished messages of WebSocket clients */
    usize ws_out;   /* what waits for them: as frames, and before */
    usize writing;  /* answers to batches, while threads write them (cd_rpc_writing) */
    u32 conns_max;  /* connections that the rest is enough for */
} cd_budget;

/* cd_budget_of divides memory (64 MiB or more). cd_budget_part gives what one of cnt chains may use: state, tries,
 * texts and what waits for WebSocket clients are divided among them, the rest they share. */
cd_budget cd_budget_of(u64 memory);
cd_budget cd_budget_part(const cd_budget *b, u32 cnt);

#endif
