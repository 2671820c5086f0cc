/* candela-evmtool - the EVM laboratory: public test suites, single runs, transitions and
 * measurements. */
#include "apps/evmtool/commands.h"

#include "base/args/program.h"
#include "base/os/term.h"

#include <stdio.h>

static const cd_command commands[] = {
    {"statetest", NULL, cd_evmtool_statetest, "run Ethereum state tests"},
    {"blocktest", NULL, cd_evmtool_blocktest, "run Ethereum blockchain tests"},
    {"run", NULL, cd_evmtool_run, "run a piece of byte code"},
    {"trace", NULL, cd_evmtool_run, "run it and print EIP-3155 lines"},
    {"t8n", NULL, cd_evmtool_t8n, "make a block's transition (as go-ethereum's evm t8n)"},
    {"bench", NULL, cd_evmtool_bench, "measure interpreter, trie and block import"},
};

void cd_evmtool_sink(void *ctx, cd_bytes text)
{
    (void)ctx;
    if (text.n != 0) {
        (void)fwrite(text.p, 1, text.n, stdout);
    }
    (void)fflush(stdout);
}

cd_evm_tier cd_evmtool_tier(const char *name)
{
    return strcmp(name, "direct") == 0 ? CD_TIER_DIRECT : strcmp(name, "cells") == 0 ? CD_TIER_CELLS : CD_TIER_AUTO;
}

int cd_evmtool_fail(const cd_errinfo *why)
{
    (void)fprintf(stderr, "error: %s\n", why->msg);
    return 1;
}

int cd_evmtool_parse(cd_args *a, int argc, char **argv)
{
    cd_errinfo why = {0};
    if (cd_args_parse(a, argc, argv, &why) != CD_OK) {
        (void)cd_evmtool_fail(&why);
        return 2;
    }
    if (cd_args_wants_help(a)) {
        cd_buf text = {0};
        cd_args_help(a, &text, 100);
        cd_evmtool_sink(NULL, cd_buf_bytes(&text));
        cd_buf_fini(&text);
        return 0;
    }
    return -1;
}

int main(int argc, char **argv)
{
    static const cd_program program = {
        .name = "candela-evmtool",
        .purpose = "the EVM's laboratory: public tests, single runs, transitions, measurements",
        .examples = "  candela-evmtool run --code=6001600201\n"
                    "  candela-evmtool statetest --fork=Cancun FILE.json\n",
        .commands = commands,
        .command_cnt = CD_COUNT(commands),
        .bare_status = 2,
    };
    return cd_program_main(&program, argc, argv);
}
