/* node/peers/tuning.h - numbers that an operator may set about peers and voting; whoever sets nothing has those of the
 * network. Threading: frozen. [spec:node-api#11] */
#ifndef CD_NODE_TUNING_H
#define CD_NODE_TUNING_H

#include "consensus/snow/params.h"
#include "p2p/network.h"
#include "p2p/requests.h"

/* A number that is 0 means the default: that of the struct it stands in, or the one behind it. */
typedef struct cd_node_tuning {
    cd_p2p_net_cfg net;           /* of this only the numbers are used, */
    cd_p2p_requests_cfg requests; /* and of this */
    u64 dial_timeout_ns;          /* 30 s */
    u64 tls_timeout_ns;           /* 15 s */
    u64 deadline_max_ns;          /* 10 s; what a peer asks must be answered then */
    cd_snow_params voting;        /* a k of 0: the network's */
    u64 tick_ns;                  /* 100 ms; between looks at what is undecided */
    bool skip_bootstrap;          /* chains decide from where they stand, without asking anybody */
    u64 silence_in_ns;            /* 60 s; when nobody was heard for so long the node is not well; */
    u64 silence_out_ns;           /* 60 s; when nobody was spoken to, likewise; */
    double send_fails_max;        /* 0.9; when a larger part of the messages finds no room; */
    u64 request_ns;               /* 5 min; when an answer is awaited for longer; */
    u64 requests_max;             /* 1024; when more are awaited; */
    u64 blocks_max;               /* 256; when more blocks of a chain are undecided; */
    u64 waiting_ns;               /* 30 s; when one is for longer */
} cd_node_tuning;

/* cd_node_tuning_fill puts the defaults where nothing is set, but for what net and requests hold. */
void cd_node_tuning_fill(cd_node_tuning *t);

#endif
