/* services/pricing/gate.h - when one provider may be called: its budget, what it asked for, and whether it is well.
 *
 *   budget     a fifth of rate_per_min at once, the rest spread over the minute: no minute has more than rate_per_min
 *   back-off   after 429, or a failure that says when to come back; without a time 1, 2, 4 ... 60 s, 20 % either way
 *   breaker    closed ── 5 failures in a row ─► open for 30 s ─► probe (one call) ─┬─ good ─► closed
 *                                                  ▲                               └─ bad ──┐
 *                                                  └────────────────────────────────────────┘
 *
 * Times are monotonic nanoseconds, given by the caller. Threading: confined. [spec:pricing#5] */
#ifndef CD_SERVICES_PRICING_GATE_H
#define CD_SERVICES_PRICING_GATE_H

#include "base/os/rng.h"
#include "services/pricing/prices.h"

/* What is known of one provider: its tokens and its breaker. */
typedef struct cd_gate {
    u32 rate_per_min;
    double burst;  /* how many tokens there can be at most; a call takes one */
    double per_ns; /* how many come back in a nanosecond */
    double tokens; /* how many there were at filled_ns */
    u64 filled_ns;
    u64 backoff_ns;    /* no call is made before this time */
    u32 backoffs;      /* answers in a row that wanted to be left alone */
    u64 open_until_ns; /* the breaker lets no call through before this time */
    u32 failures;      /* calls in a row that failed */
    cd_breaker_state breaker;
    cd_rng rng;
} cd_gate;

/* cd_gate_init: full budget, closed breaker. rate_per_min is at least 1. */
void cd_gate_init(cd_gate *g, u32 rate_per_min, u64 now_ns, u64 seed);

/* What stands in the way of a call. */
typedef enum cd_gate_verdict {
    CD_GATE_FREE,
    CD_GATE_NO_TOKEN, /* only the budget: worth waiting for */
    CD_GATE_BLOCKED,  /* back-off, or an open breaker */
} cd_gate_verdict;

/* cd_gate_ask: may there be a call now? *wait_ns is how long until there may (0 when free; for a probe that is under
 * way a second). spare: tokens that must be left over. */
cd_gate_verdict cd_gate_ask(cd_gate *g, u64 *wait_ns, u64 now_ns, double spare);

/* cd_gate_enter begins a call, which must be allowed (with spare 0). */
void cd_gate_enter(cd_gate *g, u64 now_ns);

/* How calls end: cd_gate_good; cd_gate_bad with the time it asked to stay away for (0: it did not say);
 * cd_gate_limited for 429; cd_gate_void for one that ended before there was an answer, and tells nothing. */
void cd_gate_good(cd_gate *g);
void cd_gate_bad(cd_gate *g, u64 now_ns, u64 stay_ns);
void cd_gate_limited(cd_gate *g, u64 now_ns, u64 stay_ns);
void cd_gate_void(cd_gate *g);

/* cd_gate_tokens: calls that the budget allows at once. */
double cd_gate_tokens(cd_gate *g, u64 now_ns);

#endif
