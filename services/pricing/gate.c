#include "services/pricing/gate.h"

#define STAY_MAX_NS (3600 * CD_NS_PER_SEC) /* longer waits are a mistake of the provider's */

enum { BREAKER_FAILURES = 5, BREAKER_OPEN_S = 30, BACKOFF_MAX_S = 60 };

void cd_gate_init(cd_gate *g, u32 rate_per_min, u64 now_ns, u64 seed)
{
    CD_ASSERT(rate_per_min != 0);
    u32 burst = rate_per_min / 5 > 1 ? rate_per_min / 5 : 1;
    *g = (cd_gate){
        .rate_per_min = rate_per_min,
        .burst = burst,
        /* a full bucket and what flows in within a minute are rate_per_min calls */
        .per_ns = (rate_per_min - burst + 1) / (60.0 * (double)CD_NS_PER_SEC),
        .tokens = burst,
        .filled_ns = now_ns,
        .rng = cd_rng_seeded(seed),
    };
}

double cd_gate_tokens(cd_gate *g, u64 now_ns)
{
    double tokens = g->tokens + (double)(now_ns - g->filled_ns) * g->per_ns;
    g->tokens = tokens < g->burst ? tokens : g->burst;
    g->filled_ns = now_ns;
    return g->tokens;
}

cd_gate_verdict cd_gate_ask(cd_gate *g, u64 *wait_ns, u64 now_ns, double spare)
{
    u64 until = g->backoff_ns;
    if (g->breaker == CD_BREAKER_OPEN) {
        until = cd_max_u64(until, g->open_until_ns);
    } else if (g->breaker == CD_BREAKER_PROBE) {
        until = cd_max_u64(until, now_ns + CD_NS_PER_SEC);
    }
    if (until > now_ns) {
        *wait_ns = until - now_ns;
        return CD_GATE_BLOCKED;
    }
    double missing = (1 + spare < g->burst ? 1 + spare : g->burst) - cd_gate_tokens(g, now_ns);
    if (missing > 1e-9) {
        *wait_ns = (u64)(missing / g->per_ns) + 1;
        return CD_GATE_NO_TOKEN;
    }
    *wait_ns = 0;
    return CD_GATE_FREE;
}

void cd_gate_enter(cd_gate *g, u64 now_ns)
{
    u64 wait_ns;
    CD_ASSERT(cd_gate_ask(g, &wait_ns, now_ns, 0) == CD_GATE_FREE);
    g->tokens -= 1;
    if (g->breaker == CD_BREAKER_OPEN) {
        g->breaker = CD_BREAKER_PROBE;
    }
}

void cd_gate_good(cd_gate *g)
{
    g->failures = 0;
    g->backoffs = 0;
    g->breaker = CD_BREAKER_CLOSED;
}

void cd_gate_bad(cd_gate *g, u64 now_ns, u64 stay_ns)
{
    g->failures++;
    if (stay_ns != 0) {
        g->backoff_ns = cd_max_u64(g->backoff_ns, now_ns + cd_min_u64(stay_ns, STAY_MAX_NS));
    }
    if (g->breaker == CD_BREAKER_PROBE || g->failures >= BREAKER_FAILURES) {
        g->breaker = CD_BREAKER_OPEN;
        g->open_until_ns = now_ns + BREAKER_OPEN_S * CD_NS_PER_SEC;
    }
}

void cd_gate_limited(cd_gate *g, u64 now_ns, u64 stay_ns)
{
    if (stay_ns == 0) {
        u32 s = g->backoffs < 6 ? 1u << g->backoffs : BACKOFF_MAX_S;
        u64 ns = cd_min_u64(s, BACKOFF_MAX_S) * CD_NS_PER_SEC;
        stay_ns = ns * 4 / 5 + cd_rng_below(&g->rng, ns * 2 / 5 + 1);
    }
    g->backoffs++;
    g->backoff_ns = cd_max_u64(g->backoff_ns, now_ns + cd_min_u64(stay_ns, STAY_MAX_NS));
    cd_gate_void(g);
}

void cd_gate_void(cd_gate *g)
{
    /* A probe without a result leaves the breaker as it was before: open, and its time is over. */
    if (g->breaker == CD_BREAKER_PROBE) {
        g->breaker = CD_BREAKER_OPEN;
    }
}
