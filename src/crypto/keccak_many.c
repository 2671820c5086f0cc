#include "crypto/keccak_priv.h"

static void many_scalar(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_keccak256(&out[i], in[i]);
    }
}

void cd_keccak256_many(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
    many_scalar(out, in, cnt);
}

void cd_keccak256_x8(cd_hash32 out[8], const cd_bytes in[8])
{
    cd_keccak256_many(out, in, 8);
}
