/* bench-proofs: what proofs and frequency capping cost, in CPU time of one thread, minima over rounds. One JSON line:
 * a range proof made, verified alone and among 32; the outcome of 32 bids settled and verified; ten million counters,
 * a check each. Usage: bench-proofs [COUNTERS] */
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/os/procstat.h"
#include "services/adx/cap/freq.h"
#include "services/adx/test/auction_kit.h"

#include <stdio.h>

enum { BIDS = 32, ROUNDS = 20 };

typedef struct sealed_bid {
    cd_merlin transcript;
    cd_hash32 commitment;
    u8 proof[CD_RANGEPROOF_SIZE_ONE];
} sealed_bid;

static double min_us(double best, u64 from_ns, u64 cnt)
{
    double us = (double)(cd_clock_thread_ns() - from_ns) / 1e3 / (double)cnt;
    return best == 0 || us < best ? us : best;
}

static void range_proofs(void)
{
    static sealed_bid bids[BIDS];
    static const cd_hash32 auction = {{1}};
    cd_rangeproof_claim claims[BIDS];
    cd_rng rng = cd_rng_seeded(1);
    double prove = 0;
    double alone = 0;
    double together = 0;
    for (u32 i = 0; i < BIDS; i++) {
        sealed_bid *b = &bids[i];
        cd_opening o = {.value = 1000000 + i, .blinding = cd_scalar_u64(77 + i)};
        cd_sealed_transcript(&b->transcript, &auction, cd_bytes_str("dsp"), (cd_bytes){0});
        u64 t = cd_clock_thread_ns();
        cd_sealed_prove(&b->commitment, b->proof, &b->transcript, &o, &rng);
        prove = min_us(prove, t, 1);
        claims[i] = (cd_rangeproof_claim){&b->transcript, &b->commitment, 1, cd_bytes_of(b->proof, sizeof b->proof)};
    }
    for (u32 round = 0; round < ROUNDS; round++) {
        u64 t = cd_clock_thread_ns();
        for (u32 i = 0; i < BIDS; i++) {
            cd_err e = cd_rangeproof_verify(&claims[i]);
            CD_ASSERT(e == CD_OK);
        }
        alone = min_us(alone, t, BIDS);
        t = cd_clock_thread_ns();
        cd_err e = cd_rangeproof_verify_many(claims, BIDS);
        CD_ASSERT(e == CD_OK);
        together = min_us(together, t, BIDS);
    }
    (void)printf("\"prove_us\":%.1f,\"verify_us\":%.1f,\"verify_of_32_us\":%.1f", prove, alone, together);
}

static void outcomes(void)
{
    static kit k;
    cd_rng rng = cd_rng_seeded(2);
    double settle = 0;
    double verify = 0;
    for (u32 i = 0; i < BIDS; i++) {
        kit_bid(&k, &rng, 1000000 + cd_rng_below(&rng, 1000000), false);
    }
    for (u32 round = 0; round < ROUNDS / 4; round++) {
        cd_arena mem = {0};
        cd_outcome o;
        u64 t = cd_clock_thread_ns();
        kit_settle(&o, &mem, &k, 1000, &rng);
        settle = min_us(settle, t, 1);
        t = cd_clock_thread_ns();
        cd_err e = cd_outcome_verify(&o, NULL);
        CD_ASSERT(e == CD_OK);
        verify = min_us(verify, t, 1);
        cd_arena_fini(&mem);
    }
    (void)printf(",\"settle_32_us\":%.0f,\"verify_outcome_32_us\":%.0f", settle, verify);
}

static cd_err no_seed(void *ctx, u8 seed[32], cd_errinfo *why)
{
    (void)ctx, (void)seed, (void)why;
    return CD_OK;
}

static u64 resident(void)
{
    cd_proc_mem mem;
    cd_proc_mem_get(&mem);
    return mem.resident;
}

static void counters(u64 cnt)
{
    cd_rng rng = cd_rng_seeded(3);
    cd_freq_cfg cfg = {.store = {.seed = no_seed}, .rng = &rng, .count_max = cnt};
    cd_freq *f;
    cd_freq_decision d;
    double fresh = 0;
    double again = 0;
    cd_err e = cd_freq_new(&f, &cfg, NULL);
    CD_ASSERT(e == CD_OK);
    u64 before = resident();
    for (u32 round = 0; round < 2; round++) {
        u64 t = cd_clock_thread_ns();
        for (u64 i = 0; i < cnt; i++) {
            char device[32];
            cd_freq_ask ask = {{0}, cd_bytes_str("campaign-17"), 3, false};
            ask.device =
                cd_bytes_of(device, (usize)snprintf(device, sizeof device, "device-%llx", (unsigned long long)i));
            e = cd_freq_check(f, &d, &ask, 1000);
            CD_ASSERT(e == CD_OK && d.is_allowed);
        }
        if (round == 0) {
            fresh = min_us(0, t, cnt);
        } else {
            again = min_us(0, t, cnt);
        }
    }
    (void)printf(",\"counters\":%llu,\"counters_bytes\":%llu,\"check_new_us\":%.3f,\"check_us\":%.3f",
                 (unsigned long long)cnt, (unsigned long long)(resident() - before), fresh, again);
    cd_freq_free(f);
}

int main(int argc, char **argv)
{
    u64 cnt = 10000000;
    if (argc > 1 && cd_u64_parse(&cnt, cd_bytes_str(argv[1])) != CD_OK) {
        (void)fprintf(stderr, "usage: bench-proofs [COUNTERS]\n");
        return 2;
    }
    (void)printf("{");
    range_proofs();
    outcomes();
    counters(cnt);
    (void)printf("}\n");
    return 0;
}
