/* Wire format by hand: what the original's library reads and writes, and what it refuses. */
#include "codec/proto.h"

#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct inner {
    u32 a;
    cd_proto_list names;
} inner;

typedef struct outer {
    u32 num;
    u64 big;
    i32 neg;
    i32 zig;
    i64 zag;
    bool yes;
    u32 fix;
    u64 dbl;
    cd_bytes raw;
    cd_bytes text;
    inner *in;
    cd_proto_list nums;
    cd_proto_list ins;
    cd_proto_list dbls;
    u32 which;
    void *choice;
    u32 has_opt;
    u32 opt;
} outer;

static const cd_proto_field inner_fields[] = {
    CD_PROTO_FIELD(1, U32, inner, a),
    CD_PROTO_FIELD(2, STRING, inner, names, .is_repeated = true),
};
static const cd_proto_type inner_type = CD_PROTO_TYPE(inner, inner_fields, "inner");

#define CHOICE .is_oneof = true, .which = offsetof(outer, which)

static const cd_proto_field outer_fields[] = {
    CD_PROTO_FIELD(1, U32, outer, num),
    CD_PROTO_FIELD(2, U64, outer, big),
    CD_PROTO_FIELD(3, I32, outer, neg),
    CD_PROTO_FIELD(4, S32, outer, zig),
    CD_PROTO_FIELD(5, S64, outer, zag),
    CD_PROTO_FIELD(6, BOOL, outer, yes),
    CD_PROTO_FIELD(7, F32, outer, fix),
    CD_PROTO_FIELD(8, F64, outer, dbl),
    CD_PROTO_FIELD(9, BYTES, outer, raw),
    CD_PROTO_FIELD(10, STRING, outer, text),
    CD_PROTO_FIELD(11, MSG, outer, in, .of = &inner_type),
    CD_PROTO_FIELD(12, U32, outer, nums, .is_repeated = true),
    CD_PROTO_FIELD(13, MSG, outer, ins, .is_repeated = true, .of = &inner_type),
    CD_PROTO_FIELD(14, F64, outer, dbls, .is_repeated = true),
    CD_PROTO_FIELD(15, MSG, outer, choice, .of = &inner_type, CHOICE),
    CD_PROTO_FIELD(16, MSG, outer, choice, .of = &inner_type, CHOICE),
    CD_PROTO_FIELD(17, U32, outer, opt, .is_oneof = true, .which = offsetof(outer, has_opt)),
};
static const cd_proto_type outer_type = CD_PROTO_TYPE(outer, outer_fields, "outer");

static cd_err parse(outer *out, cd_arena *a, const char *text, usize n)
{
    *out = (outer){.num = 0};
    return cd_proto_parse(out, &outer_type, a, cd_bytes_of(text, n), NULL);
}
#define PARSE(out, a, text) parse((out), (a), (text), sizeof(text) - 1)

static void expect_bytes(const outer *o, const char *want, usize n)
{
    cd_buf out = {0};
    assert_int_equal(cd_proto_size(&outer_type, o), n);
    cd_proto_put(&out, &outer_type, o);
    assert_int_equal(out.n, n);
    assert_memory_equal(out.p == NULL ? (const u8 *)"" : out.p, want, n);
    cd_buf_fini(&out);
}
#define EXPECT(o, want) expect_bytes((o), (want), sizeof(want) - 1)

static void numbers(void **state)
{
    (void)state;
    static const char wire[] = "\x08\xac\x02"
                               "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                               "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                               "\x20\x03"
                               "\x28\x01"
                               "\x30\x01"
                               "\x3d\x04\x03\x02\x01"
                               "\x41\0\0\0\0\0\0\xf0\x3f";
    cd_arena a = {0};
    outer o;
    assert_int_equal(PARSE(&o, &a, wire), CD_OK);
    assert_int_equal(o.num, 300);
    assert_true(o.big == UINT64_MAX);
    assert_int_equal(o.neg, -1);
    assert_int_equal(o.zig, -2);
    assert_true(o.zag == -1);
    assert_true(o.yes);
    assert_int_equal(o.fix, 0x01020304);
    assert_true(o.dbl == 0x3ff0000000000000);
    EXPECT(&o, wire);
    /* A number that is too long for its field loses its upper bits; what is zero is not written. */
    assert_int_equal(PARSE(&o, &a, "\x08\x80\x80\x80\x80\x10"), CD_OK);
    assert_int_equal(o.num, 0);
    EXPECT(&o, "");
    cd_arena_fini(&a);
}

static void lists(void **state)
{
    (void)state;
    cd_arena a = {0};
    outer o;
    const char mixed[] = "\x60\x05"
                         "\x62\x03\x06\xac\x02"
                         "\x08\x07"
                         "\x60\x08"
                         "\x62\0";
    assert_int_equal(PARSE(&o, &a, mixed), CD_OK);
    assert_int_equal(o.nums.cnt, 4);
    const u32 *v = o.nums.v;
    assert_true(v[0] == 5 && v[1] == 6 && v[2] == 300 && v[3] == 8);
    EXPECT(&o, "\x08\x07"
               "\x62\x05\x05\x06\xac\x02\x08");
    const char nested[] = "\x6a\x02\x08\x01"
                          "\x6a\0"
                          "\x6a\x05\x12\x01x\x12\0";
    assert_int_equal(PARSE(&o, &a, nested), CD_OK);
    assert_int_equal(o.ins.cnt, 3);
    const inner *in = o.ins.v;
    assert_int_equal(in[0].a, 1);
    assert_int_equal(in[2].names.cnt, 2);
    EXPECT(&o, nested);
    assert_int_equal(PARSE(&o, &a, "\x72\x08\1\2\3\4\5\6\7\x08\x71\1\1\1\1\1\1\1\1"), CD_OK);
    assert_int_equal(o.dbls.cnt, 2);
    assert_int_equal(PARSE(&o, &a, "\x72\x07\1\2\3\4\5\6\7"), CD_EFORMAT);
    assert_int_equal(PARSE(&o, &a, "\x62\x02\x05\x80"), CD_EFORMAT); /* the last number is cut off */
    cd_arena_fini(&a);
}

/* A message that comes twice is merged, and of a oneof only the last member stays. */
static void merged(void **state)
{
    (void)state;
    cd_arena a = {0};
    outer o;
    assert_int_equal(PARSE(&o, &a,
                           "\x5a\x05\x08\x01\x12\x01x"
                           "\x5a\x05\x08\x02\x12\x01y"),
                     CD_OK);
    assert_int_equal(o.in->a, 2);
    assert_int_equal(o.in->names.cnt, 2);
    EXPECT(&o, "\x5a\x08\x08\x02\x12\x01x\x12\x01y");
    assert_int_equal(PARSE(&o, &a,
                           "\x7a\x02\x08\x01"
                           "\x7a\x03\x12\x01x"),
                     CD_OK);
    assert_int_equal(o.which, 15);
    assert_int_equal(((inner *)o.choice)->a, 1);
    assert_int_equal(((inner *)o.choice)->names.cnt, 1);
    assert_int_equal(PARSE(&o, &a,
                           "\x7a\x02\x08\x01"
                           "\x82\x01\0"),
                     CD_OK);
    assert_int_equal(o.which, 16);
    assert_int_equal(((inner *)o.choice)->a, 0);
    EXPECT(&o, "\x82\x01\0");
    assert_int_equal(PARSE(&o, &a, "\x88\x01\0"), CD_OK); /* an optional field that is set to zero */
    assert_int_equal(o.has_opt, 17);
    EXPECT(&o, "\x88\x01\0");
    cd_arena_fini(&a);
}

static void unknown(void **state)
{
    (void)state;
    cd_arena a = {0};
    outer o;
    assert_int_equal(PARSE(&o, &a, "\xf8\x3f\x01\xfa\x3f\x01x\xfd\x3f\1\2\3\4\xf9\x3f\1\2\3\4\5\6\7\x08\x08\x01"),
                     CD_OK);
    assert_int_equal(o.num, 1);
    assert_int_equal(PARSE(&o, &a, "\x0a\x01x\x08\x02"), CD_OK); /* a known number of another wire type */
    assert_int_equal(o.num, 2);
    assert_int_equal(PARSE(&o, &a, "\xfb\x3f\xfb\x3f\x08\x01\xfc\x3f\xfc\x3f\x08\x03"), CD_OK); /* groups */
    assert_int_equal(o.num, 3);
    static const char *const bad[] = {"\x08",
                                      "\x08\xff",
                                      "\x5a\x02\x08",
                                      "\x3d\1\2\3",
                                      "\x0c",
                                      "\x0f",
                                      "\x0e",
                                      "\xfb\x3f\x08\x01",
                                      "\xfb\x3f\xf4\x3f",
                                      "\x52\x02\xc3\x28",
                                      "\x5a\x02\x08\xff",
                                      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                                      "\x4a\xff\xff\xff\xff\x0f",
                                      "\x80\x80\x80\x80\x10\1"};
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(parse(&o, &a, bad[i], strlen(bad[i])), CD_EFORMAT);
    }
    assert_int_equal(PARSE(&o, &a, "\0\1"), CD_EFORMAT); /* field number 0 */
    cd_buf deep = {0};
    for (int i = 0; i < 100000; i++) {
        cd_buf_str(&deep, "\xfb\x3f");
    }
    assert_int_equal(parse(&o, &a, (const char *)deep.p, deep.n), CD_EFORMAT);
    cd_buf_fini(&deep);
    cd_arena_fini(&a);
}

/* An element costs the sender two bytes and the reader a struct: memory stays a small multiple of the input. */
static void bounded(void **state)
{
    (void)state;
    cd_arena a = {0};
    outer o = {.num = 0};
    cd_buf in = {0};
    for (int i = 0; i < 100000; i++) {
        cd_buf_put(&in, cd_bytes_of("\x6a\0", 2));
    }
    assert_int_equal(cd_proto_parse(&o, &outer_type, &a, cd_buf_bytes(&in), NULL), CD_ELIMIT);
    cd_buf_clear(&in);
    for (int i = 0; i < 100000; i++) { /* a list that grows by merging */
        cd_buf_str(&in, "\x5a\x03\x12\x01x");
    }
    o = (outer){.num = 0};
    assert_int_equal(cd_proto_parse(&o, &outer_type, &a, cd_buf_bytes(&in), NULL), CD_ELIMIT);
    cd_buf_fini(&in);
    cd_arena_fini(&a);
}

/* Whatever message random bytes give, it is written, and reading and writing that again gives the same bytes. */
static void random_bytes(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(7);
    unsigned good = 0;
    for (int i = 0; i < 20000; i++) {
        cd_arena a = {0};
        cd_buf once = {0};
        cd_buf twice = {0};
        outer o;
        char text[24];
        usize n = cd_rng_below(&rng, sizeof text);
        for (usize j = 0; j < n; j++) {
            text[j] = (char)(cd_rng_below(&rng, 4) == 0 ? cd_rng_u64(&rng) : (cd_rng_u64(&rng) & 0x7f) % 40 * 2 % 128);
        }
        if (parse(&o, &a, text, n) == CD_OK) {
            good++;
            cd_proto_put(&once, &outer_type, &o);
            assert_int_equal(once.n, cd_proto_size(&outer_type, &o));
            assert_int_equal(parse(&o, &a, (const char *)once.p, once.n), CD_OK);
            cd_proto_put(&twice, &outer_type, &o);
            assert_true(cd_bytes_eq(cd_buf_bytes(&once), cd_buf_bytes(&twice)));
        }
        cd_buf_fini(&twice);
        cd_buf_fini(&once);
        cd_arena_fini(&a);
    }
    assert_true(good > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(lists),
                                       cmocka_unit_test(merged),  cmocka_unit_test(unknown),
                                       cmocka_unit_test(bounded), cmocka_unit_test(random_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
