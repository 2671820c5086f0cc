/* Counters against a plain array: three bytes an operation, few devices and campaigns, epochs that pass. */
#include "services/adx/cap/freq.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { DEVICES = 4, CAMPAIGNS = 4, COUNT_MAX = 12 };

typedef struct model {
    u64 epoch;
    u32 used;
    u32 cnt[DEVICES][CAMPAIGNS];
    u64 cap[DEVICES][CAMPAIGNS];
} model;

static cd_err no_seed(void *ctx, u8 seed[32], cd_errinfo *why)
{
    (void)ctx, (void)seed, (void)why;
    return CD_OK;
}

/* What must come of one check. */
static cd_err expect(model *m, bool *is_allowed, u32 d, u32 c, u64 cap, bool is_peek)
{
    u64 rule = m->cap[d][c] != 0 ? cd_min_u64(m->cap[d][c], cap) : cap;
    *is_allowed = m->cnt[d][c] + 1 <= rule;
    if (!*is_allowed || is_peek) {
        return CD_OK;
    }
    if (m->cap[d][c] == 0) {
        if (m->used == COUNT_MAX) {
            return CD_EFULL;
        }
        m->used++;
        m->cap[d][c] = cap;
    }
    m->cnt[d][c]++;
    return CD_OK;
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_rng rng = cd_rng_seeded(size);
    cd_freq_cfg cfg = {.store = {.seed = no_seed}, .rng = &rng, .window_s = 10, .count_max = COUNT_MAX};
    cd_freq *f;
    model m = {0};
    u64 now = 0;
    CD_ASSERT(cd_freq_new(&f, &cfg, NULL) == CD_OK);
    for (usize i = 0; i + 3 <= size; i += 3) {
        char device[2] = {'d', (char)('0' + data[i] % DEVICES)};
        char campaign[2] = {'c', (char)('0' + data[i] / 16 % CAMPAIGNS)};
        u64 cap = data[i + 1] % 5;
        bool is_peek = (data[i + 2] & 1) != 0;
        now += data[i + 2] / 32;
        if (now / 10 > m.epoch) {
            m = (model){.epoch = now / 10};
        }
        bool want;
        cd_freq_decision got;
        cd_freq_ask ask = {cd_bytes_of(device, 2), cd_bytes_of(campaign, 2), cap, is_peek};
        cd_err e = expect(&m, &want, data[i] % DEVICES, data[i] / 16 % CAMPAIGNS, cap, is_peek);
        CD_ASSERT(cd_freq_check(f, &got, &ask, now) == e);
        CD_ASSERT(e != CD_OK || (got.is_allowed == want && got.epoch == m.epoch));
    }
    CD_ASSERT(cd_freq_counters(f) == m.used);
    cd_freq_free(f);
    return 0;
}
