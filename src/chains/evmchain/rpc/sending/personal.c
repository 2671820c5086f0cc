/* personal_ methods: accounts of the node's keystore, and signatures for a password. [spec:eth-rpc#4]
 * [spec:decisions#D31]
 *
 * Checking a password takes a second and much memory, so it is done on a reader's thread; what must follow on the
 * executor is handed over then. */
#include "base/hex.h"
#include "base/log/log.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/sending/keys.h"
#include "chains/evmchain/rpc/sending/send.h"
#include "crypto/ec/secp256k1.h"
#include "rpc/param.h"
#include "types/addr_text.h"
#include "wallet/hd.h"

enum { UNLOCK_S = 300 };

static const char url_head[] = "keystore://";

/* --- parameters --- */

static cd_err read_text(cd_rpc_call *call, cd_bytes *out, usize idx)
{
    if (cd_json_str(out, cd_rpc_arg(call, idx), NULL) == CD_OK) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                       "invalid argument %zu: json: cannot unmarshal value into Go value of type "
                       "string",
                       idx);
}

static cd_err need_keystore(cd_rpc_call *call, cd_keystore **out)
{
    *out = cd_api_of(call)->keystore;
    return *out != NULL ? CD_OK
                        : cd_rpc_fail(call, CD_RPC_SERVER,
                                      "no keystore: set \"keystore-directory\" in the configuration of "
                                      "the chain");
}

/* Before a password is looked at. */
static cd_err may_take_long(cd_rpc_call *call)
{
    CD_ASSERT(call->lane != CD_RPC_OWNER); /* others would wait */
    return cd_rpc_is_late(call) ? cd_rpc_fail_late(call) : CD_OK;
}

/* What the keystore said. */
static cd_err fail_keystore(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why->msg[0] != '\0' ? why->msg : cd_err_str(e));
}

/* The key of an account for its password; the development network's need none. The caller ends it. */
static cd_err open_key(cd_rpc_call *call, cd_secret *out, const cd_addr20 *addr, cd_bytes password)
{
    const cd_api *e = cd_api_of(call);
    const cd_api_account *dev = cd__known_account(e, addr);
    cd_errinfo why = {0};
    if (dev != NULL) {
        cd_secret_init(out, sizeof dev->secret);
        memcpy(out->p, dev->secret, sizeof dev->secret);
        return CD_OK;
    }
    if (!cd__keys_knows(e, addr)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unknown account");
    }
    CD_TRY(may_take_long(call));
    cd_err err = cd_keystore_open_key(e->keystore, out, addr, password, &why);
    return err == CD_OK ? CD_OK : fail_keystore(call, err, &why);
}

/* --- accounts --- */

cd_err cd__personal_list_wallets(cd_rpc_call *call)
{
    const cd_api *e = cd_api_of(call);
    const cd_keystore_account *list = NULL;
    cd_errinfo why = {0};
    cd_json_w *w = call->out;
    usize cnt = 0;
    if (e->keystore != NULL) {
        cd_err err = cd_keystore_list(e->keystore, &list, &cnt, call->arena, &why);
        if (err != CD_OK) {
            return fail_keystore(call, err, &why);
        }
    }
    cd_json_w_arr(w);
    for (usize i = 0; i < cnt; i++) {
        const char *url = cd_arena_fmt(call->arena, "%s%s", url_head, list[i].path);
        cd_json_w_obj(w);
        cd_json_w_key(w, "url");
        cd_json_w_cstr(w, url);
        cd_json_w_key(w, "status");
        cd_json_w_cstr(w, list[i].is_unlocked ? "Unlocked" : "Locked");
        cd_json_w_key(w, "accounts");
        cd_json_w_arr(w);
        cd_json_w_obj(w);
        cd_json_w_key(w, "address");
        cd_json_w_hex(w, cd_bytes_of(list[i].addr.b, 20));
        cd_json_w_key(w, "url");
        cd_json_w_cstr(w, url);
        cd_json_w_obj_end(w);
        cd_json_w_arr_end(w);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    return CD_OK;
}

/* Fails the call unless parameter 0 is the URL of a wallet of ours. */
static cd_err need_wallet(cd_rpc_call *call)
{
    const cd_api *e = cd_api_of(call);
    const cd_keystore_account *list = NULL;
    cd_bytes url;
    usize cnt = 0;
    usize head = strlen(url_head);
    CD_TRY(read_text(call, &url, 0));
    if (e->keystore != NULL && url.n >= head && memcmp(url.p, url_head, head) == 0 &&
        cd_keystore_list(e->keystore, &list, &cnt, call->arena, NULL) == CD_OK) {
        cd_bytes path = cd_bytes_sub(url, head, url.n - head);
        for (usize i = 0; i < cnt; i++) {
            if (cd_bytes_eq(path, cd_bytes_str(list[i].path))) {
                return CD_OK;
            }
        }
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "unknown wallet");
}

/* A file has nothing to open; its key is opened by unlocking the account. */
cd_err cd__personal_open_wallet(cd_rpc_call *call)
{
    CD_TRY(need_wallet(call));
    cd_json_w_null(call->out);
    return CD_OK;
}

/* What only hardware does. */
cd_err cd__personal_derive_account(cd_rpc_call *call)
{
    CD_TRY(need_wallet(call));
    return cd_rpc_fail(call, CD_RPC_SERVER, "not supported");
}

cd_err cd__personal_initialize_wallet(cd_rpc_call *call)
{
    CD_TRY(need_wallet(call));
    return cd_rpc_fail(call, CD_RPC_SERVER, "specified wallet does not support initialization");
}

cd_err cd__personal_unpair(cd_rpc_call *call)
{
    CD_TRY(need_wallet(call));
    return cd_rpc_fail(call, CD_RPC_SERVER, "specified wallet does not support pairing");
}

/* The account that was made. */
static cd_err made(cd_rpc_call *call, const cd_addr20 *addr)
{
    char text[CD_ADDR_TEXT_SIZE];
    cd_log_info(cd_api_of(call)->log, "account made: back up its file, remember its password",
                CD_F("address", cd_addr_fmt(text, addr)));
    cd_json_w_cstr(call->out, cd_addr_fmt(text, addr));
    return CD_OK;
}

cd_err cd__personal_new_account(cd_rpc_call *call)
{
    cd_keystore *ks;
    cd_bytes password;
    cd_addr20 addr;
    cd_errinfo why = {0};
    CD_TRY(read_text(call, &password, 0));
    CD_TRY(need_keystore(call, &ks));
    CD_TRY(may_take_long(call));
    cd_err e = cd_keystore_new(ks, &addr, password, &why);
    return e == CD_OK ? made(call, &addr) : fail_keystore(call, e, &why);
}

/* Digits of a private key, "0x" in front or not, with Go's words. */
static cd_err read_key(cd_rpc_call *call, u8 out[32], cd_bytes text)
{
    if (text.n >= 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x') {
        text = cd_bytes_sub(text, 2, text.n - 2);
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        bool is_digit = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
        if (!is_digit) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "invalid hex character in private key");
        }
    }
    if (text.n != 64) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "invalid length, need 256 bits");
    }
    return cd_hex_parse(out, text);
}

static cd_err refuse_known_key(cd_rpc_call *call, const u8 key[32])
{
    cd_errinfo why = {0};
    cd_err e = cd_hd_own_ok(key, cd_api_of(call)->network_id, &why);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

cd_err cd__personal_import_raw_key(cd_rpc_call *call)
{
    cd_keystore *ks;
    cd_bytes digits;
    cd_bytes password;
    cd_addr20 addr;
    cd_errinfo why = {0};
    u8 key[32];
    CD_TRY(read_text(call, &digits, 0));
    CD_TRY(read_text(call, &password, 1));
    CD_TRY(need_keystore(call, &ks));
    CD_TRY(may_take_long(call));
    CD_TRY(read_key(call, key, digits));
    cd_err e = refuse_known_key(call, key);
    if (e == CD_OK) {
        e = cd_keystore_import(ks, &addr, key, password, &why);
        e = e == CD_OK ? made(call, &addr) : fail_keystore(call, e, &why);
    }
    cd_wipe(key, sizeof key);
    return e;
}

static void nothing(void *arg)
{
    (void)arg;
}

cd_err cd__personal_unlock_account(cd_rpc_call *call)
{
    cd_api *e = cd_api_of(call);
    cd_keystore *ks;
    cd_addr20 addr;
    cd_bytes password;
    cd_errinfo why = {0};
    char text[CD_ADDR_TEXT_SIZE];
    u64 seconds = UNLOCK_S;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(read_text(call, &password, 1));
    if (cd_rpc_has_arg(call, 2) && cd_json_u64(&seconds, cd_rpc_arg(call, 2), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 2: json: cannot unmarshal value into Go value of type "
                           "uint64");
    }
    if (!e->config->keystore_insecure) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "account unlock with HTTP access is forbidden");
    }
    if (seconds > INT64_MAX / CD_NS_PER_SEC) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unlock duration too large");
    }
    CD_TRY(need_keystore(call, &ks));
    CD_TRY(may_take_long(call));
    cd_err err = cd_keystore_unlock(ks, &addr, password, seconds * CD_NS_PER_SEC, &why);
    if (err != CD_OK) {
        cd_log_warn(e->log, "an account was not unlocked", CD_F("address", cd_addr_fmt(text, &addr)),
                    CD_F("error", (const char *)why.msg));
        return fail_keystore(call, err, &why);
    }
    /* So that the executor wakes when the key is to be wiped; if it is too busy, the next call of it does. */
    (void)!cd__api_on_owner(call, nothing, NULL);
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

cd_err cd__personal_lock_account(cd_rpc_call *call)
{
    cd_api *e = cd_api_of(call);
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    if (e->keystore != NULL) {
        cd_keystore_lock(e->keystore, &addr);
    }
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

/* --- signatures --- */

/* With a password, or with the key of an unlocked account without one, as development tools ask. */
cd_err cd__personal_sign(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_bytes data;
    cd_bytes password = {0};
    cd_hash32 digest;
    cd_secret key = {0};
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 1), 1));
    cd__keys_digest(&digest, data);
    if (cd_rpc_has_arg(call, 2)) {
        CD_TRY(read_text(call, &password, 2));
        CD_TRY(open_key(call, &key, &addr, password));
        cd__keys_write_sig(call, key.p, &digest);
        cd_secret_fini(&key);
        return CD_OK;
    }
    u8 plain[32];
    CD_TRY(cd__keys_get(call, plain, &addr));
    cd__keys_write_sig(call, plain, &digest);
    cd_wipe(plain, sizeof plain);
    return CD_OK;
}

cd_err cd__personal_ec_recover(cd_rpc_call *call)
{
    cd_bytes data;
    cd_bytes sig;
    cd_hash32 digest;
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_data(call, &sig, cd_rpc_arg(call, 1), 1));
    if (sig.n != 65) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "signature must be 65 bytes long");
    }
    if (sig.p[64] != 27 && sig.p[64] != 28) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "invalid Ethereum signature (V is not 27 or 28)");
    }
    cd__keys_digest(&digest, data);
    if (cd_secp256k1_recover_addr(&addr, &digest, sig.p, (u8)(sig.p[64] - 27)) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "recovery failed");
    }
    cd_json_w_hex(call->out, cd_bytes_of(addr.b, 20));
    return CD_OK;
}

cd_err cd__personal_sign_tx(cd_rpc_call *call)
{
    cd__tx_args args;
    cd_bytes password;
    cd_secret key = {0};
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(read_text(call, &password, 1));
    const char *lacks = !args.has_from    ? "sender not specified"
                        : !args.has_gas   ? "gas not specified"
                        : !args.has_price ? "missing gasPrice or maxFeePerGas/maxPriorityFeePerGas"
                        : !args.has_nonce ? "nonce not specified"
                                          : NULL;
    if (lacks != NULL) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", lacks);
    }
    CD_TRY(open_key(call, &key, &args.tx.sender, password));
    cd_err e = cd_tx_sign(&args.tx, key.p);
    cd_secret_fini(&key);
    CD_ASSERT(e == CD_OK);
    cd__api_write_filled(call->out, &args.tx, true);
    return CD_OK;
}

/* A transaction on its way to the pool, its key at hand. */
typedef struct errand {
    cd_rpc_call *call;
    cd__tx_args *args;
    const u8 *key;
    cd_err err;
} errand;

static cd_err complete_and_send(cd_rpc_call *call, cd__tx_args *args, const u8 *key)
{
    cd_buf raw = {0};
    CD_TRY(cd__api_complete(call, args));
    cd_err e = cd_tx_sign(&args->tx, key);
    CD_ASSERT(e == CD_OK);
    cd_tx_enc(&raw, &args->tx);
    e = cd__api_send_raw(call, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return e;
}

static void run_errand(void *arg)
{
    errand *job = arg;
    job->err = complete_and_send(job->call, job->args, job->key);
}

cd_err cd__personal_send_tx(cd_rpc_call *call)
{
    cd__tx_args args;
    cd_bytes password;
    cd_secret key = {0};
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(read_text(call, &password, 1));
    if (args.tx.is_create && args.tx.data.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "contract creation without any data provided");
    }
    CD_TRY(open_key(call, &key, &args.tx.sender, password));
    errand job = {.call = call, .args = &args, .key = key.p};
    cd_err e = cd__api_on_owner(call, run_errand, &job);
    e = e == CD_OK ? job.err : e;
    cd_secret_fini(&key);
    cd__api_renew(call);
    return e;
}
