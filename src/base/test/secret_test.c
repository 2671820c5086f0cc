/* Pages of secrets are writable, zeroed at first, and gone afterwards; comparison looks at every byte. */
#include "base/mem/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

static void comes_zeroed_and_goes(void **state)
{
    (void)state;
    static const usize sizes[] = {1, 32, 4096, 4097};
    unsigned char core;
    for (usize i = 0; i < CD_COUNT(sizes); i++) {
        cd_secret s;
        cd_secret_init(&s, sizes[i]);
        for (usize j = 0; j < sizes[i]; j++) {
            assert_int_equal(s.p[j], 0);
            s.p[j] = 0xaa;
        }
        void *page = s.p;
        cd_secret_fini(&s);
        assert_null(s.p);
        assert_int_equal(mincore(page, 1, &core), -1); /* nothing is mapped there any more */
        cd_secret_fini(&s);
    }
}

static void wipes(void **state)
{
    (void)state;
    u8 b[3] = {1, 2, 3};
    cd_wipe(b, 2);
    assert_int_equal(b[0] | b[1], 0);
    assert_int_equal(b[2], 3);
    cd_wipe(NULL, 0);
}

static void compares_every_byte(void **state)
{
    (void)state;
    u8 a[32] = {0};
    u8 b[32] = {0};
    assert_true(cd_ct_eq(a, b, sizeof a));
    for (usize i = 0; i < sizeof a; i++) {
        b[i] = 0x80;
        assert_false(cd_ct_eq(a, b, sizeof a));
        assert_true(cd_ct_eq(a, b, i));
        b[i] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_zeroed_and_goes),
        cmocka_unit_test(wipes),
        cmocka_unit_test(compares_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
