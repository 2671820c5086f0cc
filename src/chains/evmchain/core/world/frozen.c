#include "chains/evmchain/core/world/frozen.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

typedef struct code_entry {
    cd_hash32 hash;
    cd_bytes code;
} code_entry;

struct cd_world_frozen {
    cd_state_source src; /* first */
    cd_state_source *base;
    cd_arena arena; /* holds what follows */
    cd__world_changes changes;
    code_entry *codes; /* that the block brought */
    usize codes_cnt;
};

static const cd__world_acct *find_acct(const cd_world_frozen *f, const cd_addr20 *addr)
{
    cd_hash32 hash;
    cd_keccak256(&hash, cd_bytes_of(addr->b, 20));
    usize lo = 0;
    for (usize hi = f->changes.acct_cnt; lo < hi;) {
        usize mid = lo + (hi - lo) / 2;
        int order = memcmp(f->changes.accts[mid].hash.b, hash.b, 32);
        if (order == 0) {
            return &f->changes.accts[mid];
        }
        lo = order < 0 ? mid + 1 : lo;
        hi = order < 0 ? hi : mid;
    }
    return NULL;
}

static const cd__world_slot *find_slot(const cd_world_frozen *f, const cd__world_acct *acct, const cd_u256 *key)
{
    cd_hash32 word;
    cd_hash32 hash;
    cd_u256_store_be(word.b, key);
    cd_keccak256_32(&hash, word.b);
    usize lo = acct->slot;
    for (usize hi = acct->slot + acct->slot_cnt; lo < hi;) {
        usize mid = lo + (hi - lo) / 2;
        int order = memcmp(f->changes.slots[mid].hash.b, hash.b, 32);
        if (order == 0) {
            return &f->changes.slots[mid];
        }
        lo = order < 0 ? mid + 1 : lo;
        hi = order < 0 ? hi : mid;
    }
    return NULL;
}

static cd_err read_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    const cd_world_frozen *f = (const cd_world_frozen *)(const void *)src;
    const cd__world_acct *acct = find_acct(f, addr);
    if (acct == NULL) {
        return f->base->account(f->base, out, found, addr);
    }
    *found = acct->exists;
    if (acct->exists) {
        *out = acct->account;
    }
    return CD_OK;
}

static cd_err read_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *key)
{
    const cd_world_frozen *f = (const cd_world_frozen *)(const void *)src;
    const cd__world_acct *acct = find_acct(f, addr);
    const cd__world_slot *slot = acct == NULL ? NULL : find_slot(f, acct, key);
    if (slot == NULL) {
        return f->base->storage(f->base, out, addr, key);
    }
    *out = slot->value;
    return CD_OK;
}

static cd_err read_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    const cd_world_frozen *f = (const cd_world_frozen *)(const void *)src;
    for (usize i = 0; i < f->codes_cnt; i++) {
        if (cd_hash32_eq(&f->codes[i].hash, code_hash)) {
            *out = f->codes[i].code;
            return CD_OK;
        }
    }
    return f->base->code(f->base, out, code_hash);
}

static cd_err read_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    const cd_world_frozen *f = (const cd_world_frozen *)(const void *)src;
    return f->base->block_hash(f->base, out, number);
}

static bool has_new_code(const cd__world_acct *a)
{
    return a->exists && !cd_hash32_eq(&a->account.code_hash, &CD_HASH_EMPTY_CODE) &&
           !(a->existed && cd_hash32_eq(&a->account.code_hash, &a->before.code_hash));
}

static cd_err copy_codes(cd_world_frozen *f, cd_world *w, const cd_world_view *view)
{
    cd_kv *kv = cd__world_kv(w, (cd_world_view *)(usize)view);
    f->codes = cd_arena_array(&f->arena, code_entry, f->changes.acct_cnt);
    for (usize i = 0; i < f->changes.acct_cnt; i++) {
        const cd__world_acct *a = &f->changes.accts[i];
        if (has_new_code(a)) {
            code_entry *c = &f->codes[f->codes_cnt];
            c->hash = a->account.code_hash;
            CD_TRY(cd__world_code_get(kv, &c->code, &f->arena, &c->hash));
            f->codes_cnt++;
        }
    }
    return CD_OK;
}

cd_err cd_world_freeze(cd_world_frozen **out, cd_world *w, const cd_world_view *view, cd_state_source *base)
{
    CD_ASSERT(view->parent == NULL);
    const cd__world_changes *ch = &view->changes;
    cd_world_frozen *f = cd_new(cd_world_frozen);
    f->src = (cd_state_source){
        .account = read_account,
        .storage = read_storage,
        .code = read_code,
        .block_hash = read_block_hash,
    };
    f->base = base;
    f->changes = *ch;
    f->changes.accts = cd_arena_array(&f->arena, cd__world_acct, ch->acct_cnt);
    f->changes.slots = cd_arena_array(&f->arena, cd__world_slot, ch->slot_cnt);
    if (ch->acct_cnt != 0) {
        memcpy(f->changes.accts, ch->accts, ch->acct_cnt * sizeof *ch->accts);
    }
    if (ch->slot_cnt != 0) {
        memcpy(f->changes.slots, ch->slots, ch->slot_cnt * sizeof *ch->slots);
    }
    cd_err e = copy_codes(f, w, view);
    if (e != CD_OK) {
        cd_world_frozen_free(f);
        return e;
    }
    *out = f;
    return CD_OK;
}

void cd_world_frozen_free(cd_world_frozen *f)
{
    if (f != NULL) {
        cd_arena_fini(&f->arena);
        cd_free(f);
    }
}

cd_state_source *cd_world_frozen_source(cd_world_frozen *f)
{
    return &f->src;
}
