/* The interpreter of tier 1: one handler per kind of cell, computed goto. */
#include "evm/evm_priv.h"
#include "evm/interp/cells_priv.h"
#include "num/div.h"

/* The instructions that are functions, by byte. */
static const cd__op_fn functions[256] = {
#define IN(code, name)
#define OUT(code, name)                           [code] = cd__op_##name,
#define OP(code, name, since, gas, in, out, kind) kind(code, name)
#include "evm/interp/opcodes.def"
#undef OP
#undef OUT
#undef IN
};

/* Operands of the current cell. */
#define SLOT(off) ((cd_u256 *)(void *)((u8 *)sp + (off)))
#define D         SLOT(cell->d)
#define A         SLOT(cell->a)
#define B         SLOT(cell->b)
#define C         SLOT(cell->c)
#define K         ((const cd_u256 *)(const void *)((const u8 *)cell + cell->rel))
#define TARGET(c) ((const cd__cell *)(const void *)((const u8 *)(c) + (c)->rel))

#define H(name) op_##name:
#define NEXT                                                                                                           \
    do {                                                                                                               \
        cell++;                                                                                                        \
        goto * cell->handler;                                                                                          \
    } while (0)

/* Checks gas and stack of the block that starts at c and goes on behind its first cell. */
#define ENTER(c)                                                                                                       \
    do {                                                                                                               \
        const cd__cell *start = (c);                                                                                   \
        gas -= start->block.gas;                                                                                       \
        if (CD_UNLIKELY(gas < 0)) {                                                                                    \
            cell = start;                                                                                              \
            goto low_gas;                                                                                              \
        }                                                                                                              \
        u32 height = (u32)((const u8 *)sp - (const u8 *)base);                                                         \
        if (CD_UNLIKELY(height - start->block.min > start->block.range)) {                                             \
            goto stack_error;                                                                                          \
        }                                                                                                              \
        cell = start + 1;                                                                                              \
        goto * cell->handler;                                                                                          \
    } while (0)

/* Calls a function that charges gas: it is given all gas of the frame and gives what is left, or a failure. */
#define THROUGH(function)                                                                                              \
    do {                                                                                                               \
        gas += f->held;                                                                                                \
        gas = (function);                                                                                              \
        if (CD_UNLIKELY(gas < 0)) {                                                                                    \
            goto failed;                                                                                               \
        }                                                                                                              \
        gas -= f->held;                                                                                                \
    } while (0)

/* A binary operation on two slots, on slot and constant, on constant and slot; x and y are the
 * operands. */
#define SS(name, expr)                                                                                                 \
    H(name##_SS)                                                                                                       \
    {                                                                                                                  \
        cd_u256 *const d = D;                                                                                          \
        const cd_u256 *const x = A;                                                                                    \
        const cd_u256 *const y = B;                                                                                    \
        expr;                                                                                                          \
        NEXT;                                                                                                          \
    }
#define SC(name, expr)                                                                                                 \
    H(name##_SC)                                                                                                       \
    {                                                                                                                  \
        cd_u256 *const d = D;                                                                                          \
        const cd_u256 *const x = A;                                                                                    \
        const cd_u256 *const y = K;                                                                                    \
        expr;                                                                                                          \
        NEXT;                                                                                                          \
    }
#define CS(name, expr)                                                                                                 \
    H(name##_CS)                                                                                                       \
    {                                                                                                                  \
        cd_u256 *const d = D;                                                                                          \
        const cd_u256 *const x = K;                                                                                    \
        const cd_u256 *const y = A;                                                                                    \
        expr;                                                                                                          \
        NEXT;                                                                                                          \
    }
#define IMMEDIATE(name, expr)                                                                                          \
    H(name##_I)                                                                                                        \
    {                                                                                                                  \
        cd_u256 *const d = D;                                                                                          \
        const cd_u256 *const x = A;                                                                                    \
        const u64 i = cell->imm;                                                                                       \
        expr;                                                                                                          \
        NEXT;                                                                                                          \
    }
#define SS_SC(name, expr) SS(name, expr) SC(name, expr)

/* A comparison, its negation, and both as conditions of jumps. */
#define COMPARE(form, yes, no, test) form(yes, cd_u256_set_u64(d, test)) form(no, cd_u256_set_u64(d, !(test)))

#define JUMP_IF_SS(yes, no, test)                                                                                      \
    H(J_##yes##_SS)                                                                                                    \
    {                                                                                                                  \
        const cd_u256 *const x = A;                                                                                    \
        const cd_u256 *const y = B;                                                                                    \
        bool is = (test);                                                                                              \
        sp = D;                                                                                                        \
        if (is) {                                                                                                      \
            ENTER(TARGET(cell + 1));                                                                                   \
        }                                                                                                              \
        ENTER(cell + 2);                                                                                               \
    }                                                                                                                  \
    H(J_##no##_SS)                                                                                                     \
    {                                                                                                                  \
        const cd_u256 *const x = A;                                                                                    \
        const cd_u256 *const y = B;                                                                                    \
        bool is = (test);                                                                                              \
        sp = D;                                                                                                        \
        if (!is) {                                                                                                     \
            ENTER(TARGET(cell + 1));                                                                                   \
        }                                                                                                              \
        ENTER(cell + 2);                                                                                               \
    }
#define JUMP_IF_C(yes, no, form, first, second, test)                                                                  \
    H(J_##yes##form)                                                                                                   \
    {                                                                                                                  \
        const cd_u256 *const x = first;                                                                                \
        const cd_u256 *const y = second;                                                                               \
        bool is = (test);                                                                                              \
        sp = D;                                                                                                        \
        if (is) {                                                                                                      \
            ENTER(TARGET(cell + 1));                                                                                   \
        }                                                                                                              \
        ENTER(cell + 2);                                                                                               \
    }                                                                                                                  \
    H(J_##no##form)                                                                                                    \
    {                                                                                                                  \
        const cd_u256 *const x = first;                                                                                \
        const cd_u256 *const y = second;                                                                               \
        bool is = (test);                                                                                              \
        sp = D;                                                                                                        \
        if (!is) {                                                                                                     \
            ENTER(TARGET(cell + 1));                                                                                   \
        }                                                                                                              \
        ENTER(cell + 2);                                                                                               \
    }

#define LOAD_NUMBER(name, number)                                                                                      \
    H(name)                                                                                                            \
    {                                                                                                                  \
        cd_u256_set_u64(D, (number));                                                                                  \
        NEXT;                                                                                                          \
    }

/* Charges for an access to n bytes of memory at an offset if it is not below limit (f->mem_limit or f->mem_size). */
#define TOUCH_MEMORY(off, limit, n)                                                                                    \
    do {                                                                                                               \
        if (CD_UNLIKELY(!cd_u256_fits_u64(off) || (off)->w[0] >= (limit))) {                                           \
            THROUGH(cd__mem_touch(f, (off), (n), gas));                                                                \
        }                                                                                                              \
    } while (0)
#define TOUCH_MEMORY_I(off)                                                                                            \
    do {                                                                                                               \
        if (CD_UNLIKELY((off) >= f->mem_limit)) {                                                                      \
            THROUGH(cd__mem_grow(f, (u64)(off) + 32, gas));                                                            \
        }                                                                                                              \
    } while (0)

/* sign_extend makes no copy when d is x: the copy would be read back while its stores are still on their way. */
CD_INLINE void sign_extend(cd_u256 *d, const cd_u256 *x, u64 byte)
{
    if (d != x) {
        cd_u256_set(d, x);
    }
    cd_u256_signextend(d, byte);
}

/* find_target gives the cell of a jump destination, which is CD__CELL_BAD_JUMP for an invalid one. */
CD_INLINE const cd__cell *find_target(const cd__frame *f, const cd_u256 *dest)
{
    const cd__cells *cells = f->code->cells;
    u64 pc = dest->w[0];
    if (CD_UNLIKELY(!cd_u256_fits_u64(dest) || pc >= cells->n)) {
        return &cells->cells[CD__CELL_BAD_JUMP];
    }
    u64 word = cells->jumps[pc >> 6];
    u64 bit = 1ULL << (pc & 63);
    if (CD_UNLIKELY((word & bit) == 0)) {
        return &cells->cells[CD__CELL_BAD_JUMP];
    }
    u32 rank = cells->ranks[pc >> 6] + (u32)__builtin_popcountll(word & (bit - 1));
    return &cells->cells[cells->targets[rank]];
}

static cd__run run(cd__frame *f, const void *const **handlers)
{
    static const void *const all[CD__CELL_OPS] = {
#define X(name, form) [CD__CELL_##name] = &&op_##name,
#include "evm/interp/cells.def"
#undef X
    };
    if (handlers != NULL) {
        *handlers = all;
        return CD__RUN_ENDED;
    }
    const cd__cell *cell = f->ip;
    cd_u256 *sp = f->sp;
    cd_u256 *const base = f->base;
    i64 gas = cd__slice_begin(f);
    goto * cell->handler;

    COMPARE(SS, LT, GE, cd_u256_lt(x, y))
    COMPARE(SC, LT, GE, cd_u256_lt(x, y))
    COMPARE(CS, LT, GE, cd_u256_lt(x, y))
    COMPARE(SS, SLT, SGE, cd_u256_slt(x, y))
    COMPARE(SC, SLT, SGE, cd_u256_slt(x, y))
    COMPARE(CS, SLT, SGE, cd_u256_slt(x, y))
    COMPARE(SS, EQ, NE, cd_u256_eq(x, y))
    COMPARE(SC, EQ, NE, cd_u256_eq(x, y))
    LOAD_NUMBER(ZERO, cd_u256_is_zero(A))
    LOAD_NUMBER(NONZERO, !cd_u256_is_zero(A))

    JUMP_IF_SS(LT, GE, cd_u256_lt(x, y))
    JUMP_IF_C(LT, GE, _SC, A, K, cd_u256_lt(x, y))
    JUMP_IF_C(LT, GE, _CS, K, A, cd_u256_lt(x, y))
    JUMP_IF_SS(SLT, SGE, cd_u256_slt(x, y))
    JUMP_IF_C(SLT, SGE, _SC, A, K, cd_u256_slt(x, y))
    JUMP_IF_C(SLT, SGE, _CS, K, A, cd_u256_slt(x, y))
    JUMP_IF_SS(EQ, NE, cd_u256_eq(x, y))
    JUMP_IF_C(EQ, NE, _SC, A, K, cd_u256_eq(x, y))
    H(J_ZERO)
    {
        bool is = cd_u256_is_zero(A);
        sp = D;
        if (is) {
            ENTER(TARGET(cell));
        }
        ENTER(cell + 1);
    }
    H(J_NONZERO)
    {
        bool is = cd_u256_is_zero(A);
        sp = D;
        if (!is) {
            ENTER(TARGET(cell));
        }
        ENTER(cell + 1);
    }

    SS_SC(ADD, cd_u256_add(d, x, y))
    SS_SC(MUL, cd_u256_mul(d, x, y))
    SS(SUB, cd_u256_sub(d, x, y))
    CS(SUB, cd_u256_sub(d, x, y))
    SS_SC(DIV, cd_u256_div(d, x, y))
    SS_SC(SDIV, cd_u256_sdiv(d, x, y))
    SS_SC(MOD, cd_u256_mod(d, x, y))
    SS_SC(SMOD, cd_u256_smod(d, x, y))
    SS_SC(AND, cd_u256_and(d, x, y))
    SS_SC(OR, cd_u256_or(d, x, y))
    SS_SC(XOR, cd_u256_xor(d, x, y))
    H(NOT)
    {
        cd_u256_not(D, A);
        NEXT;
    }
    SS(SHL, cd_u256_shl_by(d, y, x))
    IMMEDIATE(SHL, cd_u256_shl(d, x, i))
    SS(SHR, cd_u256_shr_by(d, y, x))
    IMMEDIATE(SHR, cd_u256_shr(d, x, i))
    SS(SAR, cd_u256_sar_by(d, y, x))
    IMMEDIATE(SAR, cd_u256_sar(d, x, i))
    SS(BYTE, cd_u256_set_u64(d, cd_u256_byte(y, cd_u256_to_u64_sat(x))))
    IMMEDIATE(BYTE, cd_u256_set_u64(d, cd_u256_byte(x, i)))
    SS(SIGNEXTEND, sign_extend(d, y, cd_u256_to_u64_sat(x)))
    IMMEDIATE(SIGNEXTEND, sign_extend(d, x, i))
    H(ADDMOD)
    {
        cd_u256_addmod(D, A, B, C);
        NEXT;
    }
    H(MULMOD)
    {
        cd_u256_mulmod(D, A, B, C, &f->evm->modctx);
        NEXT;
    }

    H(MOVE)
    {
        cd_u256_set(D, A);
        NEXT;
    }
    H(MOVE2)
    {
        cd_u256_set(D, A);
        cd_u256_set(B, C);
        NEXT;
    }
    H(SWAP)
    {
        cd__swap(A, B);
        NEXT;
    }
    LOAD_NUMBER(PUSH_I, cell->imm)
    H(PUSH_K)
    {
        cd_u256_set(D, K);
        NEXT;
    }

    H(MLOAD)
    {
        const cd_u256 *off = A;
        TOUCH_MEMORY(off, f->mem_limit, 32);
        cd_u256_load_be(D, f->mem + off->w[0]);
        NEXT;
    }
    H(MLOAD_I)
    {
        TOUCH_MEMORY_I(cell->imm);
        cd_u256_load_be(D, f->mem + cell->imm);
        NEXT;
    }
    H(MSTORE)
    {
        const cd_u256 *off = A;
        TOUCH_MEMORY(off, f->mem_limit, 32);
        cd_u256_store_be(f->mem + off->w[0], B);
        NEXT;
    }
    H(MSTORE_I)
    {
        TOUCH_MEMORY_I(cell->imm);
        cd_u256_store_be(f->mem + cell->imm, A);
        NEXT;
    }
    H(MSTORE8)
    {
        const cd_u256 *off = A;
        TOUCH_MEMORY(off, f->mem_size, 1);
        f->mem[off->w[0]] = (u8)B->w[0];
        NEXT;
    }
    H(MCOPY_I)
    {
        THROUGH(cd__mcopy(f, cell->copy.to, cell->copy.from, cell->copy.len, gas));
        NEXT;
    }
    H(KECCAK)
    {
        THROUGH(cd__keccak(f, D, A, B, gas));
        NEXT;
    }
    H(KECCAK_I)
    {
        cd_u256 off = cd_u256_from_u64(cell->off);
        cd_u256 len = cd_u256_from_u64(cell->len);
        THROUGH(cd__keccak(f, D, &off, &len, gas));
        NEXT;
    }
    H(SLOAD)
    {
        THROUGH(cd__sload(f, D, A, gas));
        NEXT;
    }
    H(SSTORE)
    {
        THROUGH(cd__op_sstore(f, D, A, gas, cell->imm));
        NEXT;
    }
    H(CALLDATALOAD)
    {
        cd__op_calldataload(f, D, A);
        NEXT;
    }
    H(CALLDATALOAD_I)
    {
        u64 off = cell->imm;
        if (CD_LIKELY(off + 32 <= f->input.n)) {
            cd_u256_load_be(D, f->input.p + off);
        } else {
            cd_u256 at = cd_u256_from_u64(off);
            cd__op_calldataload(f, D, &at);
        }
        NEXT;
    }
    H(ADDRESS)
    {
        *D = cd_u256_from_addr(&f->addr);
        NEXT;
    }
    H(CALLER)
    {
        *D = cd_u256_from_addr(&f->caller);
        NEXT;
    }
    H(CALLVALUE)
    {
        cd_u256_set(D, &f->value);
        NEXT;
    }
    LOAD_NUMBER(CALLDATASIZE, f->input.n)
    LOAD_NUMBER(RETURNDATASIZE, f->evm->ret.n)
    LOAD_NUMBER(MSIZE, f->mem_size)
    LOAD_NUMBER(GAS, (u64)(gas + f->held) + cell->imm)
    H(FUNCTION)
    {
        THROUGH(functions[cell->imm](f, D, gas));
        NEXT;
    }

    H(BLOCK)
    {
        ENTER(cell);
    }
    H(FALL)
    {
        sp = D;
        ENTER(cell + 1);
    }
    H(GOTO)
    {
        cell = TARGET(cell);
        goto * cell->handler;
    }
    H(JUMP)
    {
        sp = D;
        ENTER(TARGET(cell));
    }
    H(JUMP_DYN)
    {
        const cd__cell *target = find_target(f, A);
        sp = D;
        ENTER(target);
    }
    H(JUMPI_DYN)
    {
        const cd_u256 *dest = A;
        bool is = !cd_u256_is_zero(B);
        sp = D;
        if (is) {
            ENTER(find_target(f, dest));
        }
        ENTER(cell + 1);
    }
    H(STOP)
    {
        goto ended;
    }
    H(RETURN)
    {
        goto output;
    }
    H(REVERT)
    {
        f->status = CD_EVM_REVERT;
        goto output;
    }
    H(SELFDESTRUCT)
    {
        THROUGH(cd__op_selfdestruct(f, A, gas));
        goto ended;
    }
    H(FAIL)
    {
        f->status = (cd_evm_status)cell->imm;
        goto ended;
    }
    H(MESSAGE)
    {
        cd_call_kind kind = (cd_call_kind)cell->imm;
        f->sp = D;
        f->ip = cell + 1;
        f->gas = gas + f->held;
        bool creates = kind == CD_CREATE || kind == CD_CREATE2;
        cd__act act = creates ? cd__op_create(f, kind) : cd__op_call(f, kind);
        if (act == CD__ACT_ENTER) {
            return CD__RUN_ENTERED;
        }
        if (CD_UNLIKELY(act == CD__ACT_FAIL)) {
            goto ended;
        }
        sp = f->sp;
        gas = f->gas - f->held;
        ENTER(cell + 1);
    }
    H(EXTENSION)
    {
        CD_UNREACHABLE();
    }

output:
    THROUGH(cd__mem_range(f, A, B, gas));
    if (!cd_u256_is_zero(B)) {
        f->output = cd_bytes_of(f->mem + A->w[0], B->w[0]);
    }
    goto ended;

stack_error:
    f->status = CD_EVM_STACK_UNDERFLOW;
    goto ended;
low_gas:
    gas = cd__slice_next(f, gas + cell->block.gas, cell->block.gas);
    if (gas < 0) {
        goto out_of_gas;
    }
    ENTER(cell);

out_of_gas:
    f->held = 0;
    f->status = CD_EVM_OUT_OF_GAS;
    goto ended;
failed:
    f->held = 0;
    f->status = (cd_evm_status)-gas;
ended:
    f->gas = gas + f->held;
    return CD__RUN_ENDED;
}

cd__run cd__run_cells(cd__frame *f)
{
    return run(f, NULL);
}

const void *const *cd__cell_handlers(void)
{
    const void *const *all;
    (void)run(NULL, &all);
    return all;
}
