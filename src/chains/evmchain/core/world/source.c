/* Reading the state of a view for the EVM: layers of blocks that are not accepted, the cache, the store. */
#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

static const u8 code_prefix = 'c';

/* Reads an account from a kv's flat table. */
static cd_err flat_account(cd_world *w, cd_kv *kv, cd_account *out, bool *found, const cd_hash32 *hash)
{
    cd_buf v = {0};
    cd_err e = cd_flat_account_get(kv, &v, hash);
    *found = e == CD_OK;
    if (e == CD_OK) {
        e = cd_account_dec(out, w->cfg.form, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

static cd_err flat_slot(cd_kv *kv, cd_u256 *out, const cd_hash32 *account, const cd_hash32 *slot)
{
    cd_buf v = {0};
    cd_err e = cd_flat_slot_get(kv, &v, account, slot);
    *out = cd_u256_zero();
    if (e == CD_OK) {
        e = cd__slot_dec(out, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

/* The cache entry of an account of the accepted state, loaded if need be. */
static cd_err cached_account(cd_world *w, cd__world_cache_acct **out, const cd_addr20 *addr)
{
    cd__world_cache *c = &w->cache;
    cd__world_cache_acct *x = cd__world_cache_acct_at(c, addr);
    if (cd__cache_has_acct(c, x, addr)) {
        c->hits++;
    } else {
        cd__world_cache_acct fresh = {.addr = *addr, .epoch = c->epoch};
        cd_keccak256(&fresh.hash, cd_bytes_of(addr->b, 20));
        CD_TRY(flat_account(w, w->cfg.kv, &fresh.account, &fresh.found, &fresh.hash));
        *x = fresh;
        c->misses++;
    }
    *out = x;
    return CD_OK;
}

static cd_err source_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    cd_world_source *s = (cd_world_source *)src;
    if (s->view != NULL) {
        cd_hash32 hash;
        cd_keccak256(&hash, cd_bytes_of(addr->b, 20));
        return flat_account(s->world, cd__world_kv(s->world, s->view), out, found, &hash);
    }
    cd__world_cache_acct *c;
    CD_TRY(cached_account(s->world, &c, addr));
    *found = c->found;
    if (c->found) {
        *out = c->account;
    }
    return CD_OK;
}

static cd_err source_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    cd_world_source *s = (cd_world_source *)src;
    cd_hash32 word;
    cd_u256_store_be(word.b, slot);
    if (s->view != NULL) {
        cd_hash32 account;
        cd_hash32 hash;
        cd_keccak256(&account, cd_bytes_of(addr->b, 20));
        cd_keccak256_32(&hash, word.b);
        return flat_slot(cd__world_kv(s->world, s->view), out, &account, &hash);
    }
    cd__world_cache *c = &s->world->cache;
    cd__world_cache_slot *x = cd__world_cache_slot_at(c, addr, slot);
    if (cd__cache_has_slot(c, x, addr, slot)) {
        c->hits++;
    } else {
        cd__world_cache_acct *a;
        cd__world_cache_slot fresh = {.addr = *addr, .epoch = c->epoch, .key = *slot};
        CD_TRY(cached_account(s->world, &a, addr));
        cd_keccak256_32(&fresh.hash, word.b);
        CD_TRY(flat_slot(s->world->cfg.kv, &fresh.value, &a->hash, &fresh.hash));
        *x = fresh;
        c->misses++;
    }
    *out = x->value;
    return CD_OK;
}

static cd_bytes code_key(u8 out[33], const cd_hash32 *hash)
{
    out[0] = code_prefix;
    memcpy(out + 1, hash->b, 32);
    return cd_bytes_of(out, 33);
}

void cd__code_put(cd_kv_batch *batch, const cd_hash32 *hash, cd_bytes code)
{
    u8 key[33];
    cd_kv_batch_put(batch, code_key(key, hash), code);
}

cd_err cd__world_code_get(cd_kv *kv, cd_bytes *out, cd_arena *a, const cd_hash32 *hash)
{
    u8 key[33];
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, code_key(key, hash));
    if (e == CD_OK) {
        *out = cd_arena_dup(a, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_ECORRUPT; /* an account names this code */
    }
    cd_buf_fini(&v);
    return e;
}

static cd_err source_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    cd_world_source *s = (cd_world_source *)src;
    return cd__world_code_get(cd__world_kv(s->world, s->view), out, &s->code_arena, code_hash);
}

static cd_err source_no_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    (void)src;
    (void)number;
    *out = (cd_hash32){0};
    return CD_OK;
}

void cd_world_source_init(cd_world_source *s, cd_world *w, cd_world_view *view)
{
    *s = (cd_world_source){
        .src =
            {
                .account = source_account,
                .storage = source_storage,
                .code = source_code,
                .block_hash = source_no_block_hash,
            },
        .world = w,
        .view = view,
    };
}

void cd_world_source_fini(cd_world_source *s)
{
    cd_arena_fini(&s->code_arena);
}
