/* services/adx/miner/home_priv.h - how the parts of the miner fit together. Threading: confined to the loop. */
#ifndef CD_ADX_MINER_HOME_PRIV_H
#define CD_ADX_MINER_HOME_PRIV_H

#include "base/os/fileio.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/http/sse.h"
#include "services/adx/miner/control.h"
#include "services/adx/miner/home.h"
#include "services/adx/miner/link.h"

struct cd_home {
    cd_home_cfg cfg;
    char wallet[43], id[17];
    cd_dirlock lock;
    bool is_locked;
    cd_vault *vault;
    cd_http_client *origins, *exchange;
    cd_fill *fill;
    cd_played *played;
    cd_tunnel *tunnel;
    cd_link *link;
    cd_control *control;
    cd_http_server *server;
    u32 asking; /* calls to the exchange that answer somebody */
    u64 bytes_served, requests;
    cd_sse *live; /* pages that listen */
    cd_timer *live_timer;
    struct {
        cd_counter *requests, *bytes, *refused;
    } m;
    u32 grace_ms;
    void (*done)(void *ctx);
    void *done_ctx;
};

/* cd__home_routes adds the routes. */
void cd__home_routes(cd_home *h);
/* cd__home_status writes what /stats and the command `status` show. */
void cd__home_status(const cd_home *h, cd_buf *out);
/* cd__home_media answers GET /media/…. */
void cd__home_media(cd_home *h, cd_http_req *r);
/* cd__home_page_open adds the page and tells it to those who listen; close: after the server has stopped. */
void cd__home_page_open(cd_home *h);
void cd__home_page_close(cd_home *h);
/* cd__home_error answers with a JSON error. */
void cd__home_error(cd_http_req *r, u32 status, const char *code, const char *message);

#endif
