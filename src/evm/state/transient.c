/* Transient storage (EIP-1153). Entries exist in one transaction; then the table is emptied by its stamp
 * and their memory is used again. */
#include "evm/state/state_priv.h"

#include "base/mem/mem.h"

/* item gives the next free entry, from memory of earlier transactions where possible. */
static cd__tslot *item(cd_state *st)
{
    usize used = st->tslots.cnt;
    if (used == st->tslot_cnt) {
        if (used == st->tslot_cap) {
            st->tslot_cap = used == 0 ? 64 : used * 2;
            st->tslot_items = cd_realloc(st->tslot_items, st->tslot_cap * sizeof(cd__tslot *));
        }
        st->tslot_items[st->tslot_cnt++] = cd_arena_alloc(&st->entries, sizeof(cd__tslot));
    }
    return st->tslot_items[used];
}

cd__tslot *cd__state_tslot_find(cd_state *st, const cd_addr20 *addr, const cd_u256 *key, bool make)
{
    if (st->tslots.cnt == 0 && !make) {
        return NULL;
    }
    u32 tag = (u32)(cd__hash_word(st->key, key, cd__hash_addr(st->key, addr)) >> 32);
    u32 at = cd__table_home(&st->tslots, tag);
    cd__tslot *t;
    while ((t = cd__table_next(&st->tslots, &at, tag)) != NULL) {
        if (cd__addr_same(&t->addr, addr) && cd_u256_eq(&t->key, key)) {
            break;
        }
    }
    if (t == NULL) {
        if (!make) {
            return NULL;
        }
        t = item(st);
        *t = (cd__tslot){.addr = *addr, .tx = st->tx, .key = *key};
        cd__table_add(&st->tslots, tag, t);
    }
    st->tslot_cache[(key->w[0] + addr->b[19]) % CD__TSLOT_CACHE] = t;
    return t;
}
