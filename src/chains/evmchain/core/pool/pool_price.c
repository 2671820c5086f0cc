/* The evictable transactions by price, the cheapest on top: a binary heap whose entries know their places. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/pool/pool_priv.h"

static int cmp_caps(const cd_tx *a, const cd_tx *b)
{
    int c = cd_u256_cmp(&a->fee_cap, &b->fee_cap);
    return c != 0 ? c : cd_u256_cmp(&a->tip_cap, &b->tip_cap);
}

int cd__pool_price_cmp(const cd_txpool *p, const cd_tx *a, const cd_tx *b)
{
    cd_u256 x;
    cd_u256 y;
    bool a_fits = cd__pool_tip(&x, a, &p->head.base_fee);
    bool b_fits = cd__pool_tip(&y, b, &p->head.base_fee);
    if (a_fits != b_fits) {
        return a_fits ? 1 : -1;
    }
    int c = a_fits ? cd_u256_cmp(&x, &y) : 0;
    return c != 0 ? c : cmp_caps(a, b);
}

/* Of two equal ones the later goes first. */
static bool goes_before(const cd_txpool *p, const cd_pool_tx *a, const cd_pool_tx *b)
{
    int c = cd__pool_price_cmp(p, &a->tx, &b->tx);
    return c != 0 ? c < 0 : a->arrival > b->arrival;
}

static void set(cd_txpool *p, usize at, cd_pool_tx *t)
{
    p->prices[at] = t;
    t->price_at = at;
}

static void sift_up(cd_txpool *p, usize at)
{
    cd_pool_tx *t = p->prices[at];
    while (at > 0 && goes_before(p, t, p->prices[(at - 1) / 2])) {
        set(p, at, p->prices[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    set(p, at, t);
}

static void sift_down(cd_txpool *p, usize at)
{
    cd_pool_tx *t = p->prices[at];
    for (;;) {
        usize child = 2 * at + 1;
        if (child >= p->price_cnt) {
            break;
        }
        if (child + 1 < p->price_cnt && goes_before(p, p->prices[child + 1], p->prices[child])) {
            child++;
        }
        if (!goes_before(p, p->prices[child], t)) {
            break;
        }
        set(p, at, p->prices[child]);
        at = child;
    }
    set(p, at, t);
}

void cd__pool_price_put(cd_txpool *p, cd_pool_tx *t)
{
    if (p->price_cnt == p->price_cap) {
        p->price_cap = p->price_cap == 0 ? 64 : p->price_cap * 2;
        p->prices = cd_realloc(p->prices, p->price_cap * sizeof *p->prices);
    }
    set(p, p->price_cnt, t);
    sift_up(p, p->price_cnt++);
}

void cd__pool_price_del(cd_txpool *p, cd_pool_tx *t)
{
    usize at = t->price_at;
    CD_ASSERT(at < p->price_cnt && p->prices[at] == t);
    cd_pool_tx *last = p->prices[--p->price_cnt];
    if (last == t) {
        return;
    }
    set(p, at, last);
    sift_up(p, at);
    sift_down(p, last->price_at);
}

void cd__pool_price_sort(cd_txpool *p)
{
    for (usize i = p->price_cnt / 2; i > 0; i--) {
        sift_down(p, i - 1);
    }
}
