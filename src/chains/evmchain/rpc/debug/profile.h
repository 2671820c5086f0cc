/* chains/evmchain/rpc/debug/profile.h - what an operator learns of the process by a call: CPU time by thread, the
 * heap's account.
 *
 * Files go into one folder and nowhere else: whoever reaches the port must not write over the machine
 * [spec:decisions#D10]. Threading: shared. */
#ifndef CD_CHAINS_EVMCHAIN_RPC_PROFILE_H
#define CD_CHAINS_EVMCHAIN_RPC_PROFILE_H

#include "base/mem/arena.h"
#include "base/os/profile.h"
#include "base/thread/thread.h"
#include "rpc/jsonrpc.h"

/* A profile that is being taken. */
typedef struct cd__profiler {
    cd_mutex lock;     /* protects the rest */
    const char *place; /* of the file that is written at the end; NULL: nothing runs */
    cd_arena mem;      /* holds place */
    cd_cpu_profile cpu;
} cd__profiler;

/* cd__profiler_init makes one that does not run; cd__profiler_fini forgets what was counted. */
void cd__profiler_init(cd__profiler *p);
void cd__profiler_fini(cd__profiler *p);

/* cd__admin_path gives the place of a file of the admin folder (`admin-api-dir`), in the request's arena, and makes
 * the folder. Names are plain, or whole paths of a file right in it. Fails the call for other names, and where there
 * is no folder. */
cd_err cd__admin_path(cd_rpc_call *call, const char **out, cd_bytes name) CD_CHECK;

/* cd__profile_start begins to count, for a file at place; cd__profile_stop writes it. Both fail the call: busy and
 * idle are the words when it runs already, or does not. */
cd_err cd__profile_start(cd_rpc_call *call, const char *place, const char *busy) CD_CHECK;
cd_err cd__profile_stop(cd_rpc_call *call, const char *idle) CD_CHECK;

/* cd__profile_heap writes the allocator's account to place. */
cd_err cd__profile_heap(cd_rpc_call *call, const char *place) CD_CHECK;

#endif
