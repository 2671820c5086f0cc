/* services/webhook/core/send/deliver.h - from the queue to the receivers.
 *
 *   enqueue ── made ─► offer ─┐                        ┌─► proven  ─┐
 *   store ── claim ───────────┴─► of a webhook, in order┼─► fresh   ─┼─► look-up, POST ─► verdict ─┐
 *     ▲                                                ├─► suspect ─┤                            │
 *     │                                                └─► hung    ─┘                            │
 *     └───────────── turn: settle what ended, claim what is due, when is the next? ◄─────────────┘
 *
 * Rows that were just written come by offer and go out at once; the rest is claimed. One job at a time, a turn, records
 * all attempts that ended since the last one, ends webhooks whose event used up its attempts, and fetches new work; so
 * deliveries share a commit, the more the busier it is.
 *
 * Isolation: a webhook is fresh until its first answer, proven while it answers in half a second, suspect when it
 * answers later, hung while it does not; one whose last attempts failed when this began counts as hung. Each class has
 * attempts of its own in flight, an attempt that takes longer than half a second counts for the hung ones, and webhooks
 * of a class take turns: receivers that hang keep each other waiting, nobody else. A fresh one and a hung one get one
 * attempt at a time, others their concurrency. While proven ones wait, of 1,024 starts one is a hung webhook's; what
 * these have besides stays in the store, which hands it out one by one. An answer ends that at once.
 *
 * A row stays leased while it is here; what waits for long is given back. Nothing is lost by a kill: leases end.
 * Threading: confined to the loop; hook_ended and what turns do run on the store's thread. [spec:webhooks#4, #5, #9] */
#ifndef CD_WEBHOOK_CORE_DELIVER_H
#define CD_WEBHOOK_CORE_DELIVER_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "services/webhook/core/send/target.h"
#include "services/webhook/core/store/db.h"

typedef struct cd_wh_deliverer cd_wh_deliverer;

/* An attempt that was recorded, for the live tail; borrowed for the call. Of d the body is not there. */
typedef struct cd_wh_settled {
    const cd_wh_hook *hook; /* without lists and secrets */
    const cd_wh_delivery *d;
    const cd_wh_attempt *attempt;
    cd_wh_state state;
    u64 next_ms;
} cd_wh_settled;

/* A delivery that used up its attempts, which is recorded already, and what its webhook is now. */
typedef struct cd_wh_ending {
    const cd_wh_delivery *d;
    cd_wh_status status; /* ACTIVE: it goes on */
    u64 now_ms;
} cd_wh_ending;

/* Zero in a number means its default. Strings and keys are borrowed for the life of the deliverer. */
typedef struct cd_wh_deliver_cfg {
    cd_jobs *db;
    cd_wh_guard *guard;
    const cd_clock *clock;
    cd_logger *log;
    cd_metrics *metrics;
    const char *brand;                /* "Svc" */
    const char *ca_file;              /* NULL: the system's certificates */
    cd_bytes client_cert, client_key; /* PEM, shown to receivers that ask; empty */
    u32 timeout_ms;                   /* 15000, of an attempt in all */
    u32 concurrency;                  /* 8 attempts of one webhook at a time */
    u32 in_flight;                    /* 8192 attempts in all, or half of the files that may be open */
    u32 lease_ms;                     /* 60000 */
    u32 hook_ttl_ms;                  /* 0: webhooks change only through cd_wh_deliver_hook; else they are read again */
    double jitter;                    /* 0.1: waits are up to a tenth longer */
    void *ctx;                        /* for the two */
    void (*settled)(void *ctx, const cd_wh_settled *s); /* after the commit; NULL */
    /* In the transaction that records it, on the store's thread; not for tests; NULL. */
    cd_err (*hook_ended)(void *ctx, cd_wh_store *s, const cd_wh_ending *e, cd_errinfo *why);
} cd_wh_deliver_cfg;

/* cd_wh_deliver_new makes a deliverer and looks for work. Errors: as cd_http_client_new. */
cd_err cd_wh_deliver_new(cd_wh_deliverer **out, cd_loop *loop, const cd_wh_deliver_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_wh_deliver_drain starts nothing new, gives back what waits, lets running attempts end for at most grace_ms and
 * records them; then done is called, once. */
void cd_wh_deliver_drain(cd_wh_deliverer *d, u32 grace_ms, void (*done)(void *ctx), void *ctx);

/* cd_wh_deliver_free ends everything without recording; no job of the store may be under way: after a drain or behind
 * cd_jobs_close. NULL is allowed. */
void cd_wh_deliver_free(cd_wh_deliverer *d);

/* cd_wh_deliver_offer takes rows that this worker has leased, in order; they are copied. */
void cd_wh_deliver_offer(cd_wh_deliverer *d, const cd_wh_delivery *rows, usize cnt);

/* cd_wh_deliver_due: something waits in the store that did not before, or the clock was moved. */
void cd_wh_deliver_due(cd_wh_deliverer *d);

/* cd_wh_deliver_hook tells of a webhook that was made or changed, cd_wh_deliver_hook_gone of one that was deleted. */
void cd_wh_deliver_hook(cd_wh_deliverer *d, const cd_wh_hook *hook);
void cd_wh_deliver_hook_gone(cd_wh_deliverer *d, i64 hook);

/* cd_wh_deliver_test makes the one attempt of a test delivery at once, beside the queue; fn is called once with what
 * came of it, after it was recorded; attempt NULL: the webhook is gone. */
typedef void cd_wh_deliver_test_fn(void *ctx, const cd_wh_attempt *attempt);
void cd_wh_deliver_test(cd_wh_deliverer *d, const cd_wh_delivery *row, cd_wh_deliver_test_fn *fn, void *ctx);

/* What is in hand, for metrics and tests. */
typedef struct cd_wh_deliver_load {
    u32 waiting, running, hung; /* hung: attempts among the running ones */
} cd_wh_deliver_load;
/* cd_wh_deliver_load_get counts it, in deliveries. */
void cd_wh_deliver_load_get(const cd_wh_deliverer *d, cd_wh_deliver_load *out);

#endif
