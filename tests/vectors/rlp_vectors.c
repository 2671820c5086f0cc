/* RLP both ways (ethereum-rlp): what must encode and decode to each other, and what must be
 * refused. [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "codec/rlp.h"
#include "num/u256_text.h"

/* Encodes the "in" of a test: strings, integers, "#decimal" and nested lists. Integers beyond 256
 * bits (the tests have some) are written digit by digit into a byte string. */
static void encode(cd_buf *out, cd_json v);

static void encode_big(cd_buf *out, cd_bytes digits)
{
    u8 num[64] = {0};
    for (usize i = 0; i < digits.n; i++) {
        u32 carry = (u32)(digits.p[i] - '0');
        for (usize k = sizeof num; k-- > 0;) {
            carry += num[k] * 10U;
            num[k] = (u8)carry;
            carry >>= 8;
        }
    }
    usize zeros = 0;
    while (zeros < sizeof num && num[zeros] == 0) {
        zeros++;
    }
    cd_rlp_put_str(out, cd_bytes_of(num + zeros, sizeof num - zeros));
}

static void encode(cd_buf *out, cd_json v)
{
    cd_bytes text;
    u64 num;
    if (cd_json_kind_of(v) == CD_JSON_ARR) {
        usize list = cd_rlp_begin(out);
        cd_json_it it = cd_json_iter(v);
        while (cd_json_next(&it)) {
            encode(out, it.val);
        }
        cd_rlp_close(out, list);
    } else if (cd_json_kind_of(v) == CD_JSON_NUM) {
        if (cd_json_u64(&num, v, NULL) == CD_OK) {
            cd_rlp_put_u64(out, num);
        }
    } else if (cd_json_str(&text, v, NULL) == CD_OK) {
        if (text.n > 1 && text.p[0] == '#') {
            encode_big(out, cd_bytes_sub(text, 1, text.n - 1));
        } else {
            cd_rlp_put_str(out, text);
        }
    }
}

static bool is_text(cd_json v, const char *want)
{
    cd_bytes text;
    return cd_json_str(&text, v, NULL) == CD_OK && cd_bytes_eq(text, cd_bytes_str(want));
}

/* Reads everything and writes it again. */
static void copy(cd_buf *out, cd_rlp *r)
{
    while (cd_rlp_more(r)) {
        cd_rlp_item it = cd_rlp_next(r);
        if (it.is_list) {
            cd_rlp inner = cd_rlp_init(it.body);
            usize list = cd_rlp_begin(out);
            copy(out, &inner);
            cd_rlp_close(out, list);
            cd_rlp_leave(r, &inner);
        } else if (r->err == CD_OK) {
            cd_rlp_put_str(out, it.body);
        }
    }
}

static void run_file(vec *v, const char *name)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, name))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_json in = cd_json_get(it.val, "in");
        cd_bytes want;
        cd_errinfo why = {0};
        int n = (int)it.key.n;
        const char *key = (const char *)it.key.p;
        if (cd_json_hex(&want, &v->arena, cd_json_get(it.val, "out"), &why) != CD_OK) {
            /* "out" of an invalid one may be no hex at all */
            vec_check(v, is_text(in, "INVALID"), "%.*s: %s", n, key, why.msg);
            continue;
        }
        cd_err e = cd_rlp_check(want);
        if (is_text(in, "INVALID")) {
            vec_check(v, e != CD_OK, "%.*s: accepted", n, key);
            continue;
        }
        cd_buf made = {0};
        cd_rlp r = cd_rlp_init(want);
        copy(&made, &r);
        vec_check(v, e == CD_OK && r.err == CD_OK && cd_bytes_eq(cd_buf_bytes(&made), want), "%.*s: decode: %s", n, key,
                  cd_err_str(e));
        if (!is_text(in, "VALID")) {
            cd_buf_clear(&made);
            encode(&made, in);
            vec_check(v, cd_bytes_eq(cd_buf_bytes(&made), want), "%.*s: encode", n, key);
        }
        cd_buf_fini(&made);
    }
}

int main(void)
{
    vec v = {0};
    run_file(&v, "ethereum-rlp/rlptest.json");
    run_file(&v, "ethereum-rlp/invalidRLPTest.json");
    run_file(&v, "ethereum-rlp/RandomRLPTests/example.json");
    return vec_end(&v);
}
