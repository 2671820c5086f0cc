#include "evm/transition.h"

#include "evm/delegation.h"
#include "evm/evm_priv.h"
#include "types/tx_codec.h"

const char *cd_tx_invalid_str(cd_tx_invalid r)
{
    switch (r) {
    case CD_TX_VALID:
        return "valid";
    case CD_TX_NONCE_TOO_LOW:
        return "nonce too low";
    case CD_TX_NONCE_TOO_HIGH:
        return "nonce too high";
    case CD_TX_NONCE_MAX:
        return "nonce has max value";
    case CD_TX_SENDER_HAS_CODE:
        return "sender not an eoa";
    case CD_TX_FEE_CAP_BELOW_BASE_FEE:
        return "max fee per gas less than block base fee";
    case CD_TX_TIP_ABOVE_FEE_CAP:
        return "max priority fee per gas higher than max fee per gas";
    case CD_TX_INSUFFICIENT_FUNDS:
        return "insufficient funds for gas * price + value";
    case CD_TX_INTRINSIC_GAS:
        return "intrinsic gas too low";
    case CD_TX_INITCODE_SIZE:
        return "max initcode size exceeded";
    case CD_TX_TYPE_UNSUPPORTED:
        return "transaction type not supported";
    case CD_TX_GAS_LIMIT_REACHED:
        return "gas limit reached";
    case CD_TX_BLOB_NO_HASHES:
        return "blob transaction missing blob hashes";
    case CD_TX_BLOB_TOO_MANY:
        return "blob transaction has too many blobs";
    case CD_TX_BLOB_HASH_VERSION:
        return "blob hash version mismatch";
    case CD_TX_BLOB_FEE_CAP:
        return "max fee per blob gas less than block blob gas fee";
    case CD_TX_BLOB_CREATE:
        return "blob transaction of type create";
    case CD_TX_SET_CODE_CREATE:
        return "EIP-7702 transaction cannot be used to create contract";
    case CD_TX_SET_CODE_NONE:
        return "EIP-7702 transaction with empty auth list";
    case CD_TX_FLOOR_GAS:
        return "insufficient gas for floor data gas cost";
    case CD_TX_CHAIN_ID:
        return "invalid chain id for signer";
    case CD_TX_SENDER_NOT_ALLOWED:
        return "cannot issue transaction from non-allow listed address";
    case CD_TX_PREDICATE:
        return "malformed predicate in access list";
    }
    CD_UNREACHABLE();
}

/* tuple_gas prices one tuple of an access list. */
static cd_tx_invalid tuple_gas(u64 *out, const cd_access_tuple *t, const cd_precompile_table *pre)
{
    const cd_precompile *p = pre == NULL ? NULL : cd_precompile_find(pre, &t->addr);
    if (CD_UNLIKELY(p != NULL && p->predicate_gas != NULL)) {
        return p->predicate_gas(out, t->keys, t->key_cnt, p->cfg) ? CD_TX_VALID : CD_TX_PREDICATE;
    }
    u64 keys;
    return cd_mul_u64(&keys, t->key_cnt, CD_GAS_ACCESS_KEY) && cd_add_u64(out, keys, CD_GAS_ACCESS_ADDR)
               ? CD_TX_VALID
               : CD_TX_INTRINSIC_GAS;
}

static u64 count_zeros(cd_bytes data)
{
    u64 zeros = 0;
    for (usize i = 0; i < data.n; i++) {
        zeros += data.p[i] == 0 ? 1 : 0;
    }
    return zeros;
}

u64 cd_tx_floor_gas(const cd_tx *tx, cd_fork fork)
{
    if (fork < CD_PRAGUE) {
        return 0;
    }
    u64 tokens = 4 * tx->data.n - 3 * count_zeros(tx->data);
    return CD_GAS_TX + tokens * cd_gas_of(fork).tx_data_floor;
}

cd_tx_invalid cd_tx_intrinsic_gas(u64 *out, const cd_tx *tx, cd_fork fork, const cd_precompile_table *precompiles)
{
    cd_gas prices = cd_gas_of(fork);
    u64 zeros = count_zeros(tx->data);
    u64 words = tx->is_create ? (tx->data.n + 31) / 32 : 0;
    /* Every count is bounded by bytes in memory, every price by 16 bits: only the keys' sum could
     * wrap. */
    u64 gas = tx->is_create ? prices.tx_create : CD_GAS_TX;
    gas += zeros * CD_GAS_TX_DATA_ZERO + (tx->data.n - zeros) * prices.tx_data_nonzero;
    gas += words * prices.initcode_word;
    gas += tx->auth_cnt * (u64)CD_GAS_AUTHORIZATION_NEW;
    for (usize i = 0; i < tx->access_cnt; i++) {
        u64 cost;
        cd_tx_invalid bad = tuple_gas(&cost, &tx->access[i], precompiles);
        if (bad != CD_TX_VALID) {
            return bad;
        }
        if (!cd_add_u64(&gas, gas, cost)) {
            return CD_TX_INTRINSIC_GAS;
        }
    }
    *out = gas;
    return CD_TX_VALID;
}

/* --- checks --- */

/* One transaction that is being checked and run. */
typedef struct run {
    cd_evm *evm;
    cd_state *st;
    const cd_tx *tx;
    const cd_tx_relax *relax;
    cd_acct *sender;
    cd_u256 price; /* effective price in wei per gas */
    u64 intrinsic;
    u64 floor;
} run;

static bool type_allowed(const run *r)
{
    switch (r->tx->type) {
    case CD_TX_LEGACY:
        return true;
    case CD_TX_ACCESS_LIST:
        return r->evm->fork >= CD_BERLIN;
    case CD_TX_DYNAMIC_FEE:
        return r->evm->fork >= CD_LONDON;
    case CD_TX_BLOB:
        return r->evm->fork >= CD_CANCUN && r->evm->profile->allows_blob_tx;
    case CD_TX_SET_CODE:
        return r->evm->fork >= CD_PRAGUE;
    }
    return false;
}

/* delegate finds the account whose code runs in place of a's (EIP-7702); false when there is none. */
static bool delegate(cd_addr20 *out, const run *r, cd_acct *a)
{
    return r->evm->fork >= CD_PRAGUE && cd_delegation_dec(out, cd_state_code(r->st, a));
}

static cd_tx_invalid check_sender(const run *r)
{
    const cd_tx *tx = r->tx;
    if (!r->relax->nonce) {
        if (tx->nonce < r->sender->nonce) {
            return CD_TX_NONCE_TOO_LOW;
        }
        if (tx->nonce > r->sender->nonce) {
            return CD_TX_NONCE_TOO_HIGH;
        }
        if (tx->nonce == UINT64_MAX) {
            return CD_TX_NONCE_MAX;
        }
    }
    if (r->relax->sender) {
        return CD_TX_VALID;
    }
    cd_addr20 other;
    if (!cd_hash32_eq(&r->sender->code_hash, &CD_HASH_EMPTY_CODE) && !delegate(&other, r, r->sender)) {
        return CD_TX_SENDER_HAS_CODE;
    }
    return cd_gate_opens(r->evm->precompiles, CD_GATE_SEND, r->st, &tx->sender) ? CD_TX_VALID
                                                                                : CD_TX_SENDER_NOT_ALLOWED;
}

static cd_tx_invalid check_caps(const run *r)
{
    const cd_tx *tx = r->tx;
    bool waived = r->relax->base_fee && cd_u256_is_zero(&tx->fee_cap) && cd_u256_is_zero(&tx->tip_cap);
    if (r->evm->fork < CD_LONDON || waived) {
        return CD_TX_VALID;
    }
    if (cd_u256_lt(&tx->fee_cap, &tx->tip_cap)) {
        return CD_TX_TIP_ABOVE_FEE_CAP;
    }
    return cd_u256_lt(&tx->fee_cap, &r->evm->block->base_fee) ? CD_TX_FEE_CAP_BELOW_BASE_FEE : CD_TX_VALID;
}

static cd_tx_invalid check_blobs(const run *r)
{
    const cd_tx *tx = r->tx;
    if (tx->type != CD_TX_BLOB) {
        return CD_TX_VALID;
    }
    if (tx->is_create) {
        return CD_TX_BLOB_CREATE;
    }
    if (tx->blob_cnt == 0) {
        return CD_TX_BLOB_NO_HASHES;
    }
    if (tx->blob_cnt > r->evm->gas.blobs_max) {
        return CD_TX_BLOB_TOO_MANY;
    }
    for (usize i = 0; i < tx->blob_cnt; i++) {
        if (tx->blob_hashes[i].b[0] != 1) {
            return CD_TX_BLOB_HASH_VERSION;
        }
    }
    bool waived = r->relax->base_fee && cd_u256_is_zero(&tx->blob_fee_cap);
    return !waived && cd_u256_lt(&tx->blob_fee_cap, &r->evm->block->blob_base_fee) ? CD_TX_BLOB_FEE_CAP : CD_TX_VALID;
}

static cd_tx_invalid check_auths(const run *r)
{
    if (r->tx->type != CD_TX_SET_CODE) {
        return CD_TX_VALID;
    }
    if (r->tx->is_create) {
        return CD_TX_SET_CODE_CREATE;
    }
    return r->tx->auth_cnt == 0 ? CD_TX_SET_CODE_NONE : CD_TX_VALID;
}

/* add_product adds a * b to *sum; false when the result needs more than 256 bits. */
static bool add_product(cd_u256 *sum, const cd_u256 *a, u64 b)
{
    cd_u256 p;
    return cd_u256_checked_mul_u64(&p, a, b) && cd_u256_checked_add(sum, sum, &p);
}

static u64 blob_gas(const cd_tx *tx)
{
    return tx->type == CD_TX_BLOB ? tx->blob_cnt * (u64)CD_GAS_BLOB : 0;
}

/* check_funds compares the sender's balance with the most that the transaction can cost; a sum beyond
 * 256 bits is more than anyone has. */
static cd_tx_invalid check_funds(const run *r)
{
    const cd_tx *tx = r->tx;
    cd_u256 need = tx->value;
    bool fits = r->relax->balance || (add_product(&need, &tx->fee_cap, tx->gas_limit) &&
                                      add_product(&need, &tx->blob_fee_cap, blob_gas(tx)));
    return !fits || cd_u256_lt(&r->sender->balance, &need) ? CD_TX_INSUFFICIENT_FUNDS : CD_TX_VALID;
}

static cd_tx_invalid check_gas(run *r, u64 pool)
{
    const cd_tx *tx = r->tx;
    if (tx->gas_limit > pool) {
        return CD_TX_GAS_LIMIT_REACHED;
    }
    cd_tx_invalid bad = cd_tx_intrinsic_gas(&r->intrinsic, tx, r->evm->fork, r->evm->precompiles);
    if (bad != CD_TX_VALID) {
        return bad;
    }
    if (tx->gas_limit < r->intrinsic) {
        return CD_TX_INTRINSIC_GAS;
    }
    r->floor = cd_tx_floor_gas(tx, r->evm->fork);
    if (tx->gas_limit < r->floor) {
        return CD_TX_FLOOR_GAS;
    }
    if (r->evm->fork >= CD_SHANGHAI && tx->is_create && tx->data.n > CD_INITCODE_SIZE_MAX) {
        return CD_TX_INITCODE_SIZE;
    }
    return CD_TX_VALID;
}

static cd_tx_invalid check(run *r, u64 pool)
{
    if (!type_allowed(r)) {
        return CD_TX_TYPE_UNSUPPORTED;
    }
    if (r->tx->is_protected && r->tx->chain_id != r->evm->block->chain_id) {
        return CD_TX_CHAIN_ID;
    }
    cd_tx_invalid bad = check_sender(r);
    bad = bad != CD_TX_VALID ? bad : check_caps(r);
    bad = bad != CD_TX_VALID ? bad : check_blobs(r);
    bad = bad != CD_TX_VALID ? bad : check_auths(r);
    bad = bad != CD_TX_VALID ? bad : check_funds(r);
    return bad != CD_TX_VALID ? bad : check_gas(r, pool);
}

/* --- fees --- */

/* effective_price gives the wei paid per gas: the base fee and as much of the tip as the fee cap leaves
 * room for. */
static cd_u256 effective_price(const run *r)
{
    const cd_tx *tx = r->tx;
    cd_u256 wish;
    if (r->evm->fork < CD_LONDON || !cd_u256_checked_add(&wish, &tx->tip_cap, &r->evm->block->base_fee)) {
        return tx->fee_cap;
    }
    return cd_u256_lt(&wish, &tx->fee_cap) ? wish : tx->fee_cap;
}

static cd_u256 times(const cd_u256 *price, u64 n)
{
    cd_u256 p;
    (void)cd_u256_mul_u64(&p, price, n); /* fits as check_funds has seen; where that is skipped, nobody pays it */
    return p;
}

static void buy_gas(run *r)
{
    if (r->relax->balance) {
        return;
    }
    cd_u256 fee = times(&r->price, r->tx->gas_limit);
    cd_u256 blobs = times(&r->evm->block->blob_base_fee, blob_gas(r->tx));
    cd_u256_add(&fee, &fee, &blobs);
    cd_state_sub_balance(r->st, r->sender, &fee);
}

/* pay_out pays the sender for the unused gas and the coinbase its part, which by rule touches the
 * coinbase even when it is 0. */
static void pay_out(run *r, u64 used)
{
    cd_u256 none = cd_u256_zero();
    cd_u256 share = r->price;
    if (r->evm->profile->burns_base_fee && r->evm->fork >= CD_LONDON) {
        cd_u256_sub_sat(&share, &share, &r->evm->block->base_fee);
    }
    cd_u256 back = times(&r->price, r->tx->gas_limit - used);
    cd_u256 fee = times(&share, used);
    if (r->evm->block->splits_fee) {
        cd_u256_shr(&fee, &fee, 1);
    }
    if (!r->relax->balance) {
        cd_state_add_balance(r->st, r->sender, &back);
    }
    cd_state_add_balance(r->st, cd_state_acct(r->st, &r->evm->block->coinbase), r->relax->balance ? &none : &fee);
}

/* --- run --- */

/* warm_up makes accounts and slots warm that the transaction has paid for or gets for free (EIP-2929,
 * EIP-2930, EIP-3651). */
static void warm_up(run *r)
{
    const cd_tx *tx = r->tx;
    if (r->evm->fork < CD_BERLIN) {
        return;
    }
    (void)cd_state_warm_acct(r->st, r->sender);
    if (!tx->is_create) {
        (void)cd_state_warm_acct(r->st, cd_state_acct(r->st, &tx->to));
    }
    if (r->evm->fork >= CD_SHANGHAI) {
        (void)cd_state_warm_acct(r->st, cd_state_acct(r->st, &r->evm->block->coinbase));
    }
    usize cnt;
    const cd_precompile *pre = cd_precompile_list(r->evm->precompiles, &cnt);
    for (usize i = 0; i < cnt; i++) {
        (void)cd_state_warm_acct(r->st, cd_state_acct(r->st, &pre[i].addr));
    }
    for (usize i = 0; i < tx->access_cnt; i++) {
        const cd_access_tuple *t = &tx->access[i];
        cd_acct *a = cd_state_acct(r->st, &t->addr);
        (void)cd_state_warm_acct(r->st, a);
        for (usize k = 0; k < t->key_cnt; k++) {
            cd_u256 key = cd_u256_from_hash(&t->keys[k]);
            (void)cd_state_warm_slot(r->st, cd_state_slot(r->st, a, &key));
        }
    }
}

/* authorize applies one authorization; an invalid one is ignored (EIP-7702). */
static void authorize(const run *r, const cd_authorization *auth)
{
    cd_state *st = r->st;
    cd_addr20 addr;
    cd_addr20 old;
    bool is_ours = cd_u256_is_zero(&auth->chain_id) ||
                   (cd_u256_fits_u64(&auth->chain_id) && auth->chain_id.w[0] == r->evm->block->chain_id);
    if (!is_ours || auth->nonce == UINT64_MAX || cd_authorization_recover(&addr, auth) != CD_OK) {
        return;
    }
    cd_acct *a = cd_state_acct(st, &addr);
    (void)cd_state_warm_acct(st, a);
    cd_bytes code = cd_state_code(st, a);
    if ((code.n != 0 && !cd_delegation_dec(&old, code)) || a->nonce != auth->nonce) {
        return;
    }
    if ((a->flags & CD_ACCT_EXISTS) != 0) {
        cd_state_refund(st, CD_GAS_AUTHORIZATION_NEW - CD_GAS_AUTHORIZATION);
    }
    u8 designator[CD_DELEGATION_SIZE];
    bool clears = cd_addr20_is_zero(&auth->addr);
    cd_delegation_enc(designator, &auth->addr);
    cd_state_set_nonce(st, a, a->nonce + 1);
    cd_state_set_code(st, a, cd_bytes_of(designator, clears ? 0 : sizeof designator));
}

/* authorize_all applies all authorizations; then, if the recipient runs another account's code, it warms that account
 * for free. */
static void authorize_all(const run *r)
{
    const cd_tx *tx = r->tx;
    cd_addr20 other;
    for (usize i = 0; i < tx->auth_cnt; i++) {
        authorize(r, &tx->auths[i]);
    }
    if (delegate(&other, r, cd_state_acct(r->st, &tx->to))) {
        (void)cd_state_warm_acct(r->st, cd_state_acct(r->st, &other));
    }
}

static void call(run *r, cd_evm_result *out, cd_addr20 *created)
{
    const cd_tx *tx = r->tx;
    cd_evm_msg msg = {.kind = tx->is_create ? CD_CREATE : CD_CALL,
                      .gas = tx->gas_limit - r->intrinsic,
                      .caller = tx->sender,
                      .to = tx->to,
                      .code = tx->to,
                      .value = tx->value,
                      .input = tx->data};
    if (tx->is_create) {
        cd_evm_create_addr(created, &tx->sender, r->sender->nonce);
        msg.to = *created;
        msg.code = *created;
    } else {
        cd_state_set_nonce(r->st, r->sender, r->sender->nonce + 1);
        authorize_all(r);
    }
    cd_tx_env env = {.origin = tx->sender,
                     .gas_price = r->price,
                     .blob_hashes = tx->blob_hashes,
                     .blob_cnt = tx->blob_cnt,
                     .access = tx->access,
                     .access_cnt = tx->access_cnt,
                     .hash = tx->hash};
    cd_evm_set_tx(r->evm, &env);
    cd_evm_call(r->evm, out, &msg);
    cd_evm_set_tx(r->evm, NULL);
}

/* refundable gives how much of the gas used the refund counter gives back; 0 if the profile pays no refunds. */
static u64 refundable(const run *r, u64 used)
{
    if (!r->evm->profile->pays_refund) {
        return 0;
    }
    return cd_min_u64(cd_state_refund_get(r->st), used / r->evm->gas.refund_divisor);
}

cd_tx_invalid cd_tx_apply(cd_evm *evm, cd_tx_result *res, u64 *gas_pool, const cd_tx *tx, const cd_tx_relax *relax)
{
    static const cd_tx_relax strict = {0};
    CD_ASSERT(tx->has_sender);
    run r = {.evm = evm, .st = evm->st, .tx = tx, .relax = relax == NULL ? &strict : relax};
    r.sender = cd_state_acct(r.st, &tx->sender);
    cd_tx_invalid bad = check(&r, *gas_pool);
    if (bad != CD_TX_VALID) {
        return bad;
    }
    cd_state_begin_tx(r.st);
    r.price = effective_price(&r);
    buy_gas(&r);
    warm_up(&r);
    cd_evm_result out;
    cd_addr20 created = {0};
    call(&r, &out, &created);

    u64 used = tx->gas_limit - out.gas_left;
    u64 refund = refundable(&r, used);
    used = cd_max_u64(used - refund, r.floor);
    pay_out(&r, used);
    cd_state_end_tx(r.st, evm->fork >= CD_SPURIOUS);
    *gas_pool -= used;
    *res = (cd_tx_result){.status = out.status,
                          .gas_used = used,
                          .gas_refunded = refund,
                          .output = out.output,
                          .created = created,
                          .effective_gas_price = r.price,
                          .reason = out.reason};
    return CD_TX_VALID;
}
