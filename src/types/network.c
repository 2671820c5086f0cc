#include "types/network.h"

#include "base/num_text.h"
#include "base/text.h"

#include <stdio.h>

/* --- families --- */

static const cd_network_family product = {
    .name = "product",
    .asset = "Lux",
    .symbol = "LUX",
    .net = "net",
    .Net = "Net",
    .x_service = "xvm",
    .c_service = "lux",
    .root = "/v1",
    .lps = "lps",
    .decimals = 6,
    .legacy_stakers = true,
    .stake_amount = true,
    .net_details = true,
};
static const cd_network_family upstream = {
    .name = "upstream",
    .asset = "Avalanche",
    .symbol = "AVAX",
    .net = "subnet",
    .Net = "Subnet",
    .x_service = "avm",
    .c_service = "avax",
    .root = "/ext",
    .lps = "acps",
    .decimals = 9,
    .uptime_percent = true,
    .null_lists = true,
    .upstream_modules = true,
};

/* --- economies --- */

/* Figures that are the same in all networks. */
#define EVERYWHERE                                                                                                     \
    .tx_fee = 1, .add_net_validator_fee = 1, .add_net_delegator_fee = 1, .max_validator_stake = 3000000000,            \
    .min_delegation_fee = 20000, .uptime_requirement = 800000, .max_stake_s = 31536000,                                \
    .max_consumption_rate = 120000, .min_consumption_rate = 100000, .minting_period_s = 31536000,                      \
    .supply_cap = 720000000000, .l1_capacity = 20000, .l1_target = 10000, .l1_min_price = 1

static const cd_network_economy mainnet = {
    EVERYWHERE,
    .create_asset_fee = 10,
    .create_net_fee = 1000,
    .create_chain_fee = 1000,
    .transform_net_fee = 10000,
    .min_validator_stake = 2000000,
    .min_delegator_stake = 25000,
    .min_stake_s = 1209600,
    .genesis_start = 1767225600,
    .l1_k = 1246488515,
    .c_base_fee = 25000000000,
};
static const cd_network_economy testnet = {
    EVERYWHERE,
    .create_asset_fee = 10,
    .create_net_fee = 100,
    .create_chain_fee = 100,
    .transform_net_fee = 1000,
    .min_validator_stake = 1000,
    .min_delegator_stake = 1000,
    .min_stake_s = 86400,
    .genesis_start = 1767225600,
    .l1_k = 1246488515,
    .c_base_fee = 1,
};

/* Figures that networks for trying things out share. */
#define LOCALLY                                                                                                        \
    EVERYWHERE, .create_asset_fee = 1, .create_net_fee = 100, .create_chain_fee = 100, .transform_net_fee = 100,       \
                .min_validator_stake = 2000000, .min_delegator_stake = 25000, .min_stake_s = 86400, .c_base_fee = 1

static const cd_network_economy devnet = {LOCALLY, .genesis_start = 1767225600, .l1_k = 1246488515};
static const cd_network_economy local = {LOCALLY, .genesis_start = 1721016000, .genesis_step_s = 23328000,
                                         .l1_k = 865617};

/* --- networks --- */

#define X(id_, name_, prefix_, chain_, port_, decimals_, is_dev_, family_, economy_)                                   \
    {                                                                                                                  \
        .id = (id_),                                                                                                   \
        .name = (name_),                                                                                               \
        .prefix = (prefix_),                                                                                           \
        .evm_chain_id = (chain_),                                                                                      \
        .http_port = (port_),                                                                                          \
        .decimals = (decimals_),                                                                                       \
        .is_dev = (is_dev_),                                                                                           \
        .family = &(family_),                                                                                          \
        .economy = &(economy_),                                                                                        \
    },
static const cd_network rows[] = {
#include "types/network.def"
};

/* The row for networks without one of their own; a copy gets the network's id. */
static const cd_network others[] = {X(0, "custom", "custom", 43112, 9630, 6, false, product, local)};
#undef X

const cd_network *cd_network_find(const char *name)
{
    u64 id;
    bool is_number = cd_u64_parse(&id, cd_bytes_str(name)) == CD_OK;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        bool is_named = cd_text_same(cd_bytes_str(rows[i].name), cd_bytes_str(name));
        if (is_number ? rows[i].id == id : is_named) {
            return &rows[i];
        }
    }
    return NULL;
}

cd_network cd_network_of(u32 id)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].id == id) {
            return rows[i];
        }
    }
    cd_network n = others[0];
    n.id = id;
    return n;
}

cd_err cd_network_parse(cd_network_any *out, const char *text, cd_errinfo *why)
{
    static const char front[] = "network-";
    u64 id;
    bool has_front = strncmp(text, front, sizeof front - 1) == 0;
    const char *number = has_front ? text + sizeof front - 1 : text;
    bool is_number = cd_u64_parse(&id, cd_bytes_str(number)) == CD_OK;
    const cd_network *row = has_front && !is_number ? NULL : cd_network_find(number);
    if (row != NULL) {
        out->network = *row;
        return CD_OK;
    }
    if (!is_number || id == 0 || id > UINT32_MAX) {
        return cd_fail(why, CD_EFORMAT, "failed to parse network name: \"%.60s\"", text);
    }
    out->network = cd_network_of((u32)id);
    (void)snprintf(out->name, sizeof out->name, "%s%u", front, (u32)id);
    out->network.name = out->name;
    return CD_OK;
}

const cd_network_family *cd_network_family_find(const char *name)
{
    bool is_product = cd_text_same(cd_bytes_str(product.name), cd_bytes_str(name));
    bool is_upstream = cd_text_same(cd_bytes_str(upstream.name), cd_bytes_str(name));
    return is_product ? &product : is_upstream ? &upstream : NULL;
}

cd_err cd_network_profile(cd_network *n, const char *name, cd_errinfo *why)
{
    const cd_network_family *family = cd_network_family_find(name);
    if (family == NULL) {
        return cd_fail(why, CD_EINVAL, "--network-profile is \"product\" or \"upstream\", not \"%.40s\"", name);
    }
    n->family = family;
    n->decimals = family->decimals;
    return CD_OK;
}

bool cd_network_is_public(const cd_network *n)
{
    return n->economy == &mainnet || n->economy == &testnet;
}

bool cd_network_refuses_public_keys(u32 id)
{
    static const u32 ids[] = {1, 2, 3, 5};
    bool is_there = false;
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        is_there = is_there || id == ids[i];
    }
    return is_there;
}

u64 cd_network_amount(const cd_network *n, u64 thousandths)
{
    CD_ASSERT(n->decimals >= 3);
    u64 unit = 1;
    for (u8 i = 3; i < n->decimals; i++) {
        unit *= 10;
    }
    return thousandths * unit;
}
