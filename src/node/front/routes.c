#include "node/front/routes.h"

#include "base/mem/mem.h"

typedef struct row {
    cd_buf alias;
    cd_buf chain;
    cd_buf route;
} row;

struct cd_node_routes {
    row *rows;
    usize cnt;
};

cd_node_routes *cd_node_routes_new(void)
{
    return cd_new(cd_node_routes);
}

void cd_node_routes_free(cd_node_routes *r)
{
    if (r == NULL) {
        return;
    }
    for (usize i = 0; i < r->cnt; i++) {
        cd_buf_fini(&r->rows[i].alias);
        cd_buf_fini(&r->rows[i].chain);
        cd_buf_fini(&r->rows[i].route);
    }
    cd_free(r->rows);
    cd_free(r);
}

bool cd_node_routes_find(const cd_node_routes *r, cd_node_route *out, cd_bytes alias)
{
    for (usize i = 0; i < r->cnt; i++) {
        if (cd_bytes_eq(cd_buf_bytes(&r->rows[i].alias), alias)) {
            *out = (cd_node_route){.chain = cd_buf_bytes(&r->rows[i].chain), .route = cd_buf_bytes(&r->rows[i].route)};
            return true;
        }
    }
    return false;
}

cd_err cd_node_routes_add(cd_node_routes *r, cd_bytes alias, cd_bytes chain, cd_bytes route)
{
    cd_node_route other;
    if (cd_node_routes_find(r, &other, alias)) {
        return CD_EEXIST;
    }
    if (r->cnt == CD_NODE_ROUTES_MAX || alias.n > CD_NODE_ROUTE_LEN_MAX || chain.n > CD_NODE_ROUTE_LEN_MAX ||
        route.n > CD_NODE_ROUTE_LEN_MAX) {
        return CD_ELIMIT;
    }
    r->rows = cd_realloc(r->rows, (r->cnt + 1) * sizeof *r->rows);
    row *fresh = &r->rows[r->cnt++];
    *fresh = (row){0};
    cd_buf_put(&fresh->alias, alias);
    cd_buf_put(&fresh->chain, chain);
    cd_buf_put(&fresh->route, route);
    return CD_OK;
}
