/* explorer/primary/primary_priv.h - one request on its way to a page of the primary network.
 *
 * Threading: confined to the thread that serves the request, but for cd_primary, whose lock is held for moments. */
#ifndef CD_EXPLORER_PRIMARY_PRIV_H
#define CD_EXPLORER_PRIMARY_PRIV_H

#include "base/thread/thread.h"
#include "chains/platform/view.h"
#include "chains/utxo/store.h"
#include "chains/xvm/view.h"
#include "explorer/primary/primary.h"
#include "types/xtx.h"
#include "web/fmt.h"
#include "web/page.h"
#include "web/ui.h"

enum {
    CD__PP_PAGE = 25,     /* rows of a list */
    CD__PP_FLOW_MAX = 64, /* inputs, and outputs, that a transaction's page shows */
    CD__PP_TXS_MAX = 200, /* transactions that a block's page shows */
    CD__PP_ROLL_MAX = 1 << 16,
    CD__PP_ASSETS = 16, /* assets that a page asks for their name */
    CD__PP_JSON_MAX = 64 << 10,
};

/* The sections of a chain. */
enum { CD__PP_TABS = 6 };

/* A chain's place. */
typedef struct cd__pp_seat {
    cd_vm *vm; /* NULL: it is not here */
    cd_crossings crossings;
    cd_ui_final_source final;
    bool is_here;
    u32 uses;
} cd__pp_seat;

/* A validator of the primary network with what was delegated to it. */
typedef struct cd__pp_validator {
    cd_p_staker staker;
    cd_p_delegated delegated;
} cd__pp_validator;

/* The validators behind a block, most stake first. */
typedef struct cd__pp_roll {
    cd_hash32 block;
    u32 refs;
    usize cnt;
    u64 own; /* sums, base units */
    u64 delegated;
    cd__pp_validator v[];
} cd__pp_roll;

struct cd_primary {
    cd_primary_cfg cfg;
    const cd_vm_primary *ids;
    cd_arena mem;
    cd_mutex lock; /* of seats and roll */
    cd_cond left;
    cd__pp_seat seats[CD_PRIMARY_CHAINS];
    cd__pp_roll *roll; /* the newest; NULL: none yet */
    cd_page_link tabs[CD_PRIMARY_CHAINS][CD__PP_TABS];
    cd_page_site sites[CD_PRIMARY_CHAINS];
};

/* An asset as it calls itself. */
typedef struct cd__pp_asset {
    cd_hash32 id;
    cd_bytes symbol; /* anybody may have written it */
    cd_bytes name;
    u32 decimals; /* 255: unknown */
} cd__pp_asset;

typedef struct cd__pp {
    cd_primary *m;
    cd_http_req *req; /* NULL: nobody is answered */
    cd_primary_chain chain;
    cd_arena a;
    cd_buf body; /* HTML of <main> */
    cd_html h;   /* writes body */
    u64 now_s;   /* the wall clock, or the chain's when that is ahead */
    const cd_network *network;
    cd_platform_view p; /* state.kv NULL: the chain is not here */
    cd_xvm_frozen x;    /* kv NULL: the same */
    const cd_crossings *c;
    cd_ui_final final[CD_PRIMARY_CHAINS];
    u32 held;   /* bits: seats that are held */
    usize read; /* bytes of transactions that were read so far */
    cd__pp_asset assets[CD__PP_ASSETS];
    usize assets_cnt;
    cd_bytes title;
    const char *tab;
    cd_bytes searched;
    u32 status;
} cd__pp;

/* cd__pp_open holds the chains and freezes them; _close lets go. */
cd__pp *cd__pp_open(cd_primary *m, cd_primary_chain chain, cd_http_req *r);
void cd__pp_close(cd__pp *p);

/* --- parts (parts.c) --- */

/* Letters and places. cd__pp_chain_of gives the chain of an ID, CD_PRIMARY_CHAINS: another one. */
extern const char *const cd__pp_letters[CD_PRIMARY_CHAINS];
cd_primary_chain cd__pp_chain_of(const cd__pp *p, const cd_hash32 *id);
cd_bytes cd__pp_href(cd__pp *p, cd_primary_chain chain, const char *page, cd_bytes what);
cd_bytes cd__pp_id_text(cd__pp *p, const cd_hash32 *id);
cd_bytes cd__pp_node_text(cd__pp *p, const cd_node_id *id);
cd_bytes cd__pp_addr_text(cd__pp *p, cd_primary_chain chain, const cd_addr20 *addr);

/* Identifiers with their links; flags of cd_ui_id besides. */
void cd__pp_tx_id(cd__pp *p, cd_primary_chain chain, const cd_hash32 *id, u32 flags);
void cd__pp_node(cd__pp *p, const cd_node_id *id, u32 flags);
void cd__pp_addr(cd__pp *p, cd_primary_chain chain, const cd_addr20 *addr, u32 flags);
void cd__pp_net(cd__pp *p, const cd_hash32 *id);
void cd__pp_asset_id(cd__pp *p, const cd_hash32 *id);
void cd__pp_height(cd__pp *p, cd_primary_chain chain, u64 height);
void cd__pp_badge(cd__pp *p, cd_primary_chain chain);
void cd__pp_crumbs(cd__pp *p, const char *page, const char *name);

/* cd__pp_asset_of finds how an asset calls itself. cd__pp_amount writes an amount with its unit, _native one of the
 * native asset, _figure the same as text, rounded. */
const cd__pp_asset *cd__pp_asset_of(cd__pp *p, const cd_hash32 *id);
void cd__pp_amount(cd__pp *p, u64 amount, const cd_hash32 *asset);
void cd__pp_native(cd__pp *p, u64 amount);
cd_bytes cd__pp_figure(cd__pp *p, u64 amount);

/* cd__pp_owners writes who owns something on a chain. cd__pp_pair_owners does it as a row of a list. */
void cd__pp_owners(cd__pp *p, cd_primary_chain chain, const cd_owners *o);
void cd__pp_pair_owners(cd__pp *p, cd_primary_chain chain, const char *name, const cd_owners *o);
void cd__pp_pair(cd__pp *p, const char *name, cd_bytes value);
void cd__pp_pair_time(cd__pp *p, const char *name, u64 time);

/* cd__pp_query gives a value of the query in the arena, empty when it is not there; _number a number, or 0. */
cd_bytes cd__pp_query(cd__pp *p, const char *name, usize max);
u64 cd__pp_query_number(cd__pp *p, const char *name);

void cd__pp_missing(cd__pp *p, const char *what, cd_foreign text, const char *advice);
void cd__pp_broken(cd__pp *p, cd_err e);

/* --- pages; each writes its body, title and tab. rest is the path behind the page's name --- */

void cd__pp_home(cd__pp *p);
void cd__pp_blocks(cd__pp *p);
void cd__pp_block(cd__pp *p, cd_bytes rest);
void cd__pp_tx(cd__pp *p, cd_bytes rest);
void cd__pp_validators(cd__pp *p);
void cd__pp_validator_page(cd__pp *p, cd_bytes rest);
void cd__pp_nets(cd__pp *p);
void cd__pp_net_page(cd__pp *p, cd_bytes rest);
void cd__pp_chain_page(cd__pp *p, cd_bytes rest);
void cd__pp_assets(cd__pp *p);
void cd__pp_asset_page(cd__pp *p, cd_bytes rest);
void cd__pp_address(cd__pp *p, cd_bytes rest);

/* cd__pp_block_rows writes a table of cnt blocks from a height down (lists.c). */
void cd__pp_block_rows(cd__pp *p, u64 from, usize cnt);

/* --- stakers (staking.c) --- */

/* cd__pp_roll_get gives the validators behind the view, to be ended with cd__pp_roll_end. Errors: CD_EFULL for more
 * than CD__PP_ROLL_MAX, the store's. */
cd_err cd__pp_roll_get(cd__pp *p, cd__pp_roll **out) CD_CHECK;
void cd__pp_roll_end(cd_primary *m, cd__pp_roll *roll);

/* cd__pp_validator_rows writes a table of cnt validators of a roll from first on; whole: all stake, for shares; 0: a
 * short table without. */
void cd__pp_validator_rows(cd__pp *p, const cd__pp_validator *v, usize first, usize cnt, u64 whole);

/* --- transactions (p_tx.c, x_tx.c) --- */

/* A transaction of any of the chains. */
typedef struct cd__pp_any {
    cd_primary_chain chain;
    cd_hash32 id;
    u32 type;
    void *body;
    const cd_p_base *base; /* NULL: it has none */
    cd_bytes json;
    usize size;
} cd__pp_any;

/* cd__pp_say writes what a transaction did, as one sentence; cd__pp_kind_of gives its kind in words, cd__pp_details
 * rows of a list. */
const char *cd__pp_kind_of(const cd__pp_any *t);
void cd__pp_say(cd__pp *p, const cd__pp_any *t);
void cd__pp_details(cd__pp *p, const cd__pp_any *t);
void cd__pp_p_say(cd__pp *p, const cd__pp_any *t);
void cd__pp_p_details(cd__pp *p, const cd__pp_any *t);
void cd__pp_x_say(cd__pp *p, const cd__pp_any *t);
const char *cd__pp_p_kind(u32 type);
const char *cd__pp_x_kind(u32 type);

/* cd__pp_any_p, _x: a transaction that was read. */
cd__pp_any cd__pp_any_p(const cd_p_tx *tx, const cd_hash32 *id);
cd__pp_any cd__pp_any_x(const cd_x_tx *tx, const cd_hash32 *id);
cd__pp_any cd__pp_any_c(const cd_c_tx *tx, const cd_hash32 *id);

/* cd__pp_row writes a transaction as a row: kind, sentence. */
void cd__pp_tx_rows_begin(cd__pp *p);
void cd__pp_tx_row(cd__pp *p, const cd__pp_any *t, u64 height);
void cd__pp_tx_rows_end(cd__pp *p);

/* --- what goes in and comes out (flow.c) --- */

/* An input or output of a transaction. */
typedef struct cd__pp_end {
    cd_hash32 tx_id; /* of the transaction that made it */
    u32 idx;
    cd_hash32 asset;
    u64 amount; /* base units; an output without an amount: 0 */
    bool has_amount;
    cd_primary_chain from; /* of an input: the chain whose transaction made it */
    cd_primary_chain to;   /* of an output: the chain that may spend it */
    bool is_stake;
    const cd_linear_any *out; /* of an output; NULL: an account of the C-Chain */
    const cd_addr20 *account; /* of the C-Chain */
} cd__pp_end;

/* All of them. */
typedef struct cd__pp_flow {
    cd__pp_end *ins;
    usize in_cnt;
    cd__pp_end *outs;
    usize out_cnt;
} cd__pp_flow;

void cd__pp_flow_of(cd__pp *p, cd__pp_flow *f, const cd__pp_any *t);
void cd__pp_flow_write(cd__pp *p, const cd__pp_flow *f, const cd__pp_any *t);

/* cd__pp_flow_burned gives what a transaction burned of the native asset; false when that cannot be said. */
bool cd__pp_flow_burned(u64 *out, const cd__pp *p, const cd__pp_flow *f, const cd__pp_any *t);

/* cd__pp_owners_of finds who owned what an input spends; NULL: not known. */
const cd_owners *cd__pp_owners_of(cd__pp *p, const cd__pp_end *in);

/* --- money that crosses (cross.c) --- */

/* cd__pp_peer_of tells whether a transaction exports (to *peer) or imports (from *peer). */
typedef enum cd__pp_way {
    CD__PP_STAYS,
    CD__PP_EXPORTS,
    CD__PP_IMPORTS,
} cd__pp_way;
cd__pp_way cd__pp_peer_of(const cd__pp *p, cd_primary_chain *peer, const cd__pp_any *t);

/* cd__pp_cross writes where the other half of a transfer is; since: the time of the block, 0: not known. */
void cd__pp_cross(cd__pp *p, const cd__pp_any *t, const cd__pp_flow *f, u64 since);

/* cd__pp_tx_any reads an accepted transaction of a chain. Errors: CD_ENOENT, the store's. */
cd_err cd__pp_tx_any(cd__pp *p, cd__pp_any *out, cd_primary_chain chain, const cd_hash32 *id, cd_p_status *status,
                     cd_crossing *at) CD_CHECK;

#endif
