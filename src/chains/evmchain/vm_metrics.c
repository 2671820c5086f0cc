#include "chains/evmchain/evm_vm_priv.h"

static cd_gauge *gauge(cd_evm_vm *e, const char *name, const char *help)
{
    return cd_metrics_gauge(e->ctx.metrics, name, help, NULL, 0);
}

static cd_gauge *memory(cd_evm_vm *e, const char *name, const char *help, const char *share)
{
    const cd_label label = {"share", share};
    return cd_metrics_gauge(e->ctx.metrics, name, help, &label, 1);
}

void cd__vm_metrics_open(cd_evm_vm *e)
{
    if (e->ctx.metrics == NULL) {
        return;
    }
    e->metrics = (cd__vm_metrics){
        .head = gauge(e, "evm_eth_chain_head_block", "Height of the EVM chain"),
        .pending = gauge(e, "evm_eth_txpool_pending", "Executable transactions that wait"),
        .queued = gauge(e, "evm_eth_txpool_queued", "Transactions that wait for one before them"),
        .state_bytes =
            memory(e, "memory_reserved_bytes",
                   "Addresses that shares of the memory budget may come to use", "state"),
        .trie_bytes =
            memory(e, "memory_used_bytes", "What shares of the memory budget hold", "tries"),
        .text_bytes =
            memory(e, "memory_used_bytes", "What shares of the memory budget hold", "texts"),
        .trie_lag = gauge(e, "evm_trie_lag_blocks", "Blocks by which stored tries are behind"),
        .history = gauge(e, "evm_history_entries", "Earlier values of the state that are kept"),
    };
    cd_gauge_set(gauge(e, "evm_log_index_enabled",
                       "1: logs are found by an index, 0: by the blooms of headers"),
                 e->config.skip_log_indexing ? 0 : 1);
    cd_gauge_set(e->metrics.head, -1); /* so that the first time is a change */
    cd__vm_metrics_follow(e);
}

void cd__vm_metrics_follow(cd_evm_vm *e)
{
    const cd__vm_metrics *m = &e->metrics;
    i64 head = (i64)cd_chain_head(e->chain)->header.number;
    if (m->head == NULL) {
        return;
    }
    usize pending = cd_txpool_pending_cnt(e->pool);
    cd_gauge_set(m->pending, (i64)pending);
    cd_gauge_set(m->queued, (i64)(cd_txpool_cnt(e->pool) - pending));
    if (cd_gauge_get(m->head) != head) {
        cd_world_stats s;
        cd_chain_world_stats(e->chain, &s);
        cd_gauge_set(m->head, head);
        cd_gauge_set(m->state_bytes, (i64)s.cache_bytes);
        cd_gauge_set(m->trie_bytes, (i64)s.trie_bytes);
        cd_gauge_set(m->trie_lag, (i64)s.trie_lag);
        cd_gauge_set(m->history, (i64)s.history_entries);
    }
}
