/* services/adx/exchange/gate.h - the miners of an exchange: who is connected, who keeps what, who delivers.
 *
 *   WebSocket ─► challenge, registration, heartbeats, reports ─► clerk ─► ledger
 *   configuration ─► objects ─► assignment ─► "I have it" ─► audit (fetched from outside) ─► cd_gate_choose
 *   settled auctions ─► proof tasks, some of them forged ─► fee, or no more of them
 *
 * Miners are strangers. None is believed beyond its signature: what it claims to keep is fetched and compared before a
 * player is sent to it, and again now and then; what it claims to have delivered counts up to what was paid for; of the
 * outcomes it is asked to check some are forged. Messages, connections (in all and of an address), tasks, audits and
 * fees are bounded; who breaks the rules is cut off, who lies is left alone for an hour. Threading: confined to the
 * loop, except cd_gate_outcome. [spec:adx#8] */
#ifndef CD_ADX_EXCHANGE_GATE_H
#define CD_ADX_EXCHANGE_GATE_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/http/server.h"
#include "services/adx/exchange/config.h"
#include "services/adx/exchange/token.h"
#include "services/adx/ledger/clerk.h"
#include "services/adx/ledger/wages.h"

enum { CD_GATE_LISTED_MAX = 500 };

typedef struct cd_gate cd_gate;

/* What a gate works with. Pointers are borrowed for as long as it lives; seed is copied. */
typedef struct cd_gate_cfg {
    cd_loop *loop;
    cd_logger *log;
    cd_metrics *metrics;
    const cd_clock *clock;
    cd_clerk *clerk;
    const cd_hmac_sha256_key *key; /* of tokens */
    u8 seed[32];                   /* Ed25519, what we sign with */
    u64 period_s;                  /* of rewards */
    u64 proof_fee_micro;           /* millionths of a USD for a verified proof */
} cd_gate_cfg;

/* cd_gate_new starts without any miner. Errors: those of cd_http_client_new. */
cd_err cd_gate_new(cd_gate **out, const cd_gate_cfg *cfg, cd_errinfo *why) CD_CHECK;
/* cd_gate_end asks nothing more of the clerk, and calls done once, when what it was asked for is written. cd_gate_free:
 * no connection is left; NULL is allowed. */
void cd_gate_end(cd_gate *g, void (*done)(void *ctx), void *ctx);
void cd_gate_free(cd_gate *g);

/* cd_gate_config says what there is to keep. */
void cd_gate_config(cd_gate *g, const cd_adx_config *config);

/* cd_gate_accept answers a request for a WebSocket. */
void cd_gate_accept(cd_gate *g, cd_http_req *r);

/* cd_gate_outcome hands over the outcome of an auction for miners to check, from any thread; too many are dropped. */
void cd_gate_outcome(cd_gate *g, cd_bytes json);

/* Who is to serve an object. */
typedef struct cd_gate_choice {
    char miner[CD_MINER_ID_LEN + 1];
    const char *url; /* borrowed until the loop goes on */
} cd_gate_choice;

/* cd_gate_choose gives a miner that has the object and was found to serve it; the preferred one when it is among them
 * (an id, or empty). false: there is none. is_secure: only https will do. */
bool cd_gate_choose(cd_gate *g, cd_gate_choice *out, const cd_hash32 *digest, bool is_secure, cd_bytes preferred);

/* How a miner is doing, as its connection says. */
typedef enum cd_gate_state { CD_GATE_OFFLINE, CD_GATE_ACTIVE, CD_GATE_SILENT, CD_GATE_SUSPENDED } cd_gate_state;
/* cd_gate_state_text gives "active" and so on. */
const char *cd_gate_state_text(cd_gate_state s);

/* A miner that is connected here. */
typedef struct cd_gate_view {
    cd_gate_state state;
    const char *tunnel, *tunnel_state, *url; /* borrowed until the loop goes on */
    u64 cache_size, cache_used, objects, hits, misses;
    u64 last_seen_s;
    u32 assigned, audited; /* objects */
} cd_gate_view;

/* cd_gate_look gives it; offline, and nothing else, when it is not here. */
void cd_gate_look(const cd_gate *g, cd_gate_view *out, const char *miner);

/* What all connected miners keep together. */
typedef struct cd_gate_totals {
    u64 active, cache_size, cache_used, objects, hits, misses;
} cd_gate_totals;
/* cd_gate_totals_get adds it up. */
cd_gate_totals cd_gate_totals_get(const cd_gate *g);

#endif
