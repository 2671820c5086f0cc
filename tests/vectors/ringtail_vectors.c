/* The lattice signature that the public library made, and everything on the way to accepting it. [spec:finality#3] */
#include "tests/vectors/curves.h"

#include "base/mem/mem.h"
#include "crypto/hash/blake2x.h"
#include "crypto/lattice/ringtail.h"
#include "crypto/lattice/sample.h"

static cd_json in_file(vec *v, const char *name)
{
    cd_json doc = {0};
    (void)vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "p2p/%s", name)));
    return doc;
}

static void numbers_are(vec *v, cd_json list, const u64 *got, const char *label)
{
    cd_json_it it = cd_json_iter(list);
    for (usize i = 0; cd_json_next(&it); i++) {
        u64 want = 0;
        vec_check(v, cd_json_u64(&want, it.val, NULL) == CD_OK && want == got[i], "%s %zu", label, i);
    }
}

static void transform(vec *v, cd_json doc)
{
    cd_json example = cd_json_get(doc, "ntt_example");
    cd_lpoly p;
    for (u64 i = 0; i < CD_LPOLY_N; i++) {
        p.c[i] = i * i;
    }
    cd_lpoly mont = p;
    cd_lpoly_to_mont(&mont);
    numbers_are(v, cd_json_get(example, "mform_first8"), mont.c, "times 2^64");
    cd_lpoly slots = p;
    cd_lpoly_ntt(&slots);
    numbers_are(v, cd_json_get(example, "ntt_first8"), slots.c, "slot");
    numbers_are(v, cd_json_get(example, "ntt_last4"), slots.c + CD_LPOLY_N - 4, "last slot");
    cd_lpoly_intt(&slots);
    vec_check(v, memcmp(&slots, &p, sizeof p) == 0, "and back");
    cd_lpoly_from_mont(&mont);
    vec_check(v, memcmp(&mont, &p, sizeof p) == 0, "and back from 2^64");
}

static void challenge(vec *v, cd_json doc)
{
    cd_json places = cd_json_get(cd_json_get(doc, "intermediate"), "c_nonzero_coefficients");
    cd_lpoly c;
    cd_lattice_challenge(&c, hex_of(v, cd_json_get(doc, "intermediate"), "challenge_blake3").p);
    for (u32 i = 0; i < CD_LPOLY_N; i++) {
        cd_json one = cd_json_get(places, cd_arena_fmt(&v->arena, "%u", i));
        u64 is_plus = 0; /* what is no u64 there is -1 */
        bool is_zero = cd_json_kind_of(one) == CD_JSON_NONE;
        (void)!cd_json_u64(&is_plus, one, NULL);
        u64 want = is_zero ? 0 : is_plus == 1 ? 1 : CD_LPOLY_Q - 1;
        vec_check(v, c.c[i] == want, "coefficient %u of the challenge", i);
    }
}

/* The public matrix is the beginning of the dealer's stream. */
static void matrix(vec *v, cd_json doc, const cd_rt_key *key)
{
    cd_blake2x x;
    cd_blake2x_init(&x, hex_of(v, doc, "dealer_key_hex").p);
    for (u32 i = 0; i < CD_RT_ROWS * CD_RT_COLS; i++) {
        cd_lpoly p;
        cd_lattice_uniform(&p, &x);
        cd_lpoly_ntt(&p);
        cd_lpoly_to_mont(&p);
        vec_check(v, memcmp(&p, &key->a[i], sizeof p) == 0, "polynomial %u of the matrix", i);
    }
}

static void signature(vec *v, cd_json doc)
{
    cd_rt_key *key = cd_new(cd_rt_key);
    cd_rt_sig *sig = cd_new(cd_rt_sig);
    cd_buf text = {0};
    cd_json group = cd_json_get(doc, "group_key");
    cd_json parts = cd_json_get(doc, "signature");
    cd_buf_put(&text, hex_of(v, group, "A_writeTo_hex"));
    cd_buf_put(&text, hex_of(v, group, "b_tilde_writeTo_hex"));
    vec_check(v, cd_rt_key_read(key, cd_buf_bytes(&text)) == CD_OK, "the key");
    matrix(v, doc, key);
    cd_buf again = {0};
    cd_rt_key_put(&again, key);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&again), cd_buf_bytes(&text)), "the key again");

    cd_rd c = cd_rd_init(hex_of(v, parts, "c_marshal_hex"));
    cd_rd z = cd_rd_init(hex_of(v, parts, "z_writeTo_hex"));
    cd_rd delta = cd_rd_init(hex_of(v, parts, "delta_writeTo_hex"));
    cd_lpoly_read(&c, &sig->c);
    cd_lpoly_vec_read(&z, sig->z, CD_RT_COLS);
    cd_lpoly_vec_read(&delta, sig->delta, CD_RT_ROWS);
    vec_check(v, cd_rd_end(&c) == CD_OK && cd_rd_end(&z) == CD_OK && cd_rd_end(&delta) == CD_OK, "the signature");

    cd_bytes message = hex_of(v, doc, "message_hex");
    u8 *other = cd_arena_zalloc(&v->arena, message.n);
    memcpy(other, message.p, message.n);
    other[0] ^= 1;
    vec_check(v, cd_rt_verify(key, sig, message), "is good");
    vec_check(v, !cd_rt_verify(key, sig, cd_bytes_of(other, message.n)), "is not another message's");
    sig->delta[3].c[17] ^= 1;
    vec_check(v, !cd_rt_verify(key, sig, message), "is not good with a bit changed");
    cd_buf_fini(&again);
    cd_buf_fini(&text);
    cd_free(sig);
    cd_free(key);
}

int main(void)
{
    vec v = {0};
    cd_json doc = in_file(&v, "ringtail_4of5.json");
    if (cd_json_kind_of(doc) == CD_JSON_OBJ) {
        transform(&v, doc);
        challenge(&v, doc);
        signature(&v, doc);
    }
    return vec_end(&v);
}
