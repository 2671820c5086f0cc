/* evm/tracer.h - what a tracer sees. With none set, execution pays nothing: traced calls run in a
 * second instance of the direct interpreter that has the hooks compiled in.
 *
 * Hooks may read the state but not change it. Any hook may be NULL. Threading: confined. */
#ifndef CD_EVM_TRACER_H
#define CD_EVM_TRACER_H

#include "base/bytes.h"
#include "num/u256.h"
#include "types/log.h"

struct cd_evm_msg;
struct cd_evm_result;
struct cd_state;

/* One instruction about to run. */
typedef struct cd_trace_step {
    u64 pc;
    u8 op;
    u32 depth; /* 1 = outermost, as EIP-3155 counts */
    u64 gas;   /* gas left before the instruction */
    u64 cost; /* gas the instruction will take, with its dynamic part and, as in go-ethereum, with forwarded call gas */
    u64 refund;
    const cd_u256 *stack; /* stack[0] is the bottom */
    usize stack_cnt;
    cd_bytes memory;
    cd_bytes return_data;
    cd_addr20 self;
    int error;              /* cd_evm_status that this instruction is about to fail with, 0 = none */
    const char *out_of_gas; /* words more precise than those of CD_EVM_OUT_OF_GAS, or NULL */
    struct cd_state *state;
} cd_trace_step;

/* Functions that are told what happens while code runs, and how they want to be called. */
typedef struct cd_tracer cd_tracer;

struct cd_tracer {
    void (*step)(cd_tracer *t, const cd_trace_step *s);
    /* enter and exit are called around every message, also around calls to precompiles and calls that
     * fail before any code runs. depth 0 = outermost. */
    void (*enter)(cd_tracer *t, u32 depth, u8 op, const struct cd_evm_msg *msg);
    void (*exit)(cd_tracer *t, u32 depth, const struct cd_evm_result *res, u64 gas_used);
    void (*log)(cd_tracer *t, const cd_log *log);
    /* A self-destruction is told by enter and exit, too, with op 0xff. */

    /* poll is asked once in CD_TRACE_POLL instructions whether to go on; NULL: code always goes on. */
    bool (*poll)(cd_tracer *t);
    /* True: only enter, exit and log are called. The code runs at full speed, and failures are told
     * in the words of their status alone. Without effect when there is a step. */
    bool calls_only;
    /* Set by any hook, or when poll answers false: every frame ends at its next instruction as out of
     * gas, and the result of the message means nothing. */
    bool stop;
    /* For exit: go-ethereum's words for the failure of the message (cd_trace_error), NULL: it did not
     * fail. Owned by the EVM. */
    const char *error;
    u32 until_poll; /* private */
};

/* Instructions between two calls of poll. */
enum { CD_TRACE_POLL = 4096 };

/* Bytes of the longest text that cd_trace_error writes, with its NUL. */
enum { CD_TRACE_ERROR_MAX = 80 };

/* cd_trace_error gives go-ethereum's words for the failure of a step: those of its status, with the
 * details of the instruction ("stack underflow (1 <=> 2)", "invalid opcode: INVALID"). out has
 * CD_TRACE_ERROR_MAX bytes; the result is out or a constant. */
const char *cd_trace_error(char *out, const cd_trace_step *s);

#endif
