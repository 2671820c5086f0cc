#include "node/peers/peers_priv.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/thread/thread.h"
#include "codec/api_json.h"

#include <stdio.h>

enum { LOOK_MS = 1000, ROUTER_MAX_MS = 1000, CLAIMS_A_LOOK = 32 };

/* The version of the protocol, as peers compare it. [spec:p2p#4.1] */
static const cd_p2p_version version = {1, 13, 3};
static const cd_p2p_version version_min = {1, 13, 0};
static const cd_p2p_version version_min_prev = {1, 12, 0};

static u64 now_of(const cd_node_peers *p)
{
    return cd_clock_mono_ns(p->env.clock);
}

/* --- validators --- */

static void look(cd_node_peers *p)
{
    cd_stakers_look(p->stakers, p->env.validators(p->env.ctx), p->env.log);
}

/* Walks over nets that peers track, some in a second: peers may claim as many as they like, and nets come to be. */
typedef struct claims {
    cd_node_peers *p;
    const cd_vm_validators *who;
    u32 skip; /* of those that nobody knows, which had their turn */
    u32 seen;
    u32 asked;
} claims;

static void look_at_claims(void *ctx, const cd_p2p_peer_info *peer)
{
    claims *c = ctx;
    for (u32 i = 0; i < peer->subnets_cnt && c->asked < CLAIMS_A_LOOK; i++) {
        bool is_known = cd_stakers_cnt(c->p->stakers, &peer->subnets[i]) != 0;
        if (!is_known && c->seen++ >= c->skip) {
            c->asked += cd_stakers_want(c->p->stakers, c->who, &peer->subnets[i]);
        }
    }
}

static void look_at_peers(cd_node_peers *p)
{
    claims c = {.p = p, .who = p->env.validators(p->env.ctx), .skip = p->claims_done};
    cd_p2p_net_each(cd_p2p_tcp_net(p->tcp), look_at_claims, &c);
    p->claims_done = c.asked == CLAIMS_A_LOOK ? c.seen : 0;
}

static void on_timer(void *ctx)
{
    look(ctx);
    look_at_peers(ctx);
    cd__peers_measure(ctx);
}

/* --- whom the network works for --- */

/* A registration is told from others by its key. */
static bool on_validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node)
{
    const cd_node_peers *p = ctx;
    const cd_staker *v = cd_stakers_find(p->stakers, subnet, node);
    if (v == NULL) {
        return false;
    }
    *out = (cd_p2p_validator){.weight = v->weight};
    out->has_key = v->has_key && cd_bls_pk_dec(&out->key, cd_bytes_of(v->key, sizeof v->key)) == CD_OK;
    memcpy(out->id.b, v->key, sizeof out->id.b);
    return true;
}

static u64 on_weight(void *ctx, const cd_hash32 *subnet)
{
    return cd_stakers_weight(((const cd_node_peers *)ctx)->stakers, subnet);
}

/* The P-Chain counts, and remembers over restarts. */
static u32 on_uptime(void *ctx, const cd_node_id *node)
{
    const cd_node_peers *p = ctx;
    const cd_vm_validators *who = p->env.validators(p->env.ctx);
    u64 up;
    u64 span;
    if (who == NULL || who->uptime == NULL || who->uptime(who, &up, &span, node) != CD_OK) {
        return 0;
    }
    return span == 0 ? 100 : (u32)(up * 100 / span);
}

static void log_peer(const cd_node_peers *p, const char *what, const cd_node_id *node)
{
    cd_buf text = {0};
    cd_node_id_put(&text, node);
    cd_log_info(p->env.log, what, CD_F("node", cd_buf_cstr(&text)),
                CD_F("peers", (u64)cd_p2p_net_cnt(cd_p2p_tcp_net(p->tcp))));
    cd_buf_fini(&text);
}

static void on_connected(void *ctx, const cd_p2p_peer_info *peer)
{
    const cd_node_peers *p = ctx;
    const cd_vm_validators *who = p->env.validators(p->env.ctx);
    for (u32 i = 0; i < peer->subnets_cnt; i++) {
        (void)cd_stakers_want(p->stakers, who, &peer->subnets[i]);
    }
    log_peer(p, "peers: connected", &peer->node);
    p->routed.connected(p->routed.ctx, peer);
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    const cd_node_peers *p = ctx;
    log_peer(p, "peers: disconnected", node);
    p->routed.disconnected(p->routed.ctx, node);
}

static void on_message(void *ctx, cd_p2p_in *in)
{
    const cd_node_peers *p = ctx;
    p->routed.message(p->routed.ctx, in);
}

/* --- whom it does not speak to --- */

enum { BLOCKED_MAX = 1 << 20 };

/* One ID of a text that is used up; false: the text is no list of IDs. An empty line is fine. */
static bool read_id(cd_node_id *out, bool *is_there, cd_bytes *text)
{
    usize n = 0;
    while (n < text->n && text->p[n] != '\n') {
        n++;
    }
    cd_bytes line = cd_bytes_of(text->p, n);
    usize used = n < text->n ? n + 1 : n;
    *text = cd_bytes_sub(*text, used, text->n - used);
    *is_there = line.n != 0;
    return line.n == 0 || cd_node_id_parse(out, line, NULL) == CD_OK;
}

static bool block_all(cd_p2p_net *net, cd_bytes text)
{
    cd_arena a = {0};
    cd_node_id *ids = cd_arena_array(&a, cd_node_id, text.n / sizeof(cd_node_id) + 1); /* a line is longer than an ID */
    usize cnt = 0;
    bool is_good = true;
    while (is_good && text.n != 0) {
        bool is_there;
        is_good = read_id(&ids[cnt], &is_there, &text);
        cnt += is_there && is_good;
    }
    if (is_good) {
        cd_p2p_net_block(net, ids, cnt);
    }
    cd_arena_fini(&a);
    return is_good;
}

void cd_node_peers_reload(cd_node_peers *p)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    if (p->tcp == NULL || p->cfg.blocked == NULL || p->cfg.blocked[0] == '\0') {
        return;
    }
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, p->cfg.blocked, BLOCKED_MAX, &why);
    if (e == CD_OK && !block_all(cd_p2p_tcp_net(p->tcp), cd_buf_bytes(&text))) {
        e = cd_fail(&why, CD_EFORMAT, "%.200s: a NodeID is needed on each line", p->cfg.blocked);
    }
    if (e != CD_OK) {
        cd_log_warn(p->env.log, "peers: who is blocked stays as it was", CD_F("error", why.msg));
    }
    cd_buf_fini(&text);
    cd_p2p_tcp_wake(p->tcp);
}

/* --- chains --- */

static void on_router_timer(void *ctx)
{
    cd_node_peers *p = ctx;
    u64 next = cd_p2p_router_tick(p->router);
    u64 now = now_of(p);
    u64 ms = next <= now ? 0 : (next - now) / CD_NS_PER_MS + 1;
    cd_timer_start(p->router_timer, cd_min_u64(ms, ROUTER_MAX_MS), 0);
}

static void wake_router(void *ctx)
{
    cd_timer_start(((cd_node_peers *)ctx)->router_timer, 0, 0);
}

static void on_used(void *ctx, const cd_node_id *node, u64 ns)
{
    cd_p2p_net_used(cd_p2p_tcp_net(((cd_node_peers *)ctx)->tcp), node, ns);
}

static void on_tick(void *ctx)
{
    const cd_node_peers *p = ctx;
    for (usize i = 0; i < p->link_cnt; i++) {
        cd_link_tick(p->links[i].link);
    }
}

cd_link *cd_node_peers_link(cd_node_peers *p, const cd_hash32 *chain, const cd_hash32 *net, const char *name)
{
    const cd_link_cfg cfg = {
        .loop = p->env.loop,
        .router = p->router,
        .wake = wake_router,
        .used = on_used,
        .ctx = p,
        .clock = p->env.clock,
        .chain = *chain,
        .net = *net,
        .log = p->env.log,
        .name = name,
        .own = p->cfg.id->node_id,
        .record_dir = p->cfg.record_dir,
    };
    if (!p->cfg.decides) {
        return NULL;
    }
    CD_ASSERT(p->link_cnt < CD__PEERS_LINKS_MAX);
    cd_link *l = cd_link_new(&cfg);
    p->links[p->link_cnt].link = l;
    p->links[p->link_cnt].chain = *chain;
    p->links[p->link_cnt].net = *net;
    p->links[p->link_cnt++].name = name;
    return l;
}

void cd_node_peers_unlink(cd_node_peers *p, cd_link *l)
{
    for (usize i = 0; i < p->link_cnt; i++) {
        if (p->links[i].link == l) {
            p->links[i] = p->links[--p->link_cnt];
            break;
        }
    }
    cd_link_free(l);
}

/* --- life --- */

static cd_p2p_owner staking_of(cd_node_peers *p)
{
    return (cd_p2p_owner){.ctx = p, .validator = on_validator, .weight = on_weight, .uptime = on_uptime};
}

static cd_err open_tcp(cd_node_peers *p, cd_errinfo *why)
{
    const cd_node_tuning *t = &p->cfg.tuning;
    cd_p2p_net_cfg net = t->net;
    net.link.network_id = p->env.network->id;
    net.link.client = "candela";
    net.link.version = version;
    net.link.version_min = version_min;
    net.link.version_min_prev = version_min_prev;
    net.link.subnets = p->cfg.nets;
    net.link.subnets_cnt = (u32)p->cfg.net_cnt;
    net.id = p->cfg.id;
    net.clock = p->env.clock;
    net.metrics = p->env.metrics;
    net.log = p->env.log;
    net.allow_private = p->cfg.allow_private;
    net.cpus = cd_thread_cpus();
    net.requirement = p->env.network->economy->uptime_requirement / 1e6;
    cd_p2p_owner owner = staking_of(p);
    owner.connected = on_connected;
    owner.disconnected = on_disconnected;
    owner.message = on_message;
    const cd_p2p_tcp_cfg tcp = {
        .host = p->cfg.host,
        .port = p->cfg.port,
        .own = p->cfg.own,
        .dial_timeout_ms = (u32)(t->dial_timeout_ns / CD_NS_PER_MS),
        .handshake_timeout_ms = (u32)(t->tls_timeout_ns / CD_NS_PER_MS),
    };
    return cd_p2p_tcp_open(&p->tcp, p->env.loop, &tcp, &net, &owner, why);
}

cd_node_peers *cd_node_peers_new(const cd_node_peers_cfg *cfg, const cd_node_peers_env *env)
{
    cd_node_peers *p = cd_new(cd_node_peers);
    p->cfg = *cfg;
    p->env = *env;
    p->stakers = cd_stakers_new(cfg->nets, cfg->net_cnt);
    cd_node_tuning_fill(&p->cfg.tuning);
    const cd_p2p_router_cfg router = {
        .own = cfg->id->node_id,
        .clock = env->clock,
        .staking = staking_of(p),
        .requests = cfg->tuning.requests,
        .deadline_max_ns = cfg->tuning.deadline_max_ns,
    };
    p->router = cd_p2p_router_new(&router);
    p->routed = cd_p2p_router_owner(p->router);
    p->timer = cd_timer_new(env->loop, on_timer, p);
    p->router_timer = cd_timer_new(env->loop, on_router_timer, p);
    p->tick_timer = cd_timer_new(env->loop, on_tick, p);
    return p;
}

/* Nodes that are known from the start are dialled; this one may be among them. */
static void add_known(const cd_node_peers *p, cd_p2p_net *net, const cd_node_beacon *beacons, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (memcmp(&beacons[i].node, &p->cfg.id->node_id, sizeof(cd_node_id)) != 0) {
            cd_p2p_net_add(net, &beacons[i].node, &beacons[i].ip);
        }
    }
}

cd_err cd_node_peers_open(cd_node_peers *p, cd_errinfo *why)
{
    const cd_node_peers_cfg *cfg = &p->cfg;
    look(p);
    CD_TRY(open_tcp(p, why));
    cd_p2p_net *net = cd_p2p_tcp_net(p->tcp);
    cd_p2p_router_bind(p->router, net);
    add_known(p, net, cfg->beacons, cfg->beacon_cnt);
    add_known(p, net, cfg->sync_beacons, cfg->sync_beacon_cnt);
    cd_node_peers_reload(p);
    cd_p2p_tcp_wake(p->tcp);
    cd_timer_start(p->timer, LOOK_MS, LOOK_MS);
    cd_timer_start(p->router_timer, 0, 0);
    u64 tick_ms = p->cfg.tuning.tick_ns / CD_NS_PER_MS;
    cd_timer_start(p->tick_timer, tick_ms, tick_ms);
    return CD_OK;
}

void cd_node_peers_close(cd_node_peers *p)
{
    if (p == NULL) {
        return;
    }
    CD_ASSERT(p->link_cnt == 0);
    cd_timer_free(p->timer);
    cd_timer_free(p->router_timer);
    cd_timer_free(p->tick_timer);
    cd_p2p_tcp_close(p->tcp);
    cd_p2p_router_free(p->router);
    cd_stakers_free(p->stakers);
    cd_free(p);
}

const cd_node_tuning *cd_node_peers_tuning(const cd_node_peers *p)
{
    return &p->cfg.tuning;
}

u16 cd_node_peers_port(const cd_node_peers *p)
{
    return cd_p2p_tcp_port(p->tcp);
}

cd_p2p_ip cd_node_peers_own(const cd_node_peers *p)
{
    cd_p2p_ip own = p->cfg.own;
    own.port = own.port != 0 ? own.port : cd_p2p_tcp_port(p->tcp);
    return own;
}

/* --- what is told of it --- */

typedef struct list {
    const cd_node_peers *p;
    cd_json_w *w;
    const cd_node_id *ids;
    usize ids_cnt;
    usize cnt;
} list;

static bool is_asked(const list *l, const cd_node_id *node)
{
    bool is = l->ids_cnt == 0;
    for (usize i = 0; i < l->ids_cnt && !is; i++) {
        is = memcmp(&l->ids[i], node, sizeof *node) == 0;
    }
    return is;
}

/* Whole seconds on the wall clock of a moment on the monotonic one. */
static void put_moment(const list *l, const char *key, u64 mono_ns)
{
    const cd_clock *clock = l->p->env.clock;
    u64 wall = cd_clock_wall_ns(clock) - (cd_clock_mono_ns(clock) - mono_ns);
    cd_json_put_time(l->w, key, wall - wall % CD_NS_PER_SEC);
}

static void put_tracked(const list *l, const cd_p2p_peer_info *peer)
{
    static const cd_hash32 primary;
    char key[32];
    (void)snprintf(key, sizeof key, "tracked%ss", l->p->env.network->family->Net);
    cd_json_w_key(l->w, key);
    cd_json_w_arr(l->w);
    cd_json_w_id(l->w, &primary);
    for (u32 i = 0; i < peer->subnets_cnt; i++) {
        cd_json_w_id(l->w, &peer->subnets[i]);
    }
    cd_json_w_arr_end(l->w);
}

static void put_benched(const list *l, const cd_node_id *node)
{
    const cd_p2p_requests *q = cd_p2p_router_requests(l->p->router);
    cd_json_w_key(l->w, "benched");
    cd_json_w_arr(l->w);
    for (usize i = 0; i < l->p->link_cnt; i++) {
        if (cd_p2p_requests_is_benched(q, &l->p->links[i].chain, node)) {
            cd_json_w_cstr(l->w, l->p->links[i].name);
        }
    }
    cd_json_w_arr_end(l->w);
}

/* Both addresses are the one that the peer has signed: the port that it came from says nothing. */
static void put_peer(void *ctx, const cd_p2p_peer_info *peer)
{
    list *l = ctx;
    char ip[CD_P2P_IP_TEXT_MAX];
    char client[CD_P2P_CLIENT_NAME_MAX + 40];
    if (!is_asked(l, &peer->node)) {
        return;
    }
    cd_p2p_ip_fmt(ip, &peer->ip);
    (void)snprintf(client, sizeof client, "%s/%u.%u.%u", peer->client, peer->version.major, peer->version.minor,
                   peer->version.patch);
    cd_json_w_obj(l->w);
    cd_json_put_cstr(l->w, "ip", ip);
    cd_json_put_cstr(l->w, "publicIP", ip);
    cd_json_put_node_id(l->w, "nodeID", &peer->node);
    cd_json_put_cstr(l->w, "version", client);
    put_moment(l, "lastSent", peer->sent_ns);
    put_moment(l, "lastReceived", peer->received_ns);
    cd_json_put_dec(l->w, "observedUptime", peer->observed_uptime);
    put_tracked(l, peer);
    put_benched(l, &peer->node);
    cd_json_w_obj_end(l->w);
    l->cnt++;
}

usize cd_node_peers_list(cd_node_peers *p, cd_json_w *w, const cd_node_id *ids, usize cnt)
{
    list l = {.p = p, .w = w, .ids = ids, .ids_cnt = cnt};
    cd_p2p_net_each(cd_p2p_tcp_net(p->tcp), put_peer, &l);
    return l.cnt;
}

static cd_node_id *ids_of(const cd_node_beacon *beacons, usize beacon_cnt, u32 *cnt)
{
    cd_node_id *ids = cd_new_array(cd_node_id, beacon_cnt);
    *cnt = 0;
    for (usize i = 0; i < beacon_cnt; i++) {
        bool is_new = true;
        for (u32 k = 0; k < *cnt && is_new; k++) {
            is_new = memcmp(&ids[k], &beacons[i].node, sizeof *ids) != 0;
        }
        if (is_new) {
            ids[(*cnt)++] = beacons[i].node;
        }
    }
    return ids;
}

cd_node_id *cd_node_peers_beacons(const cd_node_peers *p, u32 *cnt)
{
    return ids_of(p->cfg.beacons, p->cfg.beacon_cnt, cnt);
}

cd_node_id *cd_node_peers_sync_beacons(const cd_node_peers *p, u32 *cnt)
{
    return ids_of(p->cfg.sync_beacons, p->cfg.sync_beacon_cnt, cnt);
}

static u32 millionths(double percent)
{
    return (u32)(percent * 10000 + 0.5);
}

bool cd_node_peers_uptime(const cd_node_peers *p, cd_info_uptime *out)
{
    cd_p2p_own_uptime up;
    if (cd_p2p_net_uptime(cd_p2p_tcp_net(p->tcp), &up) != CD_OK) {
        return false;
    }
    *out = (cd_info_uptime){.rewarding = millionths(up.rewarding_stake), .average = millionths(up.weighted_average)};
    return true;
}
