#include "base/table/siphash.h"

typedef struct sip {
    u64 a, b, c, d;
} sip;

CD_INLINE u64 rotl(u64 x, int n)
{
    return x << n | x >> (64 - n);
}

CD_INLINE void sip_round(sip *s)
{
    s->a += s->b;
    s->b = rotl(s->b, 13) ^ s->a;
    s->a = rotl(s->a, 32);
    s->c += s->d;
    s->d = rotl(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotl(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotl(s->b, 17) ^ s->c;
    s->c = rotl(s->c, 32);
}

CD_INLINE void sip_rounds(sip *s, int cnt)
{
    for (int i = 0; i < cnt; i++) {
        sip_round(s);
    }
}

CD_INLINE u64 siphash(cd_sipkey key, cd_bytes b, int per_word, int at_end)
{
    sip s = {
        .a = key.k0 ^ 0x736f6d6570736575ull,
        .b = key.k1 ^ 0x646f72616e646f6dull,
        .c = key.k0 ^ 0x6c7967656e657261ull,
        .d = key.k1 ^ 0x7465646279746573ull,
    };
    usize words = b.n / 8;
    for (usize i = 0; i < words; i++) {
        u64 m = cd_le64(b.p + 8 * i);
        s.d ^= m;
        sip_rounds(&s, per_word);
        s.a ^= m;
    }
    u64 last = (u64)b.n << 56;
    for (usize i = 0; i < b.n % 8; i++) {
        last |= (u64)b.p[8 * words + i] << (8 * i);
    }
    s.d ^= last;
    sip_rounds(&s, per_word);
    s.a ^= last;
    s.c ^= 0xff;
    sip_rounds(&s, at_end);
    return s.a ^ s.b ^ s.c ^ s.d;
}

u64 cd_siphash13(cd_sipkey key, cd_bytes b)
{
    return siphash(key, b, 1, 3);
}

u64 cd_siphash24(cd_sipkey key, cd_bytes b)
{
    return siphash(key, b, 2, 4);
}
