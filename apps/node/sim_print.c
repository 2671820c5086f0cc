/* What `candela sim` prints of a run. */
#include "sim_print.h"

#include "base/hex.h"
#include "base/os/clock.h"

#include <stdio.h>

static void print_time(const char *what, u64 us)
{
    (void)printf("%-18s %llu.%03llu s\n", what, (unsigned long long)(us / CD_SIM_MILLION),
                 (unsigned long long)(us / 1000 % 1000));
}

void cd__sim_print_violation(const cd_sim_violation *v)
{
    (void)printf("  %llu.%03llu s  ", (unsigned long long)(v->at_us / CD_SIM_MILLION),
                 (unsigned long long)(v->at_us / 1000 % 1000));
    if (v->node == UINT32_MAX) {
        (void)printf("network: %s\n", v->text);
    } else {
        (void)printf("node %u: %s\n", v->node, v->text);
    }
}

void cd__sim_print_wall(u64 ns, u64 virtual_us, u64 accepted, u64 messages)
{
    u64 ms = ns / CD_NS_PER_MS + 1;
    (void)printf("wall clock         %llu.%03llu s, %llu times real time, %llu blocks/s, %llu messages/s\n",
                 (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000),
                 (unsigned long long)(virtual_us / 1000 / ms), (unsigned long long)(accepted * 1000 / ms),
                 (unsigned long long)(messages * 1000 / ms));
}

static void print_head(const cd_sim_cfg *c, const cd_sim_result *r)
{
    (void)printf("seed               %llu\n", (unsigned long long)c->seed);
    (void)printf("nodes              %u, %u of them lie%s\n", c->nodes, r->liars,
                 r->liars != 0 && !c->has_liars_always ? " in troubles" : "");
    (void)printf("virtual time       %llu s\n", (unsigned long long)(c->duration_us / CD_SIM_MILLION));
}

int cd__sim_print(const cd_sim_cfg *c, const cd_sim_result *r, u64 ns)
{
    char hex[65] = {0};
    u64 blocks = r->accepted == 0 ? 1 : r->accepted;
    cd_hex_fmt(hex, cd_bytes_of(r->fingerprint.b, 32));
    print_head(c, r);
    print_time("final, median", r->final_p50_us);
    print_time("final, 99 %", r->final_p99_us);
    print_time("longest wait", r->wait_max_us);
    (void)printf("messages           %llu, %llu for each block; %llu lost, %llu twice, %llu dropped\n",
                 (unsigned long long)r->messages,
                 (unsigned long long)((r->messages - cd_min_u64(r->messages, 2 * r->asides)) / blocks),
                 (unsigned long long)r->lost, (unsigned long long)r->doubled, (unsigned long long)r->dropped);
    (void)printf("votes              %llu asked, %llu came, %llu did not\n", (unsigned long long)r->queries,
                 (unsigned long long)r->votes, (unsigned long long)r->failures);
    (void)printf("blocks             %llu rejected, %llu refused; %llu starts refused\n",
                 (unsigned long long)r->rejected, (unsigned long long)r->refused, (unsigned long long)r->halts);
    (void)printf("fingerprint        %s\n", hex);
    cd__sim_print_wall(ns, c->duration_us, r->accepted, r->messages);
    for (u32 i = 0; i < r->told_cnt; i++) {
        cd__sim_print_violation(&r->told[i]);
    }
    (void)printf("accepted %llu blocks, heights %llu to %llu on %u honest nodes\n", (unsigned long long)r->accepted,
                 (unsigned long long)r->lowest, (unsigned long long)r->highest, r->honest);
    if (r->missing != 0) {
        (void)printf("%llu expectations not met\n", (unsigned long long)r->missing);
    }
    (void)printf("%llu violations\n", (unsigned long long)r->violations);
    return r->violations == 0 && r->missing == 0 ? 0 : 1;
}
