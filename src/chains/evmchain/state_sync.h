/* chains/evmchain/state_sync.h - state sync at the VM's seat, both ways: summaries as the node knows them, questions of
 * peers, and the VM's own sync (sync/client.h), whose end the engine is told.
 *
 * Threading: confined to the executor. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_STATE_SYNC_H
#define CD_CHAINS_EVMCHAIN_STATE_SYNC_H

#include "base/log/metrics.h"
#include "chains/evmchain/atomic/atomic.h"
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/sync/client.h"
#include "chains/evmchain/sync/serve.h"
#include "vm/vm.h"

/* The code of an AppError: nothing to give. */
enum { CD_EVM_SYNC_NOTHING = 1 };

/* Both halves; a member of the VM's object, which stays where it is. */
typedef struct cd_evm_sync {
    cd_api *api; /* borrowed: the chain, its blocks and its configuration */
    const cd_vm_ctx *ctx;
    cd_sync_family family;
    cd_atomic *atomic; /* NULL: there are no imports and exports */
    cd_sync_side side;
    cd_sync_server *server; /* NULL until the chain is open */
    cd_sync_client *client; /* NULL: nobody can be asked */
    cd_node_id *ids;        /* who is asked, by the configuration */
    u32 id_cnt;
    /* Of the sync, NULL where nobody looks. */
    cd_gauge *leafs;
    cd_gauge *codes;
    cd_gauge *blocks;
    cd_gauge *refused;
    cd_gauge *lies;
} cd_evm_sync;

/* cd_evm_sync_open: the chain is open; atomic: its imports and exports, or NULL; interval: blocks between two
 * summaries, 0: there are none. Errors: CD_EINVAL for "state-sync-ids". cd_evm_sync_close before the chain closes. */
cd_err cd_evm_sync_open(cd_evm_sync *x, cd_api *api, const cd_vm_ctx *ctx, cd_atomic *atomic, u64 interval,
                        cd_errinfo *why) CD_CHECK;
void cd_evm_sync_close(cd_evm_sync *x);

/* cd_evm_sync_answer answers a peer's question; false: msg is none, and it is somebody else's. */
bool cd_evm_sync_answer(cd_sync_server *s, const cd_vm_sender *sender, const cd_node_id *from, u32 request_id,
                        u64 deadline_ns, cd_bytes msg);

/* cd_evm_sync_wake does what is due for both halves and gives when to be called next (monotonic ns). */
u64 cd_evm_sync_wake(cd_evm_sync *x);

/* For members of cd_vm_sync_ops; errors as there. */
bool cd_evm_sync_is_enabled(const cd_evm_sync *x);
cd_err cd_evm_sync_ongoing(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a) CD_CHECK;
cd_err cd_evm_sync_last(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a) CD_CHECK;
cd_err cd_evm_sync_at(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a, u64 height) CD_CHECK;
cd_err cd_evm_sync_parse(const cd_evm_sync *x, cd_vm_summary *out, cd_arena *a, cd_bytes bytes,
                         cd_errinfo *why) CD_CHECK;
cd_err cd_evm_sync_accept(cd_evm_sync *x, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why) CD_CHECK;
void cd_evm_sync_progress(const cd_evm_sync *x, cd_vm_sync_progress *out);

#endif
