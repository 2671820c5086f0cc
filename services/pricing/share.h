/* services/pricing/share.h - a store that several gateways share: fresh prices, and who fetches what.
 *
 *   take(keys) ─► for each:  FRESH   somebody has fetched it lately: here it is
 *                            MINE    nobody has, nobody is at it: fetch it, then put or drop
 *                            THEIRS  somebody else is at it: take again in a while
 *   put(keys, values)        the value, and the claim is gone      drop(keys)   only the claim
 *
 * A claim is renewed for as long as it is held, and ends by itself within two seconds when its owner dies. Values are
 * opaque here (services/pricing/record.h). The store may vanish at any time; then is_there is false, or take fails, and
 * the gateway goes on alone. Threading: confined to the loop. [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_SHARE_H
#define CD_SERVICES_PRICING_SHARE_H

#include "base/bytes.h"

/* What the shared store says of a key: here is a fresh value, it is yours to fetch, or another gateway fetches it. */
typedef enum cd_share_verdict {
    CD_SHARE_FRESH,
    CD_SHARE_MINE,
    CD_SHARE_THEIRS,
} cd_share_verdict;

/* The verdict on one key. */
typedef struct cd_share_taken {
    cd_share_verdict verdict;
    cd_bytes value; /* FRESH; borrowed for the call */
} cd_share_taken;

/* taken has one element a key; NULL when the store did not answer. */
typedef void cd_share_taken_fn(void *ctx, const cd_share_taken *taken);

/* A store that several gateways share. Keys are those of cd_price_key. */
typedef struct cd_prices_share {
    void *ctx;
    bool (*is_there)(void *ctx);
    /* take calls fn once, never before it returns. Keys are copied; there are at most CD_MARKET_IDS_MAX. */
    void (*take)(void *ctx, const cd_bytes *keys, usize cnt, cd_share_taken_fn *fn, void *fn_ctx);
    /* put keeps a value as fresh for ttl_ms. It and drop touch only claims of this gateway. */
    void (*put)(void *ctx, const cd_bytes *keys, const cd_bytes *values, usize cnt, u64 ttl_ms);
    void (*drop)(void *ctx, const cd_bytes *keys, usize cnt);
} cd_prices_share;

#endif
