/* Five nodes whose sets become the same, on a virtual clock; and one who does not play by the rules. The network is the
 * test: it hands on what the nodes say, and remembers it. */
#include "base/log/metrics.h"
#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"
#include "vm/gossip/gossip.h"
#include "vm/gossip/push.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS  CD_NS_PER_MS
#define SEC CD_NS_PER_SEC

enum { NODES = 5, ITEMS_MAX = 4096, STRANGER = 77 };

typedef struct thing {
    cd_hash32 id;
    u8 bytes[64];
    usize n;
    bool is_gone;
} thing;

typedef struct member {
    cd_gossip_vm vm; /* first */
    cd_vm_ctx ctx;
    cd_vm_sender sender;
    cd_rng rng;
    cd_gossip_set set;
    cd_gossip_topic *topic;
    thing *things;
    usize cnt;
    u32 added, refused;
    u32 gossips, requests, responses, errors; /* how many of each it sent */
    u32 named;                                /* nodes that its last gossip named */
    u32 sample;
    i32 code;
    bool is_deaf; /* messages to it are lost */
} member;

static cd_clock_virtual vclock;
static member members[NODES];
static u32 validators_cnt;
static u32 reads;

static cd_node_id id_of(u32 i)
{
    return (cd_node_id){{(u8)(i + 1)}};
}

static member *by_id(const cd_node_id *id)
{
    u32 i = id->b[0] - 1u;
    return i < NODES ? &members[i] : NULL;
}

/* --- sets --- */

static thing *find(const member *m, const cd_hash32 *id)
{
    for (usize i = 0; i < m->cnt; i++) {
        if (!m->things[i].is_gone && cd_hash32_eq(&m->things[i].id, id)) {
            return &m->things[i];
        }
    }
    return NULL;
}

static bool set_get(void *ctx, cd_bytes *item, const cd_hash32 *id)
{
    const thing *t = find(ctx, id);
    if (t != NULL) {
        *item = cd_bytes_of(t->bytes, t->n);
    }
    return t != NULL;
}

static void set_each(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    const member *m = ctx;
    for (usize i = 0; i < m->cnt; i++) {
        const thing *t = &m->things[i];
        if (!t->is_gone && !visit(arg, &t->id, cd_bytes_of(t->bytes, t->n))) {
            return;
        }
    }
}

static usize set_cnt(void *ctx)
{
    return ((member *)ctx)->cnt;
}

static bool put(member *m, cd_hash32 *id, cd_bytes item)
{
    cd_sha256(id, item);
    if (item.n == 0 || item.n > sizeof m->things->bytes || find(m, id) != NULL) {
        return false;
    }
    assert_true(m->cnt < ITEMS_MAX);
    thing *t = &m->things[m->cnt++];
    *t = (thing){.id = *id, .n = item.n};
    memcpy(t->bytes, item.p, item.n);
    cd_gossip_known(m->topic, id);
    return true;
}

static void set_add(void *ctx, const cd_node_id *from, cd_bytes item)
{
    member *m = ctx;
    cd_hash32 id;
    (void)from;
    if (put(m, &id, item)) {
        m->added++;
    } else {
        m->refused++;
    }
}

/* A client gives a node a thing, which the node pushes to others if is_told. */
static cd_hash32 give(u32 i, u32 number, bool is_told)
{
    u8 bytes[64] = {0};
    cd_hash32 id;
    cd_put_be32(bytes, number);
    assert_true(put(&members[i], &id, cd_bytes_of(bytes, sizeof bytes)));
    if (is_told) {
        cd_gossip_push_out(members[i].topic, &id);
    }
    return id;
}

static void forget(u32 i, const cd_hash32 *id)
{
    thing *t = find(&members[i], id);
    assert_non_null(t);
    t->is_gone = true;
}

/* --- the network --- */

static member *speaker(const cd_vm_sender *s)
{
    return (member *)(void *)((u8 *)(usize)(const void *)s - offsetof(member, sender));
}

static void net_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    member *from = speaker(s);
    member *m = by_id(to);
    cd_node_id self = from->ctx.node_id;
    assert_int_equal(id % 2, 1);
    from->requests++;
    if (m == NULL || m->is_deaf) {
        cd_gossip_on_failed(&from->vm.vm, to, id, -1, cd_bytes_str("timed out"));
    } else {
        cd_gossip_on_request(&m->vm.vm, &self, id, UINT64_MAX, msg);
    }
}

static void net_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    member *from = speaker(s);
    cd_node_id self = from->ctx.node_id;
    from->responses++;
    if (by_id(to) != NULL) {
        cd_gossip_on_response(&by_id(to)->vm.vm, &self, id, msg);
    }
}

static void net_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes text)
{
    member *from = speaker(s);
    cd_node_id self = from->ctx.node_id;
    from->errors++;
    from->code = code;
    if (by_id(to) != NULL) {
        cd_gossip_on_failed(&by_id(to)->vm.vm, &self, id, code, text);
    }
}

/* Delivers to the nodes that are named only; the sample is for the node to choose. */
static void net_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    member *from = speaker(s);
    cd_node_id self = from->ctx.node_id;
    from->gossips++;
    from->named = (u32)to->node_cnt;
    from->sample = to->validators;
    for (usize i = 0; i < to->node_cnt; i++) {
        member *m = by_id(&to->nodes[i]);
        if (m != NULL && m != from && !m->is_deaf) {
            cd_gossip_on_gossip(&m->vm.vm, &self, msg);
        }
    }
}

/* --- the P-Chain: equal weights but for the last one, which has almost nothing; and one that is no node --- */

static cd_err current(const cd_vm_validators *v, u64 *height)
{
    (void)v;
    *height = 1;
    return validators_cnt == 0 ? CD_EAGAIN : CD_OK;
}

static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    (void)v;
    assert_int_equal(height, 1);
    assert_true(cd_hash32_is_zero(subnet));
    cd_vm_validator *all = cd_arena_zalloc(a, (validators_cnt + 1) * sizeof *all);
    all[0].weight = 1;
    for (u32 i = 0; i < validators_cnt; i++) {
        all[i + 1] = (cd_vm_validator){.node_id = id_of(i), .weight = i == NODES - 1 ? 1 : 1000};
    }
    *out = all;
    *cnt = validators_cnt + 1;
    reads++;
    return CD_OK;
}

static const cd_vm_validators p_chain = {.current = current, .at = at};

/* --- the rig --- */

static void member_open(u32 i, bool is_alone)
{
    member *m = &members[i];
    *m = (member){.rng = cd_rng_seeded(7 + i), .things = cd_new_array(thing, ITEMS_MAX)};
    m->sender =
        (cd_vm_sender){.request = net_request, .response = net_response, .error = net_error, .gossip = net_gossip};
    m->ctx = (cd_vm_ctx){.clock = &vclock.clock,
                         .rng = &m->rng,
                         .sender = is_alone ? NULL : &m->sender,
                         .validators = &p_chain,
                         .node_id = id_of(i)};
    m->set = (cd_gossip_set){.ctx = m, .get = set_get, .each = set_each, .cnt = set_cnt, .add = set_add};
    m->vm.gossip = cd_gossip_new(&m->ctx);
    m->topic = cd_gossip_add(m->vm.gossip, CD_P2P_HANDLER_TX, "tx", &m->set, &cd_gossip_px);
    cd_gossip_start(m->vm.gossip, true);
}

static void begin(u32 validators)
{
    cd_clock_virtual_init(&vclock, 1000 * SEC);
    validators_cnt = validators;
    reads = 0;
    for (u32 i = 0; i < NODES; i++) {
        member_open(i, false);
    }
    for (u32 i = 0; i < NODES * NODES; i++) {
        const cd_node_id other = id_of(i % NODES);
        if (i / NODES != i % NODES) {
            cd_gossip_on_connected(&members[i / NODES].vm.vm, &other, NULL);
        }
    }
}

static void end(void)
{
    for (u32 i = 0; i < NODES; i++) {
        cd_gossip_free(members[i].vm.gossip);
        cd_free(members[i].things);
    }
}

static void run(u64 ns)
{
    u64 until = cd_clock_mono_ns(&vclock.clock) + ns;
    for (u64 now = 0; now < until;) {
        u64 next = until;
        for (u32 i = 0; i < NODES; i++) {
            next = cd_min_u64(next, cd_gossip_wake(members[i].vm.gossip));
        }
        now = cd_clock_mono_ns(&vclock.clock);
        if (next > now) {
            cd_clock_virtual_advance(&vclock, next - now);
            now = next;
        }
    }
}

static u32 holders(const cd_hash32 *id)
{
    u32 cnt = 0;
    for (u32 i = 0; i < NODES; i++) {
        cnt += find(&members[i], id) != NULL;
    }
    return cnt;
}

/* --- how it should be --- */

static void pushed(void **state)
{
    (void)state;
    begin(NODES);
    for (u32 i = 0; i < NODES; i++) {
        cd_gossip_start(members[i].vm.gossip, false);
    }
    cd_hash32 id = give(0, 1, true);
    run(1);
    assert_int_equal(holders(&id), 4); /* at once, those who have nine tenths of the stake together */
    assert_int_equal(members[0].named, 4);
    assert_int_equal(members[0].sample, 100); /* the fifth would be among those that the sender chooses */
    assert_int_equal(members[0].gossips, 1);
    cd_hash32 other = give(0, 2, true);
    cd_hash32 third = give(0, 3, true);
    run(400 * MS);
    assert_int_equal(holders(&other), 1); /* not yet: at most two pushes a second, the next with all that waits */
    run(101 * MS);
    assert_int_equal(holders(&other), 4);
    assert_int_equal(holders(&third), 4);
    assert_int_equal(members[0].gossips, 2);
    assert_int_equal(members[1].gossips, 0); /* what came from others is not pushed on */
    assert_int_equal(reads, 1);              /* of the validators: one reading is enough for a minute */
    end();
}

static void pulled(void **state)
{
    (void)state;
    begin(NODES);
    cd_hash32 id = give(3, 1, false);
    run(30 * SEC);
    assert_int_equal(holders(&id), NODES);
    for (u32 i = 0; i < NODES; i++) {
        assert_true(members[i].requests >= 19 && members[i].requests <= 21); /* every 1.5 s */
        assert_int_equal(members[i].refused, 0); /* a node that has a thing says so in its filter */
    }
    end();
}

static void only_validators_ask(void **state)
{
    (void)state;
    begin(2);
    cd_hash32 id = give(0, 1, false);
    run(30 * SEC);
    assert_int_equal(holders(&id), 2);
    assert_int_equal(members[4].requests, 0);
    const cd_node_id first = id_of(0);
    cd_gossip_on_disconnected(&members[1].vm.vm, &first);
    u32 before = members[1].requests;
    run(10 * SEC);
    assert_int_equal(members[1].requests, before); /* nobody is there to be asked */
    cd_gossip_start(members[0].vm.gossip, false);
    assert_true(cd_gossip_wake(members[0].vm.gossip) == UINT64_MAX);
    end();
}

static void said_again(void **state)
{
    (void)state;
    begin(NODES);
    for (u32 i = 1; i < NODES; i++) {
        members[i].is_deaf = true;
        cd_gossip_start(members[i].vm.gossip, false);
    }
    cd_gossip_start(members[0].vm.gossip, false);
    cd_hash32 id = give(0, 1, true);
    run(29 * SEC);
    assert_int_equal(members[0].gossips, 1);
    run(2 * SEC);
    assert_int_equal(members[0].gossips, 2);
    assert_int_equal(members[0].named, 0);
    assert_int_equal(members[0].sample, 10);
    forget(0, &id);
    run(120 * SEC);
    assert_int_equal(members[0].gossips, 2);
    cd_gossip_push_out(members[0].topic, &id); /* pushed once, gone, and here again: it waits for its interval */
    find(&members[0], &id);
    members[0].things[0].is_gone = false;
    run(29 * SEC);
    assert_int_equal(members[0].gossips, 2);
    run(2 * SEC);
    assert_int_equal(members[0].gossips, 3);
    end();
}

/* A message ends with the thing with which it exceeds 20 KiB. */
static void in_parts(void **state)
{
    (void)state;
    enum { MANY = 1000, PER_MESSAGE = CD_GOSSIP_MESSAGE_TARGET / 64 };
    begin(NODES);
    for (u32 i = 0; i < MANY; i++) {
        (void)give(0, i, true);
    }
    for (u32 i = 1; i <= (MANY + PER_MESSAGE - 1) / PER_MESSAGE; i++) {
        run(i == 1 ? 1 : 500 * MS);
        assert_int_equal(members[0].gossips, i);
        assert_int_equal(members[1].added, cd_min_u64(MANY, (u64)i * PER_MESSAGE));
    }
    end();
}

/* The filter grows with the set, and no missing thing stays hidden by it for ever. */
static void a_full_filter(void **state)
{
    (void)state;
    enum { EACH = ITEMS_MAX / NODES };
    begin(NODES);
    for (u32 k = 0; k < 4; k++) { /* more things come and go than a filter is made for */
        for (u32 i = 0; i < ITEMS_MAX - EACH; i++) {
            (void)give(0, k * ITEMS_MAX + i, false);
        }
        members[0].cnt = 0;
    }
    for (u32 i = 0; i < NODES * EACH; i++) {
        (void)give(i % NODES, 1000000 + i, false);
    }
    for (u32 i = 0; i < 100 && members[4].cnt < (usize)NODES * EACH; i++) {
        run(30 * SEC);
    }
    for (u32 i = 0; i < NODES; i++) {
        assert_true(members[i].cnt > NODES * EACH * 98 / 100); /* the filter takes the rest for known, for a while */
    }
    end();
}

static void alone(void **state)
{
    (void)state;
    cd_clock_virtual_init(&vclock, 0);
    member_open(0, true);
    (void)give(0, 1, true);
    assert_true(cd_gossip_wake(members[0].vm.gossip) == UINT64_MAX);
    const cd_node_id other = id_of(1);
    cd_gossip_on_request(&members[0].vm.vm, &other, 1, 0, cd_bytes_str("?"));
    cd_gossip_free(members[0].vm.gossip);
    cd_free(members[0].things);
}

/* --- how it should not be --- */

static void hear(u32 i, u32 from, u64 handler, cd_bytes body, bool is_request)
{
    const cd_node_id node = id_of(from);
    cd_buf msg = {0};
    cd_p2p_app_put(&msg, handler, body);
    if (is_request) {
        cd_gossip_on_request(&members[i].vm.vm, &node, 9, UINT64_MAX, cd_buf_bytes(&msg));
    } else {
        cd_gossip_on_gossip(&members[i].vm.vm, &node, cd_buf_bytes(&msg));
    }
    cd_buf_fini(&msg);
}

static void question(cd_buf *out, usize salt_n)
{
    static const u8 salt[40];
    static const u8 filter[10] = {1};
    const cd_p2p_pull pull = {.salt = cd_bytes_of(salt, salt_n), .filter = cd_bytes_of(filter, sizeof filter)};
    cd_proto_put(out, &cd_p2p_pull_table, &pull);
}

static i32 ask(u32 i, u32 from, u64 handler, cd_bytes body)
{
    members[i].code = 0;
    hear(i, from, handler, body, true);
    return members[i].code;
}

static void questions_that_are_none(void **state)
{
    (void)state;
    cd_buf good = {0};
    cd_buf bad = {0};
    begin(NODES);
    question(&good, 32);
    question(&bad, 31);
    (void)give(0, 1, false);
    assert_int_equal(ask(0, STRANGER, 0, cd_buf_bytes(&good)), CD_P2P_APP_NOT_VALIDATOR);
    assert_int_equal(ask(0, 1, 5, cd_buf_bytes(&good)), CD_P2P_APP_UNREGISTERED);
    assert_int_equal(ask(0, 1, 0, cd_buf_bytes(&bad)), CD_P2P_APP_UNEXPECTED);
    assert_int_equal(ask(0, 2, 0, cd_bytes_str("\xff\xff\xff")), CD_P2P_APP_UNEXPECTED);
    const cd_node_id node = id_of(1);
    cd_gossip_on_request(&members[0].vm.vm, &node, 9, 0, (cd_bytes){0});
    assert_int_equal(members[0].code, CD_P2P_APP_UNREGISTERED);
    assert_int_equal(ask(0, 3, 0, cd_buf_bytes(&good)), 0);
    assert_int_equal(ask(0, 3, 0, cd_buf_bytes(&good)), 0);
    assert_int_equal(ask(0, 3, 0, cd_buf_bytes(&good)), CD_P2P_APP_THROTTLED);
    cd_clock_virtual_advance(&vclock, 20 * SEC);
    assert_int_equal(ask(0, 3, 0, cd_buf_bytes(&good)), 0);
    assert_int_equal(members[0].responses, 3);
    cd_buf_fini(&good);
    cd_buf_fini(&bad);
    end();
}

static void answers_that_are_none(void **state)
{
    (void)state;
    cd_buf body = {0};
    begin(NODES);
    members[1].is_deaf = members[2].is_deaf = members[3].is_deaf = members[4].is_deaf = true;
    cd_p2p_gossip_put(&body, cd_bytes_str("unasked"));
    const cd_node_id node = id_of(1);
    for (u32 id = 0; id < 20; id++) {
        cd_gossip_on_response(&members[0].vm.vm, &node, id, cd_buf_bytes(&body));
        cd_gossip_on_failed(&members[0].vm.vm, &node, id, 0, (cd_bytes){0});
    }
    assert_int_equal(members[0].added, 0);
    hear(0, STRANGER, 0, cd_buf_bytes(&body), false); /* anybody may push */
    assert_int_equal(members[0].added, 1);
    hear(0, STRANGER, 0,
         cd_bytes_str("\x0a\x05"
                      "ab"),
         false);
    hear(0, STRANGER, 3, cd_buf_bytes(&body), false);
    assert_int_equal(members[0].added, 1);
    assert_int_equal(members[0].refused, 0);
    assert_int_equal(members[0].gossips, 0); /* pushed things are not pushed on */
    run(5 * SEC);
    assert_true(members[0].requests >= 3); /* a peer that does not answer does not keep us from asking others */
    cd_buf_fini(&body);
    end();
}

static usize never_there(void *ctx, const cd_hash32 *id)
{
    (void)ctx;
    (void)id;
    return 0;
}

static void bounded(void **state)
{
    (void)state;
    cd_gossip_push p;
    cd_gossip_push_init(&p);
    for (u32 i = 0; i < CD_GOSSIP_PUSH_MAX + 10; i++) {
        cd_hash32 id = {{0}};
        cd_put_be32(id.b, i);
        cd_gossip_push_put(&p, &id, 0);
        cd_gossip_push_put(&p, &id, 0);
    }
    assert_int_equal(p.fresh_cnt, CD_GOSSIP_PUSH_MAX);
    assert_int_equal(cd_gossip_push_take(&p, false, 1, 1, 0, never_there, NULL), 0);
    assert_int_equal(p.fresh_cnt, 0);
    assert_true(cd_gossip_push_next(&p, 1, 0) == UINT64_MAX);
    cd_gossip_push_fini(&p);
}

/* While there is no P-Chain it is asked for validators once a second, whatever peers do. */
static void nobody_validates_yet(void **state)
{
    (void)state;
    begin(0);
    (void)give(0, 1, true);
    run(1);
    assert_int_equal(members[0].gossips, 1);
    assert_int_equal(members[0].named, 0);
    validators_cnt = NODES;
    const cd_node_id node = id_of(1);
    cd_buf good = {0};
    question(&good, 32);
    for (u32 i = 0; i < 100; i++) {
        (void)ask(0, 1, 0, cd_buf_bytes(&good));
    }
    assert_int_equal(reads, 0);
    cd_clock_virtual_advance(&vclock, SEC);
    assert_int_equal(ask(0, node.b[0] - 1u, 0, cd_buf_bytes(&good)), 0);
    assert_int_equal(reads, 1);
    cd_buf_fini(&good);
    end();
}

/* --- questions of other handlers --- */

typedef struct outcome {
    u32 cnt;
    i32 code;
    char said[32];
} outcome;

static void on_told(void *ctx, const cd_node_id *node, i32 code, cd_bytes answer)
{
    outcome *o = ctx;
    (void)node;
    o->cnt++;
    o->code = code;
    assert_true(answer.n < sizeof o->said);
    memcpy(o->said, answer.p, answer.n);
    o->said[answer.n] = 0;
}

static i32 sums(void *ctx, cd_buf *response, const cd_node_id *from, cd_bytes body)
{
    (void)ctx;
    (void)from;
    bool is_sum = cd_bytes_eq(body, cd_bytes_str("1 + 1"));
    cd_buf_str(response, is_sum ? "2" : "no sum");
    return is_sum ? CD_P2P_APP_OK : 9;
}

static bool asks(u32 from, u32 to, const char *what, outcome *o)
{
    cd_node_id node = id_of(to);
    *o = (outcome){0};
    return cd_gossip_ask(members[from].vm.gossip, &node, CD_P2P_HANDLER_SIGNATURE, cd_bytes_str(what), on_told, o);
}

static void other_questions(void **state)
{
    (void)state;
    begin(NODES);
    outcome o;
    assert_true(asks(0, 1, "1 + 1", &o));
    assert_true(o.cnt == 1 && o.code == CD_P2P_APP_UNREGISTERED);
    assert_string_equal(o.said, "unregistered handler");
    const cd_p2p_handler h = {.id = CD_P2P_HANDLER_SIGNATURE, .request = sums};
    assert_int_equal(cd_p2p_mux_add(cd_gossip_mux(members[1].vm.gossip), &h, 0), CD_OK);
    assert_true(asks(0, 1, "1 + 1", &o));
    assert_true(o.cnt == 1 && o.code == CD_P2P_APP_OK);
    assert_string_equal(o.said, "2");
    assert_true(asks(0, 1, "1 +", &o));
    assert_true(o.cnt == 1 && o.code == 9);
    assert_string_equal(o.said, "no sum");
    members[1].is_deaf = true;
    assert_true(asks(0, 1, "1 + 1", &o));
    assert_true(o.cnt == 1 && o.code == -1);
    end();
}

/* One who was not asked answers; one who was asked answers twice; who has gone hears of nothing. */
static void open_questions(void **state)
{
    (void)state;
    cd_gossip_asks a;
    outcome o = {0};
    outcome p = {0};
    cd_node_id alice = id_of(0);
    cd_node_id bob = id_of(1);
    cd_gossip_asks_init(&a);
    assert_true(cd_gossip_asks_put(&a, 1, &alice, on_told, &o));
    assert_true(cd_gossip_asks_put(&a, 3, &bob, on_told, &p));
    assert_true(cd_gossip_asks_put(&a, 5, &bob, on_told, &o));
    assert_false(cd_gossip_asks_end(&a, 1, &bob, 0, cd_bytes_str("x")));
    assert_true(cd_gossip_asks_end(&a, 1, &alice, 0, cd_bytes_str("y")));
    assert_false(cd_gossip_asks_end(&a, 1, &alice, 0, cd_bytes_str("z")));
    assert_string_equal(o.said, "y");
    cd_gossip_asks_drop(&a, &o);
    assert_false(cd_gossip_asks_end(&a, 5, &bob, 0, cd_bytes_str("z")));
    assert_true(cd_gossip_asks_end(&a, 3, &bob, 4, cd_bytes_str("w")));
    assert_true(o.cnt == 1 && p.cnt == 1 && p.code == 4);
    u32 id = 7;
    while (cd_gossip_asks_put(&a, id, &bob, on_told, &p)) {
        id += 2;
    }
    assert_int_equal(id, 7 + 2 * CD_GOSSIP_ASKS_OPEN_MAX);
    cd_gossip_asks_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed),
        cmocka_unit_test(pulled),
        cmocka_unit_test(only_validators_ask),
        cmocka_unit_test(said_again),
        cmocka_unit_test(in_parts),
        cmocka_unit_test(a_full_filter),
        cmocka_unit_test(alone),
        cmocka_unit_test(questions_that_are_none),
        cmocka_unit_test(answers_that_are_none),
        cmocka_unit_test(bounded),
        cmocka_unit_test(nobody_validates_yet),
        cmocka_unit_test(other_questions),
        cmocka_unit_test(open_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
