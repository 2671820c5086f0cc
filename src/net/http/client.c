#include "net/http/client.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/table/list.h"
#include "net/loop_priv.h"

#include <curl/curl.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX   ((usize)8 << 20)
#define HEADER_MAX ((usize)64 << 10)

enum {
    CONNS_MAX = 64,
    HOST_CONNS_MAX = 8,
    CONNECT_TIMEOUT_MS = 10000,
    TIMEOUT_MS = 30000,
    BODY_KEPT = 4096, /* first memory of a body */
    SPARE_MAX = 256,
};

/* A socket that curl opened. It stays watched between the requests on it: adding and removing it for each would cost
 * more than all else that is done with it. */
typedef struct watch {
    cd_http_client *client;
    cd__poll *poll; /* NULL: not watched yet */
    curl_socket_t fd;
    u8 wants;   /* WANT_… of curl; 0: the connection is idle */
    u8 watched; /* WANT_… of the loop */
} watch;

enum { WANT_READ = 1, WANT_WRITE = 2 };

struct cd_http_client {
    cd_loop *loop;
    CURLM *multi;
    cd_timer *timer;
    cd_list calls;
    cd_list doomed; /* calls that failed before they began; their owners are told in the next round of the loop */
    cd_timer *doom;
    watch **watches; /* watched sockets by descriptor; NULL for sockets that curl closes without a word */
    usize watches_cap;
    CURL *spare[SPARE_MAX]; /* idle handles, which have the options that never change */
    usize spare_cnt;
    char *user_agent;
    char *ca_file;
    u32 connect_timeout_ms;
    bool keeps_no_names;
    cd_http_may_connect *may_connect;
    void *may_connect_ctx;
};

struct cd_http_call {
    cd_list link;
    cd_http_client *client;
    CURL *easy;
    struct curl_slist *nodes; /* headers for curl, whose text lies behind the list */
    struct curl_slist *route;
    cd_buf sent;   /* body of the request */
    usize sent_at; /* how far curl has read it */
    bool is_once;
    cd_buf head;
    cd_buf body;
    usize body_max;
    usize header_max;
    u64 begin_ns;
    cd_http_result_fn *fn;
    void *ctx;
    bool is_over_limit;
    bool has_head; /* the head is complete */
    bool is_refused;
    bool is_doomed;
    bool has_cert;
};

/* --- sockets --- */

static void act(cd_http_client *client, curl_socket_t fd, int events);

static void on_socket(void *ctx, bool can_read, bool can_write)
{
    watch *w = ctx; /* act may free it */
    if (w->wants == 0) {
        /* The server closed an idle connection, or talks unasked: curl notices when it wants to use it again. */
        cd__poll_set(w->poll, false, false);
        w->watched = 0;
        return;
    }
    act(w->client, w->fd, (can_read ? CURL_CSELECT_IN : 0) | (can_write ? CURL_CSELECT_OUT : 0));
}

static void watch_open(cd_http_client *client, curl_socket_t fd)
{
    usize at = (usize)fd;
    if (at >= client->watches_cap) {
        usize cap = at * 2 + 64;
        client->watches = cd_realloc(client->watches, cap * sizeof(watch *));
        memset(client->watches + client->watches_cap, 0, (cap - client->watches_cap) * sizeof(watch *));
        client->watches_cap = cap;
    }
    watch *w = cd_new(watch);
    w->client = client;
    w->fd = fd;
    client->watches[at] = w;
}

static void watch_free(watch *w)
{
    cd__poll_free(w->poll);
    cd_free(w);
}

static void watch_close(cd_http_client *client, curl_socket_t fd)
{
    if ((usize)fd < client->watches_cap && client->watches[fd] != NULL) {
        watch_free(client->watches[fd]);
        client->watches[fd] = NULL;
    }
}

static void watch_set(watch *w, u8 wants)
{
    w->wants = wants;
    if (w->poll == NULL) {
        w->poll = cd__poll_new(w->client->loop, w->fd, on_socket, w);
    }
    if (w->watched != wants) {
        w->watched = wants;
        cd__poll_set(w->poll, (wants & WANT_READ) != 0, (wants & WANT_WRITE) != 0);
    }
}

/* What curl wants of a socket. Those of its own (an answer of the resolver) come without on_open and on_close. */
static int on_want(CURL *easy, curl_socket_t fd, int what, void *ctx, void *of_socket)
{
    cd_http_client *client = ctx;
    watch *kept = (usize)fd < client->watches_cap ? client->watches[fd] : NULL;
    watch *w = kept != NULL ? kept : of_socket;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (kept != NULL) {
            kept->wants = 0;
        } else if (w != NULL) {
            watch_free(w);
            (void)curl_multi_assign(client->multi, fd, NULL);
        }
        return 0;
    }
    if (w == NULL) {
        w = cd_new(watch);
        w->client = client;
        w->fd = fd;
        (void)curl_multi_assign(client->multi, fd, w);
    }
    watch_set(w, (u8)((what != CURL_POLL_OUT ? WANT_READ : 0) | (what != CURL_POLL_IN ? WANT_WRITE : 0)));
    return 0;
}

/* --- what curl asks for --- */

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    cd_http_call *c = ctx;
    if (n > c->body_max - c->body.n) {
        c->is_over_limit = true;
        return 0;
    }
    if (c->body.cap == 0) {
        (void)cd_buf_reserve(&c->body, n > BODY_KEPT ? n : BODY_KEPT);
    }
    cd_buf_put(&c->body, cd_bytes_of(p, size * n));
    return size * n;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    cd_http_call *c = ctx;
    if (n > c->header_max - c->head.n) {
        c->is_over_limit = true;
        return 0;
    }
    if (n >= 5 && memcmp(p, "HTTP/", 5) == 0) {
        cd_buf_clear(&c->head); /* a further head: the one before was of an answer 1xx */
        c->has_head = false;
    }
    c->has_head |= size * n <= 2; /* the empty line at the end of the head */
    cd_buf_put(&c->head, cd_bytes_of(p, size * n));
    return size * n;
}

static size_t on_read(char *p, size_t size, size_t n, void *ctx)
{
    cd_http_call *c = ctx;
    usize left = c->sent.n - c->sent_at;
    usize most = size * n < left ? size * n : left;
    if (most != 0) {
        memcpy(p, c->sent.p + c->sent_at, most);
    }
    c->sent_at += most;
    return most;
}

/* Back to the beginning: curl is about to send it again, on another connection. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    cd_http_call *c = ctx;
    if (c->is_once || origin != SEEK_SET || offset != 0) {
        return CURL_SEEKFUNC_FAIL;
    }
    c->sent_at = 0;
    return CURL_SEEKFUNC_OK;
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    cd_http_call *c = ctx;
    cd_http_client *client = c->client;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    bool may = purpose == CURLSOCKTYPE_IPCXN;
    if (a->family == AF_INET) {
        memcpy(&v4, &a->addr, sizeof v4);
        may &= client->may_connect == NULL ||
               client->may_connect(client->may_connect_ctx, cd_bytes_of(&v4.sin_addr, 4), ntohs(v4.sin_port));
    } else if (a->family == AF_INET6) {
        memcpy(&v6, &a->addr, sizeof v6);
        may &= client->may_connect == NULL ||
               client->may_connect(client->may_connect_ctx, cd_bytes_of(&v6.sin6_addr, 16), ntohs(v6.sin6_port));
    } else {
        may = false;
    }
    if (!may) {
        c->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    if (fd >= 0) {
        watch_open(client, fd);
    }
    return fd;
}

static int on_close(void *ctx, curl_socket_t fd)
{
    watch_close(ctx, fd);
    return close(fd);
}

/* --- the end of calls --- */

/* A handle for the next call, unless this one left something in it. */
static void easy_give(cd_http_call *c)
{
    cd_http_client *client = c->client;
    if (c->is_doomed || c->has_cert || client->spare_cnt == SPARE_MAX) {
        curl_easy_cleanup(c->easy);
    } else {
        client->spare[client->spare_cnt++] = c->easy;
    }
}

static void call_free(cd_http_call *c)
{
    cd_list_del(&c->link);
    if (c->easy != NULL) {
        if (!c->is_doomed) {
            (void)curl_multi_remove_handle(c->client->multi, c->easy);
        }
        easy_give(c);
    }
    cd_free(c->nodes);
    curl_slist_free_all(c->route);
    if (c->sent.n != 0) {
        explicit_bzero(c->sent.p, c->sent.n);
    }
    cd_buf_fini(&c->sent);
    cd_buf_fini(&c->head);
    cd_buf_fini(&c->body);
    cd_free(c);
}

static cd_err err_of(const cd_http_call *c, CURLcode code)
{
    if (c->is_over_limit) {
        return CD_ELIMIT;
    }
    if (c->is_refused && code == CURLE_COULDNT_CONNECT) {
        return CD_EACCES;
    }
    long sent = 0;
    bool was_sent = curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK && sent != 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
    switch (code) { /* a hundred codes, most of other protocols */
    case CURLE_OK:  /* also at the end of a connection within the head */
        return c->has_head ? CD_OK : CD_EPROTO;
    case CURLE_OPERATION_TIMEDOUT:
        return CD_ETIMEOUT;
    case CURLE_TOO_LARGE: /* one header line beyond its own bound */
        return CD_ELIMIT;
    case CURLE_COULDNT_RESOLVE_HOST:
        return CD_ENOENT;
    case CURLE_UNSUPPORTED_PROTOCOL: /* a protocol that we refuse: the URL's, or the server's */
        return was_sent ? CD_EPROTO : CD_EINVAL;
    case CURLE_URL_MALFORMAT:
        return CD_EINVAL;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
        return CD_ESIG;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_FAIL_REWIND: /* curl wanted to send the body again, which is_once forbids */
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return CD_EPROTO;
    default:
        return CD_EIO;
    }
#pragma GCC diagnostic pop
}

static void call_end(cd_http_call *c, cd_err err, const char *reason)
{
    long status = 0;
    if (c->has_head) { /* else it is that of a head that was cut short, or of the handle's last call */
        (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    }
    u64 took_ns = cd_clock_mono_ns(cd_clock_real()) - c->begin_ns;
    const cd_http_result r = {
        .err = err,
        .reason = reason,
        .status = (u32)status,
        .body = cd_buf_bytes(&c->body),
        .ms = (u32)(took_ns / CD_NS_PER_MS),
        .call = c,
    };
    cd_http_result_fn *fn = c->fn;
    c->fn = NULL;
    fn(c->ctx, &r);
    call_free(c);
}

/* Tells of every call that is over. A callback may begin and cancel others. */
static void reap(cd_http_client *client)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(client->multi, &left)) != NULL) {
        cd_http_call *c = NULL;
        if (m->msg == CURLMSG_DONE && curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c) == CURLE_OK) {
            CURLcode code = m->data.result;
            call_end(c, err_of(c, code), code == CURLE_OK ? "cut short" : curl_easy_strerror(code));
        }
    }
}

static void on_doom(void *ctx)
{
    cd_http_client *client = ctx;
    while (!cd_list_is_empty(&client->doomed)) {
        call_end(cd_list_of(client->doomed.next, cd_http_call, link), CD_EINVAL, "bad request");
    }
}

/* --- curl on the loop --- */

static void act(cd_http_client *client, curl_socket_t fd, int events)
{
    int running;
    (void)curl_multi_socket_action(client->multi, fd, events, &running);
    reap(client);
}

static int on_when(CURLM *multi, long ms, void *ctx)
{
    cd_http_client *client = ctx;
    (void)multi;
    if (ms >= 0) {
        cd_timer_start(client->timer, (u64)ms, 0);
    } else {
        cd_timer_stop(client->timer);
    }
    return 0;
}

static void on_timer(void *ctx)
{
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* --- life --- */

static char *dup_str(const char *s)
{
    usize n = strlen(s) + 1;
    return memcpy(cd_alloc(n), s, n);
}

cd_err cd_http_client_new(cd_http_client **out, cd_loop *loop, const cd_http_client_cfg *cfg, cd_errinfo *why)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) !=
        CURLE_OK) { /* curl counts these calls, so that repeating one does no harm */
        return cd_fail(why, CD_EIO, "the HTTP client cannot start");
    }
    CURLM *multi = curl_multi_init();
    if (multi == NULL) {
        curl_global_cleanup();
        return cd_fail(why, CD_EIO, "the HTTP client cannot start");
    }
    cd_http_client *c = cd_new(cd_http_client);
    c->loop = loop;
    c->multi = multi;
    c->timer = cd_timer_new(loop, on_timer, c);
    c->doom = cd_timer_new(loop, on_doom, c);
    c->user_agent = dup_str(cfg->user_agent != NULL ? cfg->user_agent : "candela");
    c->ca_file = cfg->ca_file != NULL ? dup_str(cfg->ca_file) : NULL;
    c->connect_timeout_ms = cfg->connect_timeout_ms != 0 ? cfg->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    c->keeps_no_names = cfg->keeps_no_names;
    c->may_connect = cfg->may_connect;
    c->may_connect_ctx = cfg->may_connect_ctx;
    cd_list_init(&c->calls);
    cd_list_init(&c->doomed);
    long conns = cfg->conns_max != 0 ? (long)cfg->conns_max : CONNS_MAX;
    long host_conns = cfg->host_conns_max != 0 ? (long)cfg->host_conns_max : HOST_CONNS_MAX;
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_want);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, c);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_when);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, c);
    (void)curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, conns);
    (void)curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, host_conns);
    (void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, conns);
    *out = c;
    return CD_OK;
}

void cd_http_client_free(cd_http_client *c)
{
    if (c == NULL) {
        return;
    }
    cd_list *const lists[] = {&c->calls, &c->doomed};
    for (usize i = 0; i < CD_COUNT(lists); i++) {
        while (!cd_list_is_empty(lists[i])) {
            call_free(cd_list_of(lists[i]->next, cd_http_call, link));
        }
    }
    (void)curl_multi_cleanup(c->multi); /* closes the connections, and lets go of their sockets */
    while (c->spare_cnt > 0) {
        curl_easy_cleanup(c->spare[--c->spare_cnt]);
    }
    cd_free(c->watches);
    cd_timer_free(c->timer);
    cd_timer_free(c->doom);
    cd_free(c->user_agent);
    cd_free(c->ca_file);
    cd_free(c);
    curl_global_cleanup();
}

/* --- a call --- */

/* Where the name and port of the URL lead: to one address, which was checked. */
static bool set_route(cd_http_call *c, const char *address)
{
    u8 bytes[16];
    char text[80];
    bool is_v6 = inet_pton(AF_INET6, address, bytes) == 1;
    if (!is_v6 && inet_pton(AF_INET, address, bytes) != 1) {
        return false;
    }
    (void)snprintf(text, sizeof text, is_v6 ? "::[%s]:" : "::%s:", address);
    c->route = curl_slist_append(NULL, text);
    return c->route != NULL && curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->route) == CURLE_OK;
}

/* A list of curl's kind in our memory: it only reads it. */
static char *add_node(cd_http_call *c, usize *cnt, char *text)
{
    struct curl_slist *node = &c->nodes[(*cnt)++];
    *node = (struct curl_slist){.data = text};
    if (*cnt > 1) {
        node[-1].next = node;
    }
    return text;
}

static bool set_headers(cd_http_call *c, const cd_http_ask *ask)
{
    /* No waiting for "100 Continue", and no content type that nobody chose. */
    static char none[][16] = {"Expect:", "Content-Type:"};
    const usize most = CD_COUNT(none) + ask->headers_cnt + 1;
    usize cnt = 0;
    usize size = ask->lines.n;
    for (usize i = 0; i < ask->headers_cnt; i++) {
        if (strpbrk(ask->headers[i], "\r\n") != NULL) {
            return false;
        }
        size += strlen(ask->headers[i]) + 1;
    }
    c->nodes = cd_alloc(most * sizeof *c->nodes + size);
    char *p = (char *)(c->nodes + most);
    for (usize i = 0; i < CD_COUNT(none); i++) {
        (void)add_node(c, &cnt, none[i]);
    }
    for (usize i = 0; i < ask->headers_cnt; i++) {
        usize n = strlen(ask->headers[i]) + 1;
        memcpy(add_node(c, &cnt, p), ask->headers[i], n);
        p += n;
    }
    if (ask->lines.n > 2) { /* curl takes the lines for one header, and adds the last line end */
        memcpy(add_node(c, &cnt, p), ask->lines.p, ask->lines.n - 2);
    }
    return curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->nodes) == CURLE_OK;
}

/* The handle may have done anything before: every one of these is set. */
static bool set_body(cd_http_call *c, const cd_http_ask *ask)
{
    cd_http_method method = ask->method != 0 ? ask->method : CD_HTTP_GET;
    bool has_body = ask->body.n != 0 || method == CD_HTTP_POST || method == CD_HTTP_PUT || method == CD_HTTP_PATCH;
    CURLcode e = curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
    const char *word = method == CD_HTTP_GET && !has_body ? NULL : cd_http_method_name(method);
    e = e != CURLE_OK ? e : curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, word);
    if (has_body) {
        cd_buf_put(&c->sent, ask->body);
        e = e != CURLE_OK ? e : curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
        e = e != CURLE_OK ? e : curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->sent.n);
    } else if (method == CD_HTTP_HEAD) {
        e = e != CURLE_OK ? e : curl_easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
    }
    return e == CURLE_OK;
}

static bool set_cert(cd_http_call *c, const cd_http_ask *ask)
{
    struct curl_blob cert = {(void *)(uintptr_t)ask->client_cert.p, ask->client_cert.n, CURL_BLOB_COPY};
    struct curl_blob key = {(void *)(uintptr_t)ask->client_key.p, ask->client_key.n, CURL_BLOB_COPY};
    c->has_cert = true;
    return curl_easy_setopt(c->easy, CURLOPT_SSLCERTTYPE, "PEM") == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_SSLCERT_BLOB, &cert) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_SSLKEY_BLOB, &key) == CURLE_OK;
}

/* What never changes: options that take a number, then those that take a pointer. */
static bool set_constants(CURL *easy, cd_http_client *client)
{
    const struct {
        CURLoption id;
        long v;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS},
        {CURLOPT_PIPEWAIT, 1},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_TCP_KEEPALIVE, 1},
    };
    const struct {
        CURLoption id;
        void *v;
    } pointers[] = {
        {CURLOPT_PROTOCOLS_STR, "http,https"}, {CURLOPT_PROXY, ""},
        {CURLOPT_ACCEPT_ENCODING, "gzip"},     {CURLOPT_USERAGENT, client->user_agent},
        {CURLOPT_CLOSESOCKETDATA, client},
    };
    for (usize i = 0; i < CD_COUNT(numbers); i++) {
        if (curl_easy_setopt(easy, numbers[i].id, numbers[i].v) != CURLE_OK) {
            return false;
        }
    }
    for (usize i = 0; i < CD_COUNT(pointers); i++) {
        if (curl_easy_setopt(easy, pointers[i].id, pointers[i].v) != CURLE_OK) {
            return false;
        }
    }
    return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) == CURLE_OK &&
           (!client->keeps_no_names || curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L) == CURLE_OK) &&
           (client->ca_file == NULL || curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file) == CURLE_OK);
}

static CURL *easy_take(cd_http_client *client)
{
    if (client->spare_cnt > 0) {
        return client->spare[--client->spare_cnt];
    }
    CURL *easy = curl_easy_init();
    if (easy != NULL && !set_constants(easy, client)) {
        curl_easy_cleanup(easy);
        easy = NULL;
    }
    return easy;
}

static bool set_options(cd_http_call *c, const cd_http_ask *ask)
{
    const struct {
        CURLoption id;
        void *v;
    } pointers[] = {
        {CURLOPT_URL, (void *)(uintptr_t)ask->url},
        {CURLOPT_PRIVATE, c},
        {CURLOPT_WRITEDATA, c},
        {CURLOPT_READDATA, c},
        {CURLOPT_SEEKDATA, c},
        {CURLOPT_HEADERDATA, c},
        {CURLOPT_OPENSOCKETDATA, c},
        {CURLOPT_CONNECT_TO, NULL},
    };
    for (usize i = 0; i < CD_COUNT(pointers); i++) {
        if (curl_easy_setopt(c->easy, pointers[i].id, pointers[i].v) != CURLE_OK) {
            return false;
        }
    }
    long timeout = ask->timeout_ms != 0 ? (long)ask->timeout_ms : TIMEOUT_MS;
    u32 connect = ask->connect_timeout_ms != 0 ? ask->connect_timeout_ms : c->client->connect_timeout_ms;
    return curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, timeout) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect) == CURLE_OK && set_headers(c, ask) &&
           set_body(c, ask) && (ask->address == NULL || set_route(c, ask->address)) &&
           (ask->client_cert.n == 0 || set_cert(c, ask));
}

cd_http_call *cd_http_client_call(cd_http_client *client, const cd_http_ask *ask, cd_http_result_fn *fn, void *ctx)
{
    cd_http_call *c = cd_new(cd_http_call);
    c->client = client;
    c->easy = easy_take(client);
    c->body_max = ask->body_max != 0 ? ask->body_max : BODY_MAX;
    c->header_max = ask->header_max != 0 ? ask->header_max : HEADER_MAX;
    c->begin_ns = cd_clock_mono_ns(cd_clock_real());
    c->is_once = ask->is_once;
    c->fn = fn;
    c->ctx = ctx;
    c->is_doomed = c->easy == NULL || !set_options(c, ask) || curl_multi_add_handle(client->multi, c->easy) != CURLM_OK;
    if (c->is_doomed) {
        cd_list_push_back(&client->doomed, &c->link);
        cd_timer_start(client->doom, 0, 0);
    } else {
        cd_list_push_back(&client->calls, &c->link);
    }
    return c;
}

void cd_http_call_cancel(cd_http_call *call)
{
    CD_ASSERT(call->fn != NULL);
    call_free(call);
}

static u32 ms_of(const cd_http_call *c, CURLINFO what)
{
    curl_off_t us = 0;
    (void)curl_easy_getinfo(c->easy, what, &us);
    return (u32)(us / 1000);
}

void cd_http_call_times(const cd_http_call *call, cd_http_times *out)
{
    *out = (cd_http_times){0};
    if (call->is_doomed) {
        return;
    }
    long os_errno = 0;
    long sent = 0;
    long conns = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &os_errno);
    (void)curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &sent);
    (void)curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &conns);
    out->is_refused = os_errno == ECONNREFUSED;
    out->was_sent = sent > 0;
    out->ttfb_ms = ms_of(call, CURLINFO_STARTTRANSFER_TIME_T);
    if (conns > 0) {
        out->dns_ms = ms_of(call, CURLINFO_NAMELOOKUP_TIME_T);
        out->connect_ms = ms_of(call, CURLINFO_CONNECT_TIME_T);
        out->tls_ms = ms_of(call, CURLINFO_APPCONNECT_TIME_T);
    }
}

cd_bytes cd_http_call_head(const cd_http_call *call)
{
    return cd_buf_bytes(&call->head);
}

cd_bytes cd_http_call_header(const cd_http_call *call, const char *name)
{
    cd_bytes head = cd_buf_bytes(&call->head);
    for (usize at = 0; at < head.n;) {
        const u8 *line = head.p + at;
        const u8 *end = memchr(line, '\n', head.n - at);
        usize n = end == NULL ? head.n - at : (usize)(end - line);
        const u8 *colon = memchr(line, ':', n);
        at += n + 1;
        if (colon == NULL || !cd_http_name_eq(cd_bytes_of(line, (usize)(colon - line)), cd_bytes_str(name))) {
            continue;
        }
        cd_bytes value = cd_bytes_of(colon + 1, n - (usize)(colon + 1 - line));
        while (value.n > 0 && (value.p[0] == ' ' || value.p[0] == '\t')) {
            value = cd_bytes_sub(value, 1, value.n - 1);
        }
        while (value.n > 0 && strchr(" \t\r", value.p[value.n - 1]) != NULL) {
            value.n--;
        }
        return value;
    }
    return (cd_bytes){0};
}
