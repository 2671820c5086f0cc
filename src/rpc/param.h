/* rpc/param.h - reads the parameters of a call into typed values, with go-ethereum's words when one is wrong.
 *
 * Every function takes the index of the parameter and answers -32602 `invalid argument %d: ...` on bad input
 * [spec:eth-rpc#2]. An absent or null parameter leaves *out as it is and sets *has to false where there is one.
 * Threading: confined to the call. */
#ifndef CD_RPC_PARAM_H
#define CD_RPC_PARAM_H

#include "rpc/jsonrpc.h"

/* cd_rpc_arg gives parameter idx; CD_JSON_NONE when absent. */
cd_json cd_rpc_arg(const cd_rpc_call *call, usize idx);

/* cd_rpc_has_arg: present and not null. */
bool cd_rpc_has_arg(const cd_rpc_call *call, usize idx);

/* Readers of one value. idx is the parameter the value belongs to (for the message); v may be a member of it. */
cd_err cd_rpc_read_addr(cd_rpc_call *call, cd_addr20 *out, cd_json v, usize idx) CD_CHECK;
cd_err cd_rpc_read_hash(cd_rpc_call *call, cd_hash32 *out, cd_json v, usize idx) CD_CHECK;
cd_err cd_rpc_read_u64(cd_rpc_call *call, u64 *out, cd_json v, usize idx) CD_CHECK;
cd_err cd_rpc_read_u256(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx) CD_CHECK;
cd_err cd_rpc_read_data(cd_rpc_call *call, cd_bytes *out, cd_json v, usize idx) CD_CHECK;
cd_err cd_rpc_read_bool(cd_rpc_call *call, bool *out, cd_json v, usize idx) CD_CHECK;

/* cd_rpc_read_word reads up to 32 bytes of hex as a left-padded word (storage keys may be short). */
cd_err cd_rpc_read_word(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx) CD_CHECK;

/* Which block a call is about. */
typedef enum cd_block_tag {
    CD_TAG_LATEST,
    CD_TAG_PENDING,
    CD_TAG_EARLIEST,
    CD_TAG_SAFE,
    CD_TAG_FINALIZED,
    CD_TAG_NUMBER,
    CD_TAG_HASH,
} cd_block_tag;

/* A block as a parameter names it. */
typedef struct cd_block_ref {
    cd_block_tag tag;
    u64 number;     /* CD_TAG_NUMBER */
    cd_hash32 hash; /* CD_TAG_HASH */
} cd_block_ref;

/* cd_rpc_read_block reads a tag, a number or an object {blockNumber|blockHash}; absent or null = latest. */
cd_err cd_rpc_read_block(cd_rpc_call *call, cd_block_ref *out, cd_json v, usize idx) CD_CHECK;

#endif
