/* services/webhook/core/chain/past.h - what webhooks are told, or only shown, of blocks of the past.
 *
 *   fill: a webhook and a range ─► scan ─► each block: events and progress in one transaction ─► … ─► forgotten
 *   preview: a filter and the last blocks ─► scan ─► counts and the newest bodies
 *
 * A fill survives restarts: the store knows its webhook and the next block, from the transaction on that made the
 * webhook. Its webhook is read when it begins, and again when it is another in the transaction that writes. The same
 * holds for transactions that were mined before somebody asked for them: their blocks are looked up and told of.
 * Part of the intake. Threading: confined to the loop, except cd_wh_intake_enlist and cd_wh_intake_moved.
 * [spec:webhooks#2.4, #6] */
#ifndef CD_WEBHOOK_CORE_PAST_H
#define CD_WEBHOOK_CORE_PAST_H

#include "services/webhook/core/chain/intake.h"

typedef struct cd__wh_past cd__wh_past;

/* Everything is borrowed. told gets what a transaction has made. */
typedef struct cd__wh_past_cfg {
    cd_loop *loop;
    cd_jobs *db;
    cd_logger *log;
    const cd_wh_source *source;
    void (*told)(void *ctx, const cd_wh_enqueued *made);
    void *ctx;
} cd__wh_past_cfg;

/* cd__wh_past_new and _free frame it; between, _stop ends what runs, before the db is closed. */
cd__wh_past *cd__wh_past_new(const cd__wh_past_cfg *cfg);
void cd__wh_past_stop(cd__wh_past *p);
void cd__wh_past_free(cd__wh_past *p);

/* cd__wh_past_look begins with what the store has to tell a webhook (0: all of them), unless it is under way. */
void cd__wh_past_look(cd__wh_past *p, i64 hook);

/* cd__wh_past_drop: the webhook is gone. */
void cd__wh_past_drop(cd__wh_past *p, i64 hook);

/* cd__wh_past_cnt: how many fills there are. */
usize cd__wh_past_cnt(const cd__wh_past *p);

/* cd__wh_past_preview: as cd_wh_intake_preview, from block head downwards. */
void cd__wh_past_preview(cd__wh_past *p, const cd_wh_hook *hook, u64 head, u32 blocks, cd_wh_preview_fn *fn, void *ctx);

#endif
