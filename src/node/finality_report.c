/* What pages for people show of finality: who signs, how far the newest blocks are, and the newest certificates. */
#include "node/finality.h"

#include "codec/api_json.h"

/* Blocks with their certificates; names of those who are missing in one. */
enum { RECENT = 25, NAMED = 32 };

static void put_missing(cd_json_w *w, const cd_node_finality_now *n, cd_bytes bits)
{
    u32 left = NAMED;
    cd_json_w_key(w, "missing");
    cd_json_w_arr(w);
    for (u32 i = 0; i < n->cnt && left != 0; i++) {
        if (!cd_fin_bit(bits, i)) {
            cd_buf text = {0};
            cd_node_id_put(&text, &n->nodes[i]);
            cd_json_w_str(w, cd_buf_bytes(&text));
            cd_buf_fini(&text);
            left--;
        }
    }
    cd_json_w_arr_end(w);
}

static u32 count(const cd_node_finality_now *n, cd_bytes bits)
{
    u32 cnt = 0;
    for (u32 i = 0; i < n->cnt; i++) {
        cnt += cd_fin_bit(bits, i);
    }
    return cnt;
}

static void put_row(cd_json_w *w, const cd_node_finality_now *n, const cd_finality_row *r)
{
    const cd_bytes shares = cd_bytes_of(r->shares, r->bits_n);
    cd_json_w_obj(w);
    cd_json_put_u64(w, "height", r->height);
    cd_json_put_bool(w, "signed", r->is_signed);
    cd_json_put_bool(w, "final", r->is_final);
    cd_json_put_u64(w, "parties", r->parties);
    cd_json_put_u64(w, "commits", r->commits);
    cd_json_put_u64(w, "answers", r->answers);
    if (r->epoch == n->epoch) {
        cd_json_put_u64(w, "shares", count(n, shares));
        cd_json_put_u64(w, "stamps", count(n, cd_bytes_of(r->stamps, r->bits_n)));
        put_missing(w, n, shares);
    }
    cd_json_w_obj_end(w);
}

static void put_cert(cd_json_w *w, const cd_node_finality_now *n, u64 height, const cd_fin_cert *c)
{
    cd_json_w_obj(w);
    cd_json_put_u64(w, "height", height);
    cd_json_put_u64(w, "type", c->type);
    cd_json_put_u64(w, "time", c->msg.time_ns / CD_NS_PER_SEC);
    cd_json_put_u64(w, "total", c->total);
    cd_json_put_u64(w, "signedBy", c->signed_by);
    cd_json_put_u64(w, "parties", c->parties.n / CD_FIN_NODE_BYTES);
    cd_json_put_u64(w, "stamps", c->mldsa.n / CD_FIN_MLDSA_BYTES);
    if (c->msg.height >= n->from) {
        put_missing(w, n, c->bits);
    }
    cd_json_w_obj_end(w);
}

static void put_recent(cd_json_w *w, cd_node_finality *f, const cd_node_finality_now *n, const cd_hash32 *chain)
{
    cd_node_final by_bls;
    cd_node_final final;
    cd_buf bytes = {0};
    cd_fin_cert cert;
    cd_node_finality_get(f, &by_bls, &final, chain);
    cd_json_w_key(w, "recent");
    cd_json_w_arr(w);
    for (u64 i = 0; by_bls.is_there && i < RECENT && i <= by_bls.height; i++) {
        if (cd_node_finality_cert_at(f, &bytes, chain, by_bls.height - i) == CD_OK &&
            cd_fin_cert_parse(&cert, cd_buf_bytes(&bytes)) == CD_FLAW_NONE) {
            put_cert(w, n, by_bls.height - i, &cert);
        }
    }
    cd_json_w_arr_end(w);
    cd_buf_fini(&bytes);
}

void cd_node_finality_report(cd_node_finality *f, cd_buf *out, const cd_hash32 *chain)
{
    cd_json_w w = {.out = out};
    cd_node_finality_now now;
    cd_node_finality_look(f, &now, chain);
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "epoch", now.epoch);
    cd_json_put_u64(&w, "from", now.from);
    cd_json_put_u64(&w, "validators", now.cnt);
    cd_json_put_u64(&w, "keyed", now.keyed);
    cd_json_put_bool(&w, "hasGroup", now.has_group);
    cd_json_put_bool(&w, "isSetSigned", now.is_set_signed);
    cd_json_w_key(&w, "now");
    cd_json_w_arr(&w);
    for (u32 i = 0; i < now.row_cnt; i++) {
        put_row(&w, &now, &now.rows[i]);
    }
    cd_json_w_arr_end(&w);
    put_recent(&w, f, &now, chain);
    cd_json_w_obj_end(&w);
    cd_node_finality_now_fini(&now);
}
