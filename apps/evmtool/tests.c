/* The two suite runners. */
#include "apps/evmtool/commands.h"

#include "lab/blocktest.h"
#include "lab/statetest.h"

#include <inttypes.h>
#include <stdio.h>

#define COMMON(X)                                                                                                      \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "print one JSON line a case")                             \
    X(OPT_FORK, .name = "fork", .type = CD_ARG_STR, .meta = "NAME", .help = "only this fork")                          \
    X(OPT_TIER, .name = "tier", .type = CD_ARG_STR, .dflt = "auto", .choices = "auto|direct|cells",                    \
      .help = "which interpreter runs")                                                                                \
    X(OPT_JOBS, .name = "jobs", .type = CD_ARG_U64, .dflt = "2", .min = 1, .max = 256, .meta = "N", .help = "threads") \
    X(OPT_SKIP, .name = "skip-list", .type = CD_ARG_STR, .meta = "FILE",                                               \
      .help = "path endings, one a line, that are not run")                                                            \
    X(OPT_TRACE, .name = "trace", .type = CD_ARG_BOOL, .help = "print EIP-3155 lines")

enum { COMMON(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {COMMON(CD_ARG_ROW)};

/* The verdict on a whole run: an empty set proves nothing. */
static int conclude(const cd_tally *t)
{
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", t->passed, t->failed);
    return t->failed == 0 && t->passed != 0 ? 0 : 1;
}

/* Reads file names from stdin and answers each with its lines and an empty one. */
static int answer_names(const cd_suite *s)
{
    char path[4096];
    cd_tally total = {0};
    cd_buf out = {0};
    void *worker = s->worker_new(s->cfg);
    while (fgets(path, sizeof path, stdin) != NULL) {
        path[strcspn(path, "\r\n")] = '\0';
        if (path[0] == '\0') {
            continue;
        }
        cd_buf_clear(&out);
        cd_suite_one(s, worker, &total, &out, path);
        cd_buf_u8(&out, '\n');
        cd_evmtool_sink(NULL, cd_buf_bytes(&out));
    }
    s->worker_free(worker);
    cd_buf_fini(&out);
    return total.failed == 0 ? 0 : 1;
}

static int run_suite(cd_suite *s, const cd_args *a)
{
    cd_tally total = {0};
    cd_errinfo why = {0};
    const char *skip = cd_args_str(a, OPT_SKIP);
    s->path_cnt = cd_args_words(a, &s->paths);
    s->jobs = (u32)cd_args_u64(a, OPT_JOBS);
    s->skip_list = skip[0] == '\0' ? NULL : skip;
    s->sink = cd_evmtool_sink;
    if (s->path_cnt == 0) {
        (void)cd_fail(&why, CD_EINVAL, "no files given (see --help)");
        (void)cd_evmtool_fail(&why);
        return 2;
    }
    if (s->path_cnt == 1 && strcmp(s->paths[0], "-") == 0) {
        return answer_names(s);
    }
    if (cd_suite_run(&total, s, &why) != CD_OK) {
        return cd_evmtool_fail(&why);
    }
    return conclude(&total);
}

static cd_args *args_new(const char *program, const char *purpose, const char *usage)
{
    cd_args_info info = {.program = program, .purpose = purpose, .usage = usage, .words_max = UINT32_MAX};
    return cd_args_new(&info, options, CD_COUNT(options));
}

int cd_evmtool_statetest(int argc, char **argv)
{
    cd_args *a = args_new("candela-evmtool statetest", "runs Ethereum state tests",
                          "candela-evmtool statetest [options] FILE|FOLDER ...\n"
                          "candela-evmtool statetest [options] -      file names from stdin\n");
    int code = cd_evmtool_parse(a, argc, argv);
    if (code < 0) {
        cd_errinfo why = {0};
        const char *fork = cd_args_str(a, OPT_FORK);
        const char *const *paths;
        cd_statetest_cfg cfg = {
            .json = cd_args_bool(a, OPT_JSON),
            .trace = cd_args_bool(a, OPT_TRACE),
            .has_fork = fork[0] != '\0',
            .tier = cd_evmtool_tier(cd_args_str(a, OPT_TIER)),
        };
        cfg.with_logs = cd_args_words(a, &paths) == 1 && strcmp(paths[0], "-") == 0;
        cfg.json |= cfg.with_logs;
        if (cfg.has_fork && cd_fork_parse(&cfg.fork, fork) != CD_OK) {
            (void)cd_fail(&why, CD_EINVAL, "no fork \"%s\"", fork);
            code = cd_evmtool_fail(&why);
        } else {
            cd_suite s = {0};
            cd_statetest_suite(&s, &cfg);
            code = run_suite(&s, a);
        }
    }
    cd_args_free(a);
    return code;
}

int cd_evmtool_blocktest(int argc, char **argv)
{
    cd_args *a = args_new("candela-evmtool blocktest", "runs Ethereum blockchain tests",
                          "candela-evmtool blocktest [options] FILE|FOLDER ...\n"
                          "candela-evmtool blocktest [options] -      file names from stdin\n");
    int code = cd_evmtool_parse(a, argc, argv);
    if (code < 0) {
        const char *fork = cd_args_str(a, OPT_FORK);
        cd_blocktest_cfg cfg = {
            .json = cd_args_bool(a, OPT_JSON),
            .has_fork = fork[0] != '\0',
            .fork = fork,
            .tier = cd_evmtool_tier(cd_args_str(a, OPT_TIER)),
        };
        cd_suite s = {0};
        cd_blocktest_suite(&s, &cfg);
        code = run_suite(&s, a);
    }
    cd_args_free(a);
    return code;
}
