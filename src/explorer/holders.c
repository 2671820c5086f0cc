/* Who holds a token, most first. A token is asked for the balance of each account that got it once; the answer is kept
 * behind a block, so that pages of one list are one order.
 *
 *   index: who got it once ──► balanceOf, ownerOf (bounded in number and time) ──► sorted roll ──► pages
 */
#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "explorer/explorer_priv.h"

#include <stdlib.h>

enum {
    ASKED_MAX = 4096,
    ROLLS = 4,           /* tokens whose holders are kept */
    ASK_NS = 1000000000, /* what a page may take to ask */
};

struct cd__holders {
    cd_mutex lock; /* of what follows, and of refs and used of the rolls */
    cd__roll *rolls[ROLLS];
    u64 used;
};

struct cd__holders *cd__holders_new(void)
{
    struct cd__holders *h = cd_new(struct cd__holders);
    cd_mutex_init(&h->lock);
    return h;
}

void cd__holders_free(struct cd__holders *h)
{
    for (usize i = 0; h != NULL && i < ROLLS; i++) {
        cd_free(h->rolls[i]);
    }
    if (h != NULL) {
        cd_mutex_fini(&h->lock);
        cd_free(h);
    }
}

/* Most first; those with as much in the order of the index. */
static int by_amount(const void *x, const void *y)
{
    const cd__held *a = x;
    const cd__held *b = y;
    int way = cd_u256_cmp(&b->amount, &a->amount);
    way = way != 0 ? way : memcmp(a->at.holder.b, b->at.holder.b, sizeof a->at.holder.b);
    return way != 0 ? way : cd_u256_cmp(&a->at.id, &b->at.id);
}

/* Asks for all of them. Answers may be long: nothing of them stays but the number. */
static void ask(cd__xp *p, cd__roll *r, const cd_index_holding *v, usize cnt)
{
    const cd_clock *clock = p->x->cfg.clock;
    u64 end = cd_clock_mono_ns(clock) + (p->x->cfg.ask_ns != 0 ? p->x->cfg.ask_ns : ASK_NS);
    cd_arena page = p->a;
    p->a = (cd_arena){0};
    for (; r->asked < cnt && cd_clock_mono_ns(clock) < end; r->asked++) {
        cd__held one = {.at = v[r->asked]};
        if (cd__xp_holds(p, &one.amount, &one.at) && !cd_u256_is_zero(&one.amount)) {
            r->v[r->cnt++] = one;
        }
        cd_arena_reset(&p->a);
    }
    cd_arena_fini(&p->a);
    p->a = page;
    r->is_cut = r->is_cut || r->asked < cnt;
    qsort(r->v, r->cnt, sizeof r->v[0], by_amount);
}

static cd_err make(cd__xp *p, cd__roll **out, const cd_addr20 *token)
{
    cd_index_holding *v = cd_new_array(cd_index_holding, ASKED_MAX + 1);
    usize cnt = 0;
    cd_err e = cd_index_holders(p->view, v, &cnt, ASKED_MAX + 1, token, NULL);
    if (e == CD_OK) {
        usize asked = cd_min_u64(cnt, ASKED_MAX);
        cd__roll *r = cd_alloc(sizeof *r + asked * sizeof r->v[0]);
        *r = (cd__roll){
            .block = cd_view_head(p->view)->block.hash, .token = *token, .refs = 1, .is_cut = cnt > ASKED_MAX};
        ask(p, r, v, asked);
        *out = r;
    }
    cd_free(v);
    return e;
}

/* One use of a roll ends. With the lock. */
static void unref(cd__roll *r)
{
    if (r != NULL && --r->refs == 0) {
        cd_free(r);
    }
}

static cd__roll *find(struct cd__holders *h, const cd_hash32 *block, const cd_addr20 *token)
{
    for (usize i = 0; i < ROLLS; i++) {
        cd__roll *r = h->rolls[i];
        if (r != NULL && cd_hash32_eq(&r->block, block) && cd_addr20_eq(&r->token, token)) {
            r->refs++;
            r->used = ++h->used;
            return r;
        }
    }
    return NULL;
}

/* Takes the place of an older one of the token, or of the one that was used least recently. */
static void keep(struct cd__holders *h, cd__roll *r)
{
    usize at = 0;
    for (usize i = 1; i < ROLLS; i++) {
        const cd__roll *old = h->rolls[i];
        if (h->rolls[at] != NULL && (old == NULL || old->used < h->rolls[at]->used)) {
            at = i;
        }
    }
    for (usize i = 0; i < ROLLS; i++) {
        at = h->rolls[i] != NULL && cd_addr20_eq(&h->rolls[i]->token, &r->token) ? i : at;
    }
    unref(h->rolls[at]);
    r->refs++;
    r->used = ++h->used;
    h->rolls[at] = r;
}

cd_err cd__holders_get(cd__xp *p, cd__roll **out, const cd_addr20 *token)
{
    struct cd__holders *h = p->x->holders;
    cd_mutex_lock(&h->lock);
    cd__roll *r = find(h, &cd_view_head(p->view)->block.hash, token);
    cd_mutex_unlock(&h->lock);
    if (r == NULL) {
        CD_TRY(make(p, &r, token));
        cd_mutex_lock(&h->lock);
        keep(h, r);
        cd_mutex_unlock(&h->lock);
    }
    *out = r;
    return CD_OK;
}

void cd__holders_end(cd__xp *p, cd__roll *r)
{
    cd_mutex_lock(&p->x->holders->lock);
    unref(r);
    cd_mutex_unlock(&p->x->holders->lock);
}
