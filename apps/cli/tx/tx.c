/* `tx`: transactions of every kind, which may be built, signed and issued on different machines. */
#include "codec/api_json.h"
#include "commands.h"
#include "decode/input.h"
#include "tx/making.h"

#include <stdio.h>

#define OPTIONS(X)                                                                                                     \
    X(OPT_FROM, .name = "from", .type = CD_ARG_LIST, .meta = "ADDRESS", .group = "This command",                       \
      .help = "of build: who pays and signs, when the keys are elsewhere; may be repeated")                            \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL", .help = "the node")  \
    X(OPT_NO_WAIT, .name = "no-wait", .type = CD_ARG_BOOL, .help = "do not wait until it is decided")                  \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")

enum { BEFORE = MAKE_CNT - 1, OPTIONS(CD_ARG_ID) OPT_CNT, TEXT_MAX = 1 << 20 };
static const cd_arg_def options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__MAKE_OPTIONS(CD_ARG_ROW) OPTIONS(CD_ARG_ROW)};

/* The arguments, the node and the output of a command. */
typedef struct job {
    const cd_args *args;
    cd_arena *mem;
    cd_json_w *w;
    cd__payer payer;
    cd__world world;
} job;

static cd_err open_world(job *j, cd_errinfo *why)
{
    return cd__world_open(&j->world, j->mem, cd_args_str(j->args, OPT_RPC), why);
}

static const cd__make_row *row_of(const char *name, cd_errinfo *why)
{
    const cd__make_row *row = cd__make_find(name);
    if (row == NULL) {
        (void)cd_fail(why, CD_EINVAL, "there is no transaction \"%.40s\": candela-cli tx list", name);
    }
    return row;
}

static cd_err read_draft(job *j, cd_wallet_draft *d, const char *name, cd_errinfo *why)
{
    cd__input in;
    cd_json v;
    CD_TRY(cd__input_get(&in, j->mem, name, why));
    CD_TRY(cd_json_parse(&v, j->mem, in.b, TEXT_MAX, why));
    return cd_wallet_draft_read(d, j->mem, v, why);
}

static void put_draft(job *j, const cd_wallet_draft *d)
{
    const cd_network network = cd_network_of(d->network_id);
    cd_wallet_draft_json(j->w, d, network.prefix);
}

/* Issues a transaction, waits for its decision, and writes its ID and status. */
static cd_err issue_draft(job *j, const cd_wallet_draft *d, cd_errinfo *why)
{
    cd_hash32 id;
    const char *status = "Processing";
    CD_TRY(cd__issue(&j->world, &id, d, why));
    if (!cd_args_bool(j->args, OPT_NO_WAIT)) {
        CD_TRY(cd__await(&j->world, &status, d->chain, &id, why));
    }
    cd_json_w_obj(j->w);
    cd_json_put_cstr(j->w, "chain", d->chain->name);
    cd_json_put_id(j->w, "txID", &id);
    cd_json_put_cstr(j->w, "status", status);
    cd_json_w_obj_end(j->w);
    return CD_OK;
}

/* --- commands --- */

static cd_err build(job *j, const char *word, cd_errinfo *why)
{
    const char *const *from;
    usize cnt = cd_args_list(j->args, OPT_FROM, &from);
    cd_wallet_draft d;
    const cd__make_row *row = row_of(word, why);
    if (row == NULL) {
        return CD_EINVAL;
    }
    CD_TRY(open_world(j, why));
    if (cnt != 0) {
        CD_TRY(cd__payer_addrs(&j->payer, &j->world, from, cnt, why));
    } else {
        CD_TRY(cd__payer_keys(&j->payer, j->args, j->mem, j->world.network.id, why));
    }
    CD_TRY(cd__make(&d, row, &j->world, j->args, &j->payer, why));
    put_draft(j, &d);
    return CD_OK;
}

static cd_err sign(job *j, const char *word, cd_errinfo *why)
{
    cd_wallet_draft d;
    CD_TRY(read_draft(j, &d, word, why));
    CD_TRY(cd__payer_keys(&j->payer, j->args, j->mem, d.network_id, why));
    CD_TRY(cd__payer_sign(&j->payer, &d, why));
    put_draft(j, &d);
    return CD_OK;
}

static cd_err issue(job *j, const char *word, cd_errinfo *why)
{
    cd_wallet_draft d;
    CD_TRY(read_draft(j, &d, word, why));
    CD_TRY(open_world(j, why));
    return issue_draft(j, &d, why);
}

static cd_err run_all(job *j, const char *word, cd_errinfo *why)
{
    cd_wallet_draft d;
    const cd__make_row *row = row_of(word, why);
    if (row == NULL) {
        return CD_EINVAL;
    }
    CD_TRY(open_world(j, why));
    CD_TRY(cd__payer_keys(&j->payer, j->args, j->mem, j->world.network.id, why));
    CD_TRY(cd__make(&d, row, &j->world, j->args, &j->payer, why));
    CD_TRY(cd__payer_sign(&j->payer, &d, why));
    return issue_draft(j, &d, why);
}

static cd_err list(job *j, const char *word, cd_errinfo *why)
{
    usize cnt;
    const cd__make_row *rows = cd__make_rows(&cnt);
    (void)word;
    (void)why;
    cd_json_w_arr(j->w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_obj(j->w);
        cd_json_put_cstr(j->w, "name", rows[i].name);
        cd_json_put_cstr(j->w, "chain", rows[i].chain);
        cd_json_put_cstr(j->w, "does", rows[i].text);
        cd_json_put_cstr(j->w, "flags", rows[i].flags);
        cd_json_w_obj_end(j->w);
    }
    cd_json_w_arr_end(j->w);
    return CD_OK;
}

static const struct {
    const char *name;
    cd_err (*run)(job *j, const char *word, cd_errinfo *why);
    usize words; /* how many, the command's name included */
} commands[] = {{"build", build, 2}, {"sign", sign, 2}, {"issue", issue, 2}, {"run", run_all, 2}, {"list", list, 1}};

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    job j = {.args = a, .mem = mem, .w = w};
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        if (cnt == commands[i].words && strcmp(words[0], commands[i].name) == 0) {
            cd_err e = commands[i].run(&j, cnt == 2 ? words[1] : NULL, why);
            cd__world_close(&j.world);
            cd__payer_fini(&j.payer);
            return e;
        }
    }
    return cd_fail(why, CD_EINVAL, "that command goes: candela-cli tx list, build|run KIND, sign|issue FILE|-");
}

int cd__tx_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli tx",
        .purpose = "builds, signs and issues transactions of every kind",
        .usage = "candela-cli tx list                  what there is, and with which flags\n"
                 "candela-cli tx build KIND [flags]    asks the node for what is needed; prints what is to be signed\n"
                 "candela-cli tx sign [flags] FILE|-   without a network; others may sign after that\n"
                 "candela-cli tx issue [flags] FILE|-  when all have signed\n"
                 "candela-cli tx run KIND [flags]      all three",
        .example = "candela-cli tx run create-net --key=0x… --password-file=password.txt",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = 2,
    };
    return cd__json_cmd(&cmd, argc, argv, run);
}
