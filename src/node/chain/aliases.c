#include "node/chain/aliases.h"

static cd_err unknown(cd_bytes chain, cd_errinfo *why)
{
    return cd_fail(why, CD_ENOENT, "there is no ID with alias: %.*s", (int)cd_min_u64(chain.n, 200),
                   (const char *)chain.p);
}

cd_err cd_alias_chain(cd_chains *cs, cd_bytes chain, cd_bytes alias, cd_errinfo *why)
{
    const cd_node_chain *c = cd_chains_find_chain(cs, chain);
    if (alias.n > CD_NODE_NAME_LEN_MAX) {
        return cd_fail(why, CD_ELIMIT, "alias length is too long");
    }
    if (c == NULL) {
        return unknown(chain, why);
    }
    cd_err e = cd_node_names_add(cd_chains_names(cs), alias, cd_node_chain_id(c));
    if (e == CD_EEXIST) {
        return cd_fail(why, e, "alias already mapped to an ID: %.*s", (int)cd_min_u64(alias.n, 200),
                       (const char *)alias.p);
    }
    return e == CD_OK ? CD_OK : cd_fail(why, e, "chains have %d names, there is no room for more", CD_NODE_NAMES_MAX);
}

cd_err cd_alias_route(cd_chains *cs, const char *root, cd_bytes endpoint, cd_bytes alias, cd_errinfo *why)
{
    static const char below[] = "bc/";
    enum { BELOW = sizeof below - 1 };
    cd_node_route other;
    cd_hash32 id;
    if (alias.n > CD_NODE_ROUTE_LEN_MAX) {
        return cd_fail(why, CD_ELIMIT, "alias length is too long");
    }
    if (memchr(alias.p, '/', alias.n) != NULL) {
        return cd_fail(why, CD_EINVAL, "an alias is one element of a path, without a slash");
    }
    if (endpoint.n <= BELOW || memcmp(endpoint.p, below, BELOW) != 0) {
        return cd_fail(why, CD_EINVAL, "only endpoints of chains (bc/...) take an alias");
    }
    cd_bytes chain = cd_bytes_sub(endpoint, BELOW, endpoint.n - BELOW);
    const u8 *slash = memchr(chain.p, '/', chain.n);
    usize n = slash == NULL ? chain.n : (usize)(slash - chain.p);
    cd_bytes route = cd_bytes_sub(chain, n, chain.n - n);
    chain.n = n;
    if (cd_chains_find_chain(cs, chain) == NULL) {
        return unknown(chain, why);
    }
    if (cd_node_names_find(cd_chains_names(cs), &id, alias) == CD_OK ||
        cd_node_routes_find(cd_chains_routes(cs), &other, alias)) {
        return cd_fail(why, CD_EEXIST, "route is either already aliased or already maps to a handle: %s/%.*s", root,
                       (int)cd_min_u64(alias.n, 200), (const char *)alias.p);
    }
    cd_err e = cd_node_routes_add(cd_chains_routes(cs), alias, chain, route);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "there are %d added paths, and no room for more", CD_NODE_ROUTES_MAX);
}

void cd_alias_put(const cd_chains *cs, cd_json_w *w, const cd_hash32 *chain)
{
    cd_buf id = {0};
    cd_id_put(&id, chain);
    if (cd_chains_find_chain(cs, cd_buf_bytes(&id)) == NULL) {
        cd_json_w_null(w);
    } else {
        cd_json_w_arr(w);
        cd_node_names_put(cd_chains_names(cs), w, chain);
        cd_json_w_arr_end(w);
    }
    cd_buf_fini(&id);
}
