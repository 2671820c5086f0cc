#include "chains/evmchain/vm_metrics.h"

static cd_gauge *gauge(cd_metrics *ms, const char *name, const char *help)
{
    return cd_metrics_gauge(ms, name, help, NULL, 0);
}

static cd_gauge *memory(cd_metrics *ms, const char *name, const char *help, const char *share)
{
    const cd_label label = {"share", share};
    return cd_metrics_gauge(ms, name, help, &label, 1);
}

void cd__vm_metrics_open(cd__vm_metrics *m, cd_metrics *ms, cd_api *api)
{
    if (ms == NULL) {
        return;
    }
    *m = (cd__vm_metrics){
        .head = gauge(ms, "evm_eth_chain_head_block", "Height of the EVM chain"),
        .pending = gauge(ms, "evm_eth_txpool_pending", "Executable transactions that wait"),
        .queued = gauge(ms, "evm_eth_txpool_queued", "Transactions that wait for one before them"),
        .state_bytes =
            memory(ms, "memory_reserved_bytes", "Addresses that shares of the memory budget may come to use", "state"),
        .trie_bytes = memory(ms, "memory_used_bytes", "What shares of the memory budget hold", "tries"),
        .trie_lag = gauge(ms, "evm_trie_lag_blocks", "Blocks by which stored tries are behind"),
        .history = gauge(ms, "evm_history_entries", "Earlier values of the state that are kept"),
    };
    api->text_bytes = memory(ms, "memory_used_bytes", "What shares of the memory budget hold", "texts");
    cd_gauge_set(gauge(ms, "evm_log_index_enabled", "1: logs are found by an index, 0: by the blooms of headers"),
                 api->config->skip_log_indexing ? 0 : 1);
    cd_gauge_set(m->head, -1); /* no height, so that the first one counts as a change */
    cd__vm_metrics_follow(m, api);
}

void cd__vm_metrics_follow(const cd__vm_metrics *m, const cd_api *api)
{
    i64 head = (i64)cd_chain_head(api->chain)->header.number;
    if (m->head == NULL) {
        return;
    }
    usize pending = cd_txpool_pending_cnt(api->pool);
    cd_gauge_set(m->pending, (i64)pending);
    cd_gauge_set(m->queued, (i64)(cd_txpool_cnt(api->pool) - pending));
    if (cd_gauge_get(m->head) != head) {
        cd_world_stats s;
        cd_chain_world_stats(api->chain, &s);
        cd_gauge_set(m->head, head);
        cd_gauge_set(m->state_bytes, (i64)s.cache_bytes);
        cd_gauge_set(m->trie_bytes, (i64)s.trie_bytes);
        cd_gauge_set(m->trie_lag, (i64)s.trie_lag);
        cd_gauge_set(m->history, (i64)s.history_entries);
    }
}
