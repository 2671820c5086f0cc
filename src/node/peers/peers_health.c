/* What is well with the peers of a node, in the original's words. */
#include "base/num_text.h"
#include "codec/api_json.h"
#include "node/front/health.h"
#include "node/peers/peers_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* --- network --- */

/* When somebody was heard, and spoken to, last; 0: never. */
typedef struct last {
    u64 received_ns;
    u64 sent_ns;
} last;

static void look_at(void *ctx, const cd_p2p_peer_info *peer)
{
    last *l = ctx;
    l->received_ns = cd_max_u64(l->received_ns, peer->received_ns);
    l->sent_ns = cd_max_u64(l->sent_ns, peer->sent_ns);
}

static void add_reason(cd_node_peers *p, const char *reason)
{
    usize n = strlen(p->wrong);
    const char *before = n == 0 ? "network layer is unhealthy reason: " : ", ";
    (void)snprintf(p->wrong + n, sizeof p->wrong - n, "%s%s", before, reason);
}

/* One direction; whoever needs no peer to be well need not hear any. */
static void check_since(cd_node_peers *p, cd_json_w *w, const char *key, u64 at_ns, u64 max_ns, const char *never,
                        const char *seldom)
{
    u64 since = cd_clock_mono_ns(p->env.clock) - at_ns;
    if (at_ns != 0) {
        cd_health_put_since(w, key, since);
    }
    if (p->cfg.min_connected != 0 && (at_ns == 0 || since > max_ns)) {
        char text[96];
        char span[CD_DURATION_TEXT_MAX];
        (void)cd_duration_fmt(span, max_ns);
        (void)snprintf(text, sizeof text, "%s%s", at_ns == 0 ? never : seldom, at_ns == 0 ? "" : span);
        add_reason(p, text);
    }
}

const char *cd_node_peers_health(void *ctx, cd_json_w *message)
{
    cd_node_peers *p = ctx;
    const cd_node_tuning *t = &p->cfg.tuning;
    cd_p2p_net *net = cd_p2p_tcp_net(p->tcp);
    double fails = cd_p2p_net_send_fail_rate(net);
    u32 cnt = cd_p2p_net_cnt(net);
    char text[96];
    last l = {0};
    cd_p2p_net_each(net, look_at, &l);
    p->wrong[0] = 0;
    if (cnt < p->cfg.min_connected) {
        (void)snprintf(text, sizeof text, "not connected to a minimum of %u peer(s) only %u", p->cfg.min_connected,
                       cnt);
        add_reason(p, text);
    }
    cd_json_w_obj(message);
    cd_json_put_u64(message, "connectedPeers", cnt);
    cd_json_w_key(message, "sendFailRate");
    cd_json_w_f64(message, fails);
    check_since(p, message, "timeSinceLastMsgReceived", l.received_ns, t->silence_in_ns,
                "no messages received from network", "no messages from network received in ");
    check_since(p, message, "timeSinceLastMsgSent", l.sent_ns, t->silence_out_ns, "no messages sent to network",
                "no messages from network sent in ");
    cd_json_w_obj_end(message);
    if (fails > t->send_fails_max) {
        (void)snprintf(text, sizeof text, "messages failure send rate is above %g", t->send_fails_max);
        add_reason(p, text);
    }
    return p->wrong[0] == 0 ? NULL : p->wrong;
}

/* --- figures, in the original's names --- */

static void set(const cd_node_peers *p, const char *name, const char *help, double value)
{
    cd_gauge_set(cd_metrics_gauge(p->env.metrics, name, help, NULL, 0), (i64)value);
}

void cd__peers_measure(const cd_node_peers *p)
{
    const cd_p2p_requests *q = cd_p2p_router_requests(p->router);
    u64 now = cd_clock_mono_ns(p->env.clock);
    cd_p2p_own_uptime up = {0};
    last l = {0};
    if (p->env.metrics == NULL || p->tcp == NULL) {
        return;
    }
    cd_p2p_net_each(cd_p2p_tcp_net(p->tcp), look_at, &l);
    (void)!cd_p2p_net_uptime(cd_p2p_tcp_net(p->tcp), &up); /* who validates nothing has 0 */
    set(p, "requests_outstanding", "Answers that are awaited", (double)cd_p2p_requests_cnt(q));
    set(p, "requests_current_timeout", "Nanoseconds that an answer may take", (double)cd_p2p_requests_timeout(q));
    set(p, "requests_longest_running", "Nanoseconds that the oldest answer has been awaited",
        (double)cd_p2p_requests_longest(q, now));
    set(p, "network_time_since_last_msg_received", "Nanoseconds since any peer was heard",
        l.received_ns == 0 ? 0 : (double)(now - l.received_ns));
    set(p, "network_time_since_last_msg_sent", "Nanoseconds since anything was said",
        l.sent_ns == 0 ? 0 : (double)(now - l.sent_ns));
    set(p, "network_node_uptime_weighted_average", "Percent of time that peers saw this node, by their stake",
        up.weighted_average);
    set(p, "network_node_uptime_rewarding_stake", "Percent of stake that saw it for long enough", up.rewarding_stake);
}

/* --- router --- */

const char *cd_node_peers_router_health(void *ctx, cd_json_w *message)
{
    const cd_node_peers *p = ctx;
    const cd_p2p_requests *q = cd_p2p_router_requests(p->router);
    u64 longest = cd_p2p_requests_longest(q, cd_clock_mono_ns(p->env.clock));
    cd_json_w_obj(message);
    cd_health_put_since(message, "longestRunningRequest", longest);
    cd_json_put_u64(message, "outstandingRequests", cd_p2p_requests_cnt(q));
    cd_json_w_obj_end(message);
    return longest > p->cfg.tuning.request_ns                    ? "an answer of a peer is awaited for too long"
           : cd_p2p_requests_cnt(q) > p->cfg.tuning.requests_max ? "too many answers of peers are awaited"
                                                                 : NULL;
}

/* --- the key for BLS signatures --- */

const char *cd_node_peers_bls_health(void *ctx, cd_json_w *message)
{
    const cd_node_peers *p = ctx;
    static const cd_hash32 primary;
    const cd_staker *v = cd_stakers_find(p->stakers, &primary, &p->cfg.id->node_id);
    cd_bls_pk registered;
    u8 packed[CD_BLS_PK_LEN];
    if (v == NULL) {
        cd_json_w_cstr(message, "node is not a validator");
        return NULL;
    }
    if (!v->has_key || cd_bls_pk_dec(&registered, cd_bytes_of(v->key, sizeof v->key)) != CD_OK) {
        cd_json_w_null(message);
        return "validator doesn't have a BLS key";
    }
    cd_bls_pk_enc(packed, &registered);
    bool is_same = memcmp(packed, p->cfg.id->bls_public, sizeof packed) == 0;
    cd_json_w_cstr(message, is_same ? "node has the correct BLS key" : "node has another BLS key");
    return is_same ? NULL : "node has another BLS key than the one it is registered to the validator set with";
}

/* --- the stake behind a chain --- */

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_node_id));
}

static bool is_there(const cd_node_peers *p, const cd_hash32 *chain, const cd_node_id *node)
{
    return memcmp(node, &p->cfg.id->node_id, sizeof *node) == 0 ||
           (p->tcp != NULL && cd_p2p_net_is_connected(cd_p2p_tcp_net(p->tcp), node) &&
            !cd_p2p_requests_is_benched(cd_p2p_router_requests(p->router), chain, node));
}

/* Who cannot be reached, and how much of the stake can. */
typedef struct reach {
    const cd_node_peers *p;
    const cd_hash32 *chain;
    cd_node_id *away;
    usize away_cnt;
    u64 there;
} reach;

static void reach_one(void *ctx, const cd_node_id *node, const cd_staker *v)
{
    reach *r = ctx;
    if (is_there(r->p, r->chain, node)) {
        r->there += v->weight;
    } else {
        r->away[r->away_cnt++] = *node;
    }
}

static const cd_hash32 *net_of(const cd_node_peers *p, const cd_hash32 *chain)
{
    static const cd_hash32 primary;
    for (usize i = 0; i < p->link_cnt; i++) {
        if (cd_hash32_eq(&p->links[i].chain, chain)) {
            return &p->links[i].net;
        }
    }
    return &primary;
}

double cd_node_peers_connected(const cd_node_peers *p, const cd_hash32 *chain, cd_json_w *w)
{
    cd_arena a = {0};
    const cd_hash32 *net = net_of(p, chain);
    const u64 weight = cd_stakers_weight(p->stakers, net);
    reach r = {.p = p, .chain = chain, .away = cd_arena_array(&a, cd_node_id, cd_stakers_cnt(p->stakers, net))};
    cd_stakers_each(p->stakers, net, reach_one, &r);
    cd_node_id *away = r.away;
    usize cnt = r.away_cnt;
    if (cnt > 1) {
        qsort(away, cnt, sizeof *away, by_bytes);
    }
    cd_json_w_key(w, "disconnectedValidators");
    cd_json_w_arr(w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_node_id(w, &away[i]);
    }
    cd_json_w_arr_end(w);
    double share = weight == 0 ? 1 : (double)r.there / (double)weight;
    cd_json_w_key(w, "percentConnected");
    cd_json_w_f64(w, share);
    cd_arena_fini(&a);
    return share;
}
