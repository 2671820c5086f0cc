/* A WebSocket peer that may say anything: a connection in either role, with and without compression, reads
 * the input whole and in pieces. What it tells and what it answers must be the same, within the limits,
 * and proper frames itself. The same bytes are also read as values of the handshake. */
#include "base/mem/buf.h"
#include "base/utf8.h"
#include "net/ws/handshake.h"
#include "net/ws/ws_priv.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { MESSAGE_MAX = 4096, FRAGMENTS_MAX = 8, OFFER_MAX = 512 };

typedef struct side {
    cd_ws *w;
    cd_buf wire;
    cd_buf told;
    bool is_shut, is_closed, was_told_closed, echoes;
} side;

static cd_err mem_write(void *io, const cd_bytes *parts, usize cnt)
{
    side *s = io;
    CD_ASSERT(!s->is_shut && !s->is_closed);
    for (usize i = 0; i < cnt; i++) {
        cd_buf_put(&s->wire, parts[i]);
    }
    return CD_OK;
}

static void mem_flow(void *io)
{
    (void)io;
}

static void mem_shutdown(void *io)
{
    ((side *)io)->is_shut = true;
}

static void mem_close(void *io)
{
    ((side *)io)->is_closed = true;
}

static const cd__ws_io mem_io = {
    .write = mem_write,
    .pause = mem_flow,
    .resume = mem_flow,
    .shutdown = mem_shutdown,
    .close = mem_close,
};

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    side *s = ctx;
    cd_utf8 utf8 = {0};
    CD_ASSERT(data.n <= MESSAGE_MAX && !s->is_shut);
    CD_ASSERT(kind == CD_WS_BINARY || (cd_utf8_feed(&utf8, data) && cd_utf8_is_end(&utf8)));
    cd_buf_fmt(&s->told, "%d:%zu:", kind, data.n);
    cd_buf_put(&s->told, data);
    /* The mask of a client is random: only a server's answers can be compared. */
    cd_err err = s->echoes ? cd_ws_send_bytes(w, kind, data) : CD_OK;
    CD_ASSERT(err == CD_OK);
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    side *s = ctx;
    CD_ASSERT(!s->was_told_closed);
    s->was_told_closed = true;
    cd_buf_fmt(&s->told, "closed %u ", code);
    cd_buf_put(&s->told, reason);
}

static const cd_ws_events events = {.message = on_message, .closed = on_closed};

/* What a connection has written: proper frames, one Close frame at most, nothing behind it. */
static void wire_check(cd_bytes wire, cd_ws_rules rules)
{
    bool is_closed = false;
    while (wire.n != 0) {
        cd_ws_frame f;
        usize n = cd_ws_frame_need(wire.p, wire.n);
        CD_ASSERT(!is_closed && n <= wire.n);
        const char *bad = cd_ws_frame_dec(&f, &rules, cd_bytes_sub(wire, 0, n));
        CD_ASSERT(bad == NULL && f.len <= wire.n - n && f.is_fin);
        is_closed = f.op == CD_WS_OP_CLOSE;
        n += (usize)f.len;
        wire = cd_bytes_sub(wire, n, wire.n - n);
    }
}

static void run(side *s, cd_ws_hub *h, bool is_server, u32 bits, cd_bytes in, usize piece)
{
    const cd_ws_rules rules = {.from_client = is_server, .has_deflate = bits != 0};
    const cd_ws_rules mirror = {.from_client = !is_server, .has_deflate = bits != 0};
    *s = (side){.echoes = is_server};
    s->w = cd__ws_new(h, rules, bits, &events, s);
    cd__ws_attach(s->w, &mem_io, s);
    while (in.n != 0 && !s->is_closed) {
        usize n = piece == 0 || piece > in.n ? in.n : piece;
        cd__ws_on_data(s->w, cd_bytes_sub(in, 0, n));
        in = cd_bytes_sub(in, n, in.n - n);
    }
    wire_check(cd_buf_bytes(&s->wire), mirror);
    if (!s->is_closed) {
        cd__ws_on_end(s->w, CD_OK);
    }
    CD_ASSERT(s->is_closed);
    cd__ws_on_closed(s->w);
    CD_ASSERT(s->was_told_closed && h->held == 0 && h->waiting == 0);
}

static void handshake(cd_bytes in)
{
    char answer[CD_WS_ANSWER_MAX];
    char accept[CD_WS_ACCEPT_LEN];
    bool has;
    in.n = in.n < OFFER_MAX ? in.n : OFFER_MAX;
    u32 bits = cd_ws_deflate_agree(answer, in);
    if (bits != 0) {
        CD_ASSERT(bits >= CD_WS_WINDOW_BITS_MIN && bits <= CD_WS_WINDOW_BITS_MAX);
        CD_ASSERT(cd_ws_deflate_agreed(&has, cd_bytes_str(answer)) == CD_OK && has);
    }
    if (cd_ws_deflate_agreed(&has, in) == CD_OK && in.n != 0) {
        CD_ASSERT(has);
    }
    if (cd_ws_key_ok(in)) {
        cd_ws_accept_fmt(accept, in);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static cd_ws_hub *hub;
    if (hub == NULL) {
        const cd_ws_cfg cfg = {.message_max = MESSAGE_MAX, .fragments_max = FRAGMENTS_MAX};
        cd_loop *loop;
        CD_ASSERT(cd_loop_new(&loop, NULL) == CD_OK);
        hub = cd_ws_hub_new(loop, &cfg);
    }
    if (size == 0) {
        return 0;
    }
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    bool is_server = (data[0] & 1) != 0;
    u32 bits = (data[0] & 2) != 0 ? CD_WS_WINDOW_BITS_MIN + data[0] % 7 : 0;
    side whole;
    side cut;
    run(&whole, hub, is_server, bits, in, 0);
    run(&cut, hub, is_server, bits, in, 1 + data[0] / 4);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&whole.told), cd_buf_bytes(&cut.told)));
    CD_ASSERT(!is_server || cd_bytes_eq(cd_buf_bytes(&whole.wire), cd_buf_bytes(&cut.wire)));
    cd_buf_fini(&whole.told);
    cd_buf_fini(&whole.wire);
    cd_buf_fini(&cut.told);
    cd_buf_fini(&cut.wire);
    handshake(in);
    return 0;
}
