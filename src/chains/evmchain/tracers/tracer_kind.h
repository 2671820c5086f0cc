/* chains/evmchain/tracers/tracer_kind.h - what turns the execution of one transaction into a JSON value: the
 * interface of the tracers, their registry, and running a transaction under one.
 *
 *   options ──► kind ──make──► tracer ──► begin ─ hooks of evm/tracer.h … ─ end ──► result (JSON) ──► free
 *
 * Names, options and results are go-ethereum's; JavaScript is not offered. A trace is bounded in time (option
 * "timeout") and in memory (CD_TRACE_BYTES_MAX): beyond, it ends with an error, never with half a result. Threading:
 * the registry is frozen, a tracer is confined. [spec:eth-rpc#6] */
#ifndef CD_CHAINS_EVMCHAIN_TRACERS_TRACER_KIND_H
#define CD_CHAINS_EVMCHAIN_TRACERS_TRACER_KIND_H

#include "base/os/clock.h"
#include "codec/json.h"
#include "evm/transition.h"

/* What one transaction's trace may hold in memory, before it is written out. */
#define CD_TRACE_BYTES_MAX ((usize)256 << 20)

/* How long one transaction may be traced when the request does not say. */
#define CD_TRACE_TIMEOUT_NS (5 * CD_NS_PER_SEC)

/* The transaction that is traced; outlives the tracer. */
typedef struct cd_trace_tx {
    const cd_tx *tx;
    cd_state *st;
    cd_fork fork;
    cd_addr20 coinbase;
    bool in_block; /* the following hold; else it is a call that was never sent */
    cd_hash32 block_hash;
    u64 block_number;
    usize idx;      /* in its block */
    usize log_base; /* logs of the block before it */
} cd_trace_tx;

/* What a trace may use, all its tracers together, and what it has used: the answer before it counts, so that the
 * transactions of a block share what a request has. */
typedef struct cd_trace_budget {
    usize used; /* bytes */
    usize max;
    bool is_spent;
    const cd_clock *clock;
    u64 deadline_ns; /* of the monotonic clock */
    bool is_late;
} cd_trace_budget;

typedef struct cd_txtracer cd_txtracer;

/* A kind of tracer: what every one implements. */
typedef struct cd_tracer_kind {
    const char *name;
    /* make reads the configuration (none, null or an object; unknown keys are ignored). */
    cd_err (*make)(cd_txtracer **out, cd_json cfg, cd_errinfo *why);
    /* begin comes before the transaction has changed anything, end after all is done; NULL: not needed. */
    void (*begin)(cd_txtracer *t);
    void (*end)(cd_txtracer *t, const cd_tx_result *res);
    /* result writes exactly one value. */
    void (*result)(cd_txtracer *t, cd_json_w *w);
    void (*free)(cd_txtracer *t);
} cd_tracer_kind;

/* What every tracer starts with. */
struct cd_txtracer {
    cd_tracer hooks; /* first: the EVM is given its address */
    const cd_tracer_kind *kind;
    const cd_trace_tx *tx;   /* from begin on */
    cd_trace_budget *budget; /* from begin on */
};

/* cd_tracer_make makes the tracer of a name, NULL = the struct logger. Errors: CD_ENOENT in the words of go-ethereum
 * when there is none, CD_EUNSUPPORTED for program text, those of the kind's make. */
cd_err cd_tracer_make(cd_txtracer **out, const char *name, cd_json cfg, cd_errinfo *why) CD_CHECK;

/* cd_tracer_free releases a tracer of any kind; NULL is allowed. */
void cd_tracer_free(cd_txtracer *t);

/* cd_tracer_begin / _end tell a tracer of its transaction (mux hands them on). */
void cd_tracer_begin(cd_txtracer *t, const cd_trace_tx *tx, cd_trace_budget *budget);
void cd_tracer_end(cd_txtracer *t, const cd_tx_result *res);

/* cd_tracer_take accounts for n more bytes; false, and the trace stops, when that is too much. */
bool cd_tracer_take(cd_txtracer *t, usize n);

/* What a request asks for. */
typedef struct cd_trace_opts {
    const char *tracer; /* in the arena; NULL = struct logger */
    cd_json cfg;        /* of the tracer */
    u64 timeout_ns;
    usize bytes_max; /* for the whole answer that the trace is a part of; 0: CD_TRACE_BYTES_MAX */
} cd_trace_opts;

/* cd_trace_opts_read reads the options object of the debug_trace methods (none and null are fine).
 * Errors: CD_EINVAL and those of codec/json.h, with words for the caller. */
cd_err cd_trace_opts_read(cd_trace_opts *out, cd_arena *a, cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_trace_duration reads a duration as Go prints it ("5s", "1m30s", "1.5ms"), negative ones as 0. Errors:
 * CD_EFORMAT. */
cd_err cd_trace_duration(u64 *ns, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_trace_run applies t->tx to the EVM's block and state under a new tracer and writes its result. After an error
 * the state is of no use any more. Errors: CD_EINVAL "tracing failed: ..." for a transaction that cannot be part of
 * the block, CD_ETIMEOUT "execution timeout", CD_ELIMIT, those of the state's source and of cd_tracer_make. */
cd_err cd_trace_run(cd_json_w *out, cd_evm *evm, u64 *gas_pool, const cd_trace_tx *tx, const cd_tx_relax *relax,
                    const cd_trace_opts *opts, const cd_clock *clock, cd_errinfo *why) CD_CHECK;

#endif
