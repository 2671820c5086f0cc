/* services/pricing/page_priv.h - what the page shows, gathered before it is written.
 *
 * page.c finds out what is asked and collects; page_view.c writes. Texts live in the arena. Threading: confined. */
#ifndef CD_SERVICES_PRICING_PAGE_PRIV_H
#define CD_SERVICES_PRICING_PAGE_PRIV_H

#include "base/mem/arena.h"
#include "services/pricing/prices.h"
#include "web/html.h"

enum {
    CD__PAGE_ROWS = 12,         /* of the cache on the page */
    CD__PAGE_ROWS_ALL = 200,    /* when all are asked for */
    CD__PAGE_PROVIDERS_MAX = 8, /* as many as there can be */
    CD__PAGE_CLOSE_MAX = 3,
};

/* One of the cache's prices. */
typedef struct cd__page_row {
    cd_price price; /* texts in the arena */
    cd_price_state state;
} cd__page_row;

/* How long the chart looks back. */
typedef enum cd__page_range {
    CD__RANGE_HOUR,
    CD__RANGE_DAY,
    CD__RANGE_WEEK,
} cd__page_range;

/* Which of the three routes is explained. */
typedef enum cd__page_use {
    CD__USE_ONE,
    CD__USE_MANY,
    CD__USE_SIMPLE,
} cd__page_use;

typedef struct cd__page_view {
    cd_arena *a;
    cd_prices *prices;
    u64 now_s;
    cd_bytes host; /* of the address in examples */
    /* what is asked */
    cd_bytes typed;    /* in the search box */
    cd_bytes currency; /* lower case */
    cd__page_range range;
    cd__page_use use;
    bool all;
    /* the answer to it */
    bool has_quote; /* something was asked for, or is in the cache */
    cd_prices_item quote;
    const char *close[CD__PAGE_CLOSE_MAX]; /* ids, when it is unknown */
    usize close_cnt;
    /* everything else */
    cd__page_row *rows;
    usize rows_cnt;
    usize in_currency; /* entries of this currency, shown or not */
    cd_prices_state state;
    cd_prices_provider_state providers[CD__PAGE_PROVIDERS_MAX];
    usize providers_cnt;
} cd__page_view;

/* cd__page_write writes the page. */
void cd__page_write(cd_html *h, const cd__page_view *v);

#endif
