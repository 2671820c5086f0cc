/* services/webhook/webhook.h - the whole service: chains followed, webhooks told, clients and people served.
 *
 *   node ─► intake ─► store ─► deliverer ─► receivers
 *                       ▲          │
 *   routes, pages ──────┴──────────┘ (engine: what they want from intake and deliverer)
 *
 * Wiring only. One loop; the store has threads of its own. Threading: confined to the loop. [spec:webhooks] */
#ifndef CD_WEBHOOK_WEBHOOK_H
#define CD_WEBHOOK_WEBHOOK_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/loop.h"
#include "services/webhook/core/store/store.h"

typedef struct cd_webhook cd_webhook;

/* A chain; its number is asked of the node. */
typedef struct cd_webhook_chain {
    const char *name, *symbol;
    const char *http_url;
    const char *ws_url; /* NULL: the node is only asked */
} cd_webhook_chain;

/* Strings are borrowed for the life of the service. Zero in a number means its default. */
typedef struct cd_webhook_cfg {
    cd_loop *loop;
    cd_logger *log;
    cd_logger *access_log; /* NULL: requests are not logged */
    cd_metrics *metrics;
    cd_wh_store_cfg store;
    const char *bind;
    u16 ports[3]; /* where to listen; 0 behind the first: no more */
    u32 faces;    /* whose keys are taken, a mask of 1 << face */
    const cd_webhook_chain *chains;
    usize chains_cnt;
    u32 confirmations;
    bool is_final_only; /* blocks count when the node says that they are final; confirmations is 0 then */
    cd_wh_replaced replaced;
    const char *brand;
    bool allow_http;
    const char *const *allow_cidrs;
    usize allow_cidrs_cnt;
    const char *ca_file; /* NULL: the system's certificates */
    double jitter;
    u64 retention_ms;       /* of bodies and attempts */
    const char *smtp_url;   /* NULL: no mails */
    const char *mail_from;  /* their sender */
    const char *public_url; /* where people find the pages, for links in mails; NULL: no links */
    bool no_rate_limit;
    u64 l1_look_ms; /* how often a node is asked how the L1 of its chain is; 0: never */
} cd_webhook_cfg;

/* cd_webhook_open starts it; it goes on to wait for nodes that do not answer yet. Errors: those of the store,
 * CD_EADDRINUSE, CD_EINVAL for URLs, CD_EFORMAT for networks. */
cd_err cd_webhook_open(cd_webhook **out, const cd_webhook_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_webhook_port: the first one, which the system may have chosen. */
u16 cd_webhook_port(const cd_webhook *w);

/* cd_webhook_drain ends what runs within grace_ms, then calls done, once. cd_webhook_close: afterwards, or after an
 * open that was not drained and whose loop does not run any more. NULL is allowed. */
void cd_webhook_drain(cd_webhook *w, u32 grace_ms, void (*done)(void *ctx), void *ctx);
void cd_webhook_close(cd_webhook *w);

#endif
