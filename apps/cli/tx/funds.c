/* `balance` and `utxos`: what an address or an account owns. */
#include "chains/utxo/utxo.h"
#include "codec/api_json.h"
#include "commands.h"
#include "num/div.h"
#include "remote/world.h"

#define RPC(X)                                                                                                         \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL", .help = "the node")  \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
#define UTXOS(X)                                                                                                       \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_STR, .dflt = "P", .choices = "P|X|C", .meta = "CHAIN",                \
      .help = "the chain that has them")                                                                               \
    X(OPT_SOURCE, .name = "source", .type = CD_ARG_STR, .choices = "P|X|C", .meta = "CHAIN",                           \
      .help = "what this chain has left there to be imported")

enum { RPC(CD_ARG_ID) OPT_BALANCE_CNT, BEFORE = OPT_BALANCE_CNT - 1, UTXOS(CD_ARG_ID) OPT_CNT, WORDS_MAX = 16 };
static const cd_arg_def options[] = {RPC(CD_ARG_ROW) UTXOS(CD_ARG_ROW)};

/* --- balance --- */

static bool is_account(const char *text)
{
    return text[0] == '0' && text[1] == 'x';
}

static cd_err put_account(cd__world *w, cd_json_w *out, const char *text, cd_errinfo *why)
{
    cd_json v;
    cd_u256 wei;
    cd_u256 rest;
    const cd_u256 rate = cd_u256_from_u64(cd__wei_per_unit(w));
    for (const char *p = text + 2; *p != '\0'; p++) {
        if (strchr("0123456789abcdefABCDEF", *p) == NULL) {
            return cd_fail(why, CD_EINVAL, "an account is 0x and 40 digits, got \"%.60s\"", text);
        }
    }
    const char *params = cd_arena_fmt(w->mem, "[\"%.64s\",\"latest\"]", text);
    CD_TRY(cd__remote_ask(w->node, &v, "/ext/bc/C/rpc", "eth_getBalance", params, why));
    CD_TRY(cd_json_qty_u256(&wei, v, why));
    cd_u256_divmod(&wei, &rest, &wei, &rate);
    cd_json_w_obj(out);
    cd_json_put_cstr(out, "chain", "C");
    cd_json_put_cstr(out, "account", text);
    cd_json_put_cstr(out, "balance", cd__amount_text(w->mem, cd_u256_to_u64_sat(&wei), w->decimals));
    cd_json_w_obj_end(out);
    return CD_OK;
}

/* Copies a member of the node's answer, which is in base units, as an amount with decimals. */
static cd_err put_units(cd__world *w, cd_json_w *out, cd_json v, const char *key, cd_errinfo *why)
{
    u64 n;
    CD_TRY(cd_json_u64(&n, cd_json_get(v, key), why));
    cd_json_put_cstr(out, key, cd__amount_text(w->mem, n, w->decimals));
    return CD_OK;
}

static cd_err put_p(cd__world *w, cd_json_w *out, const cd_addr20 *addr, cd_errinfo *why)
{
    static const char *const keys[] = {"balance", "unlocked", "lockedStakeable", "lockedNotStakeable"};
    cd_json v;
    const char *text = cd__addr_text(w, "P", addr);
    const char *params = cd_arena_fmt(w->mem, "{\"addresses\":[\"%s\"]}", text);
    CD_TRY(cd__remote_ask(w->node, &v, "/ext/bc/P", "platform.getBalance", params, why));
    cd_json_w_obj(out);
    cd_json_put_cstr(out, "chain", "P");
    cd_json_put_cstr(out, "address", text);
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        CD_TRY(put_units(w, out, v, keys[i], why));
    }
    cd_json_w_obj_end(out);
    return CD_OK;
}

static cd_err put_x(cd__world *w, cd_json_w *out, const cd_addr20 *addr, cd_errinfo *why)
{
    cd_json v;
    const char *text = cd__addr_text(w, "X", addr);
    const char *params = cd_arena_fmt(w->mem, "{\"address\":\"%s\"}", text);
    CD_TRY(cd__remote_ask(w->node, &v, "/ext/bc/X", "avm.getAllBalances", params, why));
    cd_json_w_obj(out);
    cd_json_put_cstr(out, "chain", "X");
    cd_json_put_cstr(out, "address", text);
    cd_json_w_key(out, "assets");
    cd_json_w_arr(out);
    for (cd_json_it it = cd_json_iter(cd_json_get(v, "balances")); cd_json_next(&it);) {
        cd_bytes asset;
        cd_hash32 id;
        u8 decimals;
        u64 n;
        CD_TRY(cd_json_str(&asset, cd_json_get(it.val, "asset"), why));
        CD_TRY(cd_json_u64(&n, cd_json_get(it.val, "balance"), why));
        CD_TRY(cd__asset_find(w, &id, &decimals, cd_arena_str(w->mem, asset), why));
        cd_json_w_obj(out);
        cd_json_put_str(out, "asset", asset);
        cd_json_put_cstr(out, "balance", cd__amount_text(w->mem, n, decimals));
        cd_json_w_obj_end(out);
    }
    cd_json_w_arr_end(out);
    cd_json_w_obj_end(out);
    return CD_OK;
}

static cd_err put_balances(cd__world *w, const cd_args *a, cd_json_w *out, cd_errinfo *why)
{
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    cd_json_w_arr(out);
    for (usize i = 0; i < cnt; i++) {
        cd_addr20 addr;
        if (is_account(words[i])) {
            CD_TRY(put_account(w, out, words[i], why));
            continue;
        }
        CD_TRY(cd__addr_read(w, &addr, words[i], why));
        CD_TRY(put_p(w, out, &addr, why));
        CD_TRY(put_x(w, out, &addr, why));
    }
    cd_json_w_arr_end(out);
    return CD_OK;
}

static cd_err balance(const cd_args *a, cd_arena *mem, cd_json_w *out, cd_errinfo *why)
{
    const char *const *words;
    cd__world w;
    if (cd_args_words(a, &words) == 0) {
        return cd_fail(why, CD_EINVAL, "whose? candela-cli balance ADDRESS|0xACCOUNT ...");
    }
    cd_err e = cd__world_open(&w, mem, cd_args_str(a, OPT_RPC), why);
    e = e != CD_OK ? e : put_balances(&w, a, out, why);
    cd__world_close(&w);
    return e;
}

int cd__balance_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli balance",
        .purpose = "what an address has on the P- and X-Chain, or an account on the C-Chain",
        .usage = "candela-cli balance [flags] ADDRESS|0xACCOUNT ...",
        .example = "candela-cli balance P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u",
        .options = options,
        .option_cnt = OPT_BALANCE_CNT,
        .json = OPT_JSON,
        .words_max = WORDS_MAX,
    };
    return cd__json_cmd(&cmd, argc, argv, balance);
}

/* --- utxos --- */

static cd_err put_utxos(cd__world *w, const cd_args *a, cd_json_w *out, cd_errinfo *why)
{
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    const char *source = cd_args_str(a, OPT_SOURCE);
    const cd_wallet_chain *chain = cd_wallet_chain_find(cd_bytes_str(cd_args_str(a, OPT_CHAIN)));
    const cd_linear_place place = {.chain = chain->name, .prefix = w->network.prefix};
    cd_addr20 *addrs = cd_arena_array(w->mem, cd_addr20, cnt);
    cd_utxo *utxos;
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd__addr_read(w, &addrs[i], words[i], why));
    }
    CD_TRY(cd__utxos(w, &utxos, &cnt, chain, source[0] == '\0' ? NULL : source, addrs, cnt, why));
    cd_json_w_arr(out);
    for (usize i = 0; i < cnt; i++) {
        cd_hash32 id;
        cd_utxo_id(&id, &utxos[i].tx_id, utxos[i].output_idx);
        cd_json_w_obj(out);
        cd_json_put_id(out, "inputID", &id);
        cd_linear_json_members(out, &place, chain->utxo_table, &utxos[i]);
        cd_json_w_obj_end(out);
    }
    cd_json_w_arr_end(out);
    return CD_OK;
}

static cd_err list_utxos(const cd_args *a, cd_arena *mem, cd_json_w *out, cd_errinfo *why)
{
    const char *const *words;
    cd__world w;
    if (cd_args_words(a, &words) == 0) {
        return cd_fail(why, CD_EINVAL, "whose? candela-cli utxos --chain=P ADDRESS ...");
    }
    cd_err e = cd__world_open(&w, mem, cd_args_str(a, OPT_RPC), why);
    e = e != CD_OK ? e : put_utxos(&w, a, out, why);
    cd__world_close(&w);
    return e;
}

int cd__utxos_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli utxos",
        .purpose = "the outputs that addresses own, or may import",
        .usage = "candela-cli utxos [flags] ADDRESS ...",
        .example = "candela-cli utxos --chain=X --source=C X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = WORDS_MAX,
    };
    return cd__json_cmd(&cmd, argc, argv, list_utxos);
}
