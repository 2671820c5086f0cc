/* crypto/zk/merlin.h - Merlin transcripts: the challenges of a non-interactive proof as a function of all that was
 * said before.
 *
 * STROBE-128 over Keccak-f[1600], the three operations that Merlin uses, byte for byte as the Rust crate `merlin`.
 * A transcript is a value: copying one forks it. Threading: confined. [spec:adx#5.2] */
#ifndef CD_CRYPTO_ZK_MERLIN_H
#define CD_CRYPTO_ZK_MERLIN_H

#include "crypto/zk/scalar.h"

/* A transcript: Keccak's state and where it stands. */
typedef struct cd_merlin {
    u64 state[25];
    u8 pos;
    u8 pos_begin;
} cd_merlin;

/* cd_merlin_init begins a transcript for one protocol. */
void cd_merlin_init(cd_merlin *t, const char *protocol);

/* cd_merlin_append says message under a label; fewer than 2^32 bytes. cd_merlin_append_u64: 8 bytes, least
 * significant first. */
void cd_merlin_append(cd_merlin *t, const char *label, cd_bytes message);
void cd_merlin_append_u64(cd_merlin *t, const char *label, u64 v);

/* cd_merlin_challenge writes n bytes that depend on everything said so far; cd_merlin_scalar reduces 64 of them. */
void cd_merlin_challenge(cd_merlin *t, const char *label, u8 *out, usize n);
cd_scalar cd_merlin_scalar(cd_merlin *t, const char *label);

#endif
