#include "node/api/api.h"

#include "base/mem/mem.h"

#include <stdio.h>

struct cd_api {
    cd_front *front;
    cd_rpc_endpoint **endpoints;
    usize cnt;
};

static cd_err run_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    (void)lane;
    return cd_front_run(ctx, job);
}

cd_rpc_endpoint *cd_api_endpoint(cd_front *f, const cd_rpc_service *service, bool is_local)
{
    cd_rpc_endpoint_cfg cfg = {
        .lanes = {.run = run_lane, .ctx = f},
        .service = service,
        .is_local_only = is_local,
    };
    cd_front_endpoint_cfg(f, &cfg);
    return cd_rpc_endpoint_new(&cfg);
}

cd_api *cd_api_new(cd_front *f)
{
    cd_api *api = cd_new(cd_api);
    api->front = f;
    return api;
}

void cd_api_free(cd_api *api)
{
    if (api == NULL) {
        return;
    }
    for (usize i = 0; i < api->cnt; i++) {
        cd_rpc_endpoint_free(api->endpoints[i]);
    }
    cd_free(api->endpoints);
    cd_free(api);
}

void cd_api_add(cd_api *api, const char *path, const cd_rpc_service *service, bool is_local)
{
    static const char *const prefixes[] = {"/v1", "/ext"};
    cd_rpc_endpoint *e = cd_api_endpoint(api->front, service, is_local);
    api->endpoints = cd_realloc(api->endpoints, (api->cnt + 1) * sizeof(cd_rpc_endpoint *));
    api->endpoints[api->cnt++] = e;
    for (usize i = 0; i < CD_COUNT(prefixes); i++) {
        char whole[64];
        (void)snprintf(whole, sizeof whole, "%s%s", prefixes[i], path);
        cd_rpc_endpoint_route(e, cd_front_server(api->front), whole, CD_RPC_OVER_HTTP);
    }
}
