/* Who may send without a key. [spec:dev-rpc#2.4] */
#include "base/mem/mem.h"
#include "chains/evmchain/core/dev/dev_ecrecover.h"
#include "chains/evmchain/dev/dev_priv.h"
#include "chains/evmchain/rpc/sending/send.h"
#include "crypto/ec/secp256k1.h"
#include "wallet/hd.h"

enum { IMPERSONATED_MAX = 65536 };

/* --- keys that everybody knows --- */

cd_err cd__dev_derive_keys(cd_api_account out[CD__DEV_ACCOUNTS])
{
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < CD__DEV_ACCOUNTS; i++) {
        u8 pub[64];
        CD_TRY(cd_hd_account(out[i].secret, seed, i));
        CD_TRY(cd_secp256k1_pub(pub, out[i].secret));
        cd_secp256k1_addr(&out[i].addr, pub);
    }
    return CD_OK;
}

/* --- impersonation --- */

static usize place_of(const cd_dev *d, const cd_addr20 *addr)
{
    usize i = 0;
    while (i < d->impersonated_cnt && !cd_addr20_eq(&d->impersonated[i], addr)) {
        i++;
    }
    return i;
}

bool cd__dev_may_send(const cd_api_dev *dev, const cd_addr20 *addr)
{
    const cd_dev *d = (const cd_dev *)(const void *)dev;
    return d->auto_impersonate || place_of(d, addr) != d->impersonated_cnt;
}

cd_err cd__dev_impersonate(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    if (place_of(d, &addr) == d->impersonated_cnt) {
        if (d->impersonated_cnt == IMPERSONATED_MAX) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "too many impersonated accounts");
        }
        d->impersonated = cd_realloc(d->impersonated, (d->impersonated_cnt + 1) * sizeof *d->impersonated);
        d->impersonated[d->impersonated_cnt++] = addr;
    }
    return cd__dev_setter(call);
}

cd_err cd__dev_stop_impersonating(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
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

/* What a declaration says. */
typedef struct declared {
    cd_addr20 who;
    u8 sig[65];
} declared;

static cd_err declare(void *ctx, cd_state *st, cd_errinfo *why)
{
    const declared *d = ctx;
    (void)why;
    cd_dev_recovers_to(st, d->sig, &d->who);
    return CD_OK;
}

cd_err cd__dev_impersonate_sig(cd_rpc_call *call)
{
    declared d;
    cd_bytes sig;
    CD_TRY(cd_rpc_read_data(call, &sig, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_addr(call, &d.who, cd_rpc_arg(call, 1), 1));
    u8 v = sig.n == sizeof d.sig ? sig.p[64] : 0xff;
    if (v > 1 && v != 27 && v != 28) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: a signature is 65 bytes and ends in 27 or 28");
    }
    memcpy(d.sig, sig.p, sizeof d.sig);
    d.sig[64] = (u8)(v < 27 ? v + 27 : v);
    CD_TRY(cd__dev_edit(call, declare, &d));
    return cd__dev_setter(call);
}

cd_err cd__dev_send_unsigned(cd_rpc_call *call)
{
    return cd_api_send(call, true);
}
