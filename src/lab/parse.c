#include "chains/evmchain/core/rules/eth_rules.h"
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

/* Reads an authorization; the parity of its signature has one of two names. */
static cd_err read_auth(cd_authorization *out, cd_json v, cd_errinfo *why)
{
    u64 parity;
    cd_json y_parity = cd_json_get(v, "yParity");
    CD_TRY(cd_json_u256(&out->chain_id, cd_json_get(v, "chainId"), why));
    CD_TRY(cd_json_fixed(out->addr.b, 20, cd_json_get(v, "address"), why));
    CD_TRY(cd_json_u64(&out->nonce, cd_json_get(v, "nonce"), why));
    y_parity = cd_json_has(y_parity) ? y_parity : cd_json_get(v, "v");
    CD_TRY(cd_json_u64(&parity, y_parity, why));
    if (parity > UINT8_MAX) {
        return cd_json_fail(y_parity, CD_ERANGE, "number does not fit 8 bits", why);
    }
    out->y_parity = (u8)parity;
    CD_TRY(cd_json_u256(&out->r, cd_json_get(v, "r"), why));
    return cd_json_u256(&out->s, cd_json_get(v, "s"), why);
}

cd_err cd__lab_auths(cd_tx *tx, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_authorization *auths = cd_arena_array(a, cd_authorization, cd_json_len(v));
    usize n = 0;
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        CD_TRY(read_auth(&auths[n++], it.val, why));
    }
    tx->auths = auths;
    tx->auth_cnt = n;
    return CD_OK;
}

cd_err cd__lab_chain_id(u64 *out, cd_json config, cd_errinfo *why)
{
    *out = 1;
    return cd__lab_opt_u64(out, cd_json_get(config, "chainid"), why);
}

cd_err cd__lab_blob_schedule(cd_blob_schedule *out, cd_json config, cd_fork fork, cd_errinfo *why)
{
    cd_json schedule = cd_json_get(cd_json_get(config, "blobSchedule"), cd_fork_name(fork));
    *out = *cd_eth_blob_schedule(fork);
    if (!cd_json_has(schedule)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(&out->target, cd_json_get(schedule, "target"), why));
    CD_TRY(cd_json_u64(&out->max, cd_json_get(schedule, "max"), why));
    CD_TRY(cd_json_u64(&out->update_fraction, cd_json_get(schedule, "baseFeeUpdateFraction"), why));
    return out->update_fraction == 0 ? cd_json_fail(schedule, CD_ERANGE, "baseFeeUpdateFraction is zero", why) : CD_OK;
}
