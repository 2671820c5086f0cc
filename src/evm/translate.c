/* The translator of tier 1: finds basic blocks, decodes them into cells, links jumps. */
#include "evm/cells_priv.h"
#include "evm/translate_priv.h"

#include "base/mem.h"
#include "num/div.h"

/* A jump to the JUMPDEST at byte pc; anything else fails. */
#define NO_TARGET UINT32_MAX

/* The forms of cells.def. */
typedef enum form {
    FORM_dab,
    FORM_dak,
    FORM_da,
    FORM_sabx,
    FORM_sakx,
    FORM_sat,
    FORM_dai,
    FORM_dabc,
    FORM_ab,
    FORM_di,
    FORM_dk,
    FORM_ai,
    FORM_dii,
    FORM_iii,
    FORM_d,
    FORM_si,
    FORM_check,
    FORM_s,
    FORM_g,
    FORM_st,
    FORM_sa,
    FORM_sab,
    FORM_none,
    FORM_a,
    FORM_i,
    FORM_t,
} form;

static const u8 forms[CD__CELL_OPS] = {
#define X(name, form) [CD__CELL_##name] = FORM_##form,
#include "evm/cells.def"
#undef X
};

/* What is being translated, around the current block. */
typedef struct translator {
    cd__translation t;
    const cd__code *code;
    cd_fork fork;
    u32 *targets; /* cell of each JUMPDEST */
    u32 target_cnt;
} translator;

/* A block as the first look finds it. */
typedef struct extent {
    usize start; /* of its first instruction, behind JUMPDESTs */
    usize end;   /* behind its last one */
    u64 gas;
    i32 need;   /* items it needs at its start */
    i32 growth; /* highest it gets above its start */
} extent;

static bool is_jumpdest(const translator *x, usize pc)
{
    return pc < x->code->n && (x->code->jumps[pc >> 6] >> (pc & 63) & 1) != 0;
}

/* op_at gives the instruction at pc; behind the code it is a STOP. *info is NULL for an undefined
 * one. */
static u8 op_at(const translator *x, const cd_op_info **info, usize pc)
{
    u8 op = pc < x->code->n ? x->code->bytes[pc] : CD_OP_STOP;
    const cd_op_info *i = cd_op_info_get(op);
    *info = i->name != NULL && i->since <= x->fork ? i : NULL;
    return op;
}

static usize length_of(u8 op)
{
    return op >= CD_OP_PUSH1 && op <= CD_OP_PUSH32 ? (usize)op - CD_OP_PUSH1 + 2 : 1;
}

/* ends_block: nothing behind op belongs to its block. */
static bool ends_block(u8 op)
{
    switch (op) {
    case CD_OP_STOP:
    case CD_OP_JUMP:
    case CD_OP_JUMPI:
    case CD_OP_RETURN:
    case CD_OP_REVERT:
    case CD_OP_SELFDESTRUCT:
    case CD_OP_CALL:
    case CD_OP_CALLCODE:
    case CD_OP_DELEGATECALL:
    case CD_OP_STATICCALL:
    case CD_OP_CREATE:
    case CD_OP_CREATE2:
        return true;
    default:
        return false;
    }
}

/* measure finds the end of the block at start and sums up what it needs. */
static extent measure(const translator *x, usize start)
{
    extent e = {.start = start};
    i32 height = 0;
    usize pc = start;
    for (u32 cnt = 0; cnt < CD__BLOCK_OPS; cnt++) {
        if (is_jumpdest(x, pc)) {
            break;
        }
        const cd_op_info *info;
        u8 op = op_at(x, &info, pc);
        pc += length_of(op);
        if (info == NULL) {
            break;
        }
        e.gas += info->gas;
        i32 need = info->in - height;
        e.need = need > e.need ? need : e.need;
        height += info->out - info->in;
        e.growth = height > e.growth ? height : e.growth;
        if (ends_block(op) || e.need > CD__BLOCK_REACH) {
            break;
        }
    }
    e.end = pc;
    return e;
}

/* --- instructions ------------------------------------------------------------------------------- */

static void number(cd__translation *t, u64 v)
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
    cd__cell_op cs; /* the other way round */
    bool commutes;
} binary_forms;

static binary_forms binary_forms_of(u8 op)
{
#define FORMS(name, s, c, com)                                                                     \
    case CD_OP_##name:                                                                             \
        return (binary_forms)                                                                      \
        {                                                                                          \
            .ss = CD__CELL_##name##_SS, .sc = (s), .cs = (c), .commutes = (com)                    \
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

/* immediate appends op with slot a and a 32-bit number. */
static void immediate(cd__translation *t, cd__cell_op op, cd__item a, u64 imm)
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
    immediate(t, op, a, (u64)(u32)cd__pool_add(t, k));
}

/* with_slots appends op with two slots. */
static void with_slots(cd__translation *t, cd__cell_op op, cd__item a, cd__item b)
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
            immediate(t,
                      op == CD_OP_SHL   ? CD__CELL_SHL_I
                      : op == CD_OP_SHR ? CD__CELL_SHR_I
                                        : CD__CELL_SAR_I,
                      y, cd_min_u64(small, 256));
            return true;
        case CD_OP_BYTE:
            immediate(t, CD__CELL_BYTE_I, y, cd_min_u64(small, 32));
            return true;
        case CD_OP_SIGNEXTEND:
            if (small >= 31) {
                cd__block_push(t, y);
            } else {
                immediate(t, CD__CELL_SIGNEXTEND_I, y, small);
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
            immediate(t, CD__CELL_SHL_I, x, n);
            return true;
        }
        return false;
    case CD_OP_DIV:
        if (log2_of(&n, &k)) {
            immediate(t, CD__CELL_SHR_I, x, n);
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

static void binary(cd__translation *t, u8 op)
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
    with_slots(t, f.ss, x, y);
}

static bool is_comparison(u64 op)
{
    return op <= CD__CELL_NONZERO;
}

static void is_zero(cd__translation *t)
{
    cd__item x = cd__block_pop(t);
    if (cd__is_const(x)) {
        number(t, cd_u256_is_zero(cd__const_of(t, x)));
        return;
    }
    if (cd__block_is_fresh(t, x) && is_comparison(t->cells[t->cnt - 1].op)) {
        t->cells[t->cnt - 1].op ^= 1;
        cd__block_push(t, x);
        return;
    }
    immediate(t, CD__CELL_ZERO, x, 0);
}

static void bit_not(cd__translation *t)
{
    cd__item x = cd__block_pop(t);
    if (cd__is_const(x)) {
        cd_u256 r;
        cd_u256_not(&r, cd__const_of(t, x));
        cd__block_push_const(t, &r);
        return;
    }
    immediate(t, CD__CELL_NOT, x, 0);
}

/* ternary appends ADDMOD or MULMOD. */
static void ternary(cd__translation *t, cd__cell_op op)
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

/* small tells whether an item is a constant below a limit. */
static bool small(const cd__translation *t, u64 *v, cd__item it, u64 limit)
{
    if (!cd__is_const(it)) {
        return false;
    }
    *v = cd_u256_to_u64_sat(cd__const_of(t, it));
    return *v < limit;
}

/* The highest constant offset that memory cells carry. */
enum { OFFSET_LIMIT = 1 << 30 };

/* load_word appends MLOAD or CALLDATALOAD: imm_op for a constant offset. */
static void load_word(cd__translation *t, cd__cell_op op, cd__cell_op imm_op)
{
    cd__item off = cd__block_pop(t);
    u64 at;
    if (small(t, &at, off, OFFSET_LIMIT)) {
        cd__cell *c = cd__block_cell(t, imm_op);
        c->imm = (u32)at;
        u32 i = t->cnt - 1;
        i16 d = cd__block_result(t);
        t->cells[i].d = d;
        return;
    }
    immediate(t, op, cd__block_in_slot(t, off), 0);
}

static void store_word(cd__translation *t)
{
    cd__item off = cd__block_pop(t);
    cd__item val = cd__block_in_slot(t, cd__block_pop(t));
    u64 at;
    if (small(t, &at, off, OFFSET_LIMIT)) {
        i16 from = cd__block_read(t, val);
        cd__cell *c = cd__block_cell(t, CD__CELL_MSTORE_I);
        c->a = from;
        c->imm = (u32)at;
    } else {
        off = cd__block_in_slot(t, off);
        i16 from_off = cd__block_read(t, off);
        i16 from_val = cd__block_read(t, val);
        cd__cell *c = cd__block_cell(t, CD__CELL_MSTORE);
        c->a = from_off;
        c->b = from_val;
        cd__block_release(t, off);
    }
    cd__block_release(t, val);
}

static void store_byte(cd__translation *t)
{
    cd__item off = cd__block_in_slot(t, cd__block_pop(t));
    cd__item val = cd__block_in_slot(t, cd__block_pop(t));
    i16 from_off = cd__block_read(t, off);
    i16 from_val = cd__block_read(t, val);
    cd__cell *c = cd__block_cell(t, CD__CELL_MSTORE8);
    c->a = from_off;
    c->b = from_val;
    cd__block_release(t, off);
    cd__block_release(t, val);
}

static void hash(cd__translation *t)
{
    cd__item off = cd__block_pop(t);
    cd__item len = cd__block_pop(t);
    u64 at;
    u64 n;
    if (small(t, &at, off, UINT16_MAX) && small(t, &n, len, UINT16_MAX)) {
        cd__cell *c = cd__block_cell(t, CD__CELL_KECCAK_I);
        c->off = (u16)at;
        c->len = (u16)n;
        u32 i = t->cnt - 1;
        i16 d = cd__block_result(t);
        t->cells[i].d = d;
        return;
    }
    with_slots(t, CD__CELL_KECCAK, off, len);
}

/* copy appends an MCOPY whose three operands are small constants, or the function. */
static void copy(cd__translation *t)
{
    cd__item to = cd__block_pop(t);
    cd__item from = cd__block_pop(t);
    cd__item len = cd__block_pop(t);
    u64 v[3];
    if (small(t, &v[0], to, UINT16_MAX) && small(t, &v[1], from, UINT16_MAX) &&
        small(t, &v[2], len, UINT16_MAX) && v[2] != 0) {
        cd__cell *c = cd__block_cell(t, CD__CELL_MCOPY_I);
        c->copy.to = (u16)v[0];
        c->copy.from = (u16)v[1];
        c->copy.len = (u32)v[2];
        return;
    }
    cd__block_push(t, len);
    cd__block_push(t, from);
    cd__block_push(t, to);
    cd__block_function(t, CD_OP_MCOPY, 3, 0);
}

static void store_slot(cd__translation *t, u64 ahead)
{
    cd__item key = cd__block_in_slot(t, cd__block_pop(t));
    cd__item val = cd__block_in_slot(t, cd__block_pop(t));
    i16 from_key = cd__block_read(t, key);
    i16 from_val = cd__block_read(t, val);
    cd__cell *c = cd__block_cell(t, CD__CELL_SSTORE);
    c->d = from_key;
    c->a = from_val;
    c->imm = (u32)ahead;
    cd__block_release(t, key);
    cd__block_release(t, val);
}

/* given appends a cell without operands. */
static void given(cd__translation *t, cd__cell_op op, u64 imm)
{
    cd__cell *c = cd__block_cell(t, op);
    c->imm = (u32)imm;
    u32 at = t->cnt - 1;
    i16 d = cd__block_result(t);
    t->cells[at].d = d;
}

/* --- ends of blocks ----------------------------------------------------------------------------- */

/* target_of gives the jump target a constant names; links resolve it when all cells are known. */
static u32 target_of(const translator *x, cd__item dest)
{
    u64 pc = cd_u256_to_u64_sat(cd__const_of(&x->t, dest));
    return pc < x->code->n && is_jumpdest(x, pc) ? (u32)pc : NO_TARGET;
}

static void fall(cd__translation *t)
{
    i16 moved = cd__block_flush(t);
    if (moved != 0) {
        cd__block_cell(t, CD__CELL_FALL)->d = moved;
    }
}

static void jump(translator *x, cd__item dest)
{
    cd__translation *t = &x->t;
    if (cd__is_const(dest)) {
        u32 target = target_of(x, dest);
        i16 moved = cd__block_flush(t);
        cd__cell *c = cd__block_cell(t, CD__CELL_JUMP);
        c->d = moved;
        c->imm = target;
        return;
    }
    dest = cd__block_survive(t, dest);
    i16 moved = cd__block_flush(t);
    i16 from = cd__block_read(t, dest);
    cd__cell *c = cd__block_cell(t, CD__CELL_JUMP_DYN);
    c->d = moved;
    c->a = from;
}

/* fused_jump makes the comparison that was appended last the condition of a jump, if its operands
 * stay where they are until then. */
static bool fused_jump(cd__translation *t, cd__item cond, u32 target)
{
    if (!cd__block_is_fresh(t, cond) || !is_comparison(t->cells[t->cnt - 1].op)) {
        return false;
    }
    cd__cell c = t->cells[t->cnt - 1];
    bool one = forms[c.op] == FORM_da;
    bool slots = forms[c.op] == FORM_dab;
    if (!cd__block_is_stable(t, c.a) || (slots && !cd__block_is_stable(t, c.b))) {
        return false;
    }
    t->cnt--;
    cd__block_release(t, cond);
    cd__block_hold(t, c.a);
    if (slots) {
        cd__block_hold(t, c.b);
    }
    c.op += CD__CELL_J_LT_SS - CD__CELL_LT_SS;
    c.d = cd__block_flush(t);
    if (one) {
        c.imm = target;
    }
    *cd__block_cell(t, (cd__cell_op)c.op) = c;
    if (!one) {
        cd__block_cell(t, CD__CELL_EXTENSION)->imm = target;
    }
    return true;
}

static void jump_if(translator *x)
{
    cd__translation *t = &x->t;
    cd__item dest = cd__block_pop(t);
    cd__item cond = cd__block_pop(t);
    if (cd__is_const(cond)) {
        if (!cd_u256_is_zero(cd__const_of(t, cond))) {
            jump(x, dest);
        } else {
            cd__block_release(t, dest);
            fall(t);
        }
        return;
    }
    if (!cd__is_const(dest)) {
        dest = cd__block_survive(t, dest);
        cond = cd__block_survive(t, cond);
        i16 moved = cd__block_flush(t);
        i16 from_dest = cd__block_read(t, dest);
        i16 from_cond = cd__block_read(t, cond);
        cd__cell *c = cd__block_cell(t, CD__CELL_JUMPI_DYN);
        c->d = moved;
        c->a = from_dest;
        c->b = from_cond;
        return;
    }
    u32 target = target_of(x, dest);
    if (fused_jump(t, cond, target)) {
        return;
    }
    cond = cd__block_survive(t, cond);
    i16 moved = cd__block_flush(t);
    i16 from = cd__block_read(t, cond);
    cd__cell *c = cd__block_cell(t, CD__CELL_J_NONZERO);
    c->d = moved;
    c->a = from;
    c->imm = target;
}

static void message(cd__translation *t, cd_call_kind kind)
{
    i16 moved = cd__block_flush(t);
    cd__cell *c = cd__block_cell(t, CD__CELL_MESSAGE);
    c->d = moved;
    c->imm = kind;
}

/* output appends RETURN or REVERT: nothing else of the stack matters any more. */
static void output(cd__translation *t, cd__cell_op op)
{
    cd__item off = cd__block_in_slot(t, cd__block_pop(t));
    cd__item len = cd__block_in_slot(t, cd__block_pop(t));
    i16 from_off = cd__block_read(t, off);
    i16 from_len = cd__block_read(t, len);
    cd__cell *c = cd__block_cell(t, op);
    c->a = from_off;
    c->b = from_len;
}

/* --- blocks ------------------------------------------------------------------------------------- */

/* instruction translates one; ahead is the gas of the block charged for what follows it. False:
 * nothing behind it is reached from here. */
static bool instruction(translator *x, u8 op, const cd_op_info *info, usize pc, u64 ahead)
{
    cd__translation *t = &x->t;
    if (op >= CD_OP_PUSH1 && op <= CD_OP_PUSH32) {
        cd_u256 v;
        cd_u256_load_be_n(&v, x->code->bytes + pc + 1, length_of(op) - 1);
        cd__block_push_const(t, &v);
        return true;
    }
    if (op >= CD_OP_DUP1 && op <= CD_OP_DUP16) {
        cd__block_dup(t, (u32)(op - CD_OP_DUP1) + 1);
        return true;
    }
    if (op >= CD_OP_SWAP1 && op <= CD_OP_SWAP16) {
        cd__block_swap(t, (u32)(op - CD_OP_SWAP1) + 1);
        return true;
    }
    switch (op) {
    case CD_OP_ADD:
    case CD_OP_MUL:
    case CD_OP_SUB:
    case CD_OP_DIV:
    case CD_OP_SDIV:
    case CD_OP_MOD:
    case CD_OP_SMOD:
    case CD_OP_SIGNEXTEND:
    case CD_OP_LT:
    case CD_OP_GT:
    case CD_OP_SLT:
    case CD_OP_SGT:
    case CD_OP_EQ:
    case CD_OP_AND:
    case CD_OP_OR:
    case CD_OP_XOR:
    case CD_OP_BYTE:
    case CD_OP_SHL:
    case CD_OP_SHR:
    case CD_OP_SAR:
        binary(t, op);
        break;
    case CD_OP_ADDMOD:
        ternary(t, CD__CELL_ADDMOD);
        break;
    case CD_OP_MULMOD:
        ternary(t, CD__CELL_MULMOD);
        break;
    case CD_OP_ISZERO:
        is_zero(t);
        break;
    case CD_OP_NOT:
        bit_not(t);
        break;
    case CD_OP_POP:
        cd__block_release(t, cd__block_pop(t));
        break;
    case CD_OP_PUSH0:
        number(t, 0);
        break;
    case CD_OP_PC:
        number(t, pc);
        break;
    case CD_OP_CODESIZE:
        number(t, x->code->n);
        break;
    case CD_OP_MLOAD:
        load_word(t, CD__CELL_MLOAD, CD__CELL_MLOAD_I);
        break;
    case CD_OP_CALLDATALOAD:
        load_word(t, CD__CELL_CALLDATALOAD, CD__CELL_CALLDATALOAD_I);
        break;
    case CD_OP_MSTORE:
        store_word(t);
        break;
    case CD_OP_MSTORE8:
        store_byte(t);
        break;
    case CD_OP_KECCAK256:
        hash(t);
        break;
    case CD_OP_MCOPY:
        copy(t);
        break;
    case CD_OP_SLOAD:
        immediate(t, CD__CELL_SLOAD, cd__block_in_slot(t, cd__block_pop(t)), 0);
        break;
    case CD_OP_SSTORE:
        store_slot(t, ahead);
        break;
    case CD_OP_ADDRESS:
        given(t, CD__CELL_ADDRESS, 0);
        break;
    case CD_OP_CALLER:
        given(t, CD__CELL_CALLER, 0);
        break;
    case CD_OP_CALLVALUE:
        given(t, CD__CELL_CALLVALUE, 0);
        break;
    case CD_OP_CALLDATASIZE:
        given(t, CD__CELL_CALLDATASIZE, 0);
        break;
    case CD_OP_RETURNDATASIZE:
        given(t, CD__CELL_RETURNDATASIZE, 0);
        break;
    case CD_OP_MSIZE:
        given(t, CD__CELL_MSIZE, 0);
        break;
    case CD_OP_GAS:
        given(t, CD__CELL_GAS, ahead);
        break;
    case CD_OP_JUMP:
        jump(x, cd__block_pop(t));
        return false;
    case CD_OP_JUMPI:
        jump_if(x);
        break;
    case CD_OP_STOP:
        cd__block_cell(t, CD__CELL_STOP);
        return false;
    case CD_OP_RETURN:
        output(t, CD__CELL_RETURN);
        return false;
    case CD_OP_REVERT:
        output(t, CD__CELL_REVERT);
        return false;
    case CD_OP_SELFDESTRUCT: {
        cd__item to = cd__block_in_slot(t, cd__block_pop(t));
        i16 from = cd__block_read(t, to);
        cd__block_cell(t, CD__CELL_SELFDESTRUCT)->a = from;
        return false;
    }
    case CD_OP_CALL:
        message(t, CD_CALL);
        break;
    case CD_OP_CALLCODE:
        message(t, CD_CALLCODE);
        break;
    case CD_OP_DELEGATECALL:
        message(t, CD_DELEGATECALL);
        break;
    case CD_OP_STATICCALL:
        message(t, CD_STATICCALL);
        break;
    case CD_OP_CREATE:
        message(t, CD_CREATE);
        break;
    case CD_OP_CREATE2:
        message(t, CD_CREATE2);
        break;
    default:
        cd__block_function(t, op, info->in, info->out);
        break;
    }
    return true;
}

/* body translates the instructions of a block behind its BLOCK cell. False: what follows is not
 * reached. */
static bool body(translator *x, const extent *e, u64 gas_ahead)
{
    cd__translation *t = &x->t;
    bool reached = true;
    bool ended = false;
    cd__block_open(t);
    for (usize pc = e->start; pc < e->end && !ended;) {
        const cd_op_info *info;
        u8 op = op_at(x, &info, pc);
        if (info == NULL) {
            cd__block_cell(t, CD__CELL_FAIL)->imm = CD_EVM_INVALID_OPCODE;
            reached = false;
            ended = true;
            break;
        }
        gas_ahead -= info->gas;
        reached = instruction(x, op, info, pc, gas_ahead);
        ended = ends_block(op);
        pc += length_of(op);
    }
    if (!ended) {
        fall(t);
    }
    cd__block_close(t);
    return reached;
}

static void set_check(cd__cell *c, const extent *e, u64 gas)
{
    i32 most = CD__STACK_MAX - e->growth; /* items at the start */
    c->block.gas = (u32)gas;
    c->block.min = (u16)(e->need * 32);
    c->block.range = (u16)((most - e->need) * 32);
}

/* block translates the block at *pc and sets *pc behind it. False: what follows is not reached. In
 * a run of JUMPDESTs each one gets a stub that charges for the rest of the run and goes to the code
 * behind it. */
static bool block(translator *x, usize *pc)
{
    cd__translation *t = &x->t;
    u32 run = 0;
    while (is_jumpdest(x, *pc + run)) {
        run++;
    }
    extent e = measure(x, *pc + run);
    bool possible = e.need + e.growth <= CD__STACK_MAX;
    if (!possible) {
        e.need = 0;
        e.growth = 0;
    }
    u32 first = t->cnt;
    for (u32 i = 0; i < run; i++) {
        x->targets[x->target_cnt++] = t->cnt;
        if (i + 1 < run) {
            set_check(cd__block_cell(t, CD__CELL_BLOCK), &e, e.gas + run - i);
            cd__block_cell(t, CD__CELL_GOTO)->imm = first + 2 * run - 1;
        }
    }
    set_check(cd__block_cell(t, CD__CELL_BLOCK), &e, e.gas + (run != 0));
    *pc = e.end;
    if (!possible) {
        cd__block_cell(t, CD__CELL_FAIL)->imm = CD_EVM_STACK_OVERFLOW;
        return false;
    }
    return body(x, &e, e.gas);
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* next_jumpdest gives the first one at or behind pc, or the length of the code. */
static usize next_jumpdest(const translator *x, usize pc)
{
    while (pc < x->code->n) {
        u64 word = x->code->jumps[pc >> 6] >> (pc & 63);
        if (word != 0) {
            return pc + (usize)__builtin_ctzll(word);
        }
        pc = (pc | 63) + 1;
    }
    return x->code->n;
}

/* target_cell gives the number of the cell that a jump to byte pc goes to. */
static u32 target_cell(const translator *x, u32 pc, const u32 *ranks)
{
    if (pc == NO_TARGET) {
        return CD__CELL_BAD_JUMP;
    }
    u64 below = (1ULL << (pc & 63)) - 1;
    u64 word = x->code->jumps[pc >> 6];
    return x->targets[ranks[pc >> 6] + (u32)__builtin_popcountll(word & below)];
}

/* link turns what was collected into the final form: one allocation, addresses and distances. */
static cd__cells *link(const translator *x)
{
    const cd__translation *t = &x->t;
    usize words = x->code->n / 64 + 1;
    usize cells_size = t->cnt * sizeof(cd__cell);
    usize pool_size = t->pool_cnt * sizeof(cd_u256);
    usize size = sizeof(cd__cells) + cells_size + pool_size + (words + x->target_cnt) * sizeof(u32);
    cd__cells *out = cd_alloc(size);
    cd_u256 *pool = (cd_u256 *)(void *)(out->cells + t->cnt);
    u32 *ranks = (u32 *)(void *)(pool + t->pool_cnt);
    u32 *targets = ranks + words;
    u32 rank = 0;
    for (usize i = 0; i < words; i++) {
        ranks[i] = rank;
        rank += (u32)__builtin_popcountll(x->code->jumps[i]);
    }
    CD_ASSERT(rank == x->target_cnt);
    if (pool_size != 0) {
        memcpy(pool, t->pool, pool_size);
    }
    if (rank != 0) {
        memcpy(targets, x->targets, rank * sizeof *targets);
    }
    out->fork = x->fork;
    out->size = size;
    out->jumps = x->code->jumps;
    out->n = x->code->n;
    out->ranks = ranks;
    out->targets = targets;
    const void *const *handlers = cd__cell_handlers();
    for (u32 i = 0; i < t->cnt; i++) {
        cd__cell c = t->cells[i];
        const u8 *to = NULL;
        u8 shape = forms[c.op];
        if (shape == FORM_dak || shape == FORM_dk || shape == FORM_sakx) {
            to = (const u8 *)(pool + c.imm);
        } else if (shape == FORM_g) {
            to = (const u8 *)(out->cells + c.imm);
        } else if (shape == FORM_sat || shape == FORM_st || shape == FORM_t) {
            to = (const u8 *)(out->cells + target_cell(x, c.imm, ranks));
        }
        if (to != NULL) {
            c.rel = (i32)(to - (const u8 *)(out->cells + i));
        }
        c.handler = handlers[c.op];
        out->cells[i] = c;
    }
    return out;
}

void cd__cells_build(cd_evm *evm, cd__code *code)
{
    translator *x = cd_new(translator);
    x->code = code;
    x->fork = evm->fork;
    (void)cd__code_jumps(code);
    x->targets = cd_new_array(u32, code->n + 1);
    cd__translation *t = &x->t;
    /* CD__CELL_BAD_JUMP, which any gas and any stack may enter. */
    cd__block_cell(t, CD__CELL_BLOCK)->block.range = UINT16_MAX;
    cd__block_cell(t, CD__CELL_FAIL)->imm = CD_EVM_BAD_JUMP;
    bool reached = true;
    for (usize pc = 0; reached || pc < code->n;) {
        if (!reached) {
            pc = next_jumpdest(x, pc);
            if (pc == code->n) {
                break;
            }
        }
        reached = block(x, &pc);
    }
    cd__cells *cells = link(x);
    if (code->cells != NULL) {
        cd__code_grown(&evm->codes, code, -(i64)code->cells->size);
        cd__cells_free(code->cells);
    }
    code->cells = cells;
    cd__code_grown(&evm->codes, code, (i64)cells->size);
    cd_free(t->cells);
    cd_free(t->pool);
    cd_free(x->targets);
    cd_free(x);
}

void cd__cells_free(cd__cells *cells)
{
    cd_free(cells);
}

cd_fork cd__cells_fork(const cd__cells *cells)
{
    return cells->fork;
}

const void *cd__cells_start(const cd__cells *cells)
{
    return &cells->cells[CD__CELL_START];
}
