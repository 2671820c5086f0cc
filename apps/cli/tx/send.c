/* `send` and `transfer`: what people do most, in one command. */
#include "base/hex.h"
#include "codec/api_json.h"
#include "commands.h"
#include "num/div.h"
#include "tx/making.h"
#include "types/tx_codec.h"

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

static cd_err ask_quantity(job *j, u64 *out, const char *method, const char *params, cd_errinfo *why)
{
    cd_json v;
    CD_TRY(cd__remote_ask(j->world.node, &v, "/ext/bc/C/rpc", method, params, why));
    return cd_json_qty_u64(out, v, why);
}

static const char *hex_text(job *j, cd_bytes b)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_hex(&w, b);
    const char *kept = cd_arena_str(j->world.mem, cd_buf_bytes(&text)); /* JSON text, quotes included */
    cd_buf_fini(&text);
    return kept;
}

/* Makes a transfer on C. It offers twice the base fee, as wallets do; only what the block asks for is paid. */
static cd_err make_eth(job *j, cd_tx *tx, u64 amount, cd_errinfo *why)
{
    enum { GAS_TRANSFER = 21000 };
    cd_arena *mem = j->world.mem;
    u64 tip;
    cd_u256 base;
    cd_bytes to = cd_bytes_str(cd_args_str(j->args, OPT_TO));
    const char *from = hex_text(j, cd_bytes_of(j->payer.eth[0].b, sizeof j->payer.eth[0].b));
    *tx = (cd_tx){.type = CD_TX_DYNAMIC_FEE, .is_protected = true};
    if (to.n != 42 || to.p[0] != '0' || to.p[1] != 'x' || cd_hex_parse(tx->to.b, cd_bytes_sub(to, 2, 40)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--to: on the C-Chain an account is 0x and 40 digits");
    }
    CD_TRY(ask_quantity(j, &tx->chain_id, "eth_chainId", "[]", why));
    CD_TRY(ask_quantity(j, &tx->nonce, "eth_getTransactionCount", cd_arena_fmt(mem, "[%s,\"pending\"]", from), why));
    CD_TRY(ask_quantity(j, &tip, "eth_maxPriorityFeePerGas", "[]", why));
    CD_TRY(cd__base_fee(&j->world, &base, why));
    tx->tip_cap = cd_u256_from_u64(tip);
    cd_u256_add(&base, &base, &base);
    cd_u256_add(&tx->fee_cap, &base, &tx->tip_cap);
    cd_u256 units = cd_u256_from_u64(amount);
    (void)cd_u256_mul_u64(&tx->value, &units, cd__wei_per_unit(&j->world));
    const char *call =
        cd_arena_fmt(mem, "[{\"from\":%s,\"to\":\"%s\",\"value\":\"0x1\"}]", from, cd_args_str(j->args, OPT_TO));
    tx->gas_limit = GAS_TRANSFER;
    return ask_quantity(j, &tx->gas_limit, "eth_estimateGas", call, why);
}

static cd_err await_eth(job *j, const char *hash, const char **status, cd_errinfo *why)
{
    enum { PAUSE_MS = 50, TRIES = 2400 };
    const char *params = cd_arena_fmt(j->world.mem, "[%s]", hash);
    for (int i = 0; i < TRIES; i++) {
        cd_json v;
        u64 good;
        CD_TRY(cd__remote_ask(j->world.node, &v, "/ext/bc/C/rpc", "eth_getTransactionReceipt", params, why));
        if (cd_json_has(v)) {
            CD_TRY(cd_json_qty_u64(&good, cd_json_get(v, "status"), why));
            *status = good == 1 ? "Accepted" : "Reverted";
            return CD_OK;
        }
        cd__remote_pause(j->world.node, PAUSE_MS);
    }
    return cd_fail(why, CD_ETIMEOUT, "not in a block after two minutes; it may still come");
}

static cd_err send_eth(job *j, cd_errinfo *why)
{
    cd_hash32 asset;
    u64 amount;
    cd_tx tx;
    cd_json v;
    cd_buf raw = {0};
    const char *status;
    CD_TRY(read_payment(j, &asset, &amount, why));
    if (!cd_hash32_eq(&asset, &j->world.asset_id)) {
        return cd_fail(why, CD_EINVAL, "--asset: the C-Chain pays in the native one");
    }
    CD_TRY(make_eth(j, &tx, amount, why));
    CD_TRY(cd_tx_sign(&tx, j->payer.secrets[0].p));
    cd_tx_enc(&raw, &tx);
    const char *params = cd_arena_fmt(j->world.mem, "[%s]", hex_text(j, cd_buf_bytes(&raw)));
    cd_buf_fini(&raw);
    CD_TRY(cd__remote_ask(j->world.node, &v, "/ext/bc/C/rpc", "eth_sendRawTransaction", params, why));
    const char *hash = hex_text(j, cd_bytes_of(tx.hash.b, sizeof tx.hash.b));
    const char *bare = cd_arena_str(j->world.mem, cd_bytes_of(hash + 1, strlen(hash) - 2));
    tell(j, "send", "C", bare, "issued");
    CD_TRY(await_eth(j, hash, &status, why));
    tell(j, "send", "C", bare, status);
    cd_json_w_key(j->w, "send");
    cd_json_w_obj(j->w);
    cd_json_put_cstr(j->w, "chain", "C");
    cd_json_put_cstr(j->w, "txHash", bare);
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
