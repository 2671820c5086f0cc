/* The struct logger: every instruction with stack, memory and storage, written out as it comes.
 *
 * Values are as upstream writes them: gas and counters as numbers, stack words as quantities, memory and storage as
 * bare words, "limit" counts instructions. [spec:eth-rpc#6] */
#include "base/hex.h"
#include "base/mem/mem.h"
#include "chains/evmchain/tracers/kinds_priv.h"
#include "evm/interp/opcode.h"

/* A storage slot that was read or written; kept in order of contract and key. */
typedef struct seen {
    cd_addr20 self;
    cd_u256 key;
    cd_u256 value;
} seen;

typedef struct struct_log {
    cd_txtracer t;
    bool memory;
    bool no_stack;
    bool no_storage;
    bool return_data;
    u64 limit; /* 0: none */
    u64 cnt;
    cd_json_w logs; /* the elements of structLogs, into buf */
    cd_buf buf;
    seen *slots;
    usize slot_cnt;
    usize slot_cap;
    bool failed;
    u64 gas;
    cd_bytes output; /* borrowed from the EVM: result is asked for before the next call */
} struct_log;

static int cmp_seen(const seen *a, const seen *b)
{
    int c = memcmp(a->self.b, b->self.b, sizeof a->self.b);
    return c != 0 ? c : cd_u256_cmp(&a->key, &b->key);
}

/* The first slot that is not before what. */
static usize find_seen(const struct_log *l, const seen *what)
{
    usize lo = 0;
    usize hi = l->slot_cnt;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        if (cmp_seen(&l->slots[mid], what) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void note_slot(struct_log *l, const seen *s)
{
    usize at = find_seen(l, s);
    if (at < l->slot_cnt && cmp_seen(&l->slots[at], s) == 0) {
        l->slots[at].value = s->value;
        return;
    }
    if (!cd_tracer_take(&l->t, sizeof *s)) {
        return;
    }
    if (l->slot_cnt == l->slot_cap) {
        l->slot_cap = l->slot_cap == 0 ? 16 : 2 * l->slot_cap;
        l->slots = cd_realloc(l->slots, l->slot_cap * sizeof *l->slots);
    }
    memmove(&l->slots[at + 1], &l->slots[at], (l->slot_cnt - at) * sizeof *l->slots);
    l->slots[at] = *s;
    l->slot_cnt++;
}

/* A string of hexadecimal digits without 0x. */
static void put_bare(cd_json_w *w, cd_bytes b)
{
    cd_json_w_raw(w, cd_bytes_str("\""));
    cd_hex_fmt((char *)cd_buf_extend(w->out, 2 * b.n), b);
    cd_buf_u8(w->out, '"');
}

static void put_memory(cd_json_w *w, cd_bytes memory)
{
    cd_json_w_key(w, "memory");
    cd_json_w_arr(w);
    for (usize at = 0; at < memory.n; at += 32) {
        put_bare(w, cd_bytes_sub(memory, at, 32));
    }
    cd_json_w_arr_end(w);
}

/* The slots of a contract seen so far, the one of this instruction included. */
static void put_storage(struct_log *l, cd_json_w *w, const cd_trace_step *s)
{
    const cd_u256 *top = &s->stack[s->stack_cnt - 1];
    seen now = {.self = s->self, .key = top[0]};
    if (s->op == CD_OP_SSTORE) {
        now.value = top[-1];
    } else {
        now.value = cd_state_slot(s->state, cd_state_acct(s->state, &s->self), &top[0])->value;
    }
    note_slot(l, &now);
    seen first = {.self = s->self};
    cd_json_w_key(w, "storage");
    cd_json_w_obj(w);
    for (usize i = find_seen(l, &first); i < l->slot_cnt && cd_addr20_eq(&l->slots[i].self, &s->self); i++) {
        u8 word[32];
        char key[65] = {0};
        cd_u256_store_be(word, &l->slots[i].key);
        cd_hex_fmt(key, cd_bytes_of(word, 32));
        cd_json_w_key(w, key);
        cd_u256_store_be(word, &l->slots[i].value);
        put_bare(w, cd_bytes_of(word, 32));
    }
    cd_json_w_obj_end(w);
}

static void put_step(struct_log *l, cd_json_w *w, const cd_trace_step *s)
{
    char name[24];
    char error[CD_TRACE_ERROR_MAX];
    usize need = s->op == CD_OP_SSTORE ? 2 : 1;
    cd_json_w_obj(w);
    cd_json_put_u64(w, "pc", s->pc);
    cd_json_put_str(w, "op", cd_bytes_str(cd__trace_op_name(name, s->op)));
    cd_json_put_u64(w, "gas", s->gas);
    cd_json_put_u64(w, "gasCost", s->cost);
    cd_json_put_u64(w, "depth", s->depth);
    /* An unknown instruction fails while it runs, after it was logged. */
    if (s->error != 0 && s->error != CD_EVM_INVALID_OPCODE) {
        cd_json_put_str(w, "error", cd_bytes_str(cd_trace_error(error, s)));
    }
    if (!l->no_stack) {
        cd_json_w_key(w, "stack");
        cd_json_w_arr(w);
        for (usize i = 0; i < s->stack_cnt; i++) {
            cd_json_w_qty_u256(w, &s->stack[i]);
        }
        cd_json_w_arr_end(w);
    }
    if (l->return_data && s->return_data.n != 0) {
        cd_json_put_hex(w, "returnData", s->return_data);
    }
    if (l->memory) {
        put_memory(w, s->memory);
    }
    if (!l->no_storage && (s->op == CD_OP_SLOAD || s->op == CD_OP_SSTORE) && s->stack_cnt >= need) {
        put_storage(l, w, s);
    }
    if (s->refund != 0) {
        cd_json_put_u64(w, "refund", s->refund);
    }
    cd_json_w_obj_end(w);
}

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    struct_log *l = (struct_log *)(void *)t;
    if (l->limit != 0 && l->cnt >= l->limit) {
        return;
    }
    /* Refused before it is written: one step may hold a whole memory. */
    usize before = l->buf.n;
    usize most = (l->memory ? 3 * s->memory.n : 0) + (l->return_data ? 2 * s->return_data.n : 0);
    if (most > l->t.budget->max - cd_min_u64(l->t.budget->used, l->t.budget->max)) {
        (void)cd_tracer_take(&l->t, most);
        return;
    }
    put_step(l, &l->logs, s);
    l->cnt++;
    (void)cd_tracer_take(&l->t, l->buf.n - before);
}

static cd_err read_limit(u64 *out, cd_json cfg, cd_errinfo *why)
{
    cd_json v = cd_json_get(cfg, "limit");
    return cd_json_has(v) ? cd_json_u64(out, v, why) : CD_OK;
}

static cd_err make(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    struct_log o = {.t = {.hooks = {.step = on_step}, .kind = &cd__tracer_struct_log}};
    CD_TRY(cd__trace_flag(&o.memory, cfg, "enableMemory", why));
    CD_TRY(cd__trace_flag(&o.no_stack, cfg, "disableStack", why));
    CD_TRY(cd__trace_flag(&o.no_storage, cfg, "disableStorage", why));
    CD_TRY(cd__trace_flag(&o.return_data, cfg, "enableReturnData", why));
    CD_TRY(read_limit(&o.limit, cfg, why));
    struct_log *l = cd_new(struct_log);
    *l = o;
    l->logs.out = &l->buf;
    *out = &l->t;
    return CD_OK;
}

static void end(cd_txtracer *t, const cd_tx_result *res)
{
    struct_log *l = (struct_log *)(void *)t;
    l->failed = res->status != CD_EVM_OK;
    l->gas = res->gas_used;
    l->output = res->output;
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    struct_log *l = (struct_log *)(void *)t;
    cd_json_w_obj(w);
    cd_json_put_u64(w, "gas", l->gas);
    cd_json_w_key(w, "failed");
    cd_json_w_bool(w, l->failed);
    cd_json_w_key(w, "returnValue");
    put_bare(w, l->output);
    cd_json_w_key(w, "structLogs");
    cd_json_w_arr(w);
    if (l->buf.n != 0) {
        cd_json_w_raw(w, cd_buf_bytes(&l->buf));
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static void release(cd_txtracer *t)
{
    struct_log *l = (struct_log *)(void *)t;
    cd_buf_fini(&l->buf);
    cd_free(l->slots);
    cd_free(l);
}

const cd_tracer_kind cd__tracer_struct_log = {
    .name = "structLogger",
    .make = make,
    .end = end,
    .result = result,
    .free = release,
};
