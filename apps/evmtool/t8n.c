/* t8n: one block's transition with the options of go-ethereum's evm. */
#include "apps/evmtool/commands.h"

#include "base/hex.h"
#include "base/os/fileio.h"
#include "codec/json.h"
#include "lab/difficulty.h"
#include "lab/t8n.h"
#include "num/u256_text.h"

#include <stdio.h>

#define OPTIONS(X)                                                                                                     \
    X(OPT_ALLOC, .name = "input.alloc", .type = CD_ARG_STR, .dflt = "alloc.json", .meta = "FILE",                      \
      .help = "accounts, or stdin")                                                                                    \
    X(OPT_ENV, .name = "input.env", .type = CD_ARG_STR, .dflt = "env.json", .meta = "FILE",                            \
      .help = "block environment, or stdin")                                                                           \
    X(OPT_TXS, .name = "input.txs", .type = CD_ARG_STR, .dflt = "txs.json", .meta = "FILE",                            \
      .help = "transactions, or stdin; RLP when the name ends in .rlp")                                                \
    X(OPT_DIR, .name = "output.basedir", .type = CD_ARG_STR, .meta = "FOLDER", .help = "where output files go")        \
    X(OPT_OUT_ALLOC, .name = "output.alloc", .type = CD_ARG_STR, .dflt = "alloc.json", .meta = "FILE",                 \
      .help = "accounts after, or stdout, stderr")                                                                     \
    X(OPT_OUT_RESULT, .name = "output.result", .type = CD_ARG_STR, .dflt = "result.json", .meta = "FILE",              \
      .help = "roots and receipts, or stdout, stderr")                                                                 \
    X(OPT_OUT_BODY, .name = "output.body", .type = CD_ARG_STR, .meta = "FILE",                                         \
      .help = "RLP of the transactions included")                                                                      \
    X(OPT_FORK, .name = "state.fork", .type = CD_ARG_STR, .dflt = "Cancun", .meta = "NAME", .help = "rules in force")  \
    X(OPT_CHAINID, .name = "state.chainid", .type = CD_ARG_U64, .dflt = "1", .meta = "N", .help = "chain id")          \
    X(OPT_REWARD, .name = "state.reward", .type = CD_ARG_STR, .dflt = "0", .meta = "WEI",                              \
      .help = "block reward; -1 = none")                                                                               \
    X(OPT_TRACE, .name = "trace", .type = CD_ARG_BOOL, .help = "a trace file a transaction")                           \
    X(OPT_MEMORY, .name = "trace.memory", .type = CD_ARG_BOOL, .help = "with the memory")                              \
    X(OPT_NOSTACK, .name = "trace.nostack", .type = CD_ARG_BOOL, .help = "without the stack")                          \
    X(OPT_RETDATA, .name = "trace.returndata", .type = CD_ARG_BOOL, .help = "with return data")                        \
    X(OPT_FRAMES, .name = "trace.callframes", .type = CD_ARG_BOOL, .help = "with frame lines")

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

enum { INPUT_MAX = 256 << 20 };

typedef struct job {
    const cd_args *args;
    cd_arena arena;
    cd_json from_stdin; /* {"alloc","env","txs"} */
    cd_errinfo why;     /* of a trace file that could not be written */
    bool is_running;    /* files are read: what fails now is what is in them */
} job;

/* Exit codes of go-ethereum's evm. */
enum { EXIT_EVM = 2, EXIT_CONFIG = 3, EXIT_NO_HASH = 4, EXIT_JSON = 10, EXIT_IO = 11, EXIT_RLP = 12 };

static int exit_code(const job *j, cd_err e)
{
    if (!j->is_running) {
        return e == CD_EINVAL ? EXIT_CONFIG : e == CD_ENOENT || e == CD_EIO || e == CD_EACCES ? EXIT_IO : EXIT_JSON;
    }
    switch ((int)e) {
    case CD_EINVAL:
        return EXIT_CONFIG;
    case CD_EMISSING:
        return EXIT_NO_HASH;
    case CD_ETRAIL:
    case CD_ESHORT:
        return EXIT_RLP;
    case CD_EUNSUPPORTED:
        return EXIT_EVM;
    default:
        return EXIT_JSON;
    }
}

static cd_err read_stdin(job *j, cd_errinfo *why)
{
    cd_buf text = {0};
    usize n;
    do {
        n = fread(cd_buf_reserve(&text, 65536), 1, 65536, stdin);
        text.n += n;
    } while (n != 0 && text.n <= INPUT_MAX);
    cd_err e = cd_json_parse(&j->from_stdin, &j->arena, cd_buf_bytes(&text), INPUT_MAX, why);
    cd_buf_fini(&text);
    return e;
}

/* The contents of one input: of a file, or a member of what came on stdin. */
static cd_err read_input(cd_bytes *out, job *j, usize opt, const char *key, cd_errinfo *why)
{
    const char *path = cd_args_str(j->args, opt);
    cd_buf text = {0};
    cd_err e = CD_OK;
    if (strcmp(path, "stdin") != 0) {
        e = cd_fs_read_file(cd_fs_real(), &text, path, INPUT_MAX, why);
    } else {
        e = j->from_stdin.val == NULL ? read_stdin(j, why) : CD_OK;
        if (e == CD_OK && cd_json_has(cd_json_get(j->from_stdin, key))) {
            cd_json_raw(&text, cd_json_get(j->from_stdin, key));
        } else if (e == CD_OK) {
            e = cd_json_fail(cd_json_get(j->from_stdin, key), CD_ENOENT, "missing", why);
        }
    }
    *out = cd_arena_dup(&j->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return e;
}

static cd_err write_file(job *j, const char *name, cd_bytes data, cd_errinfo *why)
{
    const char *dir = cd_args_str(j->args, OPT_DIR);
    const char *path = dir[0] == '\0' ? name : cd_arena_fmt(&j->arena, "%s/%s", dir, name);
    if (dir[0] != '\0') {
        CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, 0755, why));
    }
    return cd_fs_replace_file(cd_fs_real(), path, data, 0644, why);
}

static void on_trace(void *ctx, usize idx, const cd_hash32 *tx_hash, cd_bytes lines)
{
    job *j = ctx;
    char hex[65] = {0};
    cd_hex_fmt(hex, cd_bytes_of(tx_hash->b, 32));
    const char *name = cd_arena_fmt(&j->arena, "trace-%zu-0x%s.jsonl", idx, hex);
    if (j->why.code == CD_OK && write_file(j, name, lines, &j->why) != CD_OK) {
        (void)cd_evmtool_fail(&j->why);
    }
}

/* Puts one output into a file, or among what goes to stdout or stderr. */
static cd_err put(job *j, cd_json_w *std_out, cd_json_w *std_err, usize opt, const char *key, cd_bytes json,
                  cd_errinfo *why)
{
    const char *name = cd_args_str(j->args, opt);
    cd_json_w *w = strcmp(name, "stdout") == 0 ? std_out : strcmp(name, "stderr") == 0 ? std_err : NULL;
    if (w != NULL) {
        cd_json_put_raw(w, key, json);
        return CD_OK;
    }
    return name[0] == '\0' ? CD_OK : write_file(j, name, json, why);
}

static cd_err put_all(job *j, const cd_t8n_out *out, cd_errinfo *why)
{
    cd_buf bufs[3] = {0};
    cd_json_w to_out = {.out = &bufs[0]};
    cd_json_w to_err = {.out = &bufs[1]};
    cd_json_w body = {.out = &bufs[2]};
    cd_json_w_obj(&to_out);
    cd_json_w_obj(&to_err);
    cd_json_w_hex(&body, cd_buf_bytes(&out->body));
    cd_err e = put(j, &to_out, &to_err, OPT_OUT_ALLOC, "alloc", cd_buf_bytes(&out->alloc), why);
    if (e == CD_OK) {
        e = put(j, &to_out, &to_err, OPT_OUT_RESULT, "result", cd_buf_bytes(&out->result), why);
    }
    if (e == CD_OK) {
        e = put(j, &to_out, &to_err, OPT_OUT_BODY, "body", cd_buf_bytes(&bufs[2]), why);
    }
    cd_json_w_obj_end(&to_out);
    cd_json_w_obj_end(&to_err);
    if (e == CD_OK && bufs[0].n > 2) {
        (void)printf("%s\n", cd_buf_cstr(&bufs[0]));
    }
    if (e == CD_OK && bufs[1].n > 2) {
        (void)fprintf(stderr, "%s\n", cd_buf_cstr(&bufs[1]));
    }
    for (usize i = 0; i < CD_COUNT(bufs); i++) {
        cd_buf_fini(&bufs[i]);
    }
    return e;
}

static cd_err transition(job *j, cd_errinfo *why)
{
    const cd_args *a = j->args;
    const char *txs = cd_args_str(a, OPT_TXS);
    usize n = strlen(txs);
    const char *fork = cd_args_str(a, OPT_FORK);
    const char *reward_text = cd_args_str(a, OPT_REWARD);
    cd_u256 reward = cd_u256_zero();
    bool has_reward = strcmp(reward_text, "-1") != 0;
    if (has_reward && (cd_u256_parse(&reward, cd_bytes_str(reward_text)) != CD_OK || !cd_u256_fits_u64(&reward))) {
        return cd_fail(why, CD_EINVAL, "--state.reward must be wei in decimal or hexadecimal, or -1, got \"%.80s\"",
                       reward_text);
    }
    cd_t8n_cfg cfg = {
        .txs_are_rlp = n > 4 && strcmp(txs + n - 4, ".rlp") == 0,
        .chain_id = cd_args_u64(a, OPT_CHAINID),
        .has_reward = has_reward,
        .reward = cd_u256_to_u64_sat(&reward),
        .trace = cd_args_bool(a, OPT_TRACE),
        .trace_memory = cd_args_bool(a, OPT_MEMORY),
        .trace_no_stack = cd_args_bool(a, OPT_NOSTACK),
        .trace_return_data = cd_args_bool(a, OPT_RETDATA),
        .trace_callframes = cd_args_bool(a, OPT_FRAMES),
        .on_trace = on_trace,
        .trace_ctx = j,
    };
    if (cd_fork_parse(&cfg.fork, fork) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "no fork \"%.80s\"", fork);
    }
    cfg.difficulty_delay = cd_difficulty_delay(cfg.fork, fork);
    CD_TRY(read_input(&cfg.alloc, j, OPT_ALLOC, "alloc", why));
    CD_TRY(read_input(&cfg.env, j, OPT_ENV, "env", why));
    CD_TRY(read_input(&cfg.txs, j, OPT_TXS, "txs", why));
    cd_t8n_out out = {0};
    j->is_running = true;
    cd_err e = cd_t8n_run(&out, &cfg, why);
    if (e == CD_OK) {
        j->is_running = false;
        e = put_all(j, &out, why);
    }
    cd_t8n_out_fini(&out);
    return e;
}

int cd_evmtool_t8n(int argc, char **argv)
{
    cd_args_info info = {
        .program = "candela-evmtool t8n",
        .purpose = "makes a block's transition",
        .example = "candela-evmtool t8n --input.alloc=a.json --input.env=e.json --input.txs=t.json "
                   "--state.fork=Cancun --output.result=stdout",
    };
    cd_args *a = cd_args_new(&info, options, CD_COUNT(options));
    int code = cd_evmtool_parse(a, argc, argv);
    if (code < 0) {
        cd_errinfo why = {0};
        job j = {.args = a};
        cd_err e = transition(&j, &why);
        code = e == CD_OK ? (j.why.code != CD_OK ? EXIT_IO : 0) : exit_code(&j, e);
        if (e != CD_OK) {
            (void)cd_evmtool_fail(&why);
        }
        cd_arena_fini(&j.arena);
    }
    cd_args_free(a);
    return code;
}
