/* JSON grammar (json/test_parsing): y_ must be accepted, n_ refused, i_ either way but never crash.
 * [spec:conformance#5] */
#include "tests/vectors/vec.h"

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    const char *name = strrchr(path, '/');
    name = name == NULL ? path : name + 1;
    cd_bytes text;
    if (kind != CD_FS_FILE || strstr(name, ".json") == NULL || !vec_read(v, &text, path)) {
        return CD_OK;
    }
    cd_arena a = {0};
    cd_json doc;
    cd_errinfo why = {0};
    cd_err e = cd_json_parse(&doc, &a, text, 0, &why);
    if (e == CD_OK) {
        cd_buf out = {0};
        cd_json_raw(&out, doc);
        cd_buf_fini(&out);
    }
    vec_check(v, name[0] == 'i' || (e == CD_OK) == (name[0] == 'y'), "%s: %s", name, e == CD_OK ? "accepted" : why.msg);
    cd_arena_fini(&a);
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    vec_walk(&v, "json/test_parsing", visit);
    return vec_end(&v);
}
