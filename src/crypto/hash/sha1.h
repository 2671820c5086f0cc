/* crypto/hash/sha1.h - SHA-1, for protocols that prescribe it where nothing depends on its strength (the
 * WebSocket handshake). Threading: pure. [FIPS 180-4] */
#ifndef CD_CRYPTO_SHA1_H
#define CD_CRYPTO_SHA1_H

#include "base/bytes.h"

/* cd_sha1 hashes in.n bytes. */
void cd_sha1(u8 out[20], cd_bytes in);

#endif
