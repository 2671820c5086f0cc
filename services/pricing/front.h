/* services/pricing/front.h - the gateway as clients see it: routes, parameters, answers.
 *
 *   HTTP ─► route (routes.def) ─► names ─► cd_prices_get ─► JSON ─► tag, age, source ─► HTTP
 *                                              │
 *                           a changed price ───┴─► /events
 *
 * GET and HEAD only; OPTIONS is always well. CORS is open. Errors are {"error":"..."}, and say nothing of what a
 * provider answered. What a page for people needs besides comes through `page`. Threading: confined to the
 * loop. [spec:pricing#4] [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_FRONT_H
#define CD_SERVICES_PRICING_FRONT_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/http/server.h"
#include "services/pricing/prices.h"

typedef struct cd_front cd_front;

/* Zero in a number means its default. What is pointed to stays. */
typedef struct cd_front_cfg {
    cd_loop *loop;
    cd_prices *prices;     /* its change hook is used here */
    cd_metrics *metrics;   /* shown at /metrics, with the prefix "pricing" */
    cd_logger *access_log; /* a line a request; NULL: none */
    const cd_clock *clock; /* NULL: the real one */
    u32 conns_max;         /* 20000 */
    u32 listeners_max;     /* 1000 of /events */
    /* Asked for GET and HEAD of paths that are no routes here; true: it took the request, and answers. */
    bool (*page)(void *ctx, cd_http_req *r);
    void *page_ctx;
} cd_front_cfg;

/* cd_front_new makes the front of cfg->prices; it serves nothing until it listens. */
cd_front *cd_front_new(const cd_front_cfg *cfg);

/* cd_front_listen opens an address; errors as cd_http_server_listen. cd_front_port: the one the system chose. */
cd_err cd_front_listen(cd_front *f, const char *host, u16 port, cd_errinfo *why) CD_CHECK;
u16 cd_front_port(const cd_front *f);

/* cd_front_stop lets requests finish for grace_ms, then calls done (those that still wait for a provider after half
 * of it get 503); cd_front_free afterwards, or when it never
 * listened (NULL is allowed). The prices must still be there. */
void cd_front_stop(cd_front *f, u32 grace_ms, void (*done)(void *ctx), void *ctx);
void cd_front_free(cd_front *f);

/* cd_front_openapi appends the description of all routes, OpenAPI 3.1. */
void cd_front_openapi(cd_buf *out);

#endif
