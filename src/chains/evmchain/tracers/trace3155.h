/* chains/evmchain/tracers/trace3155.h - execution traces as JSON lines in the form of EIP-3155, as go-ethereum's evm
 * writes them.
 *
 *   {"pc":0,"op":96,"gas":"0x13498","gasCost":"0x3","memSize":0,"stack":[],"depth":1,"refund":0,"opName":"PUSH1"}
 *   {"output":"","gasUsed":"0xc"}                                              at the end of the message
 *
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_TRACERS_TRACE3155_H
#define CD_CHAINS_EVMCHAIN_TRACERS_TRACE3155_H

#include "base/mem/buf.h"
#include "evm/tracer.h"

/* A tracer that writes one line for each step [EIP-3155]. */
typedef struct cd_trace3155 {
    cd_tracer tracer; /* first: hand &t.tracer to the EVM */
    cd_buf *out;
    bool memory;      /* every step carries the memory */
    bool return_data; /* ... and the return data of the last call */
    bool no_stack;
    bool callframes; /* a line for each message entered and left */
} cd_trace3155;

/* cd_trace3155_init makes a tracer that appends to out, borrowed as long as it is used. */
void cd_trace3155_init(cd_trace3155 *t, cd_buf *out);

#endif
