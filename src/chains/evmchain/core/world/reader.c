#include "chains/evmchain/core/world/reader.h"

#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

/* The hash of an address; slots of one account are mostly read one after another. */
static const cd_hash32 *hash_of(cd_world_reader *r, const cd_addr20 *addr)
{
    if (!cd_addr20_eq(&r->addr, addr) || cd_hash32_is_zero(&r->addr_hash)) {
        r->addr = *addr;
        cd_keccak256(&r->addr_hash, cd_bytes_of(addr->b, 20));
    }
    return &r->addr_hash;
}

static cd_err read_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    cd_world_reader *r = (cd_world_reader *)src;
    u8 key[CD_FLAT_KEY_MAX];
    cd_err e = cd__history_get(r->kv, &r->value, cd_flat_account_key(key, hash_of(r, addr)), r->version);
    if (e == CD_ENOENT) {
        *found = false;
        return CD_OK;
    }
    CD_TRY(e);
    CD_TRY(cd_account_dec(out, r->form, cd_buf_bytes(&r->value)));
    *found = true;
    return CD_OK;
}

static cd_err read_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    cd_world_reader *r = (cd_world_reader *)src;
    cd_hash32 hash;
    u8 key[CD_FLAT_KEY_MAX];
    cd_u256_store_be(hash.b, slot);
    cd_keccak256_32(&hash, hash.b);
    cd_err e = cd__history_get(r->kv, &r->value, cd_flat_slot_key(key, hash_of(r, addr), &hash), r->version);
    if (e == CD_ENOENT) {
        *out = cd_u256_zero();
        return CD_OK;
    }
    CD_TRY(e);
    return cd__slot_dec(out, cd_buf_bytes(&r->value));
}

static cd_err read_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    cd_world_reader *r = (cd_world_reader *)src;
    return cd__world_code_get(r->kv, out, &r->code_arena, code_hash);
}

static cd_err no_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    (void)src;
    (void)number;
    *out = (cd_hash32){0};
    return CD_OK;
}

void cd_world_reader_init(cd_world_reader *r, cd_kv *kv, cd_account_form form, u64 version)
{
    *r = (cd_world_reader){
        .src =
            {
                .account = read_account,
                .storage = read_storage,
                .code = read_code,
                .block_hash = no_block_hash,
            },
        .kv = kv,
        .form = form,
        .version = version,
    };
}

void cd_world_reader_fini(cd_world_reader *r)
{
    cd_buf_fini(&r->value);
    cd_arena_fini(&r->code_arena);
}

cd_err cd_world_oldest(cd_kv *kv, u64 *height)
{
    cd__world_marks m;
    CD_TRY(cd__marks_get(kv, &m));
    *height = m.oldest >> CD_WORLD_EDIT_BITS;
    return CD_OK;
}
