/* The lattice threshold signature: processor time of one party's two rounds among n, of putting the answers together,
 * and of verification. One JSON line each. */
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/os/rng.h"
#include "crypto/lattice/ringtail.h"

#include <stdio.h>

enum { SIZE_CNT = 3, ROUNDS = 5 };

static const u8 prf_key[32] = {1};
static const cd_bytes message = {(const u8 *)"what is final", 13};

/* A group in which all sign, the first party's time apart. */
typedef struct run {
    cd_rt_set set;
    cd_secret shares[CD_RT_PARTIES_MAX];
    cd_rt_session *sessions[CD_RT_PARTIES_MAX];
    cd_buf d[CD_RT_PARTIES_MAX];
    cd_bytes ds[CD_RT_PARTIES_MAX];
    u8 tags[CD_RT_PARTIES_MAX][CD_RT_PARTIES_MAX][32];
    cd_buf z[CD_RT_PARTIES_MAX];
    cd_bytes zs[CD_RT_PARTIES_MAX];
    cd_rt_key key;
    cd_rt_joint joint;
    cd_rt_sig sig;
} run;

static const cd_rt_share *share_of(const run *r, u32 k)
{
    return (const cd_rt_share *)(const void *)r->shares[k].p;
}

/* What one party does: its two rounds, and what follows from the first for all. */
static u64 sign(run *r, cd_rng *rng)
{
    u64 own = 0;
    u32 bad;
    for (u32 k = 0; k < r->set.cnt; k++) {
        u8 fresh[32];
        cd_rng_fill(rng, fresh, sizeof fresh);
        u64 began = cd_clock_thread_ns();
        cd_err e = cd_rt_round1(&r->sessions[k], &r->d[k], r->tags[k], &r->key, share_of(r, k), &r->set, fresh);
        own += k == 0 ? cd_clock_thread_ns() - began : 0;
        CD_ASSERT(e == CD_OK);
        r->ds[k] = cd_buf_bytes(&r->d[k]);
    }
    u64 began = cd_clock_thread_ns();
    cd_err e = cd_rt_joint_make(&r->joint, &bad, &r->key, &r->set, r->ds, message);
    own += cd_clock_thread_ns() - began;
    CD_ASSERT(e == CD_OK);
    for (u32 k = 0; k < r->set.cnt; k++) {
        u8 tags[CD_RT_PARTIES_MAX][32];
        for (u32 from = 0; from < r->set.cnt; from++) {
            memcpy(tags[from], r->tags[from][k], 32);
        }
        began = cd_clock_thread_ns();
        e = cd_rt_round2(&r->z[k], &bad, &r->sessions[k], share_of(r, k), &r->joint, r->ds, (const u8(*)[32])tags,
                         prf_key, message);
        own += k == 0 ? cd_clock_thread_ns() - began : 0;
        CD_ASSERT(e == CD_OK);
        r->zs[k] = cd_buf_bytes(&r->z[k]);
    }
    return own;
}

static void clear(run *r)
{
    for (u32 k = 0; k < r->set.cnt; k++) {
        cd_buf_clear(&r->d[k]);
        cd_buf_clear(&r->z[k]);
    }
}

static void bench(u32 n, cd_rng *rng)
{
    u8 keys[64];
    u32 bad;
    u64 own = 0;
    u64 joining = 0;
    u64 verifying = 0;
    run *r = cd_new(run);
    cd_rng_fill(rng, keys, sizeof keys);
    cd_rt_deal(&r->key, r->shares, n, 2 * n / 3 + 1 > n ? n : 2 * n / 3 + 1, keys, keys + 32);
    r->set.cnt = n;
    for (u32 k = 0; k < n; k++) {
        r->set.party[k] = k;
    }
    for (u32 i = 0; i < ROUNDS; i++) {
        r->set.session = i;
        clear(r);
        own += sign(r, rng);
        u64 began = cd_clock_thread_ns();
        cd_err e = cd_rt_finalize(&r->sig, &bad, &r->key, &r->joint, r->zs, message);
        joining += cd_clock_thread_ns() - began;
        CD_ASSERT(e == CD_OK);
        began = cd_clock_thread_ns();
        CD_ASSERT(cd_rt_verify(&r->key, &r->sig, message));
        verifying += cd_clock_thread_ns() - began;
    }
    (void)printf("{\"bench\":\"lattice\",\"parties\":%u,\"party_ms\":%.2f,\"finalize_ms\":%.2f,\"verify_ms\":%.3f}\n",
                 n, (double)own / ROUNDS / 1e6, (double)joining / ROUNDS / 1e6, (double)verifying / ROUNDS / 1e6);
    for (u32 k = 0; k < n; k++) {
        cd_buf_fini(&r->d[k]);
        cd_buf_fini(&r->z[k]);
        cd_secret_fini(&r->shares[k]);
    }
    cd_free(r);
}

int main(void)
{
    static const u32 sizes[SIZE_CNT] = {3, 10, 21};
    cd_rng rng = cd_rng_seeded(1);
    for (u32 i = 0; i < SIZE_CNT; i++) {
        bench(sizes[i], &rng);
    }
    return 0;
}
