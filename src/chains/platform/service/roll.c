#include "chains/platform/service/service_priv.h"

#include "base/mem/mem.h"

static const cd_hash32 primary;

/* Collects the rows. */
static cd_err collect(cd_buf *rows, const cd_pstate *s)
{
    cd_p_staker_iter it;
    cd__roll_row row = {.accrued = 0};
    usize cnt = 0;
    CD_TRY(cd_pstate_stakers_of_net(s, &it, CD_P_CURRENT, &primary));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_p_staker_next(&it, &row.staker)) {
        const cd_node_id *node = &row.staker.node_id;
        if (cd_p_priority_delegates(row.staker.priority)) {
            continue;
        }
        e = ++cnt > CD__ROLL_MAX ? CD_EFULL : cd_pstate_delegatee_get(s, &row.accrued, &primary, node);
        e = e != CD_OK ? e : cd_pstate_delegated_get(s, &row.delegated, CD_P_CURRENT, &primary, node);
        cd_buf_put(rows, cd_bytes_of(&row, sizeof row));
    }
    e = e != CD_OK ? e : it.err;
    cd_p_staker_iter_fini(&it);
    return e;
}

static cd_err make(cd__roll **out, const cd_pstate *s, const cd_hash32 *block)
{
    cd_buf rows = {0};
    cd_err e = collect(&rows, s);
    if (e == CD_OK) {
        cd__roll *roll = cd_alloc(sizeof *roll + rows.n);
        roll->block = *block;
        roll->refs = 1;
        roll->cnt = rows.n / sizeof roll->v[0];
        if (rows.n != 0) {
            memcpy(roll->v, rows.p, rows.n);
        }
        *out = roll;
    }
    cd_buf_fini(&rows);
    return e;
}

void cd__roll_end(cd_platform_service *service, cd__roll *roll)
{
    if (roll == NULL) {
        return;
    }
    cd_mutex_lock(&service->lock);
    bool is_last = --roll->refs == 0;
    cd_mutex_unlock(&service->lock);
    if (is_last) {
        cd_free(roll);
    }
}

cd_err cd__roll_get(cd__roll **out, cd_platform_service *service, const cd_pstate *s)
{
    cd_hash32 block;
    CD_TRY(cd_pstate_last_get(s, &block));
    cd_mutex_lock(&service->lock);
    cd__roll *roll = service->roll;
    bool is_kept = roll != NULL && cd_hash32_eq(&roll->block, &block);
    if (is_kept) {
        roll->refs++;
    }
    cd_mutex_unlock(&service->lock);
    if (is_kept) {
        *out = roll;
        return CD_OK;
    }
    cd__roll *made;
    CD_TRY(make(&made, s, &block));
    made->refs = 2; /* the service's and the caller's */
    cd_mutex_lock(&service->lock);
    roll = service->roll;
    service->roll = made;
    cd_mutex_unlock(&service->lock);
    cd__roll_end(service, roll);
    *out = made;
    return CD_OK;
}
