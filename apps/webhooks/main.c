/* candela-webhooks - tells webhooks what happens on a chain: commands and what they share. */
#include "apps/webhooks/commands.h"

#include "base/args/program.h"
#include "base/os/fileio.h"
#include "base/os/term.h"
#include "services/webhook/core/store/seal.h"

#include <stdio.h>
#include <unistd.h>

static const cd_command commands[] = {
    {"serve", NULL, cd_cmd_serve, "follow chains, deliver, and answer clients"},
    {"keys", NULL, cd_cmd_keys, "make, list and revoke API keys"},
    {"projects", NULL, cd_cmd_projects, "list projects, change their tier"},
    {"cursor", NULL, cd_cmd_cursor, "show or reset up to which block a chain was told of"},
    {"audit", NULL, cd_cmd_audit, "compare the ledger with the chain"},
    {"verify", NULL, cd_cmd_verify, "judge a recorded request as its receiver would"},
};

cd_args *cd_cmd_args(const cd_cmd_info *info, int *code, int argc, char **argv)
{
    const cd_args_info about = {
        .program = info->program,
        .purpose = info->purpose,
        .usage = info->usage,
        .example = info->example,
        .is_plain_env = true,
        .words_max = info->words_max,
    };
    cd_errinfo why = {0};
    cd_args *args = cd_args_new(&about, info->options, info->options_cnt);
    if (cd_args_parse(args, argc, argv, &why) != CD_OK) {
        *code = cd_cmd_fail(info->program, &why, 2);
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

int cd_cmd_fail(const char *program, const cd_errinfo *why, int code)
{
    (void)fprintf(stderr, "%s: error: %s\n", program, why->msg);
    return code;
}

cd_err cd_store_cfg(cd_wh_store_cfg *out, u8 master_key[32], cd_arena *mem, const cd_args *args, usize id,
                    bool must_exist, cd_errinfo *why)
{
    const char *dir = cd_args_path(args, mem, id);
    const char *db = cd_args_str(args, id + 1);
    const char *key = cd_args_path(args, mem, id + 2);
    cd_fs_stat st;
    key = key[0] != '\0' ? key : cd_arena_fmt(mem, "%s/master.key", dir);
    if (must_exist && cd_fs_stat_get(cd_fs_real(), &st, key, NULL) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "%s is not there: no service has run here (--data-dir)", key);
    }
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, 0700, why));
    CD_TRY(cd_wh_master_key(master_key, key, why));
    *out = (cd_wh_store_cfg){
        .url = db[0] != '\0' ? db : cd_arena_fmt(mem, "sqlite:%s/webhooks.db", dir),
        .master_key = master_key,
        .clock = cd_clock_real(),
    };
    return CD_OK;
}

int main(int argc, char **argv)
{
    static const cd_program program = {
        .name = "candela-webhooks",
        .purpose = "tells webhooks what happens on a chain",
        .examples = "  candela-webhooks serve --chain=lux=ws://127.0.0.1:9650/ext/bc/C/ws\n",
        .commands = commands,
        .command_cnt = CD_COUNT(commands),
    };
    return cd_program_main(&program, argc, argv);
}
