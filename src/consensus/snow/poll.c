#include "consensus/snow/poll.h"

#include "base/mem/mem.h"
#include "base/table/list.h"

typedef struct asked {
    cd_node_id node;
    u32 weight; /* weight of the answer that is awaited; 0: it has come */
} asked;

typedef struct poll {
    cd_list link;
    u32 request;
    bool is_over;
    u32 outstanding; /* weight of all answers that are awaited */
    u32 received;
    u32 asked_cnt;
    u32 vote_cnt;
    asked *asked;        /* capacity k */
    cd_snow_vote *votes; /* capacity k */
} poll;

/* A block with votes, or an ancestor of one. */
typedef struct vertex {
    cd_hash32 id;
    cd_hash32 parent;
    bool has_parent;
    u32 cnt; /* votes for the block and for its descendants */
} vertex;

struct cd_snow_polls {
    cd_snow_params params;
    cd_snow_parent_fn *parent;
    void *ctx;
    cd_list open; /* running polls, the oldest first */
    cd_list idle;
    u32 cnt;
    vertex *graph;
    u32 graph_cap;
    cd_snow_vote *forks; /* children of one block that have votes; capacity k */
    cd_snow_vote *ended; /* votes of the poll that ended last, which the caller reads */
};

cd_snow_polls *cd_snow_polls_new(const cd_snow_params *params, cd_snow_parent_fn *parent, void *ctx)
{
    cd_snow_polls *s = cd_new(cd_snow_polls);
    s->params = *params;
    s->parent = parent;
    s->ctx = ctx;
    cd_list_init(&s->open);
    cd_list_init(&s->idle);
    s->forks = cd_new_array(cd_snow_vote, params->k);
    s->ended = cd_new_array(cd_snow_vote, params->k);
    return s;
}

static void free_list(cd_list *head)
{
    cd_list_each_safe(it, head)
    {
        poll *p = cd_list_of(it, poll, link);
        cd_free(p->asked);
        cd_free(p->votes);
        cd_free(p);
    }
}

void cd_snow_polls_free(cd_snow_polls *s)
{
    if (s == NULL) {
        return;
    }
    free_list(&s->open);
    free_list(&s->idle);
    cd_free(s->graph);
    cd_free(s->forks);
    cd_free(s->ended);
    cd_free(s);
}

static poll *poll_take(cd_snow_polls *s)
{
    cd_list *idle = cd_list_first(&s->idle);
    if (idle != NULL) {
        cd_list_del(idle);
        return cd_list_of(idle, poll, link);
    }
    poll *p = cd_new(poll);
    p->asked = cd_new_array(asked, s->params.k);
    p->votes = cd_new_array(cd_snow_vote, s->params.k);
    return p;
}

static asked *find_asked(const poll *p, const cd_node_id *node)
{
    for (u32 i = 0; i < p->asked_cnt; i++) {
        if (memcmp(p->asked[i].node.b, node->b, sizeof node->b) == 0) {
            return &p->asked[i];
        }
    }
    return NULL;
}

void cd_snow_polls_add(cd_snow_polls *s, u32 request, const cd_node_id *nodes, u32 cnt)
{
    CD_ASSERT(cnt <= s->params.k);
    poll *p = poll_take(s);
    p->request = request;
    p->is_over = cnt == 0;
    p->outstanding = cnt;
    p->received = 0;
    p->asked_cnt = 0;
    p->vote_cnt = 0;
    for (u32 i = 0; i < cnt; i++) {
        asked *a = find_asked(p, &nodes[i]);
        if (a == NULL) {
            a = &p->asked[p->asked_cnt++];
            *a = (asked){.node = nodes[i]};
        }
        a->weight++;
    }
    cd_list_push_back(&s->open, &p->link);
    s->cnt++;
}

static poll *find_poll(const cd_snow_polls *s, u32 request)
{
    cd_list_each(it, &s->open)
    {
        poll *p = cd_list_of(it, poll, link);
        if (p->request == request) {
            return p;
        }
    }
    return NULL;
}

/* --- is it over? --- */

/* Whether votes for a choice are on the same side of each quorum, whatever answers are still to come. */
static bool is_settled(const cd_snow_polls *s, const poll *p, u32 votes)
{
    u32 most = votes + p->outstanding;
    return most < s->params.alpha_preference || votes >= s->params.alpha_confidence ||
           (votes >= s->params.alpha_preference && most < s->params.alpha_confidence);
}

static vertex *vertex_of(cd_snow_polls *s, u32 *cnt, const cd_hash32 *id)
{
    for (u32 i = 0; i < *cnt; i++) {
        if (cd_hash32_eq(&s->graph[i].id, id)) {
            return &s->graph[i];
        }
    }
    if (*cnt == s->graph_cap) {
        s->graph_cap = s->graph_cap == 0 ? 64 : s->graph_cap * 2;
        s->graph = cd_realloc(s->graph, s->graph_cap * sizeof *s->graph);
    }
    vertex *v = &s->graph[(*cnt)++];
    *v = (vertex){.id = *id};
    v->has_parent = s->parent(s->ctx, &v->parent, id);
    return v;
}

static u32 graph_of(cd_snow_polls *s, const poll *p)
{
    u32 cnt = 0;
    for (u32 i = 0; i < p->vote_cnt; i++) {
        cd_hash32 id = p->votes[i].id;
        bool goes_on = true;
        while (goes_on) {
            vertex *v = vertex_of(s, &cnt, &id);
            v->cnt += p->votes[i].cnt;
            goes_on = v->has_parent;
            id = v->parent;
        }
    }
    return cnt;
}

/* Moves the siblings whose ID has a 0 at bit i to the front, and counts them. */
static u32 split_at(cd_snow_vote *v, u32 cnt, u32 i)
{
    u32 zeros = 0;
    for (u32 at = 0; at < cnt; at++) {
        if (cd_snow_bit(&v[at].id, i) == 0) {
            cd_snow_vote other = v[zeros];
            v[zeros++] = v[at];
            v[at] = other;
        }
    }
    return zeros;
}

static u32 first_fork(const cd_snow_vote *v, u32 cnt)
{
    u32 first = 256;
    for (u32 i = 1; i < cnt; i++) {
        first = cd_snow_first_diff(&v[0].id, &v[i].id, 0, first);
    }
    return first;
}

/* Whether the votes are settled for every prefix that IDs of several siblings share. Ranges that wait do not overlap
 * and are not empty: there are never more of them than siblings. */
static bool are_prefixes_settled(const cd_snow_polls *s, const poll *p, cd_snow_vote *v, u32 cnt)
{
    struct {
        u32 from;
        u32 cnt;
    } waiting[CD_SNOW_K_MAX];
    u32 n = 0;
    waiting[n].from = 0;
    waiting[n++].cnt = cnt;
    while (n != 0) {
        n--;
        cd_snow_vote *at = v + waiting[n].from;
        u32 from = waiting[n].from;
        u32 at_cnt = waiting[n].cnt;
        u32 sum = 0;
        if (at_cnt < 2) {
            continue;
        }
        for (u32 i = 0; i < at_cnt; i++) {
            sum += at[i].cnt;
        }
        u32 bit = first_fork(at, at_cnt);
        if (bit > 0 && !is_settled(s, p, sum)) {
            return false;
        }
        u32 zeros = split_at(at, at_cnt, bit);
        waiting[n].from = from;
        waiting[n++].cnt = zeros;
        waiting[n].from = from + zeros;
        waiting[n++].cnt = at_cnt - zeros;
    }
    return true;
}

/* Whether all forks are settled; each is looked at once, when its first child in the graph comes up. */
static bool are_forks_settled(cd_snow_polls *s, const poll *p, u32 graph_cnt)
{
    for (u32 i = 0; i < graph_cnt; i++) {
        const vertex *v = &s->graph[i];
        u32 cnt = 0;
        bool is_first = v->has_parent;
        for (u32 j = 0; is_first && j < graph_cnt; j++) {
            const vertex *w = &s->graph[j];
            if (w->has_parent && cd_hash32_eq(&w->parent, &v->parent)) {
                is_first = j >= i;
                s->forks[cnt++] = (cd_snow_vote){.id = w->id, .cnt = w->cnt};
            }
        }
        if (is_first && cnt > 1 && !are_prefixes_settled(s, p, s->forks, cnt)) {
            return false;
        }
    }
    return true;
}

static bool is_over(cd_snow_polls *s, const poll *p)
{
    if (p->outstanding == 0 || p->received + p->outstanding < s->params.alpha_preference) {
        return true;
    }
    if (p->vote_cnt == 0) {
        return false;
    }
    u32 cnt = graph_of(s, p);
    for (u32 i = 0; i < cnt; i++) {
        if (!is_settled(s, p, s->graph[i].cnt)) {
            return false;
        }
    }
    return are_forks_settled(s, p, cnt);
}

/* --- answers --- */

static void count_vote(poll *p, const cd_hash32 *id, u32 weight)
{
    u32 i = 0;
    while (i < p->vote_cnt && !cd_hash32_eq(&p->votes[i].id, id)) {
        i++;
    }
    if (i == p->vote_cnt) {
        p->votes[p->vote_cnt++] = (cd_snow_vote){.id = *id};
    }
    p->votes[i].cnt += weight;
    p->received += weight;
}

static bool answer(cd_snow_polls *s, u32 request, const cd_node_id *node, const cd_hash32 *id)
{
    poll *p = find_poll(s, request);
    asked *a = p == NULL ? NULL : find_asked(p, node);
    if (a == NULL || a->weight == 0) {
        return false;
    }
    u32 weight = a->weight;
    a->weight = 0;
    p->outstanding -= weight;
    if (!p->is_over) {
        if (id != NULL) {
            count_vote(p, id, weight);
        }
        p->is_over = is_over(s, p);
    }
    return true;
}

bool cd_snow_polls_vote(cd_snow_polls *s, u32 request, const cd_node_id *node, const cd_hash32 *id)
{
    return answer(s, request, node, id);
}

bool cd_snow_polls_drop(cd_snow_polls *s, u32 request, const cd_node_id *node)
{
    return answer(s, request, node, NULL);
}

bool cd_snow_polls_is_asked(const cd_snow_polls *s, u32 request, const cd_node_id *node)
{
    const poll *p = find_poll(s, request);
    const asked *a = p == NULL ? NULL : find_asked(p, node);
    return a != NULL && a->weight != 0;
}

bool cd_snow_polls_next(cd_snow_polls *s, const cd_snow_vote **votes, u32 *cnt)
{
    cd_list *first = cd_list_first(&s->open);
    poll *p = first == NULL ? NULL : cd_list_of(first, poll, link);
    if (p == NULL || !p->is_over) {
        return false;
    }
    cd_snow_vote *ended = p->votes;
    p->votes = s->ended; /* the caller reads these votes while the poll is used again */
    s->ended = ended;
    *votes = ended;
    *cnt = p->vote_cnt;
    cd_list_del(&p->link);
    cd_list_push_front(&s->idle, &p->link);
    s->cnt--;
    return true;
}

u32 cd_snow_polls_cnt(const cd_snow_polls *s)
{
    return s->cnt;
}
