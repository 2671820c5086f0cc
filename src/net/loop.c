#include "net/loop.h"

#include "base/mem/mem.h"
#include "net/dns_priv.h"
#include "net/loop_priv.h"

#include <uv.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, BACKLOG = 511, CONNECT_ADDRESSES_MAX = 8 };

struct cd_loop {
    uv_loop_t uv;
    int wake_fd;    /* an eventfd: libuv's own way has the loop spin while the thread that wakes it is held up */
    uv_poll_t wake; /* of it */
    uv_prepare_t round_begin; /* before the sockets are looked at, and behind their callbacks */
    uv_check_t round_end;
    bool in_round;
    u64 round;
    _Atomic(cd_loop_task *) posted; /* newest first */
    _Atomic bool is_stopping;
    _Atomic bool is_running;
    _Atomic(pthread_t) owner;
    cd__dns *dns;             /* made when something is looked up */
    char read_buf[READ_SIZE]; /* data is used up before the next read */
};

struct cd_timer {
    uv_timer_t uv;
    cd_timer_fn *fn;
    void *ctx;
};

struct cd_signal {
    uv_signal_t uv;
    cd_signal_fn *fn;
    void *ctx;
};

/* What libuv knows of a listener or a connection: one of TCP, or one of a path on this machine. */
typedef union socket_handle {
    uv_tcp_t tcp;
    uv_pipe_t pipe;
} socket_handle;

struct cd_listener {
    union {
        uv_tcp_t uv;
        socket_handle any;
    };
    bool is_path;
    cd_accept_fn *accept;
    void *ctx;
};

struct cd_tcp {
    union {
        uv_tcp_t uv;
        socket_handle any;
    };
    cd_loop *loop;
    const cd_tcp_events *events; /* NULL before start */
    void *ctx;
    const cd__tcp_layer *layer; /* NULL: none */
    void *layer_ctx;
    bool is_reading;
    bool is_ended;
    bool is_closing;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* An error of libuv as one of ours. */
static cd_err err_of(int rc)
{
    switch (rc) {
    case 0:
        return CD_OK;
    case UV_EADDRINUSE:
        return CD_EADDRINUSE;
    case UV_EACCES:
    case UV_EPERM:
        return CD_EACCES;
    case UV_EINVAL:
        return CD_EINVAL;
    case UV_ECANCELED:
        return CD_ECLOSED;
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
    case UV_EADDRNOTAVAIL:
        return CD_ENOENT;
    default:
        return CD_EIO;
    }
}

static void tasks_run(cd_loop *l)
{
    cd_loop_task *newest = atomic_exchange_explicit(&l->posted, NULL, memory_order_acquire);
    cd_loop_task *oldest = NULL;
    while (newest != NULL) {
        cd_loop_task *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        cd_loop_task *t = oldest; /* fn may free t or post it again */
        oldest = t->next;
        t->fn(t);
    }
}

/* The write fails only when the loop is to wake up already. */
static void wake(const cd_loop *l)
{
    const u64 one = 1;
    (void)!write(l->wake_fd, &one, sizeof one);
}

static void on_wake(uv_poll_t *p, int status, int events)
{
    cd_loop *l = p->data;
    u64 cnt;
    (void)status;
    (void)events;
    (void)!read(l->wake_fd, &cnt, sizeof cnt);
    tasks_run(l);
    if (atomic_exchange(&l->is_stopping, false)) {
        uv_stop(&l->uv);
    }
}

static void on_round_begin(uv_prepare_t *p)
{
    cd_loop *l = p->data;
    l->in_round = true;
    l->round++;
}

static bool has_posted(cd_loop *l)
{
    return atomic_load_explicit(&l->posted, memory_order_relaxed) != NULL;
}

/* What callbacks of this round have posted needs no wake-up, nor what these tasks post, a few times over: then others
 * have their turn. */
static void on_round_end(uv_check_t *c)
{
    enum { TURNS = 8 };
    cd_loop *l = c->data;
    for (u32 i = 0; i < TURNS && has_posted(l); i++) {
        tasks_run(l);
    }
    l->in_round = false;
    if (has_posted(l)) {
        wake(l);
    }
}

static void round_init(cd_loop *l)
{
    (void)uv_prepare_init(&l->uv, &l->round_begin);
    (void)uv_check_init(&l->uv, &l->round_end);
    l->round_begin.data = l;
    l->round_end.data = l;
    (void)uv_prepare_start(&l->round_begin, on_round_begin);
    (void)uv_check_start(&l->round_end, on_round_end);
    uv_unref((uv_handle_t *)&l->round_begin);
    uv_unref((uv_handle_t *)&l->round_end);
}

cd_err cd_loop_new(cd_loop **out, cd_errinfo *why)
{
    cd_loop *l = cd_new(cd_loop);
    int rc = uv_loop_init(&l->uv);
    if (rc != 0) {
        cd_free(l);
        return cd_fail(why, CD_EIO, "event loop: %s", uv_strerror(rc));
    }
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->wake_fd < 0) {
        (void)uv_loop_close(&l->uv);
        cd_free(l);
        return cd_fail(why, CD_EIO, "event loop: no more descriptors");
    }
    rc = uv_poll_init(&l->uv, &l->wake, l->wake_fd);
    CD_ASSERT(rc == 0);
    rc = uv_poll_start(&l->wake, UV_READABLE, on_wake);
    CD_ASSERT(rc == 0);
    l->wake.data = l;
    round_init(l);
    /* A peer that goes away must not end the process: writes report it. */
    (void)signal(SIGPIPE, SIG_IGN);
    *out = l;
    return CD_OK;
}

void cd_loop_free(cd_loop *l)
{
    if (l == NULL) {
        return;
    }
    cd__dns_free(l->dns);
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->round_begin, NULL);
    uv_close((uv_handle_t *)&l->round_end, NULL);
    (void)uv_run(&l->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&l->uv);
    CD_ASSERT(rc == 0);
    (void)close(l->wake_fd);
    cd_free(l);
}

void cd_loop_run(cd_loop *l)
{
    atomic_store(&l->owner, pthread_self());
    atomic_store(&l->is_running, true);
    (void)uv_run(&l->uv, UV_RUN_DEFAULT);
    atomic_store(&l->is_running, false);
}

void cd_loop_stop(cd_loop *l)
{
    atomic_store(&l->is_stopping, true);
    wake(l);
}

bool cd_loop_is_here(const cd_loop *l)
{
    return atomic_load(&l->is_running) && pthread_equal(atomic_load(&l->owner), pthread_self()) != 0;
}

u64 cd_loop_now_ms(const cd_loop *l)
{
    return uv_now(&l->uv);
}

cd__dns **cd__dns_of(cd_loop *l)
{
    return &l->dns;
}

u64 cd_loop_round(const cd_loop *l)
{
    return l->round;
}

void cd_loop_post(cd_loop *l, cd_loop_task *t)
{
    cd_loop_task *head = atomic_load_explicit(&l->posted, memory_order_relaxed);
    do {
        t->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&l->posted, &head, t, memory_order_release, memory_order_relaxed));
    bool is_seen = cd_loop_is_here(l) && l->in_round;
    if (head == NULL && !is_seen) {
        wake(l);
    }
}

static void on_timer(uv_timer_t *uv)
{
    cd_timer *t = uv->data;
    t->fn(t->ctx);
}

/* Every handle's memory begins with the handle and is all there is to release. */
static void on_closed_free(uv_handle_t *h)
{
    cd_free(h);
}

cd_timer *cd_timer_new(cd_loop *l, cd_timer_fn *fn, void *ctx)
{
    cd_timer *t = cd_new(cd_timer);
    int rc = uv_timer_init(&l->uv, &t->uv);
    CD_ASSERT(rc == 0);
    t->uv.data = t;
    t->fn = fn;
    t->ctx = ctx;
    return t;
}

void cd_timer_free(cd_timer *t)
{
    if (t != NULL) {
        uv_close((uv_handle_t *)&t->uv, on_closed_free);
    }
}

void cd_timer_start(cd_timer *t, u64 delay_ms, u64 repeat_ms)
{
    int rc = uv_timer_start(&t->uv, on_timer, delay_ms, repeat_ms);
    CD_ASSERT(rc == 0);
}

void cd_timer_stop(cd_timer *t)
{
    (void)uv_timer_stop(&t->uv);
}

static void on_signal(uv_signal_t *uv, int signum)
{
    cd_signal *s = uv->data;
    s->fn(s->ctx, signum);
}

cd_err cd_signal_open(cd_signal **out, cd_loop *l, int signum, cd_signal_fn *fn, void *ctx, cd_errinfo *why)
{
    cd_signal *s = cd_new(cd_signal);
    int rc = uv_signal_init(&l->uv, &s->uv);
    CD_ASSERT(rc == 0);
    s->uv.data = s;
    s->fn = fn;
    s->ctx = ctx;
    rc = uv_signal_start(&s->uv, on_signal, signum);
    if (rc != 0) {
        uv_close((uv_handle_t *)&s->uv, on_closed_free);
        return cd_fail(why, err_of(rc), "signal %d: %s", signum, uv_strerror(rc));
    }
    *out = s;
    return CD_OK;
}

void cd_signal_close(cd_signal *s)
{
    if (s != NULL) {
        uv_close((uv_handle_t *)&s->uv, on_closed_free);
    }
}

struct cd__poll {
    uv_poll_t uv;
    cd__poll_fn *fn;
    void *ctx;
};

cd__poll *cd__poll_new(cd_loop *l, int fd, cd__poll_fn *fn, void *ctx)
{
    cd__poll *p = cd_new(cd__poll);
    int rc = uv_poll_init(&l->uv, &p->uv, fd);
    CD_ASSERT(rc == 0);
    p->uv.data = p;
    p->fn = fn;
    p->ctx = ctx;
    return p;
}

static void on_poll(uv_poll_t *uv, int status, int events)
{
    cd__poll *p = uv->data;
    p->fn(p->ctx, status != 0 || (events & UV_READABLE) != 0, status != 0 || (events & UV_WRITABLE) != 0);
}

void cd__poll_set(cd__poll *p, bool wants_read, bool wants_write)
{
    int events = (wants_read ? UV_READABLE : 0) | (wants_write ? UV_WRITABLE : 0);
    if (events == 0) {
        (void)uv_poll_stop(&p->uv);
        return;
    }
    int rc = uv_poll_start(&p->uv, events, on_poll);
    CD_ASSERT(rc == 0);
}

void cd__poll_free(cd__poll *p)
{
    if (p != NULL) {
        (void)uv_poll_stop(&p->uv);
        uv_close((uv_handle_t *)&p->uv, on_closed_free);
    }
}

static void on_connection(uv_stream_t *server, int status)
{
    cd_listener *s = server->data;
    if (status != 0) {
        return;
    }
    cd_tcp *t = cd_new(cd_tcp);
    t->loop = server->loop->data;
    t->uv.data = t;
    int rc = s->is_path ? uv_pipe_init(server->loop, &t->any.pipe, 0) : uv_tcp_init(server->loop, &t->uv);
    CD_ASSERT(rc == 0);
    t->uv.data = t;
    if (uv_accept(server, (uv_stream_t *)&t->uv) != 0) {
        cd_tcp_close(t);
        return;
    }
    if (!s->is_path) {
        (void)uv_tcp_nodelay(&t->uv, 1);
    }
    s->accept(s->ctx, t);
}

/* One attempt to listen on one address. */
static int listen_at(cd_listener *s, const struct sockaddr *addr)
{
    int rc = uv_tcp_bind(&s->uv, addr, 0);
    return rc != 0 ? rc : uv_listen((uv_stream_t *)&s->uv, BACKLOG, on_connection);
}

static int listen_any(cd_listener *s, u16 port)
{
    struct sockaddr_in6 v6; /* takes IPv4 too */
    struct sockaddr_in v4;
    int rc = uv_ip6_addr("::", port, &v6);
    CD_ASSERT(rc == 0);
    rc = listen_at(s, (const struct sockaddr *)&v6);
    if (rc == UV_EAFNOSUPPORT || rc == UV_EADDRNOTAVAIL) {
        rc = uv_ip4_addr("0.0.0.0", port, &v4);
        CD_ASSERT(rc == 0);
        rc = listen_at(s, (const struct sockaddr *)&v4);
    }
    return rc;
}

static int listen_name(cd_listener *s, uv_loop_t *uv, const char *host, u16 port)
{
    char service[8];
    (void)snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    uv_getaddrinfo_t req;
    int rc = uv_getaddrinfo(uv, &req, NULL, host, service, &hints);
    if (rc == 0) {
        /* Of a name with both kinds of address, IPv4 is what clients try for "localhost". */
        const struct addrinfo *best = req.addrinfo;
        for (const struct addrinfo *a = best; a != NULL; a = a->ai_next) {
            if (a->ai_family == AF_INET) {
                best = a;
                break;
            }
        }
        rc = best == NULL ? UV_EADDRNOTAVAIL : listen_at(s, best->ai_addr);
        uv_freeaddrinfo(req.addrinfo);
    }
    return rc;
}

cd_err cd_listener_open(cd_listener **out, cd_loop *l, const char *host, u16 port, cd_accept_fn *accept, void *ctx,
                        cd_errinfo *why)
{
    cd_listener *s = cd_new(cd_listener);
    l->uv.data = l;
    int rc = uv_tcp_init(&l->uv, &s->uv);
    CD_ASSERT(rc == 0);
    s->uv.data = s;
    s->accept = accept;
    s->ctx = ctx;
    rc = host[0] == '\0' ? listen_any(s, port) : listen_name(s, &l->uv, host, port);
    if (rc != 0) {
        uv_close((uv_handle_t *)&s->uv, on_closed_free);
        return cd_fail(why, err_of(rc), "cannot listen on %s port %u: %s", host[0] == '\0' ? "any address" : host, port,
                       uv_strerror(rc));
    }
    *out = s;
    return CD_OK;
}

/* A socket that nobody answers at is what a process has left that was killed. */
static cd_err clear_path(const struct sockaddr_un *at, cd_errinfo *why)
{
    struct stat st;
    if (lstat(at->sun_path, &st) != 0) {
        return CD_OK; /* bind tells what else is wrong with it */
    }
    if (!S_ISSOCK(st.st_mode)) {
        return cd_fail(why, CD_EEXIST, "cannot listen at %s: something else has this name", at->sun_path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return cd_fail(why, CD_EIO, "cannot listen at %s: no more descriptors", at->sun_path);
    }
    bool is_dead = connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    if (!is_dead) {
        return cd_fail(why, CD_EADDRINUSE, "cannot listen at %s: another process does", at->sun_path);
    }
    if (unlink(at->sun_path) != 0) {
        return cd_fail(why, CD_EACCES, "cannot listen at %s: what is there cannot be removed", at->sun_path);
    }
    return CD_OK;
}

cd_err cd_listener_open_path(cd_listener **out, cd_loop *l, const char *path, cd_accept_fn *accept, void *ctx,
                             cd_errinfo *why)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof at.sun_path) {
        return cd_fail(why, CD_ELIMIT, "cannot listen at \"%.120s\": a path of a socket has 1 to %zu characters", path,
                       sizeof at.sun_path - 1);
    }
    memcpy(at.sun_path, path, strlen(path));
    CD_TRY(clear_path(&at, why));
    cd_listener *s = cd_new(cd_listener);
    int rc = uv_pipe_init(&l->uv, &s->any.pipe, 0);
    CD_ASSERT(rc == 0);
    l->uv.data = l;
    s->uv.data = s;
    s->is_path = true;
    s->accept = accept;
    s->ctx = ctx;
    rc = uv_pipe_bind(&s->any.pipe, path);
    /* Nobody can connect before the socket listens, so its rights are in time. */
    if (rc == 0 && chmod(path, 0600) != 0) {
        rc = UV_EACCES;
    }
    rc = rc != 0 ? rc : uv_listen((uv_stream_t *)&s->uv, BACKLOG, on_connection);
    if (rc != 0) {
        uv_close((uv_handle_t *)&s->uv, on_closed_free);
        return cd_fail(why, err_of(rc), "cannot listen at %s: %s", path, uv_strerror(rc));
    }
    *out = s;
    return CD_OK;
}

void cd_listener_close(cd_listener *s)
{
    if (s != NULL) {
        uv_close((uv_handle_t *)&s->uv, on_closed_free);
    }
}

/* 0: it is not known. */
static u16 own_port(const uv_tcp_t *uv)
{
    struct sockaddr_storage addr;
    int n = sizeof addr;
    u16 port_be;
    if (uv_tcp_getsockname(uv, (struct sockaddr *)&addr, &n) != 0 || addr.ss_family == AF_UNIX) {
        return 0;
    }
    /* sin_port and sin6_port lie at the same place. */
    memcpy(&port_be, (const u8 *)&addr + offsetof(struct sockaddr_in, sin_port), sizeof port_be);
    return cd_be16((const u8 *)&port_be);
}

u16 cd_listener_port(const cd_listener *s)
{
    u16 port = own_port(&s->uv);
    CD_ASSERT(port != 0);
    return port;
}

struct cd_connect {
    cd_loop *loop;
    u16 port;
    cd_connect_fn *fn; /* NULL: told, or nobody wants to know */
    void *ctx;
    cd_timer *timer;
    cd_lookup *lookup; /* NULL: it is over */
    cd_ip found[CONNECT_ADDRESSES_MAX];
    usize cnt, at; /* the address that is tried */
    cd_tcp *tcp;   /* NULL: not yet */
    uv_connect_t uv;
};

/* Tells how it ended, once. The memory stays while libuv knows of it. */
static void connect_tell(cd_connect *c, cd_tcp *tcp, cd_err err)
{
    cd_connect_fn *fn = c->fn;
    c->fn = NULL;
    cd_timer_stop(c->timer);
    if (fn != NULL) {
        fn(c->ctx, tcp, err);
    } else if (tcp != NULL) {
        cd_tcp_close(tcp);
    }
}

static void connect_free(cd_connect *c)
{
    cd_timer_free(c->timer);
    cd_free(c);
}

static void connect_begin(cd_connect *c);

/* The next address, while there is one and somebody waits. */
static void connect_failed(cd_connect *c, cd_err err)
{
    cd_tcp_close(c->tcp);
    c->tcp = NULL;
    if (c->fn != NULL && ++c->at < c->cnt) {
        connect_begin(c);
    } else {
        connect_tell(c, NULL, err);
        connect_free(c);
    }
}

static void on_connected(uv_connect_t *uv, int status)
{
    cd_connect *c = uv->data;
    if (status != 0) {
        connect_failed(c, err_of(status));
        return;
    }
    (void)uv_tcp_nodelay(&c->tcp->uv, 1);
    connect_tell(c, c->tcp, CD_OK);
    connect_free(c);
}

static struct sockaddr_storage address_of(const cd_ip *ip, u16 port)
{
    struct sockaddr_storage out = {0};
    if (ip->n == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, ip->b, 4);
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&out;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        memcpy(&v6->sin6_addr, ip->b, 16);
    }
    return out;
}

static void connect_begin(cd_connect *c)
{
    struct sockaddr_storage addr = address_of(&c->found[c->at], c->port);
    c->tcp = cd_new(cd_tcp);
    c->tcp->loop = c->loop;
    int rc = uv_tcp_init(&c->loop->uv, &c->tcp->uv);
    CD_ASSERT(rc == 0);
    c->tcp->uv.data = c->tcp;
    c->uv.data = c;
    rc = uv_tcp_connect(&c->uv, &c->tcp->uv, (const struct sockaddr *)&addr, on_connected);
    if (rc != 0) {
        connect_failed(c, err_of(rc));
    }
}

static void on_found(void *ctx, cd_err err, const cd_ip *found, usize cnt)
{
    cd_connect *c = ctx;
    c->lookup = NULL;
    if (err != CD_OK) {
        connect_tell(c, NULL, err);
        connect_free(c);
        return;
    }
    c->cnt = cnt < CONNECT_ADDRESSES_MAX ? cnt : CONNECT_ADDRESSES_MAX;
    memcpy(c->found, found, c->cnt * sizeof *found);
    connect_begin(c);
}

static void on_connect_late(void *ctx)
{
    connect_tell(ctx, NULL, CD_ETIMEOUT);
    cd_connect_drop(ctx);
}

cd_connect *cd_connect_new(cd_loop *l, const char *host, u16 port, u32 timeout_ms, cd_connect_fn *fn, void *ctx)
{
    cd_connect *c = cd_new(cd_connect);
    c->loop = l;
    c->port = port;
    c->fn = fn;
    c->ctx = ctx;
    c->timer = cd_timer_new(l, on_connect_late, c);
    cd_timer_start(c->timer, timeout_ms, 0);
    c->lookup = cd_lookup_new(l, host, on_found, c);
    return c;
}

/* What runs is ended; its callback follows and releases the rest. */
void cd_connect_drop(cd_connect *c)
{
    c->fn = NULL;
    cd_timer_stop(c->timer);
    if (c->tcp != NULL) {
        cd_tcp_close(c->tcp);
    } else if (c->lookup != NULL) {
        cd_lookup_drop(c->lookup);
        c->lookup = NULL;
        connect_free(c);
    }
}

u16 cd_tcp_port(const cd_tcp *t)
{
    return own_port(&t->uv);
}

bool cd_tcp_is_local(const cd_tcp *t)
{
    static const u8 v4_in_v6[12] = {[10] = 0xff, [11] = 0xff};
    static const u8 v6_self[16] = {[15] = 1};
    struct sockaddr_storage addr = {0};
    int n = sizeof addr;
    if (uv_tcp_getpeername(&t->uv, (struct sockaddr *)&addr, &n) != 0) {
        return false;
    }
    const u8 *v4 = (const u8 *)&((const struct sockaddr_in *)&addr)->sin_addr;
    const u8 *v6 = (const u8 *)&((const struct sockaddr_in6 *)&addr)->sin6_addr;
    if (addr.ss_family == AF_INET) {
        return v4[0] == 127;
    }
    if (addr.ss_family == AF_UNIX) {
        return true;
    }
    return addr.ss_family == AF_INET6 &&
           (memcmp(v6, v6_self, sizeof v6_self) == 0 || (memcmp(v6, v4_in_v6, 12) == 0 && v6[12] == 127));
}

void cd_tcp_peer(const cd_tcp *t, char out[CD_TCP_PEER_MAX])
{
    static const u8 v4_in_v6[12] = {[10] = 0xff, [11] = 0xff};
    struct sockaddr_storage addr = {0};
    int n = sizeof addr;
    out[0] = '\0';
    if (uv_tcp_getpeername(&t->uv, (struct sockaddr *)&addr, &n) != 0) {
        return;
    }
    const u8 *v6 = (const u8 *)&((const struct sockaddr_in6 *)&addr)->sin6_addr;
    if (addr.ss_family == AF_INET6 && memcmp(v6, v4_in_v6, 12) == 0) {
        (void)uv_inet_ntop(AF_INET, v6 + 12, out, CD_TCP_PEER_MAX);
    } else {
        (void)uv_ip_name((const struct sockaddr *)&addr, out, CD_TCP_PEER_MAX);
    }
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    cd_tcp *t = h->data;
    (void)suggested;
    *buf = uv_buf_init(t->loop->read_buf, READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    cd_tcp *t = stream->data;
    if (t->is_closing || n == 0) {
        return;
    }
    if (n > 0) {
        cd_bytes data = cd_bytes_of(buf->base, (usize)n);
        if (t->layer != NULL) {
            t->layer->data(t->layer_ctx, data);
        } else {
            t->events->data(t->ctx, data);
        }
        return;
    }
    (void)uv_read_stop(stream);
    t->is_ended = true;
    t->is_reading = false;
    cd_err err = n == UV_EOF ? CD_OK : err_of((int)n);
    if (t->layer != NULL) {
        t->layer->end(t->layer_ctx, err);
    } else {
        t->events->end(t->ctx, err);
    }
}

void cd_tcp_start(cd_tcp *t, const cd_tcp_events *events, void *ctx)
{
    CD_ASSERT(t->events == NULL);
    t->events = events;
    t->ctx = ctx;
    cd_tcp_resume(t);
}

void cd__tcp_raw_pause(cd_tcp *t)
{
    if (t->is_reading) {
        (void)uv_read_stop((uv_stream_t *)&t->uv);
        t->is_reading = false;
    }
}

void cd__tcp_raw_resume(cd_tcp *t)
{
    if (!t->is_reading && !t->is_ended && !t->is_closing) {
        int rc = uv_read_start((uv_stream_t *)&t->uv, on_alloc, on_read);
        CD_ASSERT(rc == 0);
        t->is_reading = true;
    }
}

void cd_tcp_pause(cd_tcp *t)
{
    if (t->layer != NULL) {
        t->layer->pause(t->layer_ctx);
    } else {
        cd__tcp_raw_pause(t);
    }
}

void cd_tcp_resume(cd_tcp *t)
{
    if (t->layer != NULL) {
        t->layer->resume(t->layer_ctx);
    } else {
        cd__tcp_raw_resume(t);
    }
}

static void on_written(uv_write_t *req, int status)
{
    cd_tcp *t = req->handle->data;
    if (t->is_closing) {
        return;
    }
    cd_err err = err_of(status);
    if (t->layer != NULL) {
        t->layer->written(t->layer_ctx, err);
    } else {
        t->events->written(t->ctx, err);
    }
}

cd_err cd__tcp_raw_write(cd_tcp *t, const cd_bytes *parts, usize cnt)
{
    uv_buf_t bufs[CD_TCP_PARTS_MAX];
    u32 n = 0;
    usize total = 0;
    CD_ASSERT(cnt <= CD_TCP_PARTS_MAX && !t->is_closing);
    for (usize i = 0; i < cnt; i++) {
        if (parts[i].n != 0) {
            CD_ASSERT(parts[i].n <= UINT32_MAX);
            bufs[n++] = uv_buf_init((char *)(uintptr_t)parts[i].p, (u32)parts[i].n);
            total += parts[i].n;
        }
    }
    int sent = total == 0 ? 0 : uv_try_write((uv_stream_t *)&t->uv, bufs, n);
    if (sent < 0 && sent != UV_EAGAIN) {
        return CD_EIO;
    }
    usize done = sent < 0 ? 0 : (usize)sent;
    if (done == total) {
        return CD_OK;
    }
    u32 first = 0;
    while (done >= bufs[first].len) {
        done -= bufs[first++].len;
    }
    bufs[first].base += done;
    bufs[first].len -= done;
    int rc = uv_write(&t->write, (uv_stream_t *)&t->uv, bufs + first, n - first, on_written);
    return rc == 0 ? CD_EAGAIN : CD_EIO;
}

cd_err cd_tcp_write(cd_tcp *t, const cd_bytes *parts, usize cnt)
{
    return t->layer != NULL ? t->layer->write(t->layer_ctx, parts, cnt) : cd__tcp_raw_write(t, parts, cnt);
}

void cd__tcp_raw_shutdown(cd_tcp *t)
{
    if (!t->is_closing) {
        (void)uv_shutdown(&t->shutdown, (uv_stream_t *)&t->uv, NULL);
    }
}

void cd_tcp_shutdown(cd_tcp *t)
{
    if (t->layer != NULL) {
        t->layer->shutdown(t->layer_ctx);
    } else {
        cd__tcp_raw_shutdown(t);
    }
}

static void on_tcp_closed(uv_handle_t *h)
{
    cd_tcp *t = h->data;
    const cd_tcp_events *events = t->events;
    void *ctx = t->ctx;
    if (t->layer != NULL) {
        t->layer->closed(t->layer_ctx);
    }
    cd_free(t);
    if (events != NULL) {
        events->closed(ctx);
    }
}

void cd_tcp_close(cd_tcp *t)
{
    if (t->is_closing) {
        return;
    }
    if (t->layer != NULL) {
        t->layer->close(t->layer_ctx);
    }
    t->is_closing = true;
    uv_close((uv_handle_t *)&t->uv, on_tcp_closed);
}

void cd__tcp_layer_set(cd_tcp *t, const cd__tcp_layer *ops, void *layer)
{
    CD_ASSERT(t->events == NULL && t->layer == NULL);
    t->layer = ops;
    t->layer_ctx = layer;
    cd__tcp_raw_resume(t);
}

void *cd__tcp_layer_get(const cd_tcp *t, const cd__tcp_layer *ops)
{
    return t->layer == ops ? t->layer_ctx : NULL;
}

const cd_tcp_events *cd__tcp_events(const cd_tcp *t, void **ctx)
{
    *ctx = t->ctx;
    return t->events;
}
