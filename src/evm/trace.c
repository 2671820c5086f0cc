/* What a tracer is told. The price of an instruction is computed here before it runs, from the same
 * tables that the instruction then charges by; the tests compare both for every step. */
#include "evm/delegation.h"
#include "evm/evm_priv.h"

#include <stdio.h>

/* A price above any gas, for what cannot be paid. */
#define UNPAYABLE ((u64)1 << 63)

void cd__trace_enter(cd_evm *evm, u32 depth, const cd_evm_msg *m)
{
    static const u8 op_of[] = {
        [CD_CALL] = CD_OP_CALL,
        [CD_CALLCODE] = CD_OP_CALLCODE,
        [CD_DELEGATECALL] = CD_OP_DELEGATECALL,
        [CD_STATICCALL] = CD_OP_STATICCALL,
        [CD_CREATE] = CD_OP_CREATE,
        [CD_CREATE2] = CD_OP_CREATE2,
    };
    if (evm->tracer->enter != NULL) {
        evm->tracer->enter(evm->tracer, depth, op_of[m->kind], m);
    }
}

static void tell_exit(cd_evm *evm, u32 depth, const cd_evm_result *res, u64 gas_start, const char *error)
{
    cd_tracer *t = evm->tracer;
    if (t->exit != NULL) {
        t->error = res->status == CD_EVM_OK ? NULL : error;
        t->exit(t, depth, res, gas_start - res->gas_left);
    }
}

void cd__trace_exit(cd_evm *evm, u32 depth, const cd_evm_result *res, u64 gas_start)
{
    tell_exit(evm, depth, res, gas_start, cd_evm_result_str(res));
}

void cd__trace_selfdestruct(cd__frame *f, const cd_addr20 *to, const cd_u256 *balance)
{
    cd_tracer *t = f->evm->tracer;
    cd_evm_msg m = {.kind = CD_CALL, .caller = f->addr, .to = *to, .code = *to, .value = *balance};
    cd_evm_result res = {.status = CD_EVM_OK};
    if (t->enter != NULL) {
        t->enter(t, f->depth + 1, CD_OP_SELFDESTRUCT, &m);
    }
    tell_exit(f->evm, f->depth + 1, &res, 0, NULL);
}

/* --- the price of the next instruction --- */

/* mem_end raises *end to the end of a range of memory if that is higher. */
static void mem_end(u64 *end, const cd_u256 *off, const cd_u256 *len)
{
    if (cd_u256_is_zero(len)) {
        return;
    }
    u64 e;
    if (!cd_add_u64(&e, cd_u256_to_u64_sat(off), cd_u256_to_u64_sat(len))) {
        e = UINT64_MAX;
    }
    *end = cd_max_u64(*end, e);
}

static u64 mem_cost(const cd__frame *f, u64 end)
{
    if (end <= f->mem_size) {
        return 0;
    }
    if (end > CD__MEM_MAX) {
        return UNPAYABLE;
    }
    u64 words = (end + 31) / 32;
    u64 old = f->mem_size / 32;
    return CD_GAS_MEMORY_WORD * (words - old) + words * words / CD_GAS_MEMORY_QUAD_DIV -
           old * old / CD_GAS_MEMORY_QUAD_DIV;
}

/* words_cost prices a length by the word; a length beyond any memory counts as one just beyond it. */
static u64 words_cost(u64 price, const cd_u256 *len)
{
    u64 n = cd_min_u64(cd_u256_to_u64_sat(len), CD__MEM_MAX + 1);
    return price * (u64)cd__words(n);
}

static u64 acct_cost(const cd__frame *f, const cd_u256 *word, u32 price, u32 cold)
{
    const cd_evm *evm = f->evm;
    cd_addr20 addr = cd_u256_to_addr(word);
    const cd_acct *a = cd_state_acct(evm->st, &addr);
    return price + (a->warm_tx == evm->st->tx ? 0 : cold);
}

static u64 selfdestruct_cost(const cd__frame *f, const cd_u256 *word)
{
    const cd_evm *evm = f->evm;
    cd_addr20 addr = cd_u256_to_addr(word);
    const cd_acct *to = cd_state_acct(evm->st, &addr);
    bool is_new = evm->fork >= CD_SPURIOUS ? !cd_u256_is_zero(&f->self->balance) && cd_acct_is_empty(to)
                                           : (to->flags & CD_ACCT_EXISTS) == 0;
    return acct_cost(f, word, evm->gas.selfdestruct, evm->gas.cold_selfdestruct) +
           (is_new ? evm->gas.selfdestruct_new : 0);
}

static u64 sstore_cost(const cd__frame *f, const cd_u256 *key, const cd_u256 *value)
{
    const cd_evm *evm = f->evm;
    cd_slot *s = cd_state_slot(evm->st, f->self, key);
    i64 refund;
    u64 cost = cd_gas_sstore(&evm->gas, &refund, cd_state_slot_original(evm->st, s), &s->value, value);
    return cost + (s->warm_tx == evm->st->tx ? 0 : evm->gas.cold_sstore);
}

/* sstore_refund gives the refund counter as go-ethereum shows it: as it will be after this SSTORE. */
static u64 sstore_refund(const cd__frame *f, u64 counter)
{
    const cd_evm *evm = f->evm;
    const cd_u256 *sp = f->sp;
    cd_slot *s = cd_state_slot(evm->st, f->self, &sp[0]);
    i64 refund;
    (void)cd_gas_sstore(&evm->gas, &refund, cd_state_slot_original(evm->st, s), &s->value, &sp[-1]);
    return counter + (u64)refund;
}

static u64 sload_cost(const cd__frame *f, const cd_u256 *key)
{
    const cd_evm *evm = f->evm;
    const cd_slot *s = cd_state_slot(evm->st, f->self, key);
    return evm->gas.sload + (s->warm_tx == evm->st->tx ? 0 : evm->gas.cold_slot);
}

/* delegation_cost prices that target runs the code of another account (EIP-7702); 0 if it does not. */
static u64 delegation_cost(const cd_evm *evm, cd_acct *target)
{
    cd_addr20 other;
    if (evm->gas.delegation == 0 || !cd_delegation_dec(&other, cd_state_code(evm->st, target))) {
        return 0;
    }
    const cd_acct *a = cd_state_acct(evm->st, &other);
    bool is_warm = a->warm_tx == evm->st->tx || a == target;
    return evm->gas.delegation + (is_warm ? 0 : evm->gas.cold_acct);
}

/* call_cost prices a call as other clients print it: with the gas handed on, without the stipend. */
static u64 call_cost(const cd__frame *f, u8 op, u64 memory)
{
    const cd_evm *evm = f->evm;
    const cd_u256 *sp = f->sp;
    bool has_value = op == CD_OP_CALL || op == CD_OP_CALLCODE;
    bool pays = has_value && !cd_u256_is_zero(&sp[-2]);
    u64 cost = memory + acct_cost(f, &sp[-1], evm->gas.call, evm->gas.cold_acct);
    cost += pays ? CD_GAS_CALL_VALUE : 0;
    cd_addr20 addr = cd_u256_to_addr(&sp[-1]);
    cd_acct *to = cd_state_acct(evm->st, &addr);
    cost += delegation_cost(evm, to);
    if (op == CD_OP_CALL) {
        bool is_new = evm->fork >= CD_SPURIOUS ? pays && cd_acct_is_empty(to) : (to->flags & CD_ACCT_EXISTS) == 0;
        cost += is_new ? CD_GAS_CALL_NEW_ACCT : 0;
    }
    if (cost > (u64)f->gas) {
        return cost;
    }
    u64 left = (u64)f->gas - cost;
    u64 want = cd_u256_to_u64_sat(&sp[0]);
    if (evm->fork >= CD_TANGERINE) {
        want = cd_min_u64(want, left - left / 64);
    }
    return want > left ? UNPAYABLE : cost + want;
}

/* mem_use gives the end of the memory that an instruction is about to use. */
static u64 mem_use(const cd_u256 *sp, u8 op)
{
    const cd_u256 word = cd_u256_from_u64(32);
    const cd_u256 one = cd_u256_one();
    u64 end = 0;
    switch (op) {
    case CD_OP_KECCAK256:
    case CD_OP_RETURN:
    case CD_OP_REVERT:
    case CD_OP_LOG0:
    case CD_OP_LOG1:
    case CD_OP_LOG2:
    case CD_OP_LOG3:
    case CD_OP_LOG4:
        mem_end(&end, &sp[0], &sp[-1]);
        break;
    case CD_OP_EXTCODECOPY:
        mem_end(&end, &sp[-1], &sp[-3]);
        break;
    case CD_OP_MCOPY:
        mem_end(&end, &sp[-1], &sp[-2]);
        mem_end(&end, &sp[0], &sp[-2]);
        break;
    case CD_OP_CALLDATACOPY:
    case CD_OP_CODECOPY:
    case CD_OP_RETURNDATACOPY:
        mem_end(&end, &sp[0], &sp[-2]);
        break;
    case CD_OP_MLOAD:
    case CD_OP_MSTORE:
        mem_end(&end, &sp[0], &word);
        break;
    case CD_OP_MSTORE8:
        mem_end(&end, &sp[0], &one);
        break;
    case CD_OP_CREATE:
    case CD_OP_CREATE2:
        mem_end(&end, &sp[-1], &sp[-2]);
        break;
    case CD_OP_CALL:
    case CD_OP_CALLCODE:
        mem_end(&end, &sp[-3], &sp[-4]);
        mem_end(&end, &sp[-5], &sp[-6]);
        break;
    case CD_OP_DELEGATECALL:
    case CD_OP_STATICCALL:
        mem_end(&end, &sp[-2], &sp[-3]);
        mem_end(&end, &sp[-4], &sp[-5]);
        break;
    }
    return end;
}

/* dynamic_cost is what gas.def and the operands add to the base price. */
static u64 dynamic_cost(const cd__frame *f, u8 op)
{
    const cd_evm *evm = f->evm;
    const cd_u256 *sp = f->sp;
    u64 memory = mem_cost(f, mem_use(sp, op));
    switch (op) {
    case CD_OP_EXP:
        return (u64)evm->gas.exp_byte * cd_u256_bytes(&sp[-1]);
    case CD_OP_KECCAK256:
        return memory + words_cost(CD_GAS_KECCAK_WORD, &sp[-1]);
    case CD_OP_BALANCE:
        return acct_cost(f, &sp[0], evm->gas.balance, evm->gas.cold_acct);
    case CD_OP_EXTCODESIZE:
        return acct_cost(f, &sp[0], evm->gas.extcode, evm->gas.cold_acct);
    case CD_OP_EXTCODEHASH:
        return acct_cost(f, &sp[0], evm->gas.extcodehash, evm->gas.cold_acct);
    case CD_OP_EXTCODECOPY:
        return acct_cost(f, &sp[0], evm->gas.extcode, evm->gas.cold_acct) + memory +
               words_cost(CD_GAS_COPY_WORD, &sp[-3]);
    case CD_OP_CALLDATACOPY:
    case CD_OP_CODECOPY:
    case CD_OP_RETURNDATACOPY:
    case CD_OP_MCOPY:
        return memory + words_cost(CD_GAS_COPY_WORD, &sp[-2]);
    case CD_OP_SLOAD:
        return sload_cost(f, &sp[0]);
    case CD_OP_SSTORE:
        return sstore_cost(f, &sp[0], &sp[-1]);
    case CD_OP_LOG0:
    case CD_OP_LOG1:
    case CD_OP_LOG2:
    case CD_OP_LOG3:
    case CD_OP_LOG4:
        return memory + CD_GAS_LOG_BYTE * cd_min_u64(cd_u256_to_u64_sat(&sp[-1]), CD__MEM_MAX + 1);
    case CD_OP_CREATE:
    case CD_OP_CREATE2:
        if (evm->gas.initcode_word != 0 && cd_u256_to_u64_sat(&sp[-2]) > CD_INITCODE_SIZE_MAX) {
            return UNPAYABLE;
        }
        return memory + words_cost(evm->gas.initcode_word + (op == CD_OP_CREATE2 ? CD_GAS_KECCAK_WORD : 0), &sp[-2]);
    case CD_OP_CALL:
    case CD_OP_CALLCODE:
    case CD_OP_DELEGATECALL:
    case CD_OP_STATICCALL:
        return call_cost(f, op, memory);
    case CD_OP_SELFDESTRUCT:
        return selfdestruct_cost(f, &sp[0]);
    }
    return memory;
}

/* --- words for failures --- */

/* out_of_gas_words gives go-ethereum's words where it cannot compute the price of an instruction or
 * refuses it before that; NULL when the price can be compared with the gas. */
static const char *out_of_gas_words(const cd__frame *f, u8 op, u64 gas)
{
    /* The most bytes of memory for which go-ethereum computes a price. */
    const u64 priced = 0x1fffffffe0;
    const cd_evm *evm = f->evm;
    u64 end = mem_use(f->sp, op);
    if (end == UINT64_MAX) {
        return "gas uint64 overflow";
    }
    if (end > priced) {
        return "out of gas: gas uint64 overflow";
    }
    if (op == CD_OP_SSTORE && evm->gas.sstore_sentry != 0 && gas <= evm->gas.sstore_sentry) {
        return "out of gas: not enough gas for reentrancy sentry";
    }
    return NULL;
}

const char *cd_trace_error(char *out, const cd_trace_step *s)
{
    cd_evm_status status = (cd_evm_status)s->error;
    const cd_op_info *info = cd_op_info_get(s->op);
    int n = 0;
    if (status == CD_EVM_OUT_OF_GAS && s->out_of_gas != NULL) {
        return s->out_of_gas;
    }
    if (status == CD_EVM_STACK_UNDERFLOW) {
        n = snprintf(out, CD_TRACE_ERROR_MAX, "stack underflow (%zu <=> %u)", s->stack_cnt, info->in);
    } else if (status == CD_EVM_STACK_OVERFLOW) {
        n = snprintf(out, CD_TRACE_ERROR_MAX, "stack limit reached %zu (%d)", s->stack_cnt,
                     CD__STACK_MAX + info->in - info->out);
    } else if (status == CD_EVM_INVALID_OPCODE && (info->name != NULL || s->op == 0xfe)) {
        n = snprintf(out, CD_TRACE_ERROR_MAX, "invalid opcode: %s", cd_op_name(s->op));
    } else if (status == CD_EVM_INVALID_OPCODE) {
        n = snprintf(out, CD_TRACE_ERROR_MAX, "invalid opcode: opcode 0x%x not defined", s->op);
    } else {
        return cd_evm_status_str(status);
    }
    CD_ASSERT(n > 0 && n < CD_TRACE_ERROR_MAX);
    return out;
}

void cd__trace_frame_exit(cd__frame *f, const cd_evm_result *res)
{
    cd_evm *evm = f->evm;
    cd_trace_step s = {.op = evm->step_op, .stack_cnt = evm->step_height, .error = (int)res->status};
    bool has_step = f->tier == (u8)CD__RUN_TRACED;
    if (has_step && res->status == CD_EVM_OUT_OF_GAS && !evm->tracer->stop && !evm->is_stopped) {
        s.out_of_gas = out_of_gas_words(f, s.op, evm->step_gas);
    }
    tell_exit(evm, f->depth, res, (u64)f->gas_start,
              has_step && res->reason == NULL ? cd_trace_error(evm->trace_text, &s) : cd_evm_result_str(res));
}

/* --- the next instruction --- */

/* goes_on asks the tracer's poll once in CD_TRACE_POLL instructions. False: the message has to end. */
static bool goes_on(cd_tracer *t)
{
    if (--t->until_poll == 0) {
        t->until_poll = CD_TRACE_POLL;
        t->stop = t->stop || (t->poll != NULL && !t->poll(t));
    }
    return !t->stop;
}

static void tell_step(cd__frame *f, cd_tracer *t, const u8 *pc, usize height)
{
    cd_evm *evm = f->evm;
    u8 op = *pc;
    const cd_op_info *info = cd_op_info_get(op);
    cd_trace_step s = {
        .pc = (u64)(pc - f->code->bytes),
        .op = op,
        .depth = f->depth + 1,
        .gas = (u64)f->gas,
        .cost = info->gas, /* base price; nothing is added when the rest cannot be computed */
        .refund = cd_state_refund_get(evm->st),
        .stack = f->base + 1,
        .stack_cnt = height,
        .memory = cd_bytes_of(f->mem, f->mem_size),
        .return_data = evm->ret,
        .self = f->addr,
        .state = evm->st,
    };
    if (info->name == NULL || info->since > evm->fork) {
        s.error = CD_EVM_INVALID_OPCODE;
    } else if (height < info->in) {
        s.error = CD_EVM_STACK_UNDERFLOW;
    } else if (height - info->in + info->out > CD__STACK_MAX) {
        s.error = CD_EVM_STACK_OVERFLOW;
    } else {
        s.out_of_gas = out_of_gas_words(f, op, s.gas);
        if (s.out_of_gas == NULL) {
            s.cost += dynamic_cost(f, op);
            s.refund = op == CD_OP_SSTORE ? sstore_refund(f, s.refund) : s.refund;
        }
        if (s.out_of_gas != NULL || s.cost > s.gas) {
            s.error = CD_EVM_OUT_OF_GAS;
        }
    }
    t->step(t, &s);
}

bool cd__trace_step(cd__frame *f, const u8 *pc)
{
    cd_evm *evm = f->evm;
    cd_tracer *t = evm->tracer;
    usize height = (usize)(f->sp - f->base);
    if (!goes_on(t)) {
        return false;
    }
    evm->step_op = *pc;
    evm->step_height = (u32)height;
    evm->step_gas = (u64)f->gas;
    if (t->step != NULL) {
        tell_step(f, t, pc, height);
    }
    return true;
}
