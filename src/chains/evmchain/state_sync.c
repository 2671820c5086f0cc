#include "chains/evmchain/state_sync.h"

#include "base/mem/mem.h"
#include "crypto/hash/keccak.h"
#include "vm/gossip/gossip.h"

/* --- serving --- */

bool cd_evm_sync_answer(cd_sync_server *s, const cd_vm_sender *sender, const cd_node_id *from, u32 request_id,
                        u64 deadline_ns, cd_bytes msg)
{
    cd_buf out = {0};
    cd_err e = cd_sync_server_answer(s, &out, from, msg, deadline_ns);
    if (e == CD_OK) {
        sender->response(sender, from, request_id, cd_buf_bytes(&out));
    } else if (e == CD_EBUSY) {
        sender->error(sender, from, request_id, CD_P2P_APP_THROTTLED,
                      cd_bytes_str(cd_p2p_app_text(CD_P2P_APP_THROTTLED)));
    } else if (e != CD_ETYPE) {
        sender->error(sender, from, request_id, CD_EVM_SYNC_NOTHING, cd_bytes_str("not available"));
    }
    cd_buf_fini(&out);
    return e != CD_ETYPE;
}

static cd_err summary_of(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a, const cd_sync_summary *s)
{
    cd_buf bytes = {0};
    cd_sync_summary_put(&bytes, x->family, s);
    *out = (cd_vm_summary){.height = s->height, .bytes = cd_arena_dup(a, cd_buf_bytes(&bytes))};
    cd_buf_fini(&bytes);
    cd_keccak256(&out->id, out->bytes);
    return CD_OK;
}

cd_err cd_evm_sync_last(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a)
{
    cd_sync_summary s;
    CD_TRY(cd_sync_server_last(x->server, &s));
    return summary_of(x, out, a, &s);
}

cd_err cd_evm_sync_at(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a, u64 height)
{
    cd_sync_summary s;
    CD_TRY(cd_sync_server_at(x->server, &s, height));
    return summary_of(x, out, a, &s);
}

/* The two families' differ in length, so either is known by its own. */
cd_err cd_evm_sync_parse(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    cd_sync_summary s;
    cd_hash32 id;
    CD_TRY(cd_sync_summary_parse(&s, &id, x->family, bytes, why));
    *out = (cd_vm_summary){.id = id, .height = s.height, .bytes = cd_arena_dup(a, bytes)};
    return CD_OK;
}

/* --- the VM's own sync --- */

bool cd_evm_sync_is_enabled(const cd_evm_sync *x)
{
    cd_tri wish = x->api->config->state_sync;
    bool is_fresh = x->atomic != NULL && cd_chain_head(x->api->chain)->header.number == 0;
    return x->client != NULL && (wish == CD_ON || (wish == CD_UNSET && is_fresh));
}

cd_err cd_evm_sync_ongoing(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a)
{
    cd_sync_summary s;
    if (x->client == NULL || x->api->config->state_sync_skip_resume) {
        return CD_ENOENT;
    }
    CD_TRY(cd_sync_client_ongoing(x->client, &s));
    return summary_of(x, out, a, &s);
}

cd_err cd_evm_sync_accept(cd_evm_sync *x, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    cd_sync_summary summary;
    u64 head = cd_chain_head(x->api->chain)->header.number;
    u64 ahead = s->height > head ? s->height - head : 0;
    CD_TRY(cd_sync_summary_parse(&summary, NULL, x->family, s->bytes, why));
    *mode = CD_VM_SYNC_SKIPPED;
    if (x->client == NULL || ahead == 0 || ahead < x->api->config->state_sync_min_blocks) {
        cd_log_info(x->ctx->log, "the state is not synced: there are too few blocks to save",
                    CD_F("chain", x->ctx->name), CD_F("blocks", ahead),
                    CD_F("state_sync_min_blocks", x->api->config->state_sync_min_blocks));
        return CD_OK;
    }
    CD_TRY(cd_sync_client_begin(x->client, &summary, why));
    *mode = CD_VM_SYNC_STATIC;
    return CD_OK;
}

void cd_evm_sync_progress(const cd_evm_sync *x, cd_vm_sync_progress *out)
{
    cd_sync_stats s = {0};
    if (x->client != NULL) {
        cd_sync_client_stats(x->client, &s);
    }
    *out = (cd_vm_sync_progress){
        .items = s.accounts + s.slots + s.codes + s.blocks + s.requests, .permille = s.permille, .left_s = s.left_s};
}

/* The chain, its tree of blocks, pool and readers follow. */
static cd_err on_adopted(void *ctx, const cd_hash32 *block, u64 height, cd_errinfo *why)
{
    const cd_evm_sync *x = ctx;
    CD_TRY(cd_chain_adopted(x->api->chain, why));
    cd_blocks_restart(x->api->blocks, block, height);
    return cd_api_follow(x->api);
}

static void on_over(void *ctx)
{
    const cd_evm_sync *x = ctx;
    x->ctx->host->notify(x->ctx->host, CD_VM_SYNC_DONE);
}

/* --- life --- */

static cd_err read_ids(cd_evm_sync *x, cd_bytes list, cd_errinfo *why)
{
    usize from = 0;
    x->ids = cd_new_array(cd_node_id, list.n / 8 + 1);
    for (usize i = 0; i <= list.n && list.n != 0; i++) {
        if (i == list.n || list.p[i] == ',') {
            cd_bytes one = cd_bytes_sub(list, from, i - from);
            if (cd_node_id_parse(&x->ids[x->id_cnt], one, NULL) != CD_OK) {
                return cd_fail(why, CD_EINVAL, "state-sync-ids: %.*s is no node ID", (int)cd_min_u64(one.n, 60),
                               (const char *)one.p);
            }
            x->id_cnt++;
            from = i + 1;
        }
    }
    return CD_OK;
}

static cd_gauge *gauge(const cd_evm_sync *x, const char *name, const char *help)
{
    return x->ctx->metrics == NULL ? NULL : cd_metrics_gauge(x->ctx->metrics, name, help, NULL, 0);
}

/* --- imports and exports --- */

static cd_atomic_trie *trie_of(void *ctx)
{
    return cd_atomic_trie_of(((const cd_evm_sync *)ctx)->atomic);
}

static cd_err side_root_at(void *ctx, cd_hash32 *root, u64 height)
{
    return cd_atomic_trie_root_at(trie_of(ctx), root, height);
}

static cd_err side_trie(void *ctx, cd_trie **out, const cd_hash32 *root)
{
    return cd_atomic_trie_at(trie_of(ctx), out, root);
}

static u64 side_first(void *ctx)
{
    return trie_of(ctx)->last + 1;
}

static cd_err side_take(void *ctx, cd_kv_batch *batch, const cd_trie_item *leaf, cd_errinfo *why)
{
    (void)ctx;
    return cd_atomic_trie_take(batch, leaf, why);
}

static cd_err side_build(void *ctx, u64 height, const cd_hash32 *root, bool *more, cd_errinfo *why)
{
    const cd_evm_sync *x = ctx;
    u64 own = cd_chain_head(x->api->chain)->header.number;
    return cd_atomic_trie_build(trie_of(ctx), own, height, root, more, why);
}

static cd_err side_apply(void *ctx, u64 height, bool *more, cd_errinfo *why)
{
    const cd_evm_sync *x = ctx;
    return cd_atomic_trie_apply(trie_of(ctx), cd_atomic_shared(x->atomic), height, more, why);
}

/* --- opening --- */

cd_err cd_evm_sync_open(cd_evm_sync *x, cd_api *api, const cd_vm_ctx *ctx, cd_atomic *atomic, u64 interval,
                        cd_errinfo *why)
{
    const cd_sync_family family = atomic == NULL ? CD_SYNC_L1 : CD_SYNC_C;
    const cd_chain_rules *rules = cd_chain_rules_of(api->chain);
    *x = (cd_evm_sync){.api = api, .ctx = ctx, .family = family, .atomic = atomic};
    x->side = (cd_sync_side){
        .root_at = side_root_at,
        .trie = side_trie,
        .first = side_first,
        .take = side_take,
        .build = side_build,
        .apply = side_apply,
        .ctx = x,
    };
    const cd_sync_server_cfg server = {
        .chain = api->chain,
        .clock = ctx->clock,
        .family = family,
        .side = atomic == NULL ? NULL : &x->side,
        .interval = interval,
    };
    x->server = cd_sync_server_new(&server);
    CD_TRY(read_ids(x, api->config->state_sync_ids, why));
    /* Summaries are those of who offers some: without them nothing could be resumed or served from. */
    if (ctx->sender == NULL || ctx->is_dev || interval == 0) {
        return CD_OK;
    }
    const cd_sync_client_cfg client = {
        .kv = ctx->kv,
        .layout = rules->layout,
        .form = rules->account_form,
        .family = family,
        .clock = ctx->clock,
        .rng = ctx->rng,
        .sender = ctx->sender,
        .side = server.side,
        .leafs_max = (u32)cd_min_u64(api->config->state_sync_request_size, CD_SYNC_LEAFS_MAX),
        .asks_max = (u32)cd_min_u64(api->config->max_outbound, 1024),
        .ids = x->ids,
        .id_cnt = x->id_cnt,
        .log = ctx->log,
        .name = ctx->name,
        .adopted = on_adopted,
        .over = on_over,
        .ctx = x,
    };
    x->client = cd_sync_client_new(&client);
    x->leafs = gauge(x, "state_sync_leafs", "Accounts and slots that the sync of the state has fetched");
    x->codes = gauge(x, "state_sync_codes", "Contracts that it has fetched");
    x->blocks = gauge(x, "state_sync_blocks", "Blocks that it has fetched");
    x->refused = gauge(x, "state_sync_refused", "Questions of the sync of the state that nobody answered");
    x->lies = gauge(x, "state_sync_lies", "Answers to them that were wrong");
    return CD_OK;
}

void cd_evm_sync_close(cd_evm_sync *x)
{
    cd_sync_client_free(x->client);
    cd_sync_server_free(x->server);
    cd_free(x->ids);
    *x = (cd_evm_sync){.api = NULL};
}

u64 cd_evm_sync_wake(cd_evm_sync *x)
{
    u64 next = cd_sync_server_wake(x->server);
    if (x->client == NULL) {
        return next;
    }
    next = cd_min_u64(next, cd_sync_client_wake(x->client));
    if (x->leafs != NULL) {
        cd_sync_stats s;
        cd_sync_client_stats(x->client, &s);
        cd_gauge_set(x->leafs, (i64)(s.accounts + s.slots));
        cd_gauge_set(x->codes, (i64)s.codes);
        cd_gauge_set(x->blocks, (i64)s.blocks);
        cd_gauge_set(x->refused, (i64)s.refused);
        cd_gauge_set(x->lies, (i64)s.lies);
    }
    return next;
}
