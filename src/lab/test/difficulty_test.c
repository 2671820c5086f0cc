/* The difficulty of blocks of mainnet, from their parents: a block on each side of every change of the rule. */
#include "lab/difficulty.h"

#include "num/u256_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *fork_name, const char *parent, u64 number, u64 seconds, bool has_uncles,
                   const char *want)
{
    cd_fork fork;
    cd_u256 out;
    char text[CD_U256_TEXT_MAX];
    cd_difficulty_parent p = {.number = number, .time = 1000, .has_uncles = has_uncles};
    assert_int_equal(cd_fork_parse(&fork, fork_name), CD_OK);
    assert_int_equal(cd_u256_parse(&p.difficulty, cd_bytes_str(parent)), CD_OK);
    cd_difficulty_of(&out, &p, 1000 + seconds, fork, cd_difficulty_delay(fork, fork_name));
    (void)cd_u256_fmt_dec(text, &out);
    assert_string_equal(text, want);
}

static void steps_of_each_rule(void **state)
{
    (void)state;
    expect("Frontier", "2048000", 0, 12, false, "2049000");
    expect("Frontier", "2048000", 0, 13, false, "2047000");
    expect("Homestead", "2048000", 0, 9, false, "2049000");
    expect("Homestead", "2048000", 0, 10, false, "2048000");
    expect("Homestead", "2048000", 0, 20, true, "2047000"); /* uncles count from Byzantium on */
    expect("Homestead", "204800000", 0, 100000, false, "194900000");
    expect("Byzantium", "2048000", 0, 8, false, "2049000");
    expect("Byzantium", "2048000", 0, 9, false, "2048000");
    expect("Byzantium", "2048000", 0, 9, true, "2049000");
    expect("Byzantium", "204800000", 0, 891, false, "195000000");
    expect("Byzantium", "204800000", 0, 900, false, "194900000");
    expect("Byzantium", "204800000", 0, 909, false, "194900000");
    expect("Byzantium", "204800000", 0, 909, true, "194900000");
    expect("Byzantium", "204800000", 0, 900, true, "195000000");
    expect("Frontier", "131072", 0, 100, false, "131072");
    expect("London", "131072", 0, 100000, false, "131072");
}

/* Every 100,000 blocks from 200,000 on the growth doubles, counted from the delay of the rules. */
static void growth_by_age(void **state)
{
    static const struct {
        const char *fork;
        u64 delay;
    } rows[] = {
        {"Frontier", 0},         {"Homestead", 0},           {"Byzantium", 3000000},   {"Constantinople", 5000000},
        {"Petersburg", 5000000}, {"Istanbul", 5000000},      {"MuirGlacier", 9000000}, {"Berlin", 9000000},
        {"London", 9700000},     {"ArrowGlacier", 10700000}, {"GrayGlacier", 11400000}};
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 base = rows[i].delay;
        expect(rows[i].fork, "2048000", base + 199998, 5, false, "2049000");
        expect(rows[i].fork, "2048000", base + 199999, 5, false, "2049001");
        expect(rows[i].fork, "2048000", base + 299999, 5, false, "2049002");
        expect(rows[i].fork, "2048000", base + 1199999, 5, false, "2050024");
        expect(rows[i].fork, "2048000", base == 0 ? 0 : base - 5, 5, false, "2049000");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_of_each_rule), cmocka_unit_test(growth_by_age)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
