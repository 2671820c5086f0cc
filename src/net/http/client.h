/* net/http/client.h - an HTTP client on the loop: many calls at once, kept connections, nothing unbounded.
 *
 * HTTP/1.1 with keep-alive, HTTP/2 by ALPN, TLS that is verified; names are looked up by threads of its own. A call on
 * a kept connection that ends before the answer is sent again on another, unless it asks not to be. A call has
 * one deadline over everything, a largest body (as it is after decompression) and a largest head. Redirects are not
 * followed: they are answers. Proxies of the environment are not used, cookies and files never.
 *
 * For calls whose URL a stranger has chosen: may_connect is asked about every address before there is a connection to
 * it, and `address` makes a call go to one that was checked before, whatever its name leads to by now.
 * Wraps libcurl; no other file knows it. Threading: confined to the loop. */
#ifndef CD_NET_HTTP_CLIENT_H
#define CD_NET_HTTP_CLIENT_H

#include "net/http/http.h"
#include "net/loop.h"

typedef struct cd_http_client cd_http_client;
typedef struct cd_http_call cd_http_call;

/* An address that a connection is about to go to: 4 or 16 bytes in network order. false refuses it. */
typedef bool cd_http_may_connect(void *ctx, cd_bytes address, u16 port);

/* Zero in a number means its default. Strings are copied. */
typedef struct cd_http_client_cfg {
    u32 conns_max;          /* 64 connections; further calls wait for one */
    u32 host_conns_max;     /* 8 to one host and port */
    u32 connect_timeout_ms; /* 10000, TLS included */
    const char *user_agent; /* "candela" */
    bool keeps_no_names;    /* calls give addresses: no look-ups to keep, or to sift for old ones at every call */
    const char *ca_file;    /* PEM, instead of the system's certificates; NULL: those */
    cd_http_may_connect *may_connect; /* NULL: everything may */
    void *may_connect_ctx;
} cd_http_client_cfg;

/* cd_http_client_new makes a client. Errors: CD_EIO when the library cannot start. */
cd_err cd_http_client_new(cd_http_client **out, cd_loop *loop, const cd_http_client_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_http_client_free ends all calls without telling, and closes the connections. NULL is allowed. */
void cd_http_client_free(cd_http_client *c);

/* What is asked. Everything is copied. Zero in a number means its default. */
typedef struct cd_http_ask {
    cd_http_method method;      /* 0: GET */
    const char *url;            /* http:// or https:// */
    const char *const *headers; /* "Name: value" */
    usize headers_cnt;
    cd_bytes lines;         /* more of them: whole lines, each ended by CR LF, sent as they are behind the others */
    cd_bytes body;          /* sent when it is not empty, or the method is POST, PUT or PATCH */
    u32 timeout_ms;         /* 30000, from here to the end of the answer */
    u32 connect_timeout_ms; /* longest time to connect, in place of the client's */
    bool is_once; /* never sent a second time: not even when a kept connection ends before there is an answer, which may
                     be the server's doing; then it ends with CD_EPROTO */
    usize body_max;       /* 8 MiB */
    usize header_max;     /* 64 KiB */
    const char *address;  /* connect to this IP address, not where the name leads; NULL */
    cd_bytes client_cert; /* PEM: who we are to a server that asks, with client_key; empty */
    cd_bytes client_key;
} cd_http_ask;

/* How it ended; borrowed for the call. */
typedef struct cd_http_result {
    cd_err err;         /* CD_OK: a whole answer, whatever its status. CD_ETIMEOUT; CD_ELIMIT (too much body or head);
                           CD_ENOENT (no such host); CD_EACCES (refused by may_connect); CD_ESIG (certificate);
                           CD_EPROTO (no HTTP, or cut short); CD_EINVAL (URL, headers); CD_EIO (connection, chunks) */
    const char *reason; /* words for a log; they hold nothing of URL, headers or body */
    u32 status;         /* 0 when no whole head came */
    cd_bytes body;
    u32 ms; /* how long it took */
    const cd_http_call *call;
} cd_http_result;
/* Told once how a call ended. */
typedef void cd_http_result_fn(void *ctx, const cd_http_result *r);

/* cd_http_client_call begins a call; fn is called once, never before this returns. */
cd_http_call *cd_http_client_call(cd_http_client *c, const cd_http_ask *ask, cd_http_result_fn *fn, void *ctx);

/* cd_http_call_cancel ends a call whose fn was not called yet; it will not be. */
void cd_http_call_cancel(cd_http_call *call);

/* How far a call came and when, in ms since its beginning; for fn. What did not happen, as on a kept connection, is
 * 0. */
typedef struct cd_http_times {
    u32 dns_ms;      /* the name is known */
    u32 connect_ms;  /* TCP */
    u32 tls_ms;      /* TLS */
    u32 ttfb_ms;     /* the first byte of the answer */
    bool is_refused; /* the connection was, by the other side */
    bool was_sent;   /* something of the request went out */
} cd_http_times;
/* cd_http_call_times reads them. */
void cd_http_call_times(const cd_http_call *call, cd_http_times *out);

/* cd_http_call_head gives the head of the answer as it came, status line first; for fn. */
cd_bytes cd_http_call_head(const cd_http_call *call);

/* cd_http_call_header gives the first header of the answer called name, p == NULL without; for fn. */
cd_bytes cd_http_call_header(const cd_http_call *call, const char *name);

#endif
