/* crypto/hash/keccak_priv.h - what the Keccak files share (internal). Threading: pure. */
#ifndef CD_CRYPTO_KECCAK_PRIV_H
#define CD_CRYPTO_KECCAK_PRIV_H

#include "crypto/hash/keccak.h"

#define CD__KECCAK_WAYS 17 /* 8-byte words in a block */

extern const u64 CD__KECCAK_RC[24];

/* cd__keccak_permute applies Keccak-f[1600]. Way (x, y) is s[x + 5 * y]. */
void cd__keccak_permute(u64 s[25]);

/* cd__keccak_finish pads and absorbs the last rest < 136 bytes of an input into s and writes the hash. */
void cd__keccak_finish(u64 s[25], cd_hash32 *out, const u8 *p, usize rest);

/* Hash cnt inputs with the unit named, which the processor must have; see cd_keccak256_many. */
void cd__keccak_many_scalar(cd_hash32 *out, const cd_bytes *in, usize cnt);
void cd__keccak_many_avx2(cd_hash32 *out, const cd_bytes *in, usize cnt);
void cd__keccak_many_avx512(cd_hash32 *out, const cd_bytes *in, usize cnt);

#endif
