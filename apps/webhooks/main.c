/* candela-webhooks - tells webhooks what happens on a chain: commands and what they share. */
#include "apps/webhooks/commands.h"

#include "base/fileio.h"
#include "base/term.h"
#include "base/version.h"
#include "services/webhook/core/seal.h"

#include <stdio.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
} commands[] = {
    {"serve", cd_cmd_serve, "follow chains, deliver, and answer clients"},
    {"keys", cd_cmd_keys, "make, list and revoke API keys"},
    {"projects", cd_cmd_projects, "list projects, change their tier"},
    {"audit", cd_cmd_audit, "compare the ledger with the chain"},
    {"verify", cd_cmd_verify, "judge a recorded request as its receiver would"},
};

static void help(FILE *to)
{
    (void)fprintf(to, "candela-webhooks: tells webhooks what happens on a chain\n\nCommands\n");
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        (void)fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].text);
    }
    (void)fprintf(to, "  %-10s %s\n  %-10s %s\n\n", "version", "print the version", "help",
                  "this text; COMMAND --help for more");
    (void)fprintf(
        to, "Example\n  candela-webhooks serve --chain=lux=ws://127.0.0.1:9650/ext/bc/C/ws\n");
}

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

cd_err cd_store_cfg(cd_wh_store_cfg *out, u8 master_key[32], cd_arena *mem, const cd_args *args,
                    usize id, bool must_exist, cd_errinfo *why)
{
    const char *dir = cd_args_path(args, mem, id);
    const char *db = cd_args_str(args, id + 1);
    const char *key = cd_args_path(args, mem, id + 2);
    cd_fs_stat st;
    key = key[0] != '\0' ? key : cd_arena_fmt(mem, "%s/master.key", dir);
    if (must_exist && cd_fs_stat_get(cd_fs_real(), &st, key, NULL) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "%s is not there: no service has run here (--data-dir)",
                       key);
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
    const char *name = argc < 2 ? "help" : argv[1];
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        (void)printf("candela-webhooks/%s\n", CD_VERSION);
        return 0;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0) {
        help(stdout);
        return 0;
    }
    const char *names[CD_COUNT(commands)];
    cd_buf text = {0};
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        names[i] = commands[i].name;
    }
    cd_buf_fmt(&text, "candela-webhooks: error: there is no command \"%.40s\"", name);
    cd_buf_str(&text, "; ");
    if (!cd_args_suggest(&text, "", name, names, CD_COUNT(commands))) {
        cd_buf_str(&text, "try: candela-webhooks help");
    }
    (void)fprintf(stderr, "%s\n", cd_buf_cstr(&text));
    cd_buf_fini(&text);
    return 2;
}
