/* store/trie.h - the Merkle-Patricia trie: a map from keys to values with one hash over all of it.
 *
 *            root                 branch = 16 children and a value; a run of single-child nibbles
 *          ┌──┴───┐               above it (an "extension") is kept inside the branch as its skip
 *        branch  leaf             leaf   = the whole key and the value
 *      ┌───┼────┐                 hash   = a node that is in the store and not loaded yet
 *    leaf hash branch…
 *
 * Changes touch memory only and mark the path; cd_trie_root hashes what is marked, level by level in
 * batches of independent nodes; cd_trie_commit hands the changed nodes to a kv batch. Nodes are stored
 * by path (ns ‖ count ‖ packed nibbles: an overwritten node leaves no garbage; one version at a time)
 * or by hash (every committed root stays readable: archives and side branches). Every node read is
 * checked against the hash its parent gives.
 *
 * Not done here: hashing of keys (a "secure" trie's caller passes keccak256(key)), reference counts of
 * hash-addressed nodes. A value of length 0 means "absent" everywhere.
 *
 * Threading: confined; cd_trie_root may use the pool's threads while it runs. Verification and the
 * sorted builder are pure. Format: Ethereum yellow paper, appendix C and D. */
#ifndef CD_STORE_TRIE_H
#define CD_STORE_TRIE_H

#include "base/mem/arena.h"
#include "base/thread/pool.h"
#include "crypto/hash/keccak.h"
#include "store/kv.h"

/* Longest key and longest namespace prefix, in bytes. */
#define CD_TRIE_MAX_KEY 64u
#define CD_TRIE_MAX_NS  64u

/* keccak256(0x80): the root of a trie without keys. */
#define CD_TRIE_EMPTY_ROOT CD_KECCAK_EMPTY_RLP

typedef struct cd_trie cd_trie;

/* How nodes are stored. */
typedef enum cd_trie_scheme {
    CD_TRIE_BY_PATH, /* one version, no garbage */
    CD_TRIE_BY_HASH, /* all versions, nothing is ever deleted */
} cd_trie_scheme;

/* Which trie is opened. */
typedef struct cd_trie_cfg {
    cd_kv *nodes;   /* where nodes are read; NULL = the trie lives in memory only */
    cd_bytes ns;    /* prefix of this trie's node keys, copied */
    cd_hash32 root; /* all zero or CD_TRIE_EMPTY_ROOT = empty */
    cd_trie_scheme scheme;
    cd_pool *pool; /* NULL = hash on the caller's thread */
} cd_trie_cfg;

/* A key with its value; used sorted and unsorted. Borrowed ranges. */
typedef struct cd_trie_item {
    cd_bytes key;
    cd_bytes value;
} cd_trie_item;

/* The nodes of a proof, encoded. Nodes shorter than 32 bytes are inside their parent and not listed. */
typedef struct cd_trie_proof {
    const cd_bytes *node;
    usize cnt;
} cd_trie_proof;

/* --- the trie --- */

/* cd_trie_open makes a trie that starts from cfg->root; only the root node is read now.
 * Errors: CD_EMISSING when it is not in the store, CD_ECORRUPT when what is there hashes differently. */
cd_err cd_trie_open(cd_trie **out, const cd_trie_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_trie_new_mem makes an empty trie that lives in memory only. */
cd_trie *cd_trie_new_mem(void) __attribute__((returns_nonnull));

/* cd_trie_close drops the trie; changes that were not committed are lost. NULL is allowed. */
void cd_trie_close(cd_trie *t);

/* The functions below that may load nodes give CD_EMISSING / CD_ECORRUPT when a node is absent or differs from its
 * hash; the trie's contents are then unchanged. A key longer than CD_TRIE_MAX_KEY gives CD_ELIMIT. */

/* cd_trie_get borrows the value of key until the next change. Errors: CD_ENOENT. */
cd_err cd_trie_get(cd_trie *t, cd_bytes *value, cd_bytes key) CD_CHECK;

/* cd_trie_put sets key to value (copied); an empty value deletes. */
cd_err cd_trie_put(cd_trie *t, cd_bytes key, cd_bytes value) CD_CHECK;

/* cd_trie_del removes key; an absent key is no error. */
cd_err cd_trie_del(cd_trie *t, cd_bytes key) CD_CHECK;

/* cd_trie_load_many loads the nodes on the ways to cnt keys, in order, and hashes them side by side: worth it before
 * many keys are read, changed or proved. */
cd_err cd_trie_load_many(cd_trie *t, const cd_bytes *keys, usize cnt) CD_CHECK;

/* cd_trie_update_many puts and deletes cnt items whose keys ascend strictly: a block's changes.
 * On an error a prefix of the items is applied. */
cd_err cd_trie_update_many(cd_trie *t, const cd_trie_item *items, usize cnt) CD_CHECK;

/* cd_trie_root hashes what changed and gives the root hash. */
void cd_trie_root(cd_trie *t, cd_hash32 *out);

/* cd_trie_commit appends to batch the nodes that changed since the last commit (and, by path, deletes
 * for those that are gone) and gives the root. The nodes stay loaded. The caller commits the batch to
 * what t reads from; if that fails the trie must be closed. */
void cd_trie_commit(cd_trie *t, cd_hash32 *root, cd_kv_batch *batch);

/* cd_trie_trim unloads committed nodes, deepest first, until at most max_bytes of nodes are in memory
 * or only changed ones are left. No effect on a trie without a store. */
void cd_trie_trim(cd_trie *t, usize max_bytes);

/* cd_trie_mem gives the bytes of nodes in memory. */
usize cd_trie_mem(const cd_trie *t);

/* --- neighbours and iteration --- */

typedef struct cd_trie_iter cd_trie_iter;

/* cd_trie_iter_new stands before the first key >= start (reverse: <= start; an empty start is the
 * edge of that direction). Any change of the trie ends its life, save for _free. */
cd_trie_iter *cd_trie_iter_new(cd_trie *t, cd_bytes start, bool reverse) __attribute__((returns_nonnull));
void cd_trie_iter_free(cd_trie_iter *it);

/* cd_trie_iter_next gives the next item, borrowed until the next change.
 * Errors: CD_ENOENT at the end. */
cd_err cd_trie_iter_next(cd_trie_iter *it, cd_trie_item *out) CD_CHECK;

/* --- proofs --- */

/* cd_trie_prove gives the nodes from the root towards key, present or not, in arena memory. The proof
 * of an empty trie has no nodes. The trie is hashed first if it changed. */
cd_err cd_trie_prove(cd_trie *t, cd_trie_proof *out, cd_arena *a, cd_bytes key) CD_CHECK;

/* cd_trie_prove_many proves cnt keys, out[i] for keys[i], faster than one by one. */
cd_err cd_trie_prove_many(cd_trie *t, cd_trie_proof *out, cd_arena *a, const cd_bytes *keys, usize cnt) CD_CHECK;

/* cd_trie_verify follows the proof. On CD_OK *value is the proven value, borrowed from the proof, or
 * empty (n == 0) when the proof shows that key is absent.
 * Errors: CD_EPROOF when a node is missing, malformed, superfluous or hashes differently. */
cd_err cd_trie_verify(cd_bytes *value, const cd_hash32 *root, cd_bytes key, const cd_trie_proof *proof) CD_CHECK;

/* A run of neighbouring items, and the proof that nothing between them was left out. */
typedef struct cd_trie_range {
    const cd_trie_item *items;
    usize cnt;
    cd_trie_proof proof; /* empty when the items are the whole trie */
    bool more;           /* keys after the last item exist */
} cd_trie_range;

/* cd_trie_prove_range gives up to limit items with start <= key <= end (an empty start or end: no bound), all in arena
 * memory, and the nodes towards start and towards the last item. When no key is in the range but keys follow, the next
 * item is given: it shows the gap. */
cd_err cd_trie_prove_range(cd_trie *t, cd_trie_range *out, cd_arena *a, cd_bytes start, cd_bytes end,
                           usize limit) CD_CHECK;

/* cd_trie_verify_range checks that items are exactly the keys of the trie from start to the last item
 * (with no items: that no key >= start exists). All keys, and start unless empty, have one length.
 * The proof's nodes may come in any order; *more tells whether keys follow.
 * Errors: CD_EPROOF. [spec:evm-chain.md#13] */
cd_err cd_trie_verify_range(bool *more, const cd_hash32 *root, cd_bytes start, const cd_trie_item *items, usize cnt,
                            const cd_trie_proof *proof) CD_CHECK;

/* --- sorted builder --- */

typedef struct cd_trie_build cd_trie_build;

/* Receives each node of at least 32 bytes (and the root), children before parents; ranges are borrowed
 * for the call. path holds one nibble a byte. */
typedef void cd_trie_node_fn(void *ctx, cd_bytes path, cd_bytes node, const cd_hash32 *hash);

/* cd_trie_build_new starts a root computation over keys that come in ascending order; memory use does
 * not grow with their number. emit (NULL = none) receives the nodes. */
cd_trie_build *cd_trie_build_new(cd_trie_node_fn *emit, void *ctx) __attribute__((returns_nonnull));
void cd_trie_build_free(cd_trie_build *b);

/* cd_trie_build_reset makes a used builder new. */
void cd_trie_build_reset(cd_trie_build *b);

/* cd_trie_build_add appends an item. Errors: CD_EINVAL when key does not ascend or value is empty,
 * CD_ELIMIT on a key that is too long. */
cd_err cd_trie_build_add(cd_trie_build *b, cd_bytes key, cd_bytes value) CD_CHECK;

/* cd_trie_build_root closes all nodes and gives the root; afterwards only reset and free are valid. */
void cd_trie_build_root(cd_trie_build *b, cd_hash32 *out);

/* cd_trie_list_root gives the root of the trie rlp(index) -> item: transactions, receipts and
 * withdrawals of a block. Items must not be empty. */
void cd_trie_list_root(cd_hash32 *out, const cd_bytes *items, usize cnt);

/* cd_trie_node_put appends a node that the builder emitted to batch, as a trie opened with ns and
 * scheme will look for it. */
void cd_trie_node_put(cd_kv_batch *batch, cd_bytes ns, cd_trie_scheme scheme, cd_bytes path, cd_bytes node,
                      const cd_hash32 *hash);

#endif
