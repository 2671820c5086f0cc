/* node/budget.h - one budget of memory, and the only place where it is divided. Threading: pure. [spec:architecture#9] */
#ifndef CD_NODE_BUDGET_H
#define CD_NODE_BUDGET_H

#include "base/base.h"

/* Bytes; together they are the budget. What a share is not used for stays free: they are bounds, nothing is taken ahead. */
typedef struct cd_budget {
    usize store;    /* blocks of the store's files, and what is to be written to them */
    usize state;    /* accounts and slots read from the store */
    usize tries;    /* standing tries */
    usize texts;    /* answers kept as text */
    usize requests; /* requests, answers, the pool */
} cd_budget;

/* cd_budget_of divides memory (64 MiB or more). */
cd_budget cd_budget_of(u64 memory);

#endif
