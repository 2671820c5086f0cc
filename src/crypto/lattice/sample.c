#include "crypto/lattice/sample.h"

enum { UNIFORM_BITS = 49, UNIFORM_ROOM = 1024, ERROR_MAX = 12, WEIGHT = 23, SIGN_BYTES = (WEIGHT + 7) / 8 };

void cd_lattice_uniform(cd_lpoly *p, cd_blake2x *x)
{
    u8 room[UNIFORM_ROOM];
    usize used = sizeof room;
    for (u32 i = 0; i < CD_LPOLY_N; used += 8) {
        if (used == sizeof room) {
            cd_blake2x_fill(x, room, sizeof room);
            used = 0;
        }
        u64 v = cd_be64(room + used) & ((1ull << UNIFORM_BITS) - 1);
        if (v < CD_LPOLY_Q) {
            p->c[i++] = v;
        }
    }
}

/* --- bell curves --- */

/* Entry k is the probability, times 2^63, that the absolute value of a number is k or less, where k from 0 to 12 has
 * the weight exp(-k^2 / (2 d^2)) and d is the deviation 6.108187070284607. */
static const u64 error_below[ERROR_MAX] = {
    0x08b67a3a4d5b4b5a, 0x19e80c7c89a5b179, 0x2a6c2ba1b81e99d9, 0x39de43c9368f2f69,
    0x47ee4c10bcae0a29, 0x546549cbb832a63f, 0x5f26e9801f55ceb6, 0x683045f93d0a7264,
    0x6f945d5ed4d61631, 0x7576f94db8c9559b, 0x7a06e8d0502b9f16, 0x7d785baa994ec897,
};

/* Draws an error. It reads the whole table, whatever the number is, so that neither time nor addresses tell it. */
static i64 draw_error(cd_blake2x *x)
{
    u64 v = cd_blake2x_u64(x);
    u64 at = v >> 1;
    i64 size = 0;
    for (u32 k = 0; k < ERROR_MAX; k++) {
        size += (i64)(at >= error_below[k]);
    }
    i64 flip = -(i64)(v & 1);
    return (size ^ flip) - flip;
}

/* A wide curve: a uniform number n up to twice the deviation d is accepted with probability exp(-n^2 / (2 d^2)). The
 * exponent n^2 / (2 d^2), times 2^61, is (n^2 >> cut) * factor >> shift. */
typedef struct wide {
    u64 max;  /* the whole part of 2 d */
    u32 bits; /* bits of 2 * max */
    u32 cut;
    u32 shift;
    u64 factor;
} wide;

static const wide mask_curve = {345705335760, 40, 15, 63, 0xa1d919c8e3760bda};
static const wide hash_curve = {327922663, 30, 0, 58, 0xab8b65e56e0d0cf2};

/* Gives exp(-y) times 2^63, for y up to 2, given times 2^61: computes the series at y / 4 and squares twice. The error
 * is below 2^-58. */
static u64 exp_minus(u64 y)
{
    static const u64 inverse_factorial[] = {
        0x8000000000000000, 0x8000000000000000, 0x4000000000000000, 0x1555555555555555, 0x0555555555555555,
        0x0111111111111111, 0x002d82d82d82d82e, 0x0006806806806807, 0x0000d00d00d00d01, 0x0000171de3a556c7,
        0x0000024fc9f6ef14, 0x00000035cc8acfeb, 0x000000047bb63bfe, 0x000000005849184f, 0x00000000064e5d2a,
        0x00000000006b9fd0, 0x000000000006b9fd, 0x000000000000654b, 0x00000000000005a1};
    u64 quarter = y; /* y / 4, times 2^63: the same bits */
    u64 sum = 0;
    for (usize i = CD_COUNT(inverse_factorial); i-- > 0;) {
        sum = inverse_factorial[i] - (u64)((unsigned __int128)quarter * sum >> 63);
    }
    sum = (u64)((unsigned __int128)sum * sum >> 63);
    return (u64)((unsigned __int128)sum * sum >> 63);
}

static i64 draw_wide(const wide *w, cd_blake2x *x)
{
    for (;;) {
        u64 v = cd_blake2x_u64(x) & ((1ull << w->bits) - 1);
        u64 coin = cd_blake2x_u64(x) >> 1;
        i64 n = (i64)v - (i64)w->max;
        u64 square = (u64)((unsigned __int128)((__int128)n * n) >> w->cut);
        u64 y = (u64)((unsigned __int128)square * w->factor >> w->shift);
        if ((v <= 2 * w->max) & (coin < exp_minus(y))) {
            return n;
        }
    }
}

i64 cd_lattice_bell_draw(cd_lattice_bell bell, cd_blake2x *x)
{
    switch (bell) {
    case CD_BELL_ERROR:
        return draw_error(x);
    case CD_BELL_MASK:
        return draw_wide(&mask_curve, x);
    case CD_BELL_HASH:
        return draw_wide(&hash_curve, x);
    }
    CD_UNREACHABLE();
}

void cd_lattice_bell_fill(cd_lpoly *p, cd_lattice_bell bell, cd_blake2x *x)
{
    for (u32 i = 0; i < CD_LPOLY_N; i++) {
        i64 n = cd_lattice_bell_draw(bell, x);
        p->c[i] = (u64)n + (CD_LPOLY_Q & (u64)(n >> 63));
    }
}

/* --- the challenge --- */

static u32 bits_of(u32 v)
{
    return v == 0 ? 0 : 32 - (u32)__builtin_clz(v);
}

void cd_lattice_challenge(cd_lpoly *p, const u8 seed[32])
{
    cd_blake2x x;
    u8 signs[SIGN_BYTES];
    u16 places[CD_LPOLY_N];
    cd_blake2x_init(&x, seed);
    cd_blake2x_fill(&x, signs, sizeof signs);
    memset(p, 0, sizeof *p);
    for (u32 i = 0; i < CD_LPOLY_N; i++) {
        places[i] = (u16)i;
    }
    for (u32 i = 0; i < WEIGHT; i++) {
        u32 left = CD_LPOLY_N - i;
        u32 mask = (u32)((1ull << bits_of(left)) - 1);
        u32 j;
        do {
            u8 b[4];
            cd_blake2x_fill(&x, b, sizeof b);
            j = cd_be32(b) & mask;
        } while (j >= left);
        p->c[places[j]] = (signs[i / 8] >> (i % 8) & 1) == 0 ? 1 : CD_LPOLY_Q - 1;
        places[j] = places[left - 1];
    }
}
