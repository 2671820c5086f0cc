#include "chains/evmchain/rpc/seat.h"

cd_err cd_api_produce(cd_api *api, cd_api_plan *plan, cd_errinfo *why)
{
    api->plan = plan;
    cd_err e = api->host->produce(api->host, why);
    api->plan = NULL;
    if (plan->ready != NULL) {
        cd_chain_drop(api->chain, plan->ready); /* the engine did not come to it */
        plan->ready = NULL;
    }
    return e;
}

typedef struct errand {
    cd_api *api;
    cd_err (*job)(void *arg, cd_errinfo *why);
    void *arg;
} errand;

static cd_err run_change(void *arg, cd_errinfo *why)
{
    const errand *c = arg;
    cd_err e = c->job(c->arg, why);
    const cd_block *head = cd_chain_head(c->api->chain);
    cd_blocks_restart(c->api->blocks, &head->hash, head->header.number);
    return e;
}

cd_err cd_api_change(cd_api *api, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    errand c = {.api = api, .job = job, .arg = arg};
    return api->host->rewind(api->host, run_change, &c, why);
}

typedef struct edit {
    cd_chain *chain;
    cd_chain_change *change;
    void *ctx;
    u64 version;
} edit;

static cd_err run_edit(void *arg, cd_errinfo *why)
{
    const edit *e = arg;
    return cd_chain_edit(e->chain, e->change, e->ctx, why);
}

static cd_err run_truncate(void *arg, cd_errinfo *why)
{
    const edit *e = arg;
    return cd_chain_truncate(e->chain, e->version, why);
}

cd_err cd_api_edit(cd_api *api, cd_chain_change *change, void *ctx, cd_errinfo *why)
{
    return cd_api_change(api, run_edit, &(edit){.chain = api->chain, .change = change, .ctx = ctx}, why);
}

cd_err cd_api_truncate(cd_api *api, u64 version, cd_errinfo *why)
{
    return cd_api_change(api, run_truncate, &(edit){.chain = api->chain, .version = version}, why);
}
