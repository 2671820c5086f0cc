/* services/adx/miner/tunnel.h - how players on the Internet reach a miner behind NAT: the client program of a tunnel
 * provider, kept running.
 *
 *   starting ─ URL seen in its output (ngrok: told by its API) ─► up
 *       ▲                                                          │ the program ends, or its output does
 *       └──────── wait 1, 2, 4 … 60 s ◄──────── down ◄─────────────┘
 *
 * Secrets go to the program in its environment, never on its command line. `direct` and `none` run nothing. The
 * program is in a process group of its own, which is ended with it. Threading: confined to the loop; a thread watches
 * the program. [spec:adx#2] */
#ifndef CD_ADX_MINER_TUNNEL_H
#define CD_ADX_MINER_TUNNEL_H

#include "base/log/log.h"
#include "net/http/client.h"
#include "net/loop.h"
#include "services/adx/miner/wire.h"

/* Providers. */
typedef enum cd_tunnel_kind {
    CD_TUNNEL_NONE,
    CD_TUNNEL_DIRECT,
    CD_TUNNEL_LOCALXPOSE,
    CD_TUNNEL_NGROK,
    CD_TUNNEL_CLOUDFLARE,
    CD_TUNNEL_TAILSCALE,
} cd_tunnel_kind;

/* cd_tunnel_kind_of reads a provider's name; false: there is none of it. cd_tunnel_kind_text gives it. */
bool cd_tunnel_kind_of(cd_tunnel_kind *out, cd_bytes text);
const char *cd_tunnel_kind_text(cd_tunnel_kind kind);

/* What a tunnel leads to, and how. Strings are copied; NULL and "" are: not said. */
typedef struct cd_tunnel_cfg {
    cd_loop *loop;
    cd_logger *log;
    cd_http_client *http; /* for ngrok's API */
    cd_tunnel_kind kind;
    const char *cmd;       /* a program in place of the provider's own, run by the shell; $PORT is the port */
    const char *public_ip; /* of direct */
    const char *subdomain, *auth_token, *cf_token;
    const char *ngrok_api; /* in place of http://127.0.0.1:4040/api/tunnels */
    u16 port;
    void (*changed)(void *ctx); /* another URL, or another state */
    void *ctx;
} cd_tunnel_cfg;

typedef struct cd_tunnel cd_tunnel;

/* cd_tunnel_open begins; the program that cannot be run is tried again as one that ended. Errors: CD_EINVAL (direct
 * without an address). cd_tunnel_end ends program and thread, best while the loop still runs; cd_tunnel_close the rest,
 * NULL is allowed. */
cd_err cd_tunnel_open(cd_tunnel **out, const cd_tunnel_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_tunnel_end(cd_tunnel *t);
void cd_tunnel_close(cd_tunnel *t);

/* cd_tunnel_url gives the public URL, "" while there is none; cd_tunnel_state "up", "starting", "down" or "none". */
const char *cd_tunnel_url(const cd_tunnel *t);
const char *cd_tunnel_state(const cd_tunnel *t);
/* cd_tunnel_restarts counts how often the program was started again. */
u32 cd_tunnel_restarts(const cd_tunnel *t);

/* cd_tunnel_find_url looks for the address of a tunnel in what a program printed: the first http(s) URL that is of the
 * kind's own domain (any, for a program of the user's). CD_ENOENT: there is none. */
cd_err cd_tunnel_find_url(char out[CD_WIRE_URL_MAX + 1], cd_tunnel_kind kind, bool is_own, cd_bytes text) CD_CHECK;

#endif
