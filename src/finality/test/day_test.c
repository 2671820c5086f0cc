/* A day of a network of seven, two of whom lie in all the ways they can, and crash: every certificate that anybody
 * takes is right, none is missing, and no commitment is answered twice (network.h sees to both). A block every
 * twelve minutes when all is tested, each hour otherwise. [spec:finality#1] */
#include "finality/test/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PARTIES = 7, LIARS = 2, HOURS = 24, HELD = 256 };

/* What a liar does with a message. */
typedef enum lie {
    TRUTH,
    FORGES_SHARES,
    WRONG_TAGS,
    OTHER_TO_EACH,
    BAD_ANSWERS,
    NO_ANSWERS,
    SILENCE,
    SAYS_OLD_THINGS,
    ONLY_TO_SOME,
    LIES,
} lie;

static lie lies[LIARS];
static cd_buf old[HELD];
static u32 old_by[HELD];
static u32 old_cnt;

static void change(cd_buf *bytes, usize from_end, u8 how)
{
    if (bytes->n > from_end + 140) {
        bytes->p[bytes->n - 1 - from_end] ^= how;
    }
}

static void keep(u32 from, const cd_buf *bytes)
{
    u32 at = old_cnt++ % HELD;
    cd_buf_clear(&old[at]);
    cd_buf_put(&old[at], cd_bytes_of(bytes->p, bytes->n));
    old_by[at] = from;
}

static int act(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    bool is_key = says->kind == CD_FIN_SAYS_KEY || says->kind == CD_FIN_SAYS_NEXT_KEY;
    if (from >= LIARS || is_key) {
        return 0;
    }
    if (bytes->n < 100000 && cd_rng_below(&n->rng, 8) == 0) {
        keep(from, bytes);
    }
    bool is_signature = says->kind == CD_FIN_SAYS_SHARE || says->kind == CD_FIN_SAYS_STAMP;
    switch (lies[from]) {
    case FORGES_SHARES:
        if (is_signature) {
            change(bytes, 20, 4);
        }
        return 0;
    case WRONG_TAGS:
        if (says->kind == CD_FIN_SAYS_ROUND1) {
            change(bytes, 3, 1);
        }
        return 0;
    case OTHER_TO_EACH:
        if (says->kind == CD_FIN_SAYS_ROUND1) {
            bytes->p[3 + 32 + 48 + 20 + 40] ^= (u8)to;
        }
        return 0;
    case BAD_ANSWERS:
        if (says->kind == CD_FIN_SAYS_ROUND2) {
            change(bytes, 7, 1);
        }
        return 0;
    case NO_ANSWERS:
        return says->kind == CD_FIN_SAYS_ROUND2 || says->kind == CD_FIN_SAYS_CERT;
    case SILENCE:
        return 1;
    case ONLY_TO_SOME:
        return to % 2 == 0;
    case TRUTH:
    case SAYS_OLD_THINGS:
    case LIES:
        break;
    }
    return 0;
}

/* What was said once, said again, by its owner and by the other. */
static void say_old_things(network *n)
{
    for (u32 i = 0; i < cd_min_u64(old_cnt, HELD) && i < 40; i++) {
        u32 at = (u32)cd_rng_below(&n->rng, cd_min_u64(old_cnt, HELD));
        u32 to = (u32)cd_rng_below(&n->rng, PARTIES);
        net_push(n, cd_rng_below(&n->rng, 2) == 0 ? old_by[at] : 1 - old_by[at], to, cd_buf_bytes(&old[at]), NULL);
    }
}

static void choose(network *n)
{
    for (u32 i = 0; i < LIARS; i++) {
        lies[i] = (lie)cd_rng_below(&n->rng, LIES);
        if (lies[i] == SAYS_OLD_THINGS) {
            say_old_things(n);
        }
        if (cd_rng_below(&n->rng, 10) == 0) {
            net_kill(n, i);
            net_revive(n, i);
        }
    }
}

/* All who do not lie have a certificate of each block, and a final one of it or of one behind it. */
static void expect_all(const network *n, u64 last)
{
    for (u32 i = LIARS; i < PARTIES; i++) {
        for (u64 h = 1; h <= last; h++) {
            if (n->node[i].heights[h] == 0) {
                fail_msg("node %u has no certificate of block %llu", i, (unsigned long long)h);
            }
        }
        if (n->node[i].final_height != last) {
            fail_msg("node %u: final up to %llu of %llu", i, (unsigned long long)n->node[i].final_height,
                     (unsigned long long)last);
        }
    }
}

static void day(bool works_late)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    u32 an_hour = full != NULL && full[0] == '1' ? 5 : 1;
    network *n = net_new(PARTIES, 400 + works_late, true);
    n->works_late = works_late;
    net_run(n, 100);
    n->filter = act;
    u64 height = 0;
    for (u32 hour = 0; hour < HOURS; hour++) {
        for (u32 k = 0; k < an_hour; k++) {
            choose(n);
            net_accept(n, ++height, true);
            net_run(n, 3600000 / an_hour);
            for (u32 i = LIARS; i < PARTIES; i++) {
                if (n->node[i].final_height != height) {
                    fail_msg("block %llu is not final at node %u; lies %d and %d", (unsigned long long)height, i,
                             (int)lies[0], (int)lies[1]);
                }
            }
        }
    }
    expect_all(n, height);
    u32 by_threshold = 0;
    for (u64 h = 1; h <= height; h++) {
        by_threshold += n->node[LIARS].heights[h] == 1 + CD_FIN_BOTH;
    }
    (void)printf("%llu blocks, %u by threshold, %llu commitments, %llu answers\n", (unsigned long long)height,
                 by_threshold, (unsigned long long)n->commitments, (unsigned long long)n->answers);
    assert_true(by_threshold != 0 && by_threshold < height);
    old_cnt = 0;
    for (u32 i = 0; i < HELD; i++) {
        cd_buf_fini(&old[i]);
    }
    net_free(n);
}

static void a_day(void **state)
{
    (void)state;
    day(false);
}

/* The same when rounds are computed elsewhere, so that sessions end while they are. */
static void a_day_of_workers(void **state)
{
    (void)state;
    day(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_day), cmocka_unit_test(a_day_of_workers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
