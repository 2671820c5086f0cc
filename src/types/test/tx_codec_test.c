#include "types/tx_codec.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "codec/rlp.h"
#include "crypto/hash/keccak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static cd_bytes hex(cd_arena *a, const char *text)
{
    cd_bytes b;
    assert_int_equal(cd_hex_parse_prefixed(&b, a, cd_bytes_str(text)), CD_OK);
    return b;
}

static void assert_hash(const cd_hash32 *h, const char *text)
{
    char got[65] = {0};
    cd_hex_fmt(got, cd_bytes_of(h->b, 32));
    assert_string_equal(got, text);
}

static void assert_addr(const cd_addr20 *h, const char *text)
{
    char got[41] = {0};
    cd_hex_fmt(got, cd_bytes_of(h->b, 20));
    assert_string_equal(got, text);
}

/* The worked example of EIP-155. */
static void test_eip155(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_bytes raw = hex(&a, "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3"
                           "a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa6362"
                           "76a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83");
    cd_tx tx;
    cd_hash32 h;
    assert_int_equal(cd_tx_dec(&tx, &a, raw, NULL), CD_OK);
    assert_int_equal(tx.nonce, 9);
    assert_int_equal(tx.chain_id, 1);
    assert_true(tx.is_protected);
    cd_tx_sign_hash(&h, &tx);
    assert_hash(&h, "daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53");
    assert_int_equal(cd_tx_recover(&tx, true), CD_OK);
    assert_addr(&tx.sender, "9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f");
    /* Signing the same fields with the example's key gives the same bytes (RFC 6979). */
    u8 secret[32];
    memset(secret, 0x46, sizeof secret);
    cd_tx again = tx;
    assert_int_equal(cd_tx_sign(&again, secret), CD_OK);
    cd_buf out = {0};
    cd_tx_enc(&out, &again);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), raw));
    assert_true(cd_hash32_eq(&again.hash, &tx.hash));
    cd_buf_fini(&out);
    cd_arena_fini(&a);
}

static cd_tx sample(cd_tx_type type)
{
    static const cd_hash32 keys[2] = {{{1}}, {{2}}};
    static const cd_hash32 blobs[1] = {{{1, 9}}};
    static const cd_authorization auths[2] = {
        {.chain_id = {.w = {1}}, .addr = {{9}}, .nonce = 300, .y_parity = 1, .r = {.w = {5, 6}}},
        {.chain_id = {.w = {0, 0, 0, 7}}, .nonce = UINT64_MAX, .y_parity = 255, .s = {.w = {8}}},
    };
    static const cd_access_tuple access[2] = {
        {.addr = {{7}}, .keys = keys, .key_cnt = 2},
        {.addr = {{8}}},
    };
    cd_tx tx = {
        .type = type,
        .is_protected = true,
        .chain_id = 43112,
        .nonce = 300,
        .gas_limit = 100000,
        .to = {{0xaa, 1}},
        .value = cd_u256_from_u64(UINT64_MAX),
        .data = cd_bytes_str("call data of more than fifty-five bytes, so that its header is long"),
    };
    tx.tip_cap = cd_u256_from_u64(1000000000);
    tx.fee_cap = type >= CD_TX_DYNAMIC_FEE ? cd_u256_from_u64(2000000000) : tx.tip_cap;
    if (type != CD_TX_LEGACY) {
        tx.access = access;
        tx.access_cnt = 2;
    }
    if (type == CD_TX_SET_CODE) {
        tx.auths = auths;
        tx.auth_cnt = 2;
    }
    if (type == CD_TX_BLOB) {
        tx.blob_hashes = blobs;
        tx.blob_cnt = 1;
        tx.blob_fee_cap = cd_u256_one();
    }
    return tx;
}

/* What is signed, written item by item: chain IDs on both sides of where their form changes [EIP-155]. */
static void test_sign_hash_of_chain_ids(void **state)
{
    (void)state;
    static const u64 ids[] = {1, 0x7f, 0x80, 0x81, 0xff, 0x100, 0xa868, UINT64_MAX / 2 - 18};
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        cd_buf b = {0};
        cd_hash32 want;
        cd_hash32 got;
        cd_tx tx = sample(CD_TX_LEGACY);
        tx.chain_id = ids[i];
        usize list = cd_rlp_begin(&b);
        cd_rlp_put_u64(&b, tx.nonce);
        cd_rlp_put_u256(&b, &tx.tip_cap);
        cd_rlp_put_u64(&b, tx.gas_limit);
        cd_rlp_put_str(&b, cd_bytes_of(tx.to.b, sizeof tx.to.b));
        cd_rlp_put_u256(&b, &tx.value);
        cd_rlp_put_str(&b, tx.data);
        cd_rlp_put_u64(&b, ids[i]);
        cd_rlp_put_u64(&b, 0);
        cd_rlp_put_u64(&b, 0);
        cd_rlp_close(&b, list);
        cd_keccak256(&want, cd_buf_bytes(&b));
        cd_tx_sign_hash(&got, &tx);
        assert_true(cd_hash32_eq(&got, &want));
        cd_buf_fini(&b);
    }
}

/* Senders of many, around the number that is asked for at a time; those that are known stay. */
static void test_many_senders(void **state)
{
    (void)state;
    enum { MANY = 70 };
    static cd_tx txs[MANY];
    static cd_addr20 want[MANY];
    u8 secret[32];
    memset(secret, 0x22, sizeof secret);
    for (usize i = 0; i < MANY; i++) {
        secret[31] = (u8)(i / 3);
        txs[i] = sample(i % 2 == 0 ? CD_TX_LEGACY : CD_TX_DYNAMIC_FEE);
        txs[i].nonce = i;
        assert_int_equal(cd_tx_sign(&txs[i], secret), CD_OK);
        txs[i].has_sender = false;
        assert_int_equal(cd_tx_recover(&txs[i], true), CD_OK);
        want[i] = txs[i].sender;
    }
    for (usize cnt = 0; cnt <= MANY; cnt++) {
        cd_tx *copy = cd_new_array(cd_tx, cnt + 1);
        memcpy(copy, txs, cnt * sizeof *copy);
        for (usize i = 0; i < cnt; i++) {
            copy[i].has_sender = i % 5 == 4;
            copy[i].sender.b[0] ^= copy[i].has_sender ? 0 : 1;
        }
        assert_int_equal(cd_tx_recover_many(copy, cnt, true), CD_OK);
        for (usize i = 0; i < cnt; i++) {
            assert_true(copy[i].has_sender);
            assert_memory_equal(copy[i].sender.b, want[i].b, sizeof want[i].b);
        }
        cd_free(copy);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    u8 secret[32];
    memset(secret, 0x11, sizeof secret);
    for (int type = CD_TX_LEGACY; type <= CD_TX_SET_CODE; type++) {
        for (int create = 0; create < 2; create++) {
            cd_arena a = {0};
            cd_buf out = {0};
            cd_buf item = {0};
            cd_tx tx = sample((cd_tx_type)type);
            tx.is_create = create != 0 && type < CD_TX_BLOB;
            assert_int_equal(cd_tx_sign(&tx, secret), CD_OK);
            cd_tx_enc(&out, &tx);
            cd_tx back;
            assert_int_equal(cd_tx_dec(&back, &a, cd_buf_bytes(&out), NULL), CD_OK);
            assert_int_equal(cd_tx_recover(&back, true), CD_OK);
            assert_true(cd_addr20_eq(&back.sender, &tx.sender));
            assert_true(cd_hash32_eq(&back.hash, &tx.hash));
            assert_int_equal(back.type, type);
            assert_int_equal(back.chain_id, 43112);
            assert_int_equal(back.is_create, tx.is_create);
            assert_int_equal(back.access_cnt, tx.access_cnt);
            assert_true(cd_bytes_eq(back.data, tx.data));
            assert_int_equal(back.auth_cnt, tx.auth_cnt);
            for (usize i = 0; i < tx.auth_cnt; i++) {
                const cd_authorization *x = &back.auths[i];
                const cd_authorization *y = &tx.auths[i];
                assert_true(cd_u256_eq(&x->chain_id, &y->chain_id));
                assert_true(cd_addr20_eq(&x->addr, &y->addr));
                assert_int_equal(x->nonce, y->nonce);
                assert_int_equal(x->y_parity, y->y_parity);
                assert_true(cd_u256_eq(&x->r, &y->r) && cd_u256_eq(&x->s, &y->s));
            }
            if (type != CD_TX_LEGACY) {
                assert_memory_equal(back.access[0].keys, tx.access[0].keys, 64);
            }
            /* Within a block a typed transaction is a string. */
            cd_tx_enc_item(&item, &tx);
            cd_rlp r = cd_rlp_init(cd_buf_bytes(&item));
            assert_int_equal(cd_tx_dec_item(&back, &a, &r, NULL), CD_OK);
            assert_int_equal(cd_rlp_end(&r), CD_OK);
            assert_true(cd_hash32_eq(&back.hash, &tx.hash));
            /* An encoding that is cut short or has bytes added is refused. */
            for (usize n = 0; n < out.n; n++) {
                assert_int_not_equal(cd_tx_dec(&back, &a, cd_bytes_of(out.p, n), NULL), CD_OK);
            }
            cd_buf_u8(&out, 0);
            assert_int_equal(cd_tx_dec(&back, &a, cd_buf_bytes(&out), NULL), CD_ETRAIL);
            cd_buf_fini(&item);
            cd_buf_fini(&out);
            cd_arena_fini(&a);
        }
    }
}

static void test_v(void **state)
{
    (void)state;
    static const struct {
        cd_tx_type type;
        u64 v;
        cd_err want;
        u8 parity;
        bool is_protected;
        u64 chain_id;
    } cases[] = {
        {CD_TX_LEGACY, 27, CD_OK, 0, false, 0},       {CD_TX_LEGACY, 28, CD_OK, 1, false, 0},
        {CD_TX_LEGACY, 0, CD_ESIG, 0, false, 0},      {CD_TX_LEGACY, 29, CD_ESIG, 0, false, 0},
        {CD_TX_LEGACY, 34, CD_ESIG, 0, false, 0},     {CD_TX_LEGACY, 37, CD_OK, 0, true, 1},
        {CD_TX_LEGACY, 38, CD_OK, 1, true, 1},        {CD_TX_DYNAMIC_FEE, 1, CD_OK, 1, true, 0},
        {CD_TX_DYNAMIC_FEE, 2, CD_ESIG, 0, false, 0}, {CD_TX_DYNAMIC_FEE, 27, CD_ESIG, 0, false, 0},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_tx tx = {.type = cases[i].type};
        cd_u256 v = cd_u256_from_u64(cases[i].v);
        assert_int_equal(cd_tx_set_v(&tx, &v), cases[i].want);
        if (cases[i].want == CD_OK) {
            assert_int_equal(tx.y_parity, cases[i].parity);
            assert_int_equal(tx.is_protected, cases[i].is_protected);
            assert_int_equal(tx.chain_id, cases[i].chain_id);
            cd_u256 back = cd_tx_v(&tx);
            assert_true(cd_u256_eq(&back, &v));
        }
    }
    cd_tx tx = {0};
    cd_u256 huge = {.w = {0, 4, 0, 0}};
    assert_int_equal(cd_tx_set_v(&tx, &huge), CD_ERANGE);
}

/* The signature was made outside of this library (by a few lines of Python) with key 11: chain 1, nonce 7. */
static void test_authorization(void **state)
{
    (void)state;
    static const char r[] = "f973a0b87062c389d125d8199e803b832b6ac6bf7867a4f6cd87506060fc4c58";
    static const char s[] = "050ac75222858ce92c174b9432bc73fe5897db1dcc9539bc418ec12ed5cceff9";
    cd_arena a = {0};
    cd_addr20 signer;
    cd_authorization auth = {.chain_id = {.w = {1}}, .nonce = 7, .y_parity = 1};
    memset(auth.addr.b, 0xcc, sizeof auth.addr.b);
    cd_u256_load_be(&auth.r, hex(&a, r).p);
    cd_u256_load_be(&auth.s, hex(&a, s).p);
    assert_int_equal(cd_authorization_recover(&signer, &auth), CD_OK);
    assert_addr(&signer, "3da8d322cb2435da26e9c9fee670f9fb7fe74e49");
    /* Every field is signed. */
    cd_authorization other = auth;
    cd_addr20 who;
    other.nonce++;
    assert_true(cd_authorization_recover(&who, &other) != CD_OK || !cd_addr20_eq(&who, &signer));
    other = auth;
    other.addr.b[19] ^= 1;
    assert_true(cd_authorization_recover(&who, &other) != CD_OK || !cd_addr20_eq(&who, &signer));
    other = auth;
    other.chain_id.w[3] ^= 1;
    assert_true(cd_authorization_recover(&who, &other) != CD_OK || !cd_addr20_eq(&who, &signer));
    /* Refused: a parity that does not exist, a high s, a signature of zeros. */
    other = auth;
    other.y_parity = 27;
    assert_int_equal(cd_authorization_recover(&who, &other), CD_ESIG);
    other = auth;
    other.s.w[3] |= 1ULL << 63;
    assert_int_equal(cd_authorization_recover(&who, &other), CD_ESIG);
    other = (cd_authorization){.nonce = 7};
    assert_int_equal(cd_authorization_recover(&who, &other), CD_ESIG);
    /* The same key signs the same again. */
    u8 secret[32] = {[31] = 11};
    assert_int_equal(cd_authorization_sign(&auth, secret), CD_OK);
    assert_int_equal(cd_authorization_recover(&who, &auth), CD_OK);
    assert_true(cd_addr20_eq(&who, &signer));
    assert_int_equal(cd_authorization_sign(&auth, (const u8[32]){0}), CD_EKEY);
    cd_arena_fini(&a);
}

static void test_refused(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_tx tx;
    cd_errinfo why = {0};
    assert_int_equal(cd_tx_dec(&tx, &a, (cd_bytes){0}, &why), CD_ESHORT);
    assert_int_equal(cd_tx_dec(&tx, &a, hex(&a, "05c0"), &why), CD_EUNSUPPORTED);
    assert_int_equal(cd_tx_dec(&tx, &a, hex(&a, "00c0"), &why), CD_EUNSUPPORTED);
    assert_int_equal(cd_tx_dec(&tx, &a, hex(&a, "c0"), &why), CD_ESHORT);
    assert_int_equal(cd_tx_dec(&tx, &a, hex(&a, "03c1c0"), &why), CD_EUNSUPPORTED); /* carries blobs */
    /* a legacy transaction wrapped in a string */
    cd_bytes wrapped = hex(&a, "81c0");
    cd_rlp r = cd_rlp_init(wrapped);
    assert_int_equal(cd_tx_dec_item(&tx, &a, &r, &why), CD_ETYPE);
    /* high s is refused from Homestead on only */
    u8 secret[32];
    memset(secret, 0x22, sizeof secret);
    cd_tx high = sample(CD_TX_LEGACY);
    assert_int_equal(cd_tx_sign(&high, secret), CD_OK);
    cd_addr20 sender = high.sender;
    static const u8 order[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
                                 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
    cd_u256 n;
    cd_u256_load_be(&n, order);
    cd_u256_sub(&high.s, &n, &high.s);
    high.y_parity ^= 1;
    assert_int_equal(cd_tx_recover(&high, true), CD_ESIG);
    assert_int_equal(cd_tx_recover(&high, false), CD_OK);
    assert_true(cd_addr20_eq(&high.sender, &sender));
    high.s = n;
    assert_int_equal(cd_tx_recover(&high, false), CD_ESIG);
    cd_arena_fini(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eip155),
        cmocka_unit_test(test_sign_hash_of_chain_ids),
        cmocka_unit_test(test_many_senders),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_v),
        cmocka_unit_test(test_authorization),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
