/* Pending transactions in the order a block takes them. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/pool/pool_priv.h"

/* A sender's next pending transaction and what it pays. */
typedef struct candidate {
    const cd__pool_sender *s;
    usize at;
    cd_u256 tip;
} candidate;

/* A binary heap, best candidate first. */
struct cd_txpool_pick {
    cd_u256 base_fee;
    candidate *heap;
    usize cnt;
    bool has_given; /* heap[0] was given out and is to be moved on or dropped */
};

static bool is_better(const candidate *a, const candidate *b)
{
    int c = cd_u256_cmp(&a->tip, &b->tip);
    return c != 0 ? c > 0 : a->s->txs[a->at]->arrival < b->s->txs[b->at]->arrival;
}

static void sift_down(cd_txpool_pick *k, usize i)
{
    for (;;) {
        usize best = i;
        for (usize child = 2 * i + 1; child <= 2 * i + 2 && child < k->cnt; child++) {
            if (is_better(&k->heap[child], &k->heap[best])) {
                best = child;
            }
        }
        if (best == i) {
            return;
        }
        candidate t = k->heap[i];
        k->heap[i] = k->heap[best];
        k->heap[best] = t;
        i = best;
    }
}

static bool set_tip(candidate *c, const cd_u256 *base_fee)
{
    return cd__pool_tip(&c->tip, &c->s->txs[c->at]->tx, base_fee);
}

cd_txpool_pick *cd_txpool_pick_new(const cd_txpool *p, const cd_u256 *base_fee)
{
    cd_txpool_pick *k = cd_new(cd_txpool_pick);
    k->base_fee = *base_fee;
    k->heap = cd_new_array(candidate, cd_hmap_cnt(&p->by_sender));
    cd_list_each(it, &p->by_beat)
    {
        candidate c = {.s = cd_list_of(it, cd__pool_sender, by_beat)};
        if (c.s->pending != 0 && set_tip(&c, base_fee)) {
            k->heap[k->cnt++] = c;
        }
    }
    for (usize i = k->cnt / 2; i > 0; i--) {
        sift_down(k, i - 1);
    }
    return k;
}

void cd_txpool_pick_free(cd_txpool_pick *k)
{
    if (k != NULL) {
        cd_free(k->heap);
        cd_free(k);
    }
}

void cd_txpool_pick_skip_sender(cd_txpool_pick *k)
{
    if (k->has_given) {
        k->heap[0] = k->heap[--k->cnt];
        sift_down(k, 0);
        k->has_given = false;
    }
}

const cd_pool_tx *cd_txpool_pick_next(cd_txpool_pick *k)
{
    if (k->has_given) {
        candidate *c = &k->heap[0];
        if (++c->at < c->s->pending && set_tip(c, &k->base_fee)) {
            sift_down(k, 0);
            k->has_given = false;
        } else {
            cd_txpool_pick_skip_sender(k);
        }
    }
    if (k->cnt == 0) {
        return NULL;
    }
    k->has_given = true;
    return k->heap[0].s->txs[k->heap[0].at];
}

void cd_txpool_each_pending(const cd_txpool *p, bool (*visit)(void *ctx, const cd_pool_tx *t), void *ctx)
{
    bool goes_on = true;
    for (cd_list *it = p->by_beat.next; it != &p->by_beat && goes_on; it = it->next) {
        const cd__pool_sender *s = cd_list_of(it, cd__pool_sender, by_beat);
        for (usize i = 0; i < s->pending && goes_on; i++) {
            goes_on = visit(ctx, s->txs[i]);
        }
    }
}
