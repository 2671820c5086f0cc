/* What was changed between blocks, read back from the journal of changed keys and the history. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/world/reader.h"
#include "chains/evmchain/core/world/walk.h"
#include "chains/evmchain/core/world/world_priv.h"

static const u64 edit_mask = ((u64)1 << CD_WORLD_EDIT_BITS) - 1;

/* The keys of all edits after the first block from *height on that has any. */
static cd_err find_keys(cd_kv *kv, cd__key_list *keys, u64 *height)
{
    cd__journal j;
    bool found = false;
    CD_TRY(cd__journal_open(&j, kv, *height << CD_WORLD_EDIT_BITS | 1));
    while (cd__journal_next(&j, found ? cd_world_version_of(*height) : UINT64_MAX)) {
        if ((j.version & edit_mask) != 0) {
            found = true;
            *height = j.version >> CD_WORLD_EDIT_BITS;
            cd__journal_hash(&j);
            cd__keys_add_record(keys, &j);
        }
    }
    CD_TRY(cd__journal_close(&j));
    return found ? CD_OK : CD_ENOENT;
}

static cd_err read_slot(cd_kv *kv, cd_world_edit_slot *out, cd_buf *v, const cd__flat_key *k, u64 version)
{
    u8 room[CD_FLAT_KEY_MAX];
    *out = (cd_world_edit_slot){.value = cd_u256_zero()};
    CD_TRY(cd_world_key_of(kv, &out->key, &k->slot));
    cd_err e = cd__history_get(kv, v, cd_flat_slot_key(room, &k->account, &k->slot), version);
    return e == CD_OK ? cd__slot_dec(&out->value, cd_buf_bytes(v)) : e == CD_ENOENT ? CD_OK : e;
}

static cd_err read_account(cd_kv *kv, cd_world_edit *out, cd_buf *v, const cd__flat_key *k, cd_account_form form,
                           u64 version)
{
    u8 room[CD_FLAT_KEY_MAX];
    CD_TRY(cd_world_addr_of(kv, &out->addr, &k->account));
    CD_TRY(cd__history_get(kv, v, cd_flat_account_key(room, &k->account), version));
    return cd_account_dec(&out->account, form, cd_buf_bytes(v));
}

static cd_err read_edits(cd_kv *kv, cd_world_edit *edits, usize *cnt, cd_world_edit_slot *slots,
                         const cd__key_list *keys, cd_account_form form, u64 version)
{
    cd_buf v = {0};
    cd_err e = CD_OK;
    usize n = 0;
    usize slot_cnt = 0;
    for (usize i = 0; e == CD_OK && i < keys->cnt; i++) {
        const cd__flat_key *k = &keys->keys[i];
        if (k->is_slot) {
            e = read_slot(kv, &slots[slot_cnt++], &v, k, version);
            edits[n - 1].slot_cnt++;
        } else {
            edits[n].slots = slots + slot_cnt;
            e = read_account(kv, &edits[n++], &v, k, form, version);
        }
    }
    cd_buf_fini(&v);
    *cnt = n;
    return e == CD_ENOENT ? CD_ECORRUPT : e; /* what was named must be there */
}

cd_err cd_world_edits(cd_kv *kv, cd_world_edit **out, usize *cnt, cd_arena *a, cd_account_form form, u64 *height)
{
    cd__key_list keys = {0};
    cd_err e = find_keys(kv, &keys, height);
    if (e == CD_OK) {
        cd__keys_sort(&keys);
        *out = cd_arena_array(a, cd_world_edit, keys.cnt);
        e = read_edits(kv, *out, cnt, cd_arena_array(a, cd_world_edit_slot, keys.cnt), &keys, form,
                       cd_world_version_of(*height));
    }
    cd_free(keys.keys);
    return e;
}
