/* apps/cli/tx/payer.h - who pays and signs: keys of the keystore or of a file, or only addresses for what is signed
 * elsewhere. Threading: the main thread. [spec:decisions#D17] */
#ifndef CD_APPS_CLI_PAYER_H
#define CD_APPS_CLI_PAYER_H

#include "base/args/args.h"
#include "base/mem/secret.h"
#include "remote/world.h"

/* The options of a command that needs somebody who pays. */
// clang-format off
#define CD__PAYER_OPTIONS(X)                                                                                           \
    X(PAYER_KEY, .name = "key", .type = CD_ARG_LIST, .meta = "0xADDRESS",                                              \
      .help = "a key of the keystore, by its account; may be repeated")                                                \
    X(PAYER_KEY_FILE, .name = "key-file", .type = CD_ARG_LIST, .meta = "FILE",                                         \
      .help = "a private key or phrase, as `keys import` takes it; - is standard input; may be repeated")              \
    X(PAYER_KEYSTORE, .name = "keystore", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/keys", .meta = "DIR",           \
      .help = "where the key files are")                                                                               \
    X(PAYER_PASSWORD, .name = "password-file", .type = CD_ARG_STR, .meta = "FILE",                                     \
      .help = "its first line is the password of the key files")                                                       \
    X(PAYER_COIN, .name = "coin-type", .type = CD_ARG_U64, .dflt = "60", .max = 2147483647, .meta = "N",               \
      .help = "of a phrase: the N of m/44'/N'/0'/0/i")                                                                 \
    X(PAYER_INDEX, .name = "account-index", .type = CD_ARG_U64, .dflt = "0", .max = 2147483647, .meta = "I",           \
      .help = "of a phrase: its account, counted from 0")
// clang-format on

/* The ids of these options, which come first in every table that has them. */
enum { CD__PAYER_OPTIONS(CD_ARG_ID) PAYER_CNT };

enum { CD__PAYER_KEYS_MAX = 16 };

/* Keys, and their addresses in ascending order. */
typedef struct cd__payer {
    cd_secret secrets[CD__PAYER_KEYS_MAX]; /* in the order of addrs */
    cd_addr20 addrs[CD__PAYER_KEYS_MAX];   /* addresses on P and X */
    cd_addr20 eth[CD__PAYER_KEYS_MAX];     /* addresses on C; only with secrets */
    usize cnt;
    bool has_secrets;
} cd__payer;

/* cd__payer_keys opens the keys that the flags name; at least one. Errors: CD_EINVAL, CD_EACCES for a publicly known
 * key on a real network, those of files and passwords. cd__payer_fini: a zeroed one is allowed. */
cd_err cd__payer_keys(cd__payer *out, const cd_args *a, cd_arena *mem, u32 network_id, cd_errinfo *why) CD_CHECK;
void cd__payer_fini(cd__payer *p);

/* cd__payer_addrs takes addresses whose keys are elsewhere. Errors: CD_EINVAL, those of cd__addr_read. */
cd_err cd__payer_addrs(cd__payer *out, const cd__world *w, const char *const *texts, usize cnt,
                       cd_errinfo *why) CD_CHECK;

/* cd__payer_sign adds all signatures that the keys can make. Errors: CD_EACCES when they can make none. */
cd_err cd__payer_sign(const cd__payer *p, cd_wallet_draft *d, cd_errinfo *why) CD_CHECK;

#endif
