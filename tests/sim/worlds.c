/* Worlds: every scenario of a directory, and worlds made up by fixed seeds. What is run is printed.
 *
 * usage: worlds DIR      40 made-up worlds; 2,000, and ten long ones, when CANDELA_TEST_FULL is 1 */
#include "base/os/fileio.h"
#include "sim/campaign.h"
#include "sim/script.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHORT = 40, FULL = 2000, LONG = 10, FIRST_SEED = 1, NODES = 20, LONG_NODES = 100 };

#define LONG_US (1800 * (u64)CD_SIM_MILLION)

typedef struct counts {
    u32 passed;
    u32 failed;
} counts;

static void print(counts *c, const char *name, const cd_sim_result *r, cd_err e, const cd_errinfo *why)
{
    bool is_good = e == CD_OK && r->violations == 0 && r->missing == 0;
    c->passed += is_good ? 1 : 0;
    c->failed += is_good ? 0 : 1;
    if (e != CD_OK) {
        (void)printf("%s: %s\n", name, why->msg);
        return;
    }
    (void)printf("%s: accepted %llu, heights %llu to %llu, %llu violations\n", name, (unsigned long long)r->accepted,
                 (unsigned long long)r->lowest, (unsigned long long)r->highest, (unsigned long long)r->violations);
    for (u32 i = 0; i < r->told_cnt; i++) {
        (void)printf("    %llu ms, node %d: %s\n", (unsigned long long)(r->told[i].at_us / 1000), (int)r->told[i].node,
                     r->told[i].text);
    }
}

static cd_err run_scenario(void *ctx, const char *path, cd_fs_kind kind)
{
    counts *c = ctx;
    usize n = strlen(path);
    cd_sim_cfg cfg = {.seed = 0};
    cd_sim_result r = {.accepted = 0};
    cd_arena mem = {0};
    cd_buf text = {0};
    cd_errinfo why = {0};
    if (kind != CD_FS_FILE || n < 4 || strcmp(path + n - 4, ".sim") != 0) {
        return CD_OK;
    }
    cd_sim_default(&cfg);
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, CD_SIM_SCRIPT_BYTES_MAX, &why);
    e = e != CD_OK ? e : cd_sim_script_parse(&cfg, &mem, cd_buf_bytes(&text), &why);
    e = e != CD_OK ? e : cd_sim_run(&r, &cfg, &why);
    print(c, path, &r, e, &why);
    cd_buf_fini(&text);
    cd_arena_fini(&mem);
    return CD_OK;
}

static void campaign(counts *c, u64 cnt, u32 nodes, u64 duration_us)
{
    cd_sim_campaign sum;
    cd_sim_campaign_run(&sum, FIRST_SEED, cnt, nodes, duration_us, NULL, NULL, NULL);
    c->passed += (u32)(sum.runs - sum.bad);
    c->failed += (u32)sum.bad;
    (void)printf("seeds %d to %llu, 5 to %u nodes, %llu s: accepted %llu, %llu violations\n", FIRST_SEED,
                 (unsigned long long)(FIRST_SEED + cnt - 1), nodes, (unsigned long long)sum.seconds,
                 (unsigned long long)sum.accepted, (unsigned long long)sum.violations);
    if (sum.bad != 0) {
        (void)printf("    seed %llu: %s\n", (unsigned long long)sum.first_bad, sum.told.text);
    }
}

int main(int argc, char **argv)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    bool is_full = full != NULL && strcmp(full, "1") == 0;
    counts c = {0};
    cd_errinfo why = {0};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: worlds DIR\n");
        return 2;
    }
    if (cd_fs_list(cd_fs_real(), argv[1], run_scenario, &c, &why) != CD_OK || c.passed + c.failed == 0) {
        (void)fprintf(stderr, "no scenarios in %s: %s\n", argv[1], why.msg);
        return 1;
    }
    campaign(&c, is_full ? FULL : SHORT, NODES, 0);
    if (is_full) {
        campaign(&c, LONG, LONG_NODES, LONG_US);
    }
    (void)printf("%u passed, %u failed\n", c.passed, c.failed);
    return c.failed == 0 ? 0 : 1;
}
