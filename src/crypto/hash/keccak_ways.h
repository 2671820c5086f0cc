/* crypto/hash/keccak_ways.h - Keccak-256 of many inputs at once, one input per vector way (internal).
 *
 * Included once by each instruction set's file, which defines WAYS, the vector type vec and the
 * operations below, and then instantiates keccak_ways_run as its public function:
 *
 *   v_load(p) v_store(p, v) v_set1(w)   WAYS words from and to memory, one word everywhere
 *   v_xor(a, b) v_xor3(a, b, c)         exclusive or
 *   v_rol(a, n)                         rotation by a constant
 *   v_chi(a, b, c)                      a ^ (~b & c)
 *   v_keep(a, live)                     ways of a whose bit in live is set, zero elsewhere
 *   v_absorb(s, p)                      block p[i] of 136 bytes xored into way i of s[0..16]
 *
 * Ways are independent: one that has finished its input is emptied and takes the next input of the
 * queue, so lengths may differ freely and no sorting is needed. Threading: pure. */

/* One round from a to e. */
CD_INLINE void ways_round(vec e[25], const vec a[25], vec rc)
{
    vec c0 = v_xor3(v_xor3(a[0], a[5], a[10]), a[15], a[20]);
    vec c1 = v_xor3(v_xor3(a[1], a[6], a[11]), a[16], a[21]);
    vec c2 = v_xor3(v_xor3(a[2], a[7], a[12]), a[17], a[22]);
    vec c3 = v_xor3(v_xor3(a[3], a[8], a[13]), a[18], a[23]);
    vec c4 = v_xor3(v_xor3(a[4], a[9], a[14]), a[19], a[24]);
    vec d0 = v_xor(c4, v_rol(c1, 1));
    vec d1 = v_xor(c0, v_rol(c2, 1));
    vec d2 = v_xor(c1, v_rol(c3, 1));
    vec d3 = v_xor(c2, v_rol(c4, 1));
    vec d4 = v_xor(c3, v_rol(c0, 1));
    vec b0;
    vec b1;
    vec b2;
    vec b3;
    vec b4;
#define PLANE(at)                                                                                                      \
    e[(at)] = v_chi(b0, b1, b2);                                                                                       \
    e[(at) + 1] = v_chi(b1, b2, b3);                                                                                   \
    e[(at) + 2] = v_chi(b2, b3, b4);                                                                                   \
    e[(at) + 3] = v_chi(b3, b4, b0);                                                                                   \
    e[(at) + 4] = v_chi(b4, b0, b1)
    b0 = v_xor(a[0], d0);
    b1 = v_rol(v_xor(a[6], d1), 44);
    b2 = v_rol(v_xor(a[12], d2), 43);
    b3 = v_rol(v_xor(a[18], d3), 21);
    b4 = v_rol(v_xor(a[24], d4), 14);
    PLANE(0);
    e[0] = v_xor(e[0], rc);
    b0 = v_rol(v_xor(a[3], d3), 28);
    b1 = v_rol(v_xor(a[9], d4), 20);
    b2 = v_rol(v_xor(a[10], d0), 3);
    b3 = v_rol(v_xor(a[16], d1), 45);
    b4 = v_rol(v_xor(a[22], d2), 61);
    PLANE(5);
    b0 = v_rol(v_xor(a[1], d1), 1);
    b1 = v_rol(v_xor(a[7], d2), 6);
    b2 = v_rol(v_xor(a[13], d3), 25);
    b3 = v_rol(v_xor(a[19], d4), 8);
    b4 = v_rol(v_xor(a[20], d0), 18);
    PLANE(10);
    b0 = v_rol(v_xor(a[4], d4), 27);
    b1 = v_rol(v_xor(a[5], d0), 36);
    b2 = v_rol(v_xor(a[11], d1), 10);
    b3 = v_rol(v_xor(a[17], d2), 15);
    b4 = v_rol(v_xor(a[23], d3), 56);
    PLANE(15);
    b0 = v_rol(v_xor(a[2], d2), 62);
    b1 = v_rol(v_xor(a[8], d3), 55);
    b2 = v_rol(v_xor(a[14], d4), 39);
    b3 = v_rol(v_xor(a[15], d0), 41);
    b4 = v_rol(v_xor(a[21], d1), 2);
    PLANE(20);
#undef PLANE
}

CD_INLINE void ways_permute(vec s[25])
{
    vec e[25];
    for (int i = 0; i < 24; i += 2) {
        ways_round(e, s, v_set1(CD__KECCAK_RC[i]));
        ways_round(s, e, v_set1(CD__KECCAK_RC[i + 1]));
    }
}

/* What a way works on. */
typedef struct way {
    const u8 *next;         /* unread input, or the padded last block */
    usize left;             /* unread bytes of the input */
    usize job;              /* index of the input */
    bool last;              /* the block at next is the padded one */
    u8 pad[CD_KECCAK_RATE]; /* the last block, padded */
} way;

/* Points l->next at a whole block: the input's own bytes, or a padded copy of its end. */
CD_INLINE void way_next_block(way *l)
{
    if (l->left >= CD_KECCAK_RATE) {
        return;
    }
    memset(l->pad, 0, sizeof l->pad);
    if (l->left != 0) {
        memcpy(l->pad, l->next, l->left);
    }
    l->pad[l->left] = 0x01;
    l->pad[CD_KECCAK_RATE - 1] |= 0x80;
    l->next = l->pad;
    l->last = true;
}

CD_INLINE void way_start(way *l, usize job, cd_bytes in)
{
    l->next = in.p;
    l->left = in.n;
    l->job = job;
    l->last = false;
    way_next_block(l);
}

/* Runs the only way still busy to its end without the others. */
static void way_alone(const way *l, cd_hash32 *out, const u64 words[25][WAYS], u32 at)
{
    u64 s[25];
    for (u32 i = 0; i < 25; i++) {
        s[i] = words[i][at];
    }
    const u8 *p = l->next;
    usize left = l->left;
    if (l->last) {
        /* Gives only the unpadded bytes, because cd__keccak_finish pads again. */
        cd__keccak_finish(s, out, p, left);
        return;
    }
    for (; left >= CD_KECCAK_RATE; left -= CD_KECCAK_RATE, p += CD_KECCAK_RATE) {
        for (usize i = 0; i < CD__KECCAK_WAYS; i++) {
            s[i] ^= cd_le64(p + 8 * i);
        }
        cd__keccak_permute(s);
    }
    cd__keccak_finish(s, out, p, left);
}

/* Hashes cnt >= 1 inputs. */
static void ways_run(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
    static const u8 nothing[CD_KECCAK_RATE];
    way ways[WAYS];
    const u8 *block[WAYS];
    usize taken = 0;
    u32 busy = 0; /* bit i: way i has an input */
    for (u32 i = 0; i < WAYS; i++) {
        block[i] = nothing;
        if (taken < cnt) {
            way_start(&ways[i], taken, in[taken]);
            block[i] = ways[i].next;
            busy |= 1u << i;
            taken++;
        }
    }
    vec s[25];
    for (u32 i = 0; i < 25; i++) {
        s[i] = v_set1(0);
    }
    while (busy != 0) {
        if ((busy & (busy - 1)) == 0) {
            u64 words[25][WAYS] __attribute__((aligned(64)));
            for (u32 i = 0; i < 25; i++) {
                v_store(words[i], s[i]);
            }
            u32 at = (u32)__builtin_ctz(busy);
            way_alone(&ways[at], &out[ways[at].job], words, at);
            return;
        }
        v_absorb(s, block);
        ways_permute(s);
        u32 fresh = 0;
        u64 hash[4][WAYS] __attribute__((aligned(64)));
        for (u32 i = 0; i < WAYS; i++) {
            way *l = &ways[i];
            if ((busy >> i & 1) == 0) {
                continue;
            }
            if (!l->last) {
                l->next += CD_KECCAK_RATE;
                l->left -= CD_KECCAK_RATE;
                way_next_block(l);
            } else {
                if (fresh == 0) {
                    for (u32 w = 0; w < 4; w++) {
                        v_store(hash[w], s[w]);
                    }
                }
                fresh |= 1u << i;
                for (usize w = 0; w < 4; w++) {
                    cd_put_le64(out[l->job].b + 8 * w, hash[w][i]);
                }
                if (taken < cnt) {
                    way_start(l, taken, in[taken]);
                    taken++;
                } else {
                    l->next = nothing;
                    busy &= ~(1u << i);
                }
            }
            block[i] = l->next;
        }
        if (fresh != 0 && busy != 0) {
            for (u32 i = 0; i < 25; i++) {
                s[i] = v_keep(s[i], ~fresh);
            }
        }
    }
}
