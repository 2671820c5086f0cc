/* chains/xvm/events.h - a WebSocket that tells listeners of accepted transactions that touch their addresses.
 *
 *   accepted (executor) ──► queue ──► loop: each listener's filter ──► {"txID":"…"}
 *
 * What a listener does not take fast enough it does not get, as with the original; its connection stays. Threading:
 * cd_xvm_events_accepted and _close on the executor, all else on the loop. [spec:node-api#6] */
#ifndef CD_CHAINS_XVM_EVENTS_H
#define CD_CHAINS_XVM_EVENTS_H

#include "chains/xvm/tx.h"
#include "net/http/server.h"

enum {
    CD_XVM_LISTENERS_MAX = 512,
    CD_XVM_EVENTS_BYTES = 16 << 20, /* of what waits for the loop */
};

/* The listeners of a chain. */
typedef struct cd_xvm_events cd_xvm_events;

/* cd_xvm_events_new makes them for a loop; nothing happens there before the first listener comes. */
cd_xvm_events *cd_xvm_events_new(cd_loop *loop) __attribute__((returns_nonnull));

/* cd_xvm_events_close: the chain is over, and nobody listens any more (cd_xvm_events_is_idle). NULL is allowed. */
void cd_xvm_events_close(cd_xvm_events *ev);

/* cd_xvm_events_accepted tells of a transaction, and of the owners of what it makes. */
void cd_xvm_events_accepted(cd_xvm_events *ev, const cd_xvm_tx *t);

/* cd_xvm_events_serve takes a request for the WebSocket. cd_xvm_events_leave takes leave of all listeners (1001), after
 * which none may come; cd_xvm_events_is_idle: all have gone. As members of cd_vm_handler. */
void cd_xvm_events_serve(void *ctx, cd_http_req *req);
void cd_xvm_events_leave(void *ctx);
bool cd_xvm_events_is_idle(void *ctx);

#endif
