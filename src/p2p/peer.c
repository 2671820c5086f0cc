#include "p2p/peer.h"

#include "base/mem/mem.h"

enum { WRITE_MAX = 64 }; /* frames that are given to the transport at a time */

#define SECOND_NS CD_NS_PER_SEC

/* A frame that waits to be sent. */
typedef struct out_frame {
    struct out_frame *next;
    cd_shared *bytes;
    usize charged;
} out_frame;

struct cd_p2p_peer {
    cd_p2p_host *host;
    cd_p2p_conn *conn; /* NULL: the connection has ended */
    void *tag;
    cd_cert cert;
    cd_p2p_peer_info info;
    bool has_begun;
    /* The frame that comes in. */
    u8 head[CD_P2P_FRAME_HEAD];
    u32 head_cnt;
    u32 body_len;
    cd_buf body;
    cd_buf kept; /* bytes that came behind a frame that waits for its grant */
    bool is_waiting;
    cd_p2p_in *in_first; /* messages that are not finished */
    /* What goes out. */
    out_frame *out_first;
    out_frame **out_last;
    usize flying; /* frames at the front of the list that the transport is writing */
    u64 flying_since_ns;
    /* Times, monotonic. */
    u64 read_by_ns;
    u64 ping_at_ns;
    u64 pinged_ns; /* when the ping was sent whose answer is awaited; 0: none is */
    cd_bls_sig bls_sig;
    cd_hash32 bls_checked; /* the registration for whose key bls_sig was checked */
    bool has_bls_checked;
};

static const char *const end_texts[] = {
#define X(id, text) text,
    CD_P2P_ENDS(X)
#undef X
};

const char *cd_p2p_end_text(cd_p2p_end end)
{
    return end_texts[end];
}

static u64 or_default(u64 v, u64 def)
{
    return v != 0 ? v : def;
}

static u64 silence_of(const cd_p2p_peer *p)
{
    return or_default(p->host->cfg->silence_ns, 30 * SECOND_NS);
}

static u64 ping_of(const cd_p2p_peer *p)
{
    return or_default(p->host->cfg->ping_ns, 45 * SECOND_NS / 2);
}

static u64 now_of(const cd_p2p_peer *p)
{
    return cd_clock_mono_ns(p->host->clock);
}

/* --- versions --- */

int cd_p2p_version_cmp(cd_p2p_version a, cd_p2p_version b)
{
    if (a.major != b.major) {
        return a.major < b.major ? -1 : 1;
    }
    if (a.minor != b.minor) {
        return a.minor < b.minor ? -1 : 1;
    }
    return (a.patch > b.patch) - (a.patch < b.patch);
}

bool cd_p2p_version_check(const cd_p2p_link_cfg *cfg, cd_p2p_version peer, u64 now_s)
{
    if (cfg->version.major > peer.major) {
        return false;
    }
    if (cd_p2p_version_cmp(peer, cfg->version_min) >= 0) {
        return true;
    }
    return now_s < cfg->upgrade_time && cd_p2p_version_cmp(peer, cfg->version_min_prev) >= 0;
}

/* --- the end --- */

static void frame_free(cd_p2p_peer *p, out_frame *f)
{
    if (f->charged != 0) {
        p->host->out_give(p->host, &p->info.node, f->charged);
    }
    cd_shared_unref(f->bytes);
    cd_free(f);
}

/* Gives back what the peer holds. Messages that somebody works on belong to their holders, and stay. */
static void drop_all(cd_p2p_peer *p)
{
    while (p->out_first != NULL) {
        out_frame *f = p->out_first;
        p->out_first = f->next;
        frame_free(p, f);
    }
    p->out_last = &p->out_first;
    p->flying = 0;
    if (p->body_len != 0 && !p->is_waiting) {
        p->host->in_give(p->host, &p->info.node, p->body_len);
    }
    p->body_len = 0;
    p->head_cnt = 0;
    p->is_waiting = false;
    for (cd_p2p_in *in = p->in_first; in != NULL; in = in->next) {
        in->unfinished = NULL;
    }
    cd_buf_fini(&p->body);
    cd_buf_fini(&p->kept);
}

void cd_p2p_peer_end(cd_p2p_peer *p, cd_p2p_end why)
{
    cd_p2p_conn *conn = p->conn;
    if (conn == NULL) {
        return;
    }
    p->conn = NULL;
    p->info.end = why;
    drop_all(p);
    conn->close(conn);
    p->host->ended(p->host, p);
}

void cd_p2p_peer_over(cd_p2p_peer *p)
{
    cd_p2p_peer_end(p, CD_P2P_END_OTHER);
}

void cd_p2p_peer_free(cd_p2p_peer *p)
{
    if (p == NULL) {
        return;
    }
    cd_p2p_conn *conn = p->conn;
    p->conn = NULL;
    drop_all(p);
    if (conn != NULL) {
        conn->close(conn);
    }
    for (cd_p2p_in *in = p->in_first; in != NULL;) {
        cd_p2p_in *next = in->next;
        in->prev = NULL;
        in->next = NULL;
        in = next;
    }
    cd_buf_fini(&p->info.ip_sig);
    cd_buf_fini(&p->info.cert);
    cd_free(p);
}

/* --- sending --- */

/* Frees the frames that the transport has written. */
static void landed(cd_p2p_peer *p)
{
    for (; p->flying != 0; p->flying--) {
        out_frame *f = p->out_first;
        p->out_first = f->next;
        frame_free(p, f);
    }
    if (p->out_first == NULL) {
        p->out_last = &p->out_first;
    }
    p->info.sent_ns = now_of(p);
}

static void flush(cd_p2p_peer *p)
{
    while (p->conn != NULL && p->flying == 0 && p->out_first != NULL) {
        cd_shared *frames[WRITE_MAX];
        usize cnt = 0;
        for (out_frame *f = p->out_first; f != NULL && cnt < WRITE_MAX; f = f->next) {
            frames[cnt++] = f->bytes;
        }
        p->flying = cnt;
        p->flying_since_ns = now_of(p);
        cd_err e = p->conn->write(p->conn, frames, cnt);
        if (e == CD_OK) {
            landed(p);
        } else if (e == CD_EAGAIN) {
            return;
        } else {
            cd_p2p_peer_end(p, CD_P2P_END_OTHER);
        }
    }
}

void cd_p2p_peer_written(cd_p2p_peer *p, cd_err err)
{
    if (p->conn == NULL) {
        return;
    }
    if (err != CD_OK) {
        cd_p2p_peer_end(p, CD_P2P_END_OTHER);
        return;
    }
    landed(p);
    flush(p);
}

/* The size of a message's frame without compression, in bytes. */
static usize plain_size(const cd_p2p_msg *m, const cd_shared *frame)
{
    return cd_p2p_op_is_zstd(m->op) ? cd_p2p_msg_size(m) : cd_shared_bytes(frame).n - CD_P2P_FRAME_HEAD;
}

static bool queue_frame(cd_p2p_peer *p, const cd_p2p_msg *m, cd_shared *frame, bool bypasses)
{
    usize n = cd_shared_bytes(frame).n;
    bool fits = p->conn != NULL && (bypasses || p->host->out_take(p->host, &p->info.node, n));
    p->host->seen(p->host, m->op, true, fits, n - CD_P2P_FRAME_HEAD,
                  (i64)plain_size(m, frame) - (i64)(n - CD_P2P_FRAME_HEAD));
    if (!fits) {
        return false;
    }
    out_frame *f = cd_new(out_frame);
    *f = (out_frame){.bytes = cd_shared_ref(frame), .charged = bypasses ? 0 : n};
    *p->out_last = f;
    p->out_last = &f->next;
    flush(p);
    return true;
}

bool cd_p2p_peer_send_frame(cd_p2p_peer *p, const cd_p2p_msg *m, cd_shared *frame)
{
    return queue_frame(p, m, frame, false);
}

static bool send(cd_p2p_peer *p, const cd_p2p_msg *m, bool bypasses)
{
    cd_buf bytes = {0};
    if (p->conn == NULL || !cd_p2p_frame_put(&bytes, p->host->cfg->is_plain ? NULL : p->host->zstd, m)) {
        cd_buf_fini(&bytes);
        return false;
    }
    cd_shared *frame = cd_shared_take(&bytes);
    bool ok = queue_frame(p, m, frame, bypasses);
    cd_shared_unref(frame);
    return ok;
}

bool cd_p2p_peer_send(cd_p2p_peer *p, const cd_p2p_msg *m)
{
    return send(p, m, false);
}

static void send_handshake(cd_p2p_peer *p)
{
    const cd_p2p_link_cfg *cfg = p->host->cfg;
    const cd_p2p_signed_ip *ip = p->host->own_ip(p->host);
    const cd_p2p_bloom *known = p->host->known(p->host);
    cd_bytes subnets[CD_P2P_SUBNETS_MAX];
    CD_ASSERT(cfg->subnets_cnt <= CD_P2P_SUBNETS_MAX);
    for (u32 i = 0; i < cfg->subnets_cnt; i++) {
        subnets[i] = cd_bytes_of(cfg->subnets[i].b, sizeof cfg->subnets[i].b);
    }
    cd_p2p_client client = {.name = cd_bytes_str(cfg->client),
                            .major = cfg->version.major,
                            .minor = cfg->version.minor,
                            .patch = cfg->version.patch};
    cd_p2p_bloom_msg bloom = {.filter = cd_buf_bytes(&known->bytes),
                              .salt = cd_bytes_of(known->salt.b, sizeof known->salt.b)};
    cd_p2p_handshake hs = {
        .network_id = cfg->network_id,
        .my_time = cd_clock_wall_s(p->host->clock),
        .ip_addr = cd_p2p_ip_wire(&ip->ip),
        .ip_port = ip->ip.port,
        .ip_signing_time = ip->timestamp,
        .ip_node_id_sig = cd_buf_bytes(&ip->sig),
        .tracked_subnets = {.v = subnets, .cnt = cfg->subnets_cnt},
        .client = &client,
        .supported_acps = {.v = (void *)(uintptr_t)cfg->supported_acps, .cnt = cfg->supported_acps_cnt},
        .objected_acps = {.v = (void *)(uintptr_t)cfg->objected_acps, .cnt = cfg->objected_acps_cnt},
        .known_peers = &bloom,
        .ip_bls_sig = cd_bytes_of(ip->bls_sig, sizeof ip->bls_sig),
        .all_subnets = p->host->is_all(p->host),
    };
    (void)send(p, &(cd_p2p_msg){.op = CD_P2P_HANDSHAKE, .body = &hs}, true);
}

void cd_p2p_peer_ask(cd_p2p_peer *p)
{
    const cd_p2p_bloom *known = p->host->known(p->host);
    cd_p2p_bloom_msg bloom = {.filter = cd_buf_bytes(&known->bytes),
                              .salt = cd_bytes_of(known->salt.b, sizeof known->salt.b)};
    cd_p2p_get_peer_list ask = {.known_peers = &bloom, .all_subnets = p->host->is_all(p->host)};
    (void)send(p, &(cd_p2p_msg){.op = CD_P2P_GET_PEER_LIST, .body = &ask}, false);
}

static void send_peer_list(cd_p2p_peer *p, bool all_subnets, const cd_p2p_bloom_view *known, cd_bytes salt,
                           bool is_reply)
{
    cd_p2p_claimed_ip rows[CD_P2P_PEER_LIST_MAX];
    u32 cnt = p->host->peers_for(p->host, p, rows, all_subnets, known, salt);
    cd_p2p_peer_list list = {.claimed_ip_ports = {.v = rows, .cnt = cnt}};
    if (cnt != 0 || is_reply) {
        (void)send(p, &(cd_p2p_msg){.op = CD_P2P_PEER_LIST, .body = &list}, is_reply);
    }
}

/* --- the handshake --- */

/* The checks of p2p.md 4 in their order; CD_P2P_END_NONE: all good. */

static cd_p2p_end take_subnets(cd_p2p_peer *p, const cd_p2p_handshake *hs)
{
    const cd_bytes *v = hs->tracked_subnets.v;
    if (hs->tracked_subnets.cnt > CD_P2P_SUBNETS_MAX) {
        return CD_P2P_END_SUBNETS;
    }
    for (u32 i = 0; i < hs->tracked_subnets.cnt; i++) {
        if (v[i].n != sizeof(cd_hash32)) {
            return CD_P2P_END_SUBNETS;
        }
        memcpy(p->info.subnets[i].b, v[i].p, sizeof(cd_hash32));
    }
    p->info.subnets_cnt = hs->tracked_subnets.cnt;
    return CD_P2P_END_NONE;
}

static bool list_has(const cd_proto_list *list, u32 v)
{
    const u32 *p = list->v;
    for (u32 i = 0; i < list->cnt; i++) {
        if (p[i] == v) {
            return true;
        }
    }
    return false;
}

static cd_p2p_end check_acps(const cd_p2p_link_cfg *cfg, const cd_p2p_handshake *hs)
{
    for (u32 i = 0; i < cfg->acps_cnt; i++) {
        if (list_has(&hs->supported_acps, cfg->acps[i]) && list_has(&hs->objected_acps, cfg->acps[i])) {
            return CD_P2P_END_ACPS;
        }
    }
    return CD_P2P_END_NONE;
}

static cd_p2p_end take_known(cd_p2p_bloom_view *view, cd_bytes *salt, const cd_p2p_bloom_msg *known)
{
    if (cd_p2p_bloom_parse(view, known->filter, NULL) != CD_OK || known->salt.n > CD_P2P_SALT_LEN) {
        return CD_P2P_END_BLOOM;
    }
    *salt = known->salt;
    return CD_P2P_END_NONE;
}

static cd_p2p_end take_ip(cd_p2p_peer *p, const cd_p2p_handshake *hs)
{
    const cd_p2p_link_cfg *cfg = p->host->cfg;
    u64 latest = cd_clock_wall_s(p->host->clock) + or_default(cfg->clock_max_s, 60);
    if (cd_p2p_ip_dec(&p->info.ip, hs->ip_addr, hs->ip_port) != CD_OK) {
        return CD_P2P_END_ADDRESS;
    }
    if (hs->ip_signing_time > latest ||
        cd_p2p_ip_check(&p->cert, &p->info.ip, hs->ip_signing_time, hs->ip_node_id_sig, NULL) != CD_OK) {
        return CD_P2P_END_IP_SIGNATURE;
    }
    if (hs->ip_bls_sig.n != CD_BLS_SIG_LEN || cd_bls_sig_dec(&p->bls_sig, hs->ip_bls_sig) != CD_OK) {
        return CD_P2P_END_BLS_ENCODING;
    }
    p->info.ip_timestamp = hs->ip_signing_time;
    cd_buf_clear(&p->info.ip_sig);
    cd_buf_put(&p->info.ip_sig, hs->ip_node_id_sig);
    return CD_P2P_END_NONE;
}

/* Repeats, before every ping, the checks whose outcome may change with time. */
static cd_p2p_end check_again(cd_p2p_peer *p)
{
    cd_bls_pk key;
    cd_hash32 id;
    if (!cd_p2p_version_check(p->host->cfg, p->info.version, cd_clock_wall_s(p->host->clock))) {
        return CD_P2P_END_VERSION;
    }
    if (!p->host->bls_key(p->host, &key, &id, &p->info.node) ||
        (p->has_bls_checked && cd_hash32_eq(&id, &p->bls_checked))) {
        return CD_P2P_END_NONE;
    }
    if (!cd_p2p_ip_check_bls(&key, &p->info.ip, p->info.ip_timestamp, &p->bls_sig)) {
        return CD_P2P_END_BLS_SIGNATURE;
    }
    p->bls_checked = id;
    p->has_bls_checked = true;
    return CD_P2P_END_NONE;
}

static void take_client(cd_p2p_peer *p, const cd_p2p_client *client)
{
    if (client == NULL) {
        return;
    }
    usize n = cd_min_u64(client->name.n, CD_P2P_CLIENT_NAME_MAX);
    for (usize i = 0; i < n; i++) { /* the name goes into logs and answers */
        char c = (char)client->name.p[i];
        p->info.client[i] = '?';
        if (c > ' ' && c < 0x7f) {
            p->info.client[i] = c;
        }
    }
    p->info.client[n] = '\0';
    p->info.version = (cd_p2p_version){client->major, client->minor, client->patch};
}

static cd_p2p_end check_time(cd_p2p_peer *p, u64 theirs)
{
    u64 ours = cd_clock_wall_s(p->host->clock);
    u64 skew = theirs > ours ? theirs - ours : ours - theirs;
    p->host->skew(p->host, skew);
    return skew > or_default(p->host->cfg->clock_max_s, 60) ? CD_P2P_END_CLOCK : CD_P2P_END_NONE;
}

static void on_handshake(cd_p2p_peer *p, const cd_p2p_handshake *hs)
{
    cd_p2p_bloom_view view = cd_p2p_bloom_empty();
    cd_bytes salt = {0};
    cd_p2p_end e = p->info.has_handshake                        ? CD_P2P_END_SECOND_HANDSHAKE
                   : hs->network_id != p->host->cfg->network_id ? CD_P2P_END_NETWORK_ID
                                                                : check_time(p, hs->my_time);
    if (e == CD_P2P_END_NONE) {
        take_client(p, hs->client);
    }
    e = e != CD_P2P_END_NONE ? e : take_subnets(p, hs);
    e = e != CD_P2P_END_NONE ? e : check_acps(p->host->cfg, hs);
    e = e != CD_P2P_END_NONE || hs->known_peers == NULL ? e : take_known(&view, &salt, hs->known_peers);
    e = e != CD_P2P_END_NONE ? e : take_ip(p, hs);
    e = e != CD_P2P_END_NONE ? e : check_again(p);
    if (e != CD_P2P_END_NONE) {
        cd_p2p_peer_end(p, e);
        return;
    }
    p->info.has_handshake = true;
    send_peer_list(p, hs->all_subnets, &view, salt, true);
}

/* --- the other messages between the two nodes --- */

static void on_get_peer_list(cd_p2p_peer *p, const cd_p2p_get_peer_list *m)
{
    cd_p2p_bloom_view view;
    cd_bytes salt;
    const cd_p2p_bloom_msg none = {.filter = {.n = 0}};
    if (!p->info.is_finished) {
        return;
    }
    if (take_known(&view, &salt, m->known_peers == NULL ? &none : m->known_peers) != CD_P2P_END_NONE) {
        cd_p2p_peer_end(p, CD_P2P_END_BLOOM);
        return;
    }
    send_peer_list(p, m->all_subnets, &view, salt, false);
}

/* Takes the rows of a peer list. The list is walked twice: all rows are well formed before one is looked at
 * (is_checked). */
static void take_rows(cd_p2p_peer *p, const cd_proto_list *list, bool is_checked)
{
    const cd_p2p_claimed_ip *rows = list->v;
    for (u32 i = 0; p->conn != NULL && i < list->cnt; i++) {
        cd_p2p_claim c = {
            .cert_der = rows[i].x509_certificate, .timestamp = rows[i].timestamp, .sig = rows[i].signature};
        if (cd_p2p_ip_dec(&c.ip, rows[i].ip_addr, rows[i].ip_port) != CD_OK ||
            cd_cert_parse(&c.cert, c.cert_der, NULL) != CD_OK) {
            cd_p2p_peer_end(p, CD_P2P_END_PEER_LIST);
        } else if (is_checked && !p->host->claim(p->host, p, &c)) {
            cd_p2p_peer_end(p, CD_P2P_END_PEER_SIGNATURE);
        }
    }
}

static void on_peer_list(cd_p2p_peer *p, const cd_p2p_peer_list *m)
{
    if (!p->info.has_handshake) {
        return;
    }
    if (!p->info.is_finished) {
        p->info.is_finished = true;
        p->host->connected(p->host, p);
    }
    take_rows(p, &m->claimed_ip_ports, false);
    take_rows(p, &m->claimed_ip_ports, true);
}

static void on_ping(cd_p2p_peer *p, const cd_p2p_ping *m)
{
    cd_p2p_ping none = {.uptime = 0};
    if (m->uptime > 100) {
        cd_p2p_peer_end(p, CD_P2P_END_UPTIME);
        return;
    }
    p->info.observed_uptime = m->uptime;
    (void)send(p, &(cd_p2p_msg){.op = CD_P2P_PONG, .body = &none}, false);
}

static void on_pong(cd_p2p_peer *p)
{
    if (p->pinged_ns != 0) {
        p->info.round_trip_ns = cd_max_u64(now_of(p) - p->pinged_ns, 1);
        p->pinged_ns = 0;
    }
}

/* Handles messages between the two nodes; false: it is one of a chain. */
static bool on_link(cd_p2p_peer *p, const cd_p2p_msg *m)
{
    switch (m->op) {
    case CD_P2P_PING:
        on_ping(p, m->body);
        return true;
    case CD_P2P_PONG:
        on_pong(p);
        return true;
    case CD_P2P_HANDSHAKE:
        on_handshake(p, m->body);
        return true;
    case CD_P2P_PEER_LIST:
        on_peer_list(p, m->body);
        return true;
    case CD_P2P_GET_PEER_LIST:
        on_get_peer_list(p, m->body);
        return true;
    default:
        return false;
    }
}

/* --- frames that come --- */

void cd_p2p_in_done(cd_p2p_in *in)
{
    if (in->unfinished != NULL) {
        --*in->unfinished;
    }
    if (in->prev != NULL) {
        *in->prev = in->next;
        if (in->next != NULL) {
            in->next->prev = in->prev;
        }
    }
    if (in->charged != 0) {
        in->host->in_give(in->host, &in->from, in->charged);
    }
    cd_arena_fini(&in->arena);
    cd_buf_fini(&in->text);
    cd_free(in);
}

cd_p2p_in *cd_p2p_in_own(const cd_node_id *from, const cd_p2p_msg *m, u64 now_ns)
{
    usize unpacked;
    cd_p2p_in *in = cd_new(cd_p2p_in);
    *in = (cd_p2p_in){.from = *from, .came_ns = now_ns};
    cd_p2p_msg_put(&in->text, NULL, m);
    if (in->text.n > CD_P2P_FRAME_MAX ||
        cd_p2p_msg_parse(&in->msg, &unpacked, &in->arena, NULL, cd_buf_bytes(&in->text), NULL) != CD_OK) {
        cd_p2p_in_done(in);
        return NULL;
    }
    return in;
}

static cd_p2p_in *in_new(cd_p2p_peer *p)
{
    cd_p2p_in *in = cd_new(cd_p2p_in);
    *in = (cd_p2p_in){.from = p->info.node,
                      .came_ns = now_of(p),
                      .charged = p->body_len,
                      .text = p->body,
                      .host = p->host,
                      .unfinished = &p->info.unfinished,
                      .next = p->in_first,
                      .prev = &p->in_first};
    if (in->next != NULL) {
        in->next->prev = &in->next;
    }
    p->in_first = in;
    p->info.unfinished++;
    p->body = (cd_buf){0};
    p->body_len = 0;
    p->head_cnt = 0;
    return in;
}

/* Handles a whole frame. One that does not parse is counted and dropped. */
static void on_frame(cd_p2p_peer *p)
{
    usize unpacked = 0;
    usize n = p->body_len;
    cd_p2p_in *in = in_new(p);
    cd_err e = cd_p2p_msg_parse(&in->msg, &unpacked, &in->arena, p->host->zstd, cd_buf_bytes(&in->text), NULL);
    if (e == CD_OK && unpacked > n && cd_p2p_op_kind(in->msg.op) != CD_P2P_LINK) {
        /* The decompressed bytes are held until the message is handled, so they are charged, too. */
        e = p->host->in_more(p->host, &in->from, unpacked - n) ? CD_OK : CD_EFULL;
        in->charged += e == CD_OK ? unpacked - n : 0;
    }
    p->info.received_ns = now_of(p);
    p->read_by_ns = p->info.received_ns + silence_of(p);
    p->host->seen(p->host, e == CD_OK ? in->msg.op : CD_P2P_NONE, false, true, n,
                  unpacked == 0 ? 0 : (i64)unpacked - (i64)n);
    if (e != CD_OK || on_link(p, &in->msg) || !p->info.is_finished) {
        cd_p2p_in_done(in);
        return;
    }
    p->host->message(p->host, p, in);
}

/* Begins a frame whose length is known. False: its body must wait for room, or the connection has ended. */
static bool begin_body(cd_p2p_peer *p)
{
    p->body_len = cd_be32(p->head);
    if (p->body_len > CD_P2P_FRAME_MAX) {
        p->body_len = 0;
        cd_p2p_peer_end(p, CD_P2P_END_FRAME_LENGTH);
        return false;
    }
    if (p->body_len == 0) {
        p->head_cnt = 0;
        p->host->seen(p->host, CD_P2P_NONE, false, true, 0, 0);
        return true;
    }
    p->is_waiting = true; /* an end in in_take must not give back bytes that were not granted */
    if (!p->host->in_take(p->host, p, p->body_len)) {
        p->conn->pause(p->conn, true);
        return false;
    }
    p->is_waiting = false;
    return true;
}

/* Takes bytes until none are left or a frame must wait; gives how many were taken. */
static usize feed(cd_p2p_peer *p, cd_bytes data)
{
    usize at = 0;
    while (p->conn != NULL && !p->is_waiting && at < data.n) {
        if (p->head_cnt < CD_P2P_FRAME_HEAD) {
            p->head[p->head_cnt++] = data.p[at++];
            if (p->head_cnt == CD_P2P_FRAME_HEAD && !begin_body(p)) {
                break;
            }
            continue;
        }
        usize n = cd_min_u64(p->body_len - p->body.n, data.n - at);
        cd_buf_put(&p->body, cd_bytes_sub(data, at, n));
        at += n;
        if (p->body.n == p->body_len) {
            on_frame(p);
        }
    }
    return at;
}

/* Sends the handshake, before anything else, whichever side speaks first. */
static void begin(cd_p2p_peer *p)
{
    if (p->conn != NULL && !p->has_begun) {
        p->has_begun = true;
        send_handshake(p);
    }
}

void cd_p2p_peer_data(cd_p2p_peer *p, cd_bytes data)
{
    begin(p);
    if (p->conn == NULL) {
        return;
    }
    if (p->is_waiting || p->kept.n != 0) {
        cd_buf_put(&p->kept, data); /* the transport still hands over what it had read before the pause */
        return;
    }
    usize n = feed(p, data);
    if (p->conn != NULL && n < data.n) {
        cd_buf_put(&p->kept, cd_bytes_sub(data, n, data.n - n));
    }
}

void cd_p2p_peer_grant(cd_p2p_peer *p)
{
    CD_ASSERT(p->is_waiting && p->conn != NULL);
    p->is_waiting = false;
    p->read_by_ns = now_of(p) + silence_of(p);
    cd_buf kept = p->kept;
    p->kept = (cd_buf){0};
    usize n = feed(p, cd_buf_bytes(&kept));
    if (p->conn != NULL && n < kept.n) {
        cd_buf_put(&p->kept, cd_bytes_of(kept.p + n, kept.n - n));
    }
    if (p->conn != NULL && !p->is_waiting) {
        p->conn->pause(p->conn, false);
    }
    cd_buf_fini(&kept);
}

/* --- time --- */

static void ping(cd_p2p_peer *p)
{
    cd_p2p_end e = p->host->is_wanted(p->host, &p->info.node) ? CD_P2P_END_NONE : CD_P2P_END_UNWANTED;
    e = e == CD_P2P_END_NONE && p->info.is_finished ? check_again(p) : e;
    if (e != CD_P2P_END_NONE) {
        cd_p2p_peer_end(p, e);
        return;
    }
    cd_p2p_ping m = {.uptime = p->host->uptime(p->host, &p->info.node)};
    p->pinged_ns = now_of(p);
    (void)send(p, &(cd_p2p_msg){.op = CD_P2P_PING, .body = &m}, false);
}

u64 cd_p2p_peer_tick(cd_p2p_peer *p)
{
    u64 now = now_of(p);
    begin(p);
    if (p->conn == NULL) {
        return UINT64_MAX;
    }
    u64 finish_by = p->info.opened_ns + or_default(p->host->cfg->handshake_ns, 30 * SECOND_NS);
    u64 write_by = p->flying_since_ns + silence_of(p);
    if (!p->is_waiting && now >= p->read_by_ns) {
        cd_p2p_peer_end(p, CD_P2P_END_SILENCE);
    } else if (p->flying != 0 && now >= write_by) {
        cd_p2p_peer_end(p, CD_P2P_END_STALLED);
    } else if (!p->info.is_finished && now >= finish_by) {
        cd_p2p_peer_end(p, CD_P2P_END_HANDSHAKE_LATE);
    } else if (now >= p->ping_at_ns) {
        p->ping_at_ns = now + ping_of(p);
        ping(p);
    }
    if (p->conn == NULL) {
        return UINT64_MAX;
    }
    u64 next = p->ping_at_ns;
    next = p->is_waiting ? next : cd_min_u64(next, p->read_by_ns);
    next = p->flying == 0 ? next : cd_min_u64(next, write_by);
    return p->info.is_finished ? next : cd_min_u64(next, finish_by);
}

/* --- life --- */

cd_p2p_peer *cd_p2p_peer_new(cd_p2p_host *host, cd_p2p_conn *conn, const cd_cert *cert, cd_bytes cert_der,
                             bool is_inbound, void *tag)
{
    cd_p2p_peer *p = cd_new(cd_p2p_peer);
    p->host = host;
    p->conn = conn;
    p->tag = tag;
    p->cert = *cert;
    p->out_last = &p->out_first;
    p->info.node = cert->node_id;
    p->info.is_inbound = is_inbound;
    p->info.opened_ns = now_of(p);
    p->info.received_ns = p->info.opened_ns;
    cd_buf_put(&p->info.cert, cert_der);
    p->read_by_ns = p->info.opened_ns + silence_of(p);
    p->ping_at_ns = p->info.opened_ns + ping_of(p);
    return p;
}

const cd_p2p_peer_info *cd_p2p_peer_get(const cd_p2p_peer *p)
{
    return &p->info;
}

bool cd_p2p_peer_tracks(const cd_p2p_peer *p, const cd_hash32 *subnet)
{
    if (cd_hash32_is_zero(subnet)) {
        return true;
    }
    for (u32 i = 0; i < p->info.subnets_cnt; i++) {
        if (cd_hash32_eq(&p->info.subnets[i], subnet)) {
            return true;
        }
    }
    return false;
}

void *cd_p2p_peer_tag(const cd_p2p_peer *p)
{
    return p->tag;
}
