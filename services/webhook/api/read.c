/* Bodies and the fields that all faces have; what is wrong with them, and how a face says so. */
#include "services/webhook/api/face.h"

#include "base/os/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODY_DEPTH = 64, TYPES_TEXT = 512, SECRET_DIGITS = 24 };

const cd_wh_face_api *cd_wh_face_api_of(cd_wh_face face)
{
    static const cd_wh_face_api *const faces[] = {
        [CD_WH_A] = &cd_wh_face_a, [CD_WH_B] = &cd_wh_face_b, [CD_WH_C] = &cd_wh_face_c};
    return faces[face];
}

/* --- what is wrong --- */

CD_PRINTF(5, 0)
static void blame(cd_wh_read *r, const char *code, const char *kind, const char *field, const char *fmt, va_list args)
{
    char text[400];
    (void)vsnprintf(text, sizeof text, fmt, args);
    r->problem = (cd_wh_problem){
        .status = 400,
        .code = code,
        .kind = kind,
        .field = field,
        .message = cd_arena_str(r->mem, cd_bytes_str(text)),
    };
}

void cd__wh_bad(cd_wh_read *r, const char *code, const char *field, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    blame(r, code, NULL, field, fmt, args);
    va_end(args);
}

void cd__wh_bad_shape(cd_wh_read *r, const char *kind, const char *field, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    blame(r, strcmp(kind, "missing") == 0 ? "missing_field" : "invalid_value", kind, field, fmt, args);
    va_end(args);
}

void cd_wh_warn(cd_wh_read *r, const char *fmt, ...)
{
    char text[400];
    va_list args;
    if (r->warnings_cnt == CD_COUNT(r->warnings)) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->warnings[r->warnings_cnt++] = cd_arena_str(r->mem, cd_bytes_str(text));
}

void cd_wh_warn_fixed(cd_wh_read *r, cd_json body, const char *const *names, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_json_has(cd_json_get(body, names[i]))) {
            cd_wh_warn(r, "%s cannot be changed", names[i]);
        }
    }
}

/* ["body","filters","address",2] of "filters.address[2]". */
static void put_loc(cd_json_w *w, const char *field)
{
    cd_json_w_arr(w);
    cd_json_w_cstr(w, "body");
    while (*field != '\0') {
        usize n = strcspn(field, ".[]");
        if (n != 0) {
            bool is_index = field[0] >= '0' && field[0] <= '9';
            cd_bytes part = cd_bytes_of(field, n);
            if (is_index) {
                cd_json_w_raw(w, part);
            } else {
                cd_json_w_str(w, part);
            }
        }
        field += n + (field[n] != '\0' ? 1 : 0);
    }
    cd_json_w_arr_end(w);
}

void cd_wh_error_body(cd_buf *out, cd_wh_face face, const cd_wh_problem *p)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    if (face != CD_WH_C) {
        cd_json_w_key(&w, "error");
        cd_json_w_obj(&w);
        cd_wh_w_str(&w, "code", p->code);
        cd_wh_w_str(&w, "message", p->message);
        if (p->field != NULL && p->field[0] != '\0') {
            cd_wh_w_str(&w, "field", p->field);
        }
        cd_json_w_obj_end(&w);
    } else if (p->status == 422) {
        cd_json_w_key(&w, "detail");
        cd_json_w_arr(&w);
        cd_json_w_obj(&w);
        cd_json_w_key(&w, "loc");
        put_loc(&w, p->field);
        cd_wh_w_str(&w, "msg", p->message);
        cd_wh_w_str(&w, "type", p->kind);
        cd_json_w_obj_end(&w);
        cd_json_w_arr_end(&w);
    } else {
        cd_wh_w_str(&w, "detail", p->message);
    }
    cd_json_w_obj_end(&w);
    cd_buf_u8(out, '\n');
}

/* --- bodies --- */

static int key_cmp(const void *a, const void *b)
{
    return cd_bytes_cmp(*(const cd_bytes *)a, *(const cd_bytes *)b);
}

static cd_err check_keys(cd_wh_read *r, cd_json obj)
{
    usize cnt = cd_json_len(obj);
    cd_bytes *keys = cd_arena_array(r->mem, cd_bytes, cnt);
    usize n = 0;
    for (cd_json_it it = cd_json_iter(obj); cd_json_next(&it);) {
        keys[n++] = it.key;
    }
    qsort(keys, n, sizeof keys[0], key_cmp);
    for (usize i = 1; i < n; i++) {
        if (cd_bytes_eq(keys[i - 1], keys[i])) {
            return cd_wh_bad(r, "invalid_json", "", "the key \"%.*s\" is there twice",
                             (int)(keys[i].n < 64 ? keys[i].n : 64), (const char *)keys[i].p);
        }
    }
    return CD_OK;
}

static cd_err check_tree(cd_wh_read *r, cd_json root)
{
    cd_json_it stack[BODY_DEPTH];
    usize depth = 0;
    CD_TRY(check_keys(r, root));
    stack[depth++] = cd_json_iter(root);
    while (depth != 0) {
        if (!cd_json_next(&stack[depth - 1])) {
            depth--;
            continue;
        }
        cd_json v = stack[depth - 1].val;
        cd_json_kind kind = cd_json_kind_of(v);
        if (kind != CD_JSON_OBJ && kind != CD_JSON_ARR) {
            continue;
        }
        if (depth == BODY_DEPTH) {
            return cd_wh_bad(r, "invalid_json", "", "nested more than %d levels", BODY_DEPTH);
        }
        if (kind == CD_JSON_OBJ) {
            CD_TRY(check_keys(r, v));
        }
        stack[depth++] = cd_json_iter(v);
    }
    return CD_OK;
}

cd_err cd_wh_read_body(cd_wh_read *r, cd_json *out, cd_bytes text)
{
    cd_json root;
    cd_errinfo why = {0};
    if (text.n == 0) {
        return cd_wh_bad(r, "invalid_json", "", "the body is empty");
    }
    if (cd_json_parse(&root, r->mem, text, CD_WH_BODY_MAX, &why) != CD_OK) {
        return cd_wh_bad(r, "invalid_json", "", "%s", why.msg);
    }
    if (cd_json_kind_of(root) != CD_JSON_OBJ) {
        return cd_wh_bad(r, "invalid_json", "", "the body must be an object");
    }
    CD_TRY(check_tree(r, root));
    *out = root;
    return CD_OK;
}

/* --- fields --- */

cd_err cd_wh_read_str(cd_wh_read *r, const char **out, cd_json body, const char *key, usize max, bool required)
{
    cd_json v = cd_json_get(body, key);
    cd_bytes text;
    if (!cd_json_has(v)) {
        return required ? cd_wh_bad_shape(r, "missing", key, "field required") : CD_OK;
    }
    if (cd_json_str(&text, v, NULL) != CD_OK) {
        return cd_wh_bad_shape(r, "string_type", key, "must be a string");
    }
    if (text.n == 0 && required) {
        return cd_wh_bad_shape(r, "string_too_short", key, "must not be empty");
    }
    if (text.n > max) {
        return cd_wh_bad_shape(r, "string_too_long", key, "longer than %zu bytes", max);
    }
    for (usize i = 0; i < text.n; i++) {
        if (text.p[i] < ' ' || text.p[i] == 0x7F) {
            return cd_wh_bad_shape(r, "value_error", key, "must not have control characters");
        }
    }
    *out = cd_arena_str(r->mem, text);
    return CD_OK;
}

cd_err cd_wh_read_change(cd_wh_read *r, cd_wh_draft *inout, const char **out, cd_json body, const char *key, usize max,
                         u32 bit)
{
    if (cd_json_has(cd_json_get(body, key))) {
        CD_TRY(cd_wh_read_str(r, out, body, key, max, true));
        inout->given |= bit;
    }
    return CD_OK;
}

cd_err cd_wh_read_bool(cd_wh_read *r, bool *out, cd_json body, const char *key)
{
    cd_json v = cd_json_get(body, key);
    if (cd_json_has(v) && cd_json_bool(out, v, NULL) != CD_OK) {
        return cd_wh_bad_shape(r, "bool_type", key, "must be true or false");
    }
    return CD_OK;
}

cd_err cd_wh_read_chain(cd_wh_read *r, const char **out, cd_json body)
{
    const char *name = NULL;
    u64 id;
    cd_json v = cd_json_get(body, "chain");
    if (cd_json_kind_of(v) == CD_JSON_NUM && cd_json_u64(&id, v, NULL) == CD_OK) {
        name = cd_arena_fmt(r->mem, "%llu", (unsigned long long)id);
    } else {
        CD_TRY(cd_wh_read_str(r, &name, body, "chain", 64, true));
    }
    const char *known = r->chain(r->chain_ctx, cd_bytes_str(name));
    if (known == NULL) {
        return cd_wh_bad(r, "unsupported_chain", "chain", "Unsupported chain: %s", name);
    }
    *out = known;
    return CD_OK;
}

cd_err cd_wh_read_type(cd_wh_read *r, cd_wh_type *out, cd_wh_face face, cd_json v, const char *field)
{
    cd_bytes name;
    if (!cd_json_has(v)) {
        return cd_wh_bad_shape(r, "missing", field, "field required");
    }
    if (cd_json_str(&name, v, NULL) != CD_OK) {
        return cd_wh_bad_shape(r, "string_type", field, "must be a string");
    }
    if (cd_wh_type_of(out, face, name) == CD_OK) {
        return CD_OK;
    }
    char valid[TYPES_TEXT] = "";
    usize n = 0;
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        if (cd_wh_type_face((cd_wh_type)t) == face) {
            n += (usize)snprintf(valid + n, sizeof valid - n, "%s%s", n == 0 ? "" : ", ",
                                 cd_wh_type_name((cd_wh_type)t));
        }
    }
    return cd_wh_bad(r, "unknown_event_type", field, "unknown event type; valid are %s", valid);
}

cd_err cd_wh_read_types(cd_wh_read *r, u32 *mask, cd_bytes *order, cd_wh_face face, cd_json v, const char *field)
{
    if (!cd_json_has(v)) {
        return cd_wh_bad_shape(r, "missing", field, "field required");
    }
    if (cd_json_kind_of(v) != CD_JSON_ARR) {
        return cd_wh_bad_shape(r, "list_type", field, "must be an array of event types");
    }
    if (cd_json_len(v) == 0) {
        return cd_wh_bad_shape(r, "too_short", field, "must name at least one event type");
    }
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    u32 seen = 0;
    usize i = 0;
    cd_err err = CD_OK;
    cd_json_w_arr(&w);
    for (cd_json_it it = cd_json_iter(v); err == CD_OK && cd_json_next(&it); i++) {
        cd_wh_type t;
        err = cd_wh_read_type(r, &t, face, it.val, cd_arena_fmt(r->mem, "%s[%zu]", field, i));
        if (err == CD_OK && (seen & 1u << t) == 0) {
            seen |= 1u << t;
            cd_json_w_cstr(&w, cd_wh_type_name(t));
        }
    }
    cd_json_w_arr_end(&w);
    if (err == CD_OK) {
        *mask = seen;
        *order = cd_arena_dup(r->mem, cd_buf_bytes(&text));
    }
    cd_buf_fini(&text);
    return err;
}

cd_err cd_wh_read_again(cd_wh_read *r, cd_wh_draft *out, cd_json body)
{
    const char *word = "none";
    CD_TRY(cd_wh_read_str(r, &word, body, "replay", 16, false));
    if (strcmp(word, "skipped") == 0) {
        out->again = CD_WH_AGAIN_SKIPPED;
    } else if (strcmp(word, "all") == 0) {
        out->again = CD_WH_AGAIN_ALL;
    } else if (strcmp(word, "none") == 0) {
        out->again = CD_WH_AGAIN_NONE;
    } else {
        return cd_wh_bad_shape(r, "value_error", "replay", "must be none, skipped or all");
    }
    return CD_OK;
}

const char *cd_wh_draw(cd_wh_read *r, const char *prefix, usize cnt)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    usize lead = strlen(prefix);
    char *out = cd_arena_alloc(r->mem, lead + cnt + 1);
    memcpy(out, prefix, lead);
    for (usize i = 0; i < cnt; i++) {
        out[lead + i] = digits[cd_rng_below(r->rng, sizeof digits - 1)];
    }
    out[lead + cnt] = '\0';
    return out;
}

cd_bytes cd_wh_draw_secret(cd_wh_read *r)
{
    return cd_bytes_str(cd_wh_draw(r, "whsec_", SECRET_DIGITS));
}

/* --- records --- */

void cd_wh_w_time_value(cd_json_w *w, u64 ms, bool with_ms)
{
    char text[CD_TIME_TEXT_LEN];
    usize n = CD_TIME_TEXT_LEN;
    if (ms == 0) {
        cd_json_w_null(w);
        return;
    }
    cd_time_fmt(text, ms * CD_NS_PER_MS);
    if (!with_ms) {
        n -= 4;
        text[n - 1] = 'Z';
    }
    cd_json_w_str(w, cd_bytes_of(text, n));
}

void cd_wh_w_time(cd_json_w *w, const char *key, u64 ms, bool with_ms)
{
    cd_json_w_key(w, key);
    cd_wh_w_time_value(w, ms, with_ms);
}

void cd_wh_w_str(cd_json_w *w, const char *key, const char *text)
{
    cd_json_w_key(w, key);
    cd_json_w_cstr(w, text);
}

void cd_wh_w_raw(cd_json_w *w, const char *key, cd_bytes json)
{
    cd_json_w_key(w, key);
    cd_json_w_raw(w, json);
}
