/* CALL and its relatives: what a message costs, where it runs, and how its result comes back. */
#include "evm/delegation.h"
#include "evm/interp/calls_priv.h"

static const cd_addr20 RIPEMD = {.b = {[19] = 3}};

/* transfer moves value; the caller's balance has been checked. */
void cd__transfer(cd_state *st, cd_acct *from, cd_acct *to, const cd_u256 *value)
{
    if (from != to && !cd_u256_is_zero(value)) {
        cd_state_sub_balance(st, from, value);
        cd_state_add_balance(st, to, value);
    }
}

/* --- frames --- */

/* Cells are built for code in which so much gas was executed: HOT_LEAST and HOT_PER_BYTE for each of its bytes. Gas of
 * messages that it sent does not count. To run that much in tier 0 takes about as long as to build the cells
 * [spec:evm-performance#2]. */
enum { HOT_LEAST = 2000, HOT_PER_BYTE = 32 };

/* hot_at of a frame that stays in its tier. */
#define NEVER INT64_MIN

static bool has_cells(const cd_evm *evm, const cd__code *code)
{
    return code->cells != NULL && cd__cells_fork(code->cells) == evm->fork;
}

/* heat_missing gives the gas that must still be executed in code until its cells are built; 0 when it is hot. Cells of
 * another fork are replaced after that gas only: otherwise calls at heights of two forks that take turns would make us
 * translate each time. */
static i64 heat_missing(const cd_evm *evm, const cd__code *code)
{
    u64 wanted = HOT_LEAST + HOT_PER_BYTE * (u64)code->n;
    if (evm->tier == CD_TIER_CELLS || has_cells(evm, code) || code->gas_run >= wanted) {
        return 0;
    }
    return (i64)(wanted - code->gas_run);
}

/* cells_ready builds the cells of code that is hot, if they are not there. other_pins is the number of frames that run
 * the code beside the one that asks. False: one of them may be inside cells of another fork, which must stay. */
static bool cells_ready(cd_evm *evm, cd__code *code, u32 other_pins)
{
    if (!has_cells(evm, code)) {
        if (other_pins != 0 && code->cells != NULL) {
            return false;
        }
        cd__cells_build(evm, code);
    }
    return true;
}

/* choose_tier sets the tier of a frame that starts, and its first instruction or cell. */
static void choose_tier(cd__frame *f)
{
    cd_evm *evm = f->evm;
    cd__code *code = f->code;
    f->hot_at = NEVER;
    f->tier = CD__RUN_DIRECT;
    f->ip = code->bytes;
    if (evm->tracer != NULL && !evm->tracer->calls_only) {
        f->tier = CD__RUN_TRACED;
        return;
    }
    if (evm->tier == CD_TIER_DIRECT || !code->cached) {
        return;
    }
    i64 missing = heat_missing(evm, code);
    if (missing != 0) {
        f->hot_at = f->gas - missing;
    } else if (cells_ready(evm, code, code->pins)) {
        f->tier = CD__RUN_CELLS;
        f->ip = cd__cells_start(code->cells);
    }
}

bool cd__frame_heat(cd__frame *f)
{
    usize pc = (usize)((const u8 *)f->ip - f->code->bytes);
    f->hot_at = NEVER;
    if (!cells_ready(f->evm, f->code, f->code->pins - 1)) {
        return false;
    }
    f->tier = CD__RUN_CELLS;
    f->ip = cd__cells_at(f->code->cells, pc);
    return true;
}

void cd__frame_push(cd_evm *evm, cd__frame *parent, const cd_evm_msg *m, cd_acct *self, cd__code *code,
                    cd_snapshot snapshot)
{
    u32 depth = parent == NULL ? 0 : parent->depth + 1;
    cd__frame *f = &evm->frames[depth];
    f->evm = evm;
    f->gas = (i64)m->gas;
    f->gas_start = (i64)m->gas;
    f->base = parent == NULL ? evm->stack : parent->sp;
    f->sp = f->base;
    f->mem = parent == NULL ? evm->mem : parent->mem + parent->mem_size;
    f->mem_size = 0;
    f->mem_clean = 0;
    if (parent != NULL) {
        parent->mem_clean = parent->mem_size;
    }
    f->mem_limit = 0;
    f->code = code;
    f->self = self;
    f->input = m->input;
    cd_u256_set(&f->value, &m->value);
    f->addr = m->to;
    f->caller = m->caller;
    f->kind = (u8)m->kind;
    f->is_static = m->is_static;
    f->depth = depth;
    f->status = CD_EVM_OK;
    f->output = (cd_bytes){0};
    f->snapshot = snapshot;
    f->code_addr = m->code;
    f->gas_inner = 0;
    choose_tier(f);
    code->pins++;
    evm->ret = (cd_bytes){0};
    evm->top = f;
}

/* deliver hands the result of a call to the frame that made it. */
static void deliver(cd__frame *parent, const cd_evm_result *res, u64 out_off, u64 out_len)
{
    cd_evm *evm = parent->evm;
    cd__ret_set(evm, res->output);
    u64 n = cd_min_u64(out_len, evm->ret.n);
    if (n != 0) {
        memcpy(parent->mem + out_off, evm->ret.p, n);
    }
    parent->gas += (i64)res->gas_left;
    cd_u256_set_u64(++parent->sp, res->status == CD_EVM_OK);
}

void cd__frame_finish(cd__frame *f)
{
    cd_evm *evm = f->evm;
    bool is_create = f->kind == CD_CREATE || f->kind == CD_CREATE2;
    if (is_create) {
        cd__create_finish(f);
    }
    if (f->status != CD_EVM_OK) {
        cd_state_revert(evm->st, f->snapshot);
        if (f->status != CD_EVM_REVERT) {
            f->gas = 0;
            f->output = (cd_bytes){0};
        }
    }
    f->code->pins--;
    i64 gas_used = f->gas_start - f->gas;
    if (f->tier != CD__RUN_CELLS) {
        f->code->gas_run += (u64)(gas_used - f->gas_inner);
    }
    cd_evm_result res = {.status = f->status, .gas_left = (u64)f->gas, .output = f->output};
    if (CD_UNLIKELY(evm->tracer != NULL)) {
        cd__trace_frame_exit(f, &res);
    }
    if (is_create) {
        cd_arena_rewind(&evm->init_code, f->init_mark);
    }
    if (f->depth == 0) {
        evm->top = NULL;
        return;
    }
    cd__frame *parent = f - 1;
    parent->gas_inner += gas_used;
    parent->hot_at -= parent->hot_at == NEVER ? 0 : gas_used;
    evm->top = parent;
    if (is_create) {
        cd__create_deliver(parent, &res, &f->addr);
    } else {
        deliver(parent, &res, f->out_off, f->out_len);
    }
}

/* --- starting a call --- */

/* run_precompile runs the C function that answers a message. */
static void run_precompile(cd_evm *evm, cd_evm_result *res, const cd_precompile *p, const cd_evm_msg *m,
                           cd_snapshot snapshot)
{
    cd_arena_reset(&evm->scratch);
    cd_precompile_call call = {.input = m->input, .gas = m->gas, .arena = &evm->scratch};
    if (p->is_stateful) {
        call.state = evm->st;
        call.block = evm->block;
        call.tx = evm->tx;
        call.caller = m->caller;
        call.self = m->to;
        call.value = m->value;
        call.is_static = m->is_static;
        call.is_delegated = m->kind == CD_DELEGATECALL || m->kind == CD_CALLCODE;
    }
    switch (p->run(&call, p->cfg)) {
    case CD_PRE_OK:
        *res = (cd_evm_result){.status = CD_EVM_OK, .gas_left = call.gas, .output = call.output};
        return;
    case CD_PRE_REVERT:
        *res = (cd_evm_result){.status = CD_EVM_REVERT, .gas_left = call.gas, .output = call.output};
        break;
    case CD_PRE_OUT_OF_GAS:
        *res = (cd_evm_result){.status = CD_EVM_OUT_OF_GAS};
        break;
    case CD_PRE_FAIL:
        *res = (cd_evm_result){.status = CD_EVM_PRECOMPILE, .reason = call.reason};
        break;
    case CD_PRE_DENIED:
        *res = (cd_evm_result){.status = CD_EVM_UNAUTHORIZED, .reason = call.reason};
        break;
    }
    cd_state_revert(evm->st, snapshot);
}

static cd__act begin_call(cd_evm *evm, cd__frame *parent, cd_evm_result *res, const cd_evm_msg *m, cd_acct *code_acct)
{
    cd_state *st = evm->st;
    *res = (cd_evm_result){.status = CD_EVM_OK, .gas_left = m->gas};
    if (CD_UNLIKELY(parent != NULL && parent->depth == CD_CALL_DEPTH_MAX)) {
        res->status = CD_EVM_DEPTH;
        return CD__ACT_DONE;
    }
    cd_acct *self = code_acct;
    bool moves = (m->kind == CD_CALL || m->kind == CD_CALLCODE) && !cd_u256_is_zero(&m->value);
    cd_acct *from = NULL;
    if (moves) {
        from = parent != NULL ? parent->self : cd_state_acct(st, &m->caller);
        if (cd_u256_lt(&from->balance, &m->value)) {
            res->status = CD_EVM_BALANCE;
            return CD__ACT_DONE;
        }
    }
    cd_snapshot snapshot = cd_state_snapshot(st);
    const cd_precompile *pre = cd_precompile_find(evm->precompiles, &m->code);
    bool exists = (code_acct->flags & CD_ACCT_EXISTS) != 0;
    switch (m->kind) {
    case CD_CALL:
        if (!moves && !exists && pre == NULL && evm->fork >= CD_SPURIOUS) {
            return CD__ACT_DONE;
        }
        cd_state_touch(st, code_acct, pre != NULL && cd_addr20_eq(&m->to, &RIPEMD));
        if (moves) {
            cd__transfer(st, from, code_acct, &m->value);
        }
        break;
    case CD_STATICCALL:
        if (exists) {
            cd_state_touch(st, code_acct, pre != NULL && cd_addr20_eq(&m->to, &RIPEMD));
        }
        break;
    case CD_CALLCODE:
    case CD_DELEGATECALL:
    case CD_CREATE:
    case CD_CREATE2:
        self = parent != NULL ? parent->self : cd_state_acct(st, &m->to);
        break;
    }
    if (pre != NULL) {
        run_precompile(evm, res, pre, m, snapshot);
        return CD__ACT_DONE;
    }
    cd_bytes code = cd_state_code(st, code_acct);
    cd_addr20 other;
    if (CD_UNLIKELY(code.n == CD_DELEGATION_SIZE) && evm->fork >= CD_PRAGUE && cd_delegation_dec(&other, code)) {
        code_acct = cd_state_acct(st, &other);
        code = cd_state_code(st, code_acct);
    }
    if (code.n == 0) {
        return CD__ACT_DONE;
    }
    cd__frame_push(evm, parent, m, self, cd__code_get(&evm->codes, &code_acct->code_hash, code), snapshot);
    return CD__ACT_ENTER;
}

/* traced_call is begin_call between the tracer's enter and exit. */
static cd__act traced_call(cd_evm *evm, cd__frame *parent, cd_evm_result *res, const cd_evm_msg *m, cd_acct *code_acct)
{
    u32 depth = parent == NULL ? 0 : parent->depth + 1;
    cd__trace_enter(evm, depth, m);
    cd__act act = begin_call(evm, parent, res, m, code_acct);
    if (act == CD__ACT_DONE) {
        cd__trace_exit(evm, depth, res, m->gas);
    }
    return act;
}

cd__act cd__begin_call(cd_evm *evm, cd_evm_result *res, const cd_evm_msg *m)
{
    cd_acct *code_acct = cd_state_acct(evm->st, &m->code);
    return evm->tracer != NULL ? traced_call(evm, NULL, res, m, code_acct) : begin_call(evm, NULL, res, m, code_acct);
}

/* --- the instructions --- */

static cd__act fail(cd__frame *f, i64 failure)
{
    f->status = (cd_evm_status)-failure;
    return CD__ACT_FAIL;
}

/* forward moves gas from *gas to *given, which the callee gets: what was asked for, but at most all but
 * one 64th (EIP-150). Before EIP-150 it fails when more is asked for than there is. */
static bool forward(const cd_evm *evm, i64 *gas, u64 *given, const cd_u256 *asked)
{
    u64 want = cd_u256_to_u64_sat(asked);
    u64 most = (u64)*gas;
    if (evm->fork >= CD_TANGERINE) {
        most -= most / 64;
        want = cd_min_u64(want, most);
    } else if (want > most) {
        return false;
    }
    *gas -= (i64)want;
    *given = want;
    return true;
}

/* delegation_gas gives what it costs that target runs the code of another account (EIP-7702), and makes
 * that account warm; 0 if target does not. */
static i64 delegation_gas(cd_evm *evm, cd_acct *target)
{
    cd_addr20 other;
    if (!cd_delegation_dec(&other, cd_state_code(evm->st, target))) {
        return 0;
    }
    bool was_warm = cd_state_warm_acct(evm->st, cd_state_acct(evm->st, &other));
    return (i64)evm->gas.delegation + (was_warm ? 0 : evm->gas.cold_acct);
}

cd__act cd__op_call(cd__frame *f, cd_call_kind kind)
{
    cd_evm *evm = f->evm;
    const cd_u256 *sp = f->sp;
    bool has_value = kind == CD_CALL || kind == CD_CALLCODE;
    const cd_u256 *args = has_value ? &sp[-3] : &sp[-2]; /* args[0], [-1]: input offset, size; [-2], [-3]: output */
    cd_evm_msg m;
    m.kind = kind;
    m.is_static = f->is_static || kind == CD_STATICCALL;
    m.code = cd_u256_to_addr(&sp[-1]);
    m.to = m.code;
    m.caller = f->addr;
    switch (kind) {
    case CD_CALL:
        cd_u256_set(&m.value, &sp[-2]);
        break;
    case CD_CALLCODE:
        cd_u256_set(&m.value, &sp[-2]);
        m.to = f->addr;
        break;
    case CD_DELEGATECALL:
        cd_u256_set(&m.value, &f->value);
        m.to = f->addr;
        m.caller = f->caller;
        break;
    case CD_STATICCALL:
        cd_u256_set_u64(&m.value, 0);
        break;
    case CD_CREATE:
    case CD_CREATE2:
        CD_UNREACHABLE();
    }
    bool pays = has_value && !cd_u256_is_zero(&m.value);
    /* Price: memory for input and output, the account, the value. */
    i64 gas = cd__mem_range(f, &args[0], &args[-1], f->gas);
    if (CD_LIKELY(gas >= 0)) {
        gas = cd__mem_range(f, &args[-2], &args[-3], gas);
    }
    if (CD_UNLIKELY(gas < 0)) {
        return fail(f, gas);
    }
    cd_acct *target = cd_state_acct(evm->st, &m.code);
    gas -= evm->gas.call;
    if (evm->gas.cold_acct != 0 && !cd_state_warm_acct(evm->st, target)) {
        gas -= evm->gas.cold_acct;
    }
    if (CD_UNLIKELY(evm->gas.delegation != 0)) {
        gas -= delegation_gas(evm, target);
    }
    if (pays) {
        gas -= CD_GAS_CALL_VALUE;
    }
    if (kind == CD_CALL) {
        bool is_new =
            evm->fork >= CD_SPURIOUS ? pays && cd_acct_is_empty(target) : (target->flags & CD_ACCT_EXISTS) == 0;
        if (is_new) {
            gas -= CD_GAS_CALL_NEW_ACCT;
        }
    }
    if (CD_UNLIKELY(gas < 0 || !forward(evm, &gas, &m.gas, &sp[0]))) {
        return fail(f, cd__failed(CD_EVM_OUT_OF_GAS));
    }
    if (pays) {
        if (f->is_static && kind == CD_CALL) {
            return fail(f, cd__failed(CD_EVM_STATIC_VIOLATION));
        }
        m.gas += CD_GAS_CALL_STIPEND;
    }
    u64 in_len = args[-1].w[0];
    m.input = cd_bytes_of(in_len == 0 ? NULL : f->mem + args[0].w[0], in_len);
    u64 out_off = args[-2].w[0];
    u64 out_len = args[-3].w[0];
    f->gas = gas;
    f->sp -= has_value ? 7 : 6;
    cd_evm_result res;
    cd__act act =
        CD_UNLIKELY(evm->tracer != NULL) ? traced_call(evm, f, &res, &m, target) : begin_call(evm, f, &res, &m, target);
    if (act == CD__ACT_ENTER) {
        evm->top->out_off = out_off;
        evm->top->out_len = out_len;
    } else {
        deliver(f, &res, out_off, out_len);
    }
    return act;
}
