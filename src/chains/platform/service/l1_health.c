/* getL1Health, a method of our own: how an L1 is, as the state and this node's peers tell. */
#include "chains/platform/l1/gather.h"
#include "chains/platform/service/service_priv.h"

cd_err cd__platform_l1_health(cd_rpc_call *call)
{
    enum { WITHIN_S = 7 * 86400 };
    const cd__platform_l1_health_args *args = call->args;
    const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
    cd_pstate s;
    u64 height;
    cd_l1_facts f;
    cd_l1_member *v;
    cd_l1_health h;
    CD_TRY(cd__state_of(&s, call));
    CD_TRY(cd__number(call, &height, &s, CD_PSTATE_LAST_HEIGHT));
    cd_err e = cd_l1_gather(&f, &v, call->arena, &s, cfg->l1_fee, &args->net_id, cd_clock_wall_s(cfg->clock));
    if (e != CD_OK) {
        return cd__fail(call, "\"%s\" is no L1: %s", cd__id_text(call, &args->net_id), cd__words(e));
    }
    f.within_s = args->within_s != 0 ? args->within_s : WITHIN_S;
    cd_l1_look_around(&f, v, cfg->uptime);
    cd_l1_diagnose(&h, call->arena, &f);
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, cd__service_of(call)->net_id, &args->net_id);
    cd_json_put_dec(call->out, "height", height);
    cd_l1_health_put(call->out, call->arena, &h, &f, true);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}
