/* IDs, addresses and encodings as the original node writes and reads them: testdata/node-api/vectors/encodings.json. */
#include "vec.h"

#include "base/hex.h"
#include "codec/base58.h"
#include "codec/encoding.h"
#include "codec/ids.h"

static cd_bytes str_of(cd_json v)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, v, NULL);
    return s;
}

static cd_bytes hex_of(vec *v, cd_json j)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, j, NULL) == CD_OK, "bad hex in the vectors");
    return b;
}

static void expect(vec *v, cd_buf *got, cd_bytes want, const char *what)
{
    vec_check(v, cd_bytes_eq(cd_buf_bytes(got), want), "%s: %s, not %.*s", what, cd_buf_cstr(got), (int)want.n,
              (const char *)want.p);
    cd_buf_fini(got);
}

static void check_cb58(vec *v, cd_json row)
{
    static const struct {
        const char *key;
        cd_encoding e;
    } forms[] = {
        {"encodingHex", CD_ENCODING_HEX}, {"encodingHexC", CD_ENCODING_HEXC}, {"encodingHexNC", CD_ENCODING_HEXNC}};
    cd_bytes b = hex_of(v, cd_json_get(row, "bytes"));
    cd_bytes text = str_of(cd_json_get(row, "cb58"));
    cd_buf out = {0};
    u8 back[CD_BASE58_BYTES_MAX];
    usize n = 0;
    cd_cb58_put(&out, b);
    expect(v, &out, text, "cb58");
    vec_check(v, cd_cb58_parse(back, &n, text, NULL) == CD_OK && cd_bytes_eq(cd_bytes_of(back, n), b), "cb58 back");
    for (usize i = 0; i < CD_COUNT(forms); i++) {
        cd_bytes want = str_of(cd_json_get(row, forms[i].key));
        cd_bytes got = {0};
        cd_encoding_put(&out, forms[i].e, b);
        expect(v, &out, want, forms[i].key);
        vec_check(v, cd_encoding_dec(&got, &v->arena, forms[i].e, want, NULL) == CD_OK && cd_bytes_eq(got, b),
                  "%s back", forms[i].key);
    }
}

static void check_hex(vec *v, cd_json row, cd_encoding e, const char *decoded, const char *error)
{
    cd_errinfo why = {0};
    cd_bytes got = {0};
    cd_bytes in = str_of(cd_json_get(row, "input"));
    cd_err err = cd_encoding_dec(&got, &v->arena, e, in, &why);
    if (cd_json_has(cd_json_get(row, error))) {
        vec_check(v, err != CD_OK && cd_bytes_eq(str_of(cd_json_get(row, error)), cd_bytes_str(why.msg)),
                  "\"%.*s\": %s", (int)in.n, (const char *)in.p, why.msg);
    } else {
        vec_check(v, err == CD_OK && cd_bytes_eq(got, hex_of(v, cd_json_get(row, decoded))), "\"%.*s\" decodes",
                  (int)in.n, (const char *)in.p);
    }
}

static void check_refused(vec *v, cd_json row)
{
    cd_errinfo why = {0};
    cd_hash32 id;
    cd_node_id node;
    cd_bytes in = str_of(cd_json_get(row, "input"));
    cd_err e = cd_id_parse(&id, in, &why);
    vec_check(v, e != CD_OK && cd_bytes_eq(str_of(cd_json_get(row, "idFromStringError")), cd_bytes_str(why.msg)),
              "ID \"%.*s\": %s", (int)in.n, (const char *)in.p, why.msg);
    e = cd_node_id_parse(&node, in, &why);
    vec_check(v, e != CD_OK && cd_bytes_eq(str_of(cd_json_get(row, "nodeIDFromStringError")), cd_bytes_str(why.msg)),
              "node \"%.*s\": %s", (int)in.n, (const char *)in.p, why.msg);
}

static void check_key(vec *v, cd_json row)
{
    cd_buf out = {0};
    cd_addr20 addr;
    cd_addr20 back;
    cd_bytes raw = hex_of(v, cd_json_get(row, "shortIDHex"));
    cd_bytes text = str_of(cd_json_get(row, "shortIDCB58"));
    memcpy(addr.b, raw.p, sizeof addr.b);
    cd_short_id_put(&out, &addr);
    expect(v, &out, text, "short ID");
    vec_check(v, cd_short_id_parse(&back, text, NULL) == CD_OK && cd_addr20_eq(&back, &addr), "short ID back");
    cd_json_it it = cd_json_iter(cd_json_get(row, "bech32"));
    while (cd_json_next(&it)) {
        cd_chain_addr got;
        text = str_of(it.val);
        bool is_read = cd_chain_addr_parse(&got, text, NULL) == CD_OK && cd_addr20_eq(&got.addr, &addr);
        vec_check(v, is_read, "%.*s is not read", (int)text.n, (const char *)text.p);
        if (is_read) {
            cd_chain_addr_put(&out, cd_arena_str(&v->arena, got.chain), got.prefix, &got.addr);
            expect(v, &out, text, "address");
        }
    }
}

static void check_named(vec *v, cd_json row)
{
    cd_buf out = {0};
    cd_hash32 id;
    cd_bytes raw = hex_of(v, cd_json_get(row, "hex"));
    vec_check(v, cd_id_parse(&id, str_of(cd_json_get(row, "id")), NULL) == CD_OK && memcmp(id.b, raw.p, 32) == 0,
              "ID of the vectors");
    cd_id_put(&out, &id);
    expect(v, &out, str_of(cd_json_get(row, "id")), "ID");
}

int main(void)
{
    vec v = {0};
    cd_bytes text;
    cd_json all = {0};
    if (vec_read(&v, &text, vec_path(&v, "node-api/vectors/encodings.json")) &&
        cd_json_parse(&all, &v.arena, text, 0, NULL) == CD_OK) {
        static const struct {
            const char *key;
            void (*check)(vec *v, cd_json row);
        } lists[] = {{"cb58", check_cb58},
                     {"invalidIDs", check_refused},
                     {"keys", check_key},
                     {"vmIDs", check_named},
                     {"luxFixedAssetIDs", check_named}};
        for (usize i = 0; i < CD_COUNT(lists); i++) {
            cd_json_it it = cd_json_iter(cd_json_get(all, lists[i].key));
            vec_check(&v, it.left != 0, "no %s", lists[i].key);
            while (cd_json_next(&it)) {
                lists[i].check(&v, it.val);
            }
        }
        cd_json_it it = cd_json_iter(cd_json_get(all, "hexDecoding"));
        while (cd_json_next(&it)) {
            check_hex(&v, it.val, CD_ENCODING_HEX, "hexDecoded", "hexError");
            check_hex(&v, it.val, CD_ENCODING_HEXNC, "hexncDecoded", "hexncError");
        }
    }
    return vec_end(&v);
}
