/* eth_getProof: at the head from the standing tries, on the owner's thread; of an older block from the stored ones.
 * [EIP-1186] [spec:eth-rpc#3] */
#include "chains/evmchain/core/world/proof.h"
#include "base/hex.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "num/u256_text.h"
#include "rpc/param.h"

enum { KEYS_MAX = 1024 };

/* A key as it came: quantities are shown again without leading zeros, words in full. */
typedef struct key_arg {
    cd_u256 value;
    bool is_word;
} key_arg;

static cd_err read_keys(cd_rpc_call *call, key_arg **out, usize *cnt)
{
    cd_json list = cd_rpc_arg(call, 1);
    if (cd_json_kind_of(list) != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 1: json: cannot unmarshal into Go value of type "
                           "[]string");
    }
    *cnt = cd_json_len(list);
    if (*cnt > KEYS_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "too many keys (%zu), at most %d", *cnt, KEYS_MAX);
    }
    *out = cd_arena_array(call->arena, key_arg, *cnt);
    cd_json_it it = cd_json_iter(list);
    for (usize i = 0; cd_json_next(&it); i++) {
        cd_bytes text;
        CD_TRY(cd__api_slot_key(call, &(*out)[i].value, it.val, 1));
        (*out)[i].is_word = cd_json_str(&text, it.val, NULL) == CD_OK && text.n >= 64;
    }
    return CD_OK;
}

/* How far back proofs go on an archive. */
static cd_err check_window(cd_rpc_call *call, u64 number)
{
    u64 window = cd_api_of(call)->service.cfg.proof_window;
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    u64 oldest = window != 0 && head > window ? head - window : 0;
    return number >= oldest
               ? CD_OK
               : cd_rpc_fail(call, CD_RPC_SERVER,
                             "block number %llu is before the oldest allowed block number %llu "
                             "(window of %llu blocks)",
                             (unsigned long long)number, (unsigned long long)oldest, (unsigned long long)window);
}

/* A batch opens the tries of a height once. */
static cd_err open_past(cd_rpc_call *call, cd_world_past **out, u64 number)
{
    cd__api_scope *scope = call->scope;
    cd_view *v = cd_api_view(call);
    cd_errinfo why = {0};
    if (scope->past == NULL || scope->past_number != number) {
        cd_world_past_cfg cfg = {
            .kv = cd_view_kv(v),
            .form = cd_view_rules(v)->account_form,
            .version = cd_world_version_of(number),
        };
        cd_world_past *past;
        cd_err e = cd_world_past_open(&past, &cfg, &why);
        if (e == CD_ELIMIT) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
        }
        if (e != CD_OK) {
            return cd__api_no_state(call, e, number);
        }
        cd_world_past_close(scope->past);
        scope->past = past;
        scope->past_number = number;
    }
    *out = scope->past;
    return CD_OK;
}

static void write_nodes(cd_json_w *w, const char *key, const cd_trie_proof *p)
{
    cd_json_w_key(w, key);
    cd_json_w_arr(w);
    for (usize i = 0; i < p->cnt; i++) {
        cd_json_w_hex(w, p->node[i]);
    }
    cd_json_w_arr_end(w);
}

static void write_proof(cd_json_w *w, const cd_addr20 *addr, const cd_world_proof *p, const key_arg *keys, usize cnt)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "address");
    cd_json_w_hex(w, cd_bytes_of(addr->b, 20));
    write_nodes(w, "accountProof", &p->proof);
    cd_json_w_key(w, "balance");
    cd_json_w_qty_u256(w, &p->account.balance);
    cd_json_put_hash(w, "codeHash", &p->account.code_hash);
    cd_json_w_key(w, "nonce");
    cd_json_w_qty(w, p->account.nonce);
    cd_json_put_hash(w, "storageHash", &p->account.storage_root);
    cd_json_w_key(w, "storageProof");
    cd_json_w_arr(w);
    for (usize i = 0; i < cnt; i++) {
        char text[CD_U256_TEXT_MAX];
        cd_json_w_obj(w);
        cd_json_w_key(w, "key");
        (void)(keys[i].is_word ? cd_u256_fmt_hex64(text, &keys[i].value) : cd_u256_fmt_hex(text, &keys[i].value));
        cd_json_w_cstr(w, text);
        cd_json_w_key(w, "value");
        cd_json_w_qty_u256(w, &p->slots[i].value);
        write_nodes(w, "proof", &p->slots[i].proof);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

cd_err cd__eth_get_proof(cd_rpc_call *call)
{
    cd_block_ref ref;
    cd_world_proof p;
    cd_world_past *past = NULL;
    cd_addr20 addr;
    key_arg *keys;
    usize cnt;
    u64 number;
    bool found;
    cd_errinfo why = {0};
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(read_keys(call, &keys, &cnt));
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 2), 2));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    CD_TRY(check_window(call, number));
    cd_hash32 *words = cd_arena_array(call->arena, cd_hash32, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_u256_store_be(words[i].b, &keys[i].value);
    }
    cd_chain *c = cd_api_of(call)->chain;
    cd_err e;
    if (call->lane == CD_RPC_OWNER && number == cd_chain_head(c)->header.number) {
        e = cd_chain_prove(c, &p, call->arena, &addr, words, cnt, &why);
    } else {
        CD_TRY(open_past(call, &past, number));
        e = cd_world_past_prove(past, &p, call->arena, &addr, words, cnt, &why);
    }
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    write_proof(call->out, &addr, &p, keys, cnt);
    return CD_OK;
}
