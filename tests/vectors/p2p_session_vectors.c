/* testdata/p2p/p2p_session.json: recorded sessions with the original's network. Our peer is given what the other side
 * said, at the time it said it, and must answer with the same kinds of messages, close where the original closed, and
 * pass the same messages on. Only the first session's certificate was recorded: in the others the address is signed
 * anew, by a certificate of ours, unless a wrong signature is what the session is about. */
#include "vec.h"

#include "../../src/p2p/test/pair.h"

static cd_clock_virtual vclock;

typedef struct session {
    host h;
    wire w;
    cd_p2p_peer *p;
} session;

static cd_bytes str_of(cd_json row, const char *key)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, cd_json_get(row, key), NULL);
    return s;
}

/* The op of the first frame that our side has written, which is taken out; 0: there is none. */
static u32 next_written(vec *v, session *s)
{
    cd_arena a = {0};
    cd_p2p_msg m = {0};
    usize unpacked;
    cd_buf *out = &s->w.out;
    if (out->n == 0) {
        return CD_P2P_NONE;
    }
    usize n = CD_P2P_FRAME_HEAD + cd_be32(out->p);
    vec_check(v,
              out->n >= n &&
                  cd_p2p_msg_parse(&m, &unpacked, &a, s->h.h.zstd, cd_bytes_of(out->p + 4, n - 4), NULL) == CD_OK,
              "our frame");
    memmove(out->p, out->p + n, out->n - n);
    out->n -= n;
    cd_arena_fini(&a);
    return m.op;
}

static u32 op_in(vec *v, session *s, cd_bytes frame)
{
    cd_arena a = {0};
    cd_p2p_msg m = {0};
    usize unpacked;
    vec_check(v, cd_p2p_msg_parse(&m, &unpacked, &a, s->h.h.zstd, cd_bytes_sub(frame, 4, frame.n - 4), NULL) == CD_OK,
              "a frame of the original");
    cd_arena_fini(&a);
    return m.op;
}

/* The clock of the recording is in the original's handshake. */
static void set_time(vec *v, cd_json first)
{
    u64 t = 0;
    cd_json hs = cd_json_get(cd_json_get(first, "message"), "handshake");
    vec_check(v, cd_json_u64(&t, cd_json_get(hs, "my_time"), NULL) == CD_OK, "time");
    cd_clock_virtual_init(&vclock, t * CD_NS_PER_SEC);
}

/* The frame as it was, or a handshake whose address our own key has signed. */
static cd_bytes signed_anew(vec *v, session *s, const cd_p2p_identity *id, cd_bytes frame)
{
    cd_arena a = {0};
    cd_buf out = {0};
    cd_buf sig = {0};
    cd_p2p_msg m = {0};
    cd_p2p_ip ip;
    u8 preimage[CD_P2P_IP_PREIMAGE_LEN];
    usize unpacked;
    if (frame.n > 4 &&
        cd_p2p_msg_parse(&m, &unpacked, &a, s->h.h.zstd, cd_bytes_sub(frame, 4, frame.n - 4), NULL) == CD_OK &&
        m.op == CD_P2P_HANDSHAKE) {
        cd_p2p_handshake *hs = m.body;
        if (cd_p2p_ip_dec(&ip, hs->ip_addr, hs->ip_port) == CD_OK) {
            cd_p2p_ip_preimage(preimage, &ip, hs->ip_signing_time);
            cd_signkey_sign(id->key, &sig, cd_bytes_of(preimage, sizeof preimage));
            hs->ip_node_id_sig = cd_buf_bytes(&sig);
            vec_check(v, cd_p2p_frame_put(&out, NULL, &m), "signed anew");
            frame = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
        }
    }
    cd_buf_fini(&sig);
    cd_buf_fini(&out);
    cd_arena_fini(&a);
    return frame;
}

static void check(vec *v, cd_json row, const cd_cert *cert, cd_bytes der, const cd_p2p_identity *id)
{
    session s = {.w = {.c = wire_ops}};
    const char *name = cd_arena_str(&v->arena, str_of(row, "scenario"));
    bool closes = false;
    usize closings = 0;
    usize passed = 0;
    (void)!cd_json_bool(&closes, cd_json_get(row, "node_closed"), NULL);
    cd_json_it it = cd_json_iter(cd_json_get(row, "log"));
    set_time(v, cd_json_at(cd_json_get(row, "log"), 0));
    host_init(&s.h, &vclock.clock, 1);
    s.p = cd_p2p_peer_new(&s.h.h, &s.w.c, cert, der, true, NULL);
    (void)cd_p2p_peer_tick(s.p);
    while (cd_json_next(&it)) {
        cd_bytes frame = {0};
        cd_bytes dir = str_of(it.val, "dir");
        if (cd_json_has(cd_json_get(it.val, "event"))) {
            vec_check(v, s.w.is_closed, "%s: not closed: %s", name, cd_p2p_end_text(cd_p2p_peer_get(s.p)->end));
            closings++;
            continue;
        }
        vec_check(v, cd_json_hex(&frame, &v->arena, cd_json_get(it.val, "frame_hex"), NULL) == CD_OK, "hex");
        if (cd_bytes_eq(dir, cd_bytes_str("peer->node"))) {
            bool is_as_it_was = id == NULL || strcmp(name, "bad_tls_signature") == 0;
            cd_p2p_peer_data(s.p, is_as_it_was ? frame : signed_anew(v, &s, id, frame));
            continue;
        }
        u32 want = op_in(v, &s, frame);
        u32 got = next_written(v, &s);
        vec_check(v, got == want, "%s: we say %s, the original %s: %s", name,
                  got == 0 ? "nothing" : cd_p2p_op_name(got), cd_p2p_op_name(want),
                  cd_p2p_end_text(cd_p2p_peer_get(s.p)->end));
    }
    vec_check(v, s.w.is_closed == closes && (closings != 0) == closes, "%s: closed or not", name);
    /* The original does not read on behind an empty frame; to us it is one that is not understood (p2p.md 2). */
    bool is_empty_frame = strcmp(name, "frame_length_zero") == 0;
    vec_check(v, next_written(v, &s) == (is_empty_frame ? CD_P2P_PONG : CD_P2P_NONE), "%s: nothing more is said", name);
    cd_json_it events = cd_json_iter(cd_json_get(row, "router_events_of_node"));
    while (cd_json_next(&events)) {
        cd_bytes e = {0};
        (void)!cd_json_str(&e, events.val, NULL);
        passed += e.n > 8 && memcmp(e.p, "inbound ", 8) == 0;
    }
    vec_check(v, s.h.messages == passed, "%s: %u messages passed on", name, s.h.messages);
    cd_p2p_peer_free(s.p);
    cd_buf_fini(&s.w.out);
    host_fini(&s.h);
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    if (vec_json(&v, &all, vec_path(&v, "p2p/p2p_session.json"))) {
        cd_bytes der = {0};
        cd_cert cert;
        cd_cert own;
        cd_p2p_identity id = {.key = NULL};
        cd_p2p_identity_files none = {.cert = NULL};
        cd_json tls = cd_json_get(cd_json_at(all, 0), "tls");
        vec_check(&v,
                  cd_json_hex(&der, &v.arena, cd_json_get(tls, "peer_cert_der"), NULL) == CD_OK &&
                      cd_cert_parse(&cert, der, NULL) == CD_OK,
                  "the peer's certificate");
        vec_check(&v,
                  cd_p2p_identity_open(&id, cd_fs_real(), &none, 0, NULL) == CD_OK &&
                      cd_cert_parse(&own, cd_buf_bytes(&id.cert), NULL) == CD_OK,
                  "a certificate of ours");
        vec_check(&v, cd_json_len(all) == 23, "23 sessions");
        for (usize i = 0; i < cd_json_len(all); i++) {
            check(&v, cd_json_at(all, i), i == 0 ? &cert : &own, i == 0 ? der : cd_buf_bytes(&id.cert),
                  i == 0 ? NULL : &id);
        }
        cd_p2p_identity_close(&id);
    }
    return vec_end(&v);
}
