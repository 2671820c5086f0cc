/* services/pricing/test/page_rig.h - the page behind a real server, with a provider that is played and a day of prices
 * already seen. What the provider says is fixed, so that the page is the same each time. */
#ifndef CD_SERVICES_PRICING_TEST_PAGE_RIG_H
#define CD_SERVICES_PRICING_TEST_PAGE_RIG_H

#include "net/http/server.h"
#include "net/loop.h"
#include "services/pricing/page.h"

enum { PAGE_RIG_CALLS = 64 };

typedef struct page_rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_prices *prices;
    cd_pricing_page *page;
    cd_timer *alarm;
    cd_timer *deliver;
    cd_clock_virtual clock;
    u64 alarm_ns;
    bool is_down; /* the provider fails */
    struct {
        char url[4096];
        cd_prices_result_fn *fn;
        void *ctx;
    } calls[PAGE_RIG_CALLS]; /* on their way */
    usize calls_cnt;
} page_rig;

/* page_rig_open listens on port (0: any), hours of history before; now in Unix seconds. It runs with cd_loop_run. */
void page_rig_open(page_rig *g, u16 port, u64 now_s, u32 hours);

/* page_rig_close: the loop has ended. */
void page_rig_close(page_rig *g);

#endif
