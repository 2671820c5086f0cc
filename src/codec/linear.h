/* codec/linear.h - the linear codec of the P- and X-Chain: values whose layout is said by tables.
 *
 *   bytes ──► cd_linear_parse ──► struct in an arena ──► cd_linear_json
 *     ▲                                │
 *     └──────── cd_linear_put ◄────────┘   (cd_linear_size says how many bytes)
 *
 * Integers are big-endian and of fixed width, a structure is its fields in order, nothing is aligned. A table is an
 * array of fields; the code below knows no type by name:
 *
 *   U8 U16 U32 U64 BOOL   one number; BOOL is 0 or 1
 *   FIXED                 len bytes, in the struct itself
 *   BYTES                 u32 length, then as many bytes: a cd_bytes, borrowed from the input
 *   STRING                u16 length, then as many bytes: a cd_bytes, borrowed from the input
 *   STRUCT                the fields of `of`, in the struct itself
 *   LIST                  u32 count, then as many elements of `elem`: a cd_linear_list
 *   UNION                 u32 type ID, then the fields of that type: a cd_linear_any
 *
 * A document begins with a u16 version, always 0, and nothing may stand behind it. Counts are checked against what is
 * left of the input before memory is taken, so memory is a small multiple of it; nesting is bounded.
 * What is parsed and put again is the same to the byte. Threading: pure; tables are frozen. [spec:pchain-xchain#1] */
#ifndef CD_CODEC_LINEAR_H
#define CD_CODEC_LINEAR_H

#include "base/mem/arena.h"
#include "codec/json.h"

#include <stddef.h>

/* The largest document unless a caller says otherwise (P- and X-Chain), and how deep unions may nest. */
enum { CD_LINEAR_SIZE_MAX = 256 << 10, CD_LINEAR_DEPTH_MAX = 16 };

/* Types of fields. */
typedef enum cd_linear_kind {
    CD_LINEAR_U8,
    CD_LINEAR_U16,
    CD_LINEAR_U32,
    CD_LINEAR_U64,
    CD_LINEAR_BOOL,
    CD_LINEAR_FIXED,
    CD_LINEAR_BYTES,
    CD_LINEAR_STRING,
    CD_LINEAR_STRUCT,
    CD_LINEAR_LIST,
    CD_LINEAR_UNION,
} cd_linear_kind;

/* How a value looks in JSON. */
typedef enum cd_linear_form {
    CD_LINEAR_PLAIN,   /* a number, a boolean, a text, an object, a list; FIXED and BYTES: 0x and digits */
    CD_LINEAR_ID,      /* FIXED 32: CB58 */
    CD_LINEAR_NODE,    /* FIXED 20: NodeID-… */
    CD_LINEAR_ADDRESS, /* FIXED 20: chain-prefix1… */
    CD_LINEAR_SHORT,   /* FIXED 20: CB58 */
    CD_LINEAR_NUMBERS, /* FIXED: a list of numbers */
    CD_LINEAR_BASE64,  /* BYTES */
    CD_LINEAR_INLINE,  /* STRUCT: its members instead of an object */
} cd_linear_form;

typedef struct cd_linear_field cd_linear_field;
typedef struct cd_linear_type cd_linear_type;

/* A structure. */
struct cd_linear_type {
    const cd_linear_field *fields;
    u32 cnt;
    u32 size;               /* bytes of the C struct; padding between its fields stays zero */
    const u8 *json_order;   /* cnt indices of fields in the order of JSON; NULL: the order of fields */
    const cd_hash32 *fx_id; /* ID of the extension that the type belongs to; NULL: it belongs to none */
};

/* The types that may stand at a place, each with its ID. */
typedef struct cd_linear_case {
    u32 id;
    const cd_linear_type *type;
} cd_linear_case;

/* The types that a UNION may hold; a type ID in front of the value says which it is. */
typedef struct cd_linear_union {
    const cd_linear_case *cases;
    u32 cnt;
} cd_linear_union;

/* A field of a type. */
struct cd_linear_field {
    cd_linear_kind kind;
    cd_linear_form form;
    u32 offset;               /* bytes from the start of the C struct; 0 for the element of a list */
    u32 len;                  /* FIXED: its bytes; BYTES, STRING, LIST: the most bytes or elements, 0: no own limit */
    const cd_linear_type *of; /* STRUCT: its type */
    const cd_linear_field *elem; /* LIST: its elements */
    const cd_linear_union *any;  /* UNION: the types it may hold */
    const char *json;            /* name in JSON; NULL: it is left out */
    const char *fx_json;         /* UNION: JSON name of the extension's ID, which comes first; NULL: it is left out */
    const cd_hash32 *fx_ids;     /* U32: len IDs of extensions; the one of this number follows it, named fx_json */
};

/* What a LIST holds: cnt elements, one behind the other (cd_linear_elem_size bytes each). */
typedef struct cd_linear_list {
    void *v;
    u32 cnt;
} cd_linear_list;

/* What a UNION holds. */
typedef struct cd_linear_any {
    const cd_linear_case *is; /* never NULL in what was parsed */
    void *v;                  /* a struct of is->type */
} cd_linear_any;

/* cd_linear_elem_size gives the bytes of an element in the C array of a list. */
usize cd_linear_elem_size(const cd_linear_field *elem);

/* cd_linear_parse reads a whole document into a zeroed struct of type t at out; lists and unions go to the arena, bytes
 * are borrowed from text. max bounds the input (0: CD_LINEAR_SIZE_MAX).
 * Errors, with the original's words: CD_EVERSION, CD_ESHORT, CD_ETRAIL, CD_ELIMIT, CD_EDEPTH, CD_ETYPE (no such type
 * ID here), CD_EFORMAT (a boolean that is neither). On failure out is undefined. */
cd_err cd_linear_parse(void *out, const cd_linear_type *t, cd_arena *a, cd_bytes text, usize max,
                       cd_errinfo *why) CD_CHECK;

/* cd_linear_size gives the bytes that cd_linear_put appends, version included. */
usize cd_linear_size(const cd_linear_type *t, const void *v);

/* cd_linear_put appends a document. Lengths that do not fit are a bug of the caller, as is a union without a value. */
void cd_linear_put(cd_buf *out, const cd_linear_type *t, const void *v);

/* The chain and the network's prefix that addresses are written with. */
typedef struct cd_linear_place {
    const char *chain;  /* "P" */
    const char *prefix; /* "lux" */
} cd_linear_place;

/* cd_linear_json writes a value as an object; _members writes its members into one that is open. Empty lists are [],
 * not null. */
void cd_linear_json(cd_json_w *w, const cd_linear_place *place, const cd_linear_type *t, const void *v);
void cd_linear_json_members(cd_json_w *w, const cd_linear_place *place, const cd_linear_type *t, const void *v);

/* --- rows of tables --- */

/* CD_LINEAR_FIELD(kind, struct, member, name in JSON, more) is a field; designated initialisers add what else it
 * needs. */

/* A row of a type's fields; the rest of the arguments are further members of cd_linear_field. */
#define CD_LINEAR_FIELD(kind_, struct_, member_, json_, ...)                                                           \
    {                                                                                                                  \
        .kind = CD_LINEAR_##kind_, .offset = offsetof(struct_, member_), .json = (json_), __VA_ARGS__                  \
    }

/* CD_LINEAR_TYPE(struct, fields, more) is the initialiser of a type, CD_LINEAR_UNION(cases) that of a union. */
#define CD_LINEAR_TYPE(struct_, fields_, ...)                                                                          \
    {                                                                                                                  \
        .fields = (fields_), .cnt = CD_COUNT(fields_), .size = sizeof(struct_), __VA_ARGS__                            \
    }
#define CD_LINEAR_UNION(cases_)                                                                                        \
    {                                                                                                                  \
        .cases = (cases_), .cnt = CD_COUNT(cases_)                                                                     \
    }

#endif
