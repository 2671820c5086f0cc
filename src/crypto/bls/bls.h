/* crypto/bls/bls.h - BLS signatures on BLS12-381, public keys in G1 (48 bytes), signatures in G2 (96).
 *
 * The IETF draft's schemes over the ciphersuite BLS12381G2_XMD:SHA-256_SSWU_RO: messages of one
 * committee are told apart by proof of possession (CD_BLS_POP), which is what validators use. Keys and
 * signatures are kept decoded (affine, 96 and 192 bytes) so that a validator set is decompressed and
 * checked once; a decoded value is always in the group of prime order, a decoded key never infinity.
 * Secrets are used in constant time. Threading: pure; decoded values are frozen. */
#ifndef CD_CRYPTO_BLS_H
#define CD_CRYPTO_BLS_H

#include "base/bytes.h"

enum { CD_BLS_PK_LEN = 48, CD_BLS_SIG_LEN = 96 };

/* A decoded public key: a point of G1 as blst keeps it. Keys and signatures are made only by the functions below. */
typedef struct cd_bls_pk {
    u64 w[12];
} cd_bls_pk;

/* A signature: a point of G2 as blst keeps it. */
typedef struct cd_bls_sig {
    u64 w[24];
} cd_bls_sig;

/* A secret scalar, 32 bytes big-endian, 0 < sk < r. Wipe it after use. */
typedef struct cd_bls_sk {
    u8 b[32];
} cd_bls_sk;

/* The domain separation tag a message is hashed under. */
typedef enum cd_bls_suite {
    CD_BLS_POP,       /* BLS_SIG_..._POP_: signatures in the proof-of-possession scheme */
    CD_BLS_POP_PROOF, /* BLS_POP_..._POP_: the proofs of possession themselves */
    CD_BLS_BASIC,     /* BLS_SIG_..._NUL_: the basic scheme (distinct messages) */
} cd_bls_suite;

/* cd_bls_keygen derives a secret from ikm.n >= 32 random bytes (draft section 2.3); shorter: CD_EINVAL.
 * cd_bls_sk_check says whether 0 < sk < r; cd_bls_pk_of computes the public key (CD_EKEY otherwise). */
cd_err cd_bls_keygen(cd_bls_sk *out, cd_bytes ikm) CD_CHECK;
bool cd_bls_sk_check(const cd_bls_sk *sk) CD_CHECK;
cd_err cd_bls_pk_of(cd_bls_pk *out, const cd_bls_sk *sk) CD_CHECK;

/* cd_bls_pk_dec reads 48 (compressed) or 96 bytes and validates the key. Errors: CD_EFORMAT on another
 * length, CD_EPOINT when the point is malformed, off the curve or outside the group, CD_EKEY at
 * infinity. cd_bls_sig_dec reads 96 or 192 bytes; infinity is a well-formed signature. */
cd_err cd_bls_pk_dec(cd_bls_pk *out, cd_bytes in) CD_CHECK;
cd_err cd_bls_sig_dec(cd_bls_sig *out, cd_bytes in) CD_CHECK;

/* The encoders write the compressed form; _enc_raw the uncompressed one. cd_bls_pk_compress makes the compressed form
 * of an uncompressed one, which is not checked again. */
void cd_bls_pk_enc(u8 out[48], const cd_bls_pk *pk);
void cd_bls_pk_enc_raw(u8 out[96], const cd_bls_pk *pk);
void cd_bls_pk_compress(u8 out[48], const u8 raw[96]);
void cd_bls_sig_enc(u8 out[96], const cd_bls_sig *sig);
void cd_bls_sig_enc_raw(u8 out[192], const cd_bls_sig *sig);

/* cd_bls_sign signs msg. Errors: CD_EKEY. */
cd_err cd_bls_sign(cd_bls_sig *out, cd_bls_suite suite, cd_bytes msg, const cd_bls_sk *sk) CD_CHECK;

/* cd_bls_verify says whether sig is pk's signature of msg. */
bool cd_bls_verify(const cd_bls_sig *sig, cd_bls_suite suite, cd_bytes msg, const cd_bls_pk *pk) CD_CHECK;

/* cd_bls_agg_sigs / _agg_pks add up. Errors: CD_EINVAL when cnt is zero, and for keys CD_EKEY when they
 * sum to infinity. */
cd_err cd_bls_agg_sigs(cd_bls_sig *out, const cd_bls_sig *sigs, usize cnt) CD_CHECK;
cd_err cd_bls_agg_pks(cd_bls_pk *out, const cd_bls_pk *pks, usize cnt) CD_CHECK;

/* cd_bls_pk_less gives a - b. Errors: CD_EKEY when they are equal. */
cd_err cd_bls_pk_less(cd_bls_pk *out, const cd_bls_pk *a, const cd_bls_pk *b) CD_CHECK;

/* A sum of keys that is taken one by one, without memory: all zero to start with. cd_bls_sum_add adds a key.
 * cd_bls_sum_end gives the sum; CD_EKEY when it is infinity, which it is of no keys. */
typedef struct cd_bls_sum {
    u64 w[18];
} cd_bls_sum;
void cd_bls_sum_add(cd_bls_sum *sum, const cd_bls_pk *pk);
cd_err cd_bls_sum_end(cd_bls_pk *out, const cd_bls_sum *sum) CD_CHECK;

/* cd_bls_fast_agg_verify says whether sig aggregates the signatures of all pks on one msg (false when
 * cnt is zero). Only sound for keys whose proof of possession was checked. */
bool cd_bls_fast_agg_verify(const cd_bls_sig *sig, cd_bytes msg, const cd_bls_pk *pks, usize cnt) CD_CHECK;

/* cd_bls_agg_verify says whether sig aggregates signatures of msgs[i] by pks[i], i < cnt; false when cnt
 * is zero. Under CD_BLS_BASIC the caller has to refuse equal messages. */
bool cd_bls_agg_verify(const cd_bls_sig *sig, cd_bls_suite suite, const cd_bytes *msgs, const cd_bls_pk *pks,
                       usize cnt) CD_CHECK;

/* cd_bls_batch_verify says whether every sigs[i] is pks[i]'s signature of msgs[i], in one product of
 * pairings with coefficients drawn from seed: 32 bytes the signers could not foresee. */
bool cd_bls_batch_verify(const cd_bls_sig *sigs, cd_bls_suite suite, const cd_bytes *msgs, const cd_bls_pk *pks,
                         usize cnt, const u8 seed[32]) CD_CHECK;

/* cd_bls_pop_prove signs the public key of sk with sk, under CD_BLS_POP_PROOF; cd_bls_pop_verify checks a proof. */
cd_err cd_bls_pop_prove(cd_bls_sig *out, const cd_bls_sk *sk) CD_CHECK;
bool cd_bls_pop_verify(const cd_bls_sig *proof, const cd_bls_pk *pk) CD_CHECK;

/* cd_bls_hash_to_g2 hashes msg to the group under the tag dst (RFC 9380). */
void cd_bls_hash_to_g2(cd_bls_sig *out, cd_bytes msg, cd_bytes dst);

#endif
