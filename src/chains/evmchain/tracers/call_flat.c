/* flatCallTracer: the messages of a transaction as a list, in the form of Parity's traces. */
#include "base/mem/mem.h"
#include "chains/evmchain/tracers/frames.h"
#include "chains/evmchain/tracers/kinds_priv.h"
#include "evm/interp/opcode.h"
#include "evm/rules/gas.h"

typedef struct flat_tracer {
    cd_txtracer t;
    bool parity_errors;
    bool precompiles; /* calls to them are listed too */
    cd__frames frames;
} flat_tracer;

static void on_enter(cd_tracer *t, u32 depth, u8 op, const cd_evm_msg *msg)
{
    cd__frames_enter(&((flat_tracer *)(void *)t)->frames, depth, op, msg);
}

static void on_exit(cd_tracer *t, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    flat_tracer *f = (flat_tracer *)(void *)t;
    cd__frames_exit(&f->frames, depth, res, gas_used);
    if (depth == 0 || f->precompiles || t->stop) {
        return;
    }
    /* Only Ethereum's own count: what a chain adds is an account like others. */
    const cd__call *c = &f->frames.v[f->frames.cnt - 1];
    if (c->depth == depth && (c->op == CD_OP_CALL || c->op == CD_OP_STATICCALL) &&
        cd_precompile_find(cd_precompile_eth(f->t.tx->fork), &c->to) != NULL) {
        cd__frames_drop_last(&f->frames);
    }
}

static cd_err make(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    flat_tracer o = {.t = {.hooks = {.enter = on_enter, .exit = on_exit}, .kind = &cd__tracer_call_flat}};
    CD_TRY(cd__trace_flag(&o.parity_errors, cfg, "convertParityErrors", why));
    CD_TRY(cd__trace_flag(&o.precompiles, cfg, "includePrecompiles", why));
    flat_tracer *f = cd_new(flat_tracer);
    *f = o;
    *out = &f->t;
    return CD_OK;
}

static void begin(cd_txtracer *t)
{
    cd__frames_begin(&((flat_tracer *)(void *)t)->frames, t);
}

static void end(cd_txtracer *t, const cd_tx_result *res)
{
    cd__frames_end(&((flat_tracer *)(void *)t)->frames, res);
}

/* --- writing --- */

/* Parity's words for a failure, or NULL when it has none of its own. */
static const char *parity_error(cd_evm_status s)
{
    switch (s) {
    case CD_EVM_REVERT:
        return "Reverted";
    case CD_EVM_OUT_OF_GAS:
    case CD_EVM_CODE_SIZE:
    case CD_EVM_CODE_DEPOSIT:
        return "Out of gas";
    case CD_EVM_INVALID_OPCODE:
        return "Bad instruction";
    case CD_EVM_STACK_UNDERFLOW:
        return "Stack underflow";
    case CD_EVM_STACK_OVERFLOW:
        return "Out of stack";
    case CD_EVM_BAD_JUMP:
        return "Bad jump destination";
    case CD_EVM_RETURN_OUT_OF_BOUNDS:
        return "Out of bounds";
    case CD_EVM_PRECOMPILE:
        return "Built-in failed";
    case CD_EVM_OK:
    case CD_EVM_STATIC_VIOLATION:
    case CD_EVM_DEPTH:
    case CD_EVM_BALANCE:
    case CD_EVM_COLLISION:
    case CD_EVM_NONCE_OVERFLOW:
    case CD_EVM_CODE_PREFIX:
    case CD_EVM_UNAUTHORIZED:
        return NULL;
    }
    CD_UNREACHABLE();
}

/* The instruction's name in lower case. */
static void put_lower(cd_json_w *w, const char *key, u8 op)
{
    char text[24] = {0};
    const char *name = cd_op_name(op);
    for (usize i = 0; name[i] != '\0' && i + 1 < sizeof text; i++) {
        text[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
    }
    cd_json_put_str(w, key, cd_bytes_str(text));
}

static void put_addr(cd_json_w *w, const char *key, const cd_addr20 *a)
{
    cd_json_put_hex(w, key, cd_bytes_of(a->b, 20));
}

static bool is_create(u8 op)
{
    return op == CD_OP_CREATE || op == CD_OP_CREATE2;
}

static void put_action(const cd__frames *f, cd_json_w *w, const cd__call *c)
{
    cd_json_w_key(w, "action");
    cd_json_w_obj(w);
    if (c->op == CD_OP_SELFDESTRUCT) {
        put_addr(w, "address", &c->from);
        cd_json_put_qty_u256(w, "balance", &c->value);
        put_addr(w, "refundAddress", &c->to);
    } else if (is_create(c->op)) {
        put_lower(w, "creationMethod", c->op);
        put_addr(w, "from", &c->from);
        cd_json_put_qty(w, "gas", c->gas);
        cd_json_put_hex(w, "init", cd__frames_bytes(f, c->input));
        cd_json_put_qty_u256(w, "value", &c->value);
    } else {
        put_lower(w, "callType", c->op);
        put_addr(w, "from", &c->from);
        cd_json_put_qty(w, "gas", c->gas);
        cd_json_put_hex(w, "input", cd__frames_bytes(f, c->input));
        put_addr(w, "to", &c->to);
        cd_json_put_qty_u256(w, "value", &c->value);
    }
    cd_json_w_obj_end(w);
}

/* A message that failed has a result only when it says why. */
static void put_result(const cd__frames *f, cd_json_w *w, const cd__call *c)
{
    if (c->op == CD_OP_SELFDESTRUCT || (c->status != CD_EVM_OK && c->status != CD_EVM_REVERT)) {
        return;
    }
    cd_bytes output = cd__frames_bytes(f, c->output);
    cd_json_w_key(w, "result");
    cd_json_w_obj(w);
    if (is_create(c->op) && !c->is_reverted) {
        put_addr(w, "address", &c->to);
    }
    if (is_create(c->op)) {
        cd_json_put_hex(w, "code", output);
    }
    cd_json_put_qty(w, "gasUsed", c->gas_used);
    if (!is_create(c->op)) {
        cd_json_put_hex(w, "output", output);
    }
    cd_json_w_obj_end(w);
}

/* The place of a message: which call of which call of the outermost one. */
static void put_path(const cd__frames *f, cd_json_w *w, const cd__call *c)
{
    u32 path[CD_CALL_DEPTH_MAX + 2];
    u32 n = 0;
    for (const cd__call *up = c; up->parent != CD__FRAME_NONE; up = &f->v[up->parent]) {
        path[n++] = up->place;
    }
    cd_json_w_key(w, "traceAddress");
    cd_json_w_arr(w);
    while (n != 0) {
        cd_json_w_u64(w, path[--n]);
    }
    cd_json_w_arr_end(w);
}

static void put_hash(cd_json_w *w, const char *key, const cd_hash32 *hash, bool has)
{
    cd_json_w_key(w, key);
    if (has) {
        cd_json_w_hex(w, cd_bytes_of(hash->b, 32));
    } else {
        cd_json_w_null(w);
    }
}

static void put_call(const flat_tracer *t, cd_json_w *w, const cd__call *c)
{
    const cd_trace_tx *tx = t->t.tx;
    const cd__frames *f = &t->frames;
    const char *parity = t->parity_errors ? parity_error(c->status) : NULL;
    cd_json_w_obj(w);
    put_action(f, w, c);
    put_hash(w, "blockHash", &tx->block_hash, tx->in_block);
    cd_json_put_u64(w, "blockNumber", tx->in_block ? tx->block_number : 0);
    if (c->error.n != 0) {
        cd_json_put_str(w, "error", parity != NULL ? cd_bytes_str(parity) : cd__frames_bytes(f, c->error));
    }
    put_result(f, w, c);
    cd_json_put_u64(w, "subtraces", c->child_cnt);
    put_path(f, w, c);
    put_hash(w, "transactionHash", &tx->tx->hash, tx->in_block);
    cd_json_put_u64(w, "transactionPosition", tx->in_block ? tx->idx : 0);
    cd_json_w_key(w, "type");
    cd_json_w_cstr(w, c->op == CD_OP_SELFDESTRUCT ? "suicide" : is_create(c->op) ? "create" : "call");
    cd_json_w_obj_end(w);
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    const flat_tracer *f = (flat_tracer *)(void *)t;
    cd_json_w_arr(w);
    for (u32 i = 0; i < f->frames.cnt; i++) {
        put_call(f, w, &f->frames.v[i]);
    }
    cd_json_w_arr_end(w);
}

static void release(cd_txtracer *t)
{
    flat_tracer *f = (flat_tracer *)(void *)t;
    cd__frames_fini(&f->frames);
    cd_free(f);
}

const cd_tracer_kind cd__tracer_call_flat = {
    .name = "flatCallTracer",
    .make = make,
    .begin = begin,
    .end = end,
    .result = result,
    .free = release,
};
