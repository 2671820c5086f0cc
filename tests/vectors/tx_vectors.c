/* Signed transactions (ethereum-tx): hash, sender and intrinsic gas by fork, or a refusal.
 * [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "evm/transition.h"
#include "types/tx_codec.h"

enum { CHAIN_ID = 1, INITCODE_MAX = 49152 };

/* Since when a type may be used. */
static cd_fork since(cd_tx_type type)
{
    static const cd_fork forks[] = {CD_FRONTIER, CD_BERLIN, CD_LONDON, CD_CANCUN};
    return forks[type];
}

static bool overflows(const cd_tx *tx)
{
    cd_u256 cost;
    return !cd_u256_checked_mul_u64(&cost, &tx->fee_cap, tx->gas_limit);
}

/* Whether a decoded transaction may be part of a block of the fork; fills sender and gas. */
static bool is_valid(cd_tx *tx, u64 *gas, cd_fork fork)
{
    return fork >= since(tx->type) && (!tx->is_protected || fork >= CD_SPURIOUS) &&
           (!tx->is_protected || tx->chain_id == CHAIN_ID) && tx->nonce != UINT64_MAX &&
           cd_u256_cmp(&tx->tip_cap, &tx->fee_cap) <= 0 && !overflows(tx) &&
           !(tx->is_create && fork >= CD_SHANGHAI && tx->data.n > INITCODE_MAX) &&
           cd_tx_intrinsic_gas(gas, tx, fork, NULL) == CD_TX_VALID && *gas <= tx->gas_limit &&
           cd_tx_recover(tx, fork >= CD_HOMESTEAD) == CD_OK;
}

static bool run_case(vec *v, cd_bytes raw, cd_json want, cd_fork fork)
{
    cd_tx tx;
    u64 gas = 0;
    bool ok = cd_tx_dec(&tx, &v->arena, raw, NULL) == CD_OK && is_valid(&tx, &gas, fork);
    if (cd_json_has(cd_json_get(want, "exception"))) {
        return !ok;
    }
    cd_hash32 hash;
    cd_addr20 sender;
    u64 want_gas;
    return ok && cd_json_fixed(hash.b, 32, cd_json_get(want, "hash"), NULL) == CD_OK &&
           cd_json_fixed(sender.b, 20, cd_json_get(want, "sender"), NULL) == CD_OK &&
           cd_json_u64(&want_gas, cd_json_get(want, "intrinsicGas"), NULL) == CD_OK && cd_hash32_eq(&hash, &tx.hash) &&
           cd_addr20_eq(&sender, &tx.sender) && gas == want_gas;
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_json doc;
    if (kind != CD_FS_FILE || strstr(path, ".json") == NULL || !vec_json(v, &doc, path)) {
        return CD_OK;
    }
    cd_json_it tests = cd_json_iter(doc);
    while (cd_json_next(&tests)) {
        cd_bytes raw;
        cd_errinfo why = {0};
        if (cd_json_hex(&raw, &v->arena, cd_json_get(tests.val, "txbytes"), &why) != CD_OK) {
            vec_check(v, false, "%s: %s", path, why.msg);
            continue;
        }
        cd_json_it forks = cd_json_iter(cd_json_get(tests.val, "result"));
        while (cd_json_next(&forks)) {
            const char *name = cd_arena_str(&v->arena, forks.key);
            cd_fork fork;
            vec_check(v, cd_fork_parse(&fork, name) == CD_OK && run_case(v, raw, forks.val, fork), "%s %s", path, name);
        }
    }
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    vec_walk(&v, "ethereum-tx", visit);
    return vec_end(&v);
}
