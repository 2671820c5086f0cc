#include "lab/difficulty.h"

#include "num/div.h"

#include <string.h>

enum { LEAST = 131072, SHARE = 2048, AGE = 100000, STEPS_DOWN_MAX = 99 };

u64 cd_difficulty_delay(cd_fork fork, const char *name)
{
    static const struct {
        const char *name;
        u64 delay;
    } glaciers[] = {{"MuirGlacier", 9000000}, {"ArrowGlacier", 10700000}, {"GrayGlacier", 11400000}};
    for (usize i = 0; i < CD_COUNT(glaciers); i++) {
        if (strcmp(glaciers[i].name, name) == 0) {
            return glaciers[i].delay;
        }
    }
    return fork >= CD_LONDON           ? 9700000
           : fork >= CD_BERLIN         ? 9000000
           : fork >= CD_CONSTANTINOPLE ? 5000000
           : fork >= CD_BYZANTIUM      ? 3000000
                                       : 0;
}

/* Gives by how many shares of the parent's difficulty the difficulty rises; negative: it falls. */
static i64 steps(const cd_difficulty_parent *parent, u64 time, cd_fork fork)
{
    u64 seconds = time - parent->time;
    if (fork < CD_HOMESTEAD) {
        return seconds < 13 ? 1 : -1;
    }
    u64 slow = seconds / (fork < CD_BYZANTIUM ? 10 : 9);
    i64 best = fork >= CD_BYZANTIUM && parent->has_uncles ? 2 : 1;
    return slow > STEPS_DOWN_MAX + (u64)best ? -STEPS_DOWN_MAX : best - (i64)slow;
}

void cd_difficulty_of(cd_u256 *out, const cd_difficulty_parent *parent, u64 time, cd_fork fork, u64 delay)
{
    static const u64 least = LEAST;
    cd_u256 share;
    cd_u256 floor = cd_u256_from_u64(least);
    i64 n = steps(parent, time, fork);
    (void)cd_u256_div_u64(&share, &parent->difficulty, SHARE);
    (void)cd_u256_mul_u64(&share, &share, (u64)(n < 0 ? -n : n));
    if (n < 0) {
        cd_u256_sub_sat(out, &parent->difficulty, &share);
    } else {
        cd_u256_add(out, &parent->difficulty, &share);
    }
    *out = cd_u256_lt(out, &floor) ? floor : *out;
    /* From Byzantium on the age is the block's number less the delay. */
    u64 age = parent->number + 1;
    if (delay != 0) {
        age = age > delay ? age - delay : 0;
    }
    if (age / AGE > 1) {
        cd_u256 growth = cd_u256_from_u64(1);
        cd_u256_shl(&growth, &growth, age / AGE - 2);
        cd_u256_add(out, out, &growth);
    }
}
