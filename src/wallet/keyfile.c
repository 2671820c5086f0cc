#include "wallet/keyfile.h"

#include "base/hex.h"
#include "codec/json.h"
#include "crypto/cipher/aes.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/hmac.h"
#include "crypto/hash/keccak.h"

const cd_scrypt_cost CD_KEYFILE_STANDARD = {.n = 1 << 18, .r = 8, .p = 1};
const cd_scrypt_cost CD_KEYFILE_LIGHT = {.n = 1 << 12, .r = 8, .p = 1};

enum {
    DERIVED = 32,
    DERIVED_MAX = 128,
    SALT_MAX = 1024,
    TEXT_MAX = 128, /* of cipher text: version 1 keeps the key as 64 digits, padded */
    ROUNDS_MAX = 10000000,
    SCRYPT_MEM_MAX = 512 << 20,
    SCRYPT_WORK_MAX = 1 << 24, /* n r p: eight times the standard cost */
};

/* What a file says of itself, checked. */
typedef struct keyfile {
    u64 version;
    u8 iv[16];
    cd_bytes text; /* the encrypted key */
    u8 mac[32];
    bool is_scrypt;
    cd_scrypt_cost cost;
    u32 rounds; /* rounds of PBKDF2 */
    cd_bytes salt;
    usize derived;
} keyfile;

/* --- reading --- */

static bool is_text(cd_json v, const char *want)
{
    cd_bytes got;
    return cd_json_str(&got, v, NULL) == CD_OK && cd_bytes_eq(got, cd_bytes_str(want));
}

static cd_err read_bounded(u64 *out, cd_json v, u64 min, u64 max, cd_errinfo *why)
{
    u64 n;
    CD_TRY(cd_json_u64(&n, v, why));
    if (n < min) {
        return cd_json_fail(v, CD_EFORMAT, "too small", why);
    }
    if (n > max) {
        return cd_json_fail(v, CD_ELIMIT, "asks for more than this program spends", why);
    }
    *out = n;
    return CD_OK;
}

static cd_err read_scrypt(keyfile *f, cd_json params, cd_errinfo *why)
{
    u64 n;
    u64 r;
    u64 p;
    CD_TRY(read_bounded(&n, cd_json_get(params, "n"), 2, SCRYPT_WORK_MAX, why));
    CD_TRY(read_bounded(&r, cd_json_get(params, "r"), 1, SCRYPT_WORK_MAX, why));
    CD_TRY(read_bounded(&p, cd_json_get(params, "p"), 1, SCRYPT_WORK_MAX, why));
    f->cost = (cd_scrypt_cost){.n = n, .r = (u32)r, .p = (u32)p};
    if (n > SCRYPT_WORK_MAX / r || n * r > SCRYPT_WORK_MAX / p || cd_scrypt_mem(&f->cost) > SCRYPT_MEM_MAX) {
        return cd_json_fail(params, CD_ELIMIT, "asks for more than this program spends", why);
    }
    f->is_scrypt = true;
    return CD_OK;
}

static cd_err read_pbkdf2(keyfile *f, cd_json params, cd_errinfo *why)
{
    u64 rounds;
    if (!is_text(cd_json_get(params, "prf"), "hmac-sha256")) {
        return cd_json_fail(params, CD_EUNSUPPORTED, "prf is not hmac-sha256", why);
    }
    CD_TRY(read_bounded(&rounds, cd_json_get(params, "c"), 1, ROUNDS_MAX, why));
    f->rounds = (u32)rounds;
    return CD_OK;
}

static cd_err read_crypto(keyfile *f, cd_arena *a, cd_json crypto, cd_errinfo *why)
{
    cd_json params = cd_json_get(crypto, "kdfparams");
    cd_json kdf = cd_json_get(crypto, "kdf");
    cd_json cipher = cd_json_get(crypto, "cipher");
    cd_json text = cd_json_get(crypto, "ciphertext");
    u64 derived;
    CD_TRY(cd_json_obj(crypto, why));
    if (!is_text(cipher, f->version == 3 ? "aes-128-ctr" : "aes-128-cbc")) {
        return cd_json_fail(crypto, CD_EUNSUPPORTED, "cipher is not that of the version", why);
    }
    CD_TRY(cd_json_fixed(f->iv, sizeof f->iv, cd_json_get(cd_json_get(crypto, "cipherparams"), "iv"), why));
    CD_TRY(cd_json_fixed(f->mac, sizeof f->mac, cd_json_get(crypto, "mac"), why));
    CD_TRY(cd_json_hex(&f->text, a, text, why));
    if (f->text.n == 0 || f->text.n > TEXT_MAX) {
        return cd_json_fail(text, CD_EFORMAT, "not the cipher text of a key", why);
    }
    CD_TRY(cd_json_obj(params, why));
    CD_TRY(cd_json_hex(&f->salt, a, cd_json_get(params, "salt"), why));
    if (f->salt.n > SALT_MAX) {
        return cd_json_fail(params, CD_ELIMIT, "salt is too long", why);
    }
    CD_TRY(read_bounded(&derived, cd_json_get(params, "dklen"), DERIVED, DERIVED_MAX, why));
    f->derived = (usize)derived;
    if (is_text(kdf, "scrypt")) {
        return read_scrypt(f, params, why);
    }
    return is_text(kdf, "pbkdf2") ? read_pbkdf2(f, params, why)
                                  : cd_json_fail(crypto, CD_EUNSUPPORTED, "kdf is neither scrypt nor pbkdf2", why);
}

static cd_err parse(cd_json *doc, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    CD_TRY(cd_json_parse(doc, a, text, CD_KEYFILE_SIZE_MAX, why));
    return cd_json_obj(*doc, why);
}

static cd_err read_keyfile(keyfile *f, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    CD_TRY(parse(&doc, a, text, why));
    cd_json version = cd_json_get(doc, "version");
    CD_TRY(cd_json_u64(&f->version, version, why));
    if (f->version != 3 && f->version != 1) {
        return cd_json_fail(version, CD_EUNSUPPORTED, "neither 3 nor 1", why);
    }
    cd_json crypto = cd_json_get(doc, "crypto");
    /* Programs of the first years wrote it so. */
    return read_crypto(f, a, cd_json_has(crypto) ? crypto : cd_json_get(doc, "Crypto"), why);
}

cd_err cd_keyfile_addr(cd_addr20 *out, cd_bytes text, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_json doc;
    cd_addr20 addr;
    cd_err e = parse(&doc, &a, text, why);
    e = e != CD_OK ? e : cd_json_fixed(addr.b, sizeof addr.b, cd_json_get(doc, "address"), why);
    cd_arena_fini(&a);
    if (e == CD_OK) {
        *out = addr;
    }
    return e;
}

/* --- opening --- */

/* keccak-256 over the second half of the derived key and the cipher text. */
static void mac_of(cd_hash32 *out, const u8 *derived, cd_bytes text)
{
    u8 all[16 + TEXT_MAX];
    CD_ASSERT(text.n <= TEXT_MAX);
    memcpy(all, derived + 16, 16);
    memcpy(all + 16, text.p, text.n);
    cd_keccak256(out, cd_bytes_of(all, 16 + text.n));
    cd_wipe(all, sizeof all);
}

static cd_err derive(u8 *out, const keyfile *f, cd_bytes password)
{
    if (f->is_scrypt) {
        return cd_scrypt(out, f->derived, password, f->salt, &f->cost);
    }
    cd_pbkdf2_sha256(out, f->derived, password, f->salt, f->rounds);
    return CD_OK;
}

/* Writers that drop leading zeros gave shorter keys. */
static cd_err take_key(cd_secret *out, cd_bytes plain, cd_errinfo *why)
{
    if (plain.n == 0 || plain.n > CD_KEYFILE_SECRET) {
        return cd_fail(why, CD_EFORMAT, "the file holds no private key");
    }
    cd_secret_init(out, CD_KEYFILE_SECRET);
    memcpy(out->p + CD_KEYFILE_SECRET - plain.n, plain.p, plain.n);
    return CD_OK;
}

static cd_err open_text(cd_secret *out, const keyfile *f, const u8 *derived, cd_errinfo *why)
{
    u8 plain[TEXT_MAX];
    usize n = f->text.n;
    cd_err e = CD_OK;
    if (f->version == 3) {
        cd_aes128_ctr(plain, derived, f->iv, f->text);
    } else {
        cd_hash32 key;
        cd_keccak256(&key, cd_bytes_of(derived, 16));
        e = cd_aes128_cbc_dec(plain, &n, key.b, f->iv, f->text);
        cd_wipe(&key, sizeof key);
    }
    e = e == CD_OK ? take_key(out, cd_bytes_of(plain, n), why) : cd_fail(why, e, "the file holds no private key");
    cd_wipe(plain, sizeof plain);
    return e;
}

cd_err cd_keyfile_dec(cd_secret *out, cd_bytes text, cd_bytes password, cd_errinfo *why)
{
    keyfile f = {0};
    cd_arena a = {0};
    cd_secret derived = {0};
    cd_hash32 mac;
    cd_err e = read_keyfile(&f, &a, text, why);
    if (e != CD_OK) {
        goto out;
    }
    cd_secret_init(&derived, f.derived);
    e = derive(derived.p, &f, password);
    if (e != CD_OK) {
        e = cd_fail(why, e == CD_EINVAL ? CD_EFORMAT : e, "kdfparams: %s", cd_err_str(e));
        goto out;
    }
    mac_of(&mac, derived.p, f.text);
    e = cd_ct_eq(mac.b, f.mac, sizeof f.mac) ? open_text(out, &f, derived.p, why)
                                             : cd_fail(why, CD_EKEY, "could not decrypt key with given password");
out:
    cd_secret_fini(&derived);
    cd_arena_fini(&a);
    return e;
}

/* --- making --- */

static void put_hex(cd_json_w *w, const char *key, const void *p, usize n)
{
    char digits[2 * TEXT_MAX];
    CD_ASSERT(n <= TEXT_MAX);
    cd_hex_fmt(digits, cd_bytes_of(p, n));
    cd_json_put_str(w, key, cd_bytes_of(digits, 2 * n));
}

/* A random UUID (RFC 9562, version 4). */
static void put_id(cd_json_w *w, cd_rng *rng)
{
    static const u8 groups[] = {4, 2, 2, 2, 6};
    u8 id[16];
    char text[37];
    usize n = 0;
    usize at = 0;
    cd_rng_fill(rng, id, sizeof id);
    id[6] = (u8)((id[6] & 0x0f) | 0x40);
    id[8] = (u8)((id[8] & 0x3f) | 0x80);
    for (usize i = 0; i < CD_COUNT(groups); i++) {
        if (i != 0) {
            text[n++] = '-';
        }
        cd_hex_fmt(text + n, cd_bytes_of(id + at, groups[i]));
        n += 2 * (usize)groups[i];
        at += groups[i];
    }
    cd_json_put_str(w, "id", cd_bytes_of(text, n));
}

cd_err cd_keyfile_enc(cd_buf *out, const u8 secret[CD_KEYFILE_SECRET], cd_bytes password, const cd_scrypt_cost *cost,
                      cd_rng *rng)
{
    u8 pub[64];
    u8 salt[32];
    u8 iv[16];
    u8 text[CD_KEYFILE_SECRET];
    cd_addr20 addr;
    cd_hash32 mac;
    cd_secret derived;
    CD_TRY(cd_secp256k1_pub(pub, secret));
    cd_secp256k1_addr(&addr, pub);
    cd_rng_fill(rng, salt, sizeof salt);
    cd_rng_fill(rng, iv, sizeof iv);
    cd_secret_init(&derived, DERIVED);
    cd_err e = cd_scrypt(derived.p, DERIVED, password, cd_bytes_of(salt, sizeof salt), cost);
    if (e != CD_OK) {
        cd_secret_fini(&derived);
        return e;
    }
    cd_aes128_ctr(text, derived.p, iv, cd_bytes_of(secret, CD_KEYFILE_SECRET));
    mac_of(&mac, derived.p, cd_bytes_of(text, sizeof text));
    cd_secret_fini(&derived);

    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    put_hex(&w, "address", addr.b, sizeof addr.b);
    cd_json_w_key(&w, "crypto");
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "cipher", "aes-128-ctr");
    put_hex(&w, "ciphertext", text, sizeof text);
    cd_json_w_key(&w, "cipherparams");
    cd_json_w_obj(&w);
    put_hex(&w, "iv", iv, sizeof iv);
    cd_json_w_obj_end(&w);
    cd_json_put_cstr(&w, "kdf", "scrypt");
    cd_json_w_key(&w, "kdfparams");
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "dklen", DERIVED);
    cd_json_put_u64(&w, "n", cost->n);
    cd_json_put_u64(&w, "p", cost->p);
    cd_json_put_u64(&w, "r", cost->r);
    put_hex(&w, "salt", salt, sizeof salt);
    cd_json_w_obj_end(&w);
    put_hex(&w, "mac", mac.b, sizeof mac.b);
    cd_json_w_obj_end(&w);
    put_id(&w, rng);
    cd_json_put_u64(&w, "version", 3);
    cd_json_w_obj_end(&w);
    return CD_OK;
}
