/* explorer/index_priv.h - the tables of the index in the chain's store, and what writes them.
 *
 *   'x' 't' ‖ address ‖ height     transactions            'x' 'k' ‖ token ‖ height      what its contract said
 *   'x' 'm' ‖ address ‖ height     tokens that moved       'x' 'i' ‖ address ‖ height    transfers inside transactions
 *        each → [tx u32, item u32]…, ascending: one row an address and block
 *   'x' 'v' ‖ height               the transfers of a block, CD__IX_INSIDE bytes each
 *   'x' 'c' ‖ contract ‖ height    how it was created: tx u32, item u32, internal u8, creator
 *   'x' 'h' ‖ holder ‖ token ‖ kind u8 ‖ id       'x' 'o' ‖ token ‖ holder ‖ kind u8 ‖ id      → nothing
 *   'x' 'n' ‖ token ‖ kind u8 ‖ id                ids that moved, → nothing
 *   'x' 'f' ‖ token ‖ height    'x' 'l' ‖ height ‖ tx u32 ‖ item u32 ‖ token     where it moved first → tx, item, kind
 *   'x' 'e' ‖ height               all [table, address, tx, item] of a block as they came, until folded into rows above
 *   'x' 'g' ‖ height               all [table 'h' 'o' 'n', address, address, kind, id] of a block, likewise
 *   'x' 's'                        how far the index is: form u8, done u64, traced_from u64
 *   'x' 'u'                        up to where it has rows, and in which epoch of the chain: top u64, epoch u64
 *
 * Numbers are big-endian. Rows of a block go with it when it is taken back, but for 'h', 'o' and 'n', which only say
 * whom to ask about; an 'l' counts if the lowest 'f' of its token agrees. Threading: confined. */
#ifndef CD_EXPLORER_INDEX_PRIV_H
#define CD_EXPLORER_INDEX_PRIV_H

#include "base/table/siphash.h"
#include "explorer/index.h"

typedef enum cd__ix_table {
    CD__IX_TXS = 't',
    CD__IX_MOVES = 'm',
    CD__IX_SAID = 'k',
    CD__IX_INTERNALS = 'i',
    CD__IX_BLOCK = 'v',
    CD__IX_MADE = 'c',
    CD__IX_HOLDS = 'h',
    CD__IX_HOLDERS = 'o',
    CD__IX_IDS = 'n',
    CD__IX_FIRST = 'f',
    CD__IX_TOKENS = 'l',
    CD__IX_ENTRIES = 'e',
    CD__IX_GOT = 'g',
    CD__IX_STATE = 's',
    CD__IX_UPTO = 'u',
} cd__ix_table;

enum {
    CD__IX_PREFIX = 'x',
    CD__IX_ADDR = 2 + 20,         /* bytes of a key's front: prefix, table, address */
    CD__IX_ROW = CD__IX_ADDR + 8, /* bytes of the key of a row: the front and a height */
    CD__IX_ITEM = 8,
    CD__IX_INSIDE =
        4 + 4 + 1 + 20 + 20 + 32, /* bytes of a transfer inside a transaction: tx, depth, op, from, to, value */
    CD__IX_MADE_SIZE = 8 + 1 + 20,
    CD__IX_FIRST_SIZE = 8 + 1,
    CD__IX_HELD = 2 + 20 + 20 + 1, /* key of a holding without an id */
    CD__IX_ID = 2 + 20 + 1,        /* key of an id without it */
};

/* An address takes part at a place; ordered as the rows are. */
typedef struct cd__ix_entry {
    u8 b[1 + 20 + CD__IX_ITEM]; /* table, address, tx, item */
} cd__ix_entry;

/* Somebody got something, or an id moved; ordered as the keys are. */
typedef struct cd__ix_got {
    u8 b[1 + 20 + 20 + 1 + 32]; /* table, address, the other address or zero, kind, id */
} cd__ix_got;

/* What a thread writes rows with; each thread has one. */
typedef struct cd__ix_writer {
    cd_kv *kv;
    cd__ix_entry *v; /* entries of the block that is being written */
    usize cnt;
    usize cap;
    cd__ix_got *got;
    usize got_cnt;
    usize got_cap;
    const u8 **fresh; /* entries of tokens that moved first in that block */
    usize fresh_cnt;
    usize fresh_cap;
    cd_sipkey key;
    u64 *held;   /* hashes of holdings that were written not long ago, by their low bits */
    u64 *tokens; /* hashes of tokens whose row is there for certain, by their low bits */
} cd__ix_writer;

void cd__ix_writer_init(cd__ix_writer *w, cd_kv *kv);
void cd__ix_writer_fini(cd__ix_writer *w);

/* cd__ix_writer_forget: what was appended last was not committed, or rows are gone. */
void cd__ix_writer_forget(cd__ix_writer *w);

/* cd__ix_put appends what is known of a block, its entries unfolded; cd__ix_put_rows the same folded: for a block
 * that was accepted without an index. cd__ix_del appends the removal of either. Errors: the store's. */
cd_err cd__ix_put(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b) CD_CHECK;
cd_err cd__ix_put_rows(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b) CD_CHECK;
cd_err cd__ix_del(cd__ix_writer *w, cd_kv_batch *batch, const cd_chain_entry *b) CD_CHECK;

/* cd__ix_fold appends the rows of a block whose entries are in kv, and the removal of those. Errors: CD_ENOENT where
 * there are none, CD_ECORRUPT, the store's. */
cd_err cd__ix_fold(cd__ix_writer *w, cd_kv_batch *batch, cd_kv *kv, u64 height) CD_CHECK;

/* cd__ix_key writes the key of a row of an address; cd__ix_height_key that of a table by height. */
cd_bytes cd__ix_key(u8 out[CD__IX_ROW], cd__ix_table t, const cd_addr20 *addr, u64 height);
cd_bytes cd__ix_height_key(u8 out[2 + 8], cd__ix_table t, u64 height);

/* cd__ix_first finds where a token moved first. Errors: CD_ENOENT, the store's. */
cd_err cd__ix_first(cd_kv *kv, cd_index_token *out, const cd_addr20 *token) CD_CHECK;

/* cd__ix_inside reads the transfers of a block into the arena. Errors: CD_ECORRUPT, the store's. */
cd_err cd__ix_inside(cd_kv *kv, cd_transfer **out, usize *cnt, cd_arena *a, u64 height) CD_CHECK;

/* How far it is: written by who catches up, and by the executor once that is over. */
typedef struct cd__ix_state {
    u64 done;
    u64 traced_from;
} cd__ix_state;

/* What the executor knows: rows may be there up to top, and every cut before epoch was seen. */
typedef struct cd__ix_upto {
    u64 top;
    u64 epoch;
} cd__ix_upto;

/* cd__ix_state_put, cd__ix_upto_put append a record; _read: CD_ENOENT where there is no index, or one of another
 * form. */
void cd__ix_state_put(cd_kv_batch *batch, const cd__ix_state *s);
void cd__ix_upto_put(cd_kv_batch *batch, const cd__ix_upto *u);
cd_err cd__ix_state_read(cd_kv *kv, cd__ix_state *out) CD_CHECK;
cd_err cd__ix_upto_read(cd_kv *kv, cd__ix_upto *out) CD_CHECK;

#endif
