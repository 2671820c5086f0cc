#include "consensus/sample/weighted.h"

#include "base/mem/mem.h"

#include <stdlib.h>

u64 cd_draw_upto(const cd_draw *d, u64 max)
{
    const u64 top = (u64)1 << 63;
    u64 v = d->next(d->ctx);
    if ((max & (max + 1)) == 0) {
        return v & max;
    }
    if (max >= top) {
        while (v > max) {
            v = d->next(d->ctx);
        }
        return v;
    }
    /* Numbers above the last whole multiple of max + 1 would favour small results. */
    u64 limit = top - 1 - top % (max + 1);
    v &= top - 1;
    while (v > limit) {
        v = d->next(d->ctx) & (top - 1);
    }
    return v % (max + 1);
}

/* The heaviest first; among equals the one that was given first. */
static int heavier(const void *a, const void *b)
{
    const cd_weighted_node *x = a;
    const cd_weighted_node *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return x->idx < y->idx ? -1 : 1;
}

cd_err cd_weighted_init(cd_weighted *w, const u64 *weights, u32 cnt)
{
    *w = (cd_weighted){0};
    u64 total = 0;
    for (u32 i = 0; i < cnt; i++) {
        if (!cd_add_u64(&total, total, weights[i])) {
            return CD_ERANGE;
        }
    }
    cd_weighted_node *heap = cd_new_array(cd_weighted_node, cnt);
    for (u32 i = 0; i < cnt; i++) {
        heap[i] = (cd_weighted_node){.weight = weights[i], .sum = weights[i], .idx = i};
    }
    qsort(heap, cnt, sizeof *heap, heavier);
    for (u32 i = cnt; i > 1; i--) {
        heap[(i - 2) / 2].sum += heap[i - 1].sum;
    }
    *w = (cd_weighted){.heap = heap, .cnt = cnt, .total = total};
    return CD_OK;
}

void cd_weighted_fini(cd_weighted *w)
{
    cd_free(w->heap);
    *w = (cd_weighted){0};
}

u32 cd_weighted_at(const cd_weighted *w, u64 v)
{
    CD_ASSERT(v < w->total);
    u32 at = 0;
    while (v >= w->heap[at].weight) {
        v -= w->heap[at].weight;
        at = 2 * at + 1;
        if (v >= w->heap[at].sum) {
            v -= w->heap[at].sum;
            at++;
        }
    }
    return w->heap[at].idx;
}

u32 cd_weighted_pick(const cd_weighted *w, const cd_draw *d)
{
    return cd_weighted_at(w, cd_draw_upto(d, w->total - 1));
}

/* --- the bag: Fisher and Yates' shuffle of an array that is never written down --- */

void cd_weighted_bag_init(cd_weighted_bag *b, const cd_weighted *set)
{
    *b = (cd_weighted_bag){.set = set};
    cd_hmap_init(&b->moved, CD_HASH_KEYED, sizeof(u64), sizeof(u64));
}

void cd_weighted_bag_fini(cd_weighted_bag *b)
{
    cd_hmap_fini(&b->moved);
}

static u64 unit_at(const cd_weighted_bag *b, u64 place)
{
    const u64 *moved = cd_hmap_get(&b->moved, &place);
    return moved == NULL ? place : *moved;
}

bool cd_weighted_bag_next(cd_weighted_bag *b, u32 *idx, const cd_draw *d)
{
    if (b->taken == b->set->total) {
        return false;
    }
    u64 place = cd_draw_upto(d, b->set->total - 1 - b->taken) + b->taken;
    u64 unit = unit_at(b, place);
    u64 first = unit_at(b, b->taken);
    *(u64 *)cd_hmap_put(&b->moved, NULL, &place) = first;
    b->taken++;
    *idx = cd_weighted_at(b->set, unit);
    return true;
}
