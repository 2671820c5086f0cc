/* chains/xvm/address.h - addresses and chains as clients of the X-Chain write them.
 *
 * Threading: pure, with frozen rules. [spec:node-api#5.2] */
#ifndef CD_CHAINS_XVM_ADDRESS_H
#define CD_CHAINS_XVM_ADDRESS_H

#include "vm/vm.h"

/* How this chain writes addresses. */
typedef struct cd_xvm_place {
    const cd_vm_ctx *ctx;
    const char *prefix; /* of bech32 */
} cd_xvm_place;

/* cd_xvm_place_of takes what it needs from the context, which it borrows. */
cd_xvm_place cd_xvm_place_of(const cd_vm_ctx *ctx);

/* cd_xvm_chain_parse finds a chain by alias or ID. Errors: CD_ENOENT with the original's words. */
cd_err cd_xvm_chain_parse(const cd_xvm_place *p, cd_hash32 *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_xvm_addr_parse reads an address of this chain, with or without its name in front. Errors: CD_EFORMAT, CD_EINVAL
 * with the original's words. */
cd_err cd_xvm_addr_parse(const cd_xvm_place *p, cd_addr20 *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
