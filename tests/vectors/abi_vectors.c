/* Contract ABI (ethereum-abi): encode the arguments, compare, decode again, encode again.
 * [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "codec/abi.h"

/* Turns a JSON argument into a value of the type. */
static void value_of(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_json v)
{
    if (t->kind == CD_ABI_SLICE || t->kind == CD_ABI_ARRAY || t->kind == CD_ABI_TUPLE) {
        usize cnt = cd_json_len(v);
        cd_abi_val *items = cd_arena_array(a, cd_abi_val, cnt);
        cd_json_it it = cd_json_iter(v);
        for (usize i = 0; cd_json_next(&it); i++) {
            value_of(&items[i], a, t->kind == CD_ABI_TUPLE ? &t->inner[i] : t->inner, it.val);
        }
        out->items = items;
        out->cnt = cnt;
    } else if (cd_json_u256(&out->num, v, NULL) != CD_OK || (t->kind != CD_ABI_UINT && t->kind != CD_ABI_ADDRESS)) {
        (void)!cd_json_str(&out->bytes, v, NULL);
    }
}

static void run_case(vec *v, cd_bytes name, cd_json test)
{
    cd_json types = cd_json_get(test, "types");
    cd_buf text = {0};
    cd_buf_u8(&text, '(');
    cd_json_it it = cd_json_iter(types);
    while (cd_json_next(&it)) {
        cd_bytes one = {0};
        (void)!cd_json_str(&one, it.val, NULL);
        cd_buf_str(&text, text.n == 1 ? "" : ",");
        cd_buf_put(&text, one);
    }
    cd_buf_u8(&text, ')');
    cd_abi_type t;
    cd_abi_val val = {0};
    cd_abi_val back;
    cd_bytes want = {0};
    cd_buf made = {0};
    cd_buf again = {0};
    bool ok = cd_abi_parse(&t, &v->arena, cd_buf_bytes(&text), NULL) == CD_OK &&
              cd_json_hex(&want, &v->arena, cd_json_get(test, "result"), NULL) == CD_OK;
    if (ok) {
        value_of(&val, &v->arena, &t, cd_json_get(test, "args"));
        ok = cd_abi_enc(&made, &t, &val) == CD_OK && cd_bytes_eq(cd_buf_bytes(&made), want) &&
             cd_abi_dec(&back, &v->arena, &t, want) == CD_OK && cd_abi_enc(&again, &t, &back) == CD_OK &&
             cd_bytes_eq(cd_buf_bytes(&again), want);
    }
    vec_check(v, ok, "%.*s", (int)name.n, (const char *)name.p);
    cd_buf_fini(&text);
    cd_buf_fini(&made);
    cd_buf_fini(&again);
}

int main(void)
{
    vec v = {0};
    cd_json doc;
    if (vec_json(&v, &doc, vec_path(&v, "ethereum-abi/basic_abi_tests.json"))) {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            run_case(&v, it.key, it.val);
        }
    }
    return vec_end(&v);
}
