/* Dealing and signing by threshold: any set of signers, parties that lie, and sessions that answer only once. */
#include "crypto/lattice/ringtail.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "crypto/lattice/roots_priv.h"
#include "crypto/lattice/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PARTIES = 5, THRESHOLD = 4 };

static const u8 prf_key[32] = {9};

/* A group, and one run of the protocol among some of its parties. */
typedef struct group {
    u32 n;
    u32 t;
    cd_rt_key *key;
    cd_secret shares[CD_RT_PARTIES_MAX];
    cd_rng rng;
    cd_rt_set set;
    cd_rt_session *sessions[CD_RT_PARTIES_MAX];
    cd_buf d[CD_RT_PARTIES_MAX];
    cd_bytes ds[CD_RT_PARTIES_MAX];
    u8 tags[CD_RT_PARTIES_MAX][CD_RT_PARTIES_MAX][32]; /* tags[from][to] */
    cd_buf z[CD_RT_PARTIES_MAX];
    cd_bytes zs[CD_RT_PARTIES_MAX];
    cd_rt_joint *joint;
    cd_rt_sig *sig;
} group;

static group *group_new(u32 n, u32 t)
{
    u8 keys[64];
    group *g = cd_new(group);
    g->n = n;
    g->t = t;
    g->key = cd_new(cd_rt_key);
    g->joint = cd_new(cd_rt_joint);
    g->sig = cd_new(cd_rt_sig);
    g->rng = cd_rng_seeded(n * 100 + t);
    cd_rng_fill(&g->rng, keys, sizeof keys);
    cd_rt_deal(g->key, g->shares, n, t, keys, keys + 32);
    return g;
}

static void run_end(group *g)
{
    for (u32 k = 0; k < g->n; k++) {
        cd_rt_session_end(g->sessions[k]);
        g->sessions[k] = NULL;
        cd_buf_fini(&g->d[k]);
        cd_buf_fini(&g->z[k]);
    }
}

static void group_free(group *g)
{
    run_end(g);
    for (u32 i = 0; i < g->n; i++) {
        cd_secret_fini(&g->shares[i]);
    }
    cd_free(g->key);
    cd_free(g->joint);
    cd_free(g->sig);
    cd_free(g);
}

static const cd_rt_share *share(const group *g, u32 k)
{
    return (const cd_rt_share *)(const void *)g->shares[g->set.party[k]].p;
}

/* A set of cnt parties chosen at random. */
static void choose(group *g, u32 cnt)
{
    g->set.session = cd_rng_u64(&g->rng);
    g->set.cnt = 0;
    for (u32 i = 0; i < g->n; i++) {
        if (cd_rng_below(&g->rng, g->n - i) < cnt - g->set.cnt) {
            g->set.party[g->set.cnt++] = i;
        }
    }
    assert_int_equal(g->set.cnt, cnt);
}

static void round1(group *g)
{
    run_end(g);
    for (u32 k = 0; k < g->set.cnt; k++) {
        u8 fresh[32];
        cd_rng_fill(&g->rng, fresh, sizeof fresh);
        assert_int_equal(cd_rt_round1(&g->sessions[k], &g->d[k], g->tags[k], g->key, share(g, k), &g->set, fresh),
                         CD_OK);
        g->ds[k] = cd_buf_bytes(&g->d[k]);
    }
}

static cd_err round2_of(group *g, u32 k, u32 *bad, cd_bytes message)
{
    u8 tags[CD_RT_PARTIES_MAX][32];
    for (u32 from = 0; from < g->set.cnt; from++) {
        memcpy(tags[from], g->tags[from][k], 32);
    }
    cd_err e = cd_rt_round2(&g->z[k], bad, &g->sessions[k], share(g, k), g->joint, g->ds, (const u8(*)[32])tags,
                            prf_key, message);
    assert_null(g->sessions[k]);
    g->zs[k] = cd_buf_bytes(&g->z[k]);
    return e;
}

static cd_err joint(group *g, cd_bytes message)
{
    u32 bad;
    return cd_rt_joint_make(g->joint, &bad, g->key, &g->set, g->ds, message);
}

static void sign(group *g, u32 cnt, cd_bytes message)
{
    u32 bad = 0;
    choose(g, cnt);
    round1(g);
    assert_int_equal(joint(g, message), CD_OK);
    for (u32 k = 0; k < cnt; k++) {
        assert_int_equal(round2_of(g, k, &bad, message), CD_OK);
    }
    assert_int_equal(cd_rt_finalize(g->sig, &bad, g->key, g->joint, g->zs, message), CD_OK);
}

static const cd_bytes message = {(const u8 *)"a block", 7};

static void any_set_signs(void **state)
{
    (void)state;
    static const u32 sizes[][2] = {{3, 2}, {PARTIES, THRESHOLD}, {7, 5}};
    for (usize i = 0; i < CD_COUNT(sizes); i++) {
        group *g = group_new(sizes[i][0], sizes[i][1]);
        for (u32 cnt = g->t; cnt <= g->n; cnt++) {
            sign(g, cnt, message);
            assert_true(cd_rt_verify(g->key, g->sig, message));
            assert_false(cd_rt_verify(g->key, g->sig, cd_bytes_str("b block")));
        }
        group_free(g);
    }
}

/* Changing any bit of a signature's encoding makes it malformed or invalid. */
static void changed_bits(void **state)
{
    (void)state;
    group *g = group_new(3, 2);
    cd_buf text = {0};
    cd_rt_sig *read = cd_new(cd_rt_sig);
    sign(g, 2, message);
    cd_rt_sig_put(&text, g->sig);
    assert_int_equal(text.n, CD_RT_SIG_BYTES);
    for (u32 i = 0; i < 100; i++) {
        u64 bit = cd_rng_below(&g->rng, text.n * 8);
        text.p[bit / 8] ^= (u8)(1 << bit % 8);
        cd_rd r = cd_rd_init(cd_buf_bytes(&text));
        cd_rt_sig_read(&r, read);
        assert_true(cd_rd_end(&r) != CD_OK || !cd_rt_verify(g->key, read, message));
        text.p[bit / 8] ^= (u8)(1 << bit % 8);
    }
    cd_rd r = cd_rd_init(cd_buf_bytes(&text));
    cd_rt_sig_read(&r, read);
    assert_int_equal(cd_rd_end(&r), CD_OK);
    assert_true(cd_rt_verify(g->key, read, message));
    cd_buf_fini(&text);
    cd_free(read);
    group_free(g);
}

/* The reference's signer gives itself away when it is asked twice in one session: here a session answers once, draws
 * anew each time, and answers only to what it sent. */
static void one_answer(void **state)
{
    (void)state;
    u32 bad = 0;
    group *g = group_new(PARTIES, THRESHOLD);
    choose(g, THRESHOLD);
    round1(g);
    cd_hash32 before;
    memcpy(before.b, g->d[0].p + 100, 32);
    round1(g); /* same share, same session id */
    assert_memory_not_equal(before.b, g->d[0].p + 100, 32);

    /* Somebody gives party 0 another D in its own name. */
    assert_int_equal(joint(g, message), CD_OK);
    cd_bytes own = g->ds[0];
    g->ds[0] = g->ds[1];
    assert_int_equal(round2_of(g, 0, &bad, message), CD_EINVAL);
    assert_int_equal(g->z[0].n, 0);
    g->ds[0] = own;

    /* A tag that was not made for the D that came with it. */
    g->tags[2][1][5] ^= 1;
    assert_int_equal(round2_of(g, 1, &bad, message), CD_ESIG);
    assert_int_equal(bad, 2);
    assert_int_equal(g->z[1].n, 0);

    /* A joint of another session. */
    g->joint->set.session++;
    assert_int_equal(round2_of(g, 3, &bad, message), CD_EINVAL);
    assert_int_equal(g->z[3].n, 0);
    group_free(g);
}

static void liars(void **state)
{
    (void)state;
    u32 bad = 99;
    group *g = group_new(3, 2);
    choose(g, 3);
    round1(g);
    cd_bytes good = g->ds[2];
    g->ds[2] = cd_bytes_sub(good, 0, good.n - 1);
    assert_int_equal(cd_rt_joint_make(g->joint, &bad, g->key, &g->set, g->ds, message), CD_EFORMAT);
    assert_int_equal(bad, 2);
    cd_buf zeros = {0};
    cd_buf_put(&zeros, good);
    for (usize i = 0; i + 8 <= zeros.n; i += 8) { /* numbers of q and more */
        if (cd_le64(zeros.p + i) > 512) {
            memset(zeros.p + i, 0xff, 8);
            break;
        }
    }
    g->ds[2] = cd_buf_bytes(&zeros);
    assert_int_equal(cd_rt_joint_make(g->joint, &bad, g->key, &g->set, g->ds, message), CD_EFORMAT);
    g->ds[2] = good;
    assert_int_equal(joint(g, message), CD_OK);
    for (u32 k = 0; k < 3; k++) {
        assert_int_equal(round2_of(g, k, &bad, message), CD_OK);
    }
    g->z[1].p[40] ^= 1;
    assert_int_equal(cd_rt_finalize(g->sig, &bad, g->key, g->joint, g->zs, message), CD_ESIG);
    g->z[1].p[0] ^= 1;
    bad = 99;
    assert_int_equal(cd_rt_finalize(g->sig, &bad, g->key, g->joint, g->zs, message), CD_EFORMAT);
    assert_int_equal(bad, 1);
    cd_buf_fini(&zeros);

    /* A sum whose columns do not span the space: everybody commits to nothing. */
    cd_buf nothing = {0};
    cd_lpoly *none = cd_new_array(cd_lpoly, (usize)CD_RT_ROWS * (1 + CD_RT_COMMITS));
    cd_lpoly_matrix_put(&nothing, none, CD_RT_ROWS, 1 + CD_RT_COMMITS);
    for (u32 k = 0; k < 3; k++) {
        g->ds[k] = cd_buf_bytes(&nothing);
    }
    assert_int_equal(joint(g, message), CD_EINVAL);
    cd_buf_fini(&nothing);
    cd_free(none);
    group_free(g);
}

static void sets(void **state)
{
    (void)state;
    static const cd_rt_set good = {.cnt = 2, .party = {0, 2}};
    static const cd_rt_set few = {.cnt = 1, .party = {0}};
    static const cd_rt_set twice = {.cnt = 2, .party = {1, 1}};
    static const cd_rt_set beyond = {.cnt = 2, .party = {0, 3}};
    static const cd_rt_set unsorted = {.cnt = 2, .party = {2, 0}};
    static const cd_rt_set many = {.cnt = 4, .party = {0, 1, 2, 3}};
    assert_true(cd_rt_set_is_good(&good, 3, 2));
    assert_false(cd_rt_set_is_good(&few, 3, 2));
    assert_false(cd_rt_set_is_good(&twice, 3, 2));
    assert_false(cd_rt_set_is_good(&beyond, 3, 2));
    assert_false(cd_rt_set_is_good(&unsorted, 3, 2));
    assert_false(cd_rt_set_is_good(&many, 3, 2));
    group *g = group_new(3, 2);
    cd_rt_session *s = NULL;
    cd_buf d = {0};
    u8 tags[3][32];
    g->set = good;
    g->set.party[1] = 1;
    assert_int_equal(
        cd_rt_round1(&s, &d, tags, g->key, (const cd_rt_share *)(const void *)g->shares[2].p, &g->set, prf_key),
        CD_EINVAL);
    assert_null(s);
    group_free(g);
}

static void shares_are_written(void **state)
{
    (void)state;
    group *g = group_new(3, 2);
    cd_buf text = {0};
    cd_rt_share_put(&text, (const cd_rt_share *)(const void *)g->shares[1].p);
    cd_secret read;
    assert_int_equal(cd_rt_share_read(&read, cd_buf_bytes(&text)), CD_OK);
    assert_memory_equal(read.p, g->shares[1].p, sizeof(cd_rt_share));
    cd_secret_fini(&read);
    for (usize n = 0; n < text.n; n += 97) {
        assert_int_not_equal(cd_rt_share_read(&read, cd_bytes_of(text.p, n)), CD_OK);
    }
    text.p[5] = 3; /* index */
    assert_int_equal(cd_rt_share_read(&read, cd_buf_bytes(&text)), CD_EFORMAT);
    cd_buf_fini(&text);
    group_free(g);
}

/* --- bell curves --- */

/* The share of numbers up to x, from the weights themselves, in steps that are no finer than needed. */
static double exact_below(double deviation, double x)
{
    i64 max = (i64)(2 * deviation);
    i64 step = (i64)fmax(1, floor(deviation / 20000));
    double below = 0;
    double all = 0;
    for (i64 n = -max; n <= max; n += step) {
        double v = (double)n;
        double weight = exp(-v * v / (2 * deviation * deviation));
        all += weight;
        below += v <= x ? weight : 0;
    }
    return below / all;
}

static void bell(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    static const struct {
        cd_lattice_bell bell;
        double deviation;
    } curves[] = {
        {CD_BELL_ERROR, 6.108187070284607}, {CD_BELL_MASK, 172852667880.2713}, {CD_BELL_HASH, 163961331.5239387}};
    i64 *drawn = cd_new_array(i64, DRAWS);
    for (usize c = 0; c < CD_COUNT(curves); c++) {
        cd_blake2x x;
        cd_blake2x_init(&x, prf_key);
        for (u32 i = 0; i < DRAWS; i++) {
            drawn[i] = cd_lattice_bell_draw(curves[c].bell, &x);
            assert_true(fabs((double)drawn[i]) <= 2 * curves[c].deviation);
        }
        for (int tenth = -19; tenth <= 19; tenth++) { /* Kolmogorov and Smirnov: beyond 0.0061 once in a million */
            double x_at = floor(tenth / 10.0 * curves[c].deviation);
            u32 below = 0;
            for (u32 i = 0; i < DRAWS; i++) {
                below += (double)drawn[i] <= x_at;
            }
            double want = exact_below(curves[c].deviation, x_at);
            assert_true(fabs((double)below / DRAWS - want) < 0.0061);
        }
    }
    cd_free(drawn);
}

/* Gives a to the power of e; both numbers are times 2^64. */
static u64 power(u64 a, u64 e)
{
    u64 out = cd_lmod_mont(1);
    for (; e != 0; e >>= 1) {
        out = (e & 1) != 0 ? cd_lmod_mul(out, a) : out;
        a = cd_lmod_mul(a, a);
    }
    return out;
}

/* The tables of the transform, computed: 11 generates the multiplicative group modulo q. */
static void roots(void **state)
{
    (void)state;
    u64 root = power(cd_lmod_mont(11), (CD_LPOLY_Q - 1) / 512);
    for (u32 k = 0; k < CD_LPOLY_N; k++) {
        u32 reversed = 0;
        for (u32 bit = 0; bit < 8; bit++) {
            reversed |= (k >> bit & 1) << (7 - bit);
        }
        assert_int_equal(lattice_roots[k], power(root, reversed));
        assert_int_equal(lattice_roots_back[k], power(cd_lmod_inv(root), reversed));
    }
    assert_int_equal(lattice_one_256th, cd_lmod_inv(cd_lmod_mont(CD_LPOLY_N)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots),
        cmocka_unit_test(any_set_signs),
        cmocka_unit_test(changed_bits),
        cmocka_unit_test(one_answer),
        cmocka_unit_test(liars),
        cmocka_unit_test(sets),
        cmocka_unit_test(shares_are_written),
        cmocka_unit_test(bell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
