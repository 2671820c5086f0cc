#include "sim/wheel.h"

#include "base/mem/mem.h"

#include <stdlib.h>

enum { CHUNK_BYTES = 4096 - 16, FEW = 16 };

typedef struct chunk {
    struct chunk *next;
    u32 used;
    u32 pad;
    u8 bytes[CHUNK_BYTES];
} chunk;

typedef struct bucket {
    chunk *newest;
    u32 cnt;
} bucket;

struct cd_sim_wheel {
    bucket ring[CD_SIM_BUCKETS];
    u64 bucket_us;
    u64 current; /* the bucket that is being emptied; counts when has_begun */
    bool has_begun;
    chunk *idle;
    const cd_sim_mail **sorted;
    u32 cap;
    u64 cnt;
};

cd_sim_wheel *cd_sim_wheel_new(u64 bucket_us)
{
    cd_sim_wheel *w = cd_new(cd_sim_wheel);
    w->bucket_us = bucket_us;
    return w;
}

static void free_chunks(chunk *c)
{
    while (c != NULL) {
        chunk *next = c->next;
        cd_free(c);
        c = next;
    }
}

void cd_sim_wheel_free(cd_sim_wheel *w)
{
    if (w == NULL) {
        return;
    }
    for (u32 i = 0; i < CD_SIM_BUCKETS; i++) {
        free_chunks(w->ring[i].newest);
    }
    free_chunks(w->idle);
    cd_free(w->sorted);
    cd_free(w);
}

static chunk *chunk_take(cd_sim_wheel *w)
{
    chunk *c = w->idle;
    if (c == NULL) {
        c = cd_alloc(sizeof *c);
    } else {
        w->idle = c->next;
    }
    c->used = 0;
    c->next = NULL;
    return c;
}

bool cd_sim_wheel_put(cd_sim_wheel *w, const cd_sim_mail *m, const void *bytes)
{
    u64 first = w->has_begun ? w->current + 1 : 0;
    u64 at = cd_max_u64(m->at_us / w->bucket_us, first);
    u32 size = ((u32)sizeof *m + m->n + 7) & ~7u;
    CD_ASSERT(m->n <= CD_SIM_MAIL_MAX);
    if (at - first >= CD_SIM_BUCKETS - 1) {
        return false;
    }
    bucket *b = &w->ring[at % CD_SIM_BUCKETS];
    if (b->newest == NULL || b->newest->used + size > CHUNK_BYTES) {
        chunk *c = chunk_take(w);
        c->next = b->newest;
        b->newest = c;
    }
    u8 *to = b->newest->bytes + b->newest->used;
    memcpy(to, m, sizeof *m);
    if (m->n != 0) {
        memcpy(to + sizeof *m, bytes, m->n);
    }
    b->newest->used += size;
    b->cnt++;
    w->cnt++;
    return true;
}

static int order(const cd_sim_mail *a, const cd_sim_mail *b)
{
    if (a->to != b->to) {
        return a->to < b->to ? -1 : 1;
    }
    if (a->at_us != b->at_us) {
        return a->at_us < b->at_us ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static int order_of(const void *a, const void *b)
{
    return order(*(const cd_sim_mail *const *)a, *(const cd_sim_mail *const *)b);
}

static void sort(const cd_sim_mail **v, u32 cnt)
{
    if (cnt > FEW) {
        qsort(v, cnt, sizeof *v, order_of);
        return;
    }
    for (u32 i = 1; i < cnt; i++) {
        const cd_sim_mail *m = v[i];
        u32 at = i;
        for (; at > 0 && order(m, v[at - 1]) < 0; at--) {
            v[at] = v[at - 1];
        }
        v[at] = m;
    }
}

const cd_sim_mail *const *cd_sim_wheel_next(cd_sim_wheel *w, u64 *start_us, u32 *cnt)
{
    w->current = w->has_begun ? w->current + 1 : 0;
    w->has_begun = true;
    const bucket *b = &w->ring[w->current % CD_SIM_BUCKETS];
    *start_us = w->current * w->bucket_us;
    *cnt = b->cnt;
    if (b->cnt > w->cap) {
        w->cap = b->cnt * 2;
        w->sorted = cd_realloc(w->sorted, w->cap * sizeof(cd_sim_mail *));
    }
    u32 n = 0;
    for (const chunk *c = b->newest; c != NULL; c = c->next) {
        for (u32 at = 0; at < c->used;) {
            const cd_sim_mail *m = (const cd_sim_mail *)(const void *)(c->bytes + at);
            w->sorted[n++] = m;
            at += ((u32)sizeof *m + m->n + 7) & ~7u;
        }
    }
    sort(w->sorted, n);
    return w->sorted;
}

void cd_sim_wheel_done(cd_sim_wheel *w)
{
    bucket *b = &w->ring[w->current % CD_SIM_BUCKETS];
    w->cnt -= b->cnt;
    while (b->newest != NULL) {
        chunk *c = b->newest;
        b->newest = c->next;
        c->next = w->idle;
        w->idle = c;
    }
    b->cnt = 0;
}

u64 cd_sim_wheel_cnt(const cd_sim_wheel *w)
{
    return w->cnt;
}
