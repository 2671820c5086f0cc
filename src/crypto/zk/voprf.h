/* crypto/zk/voprf.h - oblivious pseudo-random functions over ristretto255 with SHA-512 [RFC 9497], modes 0 (without
 * proof) and 1 (verifiable).
 *
 *   client                                    server
 *   cd_voprf_blind ── blinded element ──►     cd_voprf_evaluate (a proof that one key did it all)
 *   cd_voprf_check ◄─ evaluated element ──┘
 *   cd_voprf_finalize: 64 bytes ══ what cd_voprf_compute gives the server for the same input
 *
 * The server sees neither input nor output, and cannot tell later which evaluation an output came from.
 * Threading: pure. [spec:adx#7.2] */
#ifndef CD_CRYPTO_ZK_VOPRF_H
#define CD_CRYPTO_ZK_VOPRF_H

#include "crypto/zk/ristretto.h"

/* Modes of RFC 9497. */
typedef enum cd_voprf_mode { CD_VOPRF_PLAIN = 0, CD_VOPRF_VERIFIABLE = 1 } cd_voprf_mode;

enum {
    CD_VOPRF_OUTPUT = 64,
    CD_VOPRF_PROOF = 64,
    CD_VOPRF_BATCH_MAX = 10000, /* elements under one proof */
    CD_VOPRF_INPUT_MAX = 65535,
};

/* The key of a server; secret. */
typedef struct cd_voprf_key {
    cd_scalar secret;
    cd_point public;
} cd_voprf_key;

/* cd_voprf_derive makes the key of a seed and an info of at most 65,535 bytes; cd_voprf_key_set that of a secret
 * scalar. */
void cd_voprf_derive(cd_voprf_key *out, cd_voprf_mode mode, const u8 seed[32], cd_bytes info);
void cd_voprf_key_set(cd_voprf_key *out, const cd_scalar *secret);

/* cd_voprf_blind hides an input behind a random scalar, not 0. CD_EINVAL for an input that maps to the identity,
 * which cannot be found in practice, or that is too long. */
cd_err cd_voprf_blind(cd_point *out, cd_voprf_mode mode, cd_bytes input, const cd_scalar *blind) CD_CHECK;

/* cd_voprf_evaluate applies the key to cnt blinded elements (1 to CD_VOPRF_BATCH_MAX) and proves that it did; proof
 * may be NULL. nonce: a random scalar that nobody can guess, new every time. */
void cd_voprf_evaluate(cd_point *out, u8 proof[CD_VOPRF_PROOF], const cd_voprf_key *key, const cd_point *blinded,
                       usize cnt, const cd_scalar *nonce);

/* cd_voprf_check checks the proof for the client: CD_OK, CD_ECANON, CD_EPROOF. */
cd_err cd_voprf_check(const u8 proof[CD_VOPRF_PROOF], const cd_point *public, const cd_point *blinded,
                      const cd_point *evaluated, usize cnt) CD_CHECK;

/* cd_voprf_finalize takes the blind off: the output. CD_EINVAL as above. */
cd_err cd_voprf_finalize(u8 out[CD_VOPRF_OUTPUT], cd_bytes input, const cd_scalar *blind,
                         const cd_point *evaluated) CD_CHECK;

/* cd_voprf_compute gives the output for an input, as the server can with its key. CD_EINVAL as above. */
cd_err cd_voprf_compute(u8 out[CD_VOPRF_OUTPUT], cd_voprf_mode mode, const cd_voprf_key *key, cd_bytes input) CD_CHECK;

#endif
