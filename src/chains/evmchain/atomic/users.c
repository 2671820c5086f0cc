/* Methods that act with the keys that the node keeps for its users: imports, exports, keys shown and taken in.
 * [spec:node-api#7] */
#include "base/hex.h"
#include "chains/evmchain/atomic/methods_priv.h"
#include "chains/utxo/utxo.h"
#include "chains/wallet/accounts.h"
#include "chains/wallet/methods.h"
#include "codec/api_json.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

enum { TEXT_SHOWN = 100, UTXOS_PAGE = 1024 };

/* A transaction on its way, and whose it is. */
typedef struct making {
    cd_rpc_call *call;
    cd_atomic *a;
    cd_wallet_keys keys;
    cd_wallet_c c;
    bool has_price; /* the caller says what the base fee is */
    cd_wallet_account *accts;
    cd_wallet_draft draft;
    cd_bytes bytes; /* signed */
    cd_hash32 id;
    cd_err err;
    cd_errinfo why;
} making;

static cd_vm_user user_of(cd_bytes name, cd_bytes password)
{
    return (cd_vm_user){.name = name, .password = password};
}

/* --- on the owner's thread --- */

static cd_err on_owner(making *m, void (*job)(void *arg))
{
    cd_vm_host *host = m->a->cfg.host;
    if (host == NULL || host->run == NULL) {
        job(m);
    } else {
        cd_err e = host->run(host, job, m);
        if (e != CD_OK) {
            return cd_rpc_fail(m->call, CD_RPC_SERVER, "the chain takes nothing now: %s", cd_err_str(e));
        }
    }
    return cd_wallet_said(m->call, m->err, &m->why);
}

static void look_at_accounts(making *m, cd_state_source *src)
{
    cd_state *st = cd_state_new(src);
    for (usize i = 0; i < m->keys.cnt; i++) {
        const cd_acct *acct = cd_state_acct(st, &m->keys.accts[i]);
        m->accts[i] = (cd_wallet_account){.acct = m->keys.accts[i],
                                          .addr = m->keys.addrs[i],
                                          .nonce = acct->nonce,
                                          .units = cd_wallet_units(&m->c, &acct->balance)};
    }
    m->err = cd_state_error(st);
    if (m->err != CD_OK) {
        m->err = cd_fail(&m->why, m->err, "the store does not answer: %s", cd_err_str(m->err));
    }
    cd_state_free(st);
}

/* Price and accounts as they are on the preferred block. */
static void look(void *arg)
{
    making *m = arg;
    cd_atomic *a = m->a;
    cd_chain_source src;
    cd_header h = {0};
    cd_chain_block *parent = a->cfg.preferred == NULL ? NULL : a->cfg.preferred(a->cfg.ctx);
    cd_chain_source_init(&src, a->chain, parent);
    m->err = cd__atomic_next_header(a, &h, parent, &src.world.src, &m->why);
    if (m->err == CD_OK) {
        m->c.base_fee = m->has_price ? m->c.base_fee : h.base_fee;
        look_at_accounts(m, &src.world.src);
    }
    cd_world_source_fini(&src.world);
}

static void issue(void *arg)
{
    making *m = arg;
    cd_atomic_tx t;
    m->err = cd_atomic_parse(&t, m->call->arena, m->bytes, &m->why);
    m->err = m->err != CD_OK ? m->err : cd_atomic_issue(m->a, &t, true, &m->why);
    m->id = t.id;
    if (m->err != CD_OK && m->why.msg[0] == '\0') {
        m->err = cd_fail(&m->why, m->err, "%s", cd_err_str(m->err));
    }
}

/* --- from the call to the pool --- */

static cd_err read_price(making *m, cd_bytes text)
{
    m->has_price = text.n != 0;
    if (m->has_price && cd_u256_parse(&m->c.base_fee, text) != CD_OK) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "problem parsing baseFee \"%.*s\": not a number",
                           (int)cd_min_u64(text.n, TEXT_SHOWN), (const char *)text.p);
    }
    return CD_OK;
}

static cd_err begin(making *m, const cd_vm_user *user, cd_bytes price)
{
    const cd_atomic_net *net = &m->a->cfg.net;
    cd_errinfo why = {0};
    m->c = (cd_wallet_c){
        .network_id = net->network_id, .chain_id = net->chain_id, .asset_id = net->asset_id, .rate = net->rate};
    CD_TRY(read_price(m, price));
    cd_err e = cd_wallet_keys_open(&m->keys, m->a->cfg.users, user, &net->chain_id, NULL, 0, m->call->arena, &why);
    CD_TRY(cd_wallet_said(m->call, e, &why));
    m->accts = cd_arena_array(m->call->arena, cd_wallet_account, m->keys.cnt);
    return on_owner(m, look);
}

static cd_err finish(making *m)
{
    cd_rpc_call *call = m->call;
    cd_buf bytes = {0};
    cd_errinfo why = {0};
    CD_TRY(cd_wallet_said(call, cd_wallet_keys_sign(&m->draft, &m->keys, &why), &why));
    cd_wallet_bytes(&bytes, &m->draft);
    m->bytes = cd_buf_bytes(&bytes);
    cd_err e = on_owner(m, issue);
    cd_buf_fini(&bytes);
    CD_TRY(e);
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "txID", &m->id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err run(cd_rpc_call *call, const cd_vm_user *user, cd_bytes price, cd_err (*make)(making *m))
{
    making *m = cd_arena_new(call->arena, making);
    m->call = call;
    m->a = call->ctx;
    cd_err e = begin(m, user, price);
    e = e == CD_OK ? make(m) : e;
    cd_wallet_keys_close(&m->keys);
    return e;
}

static cd_err read_account(cd_rpc_call *call, cd_addr20 *out, cd_bytes text)
{
    cd_bytes bytes;
    if (cd_hex_parse_prefixed(&bytes, call->arena, text) != CD_OK || bytes.n != sizeof out->b) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "couldn't parse address \"%.*s\": 0x and 40 hexadecimal digits are needed",
                           (int)cd_min_u64(text.n, TEXT_SHOWN), (const char *)text.p);
    }
    memcpy(out->b, bytes.p, sizeof out->b);
    return CD_OK;
}

static cd_err other_chain(making *m, cd_hash32 *out, cd_bytes text)
{
    if (cd__atomic_find_chain(m->a, out, text) != CD_OK) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "there is no ID with alias: %.*s",
                           (int)cd_min_u64(text.n, TEXT_SHOWN), (const char *)text.p);
    }
    return cd_hash32_eq(out, &m->a->cfg.net.chain_id)
               ? cd_rpc_fail(m->call, CD_RPC_SERVER, "another chain than this one is needed")
               : CD_OK;
}

/* --- imports --- */

/* What another chain left for the user. */
static cd_err find_there(making *m, cd_wallet_purse *there, const cd_hash32 *peer)
{
    const cd_vm_shared *s = m->a->cfg.shared;
    cd_arena *a = m->call->arena;
    cd_bytes *values = NULL;
    usize cnt = 0;
    cd_vm_shared_cursor at = {.trait = {0}};
    cd_bytes *traits = cd_arena_array(a, cd_bytes, m->keys.cnt);
    for (usize i = 0; i < m->keys.cnt; i++) {
        traits[i] = cd_bytes_of(m->keys.addrs[i].b, 20);
    }
    cd_err e = s->indexed(s, &values, &cnt, a, peer, traits, m->keys.cnt, &at, UTXOS_PAGE);
    cd_utxo *v = cd_arena_array(a, cd_utxo, cnt);
    for (usize i = 0; e == CD_OK && i < cnt; i++) {
        e = cd_utxo_parse(&v[i], &cd_c_utxo_table, a, values[i], NULL);
    }
    *there = (cd_wallet_purse){.mem = a,
                               .addrs = m->keys.addrs,
                               .addr_cnt = m->keys.cnt,
                               .utxos = v,
                               .utxo_cnt = cnt,
                               .now = cd_clock_wall_s(m->a->cfg.clock)};
    return e == CD_OK ? CD_OK : cd_rpc_fail(m->call, CD_RPC_SERVER, "problem retrieving UTXOs: %s", cd_err_str(e));
}

static cd_err import(making *m)
{
    const cd__atomic_import_with_args *args = m->call->args;
    cd_wallet_purse there;
    cd_hash32 source;
    cd_addr20 to;
    cd_errinfo why = {0};
    if (args->source.n == 0) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "argument 'sourceChain' not given");
    }
    CD_TRY(other_chain(m, &source, args->source));
    CD_TRY(read_account(m->call, &to, args->to));
    CD_TRY(find_there(m, &there, &source));
    CD_TRY(cd_wallet_said(m->call, cd_wallet_import_c(&m->draft, &m->c, &there, &source, &to, &why), &why));
    return finish(m);
}

cd_err cd__atomic_import_with(cd_rpc_call *call)
{
    const cd__atomic_import_with_args *args = call->args;
    const cd_vm_user user = user_of(args->username, args->password);
    return run(call, &user, args->price, import);
}

/* --- exports --- */

/* No asset but the native one leaves accounts since Banff; older clients name it. */
static cd_err asset_ok(making *m, cd_bytes text)
{
    cd_hash32 id;
    bool is = text.n == 0 || cd_bytes_eq(text, cd_bytes_str("LUX")) || cd_bytes_eq(text, cd_bytes_str("AVAX")) ||
              (cd_id_parse(&id, text, NULL) == CD_OK && cd_hash32_eq(&id, &m->a->cfg.net.asset_id));
    return is ? CD_OK
              : cd_rpc_fail(m->call, CD_RPC_SERVER, "asset '%.*s' cannot be exported: only the native one can",
                            (int)cd_min_u64(text.n, TEXT_SHOWN), (const char *)text.p);
}

static cd_err read_there(making *m, cd_addr20 *to, cd_hash32 *chain, cd_bytes text, cd_bytes target)
{
    cd_bytes name;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_there(to, &name, text, target, m->a->cfg.net.prefix, &why);
    if (e != CD_OK && e != CD_ENOENT) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "couldn't parse address \"%.*s\": %s",
                           (int)cd_min_u64(text.n, TEXT_SHOWN), (const char *)text.p, why.msg);
    }
    CD_TRY(cd_wallet_said(m->call, e, &why));
    return other_chain(m, chain, name);
}

static cd_err export(making *m)
{
    const cd__atomic_export_with_args *args = m->call->args;
    cd_hash32 peer;
    cd_addr20 to;
    cd_errinfo why = {0};
    if (args->amount == 0) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "argument 'amount' must be > 0");
    }
    CD_TRY(asset_ok(m, args->asset));
    CD_TRY(read_there(m, &to, &peer, args->to, args->target));
    const cd_owners owners = cd_wallet_owners(m->call->arena, &to);
    cd_err e =
        cd_wallet_export_c(&m->draft, &m->c, m->call->arena, m->accts, m->keys.cnt, &peer, &owners, args->amount, &why);
    CD_TRY(cd_wallet_said(m->call, e, &why));
    return finish(m);
}

cd_err cd__atomic_export_with(cd_rpc_call *call)
{
    const cd__atomic_export_with_args *args = call->args;
    const cd_vm_user user = user_of(args->username, args->password);
    return run(call, &user, args->price, export);
}

/* --- keys --- */

cd_err cd__atomic_import_key(cd_rpc_call *call)
{
    const cd__atomic_import_key_args *args = call->args;
    const cd_atomic *a = call->ctx;
    const cd_vm_user user = user_of(args->username, args->password);
    cd_addr20 addr;
    cd_addr20 acct;
    char text[CD_ADDR_TEXT_SIZE];
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_add(&addr, &acct, a->cfg.users, &user, &a->cfg.net.chain_id, args->key, &why);
    CD_TRY(cd_wallet_said(call, e, &why));
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "address", cd_addr_fmt(text, &acct));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__atomic_export_key(cd_rpc_call *call)
{
    const cd__atomic_export_key_args *args = call->args;
    const cd_atomic *a = call->ctx;
    const cd_vm_user user = user_of(args->username, args->password);
    cd_addr20 acct;
    CD_TRY(read_account(call, &acct, args->address));
    return cd_wallet_show_key(call, a->cfg.users, &user, &a->cfg.net.chain_id, NULL, &acct);
}
