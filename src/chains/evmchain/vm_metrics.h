/* chains/evmchain/vm_metrics.h - what the operator sees of an EVM chain. Threading: confined to the executor. */
#ifndef CD_CHAINS_EVMCHAIN_VM_METRICS_H
#define CD_CHAINS_EVMCHAIN_VM_METRICS_H

#include "base/log/metrics.h"
#include "chains/evmchain/rpc/api.h"

/* All NULL where nobody looks. */
typedef struct cd__vm_metrics {
    cd_gauge *head;
    cd_gauge *pending;
    cd_gauge *queued;
    cd_gauge *state_bytes; /* reserved */
    cd_gauge *trie_bytes;
    cd_gauge *trie_lag;
    cd_gauge *history;
} cd__vm_metrics;

/* cd__vm_metrics_open makes the metrics in ms (NULL: nothing happens), that of rendered texts for the api.
 * cd__vm_metrics_follow brings them up to date with its chain and pool. */
void cd__vm_metrics_open(cd__vm_metrics *m, cd_metrics *ms, cd_api *api);
void cd__vm_metrics_follow(const cd__vm_metrics *m, const cd_api *api);

#endif
