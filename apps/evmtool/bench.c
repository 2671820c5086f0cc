/* bench: measurements as JSON lines. [spec:bench#1] */
#include "apps/evmtool/commands.h"

#include "base/num_text.h"
#include "lab/bench_crypto.h"
#include "lab/bench_evm.h"
#include "lab/bench_import.h"
#include "lab/bench_trie.h"

#define OPTIONS(X)                                                                                                     \
    X(OPT_ONLY, .name = "only", .type = CD_ARG_STR, .meta = "TEXT",                                                    \
      .help = "only workloads whose group/name contains this")                                                         \
    X(OPT_MIN_MS, .name = "min-ms", .type = CD_ARG_U64, .dflt = "120", .max = 86400000, .meta = "N",                   \
      .help = "CPU time spent on each workload at least")                                                              \
    X(OPT_REPS, .name = "reps", .type = CD_ARG_U64, .dflt = "0", .max = 1000000, .meta = "N",                          \
      .help = "run each workload just so often instead (0: as --min-ms says)")                                         \
    X(OPT_TIER, .name = "tier", .type = CD_ARG_STR, .dflt = "auto", .choices = "auto|direct|cells",                    \
      .help = "which interpreter runs")                                                                                \
    X(OPT_THREADS, .name = "threads", .type = CD_ARG_U64, .dflt = "1", .min = 1, .max = 64, .meta = "N",               \
      .help = "threads of an import")                                                                                  \
    X(OPT_ROUNDS, .name = "rounds", .type = CD_ARG_U64, .dflt = "3", .min = 1, .max = 1000, .meta = "N",               \
      .help = "repetitions of an import")                                                                              \
    X(OPT_HISTORY, .name = "history", .type = CD_ARG_U64, .dflt = "0", .max = UINT64_MAX, .meta = "N",                 \
      .help = "blocks whose state an import keeps readable")

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

enum { SIZES_MAX = 16 };

static cd_err bench_trie(cd_buf *out, const char *const *words, usize cnt, cd_errinfo *why)
{
    u64 sizes[SIZES_MAX] = {1000, 10000, 100000};
    usize n = cnt == 0 ? 3 : cnt;
    if (n > SIZES_MAX) {
        return cd_fail(why, CD_EINVAL, "at most %d sizes", SIZES_MAX);
    }
    for (usize i = 0; i < cnt; i++) {
        if (cd_u64_parse(&sizes[i], cd_bytes_str(words[i])) != CD_OK) {
            return cd_fail(why, CD_EINVAL, "\"%s\" is no number", words[i]);
        }
    }
    cd_err e = cd_lab_bench_trie(out, sizes, n);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "trie: %s", cd_err_str(e));
}

static cd_err bench(cd_buf *out, const cd_args *a, cd_errinfo *why)
{
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    if (cnt == 0) {
        return cd_fail(why, CD_EINVAL, "what to measure is missing (see --help)");
    }
    if (strcmp(words[0], "trie") == 0) {
        return bench_trie(out, words + 1, cnt - 1, why);
    }
    if (strcmp(words[0], "import") == 0) {
        if (cnt != 3) {
            return cd_fail(why, CD_EINVAL, "import needs a folder and a name");
        }
        const cd_lab_import cfg = {
            .threads = (u32)cd_args_u64(a, OPT_THREADS),
            .rounds = (u32)cd_args_u64(a, OPT_ROUNDS),
            .history = cd_args_u64(a, OPT_HISTORY),
            .impl = "c",
        };
        return cd_lab_bench_import(out, words[1], words[2], &cfg, why);
    }
    const char *only = cd_args_str(a, OPT_ONLY);
    cd_lab_effort effort = {.min_ns = cd_args_u64(a, OPT_MIN_MS) * 1000000, .exact = cd_args_u64(a, OPT_REPS)};
    if (strcmp(words[0], "crypto") == 0) {
        if (cnt != 2) {
            return cd_fail(why, CD_EINVAL, "crypto needs a file of cases");
        }
        return cd_lab_bench_crypto(out, words[1], only, &effort, why);
    }
    return cd_lab_bench_evm(out, words[0], only, &effort, cd_evmtool_tier(cd_args_str(a, OPT_TIER)), why);
}

int cd_evmtool_bench(int argc, char **argv)
{
    cd_args_info info = {
        .program = "candela-evmtool bench",
        .purpose = "measures, one JSON line a workload",
        .usage = "candela-evmtool bench FOLDER [--only TEXT] [--min-ms N | --reps N]\n"
                 "candela-evmtool bench crypto FILE [--only TEXT] [--min-ms N | --reps N]\n"
                 "candela-evmtool bench trie [N ...]\n"
                 "candela-evmtool bench import FOLDER NAME [--threads N] [--history N]\n",
        .words_max = 1 + SIZES_MAX,
    };
    cd_args *a = cd_args_new(&info, options, CD_COUNT(options));
    int code = cd_evmtool_parse(a, argc, argv);
    if (code < 0) {
        cd_errinfo why = {0};
        cd_buf out = {0};
        code = bench(&out, a, &why) == CD_OK ? 0 : cd_evmtool_fail(&why);
        cd_evmtool_sink(NULL, cd_buf_bytes(&out));
        cd_buf_fini(&out);
    }
    cd_args_free(a);
    return code;
}
