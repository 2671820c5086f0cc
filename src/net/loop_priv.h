/* net/loop_priv.h - how a layer (TLS) gets between a connection and its owner.
 *
 *   owner ── cd_tcp_write ─► layer ── cd__tcp_raw_write ─► socket
 *   owner ◄─ events ──────── layer ◄─ data, end, written ─ socket
 *
 * The owner goes on using cd_tcp and notices nothing. Threading: confined. */
#ifndef CD_NET_LOOP_PRIV_H
#define CD_NET_LOOP_PRIV_H

#include "net/loop.h"

/* The first three are what the socket tells, the rest what the owner wants, as in net/loop.h. After
 * close the layer is called once more, with closed, before the owner's event. */
typedef struct cd__tcp_layer {
    void (*data)(void *layer, cd_bytes data);
    void (*end)(void *layer, cd_err err);
    void (*written)(void *layer, cd_err err);
    void (*pause)(void *layer);
    void (*resume)(void *layer);
    cd_err (*write)(void *layer, const cd_bytes *parts, usize cnt);
    void (*shutdown)(void *layer);
    void (*close)(void *layer); /* the last chance to write */
    void (*closed)(void *layer);
} cd__tcp_layer;

/* cd__tcp_layer_set puts ops between t, which was not started, and its owner to be, and begins to read. */
void cd__tcp_layer_set(cd_tcp *t, const cd__tcp_layer *ops, void *layer);

/* cd__tcp_layer_get gives the layer that was set with these ops, or NULL. */
void *cd__tcp_layer_get(const cd_tcp *t, const cd__tcp_layer *ops);

/* The owner's events and their context; NULL before cd_tcp_start. */
const cd_tcp_events *cd__tcp_events(const cd_tcp *t, void **ctx);

/* The socket itself, for the layer; as the functions of the same name in net/loop.h. */
cd_err cd__tcp_raw_write(cd_tcp *t, const cd_bytes *parts, usize cnt) CD_CHECK;
void cd__tcp_raw_pause(cd_tcp *t);
void cd__tcp_raw_resume(cd_tcp *t);
void cd__tcp_raw_shutdown(cd_tcp *t);

/* Sockets of libraries that do their own reading and writing (an HTTP client, a Redis client). */
typedef struct cd__poll cd__poll;
typedef void cd__poll_fn(void *ctx, bool can_read, bool can_write);

/* cd__poll_new watches fd, which stays the library's; cd__poll_set says what for; fn is called with what is possible
 * (both, when the socket is broken). cd__poll_free before the library closes fd, or right behind; NULL is allowed. */
cd__poll *cd__poll_new(cd_loop *l, int fd, cd__poll_fn *fn, void *ctx);
void cd__poll_set(cd__poll *p, bool wants_read, bool wants_write);
void cd__poll_free(cd__poll *p);

#endif
