/* services/webhook/core/chain/intake.h - one chain, from its node into the ledger.
 *
 *   follower ─► facts ─► matcher ─► names ─► events ─┐ one transaction with the cursor      ┌─► made: to be sent now
 *   mempool ──► facts ─► matcher ─► events ──────────┴─► store (as many blocks as wait) ─────┴─► due: more waits there
 *   back-fills: a scan of past blocks for one webhook, resumed after a restart
 *
 * A block's matches and the cursor are written together, in the order of the blocks; what could not be written is
 * written again, so nothing is ever skipped. While the store is slow no more than CD_FOLLOWER_AHEAD blocks wait.
 *
 * A webhook is told of every block from its from_block on: the first that is not in the ledger when it is made or
 * its filter changes (cd_wh_intake_enlist, cd_wh_intake_moved, in that transaction). The transaction that writes
 * blocks knows what the matcher has not seen yet, be it another worker's change; then they are matched again. So it
 * is exact, however many workers there are; each block is written by the one that comes first.
 *
 * Blocks that were replaced: the rows of the old ones stay, webhooks that asked for it are told that they are no more,
 * the new ones are told of, and the sequence numbers go on (chain/rewind.h). Where that may not be, nothing is told and
 * the state says why, until the cursor is another.
 *
 * Threading: confined to the loop, except cd_wh_intake_enlist and cd_wh_intake_moved. [spec:webhooks#5, #6] */
#ifndef CD_WEBHOOK_CORE_INTAKE_H
#define CD_WEBHOOK_CORE_INTAKE_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "services/common/follower.h"
#include "services/webhook/core/chain/scan.h"

typedef struct cd_wh_intake cd_wh_intake;

/* Strings are borrowed for the life of the intake. Zero in a number means its default. */
typedef struct cd_wh_intake_cfg {
    cd_jobs *db;
    cd_http_client *http;
    cd_ws_hub *hub;
    const cd_clock *clock;
    cd_logger *log;
    cd_metrics *metrics;
    cd_wh_chain chain;
    const char *http_url;
    const char *ws_url; /* NULL: the node is only asked */
    u32 confirmations;
    u32 poll_ms;
    cd_wh_replaced replaced;
    bool is_dev; /* a development network, which takes blocks back and begins anew */
    void *ctx;
    /* Rows that are leased to this worker, in order; borrowed for the call. */
    void (*made)(void *ctx, const cd_wh_delivery *rows, usize cnt);
    void (*due)(void *ctx);                                             /* more waits in the store */
    void (*quota)(void *ctx, const cd_wh_quota_note *notes, usize cnt); /* NULL */
} cd_wh_intake_cfg;

/* cd_wh_intake_new loads the webhooks of the chain and then follows it. It reads the store by a job, so it is ready
 * a little later. Errors: CD_EINVAL for URLs. */
cd_err cd_wh_intake_new(cd_wh_intake **out, cd_loop *loop, const cd_wh_intake_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_wh_intake_stop ends following and back-fills; then the db is closed; then cd_wh_intake_free (NULL is allowed). */
void cd_wh_intake_stop(cd_wh_intake *in);
void cd_wh_intake_free(cd_wh_intake *in);

/* cd_wh_intake_enlist, behind cd_wh_hook_add in the same transaction: what the webhook has to be told of from the
 * past is not forgotten by a crash. It sets hook->from_block when that is 0. cd_wh_intake_moved, behind what changes
 * a filter: it holds from hook->from_block on, which is set. Both leave 0 where the chain was never followed. */
cd_err cd_wh_intake_enlist(cd_wh_store *s, cd_wh_hook *hook, cd_errinfo *why) CD_CHECK;
cd_err cd_wh_intake_moved(cd_wh_store *s, cd_wh_hook *hook, cd_errinfo *why) CD_CHECK;

/* cd_wh_intake_put: a webhook of this chain was made or changed, with its lists; cd_wh_intake_del: it is gone. */
void cd_wh_intake_put(cd_wh_intake *in, const cd_wh_hook *hook);
void cd_wh_intake_del(cd_wh_intake *in, i64 hook);

/* cd_wh_intake_resume looks for back-fills that nobody is at any more. */
void cd_wh_intake_resume(cd_wh_intake *in);

/* What a filter would have matched in the last blocks. The bodies are the newest, newest first. */
typedef struct cd_wh_preview {
    u64 blocks, matched_blocks, events;
    const cd_bytes *bodies;
    usize bodies_cnt;
} cd_wh_preview;
typedef void cd_wh_preview_fn(void *ctx, const cd_wh_preview *p, const char *reason); /* p NULL: reason */

/* cd_wh_intake_preview looks at the last blocks (at most CD_WH_PREVIEW_BLOCKS) and calls fn once: at once with
 * CD_WH_PREVIEW_BUSY when too many wait, of all or of the hook's project; else not before it returns; never after
 * cd_wh_intake_stop. hook is copied. */
#define CD_WH_PREVIEW_BUSY "too many previews wait; try again soon"
enum { CD_WH_PREVIEW_BLOCKS = 1000, CD_WH_PREVIEW_BODIES = 20 };
void cd_wh_intake_preview(cd_wh_intake *in, const cd_wh_hook *hook, u32 blocks, cd_wh_preview_fn *fn, void *ctx);

/* Where it stands. */
typedef struct cd_wh_intake_state {
    cd_follower_state node;
    u64 height;        /* of the last block whose events are in the ledger */
    bool is_ready;     /* the webhooks are loaded */
    bool is_far;       /* behind the node */
    char problem[160]; /* why nothing or little is told of the chain, for people; "" */
    usize hooks, fills;
    u64 pending_dropped;
} cd_wh_intake_state;
/* cd_wh_intake_look asks now. */
cd_wh_intake_state cd_wh_intake_look(const cd_wh_intake *in);

/* cd_wh_intake_source borrows what a scan of the chain needs (the audit). */
const cd_wh_source *cd_wh_intake_source(const cd_wh_intake *in);

#endif
