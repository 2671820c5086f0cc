#include "crypto/cipher/hpke.h"

#include "base/mem/secret.h"
#include "crypto/hash/hmac.h"

#include <openssl/evp.h>

#define PSK_MIN 32

enum mode { BASE, PSK, AUTH, AUTH_PSK };

/* The suite's identifier in labels: of the key encapsulation alone, or of all three algorithms. */
typedef struct suite {
    u8 b[10];
    usize n;
} suite;

static suite suite_kem(void)
{
    return (suite){.b = {'K', 'E', 'M', 0, CD_HPKE_KEM_X25519}, .n = 5};
}

static suite suite_all(cd_hpke_aead aead)
{
    suite s = {.b = {'H', 'P', 'K', 'E', 0, CD_HPKE_KEM_X25519, 0, CD_HPKE_KDF_SHA256}, .n = 10};
    cd_put_be16(s.b + 8, (u16)aead);
    return s;
}

/* Computes HKDF-Extract of "HPKE-v1", suite, label and input under salt [RFC 9180, 4]. */
static void labeled_extract(u8 out[32], const suite *s, cd_bytes salt, const char *label, cd_bytes input)
{
    cd_hmac_sha256_key key;
    cd_bytes parts[] = {cd_bytes_str("HPKE-v1"), cd_bytes_of(s->b, s->n), cd_bytes_str(label), input};
    cd_hmac_sha256_init(&key, salt);
    cd_hmac_sha256_parts(out, &key, parts, CD_COUNT(parts));
    cd_wipe(&key, sizeof key);
}

/* Computes n bytes of HKDF-Expand of length, "HPKE-v1", suite, label and info [RFC 9180, 4]; n <= 255 * 32. */
static void labeled_expand(u8 *out, usize n, const suite *s, const u8 secret[32], const char *label, cd_bytes info)
{
    cd_hmac_sha256_key key;
    u8 block[32];
    u8 len[2];
    CD_ASSERT(n <= (usize)255 * 32);
    cd_put_be16(len, (u16)n);
    cd_hmac_sha256_init(&key, cd_bytes_of(secret, 32));
    for (usize at = 0; at < n; at += 32) {
        u8 counter = (u8)(at / 32 + 1);
        cd_bytes parts[] = {cd_bytes_of(block, at == 0 ? 0 : 32),
                            cd_bytes_of(len, 2),
                            cd_bytes_str("HPKE-v1"),
                            cd_bytes_of(s->b, s->n),
                            cd_bytes_str(label),
                            info,
                            cd_bytes_of(&counter, 1)};
        cd_hmac_sha256_parts(block, &key, parts, CD_COUNT(parts));
        memcpy(out + at, block, n - at < 32 ? n - at : 32);
    }
    cd_wipe(&key, sizeof key);
    cd_wipe(block, sizeof block);
}

void cd_x25519_public(u8 out[32], const u8 secret[32])
{
    usize n = 32;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, 32);
    CD_ASSERT(key != NULL && EVP_PKEY_get_raw_public_key(key, out, &n) == 1 && n == 32);
    EVP_PKEY_free(key);
}

void cd_hpke_derive_key(u8 secret[32], cd_bytes material)
{
    u8 prk[32];
    suite s = suite_kem();
    labeled_extract(prk, &s, (cd_bytes){0}, "dkp_prk", material);
    labeled_expand(secret, 32, &s, prk, "sk", (cd_bytes){0});
    cd_wipe(prk, sizeof prk);
}

/* Gives the shared secret of two keys; CD_EKEY when it is all zeros, which OpenSSL refuses too. */
static cd_err x25519(u8 out[32], const u8 secret[32], const u8 public[32])
{
    static const u8 zero[32];
    usize n = 32;
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, 32);
    EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, public, 32);
    EVP_PKEY_CTX *ctx = own == NULL ? NULL : EVP_PKEY_CTX_new(own, NULL);
    CD_ASSERT(own != NULL && peer != NULL && ctx != NULL);
    bool ok = EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, peer) == 1 &&
              EVP_PKEY_derive(ctx, out, &n) == 1 && n == 32 && !cd_ct_eq(out, zero, 32);
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(own);
    return ok ? CD_OK : CD_EKEY;
}

/* Derives the shared secret from one or two Diffie-Hellman results, enc and the receiver's public key; in the
 * authenticated modes from the sender's public key too, else sender is NULL. */
static void encapsulated(u8 out[32], cd_bytes dh, const u8 enc[32], const u8 receiver[32], const u8 *sender)
{
    u8 context[96];
    u8 prk[32];
    suite s = suite_kem();
    memcpy(context, enc, 32);
    memcpy(context + 32, receiver, 32);
    if (sender != NULL) {
        memcpy(context + 64, sender, 32);
    }
    labeled_extract(prk, &s, (cd_bytes){0}, "eae_prk", dh);
    labeled_expand(out, 32, &s, prk, "shared_secret", cd_bytes_of(context, sender == NULL ? 64 : 96));
    cd_wipe(prk, sizeof prk);
}

static usize key_size(cd_hpke_aead aead)
{
    return aead == CD_HPKE_AES_128_GCM ? 16 : 32;
}

static void schedule(cd_hpke *out, cd_hpke_aead aead, const u8 shared[32], cd_bytes info, const cd_hpke_auth *auth)
{
    suite s = suite_all(aead);
    u8 context[65];
    u8 secret[32];
    bool has_psk = auth->psk.n != 0;
    enum mode mode = auth->sender != NULL ? (has_psk ? AUTH_PSK : AUTH) : (has_psk ? PSK : BASE);
    context[0] = (u8)mode;
    labeled_extract(context + 1, &s, (cd_bytes){0}, "psk_id_hash", auth->psk_id);
    labeled_extract(context + 33, &s, (cd_bytes){0}, "info_hash", info);
    labeled_extract(secret, &s, cd_bytes_of(shared, 32), "secret", auth->psk);
    cd_bytes c = cd_bytes_of(context, sizeof context);
    *out = (cd_hpke){.aead = aead};
    labeled_expand(out->key, key_size(aead), &s, secret, "key", c);
    labeled_expand(out->base_nonce, sizeof out->base_nonce, &s, secret, "base_nonce", c);
    labeled_expand(out->exporter, sizeof out->exporter, &s, secret, "exp", c);
    cd_wipe(secret, sizeof secret);
}

static cd_err check_auth(const cd_hpke_auth *auth)
{
    bool is_whole = (auth->psk.n == 0) == (auth->psk_id.n == 0) && (auth->psk.n == 0 || auth->psk.n >= PSK_MIN);
    return is_whole ? CD_OK : CD_EINVAL;
}

cd_err cd_hpke_send(cd_hpke *out, u8 enc[32], cd_hpke_aead aead, const u8 receiver[32], cd_bytes info,
                    const cd_hpke_auth *auth, const u8 ephemeral[32])
{
    u8 dh[64];
    u8 shared[32];
    u8 sender[32];
    CD_TRY(check_auth(auth));
    CD_TRY(x25519(dh, ephemeral, receiver));
    if (auth->sender != NULL) {
        CD_TRY(x25519(dh + 32, auth->sender, receiver));
        cd_x25519_public(sender, auth->sender);
    }
    cd_x25519_public(enc, ephemeral);
    encapsulated(shared, cd_bytes_of(dh, auth->sender == NULL ? 32 : 64), enc, receiver,
                 auth->sender == NULL ? NULL : sender);
    schedule(out, aead, shared, info, auth);
    cd_wipe(dh, sizeof dh);
    cd_wipe(shared, sizeof shared);
    return CD_OK;
}

cd_err cd_hpke_receive(cd_hpke *out, const u8 enc[32], cd_hpke_aead aead, const u8 secret[32], cd_bytes info,
                       const cd_hpke_auth *auth)
{
    u8 dh[64];
    u8 shared[32];
    u8 receiver[32];
    CD_TRY(check_auth(auth));
    CD_TRY(x25519(dh, secret, enc));
    if (auth->sender != NULL) {
        CD_TRY(x25519(dh + 32, secret, auth->sender));
    }
    cd_x25519_public(receiver, secret);
    encapsulated(shared, cd_bytes_of(dh, auth->sender == NULL ? 32 : 64), enc, receiver, auth->sender);
    schedule(out, aead, shared, info, auth);
    cd_wipe(dh, sizeof dh);
    cd_wipe(shared, sizeof shared);
    return CD_OK;
}

void cd_hpke_fini(cd_hpke *h)
{
    cd_wipe(h, sizeof *h);
}

static void next_nonce(u8 out[12], const cd_hpke *h)
{
    u8 seq[12] = {0};
    cd_put_be64(seq + 4, h->seq);
    for (int i = 0; i < 12; i++) {
        out[i] = h->base_nonce[i] ^ seq[i];
    }
}

/* Encrypts or decrypts one message; the tag is written when sealing and compared when opening. */
static bool run_aead(const cd_hpke *h, bool is_seal, u8 *out, u8 tag[CD_HPKE_TAG], cd_bytes aad, cd_bytes in)
{
    u8 nonce[12];
    u8 none;
    int n = 0;
    const EVP_CIPHER *cipher = h->aead == CD_HPKE_AES_128_GCM ? EVP_aes_128_gcm() : EVP_chacha20_poly1305();
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    next_nonce(nonce, h);
    CD_ASSERT(ctx != NULL && EVP_CipherInit_ex(ctx, cipher, NULL, h->key, nonce, is_seal ? 1 : 0) == 1);
    bool ok = (is_seal || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, CD_HPKE_TAG, tag) == 1) &&
              (aad.n == 0 || EVP_CipherUpdate(ctx, NULL, &n, aad.p, (int)aad.n) == 1) &&
              (in.n == 0 || EVP_CipherUpdate(ctx, out, &n, in.p, (int)in.n) == 1) &&
              EVP_CipherFinal_ex(ctx, &none, &n) == 1 &&
              (!is_seal || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, CD_HPKE_TAG, tag) == 1);
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

cd_err cd_hpke_seal(cd_hpke *h, cd_buf *out, cd_bytes aad, cd_bytes plain)
{
    if (h->aead == CD_HPKE_EXPORT_ONLY) {
        return CD_EUNSUPPORTED;
    }
    CD_ASSERT(plain.n <= INT32_MAX / 2 && aad.n <= INT32_MAX / 2);
    u8 *p = cd_buf_extend(out, plain.n + CD_HPKE_TAG);
    bool ok = run_aead(h, true, p, p + plain.n, aad, plain);
    CD_ASSERT(ok);
    h->seq++;
    return CD_OK;
}

cd_err cd_hpke_open(cd_hpke *h, cd_buf *out, cd_bytes aad, cd_bytes sealed)
{
    if (h->aead == CD_HPKE_EXPORT_ONLY) {
        return CD_EUNSUPPORTED;
    }
    if (sealed.n < CD_HPKE_TAG || sealed.n > INT32_MAX / 2 || aad.n > INT32_MAX / 2) {
        return CD_ESIG;
    }
    u8 tag[CD_HPKE_TAG];
    usize n = sealed.n - CD_HPKE_TAG;
    memcpy(tag, sealed.p + n, CD_HPKE_TAG);
    u8 *p = cd_buf_extend(out, n);
    if (!run_aead(h, false, p, tag, aad, cd_bytes_sub(sealed, 0, n))) {
        cd_wipe(p, n);
        out->n -= n;
        return CD_ESIG;
    }
    h->seq++;
    return CD_OK;
}

void cd_hpke_export(const cd_hpke *h, u8 *out, usize n, cd_bytes purpose)
{
    suite s = suite_all(h->aead);
    labeled_expand(out, n, &s, h->exporter, "sec", purpose);
}
