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
};

#endif
