/* services/adx/miner/link.h - a miner's side of its connection with the exchange.
 *
 *   dial ─► hello ─► register ─► registered ─► heartbeat every 10 s, reports, answers to proof tasks
 *    ▲                                                   │ lost, refused, or silent
 *    └────────────── wait 1, 2, 4 … 60 s ◄───────────────┘
 *
 * Outcomes to be checked are checked on a thread of their own. Nothing the exchange says is done but what is written
 * here; its messages are signed by the key that its greeting names. Threading: confined to the loop. [spec:adx#8] */
#ifndef CD_ADX_MINER_LINK_H
#define CD_ADX_MINER_LINK_H

#include "base/log/log.h"
#include "net/loop.h"
#include "services/adx/miner/cache.h"
#include "services/adx/miner/fill.h"
#include "services/adx/miner/played.h"
#include "services/adx/miner/tunnel.h"

typedef struct cd_link cd_link;

/* What a link works with; borrowed for as long as it lives, but for seed. */
typedef struct cd_link_cfg {
    cd_loop *loop;
    cd_logger *log;
    const char *exchange; /* http(s):// or ws(s)://, without a path */
    u8 seed[32];
    const char *wallet;
    u64 cache_size;
    cd_fill *fill;
    cd_played *played;
    cd_vault *vault;
    const cd_tunnel *tunnel;
    const char *tunnel_name;
} cd_link_cfg;

/* cd_link_open begins to connect. Errors: CD_EINVAL (the exchange's URL). cd_link_end closes the connection and ends
 * the thread; done is called once when it is gone. cd_link_free: after that, or where open failed. NULL is allowed. */
cd_err cd_link_open(cd_link **out, const cd_link_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_link_end(cd_link *l, void (*done)(void *ctx), void *ctx);
void cd_link_free(cd_link *l);

/* cd_link_beat sends a heartbeat now: something has changed. */
void cd_link_beat(cd_link *l);

/* How it stands. */
typedef struct cd_link_state {
    bool is_registered;
    const char *trouble; /* why not; "" (borrowed) */
    u64 proofs_checked, reconnects;
    u64 rewards;         /* periods that the exchange has credited since the start */
    char last_total[32]; /* of the last one, USD */
} cd_link_state;
/* cd_link_look tells it; its text is borrowed until the loop goes on. */
cd_link_state cd_link_look(const cd_link *l);

#endif
