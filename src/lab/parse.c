#include "chains/evmchain/eth_rules.h"
#include "lab/parse_priv.h"

cd_err cd__lab_opt_u64(u64 *out, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_u64(out, v, why) : CD_OK;
}

cd_err cd__lab_opt_u256(cd_u256 *out, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_u256(out, v, why) : CD_OK;
}

cd_err cd__lab_hashes(const cd_hash32 **out, usize *cnt, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_hash32 *h = cd_arena_array(a, cd_hash32, cd_json_len(v));
    usize n = 0;
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        CD_TRY(cd_json_fixed(h[n++].b, 32, it.val, why));
    }
    *out = h;
    *cnt = n;
    return CD_OK;
}

cd_err cd__lab_access_list(cd_tx *tx, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_access_tuple *tuples = cd_arena_array(a, cd_access_tuple, cd_json_len(v));
    usize n = 0;
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        cd_access_tuple *t = &tuples[n++];
        CD_TRY(cd_json_fixed(t->addr.b, 20, cd_json_get(it.val, "address"), why));
        CD_TRY(cd__lab_hashes(&t->keys, &t->key_cnt, a, cd_json_get(it.val, "storageKeys"), why));
    }
    tx->access = tuples;
    tx->access_cnt = n;
    return CD_OK;
}

cd_err cd__lab_config(u64 *chain_id, cd_blob_schedule *blob, cd_json config, cd_errinfo *why)
{
    cd_json schedule = cd_json_get(cd_json_get(config, "blobSchedule"), "Cancun");
    *chain_id = 1;
    *blob = CD_BLOB_CANCUN;
    CD_TRY(cd__lab_opt_u64(chain_id, cd_json_get(config, "chainid"), why));
    if (!cd_json_has(schedule)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(&blob->target, cd_json_get(schedule, "target"), why));
    CD_TRY(cd_json_u64(&blob->max, cd_json_get(schedule, "max"), why));
    CD_TRY(
        cd_json_u64(&blob->update_fraction, cd_json_get(schedule, "baseFeeUpdateFraction"), why));
    return blob->update_fraction == 0
               ? cd_json_fail(schedule, CD_ERANGE, "baseFeeUpdateFraction is zero", why)
               : CD_OK;
}
