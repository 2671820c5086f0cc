/* plugin/guest/tunnel_priv.h - what the two kinds of tunnelled requests share: simple ones (tunnel.c), and those that
 * come with a writer of their own, WebSocket above all (stream.c).
 *
 *   node ── HandleSimple ──► request in this process ──► our own HTTP server's handlers ──► answer
 *        ── Handle ──► Hijack ──► bytes both ways between the node's connection and one to our own server
 *
 * Threading: confined to the loop. [spec:plugin#6] */
#ifndef CD_PLUGIN_GUEST_TUNNEL_PRIV_H
#define CD_PLUGIN_GUEST_TUNNEL_PRIV_H

#include "net/http/inner.h"
#include "plugin/guest/guest_priv.h"
#include "rpc/endpoint.h"

/* A route of the VM, and where the node calls it. */
typedef struct cd__tunnel_route {
    cd__tunnel *tunnel;
    const cd_vm_handler *handler;
    cd_rpc_endpoint *endpoint; /* NULL: a raw handler */
    cd_grpc_server *server;
    char addr[32];
} cd__tunnel_route;

struct cd__tunnel {
    cd_guest *guest;
    cd__tunnel_route *routes;
    usize cnt;
    struct cd__tunnel_simple *spare; /* requests that are over, whose memory the next ones take */
    u32 spare_cnt;
};

/* cd__tunnel_field adds a field to a request, its name in lower case; _fields adds all fields of a message. _method
 * reads the name of a method. _target appends the target at our own server for the URL of a request to the node, with
 * its query. */
void cd__tunnel_field(cd_http_msg *m, cd_bytes name, cd_bytes value);
void cd__tunnel_fields(cd_http_msg *m, const cd_proto_list *headers);
cd_http_method cd__tunnel_method(cd_bytes name);
void cd__tunnel_target(const cd__tunnel_route *r, cd_buf *out, cd_bytes url);

/* cd__tunnel_headers gives the header fields of an answer: those that the node had, replaced and extended by lines. */
cd_proto_list cd__tunnel_headers(cd_arena *mem, const cd_proto_list *given, cd_bytes lines);

/* stream: serves HTTP/Handle; ctx is a cd__tunnel_route. */
void cd__tunnel_handle(void *ctx, cd_grpc_call *call);

#endif
