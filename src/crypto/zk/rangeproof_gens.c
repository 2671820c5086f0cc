#include "base/mem/mem.h"
#include "crypto/zk/rangeproof_priv.h"

#include <openssl/evp.h>

#include <pthread.h>

#define TIERS 6 /* for 1, 2, 4 ... 32 parties */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const cd_point *_Atomic tiers[TIERS];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cd_msm_table *table;
static cd_point second;

u32 cd__log2(usize n)
{
    return (u32)(63 - __builtin_clzll(n));
}

/* Makes the generators of one party from SHAKE256 of a label, 64 bytes a point. */
static void chain(cd_point *out, char which, u32 party)
{
    static const char label[] = "GeneratorsChain";
    u8 bytes[CD__BITS * 64];
    u8 tail[5] = {(u8)which};
    cd_put_le32(tail + 1, party);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CD_ASSERT(ctx != NULL && EVP_DigestInit_ex(ctx, EVP_shake256(), NULL) == 1);
    int ok = EVP_DigestUpdate(ctx, label, sizeof label - 1);
    ok &= EVP_DigestUpdate(ctx, tail, sizeof tail);
    ok &= EVP_DigestFinalXOF(ctx, bytes, sizeof bytes);
    CD_ASSERT(ok == 1);
    EVP_MD_CTX_free(ctx);
    for (u32 i = 0; i < CD__BITS; i++) {
        cd_point_map(&out[i], bytes + (usize)64 * i);
    }
}

static const cd_point *tier_make(u32 tier)
{
    usize n = (usize)CD__BITS << tier;
    usize have = tier == 0 ? 0 : n / 2;
    const cd_point *less = tier == 0 ? NULL : cd__rangeproof_gens((usize)1 << (tier - 1));
    cd_point *p = cd_new_array(cd_point, 2 * n);
    if (less != NULL) {
        memcpy(p, less, have * sizeof *p);
        memcpy(p + n, less + have, have * sizeof *p);
    }
    for (usize i = have; i < n; i += CD__BITS) {
        chain(p + i, 'G', (u32)(i / CD__BITS));
        chain(p + n + i, 'H', (u32)(i / CD__BITS));
    }
    return p;
}

const cd_point *cd__rangeproof_gens(usize cnt)
{
    u32 tier = cd__log2(cnt);
    if (tiers[tier] == NULL) {
        const cd_point *p = tier_make(tier);
        pthread_mutex_lock(&lock);
        bool is_first = tiers[tier] == NULL;
        if (is_first) {
            tiers[tier] = p;
        }
        pthread_mutex_unlock(&lock);
        if (!is_first) {
            cd_free((void *)(uintptr_t)p);
        }
    }
    return tiers[tier];
}

static void make_table(void)
{
    cd_point p[2 + 2 * CD__BITS];
    cd_pedersen_base(&second);
    p[0] = CD_POINT_BASE;
    p[1] = second;
    memcpy(p + 2, cd__rangeproof_gens(1), sizeof p - 2 * sizeof *p);
    table = cd_msm_table_new(p, CD_COUNT(p));
}

const cd_msm_table *cd__rangeproof_table(void)
{
    (void)pthread_once(&once, make_table);
    return table;
}

const cd_point *cd__rangeproof_second(void)
{
    (void)pthread_once(&once, make_table);
    return &second;
}
