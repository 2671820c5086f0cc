/* Proofs of oblivious evaluations from anybody: elements and proof as they come. And an honest evaluation of an input
 * that is the rest of the bytes: both sides reach the same output. */
#include "crypto/zk/voprf.h"

#include "base/rd.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static bool read_point(cd_point *out, cd_rd *r)
{
    u8 bytes[32];
    cd_rd_copy(r, bytes, sizeof bytes);
    return cd_point_get(out, bytes) == CD_OK;
}

static void honest(const u8 seed[32], cd_bytes input)
{
    u8 got[CD_VOPRF_OUTPUT];
    u8 want[CD_VOPRF_OUTPUT];
    u8 proof[CD_VOPRF_PROOF];
    cd_voprf_key key;
    cd_point blinded;
    cd_point evaluated;
    cd_voprf_derive(&key, CD_VOPRF_VERIFIABLE, seed, cd_bytes_of(seed, 4));
    cd_scalar blind = cd_scalar_u64(1 + cd_le64(seed) / 2);
    if (cd_voprf_blind(&blinded, CD_VOPRF_VERIFIABLE, input, &blind) != CD_OK) {
        return;
    }
    cd_voprf_evaluate(&evaluated, proof, &key, &blinded, 1, &blind);
    CD_ASSERT(cd_voprf_check(proof, &key.public, &blinded, &evaluated, 1) == CD_OK);
    CD_ASSERT(cd_voprf_finalize(got, input, &blind, &evaluated) == CD_OK);
    CD_ASSERT(cd_voprf_compute(want, CD_VOPRF_VERIFIABLE, &key, input) == CD_OK);
    CD_ASSERT(memcmp(got, want, sizeof got) == 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    enum { MAX = 4 };
    cd_rd r = cd_rd_init(cd_bytes_of(data, size));
    u8 proof[CD_VOPRF_PROOF];
    u8 seed[32];
    cd_point public;
    cd_point blinded[MAX];
    cd_point evaluated[MAX];
    cd_rd_copy(&r, seed, sizeof seed);
    usize cnt = cd_rd_u8(&r) % (MAX + 1);
    cd_rd_copy(&r, proof, sizeof proof);
    bool ok = read_point(&public, &r);
    for (usize i = 0; i < cnt; i++) {
        ok = read_point(&blinded[i], &r) && read_point(&evaluated[i], &r) && ok;
    }
    if (ok) {
        cd_err e = cd_voprf_check(proof, &public, blinded, evaluated, cnt);
        CD_ASSERT(e == CD_OK || e == CD_ECANON || e == CD_EPROOF);
    }
    honest(seed, cd_rd_take(&r, cd_rd_left(&r)));
    return 0;
}
