/* services/webhook/core/chain/facts.h - what happened in a block, from a node's JSON.
 *
 *   block (full transactions) ┐
 *   receipts ─────────────────┼─► cd_wh_facts_parse ─► transactions ─► logs (transfers recognised), internal transfers
 *   callTracer frames ────────┘
 *
 * Parsed once a block into an arena; everything is borrowed from it. What does not fit together (a receipt of another
 * transaction, an index twice, text that is no number) is the node's fault and an error, never a guess. Logs that look
 * like transfers but are malformed are plain logs. Threading: pure; facts are frozen. [spec:webhooks#6] */
#ifndef CD_WEBHOOK_CORE_FACTS_H
#define CD_WEBHOOK_CORE_FACTS_H

#include "codec/json.h"

/* The standard by which a log is a transfer. */
typedef enum cd_wh_move {
    CD_WH_MOVE_NONE, /* a log that is no transfer */
    CD_WH_MOVE_ERC20,
    CD_WH_MOVE_ERC721,
    CD_WH_MOVE_ERC1155,
} cd_wh_move;

/* One token id and its amount: 1 for ERC-721; ERC-20 has no id. */
typedef struct cd_wh_part {
    cd_u256 id;
    cd_u256 value;
} cd_wh_part;

/* A log of a transaction. */
typedef struct cd_wh_log {
    u32 index; /* in the block */
    u32 topics_cnt;
    const cd_hash32 *topics;
    cd_bytes data;
    cd_addr20 contract;
    cd_addr20 from, to, operator; /* of a transfer; operator: ERC-1155 */
    cd_wh_move move;
    u32 parts_cnt; /* 1 unless it is a batch */
    const cd_wh_part *parts;
} cd_wh_log;

/* A transfer of the native coin inside a transaction. */
typedef struct cd_wh_inner {
    cd_addr20 from, to;
    cd_u256 value;
    const char *call; /* "CALL", static */
    u32 depth;        /* length of path, >= 1 */
    const u32 *path;  /* which call of which call */
} cd_wh_inner;

/* A transaction with what it did. */
typedef struct cd_wh_tx {
    cd_hash32 hash;
    u32 index;
    cd_addr20 from, to;
    bool has_to; /* else it creates a contract */
    bool is_ok;
    bool has_selector;
    bool has_created;
    bool has_fees; /* max_fee, max_tip */
    u32 selector;  /* first four bytes of what the callee is given */
    cd_addr20 created;
    cd_u256 value; /* as it was sent */
    cd_u256 moved; /* what changed hands: zero when it was reverted */
    cd_u256 gas_price;
    cd_u256 max_fee, max_tip;
    u64 gas_used;
    u64 gas, nonce;
    const cd_wh_log *logs;
    usize logs_cnt;
    const cd_wh_inner *inners;
    usize inners_cnt;
} cd_wh_tx;

/* A block in the terms of webhooks; all of it lies in the arena that was given. */
typedef struct cd_wh_facts {
    bool is_pending; /* one transaction that is in no block yet: number and hashes are zero */
    bool has_base_fee;
    u64 number;
    cd_hash32 hash, parent;
    u64 time_ms; /* of the block, or when it was first seen */
    u64 gas_used, gas_limit;
    cd_u256 base_fee;
    const cd_wh_tx *txs;
    usize txs_cnt;
    usize logs_cnt, inners_cnt; /* of all */
} cd_wh_facts;

/* cd_wh_facts_parse reads a block with full transactions, its receipts in order, and the answer of
 * debug_traceBlockByHash with callTracer (a missing value: no internal transfers).
 * Errors: those of codec/json.h's getters; CD_EFORMAT for parts that do not belong together; CD_EDEPTH. */
cd_err cd_wh_facts_parse(cd_wh_facts *out, cd_arena *mem, cd_json block, cd_json receipts, cd_json traces,
                         cd_errinfo *why) CD_CHECK;

/* cd_wh_facts_pending reads a transaction of the mempool that was first seen at now_ms. */
cd_err cd_wh_facts_pending(cd_wh_facts *out, cd_arena *mem, cd_json tx, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_wh_facts_head reads number, hash and parent of a block or header. */
cd_err cd_wh_facts_head(u64 *number, cd_hash32 *hash, cd_hash32 *parent, cd_json block, cd_errinfo *why) CD_CHECK;

/* How deep the frames of traces may be: calls nest 1,024 levels, and each takes two of JSON. */
enum { CD_WH_FRAMES_MAX = 1100, CD_WH_TRACE_DEPTH_MAX = 2 * CD_WH_FRAMES_MAX + 8 };

#endif
