/* lab/t8n.h - one block's transition, the interface of go-ethereum's `evm t8n`: accounts,
 * environment and transactions in, accounts, result and body out, as JSON.
 *
 * Transactions that cannot be part of the block are listed as rejected and left out. Difficulty of
 * proof-of-work forks must be given, it is not computed. Threading: confined. */
#ifndef CD_LAB_T8N_H
#define CD_LAB_T8N_H

#include "base/arena.h"
#include "base/buf.h"
#include "evm/rules.h"

typedef struct cd_t8n_cfg {
    cd_bytes alloc; /* JSON objects */
    cd_bytes env;
    cd_bytes txs; /* JSON list, or a JSON string with the hex of an RLP list when txs_are_rlp */
    bool txs_are_rlp;
    cd_fork fork;
    u64 chain_id;
    bool has_reward; /* wei to the coinbase; a reward of 0 touches it */
    u64 reward;
    bool trace;
    bool trace_memory;
    bool trace_no_stack;
    bool trace_return_data;
    bool trace_callframes;
    /* Receives the trace of each transaction tried; NULL = none. */
    void (*on_trace)(void *ctx, usize idx, const cd_hash32 *tx_hash, cd_bytes lines);
    void *trace_ctx;
} cd_t8n_cfg;

typedef struct cd_t8n_out {
    cd_buf alloc;  /* JSON */
    cd_buf result; /* JSON */
    cd_buf body;   /* RLP list of the transactions included */
} cd_t8n_out;

/* cd_t8n_run makes the transition and appends to the buffers of out.
 * Errors: malformed input, an environment that does not fit the fork; *why says which. */
cd_err cd_t8n_run(cd_t8n_out *out, const cd_t8n_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_t8n_out_fini releases what an output holds. */
void cd_t8n_out_fini(cd_t8n_out *out);

#endif
