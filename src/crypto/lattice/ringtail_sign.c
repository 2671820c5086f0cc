#include "base/mem/mem.h"
#include "crypto/lattice/ringtail.h"
#include "crypto/lattice/ringtail_priv.h"
#include "crypto/lattice/sample.h"

enum {
    ROWS = CD_RT_ROWS,
    COLS = CD_RT_COLS,
    COMMITS = 1 + CD_RT_COMMITS, /* columns of commitments, the masked one first */
    N = CD_LPOLY_N,
};

bool cd_rt_set_is_good(const cd_rt_set *set, u32 parties, u32 threshold)
{
    bool is_good = set->cnt >= threshold && set->cnt <= parties && parties <= CD_RT_PARTIES_MAX;
    for (u32 k = 0; is_good && k < set->cnt; k++) {
        is_good = set->party[k] < parties && (k == 0 || set->party[k] > set->party[k - 1]);
    }
    return is_good;
}

/* Gives a party's index in the set; cnt when it is not in it. */
static u32 place_of(const cd_rt_set *set, u32 party)
{
    u32 k = 0;
    while (k < set->cnt && set->party[k] != party) {
        k++;
    }
    return k;
}

static void hash_u32(cd_blake3 *hash, u32 v)
{
    u8 b[4];
    cd_put_be32(b, v);
    cd_blake3_update(hash, cd_bytes_of(b, sizeof b));
}

static void hash_u64(cd_blake3 *hash, u64 v)
{
    u8 b[8];
    cd_put_be64(b, v);
    cd_blake3_update(hash, cd_bytes_of(b, sizeof b));
}

static void hash_set(cd_blake3 *hash, const cd_rt_set *set)
{
    hash_u64(hash, set->session);
    hash_u32(hash, set->cnt);
    for (u32 k = 0; k < set->cnt; k++) {
        hash_u32(hash, set->party[k]);
    }
}

/* --- first round --- */

struct cd_rt_session {
    cd_secret room; /* holds a cd_lpoly masks[COLS][COMMITS], as slots */
    cd_rt_set set;
    u8 own[32]; /* hash of the D that this party sent */
};

static cd_lpoly *masks_of(const cd_rt_session *s)
{
    return (cd_lpoly *)(void *)s->room.p;
}

static void hash_of(u8 out[32], cd_bytes bytes)
{
    cd_blake3 hash;
    cd_blake3_init(&hash);
    cd_blake3_update(&hash, bytes);
    cd_blake3_final(&hash, out);
}

static void tag_of(u8 out[32], u32 from, const u8 key[32], cd_bytes d, const cd_rt_set *set)
{
    cd_blake3 hash;
    cd_blake3_init(&hash);
    hash_u64(&hash, from);
    cd_blake3_update(&hash, cd_bytes_of(key, 32));
    cd_blake3_update(&hash, d);
    hash_set(&hash, set);
    cd_blake3_final(&hash, out);
}

/* Starts the stream that masks are drawn from. Share and session alone would give the same masks to a party that is
 * asked twice; the fresh bytes make them new each time. */
static void start_masks(cd_blake2x *x, const cd_rt_share *share, u64 session, const u8 fresh[32])
{
    cd_blake3 hash;
    cd_buf text = {0};
    u8 key[32];
    cd_lpoly_vec_put(&text, share->part, COLS);
    cd_blake3_init(&hash);
    cd_blake3_update(&hash, cd_buf_bytes(&text));
    cd_blake3_update(&hash, cd_bytes_str("RingtailRoundV2"));
    hash_u64(&hash, session);
    cd_blake3_update(&hash, cd_bytes_of(fresh, 32));
    cd_blake3_final(&hash, key);
    cd_blake2x_init(x, key);
    cd_wipe(text.p, text.n);
    cd_buf_fini(&text);
    cd_wipe(key, sizeof key);
    cd_wipe(&hash, sizeof hash);
}

static cd_lattice_bell bell_of(u32 column)
{
    return column == 0 ? CD_BELL_MASK : CD_BELL_ERROR;
}

/* Appends D = a * masks + errors. */
static void put_commitment(cd_buf *out, const cd_rt_session *s, const cd_rt_key *key, cd_blake2x *x)
{
    const cd_lpoly *masks = masks_of(s);
    cd_lpoly *d = cd_new_array(cd_lpoly, (usize)ROWS * COMMITS);
    for (u32 i = 0; i < ROWS; i++) {
        for (u32 k = 0; k < COMMITS; k++) {
            cd_lpoly *p = &d[i * COMMITS + k];
            cd_lpoly e;
            cd_lpoly_dot(p, key->a + (usize)i * COLS, 1, masks + k, COMMITS, COLS);
            cd_lattice_bell_fill(&e, bell_of(k), x);
            cd_lpoly_ntt(&e);
            cd_lpoly_add(p, p, &e);
            cd_wipe(&e, sizeof e);
        }
    }
    cd_lpoly_matrix_put(out, d, ROWS, COMMITS);
    cd_free(d);
}

cd_err cd_rt_round1(cd_rt_session **out, cd_buf *d, u8 (*tags)[32], const cd_rt_key *key, const cd_rt_share *share,
                    const cd_rt_set *set, const u8 fresh[32])
{
    cd_blake2x x;
    usize begin = d->n;
    if (!cd_rt_set_is_good(set, share->parties, share->threshold) || place_of(set, share->index) == set->cnt) {
        return CD_EINVAL;
    }
    cd_rt_session *s = cd_new(cd_rt_session);
    cd_secret_init(&s->room, sizeof(cd_lpoly) * COLS * COMMITS);
    s->set = *set;
    start_masks(&x, share, set->session, fresh);
    for (u32 i = 0; i < COLS * COMMITS; i++) {
        cd_lpoly *p = &masks_of(s)[i];
        cd_lattice_bell_fill(p, bell_of(i % COMMITS), &x);
        cd_lpoly_ntt(p);
    }
    put_commitment(d, s, key, &x);
    cd_blake2x_wipe(&x);
    cd_bytes text = cd_bytes_of(d->p + begin, d->n - begin);
    hash_of(s->own, text);
    for (u32 k = 0; k < set->cnt; k++) {
        memset(tags[k], 0, 32);
        if (set->party[k] != share->index) {
            tag_of(tags[k], share->index, share->tag_key[set->party[k]], text, set);
        }
    }
    *out = s;
    return CD_OK;
}

void cd_rt_session_end(cd_rt_session *s)
{
    if (s != NULL) {
        cd_secret_fini(&s->room);
        cd_free(s);
    }
}

/* --- what all parties compute from it --- */

/* Says whether the columns of m span all rows. m holds one slot of the sum without its first column; the elimination
 * overwrites it. */
static bool spans(u64 m[ROWS][CD_RT_COMMITS])
{
    u32 rank = 0;
    for (u32 col = 0; col < CD_RT_COMMITS && rank < ROWS; col++) {
        u32 pivot = rank;
        while (pivot < ROWS && m[pivot][col] == 0) {
            pivot++;
        }
        if (pivot == ROWS) {
            continue;
        }
        for (u32 k = col; k < CD_RT_COMMITS && pivot != rank; k++) {
            u64 v = m[pivot][k];
            m[pivot][k] = m[rank][k];
            m[rank][k] = v;
        }
        u64 inverse = cd_lmod_inv(cd_lmod_mont(m[rank][col]));
        for (u32 row = rank + 1; row < ROWS; row++) {
            u64 factor = cd_lmod_mul(cd_lmod_mont(m[row][col]), inverse);
            for (u32 k = col; k < CD_RT_COMMITS; k++) {
                m[row][k] = cd_lmod_sub(m[row][k], cd_lmod_mul(factor, m[rank][k]));
            }
        }
        rank++;
    }
    return rank == ROWS;
}

static bool spans_everywhere(const cd_lpoly *sum)
{
    u64 m[ROWS][CD_RT_COMMITS];
    bool is_good = true;
    for (u32 slot = 0; slot < N && is_good; slot++) {
        for (u32 i = 0; i < ROWS; i++) {
            for (u32 k = 0; k < CD_RT_COMMITS; k++) {
                m[i][k] = sum[i * COMMITS + 1 + k].c[slot];
            }
        }
        is_good = spans(m);
    }
    return is_good;
}

/* Adds up the commitments; on failure d[*bad] is malformed. */
static cd_err sum_up(cd_lpoly *sum, u32 *bad, const cd_rt_set *set, const cd_bytes *d)
{
    enum { CNT = ROWS * COMMITS };
    cd_lpoly *one = cd_new_array(cd_lpoly, CNT);
    cd_err e = CD_OK;
    for (u32 k = 0; k < set->cnt && e == CD_OK; k++) {
        cd_rd r = cd_rd_init(d[k]);
        cd_lpoly_matrix_read(&r, one, ROWS, COMMITS);
        e = cd_rd_end(&r);
        for (u32 i = 0; i < CNT && e == CD_OK; i++) {
            cd_lpoly_add(&sum[i], &sum[i], &one[i]);
        }
        *bad = k;
    }
    cd_free(one);
    return e == CD_OK ? CD_OK : CD_EFORMAT;
}

static void draw_weights(cd_rt_joint *j, cd_bytes message)
{
    cd_blake3 hash;
    cd_blake2x x;
    u8 key[32];
    cd_blake3_init(&hash);
    cd_blake3_update(&hash, cd_bytes_of(j->hash, 32));
    cd_blake3_update(&hash, message);
    cd_blake3_final(&hash, key);
    cd_blake2x_init(&x, key);
    j->u[0] = (cd_lpoly){.c = {1}};
    for (u32 k = 1; k < COMMITS; k++) {
        cd_lattice_bell_fill(&j->u[k], CD_BELL_HASH, &x);
    }
    for (u32 k = 0; k < COMMITS; k++) {
        cd_lpoly_ntt(&j->u[k]);
        cd_lpoly_to_mont(&j->u[k]);
    }
}

cd_err cd_rt_joint_make(cd_rt_joint *out, u32 *bad, const cd_rt_key *key, const cd_rt_set *set, const cd_bytes *d,
                        cd_bytes message)
{
    cd_blake3 hash = key->hashed;
    cd_lpoly *sum = cd_new_array(cd_lpoly, (usize)ROWS * COMMITS);
    cd_err e = sum_up(sum, bad, set, d);
    e = e != CD_OK ? e : spans_everywhere(sum) ? CD_OK : CD_EINVAL;
    if (e == CD_OK) {
        out->set = *set;
        hash_set(&hash, set);
        for (u32 k = 0; k < set->cnt; k++) {
            cd_blake3_update(&hash, d[k]);
        }
        cd_blake3_final(&hash, out->hash);
        draw_weights(out, message);
        for (u32 i = 0; i < ROWS; i++) {
            cd_lpoly w;
            cd_lpoly_dot(&w, sum + (usize)i * COMMITS, 1, out->u, 1, COMMITS);
            cd_lpoly_intt(&w);
            cd__rt_round(&out->h[i], &w, CD__RT_COMMIT_BITS, CD__RT_COMMIT_LEFT);
        }
        cd__rt_challenge(&out->c, key, out->h, message);
    }
    cd_free(sum);
    return e;
}

/* --- second round --- */

/* Gives the weight of party i's share in the sum, times 2^64: the product over the other parties j of x_j / (x_j -
 * x_i), where x is the index plus one. */
static u64 weight_of(const cd_rt_set *set, u32 party)
{
    u64 above = cd_lmod_mont(1);
    u64 below = above;
    for (u32 k = 0; k < set->cnt; k++) {
        u64 other = set->party[k];
        if (other != party) {
            above = cd_lmod_mul(above, cd_lmod_mont(other + 1));
            below = cd_lmod_mul(below, cd_lmod_mont(cd_lmod_sub(other, party)));
        }
    }
    return cd_lmod_mul(above, cd_lmod_inv(below));
}

/* Draws the seven uniform polynomials by which two parties hide their answers from the others. */
static void draw_blind(cd_lpoly out[COLS], const u8 seed[32], const cd_rt_joint *j, const u8 prf_key[32],
                       cd_bytes message)
{
    cd_blake3 hash;
    cd_blake2x x;
    u8 key[32];
    cd_blake3_init(&hash);
    cd_blake3_update(&hash, cd_bytes_of(prf_key, 32));
    cd_blake3_update(&hash, cd_bytes_of(seed, 32));
    cd_blake3_update(&hash, cd_bytes_of(j->hash, 32));
    cd_blake3_update(&hash, message);
    cd_blake3_final(&hash, key);
    cd_blake2x_init(&x, key);
    for (u32 k = 0; k < COLS; k++) {
        cd_lattice_uniform(&out[k], &x);
    }
    cd_blake2x_wipe(&x);
    cd_wipe(key, sizeof key);
    cd_wipe(&hash, sizeof hash);
}

static void answer(cd_buf *out, const cd_rt_session *s, const cd_rt_share *share, const cd_rt_joint *j,
                   const u8 prf_key[32], cd_bytes message)
{
    const cd_rt_set *set = &s->set;
    cd_lpoly z[COLS];
    cd_lpoly blind[COLS];
    cd_lpoly weighted; /* c times the weight, as slots */
    cd_lpoly_scale(&weighted, &j->c, weight_of(set, share->index));
    cd_lpoly_from_mont(&weighted);
    for (u32 i = 0; i < COLS; i++) {
        cd_lpoly part;
        cd_lpoly_dot(&z[i], masks_of(s) + (usize)i * COMMITS, 1, j->u, 1, COMMITS);
        cd_lpoly_mul(&part, &weighted, &share->part[i]);
        cd_lpoly_add(&z[i], &z[i], &part);
        cd_wipe(&part, sizeof part);
    }
    for (u32 k = 0; k < set->cnt; k++) {
        if (set->party[k] != share->index) {
            draw_blind(blind, share->seed_from[set->party[k]], j, prf_key, message);
            for (u32 i = 0; i < COLS; i++) {
                cd_lpoly_add(&z[i], &z[i], &blind[i]);
            }
            draw_blind(blind, share->seed_to[set->party[k]], j, prf_key, message);
            for (u32 i = 0; i < COLS; i++) {
                cd_lpoly_sub(&z[i], &z[i], &blind[i]);
            }
        }
    }
    for (u32 i = 0; i < COLS; i++) {
        cd_lpoly_to_mont(&z[i]);
    }
    cd_lpoly_vec_put(out, z, COLS);
    cd_wipe(z, sizeof z);
    cd_wipe(blind, sizeof blind);
}

static cd_err check_tags(u32 *bad, const cd_rt_set *set, const cd_rt_share *share, const cd_bytes *d,
                         const u8 (*tags)[32])
{
    for (u32 k = 0; k < set->cnt; k++) {
        u8 want[32];
        u32 party = set->party[k];
        if (party != share->index) {
            tag_of(want, party, share->tag_key[party], d[k], set);
            if (!cd_ct_eq(want, tags[k], sizeof want)) {
                *bad = k;
                return CD_ESIG;
            }
        }
    }
    return CD_OK;
}

static bool is_same_set(const cd_rt_set *a, const cd_rt_set *b)
{
    return a->session == b->session && a->cnt == b->cnt && memcmp(a->party, b->party, a->cnt * sizeof *a->party) == 0;
}

/* Says whether the joint is of this session and d holds the D that this party sent: an answer to another D would be of
 * no use, and would tell of the masks. */
static bool is_own(const cd_rt_session *s, const cd_rt_share *share, const cd_rt_joint *j, const cd_bytes *d)
{
    u8 own[32];
    if (!is_same_set(&s->set, &j->set)) {
        return false;
    }
    hash_of(own, d[place_of(&s->set, share->index)]);
    return cd_ct_eq(own, s->own, sizeof own);
}

cd_err cd_rt_round2(cd_buf *z, u32 *bad, cd_rt_session **s, const cd_rt_share *share, const cd_rt_joint *joint,
                    const cd_bytes *d, const u8 (*tags)[32], const u8 prf_key[32], cd_bytes message)
{
    cd_rt_session *own = *s;
    *s = NULL;
    cd_err e = is_own(own, share, joint, d) ? check_tags(bad, &own->set, share, d, tags) : CD_EINVAL;
    if (e == CD_OK) {
        answer(z, own, share, joint, prf_key, message);
    }
    cd_rt_session_end(own);
    return e;
}

/* --- the signature --- */

cd_err cd_rt_finalize(cd_rt_sig *out, u32 *bad, const cd_rt_key *key, const cd_rt_joint *joint, const cd_bytes *z,
                      cd_bytes message)
{
    cd_lpoly r[ROWS];
    memset(out, 0, sizeof *out);
    out->c = joint->c;
    for (u32 k = 0; k < joint->set.cnt; k++) {
        cd_lpoly one[COLS];
        cd_rd rd = cd_rd_init(z[k]);
        cd_lpoly_vec_read(&rd, one, COLS);
        if (cd_rd_end(&rd) != CD_OK) {
            *bad = k;
            return CD_EFORMAT;
        }
        for (u32 i = 0; i < COLS; i++) {
            cd_lpoly_add(&out->z[i], &out->z[i], &one[i]);
        }
    }
    cd__rt_commitment(r, key, out->z, &out->c);
    for (u32 i = 0; i < ROWS; i++) {
        for (u32 k = 0; k < N; k++) {
            out->delta[i].c[k] = (joint->h[i].c[k] - r[i].c[k]) & ((1u << CD__RT_COMMIT_LEFT) - 1);
        }
    }
    return cd_rt_verify(key, out, message) ? CD_OK : CD_ESIG;
}
