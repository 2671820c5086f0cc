/* wallet/keyfile.h - one private key under a password, in the file format that Ethereum's programs share (Web3
 * Secret Storage).
 *
 *   password ──scrypt or PBKDF2──► 32 bytes ─┬─► first 16: AES-128-CTR key of the private key
 *                                            └─► last 16: keccak-256 with the cipher text is the MAC
 *
 * Version 3 is read and written, version 1 (AES-128-CBC) read. What a file costs to open is its own choice, so it is
 * bounded before anything is computed: a foreign file takes neither the memory nor minutes of the machine.
 * Threading: pure. */
#ifndef CD_WALLET_KEYFILE_H
#define CD_WALLET_KEYFILE_H

#include "base/mem/buf.h"
#include "base/mem/secret.h"
#include "base/os/rng.h"
#include "crypto/hash/scrypt.h"

enum { CD_KEYFILE_SIZE_MAX = 64 * 1024, CD_KEYFILE_SECRET = 32 };

/* What new files cost: a quarter of a gigabyte and about a second, as geth's; or next to nothing, for tests. */
extern const cd_scrypt_cost CD_KEYFILE_STANDARD;
extern const cd_scrypt_cost CD_KEYFILE_LIGHT;

/* cd_keyfile_addr reads the address that a file says it is for; nothing proves it.
 * Errors: CD_EFORMAT, CD_ENOENT when it says none. */
cd_err cd_keyfile_addr(cd_addr20 *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_keyfile_dec opens a file: out is a fresh secret of CD_KEYFILE_SECRET bytes, the caller's to end.
 * Errors: CD_EKEY wrong password, CD_EFORMAT, CD_EUNSUPPORTED (version, cipher, function), CD_ELIMIT (costs too much),
 * CD_ENOMEM. */
cd_err cd_keyfile_dec(cd_secret *out, cd_bytes text, cd_bytes password, cd_errinfo *why) CD_CHECK;

/* cd_keyfile_enc appends the file of a key; rng gives salt, counter block and id. Errors: CD_EKEY (not a private key),
 * CD_ENOMEM. */
cd_err cd_keyfile_enc(cd_buf *out, const u8 secret[CD_KEYFILE_SECRET], cd_bytes password, const cd_scrypt_cost *cost,
                      cd_rng *rng) CD_CHECK;

#endif
