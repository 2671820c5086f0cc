/* services/common/test/node_rig.h - a node that a test plays: a chain of small blocks over HTTP and WebSocket, with
 * the faults that nodes have.
 *
 * Block n has one transaction with hash of n: 0xa0… sends n wei to 0xb0…, emits an ERC-20 transfer of n units from
 * 0xa0… to 0xc0…, and passes 1 wei on from 0xb0… to 0xd0…. */
#ifndef CD_SERVICES_COMMON_TEST_NODE_RIG_H
#define CD_SERVICES_COMMON_TEST_NODE_RIG_H

#include "base/bytes.h"
#include "net/http/server.h"
#include "net/ws/ws.h"

typedef struct node_rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub;
    cd_ws *ws; /* NULL: nobody is connected */
    bool heads_on, pending_on;
    char http_url[64], ws_url[64];
    u64 head;
    u64 final; /* number of the block "finalized" */
    bool no_final;
    u64 fork_at;      /* from here on it is another chain; 0: never */
    u64 empty_to;     /* blocks up to here have no transaction, but for every 1000th */
    u64 batch_max;    /* requests at a time; 0: any number */
    u64 failing;      /* so many requests get status 500 */
    u64 lying;        /* so many blocks have the receipts of others */
    u64 confused;     /* so many eth_calls fail without being made */
    bool no_receipts; /* it does not know eth_getBlockReceipts */
    bool no_traces;
    bool tells_hashes; /* of pending transactions only that */
    bool is_dumb;      /* symbol() and the others revert */
    u32 requests, calls, traces;
} node_rig;

void node_open(node_rig *n, cd_loop *loop, u64 head);
/* node_close ends it; it runs the loop. */
void node_close(node_rig *n);

/* node_mine adds blocks up to head and tells who has subscribed; node_pend tells of a pending transaction with a
 * nonce. */
void node_mine(node_rig *n, u64 head);
void node_pend(node_rig *n, u64 nonce);

/* node_cut ends the WebSocket connection. */
void node_cut(node_rig *n);

/* The hash of a block; addresses that begin with a byte. */
cd_hash32 node_hash(const node_rig *n, u64 number);
cd_addr20 node_addr(u8 first);

#endif
