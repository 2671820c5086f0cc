/* services/webhook/api/api.h - the management interfaces as clients see them: keys, limits, routes, answers.
 *
 *   HTTP ─► route ─► key (header, face) ─► rate ─► body ─► address check ─► job on the store ─► engine ─► HTTP
 *                                                                              │
 *                                           what it answers and what it writes ┴─ are one transaction
 *
 * One server for all faces: the key decides which one a client meets. Paths that are no routes here go to `page`.
 * Threading: confined to the loop. [spec:webhooks#2] */
#ifndef CD_WEBHOOK_API_API_H
#define CD_WEBHOOK_API_API_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/http/server.h"
#include "services/webhook/api/engine.h"
#include "services/webhook/core/store/db.h"

typedef struct cd_wh_api cd_wh_api;

/* Zero in a number means its default. What is pointed to stays. */
typedef struct cd_wh_api_cfg {
    cd_loop *loop;
    cd_jobs *db;
    const cd_wh_engine *engine;
    cd_metrics *metrics;   /* shown at /metrics; NULL: none */
    cd_logger *log;        /* what fails here; NULL: none */
    cd_logger *access_log; /* a line a request; NULL: none */
    const cd_clock *clock; /* NULL: the real one */
    u32 faces;             /* mask of 1 << face: whose keys are taken here; 0: all */
    const char *brand;     /* NULL: "Svc" */
    u32 conns_max;         /* 20000 */
    bool no_rate_limit;    /* for measurements */
    /* Asked for paths that are no routes here; true: it took the request, and answers. */
    bool (*page)(void *ctx, cd_http_req *r);
    void *page_ctx;
} cd_wh_api_cfg;

/* cd_wh_api_new serves nothing until it listens. cd_wh_api_listen: errors as cd_http_server_listen; again for another
 * port. cd_wh_api_port: the first, which the system may have chosen. */
cd_wh_api *cd_wh_api_new(const cd_wh_api_cfg *cfg);
cd_err cd_wh_api_listen(cd_wh_api *a, const char *host, u16 port, cd_errinfo *why) CD_CHECK;
u16 cd_wh_api_port(const cd_wh_api *a);

/* cd_wh_api_stop lets requests finish for grace_ms, then calls done; cd_wh_api_free afterwards, or when it never
 * listened (NULL is allowed). Engine and store must still be there. */
void cd_wh_api_stop(cd_wh_api *a, u32 grace_ms, void (*done)(void *ctx), void *ctx);
void cd_wh_api_free(cd_wh_api *a);

/* Who a key belongs to, and what it may. */
typedef struct cd_wh_account {
    cd_wh_key key;
    cd_wh_project project;
} cd_wh_account;

/* cd_wh_api_account finds the account of a key's text: fn is called once, perhaps at once, with NULL for a key that
 * is none (CD_ENOENT), or when the database does not say (another error). Borrowed for the call. What was found serves
 * for two seconds. */
typedef void cd_wh_account_fn(void *arg, const cd_wh_account *account, cd_err err);
void cd_wh_api_account(cd_wh_api *a, cd_bytes key, cd_wh_account_fn *fn, void *arg);

/* What a tier allows. */
typedef struct cd_wh_tier {
    const char *name;
    u32 requests_per_s, webhooks;
} cd_wh_tier;
const cd_wh_tier *cd_wh_tier_of(const char *name); /* an unknown one is the free one */

/* cd_wh_api_takes: a body of this schema (its word in the description, such as "Create") may have this member. */
bool cd_wh_api_takes(const char *schema, cd_wh_face face, cd_bytes name);

/* cd_wh_api_openapi appends the description of all routes for one face, and of what receivers get, OpenAPI 3.1. */
void cd_wh_api_openapi(cd_buf *out, cd_wh_face face, const char *brand);

#endif
