/* Who may send without a key. [spec:dev-rpc#2.4] */
#include "base/mem.h"
#include "chains/evmchain/dev/dev.h"
#include "chains/evmchain/dev/ecrecover.h"

enum { IMPERSONATED_MAX = 65536 };

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
    return cd__api_send(call, true);
}
