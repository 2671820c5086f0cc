/* services/pricing/test/world.h - a gateway with a clock that a test moves, providers that it plays, and a shared store
 * in memory. */
#ifndef CD_SERVICES_PRICING_TEST_WORLD_H
#define CD_SERVICES_PRICING_TEST_WORLD_H

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "services/pricing/prices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#define SECOND ((u64)1000) /* as milliseconds */
#define WALL0  (1700000000 * CD_NS_PER_SEC)

enum { WORLD_CALLS_MAX = 4096, WORLD_GATEWAYS = 2, WORLD_KEYS_MAX = 512 };

/* How a provider behaves. */
typedef enum world_mode {
    WORLD_OK,
    WORLD_LIMITED,
    WORLD_LIMITED_5S,
    WORLD_500,
    WORLD_BAD_JSON,
    WORLD_DROP,
    WORLD_HANG, /* until the time-out of a second */
    WORLD_REFUSE,
    WORLD_EMPTY,
    WORLD_HALF, /* every other call fails */
} world_mode;

/* One call that a provider got. */
typedef struct world_call {
    char url[8192];
    char name[32];
    u64 at_ns;
    u64 due_ns;
    cd_prices_result_fn *fn; /* NULL: over, or cancelled */
    void *ctx;
    world_mode mode;
} world_call;

typedef struct world_key {
    char key[300];
    cd_buf value;
    u64 fresh_until_ns;
    int owner; /* of the claim, from 1 */
    u64 claim_until_ns;
} world_key;

typedef struct world world;

typedef struct world_gateway {
    world *w;
    int number; /* from 1 */
    cd_prices *prices;
    u64 alarm_ns; /* UINT64_MAX: none */
    struct {
        cd_share_taken_fn *fn;
        void *ctx;
        char keys[250][300];
        usize cnt;
    } take; /* one at a time is enough here */
} world_gateway;

struct world {
    cd_clock_virtual clock;
    world_gateway gateways[WORLD_GATEWAYS];
    world_call calls[WORLD_CALLS_MAX];
    usize calls_cnt;
    u64 latency_ns;
    world_mode mode[CD_PRICES_PROVIDERS_MAX];
    double factor[CD_PRICES_PROVIDERS_MAX]; /* of prices; 0: 1 */
    bool store_is_away;
    world_key keys[WORLD_KEYS_MAX];
    usize keys_cnt;
};

/* world_new makes a world in which everybody is well; calls take 100 ms. */
world *world_new(void);
void world_free(world *w);

/* world_cfg gives a configuration with n providers "p0", "p1" ... of 6000 calls a minute. */
cd_prices_cfg world_cfg(void);
cd_prices *world_open(world *w, int number, const cd_prices_cfg *cfg, usize providers, bool shared);

/* world_run moves time on, event by event. */
void world_run(world *w, u64 ms);

/* What one question came to. */
typedef struct world_answer {
    bool is_there;
    usize cnt;
    cd_price_state state[64];
    double price[64];
    u64 age_s[64];
    u32 retry_s[64];
    char source[64][32];
} world_answer;

/* world_ask asks for comma-separated ids in comma-separated currencies; the answer is filled when it comes. */
cd_prices_ask *world_ask(cd_prices *p, world_answer *out, const char *ids, const char *currencies);
/* world_ask_as does it as a client whose new ids are counted. */
cd_prices_ask *world_ask_as(cd_prices *p, world_answer *out, const char *ids, const char *currencies,
                            const char *client);

/* world_get asks and lets time pass until the answer is there (a minute at most). */
void world_get(world *w, cd_prices *p, world_answer *out, const char *ids, const char *currencies);

/* world_price: what the providers say of an id whose name is at, n, at a time. */
double world_price(const world *w, const char *id, usize n, int provider);

#endif
