/* Who may spend: the original's checks one by one, in its order and words; signers remembered and found side by side.
 * [spec:pchain-xchain#3] */
#include "base/os/rng.h"
#include "chains/utxo/fx.h"
#include "crypto/ec/secp256k1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { KEYS = 3, NOW = 1000 };

/* Three keys in the order of their addresses, owners of two of whom two must sign, and a good signature of both. */
typedef struct fixture {
    u8 secret[KEYS][32];
    cd_addr20 addr[KEYS];
    cd_hash32 hash;
    cd_owners owners;
    cd_signature sigs[2];
    u32 indices[2];
    cd_transfer_output out;
    cd_transfer_input in;
    cd_credential cred;
    cd_fx_at at;
    cd_fx *fx;
    cd_errinfo why;
} fixture;

static void sort_keys(fixture *f)
{
    for (int i = 0; i < KEYS; i++) {
        for (int k = 0; k + 1 < KEYS; k++) {
            if (memcmp(&f->addr[k], &f->addr[k + 1], 20) > 0) {
                cd_addr20 a = f->addr[k];
                u8 s[32];
                memcpy(s, f->secret[k], 32);
                f->addr[k] = f->addr[k + 1];
                memcpy(f->secret[k], f->secret[k + 1], 32);
                f->addr[k + 1] = a;
                memcpy(f->secret[k + 1], s, 32);
            }
        }
    }
}

static void set_up(fixture *f)
{
    cd_rng rng = cd_rng_seeded(1);
    cd_fx_free(f->fx);
    *f = (fixture){.fx = cd_fx_new(0)};
    for (int i = 0; i < KEYS; i++) {
        u8 pub[64];
        cd_rng_fill(&rng, f->secret[i], 32);
        assert_int_equal(cd_secp256k1_pub(pub, f->secret[i]), CD_OK);
        cd_secp256k1_short_addr(&f->addr[i], pub);
    }
    sort_keys(f);
    cd_fx_hash(&f->hash, cd_bytes_str("a transaction"));
    f->indices[0] = 0;
    f->indices[1] = 2;
    assert_int_equal(cd_fx_sign(&f->sigs[0], &f->hash, &f->secret[0], 1), CD_OK);
    assert_int_equal(cd_fx_sign(&f->sigs[1], &f->hash, &f->secret[2], 1), CD_OK);
    f->owners = (cd_owners){.locktime = NOW, .threshold = 2, .addrs = {.v = f->addr, .cnt = KEYS}};
    f->out = (cd_transfer_output){.amount = 5, .owners = f->owners};
    f->in = (cd_transfer_input){.amount = 5, .sig_indices = {.v = f->indices, .cnt = 2}};
    f->cred = (cd_credential){.sigs = {.v = f->sigs, .cnt = 2}};
    f->at = (cd_fx_at){.hash = &f->hash, .now = NOW};
}

static cd_err spend(fixture *f)
{
    f->why = (cd_errinfo){0};
    return cd_fx_spend(f->fx, &f->at, &f->in, &f->cred, &f->out, &f->why);
}

static void refused(fixture *f, cd_err code, const char *text)
{
    assert_int_equal(spend(f), code);
    assert_string_equal(f->why.msg, text);
}

static void good_and_again(void **state)
{
    (void)state;
    fixture f = {0};
    set_up(&f);
    assert_int_equal(spend(&f), CD_OK);
    assert_int_equal(spend(&f), CD_OK); /* from memory */
    cd_auth_input auth = {.sig_indices = f.in.sig_indices};
    assert_int_equal(cd_fx_permit(f.fx, &f.at, &auth, &f.cred, &f.owners, &f.why), CD_OK);
    cd_fx_free(f.fx);
}

/* One thing is wrong at a time, in the order in which the original looks. */
static void refusals_in_order(void **state)
{
    (void)state;
    fixture f = {0};
    set_up(&f);
    f.sigs[1].b[5] ^= 1;
    assert_int_not_equal(spend(&f), CD_OK); /* somebody else's, or nobody's */
    set_up(&f);
    f.sigs[1] = f.sigs[0];
    assert_int_equal(spend(&f), CD_EACCES);
    assert_memory_equal(f.why.msg, "wrong signature: expected signature from ", 41);
    f.indices[1] = 3;
    refused(&f, CD_EACCES, "input referenced a nonexistent address in the output");
    f.cred.sigs.cnt = 1;
    refused(&f, CD_EACCES, "input expected a different number of signers than provided in the credential");
    f.in.sig_indices.cnt = 1;
    refused(&f, CD_EACCES, "input has less signers than expected");
    f.in.sig_indices.cnt = 2;
    f.out.owners.threshold = 1;
    refused(&f, CD_EACCES, "input has more signers than expected");
    f.at.now = NOW - 1;
    refused(&f, CD_EACCES, "output is time locked");
    f.in.amount = 6;
    refused(&f, CD_EINVAL, "utxo amount and input amount are not equal: 5 != 6");
    f.indices[1] = 0;
    refused(&f, CD_EINVAL, "address indices not sorted and unique");
    f.in.amount = 0;
    refused(&f, CD_EINVAL, "input has no value");
    f.addr[1] = f.addr[0];
    refused(&f, CD_EINVAL, "addresses not sorted and unique");
    f.out.owners.threshold = 0;
    refused(&f, CD_EINVAL, "output representation should be optimized");
    f.out.owners.threshold = 4;
    refused(&f, CD_EINVAL, "output is unspendable");
    f.out.amount = 0;
    refused(&f, CD_EINVAL, "output has no value");
    cd_fx_free(f.fx);
}

/* s and n - s sign the same; only the lower one is taken. n - s is made byte by byte. */
static void other_half(u8 s[32])
{
    static const u8 n[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                             0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
                             0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
    int borrow = 0;
    for (int i = 31; i >= 0; i--) {
        int d = n[i] - s[i] - borrow;
        borrow = d < 0;
        s[i] = (u8)d;
    }
}

static void signatures_that_are_none(void **state)
{
    (void)state;
    fixture f = {0};
    set_up(&f);
    other_half(f.sigs[0].b + 32);
    f.sigs[0].b[64] ^= 1;
    refused(&f, CD_ESIG, "signature was mutated from its original format");
    set_up(&f);
    memset(f.sigs[0].b + 32, 0, 32);
    refused(&f, CD_ESIG, "invalid signature");
    memset(f.sigs[0].b + 32, 0xff, 32); /* above the order: taken modulo it, it would be low */
    refused(&f, CD_ESIG, "invalid signature");
    set_up(&f);
    f.sigs[0].b[64] += 4;
    refused(&f, CD_ESIG, "wasn't expecting a compressed key");
    f.sigs[0].b[64] = 8;
    refused(&f, CD_ESIG, "invalid signature");
    f.sigs[0].b[64] = 27;
    refused(&f, CD_ESIG, "invalid signature");
    f.at.hash = NULL; /* while bootstrapping nobody looks */
    assert_int_equal(spend(&f), CD_OK);
    cd_fx_free(f.fx);
}

/* What was recovered side by side is what is recovered one by one, bad ones between good ones included, and the memory
 * never says yes to another transaction. */
static void many_at_once(void **state)
{
    (void)state;
    enum { TXS = 150 };
    fixture f = {0};
    cd_fx_signed txs[TXS];
    static cd_signature sigs[TXS];
    static cd_credential creds[TXS];
    static cd_linear_any any[TXS];
    static cd_linear_list lists[TXS];
    u32 index = 0;
    set_up(&f);
    cd_fx *cold = cd_fx_new(8);
    for (u32 i = 0; i < TXS; i++) {
        cd_fx_hash(&txs[i].hash, cd_bytes_of(&i, sizeof i));
        assert_int_equal(cd_fx_sign(&sigs[i], &txs[i].hash, &f.secret[i % KEYS], 1), CD_OK);
        sigs[i].b[64] = (u8)(i % 10 == 9 ? 3 : i % 10 == 8 ? 200 : sigs[i].b[64]);
        sigs[i].b[33] ^= (u8)(i % 10 == 7);
        creds[i].sigs = (cd_linear_list){.v = &sigs[i], .cnt = 1};
        any[i].v = &creds[i];
        lists[i] = (cd_linear_list){.v = &any[i], .cnt = 1};
        txs[i].creds = &lists[i];
    }
    cd_fx_recover(f.fx, txs, TXS);
    for (u32 i = 0; i < TXS; i++) {
        cd_owners o = {.threshold = 1, .addrs = {.v = &f.addr[i % KEYS], .cnt = 1}};
        cd_linear_list one = {.v = &index, .cnt = 1};
        cd_fx_at at = {.hash = &txs[i].hash};
        cd_fx_at other = {.hash = &txs[(i + 1) % TXS].hash};
        cd_errinfo a = {0};
        cd_errinfo b = {0};
        cd_err warm = cd_fx_check(f.fx, &at, &one, &creds[i], &o, &a);
        assert_int_equal(warm, cd_fx_check(cold, &at, &one, &creds[i], &o, &b));
        assert_string_equal(a.msg, b.msg);
        assert_int_equal(warm == CD_OK, i % 10 < 7);
        assert_int_not_equal(cd_fx_check(f.fx, &other, &one, &creds[i], &o, NULL), CD_OK);
    }
    cd_fx_free(cold);
    cd_fx_free(f.fx);
}

static void who_could_sign(void **state)
{
    (void)state;
    fixture f = {0};
    u32 indices[2] = {9, 9};
    set_up(&f);
    assert_true(cd_fx_match(indices, 2, &f.owners, &f.addr[1], 2, NOW));
    assert_int_equal(indices[0], 1);
    assert_int_equal(indices[1], 2);
    assert_false(cd_fx_match(indices, 2, &f.owners, &f.addr[1], 1, NOW));
    assert_false(cd_fx_match(indices, 2, &f.owners, f.addr, KEYS, NOW - 1));
    assert_false(cd_fx_match(indices, 1, &f.owners, f.addr, KEYS, NOW));
    cd_fx_free(f.fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_and_again),           cmocka_unit_test(refusals_in_order),
        cmocka_unit_test(signatures_that_are_none), cmocka_unit_test(many_at_once),
        cmocka_unit_test(who_could_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
