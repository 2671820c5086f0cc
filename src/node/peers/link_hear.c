#include "node/peers/link_priv.h"

#include "base/mem/mem.h"

/* --- which messages make sense --- */

static bool are_ids(const cd_proto_list *list)
{
    const cd_bytes *v = list->v;
    bool are = true;
    for (u32 i = 0; i < list->cnt && are; i++) {
        are = v[i].n == LINK_ID_LEN;
    }
    return are;
}

bool cd__link_is_well_formed(u32 op, const cd_p2p_chain_msg *m)
{
    enum { UNSAID = 0, LINEAR = 2 }; /* kinds of engines whose ancestors can be asked for */
    switch (op) {
    case CD_P2P_PUSH_QUERY:
    case CD_P2P_PUT:
    case CD_P2P_GET_ACCEPTED_FRONTIER:
    case CD_P2P_GET_STATE_SUMMARY_FRONTIER:
    case CD_P2P_GET_ACCEPTED_STATE_SUMMARY:
    case CD_P2P_ANCESTORS:
    case CD_P2P_STATE_SUMMARY_FRONTIER:
        return true;
    case CD_P2P_PULL_QUERY:
    case CD_P2P_GET:
    case CD_P2P_ACCEPTED_FRONTIER:
        return m->data.n == LINK_ID_LEN;
    case CD_P2P_GET_ANCESTORS:
        return m->data.n == LINK_ID_LEN && (m->engine_type == LINEAR || m->engine_type == UNSAID);
    case CD_P2P_GET_ACCEPTED:
    case CD_P2P_ACCEPTED:
    case CD_P2P_ACCEPTED_STATE_SUMMARY:
        return are_ids(&m->list);
    case CD_P2P_CHITS:
        return m->preferred_id.n == LINK_ID_LEN && m->accepted_id.n == LINK_ID_LEN &&
               m->preferred_id_at_height.n == LINK_ID_LEN;
    default:
        return false; /* what other engines and VMs say, and what we never ask for */
    }
}

/* --- what they say --- */

static cd_hash32 id_of(cd_bytes b)
{
    cd_hash32 id = {0};
    memcpy(id.b, b.p, LINK_ID_LEN);
    return id;
}

/* Those that are looked at, of a list of IDs. */
static u32 ids_of(cd_hash32 out[CD_SERVE_IDS_MAX], const cd_proto_list *list)
{
    const cd_bytes *v = list->v;
    u32 cnt = list->cnt < CD_SERVE_IDS_MAX ? list->cnt : CD_SERVE_IDS_MAX;
    for (u32 i = 0; i < cnt; i++) {
        out[i] = id_of(v[i]);
    }
    return cnt;
}

static void hear_chits(cd_link *l, const cd_node_id *from, const cd_p2p_chain_msg *m)
{
    const cd_snow_chits chits = {.preferred = id_of(m->preferred_id),
                                 .preferred_at_height = id_of(m->preferred_id_at_height),
                                 .accepted = id_of(m->accepted_id),
                                 .accepted_height = m->height};
    cd_record_vote(l->record, from, m->request_id, &chits);
    cd_snowman_chits(l->engine, from, m->request_id, &chits);
}

static bool is_running(const cd_link *l)
{
    return l->bootstrap == NULL || cd_bootstrap_progress_get(l->bootstrap).step == CD_BOOTSTRAP_RUNS;
}

/* What is said to the engine that decides; it hears nothing before it runs. */
static bool hear_voting(cd_link *l, const cd_node_id *from, u32 op, const cd_p2p_chain_msg *m)
{
    cd_engine *e = l->engine;
    cd_hash32 id = m->data.n == LINK_ID_LEN ? id_of(m->data) : (cd_hash32){0};
    switch (op) {
    case CD_P2P_PUSH_QUERY:
        cd_snowman_push_query(e, from, m->request_id, m->data, m->height);
        return true;
    case CD_P2P_PULL_QUERY:
        cd_snowman_pull_query(e, from, m->request_id, &id, m->height);
        return true;
    case CD_P2P_GET:
        if (!is_running(l)) {
            return false; /* blocks are given all the same */
        }
        cd_snowman_get(e, from, m->request_id, &id);
        return true;
    case CD_P2P_PUT:
        cd_snowman_put(e, from, m->request_id, m->data);
        return true;
    case CD_P2P_CHITS:
        hear_chits(l, from, m);
        return true;
    default:
        return false;
    }
}

/* What those say who catch up, and those who help us to. */
static void hear_catching_up(cd_link *l, const cd_node_id *from, u32 op, const cd_p2p_chain_msg *m)
{
    cd_hash32 ids[CD_SERVE_IDS_MAX];
    cd_engine *e = l->bootstrap;
    const cd_serve s = {.net = &l->serves, .vm = cd_bootstrap_vm(e), .clock = l->cfg.clock};
    cd_hash32 id = m->data.n == LINK_ID_LEN ? id_of(m->data) : (cd_hash32){0};
    switch (op) {
    case CD_P2P_GET:
        cd_serve_get(&s, from, m->request_id, &id);
        break;
    case CD_P2P_GET_ACCEPTED_FRONTIER:
        cd_serve_accepted_frontier(&s, from, m->request_id);
        break;
    case CD_P2P_GET_ACCEPTED:
        cd_serve_accepted(&s, from, m->request_id, ids, ids_of(ids, &m->list));
        break;
    case CD_P2P_GET_ANCESTORS:
        cd_serve_ancestors(&s, from, m->request_id, &id);
        break;
    case CD_P2P_GET_STATE_SUMMARY_FRONTIER:
        cd_serve_summary_frontier(&s, from, m->request_id);
        break;
    case CD_P2P_GET_ACCEPTED_STATE_SUMMARY:
        cd_serve_summaries(&s, from, m->request_id, m->list.v, m->list.cnt);
        break;
    case CD_P2P_ACCEPTED_FRONTIER:
        cd_bootstrap_frontier(e, from, m->request_id, &id);
        break;
    case CD_P2P_ACCEPTED:
        cd_bootstrap_accepted(e, from, m->request_id, ids, ids_of(ids, &m->list));
        break;
    case CD_P2P_STATE_SUMMARY_FRONTIER:
        cd_bootstrap_summary_frontier(e, from, m->request_id, m->data);
        break;
    case CD_P2P_ACCEPTED_STATE_SUMMARY:
        cd_bootstrap_summaries(e, from, m->request_id, ids, ids_of(ids, &m->list));
        break;
    case CD_P2P_ANCESTORS:
        cd_bootstrap_ancestors(e, from, m->request_id, m->list.v, m->list.cnt, cd_clock_mono_ns(l->cfg.clock));
        break;
    default:
        break;
    }
}

void cd__link_hear(cd_link *l, const cd_node_id *from, u32 op, const cd_p2p_chain_msg *m)
{
    if (!hear_voting(l, from, op, m) && l->bootstrap != NULL) {
        hear_catching_up(l, from, op, m);
    }
    cd_record_look(l->record, l->engine);
}

void cd__link_unanswered(cd_link *l, const cd_node_id *from, u32 request, u32 response)
{
    if (response == CD_P2P_CHITS) {
        cd_record_silence(l->record, from, request);
        cd_snowman_query_failed(l->engine, from, request);
    } else if (response == CD_P2P_PUT) {
        cd_snowman_get_failed(l->engine, from, request);
    } else if (l->bootstrap != NULL) {
        cd_bootstrap_failed(l->bootstrap, from, request);
    }
}
