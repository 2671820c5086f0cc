/* Sealed bids: proofs are bound to auction, bidder and envelope; envelopes open for whom they were sealed; receipts. */
#include "services/adx/auction/sealed.h"

#include "crypto/cipher/hpke.h"
#include "crypto/ec/ed25519.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_hash32 AUCTION = {{1, 2, 3}};

static cd_opening opening(cd_rng *rng, u64 value)
{
    u8 wide[64];
    cd_rng_fill(rng, wide, sizeof wide);
    return (cd_opening){.value = value, .blinding = cd_scalar_wide(wide)};
}

static cd_err verify(const cd_hash32 *auction, const char *bidder, const char *envelope, const cd_hash32 *commitment,
                     const u8 *proof)
{
    cd_merlin t;
    cd_sealed_transcript(&t, auction, cd_bytes_str(bidder), cd_bytes_str(envelope));
    cd_rangeproof_claim claim = {&t, commitment, 1, cd_bytes_of(proof, CD_RANGEPROOF_SIZE_ONE)};
    return cd_rangeproof_verify(&claim);
}

static void proofs_are_bound(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(1);
    cd_opening o = opening(&rng, 25000000);
    cd_merlin t;
    cd_hash32 c;
    u8 proof[CD_RANGEPROOF_SIZE_ONE];
    cd_sealed_transcript(&t, &AUCTION, cd_bytes_str("alpha"), cd_bytes_str("envelope"));
    cd_sealed_prove(&c, proof, &t, &o, &rng);
    cd_hash32 other = {{9}};
    assert_int_equal(verify(&AUCTION, "alpha", "envelope", &c, proof), CD_OK);
    assert_int_equal(verify(&other, "alpha", "envelope", &c, proof), CD_EPROOF);
    assert_int_equal(verify(&AUCTION, "alphb", "envelope", &c, proof), CD_EPROOF);
    assert_int_equal(verify(&AUCTION, "alpha", "", &c, proof), CD_EPROOF);
    assert_true(cd_opening_fits(&o, &c));
    o.value++;
    assert_false(cd_opening_fits(&o, &c));
}

static void names(void **state)
{
    (void)state;
    char longest[CD_BIDDER_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_true(cd_bidder_is_valid(cd_bytes_of(longest, CD_BIDDER_MAX)));
    assert_false(cd_bidder_is_valid(cd_bytes_of(longest, CD_BIDDER_MAX + 1)));
    assert_false(cd_bidder_is_valid((cd_bytes){0}));
    assert_false(cd_bidder_is_valid(cd_bytes_of("a\0b", 3)));
    assert_false(cd_bidder_is_valid(cd_bytes_str("a\nb")));
    assert_true(cd_bidder_is_valid(cd_bytes_str("dsp-\xc3\xa4")));
}

/* The hash chain tells two bids apart whose names and commitments could be cut differently. */
static void log_is_unambiguous(void **state)
{
    (void)state;
    cd_hash32 c = {{'c'}};
    cd_sealed a;
    cd_sealed b;
    cd_hash32 ha;
    cd_hash32 hb;
    cd_sealed_make(&a, cd_bytes_str("ab"), &c, cd_bytes_str("proof"));
    cd_sealed_make(&b, cd_bytes_str("a"), &c, cd_bytes_str("proof"));
    cd_bidlog_init(&ha, &AUCTION);
    hb = ha;
    cd_bidlog_add(&ha, &a);
    cd_bidlog_add(&hb, &b);
    assert_false(cd_hash32_eq(&ha, &hb));
}

static void receipts(void **state)
{
    (void)state;
    const u8 seed[32] = {5};
    u8 public[32];
    cd_receipt r = {.auction = AUCTION, .seq = 7, .log_head = {{8}}, .commitment = {{9}}};
    cd_ed25519_public(public, seed);
    cd_receipt_sign(&r, seed);
    assert_int_equal(cd_receipt_verify(&r, public), CD_OK);
    cd_receipt changed = r;
    changed.seq++;
    assert_int_equal(cd_receipt_verify(&changed, public), CD_ESIG);
    changed = r;
    changed.log_head.b[31] ^= 1;
    assert_int_equal(cd_receipt_verify(&changed, public), CD_ESIG);
    changed = r;
    changed.commitment.b[0] ^= 1;
    assert_int_equal(cd_receipt_verify(&changed, public), CD_ESIG);
}

typedef struct sealed_box {
    cd_envelope_key key;
    cd_hash32 commitment;
    cd_buf bytes;
} sealed_box;

static void seal(sealed_box *s, cd_bytes plain)
{
    const u8 ephemeral[32] = {3};
    u8 public[32];
    s->key = (cd_envelope_key){.id = 77, .secret = {4, 4, 4}};
    s->commitment = (cd_hash32){{1}};
    s->bytes = (cd_buf){0};
    cd_x25519_public(public, s->key.secret);
    assert_int_equal(cd_envelope_seal(&s->bytes, CD_HPKE_CHACHA20_POLY1305, 77, public, &AUCTION, cd_bytes_str("alpha"),
                                      &s->commitment, plain, ephemeral),
                     CD_OK);
}

static cd_err open_as(const sealed_box *s, const cd_envelope_key *key, const char *bidder, cd_bytes bytes)
{
    cd_opening o;
    cd_buf creative = {0};
    cd_err e = cd_envelope_open(&o, &creative, bytes, key, 1, &AUCTION, cd_bytes_str(bidder), &s->commitment);
    if (e == CD_OK) {
        assert_int_equal(o.value, 25000000);
        assert_memory_equal(creative.p, "{}", 2);
        assert_int_equal(creative.n, 2);
    } else {
        assert_int_equal(creative.n, 0);
    }
    cd_buf_fini(&creative);
    return e;
}

static void envelopes(void **state)
{
    (void)state;
    u8 plain[CD_OPENING_SIZE + 2] = {0};
    sealed_box s;
    cd_put_le64(plain, 25000000);
    plain[8] = 1;
    plain[CD_OPENING_SIZE] = '{';
    plain[CD_OPENING_SIZE + 1] = '}';
    seal(&s, cd_bytes_of(plain, sizeof plain));
    cd_bytes whole = cd_buf_bytes(&s.bytes);
    assert_int_equal(open_as(&s, &s.key, "alpha", whole), CD_OK);
    assert_int_equal(open_as(&s, &s.key, "beta", whole), CD_ESIG);
    cd_envelope_key other = s.key;
    other.id++;
    assert_int_equal(open_as(&s, &other, "alpha", whole), CD_EKEY);
    other = s.key;
    other.secret[9] ^= 1;
    assert_int_equal(open_as(&s, &other, "alpha", whole), CD_ESIG);
    for (usize n = 0; n < whole.n; n++) {
        assert_int_not_equal(open_as(&s, &s.key, "alpha", cd_bytes_sub(whole, 0, n)), CD_OK);
        s.bytes.p[n] ^= 0x40;
        assert_int_not_equal(open_as(&s, &s.key, "alpha", whole), CD_OK);
        s.bytes.p[n] ^= 0x40;
    }
    cd_buf_fini(&s.bytes);

    /* Sealed well, but too short inside, and a blinding that is not reduced. */
    seal(&s, cd_bytes_of(plain, CD_OPENING_SIZE - 1));
    assert_int_equal(open_as(&s, &s.key, "alpha", cd_buf_bytes(&s.bytes)), CD_EFORMAT);
    cd_buf_fini(&s.bytes);
    memset(plain + 8, 0xff, 32);
    seal(&s, cd_bytes_of(plain, sizeof plain));
    assert_int_equal(open_as(&s, &s.key, "alpha", cd_buf_bytes(&s.bytes)), CD_ECANON);
    cd_buf_fini(&s.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_are_bound), cmocka_unit_test(names),     cmocka_unit_test(log_is_unambiguous),
        cmocka_unit_test(receipts),         cmocka_unit_test(envelopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
