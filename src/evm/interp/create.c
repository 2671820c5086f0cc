/* CREATE and CREATE2: addresses, the rules for new accounts, and storing their code. */
#include "evm/interp/calls_priv.h"
#include "types/addr_text.h"

/* --- addresses --- */

void cd_evm_create_addr(cd_addr20 *out, const cd_addr20 *caller, u64 nonce)
{
    /* RLP of [caller, nonce]: at most 1 + 21 + 9 bytes. */
    u8 rlp[31];
    u8 *p = rlp + 1;
    *p++ = 0x80 + 20;
    memcpy(p, caller->b, 20);
    p += 20;
    if (nonce == 0) {
        *p++ = 0x80;
    } else if (nonce < 0x80) {
        *p++ = (u8)nonce;
    } else {
        u32 len = (71 - (u32)__builtin_clzll(nonce)) / 8;
        *p++ = (u8)(0x80 + len);
        for (u32 i = len; i-- > 0;) {
            *p++ = (u8)(nonce >> (8 * i));
        }
    }
    rlp[0] = (u8)(0xc0 + (p - rlp - 1));
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_of(rlp, (usize)(p - rlp)));
    memcpy(out->b, h.b + 12, 20);
}

void cd_evm_create2_addr(cd_addr20 *out, const cd_addr20 *caller, const cd_hash32 *salt, const cd_hash32 *init_hash)
{
    u8 in[85];
    in[0] = 0xff;
    memcpy(in + 1, caller->b, 20);
    memcpy(in + 21, salt->b, 32);
    memcpy(in + 53, init_hash->b, 32);
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_of(in, sizeof in));
    memcpy(out->b, h.b + 12, 20);
}

/* --- starting and ending --- */

/* refuse ends a creation whose origin is not on the allow list of deployers [spec:precompiles-core#4]. */
static void refuse(cd_evm *evm, cd_evm_result *res)
{
    char origin[CD_ADDR_TEXT_SIZE];
    cd_arena_reset(&evm->scratch);
    *res = (cd_evm_result){
        .status = CD_EVM_UNAUTHORIZED,
        .reason = cd_arena_fmt(&evm->scratch, "tx.origin %s is not authorized to deploy a contract",
                               cd_addr_fmt(origin, &evm->tx->origin)),
    };
}

static cd__act begin_create(cd_evm *evm, cd__frame *parent, cd_evm_result *res, const cd_evm_msg *m)
{
    cd_state *st = evm->st;
    *res = (cd_evm_result){.status = CD_EVM_OK, .gas_left = m->gas};
    cd_acct *creator = parent != NULL ? parent->self : cd_state_acct(st, &m->caller);
    if (parent != NULL && parent->depth == CD_CALL_DEPTH_MAX) {
        res->status = CD_EVM_DEPTH;
        return CD__ACT_DONE;
    }
    if (cd_u256_lt(&creator->balance, &m->value)) {
        res->status = CD_EVM_BALANCE;
        return CD__ACT_DONE;
    }
    if (creator->nonce == UINT64_MAX) {
        res->status = CD_EVM_NONCE_OVERFLOW;
        return CD__ACT_DONE;
    }
    cd_state_set_nonce(st, creator, creator->nonce + 1);
    if (CD_UNLIKELY(evm->tx != NULL && !cd_gate_opens(evm->precompiles, CD_GATE_CREATE, st, &evm->tx->origin))) {
        refuse(evm, res);
        return CD__ACT_DONE;
    }
    cd_acct *created = cd_state_acct(st, &m->to);
    if (evm->gas.cold_acct != 0) {
        (void)cd_state_warm_acct(st, created); /* before the snapshot: no revert makes it cold (EIP-2929) */
    }
    if (cd_state_collides(st, created)) {
        *res = (cd_evm_result){.status = CD_EVM_COLLISION};
        return CD__ACT_DONE;
    }
    cd_snapshot snapshot = cd_state_snapshot(st);
    cd_state_create(st, created, evm->fork >= CD_SPURIOUS ? 1 : 0);
    cd__transfer(st, creator, created, &m->value);
    if (m->input.n == 0) {
        return CD__ACT_DONE;
    }
    cd_arena_mark mark = cd_arena_mark_get(&evm->init_code);
    cd__code *code = cd__code_temp(&evm->init_code, m->input);
    cd__frame_push(evm, parent, m, created, code, snapshot);
    evm->top->input = (cd_bytes){0};
    evm->top->init_mark = mark;
    return CD__ACT_ENTER;
}

static cd__act begin(cd_evm *evm, cd__frame *parent, cd_evm_result *res, const cd_evm_msg *m)
{
    if (CD_LIKELY(evm->tracer == NULL)) {
        return begin_create(evm, parent, res, m);
    }
    u32 depth = parent == NULL ? 0 : parent->depth + 1;
    cd__trace_enter(evm, depth, m);
    cd__act act = begin_create(evm, parent, res, m);
    if (act == CD__ACT_DONE) {
        cd__trace_exit(evm, depth, res, m->gas);
    }
    return act;
}

cd__act cd__begin_create(cd_evm *evm, cd_evm_result *res, const cd_evm_msg *m)
{
    return begin(evm, NULL, res, m);
}

void cd__create_finish(cd__frame *f)
{
    if (f->status != CD_EVM_OK) {
        return;
    }
    cd_evm *evm = f->evm;
    cd_bytes code = f->output;
    i64 cost = (i64)CD_GAS_CODE_BYTE * (i64)code.n;
    if (code.n > CD_CODE_SIZE_MAX && evm->fork >= CD_SPURIOUS) {
        f->status = CD_EVM_CODE_SIZE;
    } else if (code.n != 0 && code.p[0] == 0xef && evm->fork >= CD_LONDON) {
        f->status = CD_EVM_CODE_PREFIX;
    } else if (cost <= f->gas) {
        f->gas -= cost;
        if (code.n != 0) {
            cd_state_set_code(evm->st, f->self, code);
        }
    } else if (evm->fork >= CD_HOMESTEAD) {
        f->status = CD_EVM_CODE_DEPOSIT;
    }
    /* In Frontier a contract that cannot pay for its code is created without code. */
}

void cd__create_deliver(cd__frame *parent, const cd_evm_result *res, const cd_addr20 *created)
{
    cd__ret_set(parent->evm, res->status == CD_EVM_REVERT ? res->output : (cd_bytes){0});
    parent->gas += (i64)res->gas_left;
    parent->sp++;
    if (res->status == CD_EVM_OK) {
        *parent->sp = cd_u256_from_addr(created);
    } else {
        cd_u256_set_u64(parent->sp, 0);
    }
}

/* --- the instructions --- */

static cd__act fail(cd__frame *f, i64 failure)
{
    f->status = (cd_evm_status)-failure;
    return CD__ACT_FAIL;
}

cd__act cd__op_create(cd__frame *f, cd_call_kind kind)
{
    cd_evm *evm = f->evm;
    const cd_u256 *sp = f->sp; /* value, offset, size, and the salt of CREATE2 */
    i64 gas = cd__mem_range(f, &sp[-1], &sp[-2], f->gas);
    if (gas < 0) {
        return fail(f, gas);
    }
    u64 len = sp[-2].w[0];
    if (evm->gas.initcode_word != 0 && len > CD_INITCODE_SIZE_MAX) {
        return fail(f, cd__failed(CD_EVM_OUT_OF_GAS));
    }
    i64 word = (i64)evm->gas.initcode_word + (kind == CD_CREATE2 ? CD_GAS_KECCAK_WORD : 0);
    gas -= word * cd__words(len);
    if (gas < 0) {
        return fail(f, cd__failed(CD_EVM_OUT_OF_GAS));
    }
    if (f->is_static) {
        return fail(f, cd__failed(CD_EVM_STATIC_VIOLATION));
    }
    cd_evm_msg m = {.kind = kind, .caller = f->addr};
    cd_u256_set(&m.value, &sp[0]);
    m.input = cd_bytes_of(len == 0 ? NULL : f->mem + sp[-1].w[0], len);
    if (kind == CD_CREATE2) {
        cd_hash32 salt = cd_u256_to_hash(&sp[-3]);
        cd_hash32 hash;
        cd_keccak256(&hash, m.input);
        cd_evm_create2_addr(&m.to, &f->addr, &salt, &hash);
    } else {
        cd_evm_create_addr(&m.to, &f->addr, f->self->nonce);
    }
    m.code = m.to;
    m.gas = (u64)(evm->fork >= CD_TANGERINE ? gas - gas / 64 : gas);
    f->gas = gas - (i64)m.gas;
    f->sp -= kind == CD_CREATE2 ? 4 : 3;
    cd_evm_result res;
    cd__act act = begin(evm, f, &res, &m);
    if (act == CD__ACT_DONE) {
        cd__create_deliver(f, &res, &m.to);
    }
    return act;
}
