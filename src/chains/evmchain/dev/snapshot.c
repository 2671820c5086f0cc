/* Going back: to a snapshot, some blocks, or all the way. [spec:dev-rpc#3.1] [spec:dev-rpc#3.6] */
#include "base/mem/mem.h"
#include "chains/evmchain/dev/dev_priv.h"

enum { SNAPSHOTS_MAX = 65536 };

cd_err cd__dev_snapshot_take(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    if (d->snapshot_cnt == SNAPSHOTS_MAX) {
        cd_txpool_copy_free(d->snapshots[0].pool);
        memmove(d->snapshots, d->snapshots + 1, --d->snapshot_cnt * sizeof *d->snapshots);
    }
    if ((d->snapshot_cnt & (d->snapshot_cnt - 1)) == 0) {
        usize cap = d->snapshot_cnt == 0 ? 1 : 2 * d->snapshot_cnt;
        d->snapshots = cd_realloc(d->snapshots, cap * sizeof *d->snapshots);
    }
    d->snapshots[d->snapshot_cnt++] = (cd__dev_snapshot){
        .id = d->next_snapshot,
        .version = cd_chain_version(d->api->chain),
        .wall = cd__dev_wall(d),
        .pool = cd_txpool_copy_new(d->api->pool),
        .once = d->once,
        .lasting = d->lasting,
    };
    cd_json_w_qty(call->out, d->next_snapshot++);
    return CD_OK;
}

/* Restores chain, clock and pool; chosen values too. */
static cd_err go_back(cd_dev *d, const cd__dev_snapshot *s, cd_errinfo *why)
{
    if (cd_chain_version(d->api->chain) != s->version) {
        CD_TRY(cd_api_truncate(d->api, s->version, why));
    }
    d->once = s->once;
    d->lasting = s->lasting;
    /* The chain's clock goes on from where it was. */
    d->lasting.offset -= cd__dev_wall(d) - s->wall;
    CD_TRY(cd__dev_save(d, why));
    CD_TRY(cd_api_follow(d->api));
    return cd_txpool_restore(d->api->pool, s->pool);
}

cd_err cd__dev_revert(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    u64 id;
    usize idx = 0;
    CD_TRY(cd__dev_n64(call, &id, 0));
    while (idx < d->snapshot_cnt && d->snapshots[idx].id != id) {
        idx++;
    }
    if (idx == d->snapshot_cnt) {
        cd_json_w_bool(call->out, false);
        return CD_OK;
    }
    CD_TRY(cd__dev_done(call, go_back(d, &d->snapshots[idx], &why), &why));
    cd__dev_forget_snapshots(d, idx);
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

cd_err cd__dev_rollback(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    u64 depth = 1;
    u64 height = cd__dev_head(d)->number;
    if (cd_rpc_has_arg(call, 0)) {
        CD_TRY(cd__dev_n64(call, &depth, 0));
    }
    if (depth > height) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "Rollback depth must not exceed current chain height: current height "
                           "%llu, depth %llu",
                           (unsigned long long)height, (unsigned long long)depth);
    }
    cd_err e = CD_OK;
    if (depth != 0) {
        e = cd_api_truncate(d->api, cd_world_version_of(height - depth), &why);
    }
    CD_TRY(cd__dev_done(call, e == CD_OK ? cd_api_follow(d->api) : e, &why));
    u64 version = cd_chain_version(d->api->chain);
    while (d->snapshot_cnt != 0 && d->snapshots[d->snapshot_cnt - 1].version > version) {
        cd__dev_forget_snapshots(d, d->snapshot_cnt - 1);
    }
    return cd__dev_setter(call);
}

/* Does the parameter ask for a fork of another chain? */
static bool wants_fork(cd_json options)
{
    cd_json forking = cd_json_get(options, "forking");
    cd_json from = cd_json_has(forking) ? forking : options;
    cd_json_it it = cd_json_iter(from);
    while (cd_json_next(&it)) {
        if (cd_json_has(it.val) && !cd_bytes_eq(it.key, cd_bytes_str("forking"))) {
            return true;
        }
    }
    return false;
}

cd_err cd__dev_reset(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    if (wants_fork(cd_rpc_arg(call, 0))) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "forking is not supported");
    }
    cd_txpool_clear(d->api->pool);
    cd__dev_restart_state(d);
    d->lasting = (cd__dev_lasting){0};
    cd_err e = cd_api_truncate(d->api, 0, &why);
    if (e == CD_OK) {
        e = cd__dev_save(d, &why);
    }
    if (e == CD_OK) {
        e = cd_api_follow(d->api);
    }
    CD_TRY(cd__dev_done(call, e, &why));
    return cd__dev_setter(call);
}
