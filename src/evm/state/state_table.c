#include "evm/state/state_priv.h"

#include "base/mem/mem.h"

enum { BITS_KEEP = 16, BITS_MAX = 31 };

void cd__table_init(cd__table *t, u32 bits)
{
    *t = (cd__table){.entries = cd_new_array(cd__table_entry, (usize)1 << bits), .stamp = 1, .bits = bits};
}

void cd__table_fini(cd__table *t)
{
    cd_free(t->entries);
    *t = (cd__table){0};
}

void cd__table_clear(cd__table *t)
{
    if (t->bits > BITS_KEEP || t->stamp == UINT32_MAX) {
        u32 bits = t->bits > BITS_KEEP ? (u32)BITS_KEEP : t->bits;
        cd__table_fini(t);
        cd__table_init(t, bits);
        return;
    }
    t->cnt = 0;
    t->stamp++;
}

static void insert(cd__table *t, u32 tag, void *item)
{
    u32 mask = ((u32)1 << t->bits) - 1;
    u32 at = cd__table_home(t, tag);
    while (t->entries[at].stamp == t->stamp) {
        at = (at + 1) & mask;
    }
    t->entries[at] = (cd__table_entry){.item = item, .tag = tag, .stamp = t->stamp};
    t->cnt++;
}

static void grow(cd__table *t)
{
    CD_ASSERT(t->bits < BITS_MAX);
    cd__table bigger;
    cd__table_init(&bigger, t->bits + 1);
    for (usize i = 0; i < (usize)1 << t->bits; i++) {
        if (t->entries[i].stamp == t->stamp) {
            insert(&bigger, t->entries[i].tag, t->entries[i].item);
        }
    }
    cd__table_fini(t);
    *t = bigger;
}

void cd__table_add(cd__table *t, u32 tag, void *item)
{
    if ((usize)(t->cnt + 1) * 2 > (usize)1 << t->bits) {
        grow(t);
    }
    insert(t, tag, item);
}
