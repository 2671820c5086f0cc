/* services/webhook/webhook_priv.h - the parts of the service, for the two files that wire them.
 *
 *   webhook       life, housekeeping, metrics       webhook_engine   what routes and pages ask for
 *
 * Threading: confined to the loop. */
#ifndef CD_WEBHOOK_WEBHOOK_PRIV_H
#define CD_WEBHOOK_WEBHOOK_PRIV_H

#include "net/ws/ws.h"
#include "services/common/peers.h"
#include "services/webhook/core/chain/intake.h"
#include "services/webhook/core/chain/l1.h"
#include "services/webhook/core/send/deliver.h"
#include "services/webhook/core/send/mail.h"
#include "services/webhook/core/store/notice.h"
#include "services/webhook/pages/pages.h"
#include "services/webhook/webhook.h"

enum { CD__WEBHOOK_CHAINS_MAX = 16 };

typedef struct cd__webhook_chain {
    cd_webhook *owner;
    const cd_webhook_chain *cfg;
    cd_upstream node;
    cd_arena mem;
    cd_call *call; /* asks for the chain's number */
    cd_timer *again;
    u32 silent;     /* questions that were not answered */
    _Atomic u64 id; /* 0: not known yet */
    bool is_dev;
    cd_wh_intake *intake; /* NULL: not yet */
    cd_wh_l1_watch *l1;   /* NULL: not yet, or the chain is none of an L1 */
} cd__webhook_chain;

struct cd_webhook {
    cd_webhook_cfg cfg;
    u8 master_key[32];
    cd_wh_engine engine;
    cd_peers *peers; /* NULL: nobody else can use the database */
    cd_jobs *db;
    cd_http_client *http;
    cd_ws_hub *hub;
    cd_wh_guard *guard;
    cd_wh_deliverer *deliverer;
    cd_wh_mailer *mailer; /* NULL: no mails */
    cd_wh_api *api;
    cd_wh_pages *pages;
    cd__webhook_chain chains[CD__WEBHOOK_CHAINS_MAX];
    usize chains_cnt;
    cd_timer *minute, *second;
    cd_job retain, look, bury, again;
    bool retains, looks, buries, is_again, is_stopping;
    u64 losses; /* of connections, after which what is in hand was looked at */
    cd_arena again_mem;
    cd_wh_delivery *again_rows;
    usize again_cnt;
    cd_job probe;
    bool probes;
    char trouble[CD_JOBS_TROUBLE_MAX]; /* of the store, as it was told last */
    bool was_away;                     /* and may be taken for dead; until that is put right */
    u64 bury_ms;                       /* of the loop: not before */
    u64 bury_losses;                   /* and not when there were more meanwhile */
    bool bury_lives;                   /* this one was away */
    usize dead;
    cd_wh_backlog backlog;
    cd_gauge *depth, *overdue, *paused;
    u32 to_stop; /* parts that still drain */
    void (*done)(void *ctx);
    void *done_ctx;
};

/* cd__webhook_engine fills in w->engine. */
void cd__webhook_engine(cd_webhook *w);

/* cd__webhook_trouble brings w->trouble up to date; the log is told when it begins and when it is over. */
void cd__webhook_trouble(cd_webhook *w);

/* cd__webhook_told: what events say of a chain. */
cd_wh_chain cd__webhook_told(const cd__webhook_chain *c);

/* cd__webhook_chain_of: by name; NULL. */
cd__webhook_chain *cd__webhook_chain_of(cd_webhook *w, const char *name);

#endif
