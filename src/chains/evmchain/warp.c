#include "chains/evmchain/warp.h"

#include "base/hex.h"
#include "chains/evmchain/core/chaindb.h"

/* --- messages of accepted blocks --- */

static void each_sent(const cd_evm_warp *x, cd_kv_batch *batch, const cd_chain_entry *b,
                      void (*fn)(cd_kv_batch *batch, cd_bytes message))
{
    const cd_schedule *s = cd_chain_rules_of(x->chain)->schedule;
    for (usize i = 0; i < b->block->tx_cnt; i++) {
        for (usize k = 0; k < b->receipts[i].log_cnt; k++) {
            cd_bytes message;
            if (cd_warp_sent(&message, s, b->block->header.time, &b->receipts[i].logs[k])) {
                fn(batch, message);
            }
        }
    }
}

static void on_put(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    each_sent(ctx, batch, b, cd_warp_put);
}

/* A message that was sent twice goes with the first block that is taken back: nothing is signed that may not stand. */
static void on_del(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    each_sent(ctx, batch, b, cd_warp_del);
}

/* --- what else is signed --- */

/* The store has blocks that are not accepted (yet), too. */
static cd_err find_accepted(const cd_evm_warp *x, const cd_hash32 *id)
{
    cd_arena a = {0};
    cd_header h;
    cd_hash32 at;
    cd_err e = cd_chaindb_header(x->ctx->kv, &h, &a, cd_chain_rules_of(x->chain)->layout, id);
    e = e != CD_OK ? e : cd_chaindb_hash(x->ctx->kv, &at, h.number);
    cd_arena_fini(&a);
    return e != CD_OK ? e : cd_hash32_eq(&at, id) ? CD_OK : CD_ENOENT;
}

static i32 judge(void *ctx, const cd_warp_unsigned *m, cd_bytes justification, cd_errinfo *why)
{
    const cd_evm_warp *x = ctx;
    cd_warp_payload p;
    cd_buf text = {0};
    (void)justification;
    cd_err e = cd_warp_payload_dec(&p, m->payload);
    if (e != CD_OK) {
        (void)cd_fail(why, e, "failed to parse payload: %s", cd_err_str(e));
        return CD_EVM_WARP_PARSE;
    }
    if (p.type != CD_WARP_HASH) {
        (void)cd_fail(why, CD_ETYPE, "unknown payload type: *payload.AddressedCall");
        return CD_EVM_WARP_PARSE;
    }
    e = find_accepted(x, &p.hash);
    if (e == CD_OK) {
        return 0;
    }
    cd_id_put(&text, &p.hash);
    (void)cd_fail(why, e, "failed to get block %s: %s", cd_buf_cstr(&text),
                  e == CD_ENOENT ? "not found" : cd_err_str(e));
    cd_buf_fini(&text);
    return CD_EVM_WARP_VERIFY;
}

/* --- who vouches for messages that come --- */

static cd_err host_subnet_of(cd_warp_host *h, cd_hash32 *out, const cd_hash32 *chain)
{
    const cd_vm_validators *v = ((cd_evm_warp *)h)->ctx->validators;
    return v == NULL ? CD_ENOENT : v->subnet_of(v, out, chain);
}

/* Copied: the set is shared with others, who may drop it. */
static cd_err host_validators(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height)
{
    cd_warp_signers *s;
    CD_TRY(cd_warp_sets_get(cd_warp_sets_of(((cd_evm_warp *)h)->warp), &s, subnet, height));
    cd_warp_member *members = cd_arena_array(a, cd_warp_member, s->set.cnt);
    if (s->set.cnt != 0) {
        memcpy(members, s->set.members, s->set.cnt * sizeof *members);
    }
    *out = s->set;
    out->members = members;
    cd_warp_signers_unref(s);
    return CD_OK;
}

/* --- life --- */

static cd_err read_off_chain(cd_bytes *out, cd_arena *a, const cd_vm_ctx *ctx, const cd_str_list *texts,
                             cd_errinfo *why)
{
    for (usize i = 0; i < texts->cnt; i++) {
        cd_warp_unsigned m;
        if (cd_hex_parse_prefixed(&out[i], a, texts->items[i]) != CD_OK) {
            return cd_fail(why, CD_EINVAL, "warp-off-chain-messages[%zu]: not bytes in hex", i);
        }
        CD_TRY(cd_warp_off_chain_check(&m, out[i], i, ctx->network_id, &ctx->chain_id, why));
    }
    return CD_OK;
}

cd_err cd_evm_warp_open(cd_evm_warp *x, const cd_vm_ctx *ctx, cd_gossip *g, const cd_vm_config *config, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_bytes *messages = cd_arena_array(&a, cd_bytes, config->warp_off_chain.cnt);
    *x = (cd_evm_warp){.ctx = ctx};
    x->host = (cd_warp_host){
        .network_id = ctx->network_id,
        .subnet = ctx->subnet_id,
        .subnet_of = host_subnet_of,
        .validators = host_validators,
    };
    cd_err e = read_off_chain(messages, &a, ctx, &config->warp_off_chain, why);
    if (e == CD_OK) {
        const cd_warp_cfg cfg = {
            .ctx = ctx,
            .kv = ctx->kv,
            .gossip = g,
            .judge = judge,
            .judge_ctx = x,
            .off_chain = messages,
            .off_chain_cnt = config->warp_off_chain.cnt,
        };
        x->warp = cd_warp_new(&cfg);
        x->service = cd_warp_service_new(x->warp);
    }
    cd_arena_fini(&a);
    return e;
}

void cd_evm_warp_use(cd_evm_warp *x, cd_chain *chain)
{
    x->chain = chain;
    x->index = (cd_chain_index){.put = on_put, .del = on_del, .ctx = x};
    cd_chain_add_index(chain, &x->index);
}

void cd_evm_warp_close(cd_evm_warp *x)
{
    cd_warp_service_free(x->service);
    cd_warp_free(x->warp);
    *x = (cd_evm_warp){.ctx = NULL};
}
