/* apps/cli/keys/secrets.h - passwords and private keys, which come from files and standard input alone: arguments are
 * seen by everybody on the machine. Threading: the main thread. */
#ifndef CD_APPS_CLI_SECRETS_H
#define CD_APPS_CLI_SECRETS_H

#include "base/mem/secret.h"

/* cd__password_get reads the first line of a file ("-": standard input); the secret is the caller's to end.
 * Errors: CD_EINVAL (no file named, an empty line), CD_ELIMIT, the system's. */
cd_err cd__password_get(cd_secret *out, const char *path, cd_errinfo *why) CD_CHECK;

/* Which account of a phrase: m/44'/coin'/0'/0/idx. */
typedef struct cd__account {
    u32 coin;
    u32 idx;
} cd__account;

/* cd__key_get reads a private key from a file ("-": standard input): PrivateKey-…, 64 hexadecimal digits, or a phrase
 * of 12 to 24 words, which are not looked up in a list. out is a fresh secret of 32 bytes, the caller's to end.
 * Errors: CD_EKEY with what is wrong, CD_ELIMIT, the system's. */
cd_err cd__key_get(cd_secret *out, const char *path, const cd__account *account, cd_errinfo *why) CD_CHECK;

#endif
