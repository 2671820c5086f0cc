/* apps/cli/remote/world.h - the network behind a node, as a wallet sees it: names, fees, who owns what.
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_WORLD_H
#define CD_APPS_CLI_WORLD_H

#include "chains/wallet/fund.h"
#include "remote/remote.h"
#include "types/network.h"

/* What is known of a network. */
typedef struct cd__world {
    cd_arena *mem;
    cd__remote *node;
    cd_network network; /* our row for the network ID that the node gives */
    cd_hash32 asset_id; /* the native asset */
    cd_hash32 x_chain_id;
    cd_hash32 c_chain_id;
    u8 decimals; /* of the native asset */
    u64 now;     /* Unix seconds */
} cd__world;

/* cd__world_open asks the node at url. Errors: those of cd__remote_ask. cd__world_close: a zeroed one is allowed. */
cd_err cd__world_open(cd__world *out, cd_arena *mem, const char *url, cd_errinfo *why) CD_CHECK;
void cd__world_close(cd__world *w);

/* cd__chain_id gives the ID of P (zero), X or C by its letter. Errors: CD_EINVAL. */
cd_err cd__chain_id(const cd__world *w, cd_hash32 *out, const char *letter, cd_errinfo *why) CD_CHECK;

/* cd__chain_path gives the path of a chain's methods. */
const char *cd__chain_path(const cd_wallet_chain *chain);

/* cd__utxos fetches all outputs of addresses on a chain; source NULL: its own outputs, else those that the chain source
 * exported to it. Errors: those of cd__remote_ask, of parsing. */
cd_err cd__utxos(cd__world *w, cd_utxo **out, usize *cnt, const cd_wallet_chain *chain, const char *source,
                 const cd_addr20 *addrs, usize addr_cnt, cd_errinfo *why) CD_CHECK;

/* cd__fee asks for the present fee of P or X; for the C-Chain see cd__base_fee. */
cd_err cd__fee(cd__world *w, cd_wallet_fee *out, const cd_wallet_chain *chain, bool creates_asset,
               cd_errinfo *why) CD_CHECK;

/* cd__base_fee asks for the base fee of the C-Chain, wei. */
cd_err cd__base_fee(cd__world *w, cd_u256 *out, cd_errinfo *why) CD_CHECK;

/* cd__wei_per_unit gives how many wei of the C-Chain are one base unit of P and X. */
u64 cd__wei_per_unit(const cd__world *w);

/* cd__addr_text gives an address of a chain as text, cd__addr_read reads one with a chain's letter or without. Errors:
 * CD_EFORMAT, CD_EINVAL for one of another network. */
const char *cd__addr_text(const cd__world *w, const char *chain, const cd_addr20 *addr);
cd_err cd__addr_read(const cd__world *w, cd_addr20 *out, const char *text, cd_errinfo *why) CD_CHECK;

/* cd__asset_find gives the ID of an asset by ID or alias ("", the native one) and how many decimals it has. */
cd_err cd__asset_find(cd__world *w, cd_hash32 *id, u8 *decimals, const char *text, cd_errinfo *why) CD_CHECK;

/* cd__amount_read reads "1.5" as base units; cd__amount_text writes them so. Errors: CD_EFORMAT, CD_ERANGE. */
cd_err cd__amount_read(u64 *out, const char *text, u8 decimals, cd_errinfo *why) CD_CHECK;
const char *cd__amount_text(cd_arena *mem, u64 amount, u8 decimals);

/* cd__issue issues a signed transaction, cd__await waits until it is decided and gives its status; "Dropped" is an
 * error with the node's reason. */
cd_err cd__issue(cd__world *w, cd_hash32 *id, const cd_wallet_draft *d, cd_errinfo *why) CD_CHECK;
cd_err cd__await(cd__world *w, const char **status, const cd_wallet_chain *chain, const cd_hash32 *id,
                 cd_errinfo *why) CD_CHECK;

#endif
