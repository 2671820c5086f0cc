/* candela-adx ledger - checks the books from their first row, and says what they say. */
#include "apps/adx/commands.h"

#include "base/args/args.h"
#include "base/os/term.h"
#include "services/adx/ledger/ledger.h"

#include <stdio.h>
#include <unistd.h>

// clang-format off
#define OPTIONS(X)                                                                                                   \
    X(OPT_DATA_DIR, .name = "data-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/adx", .meta = "DIR",            \
      .group = "Ledger", .help = "where it lies")                                                                    \
    X(OPT_DB, .name = "db", .type = CD_ARG_STR, .meta = "URL",                                                       \
      .help = "sqlite:PATH or postgresql://…; the file in the data directory when not given")                        \
    X(OPT_ACCOUNT, .name = "account", .type = CD_ARG_LIST, .meta = "NAME",                                           \
      .help = "say what stands there too: escrow/C, leased/C, publisher/P, bidder/B, fees")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static cd_err look(const cd_args *args, cd_arena *mem, cd_errinfo *why)
{
    const char *db = cd_args_str(args, OPT_DB);
    const char *url =
        db[0] != '\0' ? db : cd_arena_fmt(mem, "sqlite:%s/ledger.db", cd_args_path(args, mem, OPT_DATA_DIR));
    const char *const *accounts;
    usize cnt = cd_args_list(args, OPT_ACCOUNT, &accounts);
    cd_ledger *l = NULL;
    cd_ledger_state s;
    CD_TRY(cd_ledger_open(&l, url, false, why));
    cd_err err = cd_ledger_verify(l, &s, why);
    if (err == CD_OK) {
        (void)printf("{\"ok\":true,\"rows\":%llu,\"spent\":\"%lld\",\"earned\":\"%lld\",\"fees\":\"%lld\""
                     ",\"rewards\":\"%lld\"",
                     (unsigned long long)s.rows, (long long)s.spent, (long long)s.earned, (long long)s.fees,
                     (long long)s.rewards);
    }
    for (usize i = 0; i < cnt && err == CD_OK; i++) {
        i64 amount;
        err = cd_ledger_account(l, &amount, accounts[i], why);
        if (err == CD_OK) {
            (void)printf(",\"%s\":\"%lld\"", accounts[i], (long long)amount);
        }
    }
    if (err == CD_OK) {
        (void)printf("}\n");
    }
    cd_ledger_close(l);
    return err;
}

int cd_cmd_ledger(int argc, char **argv)
{
    static const cd_args_info info = {
        .program = "candela-adx ledger",
        .purpose = "checks the books; amounts are nano-USD",
        .example = "candela-adx ledger --data-dir=DIR --account=fees",
        .is_plain_env = true,
    };
    cd_errinfo why = {0};
    cd_arena mem = {0};
    int code = 0;
    cd_args *args = cd_args_new(&info, options, OPT_CNT);
    cd_err err = cd_args_parse(args, argc, argv, &why);
    if (err == CD_OK && cd_args_wants_help(args)) {
        cd_buf text = {0};
        cd_args_help(args, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
    } else if (err != CD_OK || look(args, &mem, &why) != CD_OK) {
        (void)fprintf(stderr, "candela-adx ledger: error: %s\n", why.msg);
        code = err != CD_OK ? 2 : 1;
    }
    cd_arena_fini(&mem);
    cd_args_free(args);
    return code;
}
