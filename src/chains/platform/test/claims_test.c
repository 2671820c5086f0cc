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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),           cmocka_unit_test(conversions), cmocka_unit_test(who_is_there),
        cmocka_unit_test(who_never_comes), cmocka_unit_test(weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
