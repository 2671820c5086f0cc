#include "evm/precompile/precompile_priv.h"

#include "base/mem/mem.h"

#include <pthread.h>

enum { INDEX_SIZE = 256, PRECOMPILES_MAX = 128 };

/* index: open addressing from a hash of the address to a position in items plus one; 0 = free. At
 * most half full, so that an ordinary address meets a free place at once or after few compares. */
struct cd_precompile_table {
    u8 index[INDEX_SIZE];
    cd_precompile items[PRECOMPILES_MAX];
    usize cnt;
    bool guarded[CD_GATE_COUNT];
    cd_addr20 guards[CD_GATE_COUNT];
    const cd_precompile_table *origin; /* the table that a copy was made from; NULL: not a copy */
};

static const struct {
    cd_fork first;
    cd_fork last;
    u16 addr; /* last two bytes of the address */
    const char *name;
    cd_precompile_fn run;
    cd__pre_price price;
} rows[] = {
#define X(first_fork, last_fork, address, title, fn, base_price, unit_price)                                           \
    {.first = (first_fork),                                                                                            \
     .last = (last_fork),                                                                                              \
     .addr = (address),                                                                                                \
     .name = (title),                                                                                                  \
     .run = (fn),                                                                                                      \
     .price = {.base = (base_price), .unit = (unit_price)}},
#include "evm/precompile/precompiles.def"
#undef X
};

static u32 home(const cd_addr20 *a)
{
    u64 h = cd_le64(a->b + 12) ^ cd_le64(a->b + 4) ^ cd_le32(a->b);
    return (u32)((h * 0x9e3779b97f4a7c15) >> 56);
}

const cd_precompile *cd_precompile_find(const cd_precompile_table *t, const cd_addr20 *addr)
{
    for (u32 at = home(addr);; at = (at + 1) % INDEX_SIZE) {
        if (CD_LIKELY(t->index[at] == 0)) {
            return NULL;
        }
        const cd_precompile *p = &t->items[t->index[at] - 1];
        if (cd_addr20_eq(&p->addr, addr)) {
            return p;
        }
    }
}

const cd_precompile *cd_precompile_list(const cd_precompile_table *t, usize *cnt)
{
    const cd_precompile_table *rules = t->origin != NULL ? t->origin : t;
    *cnt = rules->cnt;
    return rules->items;
}

cd_err cd_precompile_table_add(cd_precompile_table *t, const cd_precompile *p)
{
    if (cd_precompile_find(t, &p->addr) != NULL) {
        return CD_EEXIST;
    }
    if (t->cnt == PRECOMPILES_MAX) {
        return CD_EFULL;
    }
    u32 at = home(&p->addr);
    while (t->index[at] != 0) {
        at = (at + 1) % INDEX_SIZE;
    }
    t->items[t->cnt++] = *p;
    t->index[at] = (u8)t->cnt;
    return CD_OK;
}

/* reindex builds the index of the items anew. */
static void reindex(cd_precompile_table *t)
{
    memset(t->index, 0, sizeof t->index);
    for (usize i = 0; i < t->cnt; i++) {
        u32 at = home(&t->items[i].addr);
        while (t->index[at] != 0) {
            at = (at + 1) % INDEX_SIZE;
        }
        t->index[at] = (u8)(i + 1);
    }
}

cd_precompile_table *cd_precompile_table_copy(const cd_precompile_table *t)
{
    cd_precompile_table *copy = cd_new(cd_precompile_table);
    *copy = *t;
    copy->origin = t->origin != NULL ? t->origin : t;
    return copy;
}

void cd_precompile_table_remove(cd_precompile_table *t, const cd_addr20 *addr)
{
    const cd_precompile *p = cd_precompile_find(t, addr);
    if (p != NULL) {
        t->items[p - t->items] = t->items[--t->cnt];
        reindex(t);
    }
}

cd_err cd_precompile_table_move(cd_precompile_table *t, const cd_addr20 *from, const cd_addr20 *to)
{
    const cd_precompile *p = cd_precompile_find(t, from);
    if (p == NULL) {
        return CD_ENOENT;
    }
    if (cd_precompile_find(t, to) != NULL) {
        return CD_EEXIST;
    }
    t->items[p - t->items].addr = *to;
    reindex(t);
    return CD_OK;
}

void cd_precompile_table_gate(cd_precompile_table *t, cd_gate gate, const cd_addr20 *list)
{
    t->guarded[gate] = true;
    t->guards[gate] = *list;
}

bool cd_gate_opens(const cd_precompile_table *t, cd_gate gate, cd_state *st, const cd_addr20 *who)
{
    if (CD_LIKELY(!t->guarded[gate])) {
        return true;
    }
    cd_u256 key = cd_u256_from_addr(who);
    const cd_slot *s = cd_state_slot(st, cd_state_acct(st, &t->guards[gate]), &key);
    return !cd_u256_is_zero(&s->value);
}

static cd_precompile of_row(usize i)
{
    return (cd_precompile){.addr = {.b = {[18] = (u8)(rows[i].addr >> 8), [19] = (u8)rows[i].addr}},
                           .name = rows[i].name,
                           .run = rows[i].run,
                           .cfg = &rows[i].price};
}

static void fill(cd_precompile_table *t, cd_fork fork)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].first <= fork && fork <= rows[i].last) {
            cd_precompile p = of_row(i);
            cd_err err = cd_precompile_table_add(t, &p);
            CD_ASSERT(err == CD_OK); /* no fork has two rows with the same address */
        }
    }
}

cd_precompile_table *cd_precompile_table_new(cd_fork fork)
{
    cd_precompile_table *t = cd_new(cd_precompile_table);
    fill(t, fork);
    return t;
}

void cd_precompile_table_free(cd_precompile_table *t)
{
    cd_free(t);
}

static cd_precompile_table eth[CD_FORK_COUNT];

static void fill_all(void)
{
    for (cd_fork f = 0; f < CD_FORK_COUNT; f++) {
        fill(&eth[f], f);
    }
}

const cd_precompile_table *cd_precompile_eth(cd_fork fork)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CD_ASSERT(fork < CD_FORK_COUNT);
    (void)pthread_once(&once, fill_all);
    return &eth[fork];
}

cd_err cd_precompile_by_name(cd_precompile *out, const char *name)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *out = of_row(i);
            return CD_OK;
        }
    }
    return CD_ENOENT;
}
