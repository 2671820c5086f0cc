/* bench-sets: the set of 2,000 validators as it was 100,000 heights ago, in a store on disk, where each of these
 * heights has changed one of them.
 *
 * Nothing is kept from one question to the next. One JSON line with processor time. [spec:bench#0] */
#include "chains/platform/state/sets.h"
#include "base/os/fileio.h"
#include "chains/platform/state/stakers.h"
#include "lab/cputime.h"
#include "store/overlay.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALIDATORS = 2000, HEIGHTS = 100000, QUESTIONS = 200, LIMIT_MS = 5 };

static const cd_hash32 primary;

static cd_p_staker staker(u32 n, u64 weight)
{
    cd_p_staker s = {
        .priority = CD_P_CURRENT_VALIDATOR, .weight = weight, .end = 1u << 30, .next_time = 1u << 30, .has_key = true};
    cd_put_be32(s.tx_id.b, n);
    cd_put_be32(s.node_id.b, n * 2654435761u);
    cd_put_be32(s.node_id.b + 4, n);
    cd_put_be32(s.key, n);
    return s;
}

static void block(cd_overlay *ov, u64 height)
{
    cd_layer *l;
    CD_ASSERT(cd_overlay_begin(ov, &l, NULL) == CD_OK);
    cd_pstate s = {.kv = cd_layer_kv(l), .height = height};
    for (u32 i = 0; height == 0 && i < VALIDATORS; i++) {
        cd_p_staker v = staker(i, 1000);
        CD_ASSERT(cd_pstate_staker_put(&s, &v) == CD_OK);
    }
    if (height != 0) {
        u32 n = (u32)(height % VALIDATORS);
        cd_p_staker before = staker(n, 1000 + (height - 1) / VALIDATORS);
        cd_p_staker after = staker(n, before.weight + 1);
        CD_ASSERT(cd_pstate_staker_del(&s, &before) == CD_OK);
        CD_ASSERT(cd_pstate_staker_put(&s, &after) == CD_OK);
    }
    CD_ASSERT(cd_pstate_num_set(&s, CD_PSTATE_LAST_HEIGHT, height) == CD_OK);
    cd_layer_seal(l);
    CD_ASSERT(cd_layer_flatten(l, NULL, CD_KV_NOSYNC, NULL) == CD_OK);
}

static void check(const cd_vm_validator *set, usize cnt, u64 height)
{
    CD_ASSERT(cnt == VALIDATORS);
    for (usize i = 0; i < cnt; i++) {
        u32 n = cd_be32(set[i].node_id.b + 4);
        u64 want = 1000 + (height / VALIDATORS) + (n != 0 && n <= height % VALIDATORS ? 1 : 0);
        CD_ASSERT(set[i].weight == want && cd_be32(set[i].key) == n);
    }
}

int main(void)
{
    char dir[] = "/tmp/bench-sets-XXXXXX";
    cd_kv *kv = NULL;
    cd_arena a = {0};
    u64 most = 0;
    u64 all = 0;
    CD_ASSERT(mkdtemp(dir) != NULL);
    CD_ASSERT(cd_kv_rocksdb_open(&kv, &(cd_kv_cfg){.dir = dir}, NULL) == CD_OK);
    cd_overlay *ov = cd_overlay_new(kv);
    for (u64 h = 0; h <= HEIGHTS + QUESTIONS; h++) {
        block(ov, h);
    }
    for (u64 h = 1; h <= QUESTIONS; h++) {
        const cd_vm_validator *set;
        usize cnt;
        cd_arena_reset(&a);
        u64 start = cd_lab_process_cpu_ns();
        CD_ASSERT(cd_pstate_set_at(&(cd_pstate){.kv = kv}, &set, &cnt, &a, &primary, h) == CD_OK);
        u64 took = cd_lab_process_cpu_ns() - start;
        check(set, cnt, h);
        most = cd_max_u64(most, took);
        all += took;
    }
    (void)printf("{\"name\":\"platform/set_100000_heights_back\",\"validators\":%d,\"cpu_ms\":%.3f,\"most_ms\":%.3f,"
                 "\"limit_cpu_ms\":%d}\n",
                 VALIDATORS, (double)all / 1e6 / QUESTIONS, (double)most / 1e6, LIMIT_MS);
    cd_arena_fini(&a);
    cd_overlay_free(ov);
    cd_kv_close(kv);
    return cd_fs_remove_tree(cd_fs_real(), dir, NULL) == CD_OK ? 0 : 1;
}
