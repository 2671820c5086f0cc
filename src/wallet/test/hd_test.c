/* BIP-32 test vector 2, and the accounts every Ethereum tool derives from the well-known phrase. */
#include "base/hex.h"
#include "crypto/ec/secp256k1.h"
#include "wallet/hd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_secret(const u8 secret[32], const char *hex)
{
    u8 want[32];
    assert_int_equal(cd_hex_parse(want, cd_bytes_str(hex)), CD_OK);
    assert_memory_equal(secret, want, 32);
}

static void well_known_accounts(void **state)
{
    (void)state;
    static const struct {
        const char *secret;
        const char *addr;
    } rows[] = {
        {"ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
         "f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},
        {"59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
         "70997970c51812dc3a010c7d01b50e0d17dc79c8"},
        {"5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
         "3c44cdddb6a900fa2b585dd299e03d12fa4293bc"},
    };
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < CD_COUNT(rows); i++) {
        u8 secret[32];
        u8 pub[64];
        u8 want[20];
        cd_addr20 addr;
        assert_int_equal(cd_hd_account(secret, seed, i), CD_OK);
        assert_secret(secret, rows[i].secret);
        assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
        cd_secp256k1_addr(&addr, pub);
        assert_int_equal(cd_hex_parse(want, cd_bytes_str(rows[i].addr)), CD_OK);
        assert_memory_equal(addr.b, want, 20);
    }
}

static void bip32_vector_2(void **state)
{
    (void)state;
    u8 seed[64];
    u8 secret[32];
    assert_int_equal(
        cd_hex_parse(seed, cd_bytes_str("fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a2"
                                        "9f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542")),
        CD_OK);
    const u32 path[] = {0, 2147483647 | CD_HD_HARDENED, 1};
    assert_int_equal(cd_hd_derive(secret, seed, path, 0), CD_OK);
    assert_secret(secret, "4b03d6fc340455b363f51020ad3ecca4f0850280cf436c70c727923f6db46c3e");
    assert_int_equal(cd_hd_derive(secret, seed, path, 1), CD_OK);
    assert_secret(secret, "abe74a98f6c7eabee0428f53798f0ab8aa1bd37873999041703c742f15ac7e1e");
    assert_int_equal(cd_hd_derive(secret, seed, path, 2), CD_OK);
    assert_secret(secret, "877c779ad9687164e9c2f4f0f4ff0340814392330693ce95a58fe18fd52e6e93");
    assert_int_equal(cd_hd_derive(secret, seed, path, 3), CD_OK);
    assert_secret(secret, "704addf544a06e5ee4bea37098463c23613da32020d604506da8c0518e1da4b7");
}

/* What everybody has is nobody's own where money is real; test networks take it. [spec:decisions#D17] */
static void public_keys_are_refused(void **state)
{
    static const u32 real[] = {1, 2, 3, 5};
    u8 seed[64];
    u8 secret[32];
    cd_errinfo why = {0};
    (void)state;
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    assert_int_equal(cd_hd_account(secret, seed, 19), CD_OK);
    for (usize i = 0; i < CD_COUNT(real); i++) {
        assert_int_equal(cd_hd_own_ok(secret, real[i], &why), CD_EACCES);
    }
    assert_string_equal(why.msg, "refusing to use a publicly known key on network testnet");
    assert_int_equal(cd_hd_own_ok(secret, 12345, NULL), CD_OK);
    secret[0] ^= 1;
    assert_int_equal(cd_hd_own_ok(secret, 1, NULL), CD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_known_accounts),
        cmocka_unit_test(bip32_vector_2),
        cmocka_unit_test(public_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
