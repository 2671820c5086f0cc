/* plugin/host/stream_priv.h - a connection that was given over, as the files of it share it: stream.c has its life and
 * the client's side, stream_calls.c what the plugin asks. Threading: as each member says. */
#ifndef CD_PLUGIN_HOST_STREAM_PRIV_H
#define CD_PLUGIN_HOST_STREAM_PRIV_H

#include "base/thread/thread.h"
#include "grpc/server.h"
#include "plugin/host/stream.h"

typedef struct cd__stream cd__stream;

struct cd__streams {
    cd_plugin *plugin;
    cd__stream *first; /* on the plugin's loop */
    cd_loop_task leave;
    bool has_left; /* on the node's loop: leave was posted */
    cd_mutex lock; /* protects the rest */
    u32 cnt;
    bool is_freed; /* the owner has freed it: the last stream frees the memory */
};

/* A server for one stream; a stream has two, which their contexts tell apart. */
typedef struct cd__door {
    cd__stream *stream;
    cd_grpc_server *server;
    char addr[CD_PLUGIN_ADDR_MAX];
} cd__door;

struct cd__stream {
    cd__streams *all;
    cd_loop *loop; /* the node's */
    /* On the plugin's loop. */
    cd__stream *next;
    cd_grpc_client *client;
    cd_arena mem; /* memory of the request */
    cd_wire_http_handle request;
    cd_wire_http_req head;
    cd_wire_http_writer writer;
    cd_wire_http_url url;
    cd_buf body;
    usize body_at;
    cd_grpc_ask handle;
    cd__door answer; /* Writer, Reader */
    cd__door conn;   /* the connection's, after Hijack */
    cd_grpc_call *reading;
    i32 reading_n;
    cd_grpc_call *writing;
    usize writing_n;
    cd_timer *timer; /* runs until the read deadline */
    bool is_late;    /* the read deadline is over */
    bool is_asked;   /* handle was started */
    bool is_handled; /* the plugin's handler has returned */
    bool is_hijacked;
    bool has_head;
    bool is_over;
    cd_loop_task work; /* looks again: bytes came or were sent, or the client is gone */
    cd_loop_task open;
    /* On the node's loop. */
    cd_http_up *up;
    cd_buf sending;
    bool is_sending; /* a write waits for the socket */
    bool is_paused;
    cd_loop_task flush;
    cd_mutex lock; /* protects the rest */
    cd_buf in;
    cd_buf out;
    bool has_ended; /* the client sends no more */
    bool is_broken; /* the client is gone */
    bool is_done;   /* the connection is to be closed when all of out is written */
    bool is_cut;    /* the connection is to be closed now */
    bool is_deaf;   /* the plugin's side has ended: nothing is posted to it */
    bool is_work_posted;
    bool is_flush_posted;
    u32 refs;
};

/* cd__stream_unref gives back one reference. cd__stream_ask_work and _ask_flush have the plugin's and the client's side
 * look again; with the lock. */
void cd__stream_unref(cd__stream *s);
void cd__stream_ask_work(cd__stream *s);
void cd__stream_ask_flush(cd__stream *s);

/* The rest on the plugin's loop. cd__stream_put takes bytes for the client (false: it is gone), _put_head the head of
 * an answer, once. _close_after closes when all is out. _serve_reading and _writing answer who waits, when there is
 * something to say; _on_late: the read deadline is over. _open_answer opens the first server (errors: those of
 * listening), _door_closed is told of each that has closed. */
bool cd__stream_put(cd__stream *s, cd_bytes bytes);
void cd__stream_put_head(cd__stream *s, u32 status, const cd_proto_list *headers);
void cd__stream_close_after(cd__stream *s);
void cd__stream_serve_reading(cd__stream *s);
void cd__stream_serve_writing(cd__stream *s);
void cd__stream_on_late(void *ctx);
void cd__stream_door_closed(void *ctx);
cd_err cd__stream_open_answer(cd__stream *s, cd_errinfo *why) CD_CHECK;

#endif
