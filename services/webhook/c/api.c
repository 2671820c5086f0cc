/* Variant C's requests and records. [spec:webhooks#2.3] */
#include "services/webhook/api/face.h"

#include "base/hex.h"
#include "codec/base64.h"

enum { NAME_MAX_BYTES = 200, NETWORK_MAX = 32, SECRET_BYTES = 32, UUID_BYTES = 16 };

#define T(type) (1u << CD_WH_C_##type)

enum {
    TRANSFERS = T(ADDRESS) | T(NFT) | T(TOKEN),
    WITH_TX = TRANSFERS | T(MINED) | T(INTERNAL) | T(PENDING),
};

static const cd_wh_filter_key keys[] = {
    {.name = "address", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, addresses), .types = WITH_TX},
    {.name = "from", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, from), .types = WITH_TX},
    {.name = "to", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, to), .types = WITH_TX},
    {.name = "contract", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, contracts), .types = TRANSFERS},
    {.name = "tokenContract", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, contracts), .types = TRANSFERS},
    {.name = "minValue", .kind = CD_WH_KEY_AMOUNT, .at = offsetof(cd_wh_filter, min_value), .types = WITH_TX & ~T(NFT)},
    {.name = "functionSelector",
     .kind = CD_WH_KEY_SELECTORS,
     .at = offsetof(cd_wh_filter, selectors),
     .types = T(ADDRESS) | T(MINED) | T(PENDING)},
    {.name = "topicHash", .kind = CD_WH_KEY_TOPIC0, .at = offsetof(cd_wh_filter, topics), .types = TRANSFERS},
    {.name = "tokenId", .kind = CD_WH_KEY_NUMBERS, .at = offsetof(cd_wh_filter, token_ids), .types = T(NFT)},
    {.name = "txHash", .kind = CD_WH_KEY_HASHES, .at = offsetof(cd_wh_filter, tx_hashes), .types = WITH_TX},
};

static cd_err read_filters(cd_wh_read *r, cd_wh_hook *hook, cd_json body)
{
    return cd_wh_read_filter(r, &hook->filter, &hook->config, cd_json_get(body, "filters"), "filters", keys,
                             CD_COUNT(keys), hook->types);
}

static cd_err read_event_types(cd_wh_read *r, cd_wh_hook *hook, cd_bytes *order, cd_json body)
{
    cd_json one = cd_json_get(body, "event_type");
    cd_json list = cd_json_get(body, "event_types");
    cd_wh_type type;
    if (cd_json_has(list)) {
        CD_TRY(cd_wh_read_types(r, &hook->types, order, CD_WH_C, list, "event_types"));
    }
    if (cd_json_has(one) || !cd_json_has(list)) {
        CD_TRY(cd_wh_read_type(r, &type, CD_WH_C, one, "event_type"));
        if (cd_json_has(list) && (hook->types & 1u << type) == 0) {
            return cd_wh_bad(r, "invalid_value", "event_type", "event_type is not among event_types");
        }
        if (!cd_json_has(list)) {
            hook->types = 1u << type;
            *order = cd_bytes_str(cd_arena_fmt(r->mem, "[\"%s\"]", cd_wh_type_name(type)));
        }
    }
    return CD_OK;
}

/* Version 4 [RFC 9562 5.4]. */
static const char *draw_uuid(cd_wh_read *r)
{
    u8 b[UUID_BYTES];
    char d[2 * UUID_BYTES];
    cd_rng_fill(r->rng, b, sizeof b);
    b[6] = (u8)((b[6] & 0x0F) | 0x40);
    b[8] = (u8)((b[8] & 0x3F) | 0x80);
    cd_hex_fmt(d, cd_bytes_of(b, sizeof b));
    return cd_arena_fmt(r->mem, "%.8s-%.4s-%.4s-%.4s-%.12s", d, d + 8, d + 12, d + 16, d + 20);
}

/* 43 characters of base64url, without padding [RFC 4648 5]. */
static cd_bytes draw_secret(cd_wh_read *r)
{
    u8 b[SECRET_BYTES];
    cd_buf text = {0};
    cd_rng_fill(r->rng, b, sizeof b);
    cd_base64_enc(&text, cd_bytes_of(b, sizeof b));
    text.n--;
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        text.p[i] = c == '+' ? '-' : c == '/' ? '_' : c;
    }
    cd_bytes out = cd_arena_dup(r->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

static cd_err create(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    cd_wh_hook *hook = &d->hook;
    cd_bytes order = {0};
    hook->network = "mainnet";
    CD_TRY(cd_wh_read_str(r, &hook->name, body, "name", NAME_MAX_BYTES, !r->is_dry));
    CD_TRY(cd_wh_read_str(r, &hook->url, body, "url", CD_WH_URL_MAX, !r->is_dry));
    CD_TRY(cd_wh_read_chain(r, &hook->chain, body));
    CD_TRY(cd_wh_read_str(r, &hook->network, body, "network", NETWORK_MAX, false));
    CD_TRY(read_event_types(r, hook, &order, body));
    CD_TRY(read_filters(r, hook, body));
    CD_TRY(cd_wh_read_settings(r, d, body, order));
    hook->id = draw_uuid(r);
    hook->secret = draw_secret(r);
    return CD_OK;
}

static cd_err patch(cd_wh_read *r, cd_wh_draft *d, cd_json body)
{
    static const char *const fixed[] = {"chain", "network", "event_type", "event_types"};
    cd_wh_hook *hook = &d->hook;
    bool is_active = hook->status == CD_WH_ACTIVE;
    cd_wh_warn_fixed(r, body, fixed, CD_COUNT(fixed));
    CD_TRY(cd_wh_read_change(r, d, &hook->name, body, "name", NAME_MAX_BYTES, CD_WH_GIVEN_NAME));
    CD_TRY(cd_wh_read_change(r, d, &hook->url, body, "url", CD_WH_URL_MAX, CD_WH_GIVEN_URL));
    if (cd_json_has(cd_json_get(body, "is_active"))) {
        CD_TRY(cd_wh_read_bool(r, &is_active, body, "is_active"));
        hook->status = is_active ? CD_WH_ACTIVE : CD_WH_DISABLED;
        d->given |= CD_WH_GIVEN_STATUS;
    }
    if (cd_json_has(cd_json_get(body, "filters"))) {
        CD_TRY(read_filters(r, hook, body));
        d->given |= CD_WH_GIVEN_CONFIG;
    }
    CD_TRY(cd_wh_read_settings(r, d, body, (cd_bytes){0}));
    return cd_wh_read_again(r, d, body);
}

/* The first of the client's list. */
static void w_first_type(cd_json_w *w, const cd_wh_hook *hook, cd_arena *mem)
{
    cd_json settings;
    cd_bytes name;
    cd_json_w_key(w, "event_type");
    if (hook->settings.n != 0 && cd_json_parse(&settings, mem, hook->settings, 0, NULL) == CD_OK &&
        cd_json_str(&name, cd_json_at(cd_json_get(settings, "events"), 0), NULL) == CD_OK) {
        cd_json_w_str(w, name);
    } else {
        cd_json_w_cstr(w, cd_wh_type_name((cd_wh_type)__builtin_ctz(hook->types)));
    }
}

static void record(cd_json_w *w, const cd_wh_hook *hook, u32 show, cd_arena *mem)
{
    cd_wh_w_str(w, "id", hook->id);
    cd_wh_w_str(w, "name", hook->name);
    cd_wh_w_str(w, "url", hook->url);
    cd_wh_w_str(w, "chain", hook->chain);
    cd_wh_w_str(w, "network", hook->network);
    w_first_type(w, hook, mem);
    cd_wh_w_types(w, "event_types", hook, mem);
    cd_wh_w_raw(w, "filters", hook->config);
    cd_json_w_key(w, "is_active");
    cd_json_w_bool(w, hook->status == CD_WH_ACTIVE);
    cd_json_w_key(w, "failure_count");
    cd_json_w_u64(w, hook->failures);
    cd_wh_w_time(w, "last_triggered_at", hook->last_ms, true);
    cd_wh_w_time(w, "created_at", hook->created_ms, true);
    if ((show & CD_WH_SHOW_SECRET) != 0) {
        cd_json_w_key(w, "secret");
        cd_json_w_str(w, hook->secret);
    }
    cd_wh_w_settings(w, hook, mem);
}

const cd_wh_face_api cd_wh_face_c = {
    .list_key = "address",
    .secret_key = "secret",
    .create = create,
    .patch = patch,
    .record = record,
    .id = draw_uuid,
    .secret = draw_secret,
};
