/* rpc/jsonrpc_priv.h - a request as the files of this library see it. */
#ifndef CD_RPC_JSONRPC_PRIV_H
#define CD_RPC_JSONRPC_PRIV_H

#include "rpc/jsonrpc.h"
#include "rpc/lane.h"

/* What one element of a request turned out to be. */
typedef enum cd__rpc_sort {
    CD__RPC_INVALID,
    CD__RPC_CALL,
    CD__RPC_NOTIFICATION,
    CD__RPC_SUBSCRIBE,   /* a call that a session has answered before the others are served */
    CD__RPC_UNSUBSCRIBE, /* likewise */
    CD__RPC_ANSWER,      /* to a question of ours */
} cd__rpc_sort;

typedef struct cd__rpc_one {
    cd__rpc_sort sort;
    const cd_rpc_method *method; /* NULL: there is no such method */
    cd_bytes name;
    cd_json id; /* NONE unless it is valid */
    cd_json params;
    cd_json result; /* of an answer */
    cd_json error;

    /* Of what a session has answered. */
    cd_bytes sub_id; /* as text, in the arena */
    int error_code;
    const char *error_message; /* NULL: it went well */
} cd__rpc_one;

struct cd_rpc_req {
    const cd_rpc_service *service;
    struct cd_rpc_session *session;
    cd_arena arena;
    cd__rpc_one *ones;
    usize cnt;
    cd__rpc_one single; /* where ones points to for a request that is no batch */
    cd_rpc_lane lane;
    bool must_read;          /* what was tried in lane TRY has to run as READ */
    cd_splices *splices;     /* of the answer; NULL: it is one piece */
    cd_rpc_writing *writing; /* counts the answer while it is written; NULL: nobody does */
    u64 deadline_ns;
    const char *error_message; /* the whole request is refused with this, or NULL */
    int error_code;
    cd_json error_id;
    cd_bytes error_data; /* JSON */
    bool is_batch;
    bool has_subs; /* subscribes or unsubscribes */
};

/* cd__rpc_req_try is cd_rpc_req_serve on the net loop, in lane FAST or TRY; false: nothing was written, and the request has to
 * be served in lane READ, which it now says. */
bool cd__rpc_req_try(cd_rpc_req *r, cd_buf *reply);

/* cd__rpc_call_of prepares the call of an element. */
cd_rpc_call cd__rpc_call_of(cd_rpc_req *r, const cd__rpc_one *one, void *scope, cd_json_w *out);

/* cd__rpc_scope_new begins the scope of a request's calls; _end releases it. */
void *cd__rpc_scope_new(cd_rpc_req *r);
void cd__rpc_scope_end(cd_rpc_req *r, void *scope);

/* The form JSON2 (json2.c), as their namesakes of jsonrpc.h. */
void cd__json2_parse(cd_rpc_req *r, cd_bytes body);
void cd__json2_serve(cd_rpc_req *r, cd_buf *reply);
void cd__json2_refuse(cd_rpc_req *r, cd_buf *reply, int code, const char *message);

/* cd__rpc_syntax_error appends what Go's decoder says of a text that is no JSON. */
void cd__rpc_syntax_error(cd_buf *out, cd_bytes text);

#endif
