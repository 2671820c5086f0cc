/* rpc/jsonrpc.h - the JSON-RPC 2.0 core: bytes of a request in, bytes of the answer out.
 *
 *   body ──► parse ──► for each call: method table ──► handler ──► result or error ──► reply
 *
 * Knows nothing of transports, chains or threads: whoever owns the state behind the handlers calls
 * cd_rpc_serve on the thread that may touch it. Errors, batch limits and words are go-ethereum's
 * [spec:eth-rpc#2]. Threading: tables frozen once built, a call confined. */
#ifndef CD_RPC_JSONRPC_H
#define CD_RPC_JSONRPC_H

#include "codec/json.h"

/* Error codes of the protocol and of geth-like servers. */
enum {
    CD_RPC_PARSE = -32700,
    CD_RPC_INVALID_REQUEST = -32600,
    CD_RPC_NO_METHOD = -32601,
    CD_RPC_INVALID_PARAMS = -32602,
    CD_RPC_TOO_LARGE = -32003,
    CD_RPC_SERVER = -32000,
    CD_RPC_REVERTED = 3,
};

/* One call while it is served. */
typedef struct cd_rpc_call {
    void *ctx;       /* what cd_rpc_serve was given */
    cd_arena *arena; /* lives until the reply is complete */
    cd_json params;  /* an array, or none */
    cd_json_w *out;  /* the handler writes exactly one value here, unless it fails */
    int error_code;
    const char *error_message; /* in arena */
    const char *error_data;    /* JSON text in arena, or NULL */
} cd_rpc_call;

/* A handler writes its result and returns CD_OK, or returns what cd_rpc_fail gave it. */
typedef cd_err (*cd_rpc_fn)(cd_rpc_call *call);

typedef struct cd_rpc_method {
    const char *name; /* "eth_blockNumber" */
    cd_rpc_fn fn;
    u8 required; /* parameters that must be there and not null */
    u8 max;      /* parameters that may be there */
} cd_rpc_method;

typedef struct cd_rpc_table cd_rpc_table;

/* cd_rpc_table_new makes an empty table; _add borrows cnt rows for ever (a name twice is a bug). */
cd_rpc_table *cd_rpc_table_new(void);
void cd_rpc_table_free(cd_rpc_table *t); /* NULL is allowed */
void cd_rpc_table_add(cd_rpc_table *t, const cd_rpc_method *methods, usize cnt);

typedef struct cd_rpc_limits {
    usize batch_max;    /* calls of one batch; 0 = 1000 */
    usize response_max; /* bytes of all answers of a batch; 0 = 25,000,000 */
} cd_rpc_limits;

/* cd_rpc_serve answers one request body, single or batch. The reply stays empty when nothing is to be said
 * (notifications only). */
void cd_rpc_serve(const cd_rpc_table *t, cd_buf *reply, void *ctx, cd_bytes body,
                  const cd_rpc_limits *limits);

/* cd_rpc_fail records the error of a call (printf form) and returns CD_EINVAL for the handler to pass on. */
cd_err cd_rpc_fail(cd_rpc_call *call, int code, const char *fmt, ...) CD_PRINTF(3, 4);

#endif
