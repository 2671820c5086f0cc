/* bench-webhook-match: how long a block of 5,000 transfers takes against 100,000 webhooks that watch ten million
 * addresses, from its facts to hits and to finished events, in CPU time, and what they take of memory. One JSON line.
 * Usage: bench-webhook-match [WEBHOOKS ADDRESSES_EACH LOGS PERCENT_THAT_HIT] */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/os/procstat.h"
#include "base/os/rng.h"
#include "services/webhook/core/chain/event.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 50, LOGS_EACH = 10 };

static const cd_wh_token *token_name(const void *ctx, const cd_addr20 *contract)
{
    static const cd_wh_token token = {.symbol = "USDC", .decimals = 6};
    (void)ctx;
    (void)contract;
    return &token;
}

static const char *token_uri(const void *ctx, const cd_wh_hit *hit)
{
    (void)ctx;
    (void)hit;
    return NULL;
}

/* The i-th address that somebody watches, or nobody. */
static cd_addr20 addr_at(u64 i)
{
    cd_rng rng = cd_rng_seeded(i);
    cd_addr20 a;
    cd_rng_fill(&rng, a.b, sizeof a.b);
    return a;
}

static u64 rss(void)
{
    cd_proc_mem mem;
    cd_proc_mem_get(&mem);
    return mem.resident;
}

static void hooks_put(cd_wh_match *m, u64 hooks, u64 each)
{
    static const u32 types[] = {1u << CD_WH_B_ADDRESS, 1u << CD_WH_B_TOKEN, 1u << CD_WH_A_ERC20, 1u << CD_WH_C_TOKEN};
    cd_addr20 *addrs = cd_new_array(cd_addr20, each);
    for (u64 i = 0; i < hooks; i++) {
        for (u64 k = 0; k < each; k++) {
            addrs[k] = addr_at(i * each + k);
        }
        const cd_wh_hook hook = {
            .key = (i64)i + 1,
            .id = "wh_bench0000001",
            .types = types[i % CD_COUNT(types)],
            .filter.addresses = {.p = addrs, .n = each},
        };
        (void)cd_wh_match_put(m, &hook);
    }
    cd_free(addrs);
}

static cd_wh_facts facts_make(cd_arena *mem, u64 logs_cnt, u64 watched, u64 percent, u64 round)
{
    static const cd_hash32 topics[3] = {{.b = {0xdd, 0xf2, 0x52, 0xad}}};
    usize txs_cnt = (usize)(logs_cnt / LOGS_EACH);
    cd_rng rng = cd_rng_seeded(~round);
    cd_wh_tx *txs = cd_arena_array(mem, cd_wh_tx, txs_cnt);
    for (usize i = 0; i < txs_cnt; i++) {
        cd_wh_log *logs = cd_arena_array(mem, cd_wh_log, LOGS_EACH);
        for (usize k = 0; k < LOGS_EACH; k++) {
            cd_wh_part *part = cd_arena_new(mem, cd_wh_part);
            bool hits = cd_rng_below(&rng, 100) < percent;
            part->value = cd_u256_from_u64(cd_rng_u64(&rng));
            logs[k] = (cd_wh_log){
                .index = (u32)(i * LOGS_EACH + k),
                .topics_cnt = 3,
                .topics = topics,
                .contract = addr_at(~(u64)k),
                .from = addr_at(watched + cd_rng_below(&rng, watched)),
                .to = addr_at(cd_rng_below(&rng, watched) + (hits ? 0 : watched)),
                .move = CD_WH_MOVE_ERC20,
                .parts_cnt = 1,
                .parts = part,
            };
        }
        txs[i] = (cd_wh_tx){.index = (u32)i, .is_ok = true, .has_to = true};
        txs[i].from = addr_at(2 * watched + cd_rng_u64(&rng) / 2);
        txs[i].to = logs[0].contract;
        txs[i].logs = logs;
        txs[i].logs_cnt = LOGS_EACH;
        cd_rng_fill(&rng, txs[i].hash.b, 32);
    }
    return (cd_wh_facts){.number = round, .txs = txs, .txs_cnt = txs_cnt, .logs_cnt = logs_cnt};
}

static u64 number(int argc, char **argv, int at, u64 dflt)
{
    u64 v;
    return at < argc && cd_u64_parse(&v, cd_bytes_str(argv[at])) == CD_OK ? v : dflt;
}

static int u64_cmp(const void *a, const void *b)
{
    u64 x = *(const u64 *)a;
    u64 y = *(const u64 *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const cd_clock *clock = cd_clock_real();
    const cd_wh_chain chain = {.name = "lux", .symbol = "LUX", .id = 96369};
    const cd_wh_names names = {.token = token_name, .uri = token_uri};
    u64 hooks = number(argc, argv, 1, 100000);
    u64 each = number(argc, argv, 2, 100);
    u64 watched = hooks * each;
    u64 logs = number(argc, argv, 3, 5000);
    u64 percent = number(argc, argv, 4, 10);
    u64 match_ns[ROUNDS], event_ns[ROUNDS];
    u64 hits_cnt = 0;
    cd_wh_match *m = cd_wh_match_new();
    u64 rss_before = rss();
    u64 began = cd_clock_mono_ns(clock);
    hooks_put(m, hooks, each);
    u64 put_ns = cd_clock_mono_ns(clock) - began;
    u64 rss_after = rss();
    cd_arena mem = {0};
    for (u64 round = 0; round < ROUNDS; round++) {
        usize cnt;
        cd_wh_facts facts = facts_make(&mem, logs, watched, percent, round);
        u64 t0 = cd_clock_thread_ns();
        const cd_wh_hit *hits = cd_wh_match_run(m, &cnt, &facts);
        u64 t1 = cd_clock_thread_ns();
        (void)cd_wh_events_make(&mem, &chain, &facts, hits, cnt, &names);
        match_ns[round] = t1 - t0;
        event_ns[round] = cd_clock_thread_ns() - t1;
        hits_cnt += cnt;
        cd_arena_reset(&mem);
    }
    qsort(match_ns, ROUNDS, sizeof(u64), u64_cmp);
    qsort(event_ns, ROUNDS, sizeof(u64), u64_cmp);
    (void)printf("{\"webhooks\":%llu,\"addresses\":%llu,\"logs\":%llu,\"hits_per_block\":%llu,"
                 "\"match_us_p50\":%llu,\"match_us_max\":%llu,\"events_us_p50\":%llu,"
                 "\"put_ns_per_address\":%llu,\"bytes_per_address\":%.1f}\n",
                 (unsigned long long)hooks, (unsigned long long)watched, (unsigned long long)logs,
                 (unsigned long long)(hits_cnt / ROUNDS), (unsigned long long)(match_ns[ROUNDS / 2] / 1000),
                 (unsigned long long)(match_ns[ROUNDS - 1] / 1000), (unsigned long long)(event_ns[ROUNDS / 2] / 1000),
                 (unsigned long long)(put_ns / (watched + 1)), (double)(rss_after - rss_before) / (double)watched);
    cd_arena_fini(&mem);
    cd_wh_match_free(m);
    return 0;
}
