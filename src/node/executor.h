/* node/executor.h - the thread that owns one chain: its VM is called from here and nowhere else.
 *
 *   HTTP ── request ──► mailbox ──► [ VM handler ] ──► engine step ──► done(reply)
 *                                                       build, verify, accept
 *
 * The engine is the one of a network of a single node: whatever the VM wants to build is built, verified and
 * accepted at once, before the answer to the request that caused it leaves. Threading: shared. */
#ifndef CD_NODE_EXECUTOR_H
#define CD_NODE_EXECUTOR_H

#include "base/log.h"
#include "vm/vm.h"

typedef struct cd_executor cd_executor;

/* done gets the reply on the executor's thread and takes it over; reply is empty when the executor ends before the
 * request was served. */
typedef void (*cd_executor_done)(void *ctx, cd_buf *reply);

/* cd_executor_new makes an executor without a VM; log may be NULL. cd_executor_host is for the VM's context. */
cd_executor *cd_executor_new(const char *name, cd_logger *log);
cd_vm_host *cd_executor_host(cd_executor *ex);

/* cd_executor_start takes over vm and runs it on a thread of its own. Errors: CD_EAGAIN (vm stays the caller's). */
cd_err cd_executor_start(cd_executor *ex, cd_vm *vm, cd_errinfo *why) CD_CHECK;

/* cd_executor_request lets handler serve body, which is taken over, also on an error. Errors: CD_EFULL, CD_ECLOSED. */
cd_err cd_executor_request(cd_executor *ex, const cd_vm_handler *handler, cd_buf *body,
                           cd_executor_done done, void *ctx) CD_CHECK;

/* cd_executor_stop serves what has been accepted so far, ends the thread and closes the VM; cd_executor_free also frees
 * the executor (NULL is allowed). */
void cd_executor_stop(cd_executor *ex);
void cd_executor_free(cd_executor *ex);

#endif
