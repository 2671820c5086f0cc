/* Messages of VMs between router and executor: who hears what, once; floods, lies and sizes of peers. The network is
 * the test: messages come in at the router, a stepped executor has a toy VM. */
#include "consensus/solo.h"
#include "node/peers/sender.h"
#include "vm/test/toy_vm.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEC CD_NS_PER_SEC

enum { CROWD = 2000 };

static const cd_node_id own = {{9}};
static const cd_node_id alice = {{1}};
static const cd_node_id bob = {{2}};
static const cd_hash32 chain_id = {{7}};

static cd_loop *loop;
static cd_clock_virtual vclock;
static cd_p2p_router *router;
static cd_p2p_owner owner;
static cd_kv *store;
static cd_kv *part;
static cd_engine *engine;
static cd_executor *executor;
static cd_sender *sender;
static const cd_vm_sender *voice;
static bool has_app;
static u64 used;

/* What the VM heard, one letter each with the node's first byte: "q1" a request of alice. */
static cd_buf heard;
static u32 requests, responses, failures;
static i32 code;
static u32 last_id;
static bool answers;

static cd_inbox *inbox(void)
{
    return cd_sender_inbox(sender);
}

/* --- the VM --- */

static void note(char what, const cd_node_id *node)
{
    cd_buf_fmt(&heard, "%c%u ", what, node->b[0]);
}

static void on_request(cd_vm *vm, const cd_node_id *from, u32 id, u64 deadline_ns, cd_bytes msg)
{
    (void)vm;
    (void)deadline_ns;
    note('q', from);
    requests++;
    last_id = id;
    if (answers && cd_bytes_eq(msg, cd_bytes_str("refuse me"))) {
        voice->error(voice, from, id, 5, cd_bytes_str("no"));
    } else if (answers) {
        voice->response(voice, from, id, msg);
    }
}

static void on_response(cd_vm *vm, const cd_node_id *from, u32 id, cd_bytes msg)
{
    (void)vm;
    (void)msg;
    note('r', from);
    responses++;
    last_id = id;
}

static void on_failed(cd_vm *vm, const cd_node_id *from, u32 id, i32 why, cd_bytes message)
{
    (void)vm;
    (void)message;
    note('f', from);
    failures++;
    last_id = id;
    code = why;
}

static void on_gossip(cd_vm *vm, const cd_node_id *from, cd_bytes msg)
{
    (void)vm;
    (void)msg;
    note('g', from);
}

static void on_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version)
{
    (void)vm;
    assert_true(cd_bytes_eq(version->name, cd_bytes_str("tester")));
    assert_int_equal(version->minor, 13);
    note('c', peer);
}

static void on_disconnected(cd_vm *vm, const cd_node_id *peer)
{
    (void)vm;
    note('d', peer);
}

static const cd_vm_app_ops app = {.request = on_request,
                                  .response = on_response,
                                  .failed = on_failed,
                                  .gossip = on_gossip,
                                  .connected = on_connected,
                                  .disconnected = on_disconnected};
static cd_vm_ops ops;

static cd_err on_open(void *ctx, cd_vm **out, cd_errinfo *why)
{
    (void)ctx;
    (void)why;
    *out = toy_open(part, TOY_IS_GOOD);
    ops = toy_ops;
    ops.app = has_app ? &app : NULL;
    (*out)->ops = &ops;
    cd_inbox_vm(inbox(), *out);
    return CD_OK;
}

/* --- what the link does --- */

static void in_message(void *ctx, cd_p2p_in *in, u64 expires_ns)
{
    (void)ctx;
    cd_inbox_message(inbox(), in, expires_ns);
}

static void in_failed(void *ctx, const cd_node_id *node, u32 request_id, u32 response)
{
    (void)ctx;
    assert_int_equal(response, CD_P2P_APP_RESPONSE);
    cd_inbox_failed(inbox(), node, request_id);
}

static void in_connected(void *ctx, const cd_node_id *node, const cd_p2p_peer_info *peer)
{
    (void)ctx;
    (void)node;
    cd_inbox_connected(inbox(), peer);
}

static void in_disconnected(void *ctx, const cd_node_id *node)
{
    (void)ctx;
    cd_inbox_disconnected(inbox(), node);
}

static void on_wake(void *ctx)
{
    (void)ctx;
}

static void on_used(void *ctx, const cd_node_id *node, u64 ns)
{
    (void)ctx;
    (void)node;
    used += 1 + ns;
}

/* --- the rig --- */

static bool on_validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node)
{
    (void)ctx;
    (void)out;
    (void)subnet;
    (void)node;
    return false;
}

static u64 on_weight(void *ctx, const cd_hash32 *subnet)
{
    (void)ctx;
    (void)subnet;
    return 0;
}

static void begin(bool takes_messages)
{
    has_app = takes_messages;
    requests = responses = failures = last_id = 0;
    used = 0;
    code = 0;
    answers = true;
    assert_int_equal(cd_loop_new(&loop, NULL), CD_OK);
    cd_clock_virtual_init(&vclock, 1000 * SEC);
    const cd_p2p_router_cfg routing = {
        .own = own, .clock = &vclock.clock, .seed = 1, .staking = {.validator = on_validator, .weight = on_weight}};
    router = cd_p2p_router_new(&routing);
    owner = cd_p2p_router_owner(router);
    const cd_p2p_chain chain = {.id = chain_id,
                                .message = in_message,
                                .failed = in_failed,
                                .connected = in_connected,
                                .disconnected = in_disconnected};
    assert_int_equal(cd_p2p_router_add(router, &chain), CD_OK);
    const cd_sender_cfg cfg = {
        .loop = loop, .router = router, .wake = on_wake, .used = on_used, .clock = &vclock.clock, .chain = chain_id};
    sender = cd_sender_new(&cfg);
    voice = cd_sender_for_vm(sender);
    store = cd_kv_mem_open();
    part = cd_kv_prefix_open(store, cd_bytes_str("C"));
    engine = cd_solo_new(&(cd_solo_cfg){.door = {.store = store, .chain = part}, .name = "toy"});
    executor = cd_executor_new(&(cd_executor_cfg){
        .name = "toy", .clock = &vclock.clock, .engine = engine, .is_stepped = true, .queue_max = 16, .open = on_open});
    cd_inbox_bind(inbox(), executor);
    assert_int_equal(cd_executor_start(executor, NULL), CD_OK);
}

static void stop_loop(cd_loop_task *t)
{
    (void)t;
    cd_loop_stop(loop);
}

/* Runs the tasks that are posted to the loop now. */
static void spin(void)
{
    cd_loop_task t = {.fn = stop_loop};
    cd_loop_post(loop, &t);
    cd_loop_run(loop);
}

/* Runs everything until nothing is on its way. */
static void settle(void)
{
    for (u32 i = 0; i < 2 + CD_INBOX_ALL_MAX / CD_INBOX_BATCH * 2; i++) {
        (void)cd_executor_step(executor);
        spin();
        (void)cd_p2p_router_tick(router);
    }
}

static void end(void)
{
    cd_executor_free(executor);
    cd_sender_leave(sender);
    spin();
    cd_p2p_router_free(router);
    cd_sender_free(sender);
    cd_solo_free(engine);
    cd_kv_close(part);
    cd_kv_close(store);
    cd_loop_free(loop);
    cd_buf_fini(&heard);
}

static void come(const cd_node_id *from, u32 op, u32 id, const char *text)
{
    cd_p2p_chain_msg m = {
        .chain_id = cd_bytes_of(chain_id.b, 32), .request_id = id, .deadline = 5 * SEC, .data = cd_bytes_str(text)};
    u64 now = cd_clock_mono_ns(&vclock.clock);
    cd_p2p_in *in = cd_p2p_in_own(from, &(cd_p2p_msg){.op = op, .body = &m}, now);
    in->came_ns = now;
    owner.message(owner.ctx, in);
}

static void join(const cd_node_id *node)
{
    owner.connected(owner.ctx, &(cd_p2p_peer_info){.node = *node, .client = "tester", .version = {1, 13, 3}});
}

static void heard_is(const char *want)
{
    assert_string_equal(cd_buf_cstr(&heard), want);
    heard.n = 0;
}

/* --- tests --- */

static void told_once(void **state)
{
    (void)state;
    begin(true);
    voice->request(voice, &own, 1, cd_bytes_str("hello"));
    settle();
    heard_is("q9 r9 ");
    voice->request(voice, &own, 3, cd_bytes_str("refuse me"));
    settle();
    heard_is("q9 f9 ");
    assert_int_equal(code, 5);
    voice->request(voice, &alice, 5, cd_bytes_str("not connected"));
    settle();
    heard_is("f1 ");
    assert_int_equal(code, CD_INBOX_TIMED_OUT);
    assert_int_equal(last_id, 5);
    answers = false;
    voice->request(voice, &own, 7, cd_bytes_str("hello"));
    settle();
    heard_is("q9 ");
    cd_clock_virtual_advance(&vclock, 60 * SEC);
    settle();
    heard_is("f9 ");
    answers = true;
    come(&own, CD_P2P_APP_RESPONSE, 7, "too late");
    come(&own, CD_P2P_APP_ERROR, 7, "too late");
    come(&own, CD_P2P_APP_RESPONSE, 1, "a second time");
    come(&alice, CD_P2P_APP_RESPONSE, 1, "nobody asked");
    settle();
    heard_is("");
    end();
}

static void twice_the_same_number(void **state)
{
    (void)state;
    begin(true);
    voice->request(voice, &own, 1, cd_bytes_str("a"));
    voice->request(voice, &own, 1, cd_bytes_str("b"));
    settle();
    assert_int_equal(requests, 1);
    assert_int_equal(responses + failures, 2);
    come(&alice, CD_P2P_APP_REQUEST, 4, "a"); /* what a peer calls its requests is its own affair */
    come(&alice, CD_P2P_APP_REQUEST, 4, "b");
    settle();
    assert_int_equal(requests, 3);
    assert_int_equal(responses + failures, 2);
    end();
}

static void come_and_go(void **state)
{
    (void)state;
    begin(true);
    join(&alice);
    come(&alice, CD_P2P_APP_GOSSIP, 0, "news");
    settle();
    heard_is("c1 g1 ");
    come(&alice, CD_P2P_APP_REQUEST, 1, "in the batch");
    come(&alice, CD_P2P_APP_REQUEST, 2, "behind it");
    owner.disconnected(owner.ctx, &alice);
    settle();
    heard_is("q1 d1 "); /* the second request was dropped with its sender */
    come(&bob, CD_P2P_APP_GOSSIP, 0, "holds up what follows");
    for (u32 i = 0; i < CROWD; i++) { /* a door that never stands still takes no memory */
        join(&alice);
        come(&alice, CD_P2P_APP_GOSSIP, 0, "and again");
        owner.disconnected(owner.ctx, &alice);
    }
    join(&alice);
    settle();
    heard_is("g2 c1 ");
    end();
}

static void late(void **state)
{
    (void)state;
    begin(true);
    come(&bob, CD_P2P_APP_GOSSIP, 0, "first");
    come(&alice, CD_P2P_APP_REQUEST, 1, "patience");
    cd_clock_virtual_advance(&vclock, 6 * SEC);
    settle();
    heard_is("g2 ");
    end();
}

/* A peer that floods fills its own row only; others are heard in turns with it. */
static void flood_of_one(void **state)
{
    (void)state;
    begin(true);
    answers = false;
    for (u32 i = 0; i < CROWD; i++) {
        come(&alice, CD_P2P_APP_REQUEST, i, "flood");
    }
    come(&bob, CD_P2P_APP_REQUEST, 1, "me too");
    assert_int_equal(cd_inbox_cnt(inbox()), CD_INBOX_PEER_MAX + 1);
    assert_int_equal(cd_inbox_dropped(inbox()), CROWD - CD_INBOX_PEER_MAX - 1); /* one is in the first batch */
    (void)cd_executor_step(executor);
    spin();
    (void)cd_executor_step(executor);
    assert_non_null(strstr(cd_buf_cstr(&heard), "q2"));
    settle();
    assert_int_equal(requests, CD_INBOX_PEER_MAX + 2);
    assert_int_equal(cd_inbox_cnt(inbox()), 0);
    assert_true(used >= requests); /* all of the time is accounted */
    end();
}

/* Many peers that flood share the room; one that says little is still heard, and the VM's own answers always are. */
static void flood_of_many(void **state)
{
    (void)state;
    begin(true);
    answers = false;
    voice->request(voice, &own, 1, cd_bytes_str("mine"));
    spin();
    for (u32 i = 0; i < CROWD; i++) {
        const cd_node_id node = {{3, (u8)(i % 20)}};
        come(&node, CD_P2P_APP_REQUEST, i, "flood");
    }
    assert_int_equal(cd_inbox_cnt(inbox()), CD_INBOX_ALL_MAX);
    come(&bob, CD_P2P_APP_REQUEST, 1, "me too");
    assert_int_equal(cd_inbox_cnt(inbox()), CD_INBOX_ALL_MAX);
    come(&own, CD_P2P_APP_RESPONSE, 1, "an answer");
    settle();
    assert_non_null(strstr(cd_buf_cstr(&heard), "q2 "));
    assert_int_equal(responses, 1);
    assert_int_equal(requests, CD_INBOX_ALL_MAX + 2); /* one was in the first batch, one is the VM's own */
    end();
}

/* What the VM says is bounded too: by the frame, and by what the loop has not taken yet. */
static void too_much(void **state)
{
    (void)state;
    cd_buf big = {0};
    begin(true);
    cd_buf_fill(&big, 'x', CD_P2P_FRAME_MAX);
    voice->request(voice, &own, 1, cd_buf_bytes(&big));
    voice->gossip(voice, &(cd_vm_gossip_to){.peers = 3}, cd_buf_bytes(&big));
    voice->response(voice, &alice, 1, cd_buf_bytes(&big));
    settle();
    heard_is("f9 ");
    big.n = 1 << 20;
    for (u32 i = 0; i < 40; i++) {
        voice->request(voice, &alice, 1 + 2 * i, cd_buf_bytes(&big));
        voice->gossip(voice, &(cd_vm_gossip_to){.nodes = &alice, .node_cnt = 1}, cd_buf_bytes(&big));
    }
    settle();
    assert_int_equal(failures, 41); /* one for each request, sent or not */
    big.n = 100;
    voice->request(voice, &own, 101, cd_buf_bytes(&big)); /* and there is room again */
    settle();
    assert_int_equal(responses, 1);
    end();
    cd_buf_fini(&big);
}

static u32 refused;

static void on_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 why, cd_bytes text)
{
    (void)s;
    assert_memory_equal(to, &alice, sizeof alice);
    assert_int_equal(id, 77);
    assert_int_equal(why, CD_P2P_APP_UNREGISTERED);
    assert_true(cd_bytes_eq(text, cd_bytes_str("unregistered handler")));
    refused++;
}

static void nobody_at_home(void **state)
{
    (void)state;
    const cd_vm_sender fake = {.error = on_error};
    begin(false);
    cd_inbox *b = cd_inbox_new(&(cd_inbox_cfg){.loop = loop, .clock = &vclock.clock, .sender = &fake, .used = on_used});
    toy other = {.vm.ops = &toy_ops};
    cd_inbox_bind(b, executor);
    cd_inbox_vm(b, &other.vm);
    refused = 0;
    cd_p2p_chain_msg m = {.request_id = 77, .data = cd_bytes_str("anybody?")};
    const u32 all[] = {CD_P2P_APP_REQUEST, CD_P2P_APP_GOSSIP, CD_P2P_APP_RESPONSE, CD_P2P_APP_ERROR};
    for (usize i = 0; i < CD_COUNT(all); i++) {
        cd_inbox_message(b, cd_p2p_in_own(&alice, &(cd_p2p_msg){.op = all[i], .body = &m}, 0), UINT64_MAX);
    }
    cd_inbox_connected(b, &(cd_p2p_peer_info){.node = bob});
    cd_inbox_failed(b, &bob, 3);
    cd_inbox_disconnected(b, &bob);
    settle();
    assert_int_equal(refused, 1);
    cd_inbox_message(b, cd_p2p_in_own(&alice, &(cd_p2p_msg){.op = CD_P2P_APP_GOSSIP, .body = &m}, 0), UINT64_MAX);
    cd_inbox_leave(b); /* while a batch is away */
    cd_inbox_message(b, cd_p2p_in_own(&alice, &(cd_p2p_msg){.op = CD_P2P_APP_GOSSIP, .body = &m}, 0), UINT64_MAX);
    cd_inbox_failed(b, &alice, 1);
    settle();
    cd_inbox_free(b);
    end();
}

static void do_nothing(cd_rpc_job *job)
{
    (void)job;
}

/* When the executor's queue is full, messages wait and are told when there is room again. */
static void no_room_yet(void **state)
{
    (void)state;
    begin(true);
    static cd_rpc_job jobs[32];
    for (usize i = 0; i < CD_COUNT(jobs); i++) {
        jobs[i] = (cd_rpc_job){.run = do_nothing};
        (void)!cd_executor_run_first(executor, &jobs[i]);
    }
    come(&alice, CD_P2P_APP_GOSSIP, 0, "news");
    settle();
    heard_is("");
    cd_inbox_tick(inbox());
    settle();
    heard_is("g1 ");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_once), cmocka_unit_test(twice_the_same_number), cmocka_unit_test(come_and_go),
        cmocka_unit_test(late),      cmocka_unit_test(flood_of_one),          cmocka_unit_test(flood_of_many),
        cmocka_unit_test(too_much),  cmocka_unit_test(nobody_at_home),        cmocka_unit_test(no_room_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
