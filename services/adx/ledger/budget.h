/* services/adx/ledger/budget.h - what campaigns may still promise, in memory, out of leases that the ledger granted.
 *
 *   ledger ── lease ──► left ── reserve ──► reserved ── settle ──► billed
 *                        ▲───── expired or cancelled ─────┘
 *
 * A campaign has one lease a day and process; it is added to before it is used up, and moved on before it ends, always
 * further than the longest promise. Nothing here waits: where there is nothing left at the moment, there is no bid.
 * Threading: confined to the loop. [spec:adx#10] */
#ifndef CD_ADX_LEDGER_BUDGET_H
#define CD_ADX_LEDGER_BUDGET_H

#include "base/log/log.h"
#include "services/adx/ledger/clerk.h"

enum { CD_BUDGET_RESERVED_MAX = 1000000 };

typedef struct cd_budget cd_budget;

/* What a budget works with; all of it borrowed. */
typedef struct cd_budget_cfg {
    cd_loop *loop;
    cd_clerk *clerk;
    const cd_clock *clock;
    cd_logger *log;
    u32 promise_max_s; /* the longest life of a reservation */
} cd_budget_cfg;

/* cd_budget_new keeps what cfg points to. */
cd_budget *cd_budget_new(const cd_budget_cfg *cfg);
/* cd_budget_free: nothing comes back from the clerk any more. NULL is allowed. */
void cd_budget_free(cd_budget *b);

/* cd_budget_end gives back what nobody was promised, and calls done once; nothing can be reserved any more. */
void cd_budget_end(cd_budget *b, void (*done)(void *ctx), void *ctx);

/* cd_budget_put makes a campaign known, or changes its money: total, a day (0: no limit), and what one impression
 * costs at most, by which leases are measured. Gives its number. */
u32 cd_budget_put(cd_budget *b, const char *campaign, i64 total, i64 daily, i64 usual);

/* cd_budget_is_ready: all campaigns that were put are funded in the ledger, and have heard what they may spend. */
bool cd_budget_is_ready(const cd_budget *b);

/* cd_budget_has: amount could be reserved now. */
bool cd_budget_has(const cd_budget *b, u32 campaign, i64 amount);

/* cd_budget_reserve sets amount aside for life_s seconds, under a token, and gives the lease it comes from; false
 * when there is not so much left. */
bool cd_budget_reserve(cd_budget *b, i64 *lease, u32 campaign, i64 amount, const u8 token[CD_LEDGER_TOKEN_LEN],
                       u32 life_s);

/* cd_budget_settle: the token was paid. cd_budget_cancel: it was never given to anybody. Unknown tokens (of another
 * process, of an earlier life) are fine. */
void cd_budget_settle(cd_budget *b, const u8 token[CD_LEDGER_TOKEN_LEN]);
void cd_budget_cancel(cd_budget *b, const u8 token[CD_LEDGER_TOKEN_LEN]);

/* cd_budget_left and cd_budget_reserved: of a campaign, in this process. */
i64 cd_budget_left(const cd_budget *b, u32 campaign);
i64 cd_budget_reserved(const cd_budget *b, u32 campaign);

#endif
