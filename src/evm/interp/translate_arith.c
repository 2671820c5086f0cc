/* Arithmetic in the translation: constants are folded, cheaper forms chosen, operands brought into
 * slots. */
#include "evm/interp/translate_priv.h"

#include "num/div.h"

void cd__put_number(cd__translation *t, u64 v)
{
    cd_u256 w = cd_u256_from_u64(v);
    cd__block_push_const(t, &w);
}

/* fold computes x op y; only for instructions without side effects and without dynamic gas. */
static cd_u256 fold(u8 op, const cd_u256 *x, const cd_u256 *y)
{
    cd_u256 r = cd_u256_zero();
    switch (op) {
    case CD_OP_ADD:
        cd_u256_add(&r, x, y);
        break;
    case CD_OP_MUL:
        cd_u256_mul(&r, x, y);
        break;
    case CD_OP_SUB:
        cd_u256_sub(&r, x, y);
        break;
    case CD_OP_DIV:
        cd_u256_div(&r, x, y);
        break;
    case CD_OP_SDIV:
        cd_u256_sdiv(&r, x, y);
        break;
    case CD_OP_MOD:
        cd_u256_mod(&r, x, y);
        break;
    case CD_OP_SMOD:
        cd_u256_smod(&r, x, y);
        break;
    case CD_OP_SIGNEXTEND:
        r = *y;
        cd_u256_signextend(&r, cd_u256_to_u64_sat(x));
        break;
    case CD_OP_LT:
        return cd_u256_from_u64(cd_u256_lt(x, y));
    case CD_OP_GT:
        return cd_u256_from_u64(cd_u256_lt(y, x));
    case CD_OP_SLT:
        return cd_u256_from_u64(cd_u256_slt(x, y));
    case CD_OP_SGT:
        return cd_u256_from_u64(cd_u256_slt(y, x));
    case CD_OP_EQ:
        return cd_u256_from_u64(cd_u256_eq(x, y));
    case CD_OP_AND:
        cd_u256_and(&r, x, y);
        break;
    case CD_OP_OR:
        cd_u256_or(&r, x, y);
        break;
    case CD_OP_XOR:
        cd_u256_xor(&r, x, y);
        break;
    case CD_OP_BYTE:
        return cd_u256_from_u64(cd_u256_byte(y, cd_u256_to_u64_sat(x)));
    case CD_OP_SHL:
        cd_u256_shl_by(&r, y, x);
        break;
    case CD_OP_SHR:
        cd_u256_shr_by(&r, y, x);
        break;
    case CD_OP_SAR:
        cd_u256_sar_by(&r, y, x);
        break;
    default:
        CD_UNREACHABLE();
    }
    return r;
}

/* How a binary instruction becomes a cell. */
typedef struct binary_forms {
    cd__cell_op ss; /* two slots */
    cd__cell_op sc; /* first operand in a slot, second constant; CD__CELL_OPS = none */
    cd__cell_op cs; /* first operand constant, second in a slot; CD__CELL_OPS = none */
    bool commutes;
} binary_forms;

static binary_forms binary_forms_of(u8 op)
{
#define FORMS(name, s, c, com)                                                                                         \
    case CD_OP_##name:                                                                                                 \
        return (binary_forms)                                                                                          \
        {                                                                                                              \
            .ss = CD__CELL_##name##_SS, .sc = (s), .cs = (c), .commutes = (com)                                        \
        }
    switch (op) {
        FORMS(ADD, CD__CELL_ADD_SC, CD__CELL_OPS, true);
        FORMS(MUL, CD__CELL_MUL_SC, CD__CELL_OPS, true);
        FORMS(AND, CD__CELL_AND_SC, CD__CELL_OPS, true);
        FORMS(OR, CD__CELL_OR_SC, CD__CELL_OPS, true);
        FORMS(XOR, CD__CELL_XOR_SC, CD__CELL_OPS, true);
        FORMS(EQ, CD__CELL_EQ_SC, CD__CELL_OPS, true);
        FORMS(SUB, CD__CELL_OPS, CD__CELL_SUB_CS, false);
        FORMS(DIV, CD__CELL_DIV_SC, CD__CELL_OPS, false);
        FORMS(SDIV, CD__CELL_SDIV_SC, CD__CELL_OPS, false);
        FORMS(MOD, CD__CELL_MOD_SC, CD__CELL_OPS, false);
        FORMS(SMOD, CD__CELL_SMOD_SC, CD__CELL_OPS, false);
        FORMS(LT, CD__CELL_LT_SC, CD__CELL_LT_CS, false);
        FORMS(SLT, CD__CELL_SLT_SC, CD__CELL_SLT_CS, false);
        FORMS(SHL, CD__CELL_OPS, CD__CELL_OPS, false);
        FORMS(SHR, CD__CELL_OPS, CD__CELL_OPS, false);
        FORMS(SAR, CD__CELL_OPS, CD__CELL_OPS, false);
        FORMS(BYTE, CD__CELL_OPS, CD__CELL_OPS, false);
        FORMS(SIGNEXTEND, CD__CELL_OPS, CD__CELL_OPS, false);
    default:
        CD_UNREACHABLE();
    }
#undef FORMS
}

void cd__put_immediate(cd__translation *t, cd__cell_op op, cd__item a, u64 imm)
{
    i16 from = cd__block_read(t, a);
    cd__cell *c = cd__block_cell(t, op);
    c->a = from;
    c->imm = (u32)imm;
    u32 at = t->cnt - 1;
    cd__block_release(t, a);
    i16 d = cd__block_result(t);
    t->cells[at].d = d;
}

/* with_const appends op with slot a and a constant. */
static void with_const(cd__translation *t, cd__cell_op op, cd__item a, const cd_u256 *k)
{
    cd__put_immediate(t, op, a, (u64)(u32)cd__pool_add(t, k));
}

void cd__put_slots(cd__translation *t, cd__cell_op op, cd__item a, cd__item b)
{
    a = cd__block_in_slot(t, a);
    b = cd__block_in_slot(t, b);
    i16 from_a = cd__block_read(t, a);
    i16 from_b = cd__block_read(t, b);
    cd__cell *c = cd__block_cell(t, op);
    c->a = from_a;
    c->b = from_b;
    u32 at = t->cnt - 1;
    cd__block_release(t, a);
    cd__block_release(t, b);
    i16 d = cd__block_result(t);
    t->cells[at].d = d;
}

/* log2_of gives n when v is 2^n. */
static bool log2_of(u32 *n, const cd_u256 *v)
{
    u32 bits = cd_u256_bits(v);
    if (bits == 0) {
        return false;
    }
    cd_u256 one = cd_u256_one();
    cd_u256_shl(&one, &one, bits - 1);
    *n = bits - 1;
    return cd_u256_eq(&one, v);
}

/* reduced tries cheaper forms of x op y where one is constant. */
static bool reduced(cd__translation *t, u8 op, cd__item x, cd__item y)
{
    cd_u256 k;
    u32 n;
    if (cd__is_const(x)) {
        u64 small = cd_u256_to_u64_sat(cd__const_of(t, x));
        switch (op) {
        case CD_OP_SHL:
        case CD_OP_SHR:
        case CD_OP_SAR:
            cd__put_immediate(t,
                              op == CD_OP_SHL   ? CD__CELL_SHL_I
                              : op == CD_OP_SHR ? CD__CELL_SHR_I
                                                : CD__CELL_SAR_I,
                              y, cd_min_u64(small, 256));
            return true;
        case CD_OP_BYTE:
            cd__put_immediate(t, CD__CELL_BYTE_I, y, cd_min_u64(small, 32));
            return true;
        case CD_OP_SIGNEXTEND:
            if (small >= 31) {
                cd__block_push(t, y);
            } else {
                cd__put_immediate(t, CD__CELL_SIGNEXTEND_I, y, small);
            }
            return true;
        default:
            return false;
        }
    }
    k = *cd__const_of(t, y);
    switch (op) {
    case CD_OP_SUB:
        cd_u256_neg(&k, &k);
        with_const(t, CD__CELL_ADD_SC, x, &k);
        return true;
    case CD_OP_MUL:
        if (log2_of(&n, &k)) {
            cd__put_immediate(t, CD__CELL_SHL_I, x, n);
            return true;
        }
        return false;
    case CD_OP_DIV:
        if (log2_of(&n, &k)) {
            cd__put_immediate(t, CD__CELL_SHR_I, x, n);
            return true;
        }
        return false;
    case CD_OP_MOD:
        if (log2_of(&n, &k)) {
            cd_u256 one = cd_u256_one();
            cd_u256_sub(&k, &k, &one);
            with_const(t, CD__CELL_AND_SC, x, &k);
            return true;
        }
        return false;
    default:
        return false;
    }
}

void cd__put_binary(cd__translation *t, u8 op)
{
    cd__item x = cd__block_pop(t);
    cd__item y = cd__block_pop(t);
    if (op == CD_OP_GT || op == CD_OP_SGT) {
        cd__item it = x;
        x = y;
        y = it;
        op = op == CD_OP_GT ? CD_OP_LT : CD_OP_SLT;
    }
    if (cd__is_const(x) && cd__is_const(y)) {
        cd_u256 r = fold(op, cd__const_of(t, x), cd__const_of(t, y));
        cd__block_push_const(t, &r);
        return;
    }
    binary_forms f = binary_forms_of(op);
    if (f.commutes && cd__is_const(x)) {
        cd__item it = x;
        x = y;
        y = it;
    }
    if (cd__is_const(x) || cd__is_const(y)) {
        if (reduced(t, op, x, y)) {
            return;
        }
        if (cd__is_const(y) && f.sc != CD__CELL_OPS) {
            with_const(t, f.sc, x, cd__const_of(t, y));
            return;
        }
        if (cd__is_const(x) && f.cs != CD__CELL_OPS) {
            with_const(t, f.cs, y, cd__const_of(t, x));
            return;
        }
    }
    cd__put_slots(t, f.ss, x, y);
}

void cd__put_is_zero(cd__translation *t)
{
    cd__item x = cd__block_pop(t);
    if (cd__is_const(x)) {
        cd__put_number(t, cd_u256_is_zero(cd__const_of(t, x)));
        return;
    }
    if (cd__block_is_fresh(t, x) && cd__is_comparison(t->cells[t->cnt - 1].op)) {
        t->cells[t->cnt - 1].op ^= 1;
        cd__block_push(t, x);
        return;
    }
    cd__put_immediate(t, CD__CELL_ZERO, x, 0);
}

void cd__put_not(cd__translation *t)
{
    cd__item x = cd__block_pop(t);
    if (cd__is_const(x)) {
        cd_u256 r;
        cd_u256_not(&r, cd__const_of(t, x));
        cd__block_push_const(t, &r);
        return;
    }
    cd__put_immediate(t, CD__CELL_NOT, x, 0);
}

void cd__put_ternary(cd__translation *t, cd__cell_op op)
{
    cd__item a = cd__block_in_slot(t, cd__block_pop(t));
    cd__item b = cd__block_in_slot(t, cd__block_pop(t));
    cd__item m = cd__block_in_slot(t, cd__block_pop(t));
    i16 from_a = cd__block_read(t, a);
    i16 from_b = cd__block_read(t, b);
    i16 from_m = cd__block_read(t, m);
    cd__cell *c = cd__block_cell(t, op);
    c->a = from_a;
    c->b = from_b;
    c->c = from_m;
    u32 at = t->cnt - 1;
    cd__block_release(t, a);
    cd__block_release(t, b);
    cd__block_release(t, m);
    i16 d = cd__block_result(t);
    t->cells[at].d = d;
}
