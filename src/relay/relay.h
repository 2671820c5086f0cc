/* relay/relay.h - a relay: the machine (relay/core.h) with nodes, a file of places, a log and metrics.
 *
 *   chain: reads (height, logs) ─┐                 ┌─ work (nonces, what was received), and transactions, in batches
 *          signatures ───────────┴► core ◄─────────┘
 *                                     └► places ─► file, replaced whenever a route has moved on
 *
 * A chain is learned before it is used (its IDs, where its Warp precompile is), and asked again and again until it
 * answers; routes between chains that are known run meanwhile. Of a route without a place reading begins at the
 * source's `start`, or behind its head; that place is on disk before anything is read. Threading: confined to the
 * loop. */
#ifndef CD_RELAY_RELAY_H
#define CD_RELAY_RELAY_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "base/os/fileio.h"
#include "codec/json.h"
#include "net/loop.h"
#include "relay/core.h"

/* A chain with a messenger. Everything is borrowed for the relay's life. */
typedef struct cd_relay_chain_cfg {
    const char *name;
    const char *url; /* its methods over HTTP */
    const char *net; /* whose validators validate it, by ID; "": the primary network's */
    cd_addr20 messenger;
    bool is_source;
    const u8 *key;       /* 32 bytes: of the account that pays here; NULL: nothing is brought here */
    bool trusts_primary; /* as a destination: requirePrimaryNetworkSigners */
    bool has_start;
    u64 start; /* the block to begin with */
} cd_relay_chain_cfg;

/* Zero in a number means its default. */
typedef struct cd_relay_cfg {
    const cd_relay_chain_cfg *chains;
    usize chain_cnt;
    cd_relay_limits limits;
    const cd_addr20 *senders; /* whose messages are carried; none: everybody's */
    usize sender_cnt;
    u32 quorum;     /* 67 per cent */
    u64 gas_max;    /* 8000000: a message whose receiver wants more is not carried */
    u32 timeout_ms; /* 15000 for an answer */
    cd_fs *fs;
    const char *place_path;
    cd_logger *log;
    cd_metrics *metrics;
} cd_relay_cfg;

enum { CD_RELAY_CHAINS_MAX = 32 };

typedef struct cd_relay cd_relay;

/* cd_relay_open begins. Errors: CD_EINVAL (no route), CD_EKEY, those of the file of places. */
cd_err cd_relay_open(cd_relay **out, cd_loop *loop, const cd_relay_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_relay_close writes down the places and ends; not from within a callback of its own. NULL is allowed. */
void cd_relay_close(cd_relay *r);

/* cd_relay_health writes an object: "healthy" and what each chain does; it gives whether all is well. */
bool cd_relay_health(const cd_relay *r, cd_json_w *w);

#endif
