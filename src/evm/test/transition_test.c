/* Transactions: who pays what under which profile, what makes one invalid, what a simulation may
 * skip. */
#include "evm/transition.h"

#include "crypto/hash/keccak.h"
#include "evm/delegation.h"
#include "evm/rules/gas.h"
#include "types/tx_codec.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const cd_addr20 SENDER = {.b = {[0] = 0xa1}};
static const cd_addr20 TARGET = {.b = {[0] = 0xb2}};
static const cd_addr20 MINER = {.b = {[0] = 0xc3}};

/* A source of a few accounts; every slot of TARGET holds 7. */
typedef struct source {
    cd_state_source vt;
    u64 sender_balance;
    u64 sender_nonce;
    bool sender_has_code;
    cd_bytes code; /* code of TARGET */
    cd_err err;
} source;

static cd_err src_account(cd_state_source *vt, cd_account *out, bool *found, const cd_addr20 *addr)
{
    source *s = (source *)vt;
    *out = (cd_account){.code_hash = CD_HASH_EMPTY_CODE, .storage_root = CD_HASH_EMPTY_TRIE};
    *found = true;
    if (cd_addr20_eq(addr, &SENDER)) {
        out->balance = cd_u256_from_u64(s->sender_balance);
        out->nonce = s->sender_nonce;
        out->code_hash.b[0] ^= s->sender_has_code ? 1 : 0;
    } else if (cd_addr20_eq(addr, &TARGET)) {
        out->nonce = 1;
        cd_keccak256(&out->code_hash, s->code);
        out->storage_root.b[0] ^= 1;
    } else {
        *found = false;
    }
    return s->err;
}

static cd_err src_storage(cd_state_source *vt, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    (void)slot;
    *out = cd_u256_from_u64(cd_addr20_eq(addr, &TARGET) ? 7 : 0);
    return ((source *)vt)->err;
}

static cd_err src_code(cd_state_source *vt, cd_bytes *out, const cd_hash32 *code_hash)
{
    (void)code_hash;
    *out = ((source *)vt)->code;
    return ((source *)vt)->err;
}

static cd_err src_block_hash(cd_state_source *vt, cd_hash32 *out, u64 number)
{
    (void)vt;
    (void)out;
    (void)number;
    return CD_ENOENT;
}

typedef struct world {
    source src;
    cd_block_env block;
    cd_state *st;
    cd_evm *evm;
    cd_tx tx;
    cd_tx_relax relax;
    cd_tx_result res;
    u64 pool;
} world;

static void setup(world *w, cd_fork fork, cd_profile_id profile)
{
    *w = (world){
        .src = {.vt = {.account = src_account, .storage = src_storage, .code = src_code, .block_hash = src_block_hash},
                .sender_balance = 1000000000,
                .sender_nonce = 5},
        .block = {.number = 1,
                  .gas_limit = 10000000,
                  .coinbase = MINER,
                  .base_fee = cd_u256_from_u64(fork >= CD_LONDON ? 7 : 0),
                  .blob_base_fee = cd_u256_one(),
                  .chain_id = 1},
        .tx = {.type = CD_TX_LEGACY,
               .nonce = 5,
               .gas_limit = 100000,
               .tip_cap = cd_u256_from_u64(10),
               .fee_cap = cd_u256_from_u64(10),
               .to = TARGET,
               .value = cd_u256_from_u64(3),
               .sender = SENDER,
               .has_sender = true},
        .pool = 10000000,
    };
    w->st = cd_state_new(&w->src.vt);
    w->evm = cd_evm_new();
    cd_evm_set_block(w->evm, fork, profile, &w->block, w->st, cd_precompile_eth(fork));
}

static void teardown(world *w)
{
    cd_evm_free(w->evm);
    cd_state_free(w->st);
}

static cd_tx_invalid apply(world *w)
{
    return cd_tx_apply(w->evm, &w->res, &w->pool, &w->tx, &w->relax);
}

static u64 balance(world *w, cd_addr20 addr)
{
    return cd_state_acct(w->st, &addr)->balance.w[0];
}

static void ethereum_burns_the_base_fee(void **state)
{
    (void)state;
    world w;
    setup(&w, CD_CANCUN, CD_PROFILE_ETHEREUM);
    w.tx.type = CD_TX_DYNAMIC_FEE;
    w.tx.tip_cap = cd_u256_from_u64(2);
    w.tx.gas_limit = 21000; /* the least that a transaction needs */
    assert_int_equal(apply(&w), CD_TX_VALID);
    assert_int_equal(w.res.status, CD_EVM_OK);
    assert_int_equal(w.res.gas_used, 21000);
    assert_int_equal(w.res.effective_gas_price.w[0], 9);
    assert_int_equal(balance(&w, SENDER), 1000000000 - 3 - 21000 * 9);
    assert_int_equal(balance(&w, TARGET), 3);
    assert_int_equal(balance(&w, MINER), 21000 * 2);
    assert_int_equal(cd_state_acct(w.st, &SENDER)->nonce, 6);
    assert_int_equal(w.pool, 10000000 - 21000);
    teardown(&w);
}

static void chains_give_the_whole_fee_to_the_coinbase(void **state)
{
    (void)state;
    static const cd_profile_id profiles[] = {CD_PROFILE_L1, CD_PROFILE_C};
    for (usize i = 0; i < CD_COUNT(profiles); i++) {
        world w;
        setup(&w, CD_CANCUN, profiles[i]);
        assert_int_equal(apply(&w), CD_TX_VALID);
        assert_int_equal(balance(&w, MINER), 21000 * 10);
        teardown(&w);
    }
}

/* Code that clears the slots 0..5. */
static cd_bytes clearing_code(u8 out[30])
{
    for (usize i = 0; i < 6; i++) {
        const u8 ops[5] = {0x60, 0, 0x60, (u8)i, 0x55};
        memcpy(out + 5 * i, ops, sizeof ops);
    }
    return cd_bytes_of(out, 30);
}

static void refunds_are_capped_by_fork_and_kept_by_chains(void **state)
{
    (void)state;
    static const struct {
        cd_fork fork;
        cd_profile_id profile;
        u64 gas; /* gas used before the refund */
        u64 refund;
    } rows[] = {
        /* 21000 and six times 3 + 3 + price of clearing */
        {CD_BYZANTIUM, CD_PROFILE_ETHEREUM, 21000 + 6 * 5006, (21000 + 6 * 5006) / 2},
        {CD_BERLIN, CD_PROFILE_ETHEREUM, 21000 + 6 * 5006, (21000 + 6 * 5006) / 2},
        {CD_LONDON, CD_PROFILE_ETHEREUM, 21000 + 6 * 5006, (21000 + 6 * 5006) / 5},
        {CD_CANCUN, CD_PROFILE_L1, 21000 + 6 * 5006, 0},
        {CD_CANCUN, CD_PROFILE_C, 21000 + 6 * 5006, 0},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        u8 code[30];
        setup(&w, rows[i].fork, rows[i].profile);
        w.src.code = clearing_code(code);
        w.tx.value = cd_u256_zero();
        assert_int_equal(apply(&w), CD_TX_VALID);
        assert_int_equal(w.res.status, CD_EVM_OK);
        assert_int_equal(w.res.gas_refunded, rows[i].refund);
        assert_int_equal(w.res.gas_used, rows[i].gas - rows[i].refund);
        assert_int_equal(balance(&w, SENDER), 1000000000 - 10 * w.res.gas_used);
        teardown(&w);
    }
}

static void creation_raises_the_nonce_once(void **state)
{
    (void)state;
    static const u8 init[] = {0x60, 0x00, 0x60, 0x01, 0xf3}; /* returns one zero byte of memory as code */
    world w;
    setup(&w, CD_CANCUN, CD_PROFILE_ETHEREUM);
    w.tx.is_create = true;
    w.tx.data = cd_bytes_of(init, sizeof init);
    cd_addr20 want;
    cd_evm_create_addr(&want, &SENDER, 5);
    assert_int_equal(apply(&w), CD_TX_VALID);
    assert_int_equal(w.res.status, CD_EVM_OK);
    assert_true(cd_addr20_eq(&w.res.created, &want));
    assert_int_equal(cd_state_acct(w.st, &SENDER)->nonce, 6);
    cd_acct *a = cd_state_acct(w.st, &want);
    assert_int_equal(a->nonce, 1);
    assert_int_equal(a->balance.w[0], 3);
    assert_int_equal(w.pool, 10000000 - w.res.gas_used);
    teardown(&w);
}

static void failure_takes_all_gas_and_keeps_the_value(void **state)
{
    (void)state;
    static const u8 invalid[] = {0xfe};
    world w;
    setup(&w, CD_CANCUN, CD_PROFILE_ETHEREUM);
    w.src.code = cd_bytes_of(invalid, sizeof invalid);
    assert_int_equal(apply(&w), CD_TX_VALID);
    assert_int_equal(w.res.status, CD_EVM_INVALID_OPCODE);
    assert_int_equal(w.res.gas_used, 100000);
    assert_int_equal(balance(&w, TARGET), 0);
    assert_int_equal(balance(&w, SENDER), 1000000000 - 100000 * 10);
    assert_int_equal(cd_state_acct(w.st, &SENDER)->nonce, 6);
    teardown(&w);
}

/* --- invalid transactions --- */

static const cd_hash32 blob_ok = {.b = {1}};
static const cd_hash32 blob_bad = {.b = {2}};

static void nonce_low(world *w)
{
    w->tx.nonce = 4;
}
static void nonce_high(world *w)
{
    w->tx.nonce = 6;
}
static void nonce_max(world *w)
{
    w->tx.nonce = w->src.sender_nonce = UINT64_MAX;
}
static void has_code(world *w)
{
    w->src.sender_has_code = true;
}
static void cap_low(world *w)
{
    w->tx.fee_cap = w->tx.tip_cap = cd_u256_from_u64(6);
}
static void tip_high(world *w)
{
    w->tx.tip_cap = cd_u256_from_u64(11);
}
static void poor(world *w)
{
    w->src.sender_balance = 100000 * 10 + 2;
}
static void cost_wraps(world *w)
{
    w->tx.fee_cap = w->tx.tip_cap = cd_u256_max();
}
static void value_wraps(world *w)
{
    w->tx.value = cd_u256_max();
}
static void little_gas(world *w)
{
    w->tx.gas_limit = 20999;
}
static void big_gas(world *w)
{
    w->tx.gas_limit = 10000001;
}
static void wrong_chain(world *w)
{
    w->tx.is_protected = true;
    w->tx.chain_id = 2;
}
static void big_init(world *w)
{
    static const u8 zeros[CD_INITCODE_SIZE_MAX + 1];
    w->tx.is_create = true;
    w->tx.gas_limit = 1000000;
    w->tx.data = cd_bytes_of(zeros, sizeof zeros);
}
static void blob(world *w)
{
    w->tx.type = CD_TX_BLOB;
    w->tx.blob_hashes = &blob_ok;
    w->tx.blob_cnt = 1;
    w->tx.blob_fee_cap = cd_u256_one();
}
static void blob_create(world *w)
{
    blob(w);
    w->tx.is_create = true;
}
static void blob_none(world *w)
{
    blob(w);
    w->tx.blob_cnt = 0;
}
static void blob_many(world *w)
{
    static const cd_hash32 seven[7] = {{.b = {1}}};
    blob(w);
    w->tx.blob_hashes = seven;
    w->tx.blob_cnt = 7;
}
static void blob_version(world *w)
{
    blob(w);
    w->tx.blob_hashes = &blob_bad;
}
static void blob_cheap(world *w)
{
    blob(w);
    w->tx.blob_fee_cap = cd_u256_zero();
}
static void blob_poor(world *w)
{
    blob(w);
    w->src.sender_balance = 100000 * 10 + 3 + 131072 - 1;
}

static void set_code_create(world *w)
{
    w->tx.type = CD_TX_SET_CODE;
    w->tx.is_create = true;
}
static void set_code_none(world *w)
{
    w->tx.type = CD_TX_SET_CODE;
}
static void below_floor(world *w)
{
    static const u8 ones[100] = {[0 ... 99] = 1};
    w->tx.data = cd_bytes_of(ones, sizeof ones);
    w->tx.gas_limit = 21000 + 4000 - 1; /* the floor is 40 gas a byte; without it a byte costs 16 */
}

static void every_reason_is_found_and_nothing_changes(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(world *w);
        cd_tx_invalid want;
        const char *words;
    } rows[] = {
        {nonce_low, CD_TX_NONCE_TOO_LOW, "nonce too low"},
        {nonce_high, CD_TX_NONCE_TOO_HIGH, "nonce too high"},
        {nonce_max, CD_TX_NONCE_MAX, "nonce has max value"},
        {has_code, CD_TX_SENDER_HAS_CODE, "sender not an eoa"},
        {cap_low, CD_TX_FEE_CAP_BELOW_BASE_FEE, "max fee per gas less than block base fee"},
        {tip_high, CD_TX_TIP_ABOVE_FEE_CAP, "max priority fee per gas higher than max fee per gas"},
        {poor, CD_TX_INSUFFICIENT_FUNDS, "insufficient funds for gas * price + value"},
        {cost_wraps, CD_TX_INSUFFICIENT_FUNDS, "insufficient funds for gas * price + value"},
        {value_wraps, CD_TX_INSUFFICIENT_FUNDS, "insufficient funds for gas * price + value"},
        {blob_poor, CD_TX_INSUFFICIENT_FUNDS, "insufficient funds for gas * price + value"},
        {little_gas, CD_TX_INTRINSIC_GAS, "intrinsic gas too low"},
        {big_gas, CD_TX_GAS_LIMIT_REACHED, "gas limit reached"},
        {big_init, CD_TX_INITCODE_SIZE, "max initcode size exceeded"},
        {wrong_chain, CD_TX_CHAIN_ID, "invalid chain id for signer"},
        {blob_create, CD_TX_BLOB_CREATE, "blob transaction of type create"},
        {blob_none, CD_TX_BLOB_NO_HASHES, "blob transaction missing blob hashes"},
        {blob_many, CD_TX_BLOB_TOO_MANY, "blob transaction has too many blobs"},
        {blob_version, CD_TX_BLOB_HASH_VERSION, "blob hash version mismatch"},
        {blob_cheap, CD_TX_BLOB_FEE_CAP, "max fee per blob gas less than block blob gas fee"},
        {set_code_create, CD_TX_SET_CODE_CREATE, "EIP-7702 transaction cannot be used to create contract"},
        {set_code_none, CD_TX_SET_CODE_NONE, "EIP-7702 transaction with empty auth list"},
        {below_floor, CD_TX_FLOOR_GAS, "insufficient gas for floor data gas cost"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        bool is_late = rows[i].want >= CD_TX_SET_CODE_CREATE && rows[i].want <= CD_TX_FLOOR_GAS;
        setup(&w, is_late ? CD_PRAGUE : CD_CANCUN, CD_PROFILE_ETHEREUM);
        rows[i].spoil(&w);
        assert_int_equal(apply(&w), rows[i].want);
        assert_string_equal(cd_tx_invalid_str(rows[i].want), rows[i].words);
        assert_int_equal(balance(&w, SENDER), w.src.sender_balance);
        assert_int_equal(cd_state_acct(w.st, &SENDER)->nonce, w.src.sender_nonce);
        assert_int_equal(balance(&w, MINER), 0);
        assert_int_equal(w.pool, 10000000);
        teardown(&w);
    }
}

static void types_need_their_fork_and_profile(void **state)
{
    (void)state;
    static const struct {
        cd_tx_type type;
        cd_fork fork;
        cd_profile_id profile;
        cd_tx_invalid want;
    } rows[] = {
        {CD_TX_ACCESS_LIST, CD_ISTANBUL, CD_PROFILE_ETHEREUM, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_ACCESS_LIST, CD_BERLIN, CD_PROFILE_ETHEREUM, CD_TX_VALID},
        {CD_TX_DYNAMIC_FEE, CD_BERLIN, CD_PROFILE_ETHEREUM, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_DYNAMIC_FEE, CD_LONDON, CD_PROFILE_ETHEREUM, CD_TX_VALID},
        {CD_TX_BLOB, CD_SHANGHAI, CD_PROFILE_ETHEREUM, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_BLOB, CD_CANCUN, CD_PROFILE_ETHEREUM, CD_TX_VALID},
        {CD_TX_BLOB, CD_CANCUN, CD_PROFILE_L1, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_BLOB, CD_CANCUN, CD_PROFILE_C, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_SET_CODE, CD_CANCUN, CD_PROFILE_ETHEREUM, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_SET_CODE, CD_CANCUN, CD_PROFILE_L1, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_SET_CODE, CD_CANCUN, CD_PROFILE_C, CD_TX_TYPE_UNSUPPORTED},
        {CD_TX_SET_CODE, CD_PRAGUE, CD_PROFILE_ETHEREUM, CD_TX_SET_CODE_NONE},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        setup(&w, rows[i].fork, rows[i].profile);
        blob(&w);
        w.tx.type = rows[i].type;
        assert_int_equal(apply(&w), rows[i].want);
        teardown(&w);
    }
}

static void blob_gas_is_paid_and_burnt(void **state)
{
    (void)state;
    world w;
    setup(&w, CD_CANCUN, CD_PROFILE_ETHEREUM);
    blob(&w);
    assert_int_equal(apply(&w), CD_TX_VALID);
    assert_int_equal(balance(&w, SENDER), 1000000000 - 3 - 21000 * 10 - 131072);
    assert_int_equal(balance(&w, MINER), 21000 * 3);
    teardown(&w);
}

static void a_simulation_skips_what_it_is_told(void **state)
{
    (void)state;
    world w;
    setup(&w, CD_CANCUN, CD_PROFILE_ETHEREUM);
    w.relax = (cd_tx_relax){.nonce = true, .sender = true, .base_fee = true, .balance = true};
    w.src.sender_balance = 3;
    w.src.sender_has_code = true;
    w.tx.nonce = 99;
    w.tx.fee_cap = w.tx.tip_cap = cd_u256_zero();
    assert_int_equal(apply(&w), CD_TX_VALID);
    assert_int_equal(w.res.status, CD_EVM_OK);
    assert_int_equal(w.res.gas_used, 21000);
    assert_int_equal(balance(&w, SENDER), 0);
    assert_int_equal(balance(&w, TARGET), 3);
    assert_int_equal(apply(&w), CD_TX_INSUFFICIENT_FUNDS); /* even a simulation needs the value */
    w.relax.base_fee = false;
    w.tx.value = cd_u256_zero();
    assert_int_equal(apply(&w), CD_TX_FEE_CAP_BELOW_BASE_FEE);
    teardown(&w);
}

static void intrinsic_gas_by_fork(void **state)
{
    (void)state;
    static const u8 data[] = {0, 1, 2, 0};
    static const cd_hash32 keys[2];
    static const cd_access_tuple access[] = {{.keys = keys, .key_cnt = 2}, {.key_cnt = 0}};
    cd_tx tx = {.data = cd_bytes_of(data, sizeof data)};
    u64 gas;
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_PETERSBURG, NULL), CD_TX_VALID);
    assert_int_equal(gas, 21000 + 2 * 4 + 2 * 68);
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_ISTANBUL, NULL), CD_TX_VALID);
    assert_int_equal(gas, 21000 + 2 * 4 + 2 * 16);
    tx.is_create = true;
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_FRONTIER, NULL), CD_TX_VALID);
    assert_int_equal(gas, 21000 + 2 * 4 + 2 * 68);
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_HOMESTEAD, NULL), CD_TX_VALID);
    assert_int_equal(gas, 53000 + 2 * 4 + 2 * 68);
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_SHANGHAI, NULL), CD_TX_VALID);
    assert_int_equal(gas, 53000 + 2 * 4 + 2 * 16 + 2);
    tx.access = access;
    tx.access_cnt = 2;
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_SHANGHAI, NULL), CD_TX_VALID);
    assert_int_equal(gas, 53000 + 2 * 4 + 2 * 16 + 2 + 2 * 2400 + 2 * 1900);
    const cd_access_tuple huge[] = {{.keys = keys, .key_cnt = SIZE_MAX / 8}};
    tx.access = huge;
    tx.access_cnt = 1;
    assert_int_equal(cd_tx_intrinsic_gas(&gas, &tx, CD_SHANGHAI, NULL), CD_TX_INTRINSIC_GAS);
}

static void data_has_a_floor_price(void **state)
{
    (void)state;
    static const u8 data[100] = {[50 ... 99] = 1};
    static const struct {
        cd_fork fork;
        u64 want;
    } rows[] = {{CD_CANCUN, 21000 + 50 * 4 + 50 * 16}, {CD_PRAGUE, 21000 + 50 * 10 + 50 * 40}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        setup(&w, rows[i].fork, CD_PROFILE_ETHEREUM);
        w.tx.data = cd_bytes_of(data, sizeof data);
        assert_int_equal(apply(&w), CD_TX_VALID);
        assert_int_equal(w.res.gas_used, rows[i].want);
        assert_int_equal(balance(&w, SENDER), 1000000000 - 3 - rows[i].want * 10);
        teardown(&w);
    }
}

/* The floor holds after the refund: no refund makes data cheaper than the floor (EIP-7623). */
static void the_floor_holds_after_the_refund(void **state)
{
    (void)state;
    static const u8 data[3000];
    enum { USED = 21000 + 3000 * 4 + 6 * 5006, BACK = USED / 5, FLOOR = 21000 + 3000 * 10 };
    world w;
    u8 code[30];
    setup(&w, CD_PRAGUE, CD_PROFILE_ETHEREUM);
    w.src.code = clearing_code(code);
    w.tx.value = cd_u256_zero();
    w.tx.data = cd_bytes_of(data, sizeof data);
    assert_true(USED - BACK < FLOOR && FLOOR < USED);
    assert_int_equal(apply(&w), CD_TX_VALID);
    assert_int_equal(w.res.gas_used, FLOOR);
    assert_int_equal(balance(&w, SENDER), 1000000000 - 10 * FLOOR);
    assert_int_equal(w.pool, 10000000 - FLOOR);
    teardown(&w);
}

/* signed_by makes an authorization of key number k for the code of addr, and gives the signer's address. */
static cd_addr20 signed_by(cd_authorization *out, u8 k, cd_addr20 addr, u64 chain_id, u64 nonce)
{
    cd_addr20 who;
    const u8 secret[32] = {[31] = k};
    *out = (cd_authorization){.chain_id = cd_u256_from_u64(chain_id), .addr = addr, .nonce = nonce};
    assert_int_equal(cd_authorization_sign(out, secret), CD_OK);
    assert_int_equal(cd_authorization_recover(&who, out), CD_OK);
    return who;
}

/* authorize runs tx with one authorization; the recipient is its signer. */
static cd_addr20 authorize(world *w, u8 k, cd_addr20 addr, u64 chain_id, u64 nonce)
{
    cd_authorization auth;
    cd_addr20 who = signed_by(&auth, k, addr, chain_id, nonce);
    w->tx.type = CD_TX_SET_CODE;
    w->tx.to = who;
    w->tx.value = cd_u256_zero();
    w->tx.auths = &auth;
    w->tx.auth_cnt = 1;
    assert_int_equal(apply(w), CD_TX_VALID);
    w->tx.nonce++;
    w->tx.auths = NULL;
    w->tx.auth_cnt = 0;
    return who;
}

static void accounts_run_the_code_they_name(void **state)
{
    (void)state;
    static const u8 store[] = {0x60, 9, 0x60, 4, 0x55}; /* slot 4 = 9 */
    enum { STORE_GAS = 3 + 3 + 20000 + 2100 };
    world w;
    u8 names[CD_DELEGATION_SIZE];
    cd_addr20 found;
    cd_u256 four = cd_u256_from_u64(4);
    setup(&w, CD_PRAGUE, CD_PROFILE_ETHEREUM);
    w.src.code = cd_bytes_of(store, sizeof store);
    cd_addr20 who = authorize(&w, 1, TARGET, 1, 0);
    cd_acct *a = cd_state_acct(w.st, &who);
    cd_delegation_enc(names, &TARGET);
    assert_true(cd_bytes_eq(cd_state_code(w.st, a), cd_bytes_of(names, sizeof names)));
    assert_true(cd_delegation_dec(&found, cd_state_code(w.st, a)) && cd_addr20_eq(&found, &TARGET));
    assert_int_equal(a->nonce, 1);
    assert_int_equal(cd_state_slot(w.st, a, &four)->value.w[0], 9);
    /* The account is new: no gas comes back. The account whose code it runs is warm, for it is the recipient. */
    assert_int_equal(w.res.gas_used, 21000 + 25000 + STORE_GAS);
    assert_int_equal(w.res.gas_refunded, 0);
    /* An account whose code names another one may still send. */
    cd_tx_relax relax = {.nonce = true};
    cd_tx own = w.tx;
    own.type = CD_TX_DYNAMIC_FEE;
    own.sender = who;
    own.nonce = 1;
    own.tip_cap = own.fee_cap = cd_u256_zero();
    relax.base_fee = true;
    assert_int_equal(cd_tx_apply(w.evm, &w.res, &w.pool, &own, &relax), CD_TX_VALID);
    assert_int_equal(a->nonce, 2);
    /* The zero address takes the code away; half of the price comes back, as far as refunds go. */
    (void)authorize(&w, 1, (cd_addr20){0}, 0, 2);
    assert_int_equal(cd_state_code(w.st, a).n, 0);
    assert_int_equal(a->nonce, 3);
    assert_int_equal(w.res.gas_refunded, (21000 + 25000) / 5);
    teardown(&w);
}

static void what_nobody_may_authorize_is_passed_over(void **state)
{
    (void)state;
    static const struct {
        u64 chain_id;
        u64 nonce;
    } rows[] = {{2, 0}, {1, 1}, {1, UINT64_MAX}, {0, UINT64_MAX}};
    static const u8 store[] = {0x60, 9, 0x60, 4, 0x55};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        setup(&w, CD_PRAGUE, CD_PROFILE_ETHEREUM);
        w.src.code = cd_bytes_of(store, sizeof store);
        cd_addr20 who = authorize(&w, 1, TARGET, rows[i].chain_id, rows[i].nonce);
        const cd_acct *a = cd_state_acct(w.st, &who);
        assert_int_equal(a->flags & CD_ACCT_EXISTS, 0);
        assert_int_equal(a->nonce, 0);
        assert_int_equal(w.res.gas_used, 21000 + 25000);
        teardown(&w);
    }
}

/* The signer of an authorization is warm, even when the nonce makes the authorization invalid; not when it was for
 * another chain or could never be valid (EIP-7702, 2 to 4). */
static void who_authorizes_is_warm(void **state)
{
    (void)state;
    static const struct {
        u64 chain_id;
        u64 nonce;
        bool is_warm;
    } rows[] = {{1, 0, true}, {0, 0, true}, {1, 7, true}, {2, 0, false}, {1, UINT64_MAX, false}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world w;
        cd_authorization auth;
        setup(&w, CD_PRAGUE, CD_PROFILE_ETHEREUM);
        cd_addr20 who = signed_by(&auth, 1, MINER, rows[i].chain_id, rows[i].nonce);
        u8 code[22] = {0x73, [21] = 0x31}; /* reads the balance of who */
        memcpy(code + 1, who.b, 20);
        w.src.code = cd_bytes_of(code, sizeof code);
        w.tx.type = CD_TX_SET_CODE;
        w.tx.value = cd_u256_zero();
        w.tx.auths = &auth;
        w.tx.auth_cnt = 1;
        assert_int_equal(apply(&w), CD_TX_VALID);
        assert_int_equal(w.res.gas_used, 21000 + 25000 + 3 + (rows[i].is_warm ? 100 : 2600));
        teardown(&w);
    }
}

/* Keys are warm as many as are listed, and no more. */
static void listed_keys_are_warm(void **state)
{
    static const cd_hash32 keys[] = {{.b = {[31] = 1}}, {.b = {[31] = 2}}};
    (void)state;
    for (usize slot = 1; slot <= CD_COUNT(keys); slot++) {
        world w;
        setup(&w, CD_PRAGUE, CD_PROFILE_ETHEREUM);
        const u8 code[] = {0x60, (u8)slot, 0x54}; /* reads the slot */
        const cd_access_tuple access = {.addr = w.tx.to, .keys = keys, .key_cnt = 1};
        w.src.code = cd_bytes_of(code, sizeof code);
        w.tx.type = CD_TX_ACCESS_LIST;
        w.tx.value = cd_u256_zero();
        w.tx.access = &access;
        w.tx.access_cnt = 1;
        assert_int_equal(apply(&w), CD_TX_VALID);
        assert_int_equal(w.res.gas_used, 21000 + 2400 + 1900 + 3 + (slot == 1 ? 100 : 2100));
        teardown(&w);
    }
}

/* An authorization with the last nonce is invalid even when the account has that nonce (EIP-7702, 2). */
static void the_last_nonce_authorizes_nothing(void **state)
{
    (void)state;
    for (u64 less = 0; less < 2; less++) {
        world w;
        cd_authorization auth;
        setup(&w, CD_PRAGUE, CD_PROFILE_ETHEREUM);
        cd_addr20 who = signed_by(&auth, 1, MINER, 1, UINT64_MAX - less);
        cd_acct *a = cd_state_acct(w.st, &who);
        cd_state_begin_tx(w.st);
        cd_state_set_nonce(w.st, a, UINT64_MAX - less);
        cd_state_end_tx(w.st, false);
        w.tx.type = CD_TX_SET_CODE;
        w.tx.to = who;
        w.tx.value = cd_u256_zero();
        w.tx.auths = &auth;
        w.tx.auth_cnt = 1;
        assert_int_equal(apply(&w), CD_TX_VALID);
        assert_true(a->nonce == UINT64_MAX);
        assert_int_equal(cd_state_code(w.st, a).n, less == 0 ? 0 : CD_DELEGATION_SIZE);
        teardown(&w);
    }
}

static void a_source_error_is_reported(void **state)
{
    (void)state;
    world w;
    setup(&w, CD_CANCUN, CD_PROFILE_ETHEREUM);
    (void)cd_state_acct(w.st, &SENDER);
    w.src.err = CD_EIO;
    (void)apply(&w);
    assert_int_equal(cd_state_error(w.st), CD_EIO);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ethereum_burns_the_base_fee),
        cmocka_unit_test(chains_give_the_whole_fee_to_the_coinbase),
        cmocka_unit_test(refunds_are_capped_by_fork_and_kept_by_chains),
        cmocka_unit_test(creation_raises_the_nonce_once),
        cmocka_unit_test(failure_takes_all_gas_and_keeps_the_value),
        cmocka_unit_test(every_reason_is_found_and_nothing_changes),
        cmocka_unit_test(types_need_their_fork_and_profile),
        cmocka_unit_test(blob_gas_is_paid_and_burnt),
        cmocka_unit_test(a_simulation_skips_what_it_is_told),
        cmocka_unit_test(intrinsic_gas_by_fork),
        cmocka_unit_test(data_has_a_floor_price),
        cmocka_unit_test(accounts_run_the_code_they_name),
        cmocka_unit_test(what_nobody_may_authorize_is_passed_over),
        cmocka_unit_test(the_floor_holds_after_the_refund),
        cmocka_unit_test(who_authorizes_is_warm),
        cmocka_unit_test(listed_keys_are_warm),
        cmocka_unit_test(the_last_nonce_authorizes_nothing),
        cmocka_unit_test(a_source_error_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
