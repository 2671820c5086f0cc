/* apps/cli/commands.h - the commands of the program, and what they share. Each command gives the exit code: 0 fine,
 * 1 failed, 2 wrong arguments. Threading: the main thread. */
#ifndef CD_APPS_CLI_COMMANDS_H
#define CD_APPS_CLI_COMMANDS_H

#include "base/args/args.h"
#include "codec/json.h"

/* `decode`: shows what bytes or a name say. argv[0] is the command's name. */
int cd__decode_cmd(int argc, char **argv);

/* `keys`: makes, imports, lists, shows and exports private keys. */
int cd__keys_cmd(int argc, char **argv);

/* `network`: runs a network of several nodes on this machine. */
int cd__network_cmd(int argc, char **argv);
/* `tx`: builds, signs and issues transactions. `send`, `transfer`: pay, and move between chains, at once. `balance`,
 * `utxos`: what an address owns. `genesis`: what a network begins with. `completion`: for shells. */
int cd__tx_cmd(int argc, char **argv);
int cd__send_cmd(int argc, char **argv);
int cd__transfer_cmd(int argc, char **argv);
int cd__balance_cmd(int argc, char **argv);
int cd__utxos_cmd(int argc, char **argv);
int cd__genesis_cmd(int argc, char **argv);
int cd__completion_cmd(int argc, char **argv);

/* `finality`: checks certificates of final blocks. */
int cd__finality_cmd(int argc, char **argv);
/* `warp`: messages between chains. */
int cd__warp_cmd(int argc, char **argv);
/* `relay`: carries messages between chains. */
int cd__relay_cmd(int argc, char **argv);

/* `contract`: contracts of the C-Chain and of L1s. */
int cd__contract_cmd(int argc, char **argv);

/* `l1`: the life of L1s. */
int cd__l1_cmd(int argc, char **argv);

/* cd__command_name gives the name of the i-th command; NULL: there are fewer commands. */
const char *cd__command_name(usize i);

/* A command, as its help tells it. */
typedef struct cd__cmd {
    const char *program; /* "candela-cli decode" */
    const char *purpose;
    const char *usage;
    const char *example;
    const cd_arg_def *options;
    usize option_cnt;
    usize json; /* the id of its option --json */
    u32 words_max;
} cd__cmd;

/* cd__cmd_args reads a command's arguments; the caller frees them (cd_args_free). NULL: the program must end with
 * *code, since the help was asked for, or an argument is wrong. */
cd_args *cd__cmd_args(const cd__cmd *cmd, int *code, int argc, char **argv);

/* A command that writes one JSON value. */
typedef cd_err cd__json_fn(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why);

/* cd__json_cmd reads the arguments, runs the command, prints what it wrote or why it failed, and gives the exit
 * code. */
int cd__json_cmd(const cd__cmd *cmd, int argc, char **argv, cd__json_fn *run);

/* cd__cmd_fail prints why a command fails, as JSON where that was asked for, and gives code. */
int cd__cmd_fail(const cd_errinfo *why, bool is_json, int code);

/* cd__print_json prints JSON: on one line, or with a line for each member and element, two spaces for each level. The
 * copy that it makes is wiped. */
void cd__print_json(const cd_buf *json, bool is_one_line);

#endif
