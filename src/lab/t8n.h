/* lab/t8n.h - one block's transition, the interface of go-ethereum's `evm t8n`: accounts,
 * environment and transactions in, accounts, result and body out, as JSON.
 *
 * Transactions that cannot be part of the block are listed as rejected and left out. The difficulty of proof-of-work
 * forks is computed from the parent's where it is not given. Threading: confined. */
#ifndef CD_LAB_T8N_H
#define CD_LAB_T8N_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "evm/rules/rules.h"

/* A transition: the documents that are given and what is wanted. */
typedef struct cd_t8n_cfg {
    cd_bytes alloc; /* JSON objects */
    cd_bytes env;
    cd_bytes txs; /* JSON list, or a JSON string with the hex of an RLP list when txs_are_rlp */
    bool txs_are_rlp;
    cd_fork fork;
    u64 difficulty_delay; /* lab/difficulty.h */
    u64 chain_id;
    bool has_reward; /* the coinbase gets `reward` wei; a reward of 0 touches it */
    u64 reward;
    bool trace;
    bool trace_memory;
    bool trace_no_stack;
    bool trace_return_data;
    bool trace_callframes;
    /* Gets the trace of each transaction that is tried; NULL = no traces. */
    void (*on_trace)(void *ctx, usize idx, const cd_hash32 *tx_hash, cd_bytes lines);
    void *trace_ctx;
} cd_t8n_cfg;

/* What a transition writes. */
typedef struct cd_t8n_out {
    cd_buf alloc;  /* JSON */
    cd_buf result; /* JSON */
    cd_buf body;   /* RLP list of the transactions included */
} cd_t8n_out;

/* cd_t8n_run makes the transition and appends to the buffers of out.
 * Errors: CD_EINVAL when the environment does not fit the fork, CD_EMISSING when code asks for the hash of a block that
 * is not among those given, CD_ESHORT, CD_ETRAIL … for malformed lists in RLP, others for other malformed input; *why
 * gets the words. */
cd_err cd_t8n_run(cd_t8n_out *out, const cd_t8n_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_t8n_out_fini releases what an output holds. */
void cd_t8n_out_fini(cd_t8n_out *out);

#endif
