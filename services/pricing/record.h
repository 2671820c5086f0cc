/* services/pricing/record.h - one entry as bytes, for the snapshot and for the shared store.
 *
 *   u8 1 | id | currency | symbol | name | source (each u16 length and bytes) | price, change, cap, volume (doubles) |
 *   u64 last updated (s) | u64 stored (wall clock, ns) | u8 cnt | cnt × (u32 wall s, float)     all big-endian
 *
 * Threading: pure. [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_RECORD_H
#define CD_SERVICES_PRICING_RECORD_H

#include "base/mem/buf.h"
#include "base/rd.h"
#include "services/pricing/market.h"
#include "services/pricing/prices.h"

/* A price with its past, as snapshots and the shared store keep it. */
typedef struct cd_price_record {
    cd_bytes currency;
    cd_bytes source;
    cd_market_row row;
    u64 stored_wall_ns;
    cd_prices_point history[CD_PRICES_HISTORY];
    u8 history_cnt;
} cd_price_record;

/* cd_price_record_enc appends r. cd_price_record_dec reads one; texts are borrowed from the input. A record that an
 * entry cannot hold (names, lengths, numbers that are not finite) sets CD_EFORMAT. */
void cd_price_record_enc(cd_buf *out, const cd_price_record *r);
void cd_price_record_dec(cd_rd *r, cd_price_record *out);

#endif
