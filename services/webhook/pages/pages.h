/* services/webhook/pages/pages.h - the dashboard: pages for people, the same actions as the routes.
 *
 *   GET ─► session ─► read job: gather and write ─► page
 *   POST ─► session, CSRF token ─► write job ─► engine ─► 303 to a page that says what was done
 *
 * One signs in with an API key; the cookie carries it sealed under the master key, so that it outlives restarts and
 * nothing is kept here. Works without scripts; the tail of attempts is live with them. Threading: confined to the loop.
 * [spec:webhooks#7] */
#ifndef CD_WEBHOOK_PAGES_PAGES_H
#define CD_WEBHOOK_PAGES_PAGES_H

#include "services/webhook/api/api.h"

typedef struct cd_wh_pages cd_wh_pages;

/* What is pointed to stays. */
typedef struct cd_wh_pages_cfg {
    cd_loop *loop;
    cd_jobs *db;
    cd_wh_api *api; /* finds accounts */
    const cd_wh_engine *engine;
    cd_logger *log;        /* what fails here; NULL: none */
    const cd_clock *clock; /* NULL: the real one */
    const u8 *master_key;  /* 32 bytes */
    const char *brand;     /* NULL: "Svc" */
} cd_wh_pages_cfg;

/* cd_wh_pages_new copies cfg; what it names stays. */
cd_wh_pages *cd_wh_pages_new(const cd_wh_pages_cfg *cfg);

/* cd_wh_pages_free ends what listens; after the server has stopped. NULL is allowed. */
void cd_wh_pages_free(cd_wh_pages *p);

/* cd_wh_pages_take answers what is a page's path. False: r is another's. */
bool cd_wh_pages_take(cd_wh_pages *p, cd_http_req *r);

/* cd_wh_pages_attempt shows a settled attempt to those who watch. state: what the delivery then is. */
void cd_wh_pages_attempt(cd_wh_pages *p, const cd_wh_hook *hook, const cd_wh_delivery *d, const cd_wh_attempt *attempt,
                         cd_wh_state state);

#endif
