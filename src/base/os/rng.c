#include "base/os/rng.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* SplitMix64 spreads a small seed over the whole state. */
static u64 splitmix(u64 *x)
{
    u64 z = (*x += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

cd_rng cd_rng_seeded(u64 seed)
{
    cd_rng r = {.is_os = false};
    for (usize i = 0; i < 4; i++) {
        r.s[i] = splitmix(&seed);
    }
    return r;
}

cd_rng cd_rng_os(void)
{
    return (cd_rng){.is_os = true};
}

static u64 rotl(u64 x, int n)
{
    return x << n | x >> (64 - n);
}

static u64 xoshiro(u64 s[4])
{
    u64 out = rotl(s[1] * 5, 7) * 9;
    u64 t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

static void os_fill(u8 *p, usize n)
{
    while (n != 0) {
        ssize_t got = getrandom(p, n, 0);
        CD_ASSERT(got > 0 || errno == EINTR);
        if (got > 0) {
            p += got;
            n -= (usize)got;
        }
    }
}

void cd_rng_fill(cd_rng *r, void *out, usize n)
{
    u8 *p = out;
    if (r->is_os) {
        os_fill(p, n);
        return;
    }
    while (n != 0) {
        u64 v = xoshiro(r->s);
        usize k = n < 8 ? n : 8;
        memcpy(p, &v, k);
        p += k;
        n -= k;
    }
}

u64 cd_rng_u64(cd_rng *r)
{
    if (!r->is_os) {
        return xoshiro(r->s);
    }
    u64 v;
    os_fill((u8 *)&v, sizeof v);
    return v;
}

u64 cd_rng_below(cd_rng *r, u64 n)
{
    CD_ASSERT(n != 0);
    /* Lemire's method: the result is the high word of v*n; the few v that would favour some results are drawn again. */
    u64 least = (0 - n) % n;
    for (;;) {
        u128 m = (u128)cd_rng_u64(r) * n;
        if ((u64)m >= least) {
            return (u64)(m >> 64);
        }
    }
}
