/* crypto/ec/secp256k1.h - ECDSA over secp256k1 as Ethereum uses it: sign, verify, recover the signer.
 *
 * Wraps the bundled libsecp256k1; no other file knows it. Public keys travel as the 64 bytes x || y
 * (no 0x04 prefix), signatures as r || s, all big-endian. The low-s rule (EIP-2) is a separate
 * question, cd_secp256k1_is_low_s: recover and verify accept both halves, sign makes the low one.
 * Secret inputs are handled without secret-dependent branches or indices.
 *
 * Threading: shared. One context per process is made on first use and never changed again. */
#ifndef CD_CRYPTO_SECP256K1_H
#define CD_CRYPTO_SECP256K1_H

#include "base/bytes.h"

/* cd_secp256k1_recover finds the key x || y that signed msg. recid is 0..3 (Ethereum's v - 27).
 * Errors: CD_ESIG when r or s is zero or not below the group order, or no key fits. */
cd_err cd_secp256k1_recover(u8 out[64], const cd_hash32 *msg, const u8 sig[64], u8 recid) CD_CHECK;

/* cd_secp256k1_recover_addr is cd_secp256k1_recover followed by cd_secp256k1_addr. */
cd_err cd_secp256k1_recover_addr(cd_addr20 *out, const cd_hash32 *msg, const u8 sig[64], u8 recid) CD_CHECK;

/* cd_secp256k1_addr gives the account address: the last 20 bytes of keccak256(x || y). */
void cd_secp256k1_addr(cd_addr20 *out, const u8 pub[64]);

/* cd_secp256k1_short_addr gives the address on the P- and X-Chain: RIPEMD-160 of SHA-256 of the compressed key. */
void cd_secp256k1_short_addr(cd_addr20 *out, const u8 pub[64]);

/* One signature whose signer is asked for. */
typedef struct cd_secp256k1_query {
    cd_hash32 msg;
    u8 sig[64];
    u8 recid;
} cd_secp256k1_query;

/* cd_secp256k1_recover_many is cd_secp256k1_recover_addr for cnt signatures: ok[i] says whether out[i] was
 * found (where not, it is left alone). Groups of eight are computed side by side on CPUs with AVX-512
 * IFMA, at a fraction of the time each: the way to the senders of a block. */
void cd_secp256k1_recover_many(cd_addr20 *out, bool *ok, const cd_secp256k1_query *in, usize cnt);

/* cd_secp256k1_recover_short_many is the same for addresses of the P- and X-Chain. */
void cd_secp256k1_recover_short_many(cd_addr20 *out, bool *ok, const cd_secp256k1_query *in, usize cnt);

/* cd_secp256k1_sign signs msg with the RFC 6979 nonce: low s, *recid in 0..3.
 * Errors: CD_EKEY when the secret is zero or not below the group order. */
cd_err cd_secp256k1_sign(u8 sig[64], u8 *recid, const cd_hash32 *msg, const u8 secret[32]) CD_CHECK;

/* cd_secp256k1_sign_extra mixes 32 more bytes into the nonce (RFC 6979 section 3.6). */
cd_err cd_secp256k1_sign_extra(u8 sig[64], u8 *recid, const cd_hash32 *msg, const u8 secret[32],
                               const u8 extra[32]) CD_CHECK;

/* cd_secp256k1_verify says whether sig is a signature of msg by pub; false for malformed input too. */
bool cd_secp256k1_verify(const cd_hash32 *msg, const u8 sig[64], const u8 pub[64]) CD_CHECK;

/* cd_secp256k1_is_low_s says whether 0 < s <= n/2, where s = sig[32..63] (EIP-2). */
bool cd_secp256k1_is_low_s(const u8 sig[64]);

/* cd_secp256k1_pub computes the public key of a secret. Errors: CD_EKEY as for sign. */
cd_err cd_secp256k1_pub(u8 out[64], const u8 secret[32]) CD_CHECK;

/* cd_secp256k1_pub_enc compresses a valid key to 33 bytes (SEC 1); cd_secp256k1_pub_dec reads 33
 * (compressed) or 65 bytes (0x04 || x || y). Errors: CD_EPOINT when in is no point of the curve. */
cd_err cd_secp256k1_pub_enc(u8 out[33], const u8 pub[64]) CD_CHECK;
cd_err cd_secp256k1_pub_dec(u8 out[64], cd_bytes in) CD_CHECK;

#endif
