/* p2p/sdk.h - what VMs put into app messages: handlers by number, gossip, requests for signatures.
 *
 *   request, gossip:  uvarint(handler) ‖ body          response: body alone
 *
 * Handlers are registered once; a mux takes a message apart, finds the handler, refuses who is not allowed or asks too
 * often, and gives an error code for the AppError. Errors of the protocol are the CD_P2P_APP_… codes.
 * Threading: confined. [spec:p2p#7.2] [spec:p2p#8] */
#ifndef CD_P2P_SDK_H
#define CD_P2P_SDK_H

#include "base/table/hmap.h"
#include "codec/ids.h"
#include "codec/proto.h"
#include "p2p/bloom.h"

/* Handlers that every node has. */
enum { CD_P2P_HANDLER_TX = 0, CD_P2P_HANDLER_ATOMIC_TX = 1, CD_P2P_HANDLER_SIGNATURE = 2 };

/* Codes of an AppError below 0; a VM's own are above. */
enum {
    CD_P2P_APP_OK = 0,
    CD_P2P_APP_UNEXPECTED = -1, /* from the engine: timed out */
    CD_P2P_APP_UNREGISTERED = -2,
    CD_P2P_APP_NOT_VALIDATOR = -3,
    CD_P2P_APP_THROTTLED = -4,
};

/* cd_p2p_app_text gives the original's words for a code below 0. */
const char *cd_p2p_app_text(i32 code);

/* --- bodies --- */

/* A question for things that are not in the filter. */
typedef struct cd_p2p_pull {
    cd_bytes salt; /* 32 bytes */
    cd_bytes filter;
} cd_p2p_pull;

/* Things that others may not know yet. */
typedef struct cd_p2p_gossip {
    cd_proto_list items; /* of cd_bytes */
} cd_p2p_gossip;

/* A question for a signature of a Warp message. */
typedef struct cd_p2p_sig_request {
    cd_bytes message; /* an unsigned Warp message */
    cd_bytes justification;
} cd_p2p_sig_request;

/* The answer to it: a BLS signature. */
typedef struct cd_p2p_sig_response {
    cd_bytes signature;
} cd_p2p_sig_response;

/* Tables of these structs, for cd_proto_parse and cd_proto_put. */
extern const cd_proto_type cd_p2p_pull_table;
extern const cd_proto_type cd_p2p_gossip_table;
extern const cd_proto_type cd_p2p_sig_request_table;
extern const cd_proto_type cd_p2p_sig_response_table;

/* cd_p2p_app_put appends the number of a handler and a body; cd_p2p_app_split takes them apart, the body borrowed.
 * Errors: CD_EFORMAT. */
void cd_p2p_app_put(cd_buf *out, u64 handler, cd_bytes body);
cd_err cd_p2p_app_split(u64 *handler, cd_bytes *body, cd_bytes app_bytes) CD_CHECK;

/* --- how often a peer may ask --- */

/* Counts the requests of each peer, over the present period and the part of the one before that is still in the
 * window. */
typedef struct cd_p2p_window {
    u64 period_ns;
    double limit;
    u64 begun_ns; /* when the current period began */
    cd_hmap hits[2];
    u32 current;
} cd_p2p_window;

/* cd_p2p_window_init starts an empty window at now (monotonic ns); _fini releases it. */
void cd_p2p_window_init(cd_p2p_window *w, u64 period_ns, double limit, u64 now_ns);
void cd_p2p_window_fini(cd_p2p_window *w);

/* cd_p2p_window_hit counts a request; false: the peer is over its limit, and the request is not counted. Memory is
 * bounded by the peers that asked within two periods, each of which has a connection. */
bool cd_p2p_window_hit(cd_p2p_window *w, const cd_node_id *peer, u64 now_ns) CD_CHECK;

/* --- handlers --- */

/* The handler of one number, which answers requests and hears gossip. request returns CD_P2P_APP_OK and appends the
 * response, or returns a code for the AppError and appends its words; none: those of cd_p2p_app_text. Either function
 * may be NULL. */
typedef struct cd_p2p_handler {
    u64 id;
    void *ctx;
    i32 (*request)(void *ctx, cd_buf *response, const cd_node_id *from, cd_bytes body);
    void (*gossip)(void *ctx, const cd_node_id *from, cd_bytes body);
    bool validators_only; /* requests of other nodes are refused */
    u64 period_ns;        /* at most limit requests of a peer in this time; 0: any number */
    double limit;
} cd_p2p_handler;

enum { CD_P2P_HANDLERS_MAX = 16 };

/* Handlers by the numbers with which their messages begin. */
typedef struct cd_p2p_mux {
    cd_p2p_handler handlers[CD_P2P_HANDLERS_MAX];
    cd_p2p_window windows[CD_P2P_HANDLERS_MAX];
    u32 cnt;
    bool (*is_validator)(void *ctx, const cd_node_id *node); /* NULL: no node is */
    void *ctx;
} cd_p2p_mux;

/* cd_p2p_mux_add registers a handler. Errors: CD_EEXIST, CD_EFULL. cd_p2p_mux_fini: {0} is allowed. */
cd_err cd_p2p_mux_add(cd_p2p_mux *m, const cd_p2p_handler *h, u64 now_ns) CD_CHECK;
void cd_p2p_mux_fini(cd_p2p_mux *m);

/* cd_p2p_mux_request answers an AppRequest: CD_P2P_APP_OK with the response appended, or the code of the AppError with
 * the handler's words, if any.
 * cd_p2p_mux_gossip hands gossip to its handler; without one it is dropped. */
i32 cd_p2p_mux_request(cd_p2p_mux *m, cd_buf *response, const cd_node_id *from, cd_bytes app_bytes, u64 now_ns);
void cd_p2p_mux_gossip(cd_p2p_mux *m, const cd_node_id *from, cd_bytes app_bytes);

/* --- pull gossip --- */

/* Things that are gossiped, a mempool for instance. each calls visit with the ID and the bytes of one thing after the
 * other, in any order, until visit returns false. */
typedef struct cd_p2p_gossip_set {
    void *ctx;
    void (*each)(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg);
} cd_p2p_gossip_set;

enum { CD_P2P_PULL_TARGET = 20 << 10 }; /* bytes of things in an answer; the thing that exceeds it is the last */

/* cd_p2p_pull_answer appends the answer to a pull request: things that the asker does not have. Gives CD_P2P_APP_OK, or
 * CD_P2P_APP_UNEXPECTED for a malformed request. */
i32 cd_p2p_pull_answer(cd_buf *out, cd_bytes body, const cd_p2p_gossip_set *set, usize target);

/* cd_p2p_gossip_put appends one thing to a PushGossip or to the response to a pull. Elements of such a list simply
 * follow each other. */
void cd_p2p_gossip_put(cd_buf *out, cd_bytes item);

/* cd_p2p_gossip_read calls item for each thing in a PushGossip or the response to a pull; it borrows. Errors:
 * CD_EFORMAT, CD_ELIMIT. */
cd_err cd_p2p_gossip_read(cd_bytes body, void (*item)(void *ctx, cd_bytes item), void *ctx) CD_CHECK;

#endif
