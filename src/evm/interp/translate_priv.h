/* evm/interp/translate_priv.h - the symbolic stack of the block that is being translated to cells.
 *
 *   position   -2    -1     0     1     2         0 = top of the stack when the block starts
 *   item      slot  slot   slot  const slot       what the position holds: the contents of a slot, or a
 *              -2     2     0      9    -1        constant that no slot holds yet
 *
 * DUP, SWAP, POP and PUSH change items only. refs counts the items that name a slot: a slot without
 * any may be overwritten. Results go to the slot of their position if it is free, else to another
 * one; at the end of a block cd__block_flush brings every item home. Threading: confined. */
#ifndef CD_EVM_TRANSLATE_PRIV_H
#define CD_EVM_TRANSLATE_PRIV_H

#include "evm/evm_priv.h"
#include "evm/interp/cells_priv.h"

enum {
    /* A block ends after this many instructions, or when it needs more than so many items at its start. */
    CD__BLOCK_OPS = 256,
    CD__BLOCK_REACH = 880,
    /* Positions and slots run from -CENTER to CENTER - 1. */
    CD__CENTER = 1024,
    CD__POSITIONS = 2 * CD__CENTER,
};

/* What a position holds: constant number cnst of the block, or when that is -1 the contents of
 * slot. */
typedef struct cd__item {
    i16 slot;
    i16 cnst;
} cd__item;

/* A slot's history in the block; cell numbers count from 1, 0 = never. */
typedef struct cd__slot_use {
    u32 refs;
    u32 touched; /* last cell that read or wrote it */
    u32 read;    /* last cell that read it */
    u32 made_by; /* the cell whose result it holds, if that cell may be given another slot for it; else 0 */
} cd__slot_use;

typedef struct cd__translation {
    cd__cell *cells;
    u32 cnt;
    u32 cap;
    cd_u256 *pool;
    u32 pool_cnt;
    u32 pool_cap;

    /* The current block. */
    i32 top;   /* position of the top item */
    i32 low;   /* lowest position whose item was looked at; below, every item is at home */
    i32 high;  /* highest slot used */
    u32 first; /* index of the block's first cell */
    u32 cnst_cnt;
    cd_u256 cnst[2 * CD__BLOCK_OPS];
    cd__item items[CD__POSITIONS];
    cd__slot_use slots[CD__POSITIONS];
} cd__translation;

/* cd__block_open starts a block whose first cell will be the next one; cd__block_close forgets its slots. */
void cd__block_open(cd__translation *t);
void cd__block_close(cd__translation *t);

/* cd__block_cell appends a cell; the pointer is valid until the next one is appended. */
cd__cell *cd__block_cell(cd__translation *t, cd__cell_op op);

/* Items of the stack. A popped item keeps its reference to a slot until cd__block_release; pushing it
 * back keeps that reference, and cd__block_dup adds one. */
cd__item cd__block_pop(cd__translation *t);
void cd__block_release(cd__translation *t, cd__item it);
void cd__block_push(cd__translation *t, cd__item it);
void cd__block_push_const(cd__translation *t, const cd_u256 *v);
void cd__block_dup(cd__translation *t, u32 n);
void cd__block_swap(cd__translation *t, u32 n);

CD_INLINE bool cd__is_const(cd__item it)
{
    return it.cnst >= 0;
}

CD_INLINE const cd_u256 *cd__const_of(const cd__translation *t, cd__item it)
{
    return &t->cnst[it.cnst];
}

/* cd__block_in_slot gives an item that is in a slot: a constant is loaded into a free one. */
cd__item cd__block_in_slot(cd__translation *t, cd__item it);

/* cd__block_read gives the offset of an item's slot and notes that the next cell reads it. */
i16 cd__block_read(cd__translation *t, cd__item it);

/* cd__block_result pushes the result of the cell appended last and gives the offset of its slot.
 * Operands must have been released. */
i16 cd__block_result(cd__translation *t);

/* cd__block_is_fresh tells whether the item is the result of the last cell and has no second reference. */
bool cd__block_is_fresh(const cd__translation *t, cd__item it);

/* cd__block_function appends the call of an instruction that is a function, with `in` operands, which
 * are brought into neighbouring slots, and `out` results (0 or 1). */
void cd__block_function(cd__translation *t, u8 op, u32 in, u32 out);

/* cd__block_survive keeps a popped item readable over the flush, moving it if its slot will be
 * overwritten. */
cd__item cd__block_survive(cd__translation *t, cd__item it);

/* cd__block_is_stable tells whether cd__block_flush will leave a slot, given as offset, as it is. */
bool cd__block_is_stable(const cd__translation *t, i16 offset);

/* cd__block_hold adds a reference to a slot given as offset. */
void cd__block_hold(cd__translation *t, i16 offset);

/* cd__block_flush brings all items home and gives the bytes by which the stack pointer has to move. */
i16 cd__block_flush(cd__translation *t);

/* cd__pool_add gives the number of a constant in the pool, adding it if needed. */
i32 cd__pool_add(cd__translation *t, const cd_u256 *v);

/* --- the code around the block --- */

/* The forms of cells.def, and which one each kind of cell has. */
typedef enum cd__form {
    CD__FORM_dab,
    CD__FORM_dak,
    CD__FORM_da,
    CD__FORM_sabx,
    CD__FORM_sakx,
    CD__FORM_sat,
    CD__FORM_dai,
    CD__FORM_dabc,
    CD__FORM_ab,
    CD__FORM_di,
    CD__FORM_dk,
    CD__FORM_ai,
    CD__FORM_dii,
    CD__FORM_iii,
    CD__FORM_d,
    CD__FORM_si,
    CD__FORM_check,
    CD__FORM_s,
    CD__FORM_g,
    CD__FORM_st,
    CD__FORM_sa,
    CD__FORM_sab,
    CD__FORM_none,
    CD__FORM_a,
    CD__FORM_i,
    CD__FORM_t,
} cd__form;
extern const u8 cd__cell_forms[CD__CELL_OPS];

/* Stands for the byte that a jump goes to when there is no JUMPDEST. */
#define CD__NO_TARGET UINT32_MAX

typedef struct cd__translator {
    cd__translation t;
    const cd__code *code;
    cd_fork fork;
    u32 *targets; /* index of the cell of each JUMPDEST, in order */
    u32 target_cnt;
} cd__translator;

CD_INLINE bool cd__is_jumpdest(const cd__translator *x, usize pc)
{
    return pc < x->code->n && (x->code->jumps[pc >> 6] >> (pc & 63) & 1) != 0;
}

/* cd__length_of gives the length of an instruction with its push data, in bytes. */
CD_INLINE usize cd__length_of(u8 op)
{
    return op >= CD_OP_PUSH1 && op <= CD_OP_PUSH32 ? (usize)op - CD_OP_PUSH1 + 2 : 1;
}

CD_INLINE bool cd__is_comparison(u64 op)
{
    return op <= CD__CELL_NONZERO;
}

/* --- instructions (translate_arith.c, translate_inst.c) --- */

/* cd__put_instruction translates one; ahead is the gas that the block has charged for the instructions
 * behind it. False: the code does not go on behind it. */
bool cd__put_instruction(cd__translator *x, u8 op, const cd_op_info *info, usize pc, u64 ahead);

/* cd__put_fall ends a block behind which the code goes on. */
void cd__put_fall(cd__translation *t);

/* cd__put_number pushes a constant. The others append an operation and push its result: on one slot and
 * a 32-bit number, or on two items, which are brought into slots. */
void cd__put_number(cd__translation *t, u64 v);
void cd__put_immediate(cd__translation *t, cd__cell_op op, cd__item a, u64 imm);
void cd__put_slots(cd__translation *t, cd__cell_op op, cd__item a, cd__item b);

/* Instructions without side effects. cd__put_binary: op is the byte of one with two operands;
 * cd__put_ternary: op is the cell of ADDMOD or MULMOD. */
void cd__put_binary(cd__translation *t, u8 op);
void cd__put_is_zero(cd__translation *t);
void cd__put_not(cd__translation *t);
void cd__put_ternary(cd__translation *t, cd__cell_op op);

#endif
