/* services/adx/miner/home.h - a home miner: its parts, its routes, its life.
 *
 *   players ─ GET /media/{sha256} ─► vault (cache) ─► bytes ─► played ─► link ─► exchange
 *   players ─ GET /ad ─► exchange's /vast, which names this miner where it has the file
 *   exchange ─ assign ─► fill ─► vault                tunnel ─► public URL ─► heartbeat
 *
 * A tunnel is ended with the process. Threading: everything on the loop, but for the cache, tunnels, proofs and the
 * control socket, which have threads of their own. [spec:adx#2] [spec:adx#8] */
#ifndef CD_ADX_MINER_HOME_H
#define CD_ADX_MINER_HOME_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/loop.h"
#include "services/adx/miner/tunnel.h"

typedef struct cd_home cd_home;

/* Strings are borrowed for as long as the miner lives. */
typedef struct cd_home_cfg {
    cd_loop *loop;
    cd_logger *log;
    cd_metrics *metrics;
    const cd_clock *clock;
    const char *bind;
    u16 port;
    const char *wallet;
    const char *data_dir;
    const char *exchange; /* its URL */
    u64 cache_size;
    cd_tunnel_cfg tunnel;    /* without loop, log, http, port, changed */
    void (*stop)(void *ctx); /* the command `stop` came */
    void *stop_ctx;
} cd_home_cfg;

/* cd_home_open starts a miner. Errors: CD_EINVAL (wallet, exchange, tunnel), CD_EBUSY (another one has the directory),
 * those of files and of cd_http_server_listen; nothing is left behind. */
cd_err cd_home_open(cd_home **out, const cd_home_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_home_port: the one the system chose. */
u16 cd_home_port(const cd_home *h);
/* cd_home_id gives the id of the key in a data directory, which is made when there is none. */
cd_err cd_home_id(char out[17], const char *data_dir, cd_errinfo *why) CD_CHECK;

/* cd_home_drain lets requests finish for grace_ms, takes leave of the exchange, then calls done. */
void cd_home_drain(cd_home *h, u32 grace_ms, void (*done)(void *ctx), void *ctx);
/* cd_home_close: after done. NULL is allowed. */
void cd_home_close(cd_home *h);

#endif
