#include "store/flat_build.h"

#include "base/mem/mem.h"
#include "store/flat_priv.h"

enum { KEY_ACCOUNT = 33, KEY_SLOT = 65 };

struct cd_flat_build {
    cd_kv *kv;
    cd_kv_batch batch;
    cd_kv_iter *accounts;
    cd_kv_iter *slots;
    bool has_slot; /* slots stands at one */
    cd_trie_build *account_trie;
    cd_trie_build *slot_trie;
    u8 slot_ns[1 + 32]; /* of the account in hand */
    bool has_account;
    bool has_slots; /* the account in hand has some */
    cd_hash32 want; /* its storage root */
    cd_buf value;
};

static void emit_account(void *ctx, cd_bytes path, cd_bytes node, const cd_hash32 *hash)
{
    static const u8 ns = CD__FLAT_ACCOUNT_NODE;
    cd_trie_node_put(&((cd_flat_build *)ctx)->batch, cd_bytes_of(&ns, 1), CD_TRIE_BY_PATH, path, node, hash);
}

static void emit_slot(void *ctx, cd_bytes path, cd_bytes node, const cd_hash32 *hash)
{
    cd_flat_build *b = ctx;
    cd_trie_node_put(&b->batch, cd_bytes_of(b->slot_ns, sizeof b->slot_ns), CD_TRIE_BY_PATH, path, node, hash);
}

cd_err cd_flat_build_new(cd_flat_build **out, cd_kv *kv)
{
    static const u8 slot_table = CD__FLAT_SLOT;
    cd_flat_build *b = cd_new(cd_flat_build);
    b->kv = kv;
    b->account_trie = cd_trie_build_new(emit_account, b);
    b->slot_trie = cd_trie_build_new(emit_slot, b);
    cd_kv_batch_for(&b->batch, kv);
    cd_err e = cd_flat_accounts(&b->accounts, kv, NULL);
    if (e == CD_OK) {
        e = cd_kv_iter_new(&b->slots, kv, &(cd_kv_range){.prefix = cd_bytes_of(&slot_table, 1)});
    }
    if (e == CD_OK) {
        b->has_slot = cd_kv_iter_next(b->slots);
        e = cd_kv_iter_err(b->slots);
    }
    if (e != CD_OK) {
        cd_flat_build_free(b);
        return e;
    }
    *out = b;
    return CD_OK;
}

void cd_flat_build_free(cd_flat_build *b)
{
    if (b != NULL) {
        cd_kv_iter_free(b->accounts);
        cd_kv_iter_free(b->slots);
        cd_trie_build_free(b->account_trie);
        cd_trie_build_free(b->slot_trie);
        cd_kv_batch_fini(&b->batch);
        cd_buf_fini(&b->value);
        cd_free(b);
    }
}

static cd_err spoilt(const cd_flat_build *b, const char *what, cd_errinfo *why)
{
    const u8 *a = b->slot_ns + 1;
    return cd_fail(why, CD_ECORRUPT, "account %02x%02x%02x%02x...: %s", a[0], a[1], a[2], a[3], what);
}

/* Takes the next account in hand; *more false: there is none. */
static cd_err next_account(cd_flat_build *b, bool *more, cd_hash32 *root, cd_errinfo *why)
{
    if (!cd_kv_iter_next(b->accounts)) {
        *more = false;
        CD_TRY(cd_kv_iter_err(b->accounts));
        if (b->has_slot) {
            return cd_fail(why, CD_ECORRUPT, "slots without an account");
        }
        cd_trie_build_root(b->account_trie, root);
        return CD_OK;
    }
    cd_bytes key = cd_kv_iter_key(b->accounts);
    if (key.n != KEY_ACCOUNT) {
        return cd_fail(why, CD_ECORRUPT, "account key of %zu bytes", key.n);
    }
    memcpy(b->slot_ns, key.p, KEY_ACCOUNT);
    b->slot_ns[0] = CD__FLAT_SLOT_NODE;
    cd_buf_clear(&b->value);
    cd_buf_put(&b->value, cd_kv_iter_value(b->accounts));
    if (!cd__flat_storage_root(&b->want, cd_buf_bytes(&b->value))) {
        return spoilt(b, "malformed value", why);
    }
    b->has_account = true;
    b->has_slots = false;
    cd_trie_build_reset(b->slot_trie);
    return CD_OK;
}

/* The account in hand is whole: its root is looked at, and it goes into the account trie. */
static cd_err end_account(cd_flat_build *b, cd_errinfo *why)
{
    cd_hash32 got = CD_TRIE_EMPTY_ROOT;
    if (b->has_slots) {
        cd_trie_build_root(b->slot_trie, &got);
    }
    if (!cd_hash32_eq(&got, &b->want)) {
        return spoilt(b, "storage root is not that of its slots", why);
    }
    b->has_account = false;
    return cd_trie_build_add(b->account_trie, cd_bytes_of(b->slot_ns + 1, 32), cd_buf_bytes(&b->value));
}

static cd_err take_one(cd_flat_build *b, bool *more, cd_hash32 *root, cd_errinfo *why)
{
    if (!b->has_account) {
        return next_account(b, more, root, why);
    }
    cd_bytes key = b->has_slot ? cd_kv_iter_key(b->slots) : (cd_bytes){0};
    if (b->has_slot && key.n != KEY_SLOT) {
        return cd_fail(why, CD_ECORRUPT, "slot key of %zu bytes", key.n);
    }
    int order = b->has_slot ? memcmp(key.p + 1, b->slot_ns + 1, 32) : 1;
    if (order > 0) {
        return end_account(b, why);
    }
    if (order < 0) {
        return cd_fail(why, CD_ECORRUPT, "slots without an account");
    }
    CD_TRY(cd_trie_build_add(b->slot_trie, cd_bytes_of(key.p + 33, 32), cd_kv_iter_value(b->slots)));
    b->has_slots = true;
    b->has_slot = cd_kv_iter_next(b->slots);
    return cd_kv_iter_err(b->slots);
}

cd_err cd_flat_build_step(cd_flat_build *b, usize bytes, bool *more, cd_hash32 *root, cd_errinfo *why)
{
    cd_err e = CD_OK;
    *more = true;
    while (e == CD_OK && *more && b->batch.rec.n < bytes) {
        e = take_one(b, more, root, why);
    }
    if (e == CD_OK && b->batch.cnt != 0) {
        e = cd_kv_commit(b->kv, &b->batch, CD_KV_NOSYNC, why);
        cd_kv_batch_clear(&b->batch);
    }
    return e;
}
