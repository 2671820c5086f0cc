/* evm/interp/cells_priv.h - what a cell is made of; shared by the translator and the interpreter of tier
 * 1.
 *
 * Threading: confined. */
#ifndef CD_EVM_CELLS_PRIV_H
#define CD_EVM_CELLS_PRIV_H

#include "evm/interp/cells.h"

typedef enum cd__cell_op {
#define X(name, form) CD__CELL_##name,
#include "evm/interp/cells.def"
#undef X
    CD__CELL_OPS
} cd__cell_op;

/* Slots are byte offsets from the stack pointer: 32 for the first item pushed in the block, 0 for
 * the top item at its start, -32 for the one below. rel is the distance in bytes from this cell to
 * another or to a constant. */
typedef struct cd__cell {
    union {
        const void *handler;
        u64 op; /* a cd__cell_op while translating */
    };
    union {
        struct {
            i16 d;
            i16 a;
            union {
                struct {
                    i16 b;
                    i16 c;
                };
                i32 rel;
                u32 imm;
                struct {
                    u16 off;
                    u16 len;
                };
            };
        };
        struct {
            u16 to;
            u16 from;
            u32 len;
        } copy;
        struct {
            u32 gas;   /* gas of the whole block, without dynamic parts */
            u16 min;   /* bytes that the stack must have at the start */
            u16 range; /* bytes that it may have at most beyond min */
        } block;
    };
} cd__cell;

_Static_assert(sizeof(cd__cell) == 16, "a cell is 16 bytes");

/* The cells of one code: a single allocation of this struct, the cells, the pool of constants, ranks and targets. */
struct cd__cells {
    cd_fork fork;
    usize size;
    const u64 *jumps;   /* the code's jump map */
    u64 n;              /* bytes of code */
    const u32 *ranks;   /* JUMPDESTs before each word of the map */
    const u32 *targets; /* index of the cell of each JUMPDEST, in order */
    cd__cell cells[];
};

/* Every translation begins with two cells, a block that fails as a bad jump; the code starts behind
 * them. */
enum { CD__CELL_BAD_JUMP = 0, CD__CELL_START = 2 };

/* cd__cell_handlers gives the addresses of the handlers by cd__cell_op. */
const void *const *cd__cell_handlers(void);

#endif
