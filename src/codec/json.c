#include "codec/json.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "num/u256_text.h"

#include <yyjson.h>

/* The values of a document in reading order: a container is followed by all it holds. */
struct cd_json_doc {
    yyjson_val *root;
};

/* Longest number text that cd_json_f64 reads. */
enum { F64_TEXT_MAX = 400 };

/* Bytes of a reader's memory on the stack, and how many of them yyjson's allocator needs for itself. */
enum { NEAR_SIZE = 8192, NEAR_OWN = 256 };

static void *heap_alloc(void *ctx, size_t n)
{
    (void)ctx;
    return cd_try_alloc(n);
}

static void *heap_realloc(void *ctx, void *p, size_t old, size_t n)
{
    (void)ctx;
    (void)old;
    return cd_realloc(p, n);
}

static void heap_free(void *ctx, void *p)
{
    (void)ctx;
    cd_free(p);
}

static const yyjson_alc heap = {
    .malloc = heap_alloc,
    .realloc = heap_realloc,
    .free = heap_free,
};

/* Counts brackets outside strings, before any memory is taken. Text that is no JSON at all may fool
 * the count but not get past the parser, which needs no stack. */
static bool is_too_deep(cd_bytes text, u32 depth_max)
{
    i64 depth = 0;
    bool in_str = false;
    if (text.n <= depth_max) {
        return false; /* each level takes at least one byte */
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if (c == '"') {
            in_str = !in_str;
        } else if (in_str) {
            i += c == '\\';
        } else if ((c | 0x20) == '{') {
            if (++depth > (i64)depth_max) {
                return true;
            }
        } else if ((c | 0x20) == '}') {
            depth--;
        }
    }
    return false;
}

cd_err cd_json_parse(cd_json *out, cd_arena *a, cd_bytes text, usize max, cd_errinfo *why)
{
    return cd_json_parse_deep(out, a, text, max, CD_JSON_DEPTH_MAX, why);
}

cd_err cd_json_parse_deep(cd_json *out, cd_arena *a, cd_bytes text, usize max, u32 depth_max, cd_errinfo *why)
{
    const yyjson_read_flag flags = YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW;
    if (text.n > (max == 0 ? CD_JSON_SIZE_MAX : max)) {
        return cd_fail(why, CD_ELIMIT, "JSON document of %zu bytes is too long", text.n);
    }
    if (is_too_deep(text, depth_max)) {
        return cd_fail(why, CD_EDEPTH, "JSON nested more than %u levels deep", depth_max);
    }
    cd_arena_mark mark = cd_arena_mark_get(a);
    char *copy = cd_arena_alloc(a, text.n + YYJSON_PADDING_SIZE);
    if (text.n != 0) {
        memcpy(copy, text.p, text.n);
    }
    memset(copy + text.n, 0, YYJSON_PADDING_SIZE);
    /* The reader works in this array for a request of usual length, so that it takes nothing from the heap. */
    u8 near[NEAR_SIZE];
    yyjson_alc alc = heap;
    if (yyjson_read_max_memory_usage(text.n, flags) <= sizeof near - NEAR_OWN) {
        (void)yyjson_alc_pool_init(&alc, near, sizeof near);
    }
    yyjson_read_err err;
    yyjson_doc *read = yyjson_read_opts(copy, text.n, flags, &alc, &err);
    if (read == NULL) {
        cd_arena_rewind(a, mark);
        return cd_fail(why, CD_EFORMAT, "JSON: %s at byte %zu", err.msg, err.pos);
    }
    /* The reader's own array is larger than needed; offsets in it are relative, so it can be moved. */
    usize cnt = yyjson_doc_get_val_count(read);
    yyjson_val *vals = cd_arena_alloc(a, cnt * sizeof *vals);
    memcpy(vals, yyjson_doc_get_root(read), cnt * sizeof *vals);
    yyjson_doc_free(read);
    cd_json_doc *doc = cd_arena_new(a, cd_json_doc);
    doc->root = vals;
    *out = (cd_json){.doc = doc, .val = vals};
    return CD_OK;
}

static yyjson_val *val_of(cd_json v)
{
    return (yyjson_val *)(usize)v.val;
}

cd_json_kind cd_json_kind_of(cd_json v)
{
    switch (yyjson_get_type(val_of(v))) {
    case YYJSON_TYPE_NULL:
        return CD_JSON_NULL;
    case YYJSON_TYPE_BOOL:
        return CD_JSON_BOOL;
    case YYJSON_TYPE_RAW:
        return CD_JSON_NUM;
    case YYJSON_TYPE_STR:
        return CD_JSON_STR;
    case YYJSON_TYPE_ARR:
        return CD_JSON_ARR;
    case YYJSON_TYPE_OBJ:
        return CD_JSON_OBJ;
    }
    return CD_JSON_NONE;
}

bool cd_json_has(cd_json v)
{
    cd_json_kind k = cd_json_kind_of(v);
    return k != CD_JSON_NONE && k != CD_JSON_NULL;
}

cd_json cd_json_get(cd_json v, const char *key)
{
    cd_json found = {
        .doc = v.doc,
        /* Where several keys in a chain are missing, the first one is reported. */
        .parent = v.val != NULL ? v.val : v.parent,
        .key = v.val != NULL ? key : v.key,
    };
    yyjson_val *obj = val_of(v);
    if (!yyjson_is_obj(obj)) {
        return found;
    }
    usize len = strlen(key);
    yyjson_val *k = unsafe_yyjson_get_first(obj);
    for (usize i = unsafe_yyjson_get_len(obj); i > 0; i--) {
        if (unsafe_yyjson_equals_strn(k, key, len)) {
            found.val = k + 1;
        }
        k = unsafe_yyjson_get_next(k + 1);
    }
    return found;
}

cd_json cd_json_at(cd_json v, usize idx)
{
    return (cd_json){
        .doc = v.doc,
        .val = yyjson_arr_get(val_of(v), idx),
        .parent = v.val != NULL ? v.val : v.parent,
        .key = v.val != NULL ? NULL : v.key,
    };
}

usize cd_json_len(cd_json v)
{
    return yyjson_is_ctn(val_of(v)) ? unsafe_yyjson_get_len(val_of(v)) : 0;
}

cd_json_it cd_json_iter(cd_json v)
{
    usize left = cd_json_len(v);
    return (cd_json_it){
        .val = {.doc = v.doc},
        .next = left == 0 ? NULL : unsafe_yyjson_get_first(val_of(v)),
        .left = left,
        .is_obj = yyjson_is_obj(val_of(v)),
    };
}

bool cd_json_next(cd_json_it *it)
{
    if (it->left == 0) {
        return false;
    }
    it->left--;
    yyjson_val *v = (yyjson_val *)(usize)it->next;
    if (it->is_obj) {
        it->key = cd_bytes_of(unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v));
        v++;
    }
    it->val.val = v;
    it->next = unsafe_yyjson_get_next(v);
    return true;
}

/* Appends the path from `at`, the root, down to target, which lies in the document. */
static void put_path(cd_buf *out, yyjson_val *at, const yyjson_val *target)
{
    while (at != target) {
        CD_ASSERT(unsafe_yyjson_is_ctn(at));
        bool is_obj = yyjson_is_obj(at);
        usize idx = 0;
        at = unsafe_yyjson_get_first(at);
        for (;; idx++) {
            yyjson_val *child = is_obj ? at + 1 : at;
            if (target < unsafe_yyjson_get_next(child)) {
                break;
            }
            at = unsafe_yyjson_get_next(child);
        }
        if (is_obj) {
            if (out->n != 0) {
                cd_buf_u8(out, '.');
            }
            cd_buf_put(out, cd_bytes_of(unsafe_yyjson_get_str(at), unsafe_yyjson_get_len(at)));
            at++;
        } else {
            cd_buf_fmt(out, "[%zu]", idx);
        }
    }
}

void cd_json_path(cd_buf *out, cd_json v)
{
    if (v.doc == NULL) {
        return;
    }
    cd_buf path = {0};
    put_path(&path, v.doc->root, v.val != NULL ? v.val : v.parent);
    if (v.val == NULL && v.key != NULL) {
        cd_buf_fmt(&path, "%s%s", path.n == 0 ? "" : ".", v.key);
    }
    cd_buf_put(out, cd_buf_bytes(&path));
    cd_buf_fini(&path);
}

void cd__json_blame(cd_json v, cd_err code, const char *message, cd_errinfo *why)
{
    cd_buf path = {0};
    cd_json_path(&path, v);
    /* The sender chooses how long keys are, so the path is cut; its end says most. */
    const char *text = cd_buf_cstr(&path);
    enum { SHOWN = 120 };
    bool cut = path.n > SHOWN;
    (void)cd_fail(why, code, "%s%s%s%s", cut ? "..." : "", cut ? text + path.n - SHOWN : text, path.n == 0 ? "" : ": ",
                  message);
    cd_buf_fini(&path);
}

/* Fails with "missing" when there is no value, else with wanted, as the value is of the wrong kind. */
static cd_err wrong_kind(cd_json v, const char *wanted, cd_errinfo *why)
{
    return v.val == NULL ? cd_json_fail(v, CD_ENOENT, "missing", why) : cd_json_fail(v, CD_ETYPE, wanted, why);
}

cd_err cd_json_bool(bool *out, cd_json v, cd_errinfo *why)
{
    if (!yyjson_is_bool(val_of(v))) {
        return wrong_kind(v, "not a boolean", why);
    }
    *out = unsafe_yyjson_get_bool(val_of(v));
    return CD_OK;
}

/* Borrows the text of a string or number. */
static cd_bytes text_of(cd_json v)
{
    return cd_bytes_of(unsafe_yyjson_get_str(val_of(v)), unsafe_yyjson_get_len(val_of(v)));
}

cd_err cd_json_str(cd_bytes *out, cd_json v, cd_errinfo *why)
{
    if (!yyjson_is_str(val_of(v))) {
        return wrong_kind(v, "not a string", why);
    }
    *out = text_of(v);
    return CD_OK;
}

cd_err cd_json_f64(double *out, cd_json v, cd_errinfo *why)
{
    if (!yyjson_is_raw(val_of(v))) {
        return wrong_kind(v, "not a number", why);
    }
    cd_bytes text = text_of(v);
    if (text.n > F64_TEXT_MAX) {
        return cd_json_fail(v, CD_ERANGE, "number is too long", why);
    }
    char copy[F64_TEXT_MAX + 1];
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    yyjson_val num;
    if (yyjson_read_number(copy, &num, YYJSON_READ_NOFLAG, NULL, NULL) == NULL) {
        return cd_json_fail(v, CD_ERANGE, "number is too large", why);
    }
    *out = yyjson_get_num(&num);
    return CD_OK;
}

cd_err cd_json_num(cd_bytes *out, cd_json v, cd_errinfo *why)
{
    if (!yyjson_is_raw(val_of(v))) {
        return wrong_kind(v, "not a number", why);
    }
    *out = text_of(v);
    return CD_OK;
}

cd_err cd_json_obj(cd_json v, cd_errinfo *why)
{
    return yyjson_is_obj(val_of(v)) ? CD_OK : wrong_kind(v, "not an object", why);
}

cd_err cd_json_arr(cd_json v, cd_errinfo *why)
{
    return yyjson_is_arr(val_of(v)) ? CD_OK : wrong_kind(v, "not an array", why);
}

static bool has_hex_prefix(cd_bytes text)
{
    return text.n >= 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x';
}

cd_err cd_json_u256(cd_u256 *out, cd_json v, cd_errinfo *why)
{
    cd_json_kind k = cd_json_kind_of(v);
    if (k != CD_JSON_NUM && k != CD_JSON_STR) {
        return wrong_kind(v, "not a number", why);
    }
    cd_bytes text = text_of(v);
    /* geth reads "" and "0x" as zero */
    if (text.n == 0 || (text.n == 2 && has_hex_prefix(text))) {
        *out = cd_u256_zero();
        return CD_OK;
    }
    cd_err e = cd_u256_parse(out, text);
    if (e != CD_OK) {
        return cd_json_fail(v, e, e == CD_ERANGE ? "number does not fit 256 bits" : "not a number", why);
    }
    return CD_OK;
}

static cd_err fit_u64(u64 *out, const cd_u256 *n, cd_json v, cd_errinfo *why)
{
    if (!cd_u256_fits_u64(n)) {
        return cd_json_fail(v, CD_ERANGE, "number does not fit 64 bits", why);
    }
    *out = n->w[0];
    return CD_OK;
}

cd_err cd_json_u64(u64 *out, cd_json v, cd_errinfo *why)
{
    cd_u256 n;
    CD_TRY(cd_json_u256(&n, v, why));
    return fit_u64(out, &n, v, why);
}

cd_err cd_json_qty_u256(cd_u256 *out, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, why));
    if (text.n < 2 || text.p[0] != '0' || text.p[1] != 'x') {
        return cd_json_fail(v, CD_EFORMAT, "hex string without 0x prefix", why);
    }
    text = cd_bytes_sub(text, 2, text.n - 2);
    if (text.n == 0) {
        return cd_json_fail(v, CD_EFORMAT, "hex string \"0x\"", why);
    }
    if (text.n > 1 && text.p[0] == '0') {
        return cd_json_fail(v, CD_ECANON, "hex number with leading zero digits", why);
    }
    cd_err e = cd_u256_parse_hex(out, text);
    if (e != CD_OK) {
        return cd_json_fail(v, e, e == CD_ERANGE ? "hex number > 256 bits" : "invalid hex string", why);
    }
    return CD_OK;
}

cd_err cd_json_qty_u64(u64 *out, cd_json v, cd_errinfo *why)
{
    cd_u256 n;
    CD_TRY(cd_json_qty_u256(&n, v, why));
    return fit_u64(out, &n, v, why);
}

cd_err cd_json_hex(cd_bytes *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, why));
    cd_err e = cd_hex_parse_prefixed(out, a, text);
    return e == CD_OK ? CD_OK : cd_json_fail(v, e, "invalid hex string", why);
}

cd_err cd_json_fixed(void *out, usize n, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, why));
    if (has_hex_prefix(text)) {
        text = cd_bytes_sub(text, 2, text.n - 2);
    }
    if (text.n != 2 * n) {
        return cd_json_fail(v, CD_ERANGE, "hex string of the wrong length", why);
    }
    u8 tmp[256];
    CD_ASSERT(n <= sizeof tmp);
    cd_err e = cd_hex_parse(tmp, text);
    if (e != CD_OK) {
        return cd_json_fail(v, e, "invalid hex string", why);
    }
    memcpy(out, tmp, n);
    return CD_OK;
}

void cd_json_raw(cd_buf *out, cd_json v)
{
    if (v.val == NULL) {
        return;
    }
    usize n = 0;
    char *text = yyjson_val_write_opts(val_of(v), YYJSON_WRITE_NOFLAG, &heap, &n, NULL);
    CD_ASSERT(text != NULL);
    cd_buf_put(out, cd_bytes_of(text, n));
    cd_free(text);
}
