/* Filters: one table of keys per face, one reading of each kind of value. What is answered later is what was
 * understood: canonical spelling, in the client's own form (one value or a list). */
#include "services/webhook/api/face.h"

#include "base/hex.h"
#include "base/table/hmap.h"
#include "crypto/hash/keccak.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

enum { SIGNATURE_MAX = 512, TOPICS = 4 };

typedef struct reading {
    cd_wh_read *r;
    cd_wh_filter *f;
    const cd_wh_filter_key *key;
    const char *field;
    cd_json_w *w;
} reading;

static bool is_hex_of(cd_bytes text, usize bytes)
{
    return text.n == 2 + 2 * bytes && text.p[0] == '0' && (text.p[1] | 0x20) == 'x';
}

/* --- values --- */

static void warn_checksum(cd_wh_read *r, cd_bytes text, const cd_addr20 *addr)
{
    char right[CD_ADDR_TEXT_SIZE];
    bool upper = false;
    bool lower = false;
    for (usize i = 2; i < text.n; i++) {
        upper = upper || (u8)(text.p[i] - 'A') < 6;
        lower = lower || (u8)(text.p[i] - 'a') < 6;
    }
    cd_addr_fmt(right, addr);
    if (upper && lower && memcmp(text.p + 2, right + 2, 40) != 0) {
        cd_wh_warn(r, "%.*s has a wrong checksum; correct is %s", (int)text.n, (const char *)text.p, right);
    }
}

static cd_err read_address(const reading *g, cd_addr20 *out, cd_json v, const char *field)
{
    cd_bytes text;
    if (cd_json_str(&text, v, NULL) != CD_OK || !is_hex_of(text, 20) ||
        cd_hex_parse(out->b, cd_bytes_sub(text, 2, 40)) != CD_OK) {
        return cd_wh_bad_shape(g->r, "value_error", field, "must be an address: 0x and 40 hexadecimal digits");
    }
    warn_checksum(g->r, text, out);
    cd_json_w_hex(g->w, cd_bytes_of(out->b, 20));
    return CD_OK;
}

static cd_err read_hash(const reading *g, cd_hash32 *out, cd_json v, const char *field)
{
    cd_bytes text;
    if (cd_json_str(&text, v, NULL) != CD_OK || !is_hex_of(text, 32) ||
        cd_hex_parse(out->b, cd_bytes_sub(text, 2, 64)) != CD_OK) {
        return cd_wh_bad_shape(g->r, "value_error", field, "must be a hash: 0x and 64 hexadecimal digits");
    }
    cd_json_w_hex(g->w, cd_bytes_of(out->b, 32));
    return CD_OK;
}

/* A decimal string, or a JSON integer. */
static cd_err read_number(const reading *g, cd_u256 *out, cd_json v, const char *field)
{
    cd_bytes text;
    bool is_str = cd_json_str(&text, v, NULL) == CD_OK;
    char digits[CD_U256_TEXT_MAX];
    if (is_str ? cd_u256_parse_dec(out, text) != CD_OK
               : cd_json_kind_of(v) != CD_JSON_NUM || cd_json_u256(out, v, NULL) != CD_OK) {
        return cd_wh_bad_shape(g->r, "value_error", field, "must be a decimal number of base units below 2^256");
    }
    usize n = cd_u256_fmt_dec(digits, out);
    cd_json_w_str(g->w, cd_bytes_of(digits, n));
    return CD_OK;
}

static bool is_signature(cd_bytes text)
{
    const u8 *open = memchr(text.p, '(', text.n);
    if (text.n < 3 || text.n > SIGNATURE_MAX || open == NULL || open == text.p || text.p[text.n - 1] != ')') {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        bool is_word = (u8)((c | 0x20) - 'a') < 26 || (u8)(c - '0') < 10 || c == '_' || c == '$';
        if (!is_word && c != '(' && c != ')' && c != ',' && c != '[' && c != ']') {
            return false;
        }
    }
    return true;
}

static cd_err read_selector(const reading *g, u32 *out, cd_json v, const char *field)
{
    cd_bytes text;
    u8 four[4];
    bool is_str = cd_json_str(&text, v, NULL) == CD_OK;
    if (is_str && is_hex_of(text, 4) && cd_hex_parse(four, cd_bytes_sub(text, 2, 8)) == CD_OK) {
        cd_json_w_hex(g->w, cd_bytes_of(four, 4));
        *out = cd_be32(four);
        return CD_OK;
    }
    if (is_str && is_signature(text)) {
        cd_hash32 hash;
        cd_keccak256(&hash, text);
        cd_json_w_str(g->w, text);
        *out = cd_be32(hash.b);
        return CD_OK;
    }
    return cd_wh_bad_shape(g->r, "value_error", field,
                           "must be 0x and 8 hexadecimal digits, or a signature such as "
                           "transfer(address,uint256)");
}

/* --- lists --- */

static usize size_of(cd_wh_key_kind kind)
{
    return kind == CD_WH_KEY_ADDRS ? sizeof(cd_addr20) : kind == CD_WH_KEY_SELECTORS ? sizeof(u32) : sizeof(cd_hash32);
}

static cd_err read_one(const reading *g, void *out, cd_json v, const char *field)
{
    switch (g->key->kind) {
    case CD_WH_KEY_ADDRS:
        return read_address(g, out, v, field);
    case CD_WH_KEY_SELECTORS:
        return read_selector(g, out, v, field);
    case CD_WH_KEY_NUMBERS: {
        cd_u256 n;
        CD_TRY(read_number(g, &n, v, field));
        cd_u256_store_be(((cd_hash32 *)out)->b, &n);
        return CD_OK;
    }
    case CD_WH_KEY_TOPICS:
    case CD_WH_KEY_TOPIC0:
    case CD_WH_KEY_HASHES:
        return read_hash(g, out, v, field);
    case CD_WH_KEY_AMOUNT:
    case CD_WH_KEY_DIRECTION:
        break;
    }
    CD_UNREACHABLE();
}

typedef struct elements {
    u8 *p;
    usize n, size;
    cd_hmap seen;
} elements;

static cd_err read_element(const reading *g, elements *all, cd_json v, const char *field)
{
    u8 *at = all->p + all->n * all->size;
    bool is_new;
    CD_TRY(read_one(g, at, v, field));
    (void)cd_hmap_put(&all->seen, &is_new, at);
    all->n += is_new;
    return CD_OK;
}

static cd_err read_array(const reading *g, elements *all, cd_json v, const char *field)
{
    usize i = 0;
    cd_json_w_arr(g->w);
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it); i++) {
        usize had = all->n;
        usize written = g->w->out->n;
        bool comma = g->w->comma;
        CD_TRY(read_element(g, all, it.val, cd_arena_fmt(g->r->mem, "%s[%zu]", field, i)));
        if (all->n == had) { // known already: not answered twice either
            g->w->out->n = written;
            g->w->comma = comma;
        }
    }
    cd_json_w_arr_end(g->w);
    return CD_OK;
}

/* One value or an array of them, behind the had elements that are there already; same values once. */
static cd_err read_list(const reading *g, void **list, usize *cnt, cd_json v, const char *field)
{
    bool is_list = cd_json_kind_of(v) == CD_JSON_ARR;
    usize more = is_list ? cd_json_len(v) : 1;
    usize size = size_of(g->key->kind);
    usize max = g->key->max == 0 ? CD_WH_ADDRESSES_MAX : g->key->max;
    if (more > max || *cnt + more > max) {
        return cd_wh_bad_shape(g->r, "too_long", field, "more than %zu", max);
    }
    elements all = {.size = size, .p = cd_arena_zalloc_array(g->r->mem, *cnt + more, size)};
    cd_hmap_init(&all.seen, CD_HASH_KEYED, (u32)size, 0);
    for (; all.n < *cnt; all.n++) {
        memcpy(all.p + all.n * size, (const u8 *)*list + all.n * size, size);
        (void)cd_hmap_put(&all.seen, NULL, all.p + all.n * size);
    }
    cd_err err = is_list ? read_array(g, &all, v, field) : read_element(g, &all, v, field);
    cd_hmap_fini(&all.seen);
    if (err == CD_OK) {
        *list = all.p;
        *cnt = all.n;
    }
    return err;
}

static cd_err read_words(const reading *g, cd_wh_words *out, cd_json v, const char *field)
{
    void *list = (void *)(uintptr_t)out->p;
    usize cnt = out->n;
    CD_TRY(read_list(g, &list, &cnt, v, field));
    *out = (cd_wh_words){.p = list, .n = cnt};
    return CD_OK;
}

/* An array of null, a hash, or an array of hashes; an empty one is any. [spec:eth-rpc] */
static cd_err read_topics(const reading *g, cd_json v)
{
    usize i = 0;
    if (cd_json_kind_of(v) != CD_JSON_ARR || cd_json_len(v) > TOPICS) {
        return cd_wh_bad_shape(g->r, "list_type", g->field, "must be an array of at most %d topics", TOPICS);
    }
    cd_json_w_arr(g->w);
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it); i++) {
        if (cd_json_has(it.val)) {
            CD_TRY(read_words(g, &g->f->topics[i], it.val, cd_arena_fmt(g->r->mem, "%s[%zu]", g->field, i)));
        } else {
            cd_json_w_null(g->w);
        }
    }
    cd_json_w_arr_end(g->w);
    return CD_OK;
}

static cd_err read_direction(const reading *g, cd_json v)
{
    static const char *const words[] = {
        [CD_WH_BOTH] = "both", [CD_WH_INCOMING] = "incoming", [CD_WH_OUTGOING] = "outgoing"};
    cd_bytes text = {0};
    (void)!cd_json_str(&text, v, NULL);
    for (u32 i = 0; i < CD_COUNT(words); i++) {
        if (cd_bytes_eq(text, cd_bytes_str(words[i]))) {
            g->f->direction = (cd_wh_direction)i;
            cd_json_w_cstr(g->w, words[i]);
            return CD_OK;
        }
    }
    return cd_wh_bad_shape(g->r, "value_error", g->field, "must be incoming, outgoing or both");
}

static cd_err read_key(const reading *g, cd_json v)
{
    u8 *at = (u8 *)g->f + g->key->at;
    switch (g->key->kind) {
    case CD_WH_KEY_ADDRS: {
        cd_wh_addrs *list = (cd_wh_addrs *)(void *)at;
        void *p = (void *)(uintptr_t)list->p;
        usize n = list->n;
        CD_TRY(read_list(g, &p, &n, v, g->field));
        *list = (cd_wh_addrs){.p = p, .n = n};
        return CD_OK;
    }
    case CD_WH_KEY_SELECTORS: {
        void *p = (void *)(uintptr_t)g->f->selectors;
        usize n = g->f->selectors_cnt;
        CD_TRY(read_list(g, &p, &n, v, g->field));
        g->f->selectors = p;
        g->f->selectors_cnt = n;
        return CD_OK;
    }
    case CD_WH_KEY_TOPIC0:
    case CD_WH_KEY_HASHES:
    case CD_WH_KEY_NUMBERS:
        return read_words(g, (cd_wh_words *)(void *)at, v, g->field);
    case CD_WH_KEY_TOPICS:
        return read_topics(g, v);
    case CD_WH_KEY_AMOUNT:
        return read_number(g, &g->f->min_value, v, g->field);
    case CD_WH_KEY_DIRECTION:
        return read_direction(g, v);
    }
    CD_UNREACHABLE();
}

/* --- the object --- */

static const cd_wh_filter_key *key_of(const cd_wh_filter_key *keys, usize cnt, cd_bytes name)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(name, cd_bytes_str(keys[i].name))) {
            return &keys[i];
        }
    }
    return NULL;
}

static cd_err read_object(reading *g, cd_json v, const char *field, const cd_wh_filter_key *keys, usize keys_cnt,
                          u32 types)
{
    const char *dot = field[0] == '\0' ? "" : ".";
    cd_json_w_obj(g->w);
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it);) {
        g->key = key_of(keys, keys_cnt, it.key);
        if (g->key == NULL) {
            const char *name =
                cd_arena_fmt(g->r->mem, "%s%s%.*s", field, dot, (int)cd_min_u64(it.key.n, 64), (const char *)it.key.p);
            return cd_wh_bad_shape(g->r, "extra_forbidden", name, "%s is not known", name);
        }
        if (!cd_json_has(it.val)) {
            continue;
        }
        g->field = cd_arena_fmt(g->r->mem, "%s%s%s", field, dot, g->key->name);
        if (field[0] != '\0' && cd_json_kind_of(it.val) == CD_JSON_ARR && cd_json_len(it.val) == 0) {
            /* nothing must not mean everything */
            return cd_wh_bad(g->r, "missing_field", g->field, "%s must not be empty; leave it out for any", g->field);
        }
        if (g->key->types != 0 && (types & ~g->key->types) != 0) {
            return cd_wh_bad(g->r, "invalid_value", g->field, "%s cannot apply to this type of event", g->field);
        }
        cd_json_w_key(g->w, g->key->name);
        CD_TRY(read_key(g, it.val));
    }
    cd_json_w_obj_end(g->w);
    return CD_OK;
}

cd_err cd_wh_read_filter(cd_wh_read *r, cd_wh_filter *out, cd_bytes *config, cd_json v, const char *field,
                         const cd_wh_filter_key *keys, usize keys_cnt, u32 types)
{
    cd_wh_filter f = {0};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    reading g = {.r = r, .f = &f, .w = &w};
    if (cd_json_has(v) && cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_wh_bad_shape(r, "dict_type", field, "must be an object");
    }
    cd_err err = read_object(&g, v, field, keys, keys_cnt, types);
    if (err == CD_OK) {
        *out = f;
        *config = cd_arena_dup(r->mem, cd_buf_bytes(&text));
    }
    cd_buf_fini(&text);
    return err;
}

cd_bytes cd_wh_config_addresses(cd_arena *mem, cd_bytes config, const char *key, cd_wh_addrs list)
{
    cd_json old = {0};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (cd_json_parse(&old, mem, config, 0, NULL) != CD_OK) {
        old = (cd_json){0};
    }
    const char *count = cd_arena_fmt(mem, "%s_count", key);
    cd_json_w_obj(&w);
    cd_json_w_key(&w, key);
    cd_json_w_arr(&w);
    for (usize i = 0; i < list.n && i < CD_WH_CONFIG_ADDRESSES; i++) {
        cd_json_w_hex(&w, cd_bytes_of(list.p[i].b, 20));
    }
    cd_json_w_arr_end(&w);
    if (list.n > CD_WH_CONFIG_ADDRESSES) {
        cd_json_w_key(&w, count);
        cd_json_w_u64(&w, list.n);
    }
    for (cd_json_it it = cd_json_iter(old); cd_json_next(&it);) {
        if (!cd_bytes_eq(it.key, cd_bytes_str("address")) && !cd_bytes_eq(it.key, cd_bytes_str("addresses")) &&
            !cd_bytes_eq(it.key, cd_bytes_str(count))) {
            cd_json_w_key_str(&w, it.key);
            cd_json_raw(&text, it.val);
            w.comma = true;
        }
    }
    cd_json_w_obj_end(&w);
    cd_bytes out = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}
