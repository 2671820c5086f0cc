#include "finality/messages.h"

#include "base/rd.h"

enum { HEAD_BYTES = 3 + 32 + CD_FIN_MSG_BYTES };

static void put_u32(cd_buf *out, u64 v)
{
    cd_put_be32(cd_buf_extend(out, 4), (u32)v);
}

static void put_sized(cd_buf *out, cd_bytes b)
{
    put_u32(out, b.n);
    cd_buf_put(out, b);
}

static void put_round(cd_buf *out, const cd_fin_says *s)
{
    cd_put_be64(cd_buf_extend(out, 8), s->session);
    put_u32(out, s->party);
    put_sized(out, s->bytes);
}

void cd_fin_says_put(cd_buf *out, const cd_fin_says *s)
{
    u8 *p = cd_buf_extend(out, HEAD_BYTES);
    cd_put_be16(p, 0);
    p[2] = (u8)s->kind;
    memcpy(p + 3, s->chain.b, 32);
    cd_fin_msg_enc(p + 35, &s->msg);
    switch (s->kind) {
    case CD_FIN_SAYS_SHARE:
    case CD_FIN_SAYS_STAMP:
        cd_buf_put(out, cd_bytes_of(s->node.b, CD_FIN_NODE_BYTES));
        cd_buf_put(out, s->bytes);
        break;
    case CD_FIN_SAYS_ROUND1:
        put_round(out, s);
        put_u32(out, s->tags.n / CD_FIN_TAG_BYTES);
        cd_buf_put(out, s->tags);
        break;
    case CD_FIN_SAYS_ROUND2:
        put_round(out, s);
        break;
    case CD_FIN_SAYS_CERT:
        cd_buf_put(out, s->bytes);
        break;
    case CD_FIN_SAYS_WANTED:
        break;
    case CD_FIN_SAYS_KEY:
        cd_buf_put(out, cd_bytes_of(s->node.b, CD_FIN_NODE_BYTES));
        cd_buf_put(out, s->bytes);
        cd_buf_put(out, s->proof);
        break;
    case CD_FIN_SAYS_NEXT_KEY:
        cd_buf_put(out, cd_bytes_of(s->node.b, CD_FIN_NODE_BYTES));
        cd_put_be64(cd_buf_extend(out, 8), s->number);
        cd_buf_put(out, s->bytes);
        cd_buf_put(out, s->proof);
        break;
    }
}

static cd_bytes take_sized(cd_rd *r, usize n)
{
    if (cd_rd_be32(r) != n) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    return cd_rd_take(r, n);
}

static void read_round(cd_fin_says *out, cd_rd *r, usize n)
{
    out->session = cd_rd_be64(r);
    out->party = cd_rd_be32(r);
    out->bytes = take_sized(r, n);
    if (out->party >= CD_RT_PARTIES_MAX) {
        cd_rd_fail(r, CD_EFORMAT);
    }
}

static void read_tags(cd_fin_says *out, cd_rd *r)
{
    u32 cnt = cd_rd_be32(r);
    if (cnt == 0 || cnt >= CD_RT_PARTIES_MAX) {
        cd_rd_fail(r, CD_EFORMAT);
        return;
    }
    out->tags = cd_rd_take(r, (usize)cnt * CD_FIN_TAG_BYTES);
    for (usize i = 0; i < out->tags.n; i += CD_FIN_TAG_BYTES) {
        u32 party = cd_be32(out->tags.p + i);
        bool rises = i == 0 || cd_be32(out->tags.p + i - CD_FIN_TAG_BYTES) < party;
        if (!rises || party >= CD_RT_PARTIES_MAX || party == out->party) {
            cd_rd_fail(r, CD_EFORMAT);
            return;
        }
    }
}

static void read_named(cd_fin_says *out, cd_rd *r, usize n)
{
    cd_rd_copy(r, out->node.b, CD_FIN_NODE_BYTES);
    out->bytes = cd_rd_take(r, n);
}

cd_err cd_fin_says_read(cd_fin_says *out, cd_bytes bytes)
{
    if (bytes.n > CD_FIN_MESSAGE_MAX) {
        return CD_ELIMIT;
    }
    u8 msg[CD_FIN_MSG_BYTES];
    cd_rd r = cd_rd_init(bytes);
    *out = (cd_fin_says){0};
    if (cd_rd_be16(&r) != 0) {
        cd_rd_fail(&r, CD_EFORMAT);
    }
    u8 kind = cd_rd_u8(&r);
    cd_rd_copy(&r, out->chain.b, 32);
    cd_rd_copy(&r, msg, sizeof msg);
    cd_fin_msg_dec(&out->msg, msg);
    out->kind = (cd_fin_kind)kind;
    switch (kind) {
    case CD_FIN_SAYS_SHARE:
        read_named(out, &r, CD_BLS_SIG_LEN);
        break;
    case CD_FIN_SAYS_ROUND1:
        read_round(out, &r, CD_FIN_D_BYTES);
        read_tags(out, &r);
        break;
    case CD_FIN_SAYS_ROUND2:
        read_round(out, &r, CD_FIN_Z_BYTES);
        break;
    case CD_FIN_SAYS_STAMP:
        read_named(out, &r, CD_MLDSA_SIG);
        break;
    case CD_FIN_SAYS_CERT:
        out->bytes = cd_rd_take(&r, cd_rd_left(&r));
        break;
    case CD_FIN_SAYS_WANTED:
        break;
    case CD_FIN_SAYS_KEY:
        read_named(out, &r, CD_MLDSA_PK);
        out->proof = cd_rd_take(&r, CD_BLS_SIG_LEN);
        break;
    case CD_FIN_SAYS_NEXT_KEY:
        cd_rd_copy(&r, out->node.b, CD_FIN_NODE_BYTES);
        out->number = cd_rd_be64(&r);
        if (out->number == 0) {
            cd_rd_fail(&r, CD_EFORMAT); /* a first key has a kind of its own */
        }
        out->bytes = cd_rd_take(&r, CD_MLDSA_PK);
        out->proof = cd_rd_take(&r, CD_BLS_SIG_LEN);
        break;
    default:
        cd_rd_fail(&r, CD_EFORMAT);
        break;
    }
    return cd_rd_end(&r);
}

void cd_fin_key_text(cd_buf *out, const cd_node_id *node, const u8 key[CD_MLDSA_PK], u64 number)
{
    cd_buf_str(out, "mldsa");
    cd_buf_put(out, cd_bytes_of(node->b, CD_FIN_NODE_BYTES));
    cd_buf_put(out, cd_bytes_of(key, CD_MLDSA_PK));
    if (number != 0) {
        cd_put_be64(cd_buf_extend(out, 8), number);
    }
}
