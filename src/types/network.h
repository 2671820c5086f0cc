/* types/network.h - what differs between networks, one row each. Nothing else in the project asks
 * for a network by name. Threading: frozen. [spec:architecture#10] */
#ifndef CD_TYPES_NETWORK_H
#define CD_TYPES_NETWORK_H

#include "base/bytes.h"

/* The names that a family of networks uses, and what it allows. [spec:decisions#D3] [spec:decisions#D12]
 * [spec:decisions#D29] */
typedef struct cd_network_family {
    const char *name;      /* "product", "upstream" */
    const char *asset;     /* name of the native asset: "Lux" */
    const char *symbol;    /* its symbol, and its alias on the X-Chain: "LUX" */
    const char *net;       /* what answers call a net: "net" or "subnet" */
    const char *Net;       /* the same inside a name such as createNetTxFee: "Net" or "Subnet" */
    const char *x_service; /* prefix of the X-Chain's methods: "xvm" */
    const char *c_service; /* prefix of the C-Chain's atomic methods: "lux" */
    const char *root;      /* start of paths in messages: "/v1"; the node serves the paths of both families */
    const char *lps;       /* name of the method info.lps and of the member in its answer */
    bool legacy_stakers;   /* transactions from before Durango still add stakers, which wait for their start time */
    bool uptime_percent;   /* an uptime is a percentage, not a fraction */
    bool null_lists;       /* an answer without UTXOs has null in place of [] */
    bool stake_amount;     /* stakers have stakeAmount beside weight */
    bool net_details;      /* answers about nets contain their ID, and in lists who manages them */
    bool upstream_modules; /* built-in contracts of the C-Chain are where upstream has them, not at our addresses */
    u8 decimals;           /* decimals of the native asset on networks of the family */
} cd_network_family;

/* Fees of transactions, and stakes and rewards of stakers. Amounts are in thousandths of a token (cd_network_amount),
 * times in seconds, shares and rates in parts of a million. [spec:pchain-xchain#6] [spec:pchain-xchain#7] */
typedef struct cd_network_economy {
    /* static fees: info.getTxFee tells them all, and the X-Chain takes the first two */
    u64 tx_fee;
    u64 create_asset_fee;
    u64 create_net_fee;
    u64 create_chain_fee;
    u64 transform_net_fee;
    u64 add_primary_validator_fee;
    u64 add_primary_delegator_fee;
    u64 add_net_validator_fee;
    u64 add_net_delegator_fee;
    /* stakers of the primary network */
    u64 min_validator_stake;
    u64 max_validator_stake;
    u64 min_delegator_stake;
    u32 min_delegation_fee;
    u32 uptime_requirement;
    u64 min_stake_s;
    u64 max_stake_s;
    /* rewards */
    u64 max_consumption_rate;
    u64 min_consumption_rate;
    u64 minting_period_s;
    u64 supply_cap;
    /* when a built-in genesis begins, seconds since 1970; it begins anew after each step (0: never) */
    u64 genesis_start;
    u64 genesis_step_s;
    /* what a validator of an L1 pays each second: l1_min_price base units, times e for each l1_k validator-seconds by
     * which there were more validators than l1_target */
    u64 l1_capacity;
    u64 l1_target;
    u64 l1_min_price;
    u64 l1_k;
    /* the lowest base fee of a built-in C-Chain, wei */
    u64 c_base_fee;
} cd_network_economy;

/* A network. */
typedef struct cd_network {
    u32 id;
    const char *name;
    const char *prefix; /* prefix of bech32 addresses */
    u64 evm_chain_id;
    u16 http_port;
    u8 decimals; /* decimals of the native asset on the P- and X-Chain */
    bool is_dev; /* a network of one node, with unlocked accounts, that makes blocks on demand */
    const cd_network_family *family;
    const cd_network_economy *economy;
} cd_network;

/* cd_network_find gives the row of a name in any case, or of a number in decimal (the first row with that id); NULL
 * when there is none. */
const cd_network *cd_network_find(const char *name);

/* cd_network_of gives the row of an id, or a row made for networks that have none. */
cd_network cd_network_of(u32 id);

enum { CD_NETWORK_NAME_MAX = 24 };

/* A network that need not have a row. */
typedef struct cd_network_any {
    cd_network network;
    char name[CD_NETWORK_NAME_MAX];
} cd_network_any;

/* cd_network_parse reads a name in any case, a number, or "network-<number>". Errors: CD_EFORMAT, in the original's
 * words. *out must not be moved or copied, as it points into itself. */
cd_err cd_network_parse(cd_network_any *out, const char *text, cd_errinfo *why) CD_CHECK;

/* cd_network_family_find gives a family by its name in any case, "product" or "upstream"; NULL when there is none. */
const cd_network_family *cd_network_family_find(const char *name);

/* cd_network_profile gives a network the family and the decimals of a name of cd_network_family_find. Errors: CD_EINVAL
 * when there is none. */
cd_err cd_network_profile(cd_network *n, const char *name, cd_errinfo *why) CD_CHECK;

/* cd_network_is_public says whether n is a network of the public internet: mainnet or testnet. */
bool cd_network_is_public(const cd_network *n);

/* cd_network_refuses_public_keys: assets of the network have a value, so keys that everybody knows must not be used
 * there. [spec:decisions#D17] */
bool cd_network_refuses_public_keys(u32 id);

/* cd_network_amount turns thousandths of a token into base units of a network. */
u64 cd_network_amount(const cd_network *n, u64 thousandths);

#endif
