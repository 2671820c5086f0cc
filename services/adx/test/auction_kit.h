/* services/adx/test/auction_kit.h - sealed auctions made up for tests: bidders with openings, settled at once. */
#ifndef CD_ADX_TEST_AUCTION_KIT_H
#define CD_ADX_TEST_AUCTION_KIT_H

#include "services/adx/auction/outcome.h"

enum { KIT_MAX = 80 };

typedef struct kit {
    cd_hash32 auction;
    u32 cnt;
    cd_sealed bids[KIT_MAX];
    cd_opening openings[KIT_MAX];
    bool is_forfeited[KIT_MAX];
} kit;

/* One bid; its range proof is left out, only its digest stands in the log. */
__attribute__((unused)) static void kit_bid(kit *k, cd_rng *rng, u64 value, bool is_forfeited)
{
    u8 wide[64];
    char name[32];
    cd_point c;
    cd_hash32 commitment;
    u32 i = k->cnt++;
    cd_buf text = {0};
    cd_rng_fill(rng, wide, sizeof wide);
    k->openings[i] = (cd_opening){.value = value, .blinding = cd_scalar_wide(wide)};
    cd_scalar v = cd_scalar_u64(value);
    cd_pedersen(&c, &v, &k->openings[i].blinding);
    cd_point_put(commitment.b, &c);
    cd_buf_fmt(&text, "dsp-%u", i);
    memcpy(name, text.p, text.n);
    cd_sealed_make(&k->bids[i], cd_bytes_of(name, text.n), &commitment, cd_bytes_of(wide, 64));
    cd_buf_fini(&text);
    k->is_forfeited[i] = is_forfeited;
}

__attribute__((unused)) static void kit_settle(cd_outcome *o, cd_arena *a, const kit *k, u64 reserve, cd_rng *rng)
{
    cd_outcome_settle(o, a, &k->auction, reserve, k->bids, k->is_forfeited, k->openings, k->cnt, rng);
}

#endif
