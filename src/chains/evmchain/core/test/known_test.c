/* What is known of the newest state, against what was told: keys that share a place, versions, and code of any size. */
#include "chains/evmchain/core/world/known.h"

#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Few bytes differ, so that keys meet. */
static cd_addr20 addr_of(u64 x)
{
    cd_addr20 a = {0};
    a.b[0] = (u8)(x % 7);
    a.b[12] = (u8)(x / 7 % 7);
    a.b[9] = (u8)(x / 49 % 3);
    return a;
}

static void accounts_and_slots(void **state)
{
    (void)state;
    enum { KEYS = 7 * 7 * 3, STEPS = 20000 };
    cd_known *k = cd_known_new();
    cd_rng rng = cd_rng_seeded(1);
    u64 told[KEYS] = {0}; /* the nonce, and the slot's value; 0: no account */
    u64 version = 1;
    usize hits = 0;
    for (usize i = 0; i < STEPS; i++) {
        u64 key = cd_rng_below(&rng, KEYS);
        cd_addr20 addr = addr_of(key);
        cd_u256 slot = cd_u256_from_u64(key % 5);
        cd_account account = {.nonce = 77};
        cd_u256 value = cd_u256_from_u64(77);
        bool exists;
        if (cd_known_account(k, &account, &exists, version, &addr)) {
            assert_int_equal(exists, told[key] != 0);
            assert_int_equal(account.nonce, exists ? told[key] : 77);
            hits++;
        } else {
            account.nonce = told[key];
            cd_know_account(k, version, &addr, told[key] == 0 ? NULL : &account);
        }
        if (cd_known_slot(k, &value, version, &addr, &slot)) {
            assert_true(cd_u256_eq(&value, &(cd_u256){.w = {told[key]}}));
            hits++;
        } else {
            value = cd_u256_from_u64(told[key]);
            cd_know_slot(k, version, &addr, &slot, &value);
        }
        slot.w[2] = 1; /* another one, which nobody told of */
        assert_false(cd_known_slot(k, &value, version, &addr, &slot));
        if (i % 100 == 99) {
            told[cd_rng_below(&rng, KEYS)] = i;
            version++;
        }
    }
    assert_true(hits > STEPS / 10);
    cd_known_free(k);
}

/* What every call reads, the precompiles' addresses, which differ in their last byte, finds room beside each other; so
 * do slots with small numbers, and those that follow a hash. */
static void neighbours_have_places_of_their_own(void **state)
{
    (void)state;
    enum { CNT = 32 };
    cd_known *k = cd_known_new();
    usize accounts = 0;
    usize slots = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (u32 i = 0; i < CNT; i++) {
            cd_addr20 addr = {.b = {[19] = (u8)i}};
            cd_addr20 token = {.b = {0xc0}};
            cd_u256 slot = {.w = {i, 0, 0, i % 2 == 0 ? 0 : 0x290decd9548b62a8}};
            cd_account account = {.nonce = i};
            cd_u256 value = cd_u256_zero();
            bool exists;
            if (pass == 0) {
                cd_know_account(k, 1, &addr, &account);
                cd_know_slot(k, 1, &token, &slot, &value);
                continue;
            }
            accounts += cd_known_account(k, &account, &exists, 1, &addr) ? 1 : 0;
            slots += cd_known_slot(k, &value, 1, &token, &slot) ? 1 : 0;
        }
    }
    assert_true(accounts >= CNT - 2);
    assert_true(slots >= CNT - 2);
    cd_known_free(k);
}

static void codes(void **state)
{
    (void)state;
    static u8 bytes[24577];
    static const usize sizes[] = {1, 100, 24576, 24577, 0};
    cd_known *k = cd_known_new();
    cd_arena a = {0};
    for (usize i = 0; i < 3 * CD_COUNT(sizes); i++) {
        usize n = sizes[i % CD_COUNT(sizes)];
        cd_hash32 hash = {.b = {(u8)(64 * (i % 2)), (u8)i}}; /* all in one place */
        cd_bytes code;
        assert_false(cd_known_code(k, &code, &a, &hash));
        memset(bytes, (int)i + 1, sizeof bytes);
        cd_know_code(k, &hash, cd_bytes_of(bytes, n));
        assert_int_equal(cd_known_code(k, &code, &a, &hash), n > 0 && n < 24577);
        if (n > 0 && n < 24577) {
            bytes[0] = 0; /* the copy is its own */
            assert_int_equal(code.n, n);
            assert_int_equal(code.p[0], i + 1);
            assert_int_equal(code.p[n - 1], i + 1);
        }
    }
    cd_arena_fini(&a);
    cd_known_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_and_slots),
        cmocka_unit_test(neighbours_have_places_of_their_own),
        cmocka_unit_test(codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
