/* Blocks of the P-Chain: testdata/node-api/vectors/pchain-blocks.json. Each is read, measured, written back to the
 * byte, hashed to its ID and shown as JSON; none of its prefixes is one. */
#include "product_text.h"

#include "codec/ids.h"
#include "crypto/hash/sha2.h"
#include "types/pblock.h"

static void check_json(vec *v, const char *name, cd_json row, const cd_p_block *b, const cd_hash32 *id)
{
    cd_buf got = {0};
    cd_buf want = {0};
    cd_json_w w = {.out = &got};
    const cd_linear_place place = {.chain = "P", .prefix = "custom"};
    cd_p_block_json(&w, &place, b, id);
    cd_json_raw(&want, cd_json_get(row, "json"));
    cd_bytes renamed = product_text(v, cd_buf_bytes(&want));
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&got), renamed), "%s: JSON is\n%s\nnot\n%.*s", name, cd_buf_cstr(&got),
              (int)renamed.n, (const char *)renamed.p);
    cd_buf_fini(&got);
    cd_buf_fini(&want);
}

static void check(vec *v, cd_json row)
{
    cd_bytes name = {0};
    cd_bytes bytes = {0};
    cd_bytes id_text = {0};
    cd_p_block b = {.body = {.v = NULL}};
    cd_errinfo why = {0};
    cd_buf out = {0};
    cd_buf id = {0};
    cd_hash32 hash;
    (void)!cd_json_str(&name, cd_json_get(row, "name"), NULL);
    (void)!cd_json_str(&id_text, cd_json_get(row, "id"), NULL);
    const char *shown = cd_arena_str(&v->arena, name);
    vec_check(v, cd_json_hex(&bytes, &v->arena, cd_json_get(row, "hex"), NULL) == CD_OK, "%s: hex", shown);
    cd_err e = cd_linear_parse(&b, &cd_p_block_table, &v->arena, bytes, 0, &why);
    vec_check(v, e == CD_OK, "%s: %s", shown, why.msg);
    if (e != CD_OK) {
        return;
    }
    vec_check(v, cd_linear_size(&cd_p_block_table, &b) == bytes.n, "%s: size", shown);
    cd_linear_put(&out, &cd_p_block_table, &b);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), bytes), "%s: not the same bytes again", shown);
    cd_sha256(&hash, cd_buf_bytes(&out));
    cd_id_put(&id, &hash);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&id), id_text), "%s: ID", shown);
    check_json(v, shown, row, &b, &hash);
    bool is_refused = true;
    for (usize n = 0; n < bytes.n; n++) {
        cd_p_block cut = {.body = {.v = NULL}};
        is_refused = is_refused && cd_linear_parse(&cut, &cd_p_block_table, &v->arena, cd_bytes_sub(bytes, 0, n), 0,
                                                   NULL) == CD_ESHORT;
    }
    vec_check(v, is_refused, "%s: a part of it is read", shown);
    cd_buf_u8(&out, 0);
    vec_check(v, cd_linear_parse(&b, &cd_p_block_table, &v->arena, cd_buf_bytes(&out), 0, NULL) == CD_ETRAIL,
              "%s: a byte behind it", shown);
    cd_buf_fini(&out);
    cd_buf_fini(&id);
}

int main(void)
{
    vec v = {0};
    cd_bytes text;
    cd_json all = {0};
    if (vec_read(&v, &text, vec_path(&v, "node-api/vectors/pchain-blocks.json")) &&
        cd_json_parse(&all, &v.arena, text, 0, NULL) == CD_OK) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check(&v, it.val);
        }
        vec_check(&v, cd_json_len(all) == 11, "%zu blocks", cd_json_len(all));
    }
    return vec_end(&v);
}
