/* explorer/index.h - what the chain's own tables do not tell: where an address took part, tokens and who held them,
 * value that moved inside transactions, who created a contract.
 *
 *   cd_chain_accept ──► rows in the batch of their block ──► every view of that block shows them
 *        cd_chain_truncate ──► takes them out again
 *   blocks accepted without an index ──► a thread of its own catches up, oldest first
 *
 * Rows are places in the chain (block, transaction, log): amounts and texts are read from the block when a list is
 * shown, names and balances are asked of the contracts. Everything lies under 'x' in the chain's store
 * (index_priv.h). All lists: newest first, at most max rows older than a place that the caller keeps
 * (CD_INDEX_NEWEST: from the newest on), so a page costs the same wherever it is; fewer than max rows: the list ends
 * there. Threading: reading is for any thread, in the view given; cd_index itself is shared. [spec:style#B6] */
#ifndef CD_EXPLORER_INDEX_H
#define CD_EXPLORER_INDEX_H

#include "base/log/log.h"
#include "chains/evmchain/core/view.h"

typedef struct cd_index cd_index;

/* What an index is made of. */
typedef struct cd_index_cfg {
    cd_chain *chain;
    cd_kv *kv;      /* the store it lives in, borrowed */
    bool is_anew;   /* forget what is there, and make all of it again */
    cd_logger *log; /* NULL: nobody is told of progress */
    /* Called on the index's thread when it wrote something: has the owner of the chain publish it (cd_chain_publish).
     * NULL: the next block does. */
    void (*refresh)(void *ctx);
    void *refresh_ctx;
} cd_index_cfg;

/* cd_index_open lets the chain write an index from now on and begins to catch up; on the thread that owns the chain.
 * The chain ends its part when it closes; cd_index_free after that (NULL is allowed). Errors: the store's,
 * CD_EAGAIN. */
cd_err cd_index_open(cd_index **out, const cd_index_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_index_free(cd_index *x);

/* How far the index is in a view. */
typedef struct cd_index_state {
    bool is_whole;   /* nothing is missing but what traced_from says */
    u64 done;        /* all blocks up to here are in it, besides those accepted since it was opened */
    u64 goal;        /* the height up to which it catches up */
    u64 traced_from; /* value moved inside transactions is known from this height on: older state was not kept */
} cd_index_state;
/* cd_index_state_get tells it. Any thread. Errors: the store's. */
cd_err cd_index_state_get(cd_index *x, cd_index_state *out, cd_view *v) CD_CHECK;

/* A place in the chain. */
typedef struct cd_index_at {
    u64 height;
    u32 tx;
    u32 item; /* a log of the transaction, or a transfer inside the block, counted from 0 */
    u32 sub;  /* of a log that moves several tokens */
} cd_index_at;

/* The place behind all entries, from which lists begin. */
#define CD_INDEX_NEWEST ((cd_index_at){UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX})

/* cd_index_at_fmt writes a place as "17.3.1.0" for addresses of pages; cd_index_at_parse reads it. Errors:
 * CD_EFORMAT. */
enum { CD_INDEX_AT_SIZE = 64 };
void cd_index_at_fmt(char out[CD_INDEX_AT_SIZE], const cd_index_at *at);
cd_err cd_index_at_parse(cd_index_at *out, cd_bytes text) CD_CHECK;

/* cd_index_txs lists transactions that an address sent, got or was created by. */
cd_err cd_index_txs(cd_view *v, cd_index_at *out, usize *cnt, usize max, const cd_addr20 *addr,
                    const cd_index_at *before) CD_CHECK;

/* --- tokens --- */

/* Standards of tokens. */
typedef enum cd_token_kind {
    CD_TOKEN_ERC20,
    CD_TOKEN_ERC721,
    CD_TOKEN_ERC1155,
} cd_token_kind;

/* A token that moved, as the log says. */
typedef struct cd_token_move {
    cd_index_at at;
    cd_addr20 token;
    cd_token_kind kind;
    cd_addr20 from; /* zero: the token was made */
    cd_addr20 to;   /* zero: the token was destroyed */
    cd_u256 id;     /* ERC-721 and 1155 */
    cd_u256 amount; /* 1 for ERC-721 */
} cd_token_move;

/* cd_token_moves_cnt tells how many movements a log says: more than one for a batch of ERC-1155, 0 for other logs.
 * cd_token_moves_get gives the one of a number below that; its place is left zero. */
u32 cd_token_moves_cnt(const cd_log *log);
void cd_token_moves_get(cd_token_move *out, const cd_log *log, u32 sub);

/* cd_index_moves lists what an account sent and got; _of_token what a token's contract said. */
cd_err cd_index_moves(cd_view *v, cd_token_move *out, usize *cnt, usize max, const cd_addr20 *addr,
                      const cd_index_at *before) CD_CHECK;
cd_err cd_index_moves_of_token(cd_view *v, cd_token_move *out, usize *cnt, usize max, const cd_addr20 *token,
                               const cd_index_at *before) CD_CHECK;

/* A token that moved at least once, and where it did first. */
typedef struct cd_index_token {
    cd_addr20 addr;
    cd_token_kind kind;
    cd_index_at first;
} cd_index_token;

/* cd_index_tokens lists all tokens, the one that moved first most recently in front; cd_index_token_get finds one.
 * Errors of get: CD_ENOENT. */
cd_err cd_index_tokens(cd_view *v, cd_index_token *out, usize *cnt, usize max, const cd_index_at *before) CD_CHECK;
cd_err cd_index_token_get(cd_view *v, cd_index_token *out, const cd_addr20 *token) CD_CHECK;

/* Something that an account got once; whether it still has it the contract tells. */
typedef struct cd_index_holding {
    cd_addr20 token;
    cd_addr20 holder;
    cd_token_kind kind;
    cd_u256 id; /* ERC-721 and 1155 */
} cd_index_holding;

/* cd_index_holdings lists what an address got once, by token and id; _of_token who got a token once, by address and
 * id; _ids the ids of a token that moved once (holder stays zero). Ascending, those behind after (NULL: all). */
cd_err cd_index_holdings(cd_view *v, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *addr,
                         const cd_index_holding *after) CD_CHECK;
cd_err cd_index_holders(cd_view *v, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *token,
                        const cd_index_holding *after) CD_CHECK;
cd_err cd_index_ids(cd_view *v, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *token,
                    const cd_index_holding *after) CD_CHECK;

/* --- inside transactions --- */

/* Value that a contract moved, or a contract that one created (value may be zero then). */
typedef struct cd_index_internal {
    cd_index_at at;
    cd_addr20 from;
    cd_addr20 to;
    cd_u256 value;
    u32 depth; /* 1: by the contract that the transaction called */
    u8 op;     /* CALL, CREATE, CREATE2, SELFDESTRUCT */
} cd_index_internal;

/* cd_index_internals lists those of an address; _of_tx, oldest first, those of a transaction from item at->item on. */
cd_err cd_index_internals(cd_view *v, cd_index_internal *out, usize *cnt, usize max, const cd_addr20 *addr,
                          const cd_index_at *before) CD_CHECK;
cd_err cd_index_internals_of_tx(cd_view *v, cd_index_internal *out, usize *cnt, usize max,
                                const cd_index_at *at) CD_CHECK;

/* How a contract came into being, the last time it did. */
typedef struct cd_index_creation {
    cd_index_at at;
    cd_addr20 creator; /* the sender, or the contract that made it */
    bool is_internal;  /* by a contract */
} cd_index_creation;

/* cd_index_creation_get finds it. Errors: CD_ENOENT: none is known. */
cd_err cd_index_creation_get(cd_view *v, cd_index_creation *out, const cd_addr20 *contract) CD_CHECK;

#endif
