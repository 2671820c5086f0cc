/* crypto/lattice/ringtail_priv.h - what makers and checkers of Ringtail signatures share. Threading: pure.
 * [spec:finality#3] */
#ifndef CD_CRYPTO_RINGTAIL_PRIV_H
#define CD_CRYPTO_RINGTAIL_PRIV_H

#include "crypto/lattice/ringtail.h"

/* For the public key and for commitments: the bits of a number that are rounded away, and those that are left. */
enum { CD__RT_KEY_BITS = 30, CD__RT_KEY_LEFT = 18, CD__RT_COMMIT_BITS = 29, CD__RT_COMMIT_LEFT = 19 };

/* cd__rt_round divides every coefficient by 2^bits, rounds to the nearest, and keeps the result modulo 2^left. */
void cd__rt_round(cd_lpoly *out, const cd_lpoly *p, u32 bits, u32 left);

/* cd__rt_key_finish computes b and hashed from a key's published parts. */
void cd__rt_key_finish(cd_rt_key *key);

/* cd__rt_challenge makes the challenge c of key, h and message, as slots times 2^64. */
void cd__rt_challenge(cd_lpoly *c, const cd_rt_key *key, const cd_lpoly h[CD_RT_ROWS], cd_bytes message);

/* cd__rt_commitment computes a z - c b, rounded. */
void cd__rt_commitment(cd_lpoly r[CD_RT_ROWS], const cd_rt_key *key, const cd_lpoly z[CD_RT_COLS], const cd_lpoly *c);

#endif
