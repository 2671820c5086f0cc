#include "rpc/named.h"

#include "base/num_text.h"
#include "base/text.h"
#include "rpc/jsonrpc_priv.h"

#include <string.h>

/* What the original says of every parameter that it cannot read. */
static const char bad_argument[] =
    "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See "
    "documentation for example calls";

/* --- one value --- */

/* A number, or a text of digits with leading zeros, which Go takes there. */
static cd_err read_uint(u64 *out, cd_json v)
{
    cd_bytes text;
    if (cd_json_kind_of(v) == CD_JSON_NUM) {
        return cd_json_u64(out, v, NULL);
    }
    CD_TRY(cd_json_str(&text, v, NULL));
    while (text.n > 1 && text.p[0] == '0') {
        text = cd_bytes_sub(text, 1, text.n - 1);
    }
    return cd_u64_parse(out, text);
}

static cd_err read_f64(double *out, cd_arena *a, cd_json v)
{
    cd_bytes text;
    if (cd_json_kind_of(v) != CD_JSON_NUM) {
        CD_TRY(cd_json_str(&text, v, NULL));
        CD_TRY(cd_json_parse(&v, a, text, 0, NULL));
    }
    return cd_json_f64(out, v, NULL);
}

static cd_err read_height(u64 *out, cd_json v)
{
    cd_bytes text;
    if (cd_json_str(&text, v, NULL) == CD_OK && cd_bytes_eq(text, cd_bytes_str("proposed"))) {
        *out = CD_RPC_HEIGHT_PROPOSED;
        return CD_OK;
    }
    CD_TRY(read_uint(out, v));
    return *out == CD_RPC_HEIGHT_PROPOSED ? CD_ERANGE : CD_OK;
}

static cd_err read_string(cd_bytes *out, cd_json v)
{
    CD_TRY(cd_json_str(out, v, NULL));
    if (out->n == 0) {
        *out = (cd_bytes){0}; /* an empty text counts as a parameter that is not given */
    }
    return CD_OK;
}

static cd_err read_id(cd_hash32 *out, cd_json v)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, NULL));
    return cd_id_parse(out, text, NULL);
}

static cd_err read_node_id(cd_node_id *out, cd_json v)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, NULL));
    return cd_node_id_parse(out, text, NULL);
}

static cd_err read_encoding(cd_encoding *out, cd_json v)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, NULL));
    return cd_encoding_parse(out, text, NULL);
}

/* --- lists --- */

/* Counts a list of texts of at least min characters each, so that room for them is no more than a small multiple of
 * what was sent. */
static cd_err count_texts(usize *out, cd_json v, usize min)
{
    cd_bytes text;
    CD_TRY(cd_json_arr(v, NULL));
    cd_json_it it = cd_json_iter(v);
    for (*out = 0; cd_json_next(&it); ++*out) {
        CD_TRY(cd_json_str(&text, it.val, NULL));
        if (text.n < min) {
            return CD_ESHORT;
        }
    }
    return CD_OK;
}

/* Reads a list into *list (a cd_rpc_strings or one of its kind), an element of size bytes by each call of one. */
#define READ_LIST(list_, min_, one_)                                                                                   \
    do {                                                                                                               \
        usize cnt_;                                                                                                    \
        CD_TRY(count_texts(&cnt_, v, (min_)));                                                                         \
        (list_)->v = cnt_ == 0 ? NULL : cd_arena_zalloc_array(a, cnt_, sizeof *(list_)->v);                            \
        (list_)->n = 0;                                                                                                \
        cd_json_it it_ = cd_json_iter(v);                                                                              \
        while (cd_json_next(&it_)) {                                                                                   \
            CD_TRY(one_(&(list_)->v[(list_)->n], it_.val));                                                            \
            (list_)->n++;                                                                                              \
        }                                                                                                              \
        return CD_OK;                                                                                                  \
    } while (0)

/* Base58 needs at least a character for a byte: 32 or 20 of them, and 4 of the checksum. */
enum { ID_TEXT_MIN = 36, NODE_ID_TEXT_MIN = 7 + 24 };

static cd_err read_strings(cd_rpc_strings *out, cd_arena *a, cd_json v)
{
    READ_LIST(out, 0, read_string);
}

static cd_err read_ids(cd_rpc_ids *out, cd_arena *a, cd_json v)
{
    READ_LIST(out, ID_TEXT_MIN, read_id);
}

static cd_err read_node_ids(cd_rpc_node_ids *out, cd_arena *a, cd_json v)
{
    READ_LIST(out, NODE_ID_TEXT_MIN, read_node_id);
}

/* --- a parameter, an object of them --- */

/* Stores an unsigned number in a member of 1, 2, 4 or 8 bytes. */
static cd_err read_sized(void *out, usize size, cd_json v)
{
    u64 n;
    CD_TRY(read_uint(&n, v));
    if (size < sizeof n && n >> (size * 8) != 0) {
        return CD_ERANGE;
    }
    memcpy(out, &n, size); /* little-endian, as this machine is */
    return CD_OK;
}

static cd_err read_value(void *out, cd_arena *a, const cd_rpc_param *p, cd_json v)
{
    switch (p->type) {
    case CD_RPC_NAMED_BOOL:
        return cd_json_bool(out, v, NULL);
    case CD_RPC_NAMED_U8:
    case CD_RPC_NAMED_U16:
    case CD_RPC_NAMED_U32:
    case CD_RPC_NAMED_U64:
        return read_sized(out, p->size, v);
    case CD_RPC_NAMED_F64:
        return read_f64(out, a, v);
    case CD_RPC_NAMED_STRING:
        return read_string(out, v);
    case CD_RPC_NAMED_STRINGS:
        return read_strings(out, a, v);
    case CD_RPC_NAMED_ID:
        return read_id(out, v);
    case CD_RPC_NAMED_IDS:
        return read_ids(out, a, v);
    case CD_RPC_NAMED_NODE_ID:
        return read_node_id(out, v);
    case CD_RPC_NAMED_NODE_IDS:
        return read_node_ids(out, a, v);
    case CD_RPC_NAMED_ENCODING:
        return read_encoding(out, v);
    case CD_RPC_NAMED_HEIGHT:
        return read_height(out, v);
    case CD_RPC_NAMED_ANY:
        *(cd_json *)out = v;
        return CD_OK;
    }
    CD_UNREACHABLE();
}

/* Takes the next of the names that blanks tell apart; false: there is none left. */
static bool next_name(cd_bytes *out, const char **at)
{
    *at += strspn(*at, " ");
    *out = cd_bytes_of(*at, strcspn(*at, " "));
    *at += out->n;
    return out->n != 0;
}

/* How a member `key` of the object `outer` (empty: of the parameters themselves) belongs to a parameter's names. */
typedef enum relation { STRANGER, ITSELF, AROUND } relation;

static relation relation_of(const cd_rpc_param *p, cd_bytes outer, cd_bytes key)
{
    cd_bytes name;
    const char *at = p->names;
    while (next_name(&name, &at)) {
        const u8 *dot = memchr(name.p, '.', name.n);
        usize split = dot == NULL ? 0 : (usize)(dot - name.p);
        cd_bytes first = cd_bytes_sub(name, 0, split);
        cd_bytes last = dot == NULL ? name : cd_bytes_sub(name, split + 1, name.n - split - 1);
        if (cd_text_same(first, outer) && cd_text_same(last, key)) {
            return ITSELF;
        }
        if (dot != NULL && outer.n == 0 && cd_text_same(first, key)) {
            return AROUND;
        }
    }
    return STRANGER;
}

/* Reads the members of an object; those of an object in it by a second round, so names have one dot at most. */
static cd_err read_members(void *out, cd_arena *a, const cd_rpc_param *params, cd_bytes outer, cd_json v)
{
    cd_json_kind kind = cd_json_kind_of(v);
    if (kind == CD_JSON_NONE || kind == CD_JSON_NULL) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(v, NULL));
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        bool is_around = false;
        for (const cd_rpc_param *p = params; p->names != NULL; p++) {
            relation r = relation_of(p, outer, it.key);
            is_around = is_around || r == AROUND;
            if (r == ITSELF && cd_json_kind_of(it.val) != CD_JSON_NULL) {
                CD_TRY(read_value((u8 *)out + p->offset, a, p, it.val));
            }
        }
        if (is_around) {
            CD_TRY(read_members(out, a, params, it.key, it.val));
        }
    }
    return CD_OK;
}

cd_err cd_rpc_params_read(void *out, cd_arena *a, const cd_rpc_param *params, cd_json v)
{
    return read_members(out, a, params, (cd_bytes){0}, v);
}

/* --- the parameters of a call --- */

void cd__rpc_args_init(void *out, cd_arena *a, const struct cd_rpc_args *args)
{
    memset(out, 0, args->size);
    for (const cd_rpc_param *p = args->params; p->names != NULL; p++) {
        cd_json v;
        CD_ASSERT((usize)p->offset + p->size <= args->size);
        if (p->initial != NULL) {
            CD_ASSERT(cd_json_parse(&v, a, cd_bytes_str(p->initial), 0, NULL) == CD_OK);
            CD_ASSERT(read_value((u8 *)out + p->offset, a, p, v) == CD_OK);
        }
    }
}

static bool is_zero(const u8 *p, usize n)
{
    for (usize i = 0; i < n; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

/* The code for parameters that are wrong. */
static int argument_code(const cd_rpc_call *call)
{
    return call->service->form == CD_RPC_JSON2 ? CD_RPC_SERVER : CD_RPC_INVALID_PARAMS;
}

cd_err cd_rpc_fail_argument(cd_rpc_call *call)
{
    return cd_rpc_fail(call, argument_code(call), "%s", bad_argument);
}

cd_err cd__rpc_args_read(cd_rpc_call *call)
{
    const struct cd_rpc_args *args = call->method->args;
    int code = argument_code(call);
    u8 *in = cd_arena_alloc(call->arena, args->size);
    memcpy(in, cd__rpc_method_initial(call->method), args->size);
    if (cd_json_kind_of(call->params) == CD_JSON_ARR) {
        call->params = cd_json_at(call->params, 0); /* some clients wrap the object */
    }
    if (cd_rpc_params_read(in, call->arena, args->params, call->params) != CD_OK) {
        return cd_rpc_fail_argument(call);
    }
    for (const cd_rpc_param *p = args->params; p->names != NULL; p++) {
        if (p->missing == NULL || !is_zero(in + p->offset, p->size)) {
            continue;
        }
        if (p->missing[0] != '\0') {
            return cd_rpc_fail(call, code, "%s", p->missing);
        }
        return cd_rpc_fail(call, code, "argument '%.*s' not given", (int)strcspn(p->names, " "), p->names);
    }
    call->args = in;
    return CD_OK;
}
