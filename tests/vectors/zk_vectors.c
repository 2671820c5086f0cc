/* Merlin transcripts, generators and range proofs (crypto/zk) against what the Rust crates gave. [spec:adx#5.2] */
#include "tests/vectors/vec.h"

#include "crypto/zk/rangeproof_priv.h"

static cd_bytes text(cd_json v, const char *key)
{
    cd_bytes b = {0};
    return cd_json_str(&b, cd_json_get(v, key), NULL) == CD_OK ? b : (cd_bytes){0};
}

static const char *ctext(vec *v, cd_json o, const char *key)
{
    return cd_arena_str(&v->arena, text(o, key));
}

static cd_bytes hex(vec *v, cd_json o, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(o, key), NULL) == CD_OK, "%s is hexadecimal", key);
    return b;
}

static bool same(cd_bytes want, const void *got, usize n)
{
    return cd_bytes_eq(want, cd_bytes_of(got, n));
}

static void merlin(vec *v, cd_json d)
{
    cd_merlin t;
    u8 out[64];
    cd_json s = cd_json_get(d, "simple");
    cd_json said = cd_json_at(cd_json_get(s, "append"), 0);
    cd_bytes label = {0};
    cd_bytes data = {0};
    vec_check(v, cd_json_str(&label, cd_json_at(said, 0), NULL) == CD_OK, "label");
    vec_check(v, cd_json_str(&data, cd_json_at(said, 1), NULL) == CD_OK, "data");
    cd_merlin_init(&t, ctext(v, s, "label"));
    cd_merlin_append(&t, cd_arena_str(&v->arena, label), data);
    cd_merlin_challenge(&t, ctext(v, s, "challenge_label"), out, 32);
    vec_check(v, same(hex(v, s, "challenge32"), out, 32), "merlin: simple");

    s = cd_json_get(d, "u64");
    cd_merlin_init(&t, ctext(v, s, "label"));
    cd_merlin_append_u64(&t, "n", 64);
    cd_merlin fork = t;
    cd_merlin_challenge(&t, "y", out, 64);
    vec_check(v, same(hex(v, s, "challenge64"), out, 64), "merlin: 64 bytes");
    cd_scalar k = cd_merlin_scalar(&fork, "y");
    cd_scalar_put(out, &k);
    vec_check(v, same(hex(v, s, "as_scalar"), out, 32), "merlin: scalar");

    s = cd_json_get(d, "long");
    u8 big[1024];
    memset(big, 0x63, sizeof big);
    cd_merlin_init(&t, ctext(v, s, "label"));
    cd_merlin_append(&t, "step1", cd_bytes_str("some data"));
    for (int i = 0; i < 32; i++) {
        cd_merlin_challenge(&t, "challenge", out, 32);
        cd_merlin_append(&t, "bigdata", cd_bytes_of(big, sizeof big));
        cd_merlin_append(&t, "challengedata", cd_bytes_of(out, 32));
    }
    vec_check(v, same(hex(v, s, "last_challenge"), out, 32), "merlin: long");
}

static void point_is(vec *v, const cd_point *p, cd_bytes want, const char *what)
{
    u8 got[32];
    cd_point_put(got, p);
    vec_check(v, same(want, got, 32), "%s", what);
}

static void generators(vec *v, cd_json d)
{
    cd_point second;
    cd_pedersen_base(&second);
    point_is(v, &CD_POINT_BASE, hex(v, d, "B"), "B");
    point_is(v, &second, hex(v, d, "B_blinding"), "second base");
    const cd_point *gens = cd__rangeproof_gens(32);
    cd_json_it chains = cd_json_iter(cd_json_get(d, "chains"));
    while (cd_json_next(&chains)) {
        u64 party = 0;
        bool is_h = text(chains.val, "vector").p[0] == 'H';
        vec_check(v, cd_json_u64(&party, cd_json_get(chains.val, "party"), NULL) == CD_OK, "party");
        cd_json_it points = cd_json_iter(cd_json_get(chains.val, "points"));
        while (cd_json_next(&points)) {
            u64 idx = 0;
            cd_bytes want = {0};
            vec_check(v, cd_json_u64(&idx, cd_json_at(points.val, 0), NULL) == CD_OK, "index");
            vec_check(v, cd_json_hex(&want, &v->arena, cd_json_at(points.val, 1), NULL) == CD_OK, "point");
            point_is(v, &gens[(is_h ? 2048 : 0) + party * 64 + idx], want, "generator");
        }
    }
}

/* The transcript of a sealed bid before its proof [spec:adx#5.2]. */
static cd_merlin bid_transcript(vec *v, cd_json b)
{
    cd_merlin t;
    cd_merlin_init(&t, "adx/sealed-bid/v1");
    cd_merlin_append(&t, "auction", hex(v, b, "auction_id"));
    cd_merlin_append(&t, "bidder", text(b, "bidder_id"));
    cd_merlin_append(&t, "encbid", hex(v, b, "encbid_sha256"));
    return t;
}

static cd_err verify_bid(vec *v, cd_json b)
{
    cd_merlin t = bid_transcript(v, b);
    cd_hash32 c = {{0}};
    cd_bytes commitment = hex(v, b, "commitment");
    memcpy(c.b, commitment.p, commitment.n == 32 ? 32 : 0);
    cd_rangeproof_claim claim = {&t, &c, 1, hex(v, b, "range_proof")};
    return cd_rangeproof_verify(&claim);
}

static void valid_bid(vec *v, cd_json b)
{
    u8 bytes[32];
    u64 value = 0;
    cd_scalar blinding = {{0}};
    cd_point c;
    vec_check(v, verify_bid(v, b) == CD_OK, "bid of %s", ctext(v, b, "bidder_id"));
    bool is_read = cd_json_u64(&value, cd_json_get(b, "value_micro_usd_cpm"), NULL) == CD_OK &&
                   cd_json_fixed(bytes, 32, cd_json_get(b, "blinding"), NULL) == CD_OK &&
                   cd_scalar_get(&blinding, bytes) == CD_OK;
    vec_check(v, is_read, "opening");
    cd_scalar k = cd_scalar_u64(value);
    cd_pedersen(&c, &k, &blinding);
    point_is(v, &c, hex(v, b, "commitment"), "commitment");
}

static void all(vec *v, cd_json d)
{
    merlin(v, cd_json_get(d, "merlin"));
    generators(v, cd_json_get(d, "generators"));
    cd_json_it it = cd_json_iter(cd_json_get(d, "bids"));
    while (cd_json_next(&it)) {
        valid_bid(v, it.val);
    }
    it = cd_json_iter(cd_json_get(d, "invalid_bids"));
    while (cd_json_next(&it)) {
        vec_check(v, verify_bid(v, it.val) != CD_OK, "refused: %s", ctext(v, it.val, "why"));
    }
}

int main(void)
{
    vec v = {0};
    cd_json d;
    if (vec_json(&v, &d, vec_path(&v, "adx/bulletproofs/sealed-bid-vectors.json"))) {
        all(&v, d);
    }
    return vec_end(&v);
}
