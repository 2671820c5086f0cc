#include "chains/evmchain/core/transfers.h"

#include "base/mem/mem.h"
#include "evm/interp/opcode.h"

static bool is_wanted(const cd_transfers *t, u32 depth, u8 op, const cd_evm_msg *msg)
{
    bool creates = op == CD_OP_CREATE || op == CD_OP_CREATE2;
    bool carries = creates || op == CD_OP_CALL || op == CD_OP_SELFDESTRUCT;
    return depth != 0 && carries && ((creates && t->creations) || !cd_u256_is_zero(&msg->value)) &&
           !cd_addr20_eq(&msg->caller, &msg->to);
}

static void on_enter(cd_tracer *hooks, u32 depth, u8 op, const cd_evm_msg *msg)
{
    cd_transfers *t = (cd_transfers *)(void *)hooks;
    t->mark[depth] = (u32)t->cnt;
    if (t->next != NULL && t->next->enter != NULL) {
        t->next->enter(t->next, depth, op, msg);
    }
    if (!is_wanted(t, depth, op, msg)) {
        return;
    }
    if (t->cnt == t->cap) {
        t->cap = t->cap == 0 ? 16 : 2 * t->cap;
        t->v = cd_realloc(t->v, t->cap * sizeof *t->v);
    }
    t->v[t->cnt++] = (cd_transfer){
        .from = msg->caller,
        .to = msg->to,
        .value = msg->value,
        .tx = t->tx,
        .depth = depth,
        .op = op,
    };
}

static void on_exit(cd_tracer *hooks, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    cd_transfers *t = (cd_transfers *)(void *)hooks;
    if (res->status != CD_EVM_OK) {
        t->cnt = t->mark[depth];
    }
    if (t->next != NULL && t->next->exit != NULL) {
        t->next->error = hooks->error;
        t->next->exit(t->next, depth, res, gas_used);
    }
}

void cd_transfers_init(cd_transfers *t)
{
    *t = (cd_transfers){.hooks = {.enter = on_enter, .exit = on_exit, .calls_only = true}};
}

void cd_transfers_begin(cd_transfers *t, cd_tracer *next)
{
    CD_ASSERT(next == NULL || (next->step == NULL && next->log == NULL && next->poll == NULL));
    t->cnt = 0;
    t->next = next;
    t->creations = true;
}

void cd_transfers_fini(cd_transfers *t)
{
    cd_free(t->v);
}
