/* The state of a view: a source for the EVM, and single accounts. */
#include "chains/evmchain/core/view_priv.h"

/* A hash that BLOCKHASH gave, by number modulo the size of the table; number 0 is not asked for here. */
typedef struct cd__known_hash {
    u64 number;
    cd_hash32 hash;
} cd__known_hash;

enum { KNOWN_HASHES = 256 };

static void know_hash(void *ctx, u64 number, const cd_hash32 *hash)
{
    cd__known_hash *known = ctx;
    known[number % KNOWN_HASHES] = (cd__known_hash){.number = number, .hash = *hash};
}

static cd_err source_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    cd_view_source *s = (cd_view_source *)src;
    const cd_view *v = s->view;
    const cd_accepted *acc = cd_view_recent(v, number);
    if (acc != NULL) {
        *out = acc->block.hash;
        return CD_OK;
    }
    if (number == 0) {
        *out = v->genesis;
        return CD_OK;
    }
    if (s->hashes == NULL) {
        s->hashes = cd_arena_array(&s->world.code_arena, cd__known_hash, KNOWN_HASHES);
    }
    cd__known_hash *k = &s->hashes[number % KNOWN_HASHES];
    if (k->number != number) {
        /* Neighbours are known in one go where they have to be computed. */
        u64 from = v->rules->is_dev && number > KNOWN_HASHES / 2 ? number - KNOWN_HASHES / 2 : number;
        cd_err e = cd_accepted_hashes(v->kv, v->rules->layout, from, number + 1, know_hash, s->hashes);
        if (e != CD_OK) {
            *out = (cd_hash32){0};
            return e == CD_ENOENT ? CD_OK : e;
        }
    }
    *out = k->hash;
    return CD_OK;
}

/* --- what is known of the head's state, before the store is asked --- */

static cd_err head_account(cd_state_source *src, cd_account *out, bool *exists, const cd_addr20 *addr)
{
    cd_view_source *s = (cd_view_source *)src;
    cd_known *known = s->view->of->known;
    if (cd_known_account(known, out, exists, s->view->number, addr)) {
        return CD_OK;
    }
    CD_TRY(s->store.account(src, out, exists, addr));
    cd_know_account(known, s->view->number, addr, *exists ? out : NULL);
    return CD_OK;
}

static cd_err head_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    cd_view_source *s = (cd_view_source *)src;
    cd_known *known = s->view->of->known;
    if (cd_known_slot(known, out, s->view->number, addr, slot)) {
        return CD_OK;
    }
    CD_TRY(s->store.storage(src, out, addr, slot));
    cd_know_slot(known, s->view->number, addr, slot, out);
    return CD_OK;
}

static cd_err source_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    cd_view_source *s = (cd_view_source *)src;
    cd_known *known = s->view->of->known;
    if (cd_known_code(known, out, &s->world.code_arena, code_hash)) {
        return CD_OK;
    }
    CD_TRY(s->store.code(src, out, code_hash));
    cd_know_code(known, code_hash, *out);
    return CD_OK;
}

cd_err cd_view_source_init(cd_view_source *s, cd_view *v, u64 number)
{
    if (number < v->oldest_state) {
        return CD_EMISSING;
    }
    CD_ASSERT(number <= v->head);
    cd_world_reader_init(&s->world, v->kv, v->rules->account_form,
                         number == v->head ? CD_WORLD_NEWEST : cd_world_version_of(number));
    s->store = s->world.src;
    s->world.src.code = source_code;
    s->world.src.block_hash = source_block_hash;
    if (number == v->head) {
        s->world.src.account = head_account;
        s->world.src.storage = head_storage;
    }
    s->view = v;
    s->other = NULL;
    s->hashes = NULL;
    return CD_OK;
}

cd_err cd_view_source_init_quick(cd_view_source *s, cd_view *v, u64 number)
{
    if (v->quick == NULL || number != v->head) {
        return CD_EAGAIN;
    }
    CD_TRY(cd_view_source_init(s, v, number));
    s->world.kv = v->quick;
    return CD_OK;
}

static cd_err read_account(cd_view *v, cd_account *out, bool *exists, const cd_addr20 *addr, bool may_wait)
{
    cd_view_source s;
    CD_TRY(may_wait ? cd_view_source_init(&s, v, v->head) : cd_view_source_init_quick(&s, v, v->head));
    cd_err e = s.world.src.account(&s.world.src, out, exists, addr);
    cd_view_source_fini(&s);
    return e;
}

cd_err cd_view_account(cd_view *v, cd_account *out, const cd_addr20 *addr, bool may_wait)
{
    bool exists;
    cd_account account;
    if (!cd_known_account(v->of->known, &account, &exists, v->number, addr)) {
        CD_TRY(read_account(v, &account, &exists, addr, may_wait));
    }
    *out = exists ? account : (cd_account){.code_hash = CD_HASH_EMPTY_CODE, .storage_root = CD_HASH_EMPTY_TRIE};
    return CD_OK;
}

static cd_state_source *other_of(cd_state_source *src)
{
    return ((cd_view_source *)src)->other;
}

static cd_err other_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    cd_state_source *other = other_of(src);
    return other->account(other, out, found, addr);
}

static cd_err other_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    cd_state_source *other = other_of(src);
    return other->storage(other, out, addr, slot);
}

static cd_err other_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    cd_state_source *other = other_of(src);
    return other->code(other, out, code_hash);
}

static cd_err other_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    cd_state_source *other = other_of(src);
    return other->block_hash(other, out, number);
}

void cd_view_source_stand_for(cd_view_source *s, cd_state_source *other)
{
    s->other = other;
    s->world.src = (cd_state_source){
        .account = other_account,
        .storage = other_storage,
        .code = other_code,
        .block_hash = other_block_hash,
    };
}

void cd_view_source_fini(cd_view_source *s)
{
    cd_world_reader_fini(&s->world);
}
