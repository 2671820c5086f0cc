/* services/pricing/market.h - what the provider is asked, and its answers read: "coins/markets".
 *
 * An answer is an array of objects in an order that means nothing. What is no such array, or holds a value of the
 * wrong type, is refused whole: half an answer is worse than a stale price. null and a missing number are 0. Other
 * fields are not looked at. Threading: pure. [spec:pricing#3] */
#ifndef CD_SERVICES_PRICING_MARKET_H
#define CD_SERVICES_PRICING_MARKET_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* One call takes so many ids at most, and so many bytes of them, so that no server finds the line too long. */
enum { CD_MARKET_IDS_MAX = 250, CD_MARKET_IDS_BYTES_MAX = 6000 };

/* Largest answer that is read, and longest symbol and name that are kept. */
#define CD_MARKET_BODY_MAX ((usize)8 << 20)
enum { CD_MARKET_SYMBOL_MAX = 64, CD_MARKET_NAME_MAX = 255 };

/* One token of an answer. Texts are UTF-8, borrowed from the arena and cut to fit. */
typedef struct cd_market_row {
    cd_bytes id;
    cd_bytes symbol;
    cd_bytes name;
    double price;
    double change_24h;
    double market_cap;
    double volume_24h;
    u64 last_updated_s; /* 0: not said, or no date */
} cd_market_row;

/* cd_market_target appends the path and query behind a provider's base URL that asks for ids in currency. */
void cd_market_target(cd_buf *out, cd_bytes currency, const cd_bytes *ids, usize cnt);

/* cd_market_parse reads an answer into the arena. Errors: CD_EFORMAT, CD_EDEPTH, CD_ELIMIT, CD_ETYPE, CD_ERANGE. */
cd_err cd_market_parse(const cd_market_row **out, usize *cnt, cd_arena *a, cd_bytes body, cd_errinfo *why) CD_CHECK;

/* cd_market_time_parse reads "2025-01-24T12:00:00.000Z" (RFC 3339) into Unix seconds. Errors: CD_EFORMAT, CD_ERANGE
 * before 1970. */
cd_err cd_market_time_parse(u64 *out, cd_bytes text) CD_CHECK;

#endif
