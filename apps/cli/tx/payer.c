#include "tx/payer.h"

#include "base/hex.h"
#include "crypto/ec/secp256k1.h"
#include "keys/secrets.h"
#include "types/addr_text.h"
#include "wallet/hd.h"
#include "wallet/keystore.h"

#include <stdlib.h>

void cd__payer_fini(cd__payer *p)
{
    for (usize i = 0; i < CD__PAYER_KEYS_MAX; i++) {
        if (p->secrets[i].p != NULL) {
            cd_secret_fini(&p->secrets[i]);
        }
    }
}

/* Takes over a secret and inserts it where the order of addresses wants it. */
static cd_err add_key(cd__payer *p, cd_secret *key, u32 network_id, cd_errinfo *why)
{
    u8 pub[64];
    cd_addr20 addr;
    cd_err e = cd_hd_own_ok(key->p, network_id, why);
    if (e == CD_OK && p->cnt == CD__PAYER_KEYS_MAX) {
        e = cd_fail(why, CD_ELIMIT, "at most %d keys", CD__PAYER_KEYS_MAX);
    }
    if (e == CD_OK) {
        e = cd_secp256k1_pub(pub, key->p);
    }
    if (e != CD_OK) {
        cd_secret_fini(key);
        return e;
    }
    cd_secp256k1_short_addr(&addr, pub);
    usize at = p->cnt++;
    while (at > 0 && memcmp(p->addrs[at - 1].b, addr.b, sizeof addr.b) > 0) {
        p->addrs[at] = p->addrs[at - 1];
        p->eth[at] = p->eth[at - 1];
        p->secrets[at] = p->secrets[at - 1];
        at--;
    }
    p->addrs[at] = addr;
    p->secrets[at] = *key;
    cd_secp256k1_addr(&p->eth[at], pub);
    return CD_OK;
}

static cd_err add_stored(cd__payer *p, cd_keystore *keys, const char *text, cd_bytes password, u32 network_id,
                         cd_errinfo *why)
{
    cd_addr20 addr;
    cd_secret key = {0};
    cd_bytes t = cd_bytes_str(text);
    bool is_addr = t.n == CD_ADDR_TEXT_SIZE - 1 && t.p[0] == '0' && t.p[1] == 'x';
    if (!is_addr || cd_hex_parse(addr.b, cd_bytes_sub(t, 2, t.n - 2)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--key: the account of a key is 0x and 40 digits, got \"%.60s\"", text);
    }
    if (!cd_keystore_has(keys, &addr)) {
        return cd_fail(why, CD_ENOENT, "no key file of %s in the keystore", text);
    }
    CD_TRY(cd_keystore_open_key(keys, &key, &addr, password, why));
    return add_key(p, &key, network_id, why);
}

static cd_err add_all_stored(cd__payer *p, const cd_args *a, cd_arena *mem, u32 network_id, cd_errinfo *why)
{
    const char *const *texts;
    usize cnt = cd_args_list(a, PAYER_KEY, &texts);
    cd_keystore *keys = NULL;
    cd_secret password = {0};
    const cd_keystore_cfg cfg = {.dir = cd_args_path(a, mem, PAYER_KEYSTORE), .cost = CD_KEYFILE_STANDARD};
    if (cnt == 0) {
        return CD_OK;
    }
    CD_TRY(cd__password_get(&password, cd_args_str(a, PAYER_PASSWORD), why));
    cd_err e = cd_keystore_open(&keys, &cfg, why);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        e = add_stored(p, keys, texts[i], cd_bytes_of(password.p, password.n), network_id, why);
    }
    cd_keystore_close(keys);
    cd_secret_fini(&password);
    return e;
}

cd_err cd__payer_keys(cd__payer *out, const cd_args *a, cd_arena *mem, u32 network_id, cd_errinfo *why)
{
    const char *const *files;
    usize cnt = cd_args_list(a, PAYER_KEY_FILE, &files);
    const cd__account account = {.coin = (u32)cd_args_u64(a, PAYER_COIN), .idx = (u32)cd_args_u64(a, PAYER_INDEX)};
    *out = (cd__payer){.has_secrets = true};
    CD_TRY(add_all_stored(out, a, mem, network_id, why));
    for (usize i = 0; i < cnt; i++) {
        cd_secret key = {0};
        CD_TRY(cd__key_get(&key, files[i], &account, why));
        CD_TRY(add_key(out, &key, network_id, why));
    }
    return out->cnt != 0 ? CD_OK : cd_fail(why, CD_EINVAL, "who signs? --key=0xADDRESS or --key-file=FILE");
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

cd_err cd__payer_addrs(cd__payer *out, const cd__world *w, const char *const *texts, usize cnt, cd_errinfo *why)
{
    *out = (cd__payer){0};
    if (cnt == 0 || cnt > CD__PAYER_KEYS_MAX) {
        return cd_fail(why, CD_EINVAL, "who pays? --from=ADDRESS, up to %d of them", CD__PAYER_KEYS_MAX);
    }
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd__addr_read(w, &out->addrs[i], texts[i], why));
    }
    out->cnt = cnt;
    qsort(out->addrs, cnt, sizeof *out->addrs, by_bytes);
    return CD_OK;
}

cd_err cd__payer_sign(const cd__payer *p, cd_wallet_draft *d, cd_errinfo *why)
{
    u32 all = 0;
    for (usize i = 0; i < p->cnt; i++) {
        u32 given;
        CD_TRY(cd_wallet_sign(d, &given, (const u8(*)[32])(const void *)p->secrets[i].p, 1));
        all += given;
    }
    return all != 0 ? CD_OK : cd_fail(why, CD_EACCES, "none of these keys is asked to sign");
}
