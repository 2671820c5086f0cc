/* base/os/clock.h - the one door to time: the machine's clocks, or a virtual one that a test moves.
 *
 * Monotonic time measures how long something takes; wall time says what date it is, may jump, and
 * is the only one that other machines understand. Threading: shared. */
#ifndef CD_BASE_CLOCK_H
#define CD_BASE_CLOCK_H

#include "base/base.h"

/* Nanoseconds of a second, of a millisecond. */
#define CD_NS_PER_SEC 1000000000ull
#define CD_NS_PER_MS  1000000ull

typedef struct cd_clock cd_clock;

/* The interface; use cd_clock_mono_ns and cd_clock_wall_ns to call it. */
struct cd_clock {
    u64 (*mono_ns)(const cd_clock *c);
    u64 (*wall_ns)(const cd_clock *c);
};

/* cd_clock_mono_ns: nanoseconds since some fixed point. cd_clock_wall_ns: since 1970-01-01 UTC. */
CD_INLINE u64 cd_clock_mono_ns(const cd_clock *c)
{
    return c->mono_ns(c);
}
CD_INLINE u64 cd_clock_wall_ns(const cd_clock *c)
{
    return c->wall_ns(c);
}

/* cd_clock_wall_s: seconds since 1970-01-01 UTC. */
CD_INLINE u64 cd_clock_wall_s(const cd_clock *c)
{
    return c->wall_ns(c) / CD_NS_PER_SEC;
}

/* cd_clock_real gives the machine's clock; it lives for ever. */
const cd_clock *cd_clock_real(void);

/* cd_clock_thread_ns: processor time that the calling thread has taken, at the price of a call into the kernel (half a
 * microsecond). */
u64 cd_clock_thread_ns(void);

/* A clock that stands still until it is told otherwise. Pass &v.clock where a cd_clock is wanted.
 */
typedef struct cd_clock_virtual {
    cd_clock clock;
    _Atomic u64 mono;
    _Atomic u64 wall;
} cd_clock_virtual;

/* cd_clock_virtual_init starts at mono 0 and the given wall time. */
void cd_clock_virtual_init(cd_clock_virtual *v, u64 wall_ns);

/* cd_clock_virtual_advance moves both clocks on; cd_clock_virtual_set_wall makes the wall clock
 * jump. */
void cd_clock_virtual_advance(cd_clock_virtual *v, u64 ns);
void cd_clock_virtual_set_wall(cd_clock_virtual *v, u64 wall_ns);

/* "2026-11-21T14:05:02.118Z": RFC 3339 in UTC with milliseconds. */
enum { CD_TIME_TEXT_LEN = 24 };

/* cd_time_fmt writes wall_ns as CD_TIME_TEXT_LEN characters without a NUL (years 1970 to 9999). */
void cd_time_fmt(char out[CD_TIME_TEXT_LEN], u64 wall_ns);

#endif
