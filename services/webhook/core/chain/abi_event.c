#define _GNU_SOURCE /* memmem */
#include "services/webhook/core/chain/abi_event.h"

#include "base/num_text.h"
#include "base/text.h"
#include "codec/abi.h"
#include "crypto/hash/keccak.h"
#include "num/u256_text.h"

enum { TOPICS_MAX = 4, HEAD = 33 }; /* of a compiled one: topic and number of topics; text and NUL follow */

typedef struct arg {
    cd_bytes name; /* may be empty */
    cd_abi_type type;
    bool is_indexed;
} arg;

typedef struct event {
    cd_bytes name;
    arg args[CD_WH_ABI_ARGS_MAX];
    usize cnt;
    u32 indexed;
} event;

/* --- reading --- */

static bool is_space(u8 c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word_char(u8 c)
{
    return (u8)((c | 0x20) - 'a') < 26 || (u8)(c - '0') < 10 || c == '_' || c == '$';
}

static bool is_word(cd_bytes b)
{
    for (usize i = 0; i < b.n; i++) {
        if (!is_word_char(b.p[i])) {
            return false;
        }
    }
    return b.n != 0 && (u8)(b.p[0] - '0') >= 10;
}

/* What stands before the next blank outside of parentheses; *rest is what is behind it. */
static cd_bytes part_next(cd_bytes *rest)
{
    cd_bytes b = cd_text_trim(*rest, CD_TEXT_BLANKS);
    usize n = 0;
    for (i32 depth = 0; n < b.n && (depth != 0 || !is_space(b.p[n])); n++) {
        depth += b.p[n] == '(' ? 1 : b.p[n] == ')' ? -1 : 0;
    }
    *rest = cd_text_trim(cd_bytes_sub(b, n, b.n - n), CD_TEXT_BLANKS);
    return cd_bytes_sub(b, 0, n);
}

static cd_err read_arg(event *e, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    static const char indexed[] = "indexed";
    if (e->cnt == CD_WH_ABI_ARGS_MAX) {
        return cd_fail(why, CD_ELIMIT, "more than %d arguments", CD_WH_ABI_ARGS_MAX);
    }
    arg *a = &e->args[e->cnt++];
    cd_bytes type = part_next(&text);
    *a = (arg){0};
    CD_TRY(cd_abi_parse(&a->type, mem, type, why));
    a->name = part_next(&text);
    if (cd_bytes_eq(a->name, cd_bytes_str(indexed))) {
        a->is_indexed = true;
        e->indexed++;
        a->name = part_next(&text);
    }
    if (text.n != 0 || (a->name.n != 0 && !is_word(a->name))) {
        return cd_fail(why, CD_EFORMAT, "an argument is TYPE [indexed] [NAME], not \"%.*s\"",
                       (int)cd_min_u64(a->name.n + text.n, 40), (const char *)a->name.p);
    }
    for (usize i = 0; a->name.n != 0 && i + 1 < e->cnt; i++) {
        if (cd_bytes_eq(e->args[i].name, a->name)) {
            return cd_fail(why, CD_EFORMAT, "two arguments are called %.*s", (int)cd_min_u64(a->name.n, 40),
                           (const char *)a->name.p);
        }
    }
    return CD_OK;
}

static cd_err read_args(event *e, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    usize from = 0;
    i32 depth = 0;
    if (cd_text_trim(text, CD_TEXT_BLANKS).n == 0) {
        return CD_OK;
    }
    for (usize i = 0; i <= text.n; i++) {
        if (i == text.n || (text.p[i] == ',' && depth == 0)) {
            CD_TRY(read_arg(e, mem, cd_bytes_sub(text, from, i - from), why));
            from = i + 1;
        } else {
            depth += text.p[i] == '(' ? 1 : text.p[i] == ')' ? -1 : 0;
        }
    }
    return e->indexed < TOPICS_MAX ? CD_OK : cd_fail(why, CD_EFORMAT, "more than three indexed arguments");
}

/* "event Name(…)", the word and a semicolon at the end are optional. */
static cd_err read_event(event *e, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    static const char word[] = "event";
    text = cd_text_trim(text, CD_TEXT_BLANKS);
    *e = (event){0};
    if (text.n > CD_WH_ABI_TEXT_MAX) {
        return cd_fail(why, CD_ELIMIT, "longer than %d bytes", CD_WH_ABI_TEXT_MAX);
    }
    if (text.n != 0 && text.p[text.n - 1] == ';') {
        text = cd_text_trim(cd_bytes_sub(text, 0, text.n - 1), CD_TEXT_BLANKS);
    }
    if (text.n > sizeof word && memcmp(text.p, word, sizeof word - 1) == 0 && is_space(text.p[sizeof word - 1])) {
        text = cd_text_trim(cd_bytes_sub(text, sizeof word, text.n - sizeof word), CD_TEXT_BLANKS);
    }
    const u8 *open = text.n == 0 ? NULL : memchr(text.p, '(', text.n);
    if (open == NULL || text.p[text.n - 1] != ')') {
        return cd_fail(why, CD_EFORMAT, "an event is written as event Name(address indexed who, uint256 amount)");
    }
    usize at = (usize)(open - text.p);
    e->name = cd_text_trim(cd_bytes_sub(text, 0, at), CD_TEXT_BLANKS);
    if (!is_word(e->name)) {
        return cd_fail(why, CD_EFORMAT, "\"%.*s\" is no name", (int)cd_min_u64(e->name.n, 40), (const char *)e->name.p);
    }
    return read_args(e, mem, cd_bytes_sub(text, at + 1, text.n - at - 2), why);
}

/* --- compiling --- */

/* A type as signatures have it; depth is bounded by cd_abi_parse. */
static void put_type(cd_buf *out, const cd_abi_type *t)
{
    switch (t->kind) {
    case CD_ABI_UINT:
        cd_buf_fmt(out, "uint%u", t->size);
        return;
    case CD_ABI_INT:
        cd_buf_fmt(out, "int%u", t->size);
        return;
    case CD_ABI_ADDRESS:
        cd_buf_str(out, "address");
        return;
    case CD_ABI_BOOL:
        cd_buf_str(out, "bool");
        return;
    case CD_ABI_FIXED:
        cd_buf_fmt(out, "bytes%u", t->size);
        return;
    case CD_ABI_BYTES:
        cd_buf_str(out, "bytes");
        return;
    case CD_ABI_STRING:
        cd_buf_str(out, "string");
        return;
    case CD_ABI_ARRAY:
        put_type(out, t->inner);
        cd_buf_fmt(out, "[%zu]", t->cnt);
        return;
    case CD_ABI_SLICE:
        put_type(out, t->inner);
        cd_buf_str(out, "[]");
        return;
    case CD_ABI_TUPLE:
        cd_buf_u8(out, '(');
        for (usize i = 0; i < t->cnt; i++) {
            cd_buf_str(out, i == 0 ? "" : ",");
            put_type(out, &t->inner[i]);
        }
        cd_buf_u8(out, ')');
        return;
    }
    CD_UNREACHABLE();
}

static void put_topic(cd_buf *out, const event *e)
{
    cd_buf signature = {0};
    cd_hash32 hash;
    cd_buf_put(&signature, e->name);
    cd_buf_u8(&signature, '(');
    for (usize i = 0; i < e->cnt; i++) {
        cd_buf_str(&signature, i == 0 ? "" : ",");
        put_type(&signature, &e->args[i].type);
    }
    cd_buf_u8(&signature, ')');
    cd_keccak256(&hash, cd_buf_bytes(&signature));
    cd_buf_put(out, cd_bytes_of(hash.b, 32));
    cd_buf_fini(&signature);
}

cd_err cd_wh_abi_compile(cd_buf *out, cd_bytes text, cd_errinfo *why)
{
    cd_arena mem = {0};
    event e;
    text = cd_text_trim(text, CD_TEXT_BLANKS);
    cd_err err = text.n == 0 || memchr(text.p, 0, text.n) == NULL
                     ? read_event(&e, &mem, text, why)
                     : cd_fail(why, CD_EFORMAT, "an event has no zero bytes");
    if (err == CD_OK) {
        put_topic(out, &e);
        cd_buf_u8(out, (u8)(e.indexed + 1));
        cd_buf_put(out, text);
        cd_buf_u8(out, '\0');
    }
    cd_arena_fini(&mem);
    return err;
}

void cd_wh_abi_settings(cd_buf *out, cd_bytes settings)
{
    static const char key[] = "\"abi\"";
    cd_arena mem = {0};
    cd_json json;
    if (settings.n != 0 && memmem(settings.p, settings.n, key, sizeof key - 1) != NULL &&
        cd_json_parse(&json, &mem, settings, 0, NULL) == CD_OK) {
        for (cd_json_it it = cd_json_iter(cd_json_get(json, "abi")); cd_json_next(&it);) {
            cd_bytes text;
            if (cd_json_str(&text, it.val, NULL) == CD_OK) {
                (void)!cd_wh_abi_compile(out, text, NULL); /* was good when it was stored */
            }
        }
    }
    cd_arena_fini(&mem);
}

const char *cd_wh_abi_find(cd_bytes compiled, const cd_wh_log *log)
{
    for (usize at = 0; at + HEAD < compiled.n;) {
        const u8 *p = compiled.p + at;
        const char *text = (const char *)p + HEAD;
        if (log->topics_cnt == p[32] && memcmp(p, log->topics[0].b, 32) == 0) {
            return text;
        }
        at += HEAD + strlen(text) + 1;
    }
    return NULL;
}

/* --- decoding --- */

/* A value as JSON; depth is bounded by cd_abi_parse. */
static void put_value(cd_json_w *w, const cd_abi_type *t, const cd_abi_val *v)
{
    char text[CD_U256_TEXT_MAX + 1];
    cd_u256 num = v->num;
    switch (t->kind) {
    case CD_ABI_INT:
    case CD_ABI_UINT: {
        bool is_neg = t->kind == CD_ABI_INT && cd_u256_is_neg(&num);
        text[0] = '-';
        if (is_neg) {
            cd_u256_neg(&num, &num);
        }
        usize n = cd_u256_fmt_dec(text + 1, &num);
        cd_json_w_str(w, cd_bytes_of(text + (is_neg ? 0 : 1), n + (is_neg ? 1 : 0)));
        return;
    }
    case CD_ABI_ADDRESS: {
        cd_addr20 addr = cd_u256_to_addr(&num);
        cd_json_w_hex(w, cd_bytes_of(addr.b, 20));
        return;
    }
    case CD_ABI_BOOL:
        cd_json_w_bool(w, !cd_u256_is_zero(&num));
        return;
    case CD_ABI_FIXED:
    case CD_ABI_BYTES:
        cd_json_w_hex(w, v->bytes);
        return;
    case CD_ABI_STRING:
        cd_json_w_str(w, v->bytes);
        return;
    case CD_ABI_ARRAY:
    case CD_ABI_SLICE:
    case CD_ABI_TUPLE:
        cd_json_w_arr(w);
        for (usize i = 0; i < v->cnt; i++) {
            put_value(w, t->kind == CD_ABI_TUPLE ? &t->inner[i] : t->inner, &v->items[i]);
        }
        cd_json_w_arr_end(w);
        return;
    }
    CD_UNREACHABLE();
}

/* One word of a topic is an argument list of one. */
static bool read_topic(cd_abi_val *out, cd_arena *mem, const cd_abi_type *t, const cd_hash32 *topic)
{
    const cd_abi_type list = {.kind = CD_ABI_TUPLE, .cnt = 1, .inner = t, .head = 32};
    cd_abi_val one;
    if (cd_abi_dec(&one, mem, &list, cd_bytes_of(topic->b, 32)) != CD_OK) {
        return false;
    }
    *out = one.items[0];
    return true;
}

static bool is_word_type(const cd_abi_type *t)
{
    return t->kind <= CD_ABI_FIXED;
}

/* The values of all arguments; false: the log is not of this event after all. */
static bool read_values(cd_abi_val *out, cd_arena *mem, const event *e, const cd_wh_log *log)
{
    cd_abi_type rest[CD_WH_ABI_ARGS_MAX];
    cd_abi_type list = {.kind = CD_ABI_TUPLE, .inner = rest};
    cd_abi_val data;
    u32 topic = 1;
    usize at = 0;
    for (usize i = 0; i < e->cnt; i++) {
        const arg *a = &e->args[i];
        if (!a->is_indexed) {
            rest[list.cnt++] = a->type;
            list.head += a->type.head;
            list.is_dynamic = list.is_dynamic || a->type.is_dynamic;
        }
    }
    if (cd_abi_dec(&data, mem, &list, log->data) != CD_OK) {
        return false;
    }
    for (usize i = 0; i < e->cnt; i++) {
        const arg *a = &e->args[i];
        if (!a->is_indexed) {
            out[i] = data.items[at++];
        } else if (!is_word_type(&a->type)) {
            out[i] = (cd_abi_val){.bytes = cd_bytes_of(log->topics[topic++].b, 32)};
        } else if (!read_topic(&out[i], mem, &a->type, &log->topics[topic++])) {
            return false;
        }
    }
    return true;
}

static void put_args(cd_json_w *w, const event *e, const cd_abi_val *values)
{
    cd_json_w_obj(w);
    for (usize i = 0; i < e->cnt; i++) {
        const arg *a = &e->args[i];
        char place[CD_U64_TEXT_MAX];
        if (a->name.n != 0) {
            cd_json_w_key_str(w, a->name);
        } else {
            usize n = cd_u64_fmt(place, i);
            cd_json_w_key_str(w, cd_bytes_of(place, n));
        }
        if (a->is_indexed && !is_word_type(&a->type)) {
            cd_json_w_hex(w, values[i].bytes);
        } else {
            put_value(w, &a->type, &values[i]);
        }
    }
    cd_json_w_obj_end(w);
}

void cd_wh_abi_put(cd_json_w *w, const char *text, const cd_wh_log *log)
{
    cd_arena mem = {0};
    event e;
    cd_abi_val values[CD_WH_ABI_ARGS_MAX];
    if (text == NULL || read_event(&e, &mem, cd_bytes_str(text), NULL) != CD_OK || log->topics_cnt != e.indexed + 1 ||
        !read_values(values, &mem, &e, log)) {
        cd_json_w_null(w);
    } else {
        cd_json_w_obj(w);
        cd_json_w_key(w, "name");
        cd_json_w_str(w, e.name);
        cd_json_w_key(w, "args");
        put_args(w, &e, values);
        cd_json_w_obj_end(w);
    }
    cd_arena_fini(&mem);
}
