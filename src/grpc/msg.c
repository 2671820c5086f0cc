#include "grpc/msg_priv.h"

/* Makes room for n more bytes, at most for the announced size; false: the account is full. */
static bool grow(cd__grpc_msg *m, usize n, cd__grpc_account *a)
{
    enum { FIRST = 4096 };
    usize need = m->body.n + n;
    if (need > m->body.cap) {
        usize cap = cd_max_u64(m->body.cap * 2, FIRST);
        cap = cd_min_u64(cd_max_u64(cap, need), m->size);
        if (cap - m->held > a->max || a->held > a->max - (cap - m->held)) {
            return false;
        }
        (void)cd_buf_reserve(&m->body, cap - m->body.n);
        a->held += m->body.cap - m->held;
        m->held = m->body.cap;
    }
    return true;
}

u32 cd__grpc_msg_feed(cd__grpc_msg *m, cd_bytes in, usize max, cd__grpc_account *a, const char **text)
{
    while (m->head_n < CD__GRPC_HEAD && in.n != 0) {
        m->head[m->head_n++] = in.p[0];
        in = cd_bytes_sub(in, 1, in.n - 1);
        if (m->head_n == CD__GRPC_HEAD) {
            m->size = cd_be32(m->head + 1);
            m->is_whole = m->size == 0;
        }
    }
    if (m->head_n != 0 && m->head[0] != 0) {
        *text = m->head[0] == 1 ? "message is compressed, only identity is spoken" : "malformed message";
        return m->head[0] == 1 ? CD_GRPC_UNIMPLEMENTED : CD_GRPC_INTERNAL;
    }
    if (m->size > max) {
        *text = "message is too large";
        return CD_GRPC_RESOURCE_EXHAUSTED;
    }
    if (in.n > m->size - m->body.n) {
        *text = "more than one message";
        return CD_GRPC_INTERNAL;
    }
    if (in.n != 0) {
        if (!grow(m, in.n, a)) {
            *text = "too much at a time";
            return CD_GRPC_RESOURCE_EXHAUSTED;
        }
        cd_buf_put(&m->body, in);
        m->is_whole = m->body.n == m->size;
    }
    return CD_GRPC_OK;
}

void cd__grpc_msg_fini(cd__grpc_msg *m, cd__grpc_account *a)
{
    a->held -= m->held;
    cd_buf_fini(&m->body);
    *m = (cd__grpc_msg){0};
}

void cd__grpc_head(u8 out[CD__GRPC_HEAD], usize n)
{
    out[0] = 0;
    cd_put_be32(out + 1, (u32)n);
}
