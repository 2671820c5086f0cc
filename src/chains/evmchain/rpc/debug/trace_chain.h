/* chains/evmchain/rpc/debug/trace_chain.h - debug_traceChain: a subscription that is told what a tracer makes of block
 * after block of the past.
 *
 *   debug_subscribe ["traceChain", start, end, options]
 *        │                          (start, end] on a view of their own, by a thread of their own
 *        ▼
 *   {"block", "hash", "traces": [{"txHash", "result"}]}     blocks without transactions are left out, but for the last
 *
 * The thread waits while the client is behind, and ends when it leaves. A transaction that cannot be traced has an
 * "error" in place of its result and ends its block. Four chains at most are traced at a time.
 *
 * Threading: made and ended by the owner of the chain; subscriptions are opened on the home thread. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_TRACE_CHAIN_H
#define CD_CHAINS_EVMCHAIN_RPC_TRACE_CHAIN_H

#include "rpc/session.h"

typedef struct cd_trace_chains cd_trace_chains;

/* cd_trace_chains_new: home is the loop of the sessions. cd_trace_chains_close (NULL allowed): once no session
 * listens any more, before the chain closes; the home loop has to run once more to give everything back. */
cd_trace_chains *cd_trace_chains_new(cd_loop *home) __attribute__((returns_nonnull));
void cd_trace_chains_close(cd_trace_chains *t);

/* cd__trace_chain_open opens the subscription, for the table of kinds. */
cd_err cd__trace_chain_open(cd_rpc_call *call, cd_rpc_topic **out) CD_CHECK;

#endif
