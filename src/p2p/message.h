/* p2p/message.h - what nodes say to each other: values, and their bytes plain or compressed.
 *
 *   frame:  u32 length ‖ p2p.Message        a message: op and a struct of its kind in an arena
 *                          └ compressed_zstd ‖ zstd(p2p.Message)
 *
 * All messages of chains share one struct, whose members the op gives a meaning. Sizes are bounded: a frame to
 * CD_P2P_FRAME_MAX bytes, what it decompresses to as well, and the arena to a small multiple of that (codec/proto.h).
 * Threading: pure (a cd_zstd is confined). [spec:p2p#2] [spec:p2p#3] */
#ifndef CD_P2P_MESSAGE_H
#define CD_P2P_MESSAGE_H

#include "codec/proto.h"
#include "codec/zstd.h"

enum { CD_P2P_FRAME_MAX = 2 << 20, CD_P2P_FRAME_HEAD = 4 };

/* The rows of ops.def. */
typedef enum cd_p2p_op {
    CD_P2P_NONE = 0,
#define X(id, number, name, form, kind, response, table) CD_P2P_##id = (number),
#include "p2p/ops.def"
#undef X
    CD_P2P_OP_END = 37,
} cd_p2p_op;

/* cd_p2p_op_name gives the name that metrics use; NULL: there is no such op. */
const char *cd_p2p_op_name(u32 op);

/* What the messages of an op are to a chain. */
typedef enum cd_p2p_kind {
    CD_P2P_LINK,   /* nothing: they are between the two nodes */
    CD_P2P_ASK,    /* they come without being asked for */
    CD_P2P_ANSWER, /* they answer a request */
} cd_p2p_kind;
/* cd_p2p_op_kind gives the kind of an op. */
cd_p2p_kind cd_p2p_op_kind(u32 op);

/* cd_p2p_op_response gives the op that answers a request; CD_P2P_NONE: the op is no request. */
u32 cd_p2p_op_response(u32 op);

/* cd_p2p_op_is_zstd tells whether messages of the op are compressed when compression is on. */
bool cd_p2p_op_is_zstd(u32 op);

/* A question whether the peer is there, with the peer's uptime as the sender has seen it. */
typedef struct cd_p2p_ping {
    u32 uptime; /* percent */
} cd_p2p_ping;

/* The program that a peer runs. */
typedef struct cd_p2p_client {
    cd_bytes name;
    u32 major, minor, patch;
} cd_p2p_client;

/* A Bloom filter of what the sender knows. */
typedef struct cd_p2p_bloom_msg {
    cd_bytes filter;
    cd_bytes salt;
} cd_p2p_bloom_msg;

/* The first message of both sides of a connection. */
typedef struct cd_p2p_handshake {
    u32 network_id;
    u64 my_time; /* Unix seconds */
    cd_bytes ip_addr;
    u32 ip_port;
    u64 ip_signing_time;
    cd_bytes ip_node_id_sig;
    cd_proto_list tracked_subnets; /* of cd_bytes */
    cd_p2p_client *client;
    cd_proto_list supported_acps; /* of u32 */
    cd_proto_list objected_acps;
    cd_p2p_bloom_msg *known_peers;
    cd_bytes ip_bls_sig;
    bool all_subnets;
} cd_p2p_handshake;

/* A question for peers that are not in the filter. */
typedef struct cd_p2p_get_peer_list {
    cd_p2p_bloom_msg *known_peers;
    bool all_subnets;
} cd_p2p_get_peer_list;

/* A peer's address, which the peer has signed; timestamp in Unix seconds. */
typedef struct cd_p2p_claimed_ip {
    cd_bytes x509_certificate;
    cd_bytes ip_addr;
    u32 ip_port;
    u64 timestamp;
    cd_bytes signature;
    cd_bytes tx_id;
} cd_p2p_claimed_ip;

/* Peers and their addresses. */
typedef struct cd_p2p_peer_list {
    cd_proto_list claimed_ip_ports; /* of cd_p2p_claimed_ip */
} cd_p2p_peer_list;

/* All messages of chains except those of Simplex. */
typedef struct cd_p2p_chain_msg {
    cd_bytes chain_id;
    u32 request_id;
    u64 deadline;       /* requests: nanoseconds from now */
    cd_bytes data;      /* Get, GetAncestors, PullQuery, AcceptedFrontier: an ID; Put, PushQuery: a block;
                           StateSummaryFrontier: a summary; App…: the VM's bytes; AppError: text */
    cd_proto_list list; /* of cd_bytes: IDs, blocks; GetAcceptedStateSummary: of u64, heights */
    u64 height;         /* PushQuery, PullQuery: requested; Chits: accepted */
    u32 engine_type;    /* GetAncestors: 2 */
    i32 error_code;
    cd_bytes preferred_id; /* Chits */
    cd_bytes accepted_id;
    cd_bytes preferred_id_at_height;
} cd_p2p_chain_msg;

/* A message. op says of which struct body is: cd_p2p_ping, …, cd_p2p_chain_msg. A Pong uses no member. */
typedef struct cd_p2p_msg {
    u32 op;
    void *body;
} cd_p2p_msg;

/* cd_p2p_msg_parse reads a frame's contents (without its length). Everything lies in the arena or is borrowed from
 * text. *unpacked is the bytes that came out of decompression, 0 for a plain message. Errors, with the original's
 * words: CD_EFORMAT, CD_ELIMIT. */
cd_err cd_p2p_msg_parse(cd_p2p_msg *out, usize *unpacked, cd_arena *a, cd_zstd *z, cd_bytes text,
                        cd_errinfo *why) CD_CHECK;

/* cd_p2p_msg_put appends a frame's contents: compressed if messages of the op are, and z is not NULL. */
void cd_p2p_msg_put(cd_buf *out, cd_zstd *z, const cd_p2p_msg *m);

/* cd_p2p_msg_size gives the size in bytes of a frame's contents without compression. */
usize cd_p2p_msg_size(const cd_p2p_msg *m);

/* cd_p2p_frame_put appends a whole frame. False: it would be too long, and nothing is appended. */
bool cd_p2p_frame_put(cd_buf *out, cd_zstd *z, const cd_p2p_msg *m) CD_CHECK;

/* cd_p2p_msg_table gives the table of p2p.Message, for code that looks at fields by name. */
const cd_proto_type *cd_p2p_msg_table(void);

#endif
