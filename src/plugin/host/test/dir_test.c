#include "plugin/host/dir.h"

#include "base/os/fileio.h"
#include "codec/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define XSVM      "v3m4wPxaHpvGr8qfMeyK6PRW3idZrPHmYcMTt7oXdK47yurVH"
#define SUBNETEVM "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"

typedef struct place {
    char dir[64];
    cd_arena mem;
} place;

static void begin(place *p)
{
    *p = (place){.dir = "/tmp/candela-plugins-XXXXXX"};
    assert_non_null(mkdtemp(p->dir));
}

static void end(place *p)
{
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), p->dir, NULL), CD_OK);
    cd_arena_fini(&p->mem);
}

static void put(place *p, const char *name)
{
    const char *path = cd_arena_fmt(&p->mem, "%s/%s", p->dir, name);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str("#!/bin/sh\n"), 0700, NULL), CD_OK);
}

static cd_hash32 id_of(const char *name)
{
    cd_hash32 id;
    assert_int_equal(cd_vm_id_of(&id, cd_bytes_str(name)), CD_OK);
    return id;
}

/* The ids are those that the original's software makes of the names. */
static void test_ids(void **state)
{
    (void)state;
    const char *dir = getenv("CANDELA_TESTDATA");
    place p;
    begin(&p);
    cd_buf text = {0};
    const char *path = cd_arena_fmt(&p.mem, "%s/p2p/vm_ids.json", dir == NULL ? "/nowhere" : dir);
    if (cd_fs_read_file(cd_fs_real(), &text, path, 1 << 20, NULL) != CD_OK) {
        end(&p);
        print_message("SKIP: no vm_ids.json; CANDELA_TESTDATA says where golden data is\n");
        skip();
    }
    cd_json root;
    usize cnt = 0;
    assert_int_equal(cd_json_parse(&root, &p.mem, cd_buf_bytes(&text), 0, NULL), CD_OK);
    for (cd_json_it it = cd_json_iter(root); cd_json_next(&it); cnt++) {
        cd_bytes name;
        cd_bytes cb58;
        cd_hash32 id;
        cd_buf said = {0};
        assert_int_equal(cd_json_str(&name, cd_json_get(it.val, "name"), NULL), CD_OK);
        assert_int_equal(cd_json_str(&cb58, cd_json_get(it.val, "cb58"), NULL), CD_OK);
        assert_int_equal(cd_vm_id_of(&id, name), CD_OK);
        cd_id_put(&said, &id);
        assert_true(cd_bytes_eq(cd_buf_bytes(&said), cb58));
        cd_buf_fini(&said);
    }
    assert_true(cnt >= 5);
    cd_buf_fini(&text);
    end(&p);
}

static void test_names(void **state)
{
    (void)state;
    cd_hash32 id;
    char longest[34];
    memset(longest, 'a', sizeof longest);
    assert_int_equal(cd_vm_id_of(&id, cd_bytes_of(longest, 32)), CD_OK);
    assert_int_equal(cd_vm_id_of(&id, cd_bytes_of(longest, 33)), CD_ERANGE);
    assert_int_equal(cd_vm_id_of(&id, (cd_bytes){0}), CD_EINVAL);
}

static void test_list(void **state)
{
    (void)state;
    place p;
    cd_plugin_file *files;
    usize cnt;
    const cd_plugin_alias aliases[] = {{.vm_id = id_of("xsvm"), .name = "x-vm"}};
    begin(&p);
    put(&p, SUBNETEVM ".bin");
    put(&p, "x-vm");
    put(&p, ".hidden");
    assert_int_equal(mkdir(cd_arena_fmt(&p.mem, "%s/below", p.dir), 0700), 0);
    assert_int_equal(cd_plugin_dir_list(&files, &cnt, &p.mem, p.dir, aliases, 1, NULL), CD_OK);
    assert_int_equal(cnt, 2);
    cd_hash32 subnetevm = id_of("subnetevm");
    assert_true(cd_hash32_eq(&files[0].vm_id, &subnetevm));
    assert_true(cd_hash32_eq(&files[1].vm_id, &aliases[0].vm_id));
    assert_string_equal(files[1].path, cd_arena_fmt(&p.mem, "%s/x-vm", p.dir));
    /* Two files for one VM are an error. */
    put(&p, XSVM);
    assert_int_equal(cd_plugin_dir_list(&files, &cnt, &p.mem, p.dir, aliases, 1, NULL), CD_EEXIST);
    end(&p);
}

static void test_bad_names(void **state)
{
    (void)state;
    place p;
    cd_plugin_file *files;
    usize cnt;
    cd_errinfo why = {0};
    begin(&p);
    put(&p, "mytool");
    assert_int_equal(cd_plugin_dir_list(&files, &cnt, &p.mem, p.dir, NULL, 0, &why), CD_EFORMAT);
    assert_string_equal(why.msg, "invalid vmID: \"mytool\"");
    const char *path = cd_arena_fmt(&p.mem, "%s/mytool", p.dir);
    assert_int_equal(cd_plugin_dir_list(&files, &cnt, &p.mem, path, NULL, 0, &why), CD_ETYPE);
    assert_non_null(strstr(why.msg, "plugin dir is not a directory: \""));
    path = cd_arena_fmt(&p.mem, "%s/none", p.dir);
    assert_int_equal(cd_plugin_dir_list(&files, &cnt, &p.mem, path, NULL, 0, &why), CD_ENOENT);
    assert_non_null(strstr(why.msg, "not found"));
    end(&p);
}

static cd_err parse_aliases(place *p, const char *text, cd_plugin_alias **out, usize *cnt)
{
    return cd_plugin_aliases_parse(out, cnt, &p->mem, cd_bytes_str(text), NULL);
}

static void test_aliases(void **state)
{
    (void)state;
    place p;
    cd_plugin_alias *all;
    usize cnt;
    begin(&p);
    assert_int_equal(parse_aliases(&p, "{\"" XSVM "\":[\"xsvm\",\"xs\"]}", &all, &cnt), CD_OK);
    cd_hash32 xsvm = id_of("xsvm");
    assert_int_equal(cnt, 2);
    assert_string_equal(all[1].name, "xs");
    assert_true(cd_hash32_eq(&all[1].vm_id, &xsvm));
    assert_int_equal(parse_aliases(&p, "{\"xsvm\":[\"a\"]}", &all, &cnt), CD_EFORMAT);
    assert_int_equal(parse_aliases(&p, "{\"" XSVM "\":\"a\"}", &all, &cnt), CD_ETYPE);
    assert_int_equal(parse_aliases(&p,
                                   "{\"" XSVM "\":[\"a\"],"
                                   "\"" SUBNETEVM "\":[\"a\"]}",
                                   &all, &cnt),
                     CD_EEXIST);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),       cmocka_unit_test(test_names),   cmocka_unit_test(test_list),
        cmocka_unit_test(test_bad_names), cmocka_unit_test(test_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
