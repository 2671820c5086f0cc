/* Who may send without a key, and signatures of the accounts whose keys everybody knows. [spec:dev-rpc#2.4] */
#include "base/mem.h"
#include "chains/evmchain/dev/dev.h"
#include "chains/evmchain/dev/typed_data.h"
#include "crypto/keccak.h"
#include "crypto/secp256k1.h"

enum { IMPERSONATED_MAX = 65536, TYPED_DATA_MAX = 4 << 20 };

/* --- impersonation ------------------------------------------------------------------------------ */

static usize place_of(const cd__dev *d, const cd_addr20 *addr)
{
    usize i = 0;
    while (i < d->impersonated_cnt && !cd_addr20_eq(&d->impersonated[i], addr)) {
        i++;
    }
    return i;
}

bool cd__dev_may_send(const cd__dev *d, const cd_addr20 *addr)
{
    return d->auto_impersonate || place_of(d, addr) != d->impersonated_cnt;
}

void cd__dev_write_impersonated(const cd__dev *d, cd_json_w *w)
{
    for (usize i = 0; d != NULL && i < d->impersonated_cnt; i++) {
        cd_json_w_hex(w, cd_bytes_of(d->impersonated[i].b, 20));
    }
}

cd_err cd__dev_impersonate(cd_rpc_call *call)
{
    cd__dev *d = cd__dev_of(call);
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    if (place_of(d, &addr) == d->impersonated_cnt) {
        if (d->impersonated_cnt == IMPERSONATED_MAX) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "too many impersonated accounts");
        }
        d->impersonated =
            cd_realloc(d->impersonated, (d->impersonated_cnt + 1) * sizeof *d->impersonated);
        d->impersonated[d->impersonated_cnt++] = addr;
    }
    return cd__dev_setter(call);
}

cd_err cd__dev_stop_impersonating(cd_rpc_call *call)
{
    cd__dev *d = cd__dev_of(call);
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    usize at = place_of(d, &addr);
    bool was = at != d->impersonated_cnt;
    if (was) {
        cd_addr20 *p = d->impersonated + at;
        memmove(p, p + 1, (--d->impersonated_cnt - at) * sizeof *p);
    }
    if (cd__dev_is_anvil(call)) {
        return cd__dev_setter(call);
    }
    cd_json_w_bool(call->out, was);
    return CD_OK;
}

cd_err cd__dev_auto_impersonate(cd_rpc_call *call)
{
    CD_TRY(cd_rpc_read_bool(call, &cd__dev_of(call)->auto_impersonate, cd_rpc_arg(call, 0), 0));
    return cd__dev_setter(call);
}

cd_err cd__dev_send_unsigned(cd_rpc_call *call)
{
    return cd__api_send(call, true);
}

/* --- signing ------------------------------------------------------------------------------------ */

static cd_err sign_hash(cd_rpc_call *call, const cd_addr20 *addr, const cd_hash32 *hash)
{
    u8 sig[65];
    const cd__dev_account *from = cd__dev_account_of(cd__vm_of(call), addr);
    if (from == NULL || cd_secp256k1_sign(sig, &sig[64], hash, from->secret) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unknown account");
    }
    sig[64] = (u8)(sig[64] + 27);
    cd_json_w_hex(call->out, cd_bytes_of(sig, sizeof sig));
    return CD_OK;
}

/* EIP-191: the message says itself that it is one, and how long it is. */
static cd_err sign_message(cd_rpc_call *call, usize addr_idx, usize data_idx)
{
    cd_addr20 addr;
    cd_bytes data;
    cd_hash32 hash;
    cd_buf text = {0};
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, addr_idx), addr_idx));
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, data_idx), data_idx));
    cd_buf_fmt(&text,
               "\x19"
               "Ethereum Signed Message:\n%zu",
               data.n);
    cd_buf_put(&text, data);
    cd_keccak256(&hash, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return sign_hash(call, &addr, &hash);
}

cd_err cd__dev_sign(cd_rpc_call *call)
{
    return sign_message(call, 0, 1);
}

cd_err cd__dev_personal_sign(cd_rpc_call *call)
{
    return sign_message(call, 1, 0);
}

cd_err cd__dev_sign_typed(cd_rpc_call *call)
{
    cd_errinfo why = {0};
    cd_json doc = cd_rpc_arg(call, 1);
    cd_addr20 addr;
    cd_hash32 hash;
    cd_bytes text;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    cd_err e = CD_OK;
    if (cd_json_str(&text, doc, NULL) == CD_OK) {
        e = cd_json_parse(&doc, call->arena, text, TYPED_DATA_MAX, &why);
    }
    if (e == CD_OK) {
        e = cd_typed_data_hash(&hash, call->arena, doc, &why);
    }
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 1: %s", why.msg);
    }
    return sign_hash(call, &addr, &hash);
}
