/* types/network.h - what differs between networks, one row each. Nothing else in the project asks
 * for a network by name. Threading: frozen. [spec:architecture#10] */
#ifndef CD_TYPES_NETWORK_H
#define CD_TYPES_NETWORK_H

#include "base/bytes.h"

typedef struct cd_network {
    u32 id;
    const char *name;
    const char *prefix; /* of bech32 addresses */
    u64 evm_chain_id;
    u16 http_port;
    u8 decimals; /* of the native asset on the P- and X-Chain */
    bool is_dev; /* one node, unlocked accounts, blocks on demand */
} cd_network;

/* cd_network_find gives the row of a name, or of a number in decimal (the first row with that id);
 * NULL when there is none. */
const cd_network *cd_network_find(const char *name);

#endif
