/* testdata/p2p/messages.json: every message read from its bytes holds what the original decoded, member by member and
 * nothing else; is written back to the byte, framed, and compressed when the original compresses it.
 * messages_malformed.json: what is refused, in the original's words. */
#include "vec.h"

#include "base/hex.h"
#include "p2p/message.h"

static cd_zstd *zstd;

static cd_bytes hex_of(vec *v, cd_json j)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, j, NULL) == CD_OK, "bad hex in the vectors");
    return b;
}

static cd_bytes str_of(cd_json row, const char *key)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, cd_json_get(row, key), NULL);
    return s;
}

static bool is_num(cd_json j, i64 want)
{
    double d = 0;
    cd_bytes text;
    if (cd_json_str(&text, j, NULL) == CD_OK) { /* numbers of 64 bits */
        u64 got = 0;
        return cd_json_u64(&got, j, NULL) == CD_OK && got == (u64)want;
    }
    return cd_json_f64(&d, j, NULL) == CD_OK && d == (double)want;
}

static bool same(vec *v, const cd_proto_type *t, const void *value, cd_json want);

/* One value at its place. */
static bool same_one(vec *v, const cd_proto_field *f, const void *at, cd_json want)
{
    u32 w = 0;
    u64 d = 0;
    bool b = false;
    switch (f->kind) {
    case CD_PROTO_ENUM:
    case CD_PROTO_U32:
    case CD_PROTO_I32:
    case CD_PROTO_S32:
    case CD_PROTO_F32:
        memcpy(&w, at, 4);
        return is_num(want, f->kind == CD_PROTO_U32 ? (i64)w : (i64)(i32)w);
    case CD_PROTO_U64:
    case CD_PROTO_I64:
    case CD_PROTO_S64:
    case CD_PROTO_F64:
        memcpy(&d, at, 8);
        return is_num(want, (i64)d);
    case CD_PROTO_BOOL:
        memcpy(&b, at, 1);
        return cd_json_kind_of(want) == CD_JSON_BOOL && b;
    case CD_PROTO_BYTES:
        return cd_bytes_eq(*(const cd_bytes *)at, hex_of(v, want));
    case CD_PROTO_STRING: {
        cd_bytes text = {0};
        return cd_json_str(&text, want, NULL) == CD_OK && cd_bytes_eq(*(const cd_bytes *)at, text);
    }
    case CD_PROTO_MSG:
        return same(v, f->of, at, want);
    }
    return false;
}

static bool same_list(vec *v, const cd_proto_field *f, const cd_proto_list *list, cd_json want)
{
    bool ok = cd_json_len(want) == list->cnt;
    for (u32 i = 0; ok && i < list->cnt; i++) {
        ok = same_one(v, f, (const u8 *)list->v + i * cd_proto_elem_size(f), cd_json_at(want, i));
    }
    return ok;
}

/* Members of the value that are set and members of the object are the same ones. */
static bool same(vec *v, const cd_proto_type *t, const void *value, cd_json want)
{
    usize found = 0;
    for (u32 i = 0; i < t->cnt; i++) {
        const cd_proto_field *f = &t->fields[i];
        cd_json j = cd_json_get(want, f->name);
        const u8 *at = (const u8 *)value + f->offset;
        const void *p = at;
        if (!cd_json_has(j)) {
            continue;
        }
        found++;
        if (f->kind == CD_PROTO_MSG && !f->is_repeated) {
            memcpy(&p, at, sizeof p);
        }
        bool ok = p != NULL && (f->is_repeated ? same_list(v, f, p, j) : same_one(v, f, p, j));
        if (!ok) {
            vec_check(v, false, "%s.%s differs", t->name, f->name);
            return false;
        }
    }
    return found == cd_json_len(want);
}

static const cd_proto_type *table_of(u32 op)
{
    const cd_proto_type *all = cd_p2p_msg_table();
    for (u32 i = 0; i < all->cnt; i++) {
        if (all->fields[i].number == op) {
            return all->fields[i].of;
        }
    }
    return NULL;
}

static void check_bytes(vec *v, cd_json row, const cd_p2p_msg *m, const char *name)
{
    cd_buf out = {0};
    cd_arena a = {0};
    cd_p2p_msg back;
    usize unpacked = 0;
    bool is_zstd = false;
    (void)!cd_json_bool(&is_zstd, cd_json_get(row, "default_compressed"), NULL);
    cd_p2p_msg_put(&out, NULL, m);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), hex_of(v, cd_json_get(row, "plain_hex"))), "%s is written", name);
    vec_check(v, cd_p2p_op_is_zstd(m->op) == is_zstd, "%s: compressed or not", name);
    cd_buf_clear(&out);
    if (!is_zstd) {
        vec_check(v, cd_p2p_frame_put(&out, zstd, m), "%s fits", name);
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), hex_of(v, cd_json_get(row, "framed_hex"))), "%s is framed", name);
        cd_buf_clear(&out);
    }
    cd_p2p_msg_put(&out, zstd, m); /* ours compressed, read again */
    vec_check(v, cd_p2p_msg_parse(&back, &unpacked, &a, zstd, cd_buf_bytes(&out), NULL) == CD_OK && back.op == m->op,
              "%s back", name);
    vec_check(v, (unpacked != 0) == is_zstd, "%s: compressed by us", name);
    cd_buf_clear(&out);
    cd_p2p_msg_put(&out, NULL, &back);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), hex_of(v, cd_json_get(row, "plain_hex"))), "%s is whole", name);
    cd_arena_fini(&a);
    cd_buf_fini(&out);
}

static void check_message(vec *v, cd_json row)
{
    static const char *const forms[] = {"plain_hex", "default_wire_hex"};
    const char *name = cd_arena_str(&v->arena, str_of(row, "name"));
    cd_json_it body = cd_json_iter(cd_json_get(row, "decoded"));
    vec_check(v, cd_json_next(&body), "%s has no body", name);
    for (usize i = 0; i < CD_COUNT(forms); i++) {
        cd_arena a = {0};
        cd_errinfo why = {0};
        cd_p2p_msg m = {0};
        usize unpacked = 0;
        cd_err e = cd_p2p_msg_parse(&m, &unpacked, &a, zstd, hex_of(v, cd_json_get(row, forms[i])), &why);
        vec_check(v, e == CD_OK, "%s: %s", name, why.msg);
        if (e == CD_OK) {
            cd_bytes op = str_of(row, "op");
            vec_check(v, cd_bytes_eq(op, cd_bytes_str(cd_p2p_op_name(m.op))), "%s: %s", name, cd_p2p_op_name(m.op));
            vec_check(v, same(v, table_of(m.op), m.body, body.val), "%s holds something else", name);
            check_bytes(v, row, &m, name);
        }
        cd_arena_fini(&a);
    }
}

static void check_malformed(vec *v, cd_json row)
{
    const char *name = cd_arena_str(&v->arena, str_of(row, "name"));
    cd_arena a = {0};
    cd_errinfo why = {0};
    cd_p2p_msg m = {0};
    usize unpacked = 0;
    bool is_good = false;
    (void)!cd_json_bool(&is_good, cd_json_get(row, "accepted"), NULL);
    cd_err e = cd_p2p_msg_parse(&m, &unpacked, &a, zstd, hex_of(v, cd_json_get(row, "hex")), &why);
    vec_check(v, (e == CD_OK) == is_good, "%s: %s", name, why.msg);
    vec_check(v, is_good || cd_bytes_eq(str_of(row, "error"), cd_bytes_str(why.msg)), "%s: %s", name, why.msg);
    cd_arena_fini(&a);
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    zstd = cd_zstd_new(CD_P2P_FRAME_MAX);
    if (vec_json(&v, &all, vec_path(&v, "p2p/messages.json"))) {
        cd_json_it it = cd_json_iter(all);
        bool seen[CD_P2P_OP_END] = {false};
        while (cd_json_next(&it)) {
            check_message(&v, it.val);
            for (u32 op = 0; op < CD_P2P_OP_END; op++) {
                seen[op] |=
                    cd_p2p_op_name(op) != NULL && cd_bytes_eq(str_of(it.val, "op"), cd_bytes_str(cd_p2p_op_name(op)));
            }
        }
        for (u32 op = 0; op < CD_P2P_OP_END; op++) {
            vec_check(&v, seen[op] == (cd_p2p_op_name(op) != NULL), "op %u is not in the vectors", op);
        }
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/messages_malformed.json"))) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check_malformed(&v, it.val);
        }
    }
    cd_zstd_free(zstd);
    return vec_end(&v);
}
