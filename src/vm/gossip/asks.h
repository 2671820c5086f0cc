/* vm/gossip/asks.h - questions to other nodes that are not answered yet, by the number of the request.
 *
 * Threading: confined. [spec:p2p#8] */
#ifndef CD_VM_GOSSIP_ASKS_H
#define CD_VM_GOSSIP_ASKS_H

#include "base/table/hmap.h"
#include "codec/ids.h"

/* Told what came of a question: the answer (code 0), or the code and the words of the AppError; both borrowed. */
typedef void cd_gossip_told(void *ctx, const cd_node_id *node, i32 code, cd_bytes answer);

enum { CD_GOSSIP_ASKS_OPEN_MAX = 4096 }; /* at a time, of all handlers */

/* The open questions. */
typedef struct cd_gossip_asks {
    cd_hmap open;
} cd_gossip_asks;

/* cd_gossip_asks_init begins without questions; _fini forgets them all, nobody is told. */
void cd_gossip_asks_init(cd_gossip_asks *a);
void cd_gossip_asks_fini(cd_gossip_asks *a);

/* cd_gossip_asks_put notes a question. False: too many are open. */
bool cd_gossip_asks_put(cd_gossip_asks *a, u32 request_id, const cd_node_id *node, cd_gossip_told *told,
                        void *ctx) CD_CHECK;

/* cd_gossip_asks_end tells what came of a question that node was asked, and forgets it first. False: there is none. */
bool cd_gossip_asks_end(cd_gossip_asks *a, u32 request_id, const cd_node_id *node, i32 code, cd_bytes answer);

/* cd_gossip_asks_drop forgets the questions whose outcome ctx would be told. */
void cd_gossip_asks_drop(cd_gossip_asks *a, const void *ctx);

#endif
