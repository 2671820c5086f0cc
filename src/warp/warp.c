#include "warp/warp.h"

#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"
#include "warp/warp_priv.h"

enum { TABLE = 'w' }; /* prefix of the rows: a message by its ID */

void cd__warp_count(cd_counter *c)
{
    if (c != NULL) {
        cd_counter_add(c, 1);
    }
}

/* --- messages --- */

static cd_bytes key_of(u8 key[33], const cd_hash32 *id)
{
    key[0] = TABLE;
    memcpy(key + 1, id->b, 32);
    return cd_bytes_of(key, 33);
}

void cd_warp_put(cd_kv_batch *batch, cd_bytes message)
{
    u8 key[33];
    cd_hash32 id;
    cd_warp_unsigned_id(&id, message);
    cd_kv_batch_put(batch, key_of(key, &id), message);
}

void cd_warp_del(cd_kv_batch *batch, cd_bytes message)
{
    u8 key[33];
    cd_hash32 id;
    cd_warp_unsigned_id(&id, message);
    cd_kv_batch_del(batch, key_of(key, &id));
}

cd_err cd_warp_find(const cd_warp *w, cd_buf *out, const cd_hash32 *id)
{
    u8 key[33];
    const cd_bytes *own = cd_hmap_get(&w->off_chain, id);
    if (own != NULL) {
        cd_buf_clear(out);
        cd_buf_put(out, *own);
        return CD_OK;
    }
    return w->cfg.kv == NULL ? CD_ENOENT : cd_kv_get(w->cfg.kv, out, key_of(key, id));
}

void cd_warp_block_message(const cd_warp *w, cd_buf *out, const cd_hash32 *block)
{
    cd_buf payload = {0};
    const cd_warp_payload p = {.type = CD_WARP_HASH, .hash = *block};
    cd_err e = cd_warp_payload_enc(&payload, &p);
    CD_ASSERT(e == CD_OK);
    const cd_warp_unsigned m = {
        .network_id = w->cfg.ctx->network_id,
        .source_chain = w->cfg.ctx->chain_id,
        .payload = cd_buf_bytes(&payload),
    };
    cd_warp_unsigned_enc(out, &m);
    cd_buf_fini(&payload);
}

/* --- signing --- */

static i32 refuse(cd_warp *w, i32 code)
{
    cd__warp_count(w->cnt_refused);
    return code;
}

static i32 judge(cd_warp *w, const cd_warp_unsigned *m, const cd_hash32 *id, cd_bytes justification, cd_errinfo *why)
{
    cd_buf known = {0};
    cd_err e = cd_warp_find(w, &known, id);
    cd_buf_fini(&known);
    if (e == CD_OK) {
        return 0;
    }
    if (e != CD_ENOENT) {
        (void)cd_fail(why, e, "failed to get message: %s", cd_err_str(e));
        return CD_P2P_APP_UNEXPECTED;
    }
    return w->cfg.judge(w->cfg.judge_ctx, m, justification, why);
}

/* The key signs for this network and this chain only, whatever the judge says. */
static i32 make(cd_warp *w, u8 out[CD_WARP_SIG_LEN], const cd_warp_unsigned *m, cd_bytes message, cd_errinfo *why)
{
    const cd_vm_ctx *ctx = w->cfg.ctx;
    const char *wrong = m->network_id != ctx->network_id                  ? "wrong networkID"
                        : !cd_hash32_eq(&m->source_chain, &ctx->chain_id) ? "wrong sourceChainID"
                        : ctx->signer == NULL                             ? "this node signs nothing"
                                                                          : NULL;
    cd_err e = wrong != NULL ? CD_EINVAL : ctx->signer->sign(ctx->signer, out, message);
    if (e != CD_OK) {
        (void)cd_fail(why, e, "failed to sign message: %s", wrong != NULL ? wrong : cd_err_str(e));
        return CD_P2P_APP_UNEXPECTED;
    }
    cd__warp_count(w->cnt_signed);
    return 0;
}

static bool remembered(cd_warp *w, u8 out[CD_WARP_SIG_LEN], const cd_hash32 *id)
{
    const u8 *sig = cd_lru_get(w->signatures, id);
    if (sig != NULL) {
        memcpy(out, sig, CD_WARP_SIG_LEN);
    }
    return sig != NULL;
}

i32 cd_warp_sign(cd_warp *w, u8 out[CD_WARP_SIG_LEN], cd_bytes message, cd_bytes justification, cd_errinfo *why)
{
    cd_warp_unsigned m;
    cd_hash32 id;
    cd_err e = cd_warp_unsigned_dec(&m, message);
    if (e != CD_OK) {
        (void)cd_fail(why, e, "failed to parse warp unsigned message: %s", cd_err_str(e));
        return refuse(w, CD_P2P_APP_UNEXPECTED);
    }
    cd_warp_unsigned_id(&id, message);
    i32 code = judge(w, &m, &id, justification, why); /* what was true once need not be so any more */
    if (code == 0 && remembered(w, out, &id)) {
        return 0;
    }
    code = code != 0 ? code : make(w, out, &m, message, why);
    if (code != 0) {
        return refuse(w, code);
    }
    u8 *kept = cd_alloc(CD_WARP_SIG_LEN);
    memcpy(kept, out, CD_WARP_SIG_LEN);
    bool is_kept = cd_lru_put(w->signatures, &id, kept, 1);
    CD_ASSERT(is_kept);
    return 0;
}

/* --- what peers ask --- */

/* Signing costs this chain's thread time: a signature that is remembered costs next to none, others are counted. */
static bool may_sign(cd_warp *w, cd_bytes message)
{
    static const cd_node_id anybody;
    cd_hash32 id;
    cd_warp_unsigned_id(&id, message);
    return cd_lru_get(w->signatures, &id) != NULL ||
           cd_p2p_window_hit(&w->signs, &anybody, cd_clock_mono_ns(w->cfg.ctx->clock));
}

static i32 on_request(void *ctx, cd_buf *response, const cd_node_id *from, cd_bytes body)
{
    cd_warp *w = ctx;
    cd_arena a = {0};
    cd_errinfo why = {0};
    u8 sig[CD_WARP_SIG_LEN];
    cd_p2p_sig_request req = {.message = {.n = 0}};
    i32 code;
    (void)from;
    if (cd_proto_parse(&req, &cd_p2p_sig_request_table, &a, body, &why) != CD_OK) {
        cd_buf_fmt(response, "failed to unmarshal request: %s", why.msg);
        code = CD_P2P_APP_UNEXPECTED;
    } else if (!may_sign(w, req.message)) {
        code = CD_P2P_APP_THROTTLED;
    } else {
        code = cd_warp_sign(w, sig, req.message, req.justification, &why);
        if (code == 0) {
            const cd_p2p_sig_response answer = {.signature = cd_bytes_of(sig, sizeof sig)};
            cd_proto_put(response, &cd_p2p_sig_response_table, &answer);
        } else {
            cd_buf_str(response, why.msg);
        }
    }
    cd_arena_fini(&a);
    return code;
}

/* --- life --- */

static void drop_signature(void *ctx, void *val)
{
    (void)ctx;
    cd_free(val);
}

static void open_metrics(cd_warp *w, cd_metrics *ms)
{
    w->cnt_signed = cd_metrics_counter(ms, "warp_signed", "Warp messages that this node signed", NULL, 0);
    w->cnt_refused = cd_metrics_counter(ms, "warp_refused", "Warp messages that it would not sign", NULL, 0);
    w->cnt_collected = cd_metrics_counter(ms, "warp_collected", "Signatures collected from a quorum", NULL, 0);
    w->cnt_missed = cd_metrics_counter(ms, "warp_missed", "Collections that found no quorum", NULL, 0);
}

cd_warp *cd_warp_new(const cd_warp_cfg *cfg)
{
    cd_warp *w = cd_new(cd_warp);
    u64 now = cd_clock_mono_ns(cfg->ctx->clock);
    w->cfg = *cfg;
    cd_hmap_init(&w->off_chain, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(cd_bytes));
    for (usize i = 0; i < cfg->off_chain_cnt; i++) {
        cd_hash32 id;
        cd_warp_unsigned_id(&id, cfg->off_chain[i]);
        cd_bytes *at = cd_hmap_put(&w->off_chain, NULL, &id);
        *at = cd_arena_dup(&w->arena, cfg->off_chain[i]);
    }
    w->signatures = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), CD_WARP_CACHE_MAX, drop_signature, NULL);
    w->sets = cd_warp_sets_new(cfg->ctx->validators);
    cd_p2p_window_init(&w->signs, CD_WARP_WINDOW_S * CD_NS_PER_SEC, CD_WARP_SIGNS_MAX, now);
    cd__collect_init(w);
    if (cfg->ctx->metrics != NULL) {
        open_metrics(w, cfg->ctx->metrics);
    }
    const cd_p2p_handler h = {
        .id = CD_P2P_HANDLER_SIGNATURE,
        .ctx = w,
        .request = on_request,
        .period_ns = CD_WARP_WINDOW_S * CD_NS_PER_SEC,
        .limit = CD_WARP_PEER_ASKS,
    };
    cd_err e = cd_p2p_mux_add(cd_gossip_mux(cfg->gossip), &h, now);
    CD_ASSERT(e == CD_OK);
    return w;
}

void cd_warp_free(cd_warp *w)
{
    if (w == NULL) {
        return;
    }
    cd__collect_fini(w);
    cd_warp_sets_free(w->sets);
    cd_lru_free(w->signatures);
    cd_p2p_window_fini(&w->signs);
    cd_hmap_fini(&w->off_chain);
    cd_arena_fini(&w->arena);
    cd_free(w);
}

cd_warp_sets *cd_warp_sets_of(cd_warp *w)
{
    return w->sets;
}

const cd_vm_ctx *cd_warp_ctx(const cd_warp *w)
{
    return w->cfg.ctx;
}

u64 cd_warp_wake(cd_warp *w)
{
    return cd__collect_wake(w);
}
