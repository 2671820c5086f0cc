#include "consensus/proposer/outer.h"
#include "crypto/hash/sha2.h"
#include "decode/kinds.h"
#include "types/cert.h"
#include "types/warp.h"

/* Writes bytes that stand inside others: as one of the kinds when one fits, and always as bytes. */
static void put_inner(cd__show *s, const char *key, cd_bytes b, const char *const *names, usize cnt)
{
    bool is_shown = false;
    cd_json_put_hex(s->w, key, b);
    cd_json_w_key(s->w, "content");
    for (usize i = 0; i < cnt && !is_shown; i++) {
        is_shown = cd__kind_show(s, cd__kind_find(names[i]), b, NULL) == CD_OK;
    }
    if (!is_shown) {
        cd_json_w_null(s->w);
    }
}

cd_err cd__show_outer(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    static const char *const inner[] = {"p-block", "x-block"};
    cd_outer o;
    cd_node_id node;
    cd_buf text = {0};
    (void)k;
    CD_TRY(cd_outer_parse(&o, b, why));
    cd__put_id(s->w, "id", &o.id);
    cd_json_w_key(s->w, "value");
    cd_json_w_obj(s->w);
    cd__put_id(s->w, "parentID", &o.parent);
    cd_json_put_bool(s->w, "isOption", o.is_option);
    if (!o.is_option) {
        cd_json_w_key(s->w, "time");
        cd_json_w_i64(s->w, o.time);
        cd_json_put_u64(s->w, "pChainHeight", o.pchain_height);
        if (o.cert.n != 0) {
            cd_cert_node_id(&node, o.cert);
            cd_node_id_put(&text, &node);
            cd_json_put_str(s->w, "proposer", cd_buf_bytes(&text));
        } else {
            cd_json_put_null(s->w, "proposer");
        }
        cd_json_put_hex(s->w, "certificate", o.cert);
        cd_json_put_hex(s->w, "signature", o.signature);
    }
    put_inner(s, "inner", o.inner, inner, CD_COUNT(inner));
    cd_json_w_obj_end(s->w);
    cd_buf_fini(&text);
    return CD_OK;
}

/* --- Warp --- */

static cd_err undecodable(cd_err e, cd_errinfo *why)
{
    return cd_fail(why, e, "%s", cd_err_str(e));
}

static void put_body(cd__show *s, const cd_warp_unsigned *m)
{
    static const char *const payload[] = {"warp-payload"};
    cd_json_put_u64(s->w, "networkID", m->network_id);
    cd__put_id(s->w, "sourceChainID", &m->source_chain);
    put_inner(s, "payload", m->payload, payload, CD_COUNT(payload));
}

cd_err cd__show_warp_unsigned(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    cd_warp_unsigned m;
    cd_warp_payload p;
    cd_hash32 id;
    (void)k;
    cd_err e = cd_warp_unsigned_dec(&m, b);
    if (e != CD_OK) {
        return undecodable(e, why);
    }
    if (!s->is_named && cd_warp_payload_dec(&p, m.payload) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "its payload is none of Warp's"); /* an option looks like a message, too */
    }
    cd_warp_unsigned_id(&id, b);
    cd__put_id(s->w, "id", &id);
    cd_json_w_key(s->w, "value");
    cd_json_w_obj(s->w);
    put_body(s, &m);
    cd_json_w_obj_end(s->w);
    return CD_OK;
}

cd_err cd__show_warp_message(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    cd_warp_message m;
    cd_hash32 id;
    (void)k;
    cd_err e = cd_warp_message_dec(&m, b);
    if (e != CD_OK) {
        return undecodable(e, why);
    }
    cd_warp_unsigned_id(&id, m.text);
    cd__put_id(s->w, "id", &id);
    cd_json_w_key(s->w, "value");
    cd_json_w_obj(s->w);
    put_body(s, &m.body);
    cd_json_put_hex(s->w, "signers", m.signers);
    cd_json_w_key(s->w, "signerIndices");
    cd_json_w_arr(s->w);
    u64 len = cd_bits_len(m.signers);
    for (u64 i = 0; i < len; i++) {
        if (cd_bits_has(m.signers, i)) {
            cd_json_w_u64(s->w, i);
        }
    }
    cd_json_w_arr_end(s->w);
    cd_json_put_hex(s->w, "signature", cd_bytes_of(m.signature, sizeof m.signature));
    cd_json_w_obj_end(s->w);
    return CD_OK;
}

cd_err cd__show_warp_payload(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    static const char *const message[] = {"p-payload"};
    cd_warp_payload p;
    (void)k;
    cd_err e = cd_warp_payload_dec(&p, b);
    if (e != CD_OK) {
        return undecodable(e, why);
    }
    cd_json_w_key(s->w, "value");
    cd_json_w_obj(s->w);
    switch (p.type) {
    case CD_WARP_HASH:
        cd__put_id(s->w, "blockID", &p.hash);
        break;
    case CD_WARP_ADDRESSED_CALL:
        cd_json_put_hex(s->w, "sourceAddress", p.source);
        put_inner(s, "payload", p.payload, message, CD_COUNT(message));
        break;
    }
    cd_json_w_obj_end(s->w);
    return CD_OK;
}
