/* Handlers, how often a peer may ask, pull gossip; addresses and filters at their edges. */
#include "p2p/ip.h"
#include "p2p/sdk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_node_id alice = {{1}};
static const cd_node_id bob = {{2}};

#define PERIOD 1000ull

static void window(void **state)
{
    (void)state;
    cd_p2p_window w;
    cd_p2p_window_init(&w, PERIOD, 2, 0);
    assert_true(cd_p2p_window_hit(&w, &alice, 0));
    assert_true(cd_p2p_window_hit(&w, &alice, 10));
    assert_false(cd_p2p_window_hit(&w, &alice, 20));
    assert_true(cd_p2p_window_hit(&w, &bob, 20));
    assert_false(cd_p2p_window_hit(&w, &alice, PERIOD));       /* 0 + 1.0 x 2 */
    assert_true(cd_p2p_window_hit(&w, &alice, PERIOD + 1));    /* 0 + 0.999 x 2 */
    assert_false(cd_p2p_window_hit(&w, &alice, PERIOD + 499)); /* 1 + 0.501 x 2 */
    assert_true(cd_p2p_window_hit(&w, &alice, PERIOD + 501));  /* 1 + 0.499 x 2 */
    assert_true(cd_p2p_window_hit(&w, &alice, 10 * PERIOD));   /* requests of long ago do not count */
    assert_true(cd_p2p_window_hit(&w, &alice, 10 * PERIOD + 1));
    assert_false(cd_p2p_window_hit(&w, &alice, 10 * PERIOD + 2));
    cd_p2p_window_fini(&w);
}

static i32 echo(void *ctx, cd_buf *response, const cd_node_id *from, cd_bytes body)
{
    cd_buf_put(response, body);
    return cd_bytes_eq(body, cd_bytes_str("bad")) ? 7 : ctx == NULL && from == NULL ? 1 : CD_P2P_APP_OK;
}

static void count(void *ctx, const cd_node_id *from, cd_bytes body)
{
    assert_memory_equal(from, &alice, sizeof alice);
    *(usize *)ctx += body.n;
}

static bool is_alice(void *ctx, const cd_node_id *node)
{
    (void)ctx;
    return memcmp(node, &alice, sizeof alice) == 0;
}

static i32 ask(cd_p2p_mux *m, const char *bytes, usize n, const cd_node_id *from, cd_buf *out)
{
    cd_buf_clear(out);
    return cd_p2p_mux_request(m, out, from, cd_bytes_of(bytes, n), 5);
}

static void mux(void **state)
{
    (void)state;
    usize heard = 0;
    cd_p2p_mux m = {.is_validator = is_alice};
    cd_buf out = {0};
    cd_p2p_handler h = {.id = 300, .request = echo, .gossip = count, .ctx = &heard, .period_ns = PERIOD, .limit = 2};
    assert_int_equal(cd_p2p_mux_add(&m, &h, 0), CD_OK);
    assert_int_equal(cd_p2p_mux_add(&m, &h, 0), CD_EEXIST);
    h = (cd_p2p_handler){.id = 1, .request = echo, .validators_only = true};
    assert_int_equal(cd_p2p_mux_add(&m, &h, 0), CD_OK);
    assert_int_equal(ask(&m, "\xac\x02hi", 4, &bob, &out), CD_P2P_APP_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), cd_bytes_str("hi")));
    assert_int_equal(ask(&m,
                         "\xac\x02"
                         "bad",
                         5, &bob, &out),
                     7);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), cd_bytes_str("bad"))); /* the words of the AppError */
    assert_int_equal(ask(&m, "\xac\x02hi", 4, &bob, &out), CD_P2P_APP_THROTTLED);
    assert_int_equal(ask(&m, "\xac\x02hi", 4, &alice, &out), CD_P2P_APP_OK);
    assert_int_equal(ask(&m, "\x01x", 2, &bob, &out), CD_P2P_APP_NOT_VALIDATOR);
    assert_int_equal(ask(&m, "\x01x", 2, &alice, &out), CD_P2P_APP_OK);
    assert_int_equal(ask(&m, "\x02x", 2, &alice, &out), CD_P2P_APP_UNREGISTERED);
    assert_int_equal(ask(&m, "", 0, &alice, &out), CD_P2P_APP_UNREGISTERED);
    assert_int_equal(ask(&m, "\xff", 1, &alice, &out), CD_P2P_APP_UNREGISTERED);
    cd_p2p_mux_gossip(&m, &alice,
                      cd_bytes_of("\xac\x02"
                                  "four",
                                  6));
    cd_p2p_mux_gossip(&m, &alice, cd_bytes_of("\x01none", 5));
    cd_p2p_mux_gossip(&m, &alice, cd_bytes_of("\x80", 1));
    assert_int_equal(heard, 4);
    for (u64 id = 1000; m.cnt < CD_P2P_HANDLERS_MAX; id++) {
        h.id = id;
        assert_int_equal(cd_p2p_mux_add(&m, &h, 0), CD_OK);
    }
    h.id = 1;
    assert_int_equal(cd_p2p_mux_add(&m, &h, 0), CD_EEXIST);
    h.id = 2;
    assert_int_equal(cd_p2p_mux_add(&m, &h, 0), CD_EFULL);
    assert_string_equal(cd_p2p_app_text(-2), "unregistered handler");
    cd_buf_fini(&out);
    cd_p2p_mux_fini(&m);
}

enum { THINGS = 100, THING_LEN = 1000 };

static void each_thing(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    u8 thing[THING_LEN] = {0};
    (void)ctx;
    for (u32 i = 0; i < THINGS; i++) {
        cd_hash32 id = {{(u8)i}};
        thing[0] = (u8)i;
        if (!visit(arg, &id, cd_bytes_of(thing, sizeof thing))) {
            return;
        }
    }
}

typedef struct got {
    bool has[THINGS];
    u32 cnt;
} got;

static void take(void *ctx, cd_bytes item)
{
    got *g = ctx;
    assert_int_equal(item.n, THING_LEN);
    g->has[item.p[0]] = true;
    g->cnt++;
}

/* A node that asks with a filter of what it has gets the rest, in bounded parts, until nothing is left. */
static void pull(void **state)
{
    (void)state;
    const cd_p2p_gossip_set set = {.each = each_thing};
    cd_rng rng = cd_rng_seeded(3);
    cd_p2p_bloom f = {.cnt = 0};
    cd_buf body = {0};
    cd_buf out = {0};
    got g = {.cnt = 0};
    u32 rounds = 0;
    for (; rounds < 50; rounds++) {
        cd_p2p_bloom_reset(&f, &rng, THINGS, 0.001, 0.01);
        for (u32 i = 0; i < THINGS; i++) {
            cd_hash32 id = {{(u8)i}};
            if (g.has[i]) {
                assert_true(cd_p2p_bloom_add(&f, cd_bytes_of(id.b, 32)));
            }
        }
        cd_p2p_pull ask_for = {.salt = cd_bytes_of(f.salt.b, 32), .filter = cd_buf_bytes(&f.bytes)};
        cd_buf_clear(&body);
        cd_buf_clear(&out);
        cd_proto_put(&body, &cd_p2p_pull_table, &ask_for);
        assert_int_equal(cd_p2p_pull_answer(&out, cd_buf_bytes(&body), &set, CD_P2P_PULL_TARGET), CD_P2P_APP_OK);
        assert_true(out.n < CD_P2P_PULL_TARGET + 2 * THING_LEN);
        u32 before = g.cnt;
        assert_int_equal(cd_p2p_gossip_read(cd_buf_bytes(&out), take, &g), CD_OK);
        if (g.cnt == before) {
            break;
        }
    }
    assert_true(g.cnt >= THINGS - 3 && rounds < 10);
    cd_buf_clear(&body);
    cd_buf_str(&body, "\x12\x01x");
    assert_int_equal(cd_p2p_pull_answer(&out, cd_buf_bytes(&body), &set, 1), CD_P2P_APP_UNEXPECTED);
    assert_int_equal(cd_p2p_pull_answer(&out, cd_bytes_str("\xff"), &set, 1), CD_P2P_APP_UNEXPECTED);
    cd_p2p_bloom_fini(&f);
    cd_buf_fini(&body);
    cd_buf_fini(&out);
}

static void filters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        usize n;
        const char *why;
    } bad[] = {{"", 0, "invalid num hashes"},
               {"\0x", 2, "too few hashes: 0 < 1"},
               {"\x11xxxxxxxxxxxxxxxxxx", 19, "too many hashes: 17 > 16"},
               {"\x01"
                "12345678",
                9, "too few entries"}};
    cd_p2p_bloom_view v;
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_errinfo why = {0};
        assert_int_equal(cd_p2p_bloom_parse(&v, cd_bytes_of(bad[i].text, bad[i].n), &why), CD_EFORMAT);
        assert_string_equal(why.msg, bad[i].why);
    }
    v = cd_p2p_bloom_empty();
    assert_false(cd_p2p_bloom_has(&v, 12345));
    cd_p2p_bloom f = {.cnt = 0};
    cd_rng rng = cd_rng_seeded(9);
    cd_p2p_bloom_reset(&f, &rng, 128, 0.001, 0.01);
    u32 added = 0;
    for (bool has_room = true; has_room; added++) {
        u8 key[4];
        cd_put_be32(key, added);
        has_room = cd_p2p_bloom_add(&f, cd_bytes_of(key, 4));
        v = cd_p2p_bloom_of(&f);
        assert_true(cd_p2p_bloom_has(&v, cd_p2p_bloom_hash(cd_bytes_of(key, 4), cd_bytes_of(f.salt.b, 32))));
    }
    assert_true(added > 128 && added < 256);
    u32 wrong = 0;
    for (u32 i = 0; i < 10000; i++) {
        u8 key[4];
        cd_put_be32(key, added + i);
        wrong += cd_p2p_bloom_has(&v, cd_p2p_bloom_hash(cd_bytes_of(key, 4), cd_bytes_of(f.salt.b, 32)));
    }
    assert_true(wrong < 300); /* one in a hundred is expected */
    cd_p2p_bloom_fini(&f);
}

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_private;
    } good[] = {{"127.0.0.1:9651", true}, {"10.1.2.3:1", true},          {"172.16.0.1:1", true},
                {"172.32.0.1:1", false},  {"192.168.1.1:1", true},       {"169.254.0.1:1", true},
                {"8.8.8.8:65535", false}, {"[::1]:9651", true},          {"[fe80::1]:1", true},
                {"[fd00::1]:1", true},    {"[2001:db8::1]:9641", false}, {"0.0.0.0:1", true}};
    static const char *const bad[] = {"",      ":1",   "1.2.3.4", "1.2.3.4:0", "1.2.3.4:65536", "::1:9651",
                                      "[::1]", "[]:1", "host:1",  "1.2.3.4:x", "1.2.3:5"};
    cd_p2p_ip ip;
    char text[CD_P2P_IP_TEXT_MAX];
    for (usize i = 0; i < CD_COUNT(good); i++) {
        assert_int_equal(cd_p2p_ip_parse(&ip, cd_bytes_str(good[i].text)), CD_OK);
        cd_p2p_ip_fmt(text, &ip);
        assert_string_equal(text, good[i].text);
        assert_true(cd_p2p_ip_is_private(&ip) == good[i].is_private);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_p2p_ip_parse(&ip, cd_bytes_str(bad[i])), CD_EFORMAT);
    }
    u8 mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 1, [13] = 2, [14] = 3, [15] = 4};
    assert_int_equal(cd_p2p_ip_dec(&ip, cd_bytes_of(mapped, 16), 80), CD_OK);
    assert_int_equal(cd_p2p_ip_wire(&ip).n, 4); /* IPv4 in IPv6 is sent as IPv4 */
    assert_int_equal(cd_p2p_ip_dec(&ip, cd_bytes_of(mapped, 15), 80), CD_EFORMAT);
    assert_int_equal(cd_p2p_ip_dec(&ip, cd_bytes_of(mapped, 16), 0), CD_EFORMAT);
    assert_int_equal(cd_p2p_ip_dec(&ip, cd_bytes_of(mapped, 16), 65536), CD_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(window), cmocka_unit_test(mux), cmocka_unit_test(pull),
                                       cmocka_unit_test(filters), cmocka_unit_test(addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
