/* services/adx/exchange/bidders.h - bidders over HTTP: who is asked, for how long, and what is noticed meanwhile.
 *
 *   may be asked? ─ rate, pause, time that its answers take ─► POST ─► answer, none, too late, broken
 *
 * A bidder's time is the least of what is left, its own limit, and none at all when its quickest answers of late take
 * longer than that. What it is told as tmax is less the way there and back, as connections measured it. After failures
 * in a row a bidder is left alone for a while, longer each time; one call then shows whether it is back. State outlives
 * a change of configuration. Threading: confined to the loop. [spec:adx#3.4] */
#ifndef CD_ADX_EXCHANGE_BIDDERS_H
#define CD_ADX_EXCHANGE_BIDDERS_H

#include "base/log/metrics.h"
#include "base/os/clock.h"
#include "net/http/client.h"
#include "services/adx/exchange/config.h"

typedef struct cd_bidders cd_bidders;

/* How a call ended. */
typedef enum cd_bidder_end {
    CD_BIDDER_ANSWER, /* a body to be read */
    CD_BIDDER_NONE,   /* it does not bid */
    CD_BIDDER_LATE,
    CD_BIDDER_BROKEN,
    /* Not asked: */
    CD_BIDDER_RATE,
    CD_BIDDER_PAUSED,
    CD_BIDDER_SLOW,
} cd_bidder_end;

/* cd_bidder_end_text says it in a word. */
const char *cd_bidder_end_text(cd_bidder_end end);

/* Told once of each request to a bidder: how it ended, the answer's body (borrowed for the call), milliseconds it
 * took. */
typedef void cd_bidder_fn(void *ctx, cd_bidder_end end, cd_bytes body, u32 ms);

/* cd_bidders_new keeps http and metrics. */
cd_bidders *cd_bidders_new(cd_http_client *http, const cd_clock *clock, cd_metrics *metrics);
void cd_bidders_free(cd_bidders *b); /* no call is under way; NULL is allowed */

/* cd_bidders_put makes a bidder known under its id, or finds it; gives its number, which stays. */
u32 cd_bidders_put(cd_bidders *b, const cd_adx_dsp *dsp);

/* cd_bidders_may: bidder n may be asked with left_ms to answer in; *time_ms is what it gets, *tmax what it is told.
 * What it answers is one of the ends that are no end of a call, or CD_BIDDER_ANSWER: ask. */
cd_bidder_end cd_bidders_may(cd_bidders *b, u32 n, const cd_adx_dsp *dsp, u32 left_ms, u32 *time_ms, u32 *tmax);

/* How a bidder is doing. */
typedef struct cd_bidder_view {
    u64 asked, answered, late, broken;
    u32 p50_ms, p95_ms; /* of its last answers */
    u64 pause_ms;       /* it is left alone for so long; 0: it is not */
} cd_bidder_view;
/* cd_bidders_look tells it. */
void cd_bidders_look(const cd_bidders *b, u32 n, cd_bidder_view *out);

/* cd_bidders_call asks. fn is called once, not before this returns. */
void cd_bidders_call(cd_bidders *b, u32 n, const cd_adx_dsp *dsp, cd_bytes body, u32 time_ms, cd_bidder_fn *fn,
                     void *ctx);

#endif
