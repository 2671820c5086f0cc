/* The methods lux.* and avax.*: what can be imported, imports and exports on their way. */
#include "base/version.h"
#include "chains/evmchain/atomic/methods_priv.h"
#include "codec/api_json.h"

#include <stdlib.h>

enum { ADDRESSES_MAX = 1024, PAGE_MAX = 1024, TX_TEXT_MAX = 1 << 20 };

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "chains/evmchain/atomic/atomic.def"
#undef X
};

void cd__atomic_serve(cd_atomic *a)
{
    a->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(a->table, methods, CD_COUNT(methods));
    a->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = a->table, .limits = CD_RPC_LIMITS_DEFAULT, .ctx = a};
}

static cd_err check_encoding(cd_rpc_call *call, cd_encoding encoding)
{
    return encoding == CD_ENCODING_JSON ? cd_rpc_fail(call, CD_RPC_SERVER, "unsupported encoding in method") : CD_OK;
}

static const char *quoted(cd_rpc_call *call, cd_bytes text)
{
    return cd_arena_str(call->arena, cd_bytes_sub(text, 0, cd_min_u64(text.n, 128)));
}

cd_err cd__atomic_version(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "version", "v" CD_VERSION);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- names --- */

cd_err cd__atomic_find_chain(const cd_atomic *a, cd_hash32 *out, cd_bytes name)
{
    const struct {
        const char *alias;
        cd_hash32 id;
    } aliases[] = {{"P", {{0}}}, {"X", a->cfg.net.x_chain_id}, {"C", a->cfg.net.chain_id}};
    for (usize i = 0; i < CD_COUNT(aliases); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(aliases[i].alias))) {
            *out = aliases[i].id;
            return CD_OK;
        }
    }
    return cd_id_parse(out, name, NULL);
}

static cd_err read_address(cd_rpc_call *call, cd_addr20 *out, cd_bytes text)
{
    const cd_atomic *a = call->ctx;
    cd_chain_addr addr;
    cd_hash32 chain;
    cd_errinfo why = {0};
    if (cd_short_id_parse(out, text, NULL) == CD_OK) {
        return CD_OK; // as the original's own clients write them
    }
    cd_err e = cd_chain_addr_parse(&addr, text, &why);
    if (e == CD_OK && cd__atomic_find_chain(a, &chain, addr.chain) != CD_OK) {
        e = cd_fail(&why, CD_EINVAL, "there is no ID with alias: %s", quoted(call, addr.chain));
    }
    if (e == CD_OK && strcmp(addr.prefix, a->cfg.net.prefix) != 0) {
        e = cd_fail(&why, CD_EINVAL, "expected hrp \"%s\" but got \"%s\"", a->cfg.net.prefix, addr.prefix);
    }
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "couldn't parse address \"%s\": %s", quoted(call, text), why.msg);
    }
    *out = addr.addr;
    return CD_OK;
}

/* --- what can be imported --- */

/* A question for a page. */
typedef struct page {
    cd_hash32 source;
    cd_addr20 *addrs; /* ascending */
    cd_bytes *traits; /* the same */
    usize cnt;
    cd_vm_shared_cursor at;
    usize limit;
} page;

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, 20);
}

static cd_err read_addresses(cd_rpc_call *call, page *p, const cd_rpc_strings *texts)
{
    if (texts->n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no addresses provided");
    }
    if (texts->n > ADDRESSES_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "number of addresses given, %zu, exceeds maximum, %d", texts->n,
                           ADDRESSES_MAX);
    }
    p->cnt = texts->n;
    p->addrs = cd_arena_array(call->arena, cd_addr20, p->cnt);
    p->traits = cd_arena_array(call->arena, cd_bytes, p->cnt);
    for (usize i = 0; i < p->cnt; i++) {
        CD_TRY(read_address(call, &p->addrs[i], texts->v[i]));
    }
    qsort(p->addrs, p->cnt, sizeof *p->addrs, by_bytes);
    for (usize i = 0; i < p->cnt; i++) {
        p->traits[i] = cd_bytes_of(p->addrs[i].b, 20);
    }
    return CD_OK;
}

static cd_err read_start(cd_rpc_call *call, page *p, const cd__atomic_get_utxos_args *args)
{
    cd_errinfo why = {0};
    if (args->start_address.n == 0 && args->start_utxo.n == 0) {
        return CD_OK;
    }
    cd_addr20 *addr = cd_arena_new(call->arena, cd_addr20);
    cd_hash32 *utxo = cd_arena_new(call->arena, cd_hash32);
    CD_TRY(read_address(call, addr, args->start_address));
    if (cd_id_parse(utxo, args->start_utxo, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "couldn't parse start utxo \"%s\": %s", quoted(call, args->start_utxo),
                           why.msg);
    }
    p->at = (cd_vm_shared_cursor){.trait = cd_bytes_of(addr->b, 20), .key = cd_bytes_of(utxo->b, 32)};
    return CD_OK;
}

static cd_err read_page(cd_rpc_call *call, page *p)
{
    const cd_atomic *a = call->ctx;
    const cd__atomic_get_utxos_args *args = call->args;
    *p = (page){.limit = args->limit == 0 || args->limit > PAGE_MAX ? PAGE_MAX : args->limit};
    CD_TRY(check_encoding(call, args->encoding));
    if (args->addresses.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no addresses provided");
    }
    if (args->source_chain.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no source chain provided");
    }
    if (cd__atomic_find_chain(a, &p->source, args->source_chain) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem parsing source chainID \"%s\": there is no ID with alias: %s",
                           quoted(call, args->source_chain), quoted(call, args->source_chain));
    }
    CD_TRY(read_addresses(call, p, &args->addresses));
    return read_start(call, p, args);
}

/* Where the next page begins; a page that was not filled has looked at every address. */
static void put_end(cd_rpc_call *call, const page *p, usize given)
{
    const cd_atomic *a = call->ctx;
    cd_addr20 addr = p->addrs[p->cnt - 1];
    cd_hash32 utxo = {{0}};
    cd_buf text = {0};
    if (given == p->limit) {
        memcpy(addr.b, p->at.trait.p, 20);
    }
    if (p->at.key.n == 32) {
        memcpy(utxo.b, p->at.key.p, 32);
    }
    cd_chain_addr_put(&text, "C", a->cfg.net.prefix, &addr);
    cd_json_w_key(call->out, "endIndex");
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "address", cd_buf_cstr(&text));
    cd_json_put_id(call->out, "utxo", &utxo);
    cd_json_w_obj_end(call->out);
    cd_buf_fini(&text);
}

cd_err cd__atomic_get_utxos(cd_rpc_call *call)
{
    const cd_atomic *a = call->ctx;
    const cd__atomic_get_utxos_args *args = call->args;
    page p;
    cd_bytes *out;
    usize cnt;
    CD_TRY(read_page(call, &p));
    cd_err e =
        a->cfg.shared->indexed(a->cfg.shared, &out, &cnt, call->arena, &p.source, p.traits, p.cnt, &p.at, p.limit);
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem retrieving UTXOs: %s", cd_err_str(e));
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "numFetched", cnt);
    cd_json_w_key(call->out, "utxos");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_encoded(call->out, args->encoding, out[i]);
    }
    cd_json_w_arr_end(call->out);
    put_end(call, &p, cnt);
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(args->encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- transactions --- */

cd_err cd__atomic_issue_tx(cd_rpc_call *call)
{
    const cd__atomic_issue_tx_args *args = call->args;
    cd_errinfo why = {0};
    cd_bytes bytes = {0};
    cd_atomic_tx t;
    cd_err e = args->tx.n > TX_TEXT_MAX ? cd_fail(&why, CD_ELIMIT, "size is larger than limit")
                                        : cd_encoding_dec(&bytes, call->arena, args->encoding, args->tx, &why);
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem decoding transaction: %s", why.msg);
    }
    if (cd_atomic_parse(&t, call->arena, bytes, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "problem parsing transaction: %s", why.msg);
    }
    e = cd_atomic_issue(call->ctx, &t, true, &why);
    if (e != CD_OK && e != CD_EEXIST) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg[0] != '\0' ? why.msg : cd_err_str(e));
    }
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "txID", &t.id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err fail_store(cd_rpc_call *call, cd_err e)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "the store does not answer: %s", cd_err_str(e));
}

cd_err cd__atomic_tx_status(cd_rpc_call *call)
{
    const cd_atomic *a = call->ctx;
    const cd__atomic_tx_status_args *args = call->args;
    u64 height = 0;
    const char *status = "Unknown";
    cd_err e = cd_atomic_record(a, &height, NULL, &args->tx_id);
    if (e != CD_OK && e != CD_ENOENT) {
        return fail_store(call, e);
    }
    if (e == CD_OK) {
        status = "Accepted";
    } else if (cd_atomic_pool_find(a->pool, &args->tx_id) != NULL) {
        status = "Processing";
    } else if (cd_atomic_pool_was_dropped(a->pool, &args->tx_id)) {
        status = "Dropped";
    }
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "status", status);
    if (e == CD_OK) {
        cd_json_put_dec(call->out, "blockHeight", height);
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__atomic_get_tx(cd_rpc_call *call)
{
    const cd_atomic *a = call->ctx;
    const cd__atomic_get_tx_args *args = call->args;
    u64 height = 0;
    cd_buf bytes = {0};
    CD_TRY(check_encoding(call, args->encoding));
    cd_err e = cd_atomic_record(a, &height, &bytes, &args->tx_id);
    if (e == CD_ENOENT) {
        cd_buf id = {0};
        cd_id_put(&id, &args->tx_id);
        e = cd_rpc_fail(call, CD_RPC_SERVER, "could not find tx %s", cd_buf_cstr(&id));
        cd_buf_fini(&id);
    } else if (e != CD_OK) {
        e = fail_store(call, e);
    } else {
        cd_json_w_obj(call->out);
        cd_json_put_encoded(call->out, "tx", args->encoding, cd_buf_bytes(&bytes));
        cd_json_put_cstr(call->out, "encoding", cd_encoding_name(args->encoding));
        cd_json_put_dec(call->out, "blockHeight", height);
        cd_json_w_obj_end(call->out);
    }
    cd_buf_fini(&bytes);
    return e;
}
