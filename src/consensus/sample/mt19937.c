#include "consensus/sample/mt19937.h"

/* Constants of the 64-bit generator by Matsumoto and Nishimura. */
enum { MIDDLE = 156 };
static const u64 multiplier = 6364136223846793005u;
static const u64 matrix = 0xb5026f5aa96619e9u;
static const u64 lower = 0x7fffffffu;

void cd_mt64_seed(cd_mt64 *m, u64 seed)
{
    m->word[0] = seed;
    m->seeded = 1;
    m->at = 0;
}

/* Seeds further words, up to and with word. */
static void seed_to(cd_mt64 *m, u32 word)
{
    u64 before = m->word[m->seeded - 1];
    for (u32 i = m->seeded; i <= word; i++) {
        before = multiplier * (before ^ (before >> 62)) + i;
        m->word[i] = before;
    }
    m->seeded = word + 1;
}

u64 cd_mt64_next(cd_mt64 *m)
{
    u32 i = m->at;
    u32 next = i + 1 == CD_MT64_WORDS ? 0 : i + 1;
    u32 far = i < CD_MT64_WORDS - MIDDLE ? i + MIDDLE : i + MIDDLE - CD_MT64_WORDS;
    if (m->seeded < CD_MT64_WORDS) { /* in the first round words are seeded just before they are needed */
        seed_to(m, far);
    }
    u64 x = (m->word[i] & ~lower) | (m->word[next] & lower);
    x = m->word[far] ^ (x >> 1) ^ ((x & 1) != 0 ? matrix : 0);
    m->word[i] = x;
    m->at = next;
    x ^= (x >> 29) & 0x5555555555555555u;
    x ^= (x << 17) & 0x71d67fffeda60000u;
    x ^= (x << 37) & 0xfff7eee000000000u;
    return x ^ (x >> 43);
}
