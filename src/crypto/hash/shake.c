#include "crypto/hash/shake.h"

#include "crypto/hash/keccak_priv.h"

void cd_shake_init(cd_shake *s, u32 rate)
{
    *s = (cd_shake){.rate = rate};
}

void cd_shake_update(cd_shake *s, cd_bytes in)
{
    for (usize i = 0; i < in.n; i++) {
        s->state[s->used / 8] ^= (u64)in.p[i] << s->used % 8 * 8;
        if (++s->used == s->rate) {
            cd__keccak_permute(s->state);
            s->used = 0;
        }
    }
}

void cd_shake_end(cd_shake *s)
{
    s->state[s->used / 8] ^= 0x1full << s->used % 8 * 8;
    s->state[s->rate / 8 - 1] ^= 1ull << 63;
    s->used = s->rate;
}

void cd_shake_fill(cd_shake *s, u8 *out, usize n)
{
    for (usize i = 0; i < n; i++) {
        if (s->used == s->rate) {
            cd__keccak_permute(s->state);
            s->used = 0;
        }
        out[i] = (u8)(s->state[s->used / 8] >> s->used % 8 * 8);
        s->used++;
    }
}
