#include "sim/watch.h"

static cd_sim_watched *find(cd_sim_watch *w, const cd_hash32 *id)
{
    for (u32 i = 0; i < w->cnt; i++) {
        if (cd_hash32_eq(&w->known[i].id, id)) {
            return &w->known[i];
        }
    }
    return NULL;
}

static void look_at(void *ctx, const cd_snow_view *v)
{
    cd_sim_watch *w = ctx;
    cd_sim_watched *k = find(w, &v->id);
    if (k == NULL && w->cnt < CD_SIM_WATCHED_MAX) {
        k = &w->known[w->cnt++];
        *k = (cd_sim_watched){.id = v->id, .parent = v->parent, .height = v->height};
        if (w->tells_blocks) {
            cd_sim_trace_put(w->trace, 's', w->now_us, "%u %s %s %llu", w->node, cd_sim_trace_id(&v->id).s,
                             cd_sim_trace_id(&v->parent).s, (unsigned long long)v->height);
        }
    }
    if (k == NULL) {
        return;
    }
    k->is_there = true;
    if (k->confidence != v->confidence) {
        k->confidence = v->confidence;
        cd_sim_trace_put(w->trace, 'c', w->now_us, "%u %s %u", w->node, cd_sim_trace_id(&v->id).s, v->confidence);
    }
}

static void tell_accepted(const cd_sim_watch *w, const cd_hash32 *id, u64 height)
{
    cd_sim_trace_put(w->trace, 'a', w->now_us, "%u %s %llu", w->node, cd_sim_trace_id(id).s,
                     (unsigned long long)height);
}

/* Tells the blocks that are accepted now: the last one and those of its ancestors that were undecided, the lowest
 * first. */
static void tell_decided(cd_sim_watch *w, const cd_hash32 *last, u64 height)
{
    const cd_sim_watched *path[CD_SIM_WATCHED_MAX];
    u32 cnt = 0;
    cd_sim_watched *k = find(w, last);
    bool is_known = k != NULL;
    while (k != NULL && !k->is_there && cnt < CD_SIM_WATCHED_MAX) {
        path[cnt++] = k;
        k->is_there = true; /* found: it is not to be told as rejected */
        k = find(w, &k->parent);
    }
    for (u32 i = cnt; i > 0; i--) {
        tell_accepted(w, &path[i - 1]->id, path[i - 1]->height);
    }
    if (!is_known) {
        tell_accepted(w, last, height);
    }
}

/* Forgets blocks of decided heights; those that were not accepted are told as rejected. */
static void forget(cd_sim_watch *w, u64 height)
{
    u32 kept = 0;
    for (u32 i = 0; i < w->cnt; i++) {
        const cd_sim_watched *k = &w->known[i];
        if (k->is_there && k->height > height) {
            w->known[kept++] = *k;
        } else if (!k->is_there && w->tells_blocks) {
            cd_sim_trace_put(w->trace, 'r', w->now_us, "%u %s", w->node, cd_sim_trace_id(&k->id).s);
        }
    }
    w->cnt = kept;
}

void cd_sim_watch_look(cd_sim_watch *w, const cd_engine *e, u64 now_us)
{
    cd_hash32 last;
    u64 height;
    if (w->trace == NULL) {
        return;
    }
    cd_hash32 preferred = cd_snowman_preference(e);
    w->now_us = now_us;
    for (u32 i = 0; i < w->cnt; i++) {
        w->known[i].is_there = false;
    }
    cd_snowman_look(e, look_at, w);
    cd_snowman_last(e, &last, &height);
    if (w->tells_blocks && !cd_hash32_is_zero(&last) && !cd_hash32_eq(&last, &w->last)) {
        tell_decided(w, &last, height);
    }
    w->last = last;
    forget(w, height);
    if (!cd_hash32_eq(&preferred, &w->preferred) && !cd_hash32_is_zero(&preferred)) {
        cd_sim_trace_put(w->trace, 'p', now_us, "%u %s", w->node, cd_sim_trace_id(&preferred).s);
    }
    w->preferred = preferred;
}
