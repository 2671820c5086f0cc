/* Frame headers, masks, UTF-8 in pieces, close codes; handshake values and permessage-deflate payloads. */
#include "net/ws/frame.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/utf8.h"
#include "net/ws/deflate.h"
#include "net/ws/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_ws_rules from_client = {.from_client = true};
static const cd_ws_rules from_server = {.from_client = false};
static const cd_ws_rules deflating = {.from_client = true, .has_deflate = true};

static void test_head_round_trip(void **state)
{
    static const u64 lens[] = {0, 1, 125, 126, 127, 128, 65535, 65536, 1 << 20, 0x100000000, INT64_MAX};
    static const cd_ws_op ops[] = {CD_WS_OP_CONT,  CD_WS_OP_TEXT, CD_WS_OP_BINARY,
                                   CD_WS_OP_CLOSE, CD_WS_OP_PING, CD_WS_OP_PONG};
    (void)state;
    for (usize i = 0; i < CD_COUNT(lens) * CD_COUNT(ops) * 4; i++) {
        cd_ws_frame f = {
            .len = lens[i % CD_COUNT(lens)],
            .op = ops[i / CD_COUNT(lens) % CD_COUNT(ops)],
            .is_masked = i % 2 != 0,
            .is_fin = true,
            .key = {1, 2, 3, 4},
        };
        f.is_fin = f.op >= CD_WS_OP_CLOSE || i % 3 != 0;
        f.is_deflated = f.op == CD_WS_OP_TEXT && f.is_masked;
        if (f.op >= CD_WS_OP_CLOSE && f.len > CD_WS_CONTROL_MAX) {
            continue;
        }
        u8 out[CD_WS_FRAME_HEAD_MAX];
        usize n = cd_ws_frame_enc(out, &f);
        cd_ws_frame got;
        assert_int_equal(cd_ws_frame_need(out, 1), 2);
        assert_int_equal(cd_ws_frame_need(out, 2), n);
        assert_null(cd_ws_frame_dec(&got, f.is_masked ? &deflating : &from_server, cd_bytes_of(out, n)));
        assert_true(got.is_fin == f.is_fin && got.is_masked == f.is_masked && got.op == f.op && got.len == f.len &&
                    got.is_deflated == f.is_deflated);
        if (f.is_masked) {
            assert_memory_equal(got.key, f.key, 4);
        }
    }
}

static void test_head_refused(void **state)
{
    static const struct {
        u8 head[14];
        u8 n;
        const cd_ws_rules *rules;
        const char *why;
    } rows[] = {
        {{0x83, 0x80}, 2, &from_client, "reserved opcode"},
        {{0x87, 0x80}, 2, &from_client, "reserved opcode"},
        {{0x8b, 0x80}, 2, &from_client, "reserved opcode"},
        {{0x8f, 0x80}, 2, &from_client, "reserved opcode"},
        {{0xc1, 0x80}, 2, &from_client, "reserved bit set"},
        {{0xa1, 0x80}, 2, &deflating, "reserved bit set"},
        {{0x91, 0x80}, 2, &deflating, "reserved bit set"},
        {{0xc0, 0x80}, 2, &deflating, "reserved bit set"},
        {{0xc9, 0x80}, 2, &deflating, "reserved bit set"},
        {{0x81, 0x00}, 2, &from_client, "frame of a client is not masked"},
        {{0x81, 0x80}, 2, &from_server, "frame of a server is masked"},
        {{0x09, 0x80}, 2, &from_client, "control frame in fragments"},
        {{0x89, 0xfe}, 2, &from_client, "control frame too long"},
        {{0x88, 0x7f}, 2, &from_server, "control frame too long"},
        {{0x81, 0x7e, 0x00, 0x7d}, 4, &from_server, "length not in its shortest form"},
        {{0x81, 0x7f, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 10, &from_server, "length not in its shortest form"},
        {{0x82, 0x7f, 0x80, 0, 0, 0, 0, 0, 0, 0}, 10, &from_server, "length too large"},
    };
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_ws_frame f;
        const char *why = cd_ws_frame_dec(&f, rows[i].rules, cd_bytes_of(rows[i].head, rows[i].n));
        assert_non_null(why);
        assert_string_equal(why, rows[i].why);
    }
    /* Half a header is looked at as far as it goes. */
    const u8 half[] = {0x82, 0xff, 0x80};
    cd_ws_frame f;
    assert_null(cd_ws_frame_dec(&f, &from_client, cd_bytes_of(half, sizeof half)));
    assert_int_equal(cd_ws_frame_need(half, 3), 14);
}

static void test_mask(void **state)
{
    u8 in[67];
    u8 out[67];
    const u8 key[4] = {0x37, 0xfa, 0x21, 0x3d};
    const u8 hello[] = {0x7f, 0x9f, 0x4d, 0x51, 0x58}; /* [RFC 6455 5.7] */
    (void)state;
    cd_ws_mask(out, (const u8 *)"Hello", 5, key, 0);
    assert_memory_equal(out, hello, 5);
    cd_rng rng = cd_rng_seeded(1);
    cd_rng_fill(&rng, in, sizeof in);
    for (usize at = 0; at < 5; at++) {
        for (usize n = 0; n <= sizeof in; n++) {
            cd_ws_mask(out, in, n, key, at);
            for (usize i = 0; i < n; i++) {
                assert_int_equal(out[i], in[i] ^ key[(at + i) % 4]);
            }
            cd_ws_mask(out, out, n, key, at);
            assert_memory_equal(out, in, n);
        }
    }
}

/* Whether the sequence is UTF-8, by decoding it and encoding it again. */
static bool utf8_naive(const u8 *p, usize n)
{
    while (n != 0) {
        u32 len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
        if (len > n || (p[0] >= 0x80 && p[0] < 0xc0) || p[0] >= 0xf8) {
            return false;
        }
        u32 c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
        for (u32 i = 1; i < len; i++) {
            if ((p[i] & 0xc0) != 0x80) {
                return false;
            }
            c = c << 6 | (p[i] & 0x3f);
        }
        u32 want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (want != len || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
            return false;
        }
        p += len;
        n -= len;
    }
    return true;
}

static bool utf8_pieces(const u8 *p, usize n, usize piece)
{
    cd_utf8 s = {0};
    for (usize i = 0; i < n; i += piece) {
        if (!cd_utf8_feed(&s, cd_bytes_of(p + i, n - i < piece ? n - i : piece))) {
            return false;
        }
    }
    return cd_utf8_is_end(&s);
}

static void test_utf8(void **state)
{
    (void)state;
    u32 good = 0;
    /* Every first and second byte, with rests that make valid characters possible. */
    for (u32 i = 0; i < 65536; i++) {
        const u8 rests[][2] = {{0x80, 0x80}, {0xbf, 0xbf}, {'a', 'b'}, {0x80, 'c'}};
        for (u32 r = 0; r < CD_COUNT(rests); r++) {
            const u8 text[] = {(u8)(i >> 8), (u8)i, rests[r][0], rests[r][1]};
            for (usize n = 1; n <= 4; n++) {
                bool want = utf8_naive(text, n);
                good += want;
                assert_int_equal(utf8_pieces(text, n, n), want);
                assert_int_equal(utf8_pieces(text, n, 1), want);
            }
        }
    }
    assert_true(good > 100000);

    /* Long texts with one byte changed, at every place and in pieces of every size. */
    static const char base[] = "plain ascii, then \xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5 and "
                               "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf, then more ascii to the end......";
    cd_rng rng = cd_rng_seeded(2);
    for (u32 i = 0; i < 20000; i++) {
        u8 text[sizeof base - 1];
        memcpy(text, base, sizeof text);
        text[cd_rng_below(&rng, sizeof text)] = (u8)cd_rng_u64(&rng);
        assert_int_equal(utf8_pieces(text, sizeof text, 1 + cd_rng_below(&rng, sizeof text)),
                         utf8_naive(text, sizeof text));
    }
    /* The first wrong byte is noticed when it comes. */
    cd_utf8 s = {0};
    assert_true(cd_utf8_feed(&s, cd_bytes_str("\xce\xba\xf4")));
    assert_false(cd_utf8_is_end(&s));
    assert_false(cd_utf8_feed(&s, cd_bytes_str("\x90")));
}

static void test_codes(void **state)
{
    (void)state;
    static const u16 good[] = {1000, 1001, 1002, 1003, 1007, 1011, 1012, 1013, 1014, 3000, 4999};
    static const u16 bad[] = {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535};
    for (usize i = 0; i < CD_COUNT(good); i++) {
        assert_true(cd_ws_code_ok(good[i]));
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_false(cd_ws_code_ok(bad[i]));
    }
}

static void test_keys(void **state)
{
    (void)state;
    char accept[CD_WS_ACCEPT_LEN];
    char key[CD_WS_KEY_LEN];
    cd_ws_accept_fmt(accept, cd_bytes_str("dGhlIHNhbXBsZSBub25jZQ==")); /* [RFC 6455 1.3] */
    assert_memory_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", CD_WS_ACCEPT_LEN);
    cd_ws_key_fmt(key, (const u8 *)"the sample nonce");
    assert_memory_equal(key, "dGhlIHNhbXBsZSBub25jZQ==", CD_WS_KEY_LEN);
    assert_true(cd_ws_key_ok(cd_bytes_of(key, sizeof key)));
    static const char *const bad[] = {
        "",
        "dGhlIHNhbXBsZSBub25jZQ=",
        "dGhlIHNhbXBsZSBub25jZQ===",
        "dGhlIHNhbXBsZSBub25jZQAA",
        "dGhlIHNhbXBsZSBub2 jZQ==",
        "dGhlIHNhbXBsZSBub2-jZQ==",
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_false(cd_ws_key_ok(cd_bytes_str(bad[i])));
    }
}

#define AGREED "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

static void test_offers(void **state)
{
    static const struct {
        const char *offers;
        u32 bits;
        const char *answer;
    } rows[] = {
        {"", 0, ""},
        {"permessage-deflate", 15, AGREED},
        {"Permessage-Deflate ; client_max_window_bits", 15, AGREED},
        {"permessage-deflate; client_max_window_bits=8;server_no_context_takeover", 15, AGREED},
        {"permessage-deflate; server_max_window_bits=10", 10, AGREED "; server_max_window_bits=10"},
        {"permessage-deflate; server_max_window_bits=\"15\"", 15, AGREED "; server_max_window_bits=15"},
        {"permessage-deflate; server_max_window_bits=8", 0, ""},
        {"permessage-deflate; server_max_window_bits=8, permessage-deflate", 15, AGREED},
        {"permessage-deflate; server_max_window_bits", 0, ""},
        {"permessage-deflate; server_max_window_bits=16", 0, ""},
        {"permessage-deflate; server_max_window_bits=010", 0, ""},
        {"permessage-deflate; client_max_window_bits=7", 0, ""},
        {"permessage-deflate; server_no_context_takeover=1", 0, ""},
        {"permessage-deflate; server_no_context_takeover; server_no_context_takeover", 0, ""},
        {"permessage-deflate; client_max_window_bits; client_max_window_bits=9", 0, ""},
        {"permessage-deflate; nonsense", 0, ""},
        {"permessage-deflate; nonsense, x-webkit-deflate-frame, permessage-deflate", 15, AGREED},
        {"permessage-deflate;", 15, AGREED},
        {"x-webkit-deflate-frame", 0, ""},
        {", ,", 0, ""},
    };
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char answer[CD_WS_ANSWER_MAX] = "";
        assert_int_equal(cd_ws_deflate_agree(answer, cd_bytes_str(rows[i].offers)), rows[i].bits);
        assert_string_equal(answer, rows[i].answer);
        bool has = rows[i].bits == 0;
        assert_int_equal(cd_ws_deflate_agreed(&has, cd_bytes_str(answer)), CD_OK);
        assert_int_equal(has, rows[i].bits != 0);
    }
    bool has;
    static const char *const bad[] = {
        "permessage-deflate",
        "permessage-deflate; server_no_context_takeover; client_max_window_bits=10",
        "permessage-bzip2",
        AGREED ", " AGREED,
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_ws_deflate_agreed(&has, cd_bytes_str(bad[i])), CD_EPROTO);
    }
}

/* --- permessage-deflate --- */

static cd_err inflate(cd_buf *out, cd_bytes in, usize piece, usize max)
{
    cd_ws_inflater *f = cd_ws_inflater_new();
    cd_err err = CD_OK;
    usize at = 0;
    do {
        usize n = in.n - at < piece ? in.n - at : piece;
        err = cd_ws_inflate(f, out, cd_bytes_sub(in, at, n), at + n == in.n, max);
        at += n;
    } while (err == CD_OK && at != in.n);
    cd_ws_inflater_free(f);
    return err;
}

static void test_inflate_examples(void **state)
{
    /* [RFC 7692 7.2.3] */
    static const struct {
        u8 bytes[32];
        usize n;
        const char *text;
    } rows[] = {
        {{0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00}, 7, "Hello"},
        {{0x00, 0x05, 0x00, 0xfa, 0xff, 'H', 'e', 'l', 'l', 'o', 0x00}, 11, "Hello"},
        {{0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00}, 8, "Hello"},
        {{0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00}, 13, "Hello"},
        {{0x00}, 1, ""},
        {{0}, 0, ""},
        /* A final block, and another stream behind it. */
        {{0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00}, 14, "HelloHello"},
        {{0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00}, 7, "Hello"},
    };
    static const struct {
        u8 bytes[16];
        usize n;
    } bad[] = {
        {{0xf2, 0x48, 0xcd, 0xc9, 0xc9}, 5},      /* cut off */
        {{0x06}, 1},                              /* block type 3 */
        {{0x00, 0x05, 0x00, 0x00, 0x00, 'H'}, 6}, /* lengths differ */
        {{0x00, 0x09, 0x00, 0xf6, 0xff, 'H'}, 6}, /* shorter than it says */
        {{0x62, 0x04, 0x23, 0x10, 0x00}, 5},      /* points before the beginning */
    };
    (void)state;
    cd_buf out = {0};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        for (usize piece = 1; piece <= 16; piece += 3) {
            cd_buf_clear(&out);
            assert_int_equal(inflate(&out, cd_bytes_of(rows[i].bytes, rows[i].n), piece, 100), CD_OK);
            assert_string_equal(cd_buf_cstr(&out), rows[i].text);
        }
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_buf_clear(&out);
        assert_int_equal(inflate(&out, cd_bytes_of(bad[i].bytes, bad[i].n), 16, 100), CD_EFORMAT);
    }
    cd_buf_fini(&out);
}

static void test_deflate_round_trip(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(3);
    cd_ws_deflater *d = cd_ws_deflater_new();
    for (u32 round = 0; round < 60; round++) {
        cd_buf in = {0};
        cd_buf z = {0};
        cd_buf out = {0};
        u64 words = round == 0 ? 0 : cd_rng_below(&rng, 1u << (round % 15));
        for (u64 i = 0; i < words; i++) {
            cd_buf_fmt(&in, "\"0x%llx\",", (unsigned long long)cd_rng_below(&rng, 5000));
        }
        u32 bits = 9 + round % 7;
        /* What stands before as a stored block must not matter. */
        if (round % 2 == 0) {
            u8 head[CD_WS_STORED_HEAD];
            cd_ws_stored_enc(head, 4);
            cd_buf_put(&z, cd_bytes_of(head, sizeof head));
            cd_buf_str(&z, "head");
        }
        cd_ws_deflate(d, &z, bits, cd_buf_bytes(&in));
        usize head_n = round % 2 == 0 ? 4 : 0;
        assert_int_equal(inflate(&out, cd_buf_bytes(&z), 1 + cd_rng_below(&rng, 5000), 1u << 24), CD_OK);
        assert_int_equal(out.n, head_n + in.n);
        assert_true(in.n == 0 || memcmp(out.p + head_n, in.p, in.n) == 0);
        assert_true(in.n < 1000 || z.n < in.n * 2 / 3);
        cd_buf_fini(&in);
        cd_buf_fini(&z);
        cd_buf_fini(&out);
    }
    cd_ws_deflater_free(d);
}

static void test_bomb(void **state)
{
    (void)state;
    cd_ws_deflater *d = cd_ws_deflater_new();
    cd_buf in = {0};
    cd_buf z = {0};
    cd_buf out = {0};
    cd_buf_fill(&in, 'a', 1 << 20);
    cd_ws_deflate(d, &z, 15, cd_buf_bytes(&in));
    assert_true(z.n < 6000);
    assert_int_equal(inflate(&out, cd_buf_bytes(&z), 100, 1 << 20), CD_OK);
    cd_buf_fini(&out);
    assert_int_equal(inflate(&out, cd_buf_bytes(&z), 100, (1 << 20) - 1), CD_ELIMIT);
    cd_buf_fini(&out);
    assert_int_equal(inflate(&out, cd_buf_bytes(&z), SIZE_MAX, 1000), CD_ELIMIT);
    assert_true(out.cap < 65536); /* refused while inflating, not behind it */
    cd_buf_fini(&in);
    cd_buf_fini(&z);
    cd_buf_fini(&out);
    cd_ws_deflater_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_round_trip),
        cmocka_unit_test(test_head_refused),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_inflate_examples),
        cmocka_unit_test(test_deflate_round_trip),
        cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
