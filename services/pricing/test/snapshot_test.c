/* Snapshots: what is written comes back, and nothing else does. */
#include "services/pricing/snapshot.h"

#include "crypto/hash/sha2.h"
#include "world.h"

#include <string.h>

static void test_restart(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.ttl_s = 60;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    cd_buf file = {0};
    usize cnt;
    for (u32 i = 0; i < 60; i++) { /* more points than the history holds */
        w->factor[0] = i + 1;
        world_get(w, p, &a, "bitcoin", "usd");
        world_run(w, 61 * SECOND);
    }
    world_get(w, p, &a, "ethereum,nosuch", "eur");
    world_run(w, 10 * SECOND);
    cd_snapshot_enc(&file, p);
    assert_true(cd_snapshot_changes(p) == 61);
    cd_prices_point before[CD_PRICES_HISTORY];
    cd_prices_point after[CD_PRICES_HISTORY];
    cd_bytes bitcoin = cd_bytes_str("bitcoin");
    cd_bytes usd = cd_bytes_str("usd");
    usize points = cd_prices_history(p, before, bitcoin, usd);
    assert_int_equal(points, CD_PRICES_HISTORY);
    /* a new process, the provider down from its start */
    w->mode[0] = WORLD_DROP;
    p = world_open(w, 1, &cfg, 1, false);
    assert_false(cd_prices_is_ready(p));
    assert_int_equal(cd_snapshot_load(p, &cnt, cd_buf_bytes(&file), NULL), CD_OK);
    assert_int_equal(cnt, 2);
    assert_true(cd_prices_is_ready(p));
    world_get(w, p, &a, "bitcoin", "usd");
    assert_int_equal(a.state[0], CD_PRICE_STALE);
    assert_true(a.price[0] == world_price(w, "bitcoin", 7, 0));
    assert_string_equal(a.source[0], "p0");
    assert_int_equal(cd_prices_history(p, after, bitcoin, usd), points);
    for (usize i = 0; i < points; i++) {
        assert_true(before[i].wall_s == after[i].wall_s && before[i].price == after[i].price);
    }
    world_get(w, p, &a, "ethereum", "eur");
    assert_int_equal(a.state[0], CD_PRICE_HIT);
    assert_in_range(a.age_s[0], 10, 12);
    /* what is newer here is not overwritten */
    assert_int_equal(cd_snapshot_load(p, &cnt, cd_buf_bytes(&file), NULL), CD_OK);
    assert_int_equal(cnt, 0);
    cd_buf_fini(&file);
    world_free(w);
}

/* Any flipped bit and any shorter file is refused, and leaves nothing behind. */
static void test_damage(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    cd_prices *empty = world_open(w, 2, &cfg, 1, false);
    world_answer a;
    cd_buf file = {0};
    cd_prices_state s;
    usize cnt;
    world_get(w, p, &a, "bitcoin,ethereum", "usd");
    cd_snapshot_enc(&file, p);
    for (usize i = 0; i < file.n; i++) {
        file.p[i] ^= 0x10;
        assert_int_not_equal(cd_snapshot_load(empty, &cnt, cd_buf_bytes(&file), NULL), CD_OK);
        file.p[i] ^= 0x10;
        assert_int_not_equal(cd_snapshot_load(empty, &cnt, cd_bytes_of(file.p, i), NULL), CD_OK);
    }
    /* lies with a right checksum */
    for (usize i = 8; i < file.n - 32; i++) {
        cd_hash32 sum;
        file.p[i] ^= 0x81;
        cd_sha256(&sum, cd_bytes_of(file.p, file.n - 32));
        memcpy(file.p + file.n - 32, sum.b, 32);
        (void)!cd_snapshot_load(empty, &cnt, cd_buf_bytes(&file), NULL);
        file.p[i] ^= 0x81;
    }
    cd_prices_state_get(empty, &s);
    assert_true(s.entries < 2 * file.n);
    cd_buf_fini(&file);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
