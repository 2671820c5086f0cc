#include "base/hex.h"
#include "base/text.h"
#include "codec/json.h"
#include "types/fn.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

static cd_err read_json(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_json v, cd_errinfo *why);

/* The power of ten of a unit, taken off the end; 0 without one. */
static u32 take_unit(cd_bytes *t)
{
    static const struct {
        const char *name;
        u32 decimals;
    } units[] = {{"LUX", 18}, {"lux", 18}, {"ether", 18}, {"gwei", 9}, {"wei", 0}};
    for (usize i = 0; i < CD_COUNT(units); i++) {
        usize n = strlen(units[i].name);
        if (t->n > n && memcmp(t->p + t->n - n, units[i].name, n) == 0) {
            *t = cd_text_trim(cd_bytes_sub(*t, 0, t->n - n), NULL);
            return units[i].decimals;
        }
    }
    return 0;
}

/* "1.5" with 18 decimals; digits that would be lost are an error. */
static cd_err read_amount(cd_u256 *out, cd_bytes t, u32 decimals)
{
    char digits[CD_U256_TEXT_MAX + 2];
    usize n = 0;
    usize after = 0;
    bool has_dot = false;
    for (usize i = 0; i < t.n; i++) {
        if (t.p[i] == '.' && !has_dot) {
            has_dot = true;
        } else if (t.p[i] != '_' && t.p[i] != ',') {
            if (n >= CD_U256_TEXT_MAX) {
                return CD_ERANGE;
            }
            digits[n++] = (char)t.p[i];
            after += has_dot ? 1 : 0;
        }
    }
    if (after > decimals) {
        return CD_EFORMAT;
    }
    for (; after < decimals; after++) {
        if (n >= CD_U256_TEXT_MAX) {
            return CD_ERANGE;
        }
        digits[n++] = '0';
    }
    return cd_u256_parse_dec(out, cd_bytes_of(digits, n));
}

static cd_err read_num(cd_abi_val *out, const cd_abi_type *t, cd_bytes text, cd_errinfo *why)
{
    bool is_neg = text.n != 0 && text.p[0] == '-' && t->kind == CD_ABI_INT;
    if (is_neg) {
        text = cd_bytes_sub(text, 1, text.n - 1);
    }
    bool is_hex = text.n > 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x';
    u32 decimals = is_hex ? 0 : take_unit(&text);
    cd_err e = is_hex ? cd_u256_parse(&out->num, text) : read_amount(&out->num, text, decimals);
    if (e == CD_OK && is_neg) {
        cd_u256_neg(&out->num, &out->num);
    }
    return e == CD_OK ? CD_OK : cd_fail(why, e, "%s", e == CD_ERANGE ? "too large" : "not a whole number");
}

static cd_err read_addr(cd_abi_val *out, cd_bytes text, cd_errinfo *why)
{
    cd_addr20 addr;
    char right[CD_ADDR_TEXT_SIZE];
    if (text.n != 42 || text.p[0] != '0' || text.p[1] != 'x' ||
        cd_hex_parse(addr.b, cd_bytes_sub(text, 2, 40)) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "an address is 0x and 40 hexadecimal digits");
    }
    bool has_upper = false;
    bool has_lower = false;
    for (usize i = 2; i < 42; i++) {
        has_upper = has_upper || (u8)(text.p[i] - 'A') < 6;
        has_lower = has_lower || (u8)(text.p[i] - 'a') < 6;
    }
    if (has_upper && has_lower && memcmp(cd_addr_fmt(right, &addr), text.p, 42) != 0) {
        return cd_fail(why, CD_EFORMAT, "the checksum is wrong: one of its characters was mistyped");
    }
    out->num = cd_u256_from_addr(&addr);
    return CD_OK;
}

static cd_err read_bytes(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_bytes text, cd_errinfo *why)
{
    bool has_prefix = text.n >= 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x';
    if (!has_prefix || cd_hex_parse_prefixed(&out->bytes, a, text) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "bytes are 0x and an even number of hexadecimal digits");
    }
    if (t->kind == CD_ABI_FIXED && out->bytes.n != t->size) {
        return cd_fail(why, CD_ERANGE, "%zu bytes, %u are wanted", out->bytes.n, t->size);
    }
    return CD_OK;
}

/* By kind; composite ones are JSON. */
static cd_err read_text(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_bytes text, cd_errinfo *why)
{
    cd_bytes word = cd_text_trim(text, NULL);
    cd_json doc;
    switch (t->kind) {
    case CD_ABI_UINT:
    case CD_ABI_INT:
        return read_num(out, t, word, why);
    case CD_ABI_ADDRESS:
        return read_addr(out, word, why);
    case CD_ABI_BOOL:
        if (cd_bytes_eq(word, cd_bytes_str("true")) || cd_bytes_eq(word, cd_bytes_str("false"))) {
            out->num = cd_u256_from_u64(word.n == 4);
            return CD_OK;
        }
        return cd_fail(why, CD_EFORMAT, "true or false");
    case CD_ABI_FIXED:
    case CD_ABI_BYTES:
        return read_bytes(out, a, t, word, why);
    case CD_ABI_STRING:
        out->bytes = text;
        return CD_OK;
    case CD_ABI_ARRAY:
    case CD_ABI_SLICE:
    case CD_ABI_TUPLE:
        CD_TRY(cd_json_parse(&doc, a, word, CD_FN_VALUE_MAX, why));
        return read_json(out, a, t, doc, why);
    }
    CD_UNREACHABLE();
}

static cd_err read_items(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_json v, cd_errinfo *why)
{
    usize cnt = cd_json_len(v);
    if (cd_json_kind_of(v) != CD_JSON_ARR) {
        return cd_fail(why, CD_EFORMAT, "arrays and tuples are written as [first, second]");
    }
    if (t->kind != CD_ABI_SLICE && cnt != t->cnt) {
        return cd_fail(why, CD_EFORMAT, "%zu values, %zu are wanted", cnt, t->cnt);
    }
    cd_abi_val *items = cd_arena_array(a, cd_abi_val, cnt);
    cd_json_it it = cd_json_iter(v);
    for (usize i = 0; cd_json_next(&it); i++) {
        const cd_abi_type *inner = t->kind == CD_ABI_TUPLE ? &t->inner[i] : t->inner;
        CD_TRY(read_json(&items[i], a, inner, it.val, why));
    }
    *out = (cd_abi_val){.items = items, .cnt = cnt};
    return CD_OK;
}

/* Depth is that of the type, which is bounded. */
static cd_err read_json(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    bool is_true;
    if (t->kind == CD_ABI_ARRAY || t->kind == CD_ABI_SLICE || t->kind == CD_ABI_TUPLE) {
        return read_items(out, a, t, v, why);
    }
    if (cd_json_str(&text, v, NULL) == CD_OK) {
        return read_text(out, a, t, text, why);
    }
    if (t->kind == CD_ABI_BOOL && cd_json_bool(&is_true, v, NULL) == CD_OK) {
        out->num = cd_u256_from_u64(is_true);
        return CD_OK;
    }
    if (t->kind == CD_ABI_UINT || t->kind == CD_ABI_INT) {
        return cd_json_u256(&out->num, v, why);
    }
    return cd_fail(why, CD_EFORMAT, "this kind of value stands in quotes");
}

cd_err cd_fn_value(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_bytes text, cd_errinfo *why)
{
    cd_abi_val v = {0};
    if (text.n > CD_FN_VALUE_MAX) {
        return cd_fail(why, CD_ERANGE, "longer than %d bytes", CD_FN_VALUE_MAX);
    }
    CD_TRY(read_text(&v, a, t, text, why));
    *out = v;
    return CD_OK;
}
