/* The JSON reader on arbitrary bytes. What it accepts must survive being written and read again,
 * every value must have a path, and every getter must cope with every kind. */
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void getters(cd_arena *a, cd_json v)
{
    cd_errinfo why = {0};
    bool flag;
    double num;
    u64 small;
    cd_u256 big;
    cd_bytes bytes;
    u8 fixed[20];
    (void)!cd_json_bool(&flag, v, &why);
    (void)!cd_json_f64(&num, v, &why);
    (void)!cd_json_u64(&small, v, &why);
    (void)!cd_json_u256(&big, v, &why);
    (void)!cd_json_qty_u64(&small, v, &why);
    (void)!cd_json_hex(&bytes, a, v, &why);
    (void)!cd_json_fixed(fixed, sizeof fixed, v, &why);
    (void)!cd_json_str(&bytes, cd_json_get(cd_json_at(v, 1), "key"), &why);
}

static void walk(cd_arena *a, cd_json v)
{
    cd_json_it it = cd_json_iter(v);
    for (int i = 0; i < 64 && cd_json_next(&it); i++) {
        cd_buf path = {0};
        cd_json_path(&path, it.val);
        cd_buf_fini(&path);
        getters(a, it.val);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_json doc;
    cd_json again;
    cd_buf once = {0};
    cd_buf twice = {0};
    cd_errinfo why = {0};
    if (cd_json_parse(&doc, &a, cd_bytes_of(data, size), 1 << 20, &why) == CD_OK) {
        getters(&a, doc);
        walk(&a, doc);
        cd_json_raw(&once, doc);
        CD_ASSERT(cd_json_parse(&again, &a, cd_buf_bytes(&once), 0, &why) == CD_OK);
        cd_json_raw(&twice, again);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&once), cd_buf_bytes(&twice)));
    }
    cd_buf_clear(&once);
    cd_json_w w = {.out = &once};
    cd_json_w_str(&w, cd_bytes_of(data, size));
    CD_ASSERT(cd_json_parse(&again, &a, cd_buf_bytes(&once), 0, &why) == CD_OK);
    cd_buf_fini(&once);
    cd_buf_fini(&twice);
    cd_arena_fini(&a);
    return 0;
}
