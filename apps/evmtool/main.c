/* candela-evmtool - the EVM laboratory: public test suites, single runs, transitions and
 * measurements. */
#include "apps/evmtool/commands.h"

#include "base/term.h"
#include "base/version.h"

#include <stdio.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"statetest", cd_evmtool_statetest, "run Ethereum state tests"},
    {"blocktest", cd_evmtool_blocktest, "run Ethereum blockchain tests"},
    {"run", cd_evmtool_run, "run a piece of byte code"},
    {"trace", cd_evmtool_run, "run it and print EIP-3155 lines"},
    {"t8n", cd_evmtool_t8n, "make a block's transition (as go-ethereum's evm t8n)"},
    {"bench", cd_evmtool_bench, "measure interpreter, trie and block import"},
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
    return strcmp(name, "direct") == 0  ? CD_TIER_DIRECT
           : strcmp(name, "cells") == 0 ? CD_TIER_CELLS
                                        : CD_TIER_AUTO;
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

static int usage(FILE *to, int code)
{
    (void)fputs("usage: candela-evmtool COMMAND [options] ...\n\n", to);
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        (void)fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    }
    (void)fputs("\ncandela-evmtool COMMAND --help describes a command, candela-evmtool --version "
                "tells the version.\n",
                to);
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return usage(stderr, 2);
    }
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        return usage(stdout, 0);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        (void)printf("candela/%s\n", CD_VERSION);
        return 0;
    }
    (void)fprintf(stderr, "error: no command \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}
