/* chains/evmchain/rpc/methods.h - the handlers of methods.def, admin.def and admin_files.def. Each is documented by its
 * row.
 *
 * Threading: as the lane of the row says. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_METHODS_H
#define CD_CHAINS_EVMCHAIN_RPC_METHODS_H

#include "rpc/named.h"

#define X CD_RPC_DECL
#include "chains/evmchain/rpc/methods.def"
#undef X
#define X CD_RPC_NAMED_DECL
#include "chains/evmchain/rpc/debug/admin.def"
#undef X
#define X CD_RPC_DECL
#include "chains/evmchain/rpc/debug/admin_files.def"
#undef X

#endif
