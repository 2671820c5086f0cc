/* Checks a stored state against itself: flat tables, tries, head. */
#include "base/mem/mem.h"
#include "store/flat.h"
#include "store/flat_priv.h"

bool cd__flat_storage_root(cd_hash32 *out, cd_bytes account)
{
    const u8 *p = account.p;
    const u8 *end = p + account.n;
    /* The list's header has two bytes: accounts are longer than 55 bytes and shorter than 256. */
    if (account.n < 2 || p[0] != 0xf8 || p[1] != account.n - 2) {
        return false;
    }
    p += 2;
    for (int i = 0; i < 2; i++) {
        if (p == end || p[0] > 0xa0) {
            return false;
        }
        usize n = p[0] < 0x80 ? 1u : 1u + (usize)(p[0] - 0x80);
        if ((usize)(end - p) < n) {
            return false;
        }
        p += n;
    }
    if (end - p < 33 || p[0] != 0xa0) {
        return false;
    }
    memcpy(out->b, p + 1, 32);
    return true;
}

/* A walk over the slot table, beside the walk over the accounts. */
typedef struct slots {
    cd_kv_iter *it;
    bool live;
    cd_trie_build *build;
} slots;

static cd_err spoilt(cd_errinfo *why, cd_bytes account, const char *what)
{
    return cd_fail(why, CD_ECORRUPT, "account %02x%02x%02x%02x...: %s", account.p[0], account.p[1], account.p[2],
                   account.p[3], what);
}

/* The root over the account's slots, which must be the next ones in the table. */
static cd_err slots_root(slots *s, cd_hash32 *out, cd_bytes account)
{
    cd_trie_build_reset(s->build);
    while (s->live) {
        cd_bytes key = cd_kv_iter_key(s->it);
        if (key.n != 65 || memcmp(key.p + 1, account.p, 32) != 0) {
            break;
        }
        if (cd_trie_build_add(s->build, cd_bytes_of(key.p + 33, 32), cd_kv_iter_value(s->it)) != CD_OK) {
            return CD_ECORRUPT;
        }
        s->live = cd_kv_iter_next(s->it);
    }
    CD_TRY(cd_kv_iter_err(s->it));
    cd_trie_build_root(s->build, out);
    return CD_OK;
}

cd_err cd_flat_root(cd_kv *kv, cd_hash32 *out, cd_errinfo *why)
{
    cd_kv_iter *accounts = NULL;
    slots s = {.build = cd_trie_build_new(NULL, NULL)};
    cd_trie_build *build = cd_trie_build_new(NULL, NULL);
    static const u8 slot_table[] = {CD__FLAT_SLOT};
    cd_err err = cd_flat_accounts(&accounts, kv, NULL);
    if (err == CD_OK) {
        err = cd_kv_iter_new(&s.it, kv, &(cd_kv_range){.prefix = cd_bytes_of(slot_table, 1)});
    }
    if (err != CD_OK) {
        goto out;
    }
    s.live = cd_kv_iter_next(s.it);
    while (cd_kv_iter_next(accounts)) {
        cd_bytes key = cd_kv_iter_key(accounts);
        cd_bytes value = cd_kv_iter_value(accounts);
        cd_hash32 want;
        cd_hash32 got;
        if (key.n != 33) {
            err = cd_fail(why, CD_ECORRUPT, "account key of %zu bytes", key.n);
            goto out;
        }
        cd_bytes account = cd_bytes_of(key.p + 1, 32);
        err = slots_root(&s, &got, account);
        if (err != CD_OK) {
            err = cd_fail(why, err, "slot table: %s", cd_err_str(err));
        } else if (!cd__flat_storage_root(&want, value)) {
            err = spoilt(why, account, "malformed value");
        } else if (!cd_hash32_eq(&want, &got)) {
            err = spoilt(why, account, "storage root is not that of its slots");
        }
        if (err == CD_OK) {
            err = cd_trie_build_add(build, account, value);
        }
        if (err != CD_OK) {
            goto out;
        }
    }
    err = cd_kv_iter_err(accounts);
    if (err == CD_OK && s.live) {
        err = cd_fail(why, CD_ECORRUPT, "slots without an account");
    }
    if (err == CD_OK) {
        cd_trie_build_root(build, out);
    }
out:
    cd_kv_iter_free(accounts);
    cd_kv_iter_free(s.it);
    cd_trie_build_free(s.build);
    cd_trie_build_free(build);
    return err;
}

/* Walks the whole trie beside the flat table: both must have the same items, and every node be present with its
 * hash. */
static cd_err compare(cd_trie *t, cd_kv_iter *it, usize key_n, cd_errinfo *why)
{
    cd_trie_iter *ti = cd_trie_iter_new(t, (cd_bytes){0}, false);
    cd_err err = CD_OK;
    while (err == CD_OK) {
        cd_trie_item item;
        cd_err step = cd_trie_iter_next(ti, &item);
        if (step != CD_OK && step != CD_ENOENT) {
            err = cd_fail(why, step, "%s", cd_err_str(step));
            break;
        }
        if (cd_kv_iter_next(it) != (step == CD_OK)) {
            err = cd_kv_iter_err(it);
            if (err == CD_OK) {
                err = cd_fail(why, CD_ECORRUPT, "trie and flat table hold different keys");
            }
            break;
        }
        if (step == CD_ENOENT) {
            break;
        }
        cd_bytes key = cd_kv_iter_key(it);
        if (!cd_bytes_eq(item.key, cd_bytes_sub(key, key.n - key_n, key_n)) ||
            !cd_bytes_eq(item.value, cd_kv_iter_value(it))) {
            err = spoilt(why, item.key, "trie and flat table differ");
        }
    }
    cd_trie_iter_free(ti);
    return err;
}

static cd_err check_storage(cd_kv *kv, cd_trie_scheme scheme, const cd_hash32 *account, const cd_hash32 *root,
                            cd_errinfo *why)
{
    cd_trie *t = NULL;
    cd_kv_iter *it = NULL;
    cd_err err = cd_flat_storage_trie(&t, kv, account, root, scheme, NULL, why);
    if (err == CD_OK) {
        err = cd_flat_slots(&it, kv, account, NULL);
    }
    if (err == CD_OK) {
        err = compare(t, it, 32, why);
    }
    cd_kv_iter_free(it);
    cd_trie_close(t);
    return err;
}

static cd_err check_tries(cd_kv *kv, cd_trie_scheme scheme, const cd_hash32 *root, cd_errinfo *why)
{
    cd_trie *t = NULL;
    cd_kv_iter *it = NULL;
    cd_err err = cd_flat_account_trie(&t, kv, root, scheme, NULL, why);
    if (err == CD_OK) {
        err = cd_flat_accounts(&it, kv, NULL);
    }
    if (err == CD_OK) {
        err = compare(t, it, 32, why);
    }
    cd_kv_iter_free(it);
    it = NULL;
    if (err == CD_OK) {
        err = cd_flat_accounts(&it, kv, NULL);
    }
    while (err == CD_OK && cd_kv_iter_next(it)) {
        cd_hash32 account;
        cd_hash32 storage;
        memcpy(account.b, cd_kv_iter_key(it).p + 1, 32);
        err = cd__flat_storage_root(&storage, cd_kv_iter_value(it))
                  ? check_storage(kv, scheme, &account, &storage, why)
                  : spoilt(why, cd_bytes_of(account.b, 32), "malformed value");
    }
    if (err == CD_OK) {
        err = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    cd_trie_close(t);
    return err;
}

cd_err cd_flat_check(cd_kv *kv, cd_trie_scheme scheme, cd_errinfo *why)
{
    cd_flat_head head = {.root = CD_TRIE_EMPTY_ROOT};
    cd_err err = cd_flat_head_get(kv, &head);
    if (err != CD_OK && err != CD_ENOENT) {
        return cd_fail(why, err, "head record: %s", cd_err_str(err));
    }
    cd_hash32 root;
    CD_TRY(cd_flat_root(kv, &root, why));
    if (!cd_hash32_eq(&root, &head.root)) {
        return cd_fail(why, CD_ECORRUPT, "the flat tables do not have the head's state root");
    }
    return check_tries(kv, scheme, &head.root, why);
}
