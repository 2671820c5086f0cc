#include "chains/platform/l1/forecast.h"

#include "chains/platform/fees/gas.h"

#include <stdlib.h>

enum { HOUR = 3600, HOURS = 60 * 24, DAY = 86400, STEPS_MAX = HOURS + 3650 };

/* What is paid by a time. */
typedef struct paid {
    u64 at_s;
    u64 cost; /* until then */
    u64 rate; /* from then on, a second */
} paid;

static u64 later(u64 at_s)
{
    return at_s + (at_s < (u64)HOURS * HOUR ? HOUR : DAY);
}

/* Walks until the cost reaches most, or time ends; gives the number of rows. */
static usize walk(paid *rows, cd_l1_fee_state s, const cd_l1_fee_config *c, u64 most)
{
    usize n = 0;
    u64 at = 0;
    u64 cost = 0;
    while (at < CD_L1_FAR_S && cost <= most && cost != UINT64_MAX && n < STEPS_MAX) {
        u64 end = cd_min_u64(later(at), CD_L1_FAR_S);
        cd_l1_fee_state next = cd_l1_fee_advance(s, c->target, end - at);
        u64 rate = cd_gas_price(c->min_price, cd_max_u64(s.excess, next.excess), c->k);
        rows[n++] = (paid){.at_s = at, .cost = cost, .rate = rate};
        cost = cd_gas_add_over_time(cost, rate, end - at);
        at = end;
        s = next;
    }
    return n;
}

static u64 lasts(const paid *rows, usize n, u64 balance)
{
    usize low = 0;
    for (usize high = n; high - low > 1;) {
        usize mid = low + (high - low) / 2;
        *(rows[mid].cost <= balance ? &low : &high) = mid;
    }
    const paid *r = &rows[low];
    u64 more = r->rate == 0 ? CD_L1_FAR_S : (balance - r->cost) / r->rate;
    return more > CD_L1_FAR_S - r->at_s ? CD_L1_FAR_S : r->at_s + more;
}

void cd_l1_forecast(cd_l1_member *v, usize cnt, cd_arena *a, cd_l1_fee_state s, const cd_l1_fee_config *c)
{
    cd_arena_mark mark = cd_arena_mark_get(a);
    paid *rows = cd_arena_array(a, paid, STEPS_MAX);
    u64 most = 0;
    for (usize i = 0; i < cnt; i++) {
        most = cd_max_u64(most, v[i].balance);
    }
    for (u32 is_worst = 0; is_worst < 2; is_worst++) {
        s.current = is_worst ? cd_max_u64(c->capacity, s.current) : s.current;
        usize n = walk(rows, s, c, most);
        for (usize i = 0; i < cnt; i++) {
            u64 left = v[i].balance == 0 ? 0 : lasts(rows, n, v[i].balance);
            *(is_worst ? &v[i].worst_s : &v[i].left_s) = left;
        }
    }
    cd_arena_rewind(a, mark);
}

/* --- all together --- */

/* The end of a voter's balance. */
typedef struct end {
    u64 at_s;
    u64 weight;
} end;

static int early_first(const void *a, const void *b)
{
    const end *x = a;
    const end *y = b;
    return x->at_s < y->at_s ? -1 : x->at_s > y->at_s ? 1 : 0;
}

void cd_l1_look_ahead(cd_l1_outlook *out, cd_arena *a, const cd_l1_quorum *q, const cd_l1_member *v, usize cnt,
                      u64 within_s)
{
    cd_arena_mark mark = cd_arena_mark_get(a);
    end *ends = cd_arena_array(a, end, cnt);
    usize n = 0;
    u64 there = 0;
    u64 total = 0;
    cd_l1_outlook o = {.first_s = CD_L1_FAR_S, .first = cnt, .halt_s = CD_L1_FAR_S};
    for (usize i = 0; i < cnt; i++) {
        total += v[i].weight;
        if (v[i].balance == 0) {
            continue;
        }
        o.soon += v[i].left_s < CD_L1_FAR_S && v[i].left_s <= within_s;
        if (v[i].left_s < o.first_s) {
            o.first_s = v[i].left_s;
            o.first = i;
        }
        if (cd_l1_votes(&v[i])) {
            there += v[i].weight;
            ends[n++] = (end){.at_s = v[i].left_s, .weight = v[i].weight};
        }
    }
    if (n > 1) {
        qsort(ends, n, sizeof *ends, early_first);
    }
    if (cd_l1_state_of(q, there, total) == CD_L1_HALTS) {
        o.halt_s = 0;
    }
    for (usize i = 0; i < n && o.halt_s == CD_L1_FAR_S && ends[i].at_s < CD_L1_FAR_S; i++) {
        there -= ends[i].weight;
        if (cd_l1_state_of(q, there, total) == CD_L1_HALTS) {
            o.halt_s = ends[i].at_s;
        }
    }
    cd_arena_rewind(a, mark);
    *out = o;
}
