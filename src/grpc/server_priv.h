/* grpc/server_priv.h - what server.c (connections, methods, life) and call.c (one call) share. Threading: confined. */
#ifndef CD_GRPC_SERVER_PRIV_H
#define CD_GRPC_SERVER_PRIV_H

#include "grpc/due_priv.h"
#include "grpc/meta_priv.h"
#include "grpc/server.h"

/* A method that is offered. */
typedef struct cd__grpc_row {
    cd_bytes path;
    const cd_grpc_method *method;
    void *ctx;
} cd__grpc_row;

struct cd_grpc_server {
    cd_loop *loop;
    cd_grpc_server_cfg cfg;
    cd_listener *listener;
    cd__grpc_row *rows; /* sorted by path */
    usize rows_cnt;
    cd_list peers;
    u32 peers_cnt;
    cd_list calls;
    u32 calls_cnt;
    cd__grpc_account account;
    cd__grpc_due due;
    cd_timer *grace;
    cd_loop_task over;
    void (*done)(void *ctx);
    void *done_ctx;
    bool is_closing;
    bool is_over;
};

/* A connection. */
typedef struct cd__grpc_peer {
    cd_list link;
    cd_grpc_server *server;
    cd__grpc_conn *conn;
    u32 calls_cnt;
} cd__grpc_peer;

struct cd_grpc_call {
    cd__grpc_stream st; /* first */
    cd_list link;
    cd_grpc_server *server;
    cd__grpc_peer *peer; /* NULL: the connection is closed */
    cd__grpc_row row;    /* method NULL: no such method, or the head is not there yet */
    cd_buf path;
    cd_buf in_meta;
    cd_buf out_meta;
    cd__grpc_due_item due;
    u64 deadline_ms;
    u64 timeout_ms;
    bool is_post;
    bool is_grpc;
    bool is_http; /* the request is not one of gRPC */
    bool has_timeout;
    bool is_bad; /* its grpc-timeout is malformed */
    bool has_handler;
    bool is_responded;
    bool is_closed; /* the stream is closed */
    bool is_told;   /* nobody wants the answer any more; gone was called if it was set */
    void (*gone)(void *ctx);
    void *gone_ctx;
    cd_loop_task task;
    cd_buf reply;
    cd_grpc_status status;
    cd_buf status_text;
    cd__grpc_field *trailers;
    usize reply_held; /* bytes of the answer in the account */
};

/* What a connection tells of a stream; cd__grpc_conn_events says when. */
cd__grpc_stream *cd__grpc_call_new(cd__grpc_peer *p);
void cd__grpc_call_header(void *ctx, cd__grpc_stream *st, cd_bytes name, cd_bytes value, bool is_trailer);
void cd__grpc_call_head_end(void *ctx, cd__grpc_stream *st);
void cd__grpc_call_data(void *ctx, cd__grpc_stream *st, cd_bytes data);
void cd__grpc_call_end(void *ctx, cd__grpc_stream *st);
void cd__grpc_call_closed(void *ctx, cd__grpc_stream *st, i32 code);

/* cd__grpc_call_late: the deadline of a call is over. */
void cd__grpc_call_late(cd__grpc_due_item *it);

/* cd__grpc_server_find looks a method up, NULL: there is none. cd__grpc_server_has_service: a method of the service is
 * offered. cd__grpc_server_check_done ends a closed server when its last connection and call are gone. */
const cd__grpc_row *cd__grpc_server_find(const cd_grpc_server *s, cd_bytes path);
bool cd__grpc_server_has_service(const cd_grpc_server *s, cd_bytes name);
void cd__grpc_server_check_done(cd_grpc_server *s);

/* The built-in method of grpc.health.v1.Health. */
extern const cd_grpc_method cd__grpc_health;

#endif
