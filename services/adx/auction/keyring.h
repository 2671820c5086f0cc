/* services/adx/auction/keyring.h - the secret keys of the auction house, in a file that survives kills.
 *
 *   "AKR1" │ receipt seed 32 │ cnt 1 │ cnt × ( BE32 id │ secret 32 │ BE64 made, seconds )      the newest first
 *
 * Receipts are signed by one key for good; envelopes are sealed to keys that change once a day, of which the two newest
 * open. A key is on the disk before it is shown to anybody. Threading: confined. [spec:adx#6] */
#ifndef CD_ADX_AUCTION_KEYRING_H
#define CD_ADX_AUCTION_KEYRING_H

#include "base/os/rng.h"
#include "services/adx/auction/house.h"

enum { CD_KEYRING_LIFE_S = 86400 };

/* The keys; wipe them with cd_keyring_wipe. */
typedef struct cd_keyring {
    u8 receipt_seed[32];
    cd_envelope_key keys[CD_HOUSE_KEYS]; /* the newest first */
    u64 made_s[CD_HOUSE_KEYS];           /* seconds since 1970 */
    u32 cnt;
} cd_keyring;

/* cd_keyring_open reads the file at path, or makes it with fresh keys; nobody else may read it. Errors: CD_EACCES
 * (others may), CD_ECORRUPT, and those of base/os/fileio.h. cd_keyring_wipe forgets the keys. */
cd_err cd_keyring_open(cd_keyring *out, const char *path, cd_rng *rng, u64 now_s, cd_errinfo *why) CD_CHECK;
void cd_keyring_wipe(cd_keyring *k);

/* cd_keyring_rotate puts a new key in front when the newest is a day old; *is_new says so. On failure nothing has
 * changed. */
cd_err cd_keyring_rotate(cd_keyring *k, bool *is_new, const char *path, cd_rng *rng, u64 now_s,
                         cd_errinfo *why) CD_CHECK;

#endif
