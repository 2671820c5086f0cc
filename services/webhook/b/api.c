/* Variant B's requests and records. [spec:webhooks#2.2] */
#include "services/webhook/api/face.h"

enum { TX_HASHES_MAX = 100, ID_DIGITS = 12 };

#define T(type) (1u << CD_WH_B_##type)

static const cd_wh_filter_key keys[] = {
    {.name = "addresses",
     .kind = CD_WH_KEY_ADDRS,
     .at = offsetof(cd_wh_filter, addresses),
     .types = T(ADDRESS) | T(TOKEN) | T(NFT) | T(LOG)},
    {.name = "contracts", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, contracts), .types = T(TOKEN) | T(NFT)},
    {.name = "direction", .kind = CD_WH_KEY_DIRECTION, .at = offsetof(cd_wh_filter, direction), .types = T(ADDRESS)},
    {.name = "min_value", .kind = CD_WH_KEY_AMOUNT, .at = offsetof(cd_wh_filter, min_value), .types = T(TOKEN)},
    {.name = "token_ids", .kind = CD_WH_KEY_NUMBERS, .at = offsetof(cd_wh_filter, token_ids), .types = T(NFT)},
    {.name = "tx_hashes",
     .kind = CD_WH_KEY_HASHES,
     .at = offsetof(cd_wh_filter, tx_hashes),
     .types = T(MINED),
     .max = TX_HASHES_MAX},
    {.name = "topics", .kind = CD_WH_KEY_TOPICS, .at = offsetof(cd_wh_filter, topics), .types = T(LOG)},
};

static bool has_topic(const cd_wh_filter *f)
{
    return (f->topics[0].n | f->topics[1].n | f->topics[2].n | f->topics[3].n) != 0;
}

static cd_err read_config(cd_wh_read *r, cd_wh_hook *hook, cd_json body)
{
    cd_wh_filter *f = &hook->filter;
    CD_TRY(cd_wh_read_filter(r, f, &hook->config, cd_json_get(body, "config"), "config", keys, CD_COUNT(keys),
                             hook->types));
    if (hook->types == T(ADDRESS) && f->addresses.n == 0) {
        return cd_wh_bad(r, "missing_field", "config.addresses", "address_activity needs at least one address");
    }
    if (hook->types == T(TOKEN) && f->addresses.n + f->contracts.n == 0) {
        return cd_wh_bad(r, "missing_field", "config", "token_transfer needs addresses, contracts, or both");
    }
    if (hook->types == T(MINED) && f->tx_hashes.n == 0) {
        return cd_wh_bad(r, "missing_field", "config.tx_hashes", "mined_transaction needs 1 to %d hashes",
                         TX_HASHES_MAX);
    }
    if (hook->types == T(LOG) && f->addresses.n == 0 && !has_topic(f)) {
        return cd_wh_bad(r, "missing_field", "config", "log needs addresses, topics, or both");
    }
    return CD_OK;
}

static const char *draw_id(cd_wh_read *r)
{
    return cd_wh_draw(r, "wh_", ID_DIGITS);
}

static cd_err create(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    cd_wh_hook *hook = &d->hook;
    cd_wh_type type;
    CD_TRY(cd_wh_read_str(r, &hook->url, body, "url", CD_WH_URL_MAX, !r->is_dry));
    CD_TRY(cd_wh_read_chain(r, &hook->chain, body));
    CD_TRY(cd_wh_read_type(r, &type, CD_WH_B, cd_json_get(body, "event_type"), "event_type"));
    hook->types = 1u << type;
    CD_TRY(read_config(r, hook, body));
    CD_TRY(cd_wh_read_settings(r, d, body, (cd_bytes){0}));
    hook->id = draw_id(r);
    hook->secret = cd_wh_draw_secret(r);
    return CD_OK;
}

static cd_err patch(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    static const char *const fixed[] = {"chain", "event_type"};
    cd_wh_hook *hook = &d->hook;
    const char *status = NULL;
    for (usize i = 0; i < CD_COUNT(fixed); i++) {
        if (cd_json_kind_of(cd_json_get(body, fixed[i])) != CD_JSON_NONE) {
            return cd_wh_bad(r, "immutable_field", fixed[i], "%s cannot be changed", fixed[i]);
        }
    }
    CD_TRY(cd_wh_read_change(r, d, &hook->url, body, "url", CD_WH_URL_MAX, CD_WH_GIVEN_URL));
    CD_TRY(cd_wh_read_str(r, &status, body, "status", 16, false));
    if (status != NULL) {
        bool is_on = strcmp(status, "active") == 0;
        if (!is_on && strcmp(status, "paused") != 0) {
            return cd_wh_bad(r, "invalid_value", "status", "must be active or paused");
        }
        hook->status = is_on ? CD_WH_ACTIVE : CD_WH_PAUSED;
        d->given |= CD_WH_GIVEN_STATUS;
    }
    if (cd_json_has(cd_json_get(body, "config"))) {
        CD_TRY(read_config(r, hook, body));
        d->given |= CD_WH_GIVEN_CONFIG;
    }
    CD_TRY(cd_wh_read_settings(r, d, body, (cd_bytes){0}));
    return cd_wh_read_again(r, d, body);
}

static const char *type_of(const cd_wh_hook *hook)
{
    return cd_wh_type_name((cd_wh_type)__builtin_ctz(hook->types));
}

static void record(cd_json_w *w, const cd_wh_hook *hook, u32 show, cd_arena *mem)
{
    cd_wh_w_str(w, "id", hook->id);
    cd_wh_w_str(w, "url", hook->url);
    cd_wh_w_str(w, "chain", hook->chain);
    cd_wh_w_str(w, "event_type", type_of(hook));
    cd_wh_w_raw(w, "config", hook->config);
    if ((show & CD_WH_SHOW_SECRET) != 0) {
        cd_json_w_key(w, "signing_secret");
        cd_json_w_str(w, hook->secret);
    }
    cd_wh_w_str(w, "status", cd_wh_status_name(CD_WH_B, hook->status));
    cd_wh_w_time(w, "created_at", hook->created_ms, false);
    if ((show & CD_WH_SHOW_UPDATED) != 0) {
        cd_wh_w_time(w, "updated_at", hook->updated_ms, false);
    }
    cd_wh_w_settings(w, hook, mem);
}

const cd_wh_face_api cd_wh_face_b = {
    .list_key = "addresses",
    .secret_key = "signing_secret",
    .create = create,
    .patch = patch,
    .record = record,
    .id = draw_id,
    .secret = cd_wh_draw_secret,
};
