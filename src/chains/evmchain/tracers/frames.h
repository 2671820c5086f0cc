/* chains/evmchain/tracers/frames.h - the messages of one transaction, recorded in the order they were sent.
 *
 *   v  [0 root][1 ][2 ][3 ][4 ]...        parent, depth and place among its siblings in each; a message is followed by
 *      depth 0   1   2   2   1            all that it led to, so a walk over v visits the tree and needs no recursion
 *
 * What callTracer and flatCallTracer are written from. Bytes (input, output, words) lie in one buffer.
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_TRACERS_FRAMES_H
#define CD_CHAINS_EVMCHAIN_TRACERS_FRAMES_H

#include "chains/evmchain/tracers/tracer_kind.h"

/* No frame or log. */
#define CD__FRAME_NONE UINT32_MAX

/* A range of the recorder's buffer. */
typedef struct cd__span {
    usize at;
    usize n;
} cd__span;

/* A message of a transaction, as tracers see it. */
typedef struct cd__call {
    u32 parent;
    u32 depth;
    u32 place; /* among its siblings */
    u32 child_cnt;
    u32 first_log;
    u32 last_log;
    u8 op;
    bool has_value; /* all but STATICCALL */
    bool is_reverted;
    cd_evm_status status;
    cd_addr20 from;
    cd_addr20 to; /* whose code ran, what was created, who inherits */
    u64 gas;
    u64 gas_used;
    cd_u256 value;
    cd__span input;
    cd__span output;
    cd__span error; /* empty: none */
} cd__call;

/* A log of it. */
typedef struct cd__call_log {
    cd_log log; /* without data */
    cd__span data;
    u32 position; /* calls of the frame before it */
    u32 next;     /* of the same frame */
    usize index;  /* in the block */
} cd__call_log;

/* The messages of a transaction so far. */
typedef struct cd__frames {
    cd_txtracer *t; /* pays for the memory */
    cd__call *v;
    u32 cnt;
    u32 cap;
    u32 open; /* the running message */
    cd__call_log *logs;
    u32 log_cnt;
    u32 log_cap;
    usize log_start; /* logs in the state when the transaction began */
    cd_buf bytes;
} cd__frames;

/* cd__frames_fini releases what was recorded. */
void cd__frames_fini(cd__frames *f);

/* Before and after the transaction: the outermost message has its gas limit and what it used in the end. */
void cd__frames_begin(cd__frames *f, cd_txtracer *t);
void cd__frames_end(cd__frames *f, const cd_tx_result *res);

/* What the hooks of a tracer hand on. */
void cd__frames_enter(cd__frames *f, u32 depth, u8 op, const cd_evm_msg *msg);
void cd__frames_exit(cd__frames *f, u32 depth, const cd_evm_result *res, u64 gas_used);
void cd__frames_log(cd__frames *f, const cd_log *log);

/* cd__frames_drop_last forgets the message that has just ended and led to no other. */
void cd__frames_drop_last(cd__frames *f);

/* cd__frames_bytes borrows a range until the next enter, exit or log. */
CD_INLINE cd_bytes cd__frames_bytes(const cd__frames *f, cd__span s)
{
    return s.n == 0 ? (cd_bytes){0} : cd_bytes_of(f->bytes.p + s.at, s.n);
}

#endif
