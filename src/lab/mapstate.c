#include "lab/mapstate.h"

#include "codec/rlp.h"
#include "crypto/hash/keccak.h"
#include "types/account_rlp.h"

#include <stdlib.h>

/* --- reading --- */

const cd_map_account *cd_mapstate_find(const cd_mapstate *m, const cd_addr20 *addr)
{
    usize lo = 0;
    usize hi = m->account_cnt;
    while (lo < hi) {
        usize mid = (lo + hi) / 2;
        int c = memcmp(m->accounts[mid].addr.b, addr->b, 20);
        if (c == 0) {
            return &m->accounts[mid];
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

static cd_err source_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    const cd_map_account *acc = cd_mapstate_find((const cd_mapstate *)src, addr);
    *found = acc != NULL;
    if (acc != NULL) {
        *out = acc->acc;
    }
    return CD_OK;
}

static cd_err source_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    const cd_map_account *acc = cd_mapstate_find((const cd_mapstate *)src, addr);
    usize lo = 0;
    usize hi = acc == NULL ? 0 : acc->slot_cnt;
    cd_u256_set_u64(out, 0);
    while (lo < hi) {
        usize mid = (lo + hi) / 2;
        int c = cd_u256_cmp(&acc->slots[mid].key, slot);
        if (c == 0) {
            cd_u256_set(out, &acc->slots[mid].value);
            break;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return CD_OK;
}

static cd_err source_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    const cd_mapstate *m = (const cd_mapstate *)src;
    for (usize i = 0; i < m->account_cnt; i++) {
        if (cd_hash32_eq(&m->accounts[i].acc.code_hash, code_hash)) {
            *out = m->accounts[i].code;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

static cd_err source_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    const cd_mapstate *m = (const cd_mapstate *)src;
    if (m->block_hash == NULL) {
        *out = (cd_hash32){0};
        return CD_OK;
    }
    return m->block_hash(m->block_hash_ctx, out, number);
}

/* --- roots --- */

/* A trie key and the index of the entry that it belongs to. */
typedef struct hashed {
    cd_hash32 key;
    usize idx;
} hashed;

static int hashed_cmp(const void *a, const void *b)
{
    return memcmp(a, b, 32);
}

static void storage_root(cd_map_account *acc, cd_arena *a, cd_trie_build *b)
{
    if (acc->slot_cnt == 0) {
        acc->acc.storage_root = CD_HASH_EMPTY_TRIE;
        return;
    }
    cd_arena_mark mark = cd_arena_mark_get(a);
    hashed *order = cd_arena_array(a, hashed, acc->slot_cnt);
    for (usize i = 0; i < acc->slot_cnt; i++) {
        cd_hash32 key = cd_u256_to_hash(&acc->slots[i].key);
        cd_keccak256_32(&order[i].key, key.b);
        order[i].idx = i;
    }
    qsort(order, acc->slot_cnt, sizeof *order, hashed_cmp);
    cd_buf value = {0};
    cd_trie_build_reset(b);
    for (usize i = 0; i < acc->slot_cnt; i++) {
        cd_buf_clear(&value);
        cd_rlp_put_u256(&value, &acc->slots[order[i].idx].value);
        cd_err e = cd_trie_build_add(b, cd_bytes_of(order[i].key.b, 32), cd_buf_bytes(&value));
        CD_ASSERT(e == CD_OK);
    }
    cd_trie_build_root(b, &acc->acc.storage_root);
    cd_buf_fini(&value);
    cd_arena_rewind(a, mark);
}

static void state_root(cd_mapstate *m, cd_arena *a, cd_trie_build *b)
{
    cd_arena_mark mark = cd_arena_mark_get(a);
    hashed *order = cd_arena_array(a, hashed, m->account_cnt);
    for (usize i = 0; i < m->account_cnt; i++) {
        order[i] = (hashed){.key = m->accounts[i].addr_hash, .idx = i};
    }
    if (m->account_cnt != 0) {
        qsort(order, m->account_cnt, sizeof *order, hashed_cmp);
    }
    cd_trie_build_reset(b);
    for (usize i = 0; i < m->account_cnt; i++) {
        u8 value[CD_ACCOUNT_RLP_MAX];
        usize n = cd_account_enc(value, &m->accounts[order[i].idx].acc, CD_ACCOUNT_4);
        cd_err e = cd_trie_build_add(b, cd_bytes_of(order[i].key.b, 32), cd_bytes_of(value, n));
        CD_ASSERT(e == CD_OK);
    }
    cd_trie_build_root(b, &m->root);
    cd_arena_rewind(a, mark);
}

static cd_mapstate *make(cd_arena *a, cd_trie_build *b, cd_map_account *accounts, usize cnt)
{
    cd_mapstate *m = cd_arena_new(a, cd_mapstate);
    m->src = (cd_state_source){
        .account = source_account,
        .storage = source_storage,
        .code = source_code,
        .block_hash = source_block_hash,
    };
    m->accounts = accounts;
    m->account_cnt = cnt;
    state_root(m, a, b);
    return m;
}

/* --- from a genesis --- */

static int slot_cmp(const void *a, const void *b)
{
    return cd_u256_cmp(&((const cd_map_slot *)a)->key, &((const cd_map_slot *)b)->key);
}

static void set_slots(cd_map_account *acc, cd_arena *a, const cd_genesis_account *from)
{
    cd_map_slot *slots = cd_arena_array(a, cd_map_slot, from->slot_cnt);
    usize cnt = 0;
    for (usize i = 0; i < from->slot_cnt; i++) {
        slots[cnt].key = cd_u256_from_hash(&from->slots[i].key);
        slots[cnt].value = cd_u256_from_hash(&from->slots[i].value);
        cnt += !cd_u256_is_zero(&slots[cnt].value);
    }
    if (cnt != 0) {
        qsort(slots, cnt, sizeof *slots, slot_cmp);
    }
    /* A document may spell one key in two ways: keep one, so that the trie's keys ascend. */
    usize kept = 0;
    for (usize i = 0; i < cnt; i++) {
        if (kept == 0 || !cd_u256_eq(&slots[kept - 1].key, &slots[i].key)) {
            slots[kept++] = slots[i];
        }
    }
    acc->slots = slots;
    acc->slot_cnt = kept;
}

cd_mapstate *cd_mapstate_new(cd_arena *a, cd_trie_build *b, const cd_genesis_account *accounts, usize cnt)
{
    cd_map_account *out = cd_arena_array(a, cd_map_account, cnt);
    for (usize i = 0; i < cnt; i++) {
        out[i].addr = accounts[i].addr;
        cd_keccak256(&out[i].addr_hash, cd_bytes_of(out[i].addr.b, 20));
        out[i].acc.balance = accounts[i].balance;
        out[i].acc.nonce = accounts[i].nonce;
        out[i].code = accounts[i].code;
        cd_keccak256(&out[i].acc.code_hash, out[i].code);
        set_slots(&out[i], a, &accounts[i]);
        storage_root(&out[i], a, b);
    }
    return make(a, b, out, cnt);
}

/* --- from a change set --- */

typedef struct change {
    const cd_acct *acct;
    bool exists;
    bool wiped;
    usize slot_at; /* index of its first slot in changes.slots */
    usize slot_cnt;
} change;

/* The change set as two growing arrays, ascending, as cd_state_changes visits it. */
typedef struct changes {
    cd_buf accts; /* array of change */
    cd_buf slots; /* array of cd_map_slot; a zero value means deletion */
} changes;

static cd_err visit_acct(void *ctx, const cd_acct *acct, bool exists, bool wiped)
{
    changes *c = ctx;
    change one = {
        .acct = acct,
        .exists = exists,
        .wiped = wiped,
        .slot_at = c->slots.n / sizeof(cd_map_slot),
    };
    cd_buf_put(&c->accts, cd_bytes_of(&one, sizeof one));
    return CD_OK;
}

static cd_err visit_slot(void *ctx, const cd_acct *acct, const cd_slot *s)
{
    changes *c = ctx;
    (void)acct;
    cd_map_slot one = {.key = s->key, .value = s->value};
    cd_buf_put(&c->slots, cd_bytes_of(&one, sizeof one));
    ((change *)(void *)(c->accts.p + c->accts.n))[-1].slot_cnt++;
    return CD_OK;
}

/* Merges old and changed slots, both ascending, into acc. */
static void merge_slots(cd_map_account *acc, cd_arena *a, const cd_map_slot *old, usize old_cnt, const cd_map_slot *new,
                        usize new_cnt)
{
    cd_map_slot *out = cd_arena_array(a, cd_map_slot, old_cnt + new_cnt);
    usize cnt = 0;
    usize i = 0;
    usize k = 0;
    while (i < old_cnt || k < new_cnt) {
        int c = i == old_cnt ? 1 : k == new_cnt ? -1 : cd_u256_cmp(&old[i].key, &new[k].key);
        if (c < 0) {
            out[cnt++] = old[i++];
            continue;
        }
        i += c == 0;
        if (!cd_u256_is_zero(&new[k].value)) {
            out[cnt++] = new[k];
        }
        k++;
    }
    acc->slots = out;
    acc->slot_cnt = cnt;
}

/* Writes the account after a change; old is NULL for a new one. */
static void apply(cd_map_account *out, cd_arena *a, cd_trie_build *b, const cd_map_account *old, const change *c,
                  const cd_map_slot *slots)
{
    *out = old != NULL ? *old : (cd_map_account){.addr = c->acct->addr};
    if (old == NULL) {
        cd_keccak256(&out->addr_hash, cd_bytes_of(out->addr.b, 20));
        out->acc.storage_root = CD_HASH_EMPTY_TRIE;
    }
    out->acc.balance = c->acct->balance;
    out->acc.nonce = c->acct->nonce;
    if (old == NULL || !cd_hash32_eq(&out->acc.code_hash, &c->acct->code_hash)) {
        out->acc.code_hash = c->acct->code_hash;
        out->code =
            cd_hash32_eq(&c->acct->code_hash, &CD_HASH_EMPTY_CODE) ? (cd_bytes){0} : cd_arena_dup(a, c->acct->code);
    }
    if (c->wiped) {
        out->slot_cnt = 0;
    }
    if (c->wiped || c->slot_cnt != 0) {
        merge_slots(out, a, out->slots, out->slot_cnt, slots + c->slot_at, c->slot_cnt);
        storage_root(out, a, b);
    }
}

cd_err cd_mapstate_next(cd_mapstate **out, cd_arena *a, cd_trie_build *b, const cd_mapstate *base, cd_state *st)
{
    changes c = {0};
    cd_state_visitor v = {.ctx = &c, .acct = visit_acct, .slot = visit_slot};
    cd_err e = cd_state_error(st);
    if (e == CD_OK) {
        e = cd_state_changes(st, &v);
    }
    if (e != CD_OK) {
        goto out;
    }
    const change *changed = (const change *)(const void *)c.accts.p;
    const cd_map_slot *slots = (const cd_map_slot *)(const void *)c.slots.p;
    usize changed_cnt = c.accts.n / sizeof *changed;
    cd_map_account *accounts = cd_arena_array(a, cd_map_account, base->account_cnt + changed_cnt);
    usize cnt = 0;
    usize i = 0;
    usize k = 0;
    while (i < base->account_cnt || k < changed_cnt) {
        const cd_map_account *old = &base->accounts[i];
        int order = i == base->account_cnt ? 1
                    : k == changed_cnt     ? -1
                                           : memcmp(old->addr.b, changed[k].acct->addr.b, 20);
        if (order < 0) {
            accounts[cnt++] = *old;
            i++;
            continue;
        }
        i += order == 0;
        if (changed[k].exists) {
            apply(&accounts[cnt++], a, b, order == 0 ? old : NULL, &changed[k], slots);
        }
        k++;
    }
    *out = make(a, b, accounts, cnt);
out:
    cd_buf_fini(&c.accts);
    cd_buf_fini(&c.slots);
    return e;
}

cd_err cd_mapstate_root(cd_hash32 *out, cd_trie_build *b, const cd_mapstate *base, cd_state *st)
{
    cd_arena scratch = {0};
    cd_mapstate *now;
    cd_err e = cd_mapstate_next(&now, &scratch, b, base, st);
    if (e == CD_OK) {
        *out = now->root;
    }
    cd_arena_fini(&scratch);
    return e;
}
