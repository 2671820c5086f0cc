#include "chains/platform/l1/quorum.h"

#include <stdlib.h>

cd_l1_quorum cd_l1_quorum_default(void)
{
    return (cd_l1_quorum){.k = 20, .alpha = 14, .warp_num = 67, .warp_den = 100};
}

cd_l1_state cd_l1_state_of(const cd_l1_quorum *q, u64 there, u64 total)
{
    if (total == 0 || (u128)there * q->k < (u128)total * q->alpha) {
        return CD_L1_HALTS;
    }
    /* 0.8 alpha / k + 0.2, in tenths */
    bool is_well = (u128)there * q->k * 10 >= (u128)total * (8 * (u64)q->alpha + 2 * (u64)q->k);
    return is_well ? CD_L1_RUNS : CD_L1_SLOW;
}

bool cd_l1_votes(const cd_l1_member *m)
{
    return m->balance != 0 && m->has_key && m->reach != CD_L1_AWAY && m->weight != 0;
}

static int heavy_first(const void *a, const void *b)
{
    u64 x = *(const u64 *)a;
    u64 y = *(const u64 *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool signs(const cd_l1_quorum *q, u64 there, u64 total)
{
    return total != 0 && (u128)there * q->warp_den >= (u128)total * q->warp_num;
}

/* Lets the heaviest fail, one after the other. w: weights of the voters, heaviest first. */
static void let_fail(cd_l1_standing *s, const cd_l1_quorum *q, const u64 *w)
{
    u64 left = s->there;
    bool goes_on = s->state != CD_L1_HALTS;
    bool still_signs = s->signs;
    for (usize i = 0; i < s->voters; i++) {
        left -= w[i];
        still_signs = still_signs && signs(q, left, s->total);
        s->can_fail_w += still_signs;
        if (goes_on && cd_l1_state_of(q, left, s->total) == CD_L1_HALTS) {
            goes_on = false;
            s->halting = i + 1;
        }
        s->can_fail += goes_on;
        s->alone += s->state != CD_L1_HALTS && cd_l1_state_of(q, s->there - w[i], s->total) == CD_L1_HALTS;
    }
}

void cd_l1_stand(cd_l1_standing *out, cd_arena *a, const cd_l1_quorum *q, const cd_l1_member *v, usize cnt)
{
    cd_arena_mark mark = cd_arena_mark_get(a);
    u64 *w = cd_arena_array(a, u64, cnt);
    cd_l1_standing s = {.heaviest = cnt};
    for (usize i = 0; i < cnt; i++) {
        s.total += v[i].weight;
        s.inactive += v[i].balance == 0;
        s.keyless += !v[i].has_key;
        s.away += v[i].balance != 0 && v[i].reach == CD_L1_AWAY;
        if (cd_l1_votes(&v[i])) {
            s.there += v[i].weight;
            w[s.voters++] = v[i].weight;
            s.heaviest = s.heaviest == cnt || v[i].weight > v[s.heaviest].weight ? i : s.heaviest;
        }
    }
    if (s.voters > 1) {
        qsort(w, s.voters, sizeof *w, heavy_first);
    }
    s.state = cd_l1_state_of(q, s.there, s.total);
    s.signs = signs(q, s.there, s.total);
    let_fail(&s, q, w);
    cd_arena_rewind(a, mark);
    *out = s;
}

/* --- in words --- */

/* Small numbers as words, as they stand in a sentence or begin it. */
static const char *number(cd_arena *a, usize n, bool begins)
{
    static const char *const words[][2] = {
        {"none", "None"}, {"one", "One"},       {"two", "Two"},       {"three", "Three"}, {"four", "Four"},
        {"five", "Five"}, {"six", "Six"},       {"seven", "Seven"},   {"eight", "Eight"}, {"nine", "Nine"},
        {"ten", "Ten"},   {"eleven", "Eleven"}, {"twelve", "Twelve"},
    };
    return n < CD_COUNT(words) ? words[n][begins] : cd_arena_fmt(a, "%zu", n);
}

const char *cd_l1_stand_text(cd_arena *a, const cd_l1_standing *s, usize cnt)
{
    if (cnt == 0) {
        return "It has no validators.";
    }
    if (s->state == CD_L1_HALTS) {
        return cd_arena_fmt(a,
                            "It stands still: %s of %s validators %s, with %llu of a weight of %llu; 70%% are needed.",
                            number(a, s->voters, false), number(a, cnt, false), s->voters == 1 ? "votes" : "vote",
                            (unsigned long long)s->there, (unsigned long long)s->total);
    }
    const char *slow = s->state == CD_L1_SLOW ? " It decides slowly already." : "";
    if (s->can_fail == 0) {
        return cd_arena_fmt(
            a, "No validator can fail: %s of %s vote, and %s.%s", number(a, s->voters, false), number(a, cnt, false),
            s->alone == s->voters ? "any one that fails halts it"
                                  : cd_arena_fmt(a, s->alone == 1 ? "%s halts it alone" : "each of %s halts it alone",
                                                 number(a, s->alone, false)),
            slow);
    }
    return cd_arena_fmt(a, "%s of %s validators can fail, whichever; %s can halt it.%s", number(a, s->can_fail, true),
                        number(a, cnt, false), number(a, s->halting, false), slow);
}

/* --- steps --- */

/* The set behind a step; cnt + 1 places. */
static cd_err take_step(cd_l1_member *v, usize *cnt, const cd_l1_step *step, cd_errinfo *why)
{
    u64 sum = 0;
    usize at = 0;
    while (at < *cnt && !cd_hash32_eq(&v[at].validation_id, &step->validation_id)) {
        at++;
    }
    if (step->kind == CD_L1_STEP_ADD) {
        v[(*cnt)++] = (cd_l1_member){
            .validation_id = step->validation_id, .weight = step->weight, .balance = step->balance, .has_key = true};
    } else if (step->kind != CD_L1_STEP_CREATE && at == *cnt) {
        return cd_fail(why, CD_ENOENT, "it is no validator of this L1");
    } else if (step->kind == CD_L1_STEP_DISABLE) {
        v[at].balance = 0;
    } else if (step->kind == CD_L1_STEP_WEIGHT) {
        v[at].weight = step->weight;
        if (step->weight == 0) {
            memmove(&v[at], &v[at + 1], (*cnt - at - 1) * sizeof *v);
            (*cnt)--;
        }
    }
    for (usize i = 0; i < *cnt; i++) {
        if (!cd_add_u64(&sum, sum, v[i].weight)) {
            return cd_fail(why, CD_ERANGE, "the weights together do not fit 64 bits");
        }
    }
    return CD_OK;
}

/* Is a part of one whole smaller than a part of another? */
static bool is_less(u64 part, u64 whole, u64 part2, u64 whole2)
{
    return (u128)part * whole2 < (u128)part2 * whole;
}

/* In tenths of a percent. */
static u64 permille(u64 part, u64 whole)
{
    return whole == 0 ? 0 : (u64)((u128)part * 1000 / whole);
}

static cd_err check_weight(const cd_l1_standing *is, const cd_l1_standing *was, u64 top, u64 top_was, usize cnt,
                           cd_errinfo *why)
{
    bool is_over = cnt >= 3 && (u128)top * 3 > is->total;
    if (!is_over || (was != NULL && !is_less(top_was, was->total, top, is->total))) {
        return CD_OK;
    }
    u64 part = permille(top, is->total);
    return cd_fail(why, CD_EACCES,
                   "one validator would have %llu.%llu%% of the weight, more than a third: the chain stands still "
                   "whenever it fails",
                   (unsigned long long)(part / 10), (unsigned long long)(part % 10));
}

cd_err cd_l1_step_check(cd_arena *a, const cd_l1_quorum *q, const cd_l1_member *v, usize cnt, const cd_l1_step *step,
                        cd_errinfo *why)
{
    cd_l1_standing was;
    cd_l1_standing is;
    usize n = cnt;
    cd_l1_member *next = cd_arena_array(a, cd_l1_member, cnt + 1);
    if (cnt != 0) {
        memcpy(next, v, cnt * sizeof *v);
    }
    CD_TRY(take_step(next, &n, step, why));
    bool is_new = step->kind == CD_L1_STEP_CREATE;
    if (!is_new) {
        cd_l1_stand(&was, a, q, v, cnt);
    }
    cd_l1_stand(&is, a, q, next, n);
    if (n == 0) {
        return cd_fail(why, CD_EACCES, "the last validator would be gone: the chain could never decide again");
    }
    bool is_worse = is_new || is_less(is.there, is.total, was.there, was.total);
    if (is.state == CD_L1_HALTS && is_worse) {
        u64 part = permille(is.there, is.total);
        return cd_fail(why, CD_EACCES,
                       "the chain would stand still: validators that pay and can be reached would have %llu.%llu%% of "
                       "the weight, and 70%% are needed (those without balance count, and do not vote)",
                       (unsigned long long)(part / 10), (unsigned long long)(part % 10));
    }
    u64 top = is.heaviest == n ? 0 : next[is.heaviest].weight;
    u64 top_was = is_new || was.heaviest == cnt ? 0 : v[was.heaviest].weight;
    return check_weight(&is, is_new ? NULL : &was, top, top_was, n, why);
}
