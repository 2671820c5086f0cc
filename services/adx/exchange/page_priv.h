/* services/adx/exchange/page_priv.h - what the pages share. Threading: confined, but for the parts without state. */
#ifndef CD_ADX_EXCHANGE_PAGE_PRIV_H
#define CD_ADX_EXCHANGE_PAGE_PRIV_H

#include "services/adx/exchange/exchange_priv.h"
#include "web/chart.h"
#include "web/fmt.h"
#include "web/page.h"
#include "web/serve.h"
#include "web/ui.h"

#define CD__PAGE_ASSETS "/assets/"

enum { CD__PAGE_ROWS = 200 };

/* What a campaign has in the ledger, nano-USD. */
typedef struct cd__page_campaign {
    i64 funded, escrow, leased;
} cd__page_campaign;

/* One page, from its request to its answer. */
typedef struct cd__view {
    cd_clerk_cmd cmd;
    cd_exchange *x;
    cd_http_req *r; /* NULL: for those who listen */
    cd__setup *setup;
    cd_arena mem;
    const char *tab; /* which page it is */
    u64 now_s;
    const cd_adx_slot *slot; /* of one slot's page */
    cd_wages_sums wages;
    cd_miner_row *miners;
    cd_wages_sums *earned; /* of the first miners of the list */
    usize miners_cnt;
    cd__page_campaign *campaigns;
    cd_settle_sums settle;
    cd_sending *sendings;
    usize sendings_cnt;
    i64 fees;
} cd__view;

/* cd__page_site is what stands around all pages. */
extern const cd_page_site cd__page_site;
/* cd__page_usd gives nano-USD as "1,250.004212". */
cd_bytes cd__page_usd(cd_arena *a, i64 nano);
/* cd__page_live writes the part of the overview that is live under the name cd__page_parts[part]. */
enum { CD__PAGE_PARTS = 3 };
void cd__page_live(cd_html *h, cd__view *v, usize part);
/* cd__page_film_of gives the film that a preview plays: of the campaign that pays most; NULL: there is none.
 * cd__page_film answers with a piece of it. */
const cd_vast_media *cd__page_film_of(const cd_adx_config *c, u64 now_s);
void cd__page_film(cd_exchange *x, cd_http_req *r);
/* cd__page_write writes a page of the exchange. */
void cd__page_write(cd_html *h, cd__view *v);

#endif
