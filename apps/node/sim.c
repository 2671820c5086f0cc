/* `candela sim`: a network in a virtual world. */
#include "base/hex.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "base/os/term.h"
#include "commands.h"
#include "report.h"
#include "sim/campaign.h"
#include "sim/script.h"
#include "sim_print.h"

#include <stdio.h>
#include <unistd.h>

enum { WORKERS_MAX = 8 };

enum {
#define X CD_ARG_ID
#include "sim.def"
    SIM_CNT,
};

static const cd_arg_def options[SIM_CNT] = {
#define X CD_ARG_ROW
#include "sim.def"
};

static u64 us_of(u64 ns)
{
    return ns / 1000;
}

static int wrong(const char *flag, const char *value, const char *want)
{
    char message[200];
    (void)snprintf(message, sizeof message, "--%s must be %s, got %.60s", flag, want, value);
    cd__report("error", NULL, message, "");
    return 2;
}

static bool is_given(const cd_args *a, usize id)
{
    return cd_args_source(a, id) == CD_ARG_FROM_FLAG;
}

/* Reads hours such as "0.5" as microseconds, without rounding errors of floating point. */
static bool parse_hours(u64 *us, const char *text)
{
    char with_unit[40];
    u64 ns;
    if (text[0] == '\0' || strlen(text) > 20 || strspn(text, "0123456789.") != strlen(text)) {
        return false;
    }
    (void)snprintf(with_unit, sizeof with_unit, "%sh", text);
    if (cd_duration_parse(&ns, cd_bytes_str(with_unit)) != CD_OK) {
        return false;
    }
    *us = us_of(ns);
    return *us != 0;
}

/* --- flags --- */

static int read_time(cd_sim_cfg *cfg, const cd_args *a)
{
    const char *hours = cd_args_str(a, SIM_HOURS);
    if (is_given(a, SIM_HOURS) && is_given(a, SIM_DURATION)) {
        cd__report("error", NULL, "--hours and --duration say the same", "leave one out");
        return 2;
    }
    if (is_given(a, SIM_HOURS) && !parse_hours(&cfg->duration_us, hours)) {
        return wrong("hours", hours, "a number of hours such as 2 or 0.5");
    }
    cfg->duration_us = is_given(a, SIM_DURATION) ? us_of(cd_args_u64(a, SIM_DURATION)) : cfg->duration_us;
    return 0;
}

static int read_shares(cd_sim_cfg *cfg, const cd_args *a)
{
    if ((cfg->acts == NULL || is_given(a, SIM_BYZANTINE)) &&
        cd_sim_share_parse(&cfg->byzantine_ppm, cd_bytes_str(cd_args_str(a, SIM_BYZANTINE))) != CD_OK) {
        return wrong("byzantine", cd_args_str(a, SIM_BYZANTINE), "a share such as 0.2, 20% or 1/5");
    }
    if ((cfg->acts == NULL || is_given(a, SIM_LOSS)) &&
        cd_sim_share_parse(&cfg->loss_ppm, cd_bytes_str(cd_args_str(a, SIM_LOSS))) != CD_OK) {
        return wrong("loss", cd_args_str(a, SIM_LOSS), "a share such as 0.01 or 1%");
    }
    if ((cfg->acts == NULL || is_given(a, SIM_ROLES)) &&
        cd_sim_roles_parse(&cfg->roles, cd_bytes_str(cd_args_str(a, SIM_ROLES))) != CD_OK) {
        return wrong("roles", cd_args_str(a, SIM_ROLES), "a list of equivocate, withhold, lie, invalid, stale, spam");
    }
    return 0;
}

/* Sets what the flags say, over what a scenario has set. */
static int read_flags(cd_sim_cfg *cfg, const cd_args *a)
{
    bool is_own = cfg->acts == NULL;
    int code = read_time(cfg, a);
    code = code != 0 ? code : read_shares(cfg, a);
    if (code != 0) {
        return code;
    }
    cfg->seed = is_own || is_given(a, SIM_SEED) ? cd_args_u64(a, SIM_SEED) : cfg->seed;
    cfg->nodes = is_own || is_given(a, SIM_NODES) ? (u32)cd_args_u64(a, SIM_NODES) : cfg->nodes;
    cfg->interval_us = is_own || is_given(a, SIM_INTERVAL) ? us_of(cd_args_u64(a, SIM_INTERVAL)) : cfg->interval_us;
    cfg->bits_per_s = is_own || is_given(a, SIM_BANDWIDTH) ? cd_args_u64(a, SIM_BANDWIDTH) : cfg->bits_per_s;
    cfg->bound_us = is_own || is_given(a, SIM_BOUND) ? us_of(cd_args_u64(a, SIM_BOUND)) : cfg->bound_us;
    cfg->has_troubles = is_own || is_given(a, SIM_TROUBLES) ? cd_args_bool(a, SIM_TROUBLES) : cfg->has_troubles;
    cfg->is_bare = cfg->is_bare || cd_args_bool(a, SIM_BARE);
    cfg->has_liars_always = cfg->has_liars_always || cd_args_bool(a, SIM_ALWAYS) ||
                            (is_own && (cfg->byzantine_ppm <= CD_SIM_MILLION / 5 || !cfg->has_troubles));
    if (is_own || is_given(a, SIM_LATENCY)) {
        cd_err e = cd_sim_latency_parse(&cfg->latency, cd_bytes_str(cd_args_str(a, SIM_LATENCY)));
        CD_ASSERT(e == CD_OK); /* the table of flags has checked the value */
    }
    if (is_own && cfg->duration_us == 0) {
        cfg->duration_us = 600ull * CD_SIM_MILLION;
    }
    if (cfg->interval_us == 0 || cfg->duration_us == 0) {
        return wrong(cfg->interval_us == 0 ? "interval" : "duration", "0", "longer than a microsecond");
    }
    return 0;
}

static int read_scenario(cd_sim_cfg *cfg, cd_arena *mem, const char *path)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, CD_SIM_SCRIPT_BYTES_MAX, &why);
    if (e == CD_OK) {
        cd_sim_default(cfg);
        e = cd_sim_script_parse(cfg, mem, cd_buf_bytes(&text), &why);
        if (e != CD_OK) {
            cd__report("error", NULL, cd_arena_fmt(mem, "%s: %s", path, why.msg), "docs/simulator.md has all words");
        }
    } else {
        cd__report("error", NULL, why.msg, "");
    }
    cd_buf_fini(&text);
    return e == CD_OK ? 0 : 2;
}

static u32 threads_of(const cd_args *a)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    u64 given = cd_args_u64(a, SIM_THREADS);
    return given != 0 ? (u32)given : n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (u32)n;
}

/* --- one world, or many --- */

static void to_file(void *ctx, cd_bytes text)
{
    (void)fwrite(text.p, 1, text.n, ctx);
}

static int run_world(cd_sim_cfg *cfg, const cd_args *a, cd_arena *mem)
{
    cd_errinfo why = {0};
    cd_sim_result *r = cd_arena_new(mem, cd_sim_result);
    cd_sim_trace trace = {.write = to_file, .max = cd_args_u64(a, SIM_TRACE_MAX)};
    const char *path = cd_args_path(a, mem, SIM_TRACE);
    FILE *file = path[0] == '\0' ? NULL : fopen(path, "w");
    if (path[0] != '\0' && file == NULL) {
        cd__report("error", NULL, cd_arena_fmt(mem, "cannot write %s", path), "");
        return 1;
    }
    if (file != NULL) {
        trace.ctx = file;
        cfg->trace = &trace;
        cd_sim_trace_begin(&trace);
    }
    u64 start = cd_clock_mono_ns(cd_clock_real());
    cd_err e = cd_sim_run(r, cfg, &why);
    u64 ns = cd_clock_mono_ns(cd_clock_real()) - start;
    bool is_written = file == NULL || fclose(file) == 0;
    cd_sim_trace_end(&trace);
    cfg->trace = NULL;
    if (e != CD_OK || !is_written) {
        cd__report("error", NULL, e != CD_OK ? why.msg : "the trace could not be written", "");
        return e == CD_EINVAL ? 2 : 1;
    }
    return cd__sim_print(cfg, r, ns);
}

static void on_done(void *ctx, const cd_sim_campaign *c)
{
    if (*(bool *)ctx) {
        (void)fprintf(stderr, "\r%llu runs, %llu blocks, %llu bad ", (unsigned long long)c->runs,
                      (unsigned long long)c->accepted, (unsigned long long)c->bad);
    }
}

static int run_many(const cd_args *a, u64 duration_us)
{
    cd_sim_campaign c;
    cd_pool *pool = NULL;
    char hex[65] = {0};
    bool is_shown = isatty(STDERR_FILENO) == 1;
    u64 start = cd_clock_mono_ns(cd_clock_real());
    u32 nodes = is_given(a, SIM_NODES) ? (u32)cd_args_u64(a, SIM_NODES) : 30;
    if (cd_pool_new(&pool, threads_of(a) - 1, 16, "sim", NULL) != CD_OK) {
        pool = NULL; /* this thread runs them alone */
    }
    cd_sim_campaign_run(&c, cd_args_u64(a, SIM_SEED), cd_args_u64(a, SIM_RUNS), nodes, duration_us, pool, on_done,
                        &is_shown);
    cd_pool_free(pool);
    u64 ns = cd_clock_mono_ns(cd_clock_real()) - start;
    cd_hex_fmt(hex, cd_bytes_of(c.fingerprint.b, 32));
    (void)printf("%sruns               %llu, seeds from %llu\n", is_shown ? "\n" : "", (unsigned long long)c.runs,
                 (unsigned long long)cd_args_u64(a, SIM_SEED));
    (void)printf("nodes              %llu in all, %llu of them lie\n", (unsigned long long)c.nodes,
                 (unsigned long long)c.liars);
    (void)printf("virtual time       %llu s\n", (unsigned long long)c.seconds);
    (void)printf("messages           %llu\n", (unsigned long long)c.messages);
    (void)printf("fingerprint        %s\n", hex);
    cd__sim_print_wall(ns, c.seconds * CD_SIM_MILLION, c.accepted, c.messages);
    if (c.bad != 0) {
        (void)printf("%llu bad runs, the first with --runs 1 --seed %llu:\n", (unsigned long long)c.bad,
                     (unsigned long long)c.first_bad);
        cd__sim_print_violation(&c.told);
    }
    (void)printf("accepted %llu blocks\n%llu violations\n", (unsigned long long)c.accepted,
                 (unsigned long long)c.violations);
    return c.violations == 0 ? 0 : 1;
}

static int run(cd_args *a, cd_arena *mem)
{
    cd_sim_cfg cfg = {.trace = NULL};
    const char *scenario = cd_args_path(a, mem, SIM_SCENARIO);
    int code = scenario[0] == '\0' ? 0 : read_scenario(&cfg, mem, scenario);
    code = code != 0 ? code : read_flags(&cfg, a);
    if (code != 0) {
        return code;
    }
    if (is_given(a, SIM_RUNS)) {
        return run_many(a, is_given(a, SIM_HOURS) || is_given(a, SIM_DURATION) ? cfg.duration_us : 0);
    }
    cfg.threads = threads_of(a);
    return run_world(&cfg, a, mem);
}

int cd__sim_cmd(int argc, char **argv)
{
    const cd_args_info info = {
        .program = "candela sim",
        .purpose = "a network of nodes in a virtual world, and whether it agrees",
        .usage = "candela sim [flags]",
        .example = "candela sim --seed 7 --nodes 50 --byzantine 0.2 --hours 0.5",
    };
    cd_args *a = cd_args_new(&info, options, CD_COUNT(options));
    cd_arena mem = {0};
    cd_errinfo why = {0};
    int code = 2;
    if (cd_args_parse(a, argc, argv, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
    } else if (cd_args_wants_help(a)) {
        cd_buf text = {0};
        cd_args_help(a, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
        code = 0;
    } else {
        code = run(a, &mem);
    }
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}
