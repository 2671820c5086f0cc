/* Warp beyond the conformance data: canonical sets, every way a message fails, which validators are asked,
 * bits of several predicates, messages sent and configured. [spec:warp#5] [spec:precompiles-core#9] */
#include "base/thread/pool.h"
#include "evm/test/empty_source.h"
#include "precompile/warp_verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { NETWORK = 1337, VALIDATORS = 4, HEIGHT = 21 };

static const cd_hash32 CHAIN = {.b = {0x11}};
static const cd_hash32 SUBNET = {.b = {0x22}};
static const cd_hash32 OTHER_SUBNET = {.b = {0x33}};

typedef struct committee {
    cd_bls_sk sk[VALIDATORS];
    cd_warp_validator v[VALIDATORS + 1]; /* the last has no key */
    cd_arena arena;
    cd_warp_set set;
} committee;

static void open_committee(committee *c)
{
    *c = (committee){0};
    for (usize i = 0; i < VALIDATORS; i++) {
        u8 ikm[32] = {(u8)(i + 1)};
        assert_int_equal(cd_bls_keygen(&c->sk[i], cd_bytes_of(ikm, sizeof ikm)), CD_OK);
        assert_int_equal(cd_bls_pk_of(&c->v[i].key, &c->sk[i]), CD_OK);
        c->v[i].has_key = true;
        c->v[i].weight = 25;
    }
    assert_int_equal(cd_warp_set_make(&c->set, &c->arena, c->v, VALIDATORS), CD_OK);
}

static void close_committee(committee *c)
{
    cd_arena_fini(&c->arena);
}

/* Gives the secret key of a member of the canonical set. */
static const cd_bls_sk *secret_of(const committee *c, usize member)
{
    for (usize i = 0; i < VALIDATORS; i++) {
        u8 raw[96];
        cd_bls_pk_enc_raw(raw, &c->v[i].key);
        if (memcmp(raw, c->set.members[member].raw, sizeof raw) == 0) {
            return &c->sk[i];
        }
    }
    fail();
    return NULL;
}

/* A message of an addressed call, signed by the members whose bits are set in mask. */
static cd_warp_message sign(committee *c, u8 mask, const cd_hash32 *source)
{
    cd_buf payload = {0};
    cd_buf text = {0};
    cd_warp_message m = {.body = {.network_id = NETWORK, .source_chain = *source}};
    assert_int_equal(cd_warp_payload_enc(&payload, &(cd_warp_payload){.type = CD_WARP_ADDRESSED_CALL,
                                                                      .payload = cd_bytes_str("hello")}),
                     CD_OK);
    m.body.payload = cd_arena_dup(&c->arena, cd_buf_bytes(&payload));
    cd_warp_unsigned_enc(&text, &m.body);
    m.text = cd_arena_dup(&c->arena, cd_buf_bytes(&text));
    cd_bls_sig sigs[VALIDATORS];
    usize n = 0;
    for (usize i = 0; i < VALIDATORS; i++) {
        if ((mask >> i & 1) != 0) {
            assert_int_equal(cd_bls_sign(&sigs[n++], CD_BLS_POP, m.text, secret_of(c, i)), CD_OK);
        }
    }
    if (n != 0) {
        cd_bls_sig sum;
        assert_int_equal(cd_bls_agg_sigs(&sum, sigs, n), CD_OK);
        cd_bls_sig_enc(m.signature, &sum);
        m.signers = cd_arena_dup(&c->arena, cd_bytes_of(&mask, 1));
    } else {
        m.signature[0] = 0xc0; /* infinity */
    }
    cd_buf_fini(&payload);
    cd_buf_fini(&text);
    return m;
}

static void expect(const cd_warp_message *m, const cd_warp_set *set, const char *words)
{
    cd_errinfo why = {0};
    cd_err e = cd_warp_check(m, NETWORK, set, 67, 100, &why);
    assert_int_equal(e == CD_OK, words == NULL);
    if (words != NULL) {
        assert_string_equal(why.msg, words);
    }
}

/* --- sets --- */

static void canonical_sets(void **state)
{
    (void)state;
    committee c;
    open_committee(&c);
    cd_warp_validator v[] = {c.v[2], c.v[0], c.v[2], {.weight = 7}};
    cd_warp_set set;
    assert_int_equal(cd_warp_set_make(&set, &c.arena, v, CD_COUNT(v)), CD_OK);
    assert_int_equal(set.cnt, 2);
    assert_int_equal(set.total, 82);
    assert_true(memcmp(set.members[0].raw, set.members[1].raw, 96) < 0);
    assert_int_equal(set.members[0].weight + set.members[1].weight, 75);
    assert_int_equal(cd_warp_set_make(&set, &c.arena, NULL, 0), CD_OK);
    assert_int_equal(set.cnt, 0);
    v[0].weight = UINT64_MAX;
    assert_int_equal(cd_warp_set_make(&set, &c.arena, v, CD_COUNT(v)), CD_ERANGE);
    close_committee(&c);
}

/* --- messages --- */

static void quorum_and_signature(void **state)
{
    (void)state;
    committee c;
    open_committee(&c);
    cd_warp_message m = sign(&c, 0x0f, &CHAIN);
    expect(&m, &c.set, NULL);
    m = sign(&c, 0x07, &CHAIN);
    expect(&m, &c.set, NULL);
    m = sign(&c, 0x03, &CHAIN);
    expect(&m, &c.set, "signature weight is insufficient: 67*100 > 100*50");

    /* A validator without a key counts in the total only. */
    c.v[VALIDATORS].weight = 12;
    cd_warp_set bigger;
    assert_int_equal(cd_warp_set_make(&bigger, &c.arena, c.v, VALIDATORS + 1), CD_OK);
    m = sign(&c, 0x07, &CHAIN);
    expect(&m, &bigger, "signature weight is insufficient: 67*112 > 100*75");

    m = sign(&c, 0x07, &CHAIN);
    m.signers = cd_bytes_str("\x0e");
    expect(&m, &c.set, "signature is invalid");
    m.signers = cd_bytes_str("\x1f");
    expect(&m, &c.set, "unknown validator: NumIndices (4) >= NumFilteredValidators (4)");
    m.signers = cd_bytes_of("\0\x07", 2);
    expect(&m, &c.set, "bitset is invalid");
    m = sign(&c, 0x07, &CHAIN);
    m.signature[0] ^= 0x80;
    expect(&m, &c.set, "failed to parse signature: invalid signature");
    m = sign(&c, 0x07, &CHAIN);
    m.body.network_id++;
    expect(&m, &c.set, "wrong networkID");
    m = sign(&c, 0x07, &CHAIN);
    m.text = cd_bytes_str("something else");
    expect(&m, &c.set, "signature is invalid");
    /* No signers of an empty set are enough weight, but a signature needs a key. */
    m = sign(&c, 0, &CHAIN);
    expect(&m, &(cd_warp_set){0}, "no public keys");
    close_committee(&c);
}

/* --- whose validators --- */

typedef struct fake_host {
    cd_warp_host host;
    cd_hash32 of_source;
    cd_hash32 asked;
    cd_err subnet_err;
    cd_err set_err;
    const cd_warp_set *set;
} fake_host;

static cd_err subnet_of(cd_warp_host *h, cd_hash32 *out, const cd_hash32 *chain)
{
    const fake_host *f = (const fake_host *)h;
    (void)chain;
    if (f->subnet_err == CD_OK) {
        *out = f->of_source;
    }
    return f->subnet_err;
}

static cd_err validators_of(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height)
{
    fake_host *f = (fake_host *)h;
    (void)a;
    assert_int_equal(height, HEIGHT);
    f->asked = *subnet;
    if (f->set_err == CD_OK) {
        *out = *f->set;
    }
    return f->set_err;
}

static fake_host host_with(const cd_warp_set *set)
{
    return (fake_host){
        .host = {.network_id = NETWORK, .subnet = SUBNET, .subnet_of = subnet_of, .validators = validators_of},
        .set = set,
    };
}

static void the_set_that_is_asked_for(void **state)
{
    (void)state;
    static const cd_hash32 zero;
    committee c;
    open_committee(&c);
    fake_host f = host_with(&c.set);
    const struct {
        cd_hash32 source;
        cd_hash32 of_source;
        bool require_primary;
        cd_hash32 asked;
    } rows[] = {
        {CHAIN, OTHER_SUBNET, false, OTHER_SUBNET},
        {CHAIN, OTHER_SUBNET, true, OTHER_SUBNET},
        {CHAIN, zero, false, SUBNET},
        {CHAIN, zero, true, zero},
        {zero, zero, false, SUBNET},
        {zero, zero, true, SUBNET},
    };
    cd_module_config config = {.module = CD_MODULE_WARP};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_warp_message m = sign(&c, 0x07, &rows[i].source);
        config.own.warp.require_primary_signers = rows[i].require_primary;
        f.of_source = rows[i].of_source;
        assert_int_equal(cd_warp_check_signed(&m, &config, &f.host, HEIGHT, NULL), CD_OK);
        assert_true(cd_hash32_eq(&f.asked, &rows[i].asked));
    }
    /* The configured quorum counts. */
    cd_warp_message m = sign(&c, 0x07, &CHAIN);
    config.own.warp.quorum = 76;
    assert_int_equal(cd_warp_check_signed(&m, &config, &f.host, HEIGHT, NULL), CD_EINVAL);
    config.own.warp.quorum = 75;
    assert_int_equal(cd_warp_check_signed(&m, &config, &f.host, HEIGHT, NULL), CD_OK);

    cd_errinfo why = {0};
    assert_int_equal(cd_warp_check_signed(&m, &config, NULL, HEIGHT, &why), CD_ENOENT);
    assert_string_equal(why.msg, "cannot retrieve validator set: this network has no validators");
    f.set_err = CD_ENOENT;
    assert_int_equal(cd_warp_check_signed(&m, &config, &f.host, HEIGHT, &why), CD_ENOENT);
    assert_string_equal(why.msg, "cannot retrieve validator set: not found");
    f.set_err = CD_OK;
    f.subnet_err = CD_ENOENT;
    assert_int_equal(cd_warp_check_signed(&m, &config, &f.host, HEIGHT, &why), CD_ENOENT);
    close_committee(&c);
}

/* --- predicates --- */

static cd_schedule *primary_schedule(void)
{
    cd_arena a = {0};
    cd_json config;
    cd_schedule *s = NULL;
    const cd_chain_config chain = {.durango.is_set = true, .shanghai.is_set = true};
    assert_int_equal(cd_json_parse(&config, &a, cd_bytes_str("{\"warpConfig\":{\"blockTimestamp\":5}}"), 0, NULL),
                     CD_OK);
    assert_int_equal(
        cd_schedule_new(
            &s,
            &(cd_schedule_cfg){
                .chain = &chain, .config = config, .addrs = CD_ADDRS_PRIMARY, .network_id = NETWORK, .chain_id = CHAIN},
            NULL),
        CD_OK);
    cd_arena_fini(&a);
    return s;
}

static cd_access_tuple tuple_of(committee *c, const cd_addr20 *addr, const cd_warp_message *m)
{
    cd_buf enc = {0};
    cd_buf words = {0};
    cd_warp_message_enc(&enc, m);
    cd_predicate_pack(&words, cd_buf_bytes(&enc));
    cd_hash32 *keys = cd_arena_array(&c->arena, cd_hash32, words.n / 32);
    memcpy(keys, words.p, words.n);
    cd_access_tuple t = {.addr = *addr, .keys = keys, .key_cnt = words.n / 32};
    cd_buf_fini(&enc);
    cd_buf_fini(&words);
    return t;
}

static cd_err check(cd_predicate_results *out, cd_arena *a, const cd_schedule *s, u64 time, const cd_tx *tx,
                    cd_warp_host *host)
{
    const cd_predicates_ctx ctx = {.schedule = s, .time = time, .host = host, .height = HEIGHT};
    return cd_predicates_check(out, a, &ctx, tx, 1, NULL);
}

static cd_err cannot_tell(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height)
{
    (void)h;
    (void)out;
    (void)a;
    (void)subnet;
    (void)height;
    return CD_ERANGE;
}

/* A node whose P-Chain is behind says neither yes nor no; and many transactions are checked as each alone is. */
static void predicates_of_a_block(void **state)
{
    (void)state;
    enum { TXS = 20 };
    committee c;
    cd_pool *pool;
    cd_errinfo why = {0};
    cd_predicate_results alone = {0};
    cd_predicate_results together = {0};
    cd_buf a = {0};
    cd_buf b = {0};
    open_committee(&c);
    cd_schedule *s = primary_schedule();
    const cd_addr20 *own = cd_schedule_addr(s, CD_MODULE_WARP);
    fake_host f = host_with(&c.set);
    f.of_source = OTHER_SUBNET;
    cd_warp_message good = sign(&c, 0x07, &CHAIN);
    cd_warp_message weak = sign(&c, 0x03, &CHAIN);
    const cd_access_tuple tuples[] = {tuple_of(&c, own, &good), tuple_of(&c, own, &weak), tuple_of(&c, own, &good)};
    cd_tx txs[TXS] = {{.access = NULL}};
    for (usize i = 0; i < TXS; i++) {
        txs[i].hash.b[0] = (u8)(TXS - i);
        txs[i].access = &tuples[i % 3];
        txs[i].access_cnt = i % (4 - i % 3);
        assert_int_equal(check(&alone, &c.arena, s, 5, &txs[i], &f.host), CD_OK);
    }
    assert_int_equal(cd_pool_new(&pool, 2, 8, "worker", NULL), CD_OK);
    cd_predicates_ctx ctx = {.schedule = s, .time = 5, .host = &f.host, .height = HEIGHT, .pool = pool};
    assert_int_equal(cd_predicates_check(&together, &c.arena, &ctx, txs, TXS, NULL), CD_OK);
    cd_predicate_results_enc(&a, &alone);
    cd_predicate_results_enc(&b, &together);
    assert_true(a.n > 100 && cd_bytes_eq(cd_buf_bytes(&a), cd_buf_bytes(&b)));
    usize cnt = together.cnt;
    f.host.validators = cannot_tell;
    assert_int_equal(cd_predicates_check(&together, &c.arena, &ctx, txs, TXS, &why), CD_ERANGE);
    assert_memory_equal(why.msg, "cannot retrieve validator set: ", 31);
    assert_int_equal(together.cnt, cnt);
    cd_buf_fini(&a);
    cd_buf_fini(&b);
    cd_pool_free(pool);
    cd_schedule_free(s);
    close_committee(&c);
}

static void bits_of_several_predicates(void **state)
{
    (void)state;
    static const cd_addr20 legacy = {.b = {[0] = 2, [19] = 5}};
    static const cd_addr20 elsewhere = {.b = {9}};
    committee c;
    open_committee(&c);
    cd_schedule *s = primary_schedule();
    const cd_addr20 *own = cd_schedule_addr(s, CD_MODULE_WARP);
    fake_host f = host_with(&c.set);
    f.of_source = OTHER_SUBNET;
    cd_warp_message good = sign(&c, 0x07, &CHAIN);
    cd_warp_message weak = sign(&c, 0x03, &CHAIN);
    const cd_access_tuple tuples[] = {
        tuple_of(&c, &legacy, &weak), tuple_of(&c, own, &good), tuple_of(&c, &elsewhere, &weak),
        tuple_of(&c, own, &weak),     tuple_of(&c, own, &good), {.addr = *own},
        tuple_of(&c, &legacy, &good),
    };
    const cd_tx tx = {.hash = {.b = {7}}, .access = tuples, .access_cnt = CD_COUNT(tuples)};
    cd_predicate_results r = {0};
    assert_true(cd_predicates_has(s, 5, &tx));
    assert_false(cd_predicates_has(s, 4, &tx));
    assert_int_equal(check(&r, &c.arena, s, 4, &tx, &f.host), CD_OK);
    assert_int_equal(r.cnt, 0); /* not in force: nothing to check */
    assert_int_equal(check(&r, &c.arena, s, 5, &tx, &f.host), CD_OK);
    assert_int_equal(r.cnt, 1);
    assert_int_equal(r.txs[0].cnt, 2);
    assert_true(cd_addr20_eq(&r.txs[0].items[0].addr, own)); /* ascending */
    assert_true(cd_bytes_eq(r.txs[0].items[0].failed, cd_bytes_str("\x0a")));
    assert_true(cd_bytes_eq(r.txs[0].items[1].failed, cd_bytes_str("\x01")));
    const cd_tx plain = {.hash = {.b = {8}}, .access = &tuples[2], .access_cnt = 1};
    assert_int_equal(check(&r, &c.arena, s, 5, &plain, &f.host), CD_OK);
    assert_int_equal(r.cnt, 1);
    cd_schedule_free(s);
    close_committee(&c);
}

/* --- sending --- */

/* sendWarpMessage with a payload of n bytes. */
static cd_precompile_outcome send(cd_precompile_call *call, cd_schedule *s, usize n)
{
    usize padded = (n + 31) / 32 * 32;
    u8 *in = cd_arena_zalloc(call->arena, 4 + 64 + padded);
    cd_put_be32(in, 0xee5b48eb);
    in[4 + 31] = 32;
    cd_put_be64(in + 4 + 56, n);
    memset(in + 4 + 64, 0x5a, n);
    call->input = cd_bytes_of(in, 4 + 64 + padded);
    call->gas = 10000000;
    const cd_precompile *p = cd_precompile_find(cd_schedule_table(s, 5), cd_schedule_addr(s, CD_MODULE_WARP));
    return p->run(call, p->cfg);
}

static void sent_messages_are_found_in_logs(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_schedule *s = primary_schedule();
    cd_state *st = cd_state_new(&nothing);
    cd_state_begin_tx(st);
    cd_precompile_call call = {
        .arena = &a, .state = st, .caller = {.b = {[19] = 1}}, .self = *cd_schedule_addr(s, CD_MODULE_WARP)};
    enum { LARGEST = CD_WARP_PAYLOAD_MAX - 2 - 4 - 4 - 20 - 4 };
    static const usize sizes[] = {0, 1, 31, 32, 33, LARGEST};
    for (usize i = 0; i < CD_COUNT(sizes); i++) {
        cd_bytes bytes;
        cd_warp_unsigned m;
        cd_warp_payload p;
        cd_hash32 id;
        usize cnt;
        cd_state_clear_logs(st);
        assert_int_equal(send(&call, s, sizes[i]), CD_PRE_OK);
        const cd_log *logs = cd_state_logs(st, &cnt);
        assert_int_equal(cnt, 1);
        assert_true(cd_warp_sent(&bytes, s, 5, &logs[0]));
        assert_false(cd_warp_sent(&bytes, s, 4, &logs[0]));
        assert_int_equal(cd_warp_unsigned_dec(&m, bytes), CD_OK);
        assert_int_equal(m.network_id, NETWORK);
        assert_true(cd_hash32_eq(&m.source_chain, &CHAIN));
        assert_int_equal(cd_warp_payload_dec(&p, m.payload), CD_OK);
        assert_true(cd_bytes_eq(p.source, cd_bytes_of(call.caller.b, 20)));
        assert_int_equal(p.payload.n, sizes[i]);
        cd_warp_unsigned_id(&id, bytes);
        assert_true(cd_bytes_eq(call.output, cd_bytes_of(id.b, 32)));
        cd_log other = logs[0];
        other.addr.b[0]++;
        assert_false(cd_warp_sent(&bytes, s, 5, &other));
    }
    cd_state_clear_logs(st);
    usize cnt;
    assert_int_equal(send(&call, s, LARGEST + 1), CD_PRE_FAIL);
    assert_non_null(call.reason);
    (void)cd_state_logs(st, &cnt);
    assert_int_equal(cnt, 0);

    /* Offsets and lengths that lie about where the bytes are. */
    static const struct {
        u64 offset;
        u64 len;
        const char *words;
    } lies[] = {
        {64, 0, "abi: cannot marshal in to go slice: offset 96 would go over slice boundary (len=64)"},
        {32, 1, "abi: cannot marshal in to go type: length insufficient 64 require 65"},
        {32, UINT64_MAX, "abi: length larger than int64: 18446744073709551679"},
        {UINT64_MAX, 0,
         "abi: cannot marshal in to go slice: offset 18446744073709551647 would go over slice "
         "boundary (len=64)"},
    };
    for (usize i = 0; i < CD_COUNT(lies); i++) {
        u8 in[68] = {0xee, 0x5b, 0x48, 0xeb};
        cd_put_be64(in + 4 + 24, lies[i].offset);
        cd_put_be64(in + 4 + 56, lies[i].len);
        call.input = cd_bytes_of(in, sizeof in);
        call.gas = 10000000;
        const cd_precompile *p = cd_precompile_find(cd_schedule_table(s, 5), cd_schedule_addr(s, CD_MODULE_WARP));
        assert_int_equal(p->run(&call, p->cfg), CD_PRE_FAIL);
        assert_memory_equal(call.reason, "invalid sendWarpMessage input: ", 31);
        assert_string_equal(call.reason + 31, lies[i].words);
    }
    cd_state_free(st);
    cd_schedule_free(s);
    cd_arena_fini(&a);
}

static void off_chain_messages(void **state)
{
    (void)state;
    committee c;
    open_committee(&c);
    cd_warp_message m = sign(&c, 0x01, &CHAIN);
    cd_warp_unsigned u;
    cd_errinfo why = {0};
    assert_int_equal(cd_warp_off_chain_check(&u, m.text, 0, NETWORK, &CHAIN, NULL), CD_OK);
    assert_true(cd_bytes_eq(u.payload, m.body.payload));
    assert_int_not_equal(cd_warp_off_chain_check(&u, m.text, 2, NETWORK + 1, &CHAIN, &why), CD_OK);
    assert_string_equal(why.msg, "wrong networkID at index 2");
    assert_int_not_equal(cd_warp_off_chain_check(&u, m.text, 3, NETWORK, &SUBNET, &why), CD_OK);
    assert_string_equal(why.msg, "wrong source chainID at index 3");
    assert_int_not_equal(cd_warp_off_chain_check(&u, cd_bytes_of(m.text.p, 5), 1, NETWORK, &CHAIN, &why), CD_OK);
    assert_string_equal(why.msg, "failed to parse off-chain message at index 1: input ends too early");
    cd_buf payload = {0};
    cd_buf text = {0};
    assert_int_equal(cd_warp_payload_enc(&payload, &(cd_warp_payload){.type = CD_WARP_HASH}), CD_OK);
    cd_warp_unsigned_enc(
        &text, &(cd_warp_unsigned){.network_id = NETWORK, .source_chain = CHAIN, .payload = cd_buf_bytes(&payload)});
    assert_int_not_equal(cd_warp_off_chain_check(&u, cd_buf_bytes(&text), 0, NETWORK, &CHAIN, &why), CD_OK);
    assert_string_equal(why.msg, "failed to parse off-chain message at index 0 as AddressedCall: wrong type");
    cd_buf_fini(&payload);
    cd_buf_fini(&text);
    close_committee(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_sets),
        cmocka_unit_test(quorum_and_signature),
        cmocka_unit_test(the_set_that_is_asked_for),
        cmocka_unit_test(bits_of_several_predicates),
        cmocka_unit_test(predicates_of_a_block),
        cmocka_unit_test(sent_messages_are_found_in_logs),
        cmocka_unit_test(off_chain_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
