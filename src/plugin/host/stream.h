/* plugin/host/stream.h - a connection that a client has given over to a plugin: an upgrade, WebSocket above all.
 *
 *   client ═ node's loop: cd_http_up ═ bytes, bounded ═ plugin's loop: servers for this request ◄── plugin
 *                                                       └ Writer, Reader; after Hijack Conn, Reader, Writer
 *
 * The request leaves HTTP at once; what the plugin says is an answer (Writer) is written by us as one, and the
 * connection is closed behind it; what it writes after Hijack goes out as it is, its 101 included. Both directions are
 * bounded: a client that reads nothing holds up its plugin's write, a plugin that reads nothing its client.
 * Threading: begin on the node's loop, end on the plugin's. [spec:plugin#6] */
#ifndef CD_PLUGIN_HOST_STREAM_H
#define CD_PLUGIN_HOST_STREAM_H

#include "net/http/server.h"
#include "plugin/host/plugin.h"
#include "plugin/wire/wire.h"

/* All streams of one plugin. */
typedef struct cd__streams cd__streams;

/* Most streams of a plugin at a time. */
enum { CD_PLUGIN_STREAMS_MAX = 256 };

/* cd__streams_new makes an empty set; cd__streams_free: when the plugin is stopped; NULL is allowed. */
cd__streams *cd__streams_new(cd_plugin *p);
void cd__streams_free(cd__streams *all);

/* cd__streams_end (its argument is a cd__streams) ends all that are left, on the plugin's loop: before that is stopped,
 * and when the plugin has failed. */
void cd__streams_end(void *all);

/* cd__streams_leave cuts all off, cd__streams_is_idle: none is left. On the node's loop. */
void cd__streams_leave(cd__streams *all);
bool cd__streams_is_idle(cd__streams *all);

/* cd__stream_begin takes a request that offers an upgrade (cd_http_req_offers_upgrade) and passes it to the plugin by
 * client. loop is the node's. */
void cd__stream_begin(cd__streams *all, cd_grpc_client *client, cd_loop *loop, cd_http_req *req);

#endif
