/* node/executor.h - the thread that owns one chain: its VM is called from here and nowhere else.
 *
 *   requests of the OWNER lane ──► mailbox ──► handlers ──► engine step
 *                                                 │         build, verify, accept
 *                                                 └ host.settle: the same, before the answer leaves
 *
 * The engine is the one of a network of a single node: whatever the VM wants to build is built, verified and
 * accepted at once. Threading: shared. */
#ifndef CD_NODE_EXECUTOR_H
#define CD_NODE_EXECUTOR_H

#include "base/log.h"
#include "rpc/lane.h"
#include "vm/vm.h"

typedef struct cd_executor cd_executor;

/* cd_executor_new makes an executor without a VM; log may be NULL. cd_executor_host is for the VM's context. */
cd_executor *cd_executor_new(const char *name, cd_logger *log);
cd_vm_host *cd_executor_host(cd_executor *ex);

/* cd_executor_start takes over vm and runs it on a thread of its own. Errors: CD_EAGAIN (vm stays the caller's). */
cd_err cd_executor_start(cd_executor *ex, cd_vm *vm, cd_errinfo *why) CD_CHECK;

/* cd_executor_run lets the thread run job. Any thread. Errors: CD_EFULL, CD_ECLOSED. */
cd_err cd_executor_run(cd_executor *ex, cd_rpc_job *job) CD_CHECK;

/* cd_executor_tip gives the last accepted block as of the last job. Any thread. */
typedef struct cd_executor_tip {
    cd_hash32 id;
    u64 height;
    u64 accepted; /* blocks since the start; taken back ones count no more */
} cd_executor_tip;
void cd_executor_tip_get(cd_executor *ex, cd_executor_tip *out);

/* cd_executor_stop runs the jobs that were taken, ends the thread and closes the VM; cd_executor_free also frees
 * the executor (NULL is allowed). */
void cd_executor_stop(cd_executor *ex);
void cd_executor_free(cd_executor *ex);

#endif
