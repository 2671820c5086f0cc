#include "chains/evmchain/tracers/frames.h"

#include "base/mem/mem.h"
#include "evm/interp/opcode.h"

static cd__span keep(cd__frames *f, cd_bytes b)
{
    cd__span s = {.at = f->bytes.n};
    if (b.n != 0 && cd_tracer_take(f->t, b.n)) {
        cd_buf_put(&f->bytes, b);
        s.n = b.n;
    }
    return s;
}

void cd__frames_fini(cd__frames *f)
{
    cd_free(f->v);
    cd_free(f->logs);
    cd_buf_fini(&f->bytes);
}

void cd__frames_begin(cd__frames *f, cd_txtracer *t)
{
    *f = (cd__frames){.t = t, .open = CD__FRAME_NONE};
    (void)cd_state_logs(t->tx->st, &f->log_start);
}

void cd__frames_end(cd__frames *f, const cd_tx_result *res)
{
    f->v[0].gas = f->t->tx->tx->gas_limit;
    f->v[0].gas_used = res->gas_used;
}

void cd__frames_enter(cd__frames *f, u32 depth, u8 op, const cd_evm_msg *msg)
{
    if (f->t->hooks.stop || !cd_tracer_take(f->t, sizeof(cd__call))) {
        return;
    }
    if (f->cnt == f->cap) {
        f->cap = f->cap == 0 ? 16 : 2 * f->cap;
        f->v = cd_realloc(f->v, f->cap * sizeof *f->v);
    }
    cd__call *c = &f->v[f->cnt];
    /* With the code of another its own account goes on running: that is who sends. */
    *c = (cd__call){
        .parent = f->open,
        .depth = depth,
        .first_log = CD__FRAME_NONE,
        .last_log = CD__FRAME_NONE,
        .op = op,
        .has_value = op != CD_OP_STATICCALL,
        .from = msg->kind == CD_DELEGATECALL ? msg->to : msg->caller,
        .to = msg->code,
        .gas = msg->gas,
        .value = msg->value,
        .input = keep(f, msg->input),
    };
    if (f->open != CD__FRAME_NONE) {
        c->place = f->v[f->open].child_cnt++;
    }
    f->open = f->cnt++;
}

void cd__frames_exit(cd__frames *f, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    if (f->t->hooks.stop) {
        return;
    }
    cd__call *c = &f->v[f->open];
    CD_ASSERT(c->depth == depth);
    c->gas_used = gas_used;
    c->status = res->status;
    c->is_reverted = res->status != CD_EVM_OK;
    if (res->status == CD_EVM_OK || res->status == CD_EVM_REVERT) {
        c->output = keep(f, res->output);
    }
    if (c->is_reverted) {
        c->error = keep(f, cd_bytes_str(f->t->hooks.error));
    }
    f->open = c->parent;
}

void cd__frames_log(cd__frames *f, const cd_log *log)
{
    usize in_state;
    if (f->t->hooks.stop || !cd_tracer_take(f->t, sizeof(cd__call_log))) {
        return;
    }
    if (f->log_cnt == f->log_cap) {
        f->log_cap = f->log_cap == 0 ? 16 : 2 * f->log_cap;
        f->logs = cd_realloc(f->logs, f->log_cap * sizeof *f->logs);
    }
    (void)cd_state_logs(f->t->tx->st, &in_state); /* this one is there already */
    cd__call *c = &f->v[f->open];
    cd__call_log *l = &f->logs[f->log_cnt];
    *l = (cd__call_log){
        .log = {.addr = log->addr, .topic_cnt = log->topic_cnt},
        .data = keep(f, log->data),
        .position = c->child_cnt,
        .next = CD__FRAME_NONE,
        .index = f->t->tx->log_base + in_state - 1 - f->log_start,
    };
    memcpy(l->log.topics, log->topics, log->topic_cnt * sizeof log->topics[0]);
    if (c->last_log == CD__FRAME_NONE) {
        c->first_log = f->log_cnt;
    } else {
        f->logs[c->last_log].next = f->log_cnt;
    }
    c->last_log = f->log_cnt++;
}

void cd__frames_drop_last(cd__frames *f)
{
    cd__call *c = &f->v[f->cnt - 1];
    CD_ASSERT(c->parent == f->open && c->child_cnt == 0 && f->open != CD__FRAME_NONE);
    f->v[f->open].child_cnt--;
    f->bytes.n = c->input.at;
    f->cnt--;
}
