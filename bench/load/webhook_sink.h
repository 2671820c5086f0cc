/* bench/load/webhook_sink.h - a receiver of webhooks: answers every request with 200, in a process of its own.
 *
 * Counts what it gets in shared memory; a path that begins with /hang is not answered, unless answers_all is set.
 * Threading: confined. */
#ifndef CD_BENCH_LOAD_WEBHOOK_SINK_H
#define CD_BENCH_LOAD_WEBHOOK_SINK_H

#include "base/bytes.h"

#include <stdatomic.h>

typedef struct webhook_sink {
    _Atomic u64 answered;
    _Atomic u64 hanging; /* requests to such a path */
    _Atomic bool answers_all;
    _Atomic u64 conns;
    _Atomic u64 first_ns; /* CLOCK_MONOTONIC at the first byte of a request since somebody set it to 0 */
    u16 port;
    int pid;
} webhook_sink;

/* webhook_sink_start gives a sink on a free port of 127.0.0.1 to 127.255.255.255; webhook_sink_stop ends it. */
webhook_sink *webhook_sink_start(void);
void webhook_sink_stop(webhook_sink *s);

#endif
