/* crypto/modexp_priv.h - the parts of cd_modexp.
 *
 * Threading: pure. */
#ifndef CD_CRYPTO_MODEXP_PRIV_H
#define CD_CRYPTO_MODEXP_PRIV_H

#include "base/bytes.h"

/* cd__modexp_word gives base^exp mod m for m that is not 0; big-endian operands of any length. */
u64 cd__modexp_word(cd_bytes base, cd_bytes exp, u64 m);

#endif
