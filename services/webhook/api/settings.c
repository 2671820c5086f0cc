/* How deliveries of one webhook are made: order, concurrency, headers. Kept as a JSON object whose names are those
 * of the request. */
#include "services/webhook/api/face.h"

#include "base/hex.h"
#include "base/mem/secret.h"
#include "base/text.h"
#include "net/tls/pair.h"
#include "services/webhook/core/chain/abi_event.h"
#include "services/webhook/core/send/sign.h"

enum {
    HEADERS_MAX = 20,
    HEADER_NAME_MAX = 64,
    HEADER_VALUE_MAX = 1024,
    CONCURRENCY_MAX = 64,
    CLIENT_CERT_MAX = 64 << 10,
    CLIENT_KEY_MAX = 16 << 10,
};

static const char *const keys[] = {"ordering", "concurrency", "headers",     "standard_headers",   "sequence_headers",
                                   "removed",  "ops_url",     "ops_webhook", "client_certificate", "abi"};
enum { OWN_KEYS = 6 }; /* the first ones, which are read one by one */

static bool begins(cd_bytes name, const char *with)
{
    usize n = strlen(with);
    if (name.n < n) {
        return false;
    }
    for (usize i = 0; i < n; i++) {
        if (cd_text_lower(name.p[i]) != cd_text_lower((u8)with[i])) {
            return false;
        }
    }
    return true;
}

/* Of a header name [RFC 9110 5.6.2]. */
static bool is_token(cd_bytes name)
{
    for (usize i = 0; i < name.n; i++) {
        u8 c = name.p[i];
        if ((u8)(cd_text_lower(c) - 'a') >= 26 && (u8)(c - '0') >= 10 &&
            (c == 0 || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return name.n != 0 && name.n <= HEADER_NAME_MAX;
}

static bool is_ours(const cd_wh_read *r, cd_bytes name)
{
    static const char *const words[] = {"host",    "connection", "keep-alive", "te", "trailer", "transfer-encoding",
                                        "upgrade", "user-agent", "expect"};
    const char *brand = cd_arena_fmt(r->mem, "X-%s-", r->brand);
    for (usize i = 0; i < CD_COUNT(words); i++) {
        if (name.n == strlen(words[i]) && begins(name, words[i])) {
            return true;
        }
    }
    return begins(name, "content-") || begins(name, "proxy-") || begins(name, "x-webhook-") ||
           begins(name, "webhook-") || begins(name, brand);
}

static cd_err put_headers(cd_wh_read *r, cd_json_w *w, cd_json v)
{
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_wh_bad_shape(r, "dict_type", "headers", "must be an object of names and values");
    }
    if (cd_json_len(v) > HEADERS_MAX) {
        return cd_wh_bad_shape(r, "too_long", "headers", "more than %d headers", HEADERS_MAX);
    }
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it);) {
        cd_bytes value;
        const char *field = cd_arena_fmt(r->mem, "headers.%.*s", (int)cd_min_u64(it.key.n, 64), (const char *)it.key.p);
        if (!is_token(it.key)) {
            return cd_wh_bad_shape(r, "value_error", field, "not the name of a header");
        }
        if (is_ours(r, it.key)) {
            return cd_wh_bad_shape(r, "value_error", field, "is set by the service");
        }
        bool is_good = cd_json_str(&value, it.val, NULL) == CD_OK && value.n <= HEADER_VALUE_MAX;
        for (usize i = 0; is_good && i < value.n; i++) {
            is_good = (value.p[i] >= ' ' && value.p[i] < 0x7F) || value.p[i] == '\t';
        }
        if (!is_good) {
            return cd_wh_bad_shape(r, "value_error", field, "must be a string of at most %d printable ASCII characters",
                                   HEADER_VALUE_MAX);
        }
        cd_json_w_key_str(w, it.key);
        cd_json_w_str(w, value);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err put_bool(cd_wh_read *r, cd_json_w *w, cd_json v, const char *key)
{
    bool value;
    if (cd_json_bool(&value, v, NULL) != CD_OK) {
        return cd_wh_bad_shape(r, "bool_type", key, "must be true or false");
    }
    cd_json_w_bool(w, value);
    return CD_OK;
}

/* Whom to tell is a webhook of its own; here stands where it is, for records. */
static cd_err put_ops(cd_wh_read *r, cd_wh_draft *d, cd_json_w *w, cd_json body, cd_json old)
{
    cd_json v = cd_json_get(body, "ops_url");
    cd_json id = cd_json_get(old, "ops_webhook");
    if (cd_json_kind_of(v) == CD_JSON_NONE) {
        v = cd_json_get(old, "ops_url");
    } else if (cd_json_has(v)) {
        CD_TRY(cd_wh_read_str(r, &d->ops_url, body, "ops_url", CD_WH_URL_MAX, true));
    } else {
        d->ops_url = "";
    }
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    cd_json_w_key(w, "ops_url");
    cd_json_raw(w->out, v);
    w->comma = true;
    cd_json_w_key(w, "ops_webhook");
    if (cd_json_has(id)) {
        cd_json_raw(w->out, id);
        w->comma = true;
    } else {
        const cd_wh_face_api *face = cd_wh_face_api_of(r->face);
        d->ops.id = face->id(r);
        d->ops.secret = face->secret(r);
        cd_json_w_cstr(w, d->ops.id);
    }
    return CD_OK;
}

/* Text of several lines. */
static cd_err read_pem(cd_wh_read *r, cd_bytes *out, cd_json v, const char *field, usize max)
{
    if (cd_json_str(out, v, NULL) != CD_OK || out->n == 0) {
        return cd_wh_bad_shape(r, cd_json_has(v) ? "string_type" : "missing", field, "must be PEM text");
    }
    return out->n <= max ? CD_OK : cd_wh_bad_shape(r, "string_too_long", field, "longer than %zu bytes", max);
}

static cd_err check_client(cd_wh_read *r, cd_tls_pair *out, cd_bytes cert, cd_bytes key)
{
    cd_errinfo why = {0};
    cd_err err = cd_tls_pair_read(out, cert, key, &why);
    if (err != CD_OK) {
        return cd_wh_bad_shape(r, "value_error", err == CD_EKEY ? "client_key" : "client_certificate", "%s", why.msg);
    }
    if (out->ends_s <= r->now_s || out->begins_s > r->now_s) {
        return cd_wh_bad_shape(r, "value_error", "client_certificate",
                               out->ends_s <= r->now_s ? "the certificate has expired"
                                                       : "the certificate is not valid yet");
    }
    return CD_OK;
}

/* What may be seen of a certificate. */
static void put_pair(cd_json_w *w, const cd_tls_pair *p)
{
    char hex[64];
    cd_hex_fmt(hex, cd_bytes_of(p->sha256, 32));
    cd_json_w_obj(w);
    cd_wh_w_str(w, "subject", p->subject);
    cd_wh_w_str(w, "issuer", p->issuer);
    cd_wh_w_time(w, "expires_at", p->ends_s * 1000, false);
    cd_json_w_key(w, "sha256");
    cd_json_w_str(w, cd_bytes_of(hex, sizeof hex));
    cd_json_w_obj_end(w);
}

/* Certificate and key come together; the key is never seen again. */
static cd_err put_client(cd_wh_read *r, cd_wh_draft *d, cd_json_w *w, cd_json body, cd_json old)
{
    cd_json v = cd_json_get(body, "client_certificate");
    cd_json had = cd_json_get(old, "client_certificate");
    cd_bytes cert, key;
    cd_tls_pair pair;
    bool has_key = cd_json_has(cd_json_get(body, "client_key"));
    if (!cd_json_has(v)) {
        if (has_key) {
            return cd_wh_bad_shape(r, "missing", "client_certificate", "a key needs its certificate");
        }
        if (cd_json_kind_of(v) != CD_JSON_NONE) { /* null */
            d->hook.client = (cd_bytes){0};
            d->given |= CD_WH_GIVEN_CLIENT;
        } else if (cd_json_has(had)) {
            cd_json_w_key(w, "client_certificate");
            cd_json_raw(w->out, had);
            w->comma = true;
        }
        return CD_OK;
    }
    CD_TRY(read_pem(r, &cert, v, "client_certificate", CLIENT_CERT_MAX));
    CD_TRY(read_pem(r, &key, cd_json_get(body, "client_key"), "client_key", CLIENT_KEY_MAX));
    CD_TRY(check_client(r, &pair, cert, key));
    cd_buf both = {0};
    cd_buf_put(&both, cert);
    cd_buf_u8(&both, '\n');
    cd_buf_put(&both, key);
    d->hook.client = cd_arena_dup(r->mem, cd_buf_bytes(&both));
    cd_wipe(both.p, both.n);
    cd_buf_fini(&both);
    d->given |= CD_WH_GIVEN_CLIENT;
    cd_json_w_key(w, "client_certificate");
    put_pair(w, &pair);
    return CD_OK;
}

/* Descriptions of events; changed, they change what is told as a filter does. */
static cd_err put_abi(cd_wh_read *r, cd_wh_draft *d, cd_json_w *w, cd_json body, cd_json old)
{
    cd_json v = cd_json_get(body, "abi");
    cd_json had = cd_json_get(old, "abi");
    cd_buf compiled = {0};
    cd_err err = CD_OK;
    usize i = 0;
    if (cd_json_kind_of(v) == CD_JSON_NONE) {
        if (cd_json_has(had)) {
            cd_json_w_key(w, "abi");
            cd_json_raw(w->out, had);
            w->comma = true;
        }
        return CD_OK;
    }
    d->given |= CD_WH_GIVEN_CONFIG;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    if ((d->hook.types & (1u << CD_WH_A_CONTRACT | 1u << CD_WH_B_LOG)) == 0) {
        return cd_wh_bad_shape(r, "value_error", "abi", "only logs can be decoded");
    }
    if (cd_json_kind_of(v) != CD_JSON_ARR || cd_json_len(v) > CD_WH_ABI_EVENTS_MAX) {
        return cd_wh_bad_shape(r, "list_type", "abi", "must be a list of at most %d events", CD_WH_ABI_EVENTS_MAX);
    }
    cd_json_w_key(w, "abi");
    cd_json_w_arr(w);
    for (cd_json_it it = cd_json_iter(v); err == CD_OK && cd_json_next(&it); i++) {
        cd_bytes text;
        cd_errinfo why = {0};
        const char *field = cd_arena_fmt(r->mem, "abi[%zu]", i);
        if (cd_json_str(&text, it.val, NULL) != CD_OK) {
            err = cd_wh_bad_shape(r, "string_type", field, "must be a string");
        } else if (cd_wh_abi_compile(&compiled, text, &why) != CD_OK) {
            err = cd_wh_bad_shape(r, "value_error", field, "%s", why.msg);
        } else {
            cd_json_w_str(w, text);
        }
    }
    cd_json_w_arr_end(w);
    cd_buf_fini(&compiled);
    return err;
}

static cd_err put_setting(cd_wh_read *r, cd_wh_draft *d, cd_json_w *w, cd_json body, const char *key)
{
    cd_json v = cd_json_get(body, key);
    const char *text = NULL;
    u64 n = 0;
    cd_json_w_key(w, key);
    if (strcmp(key, "headers") == 0) {
        return put_headers(r, w, v);
    }
    if (strcmp(key, "ordering") == 0) {
        CD_TRY(cd_wh_read_str(r, &text, body, key, 16, true));
        if (strcmp(text, "strict") != 0 && strcmp(text, "parallel") != 0) {
            return cd_wh_bad_shape(r, "value_error", key, "must be strict or parallel");
        }
        d->hook.is_strict = text[0] == 's';
        cd_json_w_cstr(w, text);
        return CD_OK;
    }
    if (strcmp(key, "standard_headers") == 0 && cd_json_kind_of(v) == CD_JSON_STR) {
        CD_TRY(cd_wh_read_str(r, &text, body, key, 8, true));
        if (strcmp(text, "v1") != 0 && strcmp(text, "v1a") != 0) {
            return cd_wh_bad_shape(r, "value_error", key, "must be true, false, v1 or v1a");
        }
        cd_json_w_cstr(w, text);
        return CD_OK;
    }
    if (strcmp(key, "concurrency") == 0) {
        if (cd_json_kind_of(v) != CD_JSON_NUM || cd_json_u64(&n, v, NULL) != CD_OK || n == 0 || n > CONCURRENCY_MAX) {
            return cd_wh_bad_shape(r, "value_error", key, "must be 1 to %d", CONCURRENCY_MAX);
        }
        d->hook.concurrency = (u32)n;
        cd_json_w_u64(w, n);
        return CD_OK;
    }
    return put_bool(r, w, v, key);
}

static cd_err put_all(cd_wh_read *r, cd_json_w *w, cd_wh_draft *d, cd_json body, cd_json old, cd_bytes order)
{
    cd_json_w_obj(w);
    if (order.n != 0) {
        cd_wh_w_raw(w, "events", order);
    } else if (cd_json_has(cd_json_get(old, "events"))) {
        cd_json_w_key(w, "events");
        cd_json_raw(w->out, cd_json_get(old, "events"));
        w->comma = true;
    }
    for (usize i = 0; i < OWN_KEYS; i++) {
        if (cd_json_has(cd_json_get(body, keys[i]))) {
            d->given |= CD_WH_GIVEN_SETTINGS;
            CD_TRY(put_setting(r, d, w, body, keys[i]));
        } else if (cd_json_has(cd_json_get(old, keys[i]))) {
            cd_json_w_key(w, keys[i]);
            cd_json_raw(w->out, cd_json_get(old, keys[i]));
            w->comma = true;
        }
    }
    CD_TRY(put_ops(r, d, w, body, old));
    CD_TRY(put_client(r, d, w, body, old));
    CD_TRY(put_abi(r, d, w, body, old));
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd_wh_read_settings(cd_wh_read *r, cd_wh_draft *out, cd_json body, cd_bytes order)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json old = {0};
    if (out->hook.settings.n != 0) {
        CD_TRY(cd_json_parse(&old, r->mem, out->hook.settings, 0, NULL));
    }
    cd_err err = put_all(r, &w, out, body, old, order);
    if (err == CD_OK) {
        out->hook.settings = cd_arena_dup(r->mem, cd_buf_bytes(&text));
    }
    cd_buf_fini(&text);
    return err;
}

void cd_wh_w_types(cd_json_w *w, const char *key, const cd_wh_hook *hook, cd_arena *mem)
{
    cd_json settings = {0};
    cd_json_w_key(w, key);
    if (hook->settings.n != 0 && cd_json_parse(&settings, mem, hook->settings, 0, NULL) == CD_OK &&
        cd_json_has(cd_json_get(settings, "events"))) {
        cd_json_raw(w->out, cd_json_get(settings, "events"));
        w->comma = true;
        return;
    }
    cd_json_w_arr(w);
    for (u32 t = 0; t < CD_WH_NOTICE_END; t++) {
        if ((hook->types & 1u << t) != 0) {
            cd_json_w_cstr(w, cd_wh_type_name((cd_wh_type)t));
        }
    }
    cd_json_w_arr_end(w);
}

void cd_wh_w_settings(cd_json_w *w, const cd_wh_hook *hook, cd_arena *mem)
{
    cd_json settings;
    if (hook->settings.n == 0 || cd_json_parse(&settings, mem, hook->settings, 0, NULL) != CD_OK) {
        return;
    }
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        cd_json v = cd_json_get(settings, keys[i]);
        if (cd_json_has(v)) {
            cd_json_w_key(w, keys[i]);
            cd_json_raw(w->out, v);
            w->comma = true;
        }
    }
}

void cd_wh_w_standard(cd_json_w *w, const cd_wh_hook *hook, cd_bytes secret, cd_arena *mem)
{
    cd_json settings;
    bool on = false;
    cd_bytes word = {0};
    if (secret.n == 0 || hook->settings.n == 0 || cd_json_parse(&settings, mem, hook->settings, 0, NULL) != CD_OK) {
        return;
    }
    cd_json v = cd_json_get(settings, "standard_headers");
    if ((cd_json_bool(&on, v, NULL) == CD_OK && on) || cd_json_str(&word, v, NULL) == CD_OK) {
        cd_buf text = {0};
        bool is_v1a = cd_bytes_eq(word, cd_bytes_str("v1a"));
        cd_wh_standard_secret(&text, is_v1a ? CD_WH_STANDARD_V1A : CD_WH_STANDARD_V1, secret);
        cd_json_w_key(w, "standard_secret");
        cd_json_w_str(w, cd_buf_bytes(&text));
        cd_wipe(text.p, text.n);
        cd_buf_fini(&text);
    }
}
