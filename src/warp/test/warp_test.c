/* Six validators of one net who sign for each other, on a virtual clock. The network is the test: it hands on what the
 * nodes say, at once or when it likes, and some of them lie. [spec:warp#5] [spec:p2p#12] */
#include "base/mem/mem.h"
#include "store/kv.h"
#include "warp/collect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEC CD_NS_PER_SEC

enum { NODES = 6, NETWORK = 1337, JUDGED = 7 };

/* How a node answers requests for signatures. */
typedef enum manner {
    HONEST,
    DEAF,   /* never */
    LIAR,   /* with a signature of something else */
    FORGER, /* with the signature of another node */
    BABBLER /* with bytes */
} manner;

typedef struct node {
    cd_gossip_vm vm; /* first */
    cd_vm_ctx ctx;
    cd_vm_sender sender;
    cd_vm_signer signer;
    cd_bls_sk sk;
    u64 weight;
    cd_kv *kv;
    cd_warp *warp;
    manner manner;
    u32 asked;
} node;

static cd_clock_virtual vclock;
static node nodes[NODES];
static cd_vm_validators validators;
static u64 height;
static u32 set_reads;
static i32 last_code;
static char last_words[200];
static cd_rng rng;
static u64 keyless; /* weight of a validator without a key */

static const cd_hash32 chain = {.b = {9, 9}};

static cd_node_id id_of(usize i)
{
    return (cd_node_id){{(u8)(i + 1)}};
}

static node *by_id(const cd_node_id *id)
{
    usize i = id->b[0] - 1u;
    return i < NODES ? &nodes[i] : NULL;
}

/* --- who validates --- */

static cd_err v_current(const cd_vm_validators *v, u64 *out)
{
    (void)v;
    *out = height;
    return CD_OK;
}

static cd_err v_at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                   const cd_hash32 *subnet, u64 at)
{
    (void)v;
    set_reads++;
    if (at > height) {
        return CD_ERANGE;
    }
    cd_vm_validator *all = cd_arena_array(a, cd_vm_validator, NODES + 1);
    *out = all;
    *cnt = subnet->b[0] == 0 ? NODES + (keyless != 0) : 0;
    for (usize i = 0; i < NODES; i++) {
        cd_bls_pk pk;
        assert_int_equal(cd_bls_pk_of(&pk, &nodes[i].sk), CD_OK);
        all[i] = (cd_vm_validator){.node_id = id_of(i), .weight = nodes[i].weight, .has_key = true};
        cd_bls_pk_enc_raw(all[i].key, &pk);
    }
    all[NODES].weight = keyless;
    return CD_OK;
}

/* --- the network --- */

static node *speaker(const cd_vm_sender *s)
{
    return (node *)(void *)((u8 *)(usize)(const void *)s - offsetof(node, sender));
}

static cd_err sign(const cd_vm_signer *s, u8 out[96], cd_bytes msg)
{
    const node *n = (const node *)(const void *)((const u8 *)(const void *)s - offsetof(node, signer));
    cd_bls_sig sig;
    CD_TRY(cd_bls_sign(&sig, CD_BLS_POP, msg, &n->sk));
    cd_bls_sig_enc(out, &sig);
    return CD_OK;
}

static void net_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    node *from = speaker(s);
    node *n = by_id(to);
    cd_node_id self = from->ctx.node_id;
    n->asked++;
    u8 sig[96] = {1, 2, 3};
    cd_buf answer = {0};
    switch (n->manner) {
    case HONEST:
        cd_gossip_on_request(&n->vm.vm, &self, id, UINT64_MAX, msg);
        return;
    case DEAF:
        return;
    case LIAR:
        assert_int_equal(sign(&n->signer, sig, cd_bytes_str("another message")), CD_OK);
        break;
    case FORGER:
        assert_int_equal(sign(&nodes[0].signer, sig, cd_bytes_str("another message")), CD_OK);
        break;
    case BABBLER:
        break;
    }
    const cd_p2p_sig_response r = {.signature = cd_bytes_of(sig, sizeof sig)};
    cd_proto_put(&answer, &cd_p2p_sig_response_table, &r);
    cd_gossip_on_response(&from->vm.vm, to, id, cd_buf_bytes(&answer));
    cd_buf_fini(&answer);
}

static void net_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    cd_node_id self = speaker(s)->ctx.node_id;
    last_code = 0;
    if (by_id(to) != NULL) {
        cd_gossip_on_response(&by_id(to)->vm.vm, &self, id, msg);
    }
}

static void net_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes text)
{
    cd_node_id self = speaker(s)->ctx.node_id;
    last_code = code;
    assert_true(text.n < sizeof last_words);
    memcpy(last_words, text.p, text.n);
    last_words[text.n] = '\0';
    if (by_id(to) != NULL) {
        cd_gossip_on_failed(&by_id(to)->vm.vm, &self, id, code, text);
    }
}

static void net_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    (void)s;
    (void)to;
    (void)msg;
}

static bool is_no_more; /* what was true is not */

/* Takes addressed calls whose payload is the justification. */
static i32 judge(void *ctx, const cd_warp_unsigned *m, cd_bytes justification, cd_errinfo *why)
{
    cd_warp_payload p;
    (void)ctx;
    if (!is_no_more && cd_warp_payload_dec(&p, m->payload) == CD_OK && p.type == CD_WARP_ADDRESSED_CALL &&
        p.payload.n != 0 && cd_bytes_eq(p.payload, justification)) {
        return 0;
    }
    (void)cd_fail(why, CD_EINVAL, "not justified");
    return JUDGED;
}

static void begin(void)
{
    cd_clock_virtual_init(&vclock, 1000 * SEC);
    rng = cd_rng_seeded(1);
    height = 5;
    keyless = 0;
    set_reads = 0;
    validators = (cd_vm_validators){.current = v_current, .at = v_at};
    for (usize i = 0; i < NODES; i++) {
        node *n = &nodes[i];
        u8 seed[32] = {(u8)(i + 1)};
        cd_bls_pk pk;
        *n = (node){.weight = 10 + i};
        assert_int_equal(cd_bls_keygen(&n->sk, cd_bytes_of(seed, sizeof seed)), CD_OK);
        assert_int_equal(cd_bls_pk_of(&pk, &n->sk), CD_OK);
        cd_bls_pk_enc(n->signer.key, &pk);
        n->signer.sign = sign;
        n->sender = (cd_vm_sender){net_request, net_response, net_error, net_gossip};
        n->ctx = (cd_vm_ctx){
            .clock = &vclock.clock,
            .rng = &rng,
            .sender = &n->sender,
            .signer = &n->signer,
            .validators = &validators,
            .network_id = NETWORK,
            .chain_id = chain,
            .node_id = id_of(i),
        };
        n->kv = cd_kv_mem_open();
        n->vm.gossip = cd_gossip_new(&n->ctx);
        n->warp = cd_warp_new(
            &(cd_warp_cfg){.ctx = &n->ctx, .kv = n->kv, .gossip = n->vm.gossip, .judge = judge, .judge_ctx = n});
    }
}

static void end(void)
{
    for (usize i = 0; i < NODES; i++) {
        cd_warp_free(nodes[i].warp);
        cd_gossip_free(nodes[i].vm.gossip);
        cd_kv_close(nodes[i].kv);
    }
}

/* --- messages --- */

static void message_of(cd_buf *out, u32 network, const cd_hash32 *source, const char *said)
{
    cd_buf payload = {0};
    const cd_warp_payload p = {.type = CD_WARP_ADDRESSED_CALL, .payload = cd_bytes_str(said)};
    assert_int_equal(cd_warp_payload_enc(&payload, &p), CD_OK);
    const cd_warp_unsigned m = {.network_id = network, .source_chain = *source, .payload = cd_buf_bytes(&payload)};
    cd_buf_clear(out);
    cd_warp_unsigned_enc(out, &m);
    cd_buf_fini(&payload);
}

static void accept(node *n, cd_bytes message)
{
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, n->kv);
    cd_warp_put(&batch, message);
    assert_int_equal(cd_kv_commit(n->kv, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&batch);
}

static void accept_all(cd_bytes message)
{
    for (usize i = 0; i < NODES; i++) {
        accept(&nodes[i], message);
    }
}

/* Whether a collected message is good on the receiving side, and how many signed. */
static u64 signers_of(cd_bytes message, u64 quorum)
{
    cd_warp_message m;
    cd_warp_signers *s;
    static const cd_hash32 subnet;
    assert_int_equal(cd_warp_message_dec(&m, message), CD_OK);
    assert_int_equal(cd_warp_sets_get(cd_warp_sets_of(nodes[0].warp), &s, &subnet, height), CD_OK);
    assert_int_equal(cd_warp_check(&m, NETWORK, &s->set, quorum, 100, NULL), CD_OK);
    cd_warp_signers_unref(s);
    return cd_bits_count(m.signers);
}

static cd_warp_wish *wish(usize i, cd_bytes message, u64 quorum, cd_err expected, cd_errinfo *why)
{
    cd_warp_wish *got = NULL;
    const cd_warp_want want = {.message = message, .quorum = quorum};
    assert_int_equal(cd_warp_collect(nodes[i].warp, &got, &want, why), expected);
    return got;
}

static cd_err taken(cd_warp_wish *w, cd_buf *out, cd_errinfo *why)
{
    assert_true(cd_warp_wish_is_done(w));
    cd_buf_clear(out);
    return cd_warp_wish_take(w, out, why);
}

static void pass(node *n, u64 ns)
{
    for (u64 at = 0; at < ns; at += SEC / 20) {
        cd_clock_virtual_advance(&vclock, SEC / 20);
        (void)cd_warp_wake(n->warp);
    }
}

/* --- tests --- */

static void signed_by_many(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    cd_buf got = {0};
    message_of(&m, NETWORK, &chain, "hello");
    accept_all(cd_buf_bytes(&m));
    assert_int_equal(taken(wish(2, cd_buf_bytes(&m), 67, CD_OK, NULL), &got, NULL), CD_OK);
    assert_true(signers_of(cd_buf_bytes(&got), 67) < NODES); /* as soon as there are enough */
    u32 asked = nodes[5].asked;
    assert_int_equal(taken(wish(2, cd_buf_bytes(&m), 67, CD_OK, NULL), &got, NULL), CD_OK);
    assert_int_equal(nodes[5].asked, asked); /* it was kept */
    assert_int_equal(taken(wish(2, cd_buf_bytes(&m), 100, CD_OK, NULL), &got, NULL), CD_OK);
    assert_int_equal(signers_of(cd_buf_bytes(&got), 100), NODES);
    u32 reads = set_reads;
    height++; /* the same set at another height: no key is decoded again, and what was collected still serves */
    assert_int_equal(taken(wish(2, cd_buf_bytes(&m), 100, CD_OK, NULL), &got, NULL), CD_OK);
    assert_int_equal(set_reads, reads + 1);
    cd_buf_fini(&m);
    cd_buf_fini(&got);
    end();
}

static void liars(void **state)
{
    (void)state;
    static const manner manners[] = {LIAR, FORGER, BABBLER};
    for (usize k = 0; k < CD_COUNT(manners); k++) {
        begin();
        cd_buf m = {0};
        cd_buf got = {0};
        cd_errinfo why = {0};
        message_of(&m, NETWORK, &chain, "hello");
        accept_all(cd_buf_bytes(&m));
        nodes[5].manner = manners[k];
        assert_int_equal(taken(wish(0, cd_buf_bytes(&m), 67, CD_OK, NULL), &got, NULL), CD_OK);
        assert_int_equal(signers_of(cd_buf_bytes(&got), 67), 5);
        nodes[4].manner = manners[k];
        cd_warp_wish *w = wish(0, cd_buf_bytes(&m), 80, CD_OK, NULL);
        assert_int_equal(taken(w, &got, &why), CD_EINVAL);
        assert_string_equal(why.msg,
                            "failed to aggregate signatures: signature weight is insufficient: 80*75 > 100*46");
        cd_buf_fini(&m);
        cd_buf_fini(&got);
        end();
    }
}

static void who_is_behind(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    cd_buf got = {0};
    cd_errinfo why = {0};
    message_of(&m, NETWORK, &chain, "hello");
    accept(&nodes[0], cd_buf_bytes(&m));
    cd_warp_wish *w = wish(0, cd_buf_bytes(&m), 67, CD_OK, NULL);
    cd_warp_wish *second = wish(0, cd_buf_bytes(&m), 67, CD_OK, NULL);
    assert_false(cd_warp_wish_is_done(w));
    assert_int_equal(nodes[1].asked, 1); /* two wishes, one collection */
    accept_all(cd_buf_bytes(&m));
    pass(&nodes[0], SEC / 2);
    assert_int_equal(taken(w, &got, NULL), CD_OK);
    assert_int_equal(taken(second, &got, NULL), CD_OK);
    (void)signers_of(cd_buf_bytes(&got), 67);
    /* Nobody ever has it. */
    message_of(&m, NETWORK, &chain, "unsaid");
    w = wish(0, cd_buf_bytes(&m), 67, CD_OK, NULL);
    pass(&nodes[0], 10 * SEC);
    assert_int_equal(taken(w, &got, &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "67*75 > 100*0; last refusal: NodeID-"));
    assert_non_null(strstr(why.msg, "7: not justified"));
    /* Nobody answers. */
    for (usize i = 1; i < NODES; i++) {
        nodes[i].manner = DEAF;
    }
    message_of(&m, NETWORK, &chain, "hello");
    w = wish(0, cd_buf_bytes(&m), 90, CD_OK, NULL);
    pass(&nodes[0], 9 * SEC);
    assert_false(cd_warp_wish_is_done(w));
    pass(&nodes[0], 2 * SEC);
    assert_int_equal(taken(w, &got, NULL), CD_EINVAL);
    cd_buf_fini(&m);
    cd_buf_fini(&got);
    end();
}

static void justified(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    cd_buf got = {0};
    cd_warp_wish *w = NULL;
    message_of(&m, NETWORK, &chain, "claim");
    const cd_warp_want want = {.message = cd_buf_bytes(&m), .justification = cd_bytes_str("claim"), .quorum = 67};
    assert_int_equal(cd_warp_collect(nodes[3].warp, &w, &want, NULL), CD_OK);
    assert_int_equal(taken(w, &got, NULL), CD_OK);
    (void)signers_of(cd_buf_bytes(&got), 67);
    u8 sig[CD_WARP_SIG_LEN];
    assert_int_equal(cd_warp_sign(nodes[3].warp, sig, want.message, want.justification, NULL), 0);
    is_no_more = true; /* a signature that is remembered does not help */
    assert_int_equal(cd_warp_sign(nodes[3].warp, sig, want.message, want.justification, NULL), JUDGED);
    is_no_more = false;
    cd_buf_fini(&m);
    cd_buf_fini(&got);
    end();
}

/* A validator without a key counts in the weight, several with one key are one signer, whoever of them answers. */
static void odd_sets(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    cd_buf got = {0};
    cd_errinfo why = {0};
    message_of(&m, NETWORK, &chain, "hello");
    accept_all(cd_buf_bytes(&m));
    keyless = 75;
    height++;
    assert_int_equal(taken(wish(0, cd_buf_bytes(&m), 50, CD_OK, NULL), &got, NULL), CD_OK);
    assert_int_equal(signers_of(cd_buf_bytes(&got), 50), NODES);
    assert_int_equal(taken(wish(0, cd_buf_bytes(&m), 51, CD_OK, NULL), &got, &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "51*150 > 100*75"));
    keyless = 0;
    height++;
    nodes[5].sk = nodes[4].sk;
    memcpy(nodes[5].signer.key, nodes[4].signer.key, sizeof nodes[4].signer.key);
    nodes[5].manner = DEAF;
    assert_int_equal(taken(wish(0, cd_buf_bytes(&m), 100, CD_OK, NULL), &got, NULL), CD_OK);
    assert_int_equal(signers_of(cd_buf_bytes(&got), 100), NODES - 1);
    cd_buf_fini(&m);
    cd_buf_fini(&got);
    end();
}

/* Two validators whose keys add up to nothing have the whole weight: their signatures are good, and prove nothing. */
static void keys_that_cancel(void **state)
{
    (void)state;
    static const u8 order[32] = {0x73, 0xed, 0xa7, 0x53, 0x29, 0x9d, 0x7d, 0x48, 0x33, 0x39, 0xd8,
                                 0x08, 0x09, 0xa1, 0xd8, 0x05, 0x53, 0xbd, 0xa4, 0x02, 0xff, 0xfe,
                                 0x5b, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01};
    begin();
    cd_buf m = {0};
    cd_buf got = {0};
    i32 borrow = 0;
    for (usize i = 32; i-- != 0;) {
        i32 d = order[i] - nodes[4].sk.b[i] - borrow;
        borrow = d < 0;
        nodes[5].sk.b[i] = (u8)(d + 256 * borrow);
    }
    nodes[4].weight = 1000;
    nodes[5].weight = 1001;
    message_of(&m, NETWORK, &chain, "hello");
    accept_all(cd_buf_bytes(&m));
    cd_warp_wish *w = wish(0, cd_buf_bytes(&m), 90, CD_OK, NULL);
    assert_int_equal(taken(w, &got, NULL), CD_OK); /* with this node's own, which came first */
    for (usize i = 0; i < 4; i++) {
        nodes[i].manner = DEAF;
    }
    height++;
    nodes[0].ctx.signer = NULL;
    w = wish(0, cd_buf_bytes(&m), 91, CD_OK, NULL);
    pass(&nodes[0], 11 * SEC);
    assert_int_equal(taken(w, &got, NULL), CD_EINVAL);
    cd_buf_fini(&m);
    cd_buf_fini(&got);
    end();
}

static i32 ask(usize from, usize to, cd_bytes message)
{
    cd_buf body = {0};
    cd_buf msg = {0};
    cd_node_id self = id_of(from);
    const cd_p2p_sig_request req = {.message = message};
    cd_proto_put(&body, &cd_p2p_sig_request_table, &req);
    cd_p2p_app_put(&msg, CD_P2P_HANDLER_SIGNATURE, cd_buf_bytes(&body));
    last_code = 99;
    cd_gossip_on_request(&nodes[to].vm.vm, &self, 1, UINT64_MAX, cd_buf_bytes(&msg));
    cd_buf_fini(&body);
    cd_buf_fini(&msg);
    return last_code;
}

static void refused(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    cd_hash32 other = {.b = {1}};
    message_of(&m, NETWORK, &chain, "hello");
    assert_int_equal(ask(NODES, 0, cd_buf_bytes(&m)), JUDGED);
    assert_string_equal(last_words, "not justified");
    assert_int_equal(ask(NODES, 0, cd_bytes_str("no message")), -1);
    assert_memory_equal(last_words, "failed to parse warp unsigned message: ", 39);
    accept(&nodes[0], cd_buf_bytes(&m));
    assert_int_equal(ask(NODES, 0, cd_buf_bytes(&m)), 0);
    /* Even what the store has is signed for this network and chain only. */
    message_of(&m, NETWORK + 1, &chain, "hello");
    accept(&nodes[0], cd_buf_bytes(&m));
    assert_int_equal(ask(NODES, 0, cd_buf_bytes(&m)), -1);
    assert_string_equal(last_words, "failed to sign message: wrong networkID");
    message_of(&m, NETWORK, &other, "hello");
    accept(&nodes[0], cd_buf_bytes(&m));
    assert_int_equal(ask(NODES, 0, cd_buf_bytes(&m)), -1);
    assert_string_equal(last_words, "failed to sign message: wrong sourceChainID");
    nodes[1].ctx.signer = NULL;
    message_of(&m, NETWORK, &chain, "hello");
    accept(&nodes[1], cd_buf_bytes(&m));
    assert_int_equal(ask(NODES, 1, cd_buf_bytes(&m)), -1);
    assert_string_equal(last_words, "failed to sign message: this node signs nothing");
    cd_buf_fini(&m);
    end();
}

/* One peer asks without end; many peers have it sign without end. */
static void throttled(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    message_of(&m, NETWORK, &chain, "hello");
    accept(&nodes[0], cd_buf_bytes(&m));
    for (u32 i = 0; i < CD_WARP_PEER_ASKS; i++) {
        assert_int_equal(ask(NODES, 0, cd_buf_bytes(&m)), 0);
    }
    assert_int_equal(ask(NODES, 0, cd_buf_bytes(&m)), CD_P2P_APP_THROTTLED);
    assert_int_equal(ask(NODES + 1, 0, cd_buf_bytes(&m)), 0);
    message_of(&m, NETWORK, &chain, "unsaid");
    for (u32 i = 1; i < CD_WARP_SIGNS_MAX; i++) {
        assert_int_equal(ask(NODES + 2 + i % 100, 0, cd_buf_bytes(&m)), JUDGED);
    }
    assert_int_equal(ask(NODES + 2, 0, cd_buf_bytes(&m)), CD_P2P_APP_THROTTLED);
    message_of(&m, NETWORK, &chain, "hello"); /* what is remembered costs nothing */
    assert_int_equal(ask(NODES + 2, 0, cd_buf_bytes(&m)), 0);
    cd_buf_fini(&m);
    end();
}

static void on_resumed(void *arg)
{
    ++*(u32 *)arg;
}

static void bounded(void **state)
{
    (void)state;
    begin();
    cd_buf m = {0};
    cd_buf got = {0};
    cd_errinfo why = {0};
    cd_warp_wish *all[CD_WARP_GATHERS_MAX];
    u32 resumed = 0;
    for (usize i = 0; i < NODES; i++) {
        nodes[i].manner = DEAF;
    }
    for (usize i = 0; i < CD_COUNT(all); i++) {
        char said[16] = {(char)('a' + i / 26), (char)('a' + i % 26)};
        message_of(&m, NETWORK, &chain, said);
        all[i] = wish(0, cd_buf_bytes(&m), 67, CD_OK, NULL);
        cd_warp_wish_arm(all[i], on_resumed, &resumed);
    }
    message_of(&m, NETWORK, &chain, "one more");
    (void)wish(0, cd_buf_bytes(&m), 67, CD_EFULL, &why);
    assert_string_equal(why.msg, "too many signatures are being collected");
    (void)wish(1, cd_buf_bytes(&m), 0, CD_EINVAL, &why);
    (void)wish(1, cd_buf_bytes(&m), 101, CD_EINVAL, &why);
    (void)wish(1, cd_bytes_str("?"), 67, CD_EINVAL, &why);
    cd_warp_wish *none = NULL;
    const cd_warp_want want = {.message = cd_buf_bytes(&m), .subnet = {.b = {1}}, .quorum = 67};
    assert_int_equal(cd_warp_collect(nodes[1].warp, &none, &want, &why), CD_ENOENT);
    assert_memory_equal(why.msg, "cannot aggregate signatures from network with no validators (SubnetID: ", 71);
    cd_warp_wish_drop(all[0]); /* its collection goes on */
    cd_warp_free(nodes[0].warp);
    nodes[0].warp = NULL;
    assert_int_equal(resumed, CD_COUNT(all) - 1);
    for (usize i = 1; i < CD_COUNT(all); i++) {
        assert_int_equal(taken(all[i], &got, &why), CD_ECLOSED);
    }
    cd_buf_fini(&m);
    cd_buf_fini(&got);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_by_many), cmocka_unit_test(liars),     cmocka_unit_test(who_is_behind),
        cmocka_unit_test(justified),      cmocka_unit_test(odd_sets),  cmocka_unit_test(keys_that_cancel),
        cmocka_unit_test(refused),        cmocka_unit_test(throttled), cmocka_unit_test(bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
