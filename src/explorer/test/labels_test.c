/* Names of addresses: the file's, those that everybody knows, and files that are wrong. */
#include "explorer/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const cd_addr20 fee_manager = {.b = {[0] = 2, [19] = 3}};
static const cd_addr20 own = {.b = {[0] = 0xab, [19] = 0xcd}};

static void assert_name(const cd_labels *l, const cd_addr20 *addr, const char *name)
{
    cd_bytes got = cd_labels_of(l, addr);
    assert_int_equal(got.n, strlen(name));
    assert_memory_equal(got.p, name, got.n);
}

static void test_names(void **state)
{
    (void)state;
    static const char file[] = "# ours\r\n\n"
                               "  0xAB000000000000000000000000000000000000cd\t Treasury of ours \r\n"
                               "0x0200000000000000000000000000000000000003 fees";
    cd_labels *l;
    cd_addr20 found[2];
    assert_int_equal(cd_labels_new(&l, cd_bytes_str(file), NULL), CD_OK);
    assert_name(l, &own, "Treasury of ours");
    assert_name(l, &fee_manager, "fees");
    assert_name(l, &(cd_addr20){.b = {[19] = 1}}, "ecRecover");
    assert_name(l, &(cd_addr20){.b = {[19] = 0xff}}, "");
    assert_int_equal(cd_labels_find(l, found, 2, cd_bytes_str("tREASURY OF ours")), 1);
    assert_memory_equal(found[0].b, own.b, 20);
    assert_int_equal(cd_labels_find(l, found, 2, cd_bytes_str("Fee manager")), 0);
    assert_int_equal(cd_labels_find(l, found, 2, cd_bytes_str("")), 0);
    cd_labels_free(l);
    assert_int_equal(cd_labels_new(&l, (cd_bytes){0}, NULL), CD_OK);
    assert_name(l, &fee_manager, "Fee manager");
    cd_labels_free(l);
    assert_name(NULL, &fee_manager, "");
}

static void test_wrong_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"\n0xab", "line 2 does not begin with an address"},
        {"treasury 0xAB000000000000000000000000000000000000cd", "line 1 does not begin with an address"},
        {"0xAB000000000000000000000000000000000000cd0 x", "line 1 does not begin with an address"},
        {"0xAB000000000000000000000000000000000000cg x", "line 1 does not begin with an address"},
        {"0xAB000000000000000000000000000000000000cd \t", "line 1: a name has 1 to 64 bytes"},
        {"0xAB000000000000000000000000000000000000cd "
         "12345678901234567890123456789012345678901234567890123456789012345",
         "line 1: a name has 1 to 64 bytes"},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_labels *l = NULL;
        cd_errinfo why = {0};
        assert_int_equal(cd_labels_new(&l, cd_bytes_str(cases[i].text), &why), CD_EFORMAT);
        assert_string_equal(why.msg, cases[i].why);
        assert_null(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
