/* chains/wallet/methods.h - what methods that act with a user's keys have in common on all chains.
 *
 * Threading: as the call's. [spec:node-api#5] [spec:node-api#6] [spec:node-api#7] */
#ifndef CD_CHAINS_WALLET_METHODS_H
#define CD_CHAINS_WALLET_METHODS_H

#include "chains/wallet/keys.h"
#include "rpc/named.h"

/* What those that pay are told. */
typedef struct cd_wallet_payer {
    cd_bytes username;
    cd_bytes password;
    cd_rpc_strings from;
    cd_bytes change;
} cd_wallet_payer;

/* CD_WALLET_PAYER takes it out of a method's parameters. */
#define CD_WALLET_PAYER(args_)                                                                                         \
    ((cd_wallet_payer){.username = (args_)->username,                                                                  \
                       .password = (args_)->password,                                                                  \
                       .from = (args_)->from,                                                                          \
                       .change = (args_)->change})

/* cd_wallet_said hands e on; when it is not CD_OK the call fails with what why says. */
cd_err cd_wallet_said(cd_rpc_call *call, cd_err e, const cd_errinfo *why) CD_CHECK;

/* cd_wallet_show_key answers a call with the key of an address, or of an account of the C-Chain (acct; addr is NULL
 * then), which is told in hexadecimal digits, too. */
cd_err cd_wallet_show_key(cd_rpc_call *call, const cd_vm_users *users, const cd_vm_user *user, const cd_hash32 *chain,
                          const cd_addr20 *addr, const cd_addr20 *acct) CD_CHECK;

/* cd_wallet_there reads where an export goes: "X-lux1…" names chain and address, an address alone (bech32 or
 * CB58) goes with target. chain is borrowed from either. Errors: CD_ENOENT when the chain is missing, those of
 * cd_chain_addr_parse and cd_bech32_parse, CD_EFORMAT for another prefix. */
cd_err cd_wallet_there(cd_addr20 *to, cd_bytes *chain, cd_bytes text, cd_bytes target, const char *prefix,
                       cd_errinfo *why) CD_CHECK;

#endif
