#include "l1/l1_job.h"

#include "codec/api_json.h"
#include "types/warp.h"

#include <stdarg.h>
#include <stdio.h>

enum { QUORUM = 67, PAUSE_MS = 500, SIGN_TRIES = 120, SETTLE_TRIES = 240, SAID_MAX = 512 };

/* --- life --- */

cd_err cd__l1_chain_at(cd__l1_job *j, const char *url, cd_errinfo *why)
{
    if (j->chain != j->world.node) {
        cd__remote_free(j->chain);
    }
    j->chain = j->world.node;
    return url[0] == '\0' ? CD_OK : cd__remote_new(&j->chain, j->mem, url, why);
}

cd_err cd__l1_open(cd__l1_job *j, const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    *j = (cd__l1_job){.args = a, .mem = mem, .w = w};
    CD_TRY(cd__world_open(&j->world, mem, cd_args_str(a, L1_RPC), why));
    CD_TRY(cd__l1_chain_at(j, cd_args_str(a, L1_CHAIN_RPC), why));
    return cd__payer_keys(&j->payer, a, mem, j->world.network.id, why);
}

void cd__l1_close(cd__l1_job *j)
{
    if (j->chain != j->world.node) {
        cd__remote_free(j->chain);
    }
    j->chain = NULL;
    cd__world_close(&j->world);
    cd__payer_fini(&j->payer);
}

cd_err cd__l1_run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd__l1_fn *fn, cd_errinfo *why)
{
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    cd__l1_job j = {0};
    cd_err e = cd__l1_open(&j, a, mem, w, why);
    if (e == CD_OK) {
        cd_json_w_obj(w);
        e = fn(&j, words, cnt, why);
        cd_json_w_obj_end(w);
    }
    cd__l1_close(&j);
    return e;
}

/* --- words --- */

void cd__l1_tell(const cd__l1_job *j, const char *what, ...)
{
    char said[SAID_MAX];
    cd_buf text = {0};
    va_list args;
    va_start(args, what);
    (void)vsnprintf(said, sizeof said, what, args);
    va_end(args);
    if (cd_args_bool(j->args, L1_JSON)) {
        cd_json_w w = {.out = &text};
        cd_json_w_obj(&w);
        cd_json_put_cstr(&w, "step", said);
        cd_json_w_obj_end(&w);
    } else {
        cd_buf_str(&text, said);
    }
    (void)fprintf(stderr, "%s\n", cd_buf_cstr(&text));
    cd_buf_fini(&text);
}

const char *cd__l1_id_text(const cd__l1_job *j, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    const char *kept = cd_arena_str(j->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

cd_err cd__l1_ask(cd__l1_job *j, cd_json *out, const char *method, const char *params, cd_errinfo *why)
{
    return cd__remote_ask(j->world.node, out, "/ext/bc/P", method, params, why);
}

cd_err cd__l1_ask_keys(cd__l1_job *j, const char *url, const char **node, const char **key, const char **proof,
                       cd_errinfo *why)
{
    cd__remote *r;
    cd_json v;
    cd_bytes text;
    CD_TRY(cd__remote_new(&r, j->mem, url, why));
    cd_err e = cd__remote_ask(r, &v, "/ext/info", "info.getNodeID", "{}", why);
    cd__remote_free(r);
    CD_TRY(e);
    CD_TRY(cd_json_str(&text, cd_json_get(v, "nodeID"), why));
    *node = cd_arena_str(j->mem, text);
    CD_TRY(cd_json_str(&text, cd_json_get(cd_json_get(v, "nodePOP"), "publicKey"), why));
    *key = cd_arena_str(j->mem, text);
    CD_TRY(cd_json_str(&text, cd_json_get(cd_json_get(v, "nodePOP"), "proofOfPossession"), why));
    *proof = cd_arena_str(j->mem, text);
    return CD_OK;
}

/* --- transactions of the P-Chain --- */

/* The flags of the job say who pays; the words say what. */
static cd_err make(cd__l1_job *j, cd_wallet_draft *out, const char *kind, const char *const *words, usize cnt,
                   cd_errinfo *why)
{
    static const cd_arg_def options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__MAKE_OPTIONS(CD_ARG_ROW)};
    static const cd_args_info about = {.program = "candela-cli l1"};
    char **argv = cd_arena_array(j->mem, char *, cnt + 2);
    int argc = 0;
    argv[argc++] = cd_arena_fmt(j->mem, "l1");
    for (usize i = 0; i < cnt; i++) {
        argv[argc++] = cd_arena_fmt(j->mem, "%s", words[i]);
    }
    if (cd_args_bool(j->args, L1_FORCE)) {
        argv[argc++] = cd_arena_fmt(j->mem, "--force");
    }
    cd_args *a = cd_args_new(&about, options, CD_COUNT(options));
    cd_err e = cd_args_parse(a, argc, argv, why);
    e = e != CD_OK ? e : cd__make(out, cd__make_find(kind), &j->world, a, &j->payer, why);
    cd_args_free(a);
    return e;
}

cd_err cd__l1_draft(cd__l1_job *j, cd_wallet_draft *out, const char *kind, const char *const *words, usize cnt,
                    cd_errinfo *why)
{
    CD_TRY(make(j, out, kind, words, cnt, why));
    return cd__payer_sign(&j->payer, out, why);
}

cd_err cd__l1_do(cd__l1_job *j, const char *kind, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_wallet_draft d;
    cd_hash32 id;
    const char *status;
    CD_TRY(cd__l1_draft(j, &d, kind, words, cnt, why));
    CD_TRY(cd__issue(&j->world, &id, &d, why));
    cd__l1_tell(j, "%s on the P-Chain: %s", kind, cd__l1_id_text(j, &id));
    return cd__await(&j->world, &status, d.chain, &id, why);
}

/* --- messages --- */

cd_err cd__l1_sign_call(cd__l1_job *j, cd_bytes *out, const char *chain, const cd_hash32 *chain_id, cd_bytes source,
                        cd_bytes payload, cd_bytes justification, const cd_hash32 *net, cd_errinfo *why)
{
    cd_buf call = {0};
    cd_buf message = {0};
    cd_buf params = {0};
    cd_json v;
    const cd_warp_payload outer = {.type = CD_WARP_ADDRESSED_CALL, .source = source, .payload = payload};
    cd_err e = cd_warp_payload_enc(&call, &outer);
    const cd_warp_unsigned m = {
        .network_id = j->world.network.id, .source_chain = *chain_id, .payload = cd_buf_bytes(&call)};
    cd_warp_unsigned_enc(&message, &m);
    cd_json_w w = {.out = &params};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "chain", chain);
    cd_json_put_dec(&w, "quorumNum", QUORUM);
    cd_json_put_id(&w, "subnetID", net);
    cd_json_put_hex(&w, "message", cd_buf_bytes(&message));
    cd_json_put_hex(&w, "justification", justification);
    cd_json_w_obj_end(&w);
    for (int i = 0; e == CD_OK && i < SIGN_TRIES; i++) {
        cd_errinfo said = {0};
        e = cd__remote_ask(j->chain, &v, "/v1/warp", "warp.getMessageAggregateSignature", cd_buf_cstr(&params), &said);
        if (e != CD_EACCES || i == SIGN_TRIES - 1) {
            *why = said;
            break;
        }
        e = CD_OK; /* others may be a moment behind */
        cd__remote_pause(j->chain, PAUSE_MS);
    }
    cd_buf_fini(&call);
    cd_buf_fini(&message);
    cd_buf_fini(&params);
    if (e == CD_EPROTO && strstr(why->msg, "status 404") != NULL) {
        return strcmp(chain, "P") == 0
                   ? cd_fail(why, e,
                             "that node collects no signatures: --l1-rpc=URL names a candela that runs the L1's chain")
                   : cd_fail(
                         why, e,
                         "the node has no signatures of chain %s to offer: it does when configs/chains/%s/config.json "
                         "says {\"warp-api-enabled\": true}",
                         chain, chain);
    }
    CD_TRY(e);
    return cd_json_hex(out, j->mem, cd_json_get(v, "message"), why);
}

cd_err cd__l1_say_p(cd__l1_job *j, cd_bytes *out, const cd_p_payload *payload, cd_bytes justification,
                    const cd_hash32 *net, cd_errinfo *why)
{
    static const cd_hash32 platform;
    cd_buf bytes = {0};
    cd_linear_put(&bytes, &cd_p_payload_table, payload);
    cd_err e = cd__l1_sign_call(j, out, "P", &platform, (cd_bytes){0}, cd_buf_bytes(&bytes), justification, net, why);
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__l1_settled(cd__l1_job *j, cd_errinfo *why)
{
    cd_json v;
    u64 now;
    u64 proposed = 0;
    /* the node of the L1's chain is one of those that make its blocks */
    CD_TRY(cd__l1_ask(j, &v, "platform.getHeight", "{}", why));
    CD_TRY(cd_json_u64(&now, cd_json_get(v, "height"), why));
    for (int i = 0; i < SETTLE_TRIES; i++) {
        CD_TRY(cd__remote_ask(j->chain, &v, "/ext/bc/P", "platform.getProposedHeight", "{}", why));
        CD_TRY(cd_json_u64(&proposed, cd_json_get(v, "height"), why));
        if (proposed >= now) {
            return CD_OK;
        }
        if (i == 0) {
            cd__l1_tell(j, "waiting until the change counts for new blocks, about half a minute");
        }
        cd__remote_pause(j->world.node, PAUSE_MS);
    }
    return cd_fail(why, CD_ETIMEOUT, "new blocks still refer to height %llu of the P-Chain, not to %llu",
                   (unsigned long long)proposed, (unsigned long long)now);
}
