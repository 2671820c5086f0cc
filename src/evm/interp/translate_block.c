/* The symbolic stack of a block, and the cells that bring its items home. */
#include "evm/interp/translate_priv.h"

#include "base/mem/mem.h"

enum { SLOT_BYTES = sizeof(cd_u256) };

static cd__item *item_at(cd__translation *t, i32 pos)
{
    return &t->items[pos + CD__CENTER];
}

static cd__slot_use *slot_at(cd__translation *t, i32 slot)
{
    return &t->slots[slot + CD__CENTER];
}

static i16 offset_of(i32 slot)
{
    return (i16)(slot * SLOT_BYTES);
}

static cd__item in_slot(i32 slot)
{
    return (cd__item){.slot = (i16)slot, .cnst = -1};
}

static bool is_at(cd__item it, i32 slot)
{
    return !cd__is_const(it) && it.slot == slot;
}

void cd__block_open(cd__translation *t)
{
    t->top = 0;
    t->low = 1;
    t->high = 0;
    t->first = t->cnt;
    t->cnst_cnt = 0;
}

void cd__block_close(cd__translation *t)
{
    for (i32 s = t->low; s <= t->high; s++) {
        *slot_at(t, s) = (cd__slot_use){0};
    }
}

cd__cell *cd__block_cell(cd__translation *t, cd__cell_op op)
{
    if (t->cnt == t->cap) {
        t->cap = t->cap == 0 ? 256 : 2 * t->cap;
        t->cells = cd_realloc(t->cells, t->cap * sizeof *t->cells);
    }
    cd__cell *c = &t->cells[t->cnt++];
    *c = (cd__cell){.op = op};
    return c;
}

i32 cd__pool_add(cd__translation *t, const cd_u256 *v)
{
    /* Instructions near each other often use the same constant, as a mask or a modulus. */
    u32 from = t->pool_cnt > 8 ? t->pool_cnt - 8 : 0;
    for (u32 i = from; i < t->pool_cnt; i++) {
        if (cd_u256_eq(&t->pool[i], v)) {
            return (i32)i;
        }
    }
    if (t->pool_cnt == t->pool_cap) {
        t->pool_cap = t->pool_cap == 0 ? 64 : 2 * t->pool_cap;
        t->pool = cd_realloc(t->pool, t->pool_cap * sizeof *t->pool);
    }
    t->pool[t->pool_cnt] = *v;
    return (i32)t->pool_cnt++;
}

/* --- items --- */

/* look fills in the items down to pos: an item that the block has not touched is in its own slot. */
static void look(cd__translation *t, i32 pos)
{
    while (t->low > pos) {
        t->low--;
        *item_at(t, t->low) = in_slot(t->low);
        slot_at(t, t->low)->refs = 1;
    }
}

cd__item cd__block_pop(cd__translation *t)
{
    look(t, t->top);
    return *item_at(t, t->top--);
}

void cd__block_release(cd__translation *t, cd__item it)
{
    if (!cd__is_const(it)) {
        slot_at(t, it.slot)->refs--;
    }
}

/* put sets the item above the top without counting a reference. */
static void put(cd__translation *t, cd__item it)
{
    t->top++;
    *item_at(t, t->top) = it;
}

void cd__block_push(cd__translation *t, cd__item it)
{
    put(t, it);
}

void cd__block_push_const(cd__translation *t, const cd_u256 *v)
{
    t->cnst[t->cnst_cnt] = *v;
    put(t, (cd__item){.cnst = (i16)t->cnst_cnt++});
}

void cd__block_dup(cd__translation *t, u32 n)
{
    i32 pos = t->top - (i32)n + 1;
    look(t, pos);
    cd__item it = *item_at(t, pos);
    if (!cd__is_const(it)) {
        slot_at(t, it.slot)->refs++;
    }
    put(t, it);
}

void cd__block_swap(cd__translation *t, u32 n)
{
    look(t, t->top - (i32)n);
    cd__item *a = item_at(t, t->top);
    cd__item *b = item_at(t, t->top - (i32)n);
    cd__item it = *a;
    *a = *b;
    *b = it;
}

/* free_slot gives a slot that no item refers to, at or above the next position. */
static i32 free_slot(cd__translation *t)
{
    i32 s = t->top + 1;
    while (slot_at(t, s)->refs != 0) {
        s++;
    }
    return s;
}

static void note_read(cd__translation *t, i32 slot, u32 cell)
{
    slot_at(t, slot)->read = cell;
    slot_at(t, slot)->touched = cell;
}

static void note_write(cd__translation *t, i32 slot, u32 cell, bool may_move)
{
    if (slot > t->high) {
        t->high = slot;
    }
    slot_at(t, slot)->touched = cell;
    slot_at(t, slot)->made_by = may_move ? cell : 0;
}

/* load appends a cell that copies an item into slot; may_move: the cell may still be given another slot. */
static void load(cd__translation *t, i32 slot, cd__item it, bool may_move)
{
    cd__cell *c;
    if (!cd__is_const(it)) {
        c = cd__block_cell(t, CD__CELL_MOVE);
        c->a = offset_of(it.slot);
        note_read(t, it.slot, t->cnt);
    } else if (cd_u256_fits_u64(cd__const_of(t, it)) && cd__const_of(t, it)->w[0] <= UINT32_MAX) {
        c = cd__block_cell(t, CD__CELL_PUSH_I);
        c->imm = (u32)cd__const_of(t, it)->w[0];
    } else {
        c = cd__block_cell(t, CD__CELL_PUSH_K);
        c->rel = cd__pool_add(t, cd__const_of(t, it));
    }
    c->d = offset_of(slot);
    note_write(t, slot, t->cnt, may_move);
}

cd__item cd__block_in_slot(cd__translation *t, cd__item it)
{
    if (!cd__is_const(it)) {
        return it;
    }
    i32 s = free_slot(t);
    load(t, s, it, false);
    slot_at(t, s)->refs = 1;
    return in_slot(s);
}

i16 cd__block_read(cd__translation *t, cd__item it)
{
    note_read(t, it.slot, t->cnt + 1);
    return offset_of(it.slot);
}

i16 cd__block_result(cd__translation *t)
{
    i32 s = free_slot(t);
    slot_at(t, s)->refs = 1;
    note_write(t, s, t->cnt, true);
    put(t, in_slot(s));
    return offset_of(s);
}

bool cd__block_is_fresh(const cd__translation *t, cd__item it)
{
    if (cd__is_const(it)) {
        return false;
    }
    const cd__slot_use *use = &t->slots[it.slot + CD__CENTER];
    return use->refs == 1 && use->made_by == t->cnt && t->cnt > t->first;
}

/* free_run gives the first of n neighbouring slots above the top that no item refers to. */
static i32 free_run(cd__translation *t, i32 n)
{
    i32 first = t->top + 1;
    for (i32 s = first; s < first + n; s++) {
        if (slot_at(t, s)->refs != 0) {
            first = s + 1;
        }
    }
    return first;
}

/* args brings the topmost items, `in` of them, into neighbouring slots, pops them and gives the lowest of
 * those slots. writes: the instruction will overwrite that one with its result. */
static i32 args(cd__translation *t, i32 in, bool writes)
{
    i32 from = t->top - in + 1;
    look(t, from);
    bool in_place = true;
    for (i32 p = from; p <= t->top; p++) {
        u32 own = is_at(*item_at(t, p), p) ? 1 : 0;
        bool overwritten = own == 0 || (p == from && writes);
        in_place = in_place && (!overwritten || slot_at(t, p)->refs == own);
    }
    i32 first = in_place ? from : free_run(t, in);
    for (i32 i = 0; i < in; i++) {
        cd__item it = *item_at(t, from + i);
        if (!is_at(it, first + i)) {
            load(t, first + i, it, false);
        }
    }
    for (i32 i = 0; i < in; i++) {
        cd__block_release(t, *item_at(t, from + i));
        note_read(t, first + i, t->cnt + 1);
    }
    t->top -= in;
    return first;
}

void cd__block_function(cd__translation *t, u8 op, u32 in, u32 out)
{
    i32 first = in == 0 ? free_slot(t) : args(t, (i32)in, out != 0);
    cd__cell *c = cd__block_cell(t, CD__CELL_FUNCTION);
    c->d = offset_of(first + (i32)in - 1);
    c->imm = op;
    if (out != 0) {
        note_write(t, first, t->cnt, false);
        slot_at(t, first)->refs = 1;
        put(t, in_slot(first));
    }
}

/* --- the end of a block --- */

static bool is_pending(const cd__translation *t, i32 pos)
{
    return pos >= t->low && pos <= t->top && !is_at(t->items[pos + CD__CENTER], pos);
}

bool cd__block_is_stable(const cd__translation *t, i16 offset)
{
    return !is_pending(t, offset / SLOT_BYTES);
}

void cd__block_hold(cd__translation *t, i16 offset)
{
    slot_at(t, offset / SLOT_BYTES)->refs++;
}

cd__item cd__block_survive(cd__translation *t, cd__item it)
{
    it = cd__block_in_slot(t, it);
    if (!is_pending(t, it.slot)) {
        return it;
    }
    i32 s = free_slot(t);
    load(t, s, it, false);
    cd__block_release(t, it);
    slot_at(t, s)->refs = 1;
    return in_slot(s);
}

/* pair makes the last cell and the one before it a single cell if both are moves. */
static void pair(cd__translation *t)
{
    cd__cell *c = &t->cells[t->cnt - 1];
    if (c->op == CD__CELL_MOVE && t->cnt - 1 > t->first && c[-1].op == CD__CELL_MOVE) {
        c[-1].op = CD__CELL_MOVE2;
        c[-1].b = c->d;
        c[-1].c = c->a;
        t->cnt--;
    }
}

/* bring_home puts the item of a position into the position's own slot, which is free. If no cell has read
 * the item or used that slot since the item was made, the cell that made it is directed there. */
static void bring_home(cd__translation *t, i32 pos)
{
    cd__item it = *item_at(t, pos);
    cd__slot_use *home = slot_at(t, pos);
    if (cd__is_const(it)) {
        load(t, pos, it, false);
    } else {
        cd__slot_use *from = slot_at(t, it.slot);
        u32 maker = from->made_by;
        if (maker != 0 && from->refs == 1 && from->read <= maker && home->touched <= maker) {
            t->cells[maker - 1].d = offset_of(pos);
            note_write(t, pos, maker, false);
        } else {
            load(t, pos, it, false);
            pair(t);
        }
        from->refs--;
    }
    home->refs++;
    *item_at(t, pos) = in_slot(pos);
}

/* bring_home_chain brings the item of pos home, then the item that waited only for the slot that this has freed, and
 * so on. */
static void bring_home_chain(cd__translation *t, i32 pos)
{
    for (;;) {
        cd__item it = *item_at(t, pos);
        bring_home(t, pos);
        if (cd__is_const(it) || !is_pending(t, it.slot) || slot_at(t, it.slot)->refs != 0) {
            return;
        }
        pos = it.slot;
    }
}

/* break_cycle frees the slot of a position in a ring of items that wait for each other: two are
 * swapped, more go through a spare slot. */
static void break_cycle(cd__translation *t, i32 pos)
{
    i32 other = item_at(t, pos)->slot;
    if (is_at(*item_at(t, other), pos)) {
        cd__cell *c = cd__block_cell(t, CD__CELL_SWAP);
        c->a = offset_of(pos);
        c->b = offset_of(other);
        note_write(t, pos, t->cnt, false);
        note_write(t, other, t->cnt, false);
        *item_at(t, pos) = in_slot(pos);
        *item_at(t, other) = in_slot(other);
        return;
    }
    i32 user = other;
    while (!is_at(*item_at(t, user), pos)) {
        user = item_at(t, user)->slot;
    }
    i32 spare = free_slot(t);
    load(t, spare, in_slot(pos), false);
    slot_at(t, spare)->refs = 1;
    slot_at(t, pos)->refs--;
    *item_at(t, user) = in_slot(spare);
    bring_home_chain(t, pos);
}

i16 cd__block_flush(cd__translation *t)
{
    /* Constants come last: they free no slot, and so moves stand side by side for pair. */
    for (i32 p = t->low; p <= t->top; p++) {
        if (is_pending(t, p) && !cd__is_const(*item_at(t, p)) && slot_at(t, p)->refs == 0) {
            bring_home_chain(t, p);
        }
    }
    for (i32 p = t->low; p <= t->top; p++) {
        if (is_pending(t, p) && cd__is_const(*item_at(t, p)) && slot_at(t, p)->refs == 0) {
            bring_home_chain(t, p);
        }
    }
    for (i32 p = t->low; p <= t->top; p++) {
        if (is_pending(t, p)) {
            break_cycle(t, p);
        }
    }
    return offset_of(t->top);
}
