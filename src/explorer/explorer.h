/* explorer/explorer.h - the pages that show an EVM chain to people, below one path of a node's HTTP service.
 *
 *   GET /explorer/… ─► a view of the chain (frozen) ─► facts ─► web ─► a finished page
 *
 * Overview, blocks, block, transaction, address, contract, token, pool, finality, node, search. Facts come from the
 * chain's own readers alone; a page holds one view, so what it shows belongs together. Whatever needs an index (the
 * transactions of an address, holdings, tokens) is asked of the index (index.h), and without one the page says that
 * it is not there. Threading: shared; a request is served on any thread that may read views. [spec:style#B6] */
#ifndef CD_EXPLORER_EXPLORER_H
#define CD_EXPLORER_EXPLORER_H

#include "base/os/clock.h"
#include "chains/evmchain/core/view.h"
#include "explorer/abis.h"
#include "explorer/index.h"
#include "explorer/labels.h"
#include "explorer/primary/primary.h"
#include "net/http/server.h"
#include "net/loop.h"

typedef struct cd_explorer cd_explorer;

/* What an explorer shows, and what it asks of the process. */
typedef struct cd_explorer_cfg {
    cd_chain *chain;
    const cd_clock *clock;
    u64 ask_ns;                     /* what one page may take to ask a token about its holders; 0: a second */
    const char *network;            /* "dev", for the top bar */
    const char *root;               /* the path below which everything lies; NULL: CD_EXPLORER_ROOT */
    const char *chain_name;         /* NULL: "C" */
    const char *rpc;                /* where the chain's methods are, for pages of a development network; NULL: "/" */
    const cd_labels *labels;        /* names of addresses; NULL: none */
    const cd_abis *abis;            /* what compilers told of contracts; NULL: nothing */
    cd_index *index;                /* NULL: there is none */
    cd_primary *primary;            /* the pages of P and X, of the first chain alone; NULL: there are none */
    const struct cd_atomic *atomic; /* imports and exports; NULL: its blocks have none */
    cd_loop *loop;                  /* of the HTTP service; NULL: no live rows */

    /* What the explorer asks of the process, each with ctx; NULL: it cannot be had, and a page says so.
     * run calls job(arg) on a thread that may take its time (CD_EFULL, CD_ECLOSED: not called).
     * with_pool calls job(arg, pool) on the thread that owns the pool and waits; from such a thread only.
     * node_state appends what the process knows of itself as a JSON document; on the loop.
     * finality appends what is known of certificates as one (report NULL: nothing), and gives a number that changes
     * with it; 0: blocks are not made final. Any thread. */
    cd_err (*run)(void *ctx, void (*job)(void *arg), void *arg);
    cd_err (*with_pool)(void *ctx, void (*job)(void *arg, cd_txpool *pool), void *arg);
    void (*node_state)(void *ctx, cd_buf *out);
    u64 (*finality)(void *ctx, cd_buf *report);
    void *ctx;
    cd_ui_final_source final; /* which blocks are final */
} cd_explorer_cfg;

/* The path below which everything of the first chain lies; other chains have theirs below it. */
#define CD_EXPLORER_ROOT "/explorer"

/* cd_explorer_new copies cfg; what it names stays. cd_explorer_free: when no request is served, no job runs and the
 * server has stopped; NULL is allowed. */
cd_explorer *cd_explorer_new(const cd_explorer_cfg *cfg);
void cd_explorer_free(cd_explorer *x);

/* cd_explorer_has_page: the explorer itself has pages of that name below its root, so that no chain can. */
bool cd_explorer_has_page(const char *name);

/* cd_explorer_leave cuts off who listens for live rows, on the loop; nobody listens from then on. */
void cd_explorer_leave(cd_explorer *x);

/* cd_explorer_serve answers a GET or POST of its root or below. */
void cd_explorer_serve(cd_explorer *x, cd_http_req *r);

/* cd_explorer_serve_here takes, on the loop, a request that belongs there: one that listens for live rows, or asks
 * for the state of the node. false: it is cd_explorer_serve's. */
bool cd_explorer_serve_here(cd_explorer *x, cd_http_req *r);

/* cd_explorer_is_heavy: the page runs transactions again or asks contracts, which take as long as they like within the
 * limits of pages. */
bool cd_explorer_is_heavy(const cd_explorer *x, const cd_http_req *r);

/* cd_explorer_news: the chain has a new head. Any thread; it costs nothing while nobody listens. */
void cd_explorer_news(cd_explorer *x);

#endif
