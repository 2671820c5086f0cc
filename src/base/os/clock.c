#include "base/os/clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static u64 read_clock(clockid_t id)
{
    struct timespec ts;
    int rc = clock_gettime(id, &ts);
    CD_ASSERT(rc == 0 && ts.tv_sec >= 0);
    return (u64)ts.tv_sec * CD_NS_PER_SEC + (u64)ts.tv_nsec;
}

static u64 real_mono(const cd_clock *c)
{
    (void)c;
    return read_clock(CLOCK_MONOTONIC);
}

static u64 real_wall(const cd_clock *c)
{
    (void)c;
    return read_clock(CLOCK_REALTIME);
}

const cd_clock *cd_clock_real(void)
{
    static const cd_clock real = {.mono_ns = real_mono, .wall_ns = real_wall};
    return &real;
}

u64 cd_clock_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* The cd_clock is the first member of the virtual clock. */
static u64 virtual_mono(const cd_clock *c)
{
    const cd_clock_virtual *v = (const cd_clock_virtual *)(const void *)c;
    return atomic_load(&v->mono);
}

static u64 virtual_wall(const cd_clock *c)
{
    const cd_clock_virtual *v = (const cd_clock_virtual *)(const void *)c;
    return atomic_load(&v->wall);
}

void cd_clock_virtual_init(cd_clock_virtual *v, u64 wall_ns)
{
    v->clock = (cd_clock){.mono_ns = virtual_mono, .wall_ns = virtual_wall};
    atomic_init(&v->mono, 0);
    atomic_init(&v->wall, wall_ns);
}

void cd_clock_virtual_advance(cd_clock_virtual *v, u64 ns)
{
    atomic_fetch_add(&v->mono, ns);
    atomic_fetch_add(&v->wall, ns);
}

void cd_clock_virtual_set_wall(cd_clock_virtual *v, u64 wall_ns)
{
    atomic_store(&v->wall, wall_ns);
}

static void put_digits(char *out, u64 v, usize cnt)
{
    for (usize i = cnt; i-- > 0; v /= 10) {
        out[i] = (char)('0' + v % 10);
    }
}

void cd_time_fmt(char out[CD_TIME_TEXT_LEN], u64 wall_ns)
{
    /* Days to a date by the 400-year cycle that begins on 0000-03-01; that day is 719468 before 1970. */
    u64 secs = wall_ns / CD_NS_PER_SEC;
    u64 day = secs / 86400 + 719468;
    u64 era = day / 146097;
    u64 doe = day % 146097;
    u64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    u64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    u64 mp = (5 * doy + 2) / 153;
    u64 month = mp < 10 ? mp + 3 : mp - 9;
    u64 year = era * 400 + yoe + (month <= 2 ? 1 : 0);

    memcpy(out, "0000-00-00T00:00:00.000Z", CD_TIME_TEXT_LEN);
    put_digits(out, year, 4);
    put_digits(out + 5, month, 2);
    put_digits(out + 8, doy - (153 * mp + 2) / 5 + 1, 2);
    put_digits(out + 11, secs / 3600 % 24, 2);
    put_digits(out + 14, secs / 60 % 60, 2);
    put_digits(out + 17, secs % 60, 2);
    put_digits(out + 20, wall_ns / CD_NS_PER_MS % 1000, 3);
}
