/* wallet/keystore.h - a directory of key files, and which of its keys are in the clear just now.
 *
 *   directory ──names, addresses──► accounts ──password──► unlocked keys ──► sign
 *      ▲                                                      │ until their time is up, then wiped
 *      └── new, import: one file per key, 0600, whole or not there
 *
 * The directory is shared with other programs (geth, ethers, eth_account): files that come or go are seen at the
 * next question, files that are none are passed over. Names are geth's: UTC--<time>--<address>. Opening and making
 * files costs much memory (keyfile.h), so one at a time is worked on; whoever asks meanwhile waits. Everything else
 * is quick. Threading: shared. */
#ifndef CD_WALLET_KEYSTORE_H
#define CD_WALLET_KEYSTORE_H

#include "base/mem/arena.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "wallet/keyfile.h"

typedef struct cd_keystore cd_keystore;

/* Which directory holds the keys, and what new files cost to open. */
typedef struct cd_keystore_cfg {
    const char *dir;       /* made, for the owner alone, when it is not there */
    cd_scrypt_cost cost;   /* of new files; n == 0: CD_KEYFILE_STANDARD */
    const cd_clock *clock; /* NULL: the real one */
    cd_fs *fs;             /* likewise */
} cd_keystore_cfg;

/* Errors of functions with `why`: also those of base/os/fileio.h. */

/* cd_keystore_open opens the directory; cd_keystore_close wipes every key, NULL is allowed. */
cd_err cd_keystore_open(cd_keystore **out, const cd_keystore_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_keystore_close(cd_keystore *ks);

/* An account of the store. */
typedef struct cd_keystore_account {
    cd_addr20 addr;
    const char *path; /* of its file, absolute where the directory was named so */
    bool is_unlocked;
} cd_keystore_account;

/* cd_keystore_list gives the accounts in the order of their files' names, in the arena. An address may have two
 * files: the first counts. */
cd_err cd_keystore_list(cd_keystore *ks, const cd_keystore_account **out, usize *cnt, cd_arena *a,
                        cd_errinfo *why) CD_CHECK;

/* cd_keystore_has: there is a file of an address. */
bool cd_keystore_has(cd_keystore *ks, const cd_addr20 *addr);

/* cd_keystore_new makes a key and its file, cd_keystore_import the file of a key; out is its address.
 * Errors: CD_EKEY (not a private key), CD_EEXIST. */
cd_err cd_keystore_new(cd_keystore *ks, cd_addr20 *out, cd_bytes password, cd_errinfo *why) CD_CHECK;
cd_err cd_keystore_import(cd_keystore *ks, cd_addr20 *out, const u8 secret[CD_KEYFILE_SECRET], cd_bytes password,
                          cd_errinfo *why) CD_CHECK;

/* cd_keystore_open_key opens the file of an address for the caller, who ends the secret; nothing is unlocked by it.
 * Errors: CD_ENOENT (no file), those of cd_keyfile_dec, CD_EFORMAT also when the file holds another key than it
 * says. */
cd_err cd_keystore_open_key(cd_keystore *ks, cd_secret *out, const cd_addr20 *addr, cd_bytes password,
                            cd_errinfo *why) CD_CHECK;

/* cd_keystore_unlock keeps the key of an address in the clear for so long, 0: until it is locked. What was unlocked for
 * ever stays so; another time replaces the one before. Errors: as open_key. */
cd_err cd_keystore_unlock(cd_keystore *ks, const cd_addr20 *addr, cd_bytes password, u64 duration_ns,
                          cd_errinfo *why) CD_CHECK;
void cd_keystore_lock(cd_keystore *ks, const cd_addr20 *addr);

/* cd_keystore_key copies the key of an unlocked account; the caller wipes it. Errors: CD_EACCES (locked, or no such
 * account). */
cd_err cd_keystore_key(cd_keystore *ks, u8 out[CD_KEYFILE_SECRET], const cd_addr20 *addr) CD_CHECK;

/* cd_keystore_expire wipes the keys whose time is up and gives when the next one's is (monotonic ns; UINT64_MAX:
 * never). */
u64 cd_keystore_expire(cd_keystore *ks);

#endif
