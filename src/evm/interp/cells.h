/* evm/interp/cells.h - tier 1: byte code translated into cells, for code that runs often.
 *
 *   byte code                       cells, 16 bytes each
 *   ┌─ DUP2 DUP2 ADD SWAP2 POP  ──► BLOCK gas, stack limits     checked once for all that follows
 *   │  PUSH1 9 DUP2 LT              ADD   slot ← slot, slot     no cell for DUP, SWAP, POP, PUSH
 *   └─ PUSH2 x  JUMPI               J_LT  slot, constant, cell  compare and jump in one
 *
 * A basic block is run symbolically: the translator knows for each stack item whether it is in a
 * slot of the stack or a constant, so moving items about costs nothing until the block ends, where
 * every item goes to the slot that the next block expects it in. Operands are slots relative to the
 * stack pointer at the start of the block, or constants in a pool behind the cells. Gas and stack
 * height are checked at the block's start; instructions that see the gas left (GAS, SSTORE) know
 * what was charged ahead, calls end their block. A block that fails may do so earlier than in tier 0
 * or with another status; every such status takes all gas and reverts the frame, so results are the
 * same.
 *
 * Translation is linear in the size of the code but for a bounded search within a block. Threading:
 * confined. [spec:evm-performance#1] [spec:evm-performance#2] */
#ifndef CD_EVM_CELLS_H
#define CD_EVM_CELLS_H

#include "evm/evm.h"
#include "evm/interp/code.h"

typedef struct cd__cells cd__cells;

/* cd__cells_build translates code under the EVM's fork and attaches the result (charged to the
 * cache; cd__code_keep_cells says which code may be given). */
void cd__cells_build(cd_evm *evm, cd__code *code);

/* cd__cells_free releases cells; NULL is allowed. */
void cd__cells_free(cd__cells *cells);

/* cd__cells_fork gives the fork that the cells are for, _start the cell where a frame starts, and _at the cell of the
 * JUMPDEST at byte pc. */
cd_fork cd__cells_fork(const cd__cells *cells);
const void *cd__cells_start(const cd__cells *cells);
const void *cd__cells_at(const cd__cells *cells, usize pc);

#endif
