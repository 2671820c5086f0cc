#include "chains/platform/l1/gather.h"

#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"

static bool is_zero(const u8 *p, usize n)
{
    u8 any = 0;
    for (usize i = 0; i < n; i++) {
        any |= p[i];
    }
    return any == 0;
}

static cd_err read_manager(cd_l1_facts *f, cd_arena *a, const cd_pstate *s, const cd_hash32 *net)
{
    enum { ADDRESS = 20 };
    cd_p_conversion c;
    cd_p_chain chain;
    CD_TRY(cd_pstate_conversion_get(s, &c, a, net));
    f->has_address = c.address.n == ADDRESS && !is_zero(c.address.p, c.address.n);
    cd_err e = cd_pstate_chain_get(s, &chain, &c.chain_id);
    f->manager = e == CD_ENOENT                     ? CD_L1_MANAGER_NOWHERE
                 : cd_hash32_eq(&chain.net_id, net) ? CD_L1_MANAGER_OWN
                                                    : CD_L1_MANAGER_OTHER;
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_l1_member member_of(const cd_p_l1 *v, u64 accrued)
{
    return (cd_l1_member){
        .validation_id = v->validation_id,
        .node_id = v->node_id,
        .weight = v->weight,
        .balance = v->end_fee > accrued ? v->end_fee - accrued : 0,
        .has_key = !is_zero(v->key, sizeof v->key),
    };
}

/* The key and owners of a validator are many bytes; what is kept of it is few. */
static cd_err read_members(cd_buf *out, const cd_pstate *s, u64 accrued, const cd_hash32 *net)
{
    enum { STEP = 256 };
    cd_arena a = {0};
    cd_hash32 after = {{0}};
    cd_err e = CD_OK;
    for (usize n = STEP; e == CD_OK && n == STEP;) {
        cd_p_l1 *v;
        cd_arena_reset(&a);
        e = cd_pstate_l1_of_net(s, &v, &n, &a, net, &after, STEP);
        for (usize i = 0; e == CD_OK && i < n; i++) {
            const cd_l1_member m = member_of(&v[i], accrued);
            cd_buf_put(out, cd_bytes_of(&m, sizeof m));
            after = v[i].validation_id;
        }
        if (e == CD_OK && out->n / sizeof(cd_l1_member) > CD_L1_MEMBERS_MAX) {
            e = CD_ELIMIT;
        }
    }
    cd_arena_fini(&a);
    return e;
}

/* What has passed since the last block is not paid yet, and will be. */
static void take_off(cd_l1_member *v, usize cnt, u64 seconds)
{
    for (usize i = 0; i < cnt; i++) {
        v[i].left_s -= v[i].left_s == CD_L1_FAR_S ? 0 : cd_min_u64(seconds, v[i].left_s);
        v[i].worst_s -= v[i].worst_s == CD_L1_FAR_S ? 0 : cd_min_u64(seconds, v[i].worst_s);
    }
}

cd_err cd_l1_gather(cd_l1_facts *f, cd_l1_member **members, cd_arena *a, const cd_pstate *s, const cd_l1_fee_config *c,
                    const cd_hash32 *net, u64 now_s)
{
    cd_l1_facts out = {.quorum = cd_l1_quorum_default(), .now_s = now_s};
    cd_l1_fee_state fee = {0};
    u64 accrued;
    u64 time;
    cd_buf raw = {0};
    CD_TRY(read_manager(&out, a, s, net));
    CD_TRY(cd_pstate_num_get(s, &accrued, CD_PSTATE_ACCRUED_FEES));
    CD_TRY(cd_pstate_num_get(s, &fee.excess, CD_PSTATE_L1_EXCESS));
    CD_TRY(cd_pstate_num_get(s, &fee.current, CD_PSTATE_ACTIVE_L1));
    CD_TRY(cd_pstate_num_get(s, &time, CD_PSTATE_TIME));
    cd_err e = read_members(&raw, s, accrued, net);
    if (e == CD_OK) {
        out.cnt = raw.n / sizeof(cd_l1_member);
        *members = cd_arena_array(a, cd_l1_member, out.cnt + 1);
        if (out.cnt != 0) {
            memcpy(*members, raw.p, raw.n);
        }
        cd_l1_forecast(*members, out.cnt, a, fee, c);
        take_off(*members, out.cnt, now_s > time ? now_s - time : 0);
        out.v = *members;
        *f = out;
    }
    cd_buf_fini(&raw);
    return e;
}

void cd_l1_look_around(cd_l1_facts *f, cd_l1_member *v, cd_uptime *uptime)
{
    for (usize i = 0; uptime != NULL && i < f->cnt; i++) {
        v[i].reach = cd_uptime_is_connected(uptime, &v[i].node_id) ? CD_L1_THERE : CD_L1_AWAY;
        f->has_reach = f->has_reach || v[i].reach == CD_L1_THERE;
    }
    for (usize i = 0; !f->has_reach && i < f->cnt; i++) {
        v[i].reach = CD_L1_REACH_UNKNOWN;
    }
}
