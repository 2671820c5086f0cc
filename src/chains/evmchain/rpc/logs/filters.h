/* chains/evmchain/rpc/logs/filters.h - filters that clients poll: criteria and a cursor each.
 *
 * A filter that nobody asks for five minutes is forgotten, and the one asked longest ago when there are too many.
 * Pending transactions are kept in a ring; a filter that falls behind it is forgotten as well. Threading: shared.
 * [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_FILTERS_H
#define CD_CHAINS_EVMCHAIN_RPC_FILTERS_H

#include "base/bytes.h"
#include "base/os/clock.h"

typedef struct cd_filters cd_filters;

/* cd_filters_new holds no filters yet, clock is borrowed; cd_filters_free drops all. */
cd_filters *cd_filters_new(const cd_clock *clock);
void cd_filters_free(cd_filters *fs);

/* cd_filters_pending notes a transaction that became executable. */
void cd_filters_pending(cd_filters *fs, const cd_hash32 *hash);

#endif
