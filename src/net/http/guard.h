/* net/http/guard.h - what keeps one HTTP/2 peer from costing more than it brings: credit, and the order of streams.
 *
 * Frames that bring nothing (pings, settings, resets, empty data, tiny windows) cost credit that real work and time
 * bring back; who has none left is told ENHANCE_YOUR_CALM. Threading: confined. [RFC 9113 5.1.1, 10.5] */
#ifndef CD_NET_HTTP_GUARD_H
#define CD_NET_HTTP_GUARD_H

#include "base/base.h"

/* What frames cost. */
enum {
    CD_H2_COST_FRAME = 1,
    CD_H2_COST_SETTINGS = 4,
    CD_H2_COST_CONTINUATION = 10,
    CD_H2_COST_RESET = 20, /* a request for nothing, or a frame that is an error */
    CD_H2_COST_HEADERS_TOO_LARGE = 100,
    CD_H2_EARN_ANSWER = 12,
    CD_H2_TINY_DATA = 64, /* data below it costs as a frame */
};

/* The account of a connection. */
typedef struct cd_h2_guard {
    u32 credit;
    u64 credit_ms; /* up to when time has been turned into credit */
    usize earned_bytes;
    i32 newest_id;
    i32 skipped_from; /* numbers from here up to newest_id were never used */
} cd_h2_guard;

/* cd_h2_guard_init begins with all the credit there is. */
void cd_h2_guard_init(cd_h2_guard *g, u64 now_ms);

/* cd_h2_guard_pay takes cost off; false when the peer cannot pay. */
bool cd_h2_guard_pay(cd_h2_guard *g, u32 cost, u64 now_ms) CD_CHECK;

/* cd_h2_guard_earn gives credit back, cd_h2_guard_earn_bytes that of n bytes of body. */
void cd_h2_guard_earn(cd_h2_guard *g, u32 credit);
void cd_h2_guard_earn_bytes(cd_h2_guard *g, usize n);

/* cd_h2_guard_open notes a frame that opens stream id. False when a stream below it would be opened behind it: nghttp2
 * ignores one that has not the highest number, because it may be one that was closed; the numbers that the newest
 * stream skipped cannot be. */
bool cd_h2_guard_open(cd_h2_guard *g, i32 id) CD_CHECK;

#endif
