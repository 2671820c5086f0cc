/* services/webhook/core/chain/l1.h - how the L1 of a chain is, asked of the node that the chain is read from.
 *
 *   …/bc/ID/rpc ─► info.getBlockchainID ─► platform.validatedBy ─┬─► the primary network: nothing to look after
 *                                                                └─► every look_ms: platform.getL1Health ─► notice
 *
 * A halt is told at once, anything else when two looks agree. A node that does not know platform.getL1Health is not
 * asked again. Nothing that the node says is believed beyond its form; its texts are cut. Threading: confined to the
 * loop. [spec:webhooks#9] */
#ifndef CD_WEBHOOK_CORE_CHAIN_L1_H
#define CD_WEBHOOK_CORE_CHAIN_L1_H

#include "base/log/log.h"
#include "net/http/client.h"
#include "services/common/jobs.h"

typedef struct cd_wh_l1_watch cd_wh_l1_watch;

/* Strings are borrowed for the life of the watch. */
typedef struct cd_wh_l1_cfg {
    cd_jobs *db;
    cd_http_client *http;
    cd_logger *log;
    const char *chain; /* as webhooks name it */
    const char *http_url;
    u32 look_ms; /* how often the node is asked */
    void *ctx;
    void (*due)(void *ctx); /* a notice may wait in the store */
} cd_wh_l1_cfg;

/* cd_wh_l1_watch_new begins; *out is NULL when the URL has no chain's ID or name behind /bc/, or names one that every
 * primary network has (P, X, C). */
void cd_wh_l1_watch_new(cd_wh_l1_watch **out, cd_loop *loop, const cd_wh_l1_cfg *cfg);

/* cd_wh_l1_watch_stop ends it; then the db is closed; then cd_wh_l1_watch_free. NULL is allowed. */
void cd_wh_l1_watch_stop(cd_wh_l1_watch *w);
void cd_wh_l1_watch_free(cd_wh_l1_watch *w);

#endif
