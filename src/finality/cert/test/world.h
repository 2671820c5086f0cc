/* finality/cert/test/world.h - validators with keys of all three kinds, who sign what a test wants. Test code: included
 * by one file each. */
#ifndef CD_FINALITY_TEST_WORLD_H
#define CD_FINALITY_TEST_WORLD_H

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "finality/cert/verify.h"

enum { WORLD_MAX = 160 };

/* Validators and their secrets; a group of all of them when n is 3 or more. */
typedef struct world {
    u32 n;
    cd_rng rng;
    cd_fin_validator validators[WORLD_MAX];
    cd_bls_sk bls[WORLD_MAX];
    u8 mldsa_pk[WORLD_MAX][CD_MLDSA_PK];
    u8 mldsa_sk[WORLD_MAX][CD_MLDSA_SK];
    cd_rt_key group;
    cd_secret shares[WORLD_MAX];
    cd_hash32 chain;
    cd_fin_set set;
    cd_fin_room room;
} world;

/* Makes a set that begins at P-Chain height from; weights are 100 to 199. */
__attribute__((unused)) static world *world_new(u32 n, u64 seed, u64 from, bool with_group)
{
    u8 keys[64];
    world *w = cd_new(world);
    w->n = n;
    w->rng = cd_rng_seeded(seed);
    w->set = (cd_fin_set){.from = from, .until = UINT64_MAX, .cnt = n, .validators = w->validators};
    for (u32 i = 0; i < n; i++) {
        cd_fin_validator *v = &w->validators[i];
        cd_rng_fill(&w->rng, v->node.b, sizeof v->node.b);
        v->node.b[0] = (u8)(i * 256 / n); /* in order */
        v->node.b[1] = (u8)i;
        v->weight = 100 + cd_rng_below(&w->rng, 100);
        w->set.total += v->weight;
        cd_rng_fill(&w->rng, keys, sizeof keys);
        CD_ASSERT(cd_bls_keygen(&w->bls[i], cd_bytes_of(keys, 32)) == CD_OK);
        CD_ASSERT(cd_bls_pk_of(&v->bls, &w->bls[i]) == CD_OK);
        cd_mldsa_keygen(w->mldsa_pk[i], w->mldsa_sk[i], keys + 32);
        v->mldsa = w->mldsa_pk[i];
    }
    cd_rng_fill(&w->rng, w->chain.b, sizeof w->chain.b);
    cd_rng_fill(&w->rng, keys, sizeof keys);
    if (with_group) {
        cd_rt_deal(&w->group, w->shares, n, cd_fin_threshold(n), keys, keys + 32);
        w->set.group = &w->group;
    }
    return w;
}

__attribute__((unused)) static void world_free(world *w)
{
    for (u32 i = 0; i < w->n && w->set.group != NULL; i++) {
        cd_secret_fini(&w->shares[i]);
    }
    cd_free(w);
}

/* Bits of all but the absent ones, who are chosen at random. */
__attribute__((unused)) static void world_choose(world *w, u8 bits[WORLD_MAX / 8], u32 absent)
{
    memset(bits, 0, WORLD_MAX / 8);
    for (u32 i = 0; i < w->n; i++) {
        if (cd_rng_below(&w->rng, w->n - i) < absent) {
            absent--;
        } else {
            bits[i / 8] |= (u8)(1 << i % 8);
        }
    }
}

__attribute__((unused)) static void world_sign_bls(world *w, cd_buf *out, const u8 *bits, cd_bytes msg)
{
    cd_bls_sig sigs[WORLD_MAX];
    cd_bls_sig sum;
    usize cnt = 0;
    for (u32 i = 0; i < w->n; i++) {
        if (cd_fin_bit(cd_bytes_of(bits, WORLD_MAX / 8), i)) {
            CD_ASSERT(cd_bls_sign(&sigs[cnt++], CD_BLS_POP, msg, &w->bls[i]) == CD_OK);
        }
    }
    CD_ASSERT(cd_bls_agg_sigs(&sum, sigs, cnt) == CD_OK);
    cd_bls_sig_enc(cd_buf_extend(out, CD_BLS_SIG_LEN), &sum);
}

__attribute__((unused)) static void world_sign_mldsa(world *w, cd_buf *out, const u8 *bits, cd_bytes msg)
{
    static const u8 zeros[32];
    for (u32 i = 0; i < w->n; i++) {
        if (cd_fin_bit(cd_bytes_of(bits, WORLD_MAX / 8), i)) {
            cd_buf_put(out, cd_bytes_of(w->validators[i].node.b, CD_FIN_NODE_BYTES));
            cd_mldsa_sign(cd_buf_extend(out, CD_MLDSA_SIG), w->mldsa_sk[i], msg, (cd_bytes){0}, zeros);
        }
    }
}

/* Both rounds among those whose bit is set. */
__attribute__((unused)) static void world_sign_lattice(world *w, cd_buf *out, cd_buf *parties, const u8 *bits,
                                                       cd_bytes msg)
{
    static u8 tags[WORLD_MAX][WORLD_MAX][32]; /* tags[from][to] */
    static const u8 prf_key[32] = {7};
    cd_rt_set set = {.session = cd_rng_u64(&w->rng)};
    cd_rt_session *sessions[WORLD_MAX];
    cd_buf d[WORLD_MAX] = {0};
    cd_buf z[WORLD_MAX] = {0};
    cd_bytes ds[WORLD_MAX];
    cd_bytes zs[WORLD_MAX];
    cd_rt_joint *joint = cd_new(cd_rt_joint);
    u32 bad;
    for (u32 i = 0; i < w->n; i++) {
        if (cd_fin_bit(cd_bytes_of(bits, WORLD_MAX / 8), i)) {
            set.party[set.cnt++] = i;
            cd_buf_put(parties, cd_bytes_of(w->validators[i].node.b, CD_FIN_NODE_BYTES));
        }
    }
    for (u32 k = 0; k < set.cnt; k++) {
        u8 fresh[32];
        const cd_rt_share *share = (const cd_rt_share *)(const void *)w->shares[set.party[k]].p;
        cd_rng_fill(&w->rng, fresh, sizeof fresh);
        CD_ASSERT(cd_rt_round1(&sessions[k], &d[k], tags[k], &w->group, share, &set, fresh) == CD_OK);
        ds[k] = cd_buf_bytes(&d[k]);
    }
    CD_ASSERT(cd_rt_joint_make(joint, &bad, &w->group, &set, ds, msg) == CD_OK);
    for (u32 k = 0; k < set.cnt; k++) {
        u8 to_me[WORLD_MAX][32];
        const cd_rt_share *share = (const cd_rt_share *)(const void *)w->shares[set.party[k]].p;
        for (u32 from = 0; from < set.cnt; from++) {
            memcpy(to_me[from], tags[from][k], 32);
        }
        CD_ASSERT(cd_rt_round2(&z[k], &bad, &sessions[k], share, joint, ds, (const u8(*)[32])to_me, prf_key, msg) ==
                  CD_OK);
        zs[k] = cd_buf_bytes(&z[k]);
    }
    CD_ASSERT(cd_rt_finalize(&w->room.sig, &bad, &w->group, joint, zs, msg) == CD_OK);
    cd_rt_sig_put(out, &w->room.sig);
    for (u32 k = 0; k < set.cnt; k++) {
        cd_buf_fini(&d[k]);
        cd_buf_fini(&z[k]);
    }
    cd_free(joint);
}

/* What a certificate's ranges are borrowed from. */
typedef struct world_parts {
    u8 bits[WORLD_MAX / 8];
    u8 party_bits[WORLD_MAX / 8];
    cd_buf bls;
    cd_buf parties;
    cd_buf lattice;
    cd_buf mldsa;
} world_parts;

__attribute__((unused)) static void world_parts_fini(world_parts *p)
{
    cd_buf_fini(&p->bls);
    cd_buf_fini(&p->parties);
    cd_buf_fini(&p->lattice);
    cd_buf_fini(&p->mldsa);
}

/* Adds up what the signers weigh. */
__attribute__((unused)) static u64 world_weight(const world *w, const u8 *bits)
{
    u64 weight = 0;
    for (u32 i = 0; i < w->n; i++) {
        weight += cd_fin_bit(cd_bytes_of(bits, WORLD_MAX / 8), i) ? w->validators[i].weight : 0;
    }
    return weight;
}

/* Signs a block, with so many absent from each kind of signature; parts is empty and outlives the certificate. */
__attribute__((unused)) static cd_fin_cert world_certify(world *w, world_parts *parts, cd_fin_type type,
                                                         const cd_fin_msg *m, u32 absent)
{
    u8 text[CD_FIN_MSG_BYTES];
    cd_bytes msg = cd_bytes_of(text, sizeof text);
    cd_fin_cert c = {.type = type, .chain = w->chain, .msg = *m, .total = w->set.total};
    cd_fin_msg_enc(text, m);
    world_choose(w, parts->bits, absent);
    world_choose(w, parts->party_bits, absent);
    if (type != CD_FIN_LATTICE) {
        world_sign_bls(w, &parts->bls, parts->bits, msg);
    }
    if (type == CD_FIN_LATTICE || type == CD_FIN_BOTH) {
        world_sign_lattice(w, &parts->lattice, &parts->parties, parts->party_bits, msg);
    }
    if (type == CD_FIN_MLDSA) {
        world_sign_mldsa(w, &parts->mldsa, parts->party_bits, msg);
    }
    const u8 *bits = type == CD_FIN_LATTICE ? parts->party_bits : parts->bits;
    c.bits = cd_bytes_of(bits, WORLD_MAX / 8);
    c.signed_by = world_weight(w, bits);
    c.bls = cd_buf_bytes(&parts->bls);
    c.parties = cd_buf_bytes(&parts->parties);
    c.lattice = cd_buf_bytes(&parts->lattice);
    c.mldsa = cd_buf_bytes(&parts->mldsa);
    return c;
}

#endif
