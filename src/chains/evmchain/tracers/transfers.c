#include "chains/evmchain/tracers/transfers.h"

#include "base/mem.h"
#include "evm/opcode.h"

static bool moves_value(u32 depth, u8 op, const cd_evm_msg *msg)
{
    bool carries =
        op == CD_OP_CALL || op == CD_OP_CREATE || op == CD_OP_CREATE2 || op == CD_OP_SELFDESTRUCT;
    return depth != 0 && carries && !cd_u256_is_zero(&msg->value) &&
           !cd_addr20_eq(&msg->caller, &msg->to);
}

static void on_enter(cd_tracer *hooks, u32 depth, u8 op, const cd_evm_msg *msg)
{
    cd_transfers *t = (cd_transfers *)(void *)hooks;
    t->mark[depth] = (u32)t->cnt;
    if (!moves_value(depth, op, msg)) {
        return;
    }
    if (t->cnt == t->cap) {
        t->cap = t->cap == 0 ? 16 : 2 * t->cap;
        t->v = cd_realloc(t->v, t->cap * sizeof *t->v);
    }
    t->v[t->cnt++] = (cd_transfer){
        .from = msg->caller, .to = msg->to, .value = msg->value, .depth = depth, .op = op};
}

static void on_exit(cd_tracer *hooks, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    cd_transfers *t = (cd_transfers *)(void *)hooks;
    (void)gas_used;
    if (res->status != CD_EVM_OK) {
        t->cnt = t->mark[depth];
    }
}

void cd_transfers_init(cd_transfers *t)
{
    *t = (cd_transfers){.hooks = {.enter = on_enter, .exit = on_exit, .calls_only = true}};
}

void cd_transfers_clear(cd_transfers *t)
{
    t->cnt = 0;
}

void cd_transfers_fini(cd_transfers *t)
{
    cd_free(t->v);
}
