#include "services/adx/auction/sealed.h"

#include "base/mem/secret.h"
#include "crypto/cipher/hpke.h"
#include "crypto/ec/ed25519.h"
#include "crypto/hash/sha2.h"

bool cd_bidder_is_valid(cd_bytes bidder)
{
    bool ok = bidder.n >= 1 && bidder.n <= CD_BIDDER_MAX;
    for (usize i = 0; ok && i < bidder.n; i++) {
        ok = bidder.p[i] >= 0x20 && bidder.p[i] != 0x7f;
    }
    return ok;
}

cd_bytes cd_sealed_bidder(const cd_sealed *s)
{
    return cd_bytes_of(s->bidder, s->bidder_len);
}

void cd_sealed_make(cd_sealed *out, cd_bytes bidder, const cd_hash32 *commitment, cd_bytes proof)
{
    CD_ASSERT(cd_bidder_is_valid(bidder));
    *out = (cd_sealed){.bidder_len = (u8)bidder.n, .commitment = *commitment};
    memcpy(out->bidder, bidder.p, bidder.n);
    cd_sha256(&out->proof_sha256, proof);
}

void cd_sealed_transcript(cd_merlin *out, const cd_hash32 *auction, cd_bytes bidder, cd_bytes envelope)
{
    cd_hash32 digest = {{0}};
    if (envelope.n != 0) {
        cd_sha256(&digest, envelope);
    }
    cd_merlin_init(out, "adx/sealed-bid/v1");
    cd_merlin_append(out, "auction", cd_bytes_of(auction->b, 32));
    cd_merlin_append(out, "bidder", bidder);
    cd_merlin_append(out, "encbid", cd_bytes_of(digest.b, 32));
}

void cd_opening_commit(cd_hash32 *out, const cd_opening *o)
{
    cd_point c;
    cd_scalar v = cd_scalar_u64(o->value);
    cd_pedersen(&c, &v, &o->blinding);
    cd_point_put(out->b, &c);
}

void cd_sealed_prove(cd_hash32 *commitment, u8 *proof, const cd_merlin *transcript, const cd_opening *o, cd_rng *rng)
{
    cd_merlin t = *transcript;
    cd_opening_commit(commitment, o);
    cd_rangeproof_prove(proof, &t, &o->value, &o->blinding, 1, rng);
}

bool cd_opening_fits(const cd_opening *o, const cd_hash32 *commitment)
{
    cd_hash32 c;
    cd_opening_commit(&c, o);
    return cd_hash32_eq(&c, commitment);
}

void cd_bidlog_init(cd_hash32 *h, const cd_hash32 *auction)
{
    cd_sha256_ctx c;
    cd_sha256_init(&c);
    cd_sha256_update(&c, cd_bytes_str("adx/bidlog/v1"));
    cd_sha256_update(&c, cd_bytes_of(auction->b, 32));
    cd_sha256_final(&c, h);
}

void cd_bidlog_add(cd_hash32 *h, const cd_sealed *s)
{
    u8 len[4];
    cd_sha256_ctx c;
    cd_put_be32(len, s->bidder_len);
    cd_sha256_init(&c);
    cd_sha256_update(&c, cd_bytes_of(h->b, 32));
    cd_sha256_update(&c, cd_bytes_of(len, 4));
    cd_sha256_update(&c, cd_sealed_bidder(s));
    cd_sha256_update(&c, cd_bytes_of(s->commitment.b, 32));
    cd_sha256_update(&c, cd_bytes_of(s->proof_sha256.b, 32));
    cd_sha256_final(&c, h);
}

enum { RECEIPT_TEXT = 14 + 32 + 8 + 32 + 32 };

static cd_bytes receipt_text(u8 out[RECEIPT_TEXT], const cd_receipt *r)
{
    cd_bytes tag = cd_bytes_str("adx/receipt/v1");
    memcpy(out, tag.p, tag.n);
    memcpy(out + 14, r->auction.b, 32);
    cd_put_le64(out + 46, r->seq);
    memcpy(out + 54, r->log_head.b, 32);
    memcpy(out + 86, r->commitment.b, 32);
    return cd_bytes_of(out, RECEIPT_TEXT);
}

void cd_receipt_sign(cd_receipt *r, const u8 seed[32])
{
    u8 text[RECEIPT_TEXT];
    cd_ed25519_sign(r->signature, seed, receipt_text(text, r));
}

cd_err cd_receipt_verify(const cd_receipt *r, const u8 public[32])
{
    u8 text[RECEIPT_TEXT];
    return cd_ed25519_verify(public, r->signature, receipt_text(text, r));
}

/* "adx/sealed-bid/v1" || auction. */
static void put_info(cd_buf *out, const cd_hash32 *auction)
{
    cd_buf_str(out, "adx/sealed-bid/v1");
    cd_buf_put(out, cd_bytes_of(auction->b, 32));
}

/* bidder || 0 || commitment. */
static void put_aad(cd_buf *out, cd_bytes bidder, const cd_hash32 *commitment)
{
    cd_buf_put(out, bidder);
    cd_buf_u8(out, 0);
    cd_buf_put(out, cd_bytes_of(commitment->b, 32));
}

/* Version, key encapsulation and derivation; the cipher and the key's number follow. */
static const u8 HEAD[5] = {1, 0, CD_HPKE_KEM_X25519, 0, CD_HPKE_KDF_SHA256};

cd_err cd_envelope_seal(cd_buf *out, cd_hpke_aead aead, u32 key_id, const u8 public[32], const cd_hash32 *auction,
                        cd_bytes bidder, const cd_hash32 *commitment, cd_bytes plain, const u8 ephemeral[32])
{
    cd_hpke h;
    cd_buf info = {0};
    cd_buf aad = {0};
    u8 head[CD_ENVELOPE_HEAD];
    cd_hpke_auth auth = {0};
    memcpy(head, HEAD, sizeof HEAD);
    cd_put_be16(head + 5, (u16)aead);
    cd_put_be32(head + 7, key_id);
    put_info(&info, auction);
    put_aad(&aad, bidder, commitment);
    cd_err e = cd_hpke_send(&h, head + 11, aead, public, cd_buf_bytes(&info), &auth, ephemeral);
    if (e == CD_OK) {
        cd_buf_put(out, cd_bytes_of(head, sizeof head));
        e = cd_hpke_seal(&h, out, cd_buf_bytes(&aad), plain);
        cd_hpke_fini(&h);
    }
    cd_buf_fini(&info);
    cd_buf_fini(&aad);
    return e;
}

static cd_err open_with(cd_buf *plain, cd_bytes envelope, const cd_envelope_key *key, const cd_hash32 *auction,
                        cd_bytes bidder, const cd_hash32 *commitment)
{
    cd_hpke h;
    cd_buf info = {0};
    cd_buf aad = {0};
    cd_hpke_auth auth = {0};
    put_info(&info, auction);
    put_aad(&aad, bidder, commitment);
    cd_err e = cd_hpke_receive(&h, envelope.p + 11, (cd_hpke_aead)cd_be16(envelope.p + 5), key->secret,
                               cd_buf_bytes(&info), &auth);
    if (e == CD_OK) {
        cd_bytes sealed = cd_bytes_sub(envelope, CD_ENVELOPE_HEAD, envelope.n - CD_ENVELOPE_HEAD);
        e = cd_hpke_open(&h, plain, cd_buf_bytes(&aad), sealed);
        cd_hpke_fini(&h);
    }
    cd_buf_fini(&info);
    cd_buf_fini(&aad);
    return e;
}

cd_err cd_envelope_open(cd_opening *out, cd_buf *creative, cd_bytes envelope, const cd_envelope_key *keys, usize cnt,
                        const cd_hash32 *auction, cd_bytes bidder, const cd_hash32 *commitment)
{
    const cd_envelope_key *key = NULL;
    if (envelope.n < CD_ENVELOPE_HEAD + CD_HPKE_TAG || envelope.n > CD_ENVELOPE_MAX || envelope.p[0] != HEAD[0]) {
        return CD_EFORMAT;
    }
    u16 aead = cd_be16(envelope.p + 5);
    bool is_known = aead == CD_HPKE_CHACHA20_POLY1305 || aead == CD_HPKE_AES_128_GCM;
    if (memcmp(envelope.p, HEAD, sizeof HEAD) != 0 || !is_known) {
        return CD_EUNSUPPORTED;
    }
    for (usize i = 0; i < cnt; i++) {
        key = keys[i].id == cd_be32(envelope.p + 7) ? &keys[i] : key;
    }
    if (key == NULL) {
        return CD_EKEY;
    }
    cd_buf plain = {0};
    cd_opening o;
    cd_err e = open_with(&plain, envelope, key, auction, bidder, commitment);
    if (e == CD_OK && plain.n < CD_OPENING_SIZE) {
        e = CD_EFORMAT;
    }
    if (e == CD_OK) {
        o.value = cd_le64(plain.p);
        e = cd_scalar_get(&o.blinding, plain.p + 8);
    }
    if (e == CD_OK) {
        *out = o;
        cd_buf_put(creative, cd_bytes_sub(cd_buf_bytes(&plain), CD_OPENING_SIZE, plain.n - CD_OPENING_SIZE));
    }
    if (plain.n != 0) {
        cd_wipe(plain.p, plain.n);
    }
    cd_buf_fini(&plain);
    return e;
}
