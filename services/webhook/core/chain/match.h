/* services/webhook/core/chain/match.h - which webhooks a block concerns, and with what.
 *
 *   webhooks ─► lists ─► index ◄─ addresses, topics, hashes of the block ─► hits in order
 *
 * One matcher a chain. Webhooks come, change and go one by one; memory is about 33 bytes for each address that is
 * watched. What a block costs depends on the block and on what it hits, not on the number of webhooks.
 *
 * Hits of a webhook are in the order (block, transaction, log, sub index), the transaction itself before its logs and
 * its internal transfers after them; between webhooks there is none. A hit has no body yet: that takes the tokens'
 * names (core/event.h). Threading: confined. [spec:webhooks#2, #5, #6] */
#ifndef CD_WEBHOOK_CORE_MATCH_H
#define CD_WEBHOOK_CORE_MATCH_H

#include "services/webhook/core/chain/facts.h"
#include "services/webhook/core/model.h"

typedef struct cd_wh_match cd_wh_match;

/* What an event's identity is made of [spec:webhooks#5]. */
typedef enum cd_wh_kind {
    CD_WH_KIND_TX = 1,
    CD_WH_KIND_LOG,
    CD_WH_KIND_INNER,
    CD_WH_KIND_BLOCK,
    CD_WH_KIND_PENDING,
} cd_wh_kind;

/* One match of a webhook; facts and webhook are borrowed. */
typedef struct cd_wh_hit {
    i64 hook;
    const char *hook_id; /* the matcher's: until the webhook is replaced or removed */
    cd_wh_type type;
    cd_wh_kind kind;
    const cd_wh_tx *tx; /* NULL: the block */
    const cd_wh_log *log;
    const cd_wh_part *part; /* of a transfer in log */
    const cd_wh_inner *inner;
    u32 sub;
    bool is_outgoing;  /* activity: the watched address is the sender */
    bool wants_args;   /* of the log: the webhook has descriptions of events */
    const char *event; /* the one that fits (core/abi_event.h), the matcher's; NULL: none */
} cd_wh_hit;

/* cd_wh_match_new makes one without webhooks. cd_wh_match_free: NULL is allowed. */
cd_wh_match *cd_wh_match_new(void);
void cd_wh_match_free(cd_wh_match *m);

/* cd_wh_match_put adds a webhook or replaces the one with its key; everything is copied. Lists are at most
 * CD_WH_ADDRESSES_MAX long. It gives whether that changes what is matched; from_block alone is no change.
 * cd_wh_match_del: false when there is none. */
bool cd_wh_match_put(cd_wh_match *m, const cd_wh_hook *hook);
bool cd_wh_match_del(cd_wh_match *m, i64 key);

/* cd_wh_match_has: there is such a webhook; *from_block is the first block that concerns it. */
bool cd_wh_match_has(const cd_wh_match *m, u64 *from_block, i64 key);

/* cd_wh_match_types: the types that some webhook has, a mask; cd_wh_match_count: how many webhooks there are. */
u32 cd_wh_match_types(const cd_wh_match *m);
usize cd_wh_match_count(const cd_wh_match *m);

/* cd_wh_match_run gives what concerns some webhook; borrowed until the next call, and from the facts. */
const cd_wh_hit *cd_wh_match_run(cd_wh_match *m, usize *cnt, const cd_wh_facts *facts);

/* cd_wh_hits_dup copies hits with what they borrow from the matcher. */
const cd_wh_hit *cd_wh_hits_dup(cd_arena *mem, const cd_wh_hit *hits, usize cnt);

#endif
