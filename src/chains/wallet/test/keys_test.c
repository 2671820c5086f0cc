/* Keys of a user: put in the order of addresses, made, taken in, shown; refusals of the keystore handed on. */
#include "chains/wallet/keys.h"
#include "crypto/ec/secp256k1.h"
#include "types/addr_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROOM = 8 };

/* A keystore of one user on one chain. */
typedef struct store {
    cd_vm_users users; /* first */
    u8 secrets[ROOM][32];
    usize cnt;
} store;

static const cd_hash32 chain = {{9}};

static cd_err check(const cd_vm_user *user, const cd_hash32 *at, cd_errinfo *why)
{
    assert_memory_equal(at->b, chain.b, 32);
    return cd_bytes_eq(user->password, cd_bytes_str("right")) ? CD_OK : cd_fail(why, CD_EACCES, "incorrect password");
}

static cd_err get(const cd_vm_users *u, cd_secret *out, usize *cnt, const cd_vm_user *user, const cd_hash32 *at,
                  cd_errinfo *why)
{
    const store *s = (const store *)(const void *)u;
    CD_TRY(check(user, at, why));
    *cnt = s->cnt;
    if (s->cnt != 0) {
        cd_secret_init(out, 32 * s->cnt);
        memcpy(out->p, s->secrets, 32 * s->cnt);
    }
    return CD_OK;
}

static cd_err add(const cd_vm_users *u, const cd_vm_user *user, const cd_hash32 *at, const u8 secret[32],
                  cd_errinfo *why)
{
    store *s = (store *)(uintptr_t)u;
    CD_TRY(check(user, at, why));
    memcpy(s->secrets[s->cnt++], secret, 32);
    return CD_OK;
}

static const cd_vm_user right = {.name = {.p = (const u8 *)"bob", .n = 3},
                                 .password = {.p = (const u8 *)"right", .n = 5}};

static void expect_order(const cd_wallet_keys *k)
{
    for (usize i = 0; i < k->cnt; i++) {
        u8 pub[64];
        cd_addr20 addr;
        assert_int_equal(cd_secp256k1_pub(pub, k->secrets.p + 32 * i), CD_OK);
        cd_secp256k1_short_addr(&addr, pub);
        assert_memory_equal(addr.b, k->addrs[i].b, 20);
        cd_secp256k1_addr(&addr, pub);
        assert_memory_equal(addr.b, k->accts[i].b, 20);
        assert_true(i == 0 || memcmp(k->addrs[i - 1].b, k->addrs[i].b, 20) < 0);
    }
}

static void test_keys(void **state)
{
    (void)state;
    store s = {.users = {.keys = get, .add = add}};
    cd_arena a = {0};
    cd_wallet_keys k;
    cd_errinfo why = {0};
    cd_addr20 made[5];
    cd_addr20 acct;
    cd_buf text = {0};
    assert_int_equal(cd_wallet_keys_open(&k, &s.users, &right, &chain, NULL, 0, &a, &why), CD_OK);
    assert_int_equal(k.cnt, 0);
    assert_int_equal(cd_wallet_keys_text(&text, &k, &(cd_addr20){{0}}), CD_ENOENT);
    cd_wallet_keys_close(&k);
    for (usize i = 0; i < 4; i++) {
        assert_int_equal(cd_wallet_keys_new(&made[i], &s.users, &right, &chain, &why), CD_OK);
    }
    static const char ewoq[] = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";
    assert_int_equal(cd_wallet_keys_add(&made[4], &acct, &s.users, &right, &chain, cd_bytes_str(ewoq), &why), CD_OK);
    char shown[CD_ADDR_TEXT_SIZE];
    assert_string_equal(cd_addr_fmt(shown, &acct), "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");
    assert_int_equal(cd_wallet_keys_open(&k, &s.users, &right, &chain, NULL, 0, &a, &why), CD_OK);
    assert_int_equal(k.cnt, 5);
    assert_memory_equal(k.first.b, made[0].b, 20);
    expect_order(&k);
    assert_int_equal(cd_wallet_keys_text(&text, &k, &made[4]), CD_OK);
    assert_string_equal(cd_buf_cstr(&text), ewoq);
    cd_wallet_keys_close(&k);
    assert_int_equal(cd_wallet_keys_open(&k, &s.users, &right, &chain, &made[2], 2, &a, &why), CD_OK);
    assert_int_equal(k.cnt, 2);
    assert_memory_equal(k.first.b, made[2].b, 20);
    expect_order(&k);
    cd_wallet_keys_close(&k);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

static void expect_no_key(store *s, const char *text, const char *words)
{
    cd_addr20 addr;
    cd_errinfo why = {0};
    assert_int_not_equal(cd_wallet_keys_add(&addr, NULL, &s->users, &right, &chain, cd_bytes_str(text), &why), CD_OK);
    assert_non_null(strstr(why.msg, words));
    assert_int_equal(s->cnt, 0);
}

static void test_refusals(void **state)
{
    (void)state;
    store s = {.users = {.keys = get, .add = add}};
    cd_vm_user wrong = {.name = right.name, .password = cd_bytes_str("wrong")};
    cd_arena a = {0};
    cd_wallet_keys k;
    cd_addr20 addr;
    cd_errinfo why = {0};
    assert_int_equal(cd_wallet_keys_open(&k, &s.users, &wrong, &chain, NULL, 0, &a, &why), CD_EACCES);
    assert_string_equal(why.msg, "problem retrieving user \"bob\": incorrect password");
    cd_wallet_keys_close(&k);
    assert_int_equal(cd_wallet_keys_new(&addr, &s.users, &wrong, &chain, &why), CD_EACCES);
    assert_int_equal(cd_wallet_keys_new(&addr, NULL, &right, &chain, &why), CD_EUNSUPPORTED);
    assert_non_null(strstr(why.msg, "--api-keystore-enabled"));
    expect_no_key(&s, "", "argument 'privateKey' not given");
    expect_no_key(&s, "ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN", "it begins with \"PrivateKey-\"");
    expect_no_key(&s, "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNM", "problem parsing private key");
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
