/* plugin/host/tunnel.h - requests for a plugin's routes, over the wire.
 *
 *   req ── serve (node's loop) ─┬─► http.HTTP/HandleSimple ──► done (plugin's loop) ──► reply
 *                               └─► an upgrade: stream.h
 *
 * Threading: serve on the node's loop; new and free on the chain's executor. [spec:plugin#6] */
#ifndef CD_PLUGIN_HOST_TUNNEL_H
#define CD_PLUGIN_HOST_TUNNEL_H

#include "net/http/server.h"
#include "plugin/host/vm_priv.h"

/* Most routes of a plugin. */
enum { CD_PLUGIN_ROUTES_MAX = 32 };

/* cd__tunnel_new asks the plugin for its routes. Errors: those of cd_plugin_call, CD_ELIMIT, CD_EFORMAT.
 * cd__tunnel_free: when the plugin has been stopped; NULL is allowed. */
cd_err cd__tunnel_new(cd__tunnel **out, cd__plugin_vm *v, cd_errinfo *why) CD_CHECK;
void cd__tunnel_free(cd__tunnel *t);

/* cd__tunnel_handlers gives the routes. */
const cd_vm_handler *cd__tunnel_handlers(const cd__tunnel *t, usize *cnt);

/* cd__tunnel_ask makes the message of a request; everything borrowed from req and mem. */
void cd__tunnel_ask(cd_wire_http_simple *out, cd_arena *mem, const cd_http_req *req);

/* cd__tunnel_is_clean: text has nothing that ends a line or, in a name, begins a value. */
bool cd__tunnel_is_clean(cd_bytes text, bool is_name);

/* cd__tunnel_end ends what the tunnel has on the plugin's loop, before the plugin is stopped. NULL is allowed. */
void cd__tunnel_end(cd__tunnel *t);

/* cd__tunnel_answer takes what a plugin answered with: status as gRPC has it and the reply. Gives the status of HTTP;
 * out holds the rest, borrowed from mem and what was given. */
u32 cd__tunnel_answer(cd_wire_http_answer *out, cd_arena *mem, const cd_grpc_status *st, cd_bytes reply);

#endif
