/* services/pricing/prices.h - prices of tokens: kept for a while, fetched when missing, stale rather than none.
 *
 *   cd_prices_get ──► known and fresh ───────────────────────────────► done, before get returns
 *                 └─► missing or stale ─► waits ─► one call for many ─► done, when every item is settled
 *                                                    provider, else the next one, else what is there
 *
 * A price is what providers say of a token (id) in a currency. Both are names of [a-z0-9][a-z0-9._-]{0,127};
 * what is no such name is unknown and never sent. Whoever asks for something that somebody else is waiting for
 * already waits for the same call. An entry leaves only when there are too many of them, never for being old.
 * Here are no routes, bodies or headers. Threading: confined to the loop. [spec:pricing#5] */
#ifndef CD_SERVICES_PRICING_PRICES_H
#define CD_SERVICES_PRICING_PRICES_H

#include "base/bytes.h"
#include "base/log/log.h"
#include "base/log/metrics.h"
#include "base/os/clock.h"
#include "services/pricing/share.h"

enum { CD_PRICE_NAME_MAX = 128 };

typedef struct cd_prices cd_prices;

/* How one item of an answer came about. */
typedef enum cd_price_state {
    CD_PRICE_HIT,       /* fresh, from the cache */
    CD_PRICE_FETCHED,   /* this request caused the call that brought it */
    CD_PRICE_COALESCED, /* it waited for a call that another request, or another instance, had caused */
    CD_PRICE_STALE,     /* older than its time to live, and could not be (or need not be) fetched anew */
    CD_PRICE_UNKNOWN,   /* the provider knows no such token */
    CD_PRICE_FAILED,    /* nothing there, and the provider failed: 502 */
    CD_PRICE_BUSY,      /* nothing there, and no call may be made before retry_after_s: 503 */
} cd_price_state;

/* One price; everything is borrowed for the call that gives it. */
typedef struct cd_price {
    cd_bytes id;
    cd_bytes currency;
    cd_bytes symbol;
    cd_bytes name;
    double price;
    double change_24h; /* per cent */
    double market_cap;
    double volume_24h;
    u64 last_updated_s; /* the provider's own time, Unix; 0: it did not say */
    u64 stored_ns;      /* wall clock when this gateway stored it */
    u64 age_s;          /* since then, by the monotonic clock */
    const char *source; /* name of the provider; it lives as long as cd_prices */
    void **slot;        /* for what a caller wants to keep with the entry, such as its rendered form: NULL after each
                           change; else memory of cd_alloc, released with cd_free when the entry changes or leaves */
} cd_price;

/* cd_price_is_there: the item has a price (hit, fetched, coalesced or stale). */
CD_INLINE bool cd_price_is_there(cd_price_state s)
{
    return s <= CD_PRICE_STALE;
}

/* cd_price_name_fold writes text in lower case to out and gives true, if that is a name. */
bool cd_price_name_fold(char out[CD_PRICE_NAME_MAX], cd_bytes text);

/* --- life --- */

/* A price that is given by the operator, not fetched; it is always fresh. */
typedef struct cd_prices_static {
    cd_bytes id;
    cd_bytes currency;
    double price;
} cd_prices_static;

/* One provider that speaks the market data API. Copied. */
typedef struct cd_prices_provider {
    const char *name;       /* what answers call it */
    const char *base;       /* URL in front of "/coins/markets" */
    const char *key_header; /* NULL: no key is sent */
    const char *key;
    u32 rate_per_min; /* 30 */
} cd_prices_provider;
enum { CD_PRICES_PROVIDERS_MAX = 8 };

/* The way to a provider; a test brings its own (net/http/client.h in the program). */
typedef struct cd_prices_result {
    cd_err err;           /* CD_OK: there is an answer. CD_ETIMEOUT, CD_ELIMIT (body), other: the connection */
    u32 status;           /* of HTTP */
    cd_bytes retry_after; /* the header, empty without */
    cd_bytes body;
} cd_prices_result;
/* Told of the end of a GET. */
typedef void cd_prices_result_fn(void *ctx, const cd_prices_result *r);
/* Who makes the connections; each call with its ctx. */
typedef struct cd_prices_net {
    void *ctx;
    /* get begins a GET whose end is told once by fn, never before get returns; cancel makes that never. */
    void *(*get)(void *ctx, const char *url, const cd_prices_provider *to, cd_prices_result_fn *fn, void *fn_ctx);
    void (*cancel)(void *ctx, void *call);
} cd_prices_net;

/* Zero in a number means its default. Everything is copied, except what a comment says stays. */
typedef struct cd_prices_cfg {
    const cd_clock *clock;               /* stays; NULL: the real one */
    cd_logger *log;                      /* stays; NULL: none */
    cd_metrics *metrics;                 /* stays; NULL: none */
    const cd_prices_provider *providers; /* in the order of preference */
    usize providers_cnt;                 /* 0: only statics and what was loaded */
    const cd_prices_net *net;            /* copied */
    const cd_prices_share *share;        /* copied; NULL: none */
    /* alarm asks for one cd_prices_run after delay_ns, instead of what it asked for before. */
    void (*alarm)(void *ctx, u64 delay_ns);
    void *alarm_ctx;
    u64 seed;                /* of the back-off's randomness */
    u32 ttl_s;               /* 3600 */
    u32 negative_ttl_s;      /* 60 */
    u32 timeout_ms;          /* 30000: of one call; only for how long clients wait */
    u32 batch_window_ms;     /* 5; CD_PRICES_NO_WINDOW: none */
    u32 entries_max;         /* 100000 at every moment; unknown ones come on top, an eighth of it */
    u32 waiting_max;         /* 100000 items of all requests */
    u32 new_ids_per_min;     /* ids that were never found, of one client, a quarter of it (or 250) at once; a quarter of
                            what the preferred provider brings */
    const cd_bytes *allowed; /* ids that may be asked for; others are unknown, and no provider is troubled */
    usize allowed_cnt;       /* 0: all */
    bool swr;                /* answer stale at once, refresh behind */
    bool prefetch;           /* refresh shortly before the end what was asked for during its time */
    bool median;             /* ask all providers; the median of three answers or more */
    const cd_prices_static *statics;
    usize statics_cnt;
} cd_prices_cfg;
/* As batch_window_ms: no question waits for others to go out with. */
#define CD_PRICES_NO_WINDOW UINT32_MAX

/* cd_prices_new starts empty, but for the statics. */
cd_prices *cd_prices_new(const cd_prices_cfg *cfg);

/* cd_prices_free: requests that wait are not called back. NULL is allowed. */
void cd_prices_free(cd_prices *p);

/* cd_prices_run does what is due, and sets the alarm for what is next. */
void cd_prices_run(cd_prices *p);

/* --- asking --- */

/* Most items (ids × currencies) of one query; more is a bug of the caller's. */
enum { CD_PRICES_ITEMS_MAX = 65536 };

/* What is asked: every id in every currency. Borrowed for the call. An id or a currency that is no lower-case
 * name is unknown. Duplicates cost nothing but an item. */
typedef struct cd_prices_query {
    const cd_bytes *ids;
    usize ids_cnt;
    const cd_bytes *currencies;
    usize currencies_cnt;
    u32 wait_max_ms; /* how long the client can wait; 0: the time of one call */
    cd_bytes client; /* who asks, such as its address; empty: nobody whose new ids are counted */
} cd_prices_query;

typedef struct cd_prices_answer cd_prices_answer;

/* One item of an answer. */
typedef struct cd_prices_item {
    cd_price_state state;
    u32 retry_after_s; /* busy: at least 1 */
    cd_price price;    /* id and currency always (as asked for an unknown name: empty); the rest if there is one */
} cd_prices_item;

/* cd_prices_answer_cnt: ids × currencies of the query. _at gives one, currencies of an id side by side:
 * idx = id * currencies_cnt + currency. */
usize cd_prices_answer_cnt(const cd_prices_answer *a);
void cd_prices_answer_at(const cd_prices_answer *a, cd_prices_item *out, usize idx);

/* Called once with the answer, borrowed for the call. */
typedef void cd_prices_done(void *ctx, const cd_prices_answer *a);

/* A request that waits. */
typedef struct cd_prices_ask cd_prices_ask;

/* cd_prices_get calls done once every item is settled: before it returns, and then it gives NULL, or later.
 * done may ask again. A query of more items than may wait (cfg.waiting_max) is settled as busy where it would
 * have to wait. */
cd_prices_ask *cd_prices_get(cd_prices *p, const cd_prices_query *q, cd_prices_done *done, void *ctx);

/* cd_prices_cancel: done is not called any more. What is being fetched arrives in the cache all the same. */
void cd_prices_cancel(cd_prices_ask *a);

/* --- looking --- */

/* Called for each price that is stored and differs from the one before (or had none before); what it gets is
 * borrowed for the call, and it must not ask. One at a time, NULL for none. */
typedef void cd_prices_changed(void *ctx, const cd_price *price);
void cd_prices_on_change(cd_prices *p, cd_prices_changed *fn, void *ctx);

/* Visits one entry; false ends the visit. state is HIT or STALE. Must not ask. */
typedef bool cd_prices_visit(void *ctx, const cd_price *price, cd_price_state state);

/* cd_prices_recent visits entries with a price, those asked for last first. */
void cd_prices_recent(cd_prices *p, cd_prices_visit *visit, void *ctx);

/* cd_prices_search does so for entries whose id, symbol or name holds text (any case, ASCII). */
void cd_prices_search(cd_prices *p, cd_bytes text, cd_prices_visit *visit, void *ctx);

/* What the gateway has seen of one price, one point a fetch. */
typedef struct cd_prices_point {
    u32 wall_s;
    float price;
} cd_prices_point;
enum { CD_PRICES_HISTORY = 48 };

/* cd_prices_history gives up to CD_PRICES_HISTORY points, oldest first, and their number. */
usize cd_prices_history(const cd_prices *p, cd_prices_point out[CD_PRICES_HISTORY], cd_bytes id, cd_bytes currency);

/* --- the state of it all --- */

/* What the circuit breaker of a provider lets through. */
typedef enum cd_breaker_state {
    CD_BREAKER_CLOSED, /* calls go through */
    CD_BREAKER_OPEN,   /* too many failures in a row: none does */
    CD_BREAKER_PROBE,  /* one does, to see */
} cd_breaker_state;

/* A provider, for metrics and the page. */
typedef struct cd_prices_provider_state {
    const char *name;
    cd_breaker_state breaker;
    u32 failures;     /* in a row */
    u32 calls_now;    /* on their way */
    u64 calls;        /* in all */
    u64 calls_failed; /* of them */
    double tokens;    /* calls that the budget allows at once */
    u32 rate_per_min;
    u32 blocked_s;       /* no call before that: breaker, or the provider asked for it; 0: free */
    u64 last_ok_wall_ns; /* 0: never */
    u32 last_ms;         /* how long the last call took */
} cd_prices_provider_state;

/* The gateway in numbers, for metrics and the page; counts are since the start. */
typedef struct cd_prices_state {
    usize entries; /* with a price */
    usize fresh;   /* of them */
    usize unknown; /* remembered as unknown */
    usize entries_max;
    usize waiting; /* items that wait */
    u64 hits;
    u64 misses; /* fetched or coalesced or failed */
    u64 stales;
    u64 negatives;
    u64 started_wall_ns;
    bool is_ready;  /* a call has succeeded, or a snapshot was loaded */
    bool is_shared; /* there is a shared store, and it answers */
    usize providers_cnt;
} cd_prices_state;

/* cd_prices_state_get: as of now. Counting the fresh ones takes a walk over all entries. */
void cd_prices_state_get(cd_prices *p, cd_prices_state *out);

/* cd_prices_provider_get: provider idx below providers_cnt, in the order of preference. */
void cd_prices_provider_get(cd_prices *p, cd_prices_provider_state *out, usize idx);

/* cd_prices_is_ready: see cd_prices_state. */
bool cd_prices_is_ready(const cd_prices *p);

/* cd_prices_ttl_s: how long a price is fresh. */
u32 cd_prices_ttl_s(const cd_prices *p);

#endif
