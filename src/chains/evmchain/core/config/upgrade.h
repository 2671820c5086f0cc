/* chains/evmchain/core/config/upgrade.h - the upgrade file: times of network upgrades, precompiles switched on or
 * off, and changes made to the state at a block boundary.
 *
 *   {"networkUpgradeOverrides": {…}, "precompileUpgrades": […], "stateUpgrades": […]}
 *
 * Precompile upgrades are handed on as JSON (precompile/schedule.h). Threading: frozen once parsed.
 * [spec:evm-chain#8] */
#ifndef CD_CHAINS_EVMCHAIN_CONFIG_UPGRADE_H
#define CD_CHAINS_EVMCHAIN_CONFIG_UPGRADE_H

#include "evm/state/state.h"
#include "types/genesis.h"

/* What a state upgrade does to one account, made if there is none. */
typedef struct cd_upgrade_account {
    cd_addr20 addr;
    cd_u256 balance_change; /* wei to add */
    cd_bytes code;          /* empty: unchanged */
    const cd_genesis_slot *slots;
    usize slot_cnt;
} cd_upgrade_account;

/* Changes of accounts that a configuration orders at a time (Unix seconds). */
typedef struct cd_state_upgrade {
    u64 time;
    const cd_upgrade_account *accounts; /* ascending by address */
    usize account_cnt;
} cd_state_upgrade;

/* All zero: nothing is upgraded. */
typedef struct cd_upgrades {
    cd_chain_config overrides;      /* of times; only what is_set counts */
    cd_json precompiles;            /* precompileUpgrades as it is in the document */
    const cd_state_upgrade *states; /* ascending by time */
    usize state_cnt;
} cd_upgrades;

/* cd_upgrades_parse reads an upgrade file, empty text = nothing; everything lies in the arena.
 * Errors: those of codec/json.h, CD_EINVAL with the words of [spec:evm-chain#8]. */
cd_err cd_upgrades_parse(cd_upgrades *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_upgrades_override replaces the times in config that the file names. */
void cd_upgrades_override(const cd_upgrades *u, cd_chain_config *config);

/* cd_state_upgrades_apply makes the changes due between parent_time (NULL: genesis) and time to the state of the
 * block in the making, after the precompiles' and before its first transaction. */
void cd_state_upgrades_apply(const cd_upgrades *u, cd_state *st, const u64 *parent_time, u64 time);

/* cd_state_upgrades_compatible: what was due up to time is the same in both. Errors: CD_EINVAL with the words of
 * [spec:evm-chain#7]. */
cd_err cd_state_upgrades_compatible(const cd_upgrades *old, const cd_upgrades *now, u64 time, cd_errinfo *why) CD_CHECK;

#endif
