/* services/webhook/core/send/mail.h - what owners are told by mail, and when.
 *
 *   webhook disabled or paused (in its transaction) ─┐
 *   80 or 100 % of a quota used ─────────────────────┼─► mail table ─► services/common/outbox ─► mail server
 *   once a day: still paused; events that failed ────┘
 *
 * Each mail has a name that is used once, so that none is written twice for the same thing. Without a mail server
 * nothing is queued. URLs are shown without what stands behind "?". Threading: cd_wh_mailer_ended runs on the store's
 * thread, the rest is confined to the loop. [spec:webhooks#5] */
#ifndef CD_WEBHOOK_CORE_MAIL_H
#define CD_WEBHOOK_CORE_MAIL_H

#include "net/smtp.h"
#include "services/webhook/core/send/deliver.h"

typedef struct cd_wh_mailer cd_wh_mailer;

/* Strings are borrowed for the life of the mailer. */
typedef struct cd_wh_mailer_cfg {
    cd_jobs *db;
    const cd_clock *clock;
    cd_logger *log;
    cd_metrics *metrics; /* NULL: none */
    const char *brand;
    const char *from; /* "webhooks@candela.example" */
    const char *base; /* of links: "https://webhooks.example"; NULL: no links */
    cd_smtp_cfg smtp;
} cd_wh_mailer_cfg;

/* cd_wh_mailer_new makes a mailer and sends what waits. Errors: as cd_smtp_new; CD_EINVAL (from is no address). */
cd_err cd_wh_mailer_new(cd_wh_mailer **out, cd_loop *loop, const cd_wh_mailer_cfg *cfg, cd_errinfo *why) CD_CHECK;
/* cd_wh_mailer_free: behind cd_jobs_close. What is being sent is sent again by the next one. NULL is allowed. */
void cd_wh_mailer_free(cd_wh_mailer *m);

/* cd_wh_mailer_is_idle: no mail is on its way, and what became of the last ones is recorded. */
bool cd_wh_mailer_is_idle(const cd_wh_mailer *m);

/* cd_wh_mailer_ended queues the mail of a webhook that was disabled or paused: for cd_wh_deliver_cfg.hook_ended. */
cd_err cd_wh_mailer_ended(cd_wh_mailer *m, cd_wh_store *s, const cd_wh_ending *e, cd_errinfo *why) CD_CHECK;

/* cd_wh_mailer_quota queues the mails of quotas that were passed. */
void cd_wh_mailer_quota(cd_wh_mailer *m, const cd_wh_quota_note *notes, usize cnt);

/* cd_wh_mailer_due: look for mails now, instead of within half a minute; for tests that move the clock. */
void cd_wh_mailer_due(cd_wh_mailer *m);

#endif
