/* Users of the keystore: made, found again, moved to and from the original's form, guessed at, damaged. */
#include "base/hex.h"
#include "base/mem/arena.h"
#include "wallet/users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char strong[] = "N_+=_jJ;^(<;{4,:*m6CET}'&N;83FYK.wtNpwp-Jt";

/* A user with the key 1 on the chain 07 00 …, as golang.org/x/crypto 0.58 encrypts and stretches, in the layout of the
 * original's exportUser. */
static const char exported[] =
    "0000755af28d4ffea75124ffac2cc5c0c654e37f4e02032fa022b2333d09191c02a6000102030405060708090a0b0c0d0e0f"
    "0000000200000040f5411ec7e51e46159c654bdbdf3cc20785a217b87384810ed2e541dc0016943a0000000000000000000000000000"
    "0000000000000000000000000000000000000000004c00000000002a1fdb8842d38731b485bffe2f5ff34f07fc2ce54cfa1f03345f143"
    "3588236f9d1bf5d73d7eb495f3b4a590000001801010101010101010101010101010101010101010101010100000034f5411ec7e51e46"
    "159c654bdbdf3cc20785a217b87384810ed2e541dc0016943a751e76e8199196d454941c45d1b3a323f1433bd60000005200000000003"
    "01781956619144ef8f3b5e9445aaba5242474cd2741bcb0f3861e49d61f13ced85b1ec0d62666d488f4cc8d96afc14de2000000180202"
    "02020202020202020202020202020202020202020202";

static const cd_hash32 chain = {{7}};

/* A store, its users, and a clock that stands still. */
typedef struct rig {
    cd_kv *kv;
    cd_clock_virtual wall;
    cd_users *users;
    cd_errinfo why;
} rig;

static void begin(rig *r)
{
    *r = (rig){.kv = cd_kv_mem_open()};
    cd_clock_virtual_init(&r->wall, 1700000000000000000);
    r->users = cd_users_new(r->kv, cd_bytes_str("U"), &r->wall.clock);
}

static void end(rig *r)
{
    cd_users_free(r->users);
    cd_kv_close(r->kv);
}

static cd_bytes str(const char *s)
{
    return cd_bytes_str(s);
}

static usize user_cnt(rig *r)
{
    cd_arena a = {0};
    cd_bytes *names;
    usize cnt;
    assert_int_equal(cd_users_list(r->users, &names, &cnt, &a, &r->why), CD_OK);
    cd_arena_fini(&a);
    return cnt;
}

static void expect_key(rig *r, const char *name, const char *password, u8 last)
{
    cd_secret keys;
    usize cnt;
    assert_int_equal(cd_users_keys(r->users, &keys, &cnt, str(name), str(password), &chain, &r->why), CD_OK);
    assert_int_equal(cnt, 1);
    assert_int_equal(keys.p[31], last);
    cd_secret_fini(&keys);
}

static void test_life(void **state)
{
    (void)state;
    rig r;
    u8 secret[32] = {[31] = 5};
    u8 none[32] = {0};
    cd_secret keys;
    usize cnt;
    begin(&r);
    assert_int_equal(user_cnt(&r), 0);
    assert_int_equal(cd_users_create(r.users, str("bob"), str(strong), &r.why), CD_OK);
    assert_int_equal(cd_users_create(r.users, str("bob"), str(strong), &r.why), CD_EEXIST);
    assert_string_equal(r.why.msg, "user already exists: bob");
    assert_int_equal(cd_users_create(r.users, str("al"), str(strong), &r.why), CD_OK);
    assert_int_equal(user_cnt(&r), 2);
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("bob"), str(strong), &chain, &r.why), CD_OK);
    assert_int_equal(cnt, 0);
    assert_null(keys.p);
    assert_int_equal(cd_users_add(r.users, str("bob"), str(strong), &chain, secret, &r.why), CD_OK);
    assert_int_equal(cd_users_add(r.users, str("bob"), str(strong), &chain, secret, &r.why), CD_OK);
    assert_int_equal(cd_users_add(r.users, str("bob"), str(strong), &chain, none, &r.why), CD_EKEY);
    expect_key(&r, "bob", strong, 5);
    /* Another process on the same store finds them; another chain has none. */
    cd_users_free(r.users);
    r.users = cd_users_new(r.kv, str("U"), &r.wall.clock);
    expect_key(&r, "bob", strong, 5);
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("bob"), str(strong), &(cd_hash32){{8}}, &r.why), CD_OK);
    assert_int_equal(cnt, 0);
    assert_int_equal(cd_users_remove(r.users, str("bob"), str("wrong"), &r.why), CD_EACCES);
    assert_string_equal(r.why.msg, "incorrect password: user \"bob\"");
    assert_int_equal(cd_users_remove(r.users, str("bob"), str(strong), &r.why), CD_OK);
    assert_int_equal(cd_users_remove(r.users, str("bob"), str(strong), &r.why), CD_ENOENT);
    assert_string_equal(r.why.msg, "user doesn't exist: bob");
    assert_int_equal(cd_users_create(r.users, str("bob"), str(strong), &r.why), CD_OK);
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("bob"), str(strong), &chain, &r.why), CD_OK);
    assert_int_equal(cnt, 0);
    end(&r);
}

static void expect_refused(rig *r, const char *name, const char *password, const char *words)
{
    assert_int_equal(cd_users_create(r->users, str(name), str(password), &r->why), CD_EINVAL);
    assert_string_equal(r->why.msg, words);
}

static void test_refusals(void **state)
{
    (void)state;
    rig r;
    char long_name[1026];
    begin(&r);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    expect_refused(&r, "", strong, "empty username");
    expect_refused(&r, "bob", "", "empty password");
    expect_refused(&r, "bob", "weak", "password is too weak");
    expect_refused(&r, "bob", "password1234", "password is too weak");
    expect_refused(&r, long_name, strong, "username exceeds maximum length of 1024 chars");
    expect_refused(&r, "bob", long_name, "password exceeds maximum length of 1024 chars");
    assert_int_equal(user_cnt(&r), 0);
    end(&r);
}

/* Who guesses is slowed down, and so is everybody else for a second. */
static void test_guessing(void **state)
{
    (void)state;
    rig r;
    cd_secret keys;
    usize cnt;
    begin(&r);
    assert_int_equal(cd_users_create(r.users, str("bob"), str(strong), &r.why), CD_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("bob"), str("guess"), &chain, &r.why), CD_EACCES);
    }
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("bob"), str("guess"), &chain, &r.why), CD_ELIMIT);
    cd_clock_virtual_advance(&r.wall, CD_NS_PER_SEC);
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("bob"), str(strong), &chain, &r.why), CD_OK);
    /* Nobody learns whether a user is there. */
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("eve"), str("guess"), &chain, &r.why), CD_EACCES);
    assert_string_equal(r.why.msg, "incorrect password: user \"eve\"");
    end(&r);
}

static void test_move(void **state)
{
    (void)state;
    rig r;
    u8 bytes[sizeof exported / 2];
    cd_buf again = {0};
    begin(&r);
    assert_int_equal(cd_hex_parse(bytes, str(exported)), CD_OK);
    cd_bytes user = cd_bytes_of(bytes, sizeof exported / 2);
    assert_int_equal(cd_users_import(r.users, str("bob"), str("wrong"), user, &r.why), CD_EACCES);
    assert_int_equal(user_cnt(&r), 0);
    assert_int_equal(cd_users_import(r.users, str("bob"), str(strong), user, &r.why), CD_OK);
    expect_key(&r, "bob", strong, 1);
    assert_int_equal(cd_users_export(r.users, &again, str("bob"), str(strong), &r.why), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&again), user));
    assert_int_equal(cd_users_import(r.users, str("bob"), str(strong), user, &r.why), CD_EEXIST);
    cd_buf_fini(&again);
    end(&r);
}

/* What was cut anywhere, or has something behind it, is no user. What was changed is not taken for a key. */
static void test_damage(void **state)
{
    (void)state;
    rig r;
    u8 bytes[sizeof exported / 2 + 1] = {0};
    cd_secret keys;
    usize cnt;
    const usize n = sizeof exported / 2;
    begin(&r);
    assert_int_equal(cd_hex_parse(bytes, str(exported)), CD_OK);
    for (usize i = 0; i < n; i += 7) {
        assert_int_not_equal(cd_users_import(r.users, str("a"), str(strong), cd_bytes_of(bytes, i), &r.why), CD_OK);
    }
    assert_int_equal(cd_users_import(r.users, str("a"), str(strong), cd_bytes_of(bytes, n + 1), &r.why), CD_EFORMAT);
    bytes[0] = 1;
    assert_int_equal(cd_users_import(r.users, str("a"), str(strong), cd_bytes_of(bytes, n), &r.why), CD_EVERSION);
    bytes[0] = 0;
    memset(bytes + 50, 0xff, 4);
    assert_int_equal(cd_users_import(r.users, str("a"), str(strong), cd_bytes_of(bytes, n), &r.why), CD_ELIMIT);
    assert_int_equal(cd_hex_parse(bytes, str(exported)), CD_OK);
    bytes[n - 30] ^= 1;
    assert_int_equal(cd_users_import(r.users, str("a"), str(strong), cd_bytes_of(bytes, n), &r.why), CD_OK);
    assert_int_equal(cd_users_keys(r.users, &keys, &cnt, str("a"), str(strong), &chain, &r.why), CD_ECORRUPT);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life), cmocka_unit_test(test_refusals), cmocka_unit_test(test_guessing),
        cmocka_unit_test(test_move), cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
