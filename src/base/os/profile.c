#include "base/os/profile.h"

#include "base/os/clock.h"

void cd_cpu_profile_begin(cd_cpu_profile *p)
{
    cd_arena_reset(&p->mem);
    p->cnt = cd_proc_threads(&p->threads, &p->mem);
    p->start_ns = cd_clock_mono_ns(cd_clock_real());
    p->is_on = true;
}

static u64 cpu_before(const cd_cpu_profile *p, u64 id)
{
    for (usize i = 0; i < p->cnt; i++) {
        if (p->threads[i].id == id) {
            return p->threads[i].cpu_ns;
        }
    }
    return 0; /* the thread began after the profile */
}

void cd_cpu_profile_end(cd_cpu_profile *p, cd_buf *out)
{
    const cd_proc_thread *list;
    usize cnt = cd_proc_threads(&list, &p->mem);
    u64 wall = cd_clock_mono_ns(cd_clock_real()) - p->start_ns;
    cd_buf_fmt(out, "# CPU time of the threads in %llu ms\n%12s  %7s  %s\n", (unsigned long long)(wall / CD_NS_PER_MS),
               "cpu_us", "percent", "thread");
    for (usize i = 0; i < cnt; i++) {
        u64 ns = list[i].cpu_ns - cd_min_u64(list[i].cpu_ns, cpu_before(p, list[i].id));
        cd_buf_fmt(out, "%12llu  %7.1f  %s\n", (unsigned long long)(ns / 1000),
                   wall == 0 ? 0.0 : 100.0 * (double)ns / (double)wall, list[i].name);
    }
    cd_cpu_profile_fini(p);
}

void cd_cpu_profile_fini(cd_cpu_profile *p)
{
    cd_arena_fini(&p->mem);
    *p = (cd_cpu_profile){0};
}
