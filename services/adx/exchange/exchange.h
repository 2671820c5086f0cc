/* services/adx/exchange/exchange.h - the exchange: its parts, its routes, its life.
 *
 *   POST /rtb/bid ─┐                                      ┌─► bidders (HTTP)        GET /t/… ─► clerk ─► ledger
 *   GET /vast ─────┴► run: parse ─► demand ─► auction ────┴─► budget (campaigns)    GET /rtb/explain/{id}
 *
 *   /auction/… ─► notary (auctions.db)     /frequency/check ─► counters     /frequency/tokens, redeem ─► notary
 *
 *   /miner/connect ─► gate (miners) ─► clerk                /miner/stats
 *
 * Threading: everything on the loop, but for the ledger, which the clerk's thread has, and auctions and tokens, which
 * the notary has. [spec:adx#2] [spec:adx#3.1]
 * [spec:adx#4.1] [spec:adx#4.3] */
#ifndef CD_ADX_EXCHANGE_EXCHANGE_H
#define CD_ADX_EXCHANGE_EXCHANGE_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/loop.h"
#include "services/adx/openrtb/money.h"

typedef struct cd_exchange cd_exchange;

/* Strings are borrowed for as long as the exchange lives. */
typedef struct cd_exchange_cfg {
    cd_loop *loop;
    cd_logger *log;
    cd_metrics *metrics;
    const cd_clock *clock;
    const char *bind;
    u16 port;
    const char *public_url;  /* where beacons are reached; NULL: http://127.0.0.1:PORT */
    const char *config_path; /* NULL: no configuration */
    const char *data_dir;
    const char *db;          /* URL of the ledger; NULL: a file in data_dir */
    const char *admin_token; /* NULL: clients on this machine are admins */
    cd_micro floor;          /* USD CPM */
    u32 timeout_ms;          /* for an auction */
    i32 at;                  /* 1 or 2, where a request does not say */
    u32 freq_window_s;       /* of frequency caps */
    const char *shared_caps; /* URL of the Valkey or Redis where they are counted too; NULL: here alone */
    u32 client_rate;         /* requests a second of one address to auctions and tokens; 0: any number */
    u32 token_life_s;        /* of beacons, unless the request wants less or, up to twice as much, more */
    u64 miner_period_s;      /* of miners' rewards; 0: a day */
    u64 proof_fee_micro;     /* millionths of a USD for a miner that has verified a proof */
    const char *node_miner;  /* the miner of this very process, to whom the fees of its auctions go; NULL: none */
} cd_exchange_cfg;

/* cd_exchange_open starts an exchange. Errors: those of the configuration (CD_EFORMAT …), of the ledger's database and
 * of cd_http_server_listen; nothing is left behind. */
cd_err cd_exchange_open(cd_exchange **out, const cd_exchange_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_exchange_reload reads the configuration again; on failure the one that is used stays. */
cd_err cd_exchange_reload(cd_exchange *x, cd_errinfo *why) CD_CHECK;

/* cd_exchange_port: the one the system chose. */
u16 cd_exchange_port(const cd_exchange *x);

/* cd_exchange_drain lets requests finish for grace_ms, gives back what was leased and not promised, then calls done. */
void cd_exchange_drain(cd_exchange *x, u32 grace_ms, void (*done)(void *ctx), void *ctx);
/* cd_exchange_close: after done. NULL is allowed. */
void cd_exchange_close(cd_exchange *x);

#endif
