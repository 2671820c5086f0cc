/* Answers are matched once, timeouts adapt within their bounds and come in order, the bench takes the right nodes and
 * never too much stake. Time and randomness are arguments. */
#include "p2p/requests.h"

#include "p2p/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEC CD_NS_PER_SEC

static const cd_hash32 chain = {{1}};
static const cd_hash32 other_chain = {{2}};
static u64 now;
static u32 failures;
static u32 last_failed;
static u32 benches;
static u32 unbenches;
static bool in_order;
static cd_rng rng;

static void on_failed(void *ctx, const cd_p2p_request *r)
{
    (void)ctx;
    in_order = in_order && (failures == 0 || r->request_id > last_failed);
    last_failed = r->request_id;
    failures++;
}

/* Nodes 1 to 99 have one hundredth of the stake each, node 200 has none. */
static u64 weight(void *ctx, const cd_hash32 *c, const cd_node_id *node)
{
    (void)ctx;
    (void)c;
    return node->b[0] < 100 ? 1 : 0;
}

static u64 total(void *ctx, const cd_hash32 *c)
{
    (void)ctx;
    (void)c;
    return 100;
}

static void on_benched(void *ctx, const cd_hash32 *c, const cd_node_id *node, bool is_benched)
{
    (void)ctx;
    (void)c;
    (void)node;
    benches += is_benched;
    unbenches += !is_benched;
}

static cd_p2p_requests *begin(void)
{
    const cd_p2p_requests_cfg cfg = {
        .failed = on_failed, .weight = weight, .total = total, .benched = on_benched, .pending_max = 1000};
    now = 7;
    failures = benches = unbenches = last_failed = 0;
    in_order = true;
    rng = cd_rng_seeded(1);
    return cd_p2p_requests_new(&cfg, now);
}

static cd_p2p_request request(u8 node, u32 id, u32 response)
{
    return (cd_p2p_request){.node = {{node}}, .chain = chain, .request_id = id, .response = response};
}

static void matching(void **state)
{
    (void)state;
    cd_p2p_requests *q = begin();
    u64 timeout;
    cd_p2p_request r = request(1, 5, CD_P2P_CHITS);
    assert_false(cd_p2p_requests_answer(q, &r, now)); /* it was not asked for */
    assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
    assert_int_equal(timeout, 5 * SEC);
    assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_EEXIST);
    cd_p2p_request wrong[4] = {r, r, r, r};
    wrong[0].node.b[0] = 2;
    wrong[1].chain = other_chain;
    wrong[2].request_id = 6;
    wrong[3].response = CD_P2P_PUT;
    for (usize i = 0; i < CD_COUNT(wrong); i++) {
        assert_false(cd_p2p_requests_answer(q, &wrong[i], now));
    }
    assert_true(cd_p2p_requests_answer(q, &r, now));
    assert_false(cd_p2p_requests_answer(q, &r, now)); /* answered already */
    assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
    u64 next = cd_p2p_requests_tick(q, &rng, now);
    assert_int_equal(next, now + timeout);
    (void)cd_p2p_requests_tick(q, &rng, next - 1);
    assert_int_equal(failures, 0);
    assert_true(cd_p2p_requests_tick(q, &rng, next) == UINT64_MAX);
    assert_int_equal(failures, 1);
    assert_false(cd_p2p_requests_answer(q, &r, next)); /* too late */
    for (u32 i = 0; i < 1000; i++) {
        r.request_id = i;
        assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
    }
    r.request_id = 1000;
    assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_EFULL);
    cd_p2p_requests_free(q);
}

static void adapting(void **state)
{
    (void)state;
    cd_p2p_requests *q = begin();
    u64 timeout;
    for (u32 i = 0; i < 2000; i++) { /* latency 1.5 s: the timeout becomes twice that */
        cd_p2p_request r = request(1, i, CD_P2P_CHITS);
        assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
        now += 3 * SEC / 2;
        assert_true(cd_p2p_requests_answer(q, &r, now));
    }
    timeout = cd_p2p_requests_timeout(q);
    assert_true(timeout > 29 * SEC / 10 && timeout < 31 * SEC / 10);
    for (u32 i = 0; i < 5000; i++) { /* the latency of a Get does not count */
        cd_p2p_request r = request(1, i, CD_P2P_PUT);
        assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, false, now), CD_OK);
        assert_true(cd_p2p_requests_answer(q, &r, now + SEC));
    }
    assert_int_equal(cd_p2p_requests_timeout(q), timeout);
    for (u32 i = 0; i < 5000; i++) {
        cd_p2p_request r = request(1, i, CD_P2P_CHITS);
        assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
        now += CD_NS_PER_MS;
        assert_true(cd_p2p_requests_answer(q, &r, now));
    }
    assert_int_equal(cd_p2p_requests_timeout(q), 2 * SEC); /* the lower bound */
    for (u32 i = 0; i < 10000; i++) {
        cd_p2p_requests_unsent(q, now += SEC);
    }
    assert_int_equal(cd_p2p_requests_timeout(q), 10 * SEC); /* the upper bound */
    cd_p2p_requests_free(q);
}

/* Deadlines come in any order, failures in the order of time, each once; a request that was answered before does not
 * fail. */
static void order(void **state)
{
    (void)state;
    cd_p2p_requests *q = begin();
    u64 timeout;
    u32 asked = 0;
    u32 answered = 0;
    for (u32 i = 0; i < 3000; i++) {
        cd_p2p_request r = request((u8)(100 + i % 50), i, CD_P2P_APP_RESPONSE);
        asked += cd_p2p_requests_add(q, &timeout, &r, false, now) == CD_OK;
        now += cd_rng_below(&rng, 20 * CD_NS_PER_MS);
        if (cd_rng_below(&rng, 2) == 0) {
            cd_p2p_request old = request((u8)(100 + (i / 2) % 50), i / 2, CD_P2P_APP_RESPONSE);
            answered += cd_p2p_requests_answer(q, &old, now);
        }
        (void)cd_p2p_requests_tick(q, &rng, now);
    }
    while (cd_p2p_requests_cnt(q) != 0) {
        now = cd_p2p_requests_tick(q, &rng, now);
    }
    assert_true(in_order && answered > 100 && failures > 100);
    assert_int_equal(asked, answered + failures);
    cd_p2p_requests_free(q);
}

/* Sends cnt requests, one every step, to a node that never answers. */
static void misses(cd_p2p_requests *q, u8 node, u32 cnt, u64 step, u32 response)
{
    static u32 id;
    u64 timeout;
    for (u32 i = 0; i < cnt; i++) {
        cd_p2p_request r = request(node, id++, response);
        if (cd_p2p_requests_add(q, &timeout, &r, false, now) == CD_OK) {
            (void)cd_p2p_requests_tick(q, &rng, now + timeout);
        }
        now += step;
    }
}

static void count_chain(void *ctx, const cd_hash32 *c)
{
    assert_memory_equal(c, &chain, sizeof chain);
    ++*(u32 *)ctx;
}

static void bench(void **state)
{
    (void)state;
    cd_p2p_requests *q = begin();
    const cd_node_id node = {{1}};
    u64 timeout;
    u32 chains = 0;
    misses(q, 1, 50, SEC, CD_P2P_CHITS); /* many failures, but within 150 s */
    assert_int_equal(benches, 0);
    now += 200 * SEC;
    misses(q, 1, 1, SEC, CD_P2P_CHITS);
    assert_int_equal(benches, 1);
    assert_true(cd_p2p_requests_is_benched(q, &chain, &node));
    assert_false(cd_p2p_requests_is_benched(q, &other_chain, &node));
    cd_p2p_requests_benches(q, &node, count_chain, &chains);
    assert_int_equal(chains, 1);
    cd_p2p_request r = request(1, 77, CD_P2P_CHITS);
    assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_EBUSY);
    r.chain = other_chain;
    assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
    assert_true(cd_p2p_requests_answer(q, &r, now));
    u64 until = cd_p2p_requests_tick(q, &rng, now);
    assert_true(until >= now + 440 * SEC && until <= now + 910 * SEC);
    (void)cd_p2p_requests_tick(q, &rng, until);
    assert_int_equal(unbenches, 1);
    assert_false(cd_p2p_requests_is_benched(q, &chain, &node));
    cd_p2p_requests_free(q);
}

static void bench_exempt(void **state)
{
    (void)state;
    cd_p2p_requests *q = begin();
    u64 timeout;
    misses(q, 1, 50, 10 * SEC, CD_P2P_APP_RESPONSE); /* the failures of an AppRequest do not count */
    misses(q, 200, 50, 10 * SEC, CD_P2P_CHITS);      /* this node has no stake */
    for (u32 i = 0; i < 10; i++) {                   /* an answer now and then ends the streak */
        misses(q, 2, 9, 20 * SEC, CD_P2P_CHITS);
        cd_p2p_request r = request(2, 1000000 + i, CD_P2P_CHITS);
        assert_int_equal(cd_p2p_requests_add(q, &timeout, &r, true, now), CD_OK);
        assert_true(cd_p2p_requests_answer(q, &r, now));
    }
    assert_int_equal(benches, 0);
    for (u8 node = 3; node < 40; node++) { /* as in an attack that makes all nodes seem dead */
        u64 at = now;
        misses(q, node, 30, 6 * SEC, CD_P2P_CHITS);
        now = node < 39 ? at : now;
    }
    assert_int_equal(benches, 10); /* no more than a tenth of the stake */
    cd_p2p_requests_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matching), cmocka_unit_test(adapting), cmocka_unit_test(order),
                                       cmocka_unit_test(bench), cmocka_unit_test(bench_exempt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
