/* The change set of a block: which accounts and slots differ from the source, in ascending
 * order. */
#include "evm/state/state.h"

#include "base/mem/mem.h"

#include <stdlib.h>

static int by_addr(const void *a, const void *b)
{
    const cd_acct *const *x = a;
    const cd_acct *const *y = b;
    return memcmp((*x)->addr.b, (*y)->addr.b, sizeof(cd_addr20));
}

static int by_key(const void *a, const void *b)
{
    const cd_slot *const *x = a;
    const cd_slot *const *y = b;
    return cd_u256_cmp(&(*x)->key, &(*y)->key);
}

static bool slot_differs(const cd_slot *s)
{
    return !cd_u256_eq(&s->value, &s->committed);
}

static bool acct_differs(const cd_acct *a)
{
    bool exists = (a->flags & CD_ACCT_EXISTS) != 0;
    bool existed = (a->flags & CD_ACCT_IN_SOURCE) != 0;
    if (exists != existed) {
        return true;
    }
    if (!exists) {
        return false;
    }
    if ((a->flags & CD_ACCT_WIPED) != 0 || a->nonce != a->committed_nonce ||
        !cd_u256_eq(&a->balance, &a->committed_balance) || !cd_hash32_eq(&a->code_hash, &a->committed_code_hash)) {
        return true;
    }
    for (const cd_slot *s = a->slots; s != NULL; s = s->next) {
        if (slot_differs(s)) {
            return true;
        }
    }
    return false;
}

typedef struct slot_list {
    cd_slot **items;
    usize cnt;
    usize cap;
} slot_list;

static void collect_slots(slot_list *l, const cd_acct *a)
{
    l->cnt = 0;
    for (cd_slot *s = a->slots; s != NULL; s = s->next) {
        if (!slot_differs(s)) {
            continue;
        }
        if (l->cnt == l->cap) {
            l->cap = l->cap == 0 ? 64 : l->cap * 2;
            l->items = cd_realloc(l->items, l->cap * sizeof(cd_slot *));
        }
        l->items[l->cnt++] = s;
    }
    if (l->cnt > 1) {
        qsort(l->items, l->cnt, sizeof(cd_slot *), by_key);
    }
}

static cd_err visit(const cd_state_visitor *v, const cd_acct *a, slot_list *slots)
{
    bool exists = (a->flags & CD_ACCT_EXISTS) != 0;
    CD_TRY(v->acct(v->ctx, a, exists, (a->flags & CD_ACCT_WIPED) != 0));
    if (!exists) {
        return CD_OK;
    }
    collect_slots(slots, a);
    for (usize i = 0; i < slots->cnt; i++) {
        CD_TRY(v->slot(v->ctx, a, slots->items[i]));
    }
    return CD_OK;
}

cd_err cd_state_changes(cd_state *st, const cd_state_visitor *v)
{
    usize cnt = 0;
    for (const cd_acct *a = st->all; a != NULL; a = a->next) {
        cnt += acct_differs(a) ? 1 : 0;
    }
    cd_acct **list = cd_new_array(cd_acct *, cnt + 1);
    usize n = 0;
    for (cd_acct *a = st->all; a != NULL; a = a->next) {
        if (acct_differs(a)) {
            list[n++] = a;
        }
    }
    qsort(list, n, sizeof(cd_acct *), by_addr);
    slot_list slots = {0};
    cd_err err = CD_OK;
    for (usize i = 0; i < n && err == CD_OK; i++) {
        err = visit(v, list[i], &slots);
    }
    cd_free(slots.items);
    cd_free(list);
    return err;
}
