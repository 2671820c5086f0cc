/* Translates single instructions into cells: memory, storage, environment, and those that end a
 * block. */
#include "evm/interp/translate_priv.h"

/* small tells whether an item is a constant below a limit, and stores it in *v. */
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

/* load_word appends MLOAD or CALLDATALOAD; imm_op is their cell for a constant offset. */
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
    cd__put_immediate(t, op, cd__block_in_slot(t, off), 0);
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
    cd__put_slots(t, CD__CELL_KECCAK, off, len);
}

/* copy appends MCOPY: one cell if its three operands are small constants, else the function. */
static void copy(cd__translation *t)
{
    cd__item to = cd__block_pop(t);
    cd__item from = cd__block_pop(t);
    cd__item len = cd__block_pop(t);
    u64 v[3];
    if (small(t, &v[0], to, UINT16_MAX) && small(t, &v[1], from, UINT16_MAX) && small(t, &v[2], len, UINT16_MAX) &&
        v[2] != 0) {
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

/* given appends a cell that has a result but no operands on the stack. */
static void given(cd__translation *t, cd__cell_op op, u64 imm)
{
    cd__cell *c = cd__block_cell(t, op);
    c->imm = (u32)imm;
    u32 at = t->cnt - 1;
    i16 d = cd__block_result(t);
    t->cells[at].d = d;
}

/* --- ends of blocks --- */

/* target_of gives the byte that a jump to a constant goes to; link replaces it by a cell when all are known. */
static u32 target_of(const cd__translator *x, cd__item dest)
{
    u64 pc = cd_u256_to_u64_sat(cd__const_of(&x->t, dest));
    return pc < x->code->n && cd__is_jumpdest(x, pc) ? (u32)pc : CD__NO_TARGET;
}

void cd__put_fall(cd__translation *t)
{
    i16 moved = cd__block_flush(t);
    if (moved != 0) {
        cd__block_cell(t, CD__CELL_FALL)->d = moved;
    }
}

static void jump(cd__translator *x, cd__item dest)
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
    if (!cd__block_is_fresh(t, cond) || !cd__is_comparison(t->cells[t->cnt - 1].op)) {
        return false;
    }
    cd__cell c = t->cells[t->cnt - 1];
    bool one = cd__cell_forms[c.op] == CD__FORM_da;
    bool slots = cd__cell_forms[c.op] == CD__FORM_dab;
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

static void jump_if(cd__translator *x)
{
    cd__translation *t = &x->t;
    cd__item dest = cd__block_pop(t);
    cd__item cond = cd__block_pop(t);
    if (cd__is_const(cond)) {
        if (!cd_u256_is_zero(cd__const_of(t, cond))) {
            jump(x, dest);
        } else {
            cd__block_release(t, dest);
            cd__put_fall(t);
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

/* output appends RETURN or REVERT; the rest of the stack need not be brought home. */
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

/* --- all of them --- */

bool cd__put_instruction(cd__translator *x, u8 op, const cd_op_info *info, usize pc, u64 ahead)
{
    cd__translation *t = &x->t;
    if (op >= CD_OP_PUSH1 && op <= CD_OP_PUSH32) {
        cd_u256 v;
        cd_u256_load_be_n(&v, x->code->bytes + pc + 1, cd__length_of(op) - 1);
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
        cd__put_binary(t, op);
        break;
    case CD_OP_ADDMOD:
        cd__put_ternary(t, CD__CELL_ADDMOD);
        break;
    case CD_OP_MULMOD:
        cd__put_ternary(t, CD__CELL_MULMOD);
        break;
    case CD_OP_ISZERO:
        cd__put_is_zero(t);
        break;
    case CD_OP_NOT:
        cd__put_not(t);
        break;
    case CD_OP_POP:
        cd__block_release(t, cd__block_pop(t));
        break;
    case CD_OP_PUSH0:
        cd__put_number(t, 0);
        break;
    case CD_OP_PC:
        cd__put_number(t, pc);
        break;
    case CD_OP_CODESIZE:
        cd__put_number(t, x->code->n);
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
        cd__put_immediate(t, CD__CELL_SLOAD, cd__block_in_slot(t, cd__block_pop(t)), 0);
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
