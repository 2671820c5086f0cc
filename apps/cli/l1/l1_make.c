#include "l1/l1_make.h"

#include "codec/encoding.h"
#include "crypto/hash/sha2.h"
#include "l1/l1_manager.h"
#include "network/network_make.h"
#include "network/network_run.h"
#include "network/network_track.h"

#include <stdlib.h>

/* CB58 of "subnetevm" and zeros: chains of the EVM on other nets have this VM everywhere. */
static const char evm_id[] = "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy";

enum { PAUSE_MS = 500 };

static const char *step_id(const cd__l1_job *j, const cd__l1_plan *p, cd__l1_step_no no)
{
    return cd__l1_id_text(j, &p->steps[no].id);
}

/* --- transactions --- */

/* What became of the transaction that is noted; is_lost: it can be made anew. */
static cd_err again(cd__l1_job *j, const cd__l1_step_done *s, bool *is_lost, cd_errinfo *why)
{
    cd_json v;
    cd_bytes status;
    cd_errinfo said = {0};
    const char *params = cd_arena_fmt(j->mem, "{\"txID\":\"%s\"}", cd__l1_id_text(j, &s->id));
    CD_TRY(cd__l1_ask(j, &v, "platform.getTxStatus", params, why));
    CD_TRY(cd_json_str(&status, cd_json_get(v, "status"), why));
    *is_lost = cd_bytes_eq(status, cd_bytes_str("Dropped"));
    if (!cd_bytes_eq(status, cd_bytes_str("Unknown"))) {
        return CD_OK;
    }
    params = cd_arena_fmt(j->mem, "{\"tx\":\"%s\",\"encoding\":\"hex\"}", s->tx);
    cd_err e = cd__l1_ask(j, &v, "platform.issueTx", params, &said);
    *is_lost = e == CD_EACCES; /* what it would have spent is spent */
    if (e != CD_OK && e != CD_EACCES) {
        *why = said;
        return e;
    }
    return CD_OK;
}

static cd_err note(cd__l1_job *j, cd__l1_plan *p, cd__l1_step_done *s, const cd_wallet_draft *d, cd_errinfo *why)
{
    cd_buf bytes = {0};
    cd_buf hex = {0};
    cd_wallet_bytes(&bytes, d);
    cd_encoding_put(&hex, CD_ENCODING_HEX, cd_buf_bytes(&bytes));
    s->tx = cd_arena_str(j->mem, cd_buf_bytes(&hex));
    cd_wallet_id(&s->id, d);
    cd_buf_fini(&bytes);
    cd_buf_fini(&hex);
    return cd__l1_plan_save(p, why);
}

/* Makes a transaction, unless it is made, and waits until it is accepted. */
static cd_err step(cd__l1_job *j, cd__l1_plan *p, cd__l1_step_no no, const char *kind, const char *const *words,
                   usize cnt, cd_errinfo *why)
{
    cd__l1_step_done *s = &p->steps[no];
    const cd_wallet_chain *chain = cd_wallet_chain_find(cd_bytes_str("P"));
    const char *status;
    bool is_lost = s->tx[0] == '\0';
    if (s->is_accepted) {
        return CD_OK;
    }
    if (!is_lost) {
        CD_TRY(again(j, s, &is_lost, why));
    }
    if (is_lost) {
        cd_wallet_draft d;
        cd_hash32 id;
        CD_TRY(cd__l1_draft(j, &d, kind, words, cnt, why));
        CD_TRY(note(j, p, s, &d, why));
        CD_TRY(cd__issue(&j->world, &id, &d, why));
    }
    CD_TRY(cd__await(&j->world, &status, chain, &s->id, why));
    s->is_accepted = true;
    cd__l1_tell(j, "%s: %s", kind, cd__l1_id_text(j, &s->id));
    return cd__l1_plan_save(p, why);
}

static cd_err make_chain(cd__l1_job *j, cd__l1_plan *p, cd_errinfo *why)
{
    const char *const words[] = {cd_arena_fmt(j->mem, "--net-id=%s", step_id(j, p, CD__L1_NET)),
                                 cd_arena_fmt(j->mem, "--name=%s", p->name), cd_arena_fmt(j->mem, "--vm-id=%s", evm_id),
                                 cd_arena_fmt(j->mem, "--genesis-file=%s", p->genesis)};
    return step(j, p, CD__L1_CHAIN, "create-chain", words, CD_COUNT(words), why);
}

static cd_err convert(cd__l1_job *j, cd__l1_plan *p, cd_errinfo *why)
{
    enum { WORDS = 3 };
    const char **words = cd_arena_array(j->mem, const char *, WORDS + p->first_cnt);
    usize n = 0;
    words[n++] = cd_arena_fmt(j->mem, "--net-id=%s", step_id(j, p, CD__L1_NET));
    words[n++] = cd_arena_fmt(j->mem, "--chain-id=%s", step_id(j, p, CD__L1_CHAIN));
    words[n++] =
        cd_arena_fmt(j->mem, "--manager=%s", cd__hex_text(j->mem, cd_bytes_of(p->manager.b, sizeof p->manager.b)));
    for (usize i = 0; i < p->first_cnt; i++) {
        const cd__l1_first *f = &p->firsts[i];
        words[n++] = cd_arena_fmt(j->mem, "--validator=%s:%llu:%s:%s:%s", f->node, (unsigned long long)f->weight,
                                  f->balance, f->key, f->proof);
    }
    return step(j, p, CD__L1_CONVERSION, "convert-net", words, n, why);
}

/* --- the chain --- */

/* Has the nodes of a network on this machine run the chain: they learn what they track at their start. */
static cd_err track(cd__l1_job *j, const cd__l1_plan *p, cd_errinfo *why)
{
    cd__net *net = cd_arena_zalloc(j->mem, sizeof *net);
    const char *names[CD__NET_NODES_MAX];
    usize cnt = 0;
    if (p->network_dir[0] == '\0') {
        return CD_OK;
    }
    CD_TRY(cd__net_load(net, j->mem, p->network_dir, why));
    for (const char *at = p->track; *at != '\0' && cnt < CD__NET_NODES_MAX;) {
        usize n = strcspn(at, ",");
        names[cnt++] = cd_arena_str(j->mem, cd_bytes_of(at, n));
        at += n + (at[n] == ',');
    }
    cd__l1_tell(j, "the nodes of %s start again, with the chain", p->network_dir);
    for (usize i = 0; i < cnt; i++) {
        cd__net_node *x;
        CD_TRY(cd__net_find(net, &x, names[i], why));
        CD_TRY(cd__net_configure(net, x, step_id(j, p, CD__L1_CHAIN), why));
    }
    CD_TRY(cd__net_track(net, step_id(j, p, CD__L1_NET), names, cnt, why));
    CD_TRY(cd__net_stop(net, why));
    CD_TRY(cd__net_start_all(net, why));
    return cd__net_await(net, why);
}

/* Waits until a node runs the chain. */
static cd_err await_chain(cd__l1_job *j, const cd__l1_plan *p, const char *url, u64 patience_ms, cd_errinfo *why)
{
    cd__evm evm;
    cd_errinfo said = {0};
    const char *path = cd_arena_fmt(j->mem, "/ext/bc/%s/rpc", step_id(j, p, CD__L1_CHAIN));
    CD_TRY(cd__l1_chain_at(j, url, why));
    if (cd__evm_open(&evm, j->chain, j->mem, path, &said) == CD_OK) {
        return CD_OK;
    }
    CD_TRY(track(j, p, why));
    for (u64 waited = 0; cd__evm_open(&evm, j->chain, j->mem, path, &said) != CD_OK; waited += PAUSE_MS) {
        if (waited == 0) {
            cd__l1_tell(j,
                        "waiting for %s to run the chain: a node does that which was started with "
                        "--track-subnets=%s and has candela-evm among its plugins",
                        url, step_id(j, p, CD__L1_NET));
        }
        if (waited >= patience_ms) {
            return cd_fail(why, CD_ETIMEOUT, "%.60s does not run chain %s yet: the same command goes on from here", url,
                           step_id(j, p, CD__L1_CHAIN));
        }
        cd__remote_pause(j->world.node, PAUSE_MS);
    }
    return CD_OK;
}

static int by_node(const void *a, const void *b)
{
    const cd_p_conversion_validator *x = a;
    const cd_p_conversion_validator *y = b;
    return memcmp(x->node_id.p, y->node_id.p, x->node_id.n);
}

static cd_err data_of(cd_p_conversion_data *out, cd__l1_job *j, const cd__l1_plan *p, cd_errinfo *why)
{
    cd_p_conversion_validator *v = cd_arena_array(j->mem, cd_p_conversion_validator, p->first_cnt + 1);
    for (usize i = 0; i < p->first_cnt; i++) {
        cd_node_id *id = cd_arena_new(j->mem, cd_node_id);
        CD_TRY(cd_node_id_parse(id, cd_bytes_str(p->firsts[i].node), why));
        CD_TRY(cd__make_read_fixed(v[i].key, sizeof v[i].key, "BLS key", cd_bytes_str(p->firsts[i].key), why));
        v[i].node_id = cd_bytes_of(id->b, sizeof id->b);
        v[i].weight = p->firsts[i].weight;
    }
    qsort(v, p->first_cnt, sizeof *v, by_node);
    *out = (cd_p_conversion_data){.net_id = p->steps[CD__L1_NET].id,
                                  .manager_chain = p->steps[CD__L1_CHAIN].id,
                                  .manager_address = cd_bytes_of(p->manager.b, sizeof p->manager.b),
                                  .validators = {.v = v, .cnt = (u32)p->first_cnt}};
    return CD_OK;
}

/* Brings the manager what the P-Chain says of the conversion. */
static cd_err initialize(cd__l1_job *j, cd__l1_plan *p, cd_errinfo *why)
{
    cd__l1_manager m;
    cd_p_conversion_data data;
    cd_p_payload_conversion said;
    cd_bytes message;
    cd_buf bytes = {0};
    const cd_hash32 *net = &p->steps[CD__L1_NET].id;
    bool is_ready;
    CD_TRY(cd__l1_manager_open(&m, j, net, why));
    CD_TRY(cd__l1_manager_ready(&m, &is_ready, why));
    if (!is_ready) {
        CD_TRY(data_of(&data, j, p, why));
        cd_linear_put(&bytes, &cd_p_conversion_data_table, &data);
        cd_sha256(&said.id, cd_buf_bytes(&bytes));
        cd_buf_fini(&bytes);
        const cd_p_payload payload = cd_p_payload_of(CD_P_PAYLOAD_CONVERSION, &said);
        cd__l1_tell(j, "the L1's validators sign that the P-Chain has converted it");
        CD_TRY(cd__l1_say_p(j, &message, &payload, cd_bytes_of(net->b, sizeof net->b), net, why));
        CD_TRY(cd__l1_settled(j, why));
        CD_TRY(cd__l1_manager_initialize(&m, j, &data, message, why));
    }
    p->is_initialized = true;
    return cd__l1_plan_save(p, why);
}

/* --- all of it --- */

static void put_result(cd__l1_job *j, const cd__l1_plan *p, const char *url)
{
    const char *chain = step_id(j, p, CD__L1_CHAIN);
    cd_json_put_cstr(j->w, "name", p->name);
    cd_json_put_cstr(j->w, "subnetID", step_id(j, p, CD__L1_NET));
    cd_json_put_cstr(j->w, "blockchainID", chain);
    cd_json_put_cstr(j->w, "manager", cd__hex_text(j->mem, cd_bytes_of(p->manager.b, sizeof p->manager.b)));
    cd_json_put_cstr(j->w, "rpc", cd_arena_fmt(j->mem, "%s/ext/bc/%s/rpc", url, chain));
    cd_json_put_u64(j->w, "validators", p->first_cnt);
}

cd_err cd__l1_make(cd__l1_job *j, cd__l1_plan *p, u64 patience_ms, cd_errinfo *why)
{
    const char *given = cd_args_str(j->args, L1_CHAIN_RPC);
    const char *url = given[0] != '\0' ? given : cd__l1_plan_url(p);
    url = url[0] != '\0' ? url : cd_args_str(j->args, L1_RPC);
    CD_TRY(step(j, p, CD__L1_NET, "create-net", NULL, 0, why));
    CD_TRY(make_chain(j, p, why));
    CD_TRY(convert(j, p, why));
    if (!p->is_initialized) {
        CD_TRY(await_chain(j, p, url, patience_ms, why));
        CD_TRY(initialize(j, p, why));
    }
    put_result(j, p, url);
    return CD_OK;
}
