/* codec/proto.h - Protocol Buffers (proto3): messages whose layout is said by tables.
 *
 *   bytes ──► cd_proto_parse ──► struct in an arena
 *     ▲                               │
 *     └──────── cd_proto_put ◄────────┘   (cd_proto_size says how many bytes)
 *
 * A table is an array of fields, ascending by number; the code below knows no message by name:
 *
 *   U32 U64 I32 I64 ENUM  varint: u32, u64, i32, i64, u32        S32 S64   zig-zag varint: i32, i64
 *   BOOL                  varint: bool                           F32 F64   four or eight bytes: u32, u64 (the bits)
 *   BYTES STRING          a cd_bytes, borrowed from the input    MSG       a pointer to a struct; NULL: absent
 *
 * A field may be repeated (a cd_proto_list), or belong to a oneof: then a u32 of the struct holds the number of the
 * member that is set, 0 for none, and members may share their place. A proto3 `optional` is a oneof with one member.
 *
 * Rules are those of the original's library: unknown fields, and known ones of another wire type, are skipped; scalars
 * are the last ones that came; a message that comes twice is merged; strings are UTF-8; numbers of repeated fields may
 * be packed or not, and are written packed. What is zero is not written, except in a oneof.
 * Memory is bounded by a small multiple of the input (CD_PROTO_MEMORY), nesting by CD_PROTO_DEPTH_MAX; nothing is
 * taken on the word of a length. Threading: pure; tables are frozen. [spec:p2p#3] */
#ifndef CD_CODEC_PROTO_H
#define CD_CODEC_PROTO_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

#include <stddef.h>

enum { CD_PROTO_DEPTH_MAX = 32 };

/* Bytes that a message of n bytes may take in the arena. */
#define CD_PROTO_MEMORY(n) (4096 + 8 * (usize)(n))

/* Types of fields, by how they are written. */
typedef enum cd_proto_kind {
    CD_PROTO_U32,
    CD_PROTO_U64,
    CD_PROTO_I32,
    CD_PROTO_I64,
    CD_PROTO_ENUM,
    CD_PROTO_S32,
    CD_PROTO_S64,
    CD_PROTO_BOOL,
    CD_PROTO_F32,
    CD_PROTO_F64,
    CD_PROTO_BYTES,
    CD_PROTO_STRING,
    CD_PROTO_MSG,
} cd_proto_kind;

typedef struct cd_proto_field cd_proto_field;

/* A message. */
typedef struct cd_proto_type {
    const char *name;
    const cd_proto_field *fields;
    u32 cnt;
    u32 size; /* bytes of the C struct */
} cd_proto_type;

/* A field of a message. */
struct cd_proto_field {
    u32 number;
    cd_proto_kind kind;
    bool is_repeated;
    bool is_oneof;
    u32 offset;              /* bytes from the start of the C struct */
    u32 which;               /* offset of the u32 that says which member of the oneof is set */
    const cd_proto_type *of; /* type of a MSG */
    const char *name;        /* as in the .proto file */
};

/* What a repeated field holds: cnt elements, one behind the other (of MSG: structs, not pointers). cap is the
 * parser's own. */
typedef struct cd_proto_list {
    void *v;
    u32 cnt;
    u32 cap;
} cd_proto_list;

/* cd_proto_elem_size gives the bytes of an element of a repeated field. */
usize cd_proto_elem_size(const cd_proto_field *f);

/* cd_proto_parse reads a message into a zeroed struct of type t at out. Bytes are borrowed from text; the rest goes to
 * the arena. Errors: CD_EFORMAT (with the original's words), CD_ELIMIT (memory), CD_EDEPTH. On failure out is
 * undefined. */
cd_err cd_proto_parse(void *out, const cd_proto_type *t, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_proto_size gives the bytes that cd_proto_put appends. */
usize cd_proto_size(const cd_proto_type *t, const void *v);

/* cd_proto_put appends a message; nesting beyond CD_PROTO_DEPTH_MAX is a bug of the caller. */
void cd_proto_put(cd_buf *out, const cd_proto_type *t, const void *v);

/* cd_proto_uvarint_put appends a number, cd_proto_uvarint takes one off the front of *in (64 bits at most).
 * Errors: CD_EFORMAT. */
void cd_proto_uvarint_put(cd_buf *out, u64 v);
cd_err cd_proto_uvarint(u64 *out, cd_bytes *in) CD_CHECK;

/* --- rows of tables --- */

/* CD_PROTO_FIELD(number, kind, struct, member, more): a field whose name in the .proto file is that of the member.
 * CD_PROTO_TYPE(struct, fields, name): the initialiser of a type. */

/* A row of a message's fields; the rest of the arguments are further members of cd_proto_field. */
#define CD_PROTO_FIELD(number_, kind_, struct_, member_, ...)                                                          \
    {                                                                                                                  \
        .number = (number_), .kind = CD_PROTO_##kind_, .offset = offsetof(struct_, member_), .name = #member_,         \
        __VA_ARGS__                                                                                                    \
    }
/* A message from the array of its fields. */
#define CD_PROTO_TYPE(struct_, fields_, name_)                                                                         \
    {                                                                                                                  \
        .name = (name_), .fields = (fields_), .cnt = CD_COUNT(fields_), .size = sizeof(struct_)                        \
    }

#endif
