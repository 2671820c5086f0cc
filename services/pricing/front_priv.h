/* services/pricing/front_priv.h - how the parts of the front fit together.
 *
 *   front        table of routes, errors, paths, events    front_price   the routes that tell prices
 *   openapi      the description of the routes             query, render parameters in, JSON out
 *
 * Threading: confined, as front.h. */
#ifndef CD_SERVICES_PRICING_FRONT_PRIV_H
#define CD_SERVICES_PRICING_FRONT_PRIV_H

#include "base/table/list.h"
#include "base/table/siphash.h"
#include "net/http/sse.h"
#include "services/pricing/front.h"
#include "services/pricing/query.h"
#include "services/pricing/render.h"

#define CD__BAD_ESCAPE "malformed percent-encoding"

enum { CD__TOPICS_MAX = 1000 }; /* ids of one listener */

typedef enum cd__route {
#define CD_ROUTE(name, path, template, params, answers, summary) CD__ROUTE_##name,
#include "services/pricing/routes.def"
#undef CD_ROUTE
    CD__ROUTE_OTHER, /* also what is no request */
} cd__route;

/* Counters of one route, by status. */
typedef struct cd__codes {
    u32 status[16];
    cd_counter *counter[16];
    usize cnt;
} cd__codes;

struct cd_front {
    cd_front_cfg cfg;
    cd_http_server *server;
    cd_sse *events;
    cd_list waiting; /* requests whose prices are awaited */
    cd_timer *give_up;
    cd_sipkey topic_key;
    cd_buf openapi;
    cd_buf event; /* being rendered */
    cd__codes codes[CD__ROUTE_OTHER + 1];
};

/* The handlers; rest is what follows the path of a route that takes more. */
#define CD_ROUTE(name, path, template, params, answers, summary)                                                       \
    void cd__front_##name(cd_front *f, cd_http_req *r, cd_bytes rest);
#include "services/pricing/routes.def"
#undef CD_ROUTE

/* cd__front_send answers with the JSON in cd_http_req_out (nothing: no body), _fail with an error. _note counts and
 * logs an answer that is given otherwise, before it is. */
void cd__front_send(cd_front *f, cd_http_req *r, cd__route route, u32 status);
void cd__front_fail(cd_front *f, cd_http_req *r, cd__route route, u32 status, cd_bytes text);
void cd__front_note(cd_front *f, cd_http_req *r, cd__route route, u32 status);

/* cd__front_give_up answers all that wait with 503. */
void cd__front_give_up(cd_front *f);

#endif
