/* How many votes the voting takes a second on one core: polls of 20 out of 2,000 validators, a chain of undecided
 * blocks with a sibling each, answers in the order of asking. One JSON line. */
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/os/rng.h"
#include "consensus/snow/poll.h"
#include "consensus/snow/tree.h"

#include <stdio.h>

enum { VALIDATORS = 2000, POLLS = 400000, AHEAD = 5 };

static bool parent_of(void *ctx, cd_hash32 *parent, const cd_hash32 *id)
{
    return cd_snow_tree_parent(ctx, parent, id);
}

/* A block and its sibling on the preferred leaf. */
static void grow(cd_snow_tree *t, cd_rng *rng, u64 *height)
{
    cd_hash32 parent = *cd_snow_tree_preference(t);
    (*height)++;
    for (u32 i = 0; i < 2; i++) {
        cd_hash32 id;
        cd_rng_fill(rng, id.b, sizeof id.b);
        cd_err e = cd_snow_tree_add(t, &id, &parent, *height, NULL, NULL);
        CD_ASSERT(e == CD_OK);
    }
}

int main(void)
{
    cd_snow_params p = cd_snow_params_default();
    cd_rng rng = cd_rng_seeded(1);
    cd_hash32 genesis = {0};
    cd_node_id *all = cd_new_array(cd_node_id, VALIDATORS);
    cd_snow_tree *t = cd_snow_tree_new(&p, &genesis, 0);
    cd_snow_polls *polls = cd_snow_polls_new(&p, parent_of, t);
    u64 height = 0;
    u64 votes_cnt = 0;
    u64 accepted = 0;
    for (u32 i = 0; i < VALIDATORS; i++) {
        cd_rng_fill(&rng, all[i].b, sizeof all[i].b);
    }
    u64 began = cd_clock_thread_ns();
    for (u32 n = 1; n <= POLLS; n++) {
        cd_node_id asked[CD_SNOW_K_MAX];
        while (cd_snow_tree_cnt(t) < 2 * AHEAD) {
            grow(t, &rng, &height);
        }
        for (u32 i = 0; i < p.k; i++) {
            asked[i] = all[cd_rng_below(&rng, VALIDATORS)];
        }
        cd_snow_polls_add(polls, n, asked, p.k);
        cd_hash32 id = *cd_snow_tree_preference(t);
        for (u32 i = 0; i < p.k; i++) {
            (void)cd_snow_polls_vote(polls, n, &asked[i], &id);
            votes_cnt++;
        }
        const cd_snow_vote *votes;
        u32 cnt;
        while (cd_snow_polls_next(polls, &votes, &cnt)) {
            const cd_snow_decision *made = cd_snow_tree_poll(t, &cnt, votes, cnt);
            for (u32 i = 0; i < cnt; i++) {
                accepted += made[i].is_accepted ? 1 : 0;
            }
        }
    }
    u64 ns = cd_clock_thread_ns() - began;
    (void)printf("{\"bench\":\"snow votes\",\"votes\":%llu,\"accepted\":%llu,\"votes_per_s\":%.0f}\n",
                 (unsigned long long)votes_cnt, (unsigned long long)accepted, (double)votes_cnt * 1e9 / (double)ns);
    cd_snow_polls_free(polls);
    cd_snow_tree_free(t);
    cd_free(all);
    return 0;
}
