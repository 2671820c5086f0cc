/* crypto/lattice/sample.h - numbers drawn from a stream: uniform ones, those of a bell curve, and the challenge.
 *
 * The bell curves are discrete and end at twice their deviation; they are made of integers alone, so that every machine
 * draws the same ones, and neither time nor addresses depend on the result (they do on a number that is refused, which
 * says nothing of the next one). Threading: as the stream. [spec:finality#3] */
#ifndef CD_CRYPTO_LATTICE_SAMPLE_H
#define CD_CRYPTO_LATTICE_SAMPLE_H

#include "crypto/hash/blake2x.h"
#include "crypto/lattice/poly.h"

/* The bell curves: of errors, of masks in the first column, and of the weights of the sum's columns. */
typedef enum cd_lattice_bell {
    CD_BELL_ERROR, /* deviation 6.108... */
    CD_BELL_MASK,  /* deviation 172852667880.27... */
    CD_BELL_HASH,  /* deviation 163961331.52... */
} cd_lattice_bell;

/* cd_lattice_uniform fills p with numbers below q, as the original does: it takes 49 bits of each eight bytes and skips
 * numbers that are too large; it reads 1,024 bytes at a time, and drops those that are left at the end. */
void cd_lattice_uniform(cd_lpoly *p, cd_blake2x *x);

/* cd_lattice_bell_draw gives one number; cd_lattice_bell_fill a polynomial of them, modulo q. */
i64 cd_lattice_bell_draw(cd_lattice_bell bell, cd_blake2x *x);
void cd_lattice_bell_fill(cd_lpoly *p, cd_lattice_bell bell, cd_blake2x *x);

/* cd_lattice_challenge makes the polynomial of a seed: 23 coefficients are 1 or -1, the others 0. */
void cd_lattice_challenge(cd_lpoly *p, const u8 seed[32]);

#endif
