/* crypto/bls/kzg_blob.h - KZG commitments to whole blobs and their proofs (EIP-4844), for tools and tests.
 *
 * A blob is 4096 field elements of 32 bytes. These operations need the ceremony's full setup, which
 * takes about 1.5 s of CPU time to load: open it once, outside any hot path. Checking one evaluation
 * needs none of it (crypto/bls/kzg.h). Wraps c-kzg; no other file knows it.
 * Threading: an open setup is frozen and may be used by any number of threads. */
#ifndef CD_CRYPTO_KZG_BLOB_H
#define CD_CRYPTO_KZG_BLOB_H

#include "base/bytes.h"

/* Bytes of a blob: 4096 field elements. */
#define CD_KZG_BLOB_LEN 131072

typedef struct cd_kzg_setup cd_kzg_setup;

/* cd_kzg_setup_open reads a setup in the ceremony's text form (counts, then one point a line in hex).
 * Errors: CD_EFORMAT. cd_kzg_setup_close accepts NULL. */
cd_err cd_kzg_setup_open(cd_kzg_setup **out, cd_bytes text) CD_CHECK;
void cd_kzg_setup_close(cd_kzg_setup *s);

/* cd_kzg_blob_commit commits to a blob. Errors of this and the next functions: CD_EINVAL on a blob of
 * another length, CD_EFORMAT on an element or a point that is not canonical. */
cd_err cd_kzg_blob_commit(const cd_kzg_setup *s, u8 commitment[48], cd_bytes blob) CD_CHECK;

/* cd_kzg_prove evaluates the blob's polynomial at z, giving y and the proof of it. */
cd_err cd_kzg_prove(const cd_kzg_setup *s, u8 proof[48], u8 y[32], cd_bytes blob, const u8 z[32]) CD_CHECK;

/* cd_kzg_blob_prove proves that a commitment belongs to a blob; cd_kzg_blob_verify checks that. */
cd_err cd_kzg_blob_prove(const cd_kzg_setup *s, u8 proof[48], cd_bytes blob, const u8 commitment[48]) CD_CHECK;
cd_err cd_kzg_blob_verify(const cd_kzg_setup *s, bool *ok, cd_bytes blob, const u8 commitment[48],
                          const u8 proof[48]) CD_CHECK;

#endif
