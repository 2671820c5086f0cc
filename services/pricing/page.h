/* services/pricing/page.h - the page for people at "/": a price, what the gateway has seen of it, cache and providers.
 *
 * What is asked stands in the address (?id=bitcoin&currency=eur), so a page can be kept as a link and works without
 * scripts. A token that is not in the cache is fetched as for any other client. Never shown: keys, addresses and error
 * texts of providers. Threading: confined to the loop. [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_PAGE_H
#define CD_SERVICES_PRICING_PAGE_H

#include "net/http/server.h"
#include "services/pricing/prices.h"

/* Where the page finds its style sheet and script: cd_web_reply_asset answers below it. */
#define CD_PRICING_ASSETS "/assets/"

typedef struct cd_pricing_page cd_pricing_page;

/* cd_pricing_page_new: prices and clock stay. */
cd_pricing_page *cd_pricing_page_new(cd_prices *prices, const cd_clock *clock);

/* cd_pricing_page_free answers with 503 who still waits. Before prices are freed and the server stops. NULL is
 * allowed. */
void cd_pricing_page_free(cd_pricing_page *page);

/* cd_pricing_page_reply answers a GET of "/", at once or when the price has arrived. */
void cd_pricing_page_reply(cd_pricing_page *page, cd_http_req *r);

/* cd_pricing_page_take answers "/" and the files below CD_PRICING_ASSETS. False: r is another's, and still to be
 * answered. */
bool cd_pricing_page_take(cd_pricing_page *page, cd_http_req *r);

#endif
