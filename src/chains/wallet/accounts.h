/* chains/wallet/accounts.h - imports to accounts of the C-Chain, and exports from them.
 *
 *   outputs that another chain left ──► import ──► one account        less the fee of gas
 *   accounts, the richest first ──► export ──► one output             and the fee of gas
 *
 * Threading: pure. [spec:evm-chain#9] */
#ifndef CD_CHAINS_WALLET_ACCOUNTS_H
#define CD_CHAINS_WALLET_ACCOUNTS_H

#include "chains/wallet/fund.h"
#include "num/u256.h"

/* The C-Chain as a wallet finds it. */
typedef struct cd_wallet_c {
    u32 network_id;
    cd_hash32 chain_id;
    cd_hash32 asset_id; /* the native asset, the only one that moves */
    u64 rate;           /* wei of a base unit */
    cd_u256 base_fee;   /* wei; a quarter more is paid, since it may rise until the transaction is in a block */
} cd_wallet_c;

/* An account that pays. */
typedef struct cd_wallet_account {
    cd_addr20 acct;
    cd_addr20 addr; /* the address of the same key on P and X, by which signers are named */
    u64 nonce;
    u64 units; /* base units that it has */
} cd_wallet_account;

/* The most accounts that pay for one export. */
enum { CD_WALLET_ACCOUNTS_MAX = 64 };

/* cd_wallet_units gives how many whole base units some wei are. */
u64 cd_wallet_units(const cd_wallet_c *c, const cd_u256 *wei);

/* cd_wallet_import_c makes d the import of what `there` may take of the native asset (its addresses sign), as much as
 * one transaction has room for. Errors: CD_ENOENT when nothing may be taken, CD_ERANGE when it does not pay the fee. */
cd_err cd_wallet_import_c(cd_wallet_draft *d, const cd_wallet_c *c, const cd_wallet_purse *there,
                          const cd_hash32 *source, const cd_addr20 *to, cd_errinfo *why) CD_CHECK;

/* cd_wallet_export_c makes d the export of an amount to owners on another chain; cnt accounts, put in another order,
 * pay. Errors: CD_ERANGE when they have too little. */
cd_err cd_wallet_export_c(cd_wallet_draft *d, const cd_wallet_c *c, cd_arena *a, cd_wallet_account *accts, usize cnt,
                          const cd_hash32 *destination, const cd_owners *to, u64 amount, cd_errinfo *why) CD_CHECK;

#endif
