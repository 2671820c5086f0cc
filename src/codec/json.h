/* codec/json.h - reads JSON documents and writes JSON streams.
 *
 * Reading: cd_json_parse builds a tree in an arena; a cd_json is a handle into it, passed by value,
 * valid as long as the arena. Every typed getter says in *why where it failed
 * ("alloc.0xab….balance: not a number"); the path is worked out only then. A missing key gives a
 * handle of kind CD_JSON_NONE that remembers its name, so lookups chain without checks and the
 * getter at the end reports what is missing. The grammar is RFC 8259 to the letter; strings are
 * UTF-8. Nesting and input size are bounded before memory is taken; memory is a small multiple of
 * the input. Of duplicate keys the last one counts.
 *
 * Writing: cd_json_w appends tokens to a cd_buf and puts the commas itself.
 *
 * Wraps the bundled yyjson; no other file knows it. Threading: documents are frozen, writers
 * confined. */
#ifndef CD_CODEC_JSON_H
#define CD_CODEC_JSON_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "num/u256.h"

enum { CD_JSON_DEPTH_MAX = 512 }; /* deepest nesting of arrays and objects */
/* Bytes of the largest input that is taken unless the caller says otherwise. */
#define CD_JSON_SIZE_MAX ((usize)1 << 30)

/* Types of JSON. */
typedef enum cd_json_kind {
    CD_JSON_NONE, /* the key or index is not there */
    CD_JSON_NULL,
    CD_JSON_BOOL,
    CD_JSON_NUM,
    CD_JSON_STR,
    CD_JSON_ARR,
    CD_JSON_OBJ,
} cd_json_kind;

typedef struct cd_json_doc cd_json_doc;

/* A value, or the place where one is missing. */
typedef struct cd_json {
    const cd_json_doc *doc;
    const void *val;    /* NULL = none */
    const void *parent; /* when val is NULL: where the value was looked for */
    const char *key;
} cd_json;

/* --- reading --- */

/* cd_json_parse reads one document of at most max bytes (0 = CD_JSON_SIZE_MAX) into the arena.
 * Errors: CD_EFORMAT with place and reason, CD_EDEPTH, CD_ELIMIT. */
cd_err cd_json_parse(cd_json *out, cd_arena *a, cd_bytes text, usize max, cd_errinfo *why) CD_CHECK;

/* cd_json_parse_deep is cd_json_parse with another limit on nesting, for documents that are walked without
 * recursion. */
cd_err cd_json_parse_deep(cd_json *out, cd_arena *a, cd_bytes text, usize max, u32 depth_max, cd_errinfo *why) CD_CHECK;

/* cd_json_kind_of gives the kind of a value; CD_JSON_NONE where one is missing. */
cd_json_kind cd_json_kind_of(cd_json v);

/* cd_json_has: there is a value and it is not null. */
bool cd_json_has(cd_json v);

/* cd_json_get looks up a key of an object; CD_JSON_NONE when absent or v is no object. key is
 * borrowed. */
cd_json cd_json_get(cd_json v, const char *key);

/* cd_json_at gives an element of an array; CD_JSON_NONE when out of range or v is no array. O(idx). */
cd_json cd_json_at(cd_json v, usize idx);

/* cd_json_len: elements of an array, pairs of an object (duplicates included), 0 otherwise. */
usize cd_json_len(cd_json v);

/* Iteration over an array or object in document order; nothing for other kinds. Duplicate keys all
 * show up.
 *
 *   cd_json_it it = cd_json_iter(v);
 *   while (cd_json_next(&it)) { it.key (empty for arrays), it.val } */
typedef struct cd_json_it {
    cd_bytes key;
    cd_json val;
    const void *next;
    usize left;
    bool is_obj;
} cd_json_it;
cd_json_it cd_json_iter(cd_json v);
bool cd_json_next(cd_json_it *it);

/* cd_json_path appends the place of v in its document: "a.b[3].c", "" for the root. */
void cd_json_path(cd_buf *out, cd_json v);

/* cd_json_fail fills *why (which may be NULL) with "path: message" and returns code; inline, so that the
 * compiler sees that a failure is never CD_OK. */
void cd__json_blame(cd_json v, cd_err code, const char *message, cd_errinfo *why);
CD_INLINE cd_err cd_json_fail(cd_json v, cd_err code, const char *message, cd_errinfo *why)
{
    if (why != NULL) {
        cd__json_blame(v, code, message, why);
    }
    return code;
}

/* Typed getters. Errors: CD_ENOENT when v is none, CD_ETYPE for another kind, CD_EFORMAT and
 * CD_ERANGE for text or numbers that do not fit. Borrowed results live as long as the document. */
cd_err cd_json_bool(bool *out, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_json_str(cd_bytes *out, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_json_f64(double *out, cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_json_num gives a number as it was written, for callers that must not lose a digit. */
cd_err cd_json_num(cd_bytes *out, cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_json_obj / cd_json_arr only check the kind. */
cd_err cd_json_obj(cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_json_arr(cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_json_u64 / _u256: what geth calls HexOrDecimal: a JSON integer, or a string of decimal digits
 * or of hexadecimal ones after 0x (leading zeros allowed). */
cd_err cd_json_u64(u64 *out, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_json_u256(cd_u256 *out, cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_json_qty_u64 / _u256: a JSON-RPC quantity: "0x" and digits without leading zeros, "0x0" for
 * zero. */
cd_err cd_json_qty_u64(u64 *out, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_json_qty_u256(cd_u256 *out, cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_json_hex decodes a string of hexadecimal pairs, "0x" in front optional, into the arena;
 * cd_json_fixed decodes a string of exactly n bytes into out. */
cd_err cd_json_hex(cd_bytes *out, cd_arena *a, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_json_fixed(void *out, usize n, cd_json v, cd_errinfo *why) CD_CHECK;

/* cd_json_raw appends v as compact JSON (for echoing ids, storing sub-documents). */
void cd_json_raw(cd_buf *out, cd_json v);

/* --- writing --- */

/* A writer: {.out = buf} starts one. Keys and values must alternate inside objects; the caller sees
 * to it. */
typedef struct cd_json_w {
    cd_buf *out;
    bool comma; /* a value precedes at this level, so a comma comes before the next one */
} cd_json_w;

/* cd_json_w_obj / _arr open an object or array as the next value, _end closes it. */
void cd_json_w_obj(cd_json_w *w);
void cd_json_w_obj_end(cd_json_w *w);
void cd_json_w_arr(cd_json_w *w);
void cd_json_w_arr_end(cd_json_w *w);

/* cd_json_w_key writes a key that needs no escapes; cd_json_w_key_str any. */
void cd_json_w_key(cd_json_w *w, const char *key);
void cd_json_w_key_str(cd_json_w *w, cd_bytes key);

/* Literals and numbers. */
void cd_json_w_null(cd_json_w *w);
void cd_json_w_bool(cd_json_w *w, bool v);
void cd_json_w_u64(cd_json_w *w, u64 v);
void cd_json_w_i64(cd_json_w *w, i64 v);
void cd_json_w_f64(cd_json_w *w, double v); /* finite; as cd_f64_fmt */

/* cd_json_w_str writes a string; quotes, backslashes and control characters are escaped, bytes that
 * are not UTF-8 become U+FFFD. cd_json_w_cstr takes a C string. */
void cd_json_w_str(cd_json_w *w, cd_bytes s);
void cd_json_w_cstr(cd_json_w *w, const char *s);

/* cd_json_w_hex writes bytes as "0x…"; cd_json_w_qty / _qty_u256 a quantity ("0x0", no leading
 * zeros). */
void cd_json_w_hex(cd_json_w *w, cd_bytes b);
void cd_json_w_qty(cd_json_w *w, u64 v);
void cd_json_w_qty_u256(cd_json_w *w, const cd_u256 *v);

/* cd_json_w_raw writes text that is already JSON. */
void cd_json_w_raw(cd_json_w *w, cd_bytes json);

/* cd_json_put_… write a member of an object, its key and its value: as cd_json_w_key and the function of the same end
 * above do. _hash writes the 32 bytes as hexadecimal. */
void cd_json_put_null(cd_json_w *w, const char *key);
void cd_json_put_bool(cd_json_w *w, const char *key, bool v);
void cd_json_put_u64(cd_json_w *w, const char *key, u64 v);
void cd_json_put_str(cd_json_w *w, const char *key, cd_bytes s);
void cd_json_put_cstr(cd_json_w *w, const char *key, const char *s);
void cd_json_put_hex(cd_json_w *w, const char *key, cd_bytes b);
void cd_json_put_hash(cd_json_w *w, const char *key, const cd_hash32 *hash);
void cd_json_put_qty(cd_json_w *w, const char *key, u64 v);
void cd_json_put_qty_u256(cd_json_w *w, const char *key, const cd_u256 *v);
void cd_json_put_raw(cd_json_w *w, const char *key, cd_bytes json);

#endif
