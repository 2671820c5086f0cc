#include "chains/platform/state/nets.h"

#include "chains/platform/txs/exec_priv.h"

cd_err cd__auth(cd_p_exec *x, cd__flow *f, const cd_owners *owners, const cd_linear_any *auth, cd_errinfo *why)
{
    const cd_linear_any *creds = f->tx->tx.creds.v;
    const cd_fx_at at = {.hash = &f->tx->hash, .now = f->now};
    if (f->cred_cnt == 0) {
        return cd_fail(why, CD_EINVAL, "wrong number of credentials");
    }
    cd_err e = cd_fx_permit(x->fx, &at, auth->v, creds[f->cred_cnt - 1].v, owners, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "unauthorized modification");
    }
    f->cred_cnt--;
    return CD_OK;
}

static cd_err is_mutable(cd_p_exec *x, cd__flow *f, const cd_hash32 *net, cd_errinfo *why)
{
    cd_p_conversion c;
    cd_err e = cd_pstate_conversion_get(x->state, &c, f->a, net);
    if (e == CD_OK) {
        return cd_fail(why, CD_EINVAL, "\"%s\" is immutable", cd_text_id(net).s);
    }
    return e == CD_ENOENT ? CD_OK : e;
}

cd_err cd__net_auth(cd_p_exec *x, cd__flow *f, const cd_hash32 *net, const cd_linear_any *auth, bool poa,
                    cd_errinfo *why)
{
    cd_owners owners;
    cd_err e = cd_pstate_net_owner_get(x->state, &owners, f->a, net);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "not found");
    }
    CD_TRY(e);
    CD_TRY(cd__auth(x, f, &owners, auth, why));
    return poa ? is_mutable(x, f, net, why) : CD_OK;
}

static cd_err create_chain(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_create_chain *t = f->tx->tx.body.v;
    cd_p_chain c = {.id = f->tx->id, .net_id = t->net_id, .vm_id = t->vm_id};
    CD_TRY(cd__net_auth(x, f, &t->net_id, &t->net_auth, true, why));
    CD_TRY(cd__flow_check(x, f, why));
    CD_ASSERT(t->name.n < sizeof c.name); /* of cd_ptx_shape */
    if (t->name.n != 0) {
        memcpy(c.name, t->name.p, t->name.n);
    }
    CD_TRY(cd_pstate_chain_put(x->state, &c));
    return cd__flow_write(x, f, NULL);
}

static cd_err create_net(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_create_net *t = f->tx->tx.body.v;
    CD_TRY(cd__flow_check(x, f, why));
    CD_TRY(cd_pstate_net_put(x->state, &f->tx->id, t->owner.v));
    return cd__flow_write(x, f, NULL);
}

static cd_err transfer(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_transfer_net_ownership *t = f->tx->tx.body.v;
    CD_TRY(cd__net_auth(x, f, &t->net_id, &t->net_auth, false, why));
    cd_err e = cd__flow_check(x, f, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "flow check failed");
    }
    CD_TRY(cd_pstate_net_owner_set(x->state, &t->net_id, t->new_owner.v));
    return cd__flow_write(x, f, NULL);
}

cd_err cd__exec_net(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    switch (f->tx->tx.body.is->id) {
    case CD_P_CREATE_CHAIN:
        return create_chain(x, f, why);
    case CD_P_CREATE_NET:
        return create_net(x, f, why);
    case CD_P_TRANSFER_NET_OWNERSHIP:
        return transfer(x, f, why);
    }
    CD_UNREACHABLE();
}
