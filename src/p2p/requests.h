/* p2p/requests.h - what was asked of other nodes and is not answered yet: matching, timeouts that adapt, the bench.
 *
 *   add(node, chain, request, answer) ─► deadline ─┬─► answered: latency counts      ─► streak of failures ends
 *                                                   └─► expired: a failure is told    ─► streak grows ─► benched
 *
 * An answer is passed on once, and only if it was asked for. A node that fails again and again is benched for a while
 * on that chain: requests to it fail at once, so that nobody waits for it; but never so much stake that the rest could
 * not decide. Pure: time and randomness come in as arguments, failures go out through a callback. The answers that are
 * awaited are bounded. Threading: confined. [spec:p2p#7] [spec:p2p#7.1] */
#ifndef CD_P2P_REQUESTS_H
#define CD_P2P_REQUESTS_H

#include "base/os/clock.h"
#include "base/os/rng.h"
#include "codec/ids.h"

typedef struct cd_p2p_requests cd_p2p_requests;

/* A request, by what its answer must name. */
typedef struct cd_p2p_request {
    cd_node_id node;
    cd_hash32 chain;
    u32 request_id;
    u32 response; /* cd_p2p_op of the answer */
} cd_p2p_request;

/* The configuration. A number that is 0 means the default that stands behind it. */
typedef struct cd_p2p_requests_cfg {
    u64 timeout_min_ns;   /* 2 s */
    u64 timeout_max_ns;   /* 10 s */
    u64 timeout_first_ns; /* 5 s; until a latency is measured */
    double coefficient;   /* 2; timeout as a multiple of the average latency */
    u64 half_ns;          /* 5 min: half-life of the average */
    u32 bench_failures;   /* 10; failures in a row */
    u64 bench_after_ns;   /* 150 s; least time since the first of them */
    u64 bench_max_ns;     /* 15 min; the time on the bench is between half of it and all of it */
    double bench_stake;   /* 0.1; largest share of the stake that may be benched on a chain */
    u32 pending_max;      /* 65536; answers that are awaited */
    void *ctx;
    /* A request has failed: nobody answered in time. */
    void (*failed)(void *ctx, const cd_p2p_request *r);
    /* weight gives the weight of a validator of the chain's network, 0: the node is none; total the sum of all
     * weights. */
    u64 (*weight)(void *ctx, const cd_hash32 *chain, const cd_node_id *node);
    u64 (*total)(void *ctx, const cd_hash32 *chain);
    /* A node is benched on a chain, or not any more. */
    void (*benched)(void *ctx, const cd_hash32 *chain, const cd_node_id *node, bool is_benched);
} cd_p2p_requests_cfg;

/* cd_p2p_requests_new makes an empty table. cd_p2p_requests_free reports no failures; NULL is allowed. */
cd_p2p_requests *cd_p2p_requests_new(const cd_p2p_requests_cfg *cfg, u64 now_ns);
void cd_p2p_requests_free(cd_p2p_requests *q);

/* cd_p2p_requests_add begins to wait for an answer, and gives the time until its timeout in *timeout_ns, for the
 * request's deadline. counts: the latency goes into the average (not that of a Get, nor that of a request to
 * ourselves). Errors: CD_EBUSY (the node is benched on the chain), CD_EEXIST (this answer is awaited already),
 * CD_EFULL. After an error failed is not called: the caller reports the failure. */
cd_err cd_p2p_requests_add(cd_p2p_requests *q, u64 *timeout_ns, const cd_p2p_request *r, bool counts,
                           u64 now_ns) CD_CHECK;

/* cd_p2p_requests_answer tells whether an answer was awaited, and ends the wait. An AppError answers an AppRequest like
 * a response. */
bool cd_p2p_requests_answer(cd_p2p_requests *q, const cd_p2p_request *r, u64 now_ns) CD_CHECK;

/* cd_p2p_requests_unsent accounts a request that could not be sent, because its node is not connected: its latency
 * counts as the present timeout. */
void cd_p2p_requests_unsent(cd_p2p_requests *q, u64 now_ns);

/* cd_p2p_requests_tick reports failures and ends benches that are due, and gives the time (monotonic ns) of the next
 * call. */
u64 cd_p2p_requests_tick(cd_p2p_requests *q, cd_rng *rng, u64 now_ns);

/* cd_p2p_requests_longest gives for how many nanoseconds the oldest request has waited for its answer. */
u64 cd_p2p_requests_longest(const cd_p2p_requests *q, u64 now_ns);

/* cd_p2p_requests_timeout gives the timeout (ns) of a request that begins now, cd_p2p_requests_cnt the number of
 * answers that are awaited. */
u64 cd_p2p_requests_timeout(const cd_p2p_requests *q);
usize cd_p2p_requests_cnt(const cd_p2p_requests *q);

/* cd_p2p_requests_is_benched tells whether a node is benched on a chain. cd_p2p_requests_benches calls fn for each
 * chain on which a node is benched. */
bool cd_p2p_requests_is_benched(const cd_p2p_requests *q, const cd_hash32 *chain, const cd_node_id *node);
void cd_p2p_requests_benches(const cd_p2p_requests *q, const cd_node_id *node,
                             void (*fn)(void *ctx, const cd_hash32 *chain), void *ctx);

#endif
