/* services/common/outbox.h - mails that wait in a store until a mail server has taken them.
 *
 *   transaction ─► mail table ─► claim (leased) ─► SMTP ─► settled; when it failed, again in 1, 5 and 30 minutes
 *
 * A mail waits in the service's store, so that it survives a kill; what was claimed by a process that died is claimed
 * again when its lease has ended, and may then be sent twice. What becomes of a mail is written at the beginning of the
 * next round, in one transaction with the next claim. Threading: cd_outbox_noted may be called on any thread, the rest
 * is confined to the loop; the functions of cd_outbox_store run on the store's thread. [spec:webhooks#5] */
#ifndef CD_SERVICES_COMMON_OUTBOX_H
#define CD_SERVICES_COMMON_OUTBOX_H

#include "base/log/log.h"
#include "base/mem/arena.h"
#include "net/smtp.h"
#include "services/common/jobs.h"

typedef struct cd_outbox cd_outbox;

/* A mail that waits to be sent. */
typedef struct cd_letter {
    i64 key;                                /* the store's */
    const char *to, *subject, *body, *once; /* once: "", or what only one mail may be sent for */
    u32 attempts;
    u64 next_ms, created_ms;
} cd_letter;

/* The mail table of a service; ctx is that of cd_outbox_cfg. Static. */
typedef struct cd_outbox_store {
    /* claim gives up to max mails that are due at now_ms, oldest first, in mem, and puts them off by lease_ms. */
    cd_err (*claim)(void *ctx, void *store, cd_letter **out, usize *cnt, cd_arena *mem, u64 now_ms, u64 lease_ms,
                    u32 max, cd_errinfo *why);
    /* settle: the mail was sent or given up (next_ms 0), or is to be tried again at next_ms. */
    cd_err (*settle)(void *ctx, void *store, i64 key, u64 next_ms, cd_errinfo *why);
} cd_outbox_store;

/* Strings are borrowed for the life of the outbox. */
typedef struct cd_outbox_cfg {
    cd_jobs *db;
    const cd_outbox_store *store;
    void *ctx;
    const cd_clock *clock; /* NULL: the real one */
    cd_logger *log;        /* NULL: none */
    cd_metrics *metrics;   /* NULL: none */
    const char *name;      /* shown before the sender's address */
    const char *from;      /* "webhooks@candela.example" */
    cd_smtp_cfg smtp;
} cd_outbox_cfg;

/* cd_outbox_new makes an outbox and sends what waits. Errors: as cd_smtp_new; CD_EINVAL (from is no address).
 * cd_outbox_free: behind cd_jobs_close; what is being sent is sent again by the next one. NULL is allowed. */
cd_err cd_outbox_new(cd_outbox **out, cd_loop *loop, const cd_outbox_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_outbox_free(cd_outbox *o);

/* cd_outbox_noted: a mail was written in a transaction that is about to be committed; it is looked for within a second
 * of that. Without it a mail is found within half a minute. cd_outbox_due: look at once. */
void cd_outbox_noted(cd_outbox *o);
void cd_outbox_due(cd_outbox *o);

/* cd_outbox_is_idle: no mail is on its way, and what became of the last ones is recorded. */
bool cd_outbox_is_idle(const cd_outbox *o);

#endif
