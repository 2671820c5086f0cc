/* services/adx/auction/sealed.h - one sealed bid: its proof, its place in the log, its receipt, its envelope.
 *
 *   h0 = SHA256("adx/bidlog/v1" || auction)      h[i+1] = SHA256(h[i] || BE32 len || bidder || C || SHA256(proof))
 *   receipt = Ed25519("adx/receipt/v1" || auction || LE64 seq || h[seq + 1] || C)
 *   envelope = 1 || BE16 kem || BE16 kdf || BE16 aead || BE32 key || enc[32] || ciphertext
 *
 * Nothing here knows a clock, a disk or a network. Threading: pure. [spec:adx#5.1] [spec:adx#5.2] [spec:adx#6] */
#ifndef CD_ADX_AUCTION_SEALED_H
#define CD_ADX_AUCTION_SEALED_H

#include "base/mem/buf.h"
#include "crypto/cipher/hpke.h"
#include "crypto/zk/rangeproof.h"

enum {
    CD_BIDDER_MAX = 128,        /* bytes of a bidder's name */
    CD_ENVELOPE_HEAD = 43,      /* bytes before the ciphertext */
    CD_ENVELOPE_MAX = 16 << 10, /* bytes of an envelope */
    CD_OPENING_SIZE = 40,       /* LE64 value, 32 bytes of blinding; a creative may follow */
};

/* What the log knows of a bid. */
typedef struct cd_sealed {
    u8 bidder_len;
    char bidder[CD_BIDDER_MAX];
    cd_hash32 commitment;
    cd_hash32 proof_sha256;
} cd_sealed;

/* An opened bid: value in millionths of a USD CPM. */
typedef struct cd_opening {
    u64 value;
    cd_scalar blinding;
} cd_opening;

/* cd_bidder_is_valid: 1 to CD_BIDDER_MAX bytes, none below 0x20 and not 0x7f. cd_sealed_bidder borrows the name. */
bool cd_bidder_is_valid(cd_bytes bidder);
cd_bytes cd_sealed_bidder(const cd_sealed *s);

/* cd_sealed_make fills in what the log keeps of a bid; the bidder is valid. */
void cd_sealed_make(cd_sealed *out, cd_bytes bidder, const cd_hash32 *commitment, cd_bytes proof);

/* cd_sealed_transcript says what the range proof of a bid is bound to. auction: the id in the body, 32 zeros without
 * one; envelope: empty without one. */
void cd_sealed_transcript(cd_merlin *out, const cd_hash32 *auction, cd_bytes bidder, cd_bytes envelope);

/* cd_sealed_prove is the bidder's side: commitment and the CD_RANGEPROOF_SIZE_ONE bytes of the proof. */
void cd_sealed_prove(cd_hash32 *commitment, u8 *proof, const cd_merlin *transcript, const cd_opening *o, cd_rng *rng);

/* cd_opening_commit gives v * B + r * B'; cd_opening_fits: whether that is the commitment. */
void cd_opening_commit(cd_hash32 *commitment, const cd_opening *o);
bool cd_opening_fits(const cd_opening *o, const cd_hash32 *commitment);

/* cd_bidlog_init gives h0; cd_bidlog_add takes h to the next. */
void cd_bidlog_init(cd_hash32 *h, const cd_hash32 *auction);
void cd_bidlog_add(cd_hash32 *h, const cd_sealed *s);

/* A receipt: the exchange's word that a bid stands in its log. */
typedef struct cd_receipt {
    cd_hash32 auction;
    u64 seq;
    cd_hash32 log_head; /* right behind the bid */
    cd_hash32 commitment;
    u8 signature[64];
} cd_receipt;

/* cd_receipt_sign fills in the signature. cd_receipt_verify: CD_OK or CD_ESIG. */
void cd_receipt_sign(cd_receipt *r, const u8 seed[32]);
cd_err cd_receipt_verify(const cd_receipt *r, const u8 public[32]) CD_CHECK;

/* A key that envelopes are sealed to. */
typedef struct cd_envelope_key {
    u32 id;
    u8 secret[32];
} cd_envelope_key;

/* cd_envelope_seal appends an envelope for a public key, by one of the two ciphers of crypto/cipher/hpke.h; ephemeral:
 * 32 bytes nobody can guess. cd_envelope_open reads one for any of cnt keys: the opening, and in creative what followed
 * it. Errors: CD_EFORMAT (no envelope of ours, or too short inside), CD_EUNSUPPORTED (another suite), CD_EKEY (no such
 * key, or a useless one), CD_ESIG, CD_ECANON (the blinding). */
cd_err cd_envelope_seal(cd_buf *out, cd_hpke_aead aead, u32 key_id, const u8 public[32], const cd_hash32 *auction,
                        cd_bytes bidder, const cd_hash32 *commitment, cd_bytes plain, const u8 ephemeral[32]) CD_CHECK;
cd_err cd_envelope_open(cd_opening *out, cd_buf *creative, cd_bytes envelope, const cd_envelope_key *keys, usize cnt,
                        const cd_hash32 *auction, cd_bytes bidder, const cd_hash32 *commitment) CD_CHECK;

#endif
