#include "vm/gossip/push.h"

#include "base/mem/mem.h"

/* An ID that is queued. */
typedef struct entry {
    cd_list queue;
    cd_hash32 id;
    u64 said_ns;
} entry;

void cd_gossip_push_init(cd_gossip_push *p)
{
    *p = (cd_gossip_push){.discarded =
                              cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), CD_GOSSIP_DISCARDED_MAX, NULL, NULL)};
    cd_hmap_init(&p->by_id, CD_HASH_KEYED, sizeof(cd_hash32), 0);
    cd_list_init(&p->fresh);
    cd_list_init(&p->said);
}

static void free_all(cd_list *queue)
{
    cd_list_each_safe(it, queue)
    {
        cd_free(cd_list_of(it, entry, queue));
    }
}

void cd_gossip_push_fini(cd_gossip_push *p)
{
    free_all(&p->fresh);
    free_all(&p->said);
    cd_hmap_fini(&p->by_id);
    cd_lru_free(p->discarded);
}

void cd_gossip_push_put(cd_gossip_push *p, const cd_hash32 *id, u64 now_ns)
{
    if (cd_hmap_get(&p->by_id, id) != NULL || cd_hmap_cnt(&p->by_id) >= CD_GOSSIP_PUSH_MAX) {
        return;
    }
    entry *e = cd_new(entry);
    e->id = *id;
    e->said_ns = now_ns;
    (void)cd_hmap_put(&p->by_id, NULL, id);
    if (cd_lru_get(p->discarded, id) != NULL) {
        cd_list_push_back(&p->said, &e->queue);
        p->said_cnt++;
    } else {
        cd_list_push_back(&p->fresh, &e->queue);
        p->fresh_cnt++;
    }
}

static void drop(cd_gossip_push *p, entry *e, bool was_said)
{
    static char mark;
    (void)cd_hmap_del(&p->by_id, &e->id);
    if (was_said) {
        (void)!cd_lru_put(p->discarded, &e->id, &mark, 1);
    }
    cd_free(e);
}

usize cd_gossip_push_take(cd_gossip_push *p, bool again, usize target, u64 interval_ns, u64 now_ns,
                          usize (*say)(void *ctx, const cd_hash32 *id), void *ctx)
{
    cd_list *queue = again ? &p->said : &p->fresh;
    usize *cnt = again ? &p->said_cnt : &p->fresh_cnt;
    usize bytes = 0;
    usize items = 0;
    while (bytes < target && !cd_list_is_empty(queue)) {
        entry *e = cd_list_of(queue->next, entry, queue);
        if (again && now_ns - e->said_ns < interval_ns) {
            break;
        }
        usize n = say(ctx, &e->id);
        cd_list_del(&e->queue);
        --*cnt;
        if (n == 0) {
            drop(p, e, again);
            continue;
        }
        bytes += n;
        items++;
        e->said_ns = now_ns;
        cd_list_push_back(&p->said, &e->queue);
        p->said_cnt++;
    }
    return items;
}

u64 cd_gossip_push_next(const cd_gossip_push *p, u64 interval_ns, u64 now_ns)
{
    if (!cd_list_is_empty(&p->fresh)) {
        return now_ns;
    }
    return cd_list_is_empty(&p->said) ? UINT64_MAX : cd_list_of(p->said.next, entry, queue)->said_ns + interval_ns;
}
