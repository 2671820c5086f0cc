/* plugin/host/plugin.h - a plugin that runs: its process, the handshake, servers that it calls, the connection to it.
 *
 *   start ─► engine server ─► process ─► Runtime.Initialize ─► client of vm.VM
 *            servers of the node ◄── asks ── plugin ◄── call ── the chain's executor
 *            └ on a thread with a loop for this plugin alone: it can hold up nobody else
 *
 * A plugin fails once, with a reason: its process ended, it did not answer in time, or cd_plugin_fail is called.
 * From then on every call ends at once. It is not started again here. Threading: shared, but for start and stop.
 * [spec:plugin#1] [spec:plugin#8] */
#ifndef CD_PLUGIN_HOST_PLUGIN_H
#define CD_PLUGIN_HOST_PLUGIN_H

#include "base/log/log.h"
#include "codec/proto.h"
#include "grpc/client.h"
#include "plugin/host/service.h"

typedef struct cd_plugin cd_plugin;

/* Methods with their context. */
typedef struct cd_plugin_offer {
    const cd_plugin_method *rows;
    usize cnt;
    void *ctx;
} cd_plugin_offer;

enum { CD_PLUGIN_OFFERS_MAX = 4 };

/* The plugin that is started. Borrowed until cd_plugin_stop. A time of 0 means its default. */
typedef struct cd_plugin_cfg {
    const char *path;
    const char *name; /* name of the chain, for the log */
    cd_logger *log;
    u32 hello_ms;                                   /* for the handshake; default 5000 */
    u32 term_ms;                                    /* between SIGTERM and SIGKILL; default 5000 */
    u32 ping_ms;                                    /* silence before a ping, and time for its answer; default 10000 */
    cd_plugin_offer db[1];                          /* served at the address for the database; cnt 0: no such server */
    cd_plugin_offer services[CD_PLUGIN_OFFERS_MAX]; /* at the address for everything else */
    /* Called once, from any thread, when the plugin has failed. NULL allowed. */
    void (*failed)(void *ctx, const char *reason);
    void *ctx;
} cd_plugin_cfg;

enum { CD_PLUGIN_REASON_MAX = 256, CD_PLUGIN_ADDR_MAX = 32 };

/* cd_plugin_start starts a plugin and returns when the handshake is done. Errors: those of starting the process;
 * CD_ETIMEOUT, CD_ECLOSED (no handshake), CD_EUNSUPPORTED (another protocol), with the original's words. */
cd_err cd_plugin_start(cd_plugin **out, const cd_plugin_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_plugin_stop asks the VM to end (not when the plugin has failed), ends the process and forgets p; NULL is allowed.
 * Who asks at the same time is told CD_ECLOSED, and must have returned. */
void cd_plugin_stop(cd_plugin *p);

/* cd_plugin_call asks method of the plugin's VM and waits: in (of type, NULL: nothing) there, the answer read into out
 * (of type, zeroed; NULL: not looked at), borrowed from mem. Not on the plugin's loop. A plugin that does not answer
 * within timeout_ms, or that cannot be reached, has failed. Errors: CD_ECLOSED (it has failed: why says how), CD_EIO
 * (an error of its own, with its words), CD_EFORMAT (what it says is no answer), CD_EUNSUPPORTED. */
cd_err cd_plugin_call(cd_plugin *p, const char *method, const cd_proto_type *in_type, const void *in,
                      const cd_proto_type *out_type, void *out, cd_arena *mem, u32 timeout_ms,
                      cd_errinfo *why) CD_CHECK;

/* cd_plugin_listen waits for one event of the VM, for as long as it takes: heard(ctx, event) is called on the plugin's
 * loop with what it says (CD_WIRE_*; 0: an error, of the plugin's own). It must not be called again before that. */
void cd_plugin_listen(cd_plugin *p, void (*heard)(void *ctx, u32 event), void *ctx);

/* cd_plugin_client_cfg gives what clients of the plugin's servers are like, for one on another loop. */
cd_grpc_client_cfg cd_plugin_client_cfg(const cd_plugin *p);

/* cd_plugin_dial gives a client, on the plugin's loop, of another address of the plugin. p owns the client, closes it
 * when the plugin fails and frees it when the plugin is stopped. Errors: CD_EFORMAT, CD_ELIMIT. */
enum { CD_PLUGIN_CLIENTS_MAX = 64 };
cd_err cd_plugin_dial(cd_plugin *p, cd_grpc_client **out, cd_bytes addr, cd_errinfo *why) CD_CHECK;

/* On the plugin's loop: cd_plugin_guest counts something that must end before the loop does, such as a server that was
 * opened there; cd_plugin_guest_left says that it has ended. cd_plugin_on_cut has fn(ctx) called there when the plugin
 * has failed; it stays set. */
void cd_plugin_guest(cd_plugin *p);
void cd_plugin_guest_left(cd_plugin *p);
void cd_plugin_on_cut(cd_plugin *p, void (*fn)(void *ctx), void *ctx);

/* cd_plugin_fail makes the plugin fail; the first reason counts. cd_plugin_has_failed tells whether it has, and why. */
void cd_plugin_fail(cd_plugin *p, const char *reason);
bool cd_plugin_has_failed(cd_plugin *p, char reason[CD_PLUGIN_REASON_MAX]);

/* cd_plugin_loop gives the loop that this plugin has for itself; cd_plugin_run calls fn(arg) there and waits. */
struct cd_loop *cd_plugin_loop(cd_plugin *p);
void cd_plugin_run(cd_plugin *p, void (*fn)(void *arg), void *arg);

/* Addresses of the servers that the plugin calls; "" where there is none. */
const char *cd_plugin_db_addr(const cd_plugin *p);
const char *cd_plugin_services_addr(const cd_plugin *p);

#endif
