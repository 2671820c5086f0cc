#include "net/http/guard.h"

enum { CREDIT_MAX = 2000, CREDIT_PER_S = 200, EARN_BYTES = 1024 /* of body, for one */ };

void cd_h2_guard_init(cd_h2_guard *g, u64 now_ms)
{
    *g = (cd_h2_guard){.credit = CREDIT_MAX, .credit_ms = now_ms};
}

bool cd_h2_guard_pay(cd_h2_guard *g, u32 cost, u64 now_ms)
{
    if (g->credit < cost) {
        u64 earned = (now_ms - g->credit_ms) * CREDIT_PER_S / 1000;
        g->credit = (u32)cd_min_u64(g->credit + earned, CREDIT_MAX);
        g->credit_ms = now_ms;
    }
    if (g->credit < cost) {
        return false;
    }
    g->credit -= cost;
    return true;
}

void cd_h2_guard_earn(cd_h2_guard *g, u32 credit)
{
    g->credit = (u32)cd_min_u64((u64)g->credit + credit, CREDIT_MAX);
}

void cd_h2_guard_earn_bytes(cd_h2_guard *g, usize n)
{
    g->earned_bytes += n;
    cd_h2_guard_earn(g, (u32)cd_min_u64(g->earned_bytes / EARN_BYTES, CREDIT_MAX));
    g->earned_bytes %= EARN_BYTES;
}

bool cd_h2_guard_open(cd_h2_guard *g, i32 id)
{
    if (id > g->newest_id) {
        g->skipped_from = g->newest_id + 1;
        g->newest_id = id;
        return true;
    }
    return id < g->skipped_from || id == g->newest_id;
}
