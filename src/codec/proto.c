#include "codec/proto.h"

#include "base/rd.h"
#include "base/utf8.h"

#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5,
    NUMBER_MAX = (1 << 29) - 1,
    VARINT_MAX = 10, /* bytes of the longest varint */
    GROUPS_MAX = 64, /* deepest nesting of unknown groups */
};

static u32 wire_of(cd_proto_kind k)
{
    switch (k) {
    case CD_PROTO_U32:
    case CD_PROTO_U64:
    case CD_PROTO_I32:
    case CD_PROTO_I64:
    case CD_PROTO_ENUM:
    case CD_PROTO_S32:
    case CD_PROTO_S64:
    case CD_PROTO_BOOL:
        return WIRE_VARINT;
    case CD_PROTO_F32:
        return WIRE_FIXED32;
    case CD_PROTO_F64:
        return WIRE_FIXED64;
    case CD_PROTO_BYTES:
    case CD_PROTO_STRING:
    case CD_PROTO_MSG:
        return WIRE_BYTES;
    }
    CD_UNREACHABLE();
}

usize cd_proto_elem_size(const cd_proto_field *f)
{
    switch (f->kind) {
    case CD_PROTO_U32:
    case CD_PROTO_I32:
    case CD_PROTO_ENUM:
    case CD_PROTO_S32:
    case CD_PROTO_F32:
        return 4;
    case CD_PROTO_U64:
    case CD_PROTO_I64:
    case CD_PROTO_S64:
    case CD_PROTO_F64:
        return 8;
    case CD_PROTO_BOOL:
        return 1;
    case CD_PROTO_BYTES:
    case CD_PROTO_STRING:
        return sizeof(cd_bytes);
    case CD_PROTO_MSG:
        return f->of->size;
    }
    CD_UNREACHABLE();
}

/* --- reading --- */

typedef struct reader {
    cd_arena *arena;
    cd_errinfo *why;
    usize memory; /* bytes that may still be taken from the arena */
    u32 depth;
} reader;

static cd_err refuse(reader *r)
{
    return cd_fail(r->why, CD_EFORMAT, "proto: cannot parse invalid wire-format data");
}

static u64 take_varint(cd_rd *in)
{
    u64 v = 0;
    for (unsigned i = 0; i < VARINT_MAX; i++) {
        u8 b = cd_rd_u8(in);
        if (i == VARINT_MAX - 1 && b > 1) {
            break;
        }
        v |= (u64)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            return v;
        }
    }
    cd_rd_fail(in, CD_EFORMAT);
    return 0;
}

/* Reads a tag: gives the field number and the wire type; 0 with the error set when it is malformed. */
static u32 take_tag(cd_rd *in, u32 *wire)
{
    u64 tag = take_varint(in);
    if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX) {
        cd_rd_fail(in, CD_EFORMAT);
        return 0;
    }
    *wire = (u32)(tag & 7);
    return (u32)(tag >> 3);
}

static cd_bytes take_bytes(cd_rd *in)
{
    u64 n = take_varint(in);
    if (n > cd_rd_left(in)) {
        cd_rd_fail(in, CD_ESHORT);
        return (cd_bytes){0};
    }
    return cd_rd_take(in, n);
}

/* Skips the value of a field. Groups, which proto3 does not have, must close in the reverse of their order. */
static void skip_value(cd_rd *in, u32 number, u32 wire)
{
    u32 open[GROUPS_MAX];
    u32 depth = 0;
    do {
        switch (wire) {
        case WIRE_VARINT:
            (void)take_varint(in);
            break;
        case WIRE_FIXED64:
            (void)cd_rd_take(in, 8);
            break;
        case WIRE_BYTES:
            (void)take_bytes(in);
            break;
        case WIRE_FIXED32:
            (void)cd_rd_take(in, 4);
            break;
        case WIRE_GROUP:
            if (depth == GROUPS_MAX) {
                cd_rd_fail(in, CD_EDEPTH);
                return;
            }
            open[depth++] = number;
            break;
        case WIRE_GROUP_END:
            if (depth == 0 || open[--depth] != number) {
                cd_rd_fail(in, CD_EFORMAT);
            }
            break;
        default:
            cd_rd_fail(in, CD_EFORMAT);
            break;
        }
        if (depth != 0) {
            number = take_tag(in, &wire);
        }
    } while (depth != 0 && in->err == CD_OK);
}

static cd_err take_memory(reader *r, void **out, usize cnt, usize size)
{
    usize n;
    if (__builtin_mul_overflow(cnt, size, &n) || n > r->memory) {
        return cd_fail(r->why, CD_ELIMIT, "the message would take too much memory");
    }
    r->memory -= n;
    *out = cd_arena_zalloc(r->arena, n);
    return CD_OK;
}

/* Stores the number v at `at` in the C type of its kind. */
static void put_number(void *at, cd_proto_kind kind, u64 v)
{
    u32 w = (u32)v;
    bool is_set = v != 0;
    switch (kind) {
    case CD_PROTO_S32:
        w = (w >> 1) ^ (0 - (w & 1));
        memcpy(at, &w, 4);
        return;
    case CD_PROTO_U32:
    case CD_PROTO_I32:
    case CD_PROTO_ENUM:
    case CD_PROTO_F32:
        memcpy(at, &w, 4);
        return;
    case CD_PROTO_S64:
        v = (v >> 1) ^ (0 - (v & 1));
        memcpy(at, &v, 8);
        return;
    case CD_PROTO_U64:
    case CD_PROTO_I64:
    case CD_PROTO_F64:
        memcpy(at, &v, 8);
        return;
    case CD_PROTO_BOOL:
        memcpy(at, &is_set, 1);
        return;
    case CD_PROTO_BYTES:
    case CD_PROTO_STRING:
    case CD_PROTO_MSG:
        break;
    }
    CD_UNREACHABLE();
}

static u64 take_number(cd_rd *in, cd_proto_kind kind)
{
    u8 b[8] = {0};
    u32 wire = wire_of(kind);
    if (wire == WIRE_VARINT) {
        return take_varint(in);
    }
    cd_rd_copy(in, b, wire == WIRE_FIXED32 ? 4 : 8);
    return cd_le64(b);
}

static cd_err read_message(reader *r, void *out, const cd_proto_type *t, cd_bytes text);

static cd_err read_nested(reader *r, void *out, const cd_proto_type *t, cd_bytes text)
{
    if (r->depth == CD_PROTO_DEPTH_MAX) {
        return cd_fail(r->why, CD_EDEPTH, "messages are nested too deeply");
    }
    r->depth++;
    CD_TRY(read_message(r, out, t, text));
    r->depth--;
    return CD_OK;
}

/* Reads one value, or one element of a list, to its place. */
static cd_err read_one(reader *r, void *at, const cd_proto_field *f, cd_rd *in)
{
    if (wire_of(f->kind) != WIRE_BYTES) {
        put_number(at, f->kind, take_number(in, f->kind));
        return in->err == CD_OK ? CD_OK : refuse(r);
    }
    cd_bytes b = take_bytes(in);
    if (in->err != CD_OK) {
        return refuse(r);
    }
    if (f->kind == CD_PROTO_STRING && !cd_utf8_is_valid(b)) {
        return cd_fail(r->why, CD_EFORMAT, "string field contains invalid UTF-8");
    }
    if (f->kind != CD_PROTO_MSG) {
        memcpy(at, &b, sizeof b);
        return CD_OK;
    }
    return read_nested(r, at, f->of, b);
}

/* Reads a message that is not repeated: it lies behind a pointer, which is set when it comes first. */
static cd_err read_pointer(reader *r, void *at, const cd_proto_field *f, cd_rd *in)
{
    void *v;
    memcpy(&v, at, sizeof v);
    if (v == NULL) {
        CD_TRY(take_memory(r, &v, 1, f->of->size));
        memcpy(at, &v, sizeof v);
    }
    return read_one(r, v, f, in);
}

/* Counts the elements of f that the rest of a message holds, the one at the front included. */
static usize count_rest(cd_rd in, const cd_proto_field *f, u32 wire)
{
    usize cnt = 0;
    u32 number = f->number;
    while (in.err == CD_OK) {
        if (number == f->number && wire == WIRE_BYTES && wire_of(f->kind) != WIRE_BYTES) {
            cd_bytes packed = take_bytes(&in);
            if (wire_of(f->kind) == WIRE_VARINT) {
                for (usize i = 0; i < packed.n; i++) {
                    cnt += packed.p[i] < 0x80;
                }
            } else {
                cnt += packed.n / cd_proto_elem_size(f);
            }
        } else {
            cnt += number == f->number && wire == wire_of(f->kind);
            skip_value(&in, number, wire);
        }
        if (cd_rd_left(&in) == 0) {
            break;
        }
        number = take_tag(&in, &wire);
    }
    return cnt;
}

static cd_err list_grow(reader *r, cd_proto_list *list, const cd_proto_field *f, usize more)
{
    void *v;
    usize cap = list->cnt + more;
    usize size = cd_proto_elem_size(f);
    if (cap > UINT32_MAX) {
        return refuse(r);
    }
    CD_TRY(take_memory(r, &v, cap, size));
    if (list->cnt != 0) {
        memcpy(v, list->v, list->cnt * size);
    }
    list->v = v;
    list->cap = (u32)cap;
    return CD_OK;
}

static cd_err read_elem(reader *r, cd_proto_list *list, const cd_proto_field *f, cd_rd *in)
{
    CD_ASSERT(list->cnt < list->cap); /* count_rest has counted it */
    CD_TRY(read_one(r, (u8 *)list->v + list->cnt * cd_proto_elem_size(f), f, in));
    list->cnt++;
    return CD_OK;
}

static cd_err read_list(reader *r, cd_proto_list *list, const cd_proto_field *f, cd_rd *in, u32 wire)
{
    bool is_packed = wire == WIRE_BYTES && wire_of(f->kind) != WIRE_BYTES;
    if (list->cnt == list->cap) {
        usize more = count_rest(*in, f, wire);
        if (more != 0) {
            CD_TRY(list_grow(r, list, f, more));
        }
    }
    if (!is_packed) {
        return read_elem(r, list, f, in);
    }
    cd_bytes packed = take_bytes(in);
    if (in->err != CD_OK) {
        return refuse(r);
    }
    for (cd_rd rd = cd_rd_init(packed); cd_rd_left(&rd) != 0;) {
        if (list->cnt == list->cap) {
            return refuse(r); /* the last number is cut off */
        }
        CD_TRY(read_elem(r, list, f, &rd));
    }
    return CD_OK;
}

static const cd_proto_field *field_of(const cd_proto_type *t, u32 number)
{
    for (u32 i = 0; i < t->cnt && t->fields[i].number <= number; i++) {
        if (t->fields[i].number == number) {
            return &t->fields[i];
        }
    }
    return NULL;
}

/* Makes f the member of its oneof that is set, and zeroes what another member left at the shared place. */
static void choose(void *out, const cd_proto_field *f)
{
    u32 is;
    memcpy(&is, (u8 *)out + f->which, sizeof is);
    if (is != f->number) {
        memset((u8 *)out + f->offset, 0, f->kind == CD_PROTO_MSG ? sizeof(void *) : cd_proto_elem_size(f));
        memcpy((u8 *)out + f->which, &f->number, sizeof f->number);
    }
}

static cd_err read_message(reader *r, void *out, const cd_proto_type *t, cd_bytes text)
{
    cd_rd in = cd_rd_init(text);
    while (cd_rd_left(&in) != 0) {
        u32 wire = 0;
        u32 number = take_tag(&in, &wire);
        const cd_proto_field *f = in.err == CD_OK ? field_of(t, number) : NULL;
        bool is_packed = f != NULL && f->is_repeated && wire == WIRE_BYTES;
        if (f == NULL || (wire != wire_of(f->kind) && !is_packed)) {
            skip_value(&in, number, wire);
            if (in.err != CD_OK) {
                return refuse(r);
            }
            continue;
        }
        void *at = (u8 *)out + f->offset;
        if (f->is_oneof) {
            choose(out, f);
        }
        if (f->is_repeated) {
            CD_TRY(read_list(r, at, f, &in, wire));
        } else if (f->kind == CD_PROTO_MSG) {
            CD_TRY(read_pointer(r, at, f, &in));
        } else {
            CD_TRY(read_one(r, at, f, &in));
        }
    }
    return in.err == CD_OK ? CD_OK : refuse(r);
}

cd_err cd_proto_parse(void *out, const cd_proto_type *t, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    reader r = {.arena = a, .why = why, .memory = CD_PROTO_MEMORY(text.n)};
    return read_message(&r, out, t, text);
}

cd_err cd_proto_uvarint(u64 *out, cd_bytes *in)
{
    cd_rd rd = cd_rd_init(*in);
    u64 v = take_varint(&rd);
    if (rd.err != CD_OK) {
        return CD_EFORMAT;
    }
    *in = cd_bytes_of(rd.p, cd_rd_left(&rd));
    *out = v;
    return CD_OK;
}

/* --- writing --- */

static usize varint_size(u64 v)
{
    return (usize)(70 - __builtin_clzll(v | 1)) / 7;
}

void cd_proto_uvarint_put(cd_buf *out, u64 v)
{
    u8 *p = cd_buf_reserve(out, VARINT_MAX);
    usize n = 0;
    for (; v >= 0x80; v >>= 7) {
        p[n++] = (u8)(v | 0x80);
    }
    p[n++] = (u8)v;
    out->n += n;
}

/* Gives the number at a place, as it is written. */
static u64 number_at(const void *at, cd_proto_kind kind)
{
    u32 w;
    u64 v;
    bool b;
    switch (kind) {
    case CD_PROTO_U32:
    case CD_PROTO_F32:
        memcpy(&w, at, 4);
        return w;
    case CD_PROTO_I32:
    case CD_PROTO_ENUM:
        memcpy(&w, at, 4);
        return (u64)(i64)(i32)w;
    case CD_PROTO_S32:
        memcpy(&w, at, 4);
        return (w << 1) ^ (0 - (w >> 31));
    case CD_PROTO_U64:
    case CD_PROTO_I64:
    case CD_PROTO_F64:
        memcpy(&v, at, 8);
        return v;
    case CD_PROTO_S64:
        memcpy(&v, at, 8);
        return (v << 1) ^ (0 - (v >> 63));
    case CD_PROTO_BOOL:
        memcpy(&b, at, 1);
        return b ? 1 : 0;
    case CD_PROTO_BYTES:
    case CD_PROTO_STRING:
    case CD_PROTO_MSG:
        break;
    }
    CD_UNREACHABLE();
}

static usize number_size(u64 v, cd_proto_kind kind)
{
    u32 wire = wire_of(kind);
    return wire == WIRE_VARINT ? varint_size(v) : wire == WIRE_FIXED32 ? 4 : 8;
}

static void put_raw_number(cd_buf *out, u64 v, cd_proto_kind kind)
{
    u32 wire = wire_of(kind);
    if (wire == WIRE_VARINT) {
        cd_proto_uvarint_put(out, v);
    } else {
        u8 b[8];
        cd_put_le64(b, v);
        cd_buf_put(out, cd_bytes_of(b, wire == WIRE_FIXED32 ? 4 : 8));
    }
}

static usize tag_size(const cd_proto_field *f)
{
    return varint_size((u64)f->number << 3);
}

static void put_tag(cd_buf *out, const cd_proto_field *f, u32 wire)
{
    cd_proto_uvarint_put(out, (u64)f->number << 3 | wire);
}

/* Gives the length in bytes of the BYTES, STRING or MSG at a place. */
static usize content_size(const cd_proto_field *f, const void *at)
{
    return f->kind == CD_PROTO_MSG ? cd_proto_size(f->of, at) : ((const cd_bytes *)at)->n;
}

static usize packed_size(const cd_proto_field *f, const cd_proto_list *list)
{
    usize sum = 0;
    for (u32 i = 0; i < list->cnt; i++) {
        sum += number_size(number_at((const u8 *)list->v + i * cd_proto_elem_size(f), f->kind), f->kind);
    }
    return sum;
}

static usize list_size(const cd_proto_field *f, const cd_proto_list *list)
{
    usize sum = 0;
    if (list->cnt != 0 && wire_of(f->kind) != WIRE_BYTES) {
        sum = packed_size(f, list);
        return tag_size(f) + varint_size(sum) + sum;
    }
    for (u32 i = 0; i < list->cnt; i++) {
        usize n = content_size(f, (const u8 *)list->v + i * cd_proto_elem_size(f));
        sum += tag_size(f) + varint_size(n) + n;
    }
    return sum;
}

/* Gives the place of a field's value; NULL: it is not written. */
static const void *value_of(const cd_proto_field *f, const void *v)
{
    const u8 *at = (const u8 *)v + f->offset;
    u32 is;
    if (f->is_oneof) {
        memcpy(&is, (const u8 *)v + f->which, sizeof is);
        if (is != f->number) {
            return NULL;
        }
    }
    if (f->kind == CD_PROTO_MSG) {
        void *p;
        memcpy(&p, at, sizeof p);
        return p;
    }
    bool is_zero =
        wire_of(f->kind) == WIRE_BYTES ? ((const cd_bytes *)(const void *)at)->n == 0 : number_at(at, f->kind) == 0;
    return is_zero && !f->is_oneof ? NULL : at;
}

usize cd_proto_size(const cd_proto_type *t, const void *v)
{
    usize sum = 0;
    CD_ASSERT(v != NULL);
    for (u32 i = 0; i < t->cnt; i++) {
        const cd_proto_field *f = &t->fields[i];
        if (f->is_repeated) {
            sum += list_size(f, (const cd_proto_list *)(const void *)((const u8 *)v + f->offset));
            continue;
        }
        const void *at = value_of(f, v);
        if (at == NULL) {
            continue;
        }
        if (wire_of(f->kind) != WIRE_BYTES) {
            sum += tag_size(f) + number_size(number_at(at, f->kind), f->kind);
        } else {
            usize n = content_size(f, at);
            sum += tag_size(f) + varint_size(n) + n;
        }
    }
    return sum;
}

static void put_message(cd_buf *out, const cd_proto_type *t, const void *v, u32 depth);

/* Appends one value that is not packed, with its tag. */
static void put_one(cd_buf *out, const cd_proto_field *f, const void *at, u32 depth)
{
    put_tag(out, f, wire_of(f->kind));
    if (wire_of(f->kind) != WIRE_BYTES) {
        put_raw_number(out, number_at(at, f->kind), f->kind);
        return;
    }
    cd_proto_uvarint_put(out, content_size(f, at));
    if (f->kind == CD_PROTO_MSG) {
        put_message(out, f->of, at, depth + 1);
    } else {
        cd_buf_put(out, *(const cd_bytes *)at);
    }
}

static void put_list(cd_buf *out, const cd_proto_field *f, const cd_proto_list *list, u32 depth)
{
    bool is_packed = wire_of(f->kind) != WIRE_BYTES;
    if (is_packed && list->cnt != 0) {
        put_tag(out, f, WIRE_BYTES);
        cd_proto_uvarint_put(out, packed_size(f, list));
    }
    for (u32 i = 0; i < list->cnt; i++) {
        const void *at = (const u8 *)list->v + i * cd_proto_elem_size(f);
        if (is_packed) {
            put_raw_number(out, number_at(at, f->kind), f->kind);
        } else {
            put_one(out, f, at, depth);
        }
    }
}

static void put_message(cd_buf *out, const cd_proto_type *t, const void *v, u32 depth)
{
    CD_ASSERT(v != NULL && depth <= CD_PROTO_DEPTH_MAX);
    for (u32 i = 0; i < t->cnt; i++) {
        const cd_proto_field *f = &t->fields[i];
        if (f->is_repeated) {
            put_list(out, f, (const cd_proto_list *)(const void *)((const u8 *)v + f->offset), depth);
            continue;
        }
        const void *at = value_of(f, v);
        if (at != NULL) {
            put_one(out, f, at, depth);
        }
    }
}

void cd_proto_put(cd_buf *out, const cd_proto_type *t, const void *v)
{
    put_message(out, t, v, 0);
}
