/* services/common/test/sink.h - a mail server that a test plays, on a thread of its own: it takes every mail and keeps
 * the last one, or refuses all for now. */
#ifndef CD_SERVICES_COMMON_TEST_SINK_H
#define CD_SERVICES_COMMON_TEST_SINK_H

#include "base/thread/thread.h"

#include <stdatomic.h>

typedef struct sink {
    int fd;
    u16 port; /* of 127.0.0.1 */
    cd_thread thread;
    _Atomic bool refuses; /* with 451, which means: later */
    _Atomic u32 taken, refused;
    char last[4000]; /* the last mail that was taken */
} sink;

void sink_start(sink *s);
void sink_stop(sink *s);

#endif
