/* crypto/modexp.h - modular exponentiation of big-endian numbers of any length.
 *
 * Time and memory grow with the lengths: the caller bounds them (by gas). Not constant-time: for
 * public data only. Threading: pure. [EIP-198] */
#ifndef CD_CRYPTO_MODEXP_H
#define CD_CRYPTO_MODEXP_H

#include "base/bytes.h"

/* cd_modexp writes base^exp mod `mod` to out as mod.n big-endian bytes. An empty operand is 0, 0^0 is
 * 1, and a modulus of 0 or 1 gives 0. out must not overlap the inputs.
 * Errors: CD_ENOMEM (out is then untouched). */
cd_err cd_modexp(u8 *out, cd_bytes base, cd_bytes exp, cd_bytes mod) CD_CHECK;

#endif
