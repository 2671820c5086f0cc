/* store/flat.h - the flat account and storage tables beside the trie.
 *
 * One kv (or overlay layer, or prefix view) holds a chain's state; the first byte of a key tells the
 * table. Reads of accounts and slots are one lookup here; the tries next to them exist for the roots.
 * All of a block's changes, flat and trie alike, go into one batch.
 *
 *   'a' ‖ account                   the account's value as in the trie's leaf (RLP)
 *   's' ‖ account ‖ slot            the slot's value as in the trie's leaf (RLP)
 *   'n' ‖ path                      nodes of the account trie
 *   'N' ‖ account ‖ path            nodes of a storage trie
 *   'H'                             head: which block this state is the outcome of
 *
 * account = keccak256(address), slot = keccak256(key). With nodes by hash (archive) the hash takes the
 * place of the path, and storage nodes share the table 'N' without the account.
 *
 * Not done here: the meaning of account values beyond the storage root's place (third list item).
 * Threading: pure over the kv given. [spec:architecture.md#6] */
#ifndef CD_STORE_FLAT_H
#define CD_STORE_FLAT_H

#include "store/trie.h"

/* --- tables --- */

/* cd_flat_account_key / cd_flat_slot_key write the key of an account or slot to out: keys of other tables begin with
 * it. */
enum { CD_FLAT_KEY_MAX = 1 + 32 + 32 };
cd_bytes cd_flat_account_key(u8 out[CD_FLAT_KEY_MAX], const cd_hash32 *account);
cd_bytes cd_flat_slot_key(u8 out[CD_FLAT_KEY_MAX], const cd_hash32 *account, const cd_hash32 *slot);

/* cd_flat_account_get / cd_flat_slot_get replace out by the value. Errors: CD_ENOENT. */
cd_err cd_flat_account_get(cd_kv *kv, cd_buf *out, const cd_hash32 *account) CD_CHECK;
cd_err cd_flat_slot_get(cd_kv *kv, cd_buf *out, const cd_hash32 *account, const cd_hash32 *slot) CD_CHECK;

/* cd_flat_account_put / cd_flat_slot_put append to batch; an empty value deletes. */
void cd_flat_account_put(cd_kv_batch *batch, const cd_hash32 *account, cd_bytes value);
void cd_flat_slot_put(cd_kv_batch *batch, const cd_hash32 *account, const cd_hash32 *slot, cd_bytes value);

/* cd_flat_storage_clear appends deletes for every slot and every path-stored node of the account that
 * kv holds. */
cd_err cd_flat_storage_clear(cd_kv_batch *batch, cd_kv *kv, const cd_hash32 *account) CD_CHECK;

/* cd_flat_accounts / cd_flat_slots open an iterator from start upwards (NULL = from the first); the
 * last 32 bytes of each key are the account or slot hash. */
cd_err cd_flat_accounts(cd_kv_iter **out, cd_kv *kv, const cd_hash32 *start) CD_CHECK;
cd_err cd_flat_slots(cd_kv_iter **out, cd_kv *kv, const cd_hash32 *account, const cd_hash32 *start) CD_CHECK;

/* cd_flat_account_trie / cd_flat_storage_trie open the trie at root over kv's node tables.
 * Errors as cd_trie_open. */
cd_err cd_flat_account_trie(cd_trie **out, cd_kv *kv, const cd_hash32 *root, cd_trie_scheme scheme, cd_pool *pool,
                            cd_errinfo *why) CD_CHECK;
cd_err cd_flat_storage_trie(cd_trie **out, cd_kv *kv, const cd_hash32 *account, const cd_hash32 *root,
                            cd_trie_scheme scheme, cd_pool *pool, cd_errinfo *why) CD_CHECK;

/* --- head --- */

/* The block whose state the tables hold. */
typedef struct cd_flat_head {
    u64 height;
    cd_hash32 block;
    cd_hash32 root;
} cd_flat_head;

/* cd_flat_head_get reads the head record. Errors: CD_ENOENT in a fresh store, CD_ECORRUPT. */
cd_err cd_flat_head_get(cd_kv *kv, cd_flat_head *out) CD_CHECK;

/* cd_flat_head_put appends the head record to batch. */
void cd_flat_head_put(cd_kv_batch *batch, const cd_flat_head *head);

/* --- check --- */

/* cd_flat_root recomputes the state root from the flat tables alone, with the sorted builder, and
 * checks on the way that every account's storage root is that of its slots and that no slots exist
 * without an account. Errors: CD_ECORRUPT, and why names the account. */
cd_err cd_flat_root(cd_kv *kv, cd_hash32 *out, cd_errinfo *why) CD_CHECK;

/* cd_flat_check compares head record, recomputed root and, by walking all nodes, the stored tries.
 * Errors: CD_ECORRUPT / CD_EMISSING with the difference in why. */
cd_err cd_flat_check(cd_kv *kv, cd_trie_scheme scheme, cd_errinfo *why) CD_CHECK;

#endif
