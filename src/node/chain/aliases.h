/* node/chain/aliases.h - names and paths that an operator gives chains while the node runs.
 *
 *   aliasChain  "X", "assets"          ──► names:  /v1/bc/assets, info.getBlockchainID
 *   alias       "bc/X/wallet", "pay"   ──► routes: /v1/pay
 *
 * Errors are in the original's words. Threading: the loop's. [spec:node-api#8] */
#ifndef CD_NODE_ALIASES_H
#define CD_NODE_ALIASES_H

#include "node/chain/chains.h"

/* cd_alias_chain gives an open chain, named by chain, one more name until it closes. Errors: CD_ENOENT, CD_EEXIST,
 * CD_ELIMIT. */
cd_err cd_alias_chain(cd_chains *cs, cd_bytes chain, cd_bytes alias, cd_errinfo *why) CD_CHECK;

/* cd_alias_route makes an endpoint of a chain answer at /v1/<alias> too, below root in messages. Errors: those of
 * cd_alias_chain, and CD_EINVAL for what is no endpoint of a chain or an alias with a slash. */
cd_err cd_alias_route(cd_chains *cs, const char *root, cd_bytes endpoint, cd_bytes alias, cd_errinfo *why) CD_CHECK;

/* cd_alias_put writes the names of a chain as a list, or null when it has none. */
void cd_alias_put(const cd_chains *cs, cd_json_w *w, const cd_hash32 *chain);

#endif
