/* `send` and `transfer`: what people do most, in one command. */
#include "base/hex.h"
#include "codec/api_json.h"
#include "commands.h"
#include "remote/evm.h"
#include "tx/making.h"

#include <stdio.h>

#define OPTIONS(X)                                                                                                     \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL", .group = "Payment",  \
      .help = "the node")                                                                                              \
    X(OPT_TO, .name = "to", .type = CD_ARG_STR, .meta = "ADDRESS",                                                     \
      .help = "who gets it; of transfer: oneself when not given")                                                      \
    X(OPT_AMOUNT, .name = "amount", .type = CD_ARG_STR, .meta = "AMOUNT", .help = "in whole tokens: 1.5")              \
    X(OPT_ASSET, .name = "asset", .type = CD_ARG_STR, .meta = "ID",                                                    \
      .help = "of the X-Chain; the native one when not given")                                                         \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors and progress too")
#define SEND(X)                                                                                                        \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_STR, .dflt = "P", .choices = "P|X|C", .meta = "CHAIN",                \
      .help = "on which chain")
#define TRANSFER(X)                                                                                                    \
    X(OPT_SOURCE, .name = "source", .type = CD_ARG_STR, .choices = "P|X|C", .meta = "CHAIN",                           \
      .help = "from which chain")                                                                                      \
    X(OPT_DESTINATION, .name = "destination", .type = CD_ARG_STR, .choices = "P|X|C", .meta = "CHAIN",                 \
      .help = "and to which")

enum {
    BEFORE = PAYER_CNT - 1,
    OPTIONS(CD_ARG_ID) OPT_COMMON,
    BEFORE_SEND = OPT_COMMON - 1,
    SEND(CD_ARG_ID) OPT_SEND_CNT,
    BEFORE_TRANSFER = OPT_COMMON - 1,
    TRANSFER(CD_ARG_ID) OPT_TRANSFER_CNT
};
static const cd_arg_def send_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) OPTIONS(CD_ARG_ROW) SEND(CD_ARG_ROW)};
static const cd_arg_def transfer_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) OPTIONS(CD_ARG_ROW) TRANSFER(CD_ARG_ROW)};

/* The arguments, the payer and the output of either command. */
typedef struct job {
    const cd_args *args;
    cd__world world;
    cd__payer payer;
    cd_json_w *w;
} job;

/* Tells the waiting user of a step, on standard error. */
static void tell(const job *j, const char *what, const char *chain, const char *id, const char *status)
{
    if (cd_args_bool(j->args, OPT_JSON)) {
        (void)fprintf(stderr, "{\"step\":\"%s\",\"chain\":\"%s\",\"txID\":\"%s\",\"status\":\"%s\"}\n", what, chain, id,
                      status);
    } else {
        (void)fprintf(stderr, "%s on %s: %s %s\n", what, chain, id, status);
    }
}

/* Signs and issues a transaction, waits for its decision, tells the user of both, and writes ID and status. */
static cd_err finish(job *j, cd_wallet_draft *d, const char *what, cd_errinfo *why)
{
    cd_hash32 id;
    const char *status;
    cd_buf text = {0};
    CD_TRY(cd__payer_sign(&j->payer, d, why));
    CD_TRY(cd__issue(&j->world, &id, d, why));
    cd_id_put(&text, &id);
    tell(j, what, d->chain->name, cd_buf_cstr(&text), "issued");
    cd_err e = cd__await(&j->world, &status, d->chain, &id, why);
    if (e == CD_OK) {
        tell(j, what, d->chain->name, cd_buf_cstr(&text), status);
        cd_json_w_key(j->w, what);
        cd_json_w_obj(j->w);
        cd_json_put_cstr(j->w, "chain", d->chain->name);
        cd_json_put_id(j->w, "txID", &id);
        cd_json_put_cstr(j->w, "status", status);
        cd_json_w_obj_end(j->w);
    }
    cd_buf_fini(&text);
    return e;
}

static cd_err read_payment(job *j, cd_hash32 *asset, u64 *amount, cd_errinfo *why)
{
    u8 decimals;
    if (cd_args_str(j->args, OPT_AMOUNT)[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--amount is needed");
    }
    CD_TRY(cd__asset_find(&j->world, asset, &decimals, cd_args_str(j->args, OPT_ASSET), why));
    return cd__amount_read(amount, cd_args_str(j->args, OPT_AMOUNT), decimals, why);
}

/* --- send on P and X --- */

static cd_err send_outputs(job *j, const char *chain, cd_errinfo *why)
{
    cd__making m;
    cd_hash32 asset;
    cd_addr20 addr;
    u64 amount;
    CD_TRY(read_payment(j, &asset, &amount, why));
    CD_TRY(cd__addr_read(&j->world, &addr, cd_args_str(j->args, OPT_TO), why));
    CD_TRY(cd__make_begin(&m, &j->world, chain, &j->payer, why));
    const cd_owners to = cd_wallet_owners(j->world.mem, &addr);
    CD_TRY(cd__make_transfer(&m, &to, &asset, amount, why));
    return finish(j, &m.draft, "send", why);
}

/* --- send on C --- */

static cd_err make_eth(job *j, cd__evm_tx *tx, u64 amount, cd_errinfo *why)
{
    cd_bytes to = cd_bytes_str(cd_args_str(j->args, OPT_TO));
    cd_u256 units = cd_u256_from_u64(amount);
    *tx = (cd__evm_tx){.from = j->payer.eth[0]};
    if (to.n != 42 || to.p[0] != '0' || to.p[1] != 'x' || cd_hex_parse(tx->to.b, cd_bytes_sub(to, 2, 40)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--to: on the C-Chain an account is 0x and 40 digits");
    }
    (void)cd_u256_mul_u64(&tx->value, &units, cd__wei_per_unit(&j->world));
    return CD_OK;
}

static cd_err send_eth(job *j, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_hash32 id;
    u64 amount;
    cd__evm c;
    cd__evm_tx tx;
    bool is_good;
    CD_TRY(read_payment(j, &asset, &amount, why));
    if (!cd_hash32_eq(&asset, &j->world.asset_id)) {
        return cd_fail(why, CD_EINVAL, "--asset: the C-Chain pays in the native one");
    }
    CD_TRY(make_eth(j, &tx, amount, why));
    CD_TRY(cd__evm_open(&c, j->world.node, j->world.mem, "/ext/bc/C/rpc", why));
    CD_TRY(cd__evm_issue(&c, &id, &tx, j->payer.secrets[0].p, why));
    const char *hash = cd__hex_text(j->world.mem, cd_bytes_of(id.b, sizeof id.b));
    tell(j, "send", "C", hash, "issued");
    CD_TRY(cd__evm_await(&c, &is_good, NULL, &id, why));
    const char *status = is_good ? "Accepted" : "Reverted";
    tell(j, "send", "C", hash, status);
    cd_json_w_key(j->w, "send");
    cd_json_w_obj(j->w);
    cd_json_put_cstr(j->w, "chain", "C");
    cd_json_put_cstr(j->w, "txHash", hash);
    cd_json_put_cstr(j->w, "status", status);
    cd_json_w_obj_end(j->w);
    return CD_OK;
}

/* --- the commands --- */

static cd_err move(job *j, cd_errinfo *why)
{
    const char *source = cd_args_str(j->args, OPT_SOURCE);
    const char *destination = cd_args_str(j->args, OPT_DESTINATION);
    cd__making out;
    cd__making in;
    cd_hash32 asset;
    cd_addr20 addr = j->payer.addrs[0];
    u64 amount;
    if (source[0] == '\0' || destination[0] == '\0' || strcmp(source, destination) == 0) {
        return cd_fail(why, CD_EINVAL, "--source and --destination: two chains of P, X and C are needed");
    }
    CD_TRY(read_payment(j, &asset, &amount, why));
    if (cd_args_str(j->args, OPT_TO)[0] != '\0') {
        if (destination[0] == 'C') {
            return cd_fail(why, CD_EINVAL, "--to: on the C-Chain the account of the key gets it");
        }
        CD_TRY(cd__addr_read(&j->world, &addr, cd_args_str(j->args, OPT_TO), why));
    }
    const cd_owners mine = cd_wallet_owners(j->world.mem, &j->payer.addrs[0]);
    const cd_owners to = cd_wallet_owners(j->world.mem, &addr);
    CD_TRY(cd__make_begin(&out, &j->world, source, &j->payer, why));
    CD_TRY(cd__make_export(&out, destination, &mine, &asset, amount, why));
    CD_TRY(finish(j, &out.draft, "export", why));
    CD_TRY(cd__make_begin(&in, &j->world, destination, &j->payer, why));
    CD_TRY(cd__make_import(&in, source, &to, why));
    return finish(j, &in.draft, "import", why);
}

static cd_err pay(job *j, cd_errinfo *why)
{
    const char *chain = cd_args_str(j->args, OPT_CHAIN);
    return chain[0] == 'C' ? send_eth(j, why) : send_outputs(j, chain, why);
}

/* Opens the node and the keys for a command, and runs it. */
static cd_err with_keys(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_err (*run)(job *j, cd_errinfo *why),
                        cd_errinfo *why)
{
    job j = {.args = a, .w = w};
    cd_err e = cd__world_open(&j.world, mem, cd_args_str(a, OPT_RPC), why);
    e = e != CD_OK ? e : cd__payer_keys(&j.payer, a, mem, j.world.network.id, why);
    if (e == CD_OK) {
        cd_json_w_obj(w);
        e = run(&j, why);
        cd_json_w_obj_end(w);
    }
    cd__world_close(&j.world);
    cd__payer_fini(&j.payer);
    return e;
}

static cd_err send(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return with_keys(a, mem, w, pay, why);
}

static cd_err transfer(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return with_keys(a, mem, w, move, why);
}

int cd__send_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli send",
        .purpose = "pays somebody and waits until it is accepted",
        .usage = "candela-cli send --chain=P|X|C --to=ADDRESS --amount=AMOUNT [flags]",
        .example = "candela-cli send --chain=X --to=X-local1… --amount=1.5 --key=0x… --password-file=password.txt",
        .options = send_options,
        .option_cnt = OPT_SEND_CNT,
        .json = OPT_JSON,
    };
    return cd__json_cmd(&cmd, argc, argv, send);
}

int cd__transfer_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli transfer",
        .purpose = "moves money from one chain to another: leaves it there, and takes it",
        .usage = "candela-cli transfer --source=P|X|C --destination=P|X|C --amount=AMOUNT [flags]",
        .example = "candela-cli transfer --source=P --destination=C --amount=1.5 --key-file=key.txt",
        .options = transfer_options,
        .option_cnt = OPT_TRANSFER_CNT,
        .json = OPT_JSON,
    };
    return cd__json_cmd(&cmd, argc, argv, transfer);
}
