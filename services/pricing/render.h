/* services/pricing/render.h - prices as JSON.
 *
 * Threading: confined to the loop, as the entries whose rendered form is kept with them. [spec:pricing#4] */
#ifndef CD_SERVICES_PRICING_RENDER_H
#define CD_SERVICES_PRICING_RENDER_H

#include "codec/json.h"
#include "net/http/cond.h"
#include "services/pricing/prices.h"

/* The body of a price that was not fetched for this request, with the line end, and its tag. */
typedef struct cd_rendered {
    char etag[CD_HTTP_ETAG_LEN];
    u32 n;
    u8 body[];
} cd_rendered;

/* cd_render_kept gives the form that is kept with the entry, made when there is none. */
const cd_rendered *cd_render_kept(const cd_price *p);

/* cd_render_price writes a price as the next value. */
void cd_render_price(cd_json_w *w, const cd_price *p, bool is_cached);

/* cd_render_time writes a time as the next value: RFC 3339, UTC, as many digits of a second as it takes. */
void cd_render_time(cd_json_w *w, u64 wall_ns);

/* What /simple/price tells besides the price. */
typedef struct cd_simple_form {
    bool market_cap;
    bool volume_24h;
    bool change_24h;
    bool last_updated;
    i32 precision; /* digits behind the point; -1: all */
} cd_simple_form;

/* A key of the objects in /simple/price: which number, of which currency. */
typedef struct cd_simple_key {
    cd_bytes name;
    u32 what;
    usize currency;
} cd_simple_key;

/* cd_simple_keys gives the keys of each id's object, in byte order, from the arena. */
cd_simple_key *cd_simple_keys(usize *out_cnt, cd_arena *a, const cd_simple_form *form, const cd_bytes *currencies,
                              usize currencies_cnt);

/* cd_render_simple writes one id with what is known of it in the currencies, unless that is nothing; items are
 * those of the id, one for each currency. */
void cd_render_simple(cd_json_w *w, const cd_simple_key *keys, usize keys_cnt, const cd_prices_item *items,
                      usize items_cnt, i32 precision);

#endif
