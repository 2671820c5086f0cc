/* The examples of EIP-55. */
#include "types/addr_text.h"

#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void eip55_examples(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
        "0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_addr20 addr;
        char text[CD_ADDR_TEXT_SIZE];
        assert_int_equal(cd_hex_parse(addr.b, cd_bytes_of(rows[i] + 2, 40)), CD_OK);
        assert_string_equal(cd_addr_fmt(text, &addr), rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eip55_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
