/* services/common/upstream.h - JSON-RPC calls to a node, one or several in one request, and blocks with all that
 * belongs to them.
 *
 *   asks ─► one POST (a batch) ─► answers in the order of the asks, in the caller's arena
 *   cd_fetch: block + receipts + traces ─► one answer; what a node cannot do is noticed once and got otherwise
 *
 * Nothing that a node answers is believed beyond its form: meaning is for who asked. Threading: confined to the loop.
 * [spec:eth-rpc#2] */
#ifndef CD_SERVICES_COMMON_UPSTREAM_H
#define CD_SERVICES_COMMON_UPSTREAM_H

#include "codec/json.h"
#include "net/http/client.h"

/* A node. Strings are borrowed. Zero in a number means its default. */
typedef struct cd_upstream {
    cd_http_client *http;
    const char *url;
    u32 timeout_ms;   /* 30000 */
    usize answer_max; /* 128 MiB */
    bool no_receipts; /* found out: it does not know eth_getBlockReceipts */
    bool no_traces;   /* found out: it does not know debug_traceBlock… */
} cd_upstream;

/* A call to an upstream node. */
typedef struct cd_ask {
    const char *method;
    const char *params; /* a JSON array */
} cd_ask;

/* Its answer, borrowed as cd_upstream says. */
typedef struct cd_answer {
    cd_json result;
    bool is_error;
    i64 code; /* of the error */
    const char *message;
} cd_answer;

/* cd_answer_is_unknown: the error says that the node does not have the method. */
bool cd_answer_is_unknown(const cd_answer *a);

typedef struct cd_call cd_call;

/* Tells how it went: CD_OK and one answer an ask, in mem; else reason, without URL (borrowed). */
typedef void cd_call_fn(void *ctx, cd_err err, const char *reason, const cd_answer *answers);

/* cd_call_new asks; nesting of the answer may be depth_max (0: as cd_json_parse). fn is called once, not before this
 * returns. cd_call_cancel: before that, it will not be. NULL is allowed. */
cd_call *cd_call_new(cd_upstream *node, cd_arena *mem, const cd_ask *asks, usize cnt, u32 depth_max, cd_call_fn *fn,
                     void *ctx);
void cd_call_cancel(cd_call *c);

/* A block as the node tells it. */
typedef struct cd_fetched {
    cd_arena mem;     /* holds the rest */
    cd_json block;    /* with full transactions */
    cd_json receipts; /* an array */
    cd_json traces;   /* of debug_traceBlock… with callTracer; none: not wanted, or the node has none */
} cd_fetched;

typedef struct cd_fetch cd_fetch;
/* Told once how a fetch ended; reason in words when err is none of CD_OK. */
typedef void cd_fetch_fn(void *ctx, cd_err err, const char *reason);

/* cd_fetch_new gets block number, by its hash when that is not NULL, into *out, which must be empty and stay; its
 * arena is the caller's to release. CD_ENOENT: the node does not have the block yet. Traces may nest trace_depth levels
 * of JSON; 0: they are not wanted. */
cd_fetch *cd_fetch_new(cd_upstream *node, cd_fetched *out, u64 number, const cd_hash32 *hash, u32 trace_depth,
                       cd_fetch_fn *fn, void *ctx);
void cd_fetch_cancel(cd_fetch *f); /* NULL is allowed */

#endif
