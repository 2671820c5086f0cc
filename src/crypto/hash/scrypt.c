#include "crypto/hash/scrypt.h"

#include <errno.h>
#include <sodium.h>

enum { PART = 128 /* bytes, times r */ };

u64 cd_scrypt_mem(const cd_scrypt_cost *cost)
{
    u64 parts;
    u64 bytes;
    bool fits = cd_add_u64(&parts, cost->n, (u64)cost->p + 2) && cd_mul_u64(&bytes, parts, PART) &&
                cd_mul_u64(&bytes, bytes, cost->r);
    return fits ? bytes : UINT64_MAX;
}

cd_err cd_scrypt(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, const cd_scrypt_cost *cost)
{
    enum { P_R_MAX = 1 << 30 }; /* bound of p * r [RFC 7914, 2] */
    bool is_power = cost->n > 1 && (cost->n & (cost->n - 1)) == 0;
    if (!is_power || cost->n > (u64)1 << 31 || cost->r == 0 || cost->p == 0 || (u64)cost->p * cost->r >= P_R_MAX ||
        cd_scrypt_mem(cost) > SIZE_MAX / 2) {
        return CD_EINVAL;
    }
    /* Makes libsodium look at the CPU, once; without this call it runs its slow code. */
    CD_ASSERT(sodium_init() >= 0);
    const u8 *key = password.n == 0 ? (const u8 *)"" : password.p;
    const u8 *with = salt.n == 0 ? (const u8 *)"" : salt.p;
    if (crypto_pwhash_scryptsalsa208sha256_ll(key, password.n, with, salt.n, cost->n, cost->r, cost->p, out, out_len) ==
        0) {
        return CD_OK;
    }
    return errno == ENOMEM ? CD_ENOMEM : CD_EINVAL;
}
