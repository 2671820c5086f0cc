#include "chains/evmchain/tracers/trace3155.h"

#include "base/hex.h"
#include "codec/json.h"
#include "evm/evm.h"
#include "evm/interp/opcode.h"

static void end_line(cd_json_w *w)
{
    cd_json_w_obj_end(w);
    cd_buf_u8(w->out, '\n');
}

static void put_step(const cd_trace3155 *t, const cd_trace_step *s, const char *error)
{
    cd_json_w w = {.out = t->out};
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "pc", s->pc);
    cd_json_put_u64(&w, "op", s->op);
    cd_json_put_qty(&w, "gas", s->gas);
    cd_json_put_qty(&w, "gasCost", s->cost);
    if (t->memory && s->memory.n != 0) {
        cd_json_w_key(&w, "memory");
        cd_json_w_hex(&w, s->memory);
    }
    cd_json_put_u64(&w, "memSize", s->memory.n);
    cd_json_w_key(&w, "stack");
    if (t->no_stack) {
        cd_json_w_null(&w);
    } else {
        cd_json_w_arr(&w);
        for (usize i = 0; i < s->stack_cnt; i++) {
            cd_json_w_qty_u256(&w, &s->stack[i]);
        }
        cd_json_w_arr_end(&w);
    }
    if (t->return_data && s->return_data.n != 0) {
        cd_json_w_key(&w, "returnData");
        cd_json_w_hex(&w, s->return_data);
    }
    cd_json_put_u64(&w, "depth", s->depth);
    cd_json_put_u64(&w, "refund", s->refund);
    cd_json_put_cstr(&w, "opName", cd_op_name(s->op));
    if (error != NULL) {
        cd_json_put_cstr(&w, "error", error);
    }
    end_line(&w);
}

/* The size of memory after REVERT has touched what it returns. */
static usize reverted_size(const cd_trace_step *s)
{
    const cd_u256 *top = s->stack + s->stack_cnt;
    usize end;
    if (cd_u256_is_zero(&top[-2]) || __builtin_add_overflow(top[-1].w[0], top[-2].w[0], &end)) {
        return s->memory.n;
    }
    end = (end + 31) / 32 * 32;
    return end > s->memory.n ? end : s->memory.n;
}

/* go-ethereum writes an instruction that fails while it runs twice, the second time with the error
 * and with its operands gone. Which these are is known before: REVERT and unknown instructions. */
static void on_step(cd_tracer *tracer, const cd_trace_step *s)
{
    const cd_trace3155 *t = (const cd_trace3155 *)tracer;
    cd_evm_status status = (cd_evm_status)s->error;
    if (status == CD_EVM_INVALID_OPCODE) {
        put_step(t, s, NULL);
    }
    put_step(t, s, status == CD_EVM_OK ? NULL : cd_evm_status_str(status));
    if (s->op == CD_OP_REVERT && status == CD_EVM_OK) {
        cd_trace_step after = *s;
        after.stack_cnt -= 2;
        after.memory.n = reverted_size(s);
        cd_trace3155 plain = *t;
        plain.memory = false; /* what is new is not there yet */
        put_step(&plain, &after, cd_evm_status_str(CD_EVM_REVERT));
    }
}

/* What a message is called in traces, by the instruction that sent it. */
static const char *frame_type(u8 op, u32 depth, const cd_evm_msg *msg)
{
    if (depth != 0) {
        return cd_op_name(op);
    }
    return msg->kind == CD_CREATE ? "CREATE" : "CALL";
}

static void on_enter(cd_tracer *tracer, u32 depth, u8 op, const struct cd_evm_msg *msg)
{
    const cd_trace3155 *t = (const cd_trace3155 *)tracer;
    if (!t->callframes) {
        return;
    }
    cd_json_w w = {.out = t->out};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "from");
    cd_json_w_hex(&w, cd_bytes_of(msg->caller.b, 20));
    cd_json_w_key(&w, "to");
    cd_json_w_hex(&w, cd_bytes_of(msg->to.b, 20));
    if (msg->input.n != 0) {
        cd_json_w_key(&w, "input");
        cd_json_w_hex(&w, msg->input);
    }
    cd_json_put_qty(&w, "gas", msg->gas);
    cd_json_w_key(&w, "value");
    cd_json_w_qty_u256(&w, &msg->value);
    cd_json_put_cstr(&w, "type", frame_type(op, depth, msg));
    end_line(&w);
}

static void on_exit(cd_tracer *tracer, u32 depth, const struct cd_evm_result *res, u64 gas_used)
{
    const cd_trace3155 *t = (const cd_trace3155 *)tracer;
    if (depth != 0 && !t->callframes) {
        return;
    }
    cd_json_w w = {.out = t->out};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "output");
    cd_json_w_raw(&w, cd_bytes_str("\""));
    cd_hex_fmt((char *)cd_buf_extend(t->out, 2 * res->output.n), res->output);
    cd_buf_u8(t->out, '"');
    cd_json_put_qty(&w, "gasUsed", gas_used);
    if (res->status != CD_EVM_OK) {
        cd_json_put_cstr(&w, "error", cd_evm_status_str(res->status));
    }
    end_line(&w);
}

void cd_trace3155_init(cd_trace3155 *t, cd_buf *out)
{
    *t = (cd_trace3155){
        .tracer = {.step = on_step, .enter = on_enter, .exit = on_exit},
        .out = out,
    };
}
