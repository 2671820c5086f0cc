/* types/pblock.h - blocks of the P-Chain as they are written: one structure, and a table for each kind.
 *
 *   kind                    time   txs   parent   height   tx
 *   Apricot proposal                     x        x        x        Banff: with time, and with txs in front
 *   Apricot abort, commit                x        x                 Banff: with time
 *   Apricot standard               x     x        x                 Banff: with time
 *   Apricot atomic                       x        x        x
 *
 * What a kind does not have is zero. Format only: which kind may follow which is the chain's. The ID of a block is
 * SHA-256 of its bytes. Threading: pure. [spec:pchain-xchain#5] */
#ifndef CD_TYPES_PBLOCK_H
#define CD_TYPES_PBLOCK_H

#include "types/ptx.h"

/* Type IDs of blocks. [spec:pchain-xchain#2.1] */
typedef enum cd_p_block_type {
    CD_P_APRICOT_PROPOSAL = 0,
    CD_P_APRICOT_ABORT = 1,
    CD_P_APRICOT_COMMIT = 2,
    CD_P_APRICOT_STANDARD = 3,
    CD_P_APRICOT_ATOMIC = 4,
    CD_P_BANFF_PROPOSAL = 29,
    CD_P_BANFF_ABORT = 30,
    CD_P_BANFF_COMMIT = 31,
    CD_P_BANFF_STANDARD = 32,
} cd_p_block_type;

/* What a block says. */
typedef struct cd_p_block_body {
    u64 time;           /* seconds since 1970 */
    cd_linear_list txs; /* cd_p_tx: the decision transactions */
    cd_hash32 parent;
    u64 height;
    cd_p_tx tx; /* the transaction that is proposed, or the atomic one */
} cd_p_block_body;

/* A block; body holds a cd_p_block_body, whatever its kind. */
typedef struct cd_p_block {
    cd_linear_any body;
} cd_p_block;

/* The table of cd_p_block. */
extern const cd_linear_type cd_p_block_table;

/* cd_p_block_kind gives the kind, cd_p_block_body_of borrows what it says. */
cd_p_block_type cd_p_block_kind(const cd_p_block *b);
cd_p_block_body *cd_p_block_body_of(const cd_p_block *b);

/* cd_p_block_of makes a block of a kind out of body, which it borrows. */
cd_p_block cd_p_block_of(cd_p_block_type type, cd_p_block_body *body);

/* cd_p_block_json writes a block with its ID, which is id, and the IDs of its transactions. */
void cd_p_block_json(cd_json_w *w, const cd_linear_place *place, const cd_p_block *b, const cd_hash32 *id);

#endif
