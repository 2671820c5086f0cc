/* Messages of a messenger as a chain signs them, and the transaction that brings one. [spec:warp#4] [spec:warp#7] */
#include "relay/form.h"

#include "base/hex.h"
#include "codec/abi.h"
#include "types/predicate.h"
#include "types/tx_codec.h"
#include "types/warp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORD = 32 };

static const cd_addr20 messenger = {{0xaa, 1}};
static const cd_addr20 sender = {{0xbb, 2}};
static const cd_addr20 relay = {{0xcc, 3}};
static const cd_hash32 source = {{1}};
static const cd_hash32 target = {{2}};

/* The message's ABI, with so many relays allowed. */
static void put_message(cd_buf *out, cd_arena *mem, usize relays, const cd_u256 *gas)
{
    cd_abi_type type;
    cd_abi_val allowed[100];
    for (usize i = 0; i < relays; i++) {
        allowed[i] = (cd_abi_val){.num = cd_u256_from_addr(i + 1 == relays ? &relay : &sender)};
    }
    const cd_abi_val fields[] = {
        {.num = cd_u256_from_u64(7)},
        {.num = cd_u256_from_addr(&sender)},
        {.bytes = cd_bytes_of(target.b, WORD)},
        {.num = cd_u256_from_addr(&relay)},
        {.num = *gas},
        {.items = allowed, .cnt = relays},
        {.items = NULL, .cnt = 0},
        {.bytes = cd_bytes_str("hello")},
    };
    const cd_abi_val m = {.items = fields, .cnt = CD_COUNT(fields)};
    const cd_abi_val all = {.items = &m, .cnt = 1};
    assert_int_equal(
        cd_abi_parse(&type, mem,
                     cd_bytes_str("((uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes))"),
                     NULL),
        CD_OK);
    assert_int_equal(cd_abi_enc(out, &type, &all), CD_OK);
}

static void put_warp(cd_buf *out, cd_bytes abi, cd_bytes from)
{
    cd_buf payload = {0};
    const cd_warp_payload p = {.type = CD_WARP_ADDRESSED_CALL, .source = from, .payload = abi};
    assert_int_equal(cd_warp_payload_enc(&payload, &p), CD_OK);
    const cd_warp_unsigned u = {.network_id = 1, .source_chain = source, .payload = cd_buf_bytes(&payload)};
    cd_warp_unsigned_enc(out, &u);
    cd_buf_fini(&payload);
}

static void make(cd_buf *out, cd_arena *mem, usize relays, const cd_u256 *gas)
{
    cd_buf abi = {0};
    put_message(&abi, mem, relays, gas);
    put_warp(out, cd_buf_bytes(&abi), cd_bytes_of(messenger.b, sizeof messenger.b));
    cd_buf_fini(&abi);
}

static void is_read(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_buf b = {0};
    cd_relay_seen s;
    cd_hash32 id;
    const cd_u256 gas = cd_u256_from_u64(100000);
    make(&b, &mem, 0, &gas);
    assert_int_equal(cd_relay_form_read(&s, &mem, cd_buf_bytes(&b)), CD_OK);
    cd_warp_unsigned_id(&id, cd_buf_bytes(&b));
    assert_memory_equal(s.warp_id.b, id.b, WORD);
    assert_memory_equal(s.source.b, source.b, WORD);
    assert_memory_equal(s.destination.b, target.b, WORD);
    assert_memory_equal(s.messenger.b, messenger.b, sizeof messenger.b);
    assert_memory_equal(s.sender.b, sender.b, sizeof sender.b);
    assert_int_equal(s.gas, 100000);
    assert_true(cd_relay_form_may(&s, &relay));
    cd_buf_fini(&b);
    cd_arena_fini(&mem);
}

static void names_relays(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_relay_seen s;
    const cd_u256 gas = cd_u256_max();
    cd_buf b = {0};
    make(&b, &mem, 2, &gas);
    assert_int_equal(cd_relay_form_read(&s, &mem, cd_buf_bytes(&b)), CD_OK);
    assert_true(s.gas == UINT64_MAX);
    assert_true(cd_relay_form_may(&s, &relay));
    assert_false(cd_relay_form_may(&s, &messenger));
    cd_buf_clear(&b);
    make(&b, &mem, 65, &gas);
    assert_int_equal(cd_relay_form_read(&s, &mem, cd_buf_bytes(&b)), CD_ELIMIT);
    cd_buf_fini(&b);
    cd_arena_fini(&mem);
}

/* Bytes of a stranger: each prefix and each flipped byte is read, or refused, without harm. */
static void what_is_none_is_refused(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_buf b = {0};
    cd_relay_seen s;
    const cd_u256 gas = cd_u256_from_u64(1);
    make(&b, &mem, 1, &gas);
    for (usize n = 0; n < b.n; n++) {
        assert_int_not_equal(cd_relay_form_read(&s, &mem, cd_bytes_of(b.p, n)), CD_OK);
        b.p[n] ^= 0xff;
        (void)!cd_relay_form_read(&s, &mem, cd_buf_bytes(&b));
        b.p[n] ^= 0xff;
    }
    cd_buf_clear(&b);
    put_warp(&b, cd_bytes_str("no message"), cd_bytes_of(messenger.b, sizeof messenger.b));
    assert_int_not_equal(cd_relay_form_read(&s, &mem, cd_buf_bytes(&b)), CD_OK);
    cd_buf_clear(&b);
    put_warp(&b, cd_bytes_str(""), cd_bytes_str(""));
    assert_int_equal(cd_relay_form_read(&s, &mem, cd_buf_bytes(&b)), CD_ETYPE);
    cd_buf_fini(&b);
    cd_arena_fini(&mem);
}

static void is_brought(void **state)
{
    (void)state;
    static const u8 key[WORD] = {5};
    cd_arena mem = {0};
    cd_buf raw = {0};
    cd_tx tx;
    cd_bytes back;
    cd_addr20 account;
    const cd_bytes message = cd_bytes_str("a signed message, of more than one word of 32 bytes");
    const cd_relay_bring b = {.chain_id = 99,
                              .nonce = 4,
                              .gas = 1000000,
                              .fee_cap = cd_u256_from_u64(50),
                              .tip_cap = cd_u256_from_u64(2),
                              .warp = sender,
                              .messenger = messenger,
                              .reward = relay,
                              .signed_message = message,
                              .key = key};
    assert_int_equal(cd_relay_form_account(&account, key), CD_OK);
    assert_int_equal(cd_relay_form_tx(&raw, &mem, &b), CD_OK);
    assert_int_equal(cd_tx_dec(&tx, &mem, cd_buf_bytes(&raw), NULL), CD_OK);
    assert_int_equal(cd_tx_recover(&tx, true), CD_OK);
    assert_memory_equal(tx.sender.b, account.b, sizeof account.b);
    assert_memory_equal(tx.to.b, messenger.b, sizeof messenger.b);
    assert_true(tx.chain_id == 99 && tx.nonce == 4 && tx.gas_limit == 1000000);
    assert_int_equal(tx.data.n, 4 + 2 * WORD);
    assert_memory_equal(tx.data.p + tx.data.n - sizeof relay.b, relay.b, sizeof relay.b);
    assert_int_equal(tx.access_cnt, 1);
    assert_memory_equal(tx.access[0].addr.b, sender.b, sizeof sender.b);
    assert_int_equal(cd_predicate_unpack(&back, tx.access[0].keys, tx.access[0].key_cnt, NULL), CD_OK);
    assert_true(cd_bytes_eq(back, message));
    cd_buf_fini(&raw);
    cd_arena_fini(&mem);
}

static void gas_never_wraps(void **state)
{
    (void)state;
    const cd_bytes none = {0};
    assert_true(cd_relay_form_gas(none, UINT64_MAX) == UINT64_MAX);
    assert_true(cd_relay_form_gas(none, UINT64_MAX - 5) == UINT64_MAX);
    assert_true(cd_relay_form_gas(none, 6000) > 200000 + 6000);
}

static void asks_for_an_id(void **state)
{
    (void)state;
    cd_arena mem = {0};
    const cd_hash32 id = {{0xab}};
    const char *text = cd_relay_form_ask(&mem, &id);
    assert_int_equal(strlen(text), 2 + 2 * (4 + WORD));
    assert_memory_equal(text + 10, "ab", 2);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read),    cmocka_unit_test(names_relays),    cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(is_brought), cmocka_unit_test(gas_never_wraps), cmocka_unit_test(asks_for_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
