#include "base/mem/mem.h"
#include "chains/utxo/store.h"
#include "chains/xvm/address.h"
#include "chains/xvm/service_priv.h"
#include "codec/api_json.h"
#include "rpc/named.h"

#include <stdlib.h>

/* What the X-Chain answers. Readers see accepted state: the store, frozen for the call. [spec:node-api#6] */

enum {
    ADDRESSES_MAX = 1024,
    LISTED_MAX = 1024,
    ANSWER_MAX = 32 << 20, /* bytes that one answer may take */
    PATIENCE_S = 30,       /* for one request */
};

#define X CD_RPC_NAMED_DECL
#include "chains/xvm/service.def"
#undef X

static const cd_rpc_method chain_methods[] = {
#define X CD_RPC_NAMED_ROW
#include "chains/xvm/service.def"
#include "chains/xvm/users.def"
#undef X
};

static const cd_rpc_method wallet_methods[] = {
#define X CD_RPC_NAMED_ROW
#include "chains/xvm/wallet.def"
#undef X
};

/* --- parts of all --- */

static cd__xvm *vm_of(const cd_rpc_call *call)
{
    return cd__xvm_service_vm(call);
}

static cd_xvm_place place_of(const cd_rpc_call *call)
{
    return cd_xvm_place_of(&vm_of(call)->ctx);
}

static cd_linear_place json_place(const cd_rpc_call *call)
{
    return (cd_linear_place){.chain = vm_of(call)->ctx.name, .prefix = place_of(call).prefix};
}

static cd_err fail_said(cd_rpc_call *call, const cd_errinfo *why)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why->msg);
}

/* The words of what is not there, or of a store that does not answer. */
static cd_err fail_store(cd_rpc_call *call, cd_err e)
{
    return e == CD_ENOENT ? cd_rpc_fail(call, CD_RPC_SERVER, "not found")
                          : cd_rpc_fail(call, CD_RPC_SERVER, "the store does not answer: %s", cd_err_str(e));
}

/* Runs fn over the store as it is now. */
static cd_err with_state(cd_rpc_call *call, cd_err (*fn)(cd_rpc_call *call, cd_kv *kv))
{
    cd_kv *kv = NULL;
    cd_err e = cd_kv_snapshot(&kv, vm_of(call)->ctx.kv);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    e = fn(call, kv);
    cd_kv_close(kv);
    return e;
}

/* --- blocks --- */

/* Version, type ID and parent stand in front of the height. */
enum { HEIGHT_AT = 2 + 4 + 32 };

static cd_err last_height(cd_rpc_call *call, cd_kv *kv)
{
    cd_hash32 id;
    cd_buf bytes = {0};
    cd_err e = cd_xvm_get_last(kv, &id);
    e = e != CD_OK ? e : cd_xvm_get_block(kv, &bytes, &id);
    if (e == CD_OK && bytes.n < HEIGHT_AT + 8) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        cd_json_w_obj(call->out);
        cd_json_put_dec(call->out, "height", cd_be64(bytes.p + HEIGHT_AT));
        cd_json_w_obj_end(call->out);
    }
    cd_buf_fini(&bytes);
    return e == CD_OK ? CD_OK : fail_store(call, e);
}

cd_err cd__xvm_get_height_call(cd_rpc_call *call)
{
    return with_state(call, last_height);
}

static cd_err put_block(cd_rpc_call *call, const cd_hash32 *id, cd_bytes bytes, cd_encoding encoding)
{
    cd_x_block block = {.body = {.v = NULL}};
    cd_linear_place place = json_place(call);
    if (cd_linear_parse(&block, &cd_x_block_table, call->arena, bytes, 0, NULL) != CD_OK) {
        return fail_store(call, CD_ECORRUPT);
    }
    cd_json_w_obj(call->out);
    if (encoding == CD_ENCODING_JSON) {
        cd_json_w_key(call->out, "block");
        cd_x_block_json(call->out, &place, &block, id);
    } else {
        cd_json_put_encoded(call->out, "block", encoding, bytes);
    }
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_get_block_call(cd_rpc_call *call)
{
    const cd__xvm_get_block_call_args *args = call->args;
    cd_buf bytes = {0};
    cd_err e = cd_xvm_get_block(vm_of(call)->ctx.kv, &bytes, &args->id);
    if (e == CD_OK) {
        e = put_block(call, &args->id, cd_buf_bytes(&bytes), args->encoding);
    } else {
        cd_buf id = {0};
        cd_id_put(&id, &args->id);
        e = cd_rpc_fail(call, CD_RPC_SERVER, "couldn't get block with id %s: %s", cd_buf_cstr(&id), cd_err_str(e));
        cd_buf_fini(&id);
    }
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__xvm_get_block_at(cd_rpc_call *call)
{
    const cd__xvm_get_block_at_args *args = call->args;
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_err e = cd_xvm_get_height(vm_of(call)->ctx.kv, &id, args->height);
    e = e != CD_OK ? e : cd_xvm_get_block(vm_of(call)->ctx.kv, &bytes, &id);
    e = e == CD_OK ? put_block(call, &id, cd_buf_bytes(&bytes), args->encoding)
                   : cd_rpc_fail(call, CD_RPC_SERVER, "couldn't get block at height %llu: %s",
                                 (unsigned long long)args->height, cd_err_str(e));
    cd_buf_fini(&bytes);
    return e;
}

/* --- transactions --- */

static cd_err issue(cd_rpc_call *call, cd_bytes text, cd_encoding encoding, bool is_checked)
{
    cd_errinfo why = {0};
    cd_bytes bytes;
    cd_hash32 id;
    if (cd_encoding_dec(&bytes, call->arena, encoding, text, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem decoding transaction: %s", why.msg);
    }
    if (cd_xvm_issue(&vm_of(call)->base.vm, &id, bytes, is_checked, &why) != CD_OK) {
        return fail_said(call, &why);
    }
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "txID", &id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_issue_tx(cd_rpc_call *call)
{
    const cd__xvm_issue_tx_args *args = call->args;
    return issue(call, args->tx, args->encoding, true);
}

cd_err cd__xvm_wallet_issue(cd_rpc_call *call)
{
    const cd__xvm_wallet_issue_args *args = call->args;
    return issue(call, args->tx, args->encoding, false);
}

static cd_err check_tx_id(cd_rpc_call *call, const cd_hash32 *id)
{
    return cd_hash32_is_zero(id) ? cd_rpc_fail(call, CD_RPC_SERVER, "nil transaction ID") : CD_OK;
}

cd_err cd__xvm_get_tx_call(cd_rpc_call *call)
{
    const cd__xvm_get_tx_call_args *args = call->args;
    cd_xvm_tx t;
    cd_linear_place place = json_place(call);
    CD_TRY(check_tx_id(call, &args->id));
    cd_err e = cd_xvm_get_tx(vm_of(call)->ctx.kv, &t, call->arena, &args->id);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_json_w_obj(call->out);
    if (args->encoding == CD_ENCODING_JSON) {
        cd_json_w_key(call->out, "tx");
        cd_x_tx_json(call->out, &place, &t.tx, &t.id);
    } else {
        cd_json_put_encoded(call->out, "tx", args->encoding, t.bytes);
    }
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(args->encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_get_tx_status(cd_rpc_call *call)
{
    const cd__xvm_get_tx_status_args *args = call->args;
    bool found = false;
    CD_TRY(check_tx_id(call, &args->id));
    cd_err e = cd_xvm_has_tx(vm_of(call)->ctx.kv, &found, &args->id);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "status", found ? "Accepted" : "Unknown");
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_get_tx_fee(cd_rpc_call *call)
{
    const cd_xvm_rules *rules = &vm_of(call)->rules;
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "txFee", rules->tx_fee);
    cd_json_put_dec(call->out, "createAssetTxFee", rules->create_asset_fee);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- assets --- */

cd_err cd__xvm_asset_of(cd_rpc_call *call, cd_kv *kv, cd_hash32 *out, cd_bytes text)
{
    if (cd_xvm_get_alias(kv, out, text) == CD_OK || (text.n > 0 && cd_id_parse(out, text, NULL) == CD_OK)) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "asset '%.*s' not found", (int)cd_min_u64(text.n, 100),
                       (const char *)text.p);
}

static cd_err describe(cd_rpc_call *call, cd_kv *kv)
{
    const cd__xvm_get_asset_description_args *args = call->args;
    cd_hash32 id;
    cd_xvm_tx t;
    CD_TRY(cd__xvm_asset_of(call, kv, &id, args->asset));
    cd_err e = cd_xvm_get_tx(kv, &t, call->arena, &id);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    if (t.tx.body.is->id != CD_X_CREATE_ASSET) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "transaction doesn't create an asset");
    }
    const cd_x_create_asset *tx = t.tx.body.v;
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "assetID", &id);
    cd_json_put_str(call->out, "name", tx->name);
    cd_json_put_str(call->out, "symbol", tx->symbol);
    cd_json_put_dec(call->out, "denomination", tx->denomination);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_get_asset_description(cd_rpc_call *call)
{
    return with_state(call, describe);
}

/* --- balances --- */

/* What an address has of one asset. */
typedef struct holding {
    cd_hash32 asset;
    u64 amount;
} holding;

/* A walk over what an address owns. */
typedef struct tally {
    cd_rpc_call *call;
    const cd_hash32 *asset; /* NULL: every one */
    bool partial;
    u64 now;
    cd_hmap sums; /* asset -> u64 */
    cd_buf ids;   /* JSON of the outputs of the one asset */
    cd_json_w w;
    bool overflows;
    bool is_late;
    bool is_large;
} tally;

static bool counts(const tally *t, const cd_utxo *u)
{
    const cd_owners *o = cd_utxo_owners(&u->out);
    bool is_sole = o->addrs.cnt == 1 && o->locktime <= t->now;
    return u->out.is->id == CD_X_SECP_OUTPUT && (t->partial || is_sole) &&
           (t->asset == NULL || cd_hash32_eq(t->asset, &u->asset_id));
}

static bool tally_add(void *ctx, const cd_hash32 *id, const cd_utxo *u)
{
    tally *t = ctx;
    u64 amount = 0;
    (void)id;
    t->is_late = cd_rpc_is_late(t->call);
    if (t->is_late || !counts(t, u)) {
        return !t->is_late;
    }
    (void)cd_utxo_amount(&amount, &u->out);
    u64 *sum = cd_hmap_put(&t->sums, NULL, &u->asset_id);
    t->overflows = __builtin_add_overflow(*sum, amount, sum);
    if (t->asset != NULL) {
        cd_json_w_obj(&t->w);
        cd_json_put_id(&t->w, "txID", &u->tx_id);
        cd_json_put_u64(&t->w, "outputIndex", u->output_idx);
        cd_json_w_obj_end(&t->w);
    }
    t->is_large = t->ids.n + cd_hmap_cnt(&t->sums) * sizeof(holding) > ANSWER_MAX;
    return !t->overflows && !t->is_large;
}

static void tally_fini(tally *t)
{
    cd_hmap_fini(&t->sums);
    cd_buf_fini(&t->ids);
}

static cd_err tally_run(tally *t, cd_kv *kv, const cd_addr20 *addr)
{
    cd_hmap_init(&t->sums, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(u64));
    t->now = cd_clock_wall_ns(vm_of(t->call)->ctx.clock) / CD_NS_PER_SEC;
    t->w = (cd_json_w){.out = &t->ids};
    cd_err e = cd_utxo_each(kv, &cd_x_utxo_table, addr, NULL, tally_add, t);
    if (e != CD_OK) {
        return fail_store(t->call, e);
    }
    if (t->is_late) {
        return cd_rpc_fail_late(t->call);
    }
    if (t->overflows) {
        return cd_rpc_fail(t->call, CD_RPC_SERVER, "overflow");
    }
    return t->is_large ? cd_rpc_fail(t->call, CD_RPC_TOO_LARGE, "too many outputs: ask getUTXOs, page by page") : CD_OK;
}

static cd_err addr_of(cd_rpc_call *call, cd_addr20 *out, cd_bytes text)
{
    cd_errinfo why = {0};
    cd_xvm_place place = place_of(call);
    if (cd_xvm_addr_parse(&place, out, text, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem parsing address '%.*s': %s", (int)cd_min_u64(text.n, 100),
                           (const char *)text.p, why.msg);
    }
    return CD_OK;
}

static cd_err balance(cd_rpc_call *call, cd_kv *kv)
{
    const cd__xvm_get_balance_args *args = call->args;
    cd_addr20 addr;
    cd_hash32 asset;
    CD_TRY(addr_of(call, &addr, args->address));
    CD_TRY(cd__xvm_asset_of(call, kv, &asset, args->asset));
    tally t = {.call = call, .asset = &asset, .partial = args->partial};
    cd_err e = tally_run(&t, kv, &addr);
    if (e == CD_OK) {
        const u64 *sum = cd_hmap_get(&t.sums, &asset);
        cd_json_w_obj(call->out);
        cd_json_put_dec(call->out, "balance", sum == NULL ? 0 : *sum);
        cd_json_w_key(call->out, "utxoIDs");
        cd_json_w_arr(call->out);
        cd_json_w_raw(call->out, cd_buf_bytes(&t.ids));
        cd_json_w_arr_end(call->out);
        cd_json_w_obj_end(call->out);
    }
    tally_fini(&t);
    return e;
}

cd_err cd__xvm_get_balance(cd_rpc_call *call)
{
    return with_state(call, balance);
}

static int compare_holdings(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_hash32));
}

static void put_holding(cd_json_w *w, cd_kv *kv, const holding *h)
{
    cd_buf name = {0};
    cd_json_w_obj(w);
    if (cd_xvm_get_name(kv, &name, &h->asset) == CD_OK) {
        cd_json_put_str(w, "asset", cd_buf_bytes(&name));
    } else {
        cd_json_put_id(w, "asset", &h->asset);
    }
    cd_json_put_dec(w, "balance", h->amount);
    cd_json_w_obj_end(w);
    cd_buf_fini(&name);
}

static void put_holdings(cd_rpc_call *call, cd_kv *kv, const cd_hmap *sums)
{
    holding *v = cd_arena_array(call->arena, holding, cd_hmap_cnt(sums));
    usize n = 0;
    const void *asset;
    void *amount;
    for (usize it = 0; cd_hmap_next(sums, &it, &asset, &amount);) {
        memcpy(&v[n].asset, asset, sizeof v[n].asset);
        v[n++].amount = *(const u64 *)amount;
    }
    qsort(v, n, sizeof *v, compare_holdings);
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "balances");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < n; i++) {
        put_holding(call->out, kv, &v[i]);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
}

static cd_err all_balances(cd_rpc_call *call, cd_kv *kv)
{
    const cd__xvm_get_all_balances_args *args = call->args;
    cd_addr20 addr;
    CD_TRY(addr_of(call, &addr, args->address));
    tally t = {.call = call, .partial = args->partial};
    cd_err e = tally_run(&t, kv, &addr);
    if (e == CD_OK) {
        put_holdings(call, kv, &t.sums);
    }
    tally_fini(&t);
    return e;
}

cd_err cd__xvm_get_all_balances(cd_rpc_call *call)
{
    return with_state(call, all_balances);
}

/* --- transactions of an address --- */

static cd_err address_txs(cd_rpc_call *call, cd_kv *kv)
{
    const cd__xvm_get_address_txs_args *args = call->args;
    cd_errinfo why = {0};
    cd_xvm_place place = place_of(call);
    cd_addr20 addr;
    cd_hash32 asset;
    cd_hash32 *ids;
    usize cnt;
    if (args->page_size > LISTED_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "pageSize > maximum allowed (%d)", LISTED_MAX);
    }
    if (cd_xvm_addr_parse(&place, &addr, args->address, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "couldn't parse argument 'address' to address: %s", why.msg);
    }
    CD_TRY(cd__xvm_asset_of(call, kv, &asset, args->asset));
    cd_err e = cd_xvm_listed(kv, &ids, &cnt, call->arena, &addr, &asset, args->cursor,
                             args->page_size == 0 ? LISTED_MAX : args->page_size);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "txIDs");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_id(call->out, &ids[i]);
    }
    cd_json_w_arr_end(call->out);
    cd_json_put_dec(call->out, "cursor", args->cursor + cnt);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_get_address_txs(cd_rpc_call *call)
{
    return with_state(call, address_txs);
}

/* --- unspent outputs --- */

/* A page that is asked for. */
typedef struct wanted {
    cd_addr20 *addrs;
    usize cnt;
    usize limit;
    cd_utxo_cursor at;
    cd_encoding encoding;
} wanted;

static cd_err read_start(cd_rpc_call *call, wanted *p, const cd__xvm_get_utxos_args *args)
{
    cd_errinfo why = {0};
    cd_xvm_place place = place_of(call);
    if (args->start_address.n == 0 && args->start_utxo.n == 0) {
        return CD_OK;
    }
    if (cd_xvm_addr_parse(&place, &p->at.addr, args->start_address, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "couldn't parse start index address \"%.*s\": %s",
                           (int)cd_min_u64(args->start_address.n, 100), (const char *)args->start_address.p, why.msg);
    }
    if (cd_id_parse(&p->at.utxo, args->start_utxo, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "couldn't parse start index utxo: %s", why.msg);
    }
    return CD_OK;
}

static cd_err read_wanted(cd_rpc_call *call, wanted *p, const cd__xvm_get_utxos_args *args)
{
    cd_errinfo why = {0};
    cd_xvm_place place = place_of(call);
    p->encoding = args->encoding;
    p->cnt = args->addresses.n;
    p->limit = args->limit == 0 || args->limit > CD_UTXO_PAGE_MAX ? CD_UTXO_PAGE_MAX : args->limit;
    if (p->cnt == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no addresses provided");
    }
    if (p->cnt > ADDRESSES_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "number of addresses given, %zu, exceeds maximum, %d", p->cnt,
                           ADDRESSES_MAX);
    }
    if (p->encoding == CD_ENCODING_JSON) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unsupported encoding in method");
    }
    p->addrs = cd_arena_array(call->arena, cd_addr20, p->cnt);
    for (usize i = 0; i < p->cnt; i++) {
        if (cd_xvm_addr_parse(&place, &p->addrs[i], args->addresses.v[i], &why) != CD_OK) {
            return fail_said(call, &why);
        }
    }
    return read_start(call, p, args);
}

static void put_page(cd_rpc_call *call, const wanted *p, const cd_bytes *utxos, usize cnt)
{
    cd_linear_place place = json_place(call);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_put_dec(w, "numFetched", cnt);
    cd_json_w_key(w, "utxos");
    cd_json_w_arr(w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_encoded(w, p->encoding, utxos[i]);
    }
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "endIndex");
    cd_json_w_obj(w);
    cd_json_w_key(w, "address");
    cd_json_w_chain_addr(w, place.chain, place.prefix, &p->at.addr);
    cd_json_put_id(w, "utxo", &p->at.utxo);
    cd_json_w_obj_end(w);
    cd_json_put_cstr(w, "encoding", cd_encoding_name(p->encoding));
    cd_json_w_obj_end(w);
}

static cd_err page_here(cd_rpc_call *call, cd_kv *kv, wanted *p)
{
    cd_utxo_found *found;
    usize cnt;
    cd_err e = cd_utxo_page(&found, &cnt, &p->at, kv, call->arena, &cd_x_utxo_table, p->addrs, &p->cnt, p->limit);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_bytes *utxos = cd_arena_array(call->arena, cd_bytes, cnt);
    for (usize i = 0; i < cnt; i++) {
        utxos[i] = found[i].bytes;
    }
    put_page(call, p, utxos, cnt);
    return CD_OK;
}

static int compare_addrs(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

/* What another chain left here for the addresses. */
static cd_err page_there(cd_rpc_call *call, const cd_hash32 *peer, wanted *p)
{
    const cd_vm_shared *s = vm_of(call)->rules.shared;
    cd_bytes *utxos = NULL;
    usize cnt = 0;
    cd_vm_shared_cursor at = {.trait = {0}};
    cd_bytes *traits = cd_arena_array(call->arena, cd_bytes, p->cnt);
    qsort(p->addrs, p->cnt, sizeof *p->addrs, compare_addrs);
    for (usize i = 0; i < p->cnt; i++) {
        traits[i] = cd_bytes_of(p->addrs[i].b, 20);
    }
    if (!cd_addr20_is_zero(&p->at.addr)) {
        at.trait = cd_bytes_of(p->at.addr.b, 20);
        at.key = cd_bytes_of(p->at.utxo.b, 32);
    }
    cd_err e = s == NULL ? CD_OK : s->indexed(s, &utxos, &cnt, call->arena, peer, traits, p->cnt, &at, p->limit);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    if (at.trait.n == 20) {
        memcpy(p->at.addr.b, at.trait.p, 20);
    }
    if (at.key.n == 32) {
        memcpy(p->at.utxo.b, at.key.p, 32);
    }
    put_page(call, p, utxos, cnt);
    return CD_OK;
}

static cd_err utxos(cd_rpc_call *call, cd_kv *kv)
{
    const cd__xvm_get_utxos_args *args = call->args;
    wanted p = {.cnt = 0};
    cd_errinfo why = {0};
    cd_xvm_place place = place_of(call);
    cd_hash32 chain = vm_of(call)->ctx.chain_id;
    if (args->addresses.n > 0 && args->source.n > 0 &&
        cd_xvm_chain_parse(&place, &chain, args->source, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem parsing source chainID \"%.*s\": %s",
                           (int)cd_min_u64(args->source.n, 64), (const char *)args->source.p, why.msg);
    }
    CD_TRY(read_wanted(call, &p, args));
    return cd_hash32_eq(&chain, &vm_of(call)->ctx.chain_id) ? page_here(call, kv, &p) : page_there(call, &chain, &p);
}

cd_err cd__xvm_get_utxos(cd_rpc_call *call)
{
    return with_state(call, utxos);
}

/* --- routes --- */

static cd_rpc_table *table_of(const cd_rpc_method *rows, usize cnt)
{
    cd_rpc_table *t = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_alias(t, "xvm", "avm");
    cd_rpc_table_add(t, rows, cnt);
    return t;
}

cd__xvm_service *cd__xvm_service_new(cd__xvm *x)
{
    cd__xvm_service *s = cd_new(cd__xvm_service);
    s->x = x;
    const cd_rpc_limits limits = {.duration_ns = PATIENCE_S * CD_NS_PER_SEC};
    s->chain = (cd_rpc_service){
        .form = CD_RPC_JSON2, .limits = limits, .table = table_of(chain_methods, CD_COUNT(chain_methods)), .ctx = s};
    s->wallet = (cd_rpc_service){
        .form = CD_RPC_JSON2, .limits = limits, .table = table_of(wallet_methods, CD_COUNT(wallet_methods)), .ctx = s};
    s->handlers[s->handler_cnt++] = (cd_vm_handler){.route = "", .over = CD_VM_HTTP, .service = &s->chain};
    s->handlers[s->handler_cnt++] = (cd_vm_handler){.route = "/wallet", .over = CD_VM_HTTP, .service = &s->wallet};
    if (x->ctx.loop != NULL) {
        s->events = cd_xvm_events_new(x->ctx.loop);
        s->handlers[s->handler_cnt++] = (cd_vm_handler){.route = "/events",
                                                        .over = CD_VM_WS,
                                                        .serve = cd_xvm_events_serve,
                                                        .leave = cd_xvm_events_leave,
                                                        .is_idle = cd_xvm_events_is_idle,
                                                        .ctx = s->events};
    }
    return s;
}

void cd__xvm_service_free(cd__xvm_service *s)
{
    if (s != NULL) {
        cd_xvm_events_close(s->events);
        cd_rpc_table_free((cd_rpc_table *)(uintptr_t)s->chain.table);
        cd_rpc_table_free((cd_rpc_table *)(uintptr_t)s->wallet.table);
        cd_free(s);
    }
}

void cd__xvm_service_accepted(cd__xvm_service *s, const cd__xvm_block *b)
{
    for (usize i = 0; s->events != NULL && i < b->cnt; i++) {
        cd_xvm_events_accepted(s->events, &b->txs[i]);
    }
}

const cd_vm_handler *cd__xvm_service_handlers(cd__xvm_service *s, usize *cnt)
{
    *cnt = s->handler_cnt;
    return s->handlers;
}
