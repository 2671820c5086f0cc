/* Messages between exchange and miner, and what a miner remembers of its deliveries. */
#include "services/adx/exchange/token.h"
#include "services/adx/miner/played.h"
#include "services/adx/miner/tunnel.h"
#include "services/adx/miner/wire.h"

#include "crypto/ec/ed25519.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const u8 seed[32] = {7};

static void say(cd_buf *out, cd_wire_out *o)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_wire_begin(o, &w, "heartbeat");
    cd_json_put_cstr(&w, "note", "a \"quoted\" \\ word");
    cd_wire_end(o, &w, out);
    cd_buf_fini(&text);
}

static void test_message(void **state)
{
    cd_wire_out o = {.from = CD_WIRE_MINER, .seed = seed, .challenge = {9}};
    u8 public[32];
    u8 other[32] = {8};
    u64 seq = 0;
    cd_buf text = {0};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_wire_in in;
    (void)state;
    cd_ed25519_public(public, seed);
    say(&text, &o);
    assert_int_equal(cd_wire_read(&in, &mem, cd_buf_bytes(&text), &why), CD_OK);
    assert_true(cd_bytes_eq(in.type, cd_bytes_str("heartbeat")));
    assert_int_equal(cd_wire_check(&in, CD_WIRE_EXCHANGE, public, o.challenge, &seq, &why), CD_ESIG);
    assert_int_equal(cd_wire_check(&in, CD_WIRE_MINER, public, other, &seq, &why), CD_ESIG);
    assert_int_equal(cd_wire_check(&in, CD_WIRE_MINER, other, o.challenge, &seq, &why), CD_ESIG);
    assert_int_equal(cd_wire_check(&in, CD_WIRE_MINER, public, o.challenge, &seq, &why), CD_OK);
    assert_int_equal(seq, 1);
    assert_int_equal(cd_wire_check(&in, CD_WIRE_MINER, public, o.challenge, &seq, &why), CD_EFORMAT);
    for (usize i = 0; i < text.n; i++) { // any byte of it
        u64 none = 0;
        text.p[i] ^= 1;
        bool is_good = cd_wire_read(&in, &mem, cd_buf_bytes(&text), &why) == CD_OK &&
                       cd_wire_check(&in, CD_WIRE_MINER, public, o.challenge, &none, &why) == CD_OK;
        assert_false(is_good);
        text.p[i] ^= 1;
    }
    cd_arena_fini(&mem);
    cd_buf_fini(&text);
}

static void test_url(void **state)
{
    char out[CD_WIRE_URL_MAX + 1];
    static const char *const good[][2] = {{"http://a", "http://a"},
                                          {"https://a.example:8443/x/", "https://a.example:8443/x"},
                                          {"http://[2001:db8::1]:80", "http://[2001:db8::1]:80"}};
    static const char *const bad[] = {"",          "http://",        "ftp://a",    "javascript:alert(1)",
                                      "http:///x", "http://a\"onx=", "http://a b", "http://a?x=1",
                                      "http://a#", "http://a@b",     "http://a<",  "//a"};
    (void)state;
    for (usize i = 0; i < CD_COUNT(good); i++) {
        assert_int_equal(cd_wire_url(out, cd_bytes_str(good[i][0])), CD_OK);
        assert_string_equal(out, good[i][1]);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_wire_url(out, cd_bytes_str(bad[i])), CD_EFORMAT);
    }
}

static void test_tunnel_output(void **state)
{
    static const struct {
        cd_tunnel_kind kind;
        const char *text, *url;
    } cases[] = {
        {CD_TUNNEL_CLOUDFLARE,
         "2026 INF Thank you, see https://developers.cloudflare.com/ for terms\n|  https://a-b-c.trycloudflare.com  "
         "|\n",
         "https://a-b-c.trycloudflare.com"},
        {CD_TUNNEL_LOCALXPOSE, "(running) http://x1y2.loclx.io => 127.0.0.1:8081\n", "http://x1y2.loclx.io"},
        {CD_TUNNEL_TAILSCALE,
         "Available on the internet:\n\nhttps://pc.tail1234.ts.net/\n|-- proxy http://127.0.0.1:8081\n",
         "https://pc.tail1234.ts.net"},
        {CD_TUNNEL_CLOUDFLARE, "https://a-b-c.trycloudfl", NULL}, // the rest is on its way
        {CD_TUNNEL_NGROK, "nothing here\n", NULL},
    };
    (void)state;
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        char url[CD_WIRE_URL_MAX + 1];
        cd_err err = cd_tunnel_find_url(url, cases[i].kind, false, cd_bytes_str(cases[i].text));
        assert_int_equal(err, cases[i].url == NULL ? CD_ENOENT : CD_OK);
        if (cases[i].url != NULL) {
            assert_string_equal(url, cases[i].url);
        }
    }
}

static usize told(cd_played *p, u64 seq)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_arr(&w);
    usize cnt = cd_played_put(p, &w, seq);
    cd_buf_fini(&text);
    return cnt;
}

static void test_played(void **state)
{
    cd_played *p = cd_played_new();
    (void)state;
    cd_played_add(p, cd_bytes_str("tok-1"), 10, 100);
    cd_played_add(p, cd_bytes_str("tok-1"), 10, 100);
    cd_played_add(p, cd_bytes_str("not a token"), 10, 100);
    cd_played_add(p, cd_bytes_str("tok-2"), 0, 100);
    assert_int_equal(told(p, 1), 1);
    assert_int_equal(told(p, 2), 0);
    cd_played_lost(p); // the connection went before it was acknowledged
    assert_int_equal(told(p, 3), 1);
    cd_played_ack(p, 3);
    cd_played_lost(p);
    assert_int_equal(told(p, 4), 0);
    cd_played_add(p, cd_bytes_str("tok-1"), 1, 200); // more of it
    assert_int_equal(told(p, 5), 1);
    cd_played_forget(p, 200 + CD_PLAYED_KEEP_S + 1);
    cd_played_lost(p);
    assert_int_equal(told(p, 6), 0);
    for (u32 i = 0; i < CD_PLAYED_MAX + 100; i++) { // more than it remembers
        char name[16];
        (void)snprintf(name, sizeof name, "t%u", i);
        cd_played_add(p, cd_bytes_str(name), 1, 300);
    }
    assert_int_equal(cd_played_waiting(p), CD_PLAYED_MAX);
    assert_int_equal(told(p, 7), CD_WIRE_REPORT_MAX);
    cd_played_free(p);
}

static void test_media_token(void **state)
{
    cd_hmac_sha256_key key;
    cd_hmac_sha256_key other;
    cd_media_token t = {.name = {1, 2, 3}, .expires_s = 77, .size = 1ull << 40, .miner = "0123456789abcdef"};
    cd_media_token back;
    cd_token beacon;
    cd_buf text = {0};
    (void)state;
    cd_hmac_sha256_init(&key, cd_bytes_str("k"));
    cd_hmac_sha256_init(&other, cd_bytes_str("o"));
    cd_media_token_put(&text, &key, &t);
    assert_true(text.n <= CD_PLAYED_TOKEN_MAX);
    assert_int_equal(cd_media_token_read(&back, &key, cd_buf_bytes(&text)), CD_OK);
    assert_memory_equal(back.name, t.name, sizeof t.name);
    assert_true(back.expires_s == t.expires_s && back.size == t.size);
    assert_string_equal(back.miner, t.miner);
    assert_int_equal(cd_media_token_read(&back, &other, cd_buf_bytes(&text)), CD_ESIG);
    assert_int_not_equal(cd_token_read(&beacon, &key, cd_buf_bytes(&text)), CD_OK); // it pays nothing
    cd_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message), cmocka_unit_test(test_url),         cmocka_unit_test(test_tunnel_output),
        cmocka_unit_test(test_played),  cmocka_unit_test(test_media_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
