#include "crypto/ec/secp256k1.h"

#include "base/mem/secret.h"
#include "base/os/rng.h"
#include "crypto/hash/keccak.h"
#include "crypto/hash/ripemd160.h"
#include "crypto/hash/sha2.h"

#include <secp256k1.h>
#include <secp256k1_preallocated.h>
#include <secp256k1_recovery.h>

#include <pthread.h>

/* The bundled copy carries its packager's prefix on every symbol. */
#define S(name) rustsecp256k1_v0_14_##name

/* The library expects its host to define these two; it calls them when the caller or the machine is broken. */
void S(default_illegal_callback_fn)(const char *message, void *data);
void S(default_error_callback_fn)(const char *message, void *data);

void S(default_illegal_callback_fn)(const char *message, void *data)
{
    (void)data;
    cd_bug("libsecp256k1", 0, message);
}

void S(default_error_callback_fn)(const char *message, void *data)
{
    (void)data;
    cd_bug("libsecp256k1", 0, message);
}

/* Bytes of the context. Operations on public data use the library's constant context; only those that multiply the
 * generator by a secret need one that was made at run time. */
#define CONTEXT_SIZE_MAX 1024

static _Alignas(16) u8 sign_context_memory[CONTEXT_SIZE_MAX];
static S(context) * sign_context;
static pthread_once_t sign_context_once = PTHREAD_ONCE_INIT;

static void make_sign_context(void)
{
    CD_ASSERT(S(context_preallocated_size)(SECP256K1_CONTEXT_NONE) <= CONTEXT_SIZE_MAX);
    sign_context = S(context_preallocated_create)(sign_context_memory, SECP256K1_CONTEXT_NONE);
    CD_ASSERT(sign_context != NULL);
    /* Blinds the multiplications, so that their time and power tell less of the secret. Signatures do not change by
     * it. */
    u8 seed[32];
    cd_rng rng = cd_rng_os();
    cd_rng_fill(&rng, seed, sizeof seed);
    CD_ASSERT(S(context_randomize)(sign_context, seed) == 1);
    cd_wipe(seed, sizeof seed);
}

static const S(context) * get_sign_context(void)
{
    CD_ASSERT(pthread_once(&sign_context_once, make_sign_context) == 0);
    return sign_context;
}

/* put_pub writes x || y; the library does not use the context here, so the constant one serves. */
static void put_pub(u8 out[64], const S(pubkey) * key)
{
    u8 full[65];
    size_t len = sizeof full;
    int done = S(ec_pubkey_serialize)(S(context_static), full, &len, key, SECP256K1_EC_UNCOMPRESSED);
    CD_ASSERT(done == 1 && len == sizeof full);
    memcpy(out, full + 1, 64);
}

static bool get_pub(S(pubkey) * key, const u8 pub[64])
{
    u8 full[65];
    full[0] = 4;
    memcpy(full + 1, pub, 64);
    return S(ec_pubkey_parse)(S(context_static), key, full, sizeof full) == 1;
}

cd_err cd_secp256k1_recover(u8 out[64], const cd_hash32 *msg, const u8 sig[64], u8 recid)
{
    S(ecdsa_recoverable_signature) parsed;
    S(pubkey) key;
    if (recid > 3 || S(ecdsa_recoverable_signature_parse_compact)(S(context_static), &parsed, sig, recid) != 1 ||
        S(ecdsa_recover)(S(context_static), &key, &parsed, msg->b) != 1) {
        return CD_ESIG;
    }
    put_pub(out, &key);
    return CD_OK;
}

void cd_secp256k1_addr(cd_addr20 *out, const u8 pub[64])
{
    cd_hash32 hash;
    cd_keccak256_64(&hash, pub);
    memcpy(out->b, hash.b + 12, 20);
}

void cd_secp256k1_short_addr(cd_addr20 *out, const u8 pub[64])
{
    u8 key[33];
    cd_hash32 hash;
    key[0] = 2 | (pub[63] & 1); /* 2 when y is even, 3 when it is odd */
    memcpy(key + 1, pub, 32);
    cd_sha256(&hash, cd_bytes_of(key, sizeof key));
    cd_hash20 short_hash;
    cd_ripemd160(&short_hash, cd_bytes_of(hash.b, sizeof hash.b));
    memcpy(out->b, short_hash.b, 20);
}

cd_err cd_secp256k1_recover_addr(cd_addr20 *out, const cd_hash32 *msg, const u8 sig[64], u8 recid)
{
    u8 pub[64];
    CD_TRY(cd_secp256k1_recover(pub, msg, sig, recid));
    cd_secp256k1_addr(out, pub);
    return CD_OK;
}

cd_err cd_secp256k1_sign_extra(u8 sig[64], u8 *recid, const cd_hash32 *msg, const u8 secret[32], const u8 extra[32])
{
    S(ecdsa_recoverable_signature) made;
    if (S(ecdsa_sign_recoverable)(get_sign_context(), &made, msg->b, secret, NULL, extra) != 1) {
        return CD_EKEY;
    }
    int id = 0;
    int done = S(ecdsa_recoverable_signature_serialize_compact)(S(context_static), sig, &id, &made);
    CD_ASSERT(done == 1);
    *recid = (u8)id;
    return CD_OK;
}

cd_err cd_secp256k1_sign(u8 sig[64], u8 *recid, const cd_hash32 *msg, const u8 secret[32])
{
    return cd_secp256k1_sign_extra(sig, recid, msg, secret, NULL);
}

bool cd_secp256k1_verify(const cd_hash32 *msg, const u8 sig[64], const u8 pub[64])
{
    S(ecdsa_signature) parsed;
    S(pubkey) key;
    if (S(ecdsa_signature_parse_compact)(S(context_static), &parsed, sig) != 1 || !get_pub(&key, pub)) {
        return false;
    }
    /* The library's verify accepts low s only. */
    (void)S(ecdsa_signature_normalize)(S(context_static), &parsed, &parsed);
    return S(ecdsa_verify)(S(context_static), &parsed, msg->b, &key) == 1;
}

bool cd_secp256k1_is_low_s(const u8 sig[64])
{
    /* n / 2 rounded down; n is odd. */
    static const u8 half[32] = {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4,
                                0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0};
    static const u8 zero[32];
    return memcmp(sig + 32, half, 32) <= 0 && memcmp(sig + 32, zero, 32) != 0;
}

cd_err cd_secp256k1_pub(u8 out[64], const u8 secret[32])
{
    S(pubkey) key;
    if (S(ec_pubkey_create)(get_sign_context(), &key, secret) != 1) {
        return CD_EKEY;
    }
    put_pub(out, &key);
    return CD_OK;
}

cd_err cd_secp256k1_pub_enc(u8 out[33], const u8 pub[64])
{
    S(pubkey) key;
    if (!get_pub(&key, pub)) {
        return CD_EPOINT;
    }
    size_t len = 33;
    int done = S(ec_pubkey_serialize)(S(context_static), out, &len, &key, SECP256K1_EC_COMPRESSED);
    CD_ASSERT(done == 1 && len == 33);
    return CD_OK;
}

cd_err cd_secp256k1_pub_dec(u8 out[64], cd_bytes in)
{
    S(pubkey) key;
    bool form_ok = (in.n == 33 && (in.p[0] == 2 || in.p[0] == 3)) || (in.n == 65 && in.p[0] == 4);
    if (!form_ok || S(ec_pubkey_parse)(S(context_static), &key, in.p, in.n) != 1) {
        return CD_EPOINT;
    }
    put_pub(out, &key);
    return CD_OK;
}
