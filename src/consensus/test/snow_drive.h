/* Random sequences for the voting and its model: blocks, votes, questions. Randomness comes from a generator or from a
 * fuzzer's bytes. Test code. */
#ifndef CD_CONSENSUS_TEST_SNOW_DRIVE_H
#define CD_CONSENSUS_TEST_SNOW_DRIVE_H

#include "base/os/rng.h"
#include "consensus/test/snow_model.h"

typedef struct drive {
    cd_rng *rng; /* NULL: numbers come from bytes */
    cd_bytes bytes;
} drive;

/* A number below n; 0 when the bytes have ended. */
CD_INLINE u32 drive_below(drive *d, u32 n)
{
    if (d->rng != NULL) {
        return (u32)cd_rng_below(d->rng, n);
    }
    if (d->bytes.n == 0) {
        return 0;
    }
    u32 v = d->bytes.p[0];
    d->bytes = cd_bytes_sub(d->bytes, 1, d->bytes.n - 1);
    return v % n;
}

CD_INLINE cd_snow_params drive_params(drive *d)
{
    cd_snow_params p = cd_snow_params_default();
    p.k = 1 + drive_below(d, 20);
    p.alpha_preference = p.k / 2 + 1 + drive_below(d, p.k - p.k / 2);
    p.alpha_confidence = p.alpha_preference + drive_below(d, p.k - p.alpha_preference + 1);
    p.beta = 1 + drive_below(d, 5);
    p.concurrent_repolls = 1;
    CD_ASSERT(cd_snow_params_check(&p, NULL) == CD_OK);
    return p;
}

/* Makes IDs that share long prefixes, so that every form of the trie comes up. */
CD_INLINE cd_hash32 drive_id(drive *d, u32 unique)
{
    cd_hash32 id = {0};
    for (u32 flips = drive_below(d, 4); flips != 0; flips--) {
        u32 bit = drive_below(d, 4) == 0 ? 255 - drive_below(d, 3) : drive_below(d, 250);
        id.b[bit / 8] = (u8)(id.b[bit / 8] ^ 1u << (bit % 8));
    }
    id.b[drive_below(d, 2) == 0 ? 3 : 30] = (u8)unique;
    return id;
}

CD_INLINE void drive_compare(const cd_snow_tree *t, const model_tree *m, const cd_snow_decision *made, u32 cnt)
{
    cd_hash32 last;
    u64 height;
    u32 live = 0;
    u32 accepted = 0;
    cd_snow_tree_last(t, &last, &height);
    CD_ASSERT(cd_hash32_eq(&last, &m->b[m->last].id));
    CD_ASSERT(cd_hash32_eq(cd_snow_tree_preference(t), &m->b[m->tail].id));
    CD_ASSERT(cnt == m->accepted_cnt + m->rejected_cnt);
    for (u32 i = 0; i < cnt; i++) {
        bool found = false;
        if (made[i].is_accepted) {
            found = cd_hash32_eq(&made[i].id, &m->accepted[accepted++]);
        }
        for (u32 j = 0; !made[i].is_accepted && j < m->rejected_cnt; j++) {
            found = found || cd_hash32_eq(&made[i].id, &m->rejected[j]);
        }
        CD_ASSERT(found);
    }
    for (u32 i = 0; i < m->cnt; i++) {
        bool is_undecided = m->b[i].live && i != m->last;
        live += is_undecided ? 1 : 0;
        CD_ASSERT(cd_snow_tree_find(t, NULL, &m->b[i].id) == is_undecided);
        CD_ASSERT(cd_snow_tree_is_preferred(t, &m->b[i].id) == (is_undecided && m->preferred[i]));
    }
    CD_ASSERT(cd_snow_tree_cnt(t) == live);
}

/* One whole life of a tree and its model; every difference is a bug. */
CD_INLINE void drive_tree(drive *d, u32 steps)
{
    cd_snow_params p = drive_params(d);
    model_tree *m = cd_alloc(sizeof *m);
    cd_hash32 genesis = {.b = {[31] = 0xff}};
    u64 heights[MODEL_BLOCKS_MAX] = {0};
    model_init(m, &p, &genesis);
    cd_snow_tree *t = cd_snow_tree_new(&p, &genesis, 0);
    for (u32 s = 0; s < steps && (d->rng != NULL || d->bytes.n != 0); s++) {
        if (m->cnt < MODEL_BLOCKS_MAX && drive_below(d, 3) == 0) {
            u32 parent = drive_below(d, m->cnt);
            cd_hash32 id = drive_id(d, m->cnt);
            heights[m->cnt] = heights[parent] + 1;
            cd_err e = cd_snow_tree_add(t, &id, &m->b[parent].id, heights[m->cnt], NULL, NULL);
            CD_ASSERT(e == (m->b[parent].live ? CD_OK : CD_ENOENT));
            if (e == CD_OK) {
                model_insert(m, &id, parent);
            }
            continue;
        }
        cd_snow_vote votes[CD_SNOW_K_MAX];
        u32 cnt = 0;
        u32 left = p.k;
        u32 favourite = drive_below(d, m->cnt);
        while (left != 0 && drive_below(d, 12) != 0) {
            u32 n = 1 + drive_below(d, left);
            u32 on = drive_below(d, 4) == 0 ? drive_below(d, m->cnt) : favourite;
            votes[cnt++] = (cd_snow_vote){.id = m->b[on].id, .cnt = n};
            left -= n;
        }
        u32 made_cnt;
        model_poll(m, votes, cnt);
        const cd_snow_decision *made = cd_snow_tree_poll(t, &made_cnt, votes, cnt);
        drive_compare(t, m, made, made_cnt);
    }
    cd_snow_tree_free(t);
    cd_arena_fini(&m->arena);
    cd_free(m);
}

/* --- polls --- */

typedef struct drive_graph {
    cd_hash32 ids[MODEL_BLOCKS_MAX];
    u32 parents[MODEL_BLOCKS_MAX];
    u32 votes[MODEL_BLOCKS_MAX];
    u32 cnt;
} drive_graph;

CD_INLINE bool drive_parent(void *ctx, cd_hash32 *parent, const cd_hash32 *id)
{
    const drive_graph *g = ctx;
    for (u32 i = 0; i < g->cnt; i++) {
        if (cd_hash32_eq(&g->ids[i], id) && g->parents[i] != UINT32_MAX) {
            *parent = g->ids[g->parents[i]];
            return true;
        }
    }
    return false;
}

CD_INLINE void drive_poll(drive *d)
{
    cd_snow_params p = drive_params(d);
    drive_graph g = {.cnt = 1 + drive_below(d, 8)};
    cd_node_id nodes[CD_SNOW_K_MAX] = {0};
    u32 weights[CD_SNOW_K_MAX] = {0};
    for (u32 i = 0; i < g.cnt; i++) {
        g.ids[i] = drive_id(d, i + 1);
        g.parents[i] = i == 0 || drive_below(d, 8) == 0 ? UINT32_MAX : drive_below(d, i);
    }
    for (u32 i = 0; i < p.k; i++) {
        nodes[i].b[0] = (u8)drive_below(d, p.k);
        weights[nodes[i].b[0]]++;
    }
    cd_snow_polls *polls = cd_snow_polls_new(&p, drive_parent, &g);
    cd_snow_polls_add(polls, 7, nodes, p.k);
    u32 out = p.k;
    for (u32 n = 0; n < p.k && out != 0; n++) {
        const cd_snow_vote *votes;
        u32 cnt;
        cd_node_id node = {.b = {(u8)n}};
        u32 on = drive_below(d, g.cnt + 1);
        bool took = on < g.cnt ? cd_snow_polls_vote(polls, 7, &node, &g.ids[on]) : cd_snow_polls_drop(polls, 7, &node);
        CD_ASSERT(took == (weights[n] != 0));
        CD_ASSERT(!cd_snow_polls_drop(polls, 7, &node) && !cd_snow_polls_is_asked(polls, 7, &node));
        out -= weights[n];
        if (on < g.cnt) {
            g.votes[on] += weights[n];
        }
        bool want = model_is_over(&p, g.ids, g.parents, g.votes, g.cnt, out);
        bool got = cd_snow_polls_next(polls, &votes, &cnt);
        CD_ASSERT(!took || got == want);
        if (got) {
            break;
        }
    }
    CD_ASSERT(cd_snow_polls_cnt(polls) == 0);
    cd_snow_polls_free(polls);
}

#endif
