/* One table of behaviours, run on every engine and view; then what only the durable engine does. */
#include "store/kv.h"

#include "base/mem/buf.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "base/thread/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The engine's library is not built for the thread sanitizer, which then does not see its locks. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:librocksdb.so\nrace:librocksdb.so\n";
}

static char scratch[64];

typedef struct engine {
    const char *name;
    cd_kv *(*open)(void);
    void (*close)(cd_kv *kv);
} engine;

static const char *scratch_dir(const char *name)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", scratch, name);
    return path;
}

static void remove_dir(const char *name)
{
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), scratch_dir(name), NULL), CD_OK);
}

static cd_kv *open_rocks(const char *name)
{
    cd_kv *kv = NULL;
    cd_kv_cfg cfg = {.dir = scratch_dir(name), .cache_bytes = 1 << 20, .layout = 3};
    cd_errinfo why = {0};
    cd_err err = cd_kv_rocksdb_open(&kv, &cfg, &why);
    if (err != CD_OK) {
        print_error("%s\n", why.msg);
    }
    assert_int_equal(err, CD_OK);
    return kv;
}

static cd_kv *rocks_open(void)
{
    remove_dir("t");
    return open_rocks("t");
}

static cd_kv *mem_open(void)
{
    return cd_kv_mem_open();
}

/* The kv below a prefix view; its other keys must not show in the view. */
static cd_kv *prefix_base;

static cd_kv *prefix_open(void)
{
    prefix_base = cd_kv_mem_open();
    static const u8 prefix[] = {'p', 0xff};
    static const char *const outside[] = {"a", "o\xff\xff", "p", "p\xfe\xff", "q"};
    for (usize i = 0; i < CD_COUNT(outside); i++) {
        assert_int_equal(cd_kv_put(prefix_base, cd_bytes_str(outside[i]), cd_bytes_str("x")), CD_OK);
    }
    return cd_kv_prefix_open(prefix_base, cd_bytes_of(prefix, 2));
}

static void prefix_close(cd_kv *kv)
{
    cd_kv_close(kv);
    cd_kv_close(prefix_base);
}

static const engine engines[] = {
    {"mem", mem_open, cd_kv_close},
    {"rocksdb", rocks_open, cd_kv_close},
    {"prefix", prefix_open, prefix_close},
};

static cd_bytes str(const char *s)
{
    return cd_bytes_str(s);
}

static void expect_get(cd_kv *kv, const char *key, const char *value)
{
    cd_buf out = {0};
    cd_buf_str(&out, "before");
    bool found;
    cd_err err = cd_kv_get(kv, &out, str(key));
    assert_int_equal(cd_kv_has(kv, &found, str(key)), CD_OK);
    assert_int_equal(found, value != NULL);
    if (value == NULL) {
        assert_int_equal(err, CD_ENOENT);
        assert_true(cd_bytes_eq(cd_buf_bytes(&out), str("before")));
    } else {
        assert_int_equal(err, CD_OK);
        assert_true(cd_bytes_eq(cd_buf_bytes(&out), str(value)));
    }
    cd_buf_fini(&out);
}

static void check_basics(cd_kv *kv)
{
    expect_get(kv, "a", NULL);
    assert_int_equal(cd_kv_put(kv, str("a"), str("1")), CD_OK);
    assert_int_equal(cd_kv_put(kv, str("ab"), str("")), CD_OK);
    assert_int_equal(cd_kv_put(kv, str(""), str("empty key")), CD_OK);
    expect_get(kv, "a", "1");
    expect_get(kv, "ab", "");
    expect_get(kv, "", "empty key");
    assert_int_equal(cd_kv_put(kv, str("a"), str("2")), CD_OK);
    expect_get(kv, "a", "2");
    assert_int_equal(cd_kv_del(kv, str("a")), CD_OK);
    assert_int_equal(cd_kv_del(kv, str("a")), CD_OK);
    expect_get(kv, "a", NULL);

    /* Within a batch a later record wins. */
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, kv);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_put(&b, str("x"), str("1"));
    cd_kv_batch_del(&b, str("x"));
    cd_kv_batch_del(&b, str("y"));
    cd_kv_batch_put(&b, str("y"), str("2"));
    memcpy(cd_kv_batch_put2(&b, str("z"), str("z"), 2), "33", 2);
    assert_int_equal(b.cnt, 5);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_SYNC, NULL), CD_OK);
    expect_get(kv, "x", NULL);
    expect_get(kv, "y", "2");
    expect_get(kv, "zz", "33");
    cd_kv_batch_fini(&b);

    u8 *big = calloc(1, 3000000);
    assert_int_equal(cd_kv_put(kv, str("big"), cd_bytes_of(big, 3000000)), CD_OK);
    cd_buf out = {0};
    assert_int_equal(cd_kv_get(kv, &out, str("big")), CD_OK);
    assert_int_equal(out.n, 3000000);
    cd_buf_fini(&out);
    free(big);
    cd_kv_stats stats;
    assert_int_equal(cd_kv_stats_get(kv, &stats), CD_OK);
    assert_true(stats.keys >= 3);
    assert_true((stats.commits == 0) == (stats.disk_bytes == 0 && stats.commit_ns == 0)); /* in memory nobody counts */
}

/* Checks the keys of a range, joined by commas. */
static void expect_keys(cd_kv *kv, const char *prefix, const char *start, bool reverse, const char *want)
{
    cd_kv_iter *it = NULL;
    cd_buf got = {0};
    cd_kv_range range = {.prefix = str(prefix), .start = str(start), .reverse = reverse};
    assert_int_equal(cd_kv_iter_new(&it, kv, &range), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_buf_put(&got, cd_kv_iter_key(it));
        cd_buf_u8(&got, ',');
        assert_true(cd_bytes_eq(cd_kv_iter_key(it), cd_kv_iter_value(it)));
    }
    assert_false(cd_kv_iter_next(it));
    assert_int_equal(cd_kv_iter_err(it), CD_OK);
    assert_string_equal(cd_buf_cstr(&got), want);
    cd_buf_fini(&got);
    cd_kv_iter_free(it);
}

static void check_ranges(cd_kv *kv)
{
    static const char *const keys[] = {"a", "b", "b\xff", "b\xff\xff", "ba", "bb", "bbb", "c", "\xff", "\xff\xff"};
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        assert_int_equal(cd_kv_put(kv, str(keys[i]), str(keys[i])), CD_OK);
    }
    expect_keys(kv, "", "", false, "a,b,ba,bb,bbb,b\xff,b\xff\xff,c,\xff,\xff\xff,");
    expect_keys(kv, "", "", true, "\xff\xff,\xff,c,b\xff\xff,b\xff,bbb,bb,ba,b,a,");
    expect_keys(kv, "b", "", false, "b,ba,bb,bbb,b\xff,b\xff\xff,");
    expect_keys(kv, "b", "", true, "b\xff\xff,b\xff,bbb,bb,ba,b,");
    expect_keys(kv, "b", "bb", false, "bb,bbb,b\xff,b\xff\xff,");
    expect_keys(kv, "b", "bb", true, "bb,ba,b,");
    expect_keys(kv, "b", "bab", true, "ba,b,");
    expect_keys(kv, "b", "a", false, "b,ba,bb,bbb,b\xff,b\xff\xff,");
    expect_keys(kv, "b", "a", true, "");
    expect_keys(kv, "b", "d", false, "");
    expect_keys(kv, "b", "d", true, "b\xff\xff,b\xff,bbb,bb,ba,b,");
    expect_keys(kv, "\xff", "", true, "\xff\xff,\xff,");
    expect_keys(kv, "\xff\xff", "", false, "\xff\xff,");
    expect_keys(kv, "", "bb", false, "bb,bbb,b\xff,b\xff\xff,c,\xff,\xff\xff,");
    expect_keys(kv, "none", "", false, "");
    expect_keys(kv, "none", "", true, "");
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, kv);
    assert_int_equal(cd_kv_batch_del_prefix(&b, kv, str("bb")), CD_OK);
    assert_int_equal(b.cnt, 2);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
    expect_keys(kv, "b", "", false, "b,ba,b\xff,b\xff\xff,");
}

static void check_snapshots(cd_kv *kv)
{
    cd_kv *old = NULL;
    assert_int_equal(cd_kv_put(kv, str("k"), str("k")), CD_OK);
    assert_int_equal(cd_kv_put(kv, str("l"), str("l")), CD_OK);
    assert_int_equal(cd_kv_snapshot(&old, kv), CD_OK);
    cd_kv_iter *it = NULL;
    assert_int_equal(cd_kv_iter_new(&it, kv, &(cd_kv_range){0}), CD_OK);
    assert_int_equal(cd_kv_put(kv, str("k"), str("new")), CD_OK);
    assert_int_equal(cd_kv_put(kv, str("m"), str("new")), CD_OK);
    assert_int_equal(cd_kv_del(kv, str("l")), CD_OK);
    expect_get(old, "k", "k");
    expect_get(old, "l", "l");
    expect_get(old, "m", NULL);
    expect_keys(old, "", "", false, "k,l,");
    expect_get(kv, "k", "new");
    expect_get(kv, "l", NULL);
    /* An iterator shows the state at the moment of its making. */
    assert_true(cd_kv_iter_next(it));
    assert_true(cd_bytes_eq(cd_kv_iter_value(it), str("k")));
    assert_true(cd_kv_iter_next(it));
    assert_false(cd_kv_iter_next(it));
    cd_kv_iter_free(it);
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, kv);
    cd_kv_batch_put(&b, str("q"), str("q"));
    cd_errinfo why;
    assert_int_equal(cd_kv_commit(old, &b, CD_KV_NOSYNC, &why), CD_EACCES);
    cd_kv_batch_fini(&b);
    cd_kv_close(old);
}

/* What was just written is in memory in every engine. */
static void check_in_memory(cd_kv *kv)
{
    cd_kv *frozen = NULL;
    cd_kv *quick = NULL;
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, kv);
    assert_int_equal(cd_kv_put(kv, str("k"), str("1")), CD_OK);
    assert_int_equal(cd_kv_snapshot(&frozen, kv), CD_OK);
    assert_int_equal(cd_kv_in_memory(&quick, frozen), CD_OK);
    assert_int_equal(cd_kv_put(kv, str("k"), str("2")), CD_OK);
    expect_get(quick, "k", "1");
    expect_get(quick, "l", NULL);
    cd_kv_batch_put(&b, str("q"), str("q"));
    assert_int_equal(cd_kv_commit(quick, &b, CD_KV_NOSYNC, NULL), CD_EACCES);
    cd_kv_batch_fini(&b);
    cd_kv_close(quick);
    expect_get(frozen, "k", "1");
    cd_kv_close(frozen);
}

/* Many keys at once: the same answers as one by one, whatever the order. */
static void check_get_many(cd_kv *kv)
{
    enum { CNT = 300 };
    static u8 text[CNT][4];
    static cd_bytes keys[CNT];
    static cd_buf got[CNT];
    static cd_err err[CNT];
    cd_rng r = cd_rng_seeded(11);
    cd_kv_get_many(kv, got, err, keys, 0);
    for (int round = 0; round < 4; round++) {
        for (usize i = 0; i < CNT; i++) {
            cd_put_be32(text[i], (u32)cd_rng_below(&r, 2000));
            keys[i] = cd_bytes_of(text[i], 4);
        }
        cd_kv_get_many(kv, got, err, keys, CNT);
        for (usize i = 0; i < CNT; i++) {
            cd_buf one = {0};
            assert_int_equal(err[i], cd_kv_get(kv, &one, keys[i]));
            assert_true(err[i] != CD_OK || cd_bytes_eq(cd_buf_bytes(&got[i]), cd_buf_bytes(&one)));
            cd_buf_fini(&one);
        }
        cd_kv_batch b = {0};
        cd_kv_batch_for(&b, kv);
        for (u32 i = 0; i < 700; i++) {
            u8 key[4];
            cd_put_be32(key, (u32)cd_rng_below(&r, 2000));
            cd_kv_batch_put(&b, cd_bytes_of(key, 4), cd_bytes_of(key, (usize)round));
        }
        assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
    }
    for (usize i = 0; i < CNT; i++) {
        cd_buf_fini(&got[i]);
    }
}

/* Random changes beside a plain array of 4096 keys, with snapshots that must keep. */
static void check_random(cd_kv *kv)
{
    enum { KEYS = 4096, ROUNDS = 60, KEPT = 4 };
    static u32 now[KEYS];
    static u32 kept[KEPT][KEYS];
    cd_kv *snap[KEPT] = {0};
    memset(now, 0, sizeof now);
    cd_rng r = cd_rng_seeded(7);
    for (u32 round = 1; round <= ROUNDS; round++) {
        cd_kv_batch b = {0};
        cd_kv_batch_for(&b, kv);
        u32 ops = 1 + (u32)cd_rng_below(&r, 400);
        bool shrink = round % 5 == 0;
        for (u32 i = 0; i < ops; i++) {
            u8 key[12] = "samesame";
            u32 k = (u32)cd_rng_below(&r, KEYS);
            cd_put_be16(key + 8, (u16)k);
            u8 value[4];
            cd_put_be32(value, round);
            if (cd_rng_below(&r, 10) < (shrink ? 9 : 3)) {
                cd_kv_batch_del(&b, cd_bytes_of(key, 10));
                now[k] = 0;
            } else {
                cd_kv_batch_put(&b, cd_bytes_of(key, 10), cd_bytes_of(value, 4));
                now[k] = round;
            }
        }
        assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
        u32 s = round % KEPT;
        if (round % 3 == 0) {
            cd_kv_close(snap[s]);
            assert_int_equal(cd_kv_snapshot(&snap[s], kv), CD_OK);
            memcpy(kept[s], now, sizeof now);
        }
        for (u32 v = 0; v <= KEPT; v++) {
            cd_kv *view = v == KEPT ? kv : snap[v];
            const u32 *want = v == KEPT ? now : kept[v];
            if (view == NULL) {
                continue;
            }
            cd_kv_iter *it = NULL;
            bool reverse = round & 1;
            cd_kv_range range = {.prefix = str("samesame"), .reverse = reverse};
            assert_int_equal(cd_kv_iter_new(&it, view, &range), CD_OK);
            for (u32 i = 0; i < KEYS; i++) {
                u32 k = reverse ? KEYS - 1 - i : i;
                if (want[k] != 0) {
                    assert_true(cd_kv_iter_next(it));
                    assert_int_equal(cd_be16(cd_kv_iter_key(it).p + 8), k);
                    assert_int_equal(cd_be32(cd_kv_iter_value(it).p), want[k]);
                }
            }
            assert_false(cd_kv_iter_next(it));
            cd_kv_iter_free(it);
        }
    }
    for (u32 s = 0; s < KEPT; s++) {
        cd_kv_close(snap[s]);
    }
}

static void test_engines(void **state)
{
    (void)state;
    void (*const checks[])(cd_kv *) = {check_basics,   check_ranges, check_snapshots,
                                       check_get_many, check_random, check_in_memory};
    for (usize e = 0; e < CD_COUNT(engines); e++) {
        for (usize c = 0; c < CD_COUNT(checks); c++) {
            print_message("%s %zu\n", engines[e].name, c);
            cd_kv *kv = engines[e].open();
            checks[c](kv);
            engines[e].close(kv);
        }
    }
}

/* Readers on snapshots and on the live map while a writer commits. */
typedef struct readers {
    cd_kv *kv;
    cd_kv *snap;
} readers;

static void reader(void *arg)
{
    const readers *r = arg;
    cd_buf out = {0};
    for (int i = 0; i < 3000; i++) {
        u8 key[2];
        cd_put_be16(key, (u16)(i % 500));
        cd_err err = cd_kv_get(r->snap, &out, cd_bytes_of(key, 2));
        CD_ASSERT(err == CD_OK && out.n == 1 && out.p[0] == 1);
        err = cd_kv_get(r->kv, &out, cd_bytes_of(key, 2));
        CD_ASSERT(err == CD_OK || err == CD_ENOENT);
    }
    cd_buf_fini(&out);
}

static void test_threads(void **state)
{
    (void)state;
    for (usize e = 0; e < 2; e++) {
        readers r = {.kv = engines[e].open()};
        cd_kv_batch b = {0};
        cd_kv_batch_for(&b, r.kv);
        for (u16 i = 0; i < 500; i++) {
            u8 key[2];
            u8 one = 1;
            cd_put_be16(key, i);
            cd_kv_batch_put(&b, cd_bytes_of(key, 2), cd_bytes_of(&one, 1));
        }
        assert_int_equal(cd_kv_commit(r.kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        assert_int_equal(cd_kv_snapshot(&r.snap, r.kv), CD_OK);
        cd_thread t[2];
        for (int i = 0; i < 2; i++) {
            assert_int_equal(cd_thread_start(&t[i], "reader", reader, &r, NULL), CD_OK);
        }
        for (u16 i = 0; i < 500; i++) {
            u8 key[2];
            cd_put_be16(key, (u16)(i * 7 % 500));
            cd_kv_batch_clear(&b);
            if (i % 2) {
                cd_kv_batch_del(&b, cd_bytes_of(key, 2));
            } else {
                cd_kv_batch_put(&b, cd_bytes_of(key, 2), str("two"));
            }
            assert_int_equal(cd_kv_commit(r.kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
        }
        for (int i = 0; i < 2; i++) {
            cd_thread_join(&t[i]);
        }
        cd_kv_batch_fini(&b);
        cd_kv_close(r.snap);
        engines[e].close(r.kv);
    }
}

static void test_reopen_and_checkpoint(void **state)
{
    (void)state;
    remove_dir("t");
    remove_dir("copy");
    cd_kv *kv = open_rocks("t");
    assert_int_equal(cd_kv_put(kv, str("k"), str("1")), CD_OK);
    cd_kv_close(kv);
    kv = open_rocks("t");
    expect_get(kv, "k", "1");
    cd_errinfo why = {0};
    assert_int_equal(cd_kv_checkpoint(kv, scratch_dir("copy"), &why), CD_OK);
    assert_int_equal(cd_kv_checkpoint(kv, scratch_dir("copy"), &why), CD_EEXIST);
    assert_int_equal(cd_kv_put(kv, str("k"), str("2")), CD_OK);
    cd_kv *copy = open_rocks("copy");
    expect_get(copy, "k", "1");
    expect_get(kv, "k", "2");
    cd_kv_close(copy);
    cd_kv_close(kv);

    /* Read-only opening needs an existing store, and allows no writes. */
    cd_kv_cfg cfg = {.dir = scratch_dir("copy"), .layout = 3, .read_only = true};
    assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_OK);
    expect_get(kv, "k", "1");
    assert_int_equal(cd_kv_put(kv, str("k"), str("2")), CD_EACCES);
    cd_kv_close(kv);
    cfg.dir = scratch_dir("nowhere");
    assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_ENOENT);
}

/* A key on the disk is not waited for; once another get has read it, it is in memory. */
static void test_not_in_memory(void **state)
{
    (void)state;
    cd_kv *frozen = NULL;
    cd_kv *quick = NULL;
    cd_buf out = {0};
    remove_dir("t");
    cd_kv *kv = open_rocks("t");
    assert_int_equal(cd_kv_put(kv, str("k"), str("1")), CD_OK);
    cd_kv_close(kv);
    kv = open_rocks("t"); /* opening writes the log into a table */
    assert_int_equal(cd_kv_snapshot(&frozen, kv), CD_OK);
    assert_int_equal(cd_kv_in_memory(&quick, frozen), CD_OK);
    assert_int_equal(cd_kv_get(quick, &out, str("k")), CD_EAGAIN);
    assert_int_equal(out.n, 0);
    expect_get(frozen, "k", "1");
    expect_get(quick, "k", "1");
    cd_buf_fini(&out);
    cd_kv_close(quick);
    cd_kv_close(frozen);
    cd_kv_close(kv);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[300];
    assert_int_equal(cd_fs_mkdirs(cd_fs_real(), scratch_dir(dir), 0755, NULL), CD_OK);
    (void)snprintf(path, sizeof path, "%s/%s", scratch_dir(dir), name);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, str(text), 0644, NULL), CD_OK);
}

/* Two parts of a store, one of them inside a part, change in one write; a batch for another part is a bug. */
static void test_parts_in_one_commit(void **state)
{
    (void)state;
    cd_kv *whole = cd_kv_mem_open();
    cd_kv *left = cd_kv_prefix_open(whole, str("L"));
    cd_kv *right = cd_kv_prefix_open(whole, str("R"));
    cd_kv *inner = cd_kv_prefix_open(right, str("in"));
    cd_kv_batch all = {0};
    cd_kv_batch l = {0};
    cd_kv_batch r = {0};
    cd_kv_batch_for(&all, whole);
    cd_kv_batch_for(&l, left);
    cd_kv_batch_for(&r, inner);
    cd_kv_batch_put(&l, str("k"), str("1"));
    memcpy(cd_kv_batch_put2(&r, str("a"), str("b"), 1), "2", 1);
    cd_kv_batch_del2(&r, str("a"), str("c"));
    cd_kv_batch_append(&all, &l);
    cd_kv_batch_append(&all, &r);
    assert_int_equal(cd_kv_commit(whole, &all, CD_KV_NOSYNC, NULL), CD_OK);
    expect_get(whole, "Lk", "1");
    expect_get(whole, "Rinab", "2");
    expect_get(left, "k", "1");
    expect_get(right, "inab", "2");
    expect_get(inner, "ab", "2");
    /* A part takes its own batch, to the same keys. */
    cd_kv_batch_for(&r, inner);
    cd_kv_batch_del(&r, str("ab"));
    assert_int_equal(cd_kv_commit(inner, &r, CD_KV_NOSYNC, NULL), CD_OK);
    bool found = true;
    assert_int_equal(cd_kv_has(whole, &found, str("Rinab")), CD_OK);
    assert_false(found);
    cd_kv_batch_fini(&all);
    cd_kv_batch_fini(&l);
    cd_kv_batch_fini(&r);
    cd_kv_close(inner);
    cd_kv_close(left);
    cd_kv_close(right);
    cd_kv_close(whole);
}

static void test_foreign_and_versions(void **state)
{
    (void)state;
    static const struct {
        const char *file[3];
        const char *says;
    } foreign[] = {
        {{"CURRENT", "000005.ldb", "MANIFEST-000002"}, "LevelDB"},
        {{"KEYREGISTRY", "000001.vlog", "MANIFEST"}, "Badger"},
        {{"marker.format-version.000001.013", "000004.sst", "CURRENT"}, "Pebble"},
        {{"CURRENT", "OPTIONS-000007", "IDENTITY"}, "RocksDB"},
        {{"holiday.jpg", "b", "c"}, "something else"},
    };
    cd_errinfo why = {0};
    cd_kv *kv = NULL;
    for (usize i = 0; i < CD_COUNT(foreign); i++) {
        remove_dir("f");
        for (int k = 0; k < 3; k++) {
            write_file("f", foreign[i].file[k], "x");
        }
        cd_kv_cfg cfg = {.dir = scratch_dir("f"), .layout = 3};
        assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_EFOREIGN);
        assert_non_null(strstr(why.msg, foreign[i].says));
        assert_non_null(strstr(why.msg, "--data-dir"));
    }
    remove_dir("f");
    cd_kv_close(open_rocks("f"));
    cd_kv_cfg cfg = {.dir = scratch_dir("f"), .layout = 2};
    assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_EVERSION);
    assert_non_null(strstr(why.msg, "newer program"));
    cfg.layout = 4;
    assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_EVERSION);
    assert_non_null(strstr(why.msg, "older program"));
    write_file("f", "CANDELA-KV", "candela kv 9 other\n");
    assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_EVERSION);

    /* A store whose engine's files are damaged. */
    remove_dir("f");
    cd_kv_close(open_rocks("f"));
    write_file("f", "CURRENT", "MANIFEST-999999\n");
    cfg.layout = 3;
    assert_int_not_equal(cd_kv_rocksdb_open(&kv, &cfg, &why), CD_OK);
    assert_true(why.msg[0] != 0);
}

static void test_busy(void **state)
{
    (void)state;
    remove_dir("t");
    cd_kv *kv = open_rocks("t");
    cd_kv *second = NULL;
    cd_errinfo why = {0};
    cd_kv_cfg cfg = {.dir = scratch_dir("t"), .layout = 3};
    assert_int_equal(cd_kv_rocksdb_open(&second, &cfg, &why), CD_EBUSY);
    assert_non_null(strstr(why.msg, "in use"));
    cd_kv_close(kv);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(scratch, sizeof scratch, "/tmp/cd-kv-test-XXXXXX");
    return mkdtemp(scratch) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    return cd_fs_remove_tree(cd_fs_real(), scratch, NULL) != CD_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engines),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reopen_and_checkpoint),
        cmocka_unit_test(test_not_in_memory),
        cmocka_unit_test(test_parts_in_one_commit),
        cmocka_unit_test(test_foreign_and_versions),
        cmocka_unit_test(test_busy),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
