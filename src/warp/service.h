/* warp/service.h - signatures of Warp messages by JSON-RPC: the service warp.* of a chain, and what others are made of.
 *
 * Methods run on the chain's executor; one that collects waits without a thread (cd_rpc_wait). Answers are bytes, for
 * the caller to write; errors are recorded in the call, in the original's words. Threading: confined to the executor.
 * [spec:eth-rpc#8] [spec:decisions#D39] */
#ifndef CD_WARP_SERVICE_H
#define CD_WARP_SERVICE_H

#include "rpc/jsonrpc.h"
#include "warp/collect.h"

/* cd_warp_say_message appends a message of the chain; cd_warp_say_signature appends this node's signature of a message,
 * _block_signature that of an accepted block. Errors: those of cd_rpc_fail. */
cd_err cd_warp_say_message(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_hash32 *id) CD_CHECK;
cd_err cd_warp_say_signature(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_hash32 *id) CD_CHECK;
cd_err cd_warp_say_block_signature(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_hash32 *block) CD_CHECK;

/* cd_warp_say_collected appends the signed message. Errors: CD_EAGAIN, to be returned: the call waits; those of
 * cd_rpc_fail. */
cd_err cd_warp_say_collected(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_warp_want *want) CD_CHECK;

/* cd_warp_net_of reads the net whose validators are to sign; empty: the chain's own. Errors: those of cd_rpc_fail. */
cd_err cd_warp_net_of(cd_rpc_call *call, const cd_warp *w, cd_hash32 *out, cd_bytes text) CD_CHECK;

typedef struct cd_warp_service cd_warp_service;

/* cd_warp_service_new makes the service warp.* over w; cd_warp_service_free: NULL is allowed. cd_warp_service_rpc gives
 * the table for the route "/warp". */
cd_warp_service *cd_warp_service_new(cd_warp *w) __attribute__((returns_nonnull));
void cd_warp_service_free(cd_warp_service *s);
const cd_rpc_service *cd_warp_service_rpc(const cd_warp_service *s);

#endif
