/* apps/evmtool/commands.h - the sub-commands. Each takes its own argument vector, argv[0] being its
 * name, and gives the exit code: 0 fine, 1 failed, 2 used wrongly. */
#ifndef CD_APPS_EVMTOOL_COMMANDS_H
#define CD_APPS_EVMTOOL_COMMANDS_H

#include "base/args/args.h"
#include "evm/evm.h"

int cd_evmtool_statetest(int argc, char **argv);
int cd_evmtool_blocktest(int argc, char **argv);
int cd_evmtool_run(int argc, char **argv);
int cd_evmtool_t8n(int argc, char **argv);
int cd_evmtool_bench(int argc, char **argv);

/* cd_evmtool_parse reads the command line; -1 to go on, else the exit code (help, mistakes). */
int cd_evmtool_parse(cd_args *a, int argc, char **argv);

/* cd_evmtool_tier translates the value of --tier. */
cd_evm_tier cd_evmtool_tier(const char *name);

/* cd_evmtool_fail prints "error: …" and gives 1. */
int cd_evmtool_fail(const cd_errinfo *why);

/* cd_evmtool_sink writes to stdout. */
void cd_evmtool_sink(void *ctx, cd_bytes text);

#endif
