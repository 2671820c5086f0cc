#include "p2p/network.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "p2p/average.h"
#include "p2p/throttle.h"

enum { RECENT_MAX = 2560, CPU_RECHECK_S = 5, BLOOM_MIN = 128, STEP_MS = 20 };

#define KIB 1024ull
#define MIB (1024 * KIB)
#define MS  CD_NS_PER_MS
#define SEC CD_NS_PER_SEC

static const cd_hash32 PRIMARY;

typedef struct node node;

/* A connection; it stays in the list until the tick after its end. */
typedef struct link {
    cd_list all;     /* node in the list of links, which is in the order of their opening */
    cd_list waiting; /* node in the list of links that wait for room */
    cd_p2p_net *net;
    cd_p2p_peer *peer;
    node *node;
    cd_p2p_bucket bandwidth;
    usize wants; /* bytes of the frame that it waits for */
    u64 wait_until_ns;
    u64 tick_at_ns;
} link;

/* A node that is wanted or connected. */
struct node {
    cd_list all; /* node in the list of nodes, in which they came: the order of a map differs from process to process */
    cd_node_id id;
    link *link; /* NULL: it is not connected */
    u32 left;   /* links of it that have ended, and are not freed yet */
    bool is_added;
    bool has_ip;
    bool is_dialing;
    cd_p2p_ip ip;
    u64 timestamp; /* of the address, Unix seconds; 0: the address was not signed */
    cd_buf cert;   /* with the certificate and sig other nodes can be told the address; empty: it was not signed */
    cd_buf sig;
    u64 delay_ns;
    u64 dial_at_ns;
};

typedef struct counters {
    cd_counter *msgs[2][2][CD_P2P_OP_END]; /* received or sent; plain or compressed; op */
    cd_counter *bytes[2][CD_P2P_OP_END];
    cd_gauge *saved[2][CD_P2P_OP_END];
    cd_counter *send_failed[CD_P2P_OP_END];
    cd_counter *parse_failed;
    cd_counter *ends[CD_P2P_END_CNT];
    cd_counter *connected;
    cd_counter *disconnected;
    cd_counter *accepted;
    cd_counter *rate_limited;
    cd_counter *tls_rejected;
    cd_counter *skew_cnt;
    cd_counter *skew_sum;
    cd_gauge *peers;
    cd_gauge *tracked;
    cd_gauge *waiting;
    cd_gauge *in_large;
    cd_gauge *in_part;
    cd_gauge *out_large;
    cd_gauge *out_part;
    cd_counter *bloom_resets;
} counters;

struct cd_p2p_net {
    cd_p2p_host host; /* first: the host is the network */
    cd_p2p_net_cfg cfg;
    cd_p2p_owner owner;
    cd_p2p_transport transport;
    cd_rng rng;
    cd_metrics *own_metrics; /* used when the owner wants no metrics */
    counters m;
    cd_p2p_signed_ip ip;
    cd_p2p_bloom bloom;
    cd_hmap nodes;   /* node ID -> node * */
    cd_hmap blocked; /* node IDs */
    cd_list nodes_all;
    cd_list links;
    bool has_ended;  /* at least one link has ended */
    cd_list waiting; /* links that wait for room, the oldest first */
    u32 links_cnt;
    u32 finished_cnt;
    cd_p2p_pool in;
    cd_p2p_pool out;
    cd_p2p_usage usage;
    cd_p2p_average send_fails; /* average over messages: 1 had no room, 0 was queued */
    cd_p2p_bucket conns;
    cd_p2p_bucket dials;
    cd_hmap recent; /* address -> when it last connected to us */
    u64 bloom_at_ns;
    u64 gossip_at_ns;
};

#define NET(h) ((cd_p2p_net *)(void *)(h))

static u64 now_of(const cd_p2p_net *n)
{
    return cd_clock_mono_ns(n->cfg.clock);
}

static void set_default(u64 *v, u64 def)
{
    *v = *v != 0 ? *v : def;
}

/* --- nodes --- */

static bool is_up(const link *l)
{
    const cd_p2p_peer_info *info = cd_p2p_peer_get(l->peer);
    return info->is_finished && info->end == CD_P2P_END_NONE;
}

static node *node_find(const cd_p2p_net *n, const cd_node_id *id)
{
    node **p = cd_hmap_get(&n->nodes, id);
    return p == NULL ? NULL : *p;
}

static node *node_of(cd_p2p_net *n, const cd_node_id *id)
{
    node **p = cd_hmap_put(&n->nodes, NULL, id);
    if (*p == NULL) {
        *p = cd_new(node);
        (*p)->id = *id;
        cd_list_push_back(&n->nodes_all, &(*p)->all);
    }
    return *p;
}

static void node_free(node *x)
{
    cd_list_del(&x->all);
    cd_buf_fini(&x->cert);
    cd_buf_fini(&x->sig);
    cd_free(x);
}

static bool validates(const cd_p2p_net *n, const cd_hash32 *subnet, const cd_node_id *id, u64 *weight)
{
    cd_p2p_validator v;
    bool is = n->owner.validator(n->owner.ctx, &v, subnet, id);
    *weight = is ? v.weight : 0;
    return is;
}

/* Whether a node validates the primary network or a subnet that we track. */
static bool is_ours(const cd_p2p_net *n, const cd_node_id *id)
{
    u64 weight;
    bool is = validates(n, &PRIMARY, id, &weight);
    for (u32 i = 0; !is && i < n->cfg.link.subnets_cnt; i++) {
        is = validates(n, &n->cfg.link.subnets[i], id, &weight);
    }
    return is;
}

static bool wants_dial(const cd_p2p_net *n, const node *x)
{
    return x->link == NULL && !x->is_dialing && x->has_ip && cd_hmap_get(&n->blocked, &x->id) == NULL &&
           (x->is_added || is_ours(n, &x->id)) && (n->cfg.allow_private || !cd_p2p_ip_is_private(&x->ip));
}

/* Frees a node that is neither wanted nor connected nor being dialled. */
static void node_let_go(cd_p2p_net *n, node *x)
{
    if (x->link == NULL && x->left == 0 && !x->is_dialing && !x->is_added && !is_ours(n, &x->id)) {
        cd_p2p_usage_forget(&n->usage, &x->id);
        (void)cd_hmap_del(&n->nodes, &x->id);
        node_free(x);
    }
}

/* --- what is known already: the filter --- */

static void bloom_add(cd_p2p_net *n, const node *x)
{
    cd_hash32 id;
    if (x->cert.n != 0) {
        cd_p2p_ip_gossip_id(&id, &x->id, x->timestamp);
        if (!cd_p2p_bloom_add(&n->bloom, cd_bytes_of(id.b, sizeof id.b))) {
            n->bloom_at_ns = now_of(n);
        }
    }
}

static void bloom_reset(cd_p2p_net *n)
{
    u32 cnt = (u32)cd_min_u64(cd_hmap_cnt(&n->nodes), UINT32_MAX / 2);
    cd_p2p_bloom_reset(&n->bloom, &n->rng, cnt * 2 > BLOOM_MIN ? cnt * 2 : BLOOM_MIN, 0.001, 0.01);
    cd_list_each(it, &n->nodes_all)
    {
        bloom_add(n, cd_list_of(it, node, all));
    }
    cd_counter_add(n->m.bloom_resets, 1);
    n->bloom_at_ns = now_of(n) + n->cfg.bloom_ns;
}

/* Takes a newer signed address of a node. */
static void node_set_ip(cd_p2p_net *n, node *x, const cd_p2p_ip *ip, u64 timestamp, cd_bytes cert, cd_bytes sig)
{
    bool is_other = !x->has_ip || !cd_p2p_ip_eq(&x->ip, ip);
    x->has_ip = true;
    x->ip = *ip;
    x->timestamp = timestamp;
    cd_buf_clear(&x->cert);
    cd_buf_put(&x->cert, cert);
    cd_buf_clear(&x->sig);
    cd_buf_put(&x->sig, sig);
    if (is_other) {
        x->delay_ns = 0;
        x->dial_at_ns = now_of(n);
    }
    bloom_add(n, x);
}

/* --- dialling --- */

/* Sets the time of the next dial: the delay is one to two times the last one, at random, within the bounds. */
static void dial_later(cd_p2p_net *n, node *x)
{
    u64 base = x->delay_ns == 0 ? n->cfg.delay_min_ns : x->delay_ns;
    x->delay_ns = cd_min_u64(base + cd_rng_below(&n->rng, base + 1), n->cfg.delay_max_ns);
    x->dial_at_ns = now_of(n) + x->delay_ns;
}

static u64 dial_all(cd_p2p_net *n, u64 now)
{
    u64 next = UINT64_MAX;
    cd_list_each(it, &n->nodes_all)
    {
        node *x = cd_list_of(it, node, all);
        if (!wants_dial(n, x)) {
            continue;
        }
        u64 wait = now < x->dial_at_ns ? x->dial_at_ns - now : cd_p2p_bucket_take(&n->dials, 1, now);
        if (wait != 0) {
            next = cd_min_u64(next, now + wait);
            continue;
        }
        x->is_dialing = true;
        n->transport.dial(n->transport.ctx, &x->id, &x->ip);
    }
    return next;
}

void cd_p2p_net_block(cd_p2p_net *n, const cd_node_id *ids, usize cnt)
{
    cd_hmap_clear(&n->blocked);
    for (usize i = 0; i < cnt; i++) {
        (void)cd_hmap_put(&n->blocked, NULL, &ids[i]);
    }
    cd_list_each(it, &n->links)
    {
        const link *l = cd_list_of(it, link, all);
        if (cd_hmap_get(&n->blocked, &l->node->id) != NULL) {
            cd_p2p_peer_end(l->peer, CD_P2P_END_UNWANTED);
        }
    }
}

void cd_p2p_net_add(cd_p2p_net *n, const cd_node_id *id, const cd_p2p_ip *ip)
{
    if (memcmp(id, &n->cfg.id->node_id, sizeof *id) == 0) {
        return;
    }
    node *x = node_of(n, id);
    x->is_added = true;
    if (!x->has_ip) {
        x->has_ip = true;
        x->ip = *ip;
        x->dial_at_ns = now_of(n);
    }
}

void cd_p2p_net_failed(cd_p2p_net *n, const cd_node_id *ticket)
{
    node *x = node_find(n, ticket);
    if (x != NULL) {
        x->is_dialing = false;
        dial_later(n, x);
        node_let_go(n, x);
    }
}

/* --- accepting --- */

/* Drops addresses that connected longer ago than the cool-down. The walk starts again for each, but there are few, and
 * sweeps are rare. */
static void recent_sweep(cd_p2p_net *n, u64 now)
{
    const void *key;
    void *val;
    bool is_found = true;
    while (is_found) {
        is_found = false;
        for (usize it = 0; !is_found && cd_hmap_next(&n->recent, &it, &key, &val);) {
            if (now - *(u64 *)val >= n->cfg.cooldown_ns) {
                cd_p2p_ip old = {.port = 0};
                memcpy(old.addr, key, sizeof old.addr);
                (void)cd_hmap_del(&n->recent, old.addr);
                is_found = true;
            }
        }
    }
}

static bool is_cool(cd_p2p_net *n, const cd_p2p_ip *from, u64 now)
{
    const u64 *at = cd_hmap_get(&n->recent, from->addr);
    if (cd_p2p_ip_is_loopback(from)) {
        return true;
    }
    if (at != NULL && now - *at < n->cfg.cooldown_ns) {
        return false;
    }
    if (at == NULL && cd_hmap_cnt(&n->recent) >= RECENT_MAX) {
        recent_sweep(n, now);
    }
    if (at == NULL && cd_hmap_cnt(&n->recent) >= RECENT_MAX) {
        return false;
    }
    *(u64 *)cd_hmap_put(&n->recent, NULL, from->addr) = now;
    return true;
}

bool cd_p2p_net_may_accept(cd_p2p_net *n, const cd_p2p_ip *from)
{
    u64 now = now_of(n);
    bool may = n->links_cnt < n->cfg.peers_max && cd_p2p_bucket_take(&n->conns, 1, now) == 0 && is_cool(n, from, now);
    cd_counter_add(may ? n->m.accepted : n->m.rate_limited, 1);
    return may;
}

void cd_p2p_net_rejected(cd_p2p_net *n)
{
    cd_counter_add(n->m.tls_rejected, 1);
}

static bool is_wanted(cd_p2p_host *h, const cd_node_id *id)
{
    cd_p2p_net *n = NET(h);
    node *x = node_find(n, id);
    bool is_welcome = !n->cfg.validators_only || (x != NULL && x->is_added) || is_ours(n, id);
    return is_welcome && cd_hmap_get(&n->blocked, id) == NULL;
}

cd_p2p_peer *cd_p2p_net_opened(cd_p2p_net *n, cd_p2p_conn *conn, cd_bytes der, const cd_node_id *ticket)
{
    cd_cert cert;
    node *dialed = ticket == NULL ? NULL : node_find(n, ticket);
    bool is_good = cd_cert_parse(&cert, der, NULL) == CD_OK;
    if (dialed != NULL) {
        dialed->is_dialing = false;
    }
    node *x = is_good ? node_find(n, &cert.node_id) : NULL;
    is_good = is_good && memcmp(&cert.node_id, &n->cfg.id->node_id, sizeof cert.node_id) != 0 &&
              n->links_cnt < n->cfg.peers_max && (x == NULL || x->link == NULL) && is_wanted(&n->host, &cert.node_id);
    if (dialed != NULL && (!is_good || dialed != x)) {
        dial_later(n, dialed);
    }
    if (!is_good) {
        return NULL;
    }
    link *l = cd_new(link);
    u64 now = now_of(n);
    l->net = n;
    l->node = node_of(n, &cert.node_id);
    l->node->link = l;
    cd_list_init(&l->waiting);
    cd_list_push_back(&n->links, &l->all);
    n->links_cnt++;
    cd_p2p_bucket_init(&l->bandwidth, n->cfg.bandwidth, n->cfg.bandwidth_burst, now);
    l->peer = cd_p2p_peer_new(&n->host, conn, &cert, der, ticket == NULL, l);
    l->tick_at_ns = now;
    return l->peer;
}

/* --- what peers ask of their host --- */

static const cd_p2p_signed_ip *own_ip(cd_p2p_host *h)
{
    return &NET(h)->ip;
}

static const cd_p2p_bloom *known(cd_p2p_host *h)
{
    return &NET(h)->bloom;
}

static bool is_all(cd_p2p_host *h)
{
    u64 weight;
    return validates(NET(h), &PRIMARY, &NET(h)->cfg.id->node_id, &weight);
}

static bool bls_key(cd_p2p_host *h, cd_bls_pk *key, cd_hash32 *id, const cd_node_id *who)
{
    cd_p2p_validator v;
    if (!NET(h)->owner.validator(NET(h)->owner.ctx, &v, &PRIMARY, who) || !v.has_key) {
        return false;
    }
    *key = v.key;
    *id = v.id;
    return true;
}

static u32 uptime(cd_p2p_host *h, const cd_node_id *who)
{
    u32 (*fn)(void *ctx, const cd_node_id *id) = NET(h)->owner.uptime;
    return fn == NULL ? 0 : fn(NET(h)->owner.ctx, who);
}

/* Whether a peer may be told of a node: it must be connected from its newest address, and validate (or be added) and
 * track a subnet that the asker may know of. */
static bool is_gossipable(const cd_p2p_net *n, const node *x, const cd_p2p_peer *asker, bool all)
{
    u64 weight;
    if (x->link == NULL || x->cert.n == 0) {
        return false;
    }
    const cd_p2p_peer_info *info = cd_p2p_peer_get(x->link->peer);
    if (!info->is_finished || info->end != CD_P2P_END_NONE || !cd_p2p_ip_eq(&info->ip, &x->ip)) {
        return false;
    }
    if (x->is_added || validates(n, &PRIMARY, &x->id, &weight)) {
        return true;
    }
    for (u32 i = 0; i < info->subnets_cnt; i++) {
        if ((all || cd_p2p_peer_tracks(asker, &info->subnets[i])) && validates(n, &info->subnets[i], &x->id, &weight)) {
            return true;
        }
    }
    return false;
}

/* A uniform sample in one walk: the k-th candidate takes a place with probability places / k. */
static u32 peers_for(cd_p2p_host *h, cd_p2p_peer *p, cd_p2p_claimed_ip out[CD_P2P_PEER_LIST_MAX], bool all_subnets,
                     const cd_p2p_bloom_view *view, cd_bytes salt)
{
    static const u8 no_tx[32];
    cd_p2p_net *n = NET(h);
    bool all = all_subnets && is_all(h);
    u32 seen = 0;
    cd_list_each(it, &n->nodes_all)
    {
        const node *x = cd_list_of(it, node, all);
        cd_hash32 id;
        if (x->link == NULL || x->link->peer == p || !is_gossipable(n, x, p, all)) {
            continue;
        }
        cd_p2p_ip_gossip_id(&id, &x->id, x->timestamp);
        if (cd_p2p_bloom_has(view, cd_p2p_bloom_hash(cd_bytes_of(id.b, sizeof id.b), salt))) {
            continue;
        }
        u64 place = seen < CD_P2P_PEER_LIST_MAX ? seen : cd_rng_below(&n->rng, seen + 1);
        seen++;
        if (place < CD_P2P_PEER_LIST_MAX) {
            out[place] = (cd_p2p_claimed_ip){.x509_certificate = cd_buf_bytes(&x->cert),
                                             .ip_addr = cd_p2p_ip_wire(&x->ip),
                                             .ip_port = x->ip.port,
                                             .timestamp = x->timestamp,
                                             .signature = cd_buf_bytes(&x->sig),
                                             .tx_id = cd_bytes_of(no_tx, sizeof no_tx)};
        }
    }
    return seen < CD_P2P_PEER_LIST_MAX ? seen : CD_P2P_PEER_LIST_MAX;
}

/* Looks only at addresses of nodes that are wanted, so that no peer makes us check signatures for nothing. */
static bool claim(cd_p2p_host *h, cd_p2p_peer *p, const cd_p2p_claim *c)
{
    cd_p2p_net *n = NET(h);
    node *x = node_find(n, &c->cert.node_id);
    (void)p;
    if (memcmp(&c->cert.node_id, &n->cfg.id->node_id, sizeof c->cert.node_id) == 0 ||
        !((x != NULL && x->is_added) || is_ours(n, &c->cert.node_id)) ||
        (x != NULL && x->cert.n != 0 && c->timestamp <= x->timestamp)) {
        return true;
    }
    u64 latest = cd_clock_wall_s(n->cfg.clock) + n->cfg.link.clock_max_s;
    if (c->timestamp > latest || cd_p2p_ip_check(&c->cert, &c->ip, c->timestamp, c->sig, NULL) != CD_OK) {
        return false;
    }
    node_set_ip(n, node_of(n, &c->cert.node_id), &c->ip, c->timestamp, c->cert_der, c->sig);
    return true;
}

static void on_connected(cd_p2p_host *h, cd_p2p_peer *p)
{
    cd_p2p_net *n = NET(h);
    link *l = cd_p2p_peer_tag(p);
    node *x = l->node;
    const cd_p2p_peer_info *info = cd_p2p_peer_get(p);
    n->finished_cnt++;
    x->delay_ns = 0;
    if (x->cert.n == 0 || info->ip_timestamp > x->timestamp) {
        node_set_ip(n, x, &info->ip, info->ip_timestamp, cd_buf_bytes(&info->cert), cd_buf_bytes(&info->ip_sig));
    }
    cd_counter_add(n->m.connected, 1);
    cd_gauge_set(n->m.peers, n->finished_cnt);
    n->owner.connected(n->owner.ctx, info);
    cd_p2p_peer_ask(p);
}

static void on_message(cd_p2p_host *h, cd_p2p_peer *p, cd_p2p_in *in)
{
    cd_p2p_net *n = NET(h);
    cd_node_id from = in->from;
    u64 began = now_of(n);
    (void)p;
    n->owner.message(n->owner.ctx, in);
    cd_p2p_net_used(n, &from, now_of(n) - began);
}

static void on_ended(cd_p2p_host *h, cd_p2p_peer *p)
{
    cd_p2p_net *n = NET(h);
    link *l = cd_p2p_peer_tag(p);
    const cd_p2p_peer_info *info = cd_p2p_peer_get(p);
    if (!cd_list_is_empty(&l->waiting)) {
        cd_list_del(&l->waiting);
        cd_gauge_add(n->m.waiting, -1);
    }
    n->has_ended = true;
    n->links_cnt--;
    l->node->link = NULL;
    l->node->left++;
    if (!info->is_finished) {
        dial_later(n, l->node);
    } else {
        l->node->dial_at_ns = now_of(n);
    }
    cd_counter_add(n->m.ends[info->end], 1);
    if (cd_log_is_on(n->cfg.log, CD_LOG_DEBUG)) {
        cd_buf text = {0};
        cd_node_id_put(&text, &info->node);
        cd_log_debug(n->cfg.log, "peer ended", CD_F("peer", cd_buf_bytes(&text)),
                     CD_F("why", cd_p2p_end_text(info->end)));
        cd_buf_fini(&text);
    }
    if (info->is_finished) {
        n->finished_cnt--;
        cd_counter_add(n->m.disconnected, 1);
        cd_gauge_set(n->m.peers, n->finished_cnt);
        n->owner.disconnected(n->owner.ctx, &info->node);
    }
}

/* --- what peers take --- */

static void show_pools(cd_p2p_net *n)
{
    cd_gauge_set(n->m.in_large, (i64)n->in.large_left);
    cd_gauge_set(n->m.in_part, (i64)n->in.part_left);
    cd_gauge_set(n->m.out_large, (i64)n->out.large_left);
    cd_gauge_set(n->m.out_part, (i64)n->out.part_left);
}

static bool pool_take(cd_p2p_net *n, cd_p2p_pool *pool, const cd_node_id *id, usize bytes)
{
    u64 weight;
    (void)validates(n, &PRIMARY, id, &weight);
    return cd_p2p_pool_take(pool, id, bytes, weight, n->owner.weight(n->owner.ctx, &PRIMARY));
}

/* Asks for everything that a frame needs, in the order of the original: unfinished messages, bandwidth, processor,
 * bytes. 0: granted. UINT64_MAX: wait until something is given back. Else: wait so many nanoseconds. */
static u64 try_take(link *l, usize bytes, u64 now)
{
    cd_p2p_net *n = l->net;
    const cd_node_id *id = &l->node->id;
    u64 weight;
    if (cd_p2p_peer_get(l->peer)->unfinished >= n->cfg.unfinished_max) {
        return UINT64_MAX;
    }
    cd_p2p_bucket before = l->bandwidth;
    u64 wait = cd_p2p_bucket_take(&l->bandwidth, bytes, now);
    if (wait != 0) {
        return wait;
    }
    (void)validates(n, &PRIMARY, id, &weight);
    double share = cd_p2p_usage_share(n->cfg.cpus, n->finished_cnt, weight, n->owner.weight(n->owner.ctx, &PRIMARY));
    bool is_greedy = cd_p2p_usage_of(&n->usage, id, now) > share;
    if (!is_greedy && pool_take(n, &n->in, id, bytes)) {
        return 0;
    }
    l->bandwidth = before;
    return is_greedy ? CPU_RECHECK_S * SEC : UINT64_MAX;
}

static bool in_take(cd_p2p_host *h, cd_p2p_peer *p, usize bytes)
{
    cd_p2p_net *n = NET(h);
    link *l = cd_p2p_peer_tag(p);
    u64 now = now_of(n);
    u64 wait = try_take(l, bytes, now);
    if (wait == 0) {
        return true;
    }
    l->wants = bytes;
    l->wait_until_ns = wait == UINT64_MAX ? UINT64_MAX : now + wait;
    cd_list_push_back(&n->waiting, &l->waiting);
    cd_gauge_add(n->m.waiting, 1);
    return false;
}

static bool in_more(cd_p2p_host *h, const cd_node_id *id, usize bytes)
{
    return pool_take(NET(h), &NET(h)->in, id, bytes);
}

/* Grants waiting frames that fit now, the oldest first; gives the earliest time at which another one may fit. */
static u64 grant_all(cd_p2p_net *n, u64 now)
{
    u64 next = UINT64_MAX;
    cd_list old = n->waiting; /* a link that must wait again, or begins to wait, goes to the end of the new list */
    if (cd_list_is_empty(&n->waiting)) {
        return next;
    }
    old.next->prev = &old;
    old.prev->next = &old;
    cd_list_init(&n->waiting);
    for (cd_list *it; (it = cd_list_first(&old)) != NULL;) {
        link *l = cd_list_of(it, link, waiting);
        u64 wait = l->wait_until_ns != UINT64_MAX && now < l->wait_until_ns ? l->wait_until_ns - now
                                                                            : try_take(l, l->wants, now);
        cd_list_del(it);
        if (wait == 0) {
            cd_gauge_add(n->m.waiting, -1);
            cd_p2p_peer_grant(l->peer); /* which may end other links: those leave the list that they are in */
            continue;
        }
        l->wait_until_ns = wait == UINT64_MAX ? UINT64_MAX : now + wait;
        next = cd_min_u64(next, l->wait_until_ns);
        cd_list_push_back(&n->waiting, it);
    }
    return next;
}

static void in_give(cd_p2p_host *h, const cd_node_id *id, usize bytes)
{
    cd_p2p_net *n = NET(h);
    cd_p2p_pool_give(&n->in, id, bytes);
}

static bool out_take(cd_p2p_host *h, const cd_node_id *id, usize bytes)
{
    return pool_take(NET(h), &NET(h)->out, id, bytes);
}

static void out_give(cd_p2p_host *h, const cd_node_id *id, usize bytes)
{
    cd_p2p_pool_give(&NET(h)->out, id, bytes);
}

void cd_p2p_net_used(cd_p2p_net *n, const cd_node_id *id, u64 cpu_ns)
{
    if (cpu_ns != 0 && node_find(n, id) != NULL) {
        cd_p2p_usage_add(&n->usage, id, cpu_ns, now_of(n));
    }
}

/* --- metrics --- */

static void seen(cd_p2p_host *h, u32 op, bool is_sent, bool fits, usize bytes, i64 saved)
{
    counters *m = &NET(h)->m;
    if (is_sent && op != CD_P2P_NONE) {
        cd_p2p_average_add(&NET(h)->send_fails, fits ? 0 : 1, now_of(NET(h)));
    }
    if (op == CD_P2P_NONE) {
        cd_counter_add(m->parse_failed, 1);
    } else if (!fits) {
        cd_counter_add(m->send_failed[op], 1);
    } else {
        bool is_zstd = is_sent ? cd_p2p_op_is_zstd(op) && !NET(h)->cfg.link.is_plain : saved != 0;
        cd_counter_add(m->msgs[is_sent][is_zstd][op], 1);
        cd_counter_add(m->bytes[is_sent][op], bytes);
        cd_gauge_add(m->saved[is_sent][op], saved);
    }
}

static void skew(cd_p2p_host *h, u64 seconds)
{
    cd_counter_add(NET(h)->m.skew_cnt, 1);
    cd_counter_add(NET(h)->m.skew_sum, cd_min_u64(seconds, UINT32_MAX));
}

static void metrics_of_op(counters *m, cd_metrics *r, u32 op)
{
    static const char *const io[] = {"received", "sent"};
    static const char *const compressed[] = {"false", "true"};
    for (u32 i = 0; i < 2; i++) {
        cd_label labels[] = {{"io", io[i]}, {"op", cd_p2p_op_name(op)}, {"compressed", NULL}};
        for (u32 z = 0; z < 2; z++) {
            labels[2].value = compressed[z];
            m->msgs[i][z][op] = cd_metrics_counter(r, "network_msgs", "Messages of peers.", labels, 3);
        }
        m->bytes[i][op] = cd_metrics_counter(r, "network_msgs_bytes", "Their bytes.", labels, 2);
        m->saved[i][op] =
            cd_metrics_gauge(r, "network_msgs_bytes_saved", "Bytes that compression has saved.", labels, 2);
    }
    cd_label label = {"op", cd_p2p_op_name(op)};
    m->send_failed[op] =
        cd_metrics_counter(r, "network_msgs_failed_to_send", "Messages without room in a queue.", &label, 1);
}

static void metrics_init(counters *m, cd_metrics *r)
{
    for (u32 op = 0; op < CD_P2P_OP_END; op++) {
        if (cd_p2p_op_name(op) != NULL) {
            metrics_of_op(m, r, op);
        }
    }
    for (u32 end = 0; end < CD_P2P_END_CNT; end++) {
        cd_label why = {"why", cd_p2p_end_text(end)};
        m->ends[end] = cd_metrics_counter(r, "network_peers_ended", "Connections that ended.", &why, 1);
    }
#define COUNTER(field, name, help) m->field = cd_metrics_counter(r, "network_" name, help, NULL, 0)
#define GAUGE(field, name, help)   m->field = cd_metrics_gauge(r, "network_" name, help, NULL, 0)
    COUNTER(parse_failed, "msgs_failed_to_parse", "Frames that were not understood.");
    COUNTER(connected, "times_connected", "Handshakes that were finished.");
    COUNTER(disconnected, "times_disconnected", "Finished connections that ended.");
    COUNTER(accepted, "inbound_conn_throttler_allowed", "Connections that came in.");
    COUNTER(rate_limited, "inbound_conn_throttler_rate_limited", "Connections that came in too fast.");
    COUNTER(tls_rejected, "tls_conn_rejected", "Connections that were not secured.");
    COUNTER(skew_cnt, "clock_skew_count", "Clocks of peers that were compared with ours.");
    COUNTER(skew_sum, "clock_skew_sum", "Seconds by which they differed.");
    COUNTER(bloom_resets, "ip_bloom_reset_count", "Times that the filter of known addresses was made anew.");
    GAUGE(peers, "peers", "Peers whose handshake is finished.");
    GAUGE(tracked, "tracked_peers", "Nodes that are known.");
    GAUGE(waiting, "byte_throttler_inbound_awaiting_acquire", "Peers whose next message waits for room.");
    GAUGE(in_large, "byte_throttler_inbound_remaining_at_large_bytes", "Room for messages of all peers.");
    GAUGE(in_part, "byte_throttler_inbound_remaining_validator_bytes", "Room for messages of validators.");
    GAUGE(out_large, "throttler_outbound_remaining_at_large_bytes", "Room for messages to all peers.");
    GAUGE(out_part, "throttler_outbound_remaining_validator_bytes", "Room for messages to validators.");
#undef COUNTER
#undef GAUGE
}

/* --- time --- */

/* Asks one connected validator, chosen uniformly, for peers. */
static void gossip(cd_p2p_net *n)
{
    link *chosen = NULL;
    u64 seen_cnt = 0;
    cd_list_each(it, &n->links)
    {
        link *l = cd_list_of(it, link, all);
        u64 weight;
        if (is_up(l) && validates(n, &PRIMARY, &l->node->id, &weight) && cd_rng_below(&n->rng, ++seen_cnt) == 0) {
            chosen = l;
        }
    }
    if (chosen != NULL) {
        cd_p2p_peer_ask(chosen->peer);
    }
}

/* Frees the links that have ended; no call into a peer is under way here. */
static void reap(cd_p2p_net *n)
{
    if (!n->has_ended) {
        return;
    }
    n->has_ended = false;
    cd_list_each_safe(it, &n->links)
    {
        link *l = cd_list_of(it, link, all);
        if (cd_p2p_peer_get(l->peer)->end != CD_P2P_END_NONE) {
            cd_list_del(it);
            cd_p2p_peer_free(l->peer);
            l->node->left--;
            node_let_go(n, l->node);
            cd_free(l);
        }
    }
}

static u64 tick_links(cd_p2p_net *n, u64 now)
{
    u64 next = UINT64_MAX;
    cd_list_each(it, &n->links)
    {
        link *l = cd_list_of(it, link, all);
        if (now >= l->tick_at_ns) {
            l->tick_at_ns = cd_p2p_peer_tick(l->peer);
        }
        next = cd_min_u64(next, l->tick_at_ns);
    }
    return next;
}

u64 cd_p2p_net_tick(cd_p2p_net *n)
{
    u64 now = now_of(n);
    if (now >= n->bloom_at_ns) {
        bloom_reset(n);
    }
    if (now >= n->gossip_at_ns) {
        n->gossip_at_ns = now + n->cfg.gossip_ns;
        gossip(n);
    }
    u64 next = cd_min_u64(n->bloom_at_ns, n->gossip_at_ns);
    next = cd_min_u64(next, tick_links(n, now));
    next = cd_min_u64(next, grant_all(n, now));
    reap(n);
    next = cd_min_u64(next, dial_all(n, now));
    cd_gauge_set(n->m.tracked, (i64)cd_hmap_cnt(&n->nodes));
    show_pools(n);
    if (!cd_list_is_empty(&n->waiting)) {
        next = cd_min_u64(next, now + STEP_MS * MS); /* another link may give something back at any time */
    }
    return n->has_ended ? now : next;
}

/* --- for the owner --- */

static link *finished_link(const cd_p2p_net *n, const cd_node_id *id)
{
    const node *x = node_find(n, id);
    return x != NULL && x->link != NULL && is_up(x->link) ? x->link : NULL;
}

bool cd_p2p_net_send(cd_p2p_net *n, const cd_node_id *to, const cd_p2p_msg *m)
{
    link *l = finished_link(n, to);
    if (l == NULL) {
        cd_counter_add(n->m.send_failed[m->op], 1);
        return false;
    }
    return cd_p2p_peer_send(l->peer, m);
}

/* Links that may get gossip of a subnet. Those of named nodes come first; *named_cnt counts them. The caller frees. */
static link **audience(const cd_p2p_net *n, u32 *cnt, u32 *named_cnt, const cd_hash32 *subnet, const cd_p2p_sample *to)
{
    link **all = cd_new_array(link *, n->links_cnt);
    cd_hmap named;
    cd_hmap_init(&named, CD_HASH_KEYED, sizeof(cd_node_id), 0);
    for (usize i = 0; i < to->nodes_cnt; i++) {
        (void)cd_hmap_put(&named, NULL, &to->nodes[i]);
    }
    *cnt = 0;
    *named_cnt = 0;
    cd_list_each(it, &n->links)
    {
        link *l = cd_list_of(it, link, all);
        if (!is_up(l) || !cd_p2p_peer_tracks(l->peer, subnet)) {
            continue;
        }
        all[(*cnt)++] = l;
        if (cd_hmap_get(&named, &l->node->id) != NULL) {
            all[*cnt - 1] = all[*named_cnt];
            all[(*named_cnt)++] = l;
        }
    }
    cd_hmap_fini(&named);
    return all;
}

u32 cd_p2p_net_gossip(cd_p2p_net *n, const cd_hash32 *subnet, const cd_p2p_sample *to, const cd_p2p_msg *m)
{
    cd_p2p_sample left = *to;
    cd_buf bytes = {0};
    u32 cnt;
    u32 named;
    u32 sent = 0;
    if (n->links_cnt == 0 || !cd_p2p_frame_put(&bytes, n->cfg.link.is_plain ? NULL : n->host.zstd, m)) {
        cd_buf_fini(&bytes);
        return 0;
    }
    link **all = audience(n, &cnt, &named, subnet, to);
    cd_shared *frame = cd_shared_take(&bytes);
    for (u32 i = 0; i < named; i++) {
        sent += cd_p2p_peer_send_frame(all[i]->peer, m, frame);
    }
    for (u32 i = named; i < cnt && left.validators + left.non_validators + left.peers != 0; i++) {
        u64 weight;
        u64 j = i + cd_rng_below(&n->rng, cnt - i);
        link *l = all[j];
        all[j] = all[i];
        u32 *kind = validates(n, subnet, &l->node->id, &weight) ? &left.validators : &left.non_validators;
        kind = *kind == 0 ? &left.peers : kind;
        if (*kind != 0) {
            --*kind;
            sent += cd_p2p_peer_send_frame(l->peer, m, frame);
        }
    }
    cd_shared_unref(frame);
    cd_free(all);
    return sent;
}

double cd_p2p_net_send_fail_rate(const cd_p2p_net *n)
{
    return cd_p2p_average_of(&n->send_fails);
}

bool cd_p2p_net_is_connected(const cd_p2p_net *n, const cd_node_id *id)
{
    return finished_link(n, id) != NULL;
}

const cd_p2p_peer_info *cd_p2p_net_peer(const cd_p2p_net *n, const cd_node_id *id)
{
    const link *l = finished_link(n, id);
    return l == NULL ? NULL : cd_p2p_peer_get(l->peer);
}

u32 cd_p2p_net_cnt(const cd_p2p_net *n)
{
    return n->finished_cnt;
}

void cd_p2p_net_each(cd_p2p_net *n, void (*fn)(void *ctx, const cd_p2p_peer_info *peer), void *ctx)
{
    cd_list_each(it, &n->links)
    {
        const link *l = cd_list_of(it, link, all);
        if (is_up(l)) {
            fn(ctx, cd_p2p_peer_get(l->peer));
        }
    }
}

cd_err cd_p2p_net_uptime(const cd_p2p_net *n, cd_p2p_own_uptime *out)
{
    u64 own;
    u64 total = n->owner.weight(n->owner.ctx, &PRIMARY);
    if (!validates(n, &PRIMARY, &n->cfg.id->node_id, &own) || total == 0) {
        return CD_ENOENT;
    }
    double average = 100.0 * (double)own;
    double rewarding = (double)own;
    for (const cd_list *it = n->links.next; it != &n->links; it = it->next) {
        const link *l = cd_list_of(it, const link, all);
        const cd_p2p_peer_info *info = cd_p2p_peer_get(l->peer);
        u64 weight;
        if (is_up(l) && validates(n, &PRIMARY, &l->node->id, &weight)) {
            average += (double)info->observed_uptime * (double)weight;
            rewarding += info->observed_uptime / 100.0 >= n->cfg.requirement ? (double)weight : 0;
        }
    }
    *out = (cd_p2p_own_uptime){.rewarding_stake = 100 * rewarding / (double)total,
                               .weighted_average = average / (double)total};
    return CD_OK;
}

void cd_p2p_net_set_ip(cd_p2p_net *n, const cd_p2p_ip *own)
{
    if (n->ip.sig.n == 0 || !cd_p2p_ip_eq(own, &n->ip.ip)) {
        cd_p2p_ip_sign(&n->ip, n->cfg.id, own, cd_clock_wall_s(n->cfg.clock));
    }
}

/* --- life --- */

static void defaults(cd_p2p_net_cfg *c)
{
    c->peers_max = c->peers_max != 0 ? c->peers_max : 4096;
    c->conn_rate = c->conn_rate != 0 ? c->conn_rate : 256;
    c->dial_rate = c->dial_rate != 0 ? c->dial_rate : 50;
    c->unfinished_max = c->unfinished_max != 0 ? c->unfinished_max : CD_P2P_UNFINISHED_MAX;
    c->cpus = c->cpus != 0 ? c->cpus : 1;
    c->requirement = c->requirement != 0 ? c->requirement : 0.8;
    set_default(&c->cooldown_ns, 10 * SEC);
    set_default(&c->delay_min_ns, SEC);
    set_default(&c->delay_max_ns, 60 * SEC);
    set_default(&c->gossip_ns, 2 * SEC);
    set_default(&c->bloom_ns, 60 * SEC);
    set_default(&c->in_large, 6 * MIB);
    set_default(&c->in_large_node, 2 * MIB);
    set_default(&c->in_part, 32 * MIB);
    set_default(&c->out_large, 32 * MIB);
    set_default(&c->out_large_node, 2 * MIB);
    set_default(&c->out_part, 32 * MIB);
    set_default(&c->bandwidth, 512 * KIB);
    set_default(&c->bandwidth_burst, 2 * MIB);
    set_default(&c->link.clock_max_s, 60);
    CD_ASSERT(c->bandwidth_burst >= CD_P2P_FRAME_MAX && c->in_large_node >= CD_P2P_FRAME_MAX);
}

cd_p2p_net *cd_p2p_net_new(const cd_p2p_net_cfg *cfg, const cd_p2p_owner *owner, const cd_p2p_transport *transport,
                           const cd_p2p_ip *own)
{
    cd_p2p_net *n = cd_new(cd_p2p_net);
    n->cfg = *cfg;
    defaults(&n->cfg);
    n->owner = *owner;
    n->transport = *transport;
    n->rng = cfg->seed == 0 ? cd_rng_os() : cd_rng_seeded(cfg->seed);
    n->host = (cd_p2p_host){.cfg = &n->cfg.link,
                            .clock = cfg->clock,
                            .zstd = cd_zstd_new(CD_P2P_FRAME_MAX),
                            .own_ip = own_ip,
                            .known = known,
                            .is_all = is_all,
                            .bls_key = bls_key,
                            .is_wanted = is_wanted,
                            .uptime = uptime,
                            .peers_for = peers_for,
                            .claim = claim,
                            .connected = on_connected,
                            .message = on_message,
                            .ended = on_ended,
                            .in_take = in_take,
                            .in_more = in_more,
                            .in_give = in_give,
                            .out_take = out_take,
                            .out_give = out_give,
                            .seen = seen,
                            .skew = skew};
    u64 now = now_of(n);
    cd_hmap_init(&n->nodes, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(node *));
    cd_hmap_init(&n->blocked, CD_HASH_KEYED, sizeof(cd_node_id), 0);
    cd_hmap_init(&n->recent, CD_HASH_KEYED, 16, sizeof(u64));
    cd_list_init(&n->links);
    cd_list_init(&n->nodes_all);
    cd_list_init(&n->waiting);
    cd_p2p_pool_init(&n->in, n->cfg.in_large, n->cfg.in_large_node, n->cfg.in_part, false);
    cd_p2p_pool_init(&n->out, n->cfg.out_large, n->cfg.out_large_node, n->cfg.out_part, true);
    cd_p2p_usage_init(&n->usage, 15 * SEC);
    cd_p2p_average_init(&n->send_fails, 0, 10 * SEC, now);
    cd_p2p_bucket_init(&n->conns, n->cfg.conn_rate, n->cfg.conn_rate, now);
    cd_p2p_bucket_init(&n->dials, n->cfg.dial_rate, n->cfg.dial_rate, now);
    n->own_metrics = cfg->metrics == NULL ? cd_metrics_new("") : NULL;
    metrics_init(&n->m, cfg->metrics == NULL ? n->own_metrics : cfg->metrics);
    cd_p2p_net_set_ip(n, own);
    bloom_reset(n);
    n->gossip_at_ns = now + n->cfg.gossip_ns;
    return n;
}

void cd_p2p_net_free(cd_p2p_net *n)
{
    if (n == NULL) {
        return;
    }
    cd_list_each(it, &n->links)
    {
        cd_p2p_peer_end(cd_list_of(it, link, all)->peer, CD_P2P_END_LOCAL);
    }
    reap(n);
    cd_list_each_safe(it, &n->nodes_all)
    {
        node_free(cd_list_of(it, node, all));
    }
    cd_hmap_fini(&n->nodes);
    cd_hmap_fini(&n->recent);
    cd_hmap_fini(&n->blocked);
    cd_p2p_pool_fini(&n->in);
    cd_p2p_pool_fini(&n->out);
    cd_p2p_usage_fini(&n->usage);
    cd_p2p_bloom_fini(&n->bloom);
    cd_p2p_signed_ip_fini(&n->ip);
    cd_zstd_free(n->host.zstd);
    cd_metrics_free(n->own_metrics);
    cd_free(n);
}
