#include "net/dns.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "net/dns_priv.h"
#include "net/loop_priv.h"

#include <ares.h>

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    TRY_MS = 2000, /* a name server has for its answer, twice that the second time */
    TRIES = 2,
    LOOK_MS = 1000, /* how often the configuration is looked at */
};

static const char config_path[] = "/etc/resolv.conf";

/* A channel of c-ares. One whose configuration is no longer that of the system ends with its last question. */
typedef struct resolver {
    cd_list link;
    cd_loop *loop;
    ares_channel channel; /* NULL: could not be made */
    cd_timer *timer;
    cd_list watches;
    usize asked; /* questions that are not answered yet */
    bool is_old;
} resolver;

typedef struct watch {
    cd_list link;
    resolver *owner;
    ares_socket_t fd;
    cd__poll *poll;
} watch;

struct cd__dns {
    cd_loop *loop;
    cd_list resolvers; /* the newest first */
    u64 looked_ms;     /* at the configuration */
    struct timespec changed;
    char servers[128]; /* instead of those of the system; "" */
    u32 try_ms;
};

struct cd_lookup {
    resolver *owner; /* NULL: it was answered */
    cd_lookup_fn *fn;
    void *ctx;
    cd_timer *tell;
    cd_err err;
    usize cnt;
    cd_ip found[CD_LOOKUP_MAX];
};

/* --- c-ares on the loop --- */

static void resolver_free(resolver *r)
{
    if (r->channel != NULL) {
        ares_destroy(r->channel); /* answers what is open, and closes its sockets */
    }
    cd_timer_free(r->timer);
    cd_list_del(&r->link);
    cd_free(r);
}

/* When c-ares wants to be called although no socket has anything. */
static void schedule(resolver *r)
{
    struct timeval tv;
    if (r->is_old && r->asked == 0) {
        cd_timer_start(r->timer, 0, 0);
    } else if (r->channel != NULL && ares_timeout(r->channel, NULL, &tv) != NULL) {
        cd_timer_start(r->timer, (u64)tv.tv_sec * 1000 + (u64)tv.tv_usec / 1000 + 1, 0);
    } else {
        cd_timer_stop(r->timer);
    }
}

static void on_timer(void *ctx)
{
    resolver *r = ctx;
    if (r->is_old && r->asked == 0) {
        resolver_free(r);
        return;
    }
    ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    schedule(r);
}

static void on_socket(void *ctx, bool can_read, bool can_write)
{
    const watch *w = ctx; /* may be gone after ares_process_fd */
    resolver *r = w->owner;
    ares_socket_t fd = w->fd;
    ares_process_fd(r->channel, can_read ? fd : ARES_SOCKET_BAD, can_write ? fd : ARES_SOCKET_BAD);
    schedule(r);
}

static watch *watch_of(resolver *r, ares_socket_t fd)
{
    for (cd_list *l = r->watches.next; l != &r->watches; l = l->next) {
        watch *w = cd_list_of(l, watch, link);
        if (w->fd == fd) {
            return w;
        }
    }
    watch *w = cd_new(watch);
    w->owner = r;
    w->fd = fd;
    w->poll = cd__poll_new(r->loop, fd, on_socket, w);
    cd_list_push_back(&r->watches, &w->link);
    return w;
}

/* What c-ares wants of a socket; nothing at all just before it closes it. */
static void on_want(void *ctx, ares_socket_t fd, int readable, int writable)
{
    watch *w = watch_of(ctx, fd);
    if (readable || writable) {
        cd__poll_set(w->poll, readable != 0, writable != 0);
    } else {
        cd__poll_free(w->poll);
        cd_list_del(&w->link);
        cd_free(w);
    }
}

static void library_init(void)
{
    (void)ares_library_init(ARES_LIB_INIT_ALL);
}

static resolver *resolver_new(cd__dns *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    resolver *r = cd_new(resolver);
    struct ares_options options = {
        .timeout = (int)d->try_ms,
        .tries = TRIES,
        .sock_state_cb = on_want,
        .sock_state_cb_data = r,
    };
    (void)pthread_once(&once, library_init);
    r->loop = d->loop;
    r->timer = cd_timer_new(d->loop, on_timer, r);
    cd_list_init(&r->watches);
    if (ares_init_options(&r->channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB) !=
        ARES_SUCCESS) {
        r->channel = NULL;
    } else if (d->servers[0] != '\0' && ares_set_servers_ports_csv(r->channel, d->servers) != ARES_SUCCESS) {
        ares_destroy(r->channel);
        r->channel = NULL;
    }
    cd_list_push_front(&d->resolvers, &r->link);
    return r;
}

/* --- the resolver of a loop --- */

static resolver *newest(cd__dns *d)
{
    return cd_list_of(d->resolvers.next, resolver, link);
}

static struct timespec config_time(void)
{
    struct stat st;
    return stat(config_path, &st) == 0 ? st.st_mtim : (struct timespec){0};
}

static void renew(cd__dns *d)
{
    resolver *before = newest(d);
    before->is_old = true;
    schedule(before);
    (void)resolver_new(d);
}

static cd__dns *dns_of(cd_loop *l)
{
    cd__dns **slot = cd__dns_of(l);
    if (*slot == NULL) {
        cd__dns *d = cd_new(cd__dns);
        d->loop = l;
        d->try_ms = TRY_MS;
        d->looked_ms = cd_loop_now_ms(l);
        d->changed = config_time();
        cd_list_init(&d->resolvers);
        (void)resolver_new(d);
        *slot = d;
    }
    return *slot;
}

static void look_at_config(cd__dns *d)
{
    u64 now = cd_loop_now_ms(d->loop);
    if (now - d->looked_ms < LOOK_MS) {
        return;
    }
    struct timespec t = config_time();
    d->looked_ms = now;
    if (t.tv_sec != d->changed.tv_sec || t.tv_nsec != d->changed.tv_nsec) {
        d->changed = t;
        renew(d);
    }
}

void cd__dns_free(cd__dns *d)
{
    if (d == NULL) {
        return;
    }
    while (!cd_list_is_empty(&d->resolvers)) {
        resolver_free(newest(d));
    }
    cd_free(d);
}

void cd__dns_servers_set(cd_loop *l, const char *servers, u32 try_ms)
{
    cd__dns *d = dns_of(l);
    d->try_ms = try_ms;
    (void)snprintf(d->servers, sizeof d->servers, "%s", servers);
    renew(d);
}

/* --- questions --- */

/* An address of a family that is ours; false for others. */
static bool ip_of(cd_ip *out, const struct sockaddr *a)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    *out = (cd_ip){0};
    if (a->sa_family == AF_INET) {
        memcpy(&v4, a, sizeof v4);
        memcpy(out->b, &v4.sin_addr, 4);
        out->n = 4;
    } else if (a->sa_family == AF_INET6) {
        memcpy(&v6, a, sizeof v6);
        memcpy(out->b, &v6.sin6_addr, 16);
        out->n = 16;
    }
    return out->n != 0;
}

static cd_err err_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return CD_OK;
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
        return CD_ENOENT;
    case ARES_ETIMEOUT:
        return CD_ETIMEOUT;
    default:
        return CD_EIO;
    }
}

static void lookup_free(cd_lookup *p)
{
    cd_timer_free(p->tell);
    cd_free(p);
}

static void on_tell(void *ctx)
{
    cd_lookup *p = ctx;
    p->fn(p->ctx, p->err, p->found, p->cnt);
    lookup_free(p);
}

/* In the middle of c-ares, or even of cd_lookup_new: who asked is told in the next round. */
static void on_answer(void *ctx, int status, int timeouts, struct ares_addrinfo *found)
{
    cd_lookup *p = ctx;
    (void)timeouts;
    p->owner->asked--;
    p->owner = NULL;
    for (const struct ares_addrinfo_node *a = found == NULL ? NULL : found->nodes;
         a != NULL && p->cnt < CD_COUNT(p->found); a = a->ai_next) {
        p->cnt += ip_of(&p->found[p->cnt], a->ai_addr);
    }
    if (found != NULL) {
        ares_freeaddrinfo(found);
    }
    p->err = status == ARES_SUCCESS && p->cnt == 0 ? CD_ENOENT : err_of(status);
    if (p->fn == NULL || status == ARES_EDESTRUCTION) {
        lookup_free(p); /* nobody waits, or the loop ends */
    } else {
        cd_timer_start(p->tell, 0, 0);
    }
}

cd_lookup *cd_lookup_new(cd_loop *l, const char *host, cd_lookup_fn *fn, void *ctx)
{
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    cd__dns *d = dns_of(l);
    look_at_config(d);
    cd_lookup *p = cd_new(cd_lookup);
    p->fn = fn;
    p->ctx = ctx;
    p->tell = cd_timer_new(l, on_tell, p);
    resolver *r = newest(d);
    if (r->channel == NULL) {
        p->err = CD_EIO;
        cd_timer_start(p->tell, 0, 0);
        return p;
    }
    p->owner = r;
    r->asked++;
    ares_getaddrinfo(r->channel, host, NULL, &hints, on_answer, p);
    schedule(r);
    return p;
}

/* A question that is under way ends by itself, unheard. */
void cd_lookup_drop(cd_lookup *p)
{
    if (p == NULL) {
        return;
    }
    if (p->owner == NULL) {
        lookup_free(p);
    } else {
        p->fn = NULL;
    }
}
