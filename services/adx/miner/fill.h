/* services/adx/miner/fill.h - fetches what a miner was assigned into its cache, one object at a time, in pieces.
 *
 * The place an object is fetched from is named by the exchange; what comes from there is kept only when it has the size
 * and the digest that were asked for. What fails is tried again with growing pauses, behind the others. Threading:
 * confined to the loop. [spec:adx#8] */
#ifndef CD_ADX_MINER_FILL_H
#define CD_ADX_MINER_FILL_H

#include "base/log/log.h"
#include "net/http/client.h"
#include "services/adx/miner/vault.h"
#include "services/adx/miner/wire.h"

typedef struct cd_fill cd_fill;

/* cd_fill_new: everything is borrowed; changed is called when an object came or was found to be there. */
cd_fill *cd_fill_new(cd_loop *loop, cd_logger *log, cd_http_client *http, cd_vault *vault, void (*changed)(void *ctx),
                     void *ctx);
/* cd_fill_end begins nothing more. cd_fill_free: the vault has ended. NULL is allowed for both. */
void cd_fill_end(cd_fill *f);
void cd_fill_free(cd_fill *f);

/* cd_fill_assign replaces the list of what is to be kept: the member `objects` of an assignment. Errors: CD_EFORMAT and
 * the like; then nothing has changed. */
cd_err cd_fill_assign(cd_fill *f, cd_json objects, cd_errinfo *why) CD_CHECK;

/* cd_fill_put_have writes the digests of those that are there, as elements of an array. */
void cd_fill_put_have(const cd_fill *f, cd_json_w *w);

/* cd_fill_size gives the size of an object that is there, 0 for any other. */
u64 cd_fill_size(const cd_fill *f, const cd_hash32 *digest);

/* cd_fill_gone: an object turned out not to be there; it is fetched again when it is assigned. */
void cd_fill_gone(cd_fill *f, const cd_hash32 *digest);

/* How many were assigned, and are there. */
typedef struct cd_fill_state {
    usize assigned, have;
    u64 failures;
} cd_fill_state;
/* cd_fill_look tells it. */
cd_fill_state cd_fill_look(const cd_fill *f);

#endif
