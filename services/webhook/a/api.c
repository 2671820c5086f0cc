/* Variant A's requests and records. [spec:webhooks#2.1] */
#include "services/webhook/api/face.h"

#include "base/hex.h"

enum { SECRET_MIN = 16, SECRET_MAX = 256, ID_BYTES = 5 };

static const cd_wh_filter_key keys[] = {
    {.name = "address", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, addresses)},
    {.name = "addresses", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, addresses)},
    {.name = "contract", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, contracts)},
    {.name = "topics", .kind = CD_WH_KEY_TOPICS, .at = offsetof(cd_wh_filter, topics)},
    {.name = "minValue", .kind = CD_WH_KEY_AMOUNT, .at = offsetof(cd_wh_filter, min_value)},
};

static cd_err read_filters(cd_wh_read *r, cd_wh_hook *hook, cd_json body)
{
    return cd_wh_read_filter(r, &hook->filter, &hook->config, cd_json_get(body, "filters"), "filters", keys,
                             CD_COUNT(keys), hook->types);
}

static cd_err read_secret(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    const char *secret = NULL;
    CD_TRY(cd_wh_read_str(r, &secret, body, "secret", SECRET_MAX, false));
    if (secret == NULL) {
        return CD_OK;
    }
    if (strlen(secret) < SECRET_MIN) {
        return cd_wh_bad_shape(r, "string_too_short", "secret", "shorter than %d characters", SECRET_MIN);
    }
    d->hook.secret = cd_bytes_str(secret);
    d->given |= CD_WH_GIVEN_SECRET;
    return CD_OK;
}

static const char *draw_id(cd_wh_read *r)
{
    u8 bytes[ID_BYTES];
    char digits[2 * ID_BYTES];
    cd_rng_fill(r->rng, bytes, sizeof bytes);
    cd_hex_fmt(digits, cd_bytes_of(bytes, sizeof bytes));
    return cd_arena_fmt(r->mem, "wh-%.*s", (int)sizeof digits, digits);
}

/* Without a secret nothing can be signed. */
static void warn_unsigned(cd_wh_read *r, const cd_wh_draft *d, cd_json body)
{
    cd_json v = cd_json_get(body, "standard_headers");
    bool on = true;
    bool is_word = cd_json_bool(&on, v, NULL) != CD_OK;
    if (d->hook.secret.n == 0 && cd_json_has(v) && (on || is_word)) {
        cd_wh_warn(r, "standard_headers need a secret: without one deliveries are not signed");
    }
}

static cd_err create(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    cd_wh_hook *hook = &d->hook;
    cd_bytes order = {0};
    CD_TRY(cd_wh_read_str(r, &hook->url, body, "url", CD_WH_URL_MAX, !r->is_dry));
    CD_TRY(cd_wh_read_types(r, &hook->types, &order, CD_WH_A, cd_json_get(body, "events"), "events"));
    CD_TRY(cd_wh_read_chain(r, &hook->chain, body));
    CD_TRY(read_filters(r, hook, body));
    CD_TRY(read_secret(r, d, body));
    CD_TRY(cd_wh_read_settings(r, d, body, order));
    warn_unsigned(r, d, body);
    hook->id = draw_id(r);
    return CD_OK;
}

static cd_err patch(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    static const char *const fixed[] = {"chain"};
    cd_wh_hook *hook = &d->hook;
    const char *status = NULL;
    cd_bytes order = {0};
    cd_wh_warn_fixed(r, body, fixed, CD_COUNT(fixed));
    CD_TRY(cd_wh_read_change(r, d, &hook->url, body, "url", CD_WH_URL_MAX, CD_WH_GIVEN_URL));
    CD_TRY(cd_wh_read_str(r, &status, body, "status", 16, false));
    if (status != NULL) {
        bool is_on = strcmp(status, "enabled") == 0;
        if (!is_on && strcmp(status, "disabled") != 0) {
            return cd_wh_bad_shape(r, "value_error", "status", "must be enabled or disabled");
        }
        hook->status = is_on ? CD_WH_ACTIVE : CD_WH_DISABLED;
        d->given |= CD_WH_GIVEN_STATUS;
    }
    if (cd_json_has(cd_json_get(body, "events"))) {
        CD_TRY(cd_wh_read_types(r, &hook->types, &order, CD_WH_A, cd_json_get(body, "events"), "events"));
        d->given |= CD_WH_GIVEN_TYPES;
    }
    if (cd_json_has(cd_json_get(body, "filters"))) {
        CD_TRY(read_filters(r, hook, body));
        d->given |= CD_WH_GIVEN_CONFIG;
    }
    CD_TRY(read_secret(r, d, body));
    CD_TRY(cd_wh_read_settings(r, d, body, order));
    warn_unsigned(r, d, body);
    return cd_wh_read_again(r, d, body);
}

static void record(cd_json_w *w, const cd_wh_hook *hook, u32 show, cd_arena *mem)
{
    (void)show;
    cd_wh_w_str(w, "id", hook->id);
    cd_wh_w_str(w, "url", hook->url);
    cd_wh_w_types(w, "events", hook, mem);
    cd_wh_w_str(w, "chain", hook->chain);
    cd_wh_w_raw(w, "filters", hook->config);
    cd_wh_w_str(w, "status", cd_wh_status_name(CD_WH_A, hook->status));
    cd_json_w_key(w, "failureCount");
    cd_json_w_u64(w, hook->failures);
    cd_wh_w_time(w, "createdAt", hook->created_ms, false);
    cd_wh_w_time(w, "updatedAt", hook->updated_ms, false);
    cd_wh_w_settings(w, hook, mem);
}

const cd_wh_face_api cd_wh_face_a = {
    .list_key = "addresses",
    .secret_key = "secret",
    .create = create,
    .patch = patch,
    .record = record,
    .id = draw_id,
    .secret = cd_wh_draw_secret,
};
