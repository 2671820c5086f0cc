/* plugin/guest/guest_priv.h - what the parts of a guest share.
 *
 *   guest     the life of the process: handshake, signals, the node's death, the end
 *   chain     Initialize and what follows from it: settings, store, executor, the engine's seat
 *   service   the methods of vm.VM; summary: those about state summaries
 *   db        the node's database as a kv
 *   shared    the node's shared memory
 *   world     validators, the node's signature, messages to other nodes
 *   tunnel    HTTP that comes through the node
 *   gather    metrics as messages
 *
 * Threading: the object is the loop's; what the executor uses of it is said. */
#ifndef CD_PLUGIN_GUEST_PRIV_H
#define CD_PLUGIN_GUEST_PRIV_H

#include "base/thread/pool.h"
#include "codec/json.h"
#include "consensus/engine.h"
#include "grpc/client.h"
#include "grpc/server.h"
#include "node/chain/executor.h"
#include "node/front/front.h"
#include "plugin/guest/guest.h"
#include "plugin/guest/shared_priv.h"
#include "plugin/guest/world_priv.h"
#include "plugin/wire/wire.h"
#include "types/network.h"

typedef struct cd_guest cd_guest;
typedef struct cd__tunnel cd__tunnel;

/* Stands in for the engine, which is the node: passes the VM's events on to calls that wait for them. The loop's. */
typedef struct cd__seat {
    cd_engine engine; /* first */
    cd_guest *guest;
    cd_vm *vm;       /* used by the executor only */
    cd_list waiting; /* calls of WaitForEvent */
    u32 events;      /* bits of cd_vm_event that no call was answered with yet */
    cd_timer *again; /* runs until building a block is tried again */
} cd__seat;

/* What the chain's configuration says to the guest. */
typedef struct cd__guest_settings {
    bool is_standalone; /* a store of its own, in place of the node's database */
    cd_bytes path;      /* folder of that store; empty: in the chain's folder */
    cd_bytes profile;   /* family of networks; empty: not said */
    bool has_finality;  /* the node tells which blocks are final */
} cd__guest_settings;

/* Blocks that were parsed lately and are not verified, the oldest first: whoever has one parsed has it verified
 * next, by its bytes again. */
enum { CD__RECENT_MAX = 256, CD__RECENT_BYTES = 4 << 20 };
typedef struct cd__recent {
    cd_vm_block *all[CD__RECENT_MAX];
    u32 cnt;
    usize bytes;
} cd__recent;

struct cd_guest {
    const cd_guest_cfg *cfg;
    cd_budget budget;
    cd_metrics *metrics;
    cd_metrics *vm_metrics;
    cd_front *front;
    cd_loop *loop;
    cd_pool *pool;
    cd_grpc_server *server;
    cd_grpc_client *runtime;
    cd_grpc_client *db; /* db and services are made by Initialize */
    cd_grpc_client *services;
    cd__seat seat;
    cd_executor *executor; /* NULL: not initialised */
    cd__tunnel *tunnel;    /* NULL: no handlers were asked for */
    cd_signal *sigint;
    cd_signal *sigterm;
    cd_timer *watch;
    cd_timer *leaving; /* looks whether clients that stay are gone */
    cd_grpc_ask hello;
    i32 parent; /* ID of the process that started this one */
    int status;
    cd_errinfo *why;
    bool is_shut_down; /* Shutdown was called: SIGTERM ends the process once it is answered */
    bool is_over;

    /* Since Initialize; made before the executor starts, then frozen. */
    cd_arena mem;
    cd_wire_vm_init init; /* lies in mem */
    cd__guest_settings settings;
    cd_network network;
    cd_vm_primary primary;
    cd_vm_ctx ctx;
    cd_rng rng;

    /* The executor's, from open on. */
    cd_vm *vm;
    cd_kv *kv;
    cd__guest_shared shared;
    cd__guest_world world;
    cd_kv_batch batch;
    cd__recent recent;
    bool is_syncing;    /* a summary was accepted and no other state set since */
    cd_buf open_answer; /* the result of opening, from the executor to the loop */
    cd_err open_err;
    cd_errinfo open_why;
    cd_loop_task opened;
    cd_loop_task ended;

    /* The loop's. */
    bool is_open;
    cd_grpc_call *opening; /* Initialize, to be answered when the VM is open */
    cd_grpc_call *closing; /* Shutdown, to be answered when the VM is closed */
    cd_grpc_ask close_db;
};

/* service: the methods of vm.VM, whose context is the guest. */
extern const cd_grpc_method cd__guest_methods[];
extern const usize cd__guest_methods_cnt;

/* A function on the executor that answers a call: with what it appends to out, or an error. mem is the call's. */
typedef cd_err cd__guest_fn(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why);

/* summary: the methods about state summaries; _put_progress writes how far a sync is into an object, while one runs. */
void cd__guest_put_progress(const cd_guest *g, cd_json_w *w);
cd__guest_fn cd__guest_sync_enabled;
cd__guest_fn cd__guest_ongoing_summary;
cd__guest_fn cd__guest_last_summary;
cd__guest_fn cd__guest_parse_summary;
cd__guest_fn cd__guest_get_summary;
cd__guest_fn cd__guest_accept_summary;

/* chain: cd__guest_init begins to open the VM as a message says, and answers call when that is done. _last_put appends
 * the last accepted block as vm.proto has it; on the executor. _close begins to close the VM; call is answered then.
 * _events tells calls that wait for an event. Errors of last_put: the VM's. */
void cd__guest_init(cd_guest *g, cd_grpc_call *call);
cd_err cd__guest_last_put(cd_guest *g, cd_buf *out, cd_errinfo *why) CD_CHECK;
void cd__guest_close(cd_guest *g, cd_grpc_call *call);
void cd__guest_wait_event(cd_guest *g, cd_grpc_call *call);
void cd__guest_leaving(void *ctx);
void cd__seat_init(cd__seat *s, cd_guest *g);
void cd__seat_retry(cd__seat *s);

/* gather: appends a GatherResponse made from the registry's text form. */
void cd__gather_put(cd_buf *out, cd_bytes text);

/* tunnel: cd__tunnel_open makes endpoints and servers for the VM's routes, on the loop; _answer appends a
 * CreateHandlersResponse; _leave takes leave of sessions that stay, _close ends the servers. Errors: those of
 * listening; *out is set all the same. */
cd_err cd__tunnel_open(cd__tunnel **out, cd_guest *g, cd_errinfo *why) CD_CHECK;
void cd__tunnel_answer(const cd__tunnel *t, cd_buf *answer);
void cd__tunnel_leave(cd__tunnel *t);
bool cd__tunnel_is_idle(const cd__tunnel *t);
void cd__tunnel_close(cd__tunnel *t);
void cd__tunnel_free(cd__tunnel *t);

/* cd__guest_fail answers a call with an error in the form that Go's side gives it. */
void cd__guest_fail(cd_grpc_call *call, cd_err err, const cd_errinfo *why);

#endif
