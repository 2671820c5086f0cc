/* Two peers in memory on a virtual clock: the handshake and each of its refusals, frames in any pieces, time,
 * bounds. */
#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_clock_virtual vclock;
static host a; /* our host */
static host b;
static wire wa; /* bytes that a writes */
static wire wb;
static cd_p2p_peer *pa; /* a's object for b */
static cd_p2p_peer *pb;

static cd_p2p_peer *peer_of(host *own, host *other, wire *w)
{
    cd_cert cert;
    *w = (wire){.c = wire_ops};
    assert_int_equal(cd_cert_parse(&cert, cd_buf_bytes(&other->id.cert), NULL), CD_OK);
    return cd_p2p_peer_new(&own->h, &w->c, &cert, cd_buf_bytes(&other->id.cert), true, own);
}

static void begin(void)
{
    cd_clock_virtual_init(&vclock, START_NS);
    host_init(&a, &vclock.clock, 1);
    host_init(&b, &vclock.clock, 2);
    pa = peer_of(&a, &b, &wa);
    pb = peer_of(&b, &a, &wb);
    (void)cd_p2p_peer_tick(pa);
    (void)cd_p2p_peer_tick(pb);
}

static void end(void)
{
    cd_p2p_peer_free(pa);
    cd_p2p_peer_free(pb);
    for (u32 i = 0; i < a.held_cnt; i++) {
        cd_p2p_in_done(a.held[i]);
    }
    assert_int_equal(a.in_use, 0);
    assert_int_equal(a.out_use, 0);
    assert_int_equal(b.in_use, 0);
    assert_int_equal(b.out_use, 0);
    cd_buf_fini(&wa.out);
    cd_buf_fini(&wb.out);
    host_fini(&a);
    host_fini(&b);
}

/* Moves what was written to the other side, step bytes at a time. */
static void carry(usize step)
{
    while (wa.out.n != 0 || wb.out.n != 0) {
        wire *from = wa.out.n != 0 ? &wa : &wb;
        cd_p2p_peer *to = from == &wa ? pb : pa;
        cd_buf bytes = from->out;
        from->out = (cd_buf){0};
        for (usize at = 0; at < bytes.n; at += step) {
            cd_p2p_peer_data(to, cd_bytes_of(bytes.p + at, cd_min_u64(step, bytes.n - at)));
        }
        cd_buf_fini(&bytes);
    }
}

static void put(wire *w, const cd_p2p_msg *m)
{
    assert_true(cd_p2p_frame_put(&w->out, NULL, m));
}

static void whole(void **state)
{
    (void)state;
    static const usize steps[] = {1, 2, 3, 7, 1000, 1 << 20};
    for (usize i = 0; i < CD_COUNT(steps); i++) {
        u8 id[32] = {1};
        cd_p2p_chain_msg get = {.chain_id = cd_bytes_of(id, 32), .request_id = 7, .data = cd_bytes_of(id, 32)};
        begin();
        carry(steps[i]);
        const cd_p2p_peer_info *info = cd_p2p_peer_get(pa);
        assert_true(info->is_finished && cd_p2p_peer_get(pb)->is_finished);
        assert_int_equal(a.connected, 1);
        assert_string_equal(info->client, "candela");
        assert_int_equal(info->version.minor, 13);
        assert_true(cd_p2p_ip_eq(&info->ip, &b.ip.ip));
        assert_true(cd_p2p_peer_send(pb, &(cd_p2p_msg){.op = CD_P2P_GET, .body = &get}));
        carry(steps[i]);
        assert_int_equal(a.messages, 1);
        assert_int_equal(a.last_op, CD_P2P_GET);
        end();
    }
}

/* Data that comes before the first tick is answered after our handshake has been sent. */
static void data_first(void **state)
{
    (void)state;
    begin();
    cd_p2p_peer_free(pa);
    cd_buf_fini(&wa.out);
    pa = peer_of(&a, &b, &wa);
    cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
    cd_buf_clear(&wb.out);
    carry(1000);
    assert_true(cd_p2p_peer_get(pb)->is_finished);
    (void)cd_p2p_peer_tick(pa);
    carry(1000);
    assert_int_equal(cd_p2p_peer_get(pb)->end, CD_P2P_END_NONE);
    end();
}

/* --- refusals --- */

typedef void change(cd_p2p_handshake *hs, cd_arena *ar);

static void to_nothing(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)hs;
    (void)ar;
}
static void to_network(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->network_id++;
}
static void to_late(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->my_time -= 61;
}
static void to_early(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->my_time += 61;
}
static void to_minute(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->my_time += 60;
}
static void subnets(cd_p2p_handshake *hs, cd_arena *ar, u32 cnt, usize len)
{
    cd_bytes *v = cd_arena_array(ar, cd_bytes, cnt);
    for (u32 i = 0; i < cnt; i++) {
        u8 *id = cd_arena_zalloc(ar, len);
        id[0] = (u8)(i + 1);
        v[i] = cd_bytes_of(id, len);
    }
    hs->tracked_subnets = (cd_proto_list){.v = v, .cnt = cnt};
}
static void to_16_subnets(cd_p2p_handshake *hs, cd_arena *ar)
{
    subnets(hs, ar, 16, 32);
}
static void to_17_subnets(cd_p2p_handshake *hs, cd_arena *ar)
{
    subnets(hs, ar, 17, 32);
}
static void to_short_subnet(cd_p2p_handshake *hs, cd_arena *ar)
{
    subnets(hs, ar, 1, 31);
}
static void acps(cd_p2p_handshake *hs, cd_arena *ar, u32 acp)
{
    u32 *v = cd_arena_new(ar, u32);
    *v = acp;
    hs->supported_acps = hs->objected_acps = (cd_proto_list){.v = v, .cnt = 1};
}
static void to_open_acp(cd_p2p_handshake *hs, cd_arena *ar)
{
    acps(hs, ar, 176);
}
static void to_old_acp(cd_p2p_handshake *hs, cd_arena *ar)
{
    acps(hs, ar, 77);
}
static void to_no_filter(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->known_peers = NULL;
}
static void to_bad_filter(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->known_peers->filter.n = 1;
}
static void to_long_salt(cd_p2p_handshake *hs, cd_arena *ar)
{
    hs->known_peers->salt = cd_bytes_of(cd_arena_zalloc(ar, 33), 33);
}
static void to_port_zero(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->ip_port = 0;
}
static void to_short_address(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->ip_addr.n = 3;
}
static void to_other_port(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->ip_port++;
}
static void to_future(cd_p2p_handshake *hs, cd_arena *ar)
{
    cd_p2p_signed_ip ip = {.timestamp = 0};
    cd_p2p_ip_sign(&ip, &b.id, &b.ip.ip, START_NS / CD_NS_PER_SEC + 61);
    hs->ip_signing_time = ip.timestamp;
    hs->ip_node_id_sig = cd_arena_dup(ar, cd_buf_bytes(&ip.sig));
    hs->ip_bls_sig = cd_arena_dup(ar, cd_bytes_of(ip.bls_sig, sizeof ip.bls_sig));
    cd_p2p_signed_ip_fini(&ip);
}
static void to_no_bls(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->ip_bls_sig.n = 95;
}
static void to_bad_bls(cd_p2p_handshake *hs, cd_arena *ar)
{
    hs->ip_bls_sig = cd_bytes_of(cd_arena_zalloc(ar, 96), 96);
}
static void to_old(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->client->minor = 12;
    hs->client->patch = 9;
}
static void to_oldest(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->client->patch = 0;
}
static void to_new(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->client->major = 9;
}
static void to_no_client(cd_p2p_handshake *hs, cd_arena *ar)
{
    (void)ar;
    hs->client = NULL;
}

/* Sends a a changed copy of b's handshake. */
static void say_handshake(change *fn)
{
    cd_arena ar = {0};
    cd_p2p_msg m;
    usize unpacked;
    cd_buf first = wb.out;
    wb.out = (cd_buf){0};
    assert_int_equal(cd_p2p_msg_parse(&m, &unpacked, &ar, a.h.zstd, cd_bytes_of(first.p + 4, first.n - 4), NULL),
                     CD_OK);
    fn(m.body, &ar);
    put(&wb, &m);
    cd_buf_fini(&first);
    cd_arena_fini(&ar);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        change *fn;
        cd_p2p_end end;
    } rows[] = {{to_nothing, CD_P2P_END_NONE},
                {to_network, CD_P2P_END_NETWORK_ID},
                {to_late, CD_P2P_END_CLOCK},
                {to_early, CD_P2P_END_CLOCK},
                {to_minute, CD_P2P_END_NONE},
                {to_16_subnets, CD_P2P_END_NONE},
                {to_17_subnets, CD_P2P_END_SUBNETS},
                {to_short_subnet, CD_P2P_END_SUBNETS},
                {to_open_acp, CD_P2P_END_ACPS},
                {to_old_acp, CD_P2P_END_NONE},
                {to_no_filter, CD_P2P_END_NONE},
                {to_bad_filter, CD_P2P_END_BLOOM},
                {to_long_salt, CD_P2P_END_BLOOM},
                {to_port_zero, CD_P2P_END_ADDRESS},
                {to_short_address, CD_P2P_END_ADDRESS},
                {to_other_port, CD_P2P_END_IP_SIGNATURE},
                {to_future, CD_P2P_END_IP_SIGNATURE},
                {to_no_bls, CD_P2P_END_BLS_ENCODING},
                {to_bad_bls, CD_P2P_END_BLS_ENCODING},
                {to_old, CD_P2P_END_VERSION},
                {to_oldest, CD_P2P_END_NONE},
                {to_new, CD_P2P_END_NONE},
                {to_no_client, CD_P2P_END_VERSION}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        begin();
        say_handshake(rows[i].fn);
        carry(64);
        assert_int_equal(cd_p2p_peer_get(pa)->end, rows[i].end);
        assert_true(wa.is_closed == (rows[i].end != CD_P2P_END_NONE));
        assert_int_equal(a.ended, rows[i].end != CD_P2P_END_NONE);
        assert_int_equal(a.connected, rows[i].end == CD_P2P_END_NONE);
        end();
    }
}

static void second_handshake(void **state)
{
    (void)state;
    begin();
    cd_buf again = {0};
    cd_buf_put(&again, cd_buf_bytes(&wb.out));
    carry(1000);
    cd_p2p_peer_data(pa, cd_buf_bytes(&again));
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_SECOND_HANDSHAKE);
    cd_buf_fini(&again);
    end();
}

/* A validator signs its address with the key that it registered. The signature is checked once per registration, which
 * is looked up again before pings. */
static void bls(void **state)
{
    (void)state;
    begin();
    a.has_bls_key = true;
    assert_int_equal(cd_bls_pk_dec(&a.bls_key, cd_bytes_of(b.id.bls_public, 48)), CD_OK);
    carry(1000);
    assert_true(cd_p2p_peer_get(pa)->is_finished);
    cd_clock_virtual_advance(&vclock, 23 * CD_NS_PER_SEC);
    (void)cd_p2p_peer_tick(pa);
    assert_false(wa.is_closed);
    assert_int_equal(cd_bls_pk_dec(&a.bls_key, cd_bytes_of(a.id.bls_public, 48)), CD_OK); /* now another node's */
    carry(1000);
    cd_clock_virtual_advance(&vclock, 23 * CD_NS_PER_SEC);
    (void)cd_p2p_peer_tick(pa);
    assert_false(wa.is_closed); /* the check of this registration is remembered */
    carry(1000);
    a.bls_id.b[0] = 1;
    cd_clock_virtual_advance(&vclock, 23 * CD_NS_PER_SEC);
    (void)cd_p2p_peer_tick(pa);
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_BLS_SIGNATURE);
    end();
}

/* --- before the end of the handshake --- */

static void early(void **state)
{
    (void)state;
    u8 id[32] = {1};
    cd_p2p_chain_msg gossip = {.chain_id = cd_bytes_of(id, 32)};
    cd_p2p_get_peer_list ask = {.known_peers = NULL};
    cd_p2p_peer_list list = {.claimed_ip_ports = {.cnt = 0}};
    cd_p2p_ping ping = {.uptime = 50};
    begin();
    cd_buf_clear(&wa.out);
    cd_buf handshake = wb.out;
    wb.out = (cd_buf){0};
    put(&wb, &(cd_p2p_msg){.op = CD_P2P_APP_GOSSIP, .body = &gossip});
    put(&wb, &(cd_p2p_msg){.op = CD_P2P_GET_PEER_LIST, .body = &ask});
    put(&wb, &(cd_p2p_msg){.op = CD_P2P_PEER_LIST, .body = &list});
    cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
    cd_buf_clear(&wb.out);
    assert_int_equal(wa.out.n, 0);
    assert_int_equal(a.messages + a.connected, 0);
    put(&wb, &(cd_p2p_msg){.op = CD_P2P_PING, .body = &ping});
    cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
    assert_int_equal(wa.out.n, 6); /* length of a Pong */
    assert_int_equal(cd_p2p_peer_get(pa)->observed_uptime, 50);
    cd_buf_clear(&wb.out);
    cd_p2p_peer_data(pa, cd_buf_bytes(&handshake));
    put(&wb, &(cd_p2p_msg){.op = CD_P2P_APP_GOSSIP, .body = &gossip}); /* before the peer list */
    cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
    assert_int_equal(a.messages + a.connected, 0);
    ping.uptime = 101;
    cd_buf_clear(&wb.out);
    put(&wb, &(cd_p2p_msg){.op = CD_P2P_PING, .body = &ping});
    cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_UPTIME);
    cd_buf_fini(&handshake);
    end();
}

static void peer_lists(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        begin();
        a.rows_cnt = 1;
        a.rows[0] = (cd_p2p_claimed_ip){.x509_certificate = cd_buf_bytes(&a.id.cert),
                                        .ip_addr = cd_p2p_ip_wire(&a.ip.ip),
                                        .ip_port = round == 1 ? 0 : 9651,
                                        .timestamp = 1,
                                        .signature = cd_buf_bytes(&a.ip.sig)};
        if (round == 2) {
            a.rows[0].x509_certificate.n--;
        }
        b.has_claims = round != 3;
        carry(1000);
        static const cd_p2p_end ends[] = {CD_P2P_END_NONE, CD_P2P_END_PEER_LIST, CD_P2P_END_PEER_LIST,
                                          CD_P2P_END_PEER_SIGNATURE};
        assert_int_equal(cd_p2p_peer_get(pb)->end, ends[round]);
        assert_int_equal(b.claims, round == 0 || round == 3);
        end();
    }
}

/* --- time --- */

static void pings(void **state)
{
    (void)state;
    begin();
    carry(1000);
    b.uptime = 87;
    for (int i = 0; i < 100; i++) {
        u64 next = cd_min_u64(cd_p2p_peer_tick(pa), cd_p2p_peer_tick(pb));
        u64 now = cd_clock_mono_ns(&vclock.clock);
        assert_true(next > now && next - now <= 30 * CD_NS_PER_SEC);
        cd_clock_virtual_advance(&vclock, next - now);
        (void)cd_p2p_peer_tick(pa);
        (void)cd_p2p_peer_tick(pb);
        cd_clock_virtual_advance(&vclock, 1000);
        carry(1000);
    }
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_NONE);
    assert_int_equal(cd_p2p_peer_get(pa)->observed_uptime, 87);
    assert_true(cd_p2p_peer_get(pa)->round_trip_ns >= 1000);
    a.is_wanted = false;
    cd_clock_virtual_advance(&vclock, 23 * CD_NS_PER_SEC);
    (void)cd_p2p_peer_tick(pa);
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_UNWANTED);
    end();
}

static void silence(void **state)
{
    (void)state;
    begin();
    carry(1000);
    cd_clock_virtual_advance(&vclock, 29 * CD_NS_PER_SEC);
    (void)cd_p2p_peer_tick(pa);
    assert_false(wa.is_closed);
    cd_clock_virtual_advance(&vclock, CD_NS_PER_SEC);
    assert_true(cd_p2p_peer_tick(pa) == UINT64_MAX);
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_SILENCE);
    end();
}

/* A slow loris: a frame that comes byte by byte counts as silence. */
static void loris(void **state)
{
    (void)state;
    begin();
    carry(1000);
    cd_p2p_peer_data(pa, cd_bytes_of("\0\x1f\xff\xff", 4));
    for (int i = 0; i < 40 && !wa.is_closed; i++) {
        cd_p2p_peer_data(pa, cd_bytes_of("x", 1));
        cd_clock_virtual_advance(&vclock, CD_NS_PER_SEC);
        (void)cd_p2p_peer_tick(pa);
        cd_buf_clear(&wa.out);
    }
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_SILENCE);
    end();
}

/* Pings alone do not keep a connection alive whose handshake never comes. */
static void half_open(void **state)
{
    (void)state;
    cd_p2p_ping ping = {.uptime = 1};
    begin();
    cd_buf_clear(&wb.out);
    for (int i = 0; i < 40 && !wa.is_closed; i++) {
        put(&wb, &(cd_p2p_msg){.op = CD_P2P_PING, .body = &ping});
        cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
        cd_buf_clear(&wb.out);
        cd_clock_virtual_advance(&vclock, CD_NS_PER_SEC);
        (void)cd_p2p_peer_tick(pa);
    }
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_HANDSHAKE_LATE);
    end();
}

static void stalled(void **state)
{
    (void)state;
    u8 bytes[1000] = {0};
    cd_p2p_chain_msg put_msg = {.chain_id = cd_bytes_of(bytes, 32), .data = cd_bytes_of(bytes, sizeof bytes)};
    cd_p2p_ping ping = {.uptime = 1};
    begin();
    carry(1000);
    wa.is_stuck = true;
    a.room_out = 100000;
    a.cfg.is_plain = true;
    u32 sent = 0;
    while (cd_p2p_peer_send(pa, &(cd_p2p_msg){.op = CD_P2P_PUT, .body = &put_msg})) {
        sent++;
    }
    assert_true(sent > 90 && sent < 100); /* the queue is bounded */
    for (int i = 0; i < 31 && !wa.is_closed; i++) {
        put(&wb, &(cd_p2p_msg){.op = CD_P2P_PING, .body = &ping});
        cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
        cd_buf_clear(&wb.out);
        cd_clock_virtual_advance(&vclock, CD_NS_PER_SEC);
        (void)cd_p2p_peer_tick(pa);
    }
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_STALLED);
    assert_int_equal(a.out_use, 0);
    end();
}

/* --- bounds --- */

static void lengths(void **state)
{
    (void)state;
    begin();
    carry(1000);
    cd_p2p_peer_data(pa, cd_bytes_of("\0\0\0\0\0\0\0\0", 8)); /* empty frames */
    assert_int_equal(a.bad, 2);
    cd_p2p_peer_data(pa, cd_bytes_of("\0\x20\0\1", 4));
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_FRAME_LENGTH);
    end();
}

/* A frame without room waits and reading stops; then it goes on where it was. Decompressed bytes are charged as
 * well. */
static void waiting(void **state)
{
    (void)state;
    u8 id[32] = {1};
    cd_buf big = {0};
    cd_buf_fill(&big, 'x', 100000);
    cd_p2p_chain_msg put_msg = {.chain_id = cd_bytes_of(id, 32), .data = cd_buf_bytes(&big)};
    const cd_p2p_msg m = {.op = CD_P2P_PUT, .body = &put_msg};
    begin();
    carry(1000);
    a.holds = true;
    a.room = 150000;
    b.cfg.is_plain = true;
    for (int i = 0; i < 3; i++) {
        assert_true(cd_p2p_peer_send(pb, &m));
    }
    cd_buf bytes = wb.out;
    wb.out = (cd_buf){0};
    cd_p2p_peer_data(pa, cd_buf_bytes(&bytes));
    assert_true(wa.is_paused);
    assert_int_equal(a.messages, 1);
    cd_clock_virtual_advance(&vclock, 60 * CD_NS_PER_SEC); /* while a frame waits for us the peer is not silent */
    (void)cd_p2p_peer_tick(pa);
    assert_false(wa.is_closed);
    cd_p2p_in_done(a.held[--a.held_cnt]);
    assert_true(a.h.in_take(&a.h, pa, 100040)); /* as a host does before it grants; a few bytes less were charged */
    a.in_use = bytes.n / 3 - 4;
    cd_p2p_peer_grant(pa);
    assert_int_equal(a.messages, 2);
    assert_true(wa.is_paused); /* by the third frame */
    cd_p2p_in_done(a.held[--a.held_cnt]);
    a.in_use = bytes.n / 3 - 4;
    cd_p2p_peer_grant(pa);
    assert_int_equal(a.messages, 3);
    assert_false(wa.is_paused);
    cd_p2p_in_done(a.held[--a.held_cnt]);
    a.room = 50000; /* a decompression bomb: 100,000 bytes out of a few hundred */
    b.cfg.is_plain = false;
    assert_true(cd_p2p_peer_send(pb, &m));
    assert_true(wb.out.n < 1000);
    assert_true(b.saved > 99000 && b.saved < 100100);
    cd_p2p_peer_data(pa, cd_buf_bytes(&wb.out));
    assert_int_equal(a.messages, 3);
    assert_int_equal(a.in_use, 0);
    assert_false(wa.is_closed);
    cd_buf_clear(&wb.out);
    cd_buf_fini(&bytes);
    cd_buf_fini(&big);
    end();
}

/* 10,000 frames of rubbish raise a count, and the connection works on. */
static void rubbish(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(11);
    u8 id[32] = {1};
    cd_p2p_chain_msg get = {.chain_id = cd_bytes_of(id, 32)};
    begin();
    carry(1000);
    for (int i = 0; i < 10000; i++) {
        u8 frame[64];
        u32 n = 1 + (u32)cd_rng_below(&rng, 59);
        cd_put_be32(frame, n);
        cd_rng_fill(&rng, frame + 4, n);
        frame[4] = 0x07; /* a wire type that does not exist */
        cd_p2p_peer_data(pa, cd_bytes_of(frame, 4 + n));
    }
    assert_int_equal(a.bad, 10000);
    assert_int_equal(a.in_use, 0);
    assert_int_equal(wa.out.n, 0);
    assert_true(cd_p2p_peer_send(pb, &(cd_p2p_msg){.op = CD_P2P_GET, .body = &get}));
    carry(1000);
    assert_int_equal(a.messages, 1);
    end();
}

/* Messages outlive their peer's object. */
static void outlives(void **state)
{
    (void)state;
    u8 id[32] = {1};
    cd_p2p_chain_msg get = {.chain_id = cd_bytes_of(id, 32)};
    begin();
    carry(1000);
    a.holds = true;
    for (int i = 0; i < 3; i++) {
        assert_true(cd_p2p_peer_send(pb, &(cd_p2p_msg){.op = CD_P2P_GET, .body = &get}));
    }
    carry(1000);
    assert_int_equal(cd_p2p_peer_get(pa)->unfinished, 3);
    cd_p2p_in_done(a.held[1]);
    a.held[1] = a.held[--a.held_cnt];
    assert_int_equal(cd_p2p_peer_get(pa)->unfinished, 2);
    cd_p2p_peer_over(pa);
    assert_int_equal(cd_p2p_peer_get(pa)->end, CD_P2P_END_OTHER);
    assert_false(cd_p2p_peer_send(pa, &(cd_p2p_msg){.op = CD_P2P_GET, .body = &get}));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),      cmocka_unit_test(data_first),
        cmocka_unit_test(refusals),   cmocka_unit_test(second_handshake),
        cmocka_unit_test(bls),        cmocka_unit_test(early),
        cmocka_unit_test(peer_lists), cmocka_unit_test(pings),
        cmocka_unit_test(silence),    cmocka_unit_test(loris),
        cmocka_unit_test(stalled),    cmocka_unit_test(half_open),
        cmocka_unit_test(lengths),    cmocka_unit_test(waiting),
        cmocka_unit_test(rubbish),    cmocka_unit_test(outlives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
