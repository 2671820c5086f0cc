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
    u64 gas;   /* before the instruction */
    u64 cost; /* what it will take, dynamic part included; forwarded call gas included as go-ethereum does */
    u64 refund;
    const cd_u256 *stack; /* stack[0] is the bottom */
    usize stack_cnt;
    cd_bytes memory;
    cd_bytes return_data;
    cd_addr20 self;
    int error; /* cd_evm_status that this instruction is about to fail with, 0 = none */
    const char *out_of_gas; /* more precise words when that is why, or NULL */
    struct cd_state *state;
} cd_trace_step;

typedef struct cd_tracer cd_tracer;

struct cd_tracer {
    void (*step)(cd_tracer *t, const cd_trace_step *s);
    /* enter/exit frame every message, also calls to precompiles and calls that fail before running.
     * depth 0 = outermost. */
    void (*enter)(cd_tracer *t, u32 depth, u8 op, const struct cd_evm_msg *msg);
    void (*exit)(cd_tracer *t, u32 depth, const struct cd_evm_result *res, u64 gas_used);
    void (*log)(cd_tracer *t, const cd_log *log);
    /* selfdestruct is also reported as enter/exit with op 0xff. */

    /* poll is asked now and then, at least once in CD_TRACE_POLL instructions, whether to go on. */
    bool (*poll)(cd_tracer *t);
    /* Only enter, exit and log are wanted: the code runs at full speed, and failures are told by
     * their status alone. Without effect when there is a step. */
    bool calls_only;
    /* Set by any hook (or by a poll that answers no): every frame ends at its next instruction, out
     * of gas, and what comes out of the whole means nothing. */
    bool stop;
    /* For exit: go-ethereum's words for the failure of the message (cd_trace_error). Owned by the
     * EVM. */
    const char *error;
    u32 until_poll; /* private */
};

/* Instructions between two questions to poll. */
enum { CD_TRACE_POLL = 4096 };

/* The longest text that cd_trace_error writes, with its NUL. */
enum { CD_TRACE_ERROR_MAX = 80 };

/* cd_trace_error gives go-ethereum's words for the failure of a step: those of its status, with the
 * details of that instruction ("stack underflow (1 <=> 2)", "invalid opcode: INVALID"). out has
 * CD_TRACE_ERROR_MAX bytes; the result is out or a constant. */
const char *cd_trace_error(char *out, const cd_trace_step *s);

#endif
