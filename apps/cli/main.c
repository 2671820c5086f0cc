/* candela-cli - keys, money, and what the chains of a network write: commands and what they share. */
#include "base/args/program.h"
#include "base/os/term.h"
#include "base/version.h"
#include "codec/json.h"
#include "commands.h"

#include <stdio.h>
#include <unistd.h>

static const cd_command commands[] = {
    {"decode", NULL, cd__decode_cmd, "show what a transaction, block, UTXO, address, ID or message says"},
    {"keys", NULL, cd__keys_cmd, "make, take in, list, show and give out private keys"},
    {"network", NULL, cd__network_cmd, "run a network of several nodes on this machine"},
    {"balance", NULL, cd__balance_cmd, "what an address or account has"},
    {"utxos", NULL, cd__utxos_cmd, "the outputs of an address"},
    {"send", NULL, cd__send_cmd, "pay somebody on the P-, X- or C-Chain"},
    {"transfer", NULL, cd__transfer_cmd, "move money from one chain to another"},
    {"tx", NULL, cd__tx_cmd, "build, sign and issue transactions of every kind"},
    {"contract", NULL, cd__contract_cmd, "deploy, call and read contracts"},
    {"l1", NULL, cd__l1_cmd, "make an L1, change its validators, see how it is and what helps it"},
    {"warp", NULL, cd__warp_cmd, "have messages between chains signed, check and show them"},
    {"relay", NULL, cd__relay_cmd, "carry messages between the contracts of chains"},
    {"genesis", NULL, cd__genesis_cmd, "check with what a network begins, and what it makes of it"},
    {"finality", NULL, cd__finality_cmd, "check that a block is final, trusting a checkpoint alone"},
    {"completion", NULL, cd__completion_cmd, "commands and flags for bash and zsh"},
};

const char *cd__command_name(usize i)
{
    return i < CD_COUNT(commands) ? commands[i].name : NULL;
}

int cd__cmd_fail(const cd_errinfo *why, bool is_json, int code)
{
    if (!is_json) {
        (void)fprintf(stderr, "error: %s\n", why->msg);
        return code;
    }
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "error", why->msg);
    cd_json_w_obj_end(&w);
    (void)fprintf(stderr, "%s\n", cd_buf_cstr(&text));
    cd_buf_fini(&text);
    return code;
}

cd_args *cd__cmd_args(const cd__cmd *cmd, int *code, int argc, char **argv)
{
    const cd_args_info about = {
        .program = cmd->program,
        .purpose = cmd->purpose,
        .usage = cmd->usage,
        .example = cmd->example,
        .words_max = cmd->words_max,
    };
    cd_errinfo why = {0};
    cd_args *args = cd_args_new(&about, cmd->options, cmd->option_cnt);
    if (cd_args_parse(args, argc, argv, &why) != CD_OK) {
        *code = cd__cmd_fail(&why, cd_args_bool(args, cmd->json), 2);
    } else if (cd_args_wants_version(args)) {
        (void)printf("candela-cli/%s\n", CD_VERSION);
        *code = 0;
    } else if (cd_args_wants_help(args)) {
        cd_buf text = {0};
        cd_args_help(args, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
        *code = 0;
    } else {
        return args;
    }
    cd_args_free(args);
    return NULL;
}

int cd__json_cmd(const cd__cmd *cmd, int argc, char **argv, cd__json_fn *run)
{
    cd_errinfo why = {0};
    cd_arena mem = {0};
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    int code = 0;
    cd_args *a = cd__cmd_args(cmd, &code, argc, argv);
    if (a == NULL) {
        return code;
    }
    bool is_json = cd_args_bool(a, cmd->json);
    cd_err e = run(a, &mem, &w, &why);
    if (e == CD_OK) {
        cd__print_json(&json, is_json);
    } else {
        if (why.msg[0] == '\0') {
            (void)cd_fail(&why, e, "%s", cd_err_str(e));
        }
        code = cd__cmd_fail(&why, is_json, e == CD_EINVAL ? 2 : 1);
    }
    cd_buf_fini(&json);
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}

int main(int argc, char **argv)
{
    static const cd_program program = {
        .name = "candela-cli",
        .purpose = "keys, money, and what the chains of a network write",
        .examples = "  candela-cli decode P-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28\n"
                    "  candela-cli decode --json --as=p-block block.hex\n"
                    "  candela-cli keys import --password-file=password.txt phrase.txt\n"
                    "  candela-cli transfer --source=P --destination=C --amount=1.5 --key-file=key.txt\n",
        .commands = commands,
        .command_cnt = CD_COUNT(commands),
        .bare_status = 2,
    };
    return cd_program_main(&program, argc, argv);
}
