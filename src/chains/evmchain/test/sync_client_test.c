/* A chain that is synced by peers of every kind: honest ones, liars, silent ones; stopped after any number of messages;
 * to a state that nobody has any more, and then to another. */
#include "chains/evmchain/test/sync_rig.h"

enum { BLOCKS = 40, PEERS_MAX = 8, QUEUE_MAX = 256, DONE_MAX = 20000 };

typedef enum manner {
    HONEST,
    SILENT,
    STALE,      /* refuses */
    EMPTY,      /* answers with no items */
    SPOILS,     /* one bit is another */
    CUTS,       /* the end is missing */
    SHIFTS,     /* the answer to another question, honest in itself */
    LEAVES_OUT, /* a leaf in the middle is missing */
    ADDS,       /* more than was asked for */
    LIES_ONCE,  /* SPOILS the first answer */
} manner;

typedef struct asked {
    cd_node_id to;
    u32 id;
    cd_buf msg;
} asked;

/* Our VM and its peers, all of which are the one VM of the fixture. */
typedef struct client {
    cd_vm_sender sender; /* first */
    cd_vm_host host;
    fixture *f;
    cd_kv *kv;
    cd_vm *vm;
    cd_rng rng;
    manner peers[PEERS_MAX];
    u32 peer_cnt;
    asked queue[QUEUE_MAX];
    u32 head, tail;
    u32 done;     /* how often the sync was over */
    u32 answered; /* honestly */
    cd_sync_family family;
    pair_rig pair; /* of the C-Chain; kv is its part of the store then */
    const char *config;
} client;

static client *the;

static void c_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    client *c = the;
    (void)s;
    assert_true(c->tail - c->head < QUEUE_MAX);
    asked *a = &c->queue[c->tail++ % QUEUE_MAX];
    *a = (asked){.to = *to, .id = id};
    cd_buf_put(&a->msg, msg);
}

static void c_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    on_request(s, to, id, msg);
}

static void c_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes msg)
{
    (void)code;
    on_request(s, to, id, msg);
}

static void c_notify(cd_vm_host *host, cd_vm_event event)
{
    (void)host;
    the->done += event == CD_VM_SYNC_DONE;
}

/* The chain syncs, and every peer is there. */
static void meet(client *c)
{
    const cd_vm_peer_version version = {.major = 1};
    assert_int_equal(c->vm->ops->set_state(c->vm, CD_VM_SYNCING, NULL), CD_OK);
    for (u32 i = 0; i < c->peer_cnt; i++) {
        const cd_node_id id = {{(u8)(i + 1)}};
        c->vm->ops->app->connected(c->vm, &id, &version);
    }
}

static void open_client(client *c)
{
    cd_errinfo why = {0};
    const cd_vm_ctx ctx = {
        .kv = c->kv,
        .host = &c->host,
        .clock = &c->f->clock.clock,
        .rng = &c->rng,
        .sender = &c->sender,
        .name = "L1",
        .genesis = cd_buf_bytes(&c->f->genesis),
        .config = cd_bytes_str(c->config),
        .network_id = RIG_NETWORK,
        .chain_id = {{7}},
        .is_stepped = true,
    };
    if (cd_evm_vm_open(&c->vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    meet(c);
}

/* On a store with shared memory: the chain has imports and exports. */
static void open_c_client(client *c)
{
    rig_open_vm(&c->pair);
    c->pair.host.host.notify = c_notify;
    c->vm = c->pair.vm;
    meet(c);
}

static void close_client(client *c)
{
    for (; c->head != c->tail; c->head++) {
        cd_buf_fini(&c->queue[c->head % QUEUE_MAX].msg);
    }
    c->vm->ops->close(c->vm);
}

static void begin(client *c, fixture *f, const manner *peers, u32 cnt)
{
    for (u32 i = 0; i < BLOCKS; i++) {
        block(f);
    }
    *c = (client){.sender = {c_request, c_response, c_error, on_gossip},
                  .host = {.notify = c_notify},
                  .f = f,
                  .kv = cd_kv_mem_open(),
                  .rng = cd_rng_seeded(3),
                  .family = CD_SYNC_L1,
                  .peer_cnt = cnt,
                  .config = "{\"commit-interval\":4,\"state-sync-commit-interval\":4,\"state-history\":2,"
                            "\"state-sync-enabled\":true,\"state-sync-min-blocks\":8,\"state-sync-request-size\":3,"
                            "\"max-outbound-active-requests\":7}"};
    the = c;
    memcpy(c->peers, peers, cnt * sizeof *peers);
    open_client(c);
}

static void end(client *c)
{
    close_client(c);
    cd_kv_close(c->kv);
}

/* --- answers --- */

/* The honest answer, in the arena; no bytes: refused. */
static cd_bytes honest(client *c, cd_bytes msg, cd_arena *a)
{
    fixture *f = c->f;
    const cd_node_id self = {{200}};
    u32 answers = f->asker.answers;
    cd_clock_virtual_advance(&f->clock, 20 * CD_NS_PER_MS); /* nobody asks too often */
    f->rig.vm->ops->app->request(f->rig.vm, &self, 6, UINT64_MAX, msg);
    return f->asker.answers == answers ? (cd_bytes){0} : cd_arena_dup(a, cd_buf_bytes(&f->asker.answer));
}

/* The answer to the question with something else in it. */
static cd_bytes honest_to(client *c, const cd_sync_ask *q, cd_arena *a)
{
    cd_buf msg = {0};
    cd_sync_ask_put(&msg, c->family, q);
    cd_bytes out = honest(c, cd_buf_bytes(&msg), a);
    cd_buf_fini(&msg);
    return out;
}

static cd_bytes lied(client *c, manner m, cd_bytes msg, cd_arena *a)
{
    cd_sync_ask q;
    cd_sync_leafs leafs;
    cd_buf out = {0};
    cd_bytes good = honest(c, msg, a);
    assert_int_equal(cd_sync_ask_parse(&q, a, c->family, msg, NULL), CD_OK);
    if (m == EMPTY) {
        const cd_sync_leafs none = {.keys = {0}};
        const cd_sync_items no = {.items = {0}};
        cd_linear_put(&out, q.kind == CD_SYNC_LEAFS ? &cd_sync_leafs_table : &cd_sync_items_table,
                      q.kind == CD_SYNC_LEAFS ? (const void *)&none : (const void *)&no);
    } else if (m == SPOILS) {
        cd_buf_put(&out, good);
        out.p[good.n - good.n / 3] ^= 4;
    } else if (m == CUTS) {
        cd_buf_put(&out, cd_bytes_sub(good, 0, good.n - 1));
    } else if (m == SHIFTS && q.kind == CD_SYNC_LEAFS) {
        u8 start[32];
        memcpy(start, q.leafs.start.p, 32);
        start[0] ^= 8;
        q.leafs.start = cd_bytes_of(start, 32);
        q.leafs.end = (cd_bytes){0};
        cd_buf_put(&out, honest_to(c, &q, a));
    } else if (m == LEAVES_OUT && q.kind == CD_SYNC_LEAFS) {
        assert_int_equal(cd_linear_parse(&leafs, &cd_sync_leafs_table, a, good, CD_SYNC_MESSAGE_MAX, NULL), CD_OK);
        if (leafs.keys.cnt > 1) {
            leafs.keys.v = (cd_bytes *)leafs.keys.v + 1;
            leafs.values.v = (cd_bytes *)leafs.values.v + 1;
            leafs.keys.cnt--;
            leafs.values.cnt--;
        } else {
            leafs.keys.cnt = leafs.values.cnt = 0;
        }
        cd_linear_put(&out, &cd_sync_leafs_table, &leafs);
    } else if (m == ADDS && q.kind == CD_SYNC_LEAFS) {
        q.leafs.limit = 1000;
        q.leafs.end = (cd_bytes){0};
        cd_buf_put(&out, honest_to(c, &q, a));
    } else {
        cd_buf_put(&out, cd_bytes_str("nonsense"));
    }
    cd_bytes bytes = cd_arena_dup(a, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return bytes;
}

/* Answers one question; false: none is open. */
static bool answer(client *c)
{
    cd_arena a = {0};
    if (c->head == c->tail) {
        return false;
    }
    asked q = c->queue[c->head++ % QUEUE_MAX];
    manner m = c->peers[q.to.b[0] - 1];
    cd_bytes msg = cd_buf_bytes(&q.msg);
    cd_bytes out = {0};
    cd_sync_ask parsed;
    assert_int_equal(cd_sync_ask_parse(&parsed, &a, c->family, msg, NULL), CD_OK);
    assert_int_equal(q.id % 2, 0); /* those with odd numbers the original's servers take for others */
    assert_true(parsed.kind != CD_SYNC_LEAFS || parsed.leafs.end.n == 0); /* the original's servers prove no end */
    if (m == HONEST) {
        out = honest(c, msg, &a);
        c->answered += out.n != 0;
    } else if (m == LIES_ONCE) {
        out = lied(c, SPOILS, msg, &a);
        c->peers[q.to.b[0] - 1] = HONEST;
    } else if (m != SILENT && m != STALE) {
        out = lied(c, m, msg, &a);
    }
    if (out.n != 0) {
        c->vm->ops->app->response(c->vm, &q.to, q.id, out);
    } else {
        c->vm->ops->app->failed(c->vm, &q.to, q.id, -1, (cd_bytes){0});
    }
    cd_buf_fini(&q.msg);
    cd_arena_fini(&a);
    return true;
}

/* Lets so many things happen, or the sync end. */
static void run(client *c, u32 things)
{
    u32 done = c->done;
    for (u32 i = 0; i < things && c->done == done; i++) {
        if (!answer(c)) {
            cd_clock_virtual_advance(&c->f->clock, 100 * CD_NS_PER_MS);
        }
        (void)c->vm->ops->wake(c->vm);
    }
}

static u64 accept_summary(client *c, u64 height)
{
    cd_arena a = {0};
    cd_vm_summary s;
    cd_vm_summary parsed;
    cd_vm_sync_mode mode;
    cd_vm *from = c->f->rig.vm;
    if (height == 0) {
        assert_int_equal(from->ops->sync->last(from, &s, &a), CD_OK);
    } else {
        assert_int_equal(from->ops->sync->at(from, &s, &a, height), CD_OK);
    }
    assert_int_equal(c->vm->ops->sync->parse(c->vm, &parsed, &a, s.bytes, NULL), CD_OK);
    assert_true(cd_hash32_eq(&parsed.id, &s.id));
    assert_int_equal(c->vm->ops->sync->accept(c->vm, &mode, &parsed, NULL), CD_OK);
    assert_int_equal(mode, CD_VM_SYNC_STATIC);
    cd_arena_fini(&a);
    return s.height;
}

/* --- what came of it --- */

static bool is_at(client *c, u64 height)
{
    cd_hash32 id;
    u64 at;
    c->vm->ops->last_accepted(c->vm, &id, &at);
    return at == height;
}

/* Asks both VMs the same; the answers are equal, and no errors. */
static void same_answer(client *c, const char *body)
{
    pair_rig ours = c->f->rig;
    cd_buf a = {0};
    cd_buf b = {0};
    ours.vm = c->vm;
    rig_ask(&c->f->rig, &a, "/rpc", body);
    rig_ask(&ours, &b, "/rpc", body);
    if (strstr(cd_buf_cstr(&a), "\"error\"") != NULL || !cd_bytes_eq(cd_buf_bytes(&a), cd_buf_bytes(&b))) {
        fail_msg("%s: %s, and %s", body, cd_buf_cstr(&a), cd_buf_cstr(&b));
    }
    cd_buf_fini(&a);
    cd_buf_fini(&b);
}

static void refused(client *c, const char *body, const char *words)
{
    pair_rig ours = c->f->rig;
    cd_buf b = {0};
    ours.vm = c->vm;
    rig_ask(&ours, &b, "/rpc", body);
    if (strstr(cd_buf_cstr(&b), words) == NULL) {
        fail_msg("%s: %s", body, cd_buf_cstr(&b));
    }
    cd_buf_fini(&b);
}

static void same_state(client *c)
{
    same_answer(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBlockByNumber\",\"params\":[\"latest\",true]}");
    same_answer(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBalance\",\"params\":"
                   "[\"0xaa03000000000000000000000000000000000000\",\"latest\"]}");
    same_answer(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getStorageAt\",\"params\":"
                   "[\"0x7700000000000000000000000000000000000000\",\"0x5\",\"latest\"]}");
    same_answer(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getCode\",\"params\":"
                   "[\"0x7700000000000000000000000000000000000000\",\"latest\"]}");
    same_answer(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_call\",\"params\":"
                   "[{\"to\":\"0x7700000000000000000000000000000000000000\"},\"latest\"]}");
    same_answer(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getProof\",\"params\":"
                   "[\"0x7700000000000000000000000000000000000000\",[\"0x5\"],\"latest\"]}");
}

static void is_whole(client *c)
{
    cd_errinfo why = {0};
    cd_flat_head head;
    assert_int_equal(cd_flat_head_get(c->kv, &head), CD_OK);
    assert_true(is_at(c, head.height));
    if (cd_flat_check(c->kv, CD_TRIE_BY_PATH, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

/* Nothing is left of what was gathered, after some time. */
static void is_swept(client *c)
{
    cd_kv_iter *it;
    for (u32 i = 0; i < 10; i++) {
        (void)c->vm->ops->wake(c->vm);
    }
    assert_int_equal(cd_kv_iter_new(&it, c->kv, &(cd_kv_range){.prefix = cd_bytes_str("Y")}), CD_OK);
    assert_false(cd_kv_iter_next(it));
    cd_kv_iter_free(it);
}

/* Takes over the blocks of the fixture from where the chain stands, as bootstrapping does. */
static void follow(client *c)
{
    cd_vm *from = c->f->rig.vm;
    cd_vm *vm = c->vm;
    cd_hash32 id;
    u64 at;
    u64 last;
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    const cd_vm_block_ctx ctx = {0};
    vm->ops->last_accepted(vm, &id, &at);
    from->ops->last_accepted(from, &id, &last);
    for (u64 h = at + 1; h <= last; h++) {
        cd_vm_block *theirs;
        cd_vm_block *b;
        assert_int_equal(from->ops->id_at_height(from, &id, h), CD_OK);
        assert_int_equal(from->ops->get(from, &theirs, &id), CD_OK);
        assert_int_equal(vm->ops->parse(vm, &b, theirs->bytes, &why), CD_OK);
        if (vm->ops->verify(vm, b, &ctx, &why) != CD_OK) {
            fail_msg("%s", why.msg);
        }
        cd_kv_batch_for(&batch, c->kv);
        assert_int_equal(vm->ops->accept(vm, b, &batch, &why), CD_OK);
        assert_int_equal(cd_kv_commit(c->kv, &batch, CD_KV_NOSYNC, &why), CD_OK);
        assert_int_equal(vm->ops->accepted(vm, b, &why), CD_OK);
        vm->ops->release(vm, b);
        from->ops->release(from, theirs);
    }
    cd_kv_batch_fini(&batch);
}

/* --- tests --- */

static void whole(void **state)
{
    static const manner all[] = {HONEST, HONEST, HONEST};
    client c;
    fixture *f = *state;
    begin(&c, f, all, CD_COUNT(all));
    assert_true(c.vm->ops->sync->is_enabled(c.vm));
    u64 height = accept_summary(&c, 0);
    assert_int_equal(height, BLOCKS);
    cd_vm_sync_progress p;
    u32 before = 0;
    while (c.done == 0) {
        run(&c, 5);
        c.vm->ops->sync->progress(c.vm, &p);
        assert_true(c.done != 0 || (p.permille >= before && p.permille <= 1000));
        before = p.permille;
    }
    assert_true(p.items > (u64)BLOCKS * 3);
    assert_true(is_at(&c, height));
    is_whole(&c);
    same_state(&c);
    is_swept(&c);
    block(f);
    block(f);
    follow(&c);
    same_state(&c);
    same_answer(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBlockReceipts\",\"params\":[\"latest\"]}");
    same_answer(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBlockByNumber\",\"params\":[\"0x8\",true]}");
    refused(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBlockReceipts\",\"params\":[\"0x8\"]}", "not kept");
    refused(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getLogs\",\"params\":[{\"fromBlock\":\"0x8\"}]}",
            "not kept");
    same_answer(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getLogs\",\"params\":[{\"fromBlock\":\"0x29\"}]}");
    close_client(&c);
    open_client(&c);
    same_state(&c);
    block(f);
    follow(&c);
    same_state(&c);
    /* It serves what it has: the state of its next summary. */
    cd_arena a = {0};
    cd_vm_summary s;
    block(f);
    follow(&c);
    assert_int_equal(c.vm->ops->sync->last(c.vm, &s, &a), CD_OK);
    assert_int_equal(s.height, BLOCKS + 4);
    cd_arena_fini(&a);
    end(&c);
}

/* Each liar is found out by its first lie. */
static void hostile(void **state)
{
    static const manner all[] = {SPOILS, CUTS, SHIFTS, LEAVES_OUT, ADDS, EMPTY, SILENT, HONEST};
    client c;
    begin(&c, *state, all, CD_COUNT(all));
    u64 height = accept_summary(&c, 0);
    run(&c, DONE_MAX);
    assert_int_equal(c.done, 1);
    assert_true(is_at(&c, height));
    is_whole(&c);
    same_state(&c);
    end(&c);
}

/* The program is killed after so many messages, again and again. */
static void killed(void **state)
{
    static const manner all[] = {HONEST, SPOILS, HONEST};
    client c;
    begin(&c, *state, all, CD_COUNT(all));
    u64 height = 0;
    u32 kills = 0;
    for (u32 i = 1; c.done == 0; i = i % 17 + 1) {
        height = accept_summary(&c, BLOCKS);
        run(&c, 10 + i);
        if (c.done == 0) {
            cd_arena a = {0};
            cd_vm_summary s;
            assert_true(is_at(&c, 0) || is_at(&c, height));
            close_client(&c);
            open_client(&c);
            kills++;
            if (is_at(&c, height)) {
                break; /* in the middle of the move, which the opening has ended, or behind it */
            }
            assert_int_equal(c.vm->ops->sync->ongoing(c.vm, &s, &a), CD_OK);
            assert_int_equal(s.height, height);
            cd_arena_fini(&a);
        }
        assert_true(kills < 200);
    }
    assert_true(kills > 3);
    is_whole(&c);
    same_state(&c);
    /* No more than the questions that were open at each end were asked twice. */
    assert_true(c.answered < 150 + kills * 7);
    end(&c);
}

/* Nobody has the state, or all lie: the sync ends, and what was gathered serves the next one. */
static void nobody_helps(void **state)
{
    static const manner bad[] = {STALE, SPOILS, STALE, SILENT};
    static const manner good[] = {HONEST, HONEST, HONEST, HONEST};
    client c;
    begin(&c, *state, good, CD_COUNT(good));
    accept_summary(&c, BLOCKS - 4);
    run(&c, 20);
    memcpy(c.peers, bad, sizeof bad);
    run(&c, DONE_MAX);
    assert_int_equal(c.done, 1);
    assert_true(is_at(&c, 0));
    is_whole(&c); /* the chain is as it was */
    memcpy(c.peers, good, sizeof good);
    u64 height = accept_summary(&c, 0);
    assert_int_equal(height, BLOCKS);
    run(&c, DONE_MAX);
    assert_int_equal(c.done, 2);
    assert_true(is_at(&c, height));
    is_whole(&c);
    same_state(&c);
    end(&c);
}

/* Good answers behind the lies of all do not keep a sync waiting for more. */
static void all_lie_once(void **state)
{
    static const manner peers[] = {LIES_ONCE, LIES_ONCE};
    client c;
    begin(&c, *state, peers, CD_COUNT(peers));
    accept_summary(&c, 0);
    run(&c, DONE_MAX);
    assert_int_equal(c.done, 1);
    assert_int_not_equal(c.answered, 0);
    assert_true(is_at(&c, 0));
    is_whole(&c);
    end(&c);
}

static void few_blocks(void **state)
{
    static const manner all[] = {HONEST};
    client c;
    cd_arena a = {0};
    cd_vm_summary s;
    cd_vm_sync_mode mode = CD_VM_SYNC_STATIC;
    fixture *f = *state;
    begin(&c, f, all, 1);
    close_client(&c);
    c.config = "{\"commit-interval\":4,\"state-sync-commit-interval\":4,\"state-sync-min-blocks\":41}";
    open_client(&c);
    assert_false(c.vm->ops->sync->is_enabled(c.vm));
    assert_int_equal(f->rig.vm->ops->sync->last(f->rig.vm, &s, &a), CD_OK);
    assert_int_equal(c.vm->ops->sync->accept(c.vm, &mode, &s, NULL), CD_OK);
    assert_int_equal(mode, CD_VM_SYNC_SKIPPED);
    assert_int_equal(c.vm->ops->sync->parse(c.vm, &s, &a, cd_bytes_str("no summary"), NULL) == CD_OK, 0);
    cd_arena_fini(&a);
    end(&c);
}

/* --- imports and exports --- */

enum { MONEY = 24 };

static const char c_config[] = "{\"commit-interval\":4,\"state-sync-commit-interval\":4,\"state-history\":2,"
                               "\"state-sync-min-blocks\":8,\"state-sync-request-size\":3}";

/* A block with one transaction of the pool. */
static void c_block(pair_rig *r, cd_clock_virtual *clock)
{
    cd_vm *vm = r->vm;
    cd_vm_block *b;
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    const cd_vm_block_ctx ctx = {0};
    cd_clock_virtual_advance(clock, 10 * CD_NS_PER_SEC);
    assert_int_equal(vm->ops->build(vm, &b, &ctx, &why), CD_OK);
    assert_int_equal(vm->ops->verify(vm, b, &ctx, &why), CD_OK);
    cd_kv_batch_for(&batch, r->own);
    assert_int_equal(vm->ops->accept(vm, b, &batch, &why), CD_OK);
    cd_kv_batch_widen(&batch);
    assert_int_equal(cd_kv_commit(r->store, &batch, CD_KV_NOSYNC, &why), CD_OK);
    assert_int_equal(vm->ops->accepted(vm, b, &why), CD_OK);
    vm->ops->release(vm, b);
    cd_kv_batch_fini(&batch);
}

static void issue(pair_rig *r, rig_tx *t)
{
    cd_buf reply = {0};
    if (rig_issue(r, &reply, t->tx.bytes) != NULL) {
        fail_msg("%s", cd_buf_cstr(&reply));
    }
    cd_buf_fini(&reply);
    cd_arena_fini(&t->arena);
}

/* What shared memory holds, as a hash. */
static cd_hash32 memory_of(const pair_rig *r)
{
    cd_buf all = {0};
    cd_hash32 hash;
    cd_kv_iter *it;
    assert_int_equal(cd_kv_iter_new(&it, r->part, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_buf_put(&all, cd_kv_iter_key(it));
        cd_buf_put(&all, cd_kv_iter_value(it));
    }
    cd_kv_iter_free(it);
    cd_keccak256(&hash, cd_buf_bytes(&all));
    cd_buf_fini(&all);
    return hash;
}

/* The chain of the fixture becomes a C-Chain: imports, every third block an export. */
static void c_begin(client *c, fixture *f, const manner *peers, u32 cnt)
{
    f->rig.vm->ops->close(f->rig.vm);
    cd_kv_close(f->rig.store);
    rig_open_on(&f->rig, cd_kv_mem_open(), "C", rig_genesis_c, &f->clock);
    f->rig.vm->ops->close(f->rig.vm);
    f->rig.config = c_config;
    f->rig.sender = &f->asker.sender;
    rig_open_vm(&f->rig);
    *c = (client){.sender = {c_request, c_response, c_error, on_gossip},
                  .f = f,
                  .family = CD_SYNC_C,
                  .rng = cd_rng_seeded(3),
                  .peer_cnt = cnt};
    the = c;
    memcpy(c->peers, peers, cnt * sizeof *peers);
    rig_open_on(&c->pair, cd_kv_mem_open(), "C", rig_genesis_c, &f->clock);
    c->pair.vm->ops->close(c->pair.vm);
    c->pair.config = c_config;
    c->pair.sender = &c->sender;
    c->kv = c->pair.own;
    for (u64 i = 0; i < MONEY; i++) {
        /* X of the newcomer is behind: of the last outputs it knows nothing yet. */
        assert_int_equal(rig_x_export(&f->rig, &f->keys.shorts[0], i, RIG_UNIT), CD_OK);
        if (i < MONEY - 5) {
            assert_int_equal(rig_x_export(&c->pair, &f->keys.shorts[0], i, RIG_UNIT), CD_OK);
        }
    }
    for (u64 i = 0; i < MONEY; i++) {
        rig_tx t;
        rig_import_many(&t, &f->keys, 0, i, 1, RIG_UNIT, 1000, &f->keys.eth[0]);
        issue(&f->rig, &t);
        c_block(&f->rig, &f->clock);
        if (i % 3 == 2) {
            rig_export(&t, &f->keys, 0, i / 3, 1000 + i, 1000);
            issue(&f->rig, &t);
            c_block(&f->rig, &f->clock);
        }
    }
    open_c_client(c);
}

static void c_end(client *c)
{
    fixture *f = c->f;
    for (; c->head != c->tail; c->head++) {
        cd_buf_fini(&c->queue[c->head % QUEUE_MAX].msg);
    }
    cd_kv *store = c->pair.store;
    rig_close_on(&c->pair);
    cd_kv_close(store);
    store = f->rig.store;
    f->rig.vm->ops->close(f->rig.vm);
    cd_kv_close(f->rig.part);
    cd_kv_close(f->rig.own);
    cd_kv_close(store);
    f->rig.store = cd_kv_mem_open(); /* for the teardown */
    open_vm(f);
}

static void imports_and_exports(void **state)
{
    static const manner all[] = {HONEST, LEAVES_OUT, SPOILS, HONEST};
    client c;
    fixture *f = *state;
    c_begin(&c, f, all, CD_COUNT(all));
    assert_true(c.vm->ops->sync->is_enabled(c.vm)); /* by itself: it is at its genesis */
    u64 height = accept_summary(&c, 0);
    assert_int_equal(height, MONEY + MONEY / 3);
    u32 kills = 0;
    for (u32 i = 1; c.done == 0 && !is_at(&c, height); i++) {
        run(&c, 4 + i);
        if (c.done == 0) {
            for (; c.head != c.tail; c.head++) {
                cd_buf_fini(&c.queue[c.head % QUEUE_MAX].msg);
            }
            c.pair.vm->ops->close(c.pair.vm);
            open_c_client(&c);
            kills++;
            if (!is_at(&c, height)) {
                accept_summary(&c, height);
            }
        }
    }
    assert_true(kills > 2);
    assert_true(is_at(&c, height));
    is_whole(&c);
    /* What X has left since comes, and what was taken before it came is gone. */
    for (u64 i = MONEY - 5; i < MONEY; i++) {
        (void)!rig_x_export(&c.pair, &f->keys.shorts[0], i, RIG_UNIT);
    }
    static const char left[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBlockByNumber\",\"params\":[\"latest\",true]}";
    same_answer(&c, left);
    const cd_hash32 ours = memory_of(&c.pair);
    const cd_hash32 theirs = memory_of(&f->rig);
    assert_true(cd_hash32_eq(&ours, &theirs));
    /* It serves the same summary, and goes on. */
    cd_arena mem = {0};
    cd_vm_summary s;
    cd_vm_summary t;
    assert_int_equal(c.vm->ops->sync->last(c.vm, &s, &mem), CD_OK);
    assert_int_equal(f->rig.vm->ops->sync->last(f->rig.vm, &t, &mem), CD_OK);
    assert_true(cd_hash32_eq(&s.id, &t.id));
    cd_arena_fini(&mem);
    c_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile, setup, teardown),
        cmocka_unit_test_setup_teardown(killed, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_helps, setup, teardown),
        cmocka_unit_test_setup_teardown(all_lie_once, setup, teardown),
        cmocka_unit_test_setup_teardown(few_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(imports_and_exports, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
