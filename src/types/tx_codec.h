/* types/tx_codec.h - transactions to bytes and back, their hashes, signing and the sender.
 *
 *   legacy   RLP list of 9                                       (EIP-155 when v >= 35)
 *   typed    type byte || RLP list of 11, 12, 14 or 13           (EIP-2718, 2930, 1559, 4844, 7702)
 *
 * This is the canonical form of blocks and hashes; inside a block body a typed one is wrapped in an
 * RLP string. The network form of type 3, which carries blobs beside the transaction, is refused.
 * Which types a fork allows is not asked here (evm/transition.h). Decoded variable parts are
 * borrowed from the input; access lists, blob hashes and authorizations lie in the arena. Whoever
 * changes a decoded transaction also clears raw and unsigned_fields, from which hashes are computed
 * when they are there. Threading: pure. */
#ifndef CD_TYPES_TX_CODEC_H
#define CD_TYPES_TX_CODEC_H

#include "base/mem/arena.h"
#include "codec/rlp.h"
#include "types/tx.h"

/* cd_tx_dec reads one canonical encoding, all of raw, and computes the hash. The signature is only
 * checked for form: v or y parity has a legal value. Errors: those of codec/rlp.h, CD_EUNSUPPORTED
 * for an unknown type, CD_ESIG for an impossible v, CD_ERANGE for numbers over 64 (nonce, gas,
 * chain id) or 256 bits. */
cd_err cd_tx_dec(cd_tx *out, cd_arena *a, cd_bytes raw, cd_errinfo *why) CD_CHECK;

/* cd_tx_dec_item reads the next element of a block's transaction list. */
cd_err cd_tx_dec_item(cd_tx *out, cd_arena *a, cd_rlp *list, cd_errinfo *why) CD_CHECK;

/* cd_tx_enc appends the canonical encoding; cd_tx_enc_item the form inside a block. */
void cd_tx_enc(cd_buf *out, const cd_tx *tx);
void cd_tx_enc_item(cd_buf *out, const cd_tx *tx);

/* cd_tx_hash computes the transaction hash, cd_tx_sign_hash what the sender signs. */
void cd_tx_hash(cd_hash32 *out, const cd_tx *tx);
void cd_tx_sign_hash(cd_hash32 *out, const cd_tx *tx);

/* cd_tx_recover fills sender from the signature. low_s_only: refuse s above half the group order
 * (EIP-2, from Homestead on). Errors: CD_ESIG. */
cd_err cd_tx_recover(cd_tx *tx, bool low_s_only) CD_CHECK;

/* cd_tx_recover_many does so for every transaction without a sender, several at a time: much faster
 * for a whole block. Errors: CD_ESIG; then some senders may be filled in. */
cd_err cd_tx_recover_many(cd_tx *txs, usize cnt, bool low_s_only) CD_CHECK;

/* cd_tx_sign signs tx (legacy: with chain id when is_protected) and fills signature, hash and
 * sender. Errors: CD_EKEY. */
cd_err cd_tx_sign(cd_tx *tx, const u8 secret[32]) CD_CHECK;

/* cd_authorization_recover gives the account that signed a (EIP-7702). Errors: CD_ESIG when no key fits, also for
 * s above half the group order. */
cd_err cd_authorization_recover(cd_addr20 *out, const cd_authorization *a) CD_CHECK;

/* cd_authorization_sign fills the signature of a. Errors: CD_EKEY. */
cd_err cd_authorization_sign(cd_authorization *a, const u8 secret[32]) CD_CHECK;

/* cd_tx_v gives the legacy v of the signature: 27/28, or 35/36 + 2 * chain id; y parity for typed
 * ones. */
cd_u256 cd_tx_v(const cd_tx *tx);

/* cd_tx_set_v splits v into y parity and, for legacy transactions, chain id. Errors: CD_ESIG for a
 * v that no signature has, CD_ERANGE for a chain id over 64 bits. */
cd_err cd_tx_set_v(cd_tx *tx, const cd_u256 *v) CD_CHECK;

#endif
