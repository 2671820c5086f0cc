/* explorer/primary/primary.h - the pages of the P- and X-Chain, and what joins the three chains of a primary network.
 *
 *   GET /explorer/P/… ─► views of the chains (chains/platform/view.h, chains/xvm/view.h) ─► facts ─► web ─► a page
 *
 * Overview, blocks, block, transaction, validators, validator, networks, network, chain, assets, asset, address (over
 * all chains). Nothing here knows the EVM: what the C-Chain tells of money that crosses comes through cd_crossings.
 * Threading: shared; a request is served on any thread that may read views. [spec:pchain-xchain#4] */
#ifndef CD_EXPLORER_PRIMARY_H
#define CD_EXPLORER_PRIMARY_H

#include "base/os/clock.h"
#include "net/http/server.h"
#include "types/ctx.h"
#include "vm/vm.h"
#include "web/ui.h"

typedef struct cd_primary cd_primary;

/* Where a transaction was found. */
typedef struct cd_crossing {
    cd_hash32 tx_id;
    u64 height;
    u64 time; /* of the block, seconds since 1970 */
} cd_crossing;

/* What the C-Chain tells; ctx is who implements it. tx finds an accepted atomic transaction (it lies in a); taker finds
 * the import that took an output, in blocks of since (seconds since 1970) or later, by looking at CD_CROSSING_BLOCKS of
 * them at most. Errors: CD_ENOENT, the store's. */
typedef struct cd_crossings {
    void *ctx;
    cd_err (*tx)(void *ctx, cd_crossing *out, cd_c_tx *tx, cd_arena *a, const cd_hash32 *id);
    cd_err (*taker)(void *ctx, cd_crossing *out, cd_arena *a, const cd_hash32 *utxo_id, u64 since);
} cd_crossings;

enum { CD_CROSSING_BLOCKS = 4096 };

/* What the pages stand on; everything is borrowed and outlives them. */
typedef struct cd_primary_cfg {
    const cd_clock *clock;
    const char *network; /* "dev", for the top bar */
    const char *root;    /* "/explorer" */
} cd_primary_cfg;

/* cd_primary_new copies cfg; no chain has entered. cd_primary_free: when nothing is served; NULL is allowed. */
cd_primary *cd_primary_new(const cd_primary_cfg *cfg) __attribute__((returns_nonnull));
void cd_primary_free(cd_primary *m);

/* cd_primary_ids says which chains and which asset there are: borrowed, filled in before anything is served. */
void cd_primary_ids(cd_primary *m, const cd_vm_primary *ids);

/* The chains. */
typedef enum cd_primary_chain {
    CD_PRIMARY_P,
    CD_PRIMARY_X,
    CD_PRIMARY_C,
    CD_PRIMARY_CHAINS,
} cd_primary_chain;

/* cd_primary_enter: a chain is open; vm of the P- or X-Chain, crossings of the C-Chain; final tells which of its blocks
 * are final. cd_primary_leave: it is about
 * to close; waits for pages that look at it, which take milliseconds. A chain that is not there is left out of pages.
 * Any thread. */
void cd_primary_enter(cd_primary *m, cd_primary_chain chain, cd_vm *vm, const cd_crossings *crossings,
                      const cd_ui_final_source *final);
void cd_primary_leave(cd_primary *m, cd_primary_chain chain);
bool cd_primary_has(cd_primary *m, cd_primary_chain chain);

/* cd_primary_serve answers a GET below root/P, root/X or root/C. */
void cd_primary_serve(cd_primary *m, cd_primary_chain chain, cd_http_req *r);

/* cd_primary_search gives where what was typed is shown: an ID, a node, an address of P or X, "P/12", or a height of
 * the chain that is looked at; NULL when it is none, or nothing is there. The text lies in a. */
const char *cd_primary_search(cd_primary *m, cd_primary_chain chain, cd_arena *a, cd_bytes typed);

/* cd_primary_no_pages answers that a chain has no pages here, because nobody knows its virtual machine. */
void cd_primary_no_pages(const cd_primary_cfg *cfg, const char *chain, cd_http_req *r);

#endif
