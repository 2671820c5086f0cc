/* Bytes to frames to messages. */
#include "base/mem/mem.h"
#include "net/ws/ws_priv.h"

enum {
    INFLATER_SIZE = 48 * 1024, /* memory of one, about */
    KEEP_MAX = 4 * 1024,       /* memory that a message may leave to the next one */
};

static const cd_bytes none;

bool cd__ws_is_blocked(const cd_ws *w)
{
    return w->is_paused || cd__ws_is_full(w);
}

/* Accounts for the memory of the unfinished message; false when all of them together are too large. */
static bool hold(cd_ws *w)
{
    cd_ws_hub *h = w->hub;
    usize now = w->msg.cap + (w->inflater == NULL ? 0 : INFLATER_SIZE);
    h->held = h->held - w->held + now;
    w->held = now;
    return h->held <= h->cfg.input_max;
}

static void inflater_give_back(cd_ws *w)
{
    cd_ws_hub *h = w->hub;
    if (w->inflater != NULL && h->spare == NULL) {
        cd_ws_inflater_reset(w->inflater);
        h->spare = w->inflater;
    } else {
        cd_ws_inflater_free(w->inflater);
    }
    w->inflater = NULL;
}

void cd__ws_message_drop(cd_ws *w)
{
    inflater_give_back(w);
    w->in_message = false;
    cd_buf_fini(&w->msg);
    (void)hold(w);
}

static void message_begin(cd_ws *w)
{
    cd_ws_hub *h = w->hub;
    w->in_message = true;
    w->kind = (cd_ws_kind)w->frame.op;
    w->is_deflated = w->frame.is_deflated;
    w->fragments = 0;
    w->utf8 = (cd_utf8){0};
    if (w->is_deflated) {
        w->inflater = h->spare != NULL ? h->spare : cd_ws_inflater_new();
        h->spare = NULL;
    }
}

/* A data frame's header is there. */
static void data_begin(cd_ws *w)
{
    const cd_ws_cfg *cfg = &w->hub->cfg;
    if (w->state != CD__WS_OPEN) {
        return;
    }
    if ((w->frame.op == CD_WS_OP_CONT) != w->in_message) {
        cd__ws_fail(w, CD_WS_PROTOCOL,
                    w->in_message ? "new message before the end of the last" : "nothing to continue");
        return;
    }
    if (w->frame.op != CD_WS_OP_CONT) {
        message_begin(w);
    }
    if (++w->fragments > cfg->fragments_max) {
        cd__ws_fail(w, CD_WS_POLICY, "too many fragments");
    } else if (!w->is_deflated && w->frame.len > cfg->message_max - w->msg.n) {
        cd__ws_fail(w, CD_WS_TOO_BIG, "message too big");
    }
}

static bool text_ok(cd_ws *w, cd_bytes text)
{
    if (w->kind == CD_WS_TEXT && !cd_utf8_feed(&w->utf8, text)) {
        cd__ws_fail(w, CD_WS_BAD_DATA, "text is not UTF-8");
        return false;
    }
    return true;
}

static void message_give(cd_ws *w, cd_bytes data)
{
    if (w->kind == CD_WS_TEXT && !cd_utf8_is_end(&w->utf8)) {
        cd__ws_fail(w, CD_WS_BAD_DATA, "text is not UTF-8");
        return;
    }
    /* The buffer leaves w, which the callee may close. */
    cd_buf given = w->msg;
    w->msg = (cd_buf){0};
    cd__ws_message_drop(w);
    w->events->message(w->ctx, w, w->kind, data);
    if (given.cap <= KEEP_MAX && w->state == CD__WS_OPEN) {
        cd_buf_clear(&given);
        w->msg = given;
    } else {
        cd_buf_fini(&given);
    }
}

static bool inflate_part(cd_ws *w, cd_bytes part, bool is_last)
{
    usize had = w->msg.n;
    cd_err err = cd_ws_inflate(w->inflater, &w->msg, part, is_last, w->hub->cfg.message_max);
    /* What came out before an error counts first, as if it had come alone. */
    if (!text_ok(w, cd_bytes_sub(cd_buf_bytes(&w->msg), had, w->msg.n - had))) {
        return false;
    }
    if (err != CD_OK) {
        cd__ws_fail(w, err == CD_ELIMIT ? CD_WS_TOO_BIG : CD_WS_BAD_DATA,
                    err == CD_ELIMIT ? "message too big" : "message does not inflate");
    }
    return err == CD_OK;
}

/* A piece of a data frame's payload, masked, at most CD__WS_SCRATCH bytes. */
static void data_part(cd_ws *w, cd_bytes in, bool is_frame_end)
{
    bool is_end = is_frame_end && w->frame.is_fin;
    /* A message that lies whole in the input needs no buffer. */
    bool is_direct = is_end && !w->is_deflated && w->msg.n == 0;
    bool to_scratch = is_direct || w->is_deflated;
    u8 *at = to_scratch ? w->hub->scratch : cd_buf_extend(&w->msg, in.n);
    if (w->frame.is_masked) {
        cd_ws_mask(at, in.p, in.n, w->frame.key, w->frame_at);
    } else if (in.n != 0) {
        memcpy(at, in.p, in.n);
    }
    cd_bytes plain = cd_bytes_of(at, in.n);
    if (w->is_deflated ? !inflate_part(w, plain, is_end) : !text_ok(w, plain)) {
        return;
    }
    if (!hold(w)) {
        cd__ws_fail(w, CD_WS_TRY_LATER, "too much input of all connections");
    } else if (is_end) {
        message_give(w, is_direct ? plain : cd_buf_bytes(&w->msg));
    }
}

static void control_end(cd_ws *w)
{
    cd_bytes payload = cd_bytes_of(w->control, (usize)w->frame.len);
    switch (w->frame.op) {
    case CD_WS_OP_PING:
        if (w->state == CD__WS_OPEN) {
            const cd_ws_frame f = {.op = CD_WS_OP_PONG};
            cd__ws_put(w, &f, payload, NULL, none);
        }
        break;
    case CD_WS_OP_PONG:
        break; /* every word from the peer is a sign of life */
    case CD_WS_OP_CLOSE:
        cd__ws_peer_close(w, payload);
        break;
    case CD_WS_OP_CONT:
    case CD_WS_OP_TEXT:
    case CD_WS_OP_BINARY:
        CD_UNREACHABLE();
    }
}

/* Takes the next piece of a payload, possibly of none; gives its size. */
static usize payload_part(cd_ws *w, cd_bytes in)
{
    u64 left = w->frame.len - w->frame_at;
    bool is_control = w->frame.op >= CD_WS_OP_CLOSE;
    usize n = (usize)cd_min_u64(cd_min_u64(in.n, left), CD__WS_SCRATCH);
    bool is_end = n == left;
    w->in_payload = !is_end;
    if (is_control) {
        if (w->frame.is_masked) {
            cd_ws_mask(w->control + w->frame_at, in.p, n, w->frame.key, w->frame_at);
        } else if (n != 0) {
            memcpy(w->control + w->frame_at, in.p, n);
        }
        if (is_end) {
            control_end(w);
        }
    } else if (w->state == CD__WS_OPEN) {
        data_part(w, cd_bytes_sub(in, 0, n), is_end);
    }
    w->frame_at += n;
    return n;
}

/* Takes the next bytes of a header; gives how many. */
static usize header_part(cd_ws *w, cd_bytes in)
{
    usize had = w->head_n;
    usize need = cd_ws_frame_need(w->head, w->head_n);
    while (w->head_n < need && w->head_n - had < in.n) {
        w->head[w->head_n] = in.p[w->head_n - had];
        w->head_n++;
        need = w->head_n == 2 ? cd_ws_frame_need(w->head, 2) : need;
    }
    usize used = w->head_n - had;
    if (w->head_n < 2) {
        return used;
    }
    /* Two bytes say enough to refuse a frame of which the rest may never come. */
    const char *bad = cd_ws_frame_dec(&w->frame, &w->rules, cd_bytes_of(w->head, w->head_n));
    if (bad != NULL) {
        cd__ws_fail(w, CD_WS_PROTOCOL, bad);
    } else if (w->head_n == need) {
        w->head_n = 0;
        w->in_payload = true;
        w->frame_at = 0;
        if (w->frame.op < CD_WS_OP_CLOSE) {
            data_begin(w);
        }
    }
    return used;
}

cd_bytes cd__ws_pump(cd_ws *w, cd_bytes in)
{
    cd_ws_cork(w);
    while (w->state <= CD__WS_CLOSING && !cd__ws_is_blocked(w)) {
        bool is_empty_frame = w->in_payload && w->frame.len == 0;
        if (in.n == 0 && !is_empty_frame) {
            break;
        }
        usize n = w->in_payload ? payload_part(w, in) : header_part(w, in);
        in = n == 0 ? in : cd_bytes_sub(in, n, in.n - n);
    }
    if (w->state >= CD__WS_ENDING) {
        in = none;
    }
    cd_ws_uncork(w);
    return in;
}
