/* services/pricing/gateway.h - the engine in the world: HTTP to providers, timers, the snapshot file, the shared store.
 *
 * A snapshot file is loaded at the start and written every minute when something has changed, by a thread of its own;
 * what is not there at the end is lost, which prices bear. A file that is damaged is reported and moved to FILE.bad.
 * Threading: confined to the loop. [spec:pricing#2] [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_GATEWAY_H
#define CD_SERVICES_PRICING_GATEWAY_H

#include "net/loop.h"
#include "services/pricing/prices.h"

typedef struct cd_gateway cd_gateway;

/* What a gateway works with. */
typedef struct cd_gateway_cfg {
    cd_loop *loop;
    cd_prices_cfg prices;     /* without clock, net, share, alarm: they are set here */
    const char *cache_file;   /* NULL: none */
    const char *shared_cache; /* redis://…; NULL: none */
} cd_gateway_cfg;

/* cd_gateway_open starts; a snapshot or a shared store that cannot be used is logged, and no failure.
 * Errors: CD_EINVAL (the URL of the shared store), CD_EIO, CD_EAGAIN. */
cd_err cd_gateway_open(cd_gateway **out, const cd_gateway_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_gateway_close writes the snapshot and ends everything; NULL is allowed. */
void cd_gateway_close(cd_gateway *g);

/* cd_gateway_prices: the engine, which lives as long as g. */
cd_prices *cd_gateway_prices(cd_gateway *g);

#endif
