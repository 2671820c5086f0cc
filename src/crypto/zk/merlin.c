#include "crypto/zk/merlin.h"

#include "crypto/hash/keccak_priv.h"

#define STROBE_RATE 166 /* bytes of the state that messages are mixed into, for 128 bits of security */

/* Kinds of operation: a bit each for "the inbound direction", "for the application", "clear", "meta". */
#define FLAG_I 1
#define FLAG_A 2
#define FLAG_C 4
#define FLAG_M 16
#define META   (FLAG_M | FLAG_A)
#define AD     FLAG_A
#define PRF    (FLAG_I | FLAG_A | FLAG_C)

static u8 *state_bytes(cd_merlin *t)
{
    return (u8 *)t->state;
}

static void run_f(cd_merlin *t)
{
    u8 *s = state_bytes(t);
    s[t->pos] ^= t->pos_begin;
    s[t->pos + 1] ^= 0x04;
    s[STROBE_RATE + 1] ^= 0x80;
    cd__keccak_permute(t->state);
    t->pos = 0;
    t->pos_begin = 0;
}

static void absorb(cd_merlin *t, const u8 *p, usize n)
{
    u8 *s = state_bytes(t);
    for (usize i = 0; i < n; i++) {
        s[t->pos] ^= p[i];
        if (++t->pos == STROBE_RATE) {
            run_f(t);
        }
    }
}

static void squeeze(cd_merlin *t, u8 *out, usize n)
{
    u8 *s = state_bytes(t);
    for (usize i = 0; i < n; i++) {
        out[i] = s[t->pos];
        s[t->pos] = 0;
        if (++t->pos == STROBE_RATE) {
            run_f(t);
        }
    }
}

static void begin(cd_merlin *t, u8 flags)
{
    u8 head[2] = {t->pos_begin, flags};
    t->pos_begin = (u8)(t->pos + 1);
    absorb(t, head, sizeof head);
    if ((flags & FLAG_C) != 0 && t->pos != 0) {
        run_f(t);
    }
}

/* Says the label and the length of what follows, as metadata. */
static void announce(cd_merlin *t, const char *label, usize n)
{
    u8 len[4];
    CD_ASSERT(n <= UINT32_MAX);
    cd_put_le32(len, (u32)n);
    cd_bytes l = cd_bytes_str(label);
    begin(t, META);
    absorb(t, l.p, l.n);
    absorb(t, len, sizeof len);
}

void cd_merlin_init(cd_merlin *t, const char *protocol)
{
    static const u8 head[18] = {1,  STROBE_RATE + 2, 1, 0, 1, 96, 'S', 'T', 'R', 'O', 'B', 'E', 'v', '1', '.', '0', '.',
                                '2'};
    static const char version[] = "Merlin v1.0";
    *t = (cd_merlin){0};
    memcpy(state_bytes(t), head, sizeof head);
    cd__keccak_permute(t->state);
    begin(t, META);
    absorb(t, (const u8 *)version, sizeof version - 1);
    cd_merlin_append(t, "dom-sep", cd_bytes_str(protocol));
}

void cd_merlin_append(cd_merlin *t, const char *label, cd_bytes message)
{
    announce(t, label, message.n);
    begin(t, AD);
    absorb(t, message.p, message.n);
}

void cd_merlin_append_u64(cd_merlin *t, const char *label, u64 v)
{
    u8 b[8];
    cd_put_le64(b, v);
    cd_merlin_append(t, label, cd_bytes_of(b, sizeof b));
}

void cd_merlin_challenge(cd_merlin *t, const char *label, u8 *out, usize n)
{
    announce(t, label, n);
    begin(t, PRF);
    squeeze(t, out, n);
}

cd_scalar cd_merlin_scalar(cd_merlin *t, const char *label)
{
    u8 wide[64];
    cd_merlin_challenge(t, label, wide, sizeof wide);
    return cd_scalar_wide(wide);
}
