/* services/common/keys.h - API keys: their text, how they are kept, and whether one is good.
 *
 *   sk_<40 letters and digits>  ─ shown once ─►  the caller
 *        └─ SHA-256(text || salt) ─► the store, which never has the text
 *
 * A key has 238 bits of randomness, so that a plain hash is enough; the salt keeps equal hashes of two databases from
 * being recognized. Threading: pure. */
#ifndef CD_SERVICES_COMMON_KEYS_H
#define CD_SERVICES_COMMON_KEYS_H

#include "base/bytes.h"
#include "base/os/rng.h"

enum {
    CD_KEY_TEXT = 3 + 40,  /* bytes of a key */
    CD_KEY_ID = 4 + 16,    /* bytes of a key's public name: key_<16 hex digits> */
    CD_KEY_TEXT_MAX = 256, /* bytes that a caller may send for one */
    CD_KEY_SALT = 32,
};

/* cd_key_make draws a key and its public name; both end with NUL. Wipe text when it was shown. */
void cd_key_make(char text[CD_KEY_TEXT + 1], char id[CD_KEY_ID + 1], cd_rng *rng);

/* cd_key_hash gives what the store keeps and looks for. Errors: CD_ENOENT when the text cannot be a key. */
cd_err cd_key_hash(cd_hash32 *out, cd_bytes text, const u8 salt[CD_KEY_SALT]) CD_CHECK;

/* cd_key_is_good: the stored hash is the one that was looked for (compared in constant time), and the key neither
 * revoked nor expired at now_ms. Times in milliseconds since 1970; 0: never. */
bool cd_key_is_good(cd_bytes stored, const cd_hash32 *hash, u64 revoked_ms, u64 expires_ms, u64 now_ms);

#endif
