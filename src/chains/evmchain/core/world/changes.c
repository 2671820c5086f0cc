/* Collecting what a block changed: every account and slot with its value before and after, sorted by hash. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

#include <stdlib.h>

typedef struct collector {
    cd_world *w;
    cd_world_view *parent;
    cd_kv_batch *batch;
    cd__world_acct *accts;
    usize acct_cnt;
    usize acct_cap;
    cd__world_slot *slots;
    usize slot_cnt;
    usize slot_cap;
} collector;

static cd__world_slot *add_slot(collector *c)
{
    if (c->slot_cnt == c->slot_cap) {
        c->slot_cap = c->slot_cap == 0 ? 256 : c->slot_cap * 2;
        c->slots = cd_realloc(c->slots, c->slot_cap * sizeof *c->slots);
    }
    return &c->slots[c->slot_cnt++];
}

static cd_err collect_wiped(collector *c, const cd_hash32 *account)
{
    cd_kv_iter *it = NULL;
    cd_err e = CD_OK;
    CD_TRY(cd_flat_slots(&it, cd__world_kv(c->w, c->parent), account, NULL));
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd__world_slot *s = add_slot(c);
        *s = (cd__world_slot){.has_key = false};
        memcpy(s->hash.b, key.p + key.n - 32, 32);
        e = cd__slot_dec(&s->before, cd_kv_iter_value(it));
    }
    if (e == CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}

static cd_err collect_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    collector *c = ctx;
    if (c->acct_cnt == c->acct_cap) {
        c->acct_cap = c->acct_cap == 0 ? 256 : c->acct_cap * 2;
        c->accts = cd_realloc(c->accts, c->acct_cap * sizeof *c->accts);
    }
    cd__world_acct *x = &c->accts[c->acct_cnt++];
    *x = (cd__world_acct){
        .addr = a->addr,
        .exists = exists,
        .existed = (a->flags & CD_ACCT_IN_SOURCE) != 0,
        .slot = c->slot_cnt,
        .account =
            {
                .balance = a->balance,
                .nonce = a->nonce,
                .code_hash = a->code_hash,
                .storage_root = wiped ? CD_TRIE_EMPTY_ROOT : a->storage_root,
            },
        .before =
            {
                .balance = a->committed_balance,
                .nonce = a->committed_nonce,
                .code_hash = a->committed_code_hash,
                .storage_root = a->storage_root,
            },
    };
    const cd__world_cache_acct *cached = cd__world_cache_acct_at(&c->w->cache, &a->addr);
    if (cd__cache_has_acct(&c->w->cache, cached, &a->addr)) {
        x->hash = cached->hash;
    } else {
        cd_keccak256(&x->hash, cd_bytes_of(a->addr.b, 20));
    }
    if ((a->flags & CD_ACCT_CODE_DIRTY) != 0 && exists && a->code.n != 0) {
        cd__code_put(c->batch, &a->code_hash, a->code);
    }
    return wiped ? collect_wiped(c, &x->hash) : CD_OK;
}

static cd_err collect_slot(void *ctx, const cd_acct *a, const cd_slot *slot)
{
    collector *c = ctx;
    cd__world_slot *s = add_slot(c);
    *s = (cd__world_slot){
        .key = slot->key,
        .value = slot->value,
        .before = slot->committed,
        .has_key = true,
    };
    const cd__world_cache_slot *cached = cd__world_cache_slot_at(&c->w->cache, &a->addr, &slot->key);
    if (cd__cache_has_slot(&c->w->cache, cached, &a->addr, &slot->key)) {
        s->hash = cached->hash;
    } else {
        cd_hash32 word;
        cd_u256_store_be(word.b, &slot->key);
        cd_keccak256_32(&s->hash, word.b);
    }
    return CD_OK;
}

static int compare_accts(const void *x, const void *y)
{
    return memcmp(((const cd__world_acct *)x)->hash.b, ((const cd__world_acct *)y)->hash.b, 32);
}

/* A slot that was wiped and written again comes after the wiped entry of its hash. */
static int compare_slots(const void *x, const void *y)
{
    const cd__world_slot *a = x;
    const cd__world_slot *b = y;
    int c = memcmp(a->hash.b, b->hash.b, 32);
    return c != 0 ? c : (int)a->has_key - (int)b->has_key;
}

/* Lets the last of equal slots stand, with what the first held before; gives how many are left. */
static usize merge_equal(cd__world_slot *s, usize cnt)
{
    usize n = 0;
    for (usize i = 0; i < cnt; i++) {
        bool is_last = i + 1 == cnt || !cd_hash32_eq(&s[i].hash, &s[i + 1].hash);
        if (is_last) {
            s[n++] = s[i];
        } else {
            s[i + 1].before = s[i].before;
        }
    }
    return n;
}

/* Sorts slots and accounts by hash. */
static void sort_changes(collector *c)
{
    for (usize i = 0; i < c->acct_cnt; i++) {
        cd__world_acct *a = &c->accts[i];
        a->slot_cnt = (i + 1 < c->acct_cnt ? c->accts[i + 1].slot : c->slot_cnt) - a->slot;
    }
    for (usize i = 0; i < c->acct_cnt; i++) {
        cd__world_acct *a = &c->accts[i];
        if (a->slot_cnt < 2) {
            continue;
        }
        cd__world_slot *s = c->slots + a->slot;
        qsort(s, a->slot_cnt, sizeof *s, compare_slots);
        a->slot_cnt = merge_equal(s, a->slot_cnt);
    }
    if (c->acct_cnt > 1) {
        qsort(c->accts, c->acct_cnt, sizeof *c->accts, compare_accts);
    }
}

cd_err cd__changes_collect(cd_world *w, cd__world_changes *out, cd_arena *a, cd_kv_batch *batch, cd_world_view *parent,
                           cd_state *st)
{
    collector c = {.w = w, .parent = parent, .batch = batch};
    cd_state_visitor visitor = {.ctx = &c, .acct = collect_acct, .slot = collect_slot};
    cd_err e = cd_state_changes(st, &visitor);
    if (e == CD_OK) {
        sort_changes(&c);
        *out = (cd__world_changes){.acct_cnt = c.acct_cnt, .slot_cnt = c.slot_cnt};
        if (c.acct_cnt != 0) {
            usize n = c.acct_cnt * sizeof *c.accts;
            out->accts = memcpy(cd_arena_alloc(a, n), c.accts, n);
        }
        if (c.slot_cnt != 0) {
            usize n = c.slot_cnt * sizeof *c.slots;
            out->slots = memcpy(cd_arena_alloc(a, n), c.slots, n);
        }
    }
    cd_free(c.accts);
    cd_free(c.slots);
    return e;
}

void cd__changes_put_flat(cd_kv_batch *batch, const cd__world_changes *ch, cd_account_form form)
{
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        u8 enc[CD_ACCOUNT_RLP_MAX];
        usize n = a->exists ? cd_account_enc(enc, &a->account, form) : 0;
        cd_flat_account_put(batch, &a->hash, cd_bytes_of(enc, n));
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            u8 value[33];
            n = cd__slot_enc(value, &ch->slots[j].value);
            cd_flat_slot_put(batch, &a->hash, &ch->slots[j].hash, cd_bytes_of(value, n));
        }
    }
}
