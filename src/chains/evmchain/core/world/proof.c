#include "chains/evmchain/core/world/proof.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

enum { MAX_CHANGED = 1000000 };

/* --- from tries --- */

/* Reads an account from a trie; one that is absent has no storage and no code. */
static cd_err account_in(cd_trie *t, cd_account *out, bool *found, cd_account_form form, const cd_hash32 *hash)
{
    cd_bytes value;
    cd_err e = cd_trie_get(t, &value, cd_bytes_of(hash->b, 32));
    *found = e == CD_OK;
    if (e == CD_ENOENT) {
        *out = (cd_account){.code_hash = CD_HASH_EMPTY_CODE, .storage_root = CD_HASH_EMPTY_TRIE};
        return CD_OK;
    }
    CD_TRY(e);
    return cd_account_dec(out, form, value);
}

static cd_err prove_account(cd_world_proof *out, cd_arena *a, cd_trie *accounts, cd_account_form form,
                            const cd_hash32 *hash)
{
    cd_trie_root(accounts, &out->root);
    CD_TRY(cd_trie_prove(accounts, &out->proof, a, cd_bytes_of(hash->b, 32)));
    return account_in(accounts, &out->account, &out->found, form, hash);
}

static cd_err prove_slots(cd_world_slot_proof *out, cd_arena *a, cd_trie *storage, const cd_hash32 *keys, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_hash32 hash;
        cd_bytes value;
        cd_keccak256_32(&hash, keys[i].b);
        cd_bytes key = cd_bytes_of(hash.b, 32);
        CD_TRY(cd_trie_prove(storage, &out[i].proof, a, key));
        cd_err e = cd_trie_get(storage, &value, key);
        if (e == CD_OK) {
            e = cd__slot_dec(&out[i].value, value);
        } else if (e == CD_ENOENT) {
            e = CD_OK;
        }
        CD_TRY(e);
    }
    return CD_OK;
}

static bool has_storage(const cd_world_proof *p)
{
    return !cd_hash32_eq(&p->account.storage_root, &CD_HASH_EMPTY_TRIE);
}

/* --- at the head --- */

cd_err cd_world_prove(cd_world *w, cd_world_proof *out, cd_arena *a, const cd_addr20 *addr, const cd_hash32 *keys,
                      usize cnt, cd_errinfo *why)
{
    cd_hash32 hash;
    cd_world_proof p = {.slots = cd_arena_array(a, cd_world_slot_proof, cnt)};
    cd_keccak256(&hash, cd_bytes_of(addr->b, 20));
    CD_TRY(cd__tries_move(w, NULL, why));
    CD_TRY(prove_account(&p, a, w->tries.accounts, w->cfg.form, &hash));
    if (cnt != 0 && has_storage(&p)) {
        cd_trie *standing = cd__tries_find(w, &hash);
        cd_trie *stored = NULL;
        if (standing == NULL) {
            CD_TRY(cd_flat_storage_trie(&stored, w->cfg.kv, &hash, &p.account.storage_root, CD_TRIE_BY_PATH,
                                        w->cfg.pool, why));
        }
        cd_err e = prove_slots(p.slots, a, standing != NULL ? standing : stored, keys, cnt);
        cd_trie_close(stored);
        CD_TRY(e);
    }
    /* Proofs alone must not make the account trie grow without end. */
    if (cd_trie_mem(w->tries.accounts) > w->cfg.trie_bytes) {
        cd_trie_trim(w->tries.accounts, w->cfg.trie_bytes / 2);
    }
    *out = p;
    return CD_OK;
}

/* --- as of a version --- */

struct cd_world_past {
    cd_world_past_cfg cfg;
    cd_trie *accounts;
    cd_hash32 stored_root;
    u64 from; /* journal records of [from, to] say what differs from the stored tries */
    u64 to;
    bool has_slots;
    cd__key_list slots; /* all that differ, once somebody asked for the storage of a hash */
};

/* The value of a flat key as of the version; empty when there was none. */
static cd_err value_at(const cd_world_past *p, cd_buf *out, cd_bytes key)
{
    cd_err e = cd__history_get(p->cfg.kv, out, key, p->cfg.version);
    if (e == CD_ENOENT) {
        cd_buf_clear(out);
        return CD_OK;
    }
    return e;
}

/* Collects the accounts that differ. */
static cd_err changed_accounts(const cd_world_past *p, cd__key_list *out)
{
    cd__journal j;
    cd_err e = CD_OK;
    cd_hmap seen; /* most change again and again */
    CD_TRY(cd__journal_open(&j, p->cfg.kv, p->from));
    cd_hmap_init(&seen, CD_HASH_IDENTITY, sizeof(cd_hash32), 0);
    while (e == CD_OK && cd__journal_next(&j, p->to)) {
        cd__journal_hash(&j);
        for (usize i = 0; i < j.acct_cnt; i++) {
            bool is_new;
            (void)cd_hmap_put(&seen, &is_new, &j.accts[i].hash);
            if (is_new) {
                cd__keys_add(out, &j.accts[i].hash, NULL);
            }
        }
        e = out->cnt > p->cfg.max_changed ? CD_ELIMIT : CD_OK;
    }
    cd_err closed = cd__journal_close(&j);
    cd_hmap_fini(&seen);
    cd__keys_sort(out);
    return e == CD_OK ? closed : e;
}

/* Collects the slots that differ of the accounts that are keys of wanted. */
static cd_err changed_slots(const cd_world_past *p, cd__key_list *out, const cd_hmap *wanted)
{
    cd__journal j;
    CD_TRY(cd__journal_open(&j, p->cfg.kv, p->from));
    while (cd__journal_next(&j, p->to)) {
        for (usize i = 0; i < j.acct_cnt; i++) {
            const cd__journal_acct *a = &j.accts[i];
            cd_hash32 hash;
            if (a->slot_cnt == 0 || cd_hmap_get(wanted, &a->addr) == NULL) {
                continue;
            }
            cd_keccak256(&hash, cd_bytes_of(a->addr.b, sizeof a->addr.b));
            for (u32 k = 0; k < a->slot_cnt; k++) {
                cd_hash32 slot = cd__journal_slot(a, k);
                cd__keys_add(out, &hash, &slot);
            }
        }
    }
    cd__keys_sort(out);
    return cd__journal_close(&j);
}

/* Sets the keys, which are all of one trie, to their values as of the version. */
static cd_err set_keys(const cd_world_past *p, cd_trie *t, const cd__flat_key *list, usize cnt)
{
    enum { CHUNK = 256 };
    cd_err e = CD_OK;
    cd_bytes keys[CHUNK];
    cd_buf value = {0};
    for (usize at = 0; at < cnt && e == CD_OK; at += CHUNK) {
        usize n = cd_min_u64(CHUNK, cnt - at);
        for (usize i = 0; i < n; i++) {
            const cd__flat_key *k = &list[at + i];
            keys[i] = cd_bytes_of(k->is_slot ? k->slot.b : k->account.b, 32);
        }
        e = cd_trie_load_many(t, keys, n);
        for (usize i = 0; i < n && e == CD_OK; i++) {
            const cd__flat_key *k = &list[at + i];
            u8 room[CD_FLAT_KEY_MAX];
            e = value_at(p, &value,
                         k->is_slot ? cd_flat_slot_key(room, &k->account, &k->slot)
                                    : cd_flat_account_key(room, &k->account));
            if (e == CD_OK) {
                e = cd_trie_put(t, keys[i], cd_buf_bytes(&value));
            }
        }
    }
    cd_buf_fini(&value);
    return e;
}

cd_err cd_world_past_open(cd_world_past **out, const cd_world_past_cfg *cfg, cd_errinfo *why)
{
    cd__world_marks m;
    bool has_stored;
    u64 stored;
    cd__key_list keys = {0};
    cd_world_past *p = cd_new(cd_world_past);
    p->cfg = *cfg;
    p->cfg.max_changed = cfg->max_changed == 0 ? MAX_CHANGED : cfg->max_changed;
    cd_err e = cd__marks_get(cfg->kv, &m);
    if (e == CD_OK && cfg->version < m.oldest) {
        e = cd_fail(why, CD_EMISSING, "the state of block %llu is not kept",
                    (unsigned long long)(cfg->version >> CD_WORLD_EDIT_BITS));
    }
    if (e == CD_OK) {
        e = cd__stored_get(cfg->kv, &has_stored, &stored, &p->stored_root);
    }
    if (e != CD_OK) {
        goto out;
    }
    u64 version = cd_min_u64(cfg->version, m.head);
    p->from = has_stored ? cd_min_u64(stored, version) + 1 : 0;
    p->to = cd_max_u64(stored, version);
    p->cfg.version = version == m.head ? CD_WORLD_NEWEST : version;
    e = cd_flat_account_trie(&p->accounts, cfg->kv, &p->stored_root, CD_TRIE_BY_PATH, cfg->pool, why);
    if (e == CD_OK) {
        e = changed_accounts(p, &keys);
    }
    if (e == CD_OK) {
        e = set_keys(p, p->accounts, keys.keys, keys.cnt);
    } else if (e == CD_ELIMIT) {
        e = cd_fail(why, CD_ELIMIT, "more than %zu accounts changed since", p->cfg.max_changed);
    }
out:
    cd_free(keys.keys);
    if (e != CD_OK) {
        cd_world_past_close(p);
        return e;
    }
    *out = p;
    return CD_OK;
}

void cd_world_past_close(cd_world_past *p)
{
    if (p != NULL) {
        cd_trie_close(p->accounts);
        cd_free(p->slots.keys);
        cd_free(p);
    }
}

cd_trie *cd__past_accounts(cd_world_past *p)
{
    return p->accounts;
}

/* The storage trie of an account as it is stored; accounts is the stored trie. */
static cd_err stored_storage(const cd_world_past *p, cd_trie **out, cd_trie *accounts, const cd_hash32 *hash,
                             cd_errinfo *why)
{
    cd_account account;
    bool found;
    CD_TRY(account_in(accounts, &account, &found, p->cfg.form, hash));
    return cd_flat_storage_trie(out, p->cfg.kv, hash, &account.storage_root, CD_TRIE_BY_PATH, p->cfg.pool, why);
}

/* Brings the stored storage trie of an account to the version; changed are all slots that differ, accounts
 * ascending. */
static cd_err bring_storage(const cd_world_past *p, cd_trie *t, const cd_hash32 *hash, const cd__key_list *changed,
                            cd_errinfo *why)
{
    usize from = 0;
    usize to = changed->cnt;
    cd_account account;
    cd_hash32 root;
    bool found;
    while (from < to) { /* the first key not below hash */
        usize mid = from + (to - from) / 2;
        if (memcmp(changed->keys[mid].account.b, hash->b, 32) < 0) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    while (to < changed->cnt && cd_hash32_eq(&changed->keys[to].account, hash)) {
        to++;
    }
    if (to != from) {
        CD_TRY(set_keys(p, t, changed->keys + from, to - from));
    }
    CD_TRY(account_in(p->accounts, &account, &found, p->cfg.form, hash));
    cd_trie_root(t, &root);
    return cd_hash32_eq(&root, &account.storage_root)
               ? CD_OK
               : cd_fail(why, CD_ECORRUPT, "the storage does not have the account's root");
}

cd_err cd__past_storage(cd_world_past *p, cd_hmap *wanted, cd_errinfo *why)
{
    cd_trie *accounts = NULL;
    cd__key_list slots = {0};
    const void *addr;
    void *val;
    cd_err e = cd_flat_account_trie(&accounts, p->cfg.kv, &p->stored_root, CD_TRIE_BY_PATH, NULL, why);
    if (e == CD_OK) {
        e = changed_slots(p, &slots, wanted);
    }
    for (usize it = 0; e == CD_OK && cd_hmap_next(wanted, &it, &addr, &val);) {
        cd_trie **t = val;
        cd_hash32 hash;
        cd_keccak256(&hash, cd_bytes_of(addr, sizeof(cd_addr20)));
        e = stored_storage(p, t, accounts, &hash, why);
        if (e == CD_OK) {
            e = bring_storage(p, *t, &hash, &slots, why);
        }
    }
    for (usize it = 0; e != CD_OK && cd_hmap_next(wanted, &it, NULL, &val);) {
        cd_trie_close(*(cd_trie **)val);
    }
    cd_trie_close(accounts);
    cd_free(slots.keys);
    return e;
}

cd_trie *cd_world_past_trie(cd_world_past *p)
{
    return p->accounts;
}

/* Collects every slot that differs. */
static cd_err all_changed_slots(const cd_world_past *p, cd__key_list *out)
{
    cd__journal j;
    cd_err e = CD_OK;
    CD_TRY(cd__journal_open(&j, p->cfg.kv, p->from));
    while (e == CD_OK && cd__journal_next(&j, p->to)) {
        cd__journal_hash(&j);
        for (usize i = 0; i < j.acct_cnt; i++) {
            for (u32 k = 0; k < j.accts[i].slot_cnt; k++) {
                cd_hash32 slot = cd__journal_slot(&j.accts[i], k);
                cd__keys_add(out, &j.accts[i].hash, &slot);
            }
        }
        e = out->cnt > p->cfg.max_changed ? CD_ELIMIT : CD_OK;
    }
    cd_err closed = cd__journal_close(&j);
    cd__keys_sort(out);
    return e == CD_OK ? closed : e;
}

cd_err cd_world_past_storage_trie(cd_world_past *p, cd_trie **out, const cd_hash32 *account, cd_errinfo *why)
{
    cd_trie *stored = NULL;
    cd_trie *t = NULL;
    cd_account a;
    bool found;
    CD_TRY(account_in(p->accounts, &a, &found, p->cfg.form, account));
    if (!found) {
        return CD_ENOENT;
    }
    if (!p->has_slots) {
        cd__key_list slots = {0};
        cd_err e = all_changed_slots(p, &slots);
        if (e != CD_OK) {
            cd_free(slots.keys);
            return e;
        }
        p->slots = slots;
        p->has_slots = true;
    }
    cd_err e = cd_flat_account_trie(&stored, p->cfg.kv, &p->stored_root, CD_TRIE_BY_PATH, NULL, why);
    if (e == CD_OK) {
        e = stored_storage(p, &t, stored, account, why);
    }
    if (e == CD_OK) {
        e = bring_storage(p, t, account, &p->slots, why);
    }
    cd_trie_close(stored);
    if (e != CD_OK) {
        cd_trie_close(t);
        return e;
    }
    *out = t;
    return CD_OK;
}

cd_err cd_world_past_prove(cd_world_past *p, cd_world_proof *out, cd_arena *a, const cd_addr20 *addr,
                           const cd_hash32 *keys, usize cnt, cd_errinfo *why)
{
    cd_hash32 hash;
    cd_hmap wanted; /* the account alone */
    cd_world_proof proof = {.slots = cd_arena_array(a, cd_world_slot_proof, cnt)};
    cd_keccak256(&hash, cd_bytes_of(addr->b, 20));
    CD_TRY(prove_account(&proof, a, p->accounts, p->cfg.form, &hash));
    if (cnt == 0 || !has_storage(&proof)) {
        *out = proof;
        return CD_OK;
    }
    cd_hmap_init(&wanted, CD_HASH_KEYED, sizeof *addr, sizeof(cd_trie *));
    (void)cd_hmap_put(&wanted, NULL, addr);
    cd_err e = cd__past_storage(p, &wanted, why);
    if (e == CD_OK) {
        cd_trie *storage = *(cd_trie **)cd_hmap_get(&wanted, addr);
        e = prove_slots(proof.slots, a, storage, keys, cnt);
        cd_trie_close(storage);
    }
    if (e == CD_OK) {
        *out = proof;
    }
    cd_hmap_fini(&wanted);
    return e;
}
