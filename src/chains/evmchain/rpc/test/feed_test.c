/* Scans for logs with the index and without, filters, and the whole feed: clients that
 * come, are slow, are sent away, crash and come back have every log exactly once. [spec:architecture#8]
 * [spec:eth-rpc#7] */
#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "chains/evmchain/core/test/fixture.h"
#include "chains/evmchain/feed/cursor.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/feed/log_index.h"
#include "chains/evmchain/feed/log_scan.h"
#include "chains/evmchain/feed/test/criteria.h"
#include "chains/evmchain/rpc/api.h"
#include "crypto/ec/secp256k1.h"
#include "evm/evm.h"
#include "net/loop.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* --- a chain with logs --- */

/* f(n, topic) emits n logs with the topics 0xfeed and topic; the data of the i-th is i. */
static const char emitter[] = "601f8060095f395ff3"
                              "5f5b5f35811015601d57805f5260203561feed60205fa26001016001565b00";

typedef struct source {
    node n;
    cd_api api;
    cd_vm_config config;
    cd_arena arena;
    cd_clock_virtual clock;
    cd_addr20 emitter;
    u64 nonce;
    u64 time;
} source;

static void source_send(source *s, const cd_tx *tx)
{
    cd_errinfo why = {0};
    if (put(&s->n, 0, *tx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    s->nonce++;
}

static void source_mine(source *s)
{
    s->time += 2;
    mine(&s->n, s->time);
    cd_feed_news(s->api.feed);
}

static void source_emit(source *s, u8 cnt, u8 topic)
{
    u8 data[64] = {0};
    cd_tx tx = payment(s->nonce, 100);
    data[31] = cnt;
    data[63] = topic;
    tx.to = s->emitter;
    tx.value = (cd_u256){0};
    tx.gas_limit = 1000000;
    tx.data = cd_bytes_of(data, 64);
    source_send(s, &tx);
}

static void source_open(source *s, cd_loop *home)
{
    cd_errinfo why = {0};
    u8 code[sizeof emitter / 2];
    u8 pub[64];
    cd_addr20 sender;
    *s = (source){.time = START};
    cd_chain_cfg cfg = {
        .kv = cd_kv_mem_open(),
        .genesis = cd_buf_bytes(&genesis),
        .is_dev = true,
        .history = UINT64_MAX,
        .index = &cd_log_index,
    };
    node_open_as(&s->n, &cfg);
    cd_api *e = &s->api;
    assert_int_equal(cd_vm_config_parse(&s->config, &s->arena, (cd_bytes){0}, &why), CD_OK);
    assert_int_equal(cd_log_index_complete(s->n.kv, cd_chain_rules_of(s->n.chain)->layout, 0, NULL, NULL, &why), CD_OK);
    e->config = &s->config;
    e->arena = &s->arena;
    e->chain = s->n.chain;
    e->pool = s->n.pool;
    cd_clock_virtual_init(&s->clock, 0);
    cd_api_cfg cfg_api = {.clock = &s->clock.clock, .home = home};
    assert_int_equal(cd_api_open(e, &cfg_api, &why), CD_OK);
    assert_int_equal(cd_hex_parse(code, cd_bytes_str(emitter)), CD_OK);
    assert_int_equal(cd_secp256k1_pub(pub, secrets[0]), CD_OK);
    cd_secp256k1_addr(&sender, pub);
    cd_evm_create_addr(&s->emitter, &sender, 0);
    cd_tx tx = payment(0, 100);
    tx.is_create = true;
    tx.value = (cd_u256){0};
    tx.gas_limit = 200000;
    tx.data = cd_bytes_of(code, sizeof code);
    source_send(s, &tx);
    source_mine(s);
}

static void source_close(source *s)
{
    cd_api_close(&s->api);
    cd_arena_fini(&s->arena);
    node_close(&s->n);
    cd_kv_close(s->n.kv);
}

/* Appends height and place of every log that fits, by looking at all of them. */
static void all_logs(source *s, cd_buf *out, const cd_log_criteria *want, u64 from)
{
    cd_arena a = {0};
    cd_view *v = cd_view_newest(s->n.chain);
    for (u64 h = from; h <= cd_view_head(v)->block.header.number; h++) {
        const cd_accepted *acc;
        usize idx = 0;
        assert_int_equal(cd_view_block(v, &acc, &a, h), CD_OK);
        for (usize i = 0; i < acc->block.tx_cnt; i++) {
            for (usize j = 0; j < acc->receipts[i].log_cnt; j++, idx++) {
                if (fits(want, &acc->receipts[i].logs[j])) {
                    cd_buf_fmt(out, "%llx.%zx ", (unsigned long long)h, idx);
                }
            }
        }
        cd_arena_reset(&a);
    }
    cd_view_unref(v);
    cd_arena_fini(&a);
}

/* Makes a block with random transactions, or some empty ones. */
static void random_step(source *s, cd_rng *rng)
{
    if (cd_rng_below(rng, 30) == 0) {
        cd_errinfo why = {0};
        u64 cnt = 1 + cd_rng_below(rng, 100);
        cd_header_wish wish = {.time = s->time + 2};
        assert_int_equal(cd_chain_mine_empty(s->n.chain, cnt, 2, &wish, &why), CD_OK);
        s->time += 2 * cnt;
        follow(&s->n);
        cd_feed_news(s->api.feed);
        return;
    }
    usize txs = 1 + cd_rng_below(rng, 4);
    for (usize i = 0; i < txs; i++) {
        source_emit(s, (u8)cd_rng_below(rng, 5), (u8)cd_rng_below(rng, NAMES));
    }
    source_mine(s);
}

/* --- scans --- */

/* With the index and without, in memory and from the store, all at once and three blocks at a time: the same logs. */
static void scans_agree(void **state)
{
    (void)state;
    source s;
    cd_rng rng = cd_rng_seeded(21);
    name_values();
    source_open(&s, NULL);
    for (usize i = 0; i < 250; i++) {
        random_step(&s, &rng);
    }
    cd_view *v = cd_view_newest(s.n.chain);
    u64 head = cd_view_head(v)->block.header.number;
    for (usize round = 0; round < 60; round++) {
        cd_hash32 topics[2] = {{.b = {[30] = 0xfe, [31] = 0xed}}, topic_names[cd_rng_below(&rng, NAMES)]};
        cd_log_criteria want = {.addrs = &s.emitter,
                                .addr_cnt = cd_rng_below(&rng, 2),
                                .topics = {{&topics[0], cd_rng_below(&rng, 2)}, {&topics[1], cd_rng_below(&rng, 2)}},
                                .topic_cnt = cd_rng_below(&rng, 3)};
        cd_buf expect = {0};
        u64 from = cd_rng_below(&rng, head + 1);
        all_logs(&s, &expect, &want, from);
        for (usize way = 0; way < 4; way++) { /* with the index, all at once */
            cd_buf got = {0};
            cd_arena a = {0};
            cd_log_scan scan;
            const cd_accepted *acc;
            cd_err e = CD_EAGAIN;
            u64 at = from;
            u64 max = (way & 2) != 0 ? UINT64_MAX : 3;
            while (e == CD_EAGAIN) {
                assert_int_equal(cd_log_scan_init(&scan, v, &want, at, head), CD_OK);
                scan.has_index = scan.has_index && (way & 1) != 0;
                while ((e = cd_log_scan_next(&scan, &acc, &a, max)) == CD_OK) {
                    usize idx = 0;
                    for (usize i = 0; i < acc->block.tx_cnt; i++) {
                        for (usize j = 0; j < acc->receipts[i].log_cnt; j++, idx++) {
                            if (cd_log_criteria_match(&want, &acc->receipts[i].logs[j])) {
                                cd_buf_fmt(&got, "%llx.%zx ", (unsigned long long)acc->block.header.number, idx);
                            }
                        }
                    }
                }
                assert_true(scan.cost <= max && (e != CD_EAGAIN || scan.cost == max));
                at = scan.next;
            }
            assert_int_equal(e, CD_ENOENT);
            assert_string_equal(cd_buf_cstr(&got), cd_buf_cstr(&expect));
            cd_buf_fini(&got);
            cd_arena_fini(&a);
        }
        cd_buf_fini(&expect);
    }
    /* The genesis alone: nothing found up to height 0 is an answer, too. */
    cd_log_criteria any = {.addrs = &s.emitter, .addr_cnt = 1};
    cd_arena a = {0};
    cd_log_scan scan;
    const cd_accepted *acc;
    assert_int_equal(cd_log_scan_init(&scan, v, &any, 0, 0), CD_OK);
    assert_true(scan.has_index);
    assert_int_equal(cd_log_scan_next(&scan, &acc, &a, UINT64_MAX), CD_ENOENT);
    cd_arena_fini(&a);
    cd_view_unref(v);
    source_close(&s);
}

/* A store whose index was dropped has the same one after cd_log_index_complete. */
static void index_completes(void **state)
{
    (void)state;
    source s;
    cd_rng rng = cd_rng_seeded(22);
    cd_errinfo why = {0};
    bool is_whole;
    source_open(&s, NULL);
    for (usize i = 0; i < 60; i++) {
        random_step(&s, &rng);
    }
    cd_buf before = {0};
    cd_buf after = {0};
    static const u8 table = 'i';
    for (usize pass = 0; pass < 2; pass++) {
        cd_kv_iter *it;
        cd_kv_range range = {.prefix = cd_bytes_of(&table, 1)};
        assert_int_equal(cd_kv_iter_new(&it, s.n.kv, &range), CD_OK);
        while (cd_kv_iter_next(it)) {
            cd_buf_put(pass == 0 ? &before : &after, cd_kv_iter_key(it));
        }
        cd_kv_iter_free(it);
        if (pass == 0) {
            for (usize again = 0; again < 2; again++) {
                assert_int_equal(cd_log_index_drop(s.n.kv, &why), CD_OK);
                assert_int_equal(cd_kv_iter_new(&it, s.n.kv, &range), CD_OK);
                assert_false(cd_kv_iter_next(it));
                cd_kv_iter_free(it);
            }
            assert_int_equal(cd_log_index_is_whole(s.n.kv, &is_whole), CD_OK);
            assert_false(is_whole);
            assert_int_equal(cd_log_index_complete(s.n.kv, cd_chain_rules_of(s.n.chain)->layout,
                                                   cd_chain_head(s.n.chain)->header.number, NULL, NULL, &why),
                             CD_OK);
            assert_int_equal(cd_log_index_is_whole(s.n.kv, &is_whole), CD_OK);
            assert_true(is_whole);
        }
    }
    assert_true(before.n != 0 && cd_bytes_eq(cd_buf_bytes(&before), cd_buf_bytes(&after)));
    cd_buf_fini(&before);
    cd_buf_fini(&after);
    source_close(&s);
}

/* --- filters --- */

/* The text of what a call gives, result or error. */
static const char *ask(source *s, cd_buf *reply, const char *method, const char *params)
{
    cd_buf text = {0};
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,";
    cd_buf_fmt(&text, "%s\"method\":\"%s\",\"params\":[%s]}", head, method, params);
    cd_buf_clear(reply);
    cd_rpc_serve(&s->api.service.rpc, reply, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    assert_true(reply->n > sizeof head);
    return cd_buf_cstr(reply) + sizeof head - 1;
}

/* A filter lives as long as it is asked for every five minutes. */
static void filters_expire(void **state)
{
    (void)state;
    static const char *const kinds[] = {"eth_newBlockFilter", "eth_newPendingTransactionFilter"};
    source s;
    cd_buf reply = {0};
    source_open(&s, NULL);
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        char id[64];
        (void)snprintf(id, sizeof id, "%s", ask(&s, &reply, kinds[i], "") + strlen("\"result\":"));
        *strchr(id, '}') = '\0';
        for (usize polls = 0; polls < 3; polls++) {
            cd_clock_virtual_advance(&s.clock, 299 * CD_NS_PER_SEC);
            assert_string_equal(ask(&s, &reply, "eth_getFilterChanges", id), "\"result\":[]}");
        }
        cd_clock_virtual_advance(&s.clock, 301 * CD_NS_PER_SEC);
        assert_string_equal(ask(&s, &reply, "eth_getFilterChanges", id),
                            "\"error\":{\"code\":-32000,\"message\":\"filter not found\"}}");
    }
    /* One of pending transactions gives all that the ring holds, and ends when that has gone on without it. */
    char id[64];
    (void)snprintf(id, sizeof id, "%s", ask(&s, &reply, kinds[1], "") + strlen("\"result\":"));
    *strchr(id, '}') = '\0';
    for (u64 i = 0; i < 16384; i++) {
        cd_api_pending_tx(&s.api, &(cd_pool_tx){.tx.hash.b = {(u8)i, (u8)(i >> 8)}});
    }
    assert_int_equal(strncmp(ask(&s, &reply, "eth_getFilterChanges", id), "\"result\":[\"0x0000", 17), 0);
    for (u64 i = 0; i < 16385; i++) {
        cd_api_pending_tx(&s.api, &(cd_pool_tx){0});
    }
    assert_string_equal(ask(&s, &reply, "eth_getFilterChanges", id),
                        "\"error\":{\"code\":-32000,\"message\":\"filter not found\"}}");
    cd_buf_fini(&reply);
    source_close(&s);
}

/* --- clients --- */

enum { CLIENTS = 24, INBOX = 40 };

/* Lives on the home thread, but for has. */
typedef struct client {
    struct crowd *crowd;
    cd_rpc_session *session;
    cd_rng rng;
    i32 topic; /* of the logs it wants; -1: all */
    cd_buf inbox[INBOX];
    usize inbox_cnt;
    bool was_full;
    bool is_closed;
    char resume[64]; /* what the server said when it sent the client away */
    char cursor[CD_CURSOR_TEXT_SIZE];
    cd_buf got;
    usize connects;
    _Atomic usize has; /* bytes in got */
} client;

typedef struct crowd {
    source *s;
    cd_loop *loop;
    cd_rpc_hub *hub;
    cd_timer *timer;
    cd_loop_task stop;
    client clients[CLIENTS];
    _Atomic bool is_leaving;
} crowd;

static cd_err wire_send(void *ctx, cd_bytes head, cd_ws_payload *body)
{
    client *c = ctx;
    if (c->is_closed) {
        return CD_ECLOSED;
    }
    if (c->inbox_cnt == INBOX) {
        c->was_full = true;
        return CD_EFULL;
    }
    cd_buf *m = &c->inbox[c->inbox_cnt++];
    cd_buf_clear(m);
    cd_buf_put(m, head);
    if (body != NULL) {
        cd_buf_put(m, cd_ws_payload_bytes(body));
    }
    return CD_OK;
}

static void wire_nothing(void *ctx)
{
    (void)ctx;
}

static void wire_close(void *ctx, u16 code, const char *reason)
{
    client *c = ctx;
    static const char words[] = "too slow, resume at ";
    (void)code;
    c->is_closed = true;
    assert_int_equal(strncmp(reason, words, sizeof words - 1), 0);
    (void)snprintf(c->resume, sizeof c->resume, "%s", reason + sizeof words - 1);
}

static const cd_rpc_wire test_wire = {
    .send = wire_send,
    .cork = wire_nothing,
    .uncork = wire_nothing,
    .pause = wire_nothing,
    .resume = wire_nothing,
    .close = wire_close,
};

/* The client has read a message: it keeps the log, and where to go on. */
static void take(client *c, cd_bytes text)
{
    cd_arena a = {0};
    cd_json doc;
    cd_bytes cursor;
    u64 number;
    u64 idx;
    assert_int_equal(cd_json_parse(&doc, &a, text, 0, NULL), CD_OK);
    cd_json params = cd_json_get(doc, "params");
    if (cd_json_has(params)) {
        cd_json log = cd_json_get(params, "result");
        assert_int_equal(cd_json_qty_u64(&number, cd_json_get(log, "blockNumber"), NULL), CD_OK);
        assert_int_equal(cd_json_qty_u64(&idx, cd_json_get(log, "logIndex"), NULL), CD_OK);
        assert_int_equal(cd_json_str(&cursor, cd_json_get(params, "cursor"), NULL), CD_OK);
        cd_buf_fmt(&c->got, "%llx.%llx ", (unsigned long long)number, (unsigned long long)idx);
        (void)snprintf(c->cursor, sizeof c->cursor, "%.*s", (int)cursor.n, (const char *)cursor.p);
        atomic_store(&c->has, c->got.n);
    } else {
        assert_int_equal(cd_json_kind_of(cd_json_get(doc, "error")), CD_JSON_NONE);
    }
    cd_arena_fini(&a);
}

static void hang_up(client *c)
{
    cd_rpc_session_end(c->session);
    c->session = NULL;
    c->inbox_cnt = 0; /* what was not read is lost */
    c->is_closed = false;
    c->was_full = false;
    c->resume[0] = '\0';
}

static void dial(client *c)
{
    cd_buf text = {0};
    cd_bytes where = cd_bytes_str(c->cursor);
    c->session = cd_rpc_session_new(c->crowd->hub, &test_wire, c, (cd_bytes){0});
    c->connects++;
    cd_buf_str(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_subscribe\",\"params\":"
                      "[\"logs\",{");
    if (where.n == 0) {
        cd_buf_str(&text, "\"fromBlock\":\"0x0\",\"cursor\":true");
    } else {
        cd_buf_fmt(&text, "\"cursor\":\"%s\"", c->cursor);
    }
    if (c->topic >= 0) {
        cd_buf_fmt(&text, ",\"topics\":[null,\"0x%064x\"]", (u32)c->topic);
    }
    cd_buf_str(&text, "}]}");
    cd_rpc_session_message(c->session, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void act(client *c)
{
    if (c->session == NULL) {
        dial(c);
        return;
    }
    if (cd_rng_below(&c->rng, 60) == 0) {
        hang_up(c); /* a crash */
        return;
    }
    usize cnt = cd_min_u64(cd_rng_below(&c->rng, INBOX + 1), c->inbox_cnt);
    for (usize i = 0; i < cnt; i++) {
        take(c, cd_buf_bytes(&c->inbox[i]));
    }
    for (usize i = cnt; i < c->inbox_cnt; i++) {
        cd_buf swap = c->inbox[i - cnt];
        c->inbox[i - cnt] = c->inbox[i];
        c->inbox[i] = swap;
    }
    c->inbox_cnt -= cnt;
    if (c->is_closed && c->inbox_cnt == 0) {
        (void)snprintf(c->cursor, sizeof c->cursor, "%s", c->resume);
        hang_up(c);
    } else if (!c->is_closed && c->was_full && c->inbox_cnt < INBOX) {
        c->was_full = false;
        cd_rpc_session_writable(c->session);
    }
}

static void tick(void *ctx)
{
    crowd *cr = ctx;
    for (usize i = 0; i < CLIENTS; i++) {
        if (!atomic_load(&cr->is_leaving)) {
            act(&cr->clients[i]);
        }
    }
}

static cd_err run_here(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    (void)ctx;
    (void)lane;
    job->run(job);
    return CD_OK;
}

static void on_stop(cd_loop_task *t)
{
    crowd *cr = cd_list_of(t, crowd, stop);
    for (usize i = 0; i < CLIENTS; i++) {
        if (cr->clients[i].session != NULL) {
            hang_up(&cr->clients[i]);
        }
    }
    cd_timer_free(cr->timer);
    cd_loop_stop(cr->loop);
}

static void run_loop(void *arg)
{
    cd_loop_run(arg);
}

static void stop_loop(cd_loop_task *t)
{
    crowd *cr = cd_list_of(t, crowd, stop);
    cd_loop_stop(cr->loop);
}

static void one_crowd(u64 seed)
{
    source s;
    crowd *cr = cd_new(crowd);
    cd_thread home;
    cd_rng rng = cd_rng_seeded(seed);
    assert_int_equal(cd_loop_new(&cr->loop, NULL), CD_OK);
    source_open(&s, cr->loop);
    cr->s = &s;
    cr->hub = cd_rpc_hub_new(&(cd_rpc_hub_cfg){
        .service = &s.api.service.rpc,
        .lanes = &(cd_rpc_lanes){.run = run_here},
        .home = cr->loop,
        .queue_max = 100,
    });
    for (usize i = 0; i < CLIENTS; i++) {
        client *c = &cr->clients[i];
        c->crowd = cr;
        c->rng = cd_rng_seeded(seed * 1000 + i);
        c->topic = (i32)cd_rng_below(&rng, 4) - 1;
    }
    cr->timer = cd_timer_new(cr->loop, tick, cr);
    cd_timer_start(cr->timer, 1, 1);
    assert_int_equal(cd_thread_start(&home, "home", run_loop, cr->loop, NULL), CD_OK);
    for (usize i = 0; i < 150; i++) {
        random_step(&s, &rng);
    }
    usize connects = 0;
    cd_buf expect[CLIENTS] = {0};
    for (usize i = 0; i < CLIENTS; i++) {
        client *c = &cr->clients[i];
        cd_hash32 topic = {.b = {[31] = (u8)c->topic}};
        cd_log_criteria want = {.topic_cnt = c->topic < 0 ? 0 : 2, .topics[1] = {&topic, 1}};
        all_logs(&s, &expect[i], &want, 0);
        u64 until = cd_clock_mono_ns(cd_clock_real()) + 60 * CD_NS_PER_SEC;
        while (atomic_load(&c->has) < expect[i].n && cd_clock_mono_ns(cd_clock_real()) < until) {
            (void)usleep(1000);
        }
    }
    atomic_store(&cr->is_leaving, true);
    cr->stop.fn = on_stop;
    cd_loop_post(cr->loop, &cr->stop);
    cd_thread_join(&home);
    for (usize i = 0; i < CLIENTS; i++) {
        client *c = &cr->clients[i];
        assert_string_equal(cd_buf_cstr(&c->got), cd_buf_cstr(&expect[i]));
        connects += c->connects;
        cd_buf_fini(&c->got);
        cd_buf_fini(&expect[i]);
        for (usize j = 0; j < INBOX; j++) {
            cd_buf_fini(&c->inbox[j]);
        }
    }
    assert_true(connects > CLIENTS);
    source_close(&s);
    cr->stop.fn = stop_loop; /* what is still on its way home */
    cd_loop_post(cr->loop, &cr->stop);
    cd_loop_run(cr->loop);
    assert_int_equal(cd_rpc_hub_cnt(cr->hub), 0);
    cd_rpc_hub_free(cr->hub);
    cd_loop_free(cr->loop);
    cd_free(cr);
}

static void every_log_once(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 4; seed++) {
        one_crowd(seed);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {

        cmocka_unit_test(scans_agree),
        cmocka_unit_test(index_completes),
        cmocka_unit_test(filters_expire),
        cmocka_unit_test(every_log_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
