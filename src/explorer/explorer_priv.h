/* explorer/explorer_priv.h - one request on its way to a page, and the parts that several pages show.
 *
 * Threading: confined to the thread that serves the request. */
#ifndef CD_EXPLORER_EXPLORER_PRIV_H
#define CD_EXPLORER_EXPLORER_PRIV_H

#include "codec/abi.h"
#include "explorer/explorer.h"
#include "web/fmt.h"
#include "web/page.h"
#include "web/ui.h"

enum {
    CD__XP_PAGE = 25,
    CD__XP_DECIMALS = 18,
    CD__XP_TXS_SEARCHED = 100 /* blocks that are looked at for newest transactions */
};

/* The account of a development network that everybody uses first. */
#define CD__XP_DEV_ACCOUNT "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

typedef struct cd__xp {
    const cd_explorer *x;
    cd_http_req *req;
    cd_view *view;
    cd_arena a;
    cd_buf body; /* HTML of <main> */
    cd_html h;   /* writes body */
    u64 now_s;
    cd_bytes searched;
    /* What the page says of itself. */
    cd_bytes title;
    const char *tab; /* href of the tab that is current; NULL: none is */
    u32 status;
    bool is_live; /* something on the page is live */
    cd_ui_final final;
    struct cd__token *tokens; /* tokens that were looked up so far (cd__xp_token) */
    usize tokens_cnt;
    const char *fields;      /* of a posted form: what the names of the fields begin with (cd__xp_field) */
    const cd_accepted *last; /* cd__xp_block_at's; NULL: none yet */
} cd__xp;

/* cd__xp_open begins on the newest view, r NULL for rows without a page; cd__xp_close ends it. */
cd__xp *cd__xp_open(const cd_explorer *x, cd_http_req *r);
void cd__xp_close(cd__xp *p);

/* cd__xp_reply sends what was written as a page. */
void cd__xp_reply(cd__xp *p);

/* The pages; each writes its body, title and tab. rest is the path behind the page's name. */
void cd__xp_home(cd__xp *p);
void cd__xp_blocks(cd__xp *p);
void cd__xp_block(cd__xp *p, cd_bytes rest);
void cd__xp_tx(cd__xp *p, cd_bytes rest);
void cd__xp_txs(cd__xp *p);
void cd__xp_address(cd__xp *p, cd_bytes rest);
void cd__xp_tokens(cd__xp *p);
void cd__xp_token_page(cd__xp *p, cd_bytes rest);
void cd__xp_pool(cd__xp *p);
void cd__xp_finality(cd__xp *p);
void cd__xp_node(cd__xp *p); /* on the loop */

/* cd__xp_pending writes the page of a transaction that waits; false: there is none of this hash. */
bool cd__xp_pending(cd__xp *p, const cd_hash32 *hash);

/* cd__tx_input shows what a transaction carries. */
void cd__tx_input(cd__xp *p, const cd_tx *tx);

/* cd__xp_search redirects when there is one answer (true), or writes what was understood. */
bool cd__xp_search(cd__xp *p);

/* cd__is_called compares what was typed with a name; upper and lower case are alike. */
bool cd__is_called(cd_bytes name, cd_bytes typed);

/* cd__token_find looks for tokens of a name or symbol among those that moved first most recently. */
enum { CD__FOUND_MAX = 10 };
usize cd__token_find(cd__xp *p, cd_addr20 *out, cd_bytes text);

/* cd__xp_missing makes the page say what was understood and not found; text may be hostile. */
void cd__xp_missing(cd__xp *p, const char *what, cd_foreign text, const char *advice);

/* cd__xp_broken makes it say that the chain's data could not be read. */
void cd__xp_broken(cd__xp *p, cd_err e);

/* --- the primary network (atomic.c) --- */

/* cd__atomic_enter tells the pages of the primary network of the C-Chain; cd__xp_atomic_rows shows the imports and
 * exports of a block, or nothing. */
void cd__atomic_enter(cd_explorer *x);
void cd__xp_atomic_rows(cd__xp *p, const cd_accepted *b);

/* --- live rows (live.c) --- */

/* cd__live_new: x has a loop. cd__live_listen takes a request that listens, cd__live_leave cuts off all who do, for
 * good; both on the loop. */
struct cd__live *cd__live_new(cd_explorer *x);
void cd__live_free(struct cd__live *l);
void cd__live_leave(struct cd__live *l);
void cd__live_listen(struct cd__live *l, cd_http_req *r);

/* --- parts (parts.c) --- */

/* cd__xp_without_chain takes "C/", the chain's name in any case, off the front of a text. */
cd_bytes cd__xp_without_chain(const cd__xp *p, cd_bytes text);

/* Where things are shown. */
cd_bytes cd__xp_block_href(cd__xp *p, u64 number);
cd_bytes cd__xp_tx_href(cd__xp *p, const cd_hash32 *hash);

/* An address with its glint, a hash; flags of cd_ui_id besides. */
void cd__xp_addr(cd__xp *p, const cd_addr20 *addr, u32 flags);
void cd__xp_tx_hash(cd__xp *p, const cd_hash32 *hash, u32 flags);
cd_bytes cd__xp_hex(cd__xp *p, cd_bytes b);

/* An amount of the native token: all digits, or rounded for an overview; with its unit. */
void cd__xp_lux(cd__xp *p, const cd_u256 *wei, bool exact);

/* The lamp of a height and the height as a link. */
void cd__xp_height(cd__xp *p, u64 number);

/* What a transaction calls: its function by name, its selector, "transfer" or "create". */
cd_bytes cd__xp_method(cd__xp *p, const cd_tx *tx);

/* What is shown live: the chain's state on top of the overview, the height in the bar, newest blocks and
 * transactions. */
#define CD__LIVE_TOP    "top"
#define CD__LIVE_HEIGHT "height"
#define CD__LIVE_BLOCKS "blocks"
#define CD__LIVE_TXS    "txs"
#define CD__LIVE_POOL   "pool"     /* what waits has changed: the page is to be read again */
#define CD__LIVE_FINAL  "finality" /* likewise what is signed */
enum { CD__LIVE_ROWS = 12 };

/* cd__xp_live gives where something of these is told, for data-live; NULL where nothing is. */
const char *cd__xp_live(cd__xp *p, const char *what);

/* cd__xp_live_pill writes what the script shows while news come; without scripts it is a link to the page again. */
void cd__xp_live_pill(cd__xp *p, const char *here);

/* cd__pool_mark gives a number that changes with what waits; 0: the pool does not answer. cd__final_mark likewise with
 * what is signed; 0: blocks are not made final. */
u64 cd__pool_mark(cd__xp *p);
u64 cd__final_mark(cd__xp *p);

/* cd__xp_final_href gives where finality is shown; NULL: nowhere. */
const char *cd__xp_final_href(cd__xp *p);

/* cd__xp_top and cd__xp_bar_height write what stands in an element that is shown live. */
void cd__xp_top(cd__xp *p);
void cd__xp_bar_height(cd__xp *p, cd_html *h);

/* cd__xp_down gives up to cnt blocks from a height down, newest first, and how many there are. */
usize cd__xp_down(cd__xp *p, const cd_accepted **out, u64 from, usize cnt);

/* Rows of tables, with their heads; live NULL: they stay as they are. */
void cd__xp_blocks_table(cd__xp *p, u64 from, usize cnt, const char *live);
void cd__xp_blocks_row(cd__xp *p, const cd_accepted *b);
void cd__xp_txs_begin(cd__xp *p, const char *live);
void cd__xp_txs_row(cd__xp *p, const cd_accepted *b, usize idx, bool with_block);
void cd__xp_txs_end(cd__xp *p);

/* --- what the index knows (lists.c) --- */

/* Tables of its rows: tokens that moved, value that moved inside transactions. */
void cd__xp_token_moves(cd__xp *p, const cd_token_move *v, usize cnt);
void cd__xp_internals(cd__xp *p, const cd_index_internal *v, usize cnt);

/* cd__xp_index_state tells how far the index is; where it is off, or not there yet, it writes that too. false: it is
 * off. */
bool cd__xp_index_state(cd__xp *p, cd_index_state *out);

/* cd__xp_before reads the place that a list goes on from out of the query: the newest when there is none. */
cd_index_at cd__xp_before(cd__xp *p);

/* cd__xp_holds asks a token's contract how much of it an account has now; false when it does not say. */
bool cd__xp_holds(cd__xp *p, cd_u256 *out, const cd_index_holding *h);

/* cd__xp_block_at gives a block; the last one is kept, as rows of lists often are of one. Errors: as cd_view_block. */
cd_err cd__xp_block_at(cd__xp *p, const cd_accepted **out, u64 height) CD_CHECK;

/* --- who holds a token (holders.c) --- */

typedef struct cd__held {
    cd_index_holding at;
    cd_u256 amount;
} cd__held;

/* The holders of a token behind a block, most first. */
typedef struct cd__roll {
    cd_hash32 block;
    cd_addr20 token;
    u32 refs;
    u64 used;
    usize asked; /* accounts that got it once, and whose balance was asked for */
    bool is_cut; /* there are more who were not asked */
    usize cnt;
    cd__held v[];
} cd__roll;

/* cd__holders_get gives them behind the newest block, to be ended with cd__holders_end. Errors: the store's. */
struct cd__holders *cd__holders_new(void);
void cd__holders_free(struct cd__holders *h); /* NULL is allowed */
cd_err cd__holders_get(cd__xp *p, cd__roll **out, const cd_addr20 *token) CD_CHECK;
void cd__holders_end(cd__xp *p, cd__roll *r);

/* --- signatures that everybody uses (known.c) --- */

typedef enum cd__known_kind {
    CD__KNOWN_FN,
    CD__KNOWN_EVENT,
    CD__KNOWN_ERROR,
} cd__known_kind;

/* The rows of known.def, with their hashes. */
typedef struct cd__known {
    cd_bytes name;         /* "transfer" */
    const char *signature; /* "transfer(address,uint256)" */
    const char *args;      /* "to,amount" */
    const char *rest;      /* of a function: what stands behind its arguments (types/fn.h) */
    const char *text;      /* of a function: all of its description; NULL: it is made of the above */
    u8 indexed;            /* of an event: a bit for each argument that stands in a topic */
    cd__known_kind kind;
    cd_hash32 hash; /* of the signature: its first four bytes choose a function, all of it an event */
} cd__known;

enum { CD__KNOWN_MAX = 96 };

/* The sections, in the order of the bar. */
enum {
    CD__TAB_HOME,
    CD__TAB_BLOCKS,
    CD__TAB_TXS,
    CD__TAB_TOKENS,
    CD__TAB_POOL,
    CD__TAB_NODE,
    CD__TAB_P,
    CD__TAB_X,
    CD__TABS
};

struct cd_explorer {
    cd_explorer_cfg cfg;
    cd_arena mem;     /* memory of root, tabs and site */
    const char *root; /* the path below which everything lies */
    cd_page_link tabs[CD__TABS];
    cd_page_site site;
    cd__known known[CD__KNOWN_MAX];
    usize known_cnt;
    struct cd__live *live; /* NULL: no live rows */
    struct cd__holders *holders;
};

/* cd__abis_find finds what an ABI said (explorer/abis.h) by the hash of its signature, of which four bytes count but
 * for events; NULL: none did. x NULL is allowed. */
const cd__known *cd__abis_find(const cd_abis *x, cd__known_kind kind, const u8 *hash);

/* cd__known_init hashes the rows. cd__known_call finds a function by its selector, cd__known_event an event by its
 * topic and the number of topics; NULL when unknown. */
void cd__known_init(cd_explorer *x);
const cd__known *cd__known_call(const cd_explorer *x, cd_bytes data);
const cd__known *cd__known_event(const cd_explorer *x, const cd_log *log);

/* cd__known_args writes the arguments of a call of contract (data behind the selector), or of an event that it
 * emitted, as rows of a list; false, and nothing, when the bytes are not what the signature says. */
bool cd__known_args(cd__xp *p, const cd__known *k, const cd_addr20 *contract, cd_bytes data, const cd_log *log);

/* cd__known_inline writes the arguments of a call in one line, cd__known_returned what it returned; false, and
 * nothing, when the bytes are something else. */
bool cd__known_inline(cd__xp *p, const cd__known *k, cd_bytes data);
bool cd__known_returned(cd__xp *p, const cd__known *k, cd_bytes data);

/* cd__known_text appends a function's description as cd_fn_parse reads it. */
void cd__known_text(cd_buf *out, const cd__known *k);

/* cd__value_write writes a decoded value; what nests deeper or goes on longer than is good for a page is counted. */
void cd__value_write(cd__xp *p, const cd_abi_type *t, const cd_abi_val *v, u32 depth);

/* Why something failed: the contract's own words, or ours. */
typedef struct cd__reason {
    cd_bytes text; /* empty: it did not */
    bool is_ours;
} cd__reason;

/* cd__revert_reason says what revert data means: a reason, a panic, an error that everybody uses; empty when it is
 * none. */
cd__reason cd__revert_reason(cd__xp *p, cd_bytes data);
void cd__reason_write(cd__xp *p, const cd__reason *r);

/* --- contracts (code.c, contract.c, ask.c) --- */

enum { CD__SELECTORS_MAX = 256 };

/* What the code of a contract tells. */
typedef struct cd__code {
    cd_bytes code;
    cd_bytes facade; /* of a proxy: the code that runs in its place; code then is what it leads to */
    cd_addr20 target;
    const char *proxy;                  /* "EIP-1167", "EIP-1967", "EIP-7702"; NULL: none */
    u8 selectors[CD__SELECTORS_MAX][4]; /* that it compares with, in order of appearance */
    usize selectors_cnt;
    u8 compiler[3]; /* Solidity's version; zero: unknown */
} cd__code;

/* cd__code_read reads it behind the newest block. Errors: the store's. */
cd_err cd__code_read(cd__xp *p, cd__code *out, const cd_addr20 *addr) CD_CHECK;

/* cd__code_has: it compares with the selector of this signature. */
bool cd__code_has(const cd__code *c, const char *signature);

/* cd__code_kinds gives the interfaces that it has whole, as many as fit. */
usize cd__code_kinds(const char *out[8], const cd__code *c);

/* The contract page, GET or POST of an ABI. cd__ask_write writes the answer to a call of the function that text
 * describes, with the arguments in the fields; nothing when it is empty. */
void cd__xp_contract(cd__xp *p, cd_bytes rest);
void cd__ask_write(cd__xp *p, const cd_addr20 *addr, cd_bytes text);

/* cd__fn_action gives where the forms of a contract lead. */
cd_bytes cd__fn_action(cd__xp *p, const cd_addr20 *addr);

/* cd__addr_parse reads 0x and 40 digits. */
bool cd__addr_parse(cd_addr20 *out, cd_bytes text);

/* cd__xp_field gives what was typed into a field of the function that is asked: of the query, or of a posted form,
 * where its name has p->fields in front. */
cd_bytes cd__xp_field(cd__xp *p, const char *name, usize max);

/* cd__xp_query gives a value of the query in the arena, empty when it is not there. */
cd_bytes cd__xp_query(cd__xp *p, const char *name, usize max);

/* --- a transaction (tx.c, moves.c, trace.c) --- */

/* What a token says of itself; a contract that says nothing useful has no symbol and no decimals. */
typedef struct cd__token {
    cd_addr20 addr;
    cd_bytes symbol;
    u32 decimals; /* or CD__DECIMALS_UNKNOWN */
} cd__token;

enum { CD__DECIMALS_UNKNOWN = 255 };

/* cd__token_read asks a token behind a block; _text for name() or symbol(), _number for a number: false when it has
 * none. */
void cd__token_read(cd__xp *p, cd__token *t, const cd_accepted *b, const cd_addr20 *addr);
cd_bytes cd__token_text(cd__xp *p, const cd_accepted *b, const cd_addr20 *addr, const char *which);
bool cd__token_number(cd__xp *p, cd_u256 *out, const cd_accepted *b, const cd_addr20 *addr, cd_bytes data);

/* One movement of value, native or of a token, in the order it happened. */
typedef struct cd__move {
    cd_addr20 from;
    cd_addr20 to;
    cd_u256 amount;
    const cd__token *token; /* NULL: the native one, or one that is not asked yet */
    bool is_token;
    cd_addr20 token_addr; /* of a token */
    cd_token_kind kind;   /* of the token */
    cd_u256 id;           /* ERC-721 and 1155 */
} cd__move;

enum { CD__MOVES_PAGE = 64, CD__TOKENS_MAX = 8, CD__SUMS_MAX = 16 };

/* What the sender gave and got of one asset, all movements together. */
typedef struct cd__sum {
    bool is_token; /* false: native */
    cd_addr20 token;
    cd_u256 out;
    cd_u256 in;
} cd__sum;

/* What was made or ended within a transaction, the first of each and how many. */
typedef struct cd__inside {
    cd_addr20 made;
    usize made_cnt;
    cd_addr20 ended; /* ran SELFDESTRUCT */
    cd_addr20 heir;
    cd_u256 left; /* wei that it held */
    usize ended_cnt;
} cd__inside;

/* All that moved is counted and added up; a page of it is kept. */
typedef struct cd__moves {
    cd__move v[CD__MOVES_PAGE];
    usize cnt;
    usize first; /* number of v[0] */
    usize total;
    cd__move one;  /* the first of all */
    cd_addr20 who; /* the sender */
    cd__sum sums[CD__SUMS_MAX];
    usize sums_cnt;
    bool is_more_than_sums; /* the sender moved ids, or more than can be added up */
    struct cd__sheet *net;
    cd__inside inside;
    cd__token tokens[CD__TOKENS_MAX];
    usize tokens_cnt;
} cd__moves;

/* cd__moves_find reads what moved from value, logs and trace, keeping those from number first on ("?moves=");
 * cd__moves_write shows them with the net change of each account. */
void cd__moves_find(cd__xp *p, cd__moves *m, const cd_accepted *b, usize idx, cd_json trace);
void cd__moves_write(cd__xp *p, cd__moves *m, const cd_tx *tx, const cd_u256 *fee);

/* cd__moves_swap gives what the sender gave and got, net of what came back, when it is one asset each. The tokens of
 * both are asked. */
bool cd__moves_swap(cd__xp *p, cd__moves *m, const cd_accepted *b, cd__move *gave, cd__move *got);

/* cd__xp_from reads the number that a list begins with out of the query; 0 when it is not below cnt. */
usize cd__xp_from(cd__xp *p, const char *name, usize cnt);

/* cd__xp_pages writes the foot of a list of cnt things, of which those from first to before end are shown; more
 * stands behind the numbers. Its pages are "?name=number" and go to the anchor. */
void cd__xp_pages(cd__xp *p, const char *name, const char *anchor, usize first, usize end, usize cnt, const char *more);

/* cd__xp_token gives a token as it is behind the newest block, asked once a page; NULL when the page shows too many. */
const cd__token *cd__xp_token(cd__xp *p, const cd_addr20 *addr);

/* cd__move_amount writes amount and symbol of a move. */
void cd__move_amount(cd__xp *p, const cd__move *m);

/* cd__trace_run executes the transaction again; CD_JSON_NONE when that state is not kept, and *why says it.
 * cd__trace_write shows its calls as flame graph and tree. cd__trace_reason gives why it failed, or nothing. */
cd_json cd__trace_run(cd__xp *p, const cd_accepted *b, usize idx, cd_errinfo *why);
void cd__trace_write(cd__xp *p, cd_json trace);
cd__reason cd__trace_reason(cd__xp *p, cd_json trace);

/* cd__trace_tx does so under any tracer; cd__trace_missing says why there is nothing to show. */
cd_json cd__trace_tx(cd__xp *p, const cd_accepted *b, usize idx, const char *tracer, const char *cfg, cd_errinfo *why);
void cd__trace_missing(cd__xp *p, const char *why);

/* cd__steps_write shows the instructions of a transaction ("?at=" is the first), cd__state_write what it changed. */
void cd__steps_write(cd__xp *p, const cd_accepted *b, usize idx);
void cd__state_write(cd__xp *p, const cd_accepted *b, usize idx);

/* cd__trace_text and cd__trace_gas read a text or a quantity of a call; empty or 0 when it is not there. */
cd_bytes cd__trace_text(cd_json call, const char *key);
u64 cd__trace_gas(cd_json call, const char *key);

/* cd__call runs a call in the environment of a block, on the state behind it, under the call tracer; its result, or
 * CD_JSON_NONE and *why. The fee is free. */
cd_json cd__call(cd__xp *p, const cd_accepted *b, const cd_tx *call, cd_errinfo *why);

/* cd__call_output gives what a traced call returned; empty when nothing. */
cd_bytes cd__call_output(cd__xp *p, cd_json call);

/* cd__log_write shows one log; nr is its number. */
void cd__log_write(cd__xp *p, const cd_log *log, u64 nr);

/* cd__call_static calls a contract on the state behind a block and gives what it returned; false when it failed. */
bool cd__call_static(cd__xp *p, cd_bytes *out, const cd_accepted *b, const cd_addr20 *to, cd_bytes data);

#endif
