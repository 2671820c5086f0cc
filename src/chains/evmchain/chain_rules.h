/* chains/evmchain/chain_rules.h - from a chain's configuration to the rows that hold for a block: fork, profile, header
 * layout, account form, fee configuration.
 *
 * Threading: frozen once made. [spec:evm-chain#0] [spec:evm-chain#7] */
#ifndef CD_CHAINS_EVMCHAIN_CHAIN_RULES_H
#define CD_CHAINS_EVMCHAIN_CHAIN_RULES_H

#include "evm/rules.h"
#include "types/account_rlp.h"
#include "types/genesis.h"

typedef struct cd_chain_rules {
    cd_profile_id profile;
    cd_header_layout layout;
    cd_account_form account_form;
    u64 chain_id;
    cd_chain_config config; /* network upgrades resolved; its json is not kept */
} cd_chain_rules;

/* cd_chain_rules_init resolves a configuration: fills in defaults, checks the order of upgrades.
 * Errors: CD_EINVAL with the key that is wrong. */
cd_err cd_chain_rules_init(cd_chain_rules *out, const cd_chain_config *config,
                           cd_errinfo *why) CD_CHECK;

/* cd_chain_rules_fork gives the fork of a block. */
cd_fork cd_chain_rules_fork(const cd_chain_rules *r, u64 number, u64 time);

#endif
