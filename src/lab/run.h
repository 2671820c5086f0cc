/* lab/run.h - runs one piece of byte code by itself, for `run` and `trace`.
 *
 * The code sits at the receiver's address on an otherwise given (or empty) state; the sender is as
 * rich as it needs to be. No transaction around it: gas is the gas of the message. Threading:
 * confined. */
#ifndef CD_LAB_RUN_H
#define CD_LAB_RUN_H

#include "base/mem/buf.h"
#include "evm/evm.h"

/* A piece of code to run, and what it is given. */
typedef struct cd_lab_run_cfg {
    cd_fork fork;
    cd_evm_tier tier;
    cd_bytes prestate; /* genesis document with the accounts of the state; empty = none */
    bool is_create;    /* code is init code */
    cd_bytes code;
    cd_bytes input; /* call data; for a creation: appended to code */
    u64 gas;
    cd_u256 value; /* wei */
    cd_addr20 sender;
    cd_addr20 receiver;
    u64 number;
    u64 time;
    bool trace; /* EIP-3155 lines come before the result */
    bool trace_memory;
    bool trace_return_data;
} cd_lab_run_cfg;

/* cd_lab_run appends the trace, if asked for, and one JSON line
 * {"status","gasUsed","output","logs","stateRoot"}. Errors: a malformed prestate. */
cd_err cd_lab_run(cd_buf *out, const cd_lab_run_cfg *cfg, cd_errinfo *why) CD_CHECK;

#endif
