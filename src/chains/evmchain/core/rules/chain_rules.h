/* chains/evmchain/core/rules/chain_rules.h - from a chain's configuration to what holds for a block: fork, profile,
 * header layout, account form, precompiles, fees, coinbase, and what changes at its boundary.
 *
 *   genesis config ─┐
 *   upgrade file  ──┴─► cd_chain_rules ──► fork(time), table(time), fees and coinbase of a child, begin of a block
 *
 * Threading: frozen once made; any thread may ask. [spec:evm-chain#0] [spec:evm-chain#7] */
#ifndef CD_CHAINS_EVMCHAIN_CHAIN_RULES_H
#define CD_CHAINS_EVMCHAIN_CHAIN_RULES_H

#include "chains/evmchain/core/block_exec.h"
#include "chains/evmchain/core/config/upgrade.h"
#include "chains/evmchain/core/rules/fee_c.h"
#include "evm/rules/rules.h"
#include "precompile/policy.h"
#include "types/account_rlp.h"
#include "types/genesis.h"
#include "types/predicate.h"

/* When network upgrades come on a network whose genesis does not say; a row of the network profile. */
typedef struct cd_upgrade_times {
    cd_when durango;
    cd_when etna;
    cd_when fortuna;
    cd_when granite;
    cd_when phases; /* of the C profile: everything before Durango */
} cd_upgrade_times;

/* What a chain is made of; used only while the rules are made. */
typedef struct cd_chain_rules_cfg {
    const cd_chain_config *config;   /* of the genesis, its json included */
    cd_bytes upgrades;               /* upgrade file; empty = none */
    const cd_upgrade_times *network; /* NULL: everything up to Fortuna at genesis, Granite never */
    u32 network_id;
    cd_hash32 blockchain_id;
    cd_module_addrs addrs;
    bool is_atomic;      /* its blocks may have atomic transactions, whatever the profile */
    bool is_dev;         /* blocks of the development network [spec:dev-rpc#1.2] */
    u64 warp_quorum_min; /* as in cd_schedule_cfg, with unverified: only for upstream's test data */
    bool unverified;
} cd_chain_rules_cfg;

/* The rules of a chain, frozen. */
typedef struct cd_chain_rules {
    cd_profile_id profile;
    cd_header_layout layout;
    cd_account_form account_form;
    u64 chain_id;
    bool is_dev;
    cd_chain_config config; /* network upgrades resolved, fees filled in; its json is not kept */
    cd_schedule *schedule;  /* of precompiles; NULL in Ethereum's layout */
    cd_upgrades upgrades;   /* its json is not kept */
    cd_arena arena;         /* holds them */
} cd_chain_rules;

/* cd_chain_rules_init resolves a configuration: fills in defaults, checks times and fees.
 * Errors: CD_EINVAL with the words of [spec:evm-chain#7], [spec:evm-chain#8] or [spec:precompiles-core#10]. */
cd_err cd_chain_rules_init(cd_chain_rules *out, const cd_chain_rules_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_chain_rules_fini(cd_chain_rules *r);

/* cd_chain_rules_compatible: a chain that has run under old up to a head of that time may go on under now.
 * Errors: CD_EINVAL with the words of [spec:evm-chain#7]. */
cd_err cd_chain_rules_compatible(const cd_chain_rules *old, const cd_chain_rules *now, u64 head_time,
                                 cd_errinfo *why) CD_CHECK;

/* cd_chain_rules_fork gives the fork of a block; _is_granite whether Granite holds. */
cd_fork cd_chain_rules_fork(const cd_chain_rules *r, u64 number, u64 time);
bool cd_chain_rules_is_granite(const cd_chain_rules *r, u64 time);

/* cd_chain_rules_is_eth: Ethereum's own chains; fees, extra data and coinbase follow other rules elsewhere.
 * cd_chain_rules_era gives the era of the C profile; _prefix the bytes in front of the results of predicates in the
 * extra data of a block. */
bool cd_chain_rules_is_eth(const cd_chain_rules *r);
cd_c_era cd_chain_rules_era(const cd_chain_rules *r, u64 time);
usize cd_chain_rules_prefix(const cd_chain_rules *r, u64 time);

/* cd_chain_rules_table gives the precompiles of a block. */
const cd_precompile_table *cd_chain_rules_table(const cd_chain_rules *r, u64 number, u64 time);

/* What a parent decides for its child, read from the state after the parent. */
typedef struct cd_child_rules {
    cd_fee_config fee;
    cd_u256 fee_changed_at; /* number of the block that last changed it; 0: genesis' */
    cd_coinbase_rule coinbase;
} cd_child_rules;

/* cd_child_rules_read asks fee and reward manager, where they are in force. Errors: the source's. */
cd_err cd_child_rules_read(cd_child_rules *out, const cd_chain_rules *r, cd_state_source *parent,
                           u64 parent_time) CD_CHECK;

/* cd_chain_rules_env fills in what byte code sees of a block; predicates stays NULL. */
void cd_chain_rules_env(const cd_chain_rules *r, cd_block_env *out, const cd_header *h);

/* A block whose execution begins; stays where it is until it ended. */
typedef struct cd_block_run {
    cd_block_env env;
    cd_predicate_results predicates;
    cd_block_exec exec;
} cd_block_run;

/* cd_block_run_begin makes st, which stands at the parent of time parent_time, ready for the first transaction of a
 * block with header h: precompiles and state upgrades that come between the two, the EIP-4788 call. predicates NULL:
 * those in the header's extra data (of an accepted block). Errors: CD_EFORMAT when these are malformed. */
cd_err cd_block_run_begin(cd_block_run *run, const cd_chain_rules *r, cd_evm *evm, cd_state *st, cd_arena *arena,
                          const cd_header *h, u64 parent_time, const cd_predicate_results *predicates) CD_CHECK;

#endif
