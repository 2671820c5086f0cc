/* tests/vectors/evm_api.h - the methods of an EVM chain in one process, without a node: a chain on a store in
 * memory, its pool, its service, a clock that the test sets. Test code: included by one file each. */
#ifndef CD_TESTS_VECTORS_EVM_API_H
#define CD_TESTS_VECTORS_EVM_API_H

#include "chains/evmchain/rpc/api.h"
#include "tests/vectors/vec.h"

typedef struct evm_api {
    cd_api api;
    cd_vm_config config;
    cd_arena arena;
    cd_vm_host host;
    cd_kv *kv;
    cd_clock_virtual clock;
} evm_api;

/* Transactions stay in the pool: blocks are the test's. */
static void evm_api_notify(cd_vm_host *host, cd_vm_event event)
{
    (void)host;
    (void)event;
}

/* Opens the chain of cfg, whose kv becomes the api's. config is the VM's. */
static bool evm_api_open(evm_api *a, vec *v, cd_chain_cfg cfg, cd_bytes config)
{
    cd_errinfo why = {0};
    cd_api *e = &a->api;
    *a = (evm_api){.kv = cfg.kv};
    a->host = (cd_vm_host){.notify = evm_api_notify};
    e->config = &a->config;
    e->arena = &a->arena;
    e->host = &a->host;
    cd_clock_virtual_init(&a->clock, 0);
    e->clock = &a->clock.clock;
    cd_err err = cd_vm_config_parse(&a->config, &a->arena, config, &why);
    if (err == CD_OK) {
        e->pool = cd_txpool_new(&(cd_txpool_cfg){
            .fee_cap = a->config.rpc_tx_fee_cap,
            .allow_unprotected = a->config.allow_unprotected,
            .spares_local = a->config.local_txs,
            .clock = &a->clock.clock,
        });
        err = cd_chain_open(&e->chain, &cfg, &why);
    }
    if (err == CD_OK) {
        cd_chain_source_init(&e->head, e->chain, NULL);
        err = cd_api_follow(e);
    }
    if (err == CD_OK) {
        cd_api_cfg cfg_api = {
            .clock = &a->clock.clock,
            .gas_cap = a->config.rpc_gas_cap,
            .proof_window = a->config.proof_window,
        };
        err = cd_api_open(e, &cfg_api, &why);
    }
    vec_check(v, err == CD_OK, "open: %s", why.msg);
    return err == CD_OK;
}

static void evm_api_close(evm_api *a)
{
    cd_api *e = &a->api;
    cd_txpool_free(e->pool);
    cd_api_close(e);
    if (e->chain != NULL) {
        cd_world_source_fini(&e->head.world);
    }
    cd_chain_close(e->chain);
    cd_arena_fini(&a->arena);
    cd_kv_close(a->kv);
}

/* Serves one request and parses the answer; none when there was nothing to say. */
static cd_json evm_api_ask_at(vec *v, const cd_rpc_service *service, cd_bytes request)
{
    cd_buf reply = {0};
    cd_json doc = {0};
    cd_rpc_serve(service, &reply, request);
    if (cd_buf_bytes(&reply).n != 0 &&
        cd_json_parse(&doc, &v->arena, cd_arena_dup(&v->arena, cd_buf_bytes(&reply)), 0, NULL) != CD_OK) {
        vec_check(v, false, "no JSON in answer: %.*s", 200, (const char *)cd_buf_bytes(&reply).p);
    }
    cd_buf_fini(&reply);
    return doc;
}

__attribute__((unused)) static cd_json evm_api_ask(evm_api *a, vec *v, cd_bytes request)
{
    return evm_api_ask_at(v, &a->api.service.rpc, request);
}

/* A value as compact text. */
__attribute__((unused)) static cd_bytes evm_api_text(vec *v, cd_json doc)
{
    cd_buf text = {0};
    if (cd_json_kind_of(doc) != CD_JSON_NONE) {
        cd_json_raw(&text, doc);
    }
    cd_bytes own = cd_arena_dup(&v->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return own;
}

#endif
