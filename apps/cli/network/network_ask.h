/* apps/cli/network/network_ask.h - what nodes of a network on this machine say of themselves, over HTTP.
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_ASK_H
#define CD_APPS_CLI_NETWORK_ASK_H

#include "network/network_state.h"

/* What is known of a node that answers. */
typedef struct cd__net_word {
    bool has_peers; /* peers is valid */
    u64 peers;
    bool has_heights;
    u64 heights[3];          /* heights of P, X and C */
    bool is_healthy;         /* in all that it runs */
    bool primary_is_healthy; /* in what every node runs */
} cd__net_word;

/* cd__net_ask asks one node; what the node does not say stays false or 0. */
void cd__net_ask(cd__net_word *out, const cd__net *n, const cd__net_node *x);

#endif
