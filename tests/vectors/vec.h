/* tests/vectors/vec.h - what every run over the conformance data needs: finding it, reading it,
 * counting.
 *
 * A missing folder skips the run, or fails it when CI is set. Test code: included by one file each. */
#ifndef CD_TESTS_VECTORS_VEC_H
#define CD_TESTS_VECTORS_VEC_H

#include "base/os/fileio.h"
#include "codec/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct vec {
    cd_arena arena;
    unsigned passed;
    unsigned failed;
    bool is_missing;
} vec;

__attribute__((format(printf, 3, 4), unused)) static void vec_check(vec *v, bool ok, const char *fmt, ...)
{
    if (ok) {
        v->passed++;
        return;
    }
    v->failed++;
    va_list ap;
    va_start(ap, fmt);
    (void)printf("FAIL ");
    (void)vprintf(fmt, ap);
    (void)printf("\n");
    va_end(ap);
}

/* The path of something below the data folder, in the arena. */
__attribute__((unused)) static const char *vec_path(vec *v, const char *name)
{
    const char *root = getenv("CANDELA_TESTDATA");
    return cd_arena_fmt(&v->arena, "%s/%s", root != NULL ? root : "../shared/testdata", name);
}

/* Reads a file below the data folder into the arena; false and a message when it is not there. */
__attribute__((unused)) static bool vec_read(vec *v, cd_bytes *out, const char *path)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    if (cd_fs_read_file(cd_fs_real(), &text, path, (usize)256 << 20, &why) != CD_OK) {
        (void)printf("SKIP %s\n", why.msg);
        v->is_missing = true;
        return false;
    }
    *out = cd_arena_dup(&v->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return true;
}

/* Reads and parses a JSON file. */
__attribute__((unused)) static bool vec_json(vec *v, cd_json *out, const char *path)
{
    cd_bytes text;
    cd_errinfo why = {0};
    if (!vec_read(v, &text, path)) {
        return false;
    }
    if (cd_json_parse(out, &v->arena, text, 0, &why) != CD_OK) {
        vec_check(v, false, "%s: %s", path, why.msg);
        return false;
    }
    return true;
}

/* Calls the visitor for every file below a folder. */
__attribute__((unused)) static void vec_walk(vec *v, const char *name, cd_fs_visit *visit)
{
    cd_errinfo why = {0};
    if (cd_fs_walk(cd_fs_real(), vec_path(v, name), visit, v, &why) != CD_OK) {
        (void)printf("SKIP %s\n", why.msg);
        v->is_missing = true;
    }
}

/* The closing line and the exit code. */
__attribute__((unused)) static int vec_end(vec *v)
{
    bool must = getenv("CI") != NULL;
    (void)printf("%u passed, %u failed\n", v->passed, v->failed);
    cd_arena_fini(&v->arena);
    return v->failed != 0 || (v->is_missing && must) || (v->passed == 0 && !v->is_missing);
}

#endif
