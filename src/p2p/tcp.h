/* p2p/tcp.h - a network of peers over TCP and mutual TLS 1.3, on the event loop.
 *
 *   cd_listener ─► may_accept ─► TLS ─┐
 *   cd_connect  ──────────────► TLS ─┴► certificate ─► cd_p2p_net_opened ─► bytes both ways
 *
 * Threading: confined to the loop's thread. [spec:p2p#1] */
#ifndef CD_P2P_TCP_H
#define CD_P2P_TCP_H

#include "net/loop.h"
#include "p2p/network.h"

typedef struct cd_p2p_tcp cd_p2p_tcp;

/* Where to listen, and how long to wait. */
typedef struct cd_p2p_tcp_cfg {
    const char *host;         /* local address to listen on; "" is every address */
    u16 port;                 /* 0: the system chooses */
    cd_p2p_ip own;            /* the address at which others reach this node; port 0: that of the listener */
    u32 dial_timeout_ms;      /* 30000 */
    u32 handshake_timeout_ms; /* 15000; for TLS */
} cd_p2p_tcp_cfg;

/* cd_p2p_tcp_open listens and makes the network. net->id and what net->link points to must stay. Errors: those of
 * cd_listener_open and cd_tls_new. */
cd_err cd_p2p_tcp_open(cd_p2p_tcp **out, cd_loop *loop, const cd_p2p_tcp_cfg *cfg, const cd_p2p_net_cfg *net,
                       const cd_p2p_owner *owner, cd_errinfo *why) CD_CHECK;

/* cd_p2p_tcp_close ends all connections; cd_p2p_in_done must have been called for every message before. Memory is freed
 * in the loop's next rounds (cd_loop_free runs them). NULL is allowed. */
void cd_p2p_tcp_close(cd_p2p_tcp *t);

/* cd_p2p_tcp_net gives the network, cd_p2p_tcp_port the port that it listens on. */
cd_p2p_net *cd_p2p_tcp_net(cd_p2p_tcp *t);
u16 cd_p2p_tcp_port(const cd_p2p_tcp *t);

/* cd_p2p_tcp_wake makes the network look at its times soon; to be called after cd_p2p_net_add. */
void cd_p2p_tcp_wake(cd_p2p_tcp *t);

#endif
