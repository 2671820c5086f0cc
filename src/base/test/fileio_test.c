#include "base/os/fileio.h"

#include "base/os/rng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char root[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/cd_fileio_XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return cd_fs_remove_tree(cd_fs_real(), root, NULL) == CD_OK ? 0 : -1;
}

static const char *at(const char *name)
{
    static char paths[4][256];
    static u32 next;
    char *p = paths[next++ % 4];
    (void)snprintf(p, sizeof paths[0], "%s/%s", root, name);
    return p;
}

static void assert_holds(const char *path, const char *want)
{
    cd_buf b = {0};
    assert_int_equal(cd_fs_read_file(cd_fs_real(), &b, path, 1 << 20, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&b), want);
    cd_buf_fini(&b);
}

static void test_read(void **state)
{
    (void)state;
    cd_fs *fs = cd_fs_real();
    cd_errinfo why = {0};
    cd_buf b = {0};
    cd_buf_str(&b, "before ");
    assert_int_equal(cd_fs_read_file(fs, &b, at("none"), 10, &why), CD_ENOENT);
    assert_non_null(strstr(why.msg, "/none: cannot open: No such file"));
    assert_int_equal(cd_fs_replace_file(fs, at("ten"), cd_bytes_str("0123456789"), 0640, NULL), CD_OK);
    assert_int_equal(cd_fs_read_file(fs, &b, at("ten"), 9, &why), CD_ELIMIT);
    assert_string_equal(cd_buf_cstr(&b), "before ");
    assert_int_equal(cd_fs_read_file(fs, &b, at("ten"), 10, &why), CD_OK);
    assert_string_equal(cd_buf_cstr(&b), "before 0123456789");
    assert_int_equal(cd_fs_read_file(fs, &b, root, 10, &why), CD_EIO);
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_read_at(fs, &b, at("ten"), 3, 4, &why), CD_OK);
    assert_int_equal(b.n, 4);
    assert_int_equal(cd_fs_read_at(fs, &b, at("ten"), 7, 4, &why), CD_ESHORT);
    assert_int_equal(cd_fs_read_at(fs, &b, at("ten"), 11, 1, &why), CD_ESHORT);
    assert_int_equal(cd_fs_read_at(fs, &b, at("none"), 0, 1, &why), CD_ENOENT);
    assert_int_equal(b.n, 4);
    struct stat st;
    assert_int_equal(stat(at("ten"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    cd_fs_stat s;
    assert_int_equal(cd_fs_stat_get(fs, &s, at("ten"), NULL), CD_OK);
    assert_true(s.kind == CD_FS_FILE && s.size == 10);
    assert_int_equal(cd_fs_stat_get(fs, &s, at("none"), NULL), CD_ENOENT);

    /* Longer than one read step, and read in single bytes here and there. */
    cd_buf big = {0};
    cd_rng r = cd_rng_seeded(1);
    cd_rng_fill(&r, cd_buf_extend(&big, 300001), 300001);
    cd_fs_faulty f;
    cd_fs_faulty_init(&f, CD_FS_WRITE, 1, 0);
    assert_int_equal(cd_fs_replace_file(&f.fs, at("big"), cd_buf_bytes(&big), 0600, NULL), CD_OK);
    assert_int_equal(f.seen, 2);
    cd_fs_faulty_init(&f, CD_FS_READ, 2, 0);
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_read_file(&f.fs, &b, at("big"), 300001, NULL), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&b), cd_buf_bytes(&big)));
    cd_fs_faulty_init(&f, CD_FS_READ, 3, EINTR);
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_read_file(&f.fs, &b, at("big"), 300001, NULL), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&b), cd_buf_bytes(&big)));
    cd_fs_faulty_init(&f, CD_FS_READ, 3, EIO);
    assert_int_equal(cd_fs_read_file(&f.fs, &b, at("big"), 300001, NULL), CD_EIO);
    assert_int_equal(b.n, 300001);
    cd_buf_fini(&big);
    cd_buf_fini(&b);
}

/* Whatever call fails, the file holds the old or the new contents, and a later try works. */
static void test_replace_faults(void **state)
{
    (void)state;
    static const struct {
        int err;
        cd_err want;
    } errs[] = {{EIO, CD_EIO}, {ENOSPC, CD_ENOSPC}, {EACCES, CD_EACCES}};
    cd_fs *fs = cd_fs_real();
    char path[128];
    (void)snprintf(path, sizeof path, "%s/file", root);
    u32 failures = 0;
    assert_int_equal(cd_fs_replace_file(fs, path, cd_bytes_str("old"), 0600, NULL), CD_OK);
    for (cd_fs_op op = CD_FS_OPEN; op <= CD_FS_LOCK; op++) {
        for (u64 n = 1; n <= 3; n++) {
            for (usize e = 0; e < CD_COUNT(errs); e++) {
                cd_fs_faulty f;
                cd_fs_faulty_init(&f, op, n, errs[e].err);
                cd_err err = cd_fs_replace_file(&f.fs, path, cd_bytes_str("new"), 0600, NULL);
                assert_int_equal(err, f.seen >= n ? errs[e].want : CD_OK);
                failures += err != CD_OK;
                /* The rename happened, the sync of the directory did not: new, but not yet durable. */
                bool renamed = err == CD_OK || (op == CD_FS_OPEN && n == 2) || (op == CD_FS_SYNC && n == 2);
                assert_holds(path, renamed ? "new" : "old");
                assert_int_equal(access(at("file.new"), F_OK), -1);
                assert_int_equal(cd_fs_replace_file(fs, path, cd_bytes_str("old"), 0600, NULL), CD_OK);
            }
        }
    }
    assert_int_equal(failures, 3 * 6); /* 2 opens, 1 write, 2 syncs, 1 rename */
}

static cd_err write_pieces(cd_fs *fs, const char *path)
{
    cd_fs_out out;
    CD_TRY(cd_fs_out_open(&out, fs, path, 0600, NULL));
    cd_err e = cd_fs_out_put(&out, cd_bytes_str("one "), NULL);
    e = e != CD_OK ? e : cd_fs_out_put(&out, cd_bytes_str("two"), NULL);
    e = e != CD_OK ? e : cd_fs_out_close(&out, NULL);
    if (e != CD_OK) {
        cd_fs_out_drop(&out);
    }
    return e;
}

/* Whatever call fails, the file is whole or not there; one that exists stays as it is. */
static void test_out(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/pieces", root);
    u32 failures = 0;
    for (cd_fs_op op = CD_FS_OPEN; op <= CD_FS_LOCK; op++) {
        for (u64 n = 1; n <= 3; n++) {
            cd_fs_faulty f;
            cd_fs_faulty_init(&f, op, n, EIO);
            cd_err err = write_pieces(&f.fs, path);
            assert_int_equal(err, f.seen >= n ? CD_EIO : CD_OK);
            failures += err != CD_OK;
            assert_int_equal(access(path, F_OK), err == CD_OK ? 0 : -1);
            if (err == CD_OK) {
                assert_holds(path, "one two");
                assert_int_equal(unlink(path), 0);
            }
            cd_fs_faulty_init(&f, op, n, 0); /* the n-th call reads or writes only one byte */
            assert_int_equal(write_pieces(&f.fs, path), CD_OK);
            assert_holds(path, "one two");
            assert_int_equal(unlink(path), 0);
        }
    }
    assert_int_equal(failures, 6); /* 2 opens, 2 writes, 2 syncs */
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str("old"), 0600, NULL), CD_OK);
    assert_int_equal(write_pieces(cd_fs_real(), path), CD_EEXIST);
    assert_holds(path, "old");
}

static void test_mkdirs(void **state)
{
    (void)state;
    cd_fs *fs = cd_fs_real();
    cd_errinfo why = {0};
    assert_int_equal(cd_fs_mkdirs(fs, at("a//b/c/"), 0700, NULL), CD_OK);
    assert_int_equal(cd_fs_mkdirs(fs, at("a/b/c"), 0700, NULL), CD_OK);
    assert_int_equal(cd_fs_replace_file(fs, at("a/f"), cd_bytes_str(""), 0600, NULL), CD_OK);
    assert_int_equal(cd_fs_mkdirs(fs, at("a/f"), 0700, &why), CD_EEXIST);
    assert_int_equal(cd_fs_mkdirs(fs, at("a/f/g"), 0700, &why), CD_ENOENT);
    cd_fs_faulty f;
    cd_fs_faulty_init(&f, CD_FS_MKDIR, 1, ENOSPC);
    assert_int_equal(cd_fs_mkdirs(&f.fs, at("x/y"), 0700, &why), CD_ENOSPC);
    assert_int_equal(cd_fs_mkdirs(fs, "/", 0700, NULL), CD_OK);
}

static cd_err visit_into(void *ctx, const char *path, cd_fs_kind kind)
{
    cd_buf *b = ctx;
    cd_buf_fmt(b, "%s%s ", path + strlen(root), kind == CD_FS_DIR ? "/" : kind == CD_FS_OTHER ? "@" : "");
    return b->n > 1000 ? CD_ELIMIT : CD_OK;
}

static void test_walk(void **state)
{
    (void)state;
    cd_fs *fs = cd_fs_real();
    cd_buf b = {0};
    static const char *const files[] = {"w/b", "w/a/z", "w/a/y", "w/a.x", "w/c/d/e", "w/B"};
    assert_int_equal(cd_fs_mkdirs(fs, at("w/a"), 0700, NULL), CD_OK);
    assert_int_equal(cd_fs_mkdirs(fs, at("w/c/d"), 0700, NULL), CD_OK);
    for (usize i = 0; i < CD_COUNT(files); i++) {
        assert_int_equal(cd_fs_replace_file(fs, at(files[i]), cd_bytes_str("x"), 0600, NULL), CD_OK);
    }
    assert_int_equal(symlink("..", at("w/c/up")), 0);
    assert_int_equal(cd_fs_walk(fs, at("w"), visit_into, &b, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&b), "/w/ /w/B /w/a/ /w/a/y /w/a/z /w/a.x /w/b /w/c/ /w/c/d/ /w/c/d/e /w/c/up@ ");
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_walk(fs, at("w/b"), visit_into, &b, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&b), "/w/b ");
    assert_int_equal(cd_fs_walk(fs, at("nope"), visit_into, &b, NULL), CD_ENOENT);
    cd_buf_fill(&b, 'x', 1000);
    assert_int_equal(cd_fs_walk(fs, at("w"), visit_into, &b, NULL), CD_ELIMIT);
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_list(fs, at("w"), visit_into, &b, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&b), "/w/B /w/a/ /w/a.x /w/b /w/c/ ");
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_list(fs, at("w/c/"), visit_into, &b, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&b), "/w/c/d/ /w/c/up@ ");
    assert_int_equal(cd_fs_list(fs, at("w/b"), visit_into, &b, NULL), CD_ENOENT);
    assert_int_equal(cd_fs_list(fs, at("nope"), visit_into, &b, NULL), CD_ENOENT);
    cd_fs_faulty f;
    for (u64 n = 1; n < 30; n++) {
        cd_fs_faulty_init(&f, CD_FS_LIST, n, EIO);
        cd_buf_clear(&b);
        cd_err err = cd_fs_walk(&f.fs, at("w"), visit_into, &b, NULL);
        assert_int_equal(err, f.seen >= n ? CD_EIO : CD_OK);
    }
    assert_int_equal(cd_fs_remove_tree(fs, at("w"), NULL), CD_OK);
    assert_int_equal(access(at("w"), F_OK), -1);
    assert_int_equal(cd_fs_remove_tree(fs, at("w"), NULL), CD_OK);

    /* Deeper than the limit: an error, not a crash. */
    cd_buf deep = {0};
    cd_buf_str(&deep, at("deep"));
    for (u32 i = 0; i < 70; i++) {
        cd_buf_str(&deep, "/d");
    }
    assert_int_equal(cd_fs_mkdirs(fs, cd_buf_cstr(&deep), 0700, NULL), CD_OK);
    cd_buf_clear(&b);
    assert_int_equal(cd_fs_walk(fs, at("deep"), visit_into, &b, NULL), CD_ELIMIT);
    assert_int_equal(cd_fs_remove_tree(fs, at("deep"), NULL), CD_EDEPTH);
    deep.n -= 20;
    cd_buf_u8(&deep, '\0');
    assert_int_equal(cd_fs_remove_tree(fs, (const char *)deep.p, NULL), CD_OK);
    assert_int_equal(cd_fs_remove_tree(fs, at("deep"), NULL), CD_OK);
    cd_buf_fini(&deep);
    cd_buf_fini(&b);
}

static void test_lock(void **state)
{
    (void)state;
    cd_fs *fs = cd_fs_real();
    cd_dirlock a = {.fd = -1};
    cd_dirlock b = {.fd = -1};
    cd_errinfo why = {0};
    assert_int_equal(cd_dirlock_take(fs, &a, at("none"), NULL), CD_ENOENT);
    assert_int_equal(cd_dirlock_take(fs, &a, root, NULL), CD_OK);
    assert_int_equal(cd_dirlock_take(fs, &b, root, &why), CD_EBUSY);
    assert_non_null(strstr(why.msg, "in use"));
    cd_dirlock_release(&a);
    cd_dirlock_release(&a);
    assert_int_equal(cd_dirlock_take(fs, &b, root, NULL), CD_OK);
    cd_dirlock_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),   cmocka_unit_test(test_replace_faults), cmocka_unit_test(test_out),
        cmocka_unit_test(test_mkdirs), cmocka_unit_test(test_walk),           cmocka_unit_test(test_lock),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
