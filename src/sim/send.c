/* Sends messages of nodes in the bytes of the production codec; the network delays, loses, doubles or cuts them. */
#include "base/num_text.h"
#include "sim/sim_priv.h"

enum { BACKLOG_US = 2000000, LATE_US = 500000, ALARM_US = 10000000, DEADLINE_NS = 2000000000 };

/* Delay one way between regions, in milliseconds. */
static const u16 far_ms[REGIONS][REGIONS] = {
    {5, 40, 70, 110, 140}, {40, 5, 45, 90, 120}, {70, 45, 5, 60, 90}, {110, 90, 60, 5, 50}, {140, 120, 90, 50, 5},
};

static sim_node *node_of(const cd_snow_net *net)
{
    return (sim_node *)(void *)(uintptr_t)net;
}

/* --- the network --- */

u64 cd__world_least_latency_us(cd_sim_latency class)
{
    static const u64 us[] = {[CD_SIM_LAN] = 1000, [CD_SIM_REGION] = 8000, [CD_SIM_WORLD] = 5000};
    return us[class];
}

static u64 latency_us(const world *w, const sim_node *from, const sim_node *to, u32 random)
{
    u64 base = cd__world_least_latency_us(w->cfg.latency);
    u64 more = 1000;
    switch (w->cfg.latency) {
    case CD_SIM_LAN:
        break;
    case CD_SIM_REGION:
        more = 12000;
        break;
    case CD_SIM_WORLD:
        base = (u64)far_ms[from->region][to->region] * 1000;
        more = base / 8 + 2000;
        break;
    }
    u64 us = base + ((random & 0xffff) * more >> 16);
    return (random >> 16 & 0xff) == 0 ? 3 * us : us; /* now and then the way is busy */
}

static bool happens(u64 random20, u32 ppm)
{
    return ppm != 0 && (random20 & 0xfffff) * CD_SIM_MILLION >> 20 < ppm;
}

/* The time (µs) at which the last bit is on the node's line; false: too many bytes wait for the line. */
static bool line(sim_node *n, u64 *at_us, usize bytes)
{
    u64 start = cd_max_u64(n->now_us, n->busy_until_us);
    if (start - n->now_us > BACKLOG_US) {
        return false;
    }
    *at_us = start + bytes * 8 * CD_SIM_MILLION / n->bits_per_s;
    n->busy_until_us = *at_us;
    return true;
}

static void post(sim_node *n, const cd_sim_mail *m, const u8 *bytes)
{
    lane *l = n->lane;
    if (l->is_alone) {
        n->stats.dropped += cd_sim_wheel_put(n->w->wheel, m, bytes) ? 0 : 1;
        return;
    }
    cd_buf_put(&l->out, cd_bytes_of(m, sizeof *m));
    cd_buf_put(&l->out, cd_bytes_of(bytes, m->n));
    cd_buf_fill(&l->out, 0, (8u - m->n % 8u) % 8u);
}

static void trace_message(const sim_node *n, u32 to, cd_bytes bytes, u32 op, u64 us)
{
    cd_sim_trace *t = n->w->cfg.trace;
    if (t == NULL) {
        return;
    }
    if (us == UINT64_MAX) {
        cd_sim_trace_put(t, 'm', n->now_us, "%u %u %s %zu -", n->no, to, cd_p2p_op_name(op), bytes.n);
    } else {
        cd_sim_trace_put(t, 'm', n->now_us, "%u %u %s %zu %llu", n->no, to, cd_p2p_op_name(op), bytes.n,
                         (unsigned long long)us);
    }
}

static void carry(sim_node *n, u32 to_no, cd_bytes bytes, u32 op)
{
    const world *w = n->w;
    const sim_node *to = &w->nodes[to_no];
    u64 sent_us = 0;
    if (n->is_dying) {
        return;
    }
    n->stats.messages++;
    n->stats.bytes += bytes.n;
    if (!line(n, &sent_us, bytes.n)) {
        n->stats.dropped++;
        trace_message(n, to_no, bytes, op, UINT64_MAX);
        return;
    }
    u64 r = cd_rng_u64(&n->net_rng);
    u32 copies = happens(r, w->double_ppm) ? 2 : 1;
    n->stats.doubled += copies - 1;
    for (u32 i = 0; i < copies; i++) {
        r = i == 0 ? r : cd_rng_u64(&n->net_rng);
        if (n->group != to->group || happens(r >> 20, w->loss_ppm)) {
            n->stats.lost++;
            trace_message(n, to_no, bytes, op, UINT64_MAX);
            continue;
        }
        u64 at = sent_us + latency_us(w, n, to, (u32)(r >> 40));
        if (w->reorder_ppm != 0) {
            u64 late = cd_rng_u64(&n->net_rng);
            at += happens(late, w->reorder_ppm) ? (late >> 20) % LATE_US : 0;
        }
        const cd_sim_mail m = {.at_us = at,
                               .order = (u64)n->no << 40 | n->seq++,
                               .to = to_no,
                               .from = n->no,
                               .life = to->life,
                               .kind = MAIL_FRAME,
                               .n = (u16)bytes.n};
        post(n, &m, bytes.p);
        trace_message(n, to_no, bytes, op, at - n->now_us);
    }
}

void cd__world_raw(sim_node *n, u32 to, cd_bytes bytes)
{
    if (bytes.n <= CD_SIM_MAIL_MAX) {
        carry(n, to, bytes, CD_P2P_PING);
    }
}

void cd__world_say(sim_node *n, const u32 *to, u32 cnt, u32 op, cd_p2p_chain_msg *m)
{
    static const cd_hash32 chain_id;
    const cd_p2p_msg msg = {.op = op, .body = m};
    m->chain_id = cd_bytes_of(chain_id.b, 32);
    m->deadline = cd_p2p_op_response(op) == CD_P2P_NONE ? 0 : DEADLINE_NS;
    cd_buf *frame = &n->lane->frame;
    cd_buf_clear(frame);
    cd_p2p_msg_put(frame, NULL, &msg);
    CD_ASSERT(frame->n <= CD_SIM_MAIL_MAX);
    for (u32 i = 0; i < cnt; i++) {
        carry(n, to[i], cd_buf_bytes(frame), op);
    }
}

void cd__world_alarm(sim_node *n, mail_kind kind, u64 at_us)
{
    const cd_sim_mail m = {.at_us = cd_min_u64(at_us, n->now_us + ALARM_US),
                           .order = (u64)n->no << 40 | n->seq++,
                           .to = n->no,
                           .from = n->no,
                           .life = n->life,
                           .kind = (u16)kind};
    post(n, &m, NULL);
}

/* --- what the engine says --- */

static bool is_nobody(const cd_node_id *id)
{
    static const cd_node_id nobody;
    return memcmp(id->b, nobody.b, sizeof nobody.b) == 0;
}

/* The numbers of nodes; has_nobody: weight without a node (CD_SIM_UNPAID) is among them. */
static u32 numbers(const sim_node *n, u32 out[CD_SNOW_K_MAX], bool *has_nobody, const cd_node_id *to, u32 cnt)
{
    u32 kept = 0;
    *has_nobody = false;
    for (u32 i = 0; i < cnt; i++) {
        u32 no = cd_sim_stake_find(&n->w->stake, &to[i]);
        *has_nobody = *has_nobody || is_nobody(&to[i]);
        if (no != UINT32_MAX) {
            out[kept++] = no;
        }
    }
    return kept;
}

/* Remembers the nodes that are asked, so that missing answers are noticed. */
static void expect(sim_node *n, const u32 *to, u32 cnt, bool has_nobody, u32 request, bool is_get)
{
    ask *a = cd__world_node_open_ask(n, request, is_get);
    for (u32 i = 0; i < cnt; i++) {
        a->to[i] = (u16)to[i];
    }
    if (has_nobody) {
        a->to[cnt] = NOBODY;
    }
    a->cnt = (u16)(cnt + has_nobody);
    a->open = a->cnt;
    n->stats.queries += is_get ? 0 : cnt;
}

static void trace_query(const sim_node *n, char kind, const u32 *to, u32 cnt, u32 request, const cd_hash32 *id)
{
    char list[CD_SNOW_K_MAX * 6 + 1] = "";
    usize at = 0;
    if (n->w->cfg.trace == NULL) {
        return;
    }
    for (u32 i = 0; i < cnt; i++) {
        char digits[CD_U64_TEXT_MAX];
        usize len = cd_u64_fmt(digits, to[i]);
        if (i != 0) {
            list[at++] = ',';
        }
        memcpy(list + at, digits, len);
        at += len;
    }
    list[at] = '\0';
    cd_sim_trace_put(n->w->cfg.trace, kind, n->now_us, "%u %u %s %s", n->no, request, cd_sim_trace_id(id).s, list);
}

static void say_push(const cd_snow_net *net, const cd_node_id *ids, u32 cnt, u32 request, cd_bytes block, u64 height)
{
    sim_node *n = node_of(net);
    u32 to[CD_SNOW_K_MAX];
    bool has_nobody;
    cnt = numbers(n, to, &has_nobody, ids, cnt);
    expect(n, to, cnt, has_nobody, request, false);
    trace_query(n, 'Q', to, cnt, request, &n->last_built);
    if (cd__world_lies(n) && cd__world_lie_push(n, to, cnt, request, block, height)) {
        return;
    }
    cd_p2p_chain_msg m = {.request_id = request, .data = block, .height = height};
    cd__world_say(n, to, cnt, CD_P2P_PUSH_QUERY, &m);
}

static void say_pull(const cd_snow_net *net, const cd_node_id *ids, u32 cnt, u32 request, const cd_hash32 *id,
                     u64 height)
{
    sim_node *n = node_of(net);
    u32 to[CD_SNOW_K_MAX];
    bool has_nobody;
    cnt = numbers(n, to, &has_nobody, ids, cnt);
    expect(n, to, cnt, has_nobody, request, false);
    trace_query(n, 'q', to, cnt, request, id);
    n->stats.asides += cnt == 1 && n->audit.undecided_cnt == 0 ? 1 : 0;
    cd_p2p_chain_msg m = {.request_id = request, .data = cd_bytes_of(id->b, 32), .height = height};
    cd__world_say(n, to, cnt, CD_P2P_PULL_QUERY, &m);
}

static void say_chits(const cd_snow_net *net, const cd_node_id *id, u32 request, const cd_snow_chits *chits)
{
    sim_node *n = node_of(net);
    u32 to = cd_sim_stake_find(&n->w->stake, id);
    cd_snow_chits c = *chits;
    if (!n->is_liar && n->broken == NULL && !cd_hash32_eq(&c.preferred, &n->audit.preferred)) {
        n->broken = "a node votes for another block than its VM was told to prefer";
    }
    if (to == UINT32_MAX || (cd__world_lies(n) && !cd__world_lie_chits(n, to, &c))) {
        return;
    }
    cd_p2p_chain_msg m = {.request_id = request,
                          .height = c.accepted_height,
                          .preferred_id = cd_bytes_of(c.preferred.b, 32),
                          .preferred_id_at_height = cd_bytes_of(c.preferred_at_height.b, 32),
                          .accepted_id = cd_bytes_of(c.accepted.b, 32)};
    cd__world_say(n, &to, 1, CD_P2P_CHITS, &m);
}

static void say_get(const cd_snow_net *net, const cd_node_id *id, u32 request, const cd_hash32 *block)
{
    sim_node *n = node_of(net);
    u32 to = cd_sim_stake_find(&n->w->stake, id);
    if (to == UINT32_MAX) {
        return;
    }
    expect(n, &to, 1, false, request, true);
    cd_p2p_chain_msg m = {.request_id = request, .data = cd_bytes_of(block->b, 32)};
    cd__world_say(n, &to, 1, CD_P2P_GET, &m);
}

static void say_put(const cd_snow_net *net, const cd_node_id *id, u32 request, cd_bytes block)
{
    sim_node *n = node_of(net);
    u32 to = cd_sim_stake_find(&n->w->stake, id);
    if (to == UINT32_MAX) {
        return;
    }
    cd_p2p_chain_msg m = {.request_id = request, .data = block};
    cd__world_say(n, &to, 1, CD_P2P_PUT, &m);
}

void cd__world_net_init(sim_node *n)
{
    n->net = (cd_snow_net){
        .push_query = say_push,
        .pull_query = say_pull,
        .chits = say_chits,
        .get = say_get,
        .put = say_put,
    };
}
