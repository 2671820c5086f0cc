/* vm/gossip/push.h - what this node pushes to others: in the order in which it came, and again later.
 *
 *   put ─► fresh ── said ─► said ── due again: by the interval ─► said …      what is not in the set any more drops out
 *
 * What has dropped out after it was said is remembered for a while: coming again it is not said before the interval is
 * over, so that what is refused again and again is not said again and again. IDs only; bounded. Threading: confined.
 * [spec:consensus#9] */
#ifndef CD_VM_GOSSIP_PUSH_H
#define CD_VM_GOSSIP_PUSH_H

#include "base/table/list.h"
#include "base/table/lru.h"
#include "codec/ids.h"

enum { CD_GOSSIP_PUSH_MAX = 65536, CD_GOSSIP_DISCARDED_MAX = 16384 };

/* The two queues. */
typedef struct cd_gossip_push {
    cd_hmap by_id;
    cd_list fresh;
    cd_list said; /* in the order of pushing, the longest ago first */
    usize fresh_cnt;
    usize said_cnt;
    cd_lru *discarded;
} cd_gossip_push;

/* cd_gossip_push_init makes empty queues; _fini releases them. */
void cd_gossip_push_init(cd_gossip_push *p);
void cd_gossip_push_fini(cd_gossip_push *p);

/* cd_gossip_push_put queues an ID, once; beyond CD_GOSSIP_PUSH_MAX it is not queued. */
void cd_gossip_push_put(cd_gossip_push *p, const cd_hash32 *id, u64 now_ns);

/* cd_gossip_push_take calls say for what is due, fresh or (again) said interval_ns ago, until it has given target bytes
 * or more. say gives the bytes of an item, 0 when it is not in the set any more. Gives how many items were said. */
usize cd_gossip_push_take(cd_gossip_push *p, bool again, usize target, u64 interval_ns, u64 now_ns,
                          usize (*say)(void *ctx, const cd_hash32 *id), void *ctx);

/* cd_gossip_push_next gives when something is due: now when there is anything fresh; UINT64_MAX: never. */
u64 cd_gossip_push_next(const cd_gossip_push *p, u64 interval_ns, u64 now_ns);

#endif
