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

static void begin_anew(const cd_api *api)
{
    const cd_block *head = cd_chain_head(api->chain);
    cd_blocks_restart(api->blocks, &head->hash, head->header.number);
}

static cd_err run_change(void *arg, cd_errinfo *why)
{
    const errand *c = arg;
    cd_err e = c->job(c->arg, why);
    begin_anew(c->api);
    for (cd_api *f = c->api->followers; f != NULL; f = f->next) {
        begin_anew(f);
        cd_err follows = cd_api_follow(f);
        e = e == CD_OK ? follows : e;
    }
    return e;
}

static cd_err change(cd_api *api, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    errand c = {.api = api, .job = job, .arg = arg};
    return api->host->rewind(api->host, run_change, &c, why);
}

cd_err cd_api_change(cd_api *api, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    return api->followers == NULL ? change(api, job, arg, why)
                                  : cd_fail(why, CD_EUNSUPPORTED, "not with several validators in one process");
}

typedef struct edit {
    cd_api *api;
    cd_chain_change *change;
    void *ctx;
    u64 version;
} edit;

/* One change is made on the same state by all, one after the other, while nothing is undecided: it gives the same. What
 * the first refuses is not made by the others. */
static cd_err run_edit(void *arg, cd_errinfo *why)
{
    const edit *e = arg;
    cd_err err = cd_chain_edit(e->api->chain, e->change, e->ctx, why);
    for (cd_api *f = e->api->followers; f != NULL && err == CD_OK; f = f->next) {
        err = cd_chain_edit(f->chain, e->change, e->ctx, why);
    }
    return err;
}

static cd_err run_truncate(void *arg, cd_errinfo *why)
{
    const edit *e = arg;
    cd_err err = cd_chain_truncate(e->api->chain, e->version, why);
    for (cd_api *f = e->api->followers; f != NULL && err == CD_OK; f = f->next) {
        err = cd_chain_truncate(f->chain, e->version, why);
    }
    return err;
}

cd_err cd_api_edit(cd_api *api, cd_chain_change *what, void *ctx, cd_errinfo *why)
{
    return change(api, run_edit, &(edit){.api = api, .change = what, .ctx = ctx}, why);
}

cd_err cd_api_truncate(cd_api *api, u64 version, cd_errinfo *why)
{
    return change(api, run_truncate, &(edit){.api = api, .version = version}, why);
}
