/* services/pricing/share_redis.h - the shared store in Valkey or Redis.
 *
 *   candela:price:usd/bitcoin          the record, gone when it is no longer fresh
 *   candela:price:usd/bitcoin:claim    who fetches it, gone 2 s after its owner renewed it last
 *
 * Looking and claiming is one script, storing and letting go another, so that nothing happens in between.
 * Threading: confined to the loop. [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_SHARE_REDIS_H
#define CD_SERVICES_PRICING_SHARE_REDIS_H

#include "base/log/log.h"
#include "net/loop.h"
#include "services/pricing/share.h"

typedef struct cd_share_redis cd_share_redis;

/* cd_share_redis_open begins to connect and fills *share in. Errors as cd_redis_open. */
cd_err cd_share_redis_open(cd_share_redis **out, cd_prices_share *share, cd_loop *l, const char *url, cd_logger *log,
                           cd_errinfo *why) CD_CHECK;

/* cd_share_redis_close: what was asked is not answered any more. NULL is allowed. */
void cd_share_redis_close(cd_share_redis *s);

#endif
