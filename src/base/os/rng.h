/* base/os/rng.h - the one door to randomness: a seeded generator for tests and simulation, and the
 * operating system's for everything that must not be guessed.
 *
 * The seeded generator is xoshiro256** (public domain algorithm by Blackman and Vigna): the same
 * seed gives the same numbers on every machine. It is not for keys. Threading: confined (the OS
 * source may be used from any thread). */
#ifndef CD_BASE_RNG_H
#define CD_BASE_RNG_H

#include "base/base.h"

/* The state of a generator; is_os: numbers come from the operating system. */
typedef struct cd_rng {
    u64 s[4];
    bool is_os;
} cd_rng;

/* cd_rng_seeded gives the deterministic generator of seed. */
cd_rng cd_rng_seeded(u64 seed);

/* cd_rng_os gives the operating system's generator. */
cd_rng cd_rng_os(void);

/* cd_rng_fill writes n random bytes. The OS source aborts when the kernel has none to give. */
void cd_rng_fill(cd_rng *r, void *out, usize n);

/* cd_rng_u64 gives 64 random bits, cd_rng_below a uniform number in [0, n); n must not be 0. */
u64 cd_rng_u64(cd_rng *r);
u64 cd_rng_below(cd_rng *r, u64 n);

#endif
