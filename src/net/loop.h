/* net/loop.h - the event loop: timers, work posted from other threads, signals, TCP,
 * sockets at paths.
 *
 * One thread runs the loop and owns everything made from it; callbacks run there and must not block.
 * The one way in from other threads is cd_loop_post. Nothing else knows libuv.
 * Threading: confined, except cd_loop_post and cd_loop_stop. */
#ifndef CD_NET_LOOP_H
#define CD_NET_LOOP_H

#include "base/bytes.h"

typedef struct cd_loop cd_loop;

/* cd_loop_new makes a loop. Errors: CD_EIO when the system has no more descriptors. */
cd_err cd_loop_new(cd_loop **out, cd_errinfo *why) CD_CHECK;

/* cd_loop_free releases a loop that does not run, after timers, signals, listeners and connections were
 * closed; it finishes their closing. NULL is allowed. */
void cd_loop_free(cd_loop *l);

/* cd_loop_run handles events on the calling thread until cd_loop_stop. It can be run again. */
void cd_loop_run(cd_loop *l);

/* cd_loop_stop makes cd_loop_run return after the current round. Any thread. */
void cd_loop_stop(cd_loop *l);

/* cd_loop_is_here: the calling thread is the one that runs the loop. Any thread. */
bool cd_loop_is_here(const cd_loop *l);

/* cd_loop_now_ms: monotonic time at the start of this round, in milliseconds. */
u64 cd_loop_now_ms(const cd_loop *l);

/* cd_loop_round: how often the loop has looked for events. What takes long but few rounds waits for this thread, not
 * for others. */
u64 cd_loop_round(const cd_loop *l);

/* A piece of work for the loop thread, a member of the caller's struct, which must stay until fn runs.
 * A task is posted at most once at a time, so posting needs no memory and cannot fail. */
typedef struct cd_loop_task {
    struct cd_loop_task *next;
    void (*fn)(struct cd_loop_task *t);
} cd_loop_task;

/* cd_loop_post makes the loop call t->fn(t). Tasks of one thread run in the order of their posting.
 * Any thread, the loop's own too; what is posted after the last run ends is kept for the next. */
void cd_loop_post(cd_loop *l, cd_loop_task *t);

typedef struct cd_timer cd_timer;
/* Called when a timer is due. */
typedef void cd_timer_fn(void *ctx);

/* cd_timer_new makes a timer that does not run; cd_timer_free ends it (NULL is allowed). */
cd_timer *cd_timer_new(cd_loop *l, cd_timer_fn *fn, void *ctx);
void cd_timer_free(cd_timer *t);

/* cd_timer_start calls fn after delay_ms, and then every repeat_ms unless that is 0. A running timer is
 * set anew. cd_timer_stop stops it. */
void cd_timer_start(cd_timer *t, u64 delay_ms, u64 repeat_ms);
void cd_timer_stop(cd_timer *t);

typedef struct cd_signal cd_signal;
/* Called on the loop's thread after a signal. */
typedef void cd_signal_fn(void *ctx, int signum);

/* cd_signal_open calls fn on the loop whenever the process gets signum, instead of the default action.
 * Errors: CD_EINVAL for a signal that cannot be caught. */
cd_err cd_signal_open(cd_signal **out, cd_loop *l, int signum, cd_signal_fn *fn, void *ctx, cd_errinfo *why) CD_CHECK;
void cd_signal_close(cd_signal *s); /* NULL is allowed */

typedef struct cd_listener cd_listener;
typedef struct cd_tcp cd_tcp;

/* Called with a new connection, which the callee owns: it calls cd_tcp_start or cd_tcp_close. */
typedef void cd_accept_fn(void *ctx, cd_tcp *tcp);

/* cd_listener_open listens on host (an address, or a name that is looked up at once; "" is every
 * address) and port (0 lets the system choose).
 * Errors: CD_EADDRINUSE, CD_EACCES, CD_ENOENT (unknown name), CD_EIO. */
cd_err cd_listener_open(cd_listener **out, cd_loop *l, const char *host, u16 port, cd_accept_fn *accept, void *ctx,
                        cd_errinfo *why) CD_CHECK;

/* cd_listener_open_path listens at a path of this machine, for processes of this user alone (mode 0600). What a process
 * has left there that was killed is removed; closing removes the path. Errors: CD_ELIMIT (the path is longer than 107
 * bytes), CD_EADDRINUSE (somebody answers there), CD_EEXIST (it is no socket), CD_EACCES, CD_EIO. */
cd_err cd_listener_open_path(cd_listener **out, cd_loop *l, const char *path, cd_accept_fn *accept, void *ctx,
                             cd_errinfo *why) CD_CHECK;
void cd_listener_close(cd_listener *s); /* NULL is allowed */

/* cd_listener_port: of one that has a port. */
u16 cd_listener_port(const cd_listener *s);

/* cd_connect_new connects to host (a name or an address) within timeout_ms and calls fn once, not before it returns:
 * with a connection, which the callee owns as one of a listener, or NULL and why (CD_ENOENT: no such host,
 * CD_ETIMEOUT, CD_EACCES, CD_EIO). Of a name with several addresses the next is tried when one refuses.
 * cd_connect_drop: before that, it will not be called. */
typedef struct cd_connect cd_connect;
typedef void cd_connect_fn(void *ctx, cd_tcp *tcp, cd_err err);
cd_connect *cd_connect_new(cd_loop *l, const char *host, u16 port, u32 timeout_ms, cd_connect_fn *fn, void *ctx);
void cd_connect_drop(cd_connect *c);

/* What a connection tells its owner. No callback comes after cd_tcp_close, except closed. */
typedef struct cd_tcp_events {
    void (*data)(void *ctx, cd_bytes data); /* borrowed for the call */
    void (*end)(void *ctx, cd_err err);     /* no more data: CD_OK the peer is done, else broken */
    void (*written)(void *ctx, cd_err err); /* a write that had to wait is over */
    void (*closed)(void *ctx);              /* the last callback; tcp is gone */
} cd_tcp_events;

/* cd_tcp_is_local: the peer is on this machine, or was when it connected. */
bool cd_tcp_is_local(const cd_tcp *t);

/* cd_tcp_port gives the port on this side, 0 when it is not known any more. */
u16 cd_tcp_port(const cd_tcp *t);

/* cd_tcp_peer gives the address of the other side as text, "" when it is not known any more. */
enum { CD_TCP_PEER_MAX = 46 }; /* with NUL */
void cd_tcp_peer(const cd_tcp *t, char out[CD_TCP_PEER_MAX]);

/* cd_tcp_start begins to read. events and ctx stay until closed. */
void cd_tcp_start(cd_tcp *t, const cd_tcp_events *events, void *ctx);

/* cd_tcp_pause stops the reading, cd_tcp_resume goes on; both may be repeated. */
void cd_tcp_pause(cd_tcp *t);
void cd_tcp_resume(cd_tcp *t);

enum { CD_TCP_PARTS_MAX = 64 };

/* cd_tcp_write sends the parts one behind the other with one system call if the socket takes them.
 * CD_OK: all sent, no event follows. CD_EAGAIN: the rest is on its way, the parts stay borrowed until
 * the event `written`; no other write before that. Other errors: the connection is broken. */
cd_err cd_tcp_write(cd_tcp *t, const cd_bytes *parts, usize cnt) CD_CHECK;

/* cd_tcp_shutdown tells the peer that nothing more will be sent. Not while a write waits. */
void cd_tcp_shutdown(cd_tcp *t);

/* cd_tcp_close ends the connection; `closed` follows in a later round (unless it was never started,
 * then nothing follows). Repeating it does nothing. */
void cd_tcp_close(cd_tcp *t);

#endif
