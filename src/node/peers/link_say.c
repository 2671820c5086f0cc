#include "node/peers/link_priv.h"

#include "base/mem/mem.h"

enum { PUT_BYTES_MAX = 16 << 20 };

/* What the engine says. data: a block, an ID, IDs or heights one behind the other, or blocks with their lengths. */
typedef struct speech {
    cd_loop_task task; /* first */
    cd_link *link;
    u32 op;
    u32 request;
    u64 height;
    cd_snow_chits chits;
    cd_buf data;
    bool is_counted; /* in put_bytes */
    u32 cnt;
    cd_node_id to[];
} speech;

/* --- on the loop --- */

static u32 count_blocks(cd_bytes data)
{
    u32 cnt = 0;
    for (usize at = 0; at < data.n; at += 4 + cd_be32(data.p + at)) {
        cnt++;
    }
    return cnt;
}

/* The repeated field of a message; NULL: it has none. The caller frees it. */
static cd_bytes *list_of(const speech *s, u32 *cnt)
{
    cd_bytes data = cd_buf_bytes(&s->data);
    bool is_ids = s->op == CD_P2P_GET_ACCEPTED || s->op == CD_P2P_ACCEPTED || s->op == CD_P2P_ACCEPTED_STATE_SUMMARY;
    if (!is_ids && s->op != CD_P2P_ANCESTORS) {
        return NULL;
    }
    *cnt = is_ids ? (u32)(data.n / LINK_ID_LEN) : count_blocks(data);
    cd_bytes *list = cd_new_array(cd_bytes, *cnt);
    usize at = 0;
    for (u32 i = 0; i < *cnt; i++) {
        usize head = is_ids ? 0 : 4;
        usize n = is_ids ? LINK_ID_LEN : cd_be32(data.p + at);
        list[i] = cd_bytes_sub(data, at + head, n);
        at += head + n;
    }
    return list;
}

/* The heights of a question for summaries, in the place of its list; the caller frees them. */
static u64 *heights_of(const speech *s, cd_p2p_chain_msg *m)
{
    u32 cnt = s->op == CD_P2P_GET_ACCEPTED_STATE_SUMMARY ? (u32)(s->data.n / 8) : 0;
    u64 *heights = cnt == 0 ? NULL : cd_new_array(u64, cnt);
    for (u32 i = 0; i < cnt; i++) {
        heights[i] = cd_be64(s->data.p + 8 * (usize)i);
    }
    m->list = (cd_proto_list){.v = heights, .cnt = cnt, .cap = cnt};
    return heights;
}

static void put_chits(cd_p2p_chain_msg *m, const cd_snow_chits *c)
{
    m->preferred_id = cd_bytes_of(c->preferred.b, LINK_ID_LEN);
    m->preferred_id_at_height = cd_bytes_of(c->preferred_at_height.b, LINK_ID_LEN);
    m->accepted_id = cd_bytes_of(c->accepted.b, LINK_ID_LEN);
}

static void utter(cd_loop_task *t)
{
    enum { LINEAR = 2 }; /* the kind of engine that ancestors are asked of */
    speech *s = (speech *)(void *)t;
    cd_link *l = s->link;
    bool is_answer = cd_p2p_op_kind(s->op) == CD_P2P_ANSWER;
    u32 list_cnt = 0;
    cd_bytes *list = list_of(s, &list_cnt);
    for (u32 i = 0; i < s->cnt && !l->has_left; i++) {
        cd_p2p_chain_msg m = {.request_id = s->request, .height = s->height};
        u64 *heights = heights_of(s, &m);
        if (heights != NULL) {
            m.data = (cd_bytes){0};
        } else if (list != NULL) {
            m.list = (cd_proto_list){.v = list, .cnt = list_cnt, .cap = list_cnt};
        } else {
            m.data = cd_buf_bytes(&s->data);
        }
        if (s->op == CD_P2P_CHITS) {
            put_chits(&m, &s->chits);
        }
        m.engine_type = s->op == CD_P2P_GET_ANCESTORS ? LINEAR : 0;
        if (is_answer) {
            cd_p2p_router_say(l->cfg.router, &l->cfg.chain, &s->to[i], s->op, &m);
        } else {
            cd_p2p_router_ask(l->cfg.router, &l->cfg.chain, &s->to[i], s->op, &m);
        }
        cd_free(heights);
    }
    if (s->is_counted) {
        atomic_fetch_sub(&l->put_bytes, s->data.n);
    }
    l->cfg.wake(l->cfg.ctx); /* what fails at once, and what is said to ourselves */
    cd_free(list);
    cd_buf_fini(&s->data);
    cd_free(s);
}

/* --- on the executor --- */

static speech *speech_new(cd_link *l, u32 op, const cd_node_id *to, u32 cnt, u32 request)
{
    speech *s = cd_alloc(sizeof *s + cnt * sizeof *to);
    *s = (speech){.task.fn = utter};
    s->link = l;
    s->op = op;
    s->request = request;
    s->cnt = cnt;
    memcpy(s->to, to, cnt * sizeof *to);
    return s;
}

static void speak(speech *s)
{
    cd_record_message(s->link->record, s->to, s->cnt, cd_p2p_op_name(s->op), s->data.n);
    cd_loop_post(s->link->cfg.loop, &s->task);
}

/* What has no room is not sent: whoever asked will ask again, or somebody else. */
static bool has_room(cd_link *l, usize n)
{
    bool has = atomic_load(&l->put_bytes) + n <= PUT_BYTES_MAX;
    if (has) {
        atomic_fetch_add(&l->put_bytes, n);
    }
    return has;
}

static void say_blocks(cd_link *l, u32 op, const cd_node_id *to, u32 request, cd_bytes data)
{
    if (has_room(l, data.n)) {
        speech *s = speech_new(l, op, to, 1, request);
        s->is_counted = true;
        cd_buf_put(&s->data, data);
        speak(s);
    }
}

static void say_ids(cd_link *l, u32 op, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *ids, u32 id_cnt)
{
    speech *s = speech_new(l, op, to, cnt, request);
    for (u32 i = 0; i < id_cnt; i++) {
        cd_buf_put(&s->data, cd_bytes_of(ids[i].b, LINK_ID_LEN));
    }
    speak(s);
}

/* --- consensus/snow/net.h --- */

static cd_link *link_of(const cd_snow_net *n)
{
    return cd_list_of((void *)(usize)(const void *)n, cd_link, net);
}

static void say_push_query(const cd_snow_net *n, const cd_node_id *to, u32 cnt, u32 request, cd_bytes block, u64 height)
{
    cd_link *l = link_of(n);
    speech *s = speech_new(l, CD_P2P_PUSH_QUERY, to, cnt, request);
    if (l->record != NULL) {
        cd_hash32 id = cd_snowman_preference(l->engine); /* what is shown is what is preferred */
        cd_record_query(l->record, to, cnt, request, &id, true);
    }
    cd_buf_put(&s->data, block);
    s->height = height;
    speak(s);
}

static void say_pull_query(const cd_snow_net *n, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id,
                           u64 height)
{
    speech *s = speech_new(link_of(n), CD_P2P_PULL_QUERY, to, cnt, request);
    cd_record_query(link_of(n)->record, to, cnt, request, id, false);
    cd_buf_put(&s->data, cd_bytes_of(id->b, LINK_ID_LEN));
    s->height = height;
    speak(s);
}

static void say_chits(const cd_snow_net *n, const cd_node_id *to, u32 request, const cd_snow_chits *chits)
{
    speech *s = speech_new(link_of(n), CD_P2P_CHITS, to, 1, request);
    s->chits = *chits;
    s->height = chits->accepted_height;
    speak(s);
}

static void say_get(const cd_snow_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    say_ids(link_of(n), CD_P2P_GET, to, 1, request, id, 1);
}

static void say_put(const cd_snow_net *n, const cd_node_id *to, u32 request, cd_bytes block)
{
    say_blocks(link_of(n), CD_P2P_PUT, to, request, block);
}

/* --- consensus/bootstrap/net.h --- */

static cd_link *link_of_asks(const cd_bootstrap_net *n)
{
    return cd_list_of((void *)(usize)(const void *)n, cd_link, asks);
}

static void ask_frontier(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request)
{
    say_ids(link_of_asks(n), CD_P2P_GET_ACCEPTED_FRONTIER, to, cnt, request, NULL, 0);
}

static void ask_accepted(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *ids,
                         u32 id_cnt)
{
    say_ids(link_of_asks(n), CD_P2P_GET_ACCEPTED, to, cnt, request, ids, id_cnt);
}

static void ask_ancestors(const cd_bootstrap_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    say_ids(link_of_asks(n), CD_P2P_GET_ANCESTORS, to, 1, request, id, 1);
}

static void ask_summary_frontier(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request)
{
    say_ids(link_of_asks(n), CD_P2P_GET_STATE_SUMMARY_FRONTIER, to, cnt, request, NULL, 0);
}

static void ask_summaries(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request, const u64 *heights,
                          u32 height_cnt)
{
    speech *s = speech_new(link_of_asks(n), CD_P2P_GET_ACCEPTED_STATE_SUMMARY, to, cnt, request);
    for (u32 i = 0; i < height_cnt; i++) {
        cd_put_be64(cd_buf_extend(&s->data, 8), heights[i]);
    }
    speak(s);
}

static cd_link *link_of_serves(const cd_serve_net *n)
{
    return cd_list_of((void *)(usize)(const void *)n, cd_link, serves);
}

static void tell_frontier(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    say_ids(link_of_serves(n), CD_P2P_ACCEPTED_FRONTIER, to, 1, request, id, 1);
}

static void tell_accepted(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    say_ids(link_of_serves(n), CD_P2P_ACCEPTED, to, 1, request, ids, cnt);
}

static void tell_ancestors(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_buf *blocks)
{
    say_blocks(link_of_serves(n), CD_P2P_ANCESTORS, to, request, cd_buf_bytes(blocks));
}

static void tell_block(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes block)
{
    say_blocks(link_of_serves(n), CD_P2P_PUT, to, request, block);
}

static void tell_summary(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes summary)
{
    say_blocks(link_of_serves(n), CD_P2P_STATE_SUMMARY_FRONTIER, to, request, summary);
}

static void tell_summaries(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    say_ids(link_of_serves(n), CD_P2P_ACCEPTED_STATE_SUMMARY, to, 1, request, ids, cnt);
}

void cd__link_say_init(cd_link *l)
{
    l->net = (cd_snow_net){
        .push_query = say_push_query,
        .pull_query = say_pull_query,
        .chits = say_chits,
        .get = say_get,
        .put = say_put,
    };
    l->asks = (cd_bootstrap_net){
        .get_accepted_frontier = ask_frontier,
        .get_accepted = ask_accepted,
        .get_ancestors = ask_ancestors,
        .get_summary_frontier = ask_summary_frontier,
        .get_summaries = ask_summaries,
    };
    l->serves = (cd_serve_net){
        .accepted_frontier = tell_frontier,
        .accepted = tell_accepted,
        .ancestors = tell_ancestors,
        .put = tell_block,
        .state_summary_frontier = tell_summary,
        .accepted_state_summary = tell_summaries,
    };
}
