#include "net/ws/frame.h"

enum { FIN = 0x80, RSV1 = 0x40, RSV23 = 0x30, MASKED = 0x80, LEN16 = 126, LEN64 = 127 };

usize cd_ws_frame_need(const u8 *p, usize n)
{
    if (n < 2) {
        return 2;
    }
    u8 len = p[1] & 0x7f;
    usize need = (p[1] & MASKED) != 0 ? 6 : 2;
    return need + (len == LEN16 ? 2 : len == LEN64 ? 8 : 0);
}

static bool is_op(u8 op)
{
    return op <= CD_WS_OP_BINARY || (op >= CD_WS_OP_CLOSE && op <= CD_WS_OP_PONG);
}

const char *cd_ws_frame_dec(cd_ws_frame *out, const cd_ws_rules *rules, cd_bytes head)
{
    const u8 *p = head.p;
    u8 op = p[0] & 0x0f;
    u64 len = p[1] & 0x7f;
    CD_ASSERT(head.n >= 2);
    if (!is_op(op)) {
        return "reserved opcode";
    }
    bool is_control = op >= CD_WS_OP_CLOSE;
    *out = (cd_ws_frame){
        .is_fin = (p[0] & FIN) != 0,
        .is_deflated = (p[0] & RSV1) != 0,
        .is_masked = (p[1] & MASKED) != 0,
        .op = (cd_ws_op)op,
    };
    if ((p[0] & RSV23) != 0 || (out->is_deflated && (!rules->has_deflate || is_control || op == CD_WS_OP_CONT))) {
        return "reserved bit set";
    }
    if (out->is_masked != rules->from_client) {
        return out->is_masked ? "frame of a server is masked" : "frame of a client is not masked";
    }
    if (is_control && (!out->is_fin || len > CD_WS_CONTROL_MAX)) {
        return out->is_fin ? "control frame too long" : "control frame in fragments";
    }
    if (head.n < cd_ws_frame_need(p, head.n)) {
        return NULL;
    }
    const u8 *at = p + 2;
    if (len == LEN16) {
        len = cd_be16(at);
        at += 2;
        if (len < LEN16) {
            return "length not in its shortest form";
        }
    } else if (len == LEN64) {
        len = cd_be64(at);
        at += 8;
        if (len <= UINT16_MAX || len > INT64_MAX) {
            return len > INT64_MAX ? "length too large" : "length not in its shortest form";
        }
    }
    out->len = len;
    if (out->is_masked) {
        memcpy(out->key, at, sizeof out->key);
    }
    return NULL;
}

usize cd_ws_frame_enc(u8 out[CD_WS_FRAME_HEAD_MAX], const cd_ws_frame *f)
{
    usize n = 2;
    u8 masked = f->is_masked ? MASKED : 0;
    out[0] = (u8)((f->is_fin ? FIN : 0) | (f->is_deflated ? RSV1 : 0) | (u8)f->op);
    if (f->len < LEN16) {
        out[1] = (u8)(masked | f->len);
    } else if (f->len <= UINT16_MAX) {
        out[1] = masked | LEN16;
        cd_put_be16(out + 2, (u16)f->len);
        n = 4;
    } else {
        out[1] = masked | LEN64;
        cd_put_be64(out + 2, f->len);
        n = 10;
    }
    if (f->is_masked) {
        memcpy(out + n, f->key, sizeof f->key);
        n += sizeof f->key;
    }
    return n;
}

void cd_ws_mask(u8 *out, const u8 *in, usize n, const u8 key[4], u64 at)
{
    u8 turned[8];
    u64 k;
    for (u32 i = 0; i < 8; i++) {
        turned[i] = key[(at + i) % 4];
    }
    memcpy(&k, turned, 8);
    usize i = 0;
    for (; n - i >= 8; i += 8) {
        u64 v;
        memcpy(&v, in + i, 8);
        v ^= k;
        memcpy(out + i, &v, 8);
    }
    for (; i < n; i++) {
        out[i] = in[i] ^ turned[i % 8];
    }
}

bool cd_ws_code_ok(u16 code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}
