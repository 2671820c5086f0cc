#include "p2p/message.h"

enum { FIELD_ZSTD = 2 };

/* --- between the two nodes --- */

static const cd_proto_field ping_fields[] = {
    CD_PROTO_FIELD(1, U32, cd_p2p_ping, uptime),
};
static const cd_proto_type ping_type = CD_PROTO_TYPE(cd_p2p_ping, ping_fields, "ping");

static const cd_proto_type pong_type = {.name = "pong", .size = sizeof(cd_p2p_ping)};

static const cd_proto_field client_fields[] = {
    CD_PROTO_FIELD(1, STRING, cd_p2p_client, name),
    CD_PROTO_FIELD(2, U32, cd_p2p_client, major),
    CD_PROTO_FIELD(3, U32, cd_p2p_client, minor),
    CD_PROTO_FIELD(4, U32, cd_p2p_client, patch),
};
static const cd_proto_type client_type = CD_PROTO_TYPE(cd_p2p_client, client_fields, "client");

static const cd_proto_field bloom_fields[] = {
    CD_PROTO_FIELD(1, BYTES, cd_p2p_bloom_msg, filter),
    CD_PROTO_FIELD(2, BYTES, cd_p2p_bloom_msg, salt),
};
static const cd_proto_type bloom_type = CD_PROTO_TYPE(cd_p2p_bloom_msg, bloom_fields, "bloom");

static const cd_proto_field handshake_fields[] = {
    CD_PROTO_FIELD(1, U32, cd_p2p_handshake, network_id),
    CD_PROTO_FIELD(2, U64, cd_p2p_handshake, my_time),
    CD_PROTO_FIELD(3, BYTES, cd_p2p_handshake, ip_addr),
    CD_PROTO_FIELD(4, U32, cd_p2p_handshake, ip_port),
    CD_PROTO_FIELD(6, U64, cd_p2p_handshake, ip_signing_time),
    CD_PROTO_FIELD(7, BYTES, cd_p2p_handshake, ip_node_id_sig),
    CD_PROTO_FIELD(8, BYTES, cd_p2p_handshake, tracked_subnets, .is_repeated = true),
    CD_PROTO_FIELD(9, MSG, cd_p2p_handshake, client, .of = &client_type),
    CD_PROTO_FIELD(10, U32, cd_p2p_handshake, supported_acps, .is_repeated = true),
    CD_PROTO_FIELD(11, U32, cd_p2p_handshake, objected_acps, .is_repeated = true),
    CD_PROTO_FIELD(12, MSG, cd_p2p_handshake, known_peers, .of = &bloom_type),
    CD_PROTO_FIELD(13, BYTES, cd_p2p_handshake, ip_bls_sig),
    CD_PROTO_FIELD(14, BOOL, cd_p2p_handshake, all_subnets),
};
static const cd_proto_type handshake_type = CD_PROTO_TYPE(cd_p2p_handshake, handshake_fields, "handshake");

static const cd_proto_field get_peer_list_fields[] = {
    CD_PROTO_FIELD(1, MSG, cd_p2p_get_peer_list, known_peers, .of = &bloom_type),
    CD_PROTO_FIELD(2, BOOL, cd_p2p_get_peer_list, all_subnets),
};
static const cd_proto_type get_peer_list_type =
    CD_PROTO_TYPE(cd_p2p_get_peer_list, get_peer_list_fields, "get_peer_list");

static const cd_proto_field claimed_ip_fields[] = {
    CD_PROTO_FIELD(1, BYTES, cd_p2p_claimed_ip, x509_certificate),
    CD_PROTO_FIELD(2, BYTES, cd_p2p_claimed_ip, ip_addr),
    CD_PROTO_FIELD(3, U32, cd_p2p_claimed_ip, ip_port),
    CD_PROTO_FIELD(4, U64, cd_p2p_claimed_ip, timestamp),
    CD_PROTO_FIELD(5, BYTES, cd_p2p_claimed_ip, signature),
    CD_PROTO_FIELD(6, BYTES, cd_p2p_claimed_ip, tx_id),
};
static const cd_proto_type claimed_ip_type = CD_PROTO_TYPE(cd_p2p_claimed_ip, claimed_ip_fields, "claimed_ip");

static const cd_proto_field peer_list_fields[] = {
    CD_PROTO_FIELD(1, MSG, cd_p2p_peer_list, claimed_ip_ports, .is_repeated = true, .of = &claimed_ip_type),
};
static const cd_proto_type peer_list_type = CD_PROTO_TYPE(cd_p2p_peer_list, peer_list_fields, "peer_list");

/* --- messages of chains --- */

#define FIELD(number_, kind_, member_, name_, ...)                                                                     \
    {                                                                                                                  \
        .number = (number_), .kind = CD_PROTO_##kind_, .offset = offsetof(cd_p2p_chain_msg, member_), .name = (name_), \
        __VA_ARGS__                                                                                                    \
    }

static const cd_proto_field get_frontier_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),
};
static const cd_proto_type get_frontier_type = CD_PROTO_TYPE(cd_p2p_chain_msg, get_frontier_fields, "get_frontier");

static const cd_proto_field summary_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, data, "summary"),
};
static const cd_proto_type summary_type = CD_PROTO_TYPE(cd_p2p_chain_msg, summary_fields, "summary");

static const cd_proto_field get_summaries_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),
    FIELD(4, U64, list, "heights", .is_repeated = true),
};
static const cd_proto_type get_summaries_type = CD_PROTO_TYPE(cd_p2p_chain_msg, get_summaries_fields, "get_summaries");

static const cd_proto_field summary_ids_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, list, "summary_ids", .is_repeated = true),
};
static const cd_proto_type summary_ids_type = CD_PROTO_TYPE(cd_p2p_chain_msg, summary_ids_fields, "summary_ids");

static const cd_proto_field frontier_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, data, "container_id"),
};
static const cd_proto_type frontier_type = CD_PROTO_TYPE(cd_p2p_chain_msg, frontier_fields, "frontier");

static const cd_proto_field get_accepted_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),
    FIELD(4, BYTES, list, "container_ids", .is_repeated = true),
};
static const cd_proto_type get_accepted_type = CD_PROTO_TYPE(cd_p2p_chain_msg, get_accepted_fields, "get_accepted");

static const cd_proto_field accepted_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, list, "container_ids", .is_repeated = true),
};
static const cd_proto_type accepted_type = CD_PROTO_TYPE(cd_p2p_chain_msg, accepted_fields, "accepted");

static const cd_proto_field get_ancestors_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),      FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),        FIELD(4, BYTES, data, "container_id"),
    FIELD(5, ENUM, engine_type, "engine_type"),
};
static const cd_proto_type get_ancestors_type = CD_PROTO_TYPE(cd_p2p_chain_msg, get_ancestors_fields, "get_ancestors");

static const cd_proto_field ancestors_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, list, "containers", .is_repeated = true),
};
static const cd_proto_type ancestors_type = CD_PROTO_TYPE(cd_p2p_chain_msg, ancestors_fields, "ancestors");

static const cd_proto_field get_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),
    FIELD(4, BYTES, data, "container_id"),
};
static const cd_proto_type get_type = CD_PROTO_TYPE(cd_p2p_chain_msg, get_fields, "get");

static const cd_proto_field put_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, data, "container"),
};
static const cd_proto_type put_type = CD_PROTO_TYPE(cd_p2p_chain_msg, put_fields, "put");

static const cd_proto_field push_query_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),     FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),       FIELD(4, BYTES, data, "container"),
    FIELD(6, U64, height, "requested_height"),
};
static const cd_proto_type push_query_type = CD_PROTO_TYPE(cd_p2p_chain_msg, push_query_fields, "push_query");

static const cd_proto_field pull_query_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),     FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),       FIELD(4, BYTES, data, "container_id"),
    FIELD(6, U64, height, "requested_height"),
};
static const cd_proto_type pull_query_type = CD_PROTO_TYPE(cd_p2p_chain_msg, pull_query_fields, "pull_query");

static const cd_proto_field chits_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, preferred_id, "preferred_id"),
    FIELD(4, BYTES, accepted_id, "accepted_id"),
    FIELD(5, BYTES, preferred_id_at_height, "preferred_id_at_height"),
    FIELD(6, U64, height, "accepted_height"),
};
static const cd_proto_type chits_type = CD_PROTO_TYPE(cd_p2p_chain_msg, chits_fields, "chits");

static const cd_proto_field app_request_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, U64, deadline, "deadline"),
    FIELD(4, BYTES, data, "app_bytes"),
};
static const cd_proto_type app_request_type = CD_PROTO_TYPE(cd_p2p_chain_msg, app_request_fields, "app_request");

static const cd_proto_field app_response_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, BYTES, data, "app_bytes"),
};
static const cd_proto_type app_response_type = CD_PROTO_TYPE(cd_p2p_chain_msg, app_response_fields, "app_response");

static const cd_proto_field app_gossip_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, BYTES, data, "app_bytes"),
};
static const cd_proto_type app_gossip_type = CD_PROTO_TYPE(cd_p2p_chain_msg, app_gossip_fields, "app_gossip");

static const cd_proto_field app_error_fields[] = {
    FIELD(1, BYTES, chain_id, "chain_id"),
    FIELD(2, U32, request_id, "request_id"),
    FIELD(3, S32, error_code, "error_code"),
    FIELD(4, STRING, data, "error_message"),
};
static const cd_proto_type app_error_type = CD_PROTO_TYPE(cd_p2p_chain_msg, app_error_fields, "app_error");

/* --- Simplex, which the primary network does not use --- */

typedef struct simplex_meta {
    u32 version;
    u64 epoch, round, seq;
    cd_bytes prev;
} simplex_meta;

typedef struct simplex_header {
    simplex_meta *metadata;
    cd_bytes digest;
} simplex_header;

typedef struct simplex_signature {
    cd_bytes signer, value;
} simplex_signature;

/* One part for votes, empty votes, certificates and proposals; each uses some of the members. */
typedef struct simplex_part {
    simplex_header *block_header;
    simplex_meta *metadata;
    simplex_signature *signature;
    cd_bytes quorum_certificate;
    cd_bytes block;
    struct simplex_part *vote;
} simplex_part;

typedef struct simplex_round {
    cd_bytes block;
    simplex_part *notarization, *empty_notarization, *finalization;
} simplex_round;

typedef struct simplex_replication {
    cd_proto_list seqs; /* of u64 */
    u64 latest_seen;
    cd_proto_list data; /* of simplex_round */
    simplex_round *latest_round;
} simplex_replication;

typedef struct simplex {
    cd_bytes chain_id;
    u32 which;
    void *message;
} simplex;

static const cd_proto_field meta_fields[] = {
    CD_PROTO_FIELD(1, U32, simplex_meta, version), CD_PROTO_FIELD(2, U64, simplex_meta, epoch),
    CD_PROTO_FIELD(3, U64, simplex_meta, round),   CD_PROTO_FIELD(4, U64, simplex_meta, seq),
    CD_PROTO_FIELD(5, BYTES, simplex_meta, prev),
};
static const cd_proto_type meta_type = CD_PROTO_TYPE(simplex_meta, meta_fields, "meta");

static const cd_proto_field block_header_fields[] = {
    CD_PROTO_FIELD(1, MSG, simplex_header, metadata, .of = &meta_type),
    CD_PROTO_FIELD(2, BYTES, simplex_header, digest),
};
static const cd_proto_type block_header_type = CD_PROTO_TYPE(simplex_header, block_header_fields, "block_header");

static const cd_proto_field signature_fields[] = {
    CD_PROTO_FIELD(1, BYTES, simplex_signature, signer),
    CD_PROTO_FIELD(2, BYTES, simplex_signature, value),
};
static const cd_proto_type signature_type = CD_PROTO_TYPE(simplex_signature, signature_fields, "signature");

static const cd_proto_field vote_fields[] = {
    CD_PROTO_FIELD(1, MSG, simplex_part, block_header, .of = &block_header_type),
    CD_PROTO_FIELD(2, MSG, simplex_part, signature, .of = &signature_type),
};
static const cd_proto_type vote_type = CD_PROTO_TYPE(simplex_part, vote_fields, "vote");

static const cd_proto_field empty_vote_fields[] = {
    CD_PROTO_FIELD(1, MSG, simplex_part, metadata, .of = &meta_type),
    CD_PROTO_FIELD(2, MSG, simplex_part, signature, .of = &signature_type),
};
static const cd_proto_type empty_vote_type = CD_PROTO_TYPE(simplex_part, empty_vote_fields, "empty_vote");

static const cd_proto_field certificate_fields[] = {
    CD_PROTO_FIELD(1, MSG, simplex_part, block_header, .of = &block_header_type),
    CD_PROTO_FIELD(2, BYTES, simplex_part, quorum_certificate),
};
static const cd_proto_type certificate_type = CD_PROTO_TYPE(simplex_part, certificate_fields, "certificate");

static const cd_proto_field empty_notarization_fields[] = {
    CD_PROTO_FIELD(1, MSG, simplex_part, metadata, .of = &meta_type),
    CD_PROTO_FIELD(2, BYTES, simplex_part, quorum_certificate),
};
static const cd_proto_type empty_notarization_type =
    CD_PROTO_TYPE(simplex_part, empty_notarization_fields, "empty_notarization");

static const cd_proto_field proposal_fields[] = {
    CD_PROTO_FIELD(1, BYTES, simplex_part, block),
    CD_PROTO_FIELD(2, MSG, simplex_part, vote, .of = &vote_type),
};
static const cd_proto_type proposal_type = CD_PROTO_TYPE(simplex_part, proposal_fields, "proposal");

static const cd_proto_field round_fields[] = {
    CD_PROTO_FIELD(1, BYTES, simplex_round, block),
    CD_PROTO_FIELD(2, MSG, simplex_round, notarization, .of = &certificate_type),
    CD_PROTO_FIELD(3, MSG, simplex_round, empty_notarization, .of = &empty_notarization_type),
    CD_PROTO_FIELD(4, MSG, simplex_round, finalization, .of = &certificate_type),
};
static const cd_proto_type round_type = CD_PROTO_TYPE(simplex_round, round_fields, "round");

static const cd_proto_field replication_request_fields[] = {
    CD_PROTO_FIELD(1, U64, simplex_replication, seqs, .is_repeated = true),
    {.number = 2, .kind = CD_PROTO_U64, .offset = offsetof(simplex_replication, latest_seen), .name = "latest_round"},
};
static const cd_proto_type replication_request_type =
    CD_PROTO_TYPE(simplex_replication, replication_request_fields, "replication_request");

static const cd_proto_field replication_response_fields[] = {
    CD_PROTO_FIELD(1, MSG, simplex_replication, data, .is_repeated = true, .of = &round_type),
    CD_PROTO_FIELD(2, MSG, simplex_replication, latest_round, .of = &round_type),
};
static const cd_proto_type replication_response_type =
    CD_PROTO_TYPE(simplex_replication, replication_response_fields, "replication_response");

static const cd_proto_field simplex_fields[] = {
    CD_PROTO_FIELD(1, BYTES, simplex, chain_id),
    {.number = 2,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &proposal_type,
     .name = "block_proposal"},
    {.number = 3,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &vote_type,
     .name = "vote"},
    {.number = 4,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &empty_vote_type,
     .name = "empty_vote"},
    {.number = 5,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &vote_type,
     .name = "finalize_vote"},
    {.number = 6,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &certificate_type,
     .name = "notarization"},
    {.number = 7,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &empty_notarization_type,
     .name = "empty_notarization"},
    {.number = 8,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &certificate_type,
     .name = "finalization"},
    {.number = 9,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &replication_request_type,
     .name = "replication_request"},
    {.number = 10,
     .kind = CD_PROTO_MSG,
     .is_oneof = true,
     .offset = offsetof(simplex, message),
     .which = offsetof(simplex, which),
     .of = &replication_response_type,
     .name = "replication_response"},
};
static const cd_proto_type simplex_type = CD_PROTO_TYPE(simplex, simplex_fields, "simplex");

/* --- p2p.Message --- */

/* The outermost message. */
typedef struct envelope {
    u32 which;
    void *body;
    cd_bytes zstd;
} envelope;

/* Metrics have one name for each op; the .proto file has sometimes another. */
static const cd_proto_field envelope_fields[] = {
    {.number = FIELD_ZSTD,
     .kind = CD_PROTO_BYTES,
     .is_oneof = true,
     .offset = offsetof(envelope, zstd),
     .which = offsetof(envelope, which),
     .name = "compressed_zstd"},
#define X(id, number_, name_, form_, kind_, response, table)                                                           \
    {.number = (number_),                                                                                              \
     .kind = CD_PROTO_MSG,                                                                                             \
     .is_oneof = true,                                                                                                 \
     .offset = offsetof(envelope, body),                                                                               \
     .which = offsetof(envelope, which),                                                                               \
     .of = &table##_type,                                                                                              \
     .name = (name_)},
#include "p2p/ops.def"
#undef X
};
static const cd_proto_type envelope_type = CD_PROTO_TYPE(envelope, envelope_fields, "Message");

const cd_proto_type *cd_p2p_msg_table(void)
{
    return &envelope_type;
}

typedef enum form {
    PLAIN,
    ZSTD,
} form;

typedef struct op_row {
    const char *name;
    form form;
    cd_p2p_kind kind;
    u32 response;
    const cd_proto_type *type;
} op_row;

static const op_row ops[CD_P2P_OP_END] = {
#define X(id, number_, name_, form_, kind_, response_, table)                                                          \
    [number_] = {                                                                                                      \
        .name = (name_), .form = form_, .kind = CD_P2P_##kind_, .response = (response_), .type = &table##_type},
#include "p2p/ops.def"
#undef X
};

const char *cd_p2p_op_name(u32 op)
{
    return op < CD_P2P_OP_END ? ops[op].name : NULL;
}

cd_p2p_kind cd_p2p_op_kind(u32 op)
{
    return ops[op].kind;
}

u32 cd_p2p_op_response(u32 op)
{
    return ops[op].response;
}

bool cd_p2p_op_is_zstd(u32 op)
{
    return ops[op].form == ZSTD;
}

/* --- bytes --- */

static cd_err unpack(envelope *e, usize *unpacked, cd_arena *a, cd_zstd *z, cd_errinfo *why)
{
    cd_bytes plain;
    cd_errinfo own = {0};
    cd_err err = cd_zstd_dec(z, &plain, e->zstd, &own);
    if (err == CD_ELIMIT) {
        return cd_fail(why, CD_ELIMIT, "decompressed msg too large: (%d) > (%d)", CD_P2P_FRAME_MAX + 1,
                       CD_P2P_FRAME_MAX);
    }
    if (err != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "failed to decompress: %s", own.msg);
    }
    *unpacked = plain.n;
    plain = cd_arena_dup(a, plain);
    *e = (envelope){.which = 0};
    return cd_proto_parse(e, &envelope_type, a, plain, why);
}

cd_err cd_p2p_msg_parse(cd_p2p_msg *out, usize *unpacked, cd_arena *a, cd_zstd *z, cd_bytes text, cd_errinfo *why)
{
    envelope e = {.which = 0};
    *unpacked = 0;
    CD_TRY(cd_proto_parse(&e, &envelope_type, a, text, why));
    if (e.which == FIELD_ZSTD && e.zstd.n != 0) {
        CD_TRY(unpack(&e, unpacked, a, z, why));
    }
    if (e.which == 0) {
        return cd_fail(why, CD_EFORMAT, "unknown message type: <nil>");
    }
    if (e.which == FIELD_ZSTD) {
        return cd_fail(why, CD_EFORMAT, "unknown message type: *p2p.Message_CompressedZstd");
    }
    *out = (cd_p2p_msg){.op = e.which, .body = e.body};
    return CD_OK;
}

/* Writes an envelope as cd_proto_put would, without looking at every member that it might have. */
static void put_plain(cd_buf *out, const cd_p2p_msg *m)
{
    const cd_proto_type *t = ops[m->op].type;
    cd_proto_uvarint_put(out, (u64)m->op << 3 | 2);
    cd_proto_uvarint_put(out, cd_proto_size(t, m->body));
    cd_proto_put(out, t, m->body);
}

void cd_p2p_msg_put(cd_buf *out, cd_zstd *z, const cd_p2p_msg *m)
{
    if (z == NULL || !cd_p2p_op_is_zstd(m->op)) {
        put_plain(out, m);
        return;
    }
    cd_buf plain = {0};
    cd_buf packed = {0};
    put_plain(&plain, m);
    cd_zstd_enc(z, &packed, cd_buf_bytes(&plain));
    envelope outer = {.which = FIELD_ZSTD, .zstd = cd_buf_bytes(&packed)};
    cd_proto_put(out, &envelope_type, &outer);
    cd_buf_fini(&packed);
    cd_buf_fini(&plain);
}

usize cd_p2p_msg_size(const cd_p2p_msg *m)
{
    envelope e = {.which = m->op, .body = m->body};
    return cd_proto_size(&envelope_type, &e);
}

bool cd_p2p_frame_put(cd_buf *out, cd_zstd *z, const cd_p2p_msg *m)
{
    usize at = out->n;
    (void)cd_buf_extend(out, CD_P2P_FRAME_HEAD);
    cd_p2p_msg_put(out, z, m);
    usize n = out->n - at - CD_P2P_FRAME_HEAD;
    if (n > CD_P2P_FRAME_MAX) {
        out->n = at;
        return false;
    }
    cd_put_be32(out->p + at, (u32)n);
    return true;
}
