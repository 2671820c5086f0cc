/* Miners: sizes, ranges, uptime, and a cache that never serves what it was not asked for. */
#include "services/adx/miner/cache.h"
#include "services/adx/miner/rewards.h"

#include "base/hex.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cd_err want;
        u64 size;
    } rows[] = {
        {"10GB", CD_OK, 10ULL << 30},
        {"10gb", CD_OK, 10ULL << 30},
        {"10GiB", CD_OK, 10ULL << 30},
        {"1B", CD_OK, 1},
        {"0.5KB", CD_OK, 512},
        {"1.5TiB", CD_OK, 3ULL << 39},
        {"0.001kb", CD_OK, 1},
        {"64mb", CD_OK, 64 << 20},
        {"", CD_EFORMAT, 0},
        {"10", CD_EFORMAT, 0},
        {"GB", CD_EFORMAT, 0},
        {"10 GB", CD_EFORMAT, 0},
        {"-1GB", CD_EFORMAT, 0},
        {"1.GB", CD_EFORMAT, 0},
        {".5GB", CD_EFORMAT, 0},
        {"1e3GB", CD_EFORMAT, 0},
        {"1iB", CD_EFORMAT, 0},
        {"1BiB", CD_EFORMAT, 0},
        {"1G", CD_EFORMAT, 0},
        {"1PB", CD_EFORMAT, 0},
        {"0GB", CD_ERANGE, 0},
        {"0.1B", CD_ERANGE, 0},
        {"8388608TB", CD_ERANGE, 0},
        {"8388607TB", CD_OK, 8388607ULL << 40},
        {"9999999999999999B", CD_ERANGE, 0},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 got = 0;
        assert_int_equal(cd_cache_size_parse(&got, cd_bytes_str(rows[i].text)), rows[i].want);
        assert_int_equal(got, rows[i].size);
    }
}

static void ranges(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cd_range_kind kind;
        u64 first, last;
    } rows[] = {
        {"bytes=0-0", CD_RANGE_PART, 0, 0},
        {"bytes=2-5", CD_RANGE_PART, 2, 5},
        {"bytes=2-", CD_RANGE_PART, 2, 99},
        {"bytes=-10", CD_RANGE_PART, 90, 99},
        {"bytes=-1000", CD_RANGE_PART, 0, 99},
        {"bytes=50-1000", CD_RANGE_PART, 50, 99},
        {"BYTES=1-2", CD_RANGE_PART, 1, 2},
        {"bytes=100-", CD_RANGE_OUTSIDE, 0, 0},
        {"bytes=-0", CD_RANGE_OUTSIDE, 0, 0},
        {"bytes=5-2", CD_RANGE_WHOLE, 0, 0},
        {"bytes=a-2", CD_RANGE_WHOLE, 0, 0},
        {"bytes=1-2,4-5", CD_RANGE_WHOLE, 0, 0},
        {"bytes=-", CD_RANGE_WHOLE, 0, 0},
        {"items=1-2", CD_RANGE_WHOLE, 0, 0},
        {"", CD_RANGE_WHOLE, 0, 0},
        {"bytes=12", CD_RANGE_WHOLE, 0, 0},
        {"bytes=99999999999999999999999-", CD_RANGE_OUTSIDE, 0, 0},
        {"bytes=1-99999999999999999999999", CD_RANGE_PART, 1, 99},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_byte_range r = {0, 0};
        assert_int_equal(cd_range_parse(&r, cd_bytes_str(rows[i].text), 100), rows[i].kind);
        assert_int_equal(r.first, rows[i].first);
        assert_int_equal(r.last, rows[i].last);
    }
    cd_byte_range r;
    assert_int_equal(cd_range_parse(&r, cd_bytes_str("bytes=-5"), 0), CD_RANGE_OUTSIDE);
    assert_int_equal(cd_range_parse(&r, cd_bytes_str("bytes=0-"), 0), CD_RANGE_OUTSIDE);
}

/* Heartbeats every ten seconds are uptime without a gap; one that is late leaves the seconds beyond fifteen out. */
static void uptime(void **state)
{
    (void)state;
    cd_uptime u = {.from_s = 1000};
    for (u64 t = 1000; t < 2000; t += 10) {
        cd_uptime_beat(&u, t);
    }
    assert_int_equal(cd_uptime_get(&u, 2000), 1000);
    cd_uptime_beat(&u, 2030); /* 1990 + 15 = 2005, nothing until 2030 */
    assert_int_equal(cd_uptime_get(&u, 2030), 1005);
    assert_int_equal(cd_uptime_get(&u, 2040), 1015);
    assert_int_equal(cd_uptime_get(&u, 9999), 1020);
    cd_uptime_beat(&u, 2030); /* twice is once */
    cd_uptime_beat(&u, 500);  /* before it all began */
    assert_int_equal(cd_uptime_get(&u, 9999), 1020);
}

static void rewards_do_not_overflow(void **state)
{
    (void)state;
    cd_reward r;
    cd_reward_counts c = {.impressions = UINT64_MAX / 500000 + 1};
    assert_int_equal(cd_reward_of(&r, &c), CD_ERANGE);
    c = (cd_reward_counts){.proofs = UINT64_MAX, .proof_fee_micro_usd = 1};
    assert_int_equal(cd_reward_of(&r, &c), CD_ERANGE);
    c = (cd_reward_counts){.clearing_sum = UINT64_MAX, .fee_carry = 999};
    assert_int_equal(cd_reward_of(&r, &c), CD_ERANGE);
    u64 sum = UINT64_MAX - 5;
    assert_int_equal(cd_reward_sum_add(&sum, 6), CD_ERANGE);
    assert_int_equal(sum, UINT64_MAX - 5);
    cd_buf b = {0};
    cd_nusd_fmt(&b, 176546782840);
    assert_string_equal(cd_buf_cstr(&b), "176.546782");
    cd_buf_fini(&b);
}

/* --- cache --- */

enum { SIZE = 4000 };

typedef struct rig {
    char dir[64], cache_dir[80];
    cd_cache *c;
} rig;

static void rig_make(rig *r)
{
    (void)snprintf(r->dir, sizeof r->dir, "%s/cd_cache_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(r->cache_dir, sizeof r->cache_dir, "%s/cache/", r->dir);
    assert_int_equal(cd_cache_open(&r->c, cd_fs_real(), r->cache_dir, SIZE, NULL), CD_OK);
}

static void rig_end(rig *r)
{
    cd_cache_close(r->c);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
}

/* An object of n bytes that differ by seed. */
static cd_bytes object(u8 *out, usize n, u8 seed, cd_hash32 *digest)
{
    for (usize i = 0; i < n; i++) {
        out[i] = (u8)(i * 7 + seed);
    }
    cd_sha256(digest, cd_bytes_of(out, n));
    return cd_bytes_of(out, n);
}

static cd_err put(cd_cache *c, const cd_hash32 *digest, cd_bytes content)
{
    cd_cache_in in;
    CD_TRY(cd_cache_in_open(&in, c, digest, content.n, NULL));
    usize half = content.n / 2;
    CD_TRY(cd_cache_in_put(&in, cd_bytes_sub(content, 0, half), NULL));
    CD_TRY(cd_cache_in_put(&in, cd_bytes_sub(content, half, content.n - half), NULL));
    return cd_cache_in_close(&in, NULL);
}

static void file_of(char out[256], const rig *r, const cd_hash32 *digest)
{
    char hex[65] = {0};
    cd_hex_fmt(hex, cd_bytes_of(digest->b, 32));
    (void)snprintf(out, 256, "%s/%s", r->cache_dir, hex);
}

static bool is_file(const rig *r, const cd_hash32 *digest)
{
    char path[256];
    file_of(path, r, digest);
    return access(path, F_OK) == 0;
}

static void keeps_and_reads(void **state)
{
    (void)state;
    rig r;
    u8 bytes[1000];
    cd_hash32 d;
    cd_hash32 other;
    u64 size;
    cd_buf out = {0};
    rig_make(&r);
    cd_bytes content = object(bytes, sizeof bytes, 1, &d);
    assert_int_equal(cd_cache_find(r.c, &size, &d, NULL), CD_ENOENT);
    assert_int_equal(put(r.c, &d, content), CD_OK);
    assert_int_equal(put(r.c, &d, content), CD_EEXIST);
    assert_int_equal(cd_cache_find(r.c, &size, &d, NULL), CD_OK);
    assert_int_equal(size, 1000);
    assert_int_equal(cd_cache_read(r.c, &out, &d, (cd_byte_range){10, 19}, NULL), CD_OK);
    assert_int_equal(out.n, 10);
    assert_memory_equal(out.p, bytes + 10, 10);
    assert_int_equal(cd_cache_read(r.c, &out, &d, (cd_byte_range){10, 1000}, NULL), CD_ERANGE);
    assert_int_equal(cd_cache_read(r.c, &out, &d, (cd_byte_range){11, 10}, NULL), CD_ERANGE);
    (void)object(bytes, 7, 99, &other);
    assert_int_equal(put(r.c, &other, cd_bytes_of(bytes, 1000)), CD_EPROOF);
    assert_false(is_file(&r, &other));
    cd_cache_in in;
    assert_int_equal(cd_cache_in_open(&in, r.c, &other, SIZE / 4 + 1, NULL), CD_ELIMIT);
    assert_int_equal(cd_cache_in_open(&in, r.c, &other, 7, NULL), CD_OK);
    cd_cache_in twice;
    assert_int_equal(cd_cache_in_open(&twice, r.c, &other, 7, NULL), CD_EEXIST);
    assert_int_equal(cd_cache_in_put(&in, cd_bytes_of(bytes, 8), NULL), CD_ELIMIT);
    assert_false(is_file(&r, &other));
    assert_int_equal(cd_cache_in_open(&in, r.c, &other, 7, NULL), CD_OK);
    assert_int_equal(cd_cache_in_put(&in, cd_bytes_of(bytes, 6), NULL), CD_OK);
    assert_int_equal(cd_cache_in_close(&in, NULL), CD_ESHORT);
    cd_cache_stats s = cd_cache_stats_get(r.c);
    assert_int_equal(s.objects, 1);
    assert_int_equal(s.used, 1000);
    assert_int_equal(s.hits, 1);
    assert_int_equal(s.misses, 1);
    cd_buf_fini(&out);
    rig_end(&r);
}

/* Four fit; the fifth sends away the one that was not used for longest, from the disk as well. */
static void forgets_the_least_used(void **state)
{
    (void)state;
    rig r;
    u8 bytes[1000];
    cd_hash32 d[5];
    u64 size;
    rig_make(&r);
    for (u8 i = 0; i < 5; i++) {
        cd_bytes content = object(bytes, sizeof bytes, i, &d[i]);
        assert_int_equal(put(r.c, &d[i], content), CD_OK);
        if (i == 3) {
            assert_int_equal(cd_cache_find(r.c, &size, &d[0], NULL), CD_OK);
        }
    }
    for (u8 i = 0; i < 5; i++) {
        assert_int_equal(is_file(&r, &d[i]), i != 1);
        assert_int_equal(cd_cache_find(r.c, &size, &d[i], NULL), i == 1 ? CD_ENOENT : CD_OK);
    }
    assert_int_equal(cd_cache_stats_get(r.c).used, SIZE);
    rig_end(&r);
}

/* After a start everything is there; what was changed, cut off or half written meanwhile is deleted, not served. */
static void verifies_what_it_finds(void **state)
{
    (void)state;
    enum { WHOLE, CHANGED, SHORT, LATER, CNT };
    rig r;
    u8 bytes[900];
    cd_hash32 d[CNT];
    u64 size;
    char path[256];
    cd_buf out = {0};
    rig_make(&r);
    for (u32 i = 0; i < CNT; i++) {
        cd_bytes content = object(bytes, sizeof bytes, (u8)i, &d[i]);
        assert_int_equal(put(r.c, &d[i], content), CD_OK);
    }
    cd_cache_close(r.c);
    bytes[5] ^= 1;
    file_of(path, &r, &d[CHANGED]);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(bytes, sizeof bytes), 0600, NULL), CD_OK);
    file_of(path, &r, &d[SHORT]);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(cd_cache_open(&r.c, cd_fs_real(), r.cache_dir, SIZE, NULL), CD_OK);
    assert_int_equal(cd_cache_stats_get(r.c).objects, CNT);
    assert_int_equal(cd_cache_find(r.c, &size, &d[WHOLE], NULL), CD_OK);
    assert_int_equal(cd_cache_find(r.c, &size, &d[CHANGED], NULL), CD_ECORRUPT);
    assert_int_equal(cd_cache_find(r.c, &size, &d[CHANGED], NULL), CD_ENOENT);
    assert_int_equal(cd_cache_find(r.c, &size, &d[SHORT], NULL), CD_ECORRUPT);
    assert_false(is_file(&r, &d[CHANGED]));
    assert_int_equal(cd_cache_find(r.c, &size, &d[LATER], NULL), CD_OK);
    file_of(path, &r, &d[LATER]); /* while we run */
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(bytes, sizeof bytes), 0600, NULL), CD_OK);
    assert_int_equal(cd_cache_read(r.c, &out, &d[LATER], (cd_byte_range){0, 9}, NULL), CD_ECORRUPT);
    assert_int_equal(out.n, 0);
    assert_int_equal(cd_cache_stats_get(r.c).objects, 1);
    cd_buf_fini(&out);
    rig_end(&r);
}

/* A full disk: the object is refused, nothing of it stays, and there is room again later. */
static void full_disk(void **state)
{
    (void)state;
    rig r;
    u8 bytes[500];
    cd_hash32 d;
    cd_fs_faulty f;
    rig_make(&r);
    cd_cache_close(r.c);
    cd_fs_faulty_init(&f, CD_FS_WRITE, 1, ENOSPC);
    assert_int_equal(cd_cache_open(&r.c, &f.fs, r.cache_dir, SIZE, NULL), CD_OK);
    cd_bytes content = object(bytes, sizeof bytes, 1, &d);
    assert_int_equal(put(r.c, &d, content), CD_ENOSPC);
    assert_false(is_file(&r, &d));
    assert_int_equal(put(r.c, &d, content), CD_OK);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(ranges),
        cmocka_unit_test(uptime),
        cmocka_unit_test(rewards_do_not_overflow),
        cmocka_unit_test(keeps_and_reads),
        cmocka_unit_test(forgets_the_least_used),
        cmocka_unit_test(verifies_what_it_finds),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
