/* net/http/inner.h - requests that no connection brings: somebody in this process asks the handlers of a server, as for
 * a client whose words came by another way.
 *
 *   msg ──► ask ──► CORS, host check, routes ──► handler ──► cd_http_reply ──► done: status, lines, body
 *
 * Everything holds that holds for other requests, but that there is nothing to upgrade and no answer goes on: handlers
 * that stream are told that the connection broke. Time and memory are the caller's to bound. Threading: confined to the
 * server's loop. */
#ifndef CD_NET_HTTP_INNER_H
#define CD_NET_HTTP_INNER_H

#include "net/http/msg.h"
#include "net/http/server.h"

/* A request: the caller's memory, from ask to done. */
typedef struct cd_http_inner {
    cd_http_msg msg;                        /* what is asked; stays as it is until done */
    char peer[CD_TCP_PEER_MAX];             /* the client's address, "" when it is not known */
    bool is_local;                          /* the client is on this machine */
    void (*done)(struct cd_http_inner *in); /* the answer is there; may come before ask returns */
    u32 status;
    cd_buf lines; /* "Name: value\r\n", one behind the other */
    cd_buf body;
} cd_http_inner;

/* cd_http_inner_ask has in answered. The server waits with its end until it is. */
void cd_http_inner_ask(cd_http_server *s, cd_http_inner *in);

/* cd_http_inner_fini gives back what in holds. */
void cd_http_inner_fini(cd_http_inner *in);

#endif
