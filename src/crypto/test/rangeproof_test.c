/* Range proofs: what the prover makes is accepted, in every size, alone and in batches, and nothing else is. */
#include "crypto/zk/rangeproof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct made {
    cd_merlin before;
    cd_hash32 commitment[32];
    u8 proof[CD_RANGEPROOF_SIZE_MAX];
    cd_rangeproof_claim claim;
} made;

static cd_scalar random_scalar(cd_rng *rng)
{
    u8 wide[64];
    cd_rng_fill(rng, wide, sizeof wide);
    return cd_scalar_wide(wide);
}

static void make(made *m, usize cnt, cd_rng *rng)
{
    u64 value[32];
    cd_scalar blinding[32];
    cd_merlin_init(&m->before, "test");
    cd_merlin_append_u64(&m->before, "n", cd_rng_u64(rng));
    for (usize i = 0; i < cnt; i++) {
        value[i] = i == 0 ? UINT64_MAX : cd_rng_u64(rng) >> cd_rng_below(rng, 64);
        blinding[i] = random_scalar(rng);
        cd_scalar v = cd_scalar_u64(value[i]);
        cd_point c;
        cd_pedersen(&c, &v, &blinding[i]);
        cd_point_put(m->commitment[i].b, &c);
    }
    cd_merlin t = m->before;
    cd_rangeproof_prove(m->proof, &t, value, blinding, cnt, rng);
    m->claim = (cd_rangeproof_claim){.transcript = &m->before,
                                     .commitment = m->commitment,
                                     .cnt = cnt,
                                     .proof = cd_bytes_of(m->proof, cd_rangeproof_size(cnt))};
}

static void proves_and_verifies(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(1);
    for (usize cnt = 1; cnt <= 32; cnt *= 2) {
        made m;
        make(&m, cnt, &rng);
        assert_int_equal(cd_rangeproof_verify(&m.claim), CD_OK);
    }
    assert_int_equal(cd_rangeproof_size(1), CD_RANGEPROOF_SIZE_ONE);
    assert_int_equal(cd_rangeproof_size(32), CD_RANGEPROOF_SIZE_MAX);
    assert_int_equal(cd_rangeproof_size(0), 0);
    assert_int_equal(cd_rangeproof_size(3), 0);
    assert_int_equal(cd_rangeproof_size(64), 0);
}

/* Refuses a flipped byte anywhere, another transcript, another commitment, another length. */
static void refuses_what_was_changed(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(2);
    made m;
    make(&m, 2, &rng);
    for (usize i = 0; i < m.claim.proof.n; i++) {
        m.proof[i] ^= (u8)(1 << (i % 8));
        assert_int_not_equal(cd_rangeproof_verify(&m.claim), CD_OK);
        m.proof[i] ^= (u8)(1 << (i % 8));
    }
    assert_int_equal(cd_rangeproof_verify(&m.claim), CD_OK);
    cd_rangeproof_claim other = m.claim;
    cd_merlin t = m.before;
    cd_merlin_append_u64(&t, "n", 1);
    other.transcript = &t;
    assert_int_equal(cd_rangeproof_verify(&other), CD_EPROOF);
    other = m.claim;
    cd_hash32 swapped[2] = {m.commitment[1], m.commitment[0]};
    other.commitment = swapped;
    assert_int_equal(cd_rangeproof_verify(&other), CD_EPROOF);
    other = m.claim;
    other.proof.n -= 32;
    assert_int_equal(cd_rangeproof_verify(&other), CD_EFORMAT);
    other = m.claim;
    other.cnt = 1;
    assert_int_equal(cd_rangeproof_verify(&other), CD_EFORMAT);
}

/* -1 is far above 2^64: the honest prover's algorithm for its low 64 bits does not convince. */
static void refuses_what_is_out_of_range(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(3);
    u64 value = UINT64_MAX;
    cd_scalar blinding = random_scalar(&rng);
    cd_scalar minus = cd_scalar_neg(&CD_SCALAR_ONE);
    cd_merlin before;
    cd_merlin_init(&before, "test");
    cd_merlin t = before;
    u8 proof[CD_RANGEPROOF_SIZE_ONE];
    cd_rangeproof_prove(proof, &t, &value, &blinding, 1, &rng);
    cd_hash32 commitment;
    cd_point c;
    cd_pedersen(&c, &minus, &blinding);
    cd_point_put(commitment.b, &c);
    cd_rangeproof_claim claim = {&before, &commitment, 1, cd_bytes_of(proof, sizeof proof)};
    assert_int_equal(cd_rangeproof_verify(&claim), CD_EPROOF);
}

/* A batch is valid when each of its proofs is; one wrong proof is noticed wherever it stands, and two errors do not
 * cancel out. */
static void batches(void **state)
{
    (void)state;
    enum { CNT = 40 };
    static made m[CNT];
    cd_rangeproof_claim claims[CNT];
    cd_rng rng = cd_rng_seeded(4);
    for (usize i = 0; i < CNT; i++) {
        make(&m[i], i % 8 == 7 ? 4 : 1, &rng);
        claims[i] = m[i].claim;
    }
    assert_int_equal(cd_rangeproof_verify_many(claims, 0), CD_OK);
    assert_int_equal(cd_rangeproof_verify_many(claims, 5), CD_OK);
    assert_int_equal(cd_rangeproof_verify_many(claims, CNT), CD_OK);
    for (usize i = 0; i < CNT; i += 13) {
        m[i].proof[130] ^= 1; /* in t_x */
        assert_int_equal(cd_rangeproof_verify_many(claims, CNT), CD_EPROOF);
        m[i].proof[130] ^= 1;
    }
    cd_bytes kept = claims[0].proof;
    claims[0].proof = claims[1].proof;
    claims[1].proof = kept;
    assert_int_equal(cd_rangeproof_verify_many(claims, 5), CD_EPROOF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proves_and_verifies),
        cmocka_unit_test(refuses_what_was_changed),
        cmocka_unit_test(refuses_what_is_out_of_range),
        cmocka_unit_test(batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
