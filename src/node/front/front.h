/* node/front/front.h - the HTTP front of a node: loop, server with TLS, WebSocket, the threads that read, limits by the
 * budget.
 *
 * A node that is stepped has none. Threading: confined to the thread that runs the loop, but for what says otherwise.
 * [spec:architecture#8] */
#ifndef CD_NODE_FRONT_H
#define CD_NODE_FRONT_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/http/server.h"
#include "node/budget.h"
#include "rpc/endpoint.h"

typedef struct cd_front cd_front;

/* What a front serves, and where; borrowed as long as the front. */
typedef struct cd_front_cfg {
    const char *host;
    u16 port;             /* 0 lets the system choose */
    u32 more_ports;       /* so many more: each is the second after the last, or likewise the system's choice */
    const char *tls_cert; /* PEM files; NULL: HTTP */
    const char *tls_key;
    const char *all_answers;                  /* lines of every answer, each ended by CR LF; NULL: none */
    bool (*admit)(void *ctx, cd_http_req *r); /* as of net/http/server.h; NULL: everybody may */
    void *admit_ctx;
    const char *allowed_origins;
    const char *const *allowed_hosts;
    usize allowed_hosts_cnt;
    const char *hosts_hint; /* behind the refusal of another host; NULL: the original's words alone */
    u32 read_timeout_ms;    /* these four: 0 = as net/http/server.h */
    u32 header_timeout_ms;
    u32 write_timeout_ms;
    u32 idle_timeout_ms;
} cd_front_cfg;

/* cd_front_new makes everything but listens to nobody yet. cd_front_free: after cd_front_stop is done, or when it never
 * listened, when nothing else lives on the loop; NULL is allowed. Errors: CD_EIO, CD_EAGAIN, those of TLS. */
cd_err cd_front_new(cd_front **out, const cd_front_cfg *cfg, const cd_budget *budget, cd_metrics *metrics,
                    cd_logger *log, cd_errinfo *why) CD_CHECK;
void cd_front_free(cd_front *f);

/* cd_front_listen opens the address. Errors: CD_EADDRINUSE, CD_EACCES …; why says what to do. */
cd_err cd_front_listen(cd_front *f, cd_errinfo *why) CD_CHECK;
u16 cd_front_port(const cd_front *f);

/* cd_front_port_at gives one of the ports, 0 is the first; cd_front_place tells by which of them a request came. */
u16 cd_front_port_at(const cd_front *f, u32 place);
u32 cd_front_place(const cd_front *f, const cd_http_req *r);

/* cd_front_loop, cd_front_server: what routes and timers are added to; the front's. */
cd_loop *cd_front_loop(const cd_front *f);
cd_http_server *cd_front_server(const cd_front *f);

/* cd_front_run has job run on a reader's thread. Any thread. Errors: CD_EFULL, CD_ECLOSED. */
cd_err cd_front_run(cd_front *f, cd_rpc_job *job) CD_CHECK;

/* cd_front_endpoint_cfg fills in what is the same for all endpoints. answers_max is a bound that is set before. */
void cd_front_endpoint_cfg(cd_front *f, cd_rpc_endpoint_cfg *cfg);

/* cd_front_reload_tls reads certificate and key again; the log says how it went. Without TLS it does nothing. */
void cd_front_reload_tls(cd_front *f);

/* cd_front_stop ends the service, as cd_http_server_stop. cd_front_stop_readers runs what waits for them, and ends
 * their threads. cd_front_drain runs the loop until it has done what was posted to it; not while it runs. */
void cd_front_stop(cd_front *f, u32 grace_ms, void (*done)(void *ctx), void *ctx);
void cd_front_stop_readers(cd_front *f);
void cd_front_drain(cd_front *f);

/* Figures: JSON-RPC requests so far, bytes that requests and answers hold, requests that no reader has begun. */
u64 cd_front_requests(const cd_front *f);
usize cd_front_held(const cd_front *f);
usize cd_front_waiting(const cd_front *f);

#endif
