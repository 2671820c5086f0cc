/* services/webhook/core/send/schedule.h - when a delivery is tried again, and what its failing does to the webhook.
 *
 *   what the attempt met ──► DELIVERED
 *                       ├──► RETRYING at next_ms (HELD when the webhook is not active by now)
 *                       └──► FAILED, and the webhook of A is disabled, of B paused, of C goes on
 *
 * Delays of a face count from the end of the attempt before. 410 ends at once; on 429 and 503 a Retry-After of up to a
 * day makes the wait longer, never shorter. Threading: pure. [spec:webhooks#1, #4, #5] */
#ifndef CD_WEBHOOK_CORE_SCHEDULE_H
#define CD_WEBHOOK_CORE_SCHEDULE_H

#include "base/os/rng.h"
#include "services/webhook/core/model.h"

/* What an attempt met. */
typedef struct cd_wh_met {
    u32 status;           /* 0: no answer */
    cd_bytes retry_after; /* the header's value, empty without one */
    bool is_hopeless;     /* no other attempt can be better: the event is too large */
} cd_wh_met;

/* What follows from an attempt. */
typedef struct cd_wh_verdict {
    cd_wh_state state;        /* DELIVERED, RETRYING, HELD or FAILED */
    u64 next_ms;              /* RETRYING, HELD; else 0 */
    bool ends_hook;           /* its status changes with this */
    cd_wh_status hook_status; /* to this */
} cd_wh_verdict;

/* cd_wh_attempts_max: attempts of an event of this face in all. cd_wh_delay_ms: what lies before attempt number + 1;
 * number is at least 1 and below that. */
u32 cd_wh_attempts_max(cd_wh_face face);
u64 cd_wh_delay_ms(cd_wh_face face, u32 number);

/* cd_wh_judge says what follows from attempt `number` (1 …), which ended at end_ms. hook_status is the webhook's at
 * that time. jitter, a fraction, makes a delay longer by up to that much, never shorter. */
cd_wh_verdict cd_wh_judge(cd_wh_face face, u32 number, const cd_wh_met *met, cd_wh_status hook_status, u64 end_ms,
                          double jitter, cd_rng *rng);

/* cd_wh_retry_after_ms reads a Retry-After (seconds or a date), at most a day; 0 when it is none or past. */
u64 cd_wh_retry_after_ms(cd_bytes text, u64 now_ms);

#endif
