/* chains/evmchain/rpc/logs/logs_priv.h - what eth_getLogs and filters share. Threading: confined to the call. */
#ifndef CD_CHAINS_EVMCHAIN_RPC_LOGS_PRIV_H
#define CD_CHAINS_EVMCHAIN_RPC_LOGS_PRIV_H

#include "chains/evmchain/feed/criteria.h"
#include "chains/evmchain/feed/cursor.h"
#include "rpc/param.h"

/* The blocks of a filter object, none chosen being the head. */
typedef struct cd__log_range {
    bool has_hash; /* one block, by its hash */
    cd_hash32 hash;
    cd_block_ref from;
    cd_block_ref to;
} cd__log_range;

/* cd__logs_read_range reads the blocks of filter object v, parameter idx. */
cd_err cd__logs_read_range(cd_rpc_call *call, cd__log_range *out, cd_json v, usize idx) CD_CHECK;

/* cd__logs_resolve gives the height of one end ("from", "to") of a range. */
cd_err cd__logs_resolve(cd_rpc_call *call, u64 *out, const cd_block_ref *ref, const char *which) CD_CHECK;

/* cd__logs_answer writes all logs of a range as an array, or refuses with a smaller range that is sure to fit. */
cd_err cd__logs_answer(cd_rpc_call *call, const cd_log_criteria *want, const cd__log_range *range) CD_CHECK;

/* cd__logs_since writes the logs from *at on, not above the range's end, as an array, as many as fit into an answer,
 * and moves *at behind them. */
cd_err cd__logs_since(cd_rpc_call *call, cd_cursor *at, const cd_log_criteria *want,
                      const cd__log_range *range) CD_CHECK;

#endif
