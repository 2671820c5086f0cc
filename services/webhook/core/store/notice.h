/* services/webhook/core/store/notice.h - operational events: what happens to webhooks themselves, told to a second URL.
 *
 *   paused, resumed, event given up, quota ─► the webhook's target, else its project's ─► ledger and queue as any event
 *   the L1 of a chain is not well ───────────► the targets of all projects with webhooks on it
 *
 * A target is a webhook of its own that matches nothing: with a queue, sequence numbers, retries, a secret and pages.
 * What happens to a target is not told to targets. A notice is written in the transaction of what it tells, as
 * PENDING: who writes one sees to it that the deliverer looks (cd_wh_deliver_due; a turn of its own does).
 * Threading: confined to a store's thread. [spec:webhooks#9] */
#ifndef CD_WEBHOOK_CORE_NOTICE_H
#define CD_WEBHOOK_CORE_NOTICE_H

#include "services/webhook/core/store/store.h"

/* How the L1 of a chain is, as its P-Chain's node tells; borrowed for the call. */
typedef struct cd_wh_l1 {
    const char *chain;    /* as webhooks name it */
    const char *net;      /* the L1's ID */
    const char *state;    /* "runs", "slow", "halted" */
    const char *severity; /* "well", "warning", "halt" */
    const char *cause;    /* a machine's word; "" when it is well */
    const char *text, *help;
} cd_wh_l1;

/* What is told. Beyond the types of events, in the same masks; text is borrowed for the call. */
typedef struct cd_wh_notice {
    cd_wh_notice_type type;
    const char *project;
    const cd_wh_hook *hook;    /* whom it is about; NULL: the project */
    const char *reason;        /* why, a machine's word; NULL: there is nothing to say */
    const cd_wh_delivery *d;   /* the event that was given up; NULL */
    const cd_wh_attempt *last; /* its last attempt; NULL */
    u32 percent;               /* of a quota */
    const cd_wh_l1 *l1;        /* NULL */
} cd_wh_notice;

/* cd_wh_notice_put tells it to the target that there is; none is fine. */
cd_err cd_wh_notice_put(cd_wh_store *s, const cd_wh_notice *n, cd_errinfo *why) CD_CHECK;

/* cd_wh_notice_given_up tells that a delivery used up its attempts; status: what its webhook is now. */
cd_err cd_wh_notice_given_up(cd_wh_store *s, const cd_wh_delivery *d, cd_wh_status status, cd_errinfo *why) CD_CHECK;

/* cd_wh_notice_l1 tells the targets of all projects that have webhooks on the chain, each when severity or cause are
 * others than it was told last, and once a day as long as it is not well; the store remembers, so that it is the same
 * for all workers and after a restart. The same within an hour is told once. */
cd_err cd_wh_notice_l1(cd_wh_store *s, const cd_wh_l1 *l1, cd_errinfo *why) CD_CHECK;

/* cd_wh_notice_target gets the target of a webhook, or of the project (hook 0). CD_ENOENT. _target_set: target 0 is
 * none. */
cd_err cd_wh_notice_target(cd_wh_store *s, cd_wh_hook *out, cd_arena *mem, const char *project, i64 hook,
                           cd_errinfo *why) CD_CHECK;
cd_err cd_wh_notice_target_set(cd_wh_store *s, const char *project, i64 hook, i64 target, cd_errinfo *why) CD_CHECK;

/* cd_wh_notice_example gives a made-up one for target, with "test":true. */
cd_wh_event cd_wh_notice_example(cd_arena *mem, const cd_wh_hook *target, cd_wh_notice_type type, u64 now_ms);

#endif
