#include "chains/evmchain/rpc/sending/typed_data.h"

#include "base/hex.h"
#include "crypto/hash/keccak.h"
#include "num/u256_text.h"

#include <stdlib.h>

enum { DEPTH_MAX = 32, TYPES_MAX = 256 };

/* What all steps of one document share. */
typedef struct job {
    cd_json types;
    cd_arena *a;
    cd_errinfo *why;
    u32 depth;
} job;

static cd_err value(job *j, u8 out[32], cd_bytes type, cd_json v);

static cd_err wrong(job *j, cd_bytes what, const char *problem)
{
    return cd_fail(j->why, CD_EFORMAT, "%.*s: %s", (int)cd_min_u64(what.n, 64), (const char *)what.p, problem);
}

/* The members of a structure type; none when there is no such type. */
static cd_json members_of(const job *j, cd_bytes name)
{
    return cd_json_get(j->types, cd_arena_str(j->a, name));
}

static bool is_struct(const job *j, cd_bytes name)
{
    return cd_json_kind_of(members_of(j, name)) == CD_JSON_ARR;
}

/* "Person[2][]" → "Person". */
static cd_bytes base_of(cd_bytes type)
{
    usize n = 0;
    while (n < type.n && type.p[n] != '[') {
        n++;
    }
    return cd_bytes_sub(type, 0, n);
}

static cd_err read_member(job *j, cd_bytes *name, cd_bytes *type, cd_json member)
{
    CD_TRY(cd_json_str(name, cd_json_get(member, "name"), j->why));
    return cd_json_str(type, cd_json_get(member, "type"), j->why);
}

/* --- types --- */

static int by_name(const void *x, const void *y)
{
    return cd_bytes_cmp(*(const cd_bytes *)x, *(const cd_bytes *)y);
}

static bool has(const cd_bytes *names, usize cnt, cd_bytes name)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

/* The structures that a type is made of, itself first. */
static cd_err collect(job *j, cd_bytes names[TYPES_MAX], usize *cnt, cd_bytes name)
{
    names[0] = name;
    *cnt = 1;
    for (usize i = 0; i < *cnt; i++) {
        cd_json_it it = cd_json_iter(members_of(j, names[i]));
        while (cd_json_next(&it)) {
            cd_bytes member;
            cd_bytes type;
            CD_TRY(read_member(j, &member, &type, it.val));
            type = base_of(type);
            if (!is_struct(j, type) || has(names, *cnt, type)) {
                continue;
            }
            if (*cnt == TYPES_MAX) {
                return wrong(j, type, "too many types");
            }
            names[(*cnt)++] = type;
        }
    }
    return CD_OK;
}

/* "Mail(Person from,Person to)Person(string name)" */
static cd_err type_hash(job *j, u8 out[32], cd_bytes name)
{
    cd_bytes names[TYPES_MAX];
    usize cnt;
    cd_buf text = {0};
    cd_hash32 hash;
    CD_TRY(collect(j, names, &cnt, name));
    qsort(names + 1, cnt - 1, sizeof *names, by_name);
    cd_err e = CD_OK;
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        bool is_first = true;
        cd_json_it it = cd_json_iter(members_of(j, names[i]));
        cd_buf_put(&text, names[i]);
        cd_buf_u8(&text, '(');
        while (e == CD_OK && cd_json_next(&it)) {
            cd_bytes member = {0};
            cd_bytes type = {0};
            e = read_member(j, &member, &type, it.val);
            cd_buf_str(&text, is_first ? "" : ",");
            cd_buf_put(&text, type);
            cd_buf_u8(&text, ' ');
            cd_buf_put(&text, member);
            is_first = false;
        }
        cd_buf_u8(&text, ')');
    }
    cd_keccak256(&hash, cd_buf_bytes(&text));
    memcpy(out, hash.b, 32);
    cd_buf_fini(&text);
    return e;
}

/* --- values --- */

static void hash_into(u8 out[32], cd_bytes data)
{
    cd_hash32 hash;
    cd_keccak256(&hash, data);
    memcpy(out, hash.b, 32);
}

static cd_err structure(job *j, u8 out[32], cd_bytes name, cd_json v)
{
    cd_buf enc = {0};
    cd_json_it it = cd_json_iter(members_of(j, name));
    cd_err e = type_hash(j, cd_buf_extend(&enc, 32), name);
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        e = wrong(j, name, "not an object");
    }
    while (e == CD_OK && cd_json_next(&it)) {
        cd_bytes member;
        cd_bytes type;
        u8 word[32];
        e = read_member(j, &member, &type, it.val);
        if (e == CD_OK) {
            e = value(j, word, type, cd_json_get(v, cd_arena_str(j->a, member)));
        }
        if (e == CD_OK) {
            cd_buf_put(&enc, cd_bytes_of(word, sizeof word));
        }
    }
    hash_into(out, cd_buf_bytes(&enc));
    cd_buf_fini(&enc);
    return e;
}

/* An array of the type before the last brackets. */
static cd_err array(job *j, u8 out[32], cd_bytes type, cd_json v)
{
    cd_buf enc = {0};
    usize open = type.n;
    while (open > 0 && type.p[open - 1] != '[') {
        open--;
    }
    if (open == 0 || cd_json_kind_of(v) != CD_JSON_ARR) {
        return wrong(j, type, "not an array");
    }
    cd_bytes size = cd_bytes_sub(type, open, type.n - open - 1);
    cd_u256 want;
    if (size.n != 0 && (cd_u256_parse_dec(&want, size) != CD_OK || cd_u256_to_u64_sat(&want) != cd_json_len(v))) {
        return wrong(j, type, "another number of elements");
    }
    cd_err e = CD_OK;
    cd_json_it it = cd_json_iter(v);
    while (e == CD_OK && cd_json_next(&it)) {
        u8 word[32];
        e = value(j, word, cd_bytes_sub(type, 0, open - 1), it.val);
        if (e == CD_OK) {
            cd_buf_put(&enc, cd_bytes_of(word, sizeof word));
        }
    }
    hash_into(out, cd_buf_bytes(&enc));
    cd_buf_fini(&enc);
    return e;
}

/* The number behind a type's name; 0 when there is none. */
static u64 width_of(cd_bytes type, usize prefix, u64 otherwise)
{
    cd_u256 n;
    if (type.n == prefix) {
        return otherwise;
    }
    cd_bytes digits = cd_bytes_sub(type, prefix, type.n - prefix);
    return cd_u256_parse_dec(&n, digits) == CD_OK ? cd_u256_to_u64_sat(&n) : 0;
}

static cd_err integer(job *j, u8 out[32], cd_bytes type, bool is_signed, cd_json v)
{
    cd_buf raw = {0};
    cd_bytes text;
    cd_u256 n;
    u64 bits = width_of(type, is_signed ? 3 : 4, 256);
    if (bits == 0 || bits > 256 || bits % 8 != 0) {
        return wrong(j, type, "no such type");
    }
    if (cd_json_kind_of(v) == CD_JSON_NUM) {
        cd_json_raw(&raw, v);
        text = cd_arena_dup(j->a, cd_buf_bytes(&raw));
        cd_buf_fini(&raw);
    } else if (cd_json_str(&text, v, NULL) != CD_OK) {
        return wrong(j, type, "not a number");
    }
    bool is_neg = is_signed && text.n != 0 && text.p[0] == '-';
    if (is_neg) {
        text = cd_bytes_sub(text, 1, text.n - 1);
    }
    if (cd_u256_parse(&n, text) != CD_OK) {
        return wrong(j, type, "not a number");
    }
    /* A negative number of b bits reaches to 2^(b-1), a positive one to one less. */
    cd_u256 top = n;
    if (is_neg && !cd_u256_is_zero(&n)) {
        cd_u256 one = cd_u256_one();
        cd_u256_sub(&top, &n, &one);
    }
    if (cd_u256_bits(&top) > bits - (is_signed ? 1 : 0)) {
        return wrong(j, type, "out of range");
    }
    if (is_neg) {
        cd_u256_neg(&n, &n);
    }
    cd_u256_store_be(out, &n);
    return CD_OK;
}

static cd_err bytes_of(job *j, cd_bytes *out, cd_bytes type, cd_json v)
{
    cd_bytes text;
    if (cd_json_str(&text, v, NULL) != CD_OK || text.n < 2 || text.p[0] != '0' || (text.p[1] | 0x20) != 'x' ||
        cd_json_hex(out, j->a, v, NULL) != CD_OK) {
        return wrong(j, type, "not hexadecimal data");
    }
    return CD_OK;
}

static bool begins(cd_bytes type, const char *with)
{
    usize n = strlen(with);
    return type.n >= n && memcmp(type.p, with, n) == 0;
}

static cd_err atom(job *j, u8 out[32], cd_bytes type, cd_json v)
{
    cd_bytes data;
    bool yes;
    memset(out, 0, 32);
    if (cd_bytes_eq(type, cd_bytes_str("string"))) {
        if (cd_json_str(&data, v, NULL) != CD_OK) {
            return wrong(j, type, "not a string");
        }
        hash_into(out, data);
        return CD_OK;
    }
    if (cd_bytes_eq(type, cd_bytes_str("bool"))) {
        if (cd_json_bool(&yes, v, NULL) != CD_OK) {
            return wrong(j, type, "not a boolean");
        }
        out[31] = yes;
        return CD_OK;
    }
    if (begins(type, "uint") || begins(type, "int")) {
        return integer(j, out, type, type.p[0] == 'i', v);
    }
    if (cd_bytes_eq(type, cd_bytes_str("address"))) {
        CD_TRY(bytes_of(j, &data, type, v));
        if (data.n != 20) {
            return wrong(j, type, "not 20 bytes");
        }
        memcpy(out + 12, data.p, 20);
        return CD_OK;
    }
    if (begins(type, "bytes")) {
        u64 size = width_of(type, 5, 33);
        CD_TRY(bytes_of(j, &data, type, v));
        if (type.n == 5) {
            hash_into(out, data);
            return CD_OK;
        }
        if (size == 0 || size > 32 || data.n != size) {
            return wrong(j, type, "another number of bytes");
        }
        memcpy(out, data.p, data.n);
        return CD_OK;
    }
    return wrong(j, type, "no such type");
}

static cd_err value(job *j, u8 out[32], cd_bytes type, cd_json v)
{
    if (j->depth == DEPTH_MAX) {
        return cd_fail(j->why, CD_EDEPTH, "structures nest too deep");
    }
    j->depth++;
    cd_err e = CD_OK;
    if (type.n != 0 && type.p[type.n - 1] == ']') {
        e = array(j, out, type, v);
    } else if (!is_struct(j, type)) {
        e = atom(j, out, type, v);
    } else if (cd_json_has(v)) {
        e = structure(j, out, type, v);
    } else {
        memset(out, 0, 32); /* a structure that is not there */
    }
    j->depth--;
    return e;
}

cd_err cd_typed_data_hash(cd_hash32 *out, cd_arena *a, cd_json doc, cd_errinfo *why)
{
    static const char domain_type[] = "EIP712Domain";
    u8 all[66] = {0x19, 0x01};
    usize n = 34;
    cd_bytes primary;
    job j = {.types = cd_json_get(doc, "types"), .a = a, .why = why};
    CD_TRY(cd_json_obj(j.types, why));
    CD_TRY(cd_json_str(&primary, cd_json_get(doc, "primaryType"), why));
    if (!is_struct(&j, primary)) {
        return wrong(&j, primary, "the primary type is not among the types");
    }
    CD_TRY(structure(&j, all + 2, cd_bytes_str(domain_type), cd_json_get(doc, "domain")));
    if (!cd_bytes_eq(primary, cd_bytes_str(domain_type))) {
        CD_TRY(structure(&j, all + n, primary, cd_json_get(doc, "message")));
        n += 32;
    }
    cd_keccak256(out, cd_bytes_of(all, n));
    return CD_OK;
}
