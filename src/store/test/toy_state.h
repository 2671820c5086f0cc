/* store/test/toy_state.h - a small chain of random blocks over the flat tables and tries.
 *
 * toy_block makes the whole batch of one block: it opens the tries at the head, changes some accounts
 * and slots, deletes some, commits the tries, writes the tables and the head. What a
 * block does depends only on its height, so that two runs have the same state at the same height.
 *
 * Threading: confined. */
#ifndef CD_STORE_TEST_TOY_STATE_H
#define CD_STORE_TEST_TOY_STATE_H

#include "base/os/rng.h"
#include "store/flat.h"

enum { TOY_ACCOUNTS = 120, TOY_SLOTS = 40 };

static inline cd_hash32 toy_hash(const char *what, u64 n)
{
    u8 text[16] = {0};
    usize len = strlen(what);
    memcpy(text, what, len < 8 ? len : 8);
    cd_put_be64(text + 8, n);
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_of(text, sizeof text));
    return h;
}

/* [nonce, balance, storage root, code hash] */
static inline usize toy_account(u8 out[72], u64 nonce, const cd_hash32 *storage)
{
    u8 *p = out + 2;
    *p++ = (u8)(1 + nonce % 0x7f);
    *p++ = (u8)(1 + nonce / 7 % 0x7f);
    *p++ = 0xa0;
    memcpy(p, storage->b, 32);
    p += 32;
    *p++ = 0xa0;
    memcpy(p, CD_KECCAK_EMPTY.b, 32);
    p += 32;
    out[0] = 0xf8;
    out[1] = (u8)(p - out - 2);
    return (usize)(p - out);
}

/* The storage root in an account's value; the empty root when there is no account. */
static inline cd_hash32 toy_storage_root(cd_kv *kv, const cd_hash32 *account)
{
    cd_hash32 root = CD_TRIE_EMPTY_ROOT;
    cd_buf value = {0};
    if (cd_flat_account_get(kv, &value, account) == CD_OK) {
        memcpy(root.b, value.p + value.n - 33 - 32, 32);
    }
    cd_buf_fini(&value);
    return root;
}

/* Changes some slots of the account; gives its new storage root. */
static inline cd_err toy_storage(cd_kv *kv, cd_kv_batch *batch, cd_rng *r, cd_hash32 *root, const cd_hash32 *account,
                                 cd_trie_scheme scheme)
{
    cd_trie *t = NULL;
    cd_hash32 old = toy_storage_root(kv, account);
    CD_TRY(cd_flat_storage_trie(&t, kv, account, &old, scheme, NULL, NULL));
    cd_err err = CD_OK;
    for (u64 i = cd_rng_below(r, 8); i > 0 && err == CD_OK; i--) {
        cd_hash32 slot = toy_hash("slot", cd_rng_below(r, TOY_SLOTS));
        u8 value[33] = {0xa0};
        cd_rng_fill(r, value + 1, 32);
        usize n = cd_rng_below(r, 3) == 0 ? 0 : cd_rng_below(r, 2) == 0 ? 1 : 33;
        value[0] = n == 1 ? (u8)(1 + cd_rng_below(r, 0x7f)) : 0xa0;
        cd_bytes v = cd_bytes_of(value, n);
        cd_flat_slot_put(batch, account, &slot, v);
        err = cd_trie_put(t, cd_bytes_of(slot.b, 32), v);
    }
    if (err == CD_OK) {
        cd_trie_commit(t, root, batch);
    }
    cd_trie_close(t);
    return err;
}

static inline cd_err toy_changes(cd_kv *kv, cd_kv_batch *batch, cd_rng *r, cd_trie *t, cd_trie_scheme scheme)
{
    bool touched[TOY_ACCOUNTS] = {0};
    for (u64 i = 1 + cd_rng_below(r, 12); i > 0; i--) {
        u64 n = cd_rng_below(r, TOY_ACCOUNTS);
        if (touched[n]) {
            continue;
        }
        touched[n] = true;
        cd_hash32 account = toy_hash("account", n);
        cd_bytes key = cd_bytes_of(account.b, 32);
        if (cd_rng_below(r, 5) == 0) {
            CD_TRY(cd_flat_storage_clear(batch, kv, &account));
            cd_flat_account_put(batch, &account, (cd_bytes){0});
            CD_TRY(cd_trie_del(t, key));
            continue;
        }
        u8 value[72];
        cd_hash32 root = CD_TRIE_EMPTY_ROOT;
        CD_TRY(toy_storage(kv, batch, r, &root, &account, scheme));
        usize value_n = toy_account(value, cd_rng_u64(r) >> 1, &root);
        cd_flat_account_put(batch, &account, cd_bytes_of(value, value_n));
        CD_TRY(cd_trie_put(t, key, cd_bytes_of(value, value_n)));
    }
    return CD_OK;
}

/* toy_block appends block head+1 to batch; kv is the state at the head. */
static inline cd_err toy_block(cd_kv_batch *batch, cd_kv *kv, cd_trie_scheme scheme)
{
    cd_flat_head head = {.root = CD_TRIE_EMPTY_ROOT};
    cd_err err = cd_flat_head_get(kv, &head);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    head.height++;
    cd_rng r = cd_rng_seeded(head.height);
    cd_trie *t = NULL;
    CD_TRY(cd_flat_account_trie(&t, kv, &head.root, scheme, NULL, NULL));
    err = toy_changes(kv, batch, &r, t, scheme);
    if (err == CD_OK) {
        cd_trie_commit(t, &head.root, batch);
        head.block = toy_hash("block", head.height);
        cd_flat_head_put(batch, &head);
    }
    cd_trie_close(t);
    return err;
}

#endif
