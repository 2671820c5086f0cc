/* `contract`: deploys, calls and reads contracts of the C-Chain and of L1s. */
#include "commands.h"
#include "contract/contract_text.h"
#include "remote/evm.h"
#include "tx/payer.h"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL", .group = "The call", \
      .help = "the node")                                                                                              \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_STR, .dflt = "C", .meta = "CHAIN", .help = "by name or ID")           \
    X(OPT_VALUE, .name = "value", .type = CD_ARG_STR, .meta = "AMOUNT",                                                \
      .help = "coins that go with it: \"1.5 ether\", or wei")                                                          \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { BEFORE = PAYER_CNT - 1, OPTIONS(CD_ARG_ID) OPT_CNT, WORDS_MAX = 2 + CD_FN_ARGS_MAX };
static const cd_arg_def options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) OPTIONS(CD_ARG_ROW)};

/* The command at work. */
typedef struct job {
    const cd_args *args;
    cd_arena *mem;
    cd_json_w *w;
    const char *const *words; /* behind the verb */
    usize word_cnt;
    cd__world world;
    cd__payer payer;
    cd__evm evm;
} job;

/* --- what is typed --- */

static cd_err usage(cd_errinfo *why)
{
    return cd_fail(why, CD_EINVAL,
                   "that command goes: candela-cli contract deploy FILE[:NAME] [ARG …], "
                   "send|read ADDRESS FUNCTION [ARG …]");
}

static cd_err read_value(job *j, cd_u256 *out, cd_errinfo *why)
{
    cd_abi_type type;
    cd_abi_val v = {0};
    cd_bytes text = cd_bytes_str(cd_args_str(j->args, OPT_VALUE));
    if (text.n != 0) {
        CD_TRY(cd_abi_parse(&type, j->mem, cd_bytes_str("uint256"), why));
        CD_TRY(cd_fn_value(&v, j->mem, &type, text, why));
    }
    *out = v.num;
    return CD_OK;
}

static cd_err read_address(job *j, cd_addr20 *out, const char *word, cd_errinfo *why)
{
    cd_abi_type type;
    cd_abi_val v;
    CD_TRY(cd_abi_parse(&type, j->mem, cd_bytes_str("address"), why));
    CD_TRY(cd_fn_value(&v, j->mem, &type, cd_bytes_str(word), why));
    *out = cd_u256_to_addr(&v.num);
    return CD_OK;
}

/* The function that a word describes, and call data for it. */
static cd_err read_call(job *j, cd_fn *f, cd_bytes *data, cd_errinfo *why)
{
    cd_buf out = {0};
    CD_TRY(cd_fn_parse(f, j->mem, cd_bytes_str(j->words[1]), why));
    cd_fn_selector(cd_buf_extend(&out, 4), f);
    cd_err e = cd__contract_args(&out, j->mem, f, j->words + 2, j->word_cnt - 2, why);
    *data = cd_arena_dup(j->mem, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return e;
}

/* --- commands --- */

static cd_err run_tx(job *j, cd__evm_tx *tx, cd_errinfo *why)
{
    cd_hash32 hash;
    cd_addr20 created;
    bool is_good;
    tx->from = j->payer.eth[0];
    CD_TRY(read_value(j, &tx->value, why));
    CD_TRY(cd__evm_issue(&j->evm, &hash, tx, j->payer.secrets[0].p, why));
    CD_TRY(cd__evm_await(&j->evm, &is_good, &created, &hash, why));
    cd_json_w_obj(j->w);
    cd_json_put_hash(j->w, "txHash", &hash);
    if (tx->is_create && is_good) {
        cd_json_put_hex(j->w, "address", cd_bytes_of(created.b, sizeof created.b));
    }
    cd_json_put_cstr(j->w, "status", is_good ? "Accepted" : "Reverted");
    cd_json_w_obj_end(j->w);
    return is_good ? CD_OK
                   : cd_fail(why, CD_EACCES, "reverted: %s", cd__hex_text(j->mem, cd_bytes_of(hash.b, sizeof hash.b)));
}

static cd_err deploy(job *j, cd_errinfo *why)
{
    cd_fn f;
    cd_bytes code;
    cd_buf all = {0};
    cd__evm_tx tx = {.is_create = true};
    if (j->word_cnt < 1) {
        return usage(why);
    }
    CD_TRY(cd__contract_file(&f, &code, j->mem, j->words[0], why));
    cd_buf_put(&all, code);
    cd_err e = cd__contract_args(&all, j->mem, &f, j->words + 1, j->word_cnt - 1, why);
    tx.data = cd_arena_dup(j->mem, cd_buf_bytes(&all));
    cd_buf_fini(&all);
    return e == CD_OK ? run_tx(j, &tx, why) : e;
}

static cd_err send(job *j, cd_errinfo *why)
{
    cd_fn f;
    cd__evm_tx tx = {0};
    if (j->word_cnt < 2) {
        return usage(why);
    }
    CD_TRY(read_address(j, &tx.to, j->words[0], why));
    CD_TRY(read_call(j, &f, &tx.data, why));
    return run_tx(j, &tx, why);
}

static cd_err read(job *j, cd_errinfo *why)
{
    cd_fn f;
    cd_addr20 to;
    cd_bytes data;
    cd_abi_type type;
    cd_abi_val v;
    cd_buf result = {0};
    if (j->word_cnt < 2) {
        return usage(why);
    }
    CD_TRY(read_address(j, &to, j->words[0], why));
    CD_TRY(read_call(j, &f, &data, why));
    cd_fn_types(&result, f.out, f.out_cnt);
    const char *types = cd_arena_str(j->mem, cd_buf_bytes(&result));
    cd_buf_fini(&result);
    CD_TRY(cd__evm_read(&j->evm, &v, &to, data, types, why));
    CD_TRY(cd_abi_parse(&type, j->mem, cd_bytes_str(types), why));
    cd__contract_put(j->w, &type, &v);
    return CD_OK;
}

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    job *j = cd_arena_zalloc(mem, sizeof *j);
    *j = (job){.args = a, .mem = mem, .w = w};
    usize cnt = cd_args_words(a, &j->words);
    const char *verb = cnt == 0 ? "" : j->words[0];
    bool is_read = strcmp(verb, "read") == 0;
    j->words++;
    j->word_cnt = cnt == 0 ? 0 : cnt - 1;
    if (!is_read && strcmp(verb, "deploy") != 0 && strcmp(verb, "send") != 0) {
        return usage(why);
    }
    cd_err e = cd__world_open(&j->world, mem, cd_args_str(a, OPT_RPC), why);
    e = e != CD_OK || is_read ? e : cd__payer_keys(&j->payer, a, mem, j->world.network.id, why);
    const char *path = cd_arena_fmt(mem, "/ext/bc/%s/rpc", cd_args_str(a, OPT_CHAIN));
    e = e != CD_OK ? e : cd__evm_open(&j->evm, j->world.node, mem, path, why);
    e = e != CD_OK ? e : is_read ? read(j, why) : verb[0] == 'd' ? deploy(j, why) : send(j, why);
    cd__world_close(&j->world);
    cd__payer_fini(&j->payer);
    return e;
}

int cd__contract_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli contract",
        .purpose = "deploys, calls and reads contracts of the C-Chain and of L1s",
        .usage = "candela-cli contract deploy [flags] FILE[:NAME] [ARG …]      what a compiler wrote: abi, bytecode\n"
                 "candela-cli contract send [flags] ADDRESS FUNCTION [ARG …]   a transaction\n"
                 "candela-cli contract read [flags] ADDRESS FUNCTION [ARG …]   an answer, without one",
        .example = "candela-cli contract read 0x… \"balanceOf(address) view(uint256)\" 0x… --chain=C",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = WORDS_MAX,
    };
    return cd__json_cmd(&cmd, argc, argv, run);
}
