/* Any text as a scenario: read, or refused with the line; and what was read can be lived through. */
#include "sim/script.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize n);

int LLVMFuzzerTestOneInput(const u8 *data, usize n)
{
    cd_sim_cfg cfg = {.seed = 1};
    cd_arena a = {0};
    cd_errinfo why = {0};
    cd_sim_default(&cfg);
    cd_err e = n > CD_SIM_SCRIPT_BYTES_MAX ? CD_ELIMIT : cd_sim_script_parse(&cfg, &a, cd_bytes_of(data, n), &why);
    CD_ASSERT(e == CD_OK || e == CD_ELIMIT || (e == CD_EFORMAT && why.msg[0] != '\0'));
    if (e == CD_OK && cfg.nodes <= 8) {
        cd_sim_result r;
        cfg.duration_us = cd_min_u64(cfg.duration_us, (u64)3 * CD_SIM_MILLION);
        cfg.interval_us = cd_max_u64(cfg.interval_us, CD_SIM_MILLION / 4);
        e = cd_sim_run(&r, &cfg, &why);
        CD_ASSERT(e == CD_OK || e == CD_EINVAL);
    }
    cd_arena_fini(&a);
    return 0;
}
