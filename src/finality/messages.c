#include "finality/messages.h"

#include "base/rd.h"

enum { HEAD = 2 + 1 + 32 + CD_FIN_MSG_BYTES };

static void read_fields(cd_fin_message *out, cd_rd *r)
{
    if (out->kind == CD_FIN_CERT) {
        out->cert = cd_rd_take(r, cd_rd_left(r));
        return;
    }
    cd_rd_copy(r, out->node.b, sizeof out->node.b);
    if (out->kind == CD_FIN_ANNOUNCE) {
        out->key = cd_rd_take(r, CD_MLDSA_PK);
    }
    out->sig = cd_rd_take(r, out->kind == CD_FIN_STAMP ? CD_MLDSA_SIG : CD_BLS_SIG_LEN);
}

static bool is_known(u8 kind)
{
    return kind == CD_FIN_SHARE || kind == CD_FIN_STAMP || kind == CD_FIN_CERT || kind == CD_FIN_ANNOUNCE;
}

cd_err cd_fin_message_parse(cd_fin_message *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_rd r = cd_rd_init(bytes);
    *out = (cd_fin_message){.kind = CD_FIN_SHARE};
    u16 version = cd_rd_be16(&r);
    u8 kind = cd_rd_u8(&r);
    cd_rd_copy(&r, out->chain.b, sizeof out->chain.b);
    cd_bytes m = cd_rd_take(&r, CD_FIN_MSG_BYTES);
    if (r.err != CD_OK) {
        return cd_fail(why, CD_ESHORT, "a message of %zu bytes, at least %d are needed", bytes.n, HEAD);
    }
    if (version != 0) {
        return cd_fail(why, CD_EVERSION, "version %u of a message", version);
    }
    if (!is_known(kind)) {
        return cd_fail(why, CD_EUNSUPPORTED, "a message of kind %u", kind);
    }
    out->kind = (cd_fin_kind)kind;
    cd_fin_msg_dec(&out->m, m.p);
    read_fields(out, &r);
    cd_err e = cd_rd_end(&r);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "a message of kind %u has the wrong length", kind);
}

void cd_fin_message_put(cd_buf *out, const cd_fin_message *m)
{
    u8 *head = cd_buf_extend(out, HEAD);
    cd_put_be16(head, 0);
    head[2] = (u8)m->kind;
    memcpy(head + 3, m->chain.b, sizeof m->chain.b);
    cd_fin_msg_enc(head + 3 + 32, &m->m);
    if (m->kind == CD_FIN_CERT) {
        cd_buf_put(out, m->cert);
        return;
    }
    cd_buf_put(out, cd_bytes_of(m->node.b, sizeof m->node.b));
    if (m->kind == CD_FIN_ANNOUNCE) {
        cd_buf_put(out, m->key);
    }
    cd_buf_put(out, m->sig);
}

void cd_fin_announce_text(cd_buf *out, const cd_node_id *node, cd_bytes key)
{
    cd_buf_str(out, "mldsa");
    cd_buf_put(out, cd_bytes_of(node->b, sizeof node->b));
    cd_buf_put(out, key);
}
