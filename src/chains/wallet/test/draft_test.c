#include "chains/wallet/draft.h"

#include "chains/wallet/fund.h"
#include "crypto/ec/secp256k1.h"
#include "types/xtx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const u8 secrets[2][32] = {{1}, {2}};

static void addr_of(cd_addr20 *out, const u8 secret[32])
{
    u8 pub[64];
    assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
    cd_secp256k1_short_addr(out, pub);
}

/* A transfer that both keys have to sign. */
static void make(cd_wallet_draft *d, cd_arena *a, const char *chain, u32 credential)
{
    const bool is_x = chain[0] == 'X';
    cd_p_base *base = cd_arena_new(a, cd_p_base);
    cd_addr20 *who = cd_arena_array(a, cd_addr20, 2);
    addr_of(&who[0], secrets[0]);
    addr_of(&who[1], secrets[1]);
    base->network_id = 1337;
    const cd_linear_any body =
        is_x ? (cd_linear_any){.is = cd_x_case(CD_X_BASE_TX), .v = base} : cd_p_body(CD_P_BASE_TX, base);
    *d = (cd_wallet_draft){.chain = cd_wallet_chain_find(cd_bytes_str(chain)), .network_id = 1337, .body = body};
    const cd_wallet_slot slot = {.type = credential, .cnt = 2, .signers = who};
    cd_wallet_slots_add(d, a, &slot, 1);
}

/* Passes a draft on to another signer, who knows the transaction only from its JSON. */
static void passed_on(cd_wallet_draft *out, cd_arena *a, const cd_wallet_draft *d)
{
    cd_buf text = {0};
    cd_json v;
    cd_json_w w = {.out = &text};
    cd_wallet_draft_json(&w, d, "custom");
    assert_int_equal(cd_json_parse(&v, a, cd_buf_bytes(&text), 0, NULL), CD_OK);
    assert_int_equal(cd_wallet_draft_read(out, a, v, NULL), CD_OK);
    cd_buf_fini(&text);
}

static void signed_by_two(void **state)
{
    (void)state;
    static const struct {
        const char *chain;
        u32 credential;
    } rows[] = {{"P", 9}, {"X", 9}, {"X", 14}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_arena a = {0};
        cd_wallet_draft first;
        cd_wallet_draft second;
        cd_wallet_draft both;
        cd_addr20 other;
        u32 given;
        cd_buf x = {0};
        cd_buf y = {0};
        make(&first, &a, rows[i].chain, rows[i].credential);
        addr_of(&other, secrets[1]);
        assert_int_equal(cd_wallet_sign(&first, &given, &secrets[0], 1), CD_OK);
        assert_int_equal(given, 1);
        assert_memory_equal(cd_wallet_missing(&first), &other, sizeof other);
        passed_on(&second, &a, &first);
        assert_int_equal(cd_wallet_sign(&second, &given, &secrets[1], 1), CD_OK);
        assert_int_equal(given, 1);
        assert_null(cd_wallet_missing(&second));
        make(&both, &a, rows[i].chain, rows[i].credential);
        assert_int_equal(cd_wallet_sign(&both, &given, secrets, 2), CD_OK);
        assert_int_equal(given, 2);
        cd_wallet_bytes(&x, &both);
        cd_wallet_bytes(&y, &second);
        assert_int_equal(x.n, y.n);
        assert_memory_equal(x.p, y.p, x.n);
        cd_buf_fini(&x);
        cd_buf_fini(&y);
        cd_arena_fini(&a);
    }
}

static void a_stranger_gives_nothing(void **state)
{
    (void)state;
    static const u8 stranger[1][32] = {{3}};
    cd_arena a = {0};
    cd_wallet_draft d;
    u32 given;
    make(&d, &a, "P", 9);
    assert_int_equal(cd_wallet_sign(&d, &given, stranger, 1), CD_OK);
    assert_int_equal(given, 0);
    assert_non_null(cd_wallet_missing(&d));
    cd_arena_fini(&a);
}

static void bad_drafts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"chain\":\"Q\",\"networkID\":1,\"unsigned\":\"0x00\",\"credentials\":[]}",
        "{\"chain\":\"P\",\"networkID\":1,\"unsigned\":\"0x00\",\"credentials\":[]}",
        "{\"chain\":\"P\",\"networkID\":4294967296,\"unsigned\":\"0x00\",\"credentials\":[]}",
        "{\"chain\":\"P\",\"networkID\":1,\"unsigned\":\"zz\",\"credentials\":[]}",
        "{\"chain\":\"P\",\"networkID\":1,\"unsigned\":\"0x00\",\"credentials\":[{\"type\":9,\"signers\":[\"x\"],"
        "\"signatures\":[]}]}",
        "{\"chain\":\"P\",\"networkID\":1,\"unsigned\":\"0x00\",\"credentials\":[{\"type\":9,\"signers\":[\"x\"],"
        "\"signatures\":[null]}]}",
    };
    for (usize i = 0; i < CD_COUNT(texts); i++) {
        cd_arena a = {0};
        cd_json v;
        cd_wallet_draft d;
        assert_int_equal(cd_json_parse(&v, &a, cd_bytes_str(texts[i]), 0, NULL), CD_OK);
        assert_int_not_equal(cd_wallet_draft_read(&d, &a, v, NULL), CD_OK);
        cd_arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_by_two),
        cmocka_unit_test(a_stranger_gives_nothing),
        cmocka_unit_test(bad_drafts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
