/* crypto/cipher/hpke.h - hybrid public key encryption [RFC 9180]: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, and
 * AES-128-GCM or ChaCha20-Poly1305 (or export only), in all four modes.
 *
 * Own composition over OpenSSL's X25519 and AEADs. A context seals or opens messages in order; it holds secrets, wipe
 * it with cd_hpke_fini. Threading: confined. [spec:adx#6] */
#ifndef CD_CRYPTO_CIPHER_HPKE_H
#define CD_CRYPTO_CIPHER_HPKE_H

#include "base/mem/buf.h"

/* Identifiers of RFC 9180, 7. */
enum {
    CD_HPKE_KEM_X25519 = 0x0020,
    CD_HPKE_KDF_SHA256 = 0x0001,
    CD_HPKE_TAG = 16, /* by how many bytes a ciphertext is longer than its plaintext */
};

/* Ciphers by their numbers in RFC 9180. */
typedef enum cd_hpke_aead {
    CD_HPKE_AES_128_GCM = 0x0001,
    CD_HPKE_CHACHA20_POLY1305 = 0x0003,
    CD_HPKE_EXPORT_ONLY = 0xffff,
} cd_hpke_aead;

/* A context for sealing or opening messages in order. */
typedef struct cd_hpke {
    cd_hpke_aead aead;
    u8 key[32];
    u8 base_nonce[12];
    u8 exporter[32];
    u64 seq; /* number of the next message */
} cd_hpke;

/* What both sides share beside the receiver's key; all zero is the base mode. A psk needs a psk_id and 32 bytes at
 * least. sender: the sender's secret key when sending, its public key when receiving; NULL: not authenticated. */
typedef struct cd_hpke_auth {
    cd_bytes psk;
    cd_bytes psk_id;
    const u8 *sender;
} cd_hpke_auth;

/* cd_x25519_public gives the public key of 32 secret bytes; cd_hpke_derive_key makes secret bytes of key material. */
void cd_x25519_public(u8 out[32], const u8 secret[32]);
void cd_hpke_derive_key(u8 secret[32], cd_bytes material);

/* cd_hpke_send begins a context for the owner of the public key receiver, to whom enc must be sent. ephemeral: 32 fresh
 * bytes that nobody can guess. cd_hpke_receive begins the receiver's context. Errors: CD_EKEY for a key whose shared
 * secret is all zero, CD_EINVAL for a psk without psk_id, the other way round, or a psk that is too short. */
cd_err cd_hpke_send(cd_hpke *out, u8 enc[32], cd_hpke_aead aead, const u8 receiver[32], cd_bytes info,
                    const cd_hpke_auth *auth, const u8 ephemeral[32]) CD_CHECK;
cd_err cd_hpke_receive(cd_hpke *out, const u8 enc[32], cd_hpke_aead aead, const u8 secret[32], cd_bytes info,
                       const cd_hpke_auth *auth) CD_CHECK;
void cd_hpke_fini(cd_hpke *h);

/* cd_hpke_seal appends the ciphertext of the next message, cd_hpke_open the plaintext of the next ciphertext. Errors:
 * CD_EUNSUPPORTED (export only), CD_ESIG when the ciphertext, its place in order or aad is wrong; then nothing has
 * changed. */
cd_err cd_hpke_seal(cd_hpke *h, cd_buf *out, cd_bytes aad, cd_bytes plain) CD_CHECK;
cd_err cd_hpke_open(cd_hpke *h, cd_buf *out, cd_bytes aad, cd_bytes sealed) CD_CHECK;

/* cd_hpke_export gives n secret bytes that both sides derive for a purpose, n <= 8,160. */
void cd_hpke_export(const cd_hpke *h, u8 *out, usize n, cd_bytes purpose);

#endif
