#include "chains/evmchain/dev/dump.h"

#include "base/hex.h"
#include "base/log/log.h"
#include "chains/evmchain/core/world/walk.h"
#include "codec/gzip.h"
#include "num/u256_text.h"

/* Of the document. */
enum { DUMP_MAX = 1 << 30 };

static const u8 code_prefix = 'c';

/* --- out --- */

void cd__dump_put_slot(cd_json_w *w, const cd_u256 *key, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    u8 word[32];
    (void)cd_u256_fmt_hex64(text, key);
    cd_u256_store_be(word, v);
    cd_json_w_key(w, text);
    cd_json_w_hex(w, cd_bytes_of(word, sizeof word));
}

static cd_err write_storage(cd_json_w *w, cd_kv *kv, const cd_hash32 *account)
{
    cd_world_walk *walk;
    CD_TRY(cd_world_walk_slots(&walk, kv, CD_WORLD_NEWEST, account, NULL));
    cd_json_w_key(w, "storage");
    cd_json_w_obj(w);
    cd_err e = CD_OK;
    while (e == CD_OK && cd_world_walk_next(walk)) {
        cd_u256 key;
        cd_u256 v;
        e = cd_world_key_of(kv, &key, cd_world_walk_hash(walk));
        e = e != CD_OK ? e : cd_world_walk_slot(walk, &v);
        if (e == CD_OK) {
            cd__dump_put_slot(w, &key, &v);
        }
    }
    cd_json_w_obj_end(w);
    e = e != CD_OK ? e : cd_world_walk_err(walk);
    cd_world_walk_free(walk);
    return e;
}

cd_err cd__dump_put_account(cd_json_w *w, cd_kv *kv, const cd_addr20 *addr, const cd_account *acct)
{
    cd_buf code = {0};
    char name[43] = "0x";
    cd_hex_fmt(name + 2, cd_bytes_of(addr->b, 20));
    name[42] = '\0';
    cd_json_w_key(w, name);
    cd_json_w_obj(w);
    cd_json_w_key(w, "nonce");
    cd_json_w_u64(w, acct->nonce);
    cd_json_w_key(w, "balance");
    cd_json_w_qty_u256(w, &acct->balance);
    cd_err e = CD_OK;
    if (!cd_hash32_eq(&acct->code_hash, &CD_HASH_EMPTY_CODE)) {
        u8 key[33];
        key[0] = code_prefix;
        memcpy(key + 1, acct->code_hash.b, 32);
        e = cd_kv_get(kv, &code, cd_bytes_of(key, sizeof key));
    }
    cd_json_w_key(w, "code");
    cd_json_w_hex(w, cd_buf_bytes(&code));
    cd_buf_fini(&code);
    return e;
}

static cd_err write_account(cd_json_w *w, cd_kv *kv, const cd_world_walk *at, cd_account_form form)
{
    cd_account acct;
    cd_addr20 addr;
    CD_TRY(cd_world_addr_of(kv, &addr, cd_world_walk_hash(at)));
    CD_TRY(cd_world_walk_account(at, &acct, form));
    CD_TRY(cd__dump_put_account(w, kv, &addr, &acct));
    CD_TRY(write_storage(w, kv, cd_world_walk_hash(at)));
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err write_accounts(cd_json_w *w, cd_view *view)
{
    cd_kv *kv = cd_view_kv(view);
    cd_world_walk *walk;
    CD_TRY(cd_world_walk_accounts(&walk, kv, CD_WORLD_NEWEST, NULL));
    cd_json_w_key(w, "accounts");
    cd_json_w_obj(w);
    cd_err e = CD_OK;
    while (e == CD_OK && cd_world_walk_next(walk)) {
        e = write_account(w, kv, walk, cd_view_rules(view)->account_form);
    }
    cd_json_w_obj_end(w);
    e = e != CD_OK ? e : cd_world_walk_err(walk);
    cd_world_walk_free(walk);
    return e;
}

cd_err cd__dump_put(cd_buf *out, const cd_dev *d, cd_view *view)
{
    cd_json_w w = {.out = out};
    const cd_header *h = &cd_view_head(view)->block.header;
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "block");
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "number");
    cd_json_w_qty(&w, h->number);
    cd_json_w_key(&w, "beneficiary");
    cd_json_w_hex(&w, cd_bytes_of(h->coinbase.b, 20));
    cd_json_w_key(&w, "timestamp");
    cd_json_w_qty(&w, h->time);
    cd_json_w_key(&w, "gas_limit");
    cd_json_w_u64(&w, h->gas_limit);
    cd_json_w_key(&w, "basefee");
    cd_json_w_u64(&w, cd_u256_to_u64_sat(&h->base_fee));
    cd_json_w_key(&w, "difficulty");
    cd_json_w_qty_u256(&w, &h->difficulty);
    cd_json_w_key(&w, "prevrandao");
    cd_json_w_hex(&w, cd_bytes_of(h->mix_hash.b, 32));
    cd_json_w_obj_end(&w);
    CD_TRY(write_accounts(&w, view));
    cd_json_w_key(&w, "best_block_number");
    cd_json_w_u64(&w, h->number);
    cd_json_w_key(&w, "blocks");
    cd_json_w_raw(&w, cd_bytes_str("[]"));
    cd_json_w_key(&w, "transactions");
    cd_json_w_raw(&w, cd_bytes_str("[]"));
    cd_json_w_key(&w, "historical_states");
    cd_json_w_null(&w);
    cd_json_w_key(&w, "candela");
    CD_TRY(cd__dump_put_chain(&w, d, view));
    cd_json_w_obj_end(&w);
    return CD_OK;
}

cd_err cd__dev_dump(cd_rpc_call *call)
{
    cd_buf text = {0};
    cd_buf packed = {0};
    cd_err e = cd__dump_put(&text, cd__dev_of(call), cd_api_view(call));
    if (e == CD_OK) {
        cd_gzip_enc(&packed, cd_buf_bytes(&text), CD_GZIP_SMALL);
        cd_json_w_hex(call->out, cd_buf_bytes(&packed));
    }
    cd_buf_fini(&text);
    cd_buf_fini(&packed);
    return cd__dev_done(call, e, NULL);
}

/* --- in --- */

static cd_err load_slots(cd_state *st, cd_acct *a, cd_json storage, cd_errinfo *why)
{
    cd_json_it it = cd_json_iter(storage);
    while (cd_json_next(&it)) {
        cd_u256 key;
        cd_u256 v;
        CD_TRY(cd_u256_parse(&key, it.key));
        CD_TRY(cd_json_u256(&v, it.val, why));
        cd_state_set_slot(st, cd_state_slot(st, a, &key), &v);
    }
    return CD_OK;
}

typedef struct loading {
    cd_json accounts;
    cd_arena *arena;
} loading;

/* Given accounts overwrite nonce, balance and code; their other slots stay. */
static cd_err load_accounts(void *ctx, cd_state *st, cd_errinfo *why)
{
    const loading *l = ctx;
    cd_json_it it = cd_json_iter(l->accounts);
    while (cd_json_next(&it)) {
        cd_bytes addr;
        cd_bytes code = {0};
        u64 nonce = 0;
        cd_u256 balance = cd_u256_zero();
        CD_TRY(cd_hex_parse_prefixed(&addr, l->arena, it.key));
        if (addr.n != 20) {
            return cd_json_fail(it.val, CD_EFORMAT, "not an address", why);
        }
        if (cd_json_has(cd_json_get(it.val, "nonce"))) {
            CD_TRY(cd_json_u64(&nonce, cd_json_get(it.val, "nonce"), why));
        }
        if (cd_json_has(cd_json_get(it.val, "balance"))) {
            CD_TRY(cd_json_u256(&balance, cd_json_get(it.val, "balance"), why));
        }
        if (cd_json_has(cd_json_get(it.val, "code"))) {
            CD_TRY(cd_json_hex(&code, l->arena, cd_json_get(it.val, "code"), why));
        }
        cd_acct *a = cd_state_acct(st, (const cd_addr20 *)addr.p);
        cd_state_touch(st, a, false);
        cd_state_set_nonce(st, a, nonce);
        cd_state_set_balance(st, a, &balance);
        cd_state_set_code(st, a, code);
        CD_TRY(load_slots(st, a, cd_json_get(it.val, "storage"), why));
    }
    return CD_OK;
}

cd_err cd__dump_edit(const cd_dev *d, cd_json accounts, cd_errinfo *why)
{
    cd_arena a = {0};
    loading l = {.accounts = accounts, .arena = &a};
    cd_err e = cd_json_obj(accounts, why);
    if (e == CD_OK) {
        e = cd_api_edit(d->api, load_accounts, &l, why);
    }
    cd_arena_fini(&a);
    return e;
}

/* The chain's clock is not before the dump's. */
static cd_err follow_clock(cd_dev *d, cd_json dump, cd_errinfo *why)
{
    u64 time;
    cd_json v = cd_json_get(cd_json_get(dump, "block"), "timestamp");
    if (cd_json_has(v) && cd_json_u64(&time, v, NULL) == CD_OK && time <= INT64_MAX &&
        cd__dev_wall(d) + d->lasting.offset < (i64)time) {
        d->lasting.offset = (i64)time - cd__dev_wall(d);
    }
    return cd__dev_save(d, why);
}

cd_err cd__dump_open(cd_json *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_buf plain = {0};
    if (text.n >= 2 && text.p[0] == 0x1f && text.p[1] == 0x8b) {
        if (cd_gzip_dec(&plain, text, DUMP_MAX) != CD_OK) {
            return cd_fail(why, CD_EFORMAT, "damaged gzip");
        }
        text = cd_arena_dup(a, cd_buf_bytes(&plain));
        cd_buf_fini(&plain);
    }
    cd_json doc;
    CD_TRY(cd_json_parse(&doc, a, text, DUMP_MAX, why));
    CD_TRY(cd_json_obj(cd_json_get(doc, "accounts"), why));
    *out = doc;
    return CD_OK;
}

cd_err cd__dump_take(cd_dev *d, cd_json doc, cd_errinfo *why)
{
    const char *only; /* why its accounts are all that is taken */
    cd_err e = cd__dump_take_chain(d, cd_json_get(doc, "candela"), &only, why);
    if (e == CD_OK && only != NULL) {
        e = cd__dump_edit(d, cd_json_get(doc, "accounts"), why);
    }
    CD_TRY(e);
    CD_TRY(follow_clock(d, doc, why));
    if (only == NULL) {
        cd_log_info(d->api->log, "state loaded", CD_F("blocks", cd_chain_head(d->api->chain)->header.number));
    } else {
        cd_log_info(d->api->log, "state loaded, accounts only", CD_F("why", only));
    }
    return cd_api_follow(d->api);
}

cd_err cd__dev_load(cd_rpc_call *call)
{
    cd_bytes data;
    cd_json doc;
    cd_errinfo why = {0};
    cd_arena a = {0};
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, 0), 0));
    cd_err e = cd__dump_open(&doc, &a, data, &why);
    if (e == CD_OK) {
        e = cd__dump_take(cd__dev_of(call), doc, &why);
    }
    cd_arena_fini(&a);
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "Failed to decode state dump: %s",
                           why.msg[0] != '\0' ? why.msg : cd_err_str(e));
    }
    cd_json_w_bool(call->out, true); /* under every name */
    return CD_OK;
}
