/* candela-webhooks cursor - up to which block each chain was told of, and where it goes on when that is no more. */
#include "apps/webhooks/commands.h"
#include "base/hex.h"
#include "base/table/list.h"
#include "services/webhook/core/store/db.h"

#include <stdio.h>

// clang-format off
#define OPTIONS(X)                                                                                                   \
    CD_STORE_OPTIONS(X)                                                                                              \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_STR, .meta = "NAME", .group = "Cursor", .help = "of this chain")    \
    X(OPT_TO, .name = "to", .type = CD_ARG_U64, .meta = "BLOCK", .max = INT64_MAX,                                   \
      .help = "go on behind this block; behind the node's head when not given")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct task {
    cd_job job;
    const cd_args *args;
    cd_arena mem;
    cd_buf out;
} task;

static cd_err show(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    const char *chain = cd_args_str(t->args, OPT_CHAIN);
    cd_wh_cursor *list;
    usize cnt;
    CD_TRY(cd_wh_cursor_list(s, &list, &cnt, &t->mem, why));
    cd_buf_fmt(&t->out, "%-12s  %12s  %s\n", "CHAIN", "BLOCK", "HASH");
    for (usize i = 0; i < cnt; i++) {
        char hex[65] = {0};
        cd_hex_fmt(hex, cd_bytes_of(list[i].hash, 32));
        if (chain[0] == '\0' || strcmp(list[i].chain, chain) == 0) {
            cd_buf_fmt(&t->out, "%-12s  %12llu  0x%s\n", list[i].chain, (unsigned long long)list[i].height, hex);
        }
    }
    return CD_OK;
}

static cd_err reset(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    const char *chain = cd_args_str(t->args, OPT_CHAIN);
    u64 to = cd_args_u64(t->args, OPT_TO);
    bool has_to = cd_args_source(t->args, OPT_TO) != CD_ARG_FROM_DEFAULT;
    u64 height;
    u8 hash[32];
    if (chain[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--chain is wanted");
    }
    if (cd_wh_cursor_get(s, &height, hash, chain, why) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "chain %.60s was never followed", chain);
    }
    CD_TRY(cd_wh_cursor_reset(s, chain, has_to ? &to : NULL, why));
    if (has_to) {
        cd_buf_fmt(&t->out, "%s goes on behind block %llu\n", chain, (unsigned long long)to);
    } else {
        cd_buf_fmt(&t->out, "%s goes on at the node's head\n", chain);
    }
    return CD_OK;
}

int cd_cmd_cursor(int argc, char **argv)
{
    static const cd_cmd_info info = {
        .program = "candela-webhooks cursor",
        .purpose = "up to which block each chain was told of; a running service notices a reset",
        .usage = "candela-webhooks cursor show|reset [--chain=NAME] [--to=BLOCK]",
        .example = "candela-webhooks cursor reset --chain=lux --to=1200000",
        .options = options,
        .options_cnt = OPT_CNT,
        .words_max = 1,
    };
    int code = 0;
    const char *const *words;
    cd_errinfo why = {0};
    u8 master_key[32];
    cd_wh_store_cfg cfg;
    cd_args *args = cd_cmd_args(&info, &code, argc, argv);
    if (args == NULL) {
        return code;
    }
    task t = {.args = args};
    const char *verb = cd_args_words(args, &words) == 0 ? "" : words[0];
    t.job.run = strcmp(verb, "show") == 0 ? show : strcmp(verb, "reset") == 0 ? reset : NULL;
    cd_err err = t.job.run != NULL ? CD_OK : cd_fail(&why, CD_EINVAL, "usage: %s", info.usage);
    err = err != CD_OK ? err : cd_store_cfg(&cfg, master_key, &t.mem, args, OPT_DATA_DIR, true, &why);
    err = err != CD_OK ? err : cd_wh_db_now(&cfg, &t.job, &why);
    if (err == CD_OK) {
        (void)fputs(cd_buf_cstr(&t.out), stdout);
    } else {
        code = cd_cmd_fail(info.program, &why, err == CD_EINVAL ? 2 : 1);
    }
    cd_buf_fini(&t.out);
    cd_arena_fini(&t.mem);
    cd_args_free(args);
    return code;
}
