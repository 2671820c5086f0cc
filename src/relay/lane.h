/* relay/lane.h - questions to a node, several in one request where that is allowed, in their order.
 *
 *   ask, ask, ask ─► flush ─► one POST (a batch) ─► answers, each to who asked
 *
 * While as many requests are open as may be, further questions wait; then they leave together. What a node answers is
 * bounded and not believed beyond its form. Threading: confined to the loop. [spec:eth-rpc#2] */
#ifndef CD_RELAY_LANE_H
#define CD_RELAY_LANE_H

#include "codec/json.h"
#include "net/http/client.h"

typedef struct cd_relay_lane cd_relay_lane;

/* How a lane asks. url is borrowed. */
typedef struct cd_relay_lane_cfg {
    cd_http_client *http;
    const char *url;
    u32 timeout_ms;
    u32 batch_max; /* questions in one request; 1: no batches */
    u32 posts_max; /* requests at a time */
    usize answer_max;
} cd_relay_lane_cfg;

/* An answer, borrowed for the call. */
typedef struct cd_relay_reply {
    bool is_answer; /* the node has answered: with a result, or an error */
    bool is_error;
    cd_json result;
    const char *text; /* of the error, or why there is no answer */
    cd_arena *mem;    /* for whoever reads it */
} cd_relay_reply;

/* Told once, never before cd_relay_lane_flush returns. */
typedef void cd_relay_reply_fn(void *ctx, void *what, const cd_relay_reply *r);

/* cd_relay_lane_new makes a lane; cd_relay_lane_free drops its questions, nobody is told (NULL is allowed). */
cd_relay_lane *cd_relay_lane_new(const cd_relay_lane_cfg *cfg);
void cd_relay_lane_free(cd_relay_lane *l);

/* cd_relay_lane_ask notes a question; method is borrowed for ever, params (a JSON array) copied. cd_relay_lane_flush
 * sends what may be sent; the end of a request does so, too. */
void cd_relay_lane_ask(cd_relay_lane *l, const char *method, const char *params, cd_relay_reply_fn *fn, void *ctx,
                       void *what);
void cd_relay_lane_flush(cd_relay_lane *l);

#endif
