/* Sealed auctions (services/adx/auction) on what other implementations made: envelopes, and outcomes with their
 * proofs, each of which must fall with any byte. [spec:adx#5.5] [spec:adx#6] */
#include "tests/vectors/vec.h"

#include "codec/base64.h"
#include "services/adx/auction/outcome.h"

static cd_bytes hex(vec *v, cd_json o, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(o, key), NULL) == CD_OK, "%s is hexadecimal", key);
    return b;
}

static cd_hash32 hash(vec *v, cd_json o, const char *key)
{
    cd_hash32 h = {{0}};
    vec_check(v, cd_json_fixed(h.b, 32, cd_json_get(o, key), NULL) == CD_OK, "%s is 32 bytes", key);
    return h;
}

static cd_bytes text(vec *v, cd_json o, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_str(&b, cd_json_get(o, key), NULL) == CD_OK, "%s is text", key);
    return b;
}

static u64 number(vec *v, cd_json o, const char *key)
{
    u64 n = 0;
    vec_check(v, cd_json_u64(&n, cd_json_get(o, key), NULL) == CD_OK, "%s is a number", key);
    return n;
}

static void envelope(vec *v, cd_json o)
{
    cd_hash32 auction = hash(v, o, "auction_id");
    cd_hash32 commitment = hash(v, o, "commitment");
    cd_bytes bidder = text(v, o, "bidder_id");
    cd_bytes plain = hex(v, o, "plaintext");
    cd_bytes base64 = text(v, o, "envelope_base64");
    cd_hash32 secret = hash(v, o, "skR");
    cd_envelope_key key = {.id = (u32)number(v, o, "key_id")};
    memcpy(key.secret, secret.b, 32);
    cd_buf bytes = {0};
    cd_buf made = {0};
    cd_buf creative = {0};
    cd_opening opening;
    vec_check(v, cd_base64_dec(&bytes, base64) == CD_OK, "base64");
    cd_err e = cd_envelope_seal(&made, (cd_hpke_aead)cd_be16(bytes.p + 5), key.id, hash(v, o, "pkR").b, &auction,
                                bidder, &commitment, plain, hash(v, o, "skE").b);
    vec_check(v, e == CD_OK && cd_bytes_eq(cd_buf_bytes(&made), cd_buf_bytes(&bytes)), "sealed");
    e = cd_envelope_open(&opening, &creative, cd_buf_bytes(&bytes), &key, 1, &auction, bidder, &commitment);
    vec_check(v, e == CD_OK && opening.value == cd_le64(plain.p), "opened");
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&creative), cd_bytes_sub(plain, 40, plain.n - 40)), "creative");
    cd_buf_fini(&bytes);
    cd_buf_fini(&made);
    cd_buf_fini(&creative);
}

static void outcome(vec *v, cd_json o, const cd_sealed *bids, u32 cnt)
{
    bool is_forfeited[8] = {0};
    cd_json second = cd_json_get(o, "second_seq");
    cd_errinfo why = {0};
    cd_outcome x = {.auction = hash(v, o, "auction_id"),
                    .winner = (u32)number(v, o, "winner_seq"),
                    .second = CD_OUTCOME_NOBODY,
                    .reserve = number(v, o, "reserve"),
                    .price = number(v, o, "clearing_price"),
                    .log_head = hash(v, o, "bidlog"),
                    .cnt = cnt,
                    .bids = bids,
                    .is_forfeited = is_forfeited,
                    .proof = hex(v, o, "proof")};
    if (cd_json_has(second)) {
        x.second = (u32)number(v, o, "second_seq");
        vec_check(v, cd_scalar_get(&x.second_blinding, hash(v, o, "second_blinding").b) == CD_OK, "blinding");
    }
    vec_check(v, cd_outcome_verify(&x, &why) == CD_OK, "outcome: %s", why.msg);
    u8 *proof = (u8 *)(uintptr_t)x.proof.p;
    for (usize i = 0; i < x.proof.n; i += 31) {
        proof[i] ^= 4;
        vec_check(v, cd_outcome_verify(&x, NULL) != CD_OK, "proof with byte %zu changed", i);
        proof[i] ^= 4;
    }
    x.reserve--;
    vec_check(v, cd_outcome_verify(&x, NULL) != CD_OK, "another reserve");
}

static void outcomes(vec *v, cd_json d)
{
    cd_sealed bids[5];
    cd_json list = cd_json_get(d, "bids");
    for (u32 i = 0; i < CD_COUNT(bids); i++) {
        cd_json b = cd_json_at(list, i);
        cd_hash32 commitment = hash(v, b, "commitment");
        cd_sealed_make(&bids[i], text(v, b, "bidder_id"), &commitment, hex(v, b, "range_proof"));
    }
    cd_json_it it = cd_json_iter(cd_json_get(d, "outcomes"));
    while (cd_json_next(&it)) {
        outcome(v, it.val, bids, CD_COUNT(bids));
    }
}

int main(void)
{
    vec v = {0};
    cd_json d;
    if (vec_json(&v, &d, vec_path(&v, "adx/hpke/bid-envelopes.json"))) {
        cd_json_it it = cd_json_iter(cd_json_get(d, "envelopes"));
        while (cd_json_next(&it)) {
            envelope(&v, it.val);
        }
    }
    if (vec_json(&v, &d, vec_path(&v, "adx/bulletproofs/sealed-bid-vectors.json"))) {
        outcomes(&v, d);
    }
    return vec_end(&v);
}
