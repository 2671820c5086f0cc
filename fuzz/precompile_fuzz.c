/* Every precompile on any input: byte 0 chooses the row, bytes 1 and 2 the gas in thousands, the
 * rest is the input. It must not read outside the input, take more gas than it had, or answer
 * differently the second time. */
#include "evm/precompile/precompile.h"

static const char *const names[] = {
    "ecrecover",
    "sha256",
    "ripemd160",
    "identity",
    "modexp_eip198",
    "modexp_eip2565",
    "modexp_eip7883",
    "bn254_add",
    "bn254_mul",
    "bn254_pairing",
    "blake2f",
    "bls12381_g1_add",
    "bls12381_g1_msm",
    "bls12381_g2_add",
    "bls12381_g2_msm",
    "bls12381_pairing",
    "bls12381_map_fp",
    "bls12381_map_fp2",
    "kzg_point_evaluation",
};

enum { GAS_MAX = 1 << 20 }; /* bounds the time of one run */

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size < 3) {
        return 0;
    }
    cd_precompile p;
    cd_err err = cd_precompile_by_name(&p, names[data[0] % CD_COUNT(names)]);
    CD_ASSERT(err == CD_OK);
    u64 gas = (u64)cd_be16(data + 1) * 1000 % GAS_MAX;
    cd_arena arena = {0};
    cd_precompile_call first = {.gas = gas, .arena = &arena, .input = cd_bytes_of(data + 3, size - 3)};
    cd_precompile_call again = first;
    cd_precompile_outcome got = p.run(&first, p.cfg);
    CD_ASSERT(p.run(&again, p.cfg) == got && again.gas == first.gas);
    CD_ASSERT(first.gas <= gas);
    if (got == CD_PRE_OK) {
        CD_ASSERT(cd_bytes_eq(first.output, again.output));
    }
    cd_arena_fini(&arena);
    return 0;
}
