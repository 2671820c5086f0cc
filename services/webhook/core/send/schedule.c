#include "services/webhook/core/send/schedule.h"

#include "base/num_text.h"
#include "net/http/cond.h"

#define SEC  1000ull
#define MIN  (60 * SEC)
#define HOUR (60 * MIN)

enum { DELAYS_MAX = 7 };

static const struct {
    u32 cnt;
    u64 ms[DELAYS_MAX];
} delays[] = {
    [CD_WH_A] = {4, {30 * SEC, 2 * MIN, 10 * MIN, HOUR}},
    [CD_WH_B] = {5, {10 * SEC, MIN, 10 * MIN, HOUR, 6 * HOUR}},
    [CD_WH_C] = {7, {SEC, 5 * SEC, 30 * SEC, 5 * MIN, 30 * MIN, 2 * HOUR, 8 * HOUR}},
};

u32 cd_wh_attempts_max(cd_wh_face face)
{
    return delays[face].cnt + 1;
}

u64 cd_wh_delay_ms(cd_wh_face face, u32 number)
{
    CD_ASSERT(number >= 1 && number <= delays[face].cnt);
    return delays[face].ms[number - 1];
}

u64 cd_wh_retry_after_ms(cd_bytes text, u64 now_ms)
{
    const u64 most = 24 * HOUR;
    u64 s;
    cd_err e = cd_u64_parse(&s, text);
    if (e == CD_OK || e == CD_ERANGE) {
        return e == CD_OK && s < most / SEC ? s * SEC : most;
    }
    if (cd_http_date_parse(&s, text) != CD_OK || s <= now_ms / SEC) {
        return 0;
    }
    u64 left = s - now_ms / SEC;
    return left < most / SEC ? s * SEC - now_ms : most;
}

static cd_wh_verdict give_up(cd_wh_face face, bool may_end_hook)
{
    return (cd_wh_verdict){
        .state = CD_WH_FAILED,
        .ends_hook = may_end_hook && face != CD_WH_C,
        .hook_status = face == CD_WH_A ? CD_WH_DISABLED : CD_WH_PAUSED,
    };
}

cd_wh_verdict cd_wh_judge(cd_wh_face face, u32 number, const cd_wh_met *met, cd_wh_status hook_status, u64 end_ms,
                          double jitter, cd_rng *rng)
{
    if (met->status >= 200 && met->status <= 299) {
        return (cd_wh_verdict){.state = CD_WH_DELIVERED};
    }
    if (met->is_hopeless) {
        return give_up(face, false);
    }
    if (met->status == 410 || number >= cd_wh_attempts_max(face)) {
        return give_up(face, hook_status == CD_WH_ACTIVE);
    }
    u64 wait = cd_wh_delay_ms(face, number);
    if (met->status == 429 || met->status == 503) {
        wait = cd_max_u64(wait, cd_wh_retry_after_ms(met->retry_after, end_ms));
    }
    u64 span = (u64)((double)wait * jitter);
    return (cd_wh_verdict){
        .state = hook_status == CD_WH_ACTIVE ? CD_WH_RETRYING : CD_WH_HELD,
        .next_ms = end_ms + wait + (span == 0 ? 0 : cd_rng_below(rng, span + 1)),
    };
}
