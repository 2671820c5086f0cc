#include "crypto/lattice/poly.h"

#include "crypto/lattice/roots_priv.h"

enum { N = CD_LPOLY_N, DOT_MAX = 64 };

static const u64 q = CD_LPOLY_Q;

/* 2^64 and 2^128 modulo q. */
static const u64 mont_one = 281473735150081ull;
static const u64 mont_square = 162731912135324ull;

/* --- numbers --- */

u64 cd_lmod_mont(u64 a)
{
    return cd_lmod_mul(a, mont_square);
}

/* Gives a to the power of e; a and the result are times 2^64. The time depends on e, which is no secret. */
static u64 power(u64 a, u64 e)
{
    u64 out = mont_one;
    for (; e != 0; e >>= 1) {
        if ((e & 1) != 0) {
            out = cd_lmod_mul(out, a);
        }
        a = cd_lmod_mul(a, a);
    }
    return out;
}

u64 cd_lmod_inv(u64 a)
{
    return power(a, q - 2);
}

/* --- the transform --- */

void cd_lpoly_ntt(cd_lpoly *p)
{
    u64 *c = p->c;
    for (u32 m = 1, t = N / 2; m < N; m *= 2, t /= 2) {
        for (u32 i = 0; i < m; i++) {
            u64 root = lattice_roots[m + i];
            for (u32 j = 2 * i * t; j < 2 * i * t + t; j++) {
                u64 v = cd_lmod_mul(c[j + t], root);
                c[j + t] = cd_lmod_sub(c[j], v);
                c[j] = cd_lmod_add(c[j], v);
            }
        }
    }
}

void cd_lpoly_intt(cd_lpoly *p)
{
    u64 *c = p->c;
    for (u32 m = N / 2, t = 1; m >= 1; m /= 2, t *= 2) {
        for (u32 i = 0; i < m; i++) {
            u64 root = lattice_roots_back[m + i];
            for (u32 j = 2 * i * t; j < 2 * i * t + t; j++) {
                u64 v = cd_lmod_sub(c[j], c[j + t]);
                c[j] = cd_lmod_add(c[j], c[j + t]);
                c[j + t] = cd_lmod_mul(v, root);
            }
        }
    }
    cd_lpoly_scale(p, p, lattice_one_256th);
}

void cd_lpoly_to_mont(cd_lpoly *p)
{
    cd_lpoly_scale(p, p, mont_square);
}

void cd_lpoly_from_mont(cd_lpoly *p)
{
    cd_lpoly_scale(p, p, 1);
}

/* --- sums and products --- */

void cd_lpoly_add(cd_lpoly *out, const cd_lpoly *a, const cd_lpoly *b)
{
    for (u32 i = 0; i < N; i++) {
        out->c[i] = cd_lmod_add(a->c[i], b->c[i]);
    }
}

void cd_lpoly_sub(cd_lpoly *out, const cd_lpoly *a, const cd_lpoly *b)
{
    for (u32 i = 0; i < N; i++) {
        out->c[i] = cd_lmod_sub(a->c[i], b->c[i]);
    }
}

void cd_lpoly_mul(cd_lpoly *out, const cd_lpoly *a, const cd_lpoly *b)
{
    for (u32 i = 0; i < N; i++) {
        out->c[i] = cd_lmod_mul(a->c[i], b->c[i]);
    }
}

void cd_lpoly_scale(cd_lpoly *out, const cd_lpoly *a, u64 by)
{
    for (u32 i = 0; i < N; i++) {
        out->c[i] = cd_lmod_mul(a->c[i], by);
    }
}

void cd_lpoly_dot(cd_lpoly *out, const cd_lpoly *a, usize step_a, const cd_lpoly *b, usize step_b, usize cnt)
{
    CD_ASSERT(cnt <= DOT_MAX);
    for (u32 i = 0; i < N; i++) {
        unsigned __int128 sum = 0;
        for (usize k = 0; k < cnt; k++) {
            sum += (unsigned __int128)a[k * step_a].c[i] * b[k * step_b].c[i];
        }
        out->c[i] = cd_lmod_shrink(sum);
    }
}

/* --- bytes --- */

static void put_u64(cd_buf *out, u64 v)
{
    u8 b[8];
    cd_put_le64(b, v);
    cd_buf_put(out, cd_bytes_of(b, sizeof b));
}

void cd_lpoly_enc(u8 out[CD_LPOLY_BYTES], const cd_lpoly *p)
{
    cd_put_le64(out, 1);
    cd_put_le64(out + 8, N);
    for (u32 i = 0; i < N; i++) {
        cd_put_le64(out + 16 + (usize)8 * i, p->c[i]);
    }
}

void cd_lpoly_put(cd_buf *out, const cd_lpoly *p)
{
    cd_lpoly_enc(cd_buf_extend(out, CD_LPOLY_BYTES), p);
}

void cd_lpoly_vec_put(cd_buf *out, const cd_lpoly *p, usize cnt)
{
    put_u64(out, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_lpoly_put(out, &p[i]);
    }
}

void cd_lpoly_matrix_put(cd_buf *out, const cd_lpoly *p, usize rows, usize cols)
{
    put_u64(out, rows);
    for (usize i = 0; i < rows; i++) {
        cd_lpoly_vec_put(out, p + i * cols, cols);
    }
}

static u64 read_u64(cd_rd *r)
{
    cd_bytes b = cd_rd_take(r, 8);
    return b.n == 8 ? cd_le64(b.p) : 0;
}

static void read_exactly(cd_rd *r, u64 want)
{
    if (read_u64(r) != want) {
        cd_rd_fail(r, CD_EFORMAT);
    }
}

void cd_lpoly_read(cd_rd *r, cd_lpoly *out)
{
    read_exactly(r, 1);
    read_exactly(r, N);
    for (u32 i = 0; i < N; i++) {
        u64 v = read_u64(r);
        if (v >= q) {
            cd_rd_fail(r, CD_EFORMAT);
            v = 0;
        }
        out->c[i] = v;
    }
}

void cd_lpoly_vec_read(cd_rd *r, cd_lpoly *out, usize cnt)
{
    read_exactly(r, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_lpoly_read(r, &out[i]);
    }
}

void cd_lpoly_matrix_read(cd_rd *r, cd_lpoly *out, usize rows, usize cols)
{
    read_exactly(r, rows);
    for (usize i = 0; i < rows; i++) {
        cd_lpoly_vec_read(r, out + i * cols, cols);
    }
}
