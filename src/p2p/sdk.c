#include "p2p/sdk.h"

const char *cd_p2p_app_text(i32 code)
{
    switch (code) {
    case CD_P2P_APP_UNREGISTERED:
        return "unregistered handler";
    case CD_P2P_APP_NOT_VALIDATOR:
        return "not a validator";
    case CD_P2P_APP_THROTTLED:
        return "throttled";
    default:
        return "unexpected error";
    }
}

static const cd_proto_field pull_fields[] = {
    CD_PROTO_FIELD(2, BYTES, cd_p2p_pull, salt),
    CD_PROTO_FIELD(3, BYTES, cd_p2p_pull, filter),
};
static const cd_proto_field gossip_fields[] = {
    {.number = 1,
     .kind = CD_PROTO_BYTES,
     .is_repeated = true,
     .offset = offsetof(cd_p2p_gossip, items),
     .name = "gossip"},
};
static const cd_proto_field sig_request_fields[] = {
    CD_PROTO_FIELD(1, BYTES, cd_p2p_sig_request, message),
    CD_PROTO_FIELD(2, BYTES, cd_p2p_sig_request, justification),
};
static const cd_proto_field sig_response_fields[] = {
    CD_PROTO_FIELD(1, BYTES, cd_p2p_sig_response, signature),
};
const cd_proto_type cd_p2p_pull_table = CD_PROTO_TYPE(cd_p2p_pull, pull_fields, "PullGossipRequest");
const cd_proto_type cd_p2p_gossip_table = CD_PROTO_TYPE(cd_p2p_gossip, gossip_fields, "PushGossip");
const cd_proto_type cd_p2p_sig_request_table =
    CD_PROTO_TYPE(cd_p2p_sig_request, sig_request_fields, "SignatureRequest");
const cd_proto_type cd_p2p_sig_response_table =
    CD_PROTO_TYPE(cd_p2p_sig_response, sig_response_fields, "SignatureResponse");

void cd_p2p_app_put(cd_buf *out, u64 handler, cd_bytes body)
{
    cd_proto_uvarint_put(out, handler);
    cd_buf_put(out, body);
}

cd_err cd_p2p_app_split(u64 *handler, cd_bytes *body, cd_bytes app_bytes)
{
    u64 id;
    CD_TRY(cd_proto_uvarint(&id, &app_bytes));
    *handler = id;
    *body = app_bytes;
    return CD_OK;
}

/* --- how often a peer may ask --- */

void cd_p2p_window_init(cd_p2p_window *w, u64 period_ns, double limit, u64 now_ns)
{
    *w = (cd_p2p_window){.period_ns = period_ns, .limit = limit, .begun_ns = now_ns};
    cd_hmap_init(&w->hits[0], CD_HASH_KEYED, sizeof(cd_node_id), sizeof(u64));
    cd_hmap_init(&w->hits[1], CD_HASH_KEYED, sizeof(cd_node_id), sizeof(u64));
}

void cd_p2p_window_fini(cd_p2p_window *w)
{
    cd_hmap_fini(&w->hits[0]);
    cd_hmap_fini(&w->hits[1]);
}

static void rotate(cd_p2p_window *w, u64 begun_ns)
{
    w->current = 1 - w->current;
    w->begun_ns = begun_ns;
    cd_hmap_clear(&w->hits[w->current]);
}

bool cd_p2p_window_hit(cd_p2p_window *w, const cd_node_id *peer, u64 now_ns)
{
    u64 since = now_ns - w->begun_ns;
    if (since >= 2 * w->period_ns) {
        rotate(w, now_ns - w->period_ns);
    }
    if (since >= w->period_ns) {
        rotate(w, now_ns);
        since = 0;
    }
    const u64 *before = cd_hmap_get(&w->hits[1 - w->current], peer);
    const u64 *now = cd_hmap_get(&w->hits[w->current], peer);
    double share = (double)(w->period_ns - since) / (double)w->period_ns;
    double hits = (now == NULL ? 0 : (double)*now) + share * (before == NULL ? 0 : (double)*before);
    if (hits >= w->limit) {
        return false;
    }
    u64 *cnt = cd_hmap_put(&w->hits[w->current], NULL, peer);
    ++*cnt;
    return true;
}

/* --- handlers --- */

cd_err cd_p2p_mux_add(cd_p2p_mux *m, const cd_p2p_handler *h, u64 now_ns)
{
    for (u32 i = 0; i < m->cnt; i++) {
        if (m->handlers[i].id == h->id) {
            return CD_EEXIST;
        }
    }
    if (m->cnt == CD_P2P_HANDLERS_MAX) {
        return CD_EFULL;
    }
    m->handlers[m->cnt] = *h;
    cd_p2p_window_init(&m->windows[m->cnt++], h->period_ns, h->limit, now_ns);
    return CD_OK;
}

void cd_p2p_mux_fini(cd_p2p_mux *m)
{
    for (u32 i = 0; i < m->cnt; i++) {
        cd_p2p_window_fini(&m->windows[i]);
    }
    m->cnt = 0;
}

/* Finds the handler of a message; *body is the message without the handler's number. */
static const cd_p2p_handler *find(const cd_p2p_mux *m, cd_bytes *body, cd_bytes app_bytes)
{
    u64 id;
    if (cd_p2p_app_split(&id, body, app_bytes) == CD_OK) {
        for (u32 i = 0; i < m->cnt; i++) {
            if (m->handlers[i].id == id) {
                return &m->handlers[i];
            }
        }
    }
    return NULL;
}

i32 cd_p2p_mux_request(cd_p2p_mux *m, cd_buf *response, const cd_node_id *from, cd_bytes app_bytes, u64 now_ns)
{
    cd_bytes body;
    const cd_p2p_handler *h = find(m, &body, app_bytes);
    if (h == NULL || h->request == NULL) {
        return CD_P2P_APP_UNREGISTERED;
    }
    if (h->validators_only && (m->is_validator == NULL || !m->is_validator(m->ctx, from))) {
        return CD_P2P_APP_NOT_VALIDATOR;
    }
    if (h->period_ns != 0 && !cd_p2p_window_hit(&m->windows[h - m->handlers], from, now_ns)) {
        return CD_P2P_APP_THROTTLED;
    }
    return h->request(h->ctx, response, from, body);
}

void cd_p2p_mux_gossip(cd_p2p_mux *m, const cd_node_id *from, cd_bytes app_bytes)
{
    cd_bytes body;
    const cd_p2p_handler *h = find(m, &body, app_bytes);
    if (h != NULL && h->gossip != NULL) {
        h->gossip(h->ctx, from, body);
    }
}

/* --- pull gossip --- */

void cd_p2p_gossip_put(cd_buf *out, cd_bytes item)
{
    cd_p2p_gossip one = {.items = {.v = &item, .cnt = 1}};
    cd_proto_put(out, &cd_p2p_gossip_table, &one);
}

typedef struct answer {
    cd_buf *out;
    cd_p2p_bloom_view filter;
    cd_bytes salt;
    usize size; /* bytes of the things that were chosen */
    usize target;
} answer;

static bool visit(void *arg, const cd_hash32 *id, cd_bytes item)
{
    answer *a = arg;
    if (cd_p2p_bloom_has(&a->filter, cd_p2p_bloom_hash(cd_bytes_of(id->b, sizeof id->b), a->salt))) {
        return true;
    }
    cd_p2p_gossip_put(a->out, item);
    a->size += item.n;
    return a->size <= a->target;
}

i32 cd_p2p_pull_answer(cd_buf *out, cd_bytes body, const cd_p2p_gossip_set *set, usize target)
{
    cd_arena a = {0};
    cd_p2p_pull pull = {.salt = {.n = 0}};
    answer ans = {.out = out, .target = target};
    cd_err e = cd_proto_parse(&pull, &cd_p2p_pull_table, &a, body, NULL);
    e = e != CD_OK || pull.salt.n == CD_P2P_SALT_LEN ? e : CD_EFORMAT;
    e = e != CD_OK ? e : cd_p2p_bloom_parse(&ans.filter, pull.filter, NULL);
    if (e == CD_OK) {
        ans.salt = pull.salt;
        set->each(set->ctx, visit, &ans);
    }
    cd_arena_fini(&a);
    return e == CD_OK ? CD_P2P_APP_OK : CD_P2P_APP_UNEXPECTED;
}

cd_err cd_p2p_gossip_read(cd_bytes body, void (*item)(void *ctx, cd_bytes item), void *ctx)
{
    cd_arena a = {0};
    cd_p2p_gossip g = {.items = {.cnt = 0}};
    cd_err e = cd_proto_parse(&g, &cd_p2p_gossip_table, &a, body, NULL);
    const cd_bytes *v = g.items.v;
    for (u32 i = 0; e == CD_OK && i < g.items.cnt; i++) {
        item(ctx, v[i]);
    }
    cd_arena_fini(&a);
    return e;
}
