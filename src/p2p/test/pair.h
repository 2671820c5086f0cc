/* p2p/test/pair.h - hosts without a network and connections in memory, for tests of one peer. Test code. */
#ifndef CD_P2P_TEST_PAIR_H
#define CD_P2P_TEST_PAIR_H

#include "base/mem/mem.h"
#include "p2p/peer.h"

#define START_NS (1795266684 * CD_NS_PER_SEC) /* start of the wall clock */

/* A host that grants everything and remembers what happened. */
typedef struct host {
    cd_p2p_host h;
    cd_p2p_link_cfg cfg;
    cd_p2p_identity id;
    cd_p2p_signed_ip ip;
    cd_p2p_bloom bloom;
    bool is_wanted;
    bool has_bls_key; /* true: the peer is a validator with this key */
    cd_bls_pk bls_key;
    cd_hash32 bls_id;
    u32 bls_asked;
    u32 uptime;
    u64 room; /* bytes that may still come in */
    u64 room_out;
    u64 in_use; /* bytes that are granted and not given back */
    u64 out_use;
    bool has_claims; /* false: claims are refused */
    cd_p2p_claimed_ip rows[CD_P2P_PEER_LIST_MAX];
    u32 rows_cnt;
    u32 claims;
    u32 connected;
    u32 ended;
    u32 bad;   /* frames that were not understood */
    i64 saved; /* bytes that compression saved of what was sent */
    cd_p2p_in *held[8];
    u32 held_cnt;
    u32 messages;
    u32 last_op;
    bool holds; /* true: messages are kept until the test is done with them */
} host;

#define HOST(p) ((host *)(void *)(p))

static const cd_p2p_signed_ip *host_ip(cd_p2p_host *h)
{
    return &HOST(h)->ip;
}

static const cd_p2p_bloom *host_known(cd_p2p_host *h)
{
    return &HOST(h)->bloom;
}

static bool host_is_all(cd_p2p_host *h)
{
    (void)h;
    return true;
}

static bool host_bls_key(cd_p2p_host *h, cd_bls_pk *key, cd_hash32 *id, const cd_node_id *node)
{
    (void)node;
    HOST(h)->bls_asked++;
    *key = HOST(h)->bls_key;
    *id = HOST(h)->bls_id;
    return HOST(h)->has_bls_key;
}

static bool host_is_wanted(cd_p2p_host *h, const cd_node_id *node)
{
    (void)node;
    return HOST(h)->is_wanted;
}

static u32 host_uptime(cd_p2p_host *h, const cd_node_id *node)
{
    (void)node;
    return HOST(h)->uptime;
}

static u32 host_peers_for(cd_p2p_host *h, cd_p2p_peer *p, cd_p2p_claimed_ip out[CD_P2P_PEER_LIST_MAX], bool all_subnets,
                          const cd_p2p_bloom_view *known, cd_bytes salt)
{
    (void)p;
    (void)all_subnets;
    (void)known;
    (void)salt;
    memcpy(out, HOST(h)->rows, sizeof HOST(h)->rows);
    return HOST(h)->rows_cnt;
}

static bool host_claim(cd_p2p_host *h, cd_p2p_peer *p, const cd_p2p_claim *claim)
{
    (void)p;
    (void)claim;
    HOST(h)->claims++;
    return HOST(h)->has_claims;
}

static void host_connected(cd_p2p_host *h, cd_p2p_peer *p)
{
    (void)p;
    HOST(h)->connected++;
}

static void host_message(cd_p2p_host *h, cd_p2p_peer *p, cd_p2p_in *in)
{
    (void)p;
    HOST(h)->messages++;
    HOST(h)->last_op = in->msg.op;
    if (HOST(h)->holds) {
        CD_ASSERT(HOST(h)->held_cnt < CD_COUNT(HOST(h)->held));
        HOST(h)->held[HOST(h)->held_cnt++] = in;
    } else {
        cd_p2p_in_done(in);
    }
}

static void host_ended(cd_p2p_host *h, cd_p2p_peer *p)
{
    (void)p;
    HOST(h)->ended++;
}

static bool host_in_take(cd_p2p_host *h, cd_p2p_peer *p, usize n)
{
    (void)p;
    bool fits = HOST(h)->in_use + n <= HOST(h)->room;
    HOST(h)->in_use += fits ? n : 0;
    return fits;
}

static bool host_in_more(cd_p2p_host *h, const cd_node_id *node, usize n)
{
    (void)node;
    return host_in_take(h, NULL, n);
}

static void host_in_give(cd_p2p_host *h, const cd_node_id *node, usize n)
{
    (void)node;
    CD_ASSERT(n <= HOST(h)->in_use);
    HOST(h)->in_use -= n;
}

static bool host_out_take(cd_p2p_host *h, const cd_node_id *node, usize n)
{
    (void)node;
    bool fits = HOST(h)->out_use + n <= HOST(h)->room_out;
    HOST(h)->out_use += fits ? n : 0;
    return fits;
}

static void host_out_give(cd_p2p_host *h, const cd_node_id *node, usize n)
{
    (void)node;
    CD_ASSERT(n <= HOST(h)->out_use);
    HOST(h)->out_use -= n;
}

static void host_seen(cd_p2p_host *h, u32 op, bool is_sent, bool fits, usize bytes, i64 saved)
{
    (void)fits;
    (void)bytes;
    HOST(h)->saved += is_sent ? saved : 0;
    HOST(h)->bad += op == CD_P2P_NONE && !is_sent;
}

static void host_skew(cd_p2p_host *h, u64 seconds)
{
    (void)h;
    (void)seconds;
}

/* Test identities are made once: a key takes a millisecond. */
static void host_init(host *x, const cd_clock *clock, u64 seed)
{
    static const u32 acps[] = {176};
    cd_p2p_identity_files none = {.cert = NULL};
    cd_rng rng = cd_rng_seeded(seed);
    *x = (host){.is_wanted = true, .has_claims = true, .room = 4 << 20, .room_out = 4 << 20, .uptime = 100};
    x->cfg = (cd_p2p_link_cfg){.network_id = 1337,
                               .client = "candela",
                               .version = {1, 13, 3},
                               .version_min = {1, 13, 0},
                               .version_min_prev = {1, 12, 0},
                               .acps = acps,
                               .acps_cnt = 1};
    x->h = (cd_p2p_host){.cfg = &x->cfg,
                         .clock = clock,
                         .zstd = cd_zstd_new(CD_P2P_FRAME_MAX),
                         .own_ip = host_ip,
                         .known = host_known,
                         .is_all = host_is_all,
                         .bls_key = host_bls_key,
                         .is_wanted = host_is_wanted,
                         .uptime = host_uptime,
                         .peers_for = host_peers_for,
                         .claim = host_claim,
                         .connected = host_connected,
                         .message = host_message,
                         .ended = host_ended,
                         .in_take = host_in_take,
                         .in_more = host_in_more,
                         .in_give = host_in_give,
                         .out_take = host_out_take,
                         .out_give = host_out_give,
                         .seen = host_seen,
                         .skew = host_skew};
    cd_err e = cd_p2p_identity_open(&x->id, cd_fs_real(), &none, cd_clock_wall_ns(clock), NULL);
    CD_ASSERT(e == CD_OK);
    cd_p2p_ip ip;
    e = cd_p2p_ip_parse(&ip, cd_bytes_str("127.0.0.1:9651"));
    CD_ASSERT(e == CD_OK);
    cd_p2p_ip_sign(&x->ip, &x->id, &ip, cd_clock_wall_s(clock));
    cd_p2p_bloom_reset(&x->bloom, &rng, 128, 0.001, 0.01);
}

static void host_fini(host *x)
{
    cd_p2p_bloom_fini(&x->bloom);
    cd_p2p_signed_ip_fini(&x->ip);
    cd_p2p_identity_close(&x->id);
    cd_zstd_free(x->h.zstd);
}

/* A connection whose bytes stay in memory. */
typedef struct wire {
    cd_p2p_conn c;
    cd_buf out;
    bool is_stuck; /* true: the connection takes nothing */
    bool is_paused;
    bool is_closed;
} wire;

#define WIRE(p) ((wire *)(void *)(p))

static cd_err wire_write(cd_p2p_conn *c, cd_shared *const *frames, usize cnt)
{
    if (WIRE(c)->is_stuck) {
        return CD_EAGAIN;
    }
    for (usize i = 0; i < cnt; i++) {
        cd_buf_put(&WIRE(c)->out, cd_shared_bytes(frames[i]));
    }
    return CD_OK;
}

static void wire_pause(cd_p2p_conn *c, bool is_paused)
{
    WIRE(c)->is_paused = is_paused;
}

static void wire_close(cd_p2p_conn *c)
{
    WIRE(c)->is_closed = true;
}

static const cd_p2p_conn wire_ops = {.write = wire_write, .pause = wire_pause, .close = wire_close};

#endif
