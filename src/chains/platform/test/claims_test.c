/* What the P-Chain says to managers of L1s: every row of the table in [spec:warp#8], each refusal with its code and the
 * original's words; and claims that were changed. */
#include "chains/platform/claims.h"
#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/txs/words.h"
#include "crypto/hash/sha2.h"
#include "types/pwarp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

enum { NOW = 1000000 };

static cd_kv *kv;
static cd_pstate s;
static const cd_hash32 net = {.b = {7}};
static const cd_hash32 other = {.b = {8}};
static const cd_p_conversion conversion = {.id = {.b = {5}}, .chain_id = {.b = {6}}};
static cd_hash32 first; /* validation ID of the net's first validator, which is there */

static void begin(void)
{
    kv = cd_kv_mem_open();
    s = (cd_pstate){.kv = kv};
    cd_p_validation_id(&first, &net, 0);
    const cd_p_l1 l = {.validation_id = first, .net_id = net, .node_id = {{1}}, .weight = 50, .min_nonce = 3};
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_TIME, NOW), CD_OK);
    assert_int_equal(cd_pstate_conversion_set(&s, &net, &conversion), CD_OK);
    assert_int_equal(cd_pstate_l1_put(&s, &l), CD_OK);
}

static void end(void)
{
    cd_kv_close(kv);
}

/* --- asking --- */

static cd_errinfo why;

static cd_p_claim judge_raw(cd_bytes payload, cd_bytes justification)
{
    const cd_warp_unsigned m = {.network_id = 1, .payload = payload};
    why = (cd_errinfo){0};
    return cd_p_claim_judge(&s, &m, justification, &why);
}

static void wrap(cd_buf *out, const char *source, cd_bytes payload)
{
    const cd_warp_payload p = {.type = CD_WARP_ADDRESSED_CALL, .source = cd_bytes_str(source), .payload = payload};
    assert_int_equal(cd_warp_payload_enc(out, &p), CD_OK);
}

static cd_p_claim judge(cd_p_payload_type type, void *v, cd_bytes justification)
{
    cd_buf inner = {0};
    cd_buf outer = {0};
    cd_p_payload p = cd_p_payload_of(type, v);
    cd_linear_put(&inner, &cd_p_payload_table, &p);
    wrap(&outer, "", cd_buf_bytes(&inner));
    cd_p_claim said = judge_raw(cd_buf_bytes(&outer), justification);
    cd_buf_fini(&inner);
    cd_buf_fini(&outer);
    return said;
}

static cd_p_claim judge_registration(const cd_hash32 *id, bool is_registered, cd_bytes justification)
{
    cd_p_payload_registration m = {.validation_id = *id, .is_registered = is_registered};
    return judge(CD_P_PAYLOAD_REGISTRATION, &m, justification);
}

static cd_p_claim judge_by_index(const cd_hash32 *id, cd_bytes net_id, u32 index)
{
    cd_buf text = {0};
    cd_p_net_index i = {.net_id = net_id, .index = index};
    const cd_p_justification j = {.preimage = CD_P_PREIMAGE_INDEX, .index = &i};
    cd_proto_put(&text, &cd_p_justification_table, &j);
    cd_p_claim said = judge_registration(id, false, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return said;
}

static cd_p_claim judge_by_message(const cd_hash32 *id, cd_bytes message)
{
    cd_buf text = {0};
    const cd_p_justification j = {.preimage = CD_P_PREIMAGE_REGISTER, .message = message};
    cd_proto_put(&text, &cd_p_justification_table, &j);
    cd_p_claim said = judge_registration(id, false, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return said;
}

static cd_p_claim judge_weight(const cd_hash32 *id, u64 nonce, u64 weight)
{
    cd_p_payload_weight m = {.validation_id = *id, .nonce = nonce, .weight = weight};
    return judge(CD_P_PAYLOAD_WEIGHT, &m, (cd_bytes){0});
}

static cd_bytes bytes_of(const cd_hash32 *id)
{
    return cd_bytes_of(id->b, sizeof id->b);
}

static void says(const char *words)
{
    assert_string_equal(why.msg, words);
}

/* --- tests --- */

static void calls(void **state)
{
    (void)state;
    begin();
    cd_buf text = {0};
    const cd_warp_payload hash = {.type = CD_WARP_HASH};
    assert_int_equal(cd_warp_payload_enc(&text, &hash), CD_OK);
    assert_int_equal(judge_raw(cd_buf_bytes(&text), (cd_bytes){0}), CD_P_CLAIM_NO_CALL);
    says("failed to parse warp addressed call: wrong payload type: *payload.Hash");
    assert_int_equal(judge_raw(cd_bytes_str("x"), (cd_bytes){0}), CD_P_CLAIM_NO_CALL);
    cd_buf_clear(&text);
    wrap(&text, "me", cd_bytes_str("x"));
    assert_int_equal(judge_raw(cd_buf_bytes(&text), (cd_bytes){0}), CD_P_CLAIM_HAS_SOURCE);
    says("source address should be empty");
    cd_buf_clear(&text);
    wrap(&text, "", cd_bytes_str("x"));
    assert_int_equal(judge_raw(cd_buf_bytes(&text), (cd_bytes){0}), CD_P_CLAIM_NO_PAYLOAD);
    cd_p_payload_register m = {.net_id = net, .weight = 1};
    assert_int_equal(judge(CD_P_PAYLOAD_REGISTER, &m, (cd_bytes){0}), CD_P_CLAIM_OTHER_PAYLOAD);
    says("unsupported warp addressed call payload type: *message.RegisterL1Validator");
    cd_buf_fini(&text);
    end();
}

static void conversions(void **state)
{
    (void)state;
    begin();
    cd_p_payload_conversion m = {.id = conversion.id};
    char words[256];
    assert_int_equal(judge(CD_P_PAYLOAD_CONVERSION, &m, bytes_of(&net)), CD_P_CLAIM_TRUE);
    assert_int_equal(judge(CD_P_PAYLOAD_CONVERSION, &m, cd_bytes_str("net")), CD_P_CLAIM_NO_JUSTIFICATION);
    says("failed to parse justification: invalid hash length: expected 32 bytes but got 3");
    assert_int_equal(judge(CD_P_PAYLOAD_CONVERSION, &m, bytes_of(&other)), CD_P_CLAIM_NO_CONVERSION);
    (void)snprintf(words, sizeof words, "subnet \"%s\" has not been converted", cd_text_id(&other).s);
    says(words);
    m.id.b[31] = 1;
    assert_int_equal(judge(CD_P_PAYLOAD_CONVERSION, &m, bytes_of(&net)), CD_P_CLAIM_OTHER_CONVERSION);
    (void)snprintf(words, sizeof words, "provided conversionID \"%s\" != expected conversionID \"%s\"",
                   cd_text_id(&m.id).s, cd_text_id(&conversion.id).s);
    says(words);
    end();
}

static void who_is_there(void **state)
{
    (void)state;
    begin();
    cd_hash32 second;
    cd_p_validation_id(&second, &net, 1);
    assert_int_equal(judge_registration(&first, true, cd_bytes_str("anything")), CD_P_CLAIM_TRUE);
    assert_int_equal(judge_registration(&second, true, (cd_bytes){0}), CD_P_CLAIM_NO_VALIDATION);
    assert_int_equal(judge_registration(&second, false, (cd_bytes){0}), CD_P_CLAIM_OTHER_JUSTIFICATION);
    says("invalid justification type: <nil>");
    assert_int_equal(judge_registration(&second, false, cd_bytes_str("\xff")), CD_P_CLAIM_NO_JUSTIFICATION);
    assert_int_equal(judge_by_index(&second, bytes_of(&net), 1), CD_P_CLAIM_TRUE);
    assert_int_equal(judge_by_index(&first, bytes_of(&net), 0), CD_P_CLAIM_VALIDATION);
    assert_int_equal(judge_by_index(&first, bytes_of(&net), 1), CD_P_CLAIM_OTHER_VALIDATION);
    assert_int_equal(judge_by_index(&first, cd_bytes_str("?"), 1), CD_P_CLAIM_NO_NET);
    says("failed to parse subnetID: invalid hash length: expected 32 bytes but got 1");
    cd_p_validation_id(&second, &other, 1);
    assert_int_equal(judge_by_index(&second, bytes_of(&other), 1), CD_P_CLAIM_NO_CONVERSION);
    end();
}

static void who_never_comes(void **state)
{
    (void)state;
    begin();
    u8 node[20] = {3};
    cd_hash32 id;
    cd_buf text = {0};
    cd_p_payload_register m = {
        .net_id = net, .node_id = cd_bytes_of(node, sizeof node), .expiry = NOW + 1, .weight = 9};
    cd_p_payload p = cd_p_payload_of(CD_P_PAYLOAD_REGISTER, &m);
    cd_linear_put(&text, &cd_p_payload_table, &p);
    cd_sha256(&id, cd_buf_bytes(&text));
    assert_int_equal(judge_by_message(&id, cd_buf_bytes(&text)), CD_P_CLAIM_TO_COME);
    assert_int_equal(judge_by_message(&first, cd_buf_bytes(&text)), CD_P_CLAIM_OTHER_VALIDATION);
    assert_int_equal(judge_by_message(&id, cd_bytes_str("?")), CD_P_CLAIM_NO_REGISTER);
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_TIME, NOW + 1), CD_OK); /* it has expired */
    assert_int_equal(judge_by_message(&id, cd_buf_bytes(&text)), CD_P_CLAIM_TRUE);
    assert_int_equal(cd_pstate_num_set(&s, CD_PSTATE_TIME, NOW), CD_OK);
    assert_int_equal(cd_pstate_expiry_put(&s, NOW + 1, &id), CD_OK); /* it was used, and removed since */
    assert_int_equal(judge_by_message(&id, cd_buf_bytes(&text)), CD_P_CLAIM_TRUE);
    const cd_p_l1 l = {.validation_id = id, .net_id = net, .node_id = {{3}}, .weight = 9};
    assert_int_equal(cd_pstate_l1_put(&s, &l), CD_OK);
    assert_int_equal(judge_by_message(&id, cd_buf_bytes(&text)), CD_P_CLAIM_VALIDATION);
    /* Changed anywhere, it is another validator's. */
    for (usize i = 0; i < 8 * text.n; i++) {
        text.p[i / 8] ^= (u8)(1u << (i % 8));
        cd_p_claim said = judge_by_message(&id, cd_buf_bytes(&text));
        assert_true(said == CD_P_CLAIM_OTHER_VALIDATION || said == CD_P_CLAIM_NO_REGISTER);
        text.p[i / 8] ^= (u8)(1u << (i % 8));
    }
    cd_buf_fini(&text);
    end();
}

static void weights(void **state)
{
    (void)state;
    begin();
    assert_int_equal(judge_weight(&first, 2, 50), CD_P_CLAIM_TRUE);
    assert_int_equal(judge_weight(&first, UINT64_MAX, 50), CD_P_CLAIM_LAST_NONCE);
    says("impossible nonce");
    assert_int_equal(judge_weight(&other, 2, 50), CD_P_CLAIM_NO_VALIDATION);
    assert_int_equal(judge_weight(&first, 3, 50), CD_P_CLAIM_OTHER_NONCE);
    says("provided nonce 3 != expected nonce (3 - 1)");
    assert_int_equal(judge_weight(&first, 2, 51), CD_P_CLAIM_OTHER_WEIGHT);
    says("provided weight 51 != expected weight 50");
    end();
}

/* --- claims that were changed --- */

/* A claim that is true. */
typedef struct proved {
    cd_buf payload, justification;
    bool needs; /* a justification */
} proved;

static void prove(proved *out, cd_p_payload_type type, void *v, bool needs)
{
    cd_buf inner = {0};
    cd_p_payload p = cd_p_payload_of(type, v);
    cd_linear_put(&inner, &cd_p_payload_table, &p);
    wrap(&out->payload, "", cd_buf_bytes(&inner));
    out->needs = needs;
    assert_int_equal(judge_raw(cd_buf_bytes(&out->payload), cd_buf_bytes(&out->justification)), CD_P_CLAIM_TRUE);
    cd_buf_fini(&inner);
}

static void prove_all(proved out[5])
{
    u8 node[20] = {3};
    cd_hash32 id;
    cd_buf message = {0};
    cd_p_payload_conversion converted = {.id = conversion.id};
    cd_p_payload_weight weight = {.validation_id = first, .nonce = 2, .weight = 50};
    cd_p_payload_registration there = {.validation_id = first, .is_registered = true};
    cd_p_payload_registration gone = {.is_registered = false};
    cd_p_payload_register m = {.net_id = net, .node_id = cd_bytes_of(node, sizeof node), .expiry = NOW, .weight = 9};
    cd_p_payload p = cd_p_payload_of(CD_P_PAYLOAD_REGISTER, &m);
    cd_buf_put(&out[0].justification, bytes_of(&net));
    prove(&out[0], CD_P_PAYLOAD_CONVERSION, &converted, true);
    prove(&out[1], CD_P_PAYLOAD_WEIGHT, &weight, false);
    prove(&out[2], CD_P_PAYLOAD_REGISTRATION, &there, false);
    cd_p_validation_id(&gone.validation_id, &net, 1);
    cd_p_net_index i = {.net_id = bytes_of(&net), .index = 1};
    const cd_p_justification by_index = {.preimage = CD_P_PREIMAGE_INDEX, .index = &i};
    cd_proto_put(&out[3].justification, &cd_p_justification_table, &by_index);
    prove(&out[3], CD_P_PAYLOAD_REGISTRATION, &gone, true);
    cd_linear_put(&message, &cd_p_payload_table, &p);
    cd_sha256(&id, cd_buf_bytes(&message));
    gone.validation_id = id;
    const cd_p_justification by_message = {.preimage = CD_P_PREIMAGE_REGISTER, .message = cd_buf_bytes(&message)};
    cd_proto_put(&out[4].justification, &cd_p_justification_table, &by_message);
    prove(&out[4], CD_P_PAYLOAD_REGISTRATION, &gone, true);
    cd_buf_fini(&message);
}

static u64 dice(u64 sides)
{
    static u64 x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % sides;
}

/* One change, seldom more: a bit, a byte, what is cut off, doubled, or behind the end. */
static void change(cd_buf *b)
{
    do {
        u8 byte = (u8)dice(256);
        usize at = (usize)dice(b->n + 1);
        if (at == b->n || b->n == 0) {
            cd_buf_u8(b, byte);
        } else if (dice(3) == 0) {
            b->p[at] ^= (u8)(1u << dice(8));
        } else if (dice(2) == 0) {
            b->p[at] = byte;
        } else if (dice(2) == 0) {
            b->n = at;
        } else {
            memmove(b->p + at, b->p + at + 1, b->n - at - 1);
            b->n--;
        }
    } while (dice(4) == 0);
}

/* Whether a text of another form still names the same (protobuf has many forms for one thing). */
static bool names_the_same(cd_bytes a, cd_bytes b)
{
    cd_arena mem = {0};
    cd_p_justification x = {.preimage = CD_P_PREIMAGE_NONE};
    cd_p_justification y = {.preimage = CD_P_PREIMAGE_NONE};
    bool is = cd_proto_parse(&x, &cd_p_justification_table, &mem, a, NULL) == CD_OK &&
              cd_proto_parse(&y, &cd_p_justification_table, &mem, b, NULL) == CD_OK && x.preimage == y.preimage;
    if (is && x.preimage == CD_P_PREIMAGE_INDEX) {
        is = cd_bytes_eq(x.index->net_id, y.index->net_id) && x.index->index == y.index->index;
    } else if (is) {
        is = x.preimage == CD_P_PREIMAGE_REGISTER && cd_bytes_eq(x.message, y.message);
    }
    cd_arena_fini(&mem);
    return is;
}

/* 10,000 of them: none but those that say the same is signed, and each refusal has words. */
static void changed(void **state)
{
    enum { MUTANTS = 10000 };
    proved all[5] = {0};
    u32 kinds[CD_P_CLAIM_OTHER_WEIGHT + 1] = {0};
    (void)state;
    begin();
    prove_all(all);
    for (u32 i = 0; i < MUTANTS; i++) {
        const proved *p = &all[dice(CD_COUNT(all))];
        cd_buf payload = {0};
        cd_buf justification = {0};
        cd_buf_put(&payload, cd_buf_bytes(&p->payload));
        cd_buf_put(&justification, cd_buf_bytes(&p->justification));
        change(p->needs && dice(2) == 0 ? &justification : &payload);
        cd_p_claim said = judge_raw(cd_buf_bytes(&payload), cd_buf_bytes(&justification));
        assert_int_not_equal(said, CD_P_CLAIM_BROKEN);
        kinds[said]++;
        if (said != CD_P_CLAIM_TRUE) {
            assert_int_not_equal(strlen(why.msg), 0);
        } else {
            assert_true(cd_bytes_eq(cd_buf_bytes(&payload), cd_buf_bytes(&p->payload)));
            assert_true(cd_bytes_eq(cd_buf_bytes(&justification), cd_buf_bytes(&p->justification)) ||
                        names_the_same(cd_buf_bytes(&justification), cd_buf_bytes(&p->justification)));
        }
        cd_buf_fini(&payload);
        cd_buf_fini(&justification);
    }
    assert_true(kinds[CD_P_CLAIM_TRUE] < MUTANTS / 10);
    assert_true(kinds[CD_P_CLAIM_OTHER_VALIDATION] > 0 && kinds[CD_P_CLAIM_OTHER_WEIGHT] > 0);
    for (usize i = 0; i < CD_COUNT(all); i++) {
        cd_buf_fini(&all[i].payload);
        cd_buf_fini(&all[i].justification);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),           cmocka_unit_test(conversions), cmocka_unit_test(who_is_there),
        cmocka_unit_test(who_never_comes), cmocka_unit_test(weights),     cmocka_unit_test(changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
