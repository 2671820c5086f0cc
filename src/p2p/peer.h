/* p2p/peer.h - one connection to another node: handshake, pings, frames in and out. No sockets, no timers of its own.
 *
 *   transport ── data, written, end ──► peer ── message, connected, … ──► host (p2p/network.h, or a test)
 *             ◄── write, pause, close ──     ◄── send, tick, grant ──
 *
 *   opened ─► Handshake both ways ─► PeerList both ways ─► finished: messages of chains pass
 *
 * Time comes from the host's clock, and cd_p2p_peer_tick must be called when its result says. Memory: a frame is held
 * as far as it has arrived; the host grants its length before the body is read, and whatever leaves is charged to the
 * host as well. A peer that ends tells the host once, after which only cd_p2p_peer_free is allowed; the reason is in
 * cd_p2p_end. Threading: confined. [spec:p2p#2] [spec:p2p#4] */
#ifndef CD_P2P_PEER_H
#define CD_P2P_PEER_H

#include "base/mem/shared.h"
#include "base/os/clock.h"
#include "p2p/bloom.h"
#include "p2p/ip.h"
#include "p2p/message.h"

/* Why a connection ended: X(ID, text). */
#define CD_P2P_ENDS(X)                                                                                                 \
    X(NONE, "it has not")                                                                                              \
    X(OTHER, "the other side closed it")                                                                               \
    X(LOCAL, "closed by us")                                                                                           \
    X(SECOND_HANDSHAKE, "a second handshake")                                                                          \
    X(NETWORK_ID, "another network")                                                                                   \
    X(CLOCK, "clocks differ too much")                                                                                 \
    X(SUBNETS, "too many tracked subnets, or no IDs")                                                                  \
    X(ACPS, "an ACP is supported and objected to")                                                                     \
    X(BLOOM, "malformed filter of known peers")                                                                        \
    X(ADDRESS, "malformed address")                                                                                    \
    X(IP_SIGNATURE, "invalid signature of the address")                                                                \
    X(BLS_ENCODING, "malformed BLS signature")                                                                         \
    X(VERSION, "incompatible version")                                                                                 \
    X(BLS_SIGNATURE, "invalid BLS signature")                                                                          \
    X(UPTIME, "an uptime above 100 percent")                                                                           \
    X(FRAME_LENGTH, "a frame that is too long")                                                                        \
    X(SILENCE, "silent for too long")                                                                                  \
    X(STALLED, "takes nothing for too long")                                                                           \
    X(HANDSHAKE_LATE, "no handshake in time")                                                                          \
    X(UNWANTED, "not wanted any more")                                                                                 \
    X(PEER_LIST, "malformed peer list")                                                                                \
    X(PEER_SIGNATURE, "invalid signature in a peer list")

/* Why a connection has ended. */
typedef enum cd_p2p_end {
#define CD_P2P_END_ENUM(id, text) CD_P2P_END_##id,
    CD_P2P_ENDS(CD_P2P_END_ENUM)
#undef CD_P2P_END_ENUM
        CD_P2P_END_CNT,
} cd_p2p_end;

/* cd_p2p_end_text gives the sentence for the log. */
const char *cd_p2p_end_text(cd_p2p_end end);
/* The version of a peer's program. */
typedef struct cd_p2p_version {
    u32 major, minor, patch;
} cd_p2p_version;

/* cd_p2p_version_cmp gives <0, 0 or >0. */
int cd_p2p_version_cmp(cd_p2p_version a, cd_p2p_version b);

enum {
    CD_P2P_SUBNETS_MAX = 16,
    CD_P2P_CLIENT_NAME_MAX = 64,
    CD_P2P_UNFINISHED_MAX = 1024, /* messages of a peer that are not done with (cd_p2p_in_done) */
    CD_P2P_PEER_LIST_MAX = 15,
};

/* What all connections of a node have in common. A number that is 0 means the default that stands behind it. */
typedef struct cd_p2p_link_cfg {
    u32 network_id;
    const char *client; /* the program's name in the handshake */
    cd_p2p_version version;
    cd_p2p_version version_min;      /* the lowest version that a peer may have */
    cd_p2p_version version_min_prev; /* the same before upgrade_time */
    u64 upgrade_time;                /* Unix seconds */
    const cd_hash32 *subnets;        /* subnets that we track besides the primary network; at most CD_P2P_SUBNETS_MAX */
    u32 subnets_cnt;
    const u32 *acps; /* open ACPs; others that a peer names are ignored */
    u32 acps_cnt;
    const u32 *supported_acps;
    u32 supported_acps_cnt;
    const u32 *objected_acps;
    u32 objected_acps_cnt;
    u64 clock_max_s;  /* 60; most seconds between a peer's clock and ours */
    u64 ping_ns;      /* 22.5 s */
    u64 silence_ns;   /* 30 s; after which a peer that sends nothing, or takes nothing, is dropped */
    u64 handshake_ns; /* 30 s; time for the handshake */
    bool is_plain;    /* true: messages are not compressed */
} cd_p2p_link_cfg;

/* cd_p2p_version_check says whether a peer's version will do, at a time in Unix seconds. [spec:p2p#4.1] */
bool cd_p2p_version_check(const cd_p2p_link_cfg *cfg, cd_p2p_version peer, u64 now_s);

/* The connection under a peer: a part of the transport's own struct. */
typedef struct cd_p2p_conn cd_p2p_conn;
struct cd_p2p_conn {
    /* write takes frames, and keeps references to them as long as it needs. CD_OK: all are sent; CD_EAGAIN: they are
     * on their way, cd_p2p_peer_written follows, and write is not called before. Other errors: the connection is
     * broken. */
    cd_err (*write)(cd_p2p_conn *c, cd_shared *const *frames, usize cnt);
    void (*pause)(cd_p2p_conn *c, bool is_paused); /* stops or resumes reading */
    void (*close)(cd_p2p_conn *c);                 /* no call about this connection follows its close */
};

typedef struct cd_p2p_peer cd_p2p_peer;
typedef struct cd_p2p_host cd_p2p_host;

/* A message that has come. Its receiver calls cd_p2p_in_done once, at any time, on the same thread. */
typedef struct cd_p2p_in {
    cd_p2p_msg msg; /* borrows from this struct */
    cd_node_id from;
    u64 came_ns;   /* monotonic */
    usize charged; /* bytes that the host granted for it */
    cd_arena arena;
    cd_buf text;
    cd_p2p_host *host;
    u32 *unfinished; /* the peer's counter; NULL: the peer is gone */
    struct cd_p2p_in *next;
    struct cd_p2p_in **prev;
} cd_p2p_in;

/* cd_p2p_in_done frees the message and gives back the bytes that it was charged. */
void cd_p2p_in_done(cd_p2p_in *in);

/* cd_p2p_in_own makes a message that did not come over a connection, for a node that sends to itself. NULL: it is too
 * long for a frame. */
cd_p2p_in *cd_p2p_in_own(const cd_node_id *from, const cd_p2p_msg *m, u64 now_ns);

/* A well-formed row of a peer list. */
typedef struct cd_p2p_claim {
    cd_cert cert;
    cd_bytes cert_der; /* borrowed */
    cd_p2p_ip ip;
    u64 timestamp;
    cd_bytes sig; /* borrowed */
} cd_p2p_claim;

/* The owner of the connections. Its functions are called on its thread; none may free the peer. */
struct cd_p2p_host {
    const cd_p2p_link_cfg *cfg;
    const cd_clock *clock;
    cd_zstd *zstd;
    /* own_ip gives our address as it is signed now, known the filter of the addresses that we know; is_all: ask for all
     * subnets. */
    const cd_p2p_signed_ip *(*own_ip)(cd_p2p_host *h);
    const cd_p2p_bloom *(*known)(cd_p2p_host *h);
    bool (*is_all)(cd_p2p_host *h);
    /* Gives the BLS key that a validator has registered, and in *id the ID of the registration; false: it has none. */
    bool (*bls_key)(cd_p2p_host *h, cd_bls_pk *key, cd_hash32 *id, const cd_node_id *node);
    bool (*is_wanted)(cd_p2p_host *h, const cd_node_id *node);
    u32 (*uptime)(cd_p2p_host *h, const cd_node_id *node); /* percent */
    /* Puts up to CD_P2P_PEER_LIST_MAX rows for a peer into out, borrowed until the host is called again. */
    u32 (*peers_for)(cd_p2p_host *h, cd_p2p_peer *p, cd_p2p_claimed_ip out[CD_P2P_PEER_LIST_MAX], bool all_subnets,
                     const cd_p2p_bloom_view *known, cd_bytes salt);
    /* Judges a row of a peer list; false: its signature is wrong. */
    bool (*claim)(cd_p2p_host *h, cd_p2p_peer *p, const cd_p2p_claim *claim);
    void (*connected)(cd_p2p_host *h, cd_p2p_peer *p);
    void (*message)(cd_p2p_host *h, cd_p2p_peer *p, cd_p2p_in *in); /* the callee owns in */
    void (*ended)(cd_p2p_host *h, cd_p2p_peer *p);
    /* Asks for room for n bytes of a frame; false: cd_p2p_peer_grant follows when there is room. */
    bool (*in_take)(cd_p2p_host *h, cd_p2p_peer *p, usize n);
    bool (*in_more)(cd_p2p_host *h, const cd_node_id *node, usize n); /* asks for room at once; false: there is none */
    void (*in_give)(cd_p2p_host *h, const cd_node_id *node, usize n);
    bool (*out_take)(cd_p2p_host *h, const cd_node_id *node, usize n); /* asks for room at once; false: there is none */
    void (*out_give)(cd_p2p_host *h, const cd_node_id *node, usize n);
    /* For metrics: a message came (op 0: it was not understood) or was sent (is_sent; fits false: it was dropped).
     * bytes were on the wire, compression has saved so many. */
    void (*seen)(cd_p2p_host *h, u32 op, bool is_sent, bool fits, usize bytes, i64 saved);
    void (*skew)(cd_p2p_host *h, u64 seconds);
};

/* cd_p2p_peer_new begins on a secured connection; the handshake is sent with the first tick, or before the first data
 * is handled. conn belongs to the peer until it calls close. tag is for the host. cd_p2p_peer_free also ends the
 * connection, without telling the host. */
cd_p2p_peer *cd_p2p_peer_new(cd_p2p_host *host, cd_p2p_conn *conn, const cd_cert *cert, cd_bytes cert_der,
                             bool is_inbound, void *tag);
void cd_p2p_peer_free(cd_p2p_peer *p);

/* Called by the transport: bytes have come, frames have been written, the connection is over. */
void cd_p2p_peer_data(cd_p2p_peer *p, cd_bytes data);
void cd_p2p_peer_written(cd_p2p_peer *p, cd_err err);
void cd_p2p_peer_over(cd_p2p_peer *p);

/* cd_p2p_peer_tick does what is due, and gives the time (monotonic ns) of the next call. */
u64 cd_p2p_peer_tick(cd_p2p_peer *p);

/* cd_p2p_peer_grant: there is room for the frame that waits. */
void cd_p2p_peer_grant(cd_p2p_peer *p);

/* cd_p2p_peer_send queues a message; false: it was dropped, since there was no room or the peer has ended.
 * cd_p2p_peer_send_frame does the same with a frame that was made before, and takes a reference to it. */
bool cd_p2p_peer_send(cd_p2p_peer *p, const cd_p2p_msg *m);
bool cd_p2p_peer_send_frame(cd_p2p_peer *p, const cd_p2p_msg *m, cd_shared *frame);

/* cd_p2p_peer_ask sends a GetPeerList with the host's filter. */
void cd_p2p_peer_ask(cd_p2p_peer *p);

/* cd_p2p_peer_end closes the connection for a reason of the host's. */
void cd_p2p_peer_end(cd_p2p_peer *p, cd_p2p_end why);

/* What is known of the other side; client and subnets are known after its handshake. */
typedef struct cd_p2p_peer_info {
    cd_node_id node;
    bool is_inbound;
    bool has_handshake;
    bool is_finished;
    cd_p2p_end end;
    char client[CD_P2P_CLIENT_NAME_MAX + 1];
    cd_p2p_version version;
    cd_hash32 subnets[CD_P2P_SUBNETS_MAX]; /* without the primary network */
    u32 subnets_cnt;
    cd_p2p_ip ip;
    u64 ip_timestamp;
    cd_buf ip_sig;
    cd_buf cert;         /* DER */
    u32 observed_uptime; /* our uptime in percent, as the peer told it */
    u64 opened_ns;       /* monotonic */
    u64 received_ns;
    u64 sent_ns;
    u32 unfinished;    /* messages that came and are not done with (cd_p2p_in_done) */
    u64 round_trip_ns; /* round trip of the last ping; 0: none yet */
} cd_p2p_peer_info;
/* cd_p2p_peer_get gives it, valid until the next message. */
const cd_p2p_peer_info *cd_p2p_peer_get(const cd_p2p_peer *p);

/* cd_p2p_peer_tracks says whether the peer tracks a subnet (the primary network, 32 zero bytes, always). */
bool cd_p2p_peer_tracks(const cd_p2p_peer *p, const cd_hash32 *subnet);
void *cd_p2p_peer_tag(const cd_p2p_peer *p);

#endif
