/* Connections on a transport in memory, of which the test decides how much it takes and when. */
#include "net/ws/ws.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "net/ws/ws_priv.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One side: a connection, and what it has told its owner. */
typedef struct side {
    cd_ws *w;
    cd_buf wire; /* written, not delivered to the peer yet */
    usize room;  /* bytes the transport takes before it makes the writer wait */
    cd_bytes waiting[CD_TCP_PARTS_MAX];
    usize waiting_cnt;
    u32 writes;
    bool is_paused, is_shut, is_closed;

    cd_buf told; /* "t:hello|" for a text, "b:4|" for a long message, "d|" for drained */
    u16 code;    /* of closed; 0 before */
    char reason[128];
    void (*hook)(struct side *s); /* called within message */
} side;

static cd_loop *loop;

static void on_stop(cd_loop_task *t)
{
    (void)t;
    cd_loop_stop(loop);
}

/* Lets everything happen that is due. */
static void spin(void)
{
    static cd_loop_task stop = {.fn = on_stop};
    cd_loop_post(loop, &stop);
    cd_loop_run(loop);
}

/* --- the transport --- */

static cd_err mem_write(void *io, const cd_bytes *parts, usize cnt)
{
    side *s = io;
    assert_int_equal(s->waiting_cnt, 0);
    assert_false(s->is_shut || s->is_closed);
    assert_true(cnt <= CD_TCP_PARTS_MAX);
    s->writes++;
    for (usize i = 0; i < cnt; i++) {
        usize n = parts[i].n < s->room ? parts[i].n : s->room;
        assert_true(parts[i].n != 0);
        cd_buf_put(&s->wire, cd_bytes_sub(parts[i], 0, n));
        s->room -= n;
        if (n != parts[i].n) {
            s->waiting[s->waiting_cnt++] = cd_bytes_sub(parts[i], n, parts[i].n - n);
        }
    }
    return s->waiting_cnt == 0 ? CD_OK : CD_EAGAIN;
}

/* Takes n more bytes of what waits. */
static void take(side *s, usize n)
{
    s->room = n;
    while (s->waiting_cnt != 0 && s->room != 0 && !s->is_closed) {
        usize i = 0;
        while (i < s->waiting_cnt && s->room != 0) {
            usize k = s->waiting[i].n < s->room ? s->waiting[i].n : s->room;
            cd_buf_put(&s->wire, cd_bytes_sub(s->waiting[i], 0, k));
            s->waiting[i] = cd_bytes_sub(s->waiting[i], k, s->waiting[i].n - k);
            s->room -= k;
            i += s->waiting[i].n == 0;
        }
        if (i == s->waiting_cnt) {
            s->waiting_cnt = 0;
            cd__ws_on_written(s->w, CD_OK);
        } else {
            memmove(s->waiting, s->waiting + i, (s->waiting_cnt - i) * sizeof *s->waiting);
            s->waiting_cnt -= i;
        }
    }
}

static void mem_pause(void *io)
{
    ((side *)io)->is_paused = true;
}

static void mem_resume(void *io)
{
    ((side *)io)->is_paused = false;
}

static void mem_shutdown(void *io)
{
    side *s = io;
    assert_int_equal(s->waiting_cnt, 0);
    s->is_shut = true;
}

static void mem_close(void *io)
{
    side *s = io;
    assert_false(s->is_closed);
    s->is_closed = true;
    s->waiting_cnt = 0;
}

static const cd__ws_io mem_io = {
    .write = mem_write,
    .pause = mem_pause,
    .resume = mem_resume,
    .shutdown = mem_shutdown,
    .close = mem_close,
};

/* --- the owner --- */

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    side *s = ctx;
    assert_ptr_equal(s->w, w);
    cd_buf_u8(&s->told, kind == CD_WS_TEXT ? 't' : 'b');
    cd_buf_u8(&s->told, ':');
    if (data.n <= 32) {
        cd_buf_put(&s->told, data);
    } else {
        u32 sum = 0;
        for (usize i = 0; i < data.n; i++) {
            sum = sum * 31 + data.p[i];
        }
        cd_buf_fmt(&s->told, "%zu/%08x", data.n, sum);
    }
    cd_buf_u8(&s->told, '|');
    if (s->hook != NULL) {
        s->hook(s);
        assert_true(data.n == 0 || data.p[0] != 0xff); /* still readable */
    }
}

static void on_drained(void *ctx, cd_ws *w)
{
    side *s = ctx;
    assert_ptr_equal(s->w, w);
    cd_buf_str(&s->told, "d|");
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    side *s = ctx;
    s->code = code;
    memcpy(s->reason, reason.p, reason.n);
    s->reason[reason.n] = '\0';
    s->w = NULL;
}

static const cd_ws_events events = {
    .message = on_message,
    .drained = on_drained,
    .closed = on_closed,
};

static void side_open(side *s, cd_ws_hub *h, bool is_server, u32 bits)
{
    const cd_ws_rules rules = {.from_client = is_server, .has_deflate = bits != 0};
    *s = (side){.room = SIZE_MAX};
    s->w = cd__ws_new(h, rules, bits, &events, s);
    cd__ws_attach(s->w, &mem_io, s);
}

/* Ends what is still open. */
static void side_close(side *s)
{
    if (s->w != NULL) {
        cd_ws_abort(s->w);
        assert_true(s->is_closed);
        cd__ws_on_closed(s->w);
    }
    cd_buf_fini(&s->wire);
    cd_buf_fini(&s->told);
}

static const char *told(side *s)
{
    const char *text = cd_buf_cstr(&s->told);
    s->told.n = 0;
    return text;
}

/* Brings what one side has written to the other, in pieces; true when there was something. */
static bool deliver(side *to, side *from, usize piece)
{
    if (to->w == NULL || to->is_closed || to->is_paused || from->wire.n == 0) {
        return false;
    }
    cd_buf b = from->wire;
    from->wire = (cd_buf){0};
    usize at = 0;
    while (at < b.n && to->w != NULL && !to->is_closed && !to->is_paused) {
        usize n = b.n - at < piece ? b.n - at : piece;
        cd__ws_on_data(to->w, cd_bytes_of(b.p + at, n));
        at += n;
    }
    if (to->is_paused && at < b.n) {
        cd_buf rest = {0};
        cd_buf_put(&rest, cd_bytes_of(b.p + at, b.n - at));
        cd_buf_put(&rest, cd_buf_bytes(&from->wire));
        cd_buf_fini(&from->wire);
        from->wire = rest;
    }
    cd_buf_fini(&b);
    return true;
}

/* Ends of streams reach the peer, closed connections their owner. */
static void shut_down(side *a, side *b)
{
    for (u32 i = 0; i < 4; i++) {
        side *s = i % 2 == 0 ? a : b;
        side *o = i % 2 == 0 ? b : a;
        if ((s->is_shut || s->is_closed) && s->wire.n == 0 && o->w != NULL && !o->is_closed) {
            cd__ws_on_end(o->w, CD_OK);
        }
        if (s->is_closed && s->w != NULL) {
            cd__ws_on_closed(s->w);
        }
    }
}

static void exchange(side *a, side *b, usize piece)
{
    bool any = true;
    while (any) {
        spin();
        any = deliver(a, b, piece);
        any = deliver(b, a, piece) || any;
    }
    shut_down(a, b);
}

/* --- raw frames, for what no good client sends --- */

static void frame(cd_buf *out, u8 first, const char *payload, usize n)
{
    const u8 key[4] = {0x11, 0x22, 0x33, 0x44};
    const cd_ws_frame f = {.is_masked = true, .len = n, .key = {0x11, 0x22, 0x33, 0x44}};
    u8 head[CD_WS_FRAME_HEAD_MAX];
    usize head_n = cd_ws_frame_enc(head, &f);
    head[0] = first;
    cd_buf_put(out, cd_bytes_of(head, head_n));
    u8 *at = cd_buf_extend(out, n);
    cd_ws_mask(at, (const u8 *)payload, n, key, 0);
}

static void feed(side *s, u8 first, const char *payload, usize n)
{
    cd_buf b = {0};
    frame(&b, first, payload, n);
    cd__ws_on_data(s->w, cd_buf_bytes(&b));
    cd_buf_fini(&b);
}

static void feed_text(side *s, u8 first, const char *payload)
{
    feed(s, first, payload, strlen(payload));
}

/* What the server has written next: its first byte and payload as text, "81 hello"; "" if nothing. */
static const char *heard(side *s)
{
    static char text[256];
    static const cd_ws_rules rules = {.from_client = false, .has_deflate = true};
    cd_ws_frame f;
    text[0] = '\0';
    if (s->wire.n != 0) {
        usize head_n = cd_ws_frame_need(s->wire.p, s->wire.n);
        assert_true(head_n <= s->wire.n);
        assert_null(cd_ws_frame_dec(&f, &rules, cd_bytes_of(s->wire.p, head_n)));
        assert_true(f.len <= s->wire.n - head_n);
        const char *p = (const char *)s->wire.p + head_n;
        int n = (int)f.len;
        if (f.op == CD_WS_OP_CLOSE && n >= 2) {
            (void)snprintf(text, sizeof text, "%02x %u%s%.*s", s->wire.p[0], cd_be16((const u8 *)p), n > 2 ? " " : "",
                           n - 2, p + 2);
        } else {
            (void)snprintf(text, sizeof text, "%02x %.*s", s->wire.p[0], n > 200 ? 200 : n, p);
        }
        usize used = head_n + (usize)f.len;
        s->wire.n -= used;
        memmove(s->wire.p, s->wire.p + used, s->wire.n);
    }
    return text;
}

static int setup(void **state)
{
    (void)state;
    return cd_loop_new(&loop, NULL) == CD_OK ? 0 : -1;
}

/* --- tests --- */

static void test_messages(void **state)
{
    static const usize sizes[] = {0, 1, 125, 126, 127, 1000, 65535, 65536, 200000};
    static const u32 windows[] = {0, 9, 12, 15};
    static const usize pieces[] = {1, 7, 1000, 65536, SIZE_MAX};
    (void)state;
    cd_rng rng = cd_rng_seeded(7);
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    for (u32 round = 0; round < CD_COUNT(windows) * CD_COUNT(pieces); round++) {
        usize piece = pieces[round % CD_COUNT(pieces)];
        side a;
        side b;
        side_open(&a, h, true, windows[round / CD_COUNT(pieces)]);
        side_open(&b, h, false, windows[round / CD_COUNT(pieces)]);
        for (usize i = 0; i < CD_COUNT(sizes); i++) {
            cd_buf text = {0};
            cd_buf want = {0};
            while (text.n < sizes[i]) {
                cd_buf_u8(&text, (u8)('a' + cd_rng_below(&rng, 4)));
            }
            side *from = i % 2 == 0 ? &a : &b;
            side *to = i % 2 == 0 ? &b : &a;
            cd_ws_kind kind = i % 3 == 0 ? CD_WS_BINARY : CD_WS_TEXT;
            if (i % 2 == 0 && text.n > 200) {
                cd_bytes head = cd_bytes_of(text.p, 100);
                cd_ws_payload *p = cd_ws_payload_new(cd_bytes_of(text.p + 100, text.n - 100));
                assert_int_equal(cd_ws_send(from->w, kind, head, p), CD_OK);
                cd_ws_payload_unref(p);
            } else {
                assert_int_equal(cd_ws_send_bytes(from->w, kind, cd_buf_bytes(&text)), CD_OK);
            }
            exchange(&a, &b, piece);
            /* The same through the same function gives the same words. */
            side ref = {.told = {0}};
            on_message(&ref, NULL, kind, cd_buf_bytes(&text));
            cd_buf_put(&want, cd_buf_bytes(&ref.told));
            assert_string_equal(told(to), cd_buf_cstr(&want));
            assert_string_equal(told(from), "");
            cd_buf_fini(&ref.told);
            cd_buf_fini(&text);
            cd_buf_fini(&want);
        }
        side_close(&a);
        side_close(&b);
    }
    assert_int_equal(h->held, 0);
    assert_int_equal(h->waiting, 0);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_fragments_and_control(void **state)
{
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    for (usize piece = 1; piece < 40; piece++) {
        side s;
        cd_buf b = {0};
        side_open(&s, h, true, 0);
        frame(&b, 0x01, "\xce", 1);
        frame(&b, 0x89, "one", 3);
        frame(&b, 0x00, "", 0);
        frame(&b, 0x8a, "unasked", 7);
        frame(&b, 0x00, "\xba\xe1\xbd", 3);
        frame(&b, 0x89, "", 0);
        frame(&b, 0x80, "\xb9", 1);
        frame(&b, 0x02, "", 0);
        frame(&b, 0x80, "", 0);
        frame(&b, 0x81, "end", 3);
        for (usize at = 0; at < b.n; at += piece) {
            cd__ws_on_data(s.w, cd_bytes_of(b.p + at, b.n - at < piece ? b.n - at : piece));
        }
        assert_string_equal(told(&s), "t:\xce\xba\xe1\xbd\xb9|b:|t:end|");
        assert_string_equal(heard(&s), "8a one");
        assert_string_equal(heard(&s), "8a ");
        assert_string_equal(heard(&s), "");
        cd_buf_fini(&b);
        side_close(&s);
        assert_int_equal(s.code, CD_WS_BROKEN);
    }
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_refusals(void **state)
{
    static const struct {
        u8 first[4]; /* of frames, 0xff ends */
        const char *payload[4];
        usize n[4];
        const char *answer;
        u16 code;
    } rows[] = {
        {{0x83, 0xff}, {""}, {0}, "88 1002 reserved opcode", 1002},
        {{0xc1, 0xff}, {""}, {0}, "88 1002 reserved bit set", 1002},
        {{0x80, 0xff}, {"x"}, {1}, "88 1002 nothing to continue", 1002},
        {{0x00, 0xff}, {"x"}, {1}, "88 1002 nothing to continue", 1002},
        {{0x01, 0x81, 0xff}, {"x", "y"}, {1, 1}, "88 1002 new message before the end of the last", 1002},
        {{0x09, 0xff}, {"x"}, {1}, "88 1002 control frame in fragments", 1002},
        {{0x81, 0xff}, {"\xce"}, {1}, "88 1007 text is not UTF-8", 1007},
        {{0x01, 0xff}, {"ok\xff"}, {3}, "88 1007 text is not UTF-8", 1007},
        {{0x01, 0x80, 0xff}, {"\xce", "x"}, {1, 1}, "88 1007 text is not UTF-8", 1007},
        {{0x88, 0xff}, {""}, {0}, "88 ", 1005},
        {{0x88, 0xff}, {"x"}, {1}, "88 1002 invalid close code", 1002},
        {{0x88, 0xff}, {"\x03\xe8"}, {2}, "88 1000", 1000},
        {{0x88, 0xff}, {"\x03\xe8gone"}, {6}, "88 1000", 1000},
        {{0x88, 0xff}, {"\x0b\xb8"}, {2}, "88 3000", 3000},
        {{0x88, 0xff}, {"\x03\xed"}, {2}, "88 1002 invalid close code", 1002},
        {{0x88, 0xff}, {"\x03\xe8\xce"}, {3}, "88 1007 close reason is not UTF-8", 1007},
        /* What comes behind a Close frame is not looked at. */
        {{0x88, 0x89, 0x83, 0xff}, {"\x03\xe8", "ping", "?"}, {2, 4, 1}, "88 1000", 1000},
    };
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        side s;
        cd_buf b = {0};
        side_open(&s, h, true, 0);
        for (usize k = 0; rows[i].first[k] != 0xff; k++) {
            frame(&b, rows[i].first[k], rows[i].payload[k], rows[i].n[k]);
        }
        cd__ws_on_data(s.w, cd_buf_bytes(&b));
        assert_string_equal(heard(&s), rows[i].answer);
        assert_string_equal(heard(&s), "");
        assert_string_equal(told(&s), "");
        assert_true(s.is_shut);
        assert_false(s.is_closed); /* the peer has time to read */
        assert_int_equal(cd_ws_send_bytes(s.w, CD_WS_TEXT, cd_bytes_str("x")), CD_ECLOSED);
        cd__ws_on_data(s.w, cd_buf_bytes(&b)); /* dropped */
        cd__ws_on_end(s.w, CD_OK);
        assert_true(s.is_closed);
        cd__ws_on_closed(s.w);
        assert_int_equal(s.code, rows[i].code);
        cd_buf_fini(&b);
        side_close(&s);
    }
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_closing(void **state)
{
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    side a;
    side b;
    for (u32 round = 0; round < 2; round++) {
        bool server_first = round == 0;
        side_open(&a, h, server_first, 0);
        side_open(&b, h, !server_first, 0);
        assert_int_equal(cd_ws_send_bytes(a.w, CD_WS_TEXT, cd_bytes_str("last")), CD_OK);
        cd_ws_close(a.w, 4000, cd_bytes_str("good bye"));
        cd_ws_close(a.w, 4001, cd_bytes_str("again"));
        assert_int_equal(cd_ws_send_bytes(a.w, CD_WS_TEXT, cd_bytes_str("x")), CD_ECLOSED);
        /* What crosses the Close frame is no message any more. */
        assert_int_equal(cd_ws_send_bytes(b.w, CD_WS_TEXT, cd_bytes_str("late")), CD_OK);
        exchange(&a, &b, 5);
        assert_string_equal(told(&b), "t:last|");
        assert_string_equal(told(&a), "");
        assert_int_equal(b.code, 4000);
        assert_string_equal(b.reason, "good bye");
        assert_int_equal(a.code, 4000); /* the echo */
        side_close(&a);
        side_close(&b);
    }
    /* Our Close frame is out long before the peer's comes: then we end the connection at once. */
    side_open(&a, h, true, 0);
    cd_ws_close(a.w, CD_WS_NORMAL, (cd_bytes){0});
    assert_true(a.w->end_ms != 0);
    assert_false(a.is_shut);
    feed(&a, 0x88, "\x03\xe8", 2);
    assert_true(a.is_shut);
    side_close(&a);

    /* The peer has closed both ways, but not yet taken what waits: it goes out before the end. */
    side_open(&a, h, true, 0);
    a.room = 3;
    assert_int_equal(cd_ws_send_bytes(a.w, CD_WS_TEXT, cd_bytes_str("last words")), CD_OK);
    feed(&a, 0x88, "\x03\xe8", 2);
    cd__ws_on_end(a.w, CD_OK);
    assert_false(a.is_closed);
    take(&a, SIZE_MAX);
    assert_true(a.is_closed);
    assert_string_equal(heard(&a), "81 last words");
    assert_string_equal(heard(&a), "88 1000");
    side_close(&a);

    /* A reason that is too long is cut at a character. */
    side_open(&a, h, true, 0);
    char reason[130];
    memset(reason, 'r', sizeof reason);
    memcpy(reason + 121, "\xe1\xbd\xb9", 3);
    cd_ws_close(a.w, 1013, cd_bytes_of(reason, sizeof reason));
    reason[121] = '\0';
    char want[160];
    (void)snprintf(want, sizeof want, "88 1013 %s", reason);
    assert_string_equal(heard(&a), want);
    side_close(&a);

    /* One that just fits is not, also where it ends with a long character. */
    side_open(&a, h, true, 0);
    memset(reason, 'r', sizeof reason);
    memcpy(reason + 120, "\xe1\xbd\xb9", 3);
    memcpy(reason + 123, "\xe1\xbd\xb9", 3);
    cd_ws_close(a.w, 1013, cd_bytes_of(reason, 123));
    reason[123] = '\0';
    (void)snprintf(want, sizeof want, "88 1013 %s", reason);
    assert_string_equal(heard(&a), want);
    side_close(&a);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_limits(void **state)
{
    (void)state;
    const cd_ws_cfg cfg = {.message_max = 1000, .fragments_max = 3, .input_max = 210000};
    cd_ws_hub *h = cd_ws_hub_new(loop, &cfg);
    char text[1001];
    side s;
    side t;
    memset(text, 'x', sizeof text);

    side_open(&s, h, true, 0);
    feed(&s, 0x82, text, 1000);
    feed(&s, 0x02, text, 999);
    feed(&s, 0x80, text, 1);
    assert_int_equal(s.told.n, strlen("b:1000/00000000|") * 2);
    /* The header is enough: nothing of the message has to come. */
    cd_buf b = {0};
    frame(&b, 0x82, text, 1001);
    cd__ws_on_data(s.w, cd_bytes_of(b.p, 8));
    assert_string_equal(heard(&s), "88 1009 message too big");
    cd_buf_fini(&b);
    side_close(&s);

    side_open(&s, h, true, 0);
    feed(&s, 0x02, text, 999);
    feed(&s, 0x80, text, 2);
    assert_string_equal(heard(&s), "88 1009 message too big");
    side_close(&s);

    side_open(&s, h, true, 0);
    feed(&s, 0x02, "", 0);
    feed(&s, 0x00, "", 0);
    feed(&s, 0x00, "", 0);
    assert_string_equal(heard(&s), "");
    feed(&s, 0x80, "", 0);
    assert_string_equal(heard(&s), "88 1008 too many fragments");
    side_close(&s);

    /* Inflated size counts, while inflating. */
    cd_ws_deflater *d = cd_ws_deflater_new();
    cd_buf big = {0};
    cd_buf z = {0};
    cd_buf_fill(&big, 'a', 1001);
    cd_ws_deflate(d, &z, 15, cd_buf_bytes(&big));
    side_open(&s, h, true, 15);
    feed(&s, 0x42, (const char *)z.p, 4);
    assert_string_equal(heard(&s), "");
    feed(&s, 0x80, (const char *)z.p + 4, z.n - 4);
    assert_string_equal(heard(&s), "88 1009 message too big");
    side_close(&s);
    cd_buf_clear(&z);
    cd_ws_deflate(d, &z, 15, cd_bytes_of(big.p, 1000));
    side_open(&s, h, true, 15);
    feed(&s, 0xc1, (const char *)z.p, z.n);
    assert_int_equal(s.told.n, strlen("t:1000/00000000|"));
    feed(&s, 0xc1, "\x07", 1);
    assert_string_equal(heard(&s), "88 1007 message does not inflate");
    side_close(&s);
    /* Text is UTF-8 behind the compression, too, and refused as soon as it is not. */
    side_open(&s, h, true, 15);
    feed(&s, 0x41,
         "\x00\x03\x00\xfc\xff"
         "ok\xff",
         8);
    assert_string_equal(heard(&s), "88 1007 text is not UTF-8");
    side_close(&s);
    side_open(&s, h, true, 15);
    feed(&s, 0xc2,
         "\x00\x03\x00\xfc\xff"
         "ok\xff\x00",
         9);
    assert_string_equal(told(&s), "b:ok\xff|");
    side_close(&s);
    cd_buf_fini(&big);
    cd_buf_fini(&z);
    cd_ws_deflater_free(d);

    /* All unfinished messages together: five with an inflater each are too many here. */
    side many[5];
    for (u32 i = 0; i < CD_COUNT(many); i++) {
        side_open(&many[i], h, true, 15);
        feed(&many[i], 0x42, "\xf2\x48", 2);
        assert_string_equal(heard(&many[i]), i < 4 ? "" : "88 1013 too much input of all connections");
    }
    for (u32 i = 0; i < CD_COUNT(many); i++) {
        side_close(&many[i]);
    }
    assert_int_equal(h->held, 0);
    side_open(&t, h, true, 15);
    feed(&t, 0xc1, "\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    assert_string_equal(told(&t), "t:Hello|");
    side_close(&t);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_slow_reader(void **state)
{
    (void)state;
    const cd_ws_cfg cfg = {.queue_max = 10000};
    cd_ws_hub *h = cd_ws_hub_new(loop, &cfg);
    side s;
    cd_buf body = {0};
    cd_buf_fill(&body, 'n', 1000);
    cd_ws_payload *p = cd_ws_payload_take(&body);
    side_open(&s, h, true, 0);
    s.room = 100;
    u32 sent = 0;
    while (cd_ws_send(s.w, CD_WS_TEXT, cd_bytes_str("id "), p) == CD_OK) {
        sent++;
    }
    assert_int_equal(cd_ws_send(s.w, CD_WS_TEXT, cd_bytes_str("id "), p), CD_EFULL);
    assert_int_equal(sent, 10);
    assert_int_equal(cd_ws_queued(s.w), sent * 1007); /* all of it: a write that waits is not over */
    assert_true(h->waiting < 3000);                   /* one body, ten headers */

    /* Nothing more is read from it meanwhile, so that its own words do not pile up here either. */
    feed_text(&s, 0x81, "hello");
    assert_true(s.is_paused);
    assert_string_equal(told(&s), "");
    take(&s, 2000);
    spin();
    assert_string_equal(told(&s), "");
    take(&s, 1000000);
    spin();
    assert_string_equal(told(&s), "d|t:hello|");
    assert_false(s.is_paused);
    assert_int_equal(s.wire.n, sent * 1007);
    assert_int_equal(cd_ws_queued(s.w), 0);
    assert_int_equal(h->waiting, 0);

    /* Closing does not wait for room. */
    s.room = 0;
    while (cd_ws_send(s.w, CD_WS_TEXT, cd_bytes_str("id "), p) == CD_OK) {
    }
    cd_ws_close(s.w, CD_WS_TRY_LATER, cd_bytes_str("cursor 17"));
    assert_true(s.w->end_ms == 0);
    s.wire.n = 0;
    take(&s, SIZE_MAX);
    for (u32 i = 0; i < 10; i++) {
        (void)heard(&s);
    }
    assert_string_equal(heard(&s), "88 1013 cursor 17");
    assert_true(s.w->end_ms != 0);
    side_close(&s);

    /* The transport breaks while it waits. */
    side_open(&s, h, true, 0);
    s.room = 10;
    assert_int_equal(cd_ws_send(s.w, CD_WS_TEXT, cd_bytes_str("id "), p), CD_OK);
    s.waiting_cnt = 0;
    cd__ws_on_written(s.w, CD_EIO);
    assert_true(s.is_closed);
    side_close(&s);
    cd_ws_payload_unref(p);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_output_of_all(void **state)
{
    (void)state;
    const cd_ws_cfg cfg = {.output_max = 10000};
    cd_ws_hub *h = cd_ws_hub_new(loop, &cfg);
    cd_buf text = {0};
    cd_buf_fill(&text, 'x', 6000);
    side s[3];
    for (u32 i = 0; i < 3; i++) {
        side_open(&s[i], h, true, 0);
        s[i].room = i == 2 ? SIZE_MAX : 0;
    }
    assert_int_equal(cd_ws_send_bytes(s[0].w, CD_WS_TEXT, cd_buf_bytes(&text)), CD_OK);
    assert_int_equal(cd_ws_send_bytes(s[1].w, CD_WS_TEXT, cd_buf_bytes(&text)), CD_OK);
    assert_int_equal(cd_ws_send_bytes(s[1].w, CD_WS_TEXT, cd_buf_bytes(&text)), CD_EFULL);
    /* Who reads is served all the same. */
    assert_int_equal(cd_ws_send_bytes(s[2].w, CD_WS_TEXT, cd_buf_bytes(&text)), CD_OK);
    assert_int_equal(cd_ws_send_bytes(s[2].w, CD_WS_TEXT, cd_buf_bytes(&text)), CD_OK);
    take(&s[1], SIZE_MAX);
    spin();
    assert_string_equal(told(&s[1]), "d|");
    for (u32 i = 0; i < 3; i++) {
        side_close(&s[i]);
    }
    assert_int_equal(h->waiting, 0);
    cd_buf_fini(&text);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void hook_answer_twice(side *s)
{
    for (u32 i = 0; i < 2; i++) {
        assert_int_equal(cd_ws_send_bytes(s->w, CD_WS_TEXT, cd_bytes_str("answer")), CD_OK);
    }
}

static void test_one_write_for_many(void **state)
{
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    side a;
    side b;
    side_open(&a, h, true, 0);
    side_open(&b, h, false, 0);
    cd_ws_cork(a.w);
    for (u32 i = 0; i < 20; i++) {
        assert_int_equal(cd_ws_send_bytes(a.w, CD_WS_TEXT, cd_bytes_str("m")), CD_OK);
    }
    assert_int_equal(a.writes, 0);
    cd_ws_uncork(a.w);
    assert_int_equal(a.writes, 1);

    /* More than one call can take, with bodies of their own and by any amounts. */
    cd_rng rng = cd_rng_seeded(9);
    a.room = 1000;
    cd_ws_cork(a.w);
    cd_buf want = {0};
    for (u32 i = 0; i < 20; i++) {
        cd_buf_str(&want, "t:m|");
    }
    for (u32 i = 0; i < 300; i++) {
        char head[32];
        char text[32];
        (void)snprintf(head, sizeof head, "%u", i);
        (void)snprintf(text, sizeof text, "of %u", i * 7);
        cd_ws_payload *p = cd_ws_payload_new(cd_bytes_str(text));
        assert_int_equal(cd_ws_send(a.w, CD_WS_TEXT, cd_bytes_str(head), i % 5 == 0 ? NULL : p), CD_OK);
        cd_ws_payload_unref(p);
        cd_buf_fmt(&want, "t:%u%s|", i, i % 5 == 0 ? "" : text);
    }
    cd_ws_uncork(a.w);
    while (cd_ws_queued(a.w) != 0) {
        take(&a, 1 + cd_rng_below(&rng, 2000));
    }
    a.room = SIZE_MAX;
    exchange(&a, &b, 100);
    assert_string_equal(told(&b), cd_buf_cstr(&want));
    assert_true(a.writes < 20);

    /* Answers to requests that came together leave together. */
    a.hook = hook_answer_twice;
    u32 before = a.writes;
    cd_ws_cork(b.w);
    for (u32 i = 0; i < 10; i++) {
        assert_int_equal(cd_ws_send_bytes(b.w, CD_WS_TEXT, cd_bytes_str("ask")), CD_OK);
    }
    cd_ws_uncork(b.w);
    exchange(&a, &b, SIZE_MAX);
    assert_int_equal(a.writes, before + 1);
    assert_int_equal(b.told.n, 20 * strlen("t:answer|"));
    cd_buf_fini(&want);
    side_close(&a);
    side_close(&b);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

/* A payload for many connections, some of which compress: each gets the same message. */
static void test_shared_payload(void **state)
{
    static const u32 windows[] = {15, 0, 15, 9, 12, 0, 15};
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    side a[CD_COUNT(windows)];
    side b[CD_COUNT(windows)];
    usize sizes[CD_COUNT(windows)];
    cd_buf body = {0};
    for (u32 i = 0; i < 300; i++) {
        cd_buf_fmt(&body, "{\"log\":%u},", i);
    }
    usize body_n = body.n;
    cd_ws_payload *p = cd_ws_payload_take(&body);
    assert_null(body.p);
    for (u32 i = 0; i < CD_COUNT(windows); i++) {
        char id[32];
        side_open(&a[i], h, true, windows[i]);
        side_open(&b[i], h, false, windows[i]);
        (void)snprintf(id, sizeof id, "{\"id\":%u,", i);
        assert_int_equal(cd_ws_send(a[i].w, CD_WS_TEXT, cd_bytes_str(id), p), CD_OK);
        sizes[i] = a[i].wire.n;
        assert_true(windows[i] == 0 ? sizes[i] > body_n : sizes[i] < body_n / 2);
    }
    cd_ws_payload_unref(p);
    assert_int_equal(sizes[0], sizes[2]);
    for (u32 i = 0; i < CD_COUNT(windows); i++) {
        char head[32];
        exchange(&a[i], &b[i], 1000);
        (void)snprintf(head, sizeof head, "t:%zu/", body_n + 8);
        assert_memory_equal(cd_buf_cstr(&b[i].told), head, strlen(head));
        side_close(&a[i]);
        side_close(&b[i]);
    }
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void hook_pause(side *s)
{
    cd_ws_pause(s->w);
}

static void test_pause(void **state)
{
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    side s;
    side_open(&s, h, true, 0);
    s.hook = hook_pause;
    cd_buf b = {0};
    frame(&b, 0x81, "1", 1);
    frame(&b, 0x81, "2", 1);
    frame(&b, 0x01, "3", 1);
    cd__ws_on_data(s.w, cd_buf_bytes(&b));
    assert_string_equal(told(&s), "t:1|");
    assert_true(s.is_paused);
    cd_ws_resume(s.w);
    assert_string_equal(told(&s), ""); /* not within the call */
    spin();
    assert_string_equal(told(&s), "t:2|");
    assert_true(s.is_paused);
    cd_ws_resume(s.w);
    cd_ws_resume(s.w);
    spin();
    assert_string_equal(told(&s), "");
    assert_false(s.is_paused);
    assert_null(s.w->kept.p);
    feed_text(&s, 0x80, "+");
    assert_string_equal(told(&s), "t:3+|");
    /* A paused connection that is closed hears the peer's Close frame. */
    feed_text(&s, 0x88, "\x03\xe8");
    assert_true(s.is_paused);
    cd_ws_close(s.w, CD_WS_NORMAL, (cd_bytes){0});
    spin();
    assert_int_equal(s.w->state, CD__WS_ENDING);
    assert_false(s.is_paused);
    cd_buf_fini(&b);
    side_close(&s);
    assert_int_equal(s.code, CD_WS_NORMAL);

    /* Closed with input left to look at. */
    side_open(&s, h, true, 0);
    s.hook = hook_pause;
    feed_text(&s, 0x81, "1");
    feed_text(&s, 0x81, "2");
    cd_ws_resume(s.w);
    side_close(&s);
    spin();
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void hook_close(side *s)
{
    cd_ws_close(s->w, CD_WS_NORMAL, (cd_bytes){0});
}

static void hook_abort(side *s)
{
    cd_ws_abort(s->w);
}

static void test_end_within_message(void **state)
{
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    for (u32 i = 0; i < 4; i++) {
        side s;
        cd_buf b = {0};
        side_open(&s, h, true, 0);
        s.hook = i % 2 == 0 ? hook_close : hook_abort;
        if (i < 2) {
            frame(&b, 0x81, "first", 5);
        } else {
            frame(&b, 0x01, "fir", 3);
            frame(&b, 0x80, "st", 2);
        }
        frame(&b, 0x81, "second", 6);
        cd__ws_on_data(s.w, cd_buf_bytes(&b));
        assert_string_equal(told(&s), "t:first|");
        assert_string_equal(heard(&s), i % 2 == 0 ? "88 1000" : "");
        assert_int_equal(s.is_closed, i % 2 != 0);
        cd_buf_fini(&b);
        side_close(&s);
    }
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void on_enough(void *ctx)
{
    (void)ctx;
    cd_loop_stop(loop);
}

static void run_ms(u64 ms)
{
    cd_timer *t = cd_timer_new(loop, on_enough, NULL);
    cd_timer_start(t, ms, 0);
    cd_loop_run(loop);
    cd_timer_free(t);
}

static void test_time_outs(void **state)
{
    (void)state;
    const cd_ws_cfg cfg = {.ping_ms = 40, .pong_ms = 40, .write_ms = 40, .close_ms = 40};
    cd_ws_hub *h = cd_ws_hub_new(loop, &cfg);
    side quiet;
    side good;
    side stuck;
    side closing;
    side paused;
    side_open(&quiet, h, true, 0);
    side_open(&good, h, true, 0);
    side_open(&stuck, h, true, 0);
    side_open(&closing, h, true, 0);
    side_open(&paused, h, true, 0);
    stuck.room = 0;
    assert_int_equal(cd_ws_send_bytes(stuck.w, CD_WS_TEXT, cd_bytes_str("x")), CD_OK);
    cd_ws_close(closing.w, CD_WS_NORMAL, (cd_bytes){0});
    paused.hook = hook_pause;
    feed_text(&paused, 0x81, "1");
    feed_text(&paused, 0x81, "2");
    for (u32 i = 0; i < 20 && !quiet.is_closed; i++) {
        run_ms(10);
        feed_text(&good, 0x8a, "");
    }
    assert_string_equal(heard(&quiet), "89 ");
    assert_string_equal(heard(&quiet), "");
    assert_true(quiet.is_closed && stuck.is_closed && closing.is_closed);
    assert_false(good.is_closed || paused.is_closed);
    cd__ws_on_closed(closing.w);
    assert_int_equal(closing.code, CD_WS_BROKEN); /* the peer never answered */
    side_close(&quiet);
    side_close(&good);
    side_close(&stuck);
    side_close(&closing);
    side_close(&paused);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

static void test_idle_memory(void **state)
{
    (void)state;
    cd_ws_hub *h = cd_ws_hub_new(loop, NULL);
    side s;
    side_open(&s, h, true, 15);
    feed_text(&s, 0x01, "one ");
    feed_text(&s, 0x80, "message");
    cd_buf big = {0};
    cd_buf_fill(&big, 'x', 100000);
    feed(&s, 0x81, (const char *)big.p, big.n);
    feed(&s, 0x01, (const char *)big.p, big.n);
    feed(&s, 0x80, (const char *)big.p, big.n);
    assert_true(sizeof *s.w <= 1024);
    assert_true(s.w->msg.cap <= 4096);
    assert_null(s.w->inflater);
    assert_null(s.w->kept.p);
    cd_buf_fini(&big);
    side_close(&s);
    cd_ws_hub_free(h);
    cd_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_messages, setup),
        cmocka_unit_test_setup(test_fragments_and_control, setup),
        cmocka_unit_test_setup(test_refusals, setup),
        cmocka_unit_test_setup(test_closing, setup),
        cmocka_unit_test_setup(test_limits, setup),
        cmocka_unit_test_setup(test_slow_reader, setup),
        cmocka_unit_test_setup(test_output_of_all, setup),
        cmocka_unit_test_setup(test_one_write_for_many, setup),
        cmocka_unit_test_setup(test_shared_payload, setup),
        cmocka_unit_test_setup(test_pause, setup),
        cmocka_unit_test_setup(test_end_within_message, setup),
        cmocka_unit_test_setup(test_time_outs, setup),
        cmocka_unit_test_setup(test_idle_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
