/* Keys of the node, and what is signed with them at once: messages and structured data. [spec:eth-rpc#4] */
#include "chains/evmchain/rpc/sending/keys.h"

#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/sending/typed_data.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/keccak.h"
#include "rpc/param.h"

enum { TYPED_DATA_MAX = 4 << 20 };

cd_err cd_keys_open(cd_api *e, cd_errinfo *why)
{
    cd_bytes dir = e->config->keystore_dir;
    cd_keystore_cfg cfg = {.dir = NULL};
    if (e->config->keystore_signer.n != 0) {
        return cd_fail(why, CD_EUNSUPPORTED,
                       "keystore-external-signer: other programs are not asked to sign; put key "
                       "files into \"keystore-directory\"");
    }
    if (dir.n != 0) {
        cfg.dir = cd_arena_str(e->arena, dir);
    } else if (e->dir != NULL && cd_rpc_table_is_on(e->service.methods, "internal-personal")) {
        cfg.dir = cd_arena_fmt(e->arena, "%s/keystore", e->dir);
    }
    return cfg.dir == NULL ? CD_OK : cd_keystore_open(&e->keystore, &cfg, why);
}

const cd_api_account *cd__known_account(const cd_api *e, const cd_addr20 *addr)
{
    for (usize i = 0; i < e->account_cnt; i++) {
        if (cd_addr20_eq(&e->accounts[i].addr, addr)) {
            return &e->accounts[i];
        }
    }
    return NULL;
}

bool cd__keys_knows(const cd_api *e, const cd_addr20 *addr)
{
    return cd__known_account(e, addr) != NULL || (e->keystore != NULL && cd_keystore_has(e->keystore, addr));
}

cd_err cd__keys_get(cd_rpc_call *call, u8 out[32], const cd_addr20 *addr)
{
    const cd_api *e = cd_api_of(call);
    const cd_api_account *dev = cd__known_account(e, addr);
    if (dev != NULL) {
        memcpy(out, dev->secret, 32);
        return CD_OK;
    }
    if (e->keystore != NULL && cd_keystore_key(e->keystore, out, addr) == CD_OK) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s",
                       cd__keys_knows(e, addr) ? "authentication needed: password or unlock" : "unknown account");
}

cd_err cd__keys_sign_tx(cd_rpc_call *call, cd_tx *tx)
{
    u8 key[32];
    CD_TRY(cd__keys_get(call, key, &tx->sender));
    cd_err e = cd_tx_sign(tx, key);
    cd_wipe(key, sizeof key);
    CD_ASSERT(e == CD_OK); /* keys are looked at when they come in */
    return CD_OK;
}

void cd__keys_write_sig(cd_rpc_call *call, const u8 key[32], const cd_hash32 *digest)
{
    u8 sig[65];
    cd_err e = cd_secp256k1_sign(sig, &sig[64], digest, key);
    CD_ASSERT(e == CD_OK);
    sig[64] = (u8)(sig[64] + 27);
    cd_json_w_hex(call->out, cd_bytes_of(sig, sizeof sig));
}

void cd__keys_digest(cd_hash32 *out, cd_bytes message)
{
    cd_buf text = {0};
    cd_buf_fmt(&text,
               "\x19"
               "Ethereum Signed Message:\n%zu",
               message.n);
    cd_buf_put(&text, message);
    cd_keccak256(out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static cd_err sign_digest(cd_rpc_call *call, const cd_addr20 *addr, const cd_hash32 *digest)
{
    u8 key[32];
    CD_TRY(cd__keys_get(call, key, addr));
    cd__keys_write_sig(call, key, digest);
    cd_wipe(key, sizeof key);
    return CD_OK;
}

cd_err cd__eth_sign(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_bytes data;
    cd_hash32 digest;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, 1), 1));
    cd__keys_digest(&digest, data);
    return sign_digest(call, &addr, &digest);
}

cd_err cd__eth_sign_typed(cd_rpc_call *call)
{
    cd_errinfo why = {0};
    cd_json doc = cd_rpc_arg(call, 1);
    cd_addr20 addr;
    cd_hash32 digest;
    cd_bytes text;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    cd_err e = CD_OK;
    if (cd_json_str(&text, doc, NULL) == CD_OK) {
        e = cd_json_parse(&doc, call->arena, text, TYPED_DATA_MAX, &why);
    }
    if (e == CD_OK) {
        e = cd_typed_data_hash(&digest, call->arena, doc, &why);
    }
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 1: %s", why.msg);
    }
    return sign_digest(call, &addr, &digest);
}

cd_err cd_eth_accounts(cd_rpc_call *call)
{
    const cd_api *e = cd_api_of(call);
    const cd_keystore_account *list = NULL;
    cd_errinfo why = {0};
    usize cnt = 0;
    if (e->keystore != NULL && cd_keystore_list(e->keystore, &list, &cnt, call->arena, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    cd_json_w_arr(call->out);
    for (usize i = 0; i < e->account_cnt; i++) {
        cd_json_w_hex(call->out, cd_bytes_of(e->accounts[i].addr.b, 20));
    }
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_hex(call->out, cd_bytes_of(list[i].addr.b, 20));
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}
