/* wallet/users.h - users of a node's keystore: a password each, and keys on each chain, in a part of the store.
 *
 *   password ──Argon2id──► hash, compared            password ──SHA-256──► key of XChaCha20-Poly1305 ──► secrets
 *
 * Hash, encryption and the bytes of export are those of the original's keystore, so users move between both. Passwords
 * must be hard to guess (zxcvbn: 10^8 guesses on 100 machines take three hours or more). One password at a time is
 * stretched (64 MiB); wrong ones are counted, and after WRONG_MAX in a second nobody is asked until it is over.
 * Limits: 1,024 users, names and passwords of 1,024 bytes, 5,000 keys of a user on a chain, 4 MiB of an import.
 * Threading: shared. [spec:node-api#9] */
#ifndef CD_WALLET_USERS_H
#define CD_WALLET_USERS_H

#include "base/mem/arena.h"
#include "base/mem/secret.h"
#include "base/os/clock.h"
#include "codec/ids.h"
#include "store/kv.h"

enum { CD_USERS_MAX = 1024, CD_USERS_NAME_MAX = 1024, CD_USERS_KEYS_MAX = 5000, CD_USERS_IMPORT_MAX = 4 << 20 };

typedef struct cd_users cd_users;

/* cd_users_new keeps users under prefix in a whole store, which it borrows; nobody else writes there.
 * cd_users_free: NULL is allowed. */
cd_users *cd_users_new(cd_kv *store, cd_bytes prefix, const cd_clock *clock) __attribute__((returns_nonnull));
void cd_users_free(cd_users *u);

/* Errors of all that follow: CD_EINVAL, CD_EACCES, CD_EEXIST, CD_ENOENT, CD_ELIMIT with the original's words; the
 * store's. What was changed is on disk when they return. */

/* cd_users_create makes a user, cd_users_remove ends one and all of its keys. */
cd_err cd_users_create(cd_users *u, cd_bytes name, cd_bytes password, cd_errinfo *why) CD_CHECK;
cd_err cd_users_remove(cd_users *u, cd_bytes name, cd_bytes password, cd_errinfo *why) CD_CHECK;

/* cd_users_list gives all names, sorted by their bytes. */
cd_err cd_users_list(cd_users *u, cd_bytes **out, usize *cnt, cd_arena *a, cd_errinfo *why) CD_CHECK;

/* cd_users_export appends a user as bytes, its secrets encrypted; cd_users_import makes a user of them.
 * Errors of import also: CD_EFORMAT. */
cd_err cd_users_export(cd_users *u, cd_buf *out, cd_bytes name, cd_bytes password, cd_errinfo *why) CD_CHECK;
cd_err cd_users_import(cd_users *u, cd_bytes name, cd_bytes password, cd_bytes user, cd_errinfo *why) CD_CHECK;

/* cd_users_keys gives the secret keys of a user on a chain, 32 bytes each, in the order in which they came; the caller
 * ends out, which stays empty when there are none. cd_users_add keeps one more; one that is there is no error.
 * Errors also: CD_EKEY for what is no key of secp256k1; CD_ECORRUPT. */
cd_err cd_users_keys(cd_users *u, cd_secret *out, usize *cnt, cd_bytes name, cd_bytes password, const cd_hash32 *chain,
                     cd_errinfo *why) CD_CHECK;
cd_err cd_users_add(cd_users *u, cd_bytes name, cd_bytes password, const cd_hash32 *chain, const u8 secret[32],
                    cd_errinfo *why) CD_CHECK;

#endif
