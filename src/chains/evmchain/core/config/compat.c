#include "chains/evmchain/core/config/compat.h"

#include <stdio.h>

enum { TEXT_SIZE = 24 };

static const char *when_text(char text[TEXT_SIZE], const cd_when *w)
{
    if (!w->is_set) {
        return "nil";
    }
    (void)snprintf(text, TEXT_SIZE, "%llu", (unsigned long long)w->at);
    return text;
}

cd_err cd_compat_fail(const char *what, const cd_when *old, const cd_when *now, cd_errinfo *why)
{
    char have[TEXT_SIZE];
    char want[TEXT_SIZE];
    u64 first = !old->is_set ? now->at : !now->is_set ? old->at : cd_min_u64(old->at, now->at);
    return cd_fail(why, CD_EINVAL,
                   "mismatching %s in database (have timestamp %s, want timestamp %s, rewindto "
                   "timestamp %llu)",
                   what, when_text(have, old), when_text(want, now), (unsigned long long)(first == 0 ? 0 : first - 1));
}

static bool is_past(const cd_when *w, u64 head_time)
{
    return w->is_set && w->at <= head_time;
}

cd_err cd_compat_times(const cd_chain_config *old, const cd_chain_config *now, u64 head_time, cd_errinfo *why)
{
    const struct {
        const char *name;
        const cd_when *old;
        const cd_when *now;
        bool may_vanish; /* had no effect: may come or go */
    } rows[] = {
        {"EVM fork block timestamp", &old->subnet_evm, &now->subnet_evm, false},
        {"Durango fork block timestamp", &old->durango, &now->durango, false},
        {"Quasar fork block timestamp", &old->etna, &now->etna, false},
        {"Fortuna fork block timestamp", &old->fortuna, &now->fortuna, true},
        {"Granite fork block timestamp", &old->granite, &now->granite, false},
        {"FeeSplit fork block timestamp", &old->fee_split, &now->fee_split, false},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        const cd_when *a = rows[i].old;
        const cd_when *b = rows[i].now;
        bool is_same = a->is_set == b->is_set && (!a->is_set || a->at == b->at);
        bool is_allowed = rows[i].may_vanish && a->is_set != b->is_set;
        if (!is_same && !is_allowed && (is_past(a, head_time) || is_past(b, head_time))) {
            return cd_compat_fail(rows[i].name, a, b, why);
        }
    }
    return CD_OK;
}
