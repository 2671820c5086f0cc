/* The translator of tier 1: finds basic blocks, has them decoded into cells, links jumps. */
#include "evm/interp/translate_priv.h"

#include "base/mem/mem.h"

const u8 cd__cell_forms[CD__CELL_OPS] = {
#define X(name, form) [CD__CELL_##name] = CD__FORM_##form,
#include "evm/interp/cells.def"
#undef X
};

/* What a first look at a block finds out. */
typedef struct extent {
    usize start; /* byte of its first instruction, behind JUMPDESTs */
    usize end;   /* byte behind its last instruction */
    u64 gas;
    i32 need;   /* items that the stack must have at its start */
    i32 growth; /* items that the stack has at most beyond those of its start */
} extent;

/* op_at gives the instruction at pc; behind the code it is a STOP. *info is NULL for an undefined
 * one. */
static u8 op_at(const cd__translator *x, const cd_op_info **info, usize pc)
{
    u8 op = pc < x->code->n ? x->code->bytes[pc] : CD_OP_STOP;
    const cd_op_info *i = cd_op_info_get(op);
    *info = i->name != NULL && i->since <= x->fork ? i : NULL;
    return op;
}

/* ends_block tells whether a block ends with op. */
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
static extent measure(const cd__translator *x, usize start)
{
    extent e = {.start = start};
    i32 height = 0;
    usize pc = start;
    for (u32 cnt = 0; cnt < CD__BLOCK_OPS; cnt++) {
        if (cd__is_jumpdest(x, pc)) {
            break;
        }
        const cd_op_info *info;
        u8 op = op_at(x, &info, pc);
        pc += cd__length_of(op);
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

/* body translates the instructions of a block behind its BLOCK cell. False: the block does not go on
 * in the code behind it. */
static bool body(cd__translator *x, const extent *e, u64 gas_ahead)
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
        reached = cd__put_instruction(x, op, info, pc, gas_ahead);
        ended = ends_block(op);
        pc += cd__length_of(op);
    }
    if (!ended) {
        cd__put_fall(t);
    }
    cd__block_close(t);
    return reached;
}

static void set_check(cd__cell *c, const extent *e, u64 gas)
{
    i32 most = CD__STACK_MAX - e->growth; /* items that the stack may have at the start */
    c->block.gas = (u32)gas;
    c->block.min = (u16)(e->need * 32);
    c->block.range = (u16)((most - e->need) * 32);
}

/* block translates the block at *pc and sets *pc behind it. False: the block does not go on in the
 * code behind it. In a run of JUMPDESTs each one but the last gets a stub that charges for the rest of
 * the run and for the block, and goes to the block's first instruction. */
static bool block(cd__translator *x, usize *pc)
{
    cd__translation *t = &x->t;
    u32 run = 0;
    while (cd__is_jumpdest(x, *pc + run)) {
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

/* --- the whole --- */

/* next_jumpdest gives the place of the first JUMPDEST at or behind pc, or the length of the code. */
static usize next_jumpdest(const cd__translator *x, usize pc)
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
static u32 target_cell(const cd__translator *x, u32 pc, const u32 *ranks)
{
    if (pc == CD__NO_TARGET) {
        return CD__CELL_BAD_JUMP;
    }
    u64 below = (1ULL << (pc & 63)) - 1;
    u64 word = x->code->jumps[pc >> 6];
    return x->targets[ranks[pc >> 6] + (u32)__builtin_popcountll(word & below)];
}

/* link brings the collected cells into their final form: one allocation, with addresses of handlers and
 * with distances to constants and other cells. */
static cd__cells *link(const cd__translator *x)
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
        u8 shape = cd__cell_forms[c.op];
        if (shape == CD__FORM_dak || shape == CD__FORM_dk || shape == CD__FORM_sakx) {
            to = (const u8 *)(pool + c.imm);
        } else if (shape == CD__FORM_g) {
            to = (const u8 *)(out->cells + c.imm);
        } else if (shape == CD__FORM_sat || shape == CD__FORM_st || shape == CD__FORM_t) {
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
    cd__translator *x = cd_new(cd__translator);
    x->code = code;
    x->fork = evm->fork;
    (void)cd__code_jumps(code);
    x->targets = cd_new_array(u32, code->n + 1);
    cd__translation *t = &x->t;
    /* The block CD__CELL_BAD_JUMP, which is entered whatever gas and stack there are. */
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
    cd__code_keep_cells(&evm->codes, code, cells, cells->size);
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

const void *cd__cells_at(const cd__cells *cells, usize pc)
{
    u64 bit = 1ULL << (pc & 63);
    u64 word = cells->jumps[pc >> 6];
    CD_ASSERT(pc < cells->n && (word & bit) != 0);
    return &cells->cells[cells->targets[cells->ranks[pc >> 6] + (u32)__builtin_popcountll(word & (bit - 1))]];
}
