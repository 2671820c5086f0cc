/* chains/evmchain/sync/wire.h - what nodes say to each other about the state of an EVM chain: summaries, questions for
 * leafs, blocks and code, and the answers.
 *
 *   question   u16 0 ‖ u32 type ID ‖ fields          answer, summary   u16 0 ‖ fields
 *
 * These are the VM's own messages, not those of handlers (p2p/sdk.h): a request that reads as a question is one.
 * The C-Chain and chains of the L1 family number their questions differently; the C-Chain's have a kind of trie and its
 * summaries the root of the atomic trie. Format only. Threading: pure. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_SYNC_WIRE_H
#define CD_CHAINS_EVMCHAIN_SYNC_WIRE_H

#include "codec/linear.h"

enum {
    CD_SYNC_LEAFS_MAX = 1024,                      /* in an answer */
    CD_SYNC_BLOCKS_MAX = 64,                       /* in an answer */
    CD_SYNC_CODE_MAX = 5,                          /* hashes in a question */
    CD_SYNC_MESSAGE_MAX = (2 << 20) - (64 << 10),  /* bytes */
    CD_SYNC_BLOCKS_TARGET = (1 << 20) - (1 << 10), /* bytes of blocks in an answer, unless the first is longer */
};

/* Whose messages. */
typedef enum cd_sync_family {
    CD_SYNC_C,
    CD_SYNC_L1,
} cd_sync_family;

/* What is asked for. */
typedef enum cd_sync_kind {
    CD_SYNC_BLOCKS,
    CD_SYNC_LEAFS,
    CD_SYNC_CODE,
} cd_sync_kind;

/* Which trie leafs are asked of; chains of the L1 family have the state's alone. */
enum { CD_SYNC_OF_STATE = 1, CD_SYNC_OF_ATOMIC = 2 };

/* A block and its ancestors, newest first. */
typedef struct cd_sync_ask_blocks {
    cd_hash32 hash;
    u64 height;
    u16 cnt; /* at most, the block included */
} cd_sync_ask_blocks;

/* Leafs of the trie of a root, from start to end. */
typedef struct cd_sync_ask_leafs {
    cd_hash32 root;
    cd_hash32 account; /* whose storage: hash of the address; zero: the accounts */
    cd_bytes start;    /* 32 bytes (atomic: 40), or none: from the first */
    cd_bytes end;      /* likewise, or none: to the last; inclusive */
    u16 limit;
    u8 of; /* CD_SYNC_OF_*; not written for the L1 family */
} cd_sync_ask_leafs;

/* Code by hash. */
typedef struct cd_sync_ask_code {
    cd_linear_list hashes; /* of cd_hash32 */
} cd_sync_ask_code;

/* A question; the member of its kind holds. */
typedef struct cd_sync_ask {
    cd_sync_kind kind;
    union {
        cd_sync_ask_blocks blocks;
        cd_sync_ask_leafs leafs;
        cd_sync_ask_code code;
    };
} cd_sync_ask;

/* The answer to a question for leafs: as many keys as values, and nodes of the trie. */
typedef struct cd_sync_leafs {
    cd_linear_list keys; /* all three of cd_bytes */
    cd_linear_list values;
    cd_linear_list proof;
} cd_sync_leafs;

/* The answer to a question for blocks or code. */
typedef struct cd_sync_items {
    cd_linear_list items; /* of cd_bytes */
} cd_sync_items;

/* What a node offers to be synced to. */
typedef struct cd_sync_summary {
    u64 height;
    cd_hash32 hash;
    cd_hash32 root;
    cd_hash32 atomic_root; /* C only */
} cd_sync_summary;

/* The tables of both answers, for cd_linear_parse (with CD_SYNC_MESSAGE_MAX) and cd_linear_put. */
extern const cd_linear_type cd_sync_leafs_table;
extern const cd_linear_type cd_sync_items_table;

/* cd_sync_ask_parse reads a question; lists lie in the arena, bytes are borrowed. Errors: those of cd_linear_parse;
 * CD_ETYPE for anything that is no question of the family. cd_sync_ask_put appends one. */
cd_err cd_sync_ask_parse(cd_sync_ask *out, cd_arena *a, cd_sync_family family, cd_bytes in, cd_errinfo *why) CD_CHECK;
void cd_sync_ask_put(cd_buf *out, cd_sync_family family, const cd_sync_ask *ask);

/* cd_sync_summary_parse reads a summary and gives its ID (NULL allowed), cd_sync_summary_put appends one. Errors: those
 * of cd_linear_parse. */
cd_err cd_sync_summary_parse(cd_sync_summary *out, cd_hash32 *id, cd_sync_family family, cd_bytes in,
                             cd_errinfo *why) CD_CHECK;
void cd_sync_summary_put(cd_buf *out, cd_sync_family family, const cd_sync_summary *s);

#endif
