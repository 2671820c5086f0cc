/* grpc/caller.h - calls of one thread that waits for each of them, over a connection that it works itself.
 *
 *   cd_grpc_call_wait     thread ─► loop's thread ─► socket ─► loop's thread ─► thread       three wake-ups a call
 *   cd_grpc_caller_call   thread ─► socket ─► thread                                         one
 *
 * A caller has a loop and a client (grpc/client.h) of its own, which run only while a call does: between calls nothing
 * is read, so pings of the server wait for the next call. For whoever calls often enough. Threading: shared; calls of
 * several threads come one after the other. */
#ifndef CD_GRPC_CALLER_H
#define CD_GRPC_CALLER_H

#include "grpc/client.h"

typedef struct cd_grpc_caller cd_grpc_caller;

/* cd_grpc_caller_new makes one for calls to addr, as cd_grpc_client_new. Errors: CD_EFORMAT, CD_EIO. */
cd_err cd_grpc_caller_new(cd_grpc_caller **out, const cd_grpc_client_cfg *cfg, const char *addr,
                          cd_errinfo *why) CD_CHECK;

/* cd_grpc_caller_call is cd_grpc_call_wait without another thread. */
cd_err cd_grpc_caller_call(cd_grpc_caller *c, cd_buf *reply, const char *path, cd_buf *msg, u64 timeout_ms,
                           cd_grpc_status *st, cd_errinfo *why) CD_CHECK;

/* cd_grpc_caller_cut has the call that runs, and all later ones, end with CANCELLED; it waits for none. */
void cd_grpc_caller_cut(cd_grpc_caller *c);

/* cd_grpc_caller_free closes the connection; nobody may call any more. NULL is allowed. */
void cd_grpc_caller_free(cd_grpc_caller *c);

#endif
