/* Key files: what is written is read by the same password only, whatever is changed in it; hostile ones cost
 * nothing. */
#include "wallet/keyfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const u8 secret[32] = {[0] = 0x7a, [31] = 0x9d};
static const cd_scrypt_cost tiny = {.n = 2, .r = 1, .p = 1};

static void make(cd_buf *out, u64 seed)
{
    cd_rng rng = cd_rng_seeded(seed);
    assert_int_equal(cd_keyfile_enc(out, secret, cd_bytes_str("p\xc3\xa4ss"), &tiny, &rng), CD_OK);
}

static cd_err open_it(cd_bytes text, const char *password, cd_errinfo *why)
{
    cd_secret got = {0};
    cd_err e = cd_keyfile_dec(&got, text, cd_bytes_str(password), why);
    if (e == CD_OK) {
        assert_int_equal(got.n, 32);
        assert_memory_equal(got.p, secret, 32);
        cd_secret_fini(&got);
    }
    assert_null(got.p);
    return e;
}

static void opens_with_its_password(void **state)
{
    (void)state;
    cd_buf file = {0};
    cd_addr20 addr;
    make(&file, 1);
    assert_int_equal(open_it(cd_buf_bytes(&file), "p\xc3\xa4ss", NULL), CD_OK);
    assert_int_equal(open_it(cd_buf_bytes(&file), "pass", NULL), CD_EKEY);
    assert_int_equal(open_it(cd_buf_bytes(&file), "", NULL), CD_EKEY);
    assert_int_equal(cd_keyfile_addr(&addr, cd_buf_bytes(&file), NULL), CD_OK);
    cd_buf_fini(&file);
}

static void has_the_members_of_geth(void **state)
{
    (void)state;
    static const char kdf[] = "\"kdf\":\"scrypt\",\"kdfparams\":{\"dklen\":32,\"n\":2,\"p\":1,\"r\":1,\"salt\":\"";
    static const char *const words[] = {
        "{\"address\":\"",
        "\",\"crypto\":{\"cipher\":\"aes-128-ctr\",\"ciphertext\":\"",
        "\"cipherparams\":{\"iv\":\"",
        kdf,
        "\"mac\":\"",
        "\"id\":\"",
        "\"version\":3}",
    };
    cd_buf file = {0};
    cd_buf other = {0};
    make(&file, 1);
    make(&other, 2);
    const char *text = cd_buf_cstr(&file);
    for (usize i = 0; i < CD_COUNT(words); i++) {
        assert_non_null(strstr(text, words[i]));
    }
    const char *id = strstr(text, "\"id\":\"") + 6;
    assert_int_equal(id[14], '4'); /* a random UUID */
    assert_true(strchr("89ab", id[19]) != NULL && id[8] == '-' && id[36] == '"');
    assert_null(strstr(text, "7a00000000000000"));
    assert_false(cd_bytes_eq(cd_buf_bytes(&file), cd_buf_bytes(&other)));
    cd_buf_fini(&file);
    cd_buf_fini(&other);
}

static void no_key_no_file(void **state)
{
    (void)state;
    u8 bad[32] = {0};
    cd_buf file = {0};
    cd_rng rng = cd_rng_seeded(1);
    assert_int_equal(cd_keyfile_enc(&file, bad, cd_bytes_str("x"), &tiny, &rng), CD_EKEY);
    memset(bad, 0xff, sizeof bad);
    assert_int_equal(cd_keyfile_enc(&file, bad, cd_bytes_str("x"), &tiny, &rng), CD_EKEY);
    assert_int_equal(file.n, 0);
}

/* One bit changed anywhere: an error, or the same key (address, id, length of what is derived). The counter block is
 * the exception: the MAC does not cover it, which is why a keystore compares addresses. */
static void every_byte_counts(void **state)
{
    (void)state;
    cd_buf file = {0};
    make(&file, 3);
    const char *text = cd_buf_cstr(&file);
    usize iv = (usize)(strstr(text, "\"iv\":\"") - text) + 6;
    for (usize i = 0; i < file.n; i++) {
        u8 was = file.p[i];
        for (u8 flip = 1; flip != 0; flip = (u8)(flip << 1)) {
            cd_secret got = {0};
            file.p[i] = was ^ flip;
            cd_err e = cd_keyfile_dec(&got, cd_buf_bytes(&file), cd_bytes_str("p\xc3\xa4ss"), NULL);
            bool is_same = e == CD_OK && memcmp(got.p, secret, 32) == 0;
            bool is_iv = i >= iv && i < iv + 32;
            assert_true(e != CD_OK || is_same || is_iv);
            cd_secret_fini(&got);
        }
        file.p[i] = was;
    }
    for (usize n = 0; n < file.n; n++) {
        assert_true(open_it(cd_bytes_of(file.p, n), "p\xc3\xa4ss", NULL) != CD_OK);
    }
    cd_buf_fini(&file);
}

static void hostile_files_cost_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *kdf;
        const char *params;
        cd_err want;
    } rows[] = {
        {"scrypt", "\"n\":2147483648,\"r\":8,\"p\":1", CD_ELIMIT},
        {"scrypt", "\"n\":18446744073709551615,\"r\":8,\"p\":1", CD_ELIMIT},
        {"scrypt", "\"n\":262144,\"r\":65536,\"p\":1", CD_ELIMIT},
        {"scrypt", "\"n\":2,\"r\":1,\"p\":4294967295", CD_ELIMIT},
        {"scrypt", "\"n\":262144,\"r\":8,\"p\":9", CD_ELIMIT},
        {"scrypt", "\"n\":2097152,\"r\":8,\"p\":1", CD_ELIMIT},
        {"scrypt", "\"n\":1000,\"r\":8,\"p\":1", CD_EFORMAT},
        {"scrypt", "\"n\":-1,\"r\":8,\"p\":1", CD_EFORMAT},
        {"scrypt", "\"r\":8,\"p\":1", CD_ENOENT},
        {"scrypt", "\"n\":2,\"r\":0,\"p\":1", CD_EFORMAT},
        {"pbkdf2", "\"c\":4294967295,\"prf\":\"hmac-sha256\"", CD_ELIMIT},
        {"pbkdf2", "\"c\":0,\"prf\":\"hmac-sha256\"", CD_EFORMAT},
        {"pbkdf2", "\"c\":1,\"prf\":\"hmac-md5\"", CD_EUNSUPPORTED},
        {"argon2", "\"c\":1", CD_EUNSUPPORTED},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char text[800];
        cd_errinfo why = {0};
        int n = snprintf(text, sizeof text,
                         "{\"version\":3,\"crypto\":{\"cipher\":\"aes-128-ctr\",\"cipherparams\":{\"iv\":"
                         "\"83dbcc02d8ccb40e466191a123791e0e\"},\"ciphertext\":\"d172\",\"mac\":"
                         "\"2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097\",\"kdf\":\"%s\","
                         "\"kdfparams\":{\"dklen\":32,\"salt\":\"ab0c\",%s}}}",
                         rows[i].kdf, rows[i].params);
        cd_err e = open_it(cd_bytes_of(text, (usize)n), "x", &why);
        if (e != rows[i].want) {
            fail_msg("%s: %s: %s", rows[i].params, cd_err_str(e), why.msg);
        }
        assert_true(why.msg[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_with_its_password),
        cmocka_unit_test(has_the_members_of_geth),
        cmocka_unit_test(no_key_no_file),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(hostile_files_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
