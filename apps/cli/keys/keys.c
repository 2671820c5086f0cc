#include "base/hex.h"
#include "codec/base58.h"
#include "codec/ids.h"
#include "codec/json.h"
#include "commands.h"
#include "crypto/ec/secp256k1.h"
#include "keys/secrets.h"
#include "types/addr_text.h"
#include "types/network.h"
#include "wallet/hd.h"
#include "wallet/keystore.h"

#include <stdio.h>

#define USAGE                                                                                                          \
    "candela-cli keys create [flags]          a new key\n"                                                             \
    "candela-cli keys import [flags] FILE|-   one that exists\n"                                                       \
    "candela-cli keys list [flags]\n"                                                                                  \
    "candela-cli keys show [flags] 0xADDRESS  its addresses on every chain and network\n"                              \
    "candela-cli keys export [flags] 0xADDRESS   the key itself, for everybody to read"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_KEYSTORE, .name = "keystore", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/keys", .meta = "DIR",             \
      .help = "where the key files are")                                                                               \
    X(OPT_PASSWORD, .name = "password-file", .type = CD_ARG_STR, .meta = "FILE",                                       \
      .help = "its first line is the password; - is standard input")                                                   \
    X(OPT_NETWORK, .name = "network-id", .type = CD_ARG_STR, .dflt = "mainnet", .meta = "NETWORK",                     \
      .help = "for which network a key is imported: the real ones take no publicly known key")                         \
    X(OPT_COIN, .name = "coin-type", .type = CD_ARG_U64, .dflt = "60", .max = 2147483647, .meta = "N",                 \
      .help = "of a phrase: the N of m/44'/N'/0'/0/i; wallets of the P- and X-Chain have 9000")                        \
    X(OPT_INDEX, .name = "account-index", .type = CD_ARG_U64, .dflt = "0", .max = 2147483647, .meta = "I",             \
      .help = "of a phrase: its account, counted from 0")                                                              \
    X(OPT_LIGHT, .name = "lightkdf", .type = CD_ARG_BOOL, .help = "new files cost little to open, and to guess")       \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT, OUTPUT_USUAL = 4096, KEY_TEXT_MAX = 128 };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

/* The arguments, the keystore and the output of a command. */
typedef struct job {
    const cd_args *args;
    cd_arena *mem;
    cd_keystore *keys;
    cd_json_w *w;
    const char *word; /* the word behind the command's name; NULL: none */
} job;

/* --- what is printed --- */

static void put_addr(cd_json_w *w, const cd_addr20 *addr)
{
    char text[CD_ADDR_TEXT_SIZE];
    cd_json_put_cstr(w, "address", cd_addr_fmt(text, addr));
}

/* Writes the addresses of a key under each prefix. */
static void put_networks(cd_json_w *w, const cd_addr20 *short_addr)
{
    static const char *const names[] = {"mainnet", "testnet", "devnet", "custom", "local"};
    static const char *const chains[] = {"P", "X", "C"};
    cd_json_w_key(w, "networks");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(names); i++) {
        const char *prefix = cd_network_find(names[i])->prefix;
        cd_json_w_key(w, names[i]);
        cd_json_w_arr(w);
        for (usize j = 0; j < CD_COUNT(chains); j++) {
            cd_buf text = {0};
            cd_chain_addr_put(&text, chains[j], prefix, short_addr);
            cd_json_w_str(w, cd_buf_bytes(&text));
            cd_buf_fini(&text);
        }
        cd_json_w_arr_end(w);
    }
    cd_json_w_obj_end(w);
}

/* Writes the path of the file that the keystore has for an address. */
static cd_err put_file(job *j, const cd_addr20 *addr, cd_errinfo *why)
{
    const cd_keystore_account *all;
    usize cnt;
    CD_TRY(cd_keystore_list(j->keys, &all, &cnt, j->mem, why));
    for (usize i = 0; i < cnt; i++) {
        if (cd_addr20_eq(&all[i].addr, addr)) {
            cd_json_put_cstr(j->w, "file", all[i].path);
            return CD_OK;
        }
    }
    return cd_fail(why, CD_ENOENT, "the file of the key is gone");
}

static cd_err put_key(job *j, const u8 key[32], cd_errinfo *why)
{
    u8 pub[64];
    cd_addr20 addr;
    cd_addr20 short_addr;
    CD_TRY(cd_secp256k1_pub(pub, key));
    cd_secp256k1_addr(&addr, pub);
    cd_secp256k1_short_addr(&short_addr, pub);
    cd_json_w_obj(j->w);
    put_addr(j->w, &addr);
    put_networks(j->w, &short_addr);
    CD_TRY(put_file(j, &addr, why));
    cd_json_w_obj_end(j->w);
    return CD_OK;
}

/* --- commands --- */

static cd_err keep(job *j, const u8 key[32], cd_errinfo *why)
{
    cd_secret password = {0};
    cd_addr20 addr;
    cd_err e = cd__password_get(&password, cd_args_str(j->args, OPT_PASSWORD), why);
    e = e != CD_OK ? e : cd_keystore_import(j->keys, &addr, key, cd_bytes_of(password.p, password.n), why);
    e = e != CD_OK ? e : put_key(j, key, why);
    cd_secret_fini(&password);
    return e;
}

static cd_err create(job *j, cd_errinfo *why)
{
    cd_rng rng = cd_rng_os();
    cd_secret key;
    u8 pub[64];
    cd_secret_init(&key, CD_KEYFILE_SECRET);
    do {
        cd_rng_fill(&rng, key.p, key.n);
    } while (cd_secp256k1_pub(pub, key.p) != CD_OK); /* one number in 2^128 is no key */
    cd_err e = keep(j, key.p, why);
    cd_secret_fini(&key);
    return e;
}

static cd_err import(job *j, cd_errinfo *why)
{
    const cd__account account = {.coin = (u32)cd_args_u64(j->args, OPT_COIN),
                                 .idx = (u32)cd_args_u64(j->args, OPT_INDEX)};
    cd_network_any network;
    cd_secret key = {0};
    if (strcmp(j->word, "-") == 0 && strcmp(cd_args_str(j->args, OPT_PASSWORD), "-") == 0) {
        return cd_fail(why, CD_EINVAL, "key and password cannot both come from standard input");
    }
    CD_TRY(cd_network_parse(&network, cd_args_str(j->args, OPT_NETWORK), why));
    CD_TRY(cd__key_get(&key, j->word, &account, why));
    cd_err e = cd_hd_own_ok(key.p, network.network.id, why);
    e = e != CD_OK ? e : keep(j, key.p, why);
    cd_secret_fini(&key);
    return e;
}

static cd_err list(job *j, cd_errinfo *why)
{
    const cd_keystore_account *all;
    usize cnt;
    CD_TRY(cd_keystore_list(j->keys, &all, &cnt, j->mem, why));
    cd_json_w_arr(j->w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_obj(j->w);
        put_addr(j->w, &all[i].addr);
        cd_json_put_cstr(j->w, "file", all[i].path);
        cd_json_w_obj_end(j->w);
    }
    cd_json_w_arr_end(j->w);
    return CD_OK;
}

static cd_err open_key(job *j, cd_secret *key, cd_addr20 *addr, cd_errinfo *why)
{
    cd_secret password = {0};
    cd_bytes text = cd_bytes_str(j->word);
    bool is_addr = text.n == CD_ADDR_TEXT_SIZE - 1 && text.p[0] == '0' && text.p[1] == 'x';
    if (!is_addr || cd_hex_parse(addr->b, cd_bytes_sub(text, 2, text.n - 2)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "an address is 0x and 40 digits, got \"%.60s\"", j->word);
    }
    if (!cd_keystore_has(j->keys, addr)) {
        return cd_fail(why, CD_ENOENT, "no key file of %s in %s", j->word, cd_args_path(j->args, j->mem, OPT_KEYSTORE));
    }
    CD_TRY(cd__password_get(&password, cd_args_str(j->args, OPT_PASSWORD), why));
    cd_err e = cd_keystore_open_key(j->keys, key, addr, cd_bytes_of(password.p, password.n), why);
    cd_secret_fini(&password);
    return e;
}

static cd_err show(job *j, cd_errinfo *why)
{
    cd_secret key = {0};
    cd_addr20 addr;
    CD_TRY(open_key(j, &key, &addr, why));
    cd_err e = put_key(j, key.p, why);
    cd_secret_fini(&key);
    return e;
}

static cd_err export(job *j, cd_errinfo *why)
{
    cd_secret key = {0};
    cd_addr20 addr;
    cd_buf text = {0};
    CD_TRY(open_key(j, &key, &addr, why));
    (void)cd_buf_reserve(&text, KEY_TEXT_MAX);
    cd_buf_str(&text, "PrivateKey-");
    cd_cb58_put(&text, cd_bytes_of(key.p, key.n));
    cd_json_w_obj(j->w);
    put_addr(j->w, &addr);
    cd_json_put_str(j->w, "privateKey", cd_buf_bytes(&text));
    cd_json_put_hex(j->w, "hex", cd_bytes_of(key.p, key.n));
    cd_json_w_obj_end(j->w);
    cd_wipe(text.p, text.n);
    cd_buf_fini(&text);
    cd_secret_fini(&key);
    return CD_OK;
}

static const struct {
    const char *name;
    cd_err (*run)(job *j, cd_errinfo *why);
    usize words; /* how many, the command's name included */
} commands[] = {
    {"create", create, 1}, {"import", import, 2}, {"list", list, 1}, {"show", show, 2}, {"export", export, 2}};

static cd_err run(job *j, cd_errinfo *why)
{
    const char *const *words;
    usize cnt = cd_args_words(j->args, &words);
    bool is_light = cd_args_bool(j->args, OPT_LIGHT);
    const cd_keystore_cfg cfg = {.dir = cd_args_path(j->args, j->mem, OPT_KEYSTORE),
                                 .cost = is_light ? CD_KEYFILE_LIGHT : CD_KEYFILE_STANDARD};
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        if (cnt == commands[i].words && strcmp(words[0], commands[i].name) == 0) {
            j->word = cnt == 2 ? words[1] : NULL;
            CD_TRY(cd_keystore_open(&j->keys, &cfg, why));
            cd_err e = commands[i].run(j, why);
            cd_keystore_close(j->keys);
            return e;
        }
    }
    return cd_fail(why, CD_EINVAL,
                   "that command goes: candela-cli keys create|list, import FILE|-, show|export 0xADDRESS");
}

int cd__keys_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli keys",
        .purpose = "keeps private keys in encrypted files that other wallets open, too",
        .usage = USAGE,
        .example = "candela-cli keys create --password-file=password.txt",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = 2,
    };
    cd_errinfo why = {0};
    cd_arena mem = {0};
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    int code = 0;
    cd_args *a = cd__cmd_args(&cmd, &code, argc, argv);
    if (a == NULL) {
        return code;
    }
    bool is_json = cd_args_bool(a, OPT_JSON);
    (void)cd_buf_reserve(&json, OUTPUT_USUAL); /* so that it is not moved, which would leave a copy of a key behind */
    job j = {.args = a, .mem = &mem, .w = &w};
    cd_err e = run(&j, &why);
    if (e == CD_OK) {
        cd__print_json(&json, is_json);
    } else {
        code = cd__cmd_fail(&why, is_json, e == CD_EINVAL ? 2 : 1);
    }
    if (json.n != 0) {
        cd_wipe(json.p, json.n);
    }
    cd_buf_fini(&json);
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}
