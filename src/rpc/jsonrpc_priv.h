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
    CD__RPC_UNSUBSCRIBE, /* as CD__RPC_SUBSCRIBE */
    CD__RPC_ANSWER,      /* an answer to a request that we sent */
} cd__rpc_sort;

typedef struct cd__rpc_one {
    cd__rpc_sort sort;
    const cd_rpc_method *method; /* NULL: there is no such method */
    cd_rpc_lane lane;            /* where this call runs */
    cd_bytes name;
    cd_json id; /* of kind NONE unless there is a valid one */
    cd_json params;
    cd_json result; /* member of an answer, as error is */
    cd_json error;

    /* What a session has answered to a call that subscribes. */
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
    cd__rpc_one single; /* the one element of a request that is no batch */
    cd_rpc_lane lane;
    bool may_wait;       /* who serves it calls step again when it has waited */
    bool is_waiting;     /* step was false because the call waits */
    cd_rpc_wait wait;    /* for what */
    bool must_read;      /* what was tried in lane TRY has to run as READ */
    cd_splices *splices; /* where shared bytes belong in the answer; NULL: all is copied */
    struct cd_rpc_origins *origins;
    struct cd_logger *log;   /* told of each call, at debug level; NULL: nobody is */
    cd_bytes foreign;        /* as in cd_rpc_call */
    cd_rpc_writing *writing; /* counts the answer while it is written; NULL: nobody does */
    u64 deadline_ns;
    const char *error_message; /* the whole request is refused with this, or NULL */
    int error_code;
    cd_json error_id;
    cd_bytes error_data; /* JSON */
    bool is_batch;
    bool has_subs; /* subscribes or unsubscribes */

    /* A batch on its way: elements before next are answered. */
    usize next;
    usize start;   /* where its answer begins in the output */
    usize sum;     /* bytes of results */
    usize counted; /* bytes that cd_rpc_writing knows of */
    bool has_room; /* for further results */
};

/* cd__rpc_req_step serves r as far as this thread may, which is of r->lane, and appends to reply. False: the rest of a
 * batch is for another thread, or for this one after others have had their turn: r->lane says which; or the call waits,
 * then is_waiting is set and the caller arms r->wait. */
bool cd__rpc_req_step(cd_rpc_req *r, cd_buf *reply);

/* cd__rpc_req_has_begun: some elements of a batch are answered, and others are not. */
bool cd__rpc_req_has_begun(const cd_rpc_req *r);

/* cd__rpc_req_try is cd_rpc_req_serve on the net loop, in lane FAST or TRY; false: nothing was written, and the
 * request has to be served in lane READ, which it now says. */
bool cd__rpc_req_try(cd_rpc_req *r, cd_buf *reply);

/* cd__rpc_call_of prepares the call of an element. */
cd_rpc_call cd__rpc_call_of(cd_rpc_req *r, const cd__rpc_one *one, void *scope, cd_json_w *out);

/* cd__rpc_tell has a call's line in the log: what it was, how long it took since start_ns and, unless it is NULL, why
 * it failed. cd__rpc_tell_start gives start_ns; 0: nobody reads such lines. */
u64 cd__rpc_tell_start(const cd_rpc_req *r);
void cd__rpc_tell(const cd_rpc_req *r, const cd__rpc_one *one, u64 start_ns, const char *error);

/* cd__rpc_scope_new begins the scope of a request's calls; _end releases it. */
void *cd__rpc_scope_new(cd_rpc_req *r);
void cd__rpc_scope_end(cd_rpc_req *r, void *scope);

/* Named parameters (named.c): cd__rpc_args_init makes the struct before anything is read, of which the table keeps one
 * a method (cd__rpc_method_initial); cd__rpc_args_read gives a call its args, or fails it. */
void cd__rpc_args_init(void *out, cd_arena *a, const struct cd_rpc_args *args);
const void *cd__rpc_method_initial(const cd_rpc_method *m);
cd_err cd__rpc_args_read(cd_rpc_call *call) CD_CHECK;

/* The form JSON2 (json2.c), as their namesakes of jsonrpc.h. */
void cd__json2_parse(cd_rpc_req *r, cd_bytes body);
void cd__json2_serve(cd_rpc_req *r, cd_buf *reply);
void cd__json2_refuse(cd_rpc_req *r, cd_buf *reply, int code, const char *message);

/* cd__rpc_syntax_error appends what Go's decoder says of a text that is no JSON. */
void cd__rpc_syntax_error(cd_buf *out, cd_bytes text);

#endif
