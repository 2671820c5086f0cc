/* callTracer: the messages of a transaction, nested. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/revert.h"
#include "chains/evmchain/tracers/frames.h"
#include "chains/evmchain/tracers/kinds_priv.h"
#include "evm/interp/opcode.h"

typedef struct call_tracer {
    cd_txtracer t;
    bool top_only;
    bool with_log;
    u32 depth; /* of the running message */
    cd__frames frames;
} call_tracer;

static void on_enter(cd_tracer *t, u32 depth, u8 op, const cd_evm_msg *msg)
{
    call_tracer *c = (call_tracer *)(void *)t;
    c->depth = depth;
    if (depth == 0 || !c->top_only) {
        cd__frames_enter(&c->frames, depth, op, msg);
    }
}

static void on_exit(cd_tracer *t, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    call_tracer *c = (call_tracer *)(void *)t;
    c->depth = depth == 0 ? 0 : depth - 1;
    if (depth == 0 || !c->top_only) {
        cd__frames_exit(&c->frames, depth, res, gas_used);
    }
}

static void on_log(cd_tracer *t, const cd_log *log)
{
    call_tracer *c = (call_tracer *)(void *)t;
    if (c->depth == 0 || !c->top_only) {
        cd__frames_log(&c->frames, log);
    }
}

static cd_err make(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    call_tracer o = {.t = {.hooks = {.enter = on_enter, .exit = on_exit}, .kind = &cd__tracer_call}};
    CD_TRY(cd__trace_flag(&o.top_only, cfg, "onlyTopCall", why));
    CD_TRY(cd__trace_flag(&o.with_log, cfg, "withLog", why));
    call_tracer *c = cd_new(call_tracer);
    *c = o;
    c->t.hooks.log = c->with_log ? on_log : NULL;
    *out = &c->t;
    return CD_OK;
}

static void begin(cd_txtracer *t)
{
    cd__frames_begin(&((call_tracer *)(void *)t)->frames, t);
}

static void end(cd_txtracer *t, const cd_tx_result *res)
{
    cd__frames_end(&((call_tracer *)(void *)t)->frames, res);
}

/* --- writing --- */

static bool is_create(u8 op)
{
    return op == CD_OP_CREATE || op == CD_OP_CREATE2;
}

static void put_reason(cd_json_w *w, cd_bytes output)
{
    cd_arena a = {0};
    const char *reason = cd_revert_reason(&a, output);
    if (reason != NULL && reason[0] != '\0') {
        cd_json_put_str(w, "revertReason", cd_bytes_str(reason));
    }
    cd_arena_fini(&a);
}

/* What comes before the calls of a message. */
static void put_head(const cd__frames *f, cd_json_w *w, const cd__call *c)
{
    cd_bytes output = cd__frames_bytes(f, c->output);
    cd_json_w_obj(w);
    cd_json_put_hex(w, "from", cd_bytes_of(c->from.b, 20));
    cd_json_put_qty(w, "gas", c->gas);
    cd_json_put_qty(w, "gasUsed", c->gas_used);
    if (!c->is_reverted || !is_create(c->op)) {
        cd_json_put_hex(w, "to", cd_bytes_of(c->to.b, 20));
    }
    cd_json_put_hex(w, "input", cd__frames_bytes(f, c->input));
    if (output.n != 0) {
        cd_json_put_hex(w, "output", output);
    }
    if (c->error.n != 0) {
        cd_json_put_str(w, "error", cd__frames_bytes(f, c->error));
        put_reason(w, output);
    }
    if (c->child_cnt != 0) {
        cd_json_w_key(w, "calls");
        cd_json_w_arr(w);
    }
}

static void put_logs(const cd__frames *f, cd_json_w *w, u32 first)
{
    cd_json_w_key(w, "logs");
    cd_json_w_arr(w);
    for (u32 i = first; i != CD__FRAME_NONE; i = f->logs[i].next) {
        const cd__call_log *l = &f->logs[i];
        cd_json_w_obj(w);
        cd_json_put_hex(w, "address", cd_bytes_of(l->log.addr.b, 20));
        cd_json_w_key(w, "topics");
        cd_json_w_arr(w);
        for (u32 t = 0; t < l->log.topic_cnt; t++) {
            cd_json_w_hex(w, cd_bytes_of(l->log.topics[t].b, 32));
        }
        cd_json_w_arr_end(w);
        cd_json_put_hex(w, "data", cd__frames_bytes(f, l->data));
        cd_json_put_qty(w, "index", l->index);
        cd_json_put_qty(w, "position", l->position);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

/* What comes after them. */
static void put_tail(const cd__frames *f, cd_json_w *w, const cd__call *c)
{
    char name[24];
    if (c->child_cnt != 0) {
        cd_json_w_arr_end(w);
    }
    if (!c->is_reverted && c->first_log != CD__FRAME_NONE) {
        put_logs(f, w, c->first_log);
    }
    if (c->has_value) {
        cd_json_put_qty_u256(w, "value", &c->value);
    }
    cd_json_put_str(w, "type", cd_bytes_str(cd__trace_op_name(name, c->op)));
    cd_json_w_obj_end(w);
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    const cd__frames *f = &((call_tracer *)(void *)t)->frames;
    u32 open = CD__FRAME_NONE; /* whose calls are being written */
    for (u32 i = 0; i < f->cnt; i++) {
        cd__call *c = &f->v[i];
        for (; open != c->parent; open = f->v[open].parent) {
            put_tail(f, w, &f->v[open]);
        }
        put_head(f, w, c);
        /* Nothing remains of what was logged below a failure. */
        if (c->parent != CD__FRAME_NONE && f->v[c->parent].is_reverted) {
            c->is_reverted = true;
        }
        open = i;
    }
    for (; open != CD__FRAME_NONE; open = f->v[open].parent) {
        put_tail(f, w, &f->v[open]);
    }
}

static void release(cd_txtracer *t)
{
    call_tracer *c = (call_tracer *)(void *)t;
    cd__frames_fini(&c->frames);
    cd_free(c);
}

const cd_tracer_kind cd__tracer_call = {
    .name = "callTracer",
    .make = make,
    .begin = begin,
    .end = end,
    .result = result,
    .free = release,
};
