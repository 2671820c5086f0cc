/* consensus/sample/mt19937.h - the Mersenne Twister with 64-bit words, which says who may propose a block: everybody
 * must draw the same numbers. Not for anything that may not be guessed.
 *
 * Words are twisted when they are drawn, one by one: who wants one number pays for one, and for half of
 * the seeding. Threading: confined.
 * [spec:consensus#6] */
#ifndef CD_CONSENSUS_MT19937_H
#define CD_CONSENSUS_MT19937_H

#include "base/base.h"

enum { CD_MT64_WORDS = 312 };

/* The state of a 64-bit Mersenne Twister. */
typedef struct cd_mt64 {
    u64 word[CD_MT64_WORDS];
    u32 at;     /* the next word to twist */
    u32 seeded; /* number of words that are seeded */
} cd_mt64;

/* cd_mt64_seed begins anew; cd_mt64_next draws 64 bits. */
void cd_mt64_seed(cd_mt64 *m, u64 seed);
u64 cd_mt64_next(cd_mt64 *m);

#endif
