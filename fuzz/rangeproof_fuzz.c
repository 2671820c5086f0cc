/* Range proofs from anybody: one or two proofs of chosen bytes, alone and together, must agree; points and scalars
 * that decode must encode to what they came from. */
#include "crypto/zk/rangeproof.h"

#include "base/rd.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void check_codec(const u8 bytes[32])
{
    cd_point p;
    cd_scalar k;
    u8 back[32];
    if (cd_point_get(&p, bytes) == CD_OK) {
        cd_point_put(back, &p);
        CD_ASSERT(memcmp(back, bytes, 32) == 0);
    }
    if (cd_scalar_get(&k, bytes) == CD_OK) {
        cd_scalar_put(back, &k);
        CD_ASSERT(memcmp(back, bytes, 32) == 0);
    }
}

/* One byte for the number of commitments, the commitments, two bytes of length and the proof. */
static void read_claim(cd_rangeproof_claim *out, cd_hash32 *commitment, cd_rd *r)
{
    usize cnt = cd_rd_u8(r) % 34;
    for (usize i = 0; i < cnt; i++) {
        cd_rd_copy(r, commitment[i].b, 32);
        check_codec(commitment[i].b);
    }
    out->commitment = commitment;
    out->cnt = cnt;
    out->proof = cd_rd_take(r, cd_rd_be16(r) % 1100);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_merlin t;
    cd_hash32 commitment[2][34];
    cd_rangeproof_claim claims[2] = {{.transcript = &t}, {.transcript = &t}};
    cd_rd r = cd_rd_init(cd_bytes_of(data, size));
    cd_merlin_init(&t, "test");
    cd_merlin_append_u64(&t, "n", cd_rd_u8(&r));
    read_claim(&claims[0], commitment[0], &r);
    read_claim(&claims[1], commitment[1], &r);
    bool first = cd_rangeproof_verify(&claims[0]) == CD_OK;
    bool second = cd_rangeproof_verify(&claims[1]) == CD_OK;
    bool both = cd_rangeproof_verify_many(claims, 2) == CD_OK;
    CD_ASSERT(both == (first && second));
    return 0;
}
