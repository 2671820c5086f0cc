/* node/front/routes.h - more paths for the endpoints of chains, which an operator gives them.
 *
 *   /v1/<alias>/rest ──► chain, route + /rest
 *
 * They last as long as the node, also over the closing and opening of their chain. At most CD_NODE_ROUTES_MAX.
 * Threading: confined to the loop. [spec:node-api#8] */
#ifndef CD_NODE_ROUTES_H
#define CD_NODE_ROUTES_H

#include "base/mem/buf.h"

enum { CD_NODE_ROUTES_MAX = 1024, CD_NODE_ROUTE_LEN_MAX = 512 };

typedef struct cd_node_routes cd_node_routes;

/* cd_node_routes_new knows none; cd_node_routes_free: NULL is allowed. */
cd_node_routes *cd_node_routes_new(void);
void cd_node_routes_free(cd_node_routes *r);

/* cd_node_routes_add lets alias stand for a route ("/wallet", or nothing) of what is called chain. Errors: CD_EEXIST,
 * CD_ELIMIT (too many, or too long). */
cd_err cd_node_routes_add(cd_node_routes *r, cd_bytes alias, cd_bytes chain, cd_bytes route) CD_CHECK;

/* Where an alias leads; borrowed until the next one is added. */
typedef struct cd_node_route {
    cd_bytes chain;
    cd_bytes route;
} cd_node_route;

/* cd_node_routes_find says where an alias leads; false: it is none. */
bool cd_node_routes_find(const cd_node_routes *r, cd_node_route *out, cd_bytes alias);

#endif
