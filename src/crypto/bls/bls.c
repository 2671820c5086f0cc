#include "crypto/bls/bls.h"

#include "crypto/bls/bls12381_priv.h"
#include "crypto/hash/sha2.h"

_Static_assert(sizeof(cd_bls_pk) == sizeof(blst_p1_affine), "a key is blst's affine G1 point");
_Static_assert(sizeof(cd_bls_sig) == sizeof(blst_p2_affine), "a signature is blst's affine G2 point");
_Static_assert(sizeof(cd_bls_sum) == sizeof(blst_p1), "a sum is blst's G1 point");

/* Bytes of keys and signatures that are not compressed, which are two coordinates. */
enum { PK_FULL_LEN = 2 * CD_BLS_PK_LEN, SIG_FULL_LEN = 2 * CD_BLS_SIG_LEN };

/* The public types are blst's own bytes, so arrays of keys go to blst without a copy. */
static const blst_p1_affine *pk_point(const cd_bls_pk *pk)
{
    return (const blst_p1_affine *)pk;
}

static const blst_p2_affine *sig_point(const cd_bls_sig *sig)
{
    return (const blst_p2_affine *)sig;
}

static cd_bytes suite_dst(cd_bls_suite suite)
{
    switch (suite) {
    case CD_BLS_POP:
        return cd_bytes_str("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_");
    case CD_BLS_POP_PROOF:
        return cd_bytes_str("BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_");
    case CD_BLS_BASIC:
        return cd_bytes_str("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_");
    }
    CD_UNREACHABLE();
}

static void hash_point(blst_p2 *out, cd_bytes msg, cd_bytes dst)
{
    blst_hash_to_g2(out, msg.p, msg.n, dst.p, dst.n, NULL, 0);
}

static void hash_affine(blst_p2_affine *out, cd_bytes msg, cd_bls_suite suite)
{
    blst_p2 h;
    hash_point(&h, msg, suite_dst(suite));
    blst_p2_to_affine(out, &h);
}

/* --- secrets --- */

cd_err cd_bls_keygen(cd_bls_sk *out, cd_bytes ikm)
{
    if (ikm.n < 32) {
        return CD_EINVAL;
    }
    blst_scalar sk;
    blst_keygen(&sk, ikm.p, ikm.n, NULL, 0);
    blst_bendian_from_scalar(out->b, &sk);
    explicit_bzero(&sk, sizeof sk);
    return CD_OK;
}

/* Reads a secret key, which must be below the group order and not zero; the caller wipes *out. */
static cd_err load_sk(blst_scalar *out, const cd_bls_sk *sk)
{
    blst_scalar_from_bendian(out, sk->b);
    return blst_sk_check(out) ? CD_OK : CD_EKEY;
}

bool cd_bls_sk_check(const cd_bls_sk *sk)
{
    blst_scalar s;
    bool ok = load_sk(&s, sk) == CD_OK;
    explicit_bzero(&s, sizeof s);
    return ok;
}

cd_err cd_bls_pk_of(cd_bls_pk *out, const cd_bls_sk *sk)
{
    blst_scalar s;
    blst_p1 p;
    blst_p1_affine a;
    CD_TRY(load_sk(&s, sk));
    blst_sk_to_pk_in_g1(&p, &s);
    blst_p1_to_affine(&a, &p);
    memcpy(out, &a, sizeof a);
    explicit_bzero(&s, sizeof s);
    return CD_OK;
}

cd_err cd_bls_sign(cd_bls_sig *out, cd_bls_suite suite, cd_bytes msg, const cd_bls_sk *sk)
{
    blst_scalar s;
    blst_p2 h;
    blst_p2_affine a;
    CD_TRY(load_sk(&s, sk));
    hash_point(&h, msg, suite_dst(suite));
    blst_sign_pk_in_g1(&h, &h, &s);
    blst_p2_to_affine(&a, &h);
    memcpy(out, &a, sizeof a);
    explicit_bzero(&s, sizeof s);
    return CD_OK;
}

/* --- encodings --- */

cd_err cd_bls_pk_dec(cd_bls_pk *out, cd_bytes in)
{
    blst_p1_affine a;
    bool compressed = in.n == CD_BLS_PK_LEN;
    if (!compressed && in.n != PK_FULL_LEN) {
        return CD_EFORMAT;
    }
    /* blst's deserialize would also take a compressed key followed by any 48 bytes. */
    if (!compressed && (in.p[0] & 0x80) != 0) {
        return CD_EPOINT;
    }
    BLST_ERROR e = compressed ? blst_p1_uncompress(&a, in.p) : blst_p1_deserialize(&a, in.p);
    if (e != BLST_SUCCESS || !blst_p1_affine_in_g1(&a)) {
        return CD_EPOINT;
    }
    if (blst_p1_affine_is_inf(&a)) {
        return CD_EKEY;
    }
    memcpy(out, &a, sizeof a);
    return CD_OK;
}

cd_err cd_bls_sig_dec(cd_bls_sig *out, cd_bytes in)
{
    blst_p2_affine a;
    bool compressed = in.n == CD_BLS_SIG_LEN;
    if (!compressed && in.n != SIG_FULL_LEN) {
        return CD_EFORMAT;
    }
    if (!compressed && (in.p[0] & 0x80) != 0) {
        return CD_EPOINT;
    }
    BLST_ERROR e = compressed ? blst_p2_uncompress(&a, in.p) : blst_p2_deserialize(&a, in.p);
    if (e != BLST_SUCCESS || !blst_p2_affine_in_g2(&a)) {
        return CD_EPOINT;
    }
    memcpy(out, &a, sizeof a);
    return CD_OK;
}

void cd_bls_pk_enc(u8 out[48], const cd_bls_pk *pk)
{
    blst_p1_affine_compress(out, pk_point(pk));
}

void cd_bls_pk_enc_raw(u8 out[96], const cd_bls_pk *pk)
{
    blst_p1_affine_serialize(out, pk_point(pk));
}

void cd_bls_pk_compress(u8 out[48], const u8 raw[96])
{
    /* (p - 1) / 2: a y above this is the negative one of y and p - y */
    static const u8 half[48] = {
        0x0d, 0x00, 0x88, 0xf5, 0x1c, 0xbf, 0xf3, 0x4d, 0x25, 0x8d, 0xd3, 0xdb, 0x21, 0xa5, 0xd6, 0x6b,
        0xb2, 0x3b, 0xa5, 0xc2, 0x79, 0xc2, 0x89, 0x5f, 0xb3, 0x98, 0x69, 0x50, 0x7b, 0x58, 0x7b, 0x12,
        0x0f, 0x55, 0xff, 0xff, 0x58, 0xa9, 0xff, 0xff, 0xdc, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xd5, 0x55,
    };
    enum { IS_COMPRESSED = 0x80, IS_NEGATIVE = 0x20 };
    memcpy(out, raw, 48);
    out[0] |= (u8)(IS_COMPRESSED | (memcmp(raw + 48, half, sizeof half) > 0 ? IS_NEGATIVE : 0));
}

void cd_bls_sig_enc(u8 out[96], const cd_bls_sig *sig)
{
    blst_p2_affine_compress(out, sig_point(sig));
}

void cd_bls_sig_enc_raw(u8 out[192], const cd_bls_sig *sig)
{
    blst_p2_affine_serialize(out, sig_point(sig));
}

/* --- aggregation --- */

cd_err cd_bls_agg_sigs(cd_bls_sig *out, const cd_bls_sig *sigs, usize cnt)
{
    if (cnt == 0) {
        return CD_EINVAL;
    }
    blst_p2 sum;
    blst_p2_affine a;
    const blst_p2_affine *const list[2] = {sig_point(sigs), NULL};
    blst_p2s_add(&sum, list, cnt);
    blst_p2_to_affine(&a, &sum);
    memcpy(out, &a, sizeof a);
    return CD_OK;
}

cd_err cd_bls_agg_pks(cd_bls_pk *out, const cd_bls_pk *pks, usize cnt)
{
    if (cnt == 0) {
        return CD_EINVAL;
    }
    blst_p1 sum;
    blst_p1_affine a;
    const blst_p1_affine *const list[2] = {pk_point(pks), NULL};
    blst_p1s_add(&sum, list, cnt);
    if (blst_p1_is_inf(&sum)) {
        return CD_EKEY;
    }
    blst_p1_to_affine(&a, &sum);
    memcpy(out, &a, sizeof a);
    return CD_OK;
}

cd_err cd_bls_pk_less(cd_bls_pk *out, const cd_bls_pk *a, const cd_bls_pk *b)
{
    blst_p1 p;
    blst_p1_affine affine;
    blst_p1_from_affine(&p, pk_point(b));
    blst_p1_cneg(&p, true);
    blst_p1_add_or_double_affine(&p, &p, pk_point(a));
    if (blst_p1_is_inf(&p)) {
        return CD_EKEY;
    }
    blst_p1_to_affine(&affine, &p);
    memcpy(out, &affine, sizeof affine);
    return CD_OK;
}

void cd_bls_sum_add(cd_bls_sum *sum, const cd_bls_pk *pk)
{
    blst_p1 *p = (blst_p1 *)sum;
    blst_p1_add_or_double_affine(p, p, pk_point(pk));
}

cd_err cd_bls_sum_end(cd_bls_pk *out, const cd_bls_sum *sum)
{
    const blst_p1 *p = (const blst_p1 *)sum;
    blst_p1_affine a;
    if (blst_p1_is_inf(p)) {
        return CD_EKEY;
    }
    blst_p1_to_affine(&a, p);
    memcpy(out, &a, sizeof a);
    return CD_OK;
}

/* --- verification --- */

/* pairing_is_sig says whether the product so far equals e(g1, sig). */
static bool pairing_is_sig(cd__pairing *product, const blst_p2_affine *sig)
{
    cd__pairing_add(product, &BLS12_381_NEG_G1, sig);
    return cd__pairing_is_one(product);
}

bool cd_bls_verify(const cd_bls_sig *sig, cd_bls_suite suite, cd_bytes msg, const cd_bls_pk *pk)
{
    return cd_bls_agg_verify(sig, suite, &msg, pk, 1);
}

bool cd_bls_fast_agg_verify(const cd_bls_sig *sig, cd_bytes msg, const cd_bls_pk *pks, usize cnt)
{
    cd_bls_pk sum;
    return cd_bls_agg_pks(&sum, pks, cnt) == CD_OK && cd_bls_verify(sig, CD_BLS_POP, msg, &sum);
}

bool cd_bls_agg_verify(const cd_bls_sig *sig, cd_bls_suite suite, const cd_bytes *msgs, const cd_bls_pk *pks, usize cnt)
{
    if (cnt == 0) {
        return false;
    }
    cd__pairing product;
    cd__pairing_init(&product);
    for (usize i = 0; i < cnt; i++) {
        blst_p2_affine h;
        hash_affine(&h, msgs[i], suite);
        cd__pairing_add(&product, pk_point(&pks[i]), &h);
    }
    return pairing_is_sig(&product, sig_point(sig));
}

bool cd_bls_batch_verify(const cd_bls_sig *sigs, cd_bls_suite suite, const cd_bytes *msgs, const cd_bls_pk *pks,
                         usize cnt, const u8 seed[32])
{
    if (cnt == 0) {
        return false;
    }
    /* Coefficient i is 64 odd bits of sha256(seed || i): a forger passes with probability 2^-63. */
    enum { COEF_BITS = 64 };
    cd__pairing product;
    blst_p2 sum = {0};
    u8 block[40];
    memcpy(block, seed, 32);
    cd__pairing_init(&product);
    for (usize i = 0; i < cnt; i++) {
        cd_hash32 coef;
        cd_put_be64(block + 32, i);
        cd_sha256(&coef, cd_bytes_of(block, sizeof block));
        coef.b[0] |= 1;

        blst_p1 key;
        blst_p1_affine key_affine;
        blst_p1_from_affine(&key, pk_point(&pks[i]));
        blst_p1_mult(&key, &key, coef.b, COEF_BITS);
        blst_p1_to_affine(&key_affine, &key);

        blst_p2 s;
        blst_p2_from_affine(&s, sig_point(&sigs[i]));
        blst_p2_mult(&s, &s, coef.b, COEF_BITS);
        blst_p2_add_or_double(&sum, &sum, &s);

        blst_p2_affine h;
        hash_affine(&h, msgs[i], suite);
        cd__pairing_add(&product, &key_affine, &h);
    }
    blst_p2_affine total;
    blst_p2_to_affine(&total, &sum);
    return pairing_is_sig(&product, &total);
}

/* --- proof of possession --- */

cd_err cd_bls_pop_prove(cd_bls_sig *out, const cd_bls_sk *sk)
{
    cd_bls_pk pk;
    u8 bytes[CD_BLS_PK_LEN];
    CD_TRY(cd_bls_pk_of(&pk, sk));
    cd_bls_pk_enc(bytes, &pk);
    return cd_bls_sign(out, CD_BLS_POP_PROOF, cd_bytes_of(bytes, sizeof bytes), sk);
}

bool cd_bls_pop_verify(const cd_bls_sig *proof, const cd_bls_pk *pk)
{
    u8 bytes[CD_BLS_PK_LEN];
    cd_bls_pk_enc(bytes, pk);
    return cd_bls_verify(proof, CD_BLS_POP_PROOF, cd_bytes_of(bytes, sizeof bytes), pk);
}

void cd_bls_hash_to_g2(cd_bls_sig *out, cd_bytes msg, cd_bytes dst)
{
    blst_p2 h;
    blst_p2_affine a;
    hash_point(&h, msg, dst);
    blst_p2_to_affine(&a, &h);
    memcpy(out, &a, sizeof a);
}
