#include "chains/evmchain/core/world/scratch.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

/* An account that was changed; it stays where it is. */
typedef struct entry {
    cd_hash32 hash; /* of its address */
    cd_addr20 addr;
    bool exists;
    bool is_wiped; /* its storage has nothing to do with the base's any more */
    u32 life;      /* counts the wipes: slots of an earlier life are no longer found */
    cd_account account;
    cd_trie *storage; /* NULL: was not changed */
} entry;

/* Zeroed first, being hashed with its padding. */
typedef struct slot_key {
    cd_addr20 addr;
    u32 life;
    cd_u256 slot;
} slot_key;

/* A slot changed by the application that is going on. */
typedef struct changed_slot {
    entry *of;
    cd_hash32 hash;
    cd_u256 value;
} changed_slot;

struct cd_world_scratch {
    cd_state_source src; /* first: the EVM is given its address */
    cd_state_source *base;
    cd_world_past_cfg cfg;
    cd_world_past *past; /* NULL until a root is wanted */
    cd_arena arena;      /* entries and code */
    cd_hmap accts;       /* address -> entry * */
    cd_hmap slots;       /* slot_key -> value */
    cd_hmap code;        /* code hash -> cd_bytes */
    cd_hmap names;       /* block number -> hash */

    entry **changed;
    usize changed_cnt;
    usize changed_cap;
    changed_slot *slot_list;
    usize slot_cnt;
    usize slot_cap;
};

/* --- reading --- */

static entry *find(const cd_world_scratch *s, const cd_addr20 *addr)
{
    entry **at = cd_hmap_get(&s->accts, addr);
    return at == NULL ? NULL : *at;
}

static slot_key key_of(const cd_addr20 *addr, u32 life, const cd_u256 *slot)
{
    slot_key k;
    memset(&k, 0, sizeof k);
    k.addr = *addr;
    k.life = life;
    k.slot = *slot;
    return k;
}

static cd_err read_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    cd_world_scratch *s = (cd_world_scratch *)src;
    const entry *x = find(s, addr);
    if (x == NULL) {
        return s->base->account(s->base, out, found, addr);
    }
    *found = x->exists;
    if (x->exists) {
        *out = x->account;
    }
    return CD_OK;
}

static cd_err read_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    cd_world_scratch *s = (cd_world_scratch *)src;
    const entry *x = find(s, addr);
    if (x != NULL) {
        slot_key k = key_of(addr, x->life, slot);
        const cd_u256 *value = cd_hmap_get(&s->slots, &k);
        if (value != NULL || x->is_wiped) {
            *out = value != NULL ? *value : cd_u256_zero();
            return CD_OK;
        }
    }
    return s->base->storage(s->base, out, addr, slot);
}

static cd_err read_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    cd_world_scratch *s = (cd_world_scratch *)src;
    const cd_bytes *code = cd_hmap_get(&s->code, code_hash);
    if (code == NULL) {
        return s->base->code(s->base, out, code_hash);
    }
    *out = *code;
    return CD_OK;
}

static cd_err read_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    cd_world_scratch *s = (cd_world_scratch *)src;
    const cd_hash32 *name = cd_hmap_get(&s->names, &number);
    if (name == NULL) {
        return s->base->block_hash(s->base, out, number);
    }
    *out = *name;
    return CD_OK;
}

/* --- life-cycle --- */

cd_world_scratch *cd_world_scratch_new(const cd_world_past_cfg *cfg, cd_state_source *base)
{
    cd_world_scratch *s = cd_new(cd_world_scratch);
    s->src = (cd_state_source){
        .account = read_account,
        .storage = read_storage,
        .code = read_code,
        .block_hash = read_block_hash,
    };
    s->base = base;
    s->cfg = *cfg;
    cd_hmap_init(&s->accts, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(entry *));
    cd_hmap_init(&s->slots, CD_HASH_KEYED, sizeof(slot_key), sizeof(cd_u256));
    cd_hmap_init(&s->code, CD_HASH_IDENTITY, sizeof(cd_hash32), sizeof(cd_bytes));
    cd_hmap_init(&s->names, CD_HASH_KEYED, sizeof(u64), sizeof(cd_hash32));
    return s;
}

void cd_world_scratch_free(cd_world_scratch *s)
{
    void *val;
    if (s == NULL) {
        return;
    }
    for (usize it = 0; cd_hmap_next(&s->accts, &it, NULL, &val);) {
        cd_trie_close((*(entry **)val)->storage);
    }
    cd_hmap_fini(&s->accts);
    cd_hmap_fini(&s->slots);
    cd_hmap_fini(&s->code);
    cd_hmap_fini(&s->names);
    cd_world_past_close(s->past);
    cd_free(s->changed);
    cd_free(s->slot_list);
    cd_arena_fini(&s->arena);
    cd_free(s);
}

cd_state_source *cd_world_scratch_source(cd_world_scratch *s)
{
    return &s->src;
}

void cd_world_scratch_name(cd_world_scratch *s, u64 number, const cd_hash32 *hash)
{
    *(cd_hash32 *)cd_hmap_put(&s->names, NULL, &number) = *hash;
}

/* --- taking over changes --- */

static entry *entry_of(cd_world_scratch *s, const cd_addr20 *addr)
{
    bool is_new;
    entry **at = cd_hmap_put(&s->accts, &is_new, addr);
    if (is_new) {
        *at = cd_arena_new(&s->arena, entry);
        (*at)->addr = *addr;
        cd_keccak256(&(*at)->hash, cd_bytes_of(addr->b, sizeof addr->b));
    }
    return *at;
}

static cd_err take_account(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    cd_world_scratch *s = ctx;
    entry *x = entry_of(s, &a->addr);
    x->exists = exists;
    x->account = (cd_account){
        .balance = a->balance,
        .nonce = a->nonce,
        .code_hash = a->code_hash,
        .storage_root = wiped ? CD_HASH_EMPTY_TRIE : a->storage_root,
    };
    if (wiped) {
        x->is_wiped = true;
        x->life++;
        cd_trie_close(x->storage);
        x->storage = NULL;
    }
    if ((a->flags & CD_ACCT_CODE_DIRTY) != 0 && exists && a->code.n != 0) {
        bool is_new;
        cd_bytes *code = cd_hmap_put(&s->code, &is_new, &a->code_hash);
        if (is_new) {
            *code = cd_arena_dup(&s->arena, a->code);
        }
    }
    if (s->changed_cnt == s->changed_cap) {
        s->changed_cap = s->changed_cap == 0 ? 64 : 2 * s->changed_cap;
        s->changed = cd_realloc(s->changed, s->changed_cap * sizeof(entry *));
    }
    s->changed[s->changed_cnt++] = x;
    return CD_OK;
}

static cd_err take_slot(void *ctx, const cd_acct *a, const cd_slot *slot)
{
    cd_world_scratch *s = ctx;
    entry *x = s->changed[s->changed_cnt - 1];
    slot_key k = key_of(&a->addr, x->life, &slot->key);
    cd_hash32 word;
    *(cd_u256 *)cd_hmap_put(&s->slots, NULL, &k) = slot->value;
    if (s->slot_cnt == s->slot_cap) {
        s->slot_cap = s->slot_cap == 0 ? 64 : 2 * s->slot_cap;
        s->slot_list = cd_realloc(s->slot_list, s->slot_cap * sizeof *s->slot_list);
    }
    changed_slot *c = &s->slot_list[s->slot_cnt++];
    *c = (changed_slot){.of = x, .value = slot->value};
    cd_u256_store_be(word.b, &slot->key);
    cd_keccak256_32(&c->hash, word.b);
    return CD_OK;
}

/* Opens the storage tries of the accounts whose slots changed. */
static cd_err open_storage(cd_world_scratch *s, cd_errinfo *why)
{
    cd_hmap wanted; /* address -> cd_trie * */
    const void *addr;
    void *trie;
    cd_hmap_init(&wanted, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(cd_trie *));
    for (usize i = 0; i < s->slot_cnt; i++) {
        entry *x = s->slot_list[i].of;
        if (x->storage == NULL && x->is_wiped) {
            x->storage = cd_trie_new_mem();
        } else if (x->storage == NULL) {
            (void)cd_hmap_put(&wanted, NULL, &x->addr);
        }
    }
    cd_err e = cd_hmap_cnt(&wanted) == 0 ? CD_OK : cd__past_storage(s->past, &wanted, why);
    for (usize it = 0; e == CD_OK && cd_hmap_next(&wanted, &it, &addr, &trie);) {
        find(s, addr)->storage = *(cd_trie **)trie;
    }
    cd_hmap_fini(&wanted);
    return e;
}

/* Brings the tries up to date. */
static cd_err update_tries(cd_world_scratch *s)
{
    cd_trie *accounts = cd__past_accounts(s->past);
    cd_err e = CD_OK;
    for (usize i = 0; e == CD_OK && i < s->slot_cnt; i++) {
        const changed_slot *c = &s->slot_list[i];
        u8 value[33];
        usize n = cd__slot_enc(value, &c->value);
        e = cd_trie_put(c->of->storage, cd_bytes_of(c->hash.b, 32), cd_bytes_of(value, n));
    }
    for (usize i = 0; e == CD_OK && i < s->changed_cnt; i++) {
        entry *x = s->changed[i];
        u8 value[CD_ACCOUNT_RLP_MAX];
        usize n = 0;
        if (x->storage != NULL) {
            cd_trie_root(x->storage, &x->account.storage_root);
        }
        if (x->exists) {
            n = cd_account_enc(value, &x->account, s->cfg.form);
        }
        e = cd_trie_put(accounts, cd_bytes_of(x->hash.b, 32), cd_bytes_of(value, n));
    }
    return e;
}

cd_err cd_world_scratch_apply(cd_world_scratch *s, cd_hash32 *root, cd_state *st, cd_errinfo *why)
{
    cd_state_visitor visitor = {.ctx = s, .acct = take_account, .slot = take_slot};
    s->changed_cnt = 0;
    s->slot_cnt = 0;
    if (s->past == NULL) {
        CD_TRY(cd_world_past_open(&s->past, &s->cfg, why));
    }
    CD_TRY(cd_state_changes(st, &visitor));
    CD_TRY(open_storage(s, why));
    CD_TRY(update_tries(s));
    cd_trie_root(cd__past_accounts(s->past), root);
    return CD_OK;
}
