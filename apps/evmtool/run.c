/* run and trace: one piece of byte code. */
#include "apps/evmtool/commands.h"

#include "base/hex.h"
#include "base/os/fileio.h"
#include "lab/run.h"
#include "num/u256_text.h"

#define OPTIONS(X)                                                                                                     \
    X(OPT_CODE, .name = "code", .type = CD_ARG_STR, .meta = "HEX", .help = "the byte code")                            \
    X(OPT_CODEFILE, .name = "codefile", .type = CD_ARG_STR, .meta = "FILE",                                            \
      .help = "a file with the byte code in hex")                                                                      \
    X(OPT_INPUT, .name = "input", .type = CD_ARG_STR, .meta = "HEX", .help = "call data")                              \
    X(OPT_GAS, .name = "gas", .type = CD_ARG_U64, .dflt = "10000000000", .meta = "N", .help = "gas of the message")    \
    X(OPT_VALUE, .name = "value", .type = CD_ARG_STR, .dflt = "0", .meta = "WEI", .help = "wei sent along")            \
    X(OPT_SENDER, .name = "sender", .type = CD_ARG_STR, .meta = "ADDRESS",                                             \
      .dflt = "0x000000000000000000000000000000000073656e", .help = "who calls")                                       \
    X(OPT_RECEIVER, .name = "receiver", .type = CD_ARG_STR, .meta = "ADDRESS",                                         \
      .dflt = "0x0000000000000000000000000000000072656376", .help = "where the code is")                               \
    X(OPT_CREATE, .name = "create", .type = CD_ARG_BOOL, .help = "the code is init code")                              \
    X(OPT_PRESTATE, .name = "prestate", .type = CD_ARG_STR, .meta = "FILE",                                            \
      .help = "genesis document with the accounts to start from")                                                      \
    X(OPT_FORK, .name = "fork", .type = CD_ARG_STR, .dflt = "Cancun", .meta = "NAME", .alias = "state.fork",           \
      .help = "rules in force")                                                                                        \
    X(OPT_TIER, .name = "tier", .type = CD_ARG_STR, .dflt = "auto", .choices = "auto|direct|cells",                    \
      .help = "which interpreter runs")                                                                                \
    X(OPT_MEMORY, .name = "memory", .type = CD_ARG_BOOL, .alias = "trace.memory",                                      \
      .help = "trace lines with the memory")                                                                           \
    X(OPT_RETDATA, .name = "returndata", .type = CD_ARG_BOOL, .alias = "trace.returndata",                             \
      .help = "trace lines with return data")

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

enum { FILE_MAX = 64 << 20 };

/* Reads hex text, blanks at the end allowed. */
static cd_err get_hex(cd_bytes *out, cd_arena *a, cd_bytes text, const char *what, cd_errinfo *why)
{
    while (text.n != 0 && text.p[text.n - 1] <= ' ') {
        text.n--;
    }
    cd_err e = cd_hex_parse_prefixed(out, a, text);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "--%s: not hexadecimal", what);
}

static cd_err get_addr(cd_addr20 *out, cd_arena *a, const char *text, const char *what, cd_errinfo *why)
{
    cd_bytes b;
    CD_TRY(get_hex(&b, a, cd_bytes_str(text), what, why));
    if (b.n != 20) {
        return cd_fail(why, CD_ERANGE, "--%s: not an address", what);
    }
    memcpy(out->b, b.p, 20);
    return CD_OK;
}

static cd_err get_file(cd_bytes *out, cd_arena *a, const char *path, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_err e = path[0] == '\0' ? CD_OK : cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, why);
    *out = cd_arena_dup(a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return e;
}

static cd_err read_cfg(cd_lab_run_cfg *cfg, cd_arena *arena, const cd_args *a, cd_errinfo *why)
{
    cd_bytes code = cd_bytes_str(cd_args_str(a, OPT_CODE));
    const char *tier = cd_args_str(a, OPT_TIER);
    if (cd_args_str(a, OPT_CODEFILE)[0] != '\0') {
        CD_TRY(get_file(&code, arena, cd_args_str(a, OPT_CODEFILE), why));
    }
    CD_TRY(get_hex(&cfg->code, arena, code, "code", why));
    CD_TRY(get_hex(&cfg->input, arena, cd_bytes_str(cd_args_str(a, OPT_INPUT)), "input", why));
    CD_TRY(get_addr(&cfg->sender, arena, cd_args_str(a, OPT_SENDER), "sender", why));
    CD_TRY(get_addr(&cfg->receiver, arena, cd_args_str(a, OPT_RECEIVER), "receiver", why));
    CD_TRY(get_file(&cfg->prestate, arena, cd_args_str(a, OPT_PRESTATE), why));
    if (cd_u256_parse(&cfg->value, cd_bytes_str(cd_args_str(a, OPT_VALUE))) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--value: not a number");
    }
    if (cd_fork_parse(&cfg->fork, cd_args_str(a, OPT_FORK)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "no fork \"%s\"", cd_args_str(a, OPT_FORK));
    }
    cfg->gas = cd_args_u64(a, OPT_GAS);
    cfg->is_create = cd_args_bool(a, OPT_CREATE);
    cfg->trace_memory = cd_args_bool(a, OPT_MEMORY);
    cfg->trace_return_data = cd_args_bool(a, OPT_RETDATA);
    cfg->tier = cd_evmtool_tier(tier);
    return CD_OK;
}

int cd_evmtool_run(int argc, char **argv)
{
    bool trace = strcmp(argv[0], "trace") == 0;
    cd_args_info info = {
        .program = trace ? "candela-evmtool trace" : "candela-evmtool run",
        .purpose = trace ? "runs byte code and prints EIP-3155 lines" : "runs byte code",
        .example = "candela-evmtool run --code 6001600201 --gas 100000",
    };
    cd_args *a = cd_args_new(&info, options, CD_COUNT(options));
    int code = cd_evmtool_parse(a, argc, argv);
    if (code < 0) {
        cd_errinfo why = {0};
        cd_arena arena = {0};
        cd_buf out = {0};
        cd_lab_run_cfg cfg = {.trace = trace, .number = 1, .time = 1};
        cd_err e = read_cfg(&cfg, &arena, a, &why);
        if (e == CD_OK) {
            e = cd_lab_run(&out, &cfg, &why);
        }
        cd_evmtool_sink(NULL, cd_buf_bytes(&out));
        code = e == CD_OK ? 0 : cd_evmtool_fail(&why);
        cd_buf_fini(&out);
        cd_arena_fini(&arena);
    }
    cd_args_free(a);
    return code;
}
