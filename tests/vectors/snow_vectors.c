/* The voting: testdata/p2p/snowflake_tree_traces.json, snowman_traces.json, early_termination.json. */
#include "vec.h"

#include "base/hex.h"
#include "consensus/snow/poll.h"
#include "consensus/snow/tree.h"
#include "crypto/hash/sha2.h"

static u32 u32_of(vec *v, cd_json j)
{
    u64 n = 0;
    vec_check(v, cd_json_u64(&n, j, NULL) == CD_OK && n <= UINT32_MAX, "bad number in the vectors");
    return (u32)n;
}

static bool bool_of(vec *v, cd_json j)
{
    bool b = false;
    vec_check(v, cd_json_bool(&b, j, NULL) == CD_OK, "bad boolean in the vectors");
    return b;
}

static cd_bytes str_of(cd_json v)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, v, NULL);
    return s;
}

static cd_hash32 named(cd_bytes name)
{
    cd_hash32 id;
    cd_sha256(&id, name);
    return id;
}

static cd_snow_params params_of(vec *v, cd_json row)
{
    cd_snow_params p = cd_snow_params_default();
    p.k = u32_of(v, cd_json_get(row, "k"));
    p.alpha_preference = u32_of(v, cd_json_get(row, "alphaPreference"));
    p.alpha_confidence = u32_of(v, cd_json_get(row, "alphaConfidence"));
    if (cd_json_has(cd_json_get(row, "beta"))) {
        p.beta = u32_of(v, cd_json_get(row, "beta"));
    }
    p.concurrent_repolls = 1;
    vec_check(v, cd_snow_params_check(&p, NULL) == CD_OK, "parameters");
    return p;
}

/* --- the trie --- */

static cd_hash32 hex_id(vec *v, cd_bytes text)
{
    cd_hash32 id = {0};
    vec_check(v, text.n == 64 && cd_hex_parse(id.b, text) == CD_OK, "bad ID in the vectors");
    return id;
}

static void check_flake(vec *v, cd_json row)
{
    cd_snow_params p = params_of(v, cd_json_get(row, "params"));
    cd_hash32 id = hex_id(v, str_of(cd_json_get(row, "initial_choice")));
    cd_flake f;
    cd_flake_init(&f, &id);
    cd_json_it it = cd_json_iter(cd_json_get(row, "steps"));
    while (cd_json_next(&it)) {
        cd_snow_vote votes[32];
        u32 cnt = 0;
        cd_json add = cd_json_get(it.val, "add");
        if (cd_json_has(add)) {
            id = hex_id(v, str_of(add));
            cd_flake_add(&f, &id);
        }
        cd_json_it vote = cd_json_iter(cd_json_get(it.val, "votes"));
        while (cd_json_next(&vote) && cnt < CD_COUNT(votes)) {
            votes[cnt++] = (cd_snow_vote){.id = hex_id(v, vote.key), .cnt = u32_of(v, vote.val)};
        }
        cd_hash32 want = hex_id(v, str_of(cd_json_get(it.val, "preference")));
        if (cd_json_has(cd_json_get(it.val, "unsuccessful"))) {
            cd_flake_fail(&f);
        } else {
            bool successful = cd_flake_poll(&f, &p, votes, cnt);
            vec_check(v, successful == bool_of(v, cd_json_get(it.val, "successful")), "successful");
        }
        vec_check(v, cd_flake_is_final(&f) == bool_of(v, cd_json_get(it.val, "finalized")), "finalized");
        vec_check(v, cd_hash32_eq(cd_flake_preference(&f), &want), "preference");
    }
    cd_flake_fini(&f);
}

/* --- the tree of blocks --- */

/* What has been decided since the beginning. */
typedef struct decided {
    cd_hash32 id[2][16]; /* rejected, accepted */
    u32 cnt[2];
} decided;

static void check_decisions(vec *v, cd_json step, decided *all, const cd_snow_decision *d, u32 cnt)
{
    const char *const lists[2] = {"rejected", "accepted"};
    for (u32 i = 0; i < cnt && all->cnt[d[i].is_accepted] < 16; i++) {
        all->id[d[i].is_accepted][all->cnt[d[i].is_accepted]++] = d[i].id;
    }
    for (u32 l = 0; l < 2; l++) {
        cd_json_it it = cd_json_iter(cd_json_get(step, lists[l]));
        vec_check(v, it.left == all->cnt[l], "%u %s, not %zu", all->cnt[l], lists[l], it.left);
        while (cd_json_next(&it)) {
            cd_hash32 want = named(str_of(it.val));
            bool found = false;
            for (u32 i = 0; i < all->cnt[l]; i++) {
                found = found || cd_hash32_eq(&want, &all->id[l][i]);
            }
            vec_check(v, found, "%s", lists[l]);
        }
    }
}

static void add_block(vec *v, cd_json scenario, cd_snow_tree *t, cd_bytes name)
{
    cd_json_it it = cd_json_iter(cd_json_get(scenario, "blocks"));
    while (cd_json_next(&it)) {
        if (cd_bytes_eq(str_of(cd_json_get(it.val, "name")), name)) {
            cd_errinfo why = {0};
            cd_hash32 id = named(name);
            cd_hash32 parent = named(str_of(cd_json_get(it.val, "parent")));
            u32 height = u32_of(v, cd_json_get(it.val, "height"));
            vec_check(v, cd_snow_tree_add(t, &id, &parent, height, NULL, &why) == CD_OK, "add: %s", why.msg);
            vec_check(v, cd_snow_tree_add(t, &id, &parent, height, NULL, &why) == CD_EEXIST, "add twice");
            return;
        }
    }
    vec_check(v, false, "no block of that name");
}

static void check_scenario(vec *v, cd_json row)
{
    cd_snow_params p = params_of(v, cd_json_get(row, "params"));
    cd_bytes name = str_of(cd_json_get(row, "name"));
    cd_hash32 genesis = named(cd_bytes_str("G"));
    cd_snow_tree *t = cd_snow_tree_new(&p, &genesis, 0);
    decided all = {0};
    cd_json_it it = cd_json_iter(cd_json_get(row, "steps"));
    for (u32 step = 0; cd_json_next(&it); step++) {
        cd_snow_vote votes[32];
        u32 cnt = 0;
        u64 height;
        cd_hash32 id;
        cd_json_it added = cd_json_iter(cd_json_get(it.val, "added_before"));
        while (cd_json_next(&added)) {
            add_block(v, row, t, str_of(added.val));
        }
        cd_json_it vote = cd_json_iter(cd_json_get(it.val, "poll"));
        while (cd_json_next(&vote) && cnt < CD_COUNT(votes)) {
            votes[cnt++] = (cd_snow_vote){.id = named(vote.key), .cnt = u32_of(v, vote.val)};
        }
        const cd_snow_decision *d = cd_snow_tree_poll(t, &cnt, votes, cnt);
        check_decisions(v, it.val, &all, d, cnt);
        cd_snow_tree_last(t, &id, &height);
        cd_hash32 last = named(str_of(cd_json_get(it.val, "last_accepted")));
        cd_hash32 preference = named(str_of(cd_json_get(it.val, "preference")));
        vec_check(v, cd_hash32_eq(&id, &last), "%.*s %u: last accepted", (int)name.n, (const char *)name.p, step);
        vec_check(v, height == u32_of(v, cd_json_get(it.val, "last_accepted_height")), "height");
        vec_check(v, cd_hash32_eq(cd_snow_tree_preference(t), &preference), "%.*s %u: preference", (int)name.n,
                  (const char *)name.p, step);
        vec_check(v, cd_snow_tree_cnt(t) == u32_of(v, cd_json_get(it.val, "processing")), "processing");
    }
    cd_snow_tree_free(t);
}

/* --- polls --- */

static bool parent_of(void *ctx, cd_hash32 *parent, const cd_hash32 *id)
{
    cd_json_it it = cd_json_iter(*(cd_json *)ctx);
    while (cd_json_next(&it)) {
        cd_hash32 child = named(it.key);
        if (cd_hash32_eq(&child, id)) {
            *parent = named(str_of(it.val));
            return true;
        }
    }
    return false;
}

/* Each event is the answer of another node, which was asked as often as it weighs. */
static void check_poll(vec *v, cd_json parents, cd_json row, u32 no)
{
    cd_snow_params p = params_of(v, row);
    cd_node_id nodes[CD_SNOW_K_MAX] = {0};
    u32 cnt = 0;
    u8 number = 0;
    cd_snow_polls *polls = cd_snow_polls_new(&p, parent_of, &parents);
    cd_json_it it = cd_json_iter(cd_json_get(row, "events"));
    while (cd_json_next(&it)) {
        u32 weight = u32_of(v, cd_json_get(it.val, "weight"));
        number++;
        for (u32 i = 0; i < weight; i++) {
            nodes[cnt++].b[0] = number;
        }
    }
    while (cnt < p.k) {
        nodes[cnt++].b[0] = 255; /* never answers */
    }
    cd_snow_polls_add(polls, 1, nodes, cnt);
    it = cd_json_iter(cd_json_get(row, "events"));
    number = 0;
    const cd_snow_vote *votes = NULL;
    u32 vote_cnt = 0;
    bool is_over = false;
    for (u32 event = 0; cd_json_next(&it); event++) {
        cd_node_id node = {.b = {++number}};
        cd_json vote = cd_json_get(it.val, "vote");
        cd_hash32 id = named(str_of(vote));
        bool took = cd_json_has(vote) ? cd_snow_polls_vote(polls, 1, &node, &id) : cd_snow_polls_drop(polls, 1, &node);
        vec_check(v, took, "poll %u: answer %u counts", no, event);
        is_over = cd_snow_polls_next(polls, &votes, &vote_cnt);
        vec_check(v, is_over == bool_of(v, cd_json_get(it.val, "finished")), "poll %u: event %u: %s", no, event,
                  is_over ? "over" : "not over");
        if (is_over) {
            break;
        }
    }
    cd_json_it result = cd_json_iter(cd_json_get(row, "result"));
    vec_check(v, !is_over || vote_cnt == result.left, "poll %u: as many blocks", no);
    while (is_over && cd_json_next(&result)) {
        cd_hash32 id = named(result.key);
        u32 got = 0;
        for (u32 i = 0; i < vote_cnt; i++) {
            got = cd_hash32_eq(&votes[i].id, &id) ? votes[i].cnt : got;
        }
        vec_check(v, got == u32_of(v, result.val), "poll %u: votes", no);
    }
    cd_snow_polls_free(polls);
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    if (vec_json(&v, &all, vec_path(&v, "p2p/snowflake_tree_traces.json"))) {
        cd_json_it it = cd_json_iter(all);
        vec_check(&v, it.left == 24, "24 instances");
        while (cd_json_next(&it)) {
            check_flake(&v, it.val);
        }
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/snowman_traces.json"))) {
        cd_json_it it = cd_json_iter(all);
        vec_check(&v, it.left == 11, "11 scenarios");
        while (cd_json_next(&it)) {
            check_scenario(&v, it.val);
        }
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/early_termination.json"))) {
        cd_json_it it = cd_json_iter(cd_json_get(all, "polls"));
        vec_check(&v, it.left == 40, "40 polls");
        for (u32 no = 0; cd_json_next(&it); no++) {
            check_poll(&v, cd_json_get(all, "parents"), it.val, no);
        }
    }
    return vec_end(&v);
}
