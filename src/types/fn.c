#include "types/fn.h"

#include "base/text.h"
#include "codec/json.h"
#include "crypto/hash/keccak.h"

/* --- types --- */

static bool is_word(u8 c)
{
    return (u8)(c - '0') < 10 || (u8)((c | 0x20) - 'a') < 26 || c == '_' || c == '$';
}

/* Takes the word in front, blanks before it dropped. */
static cd_bytes take_word(cd_bytes *t)
{
    usize n = 0;
    *t = cd_text_trim(*t, CD_TEXT_BLANKS);
    while (n < t->n && is_word(t->p[n])) {
        n++;
    }
    cd_bytes word = cd_bytes_sub(*t, 0, n);
    *t = cd_bytes_sub(*t, n, t->n - n);
    return word;
}

/* Takes what stands between the parenthesis in front and the one that closes it. */
static cd_err take_group(cd_bytes *out, cd_bytes *t)
{
    usize depth = 0;
    for (usize i = 0; i < t->n; i++) {
        if (t->p[i] == '(') {
            depth++;
        } else if (t->p[i] == ')' && --depth == 0) {
            *out = cd_bytes_sub(*t, 1, i - 1);
            *t = cd_bytes_sub(*t, i + 1, t->n - i - 1);
            return CD_OK;
        }
    }
    return CD_EFORMAT;
}

/* Takes the part in front of the next comma that stands in no parentheses. */
static cd_bytes take_part(cd_bytes *t)
{
    usize depth = 0;
    usize i = 0;
    for (; i < t->n && (depth != 0 || t->p[i] != ','); i++) {
        depth += t->p[i] == '(' ? 1 : 0;
        depth -= t->p[i] == ')' && depth != 0 ? 1 : 0;
    }
    cd_bytes part = cd_bytes_sub(*t, 0, i);
    *t = i < t->n ? cd_bytes_sub(*t, i + 1, t->n - i - 1) : (cd_bytes){0};
    return part;
}

static cd_err put_type(cd_buf *out, cd_bytes *t, u32 depth);

/* "(address to, uint256)" without names. */
static cd_err put_tuple(cd_buf *out, cd_bytes *t, u32 depth)
{
    cd_bytes inner;
    CD_TRY(take_group(&inner, t));
    cd_buf_u8(out, '(');
    inner = cd_text_trim(inner, CD_TEXT_BLANKS);
    for (bool is_first = true; inner.n != 0; is_first = false) {
        cd_bytes part = take_part(&inner);
        if (!is_first) {
            cd_buf_u8(out, ',');
        }
        CD_TRY(put_type(out, &part, depth + 1));
    }
    cd_buf_u8(out, ')');
    return CD_OK;
}

/* Takes a type off t and appends it as it is hashed; depth is bounded as codec/abi's. */
static cd_err put_type(cd_buf *out, cd_bytes *t, u32 depth)
{
    if (depth > CD_ABI_DEPTH_MAX) {
        return CD_EDEPTH;
    }
    cd_bytes word = take_word(t);
    *t = cd_text_trim(*t, CD_TEXT_BLANKS);
    bool is_tuple = t->n != 0 && t->p[0] == '(';
    if (is_tuple && (word.n == 0 || cd_bytes_eq(word, cd_bytes_str("tuple")))) {
        CD_TRY(put_tuple(out, t, depth));
    } else if (word.n == 0 || is_tuple) {
        return CD_EFORMAT;
    } else {
        bool is_short = cd_bytes_eq(word, cd_bytes_str("uint")) || cd_bytes_eq(word, cd_bytes_str("int"));
        cd_buf_put(out, word);
        cd_buf_str(out, is_short ? "256" : "");
    }
    while (t->n != 0 && t->p[0] == '[') {
        usize n = 1;
        while (n < t->n && (u8)(t->p[n] - '0') < 10) {
            n++;
        }
        if (n == t->n || t->p[n] != ']') {
            return CD_EFORMAT;
        }
        cd_buf_put(out, cd_bytes_sub(*t, 0, n + 1));
        *t = cd_bytes_sub(*t, n + 1, t->n - n - 1);
    }
    return CD_OK;
}

/* The last word behind a type is its name; "memory", "calldata" and "indexed" stand before it. */
static cd_bytes name_of(cd_bytes rest)
{
    static const char *const skipped[] = {"memory", "calldata", "storage", "indexed", "payable"};
    cd_bytes name = {0};
    for (;;) {
        cd_bytes word = take_word(&rest);
        if (word.n == 0) {
            return name;
        }
        name = word;
        for (usize i = 0; i < CD_COUNT(skipped); i++) {
            name = cd_bytes_eq(word, cd_bytes_str(skipped[i])) ? (cd_bytes){0} : name;
        }
    }
}

static cd_err read_args(cd_fn_arg *out, usize *cnt, cd_arena *a, cd_bytes text)
{
    text = cd_text_trim(text, CD_TEXT_BLANKS);
    for (*cnt = 0; text.n != 0; (*cnt)++) {
        cd_buf type = {0};
        cd_abi_type unused;
        cd_bytes part = take_part(&text);
        cd_err e = *cnt == CD_FN_ARGS_MAX ? CD_ELIMIT : put_type(&type, &part, 0);
        if (e == CD_OK) {
            out[*cnt] =
                (cd_fn_arg){.type = cd_arena_dup(a, cd_buf_bytes(&type)), .name = cd_arena_dup(a, name_of(part))};
            e = cd_abi_parse(&unused, a, out[*cnt].type, NULL);
        }
        cd_buf_fini(&type);
        CD_TRY(e);
    }
    return CD_OK;
}

/* --- descriptions --- */

static cd_err read_fn(cd_fn *f, cd_arena *a, cd_bytes text)
{
    cd_bytes args;
    cd_bytes word = take_word(&text);
    if (cd_bytes_eq(word, cd_bytes_str("function"))) {
        word = take_word(&text);
    }
    text = cd_text_trim(text, CD_TEXT_BLANKS);
    if (word.n == 0 || text.n == 0 || text.p[0] != '(') {
        return CD_EFORMAT;
    }
    f->name = cd_arena_dup(a, word);
    CD_TRY(take_group(&args, &text));
    CD_TRY(read_args(f->in, &f->in_cnt, a, args));
    while ((word = take_word(&text)).n != 0) {
        f->is_view = f->is_view || cd_bytes_eq(word, cd_bytes_str("view")) || cd_bytes_eq(word, cd_bytes_str("pure"));
        f->is_payable = f->is_payable || cd_bytes_eq(word, cd_bytes_str("payable"));
    }
    text = cd_text_trim(text, CD_TEXT_BLANKS);
    if (text.n != 0 && text.p[0] == '(') {
        CD_TRY(take_group(&args, &text));
        CD_TRY(read_args(f->out, &f->out_cnt, a, args));
        text = cd_text_trim(text, CD_TEXT_BLANKS);
    }
    return text.n == 0 || cd_bytes_eq(text, cd_bytes_str(";")) ? CD_OK : CD_EFORMAT;
}

cd_err cd_fn_parse(cd_fn *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_fn f = {0};
    if (text.n > CD_FN_TEXT_MAX) {
        return cd_fail(why, CD_ELIMIT, "a function is described in at most %d bytes", CD_FN_TEXT_MAX);
    }
    cd_err e = read_fn(&f, a, text);
    if (e != CD_OK) {
        return cd_fail(why, e, "not a function such as \"balanceOf(address owner) view(uint256)\"");
    }
    *out = f;
    return CD_OK;
}

void cd_fn_types(cd_buf *out, const cd_fn_arg *args, usize cnt)
{
    cd_buf_u8(out, '(');
    for (usize i = 0; i < cnt; i++) {
        cd_buf_str(out, i == 0 ? "" : ",");
        cd_buf_put(out, args[i].type);
    }
    cd_buf_u8(out, ')');
}

static void put_args(cd_buf *out, const cd_fn_arg *args, usize cnt)
{
    cd_buf_u8(out, '(');
    for (usize i = 0; i < cnt; i++) {
        cd_buf_str(out, i == 0 ? "" : ",");
        cd_buf_put(out, args[i].type);
        cd_buf_str(out, args[i].name.n == 0 ? "" : " ");
        cd_buf_put(out, args[i].name);
    }
    cd_buf_u8(out, ')');
}

void cd_fn_fmt(cd_buf *out, const cd_fn *f)
{
    cd_buf_put(out, f->name);
    put_args(out, f->in, f->in_cnt);
    cd_buf_str(out, f->is_view ? " view" : f->is_payable ? " payable" : "");
    if (f->out_cnt != 0) {
        cd_buf_str(out, f->is_view || f->is_payable ? "" : " ");
        put_args(out, f->out, f->out_cnt);
    }
}

void cd_fn_selector(u8 out[4], const cd_fn *f)
{
    cd_buf text = {0};
    cd_hash32 hash;
    cd_buf_put(&text, f->name);
    cd_fn_types(&text, f->in, f->in_cnt);
    cd_keccak256(&hash, cd_buf_bytes(&text));
    memcpy(out, hash.b, 4);
    cd_buf_fini(&text);
}

/* --- files --- */

static cd_bytes text_of(cd_json v, const char *key)
{
    cd_bytes t;
    return cd_json_str(&t, cd_json_get(v, key), NULL) == CD_OK ? t : (cd_bytes){0};
}

/* Names and types of a file become parts of a description, so they may hold nothing that has a meaning there. */
static cd_err put_plain(cd_buf *out, cd_bytes text)
{
    for (usize i = 0; i < text.n; i++) {
        if (!is_word(text.p[i]) && text.p[i] != '[' && text.p[i] != ']') {
            return CD_EFORMAT;
        }
    }
    cd_buf_put(out, text);
    return CD_OK;
}

/* A list of {"name", "type", "components"} as "(type name, …)". */
static cd_err put_params(cd_buf *out, cd_json list, u32 depth)
{
    cd_json_it it = cd_json_iter(list);
    if (depth > CD_ABI_DEPTH_MAX) {
        return CD_EDEPTH;
    }
    cd_buf_u8(out, '(');
    for (bool is_first = true; cd_json_next(&it); is_first = false) {
        cd_bytes type = text_of(it.val, "type");
        bool is_tuple = type.n >= 5 && memcmp(type.p, "tuple", 5) == 0;
        cd_buf_str(out, is_first ? "" : ",");
        if (is_tuple) {
            CD_TRY(put_params(out, cd_json_get(it.val, "components"), depth + 1));
            type = cd_bytes_sub(type, 5, type.n - 5);
        }
        CD_TRY(put_plain(out, type));
        cd_buf_u8(out, ' ');
        CD_TRY(put_plain(out, text_of(it.val, "name")));
        if (out->n > CD_FN_TEXT_MAX) {
            return CD_ELIMIT;
        }
    }
    cd_buf_u8(out, ')');
    return CD_OK;
}

static cd_err from_json(cd_fn *out, cd_arena *a, cd_json v)
{
    cd_buf text = {0};
    cd_err e = put_plain(&text, text_of(v, "name"));
    e = e != CD_OK ? e : put_params(&text, cd_json_get(v, "inputs"), 0);
    cd_buf_u8(&text, ' ');
    e = e != CD_OK ? e : put_plain(&text, text_of(v, "stateMutability"));
    e = e != CD_OK ? e : put_params(&text, cd_json_get(v, "outputs"), 0);
    e = e != CD_OK ? e : cd_fn_parse(out, a, cd_buf_bytes(&text), NULL);
    cd_buf_fini(&text);
    return e;
}

/* Events and the like have no selector that somebody could call. */
static bool is_other(cd_bytes line)
{
    static const char *const words[] = {"event", "error", "constructor", "fallback", "receive", "struct"};
    cd_bytes word = take_word(&line);
    for (usize i = 0; i < CD_COUNT(words); i++) {
        if (cd_bytes_eq(word, cd_bytes_str(words[i]))) {
            return true;
        }
    }
    return false;
}

static cd_err list_json(cd_fn *fns, usize *cnt, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    CD_TRY(cd_json_parse(&doc, a, text, CD_FN_FILE_MAX, why));
    cd_json list = cd_json_kind_of(doc) == CD_JSON_OBJ ? cd_json_get(doc, "abi") : doc;
    cd_json_it it = cd_json_iter(list);
    if (cd_json_kind_of(list) != CD_JSON_ARR) {
        return cd_fail(why, CD_EFORMAT, "no array of functions, at the top or under \"abi\"");
    }
    for (usize i = 0; *cnt < CD_FN_LIST_MAX && cd_json_next(&it); i++) {
        cd_bytes type = text_of(it.val, "type");
        bool is_text = cd_json_kind_of(it.val) == CD_JSON_STR; // descriptions, as ethers writes them
        cd_bytes line = {0};
        if (is_text && cd_json_str(&line, it.val, NULL) == CD_OK && is_other(line)) {
            continue;
        }
        if (!is_text && type.n != 0 && !cd_bytes_eq(type, cd_bytes_str("function"))) {
            continue;
        }
        cd_err e = is_text ? cd_fn_parse(&fns[*cnt], a, line, NULL) : from_json(&fns[*cnt], a, it.val);
        if (e != CD_OK) {
            return cd_fail(why, e, "[%zu] describes no function", i);
        }
        (*cnt)++;
    }
    return CD_OK;
}

static cd_err list_lines(cd_fn *fns, usize *cnt, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    for (usize line = 1; text.n != 0 && *cnt < CD_FN_LIST_MAX; line++) {
        const u8 *end = memchr(text.p, '\n', text.n);
        usize n = end == NULL ? text.n : (usize)(end - text.p);
        cd_bytes one = cd_text_trim(cd_bytes_sub(text, 0, n), CD_TEXT_BLANKS);
        text = end == NULL ? (cd_bytes){0} : cd_bytes_sub(text, n + 1, text.n - n - 1);
        if (one.n == 0 || is_other(one)) {
            continue;
        }
        cd_err e = cd_fn_parse(&fns[*cnt], a, one, NULL);
        if (e != CD_OK) {
            return cd_fail(why, e,
                           "line %zu: neither JSON nor a function such as \"balanceOf(address "
                           "owner) view(uint256)\"",
                           line);
        }
        (*cnt)++;
    }
    return CD_OK;
}

cd_err cd_fn_list(cd_fn **out, usize *cnt, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    text = cd_text_trim(text, CD_TEXT_BLANKS);
    if (text.n > CD_FN_FILE_MAX) {
        return cd_fail(why, CD_ELIMIT, "larger than %d kB", CD_FN_FILE_MAX / 1024);
    }
    cd_fn *fns = cd_arena_array(a, cd_fn, CD_FN_LIST_MAX);
    usize found = 0;
    bool is_json = text.n != 0 && (text.p[0] == '[' || text.p[0] == '{');
    CD_TRY(is_json ? list_json(fns, &found, a, text, why) : list_lines(fns, &found, a, text, why));
    if (found == 0) {
        return cd_fail(why, CD_EFORMAT, "no function in it");
    }
    *out = fns;
    *cnt = found;
    return CD_OK;
}
