/* chains/evmchain/core/rules/header_l1.h - blocks of the L1 and of the C profile: their form, what a child of a given
 * parent must look like, and making one. The layout of the rules says where the two differ.
 *
 * Three steps in the order of the original, each with its words: form when a block is parsed, what stands between it
 * and its parent when it is verified, and the header's numbers just before it is executed. Threading: pure.
 * [spec:evm-chain#1] [spec:evm-chain#2] */
#ifndef CD_CHAINS_EVMCHAIN_HEADER_L1_H
#define CD_CHAINS_EVMCHAIN_HEADER_L1_H

#include "chains/evmchain/core/dev/dev_record.h"
#include "chains/evmchain/core/rules/chain_rules.h"

/* A parent and what it decides for its child. */
typedef struct cd_parent_l1 {
    const cd_chain_rules *rules;
    const cd_header *header;
    cd_child_rules child;
} cd_parent_l1;

/* cd_block_form_l1 checks what can be seen of a block alone. Errors: CD_EINVAL. */
cd_err cd_block_form_l1(const cd_chain_rules *r, const cd_block *b, cd_errinfo *why) CD_CHECK;

/* cd_block_context_l1 checks times and gas against the parent; now_ms is the wall clock in Unix milliseconds.
 * Errors: CD_EINVAL. */
cd_err cd_block_context_l1(const cd_parent_l1 *p, const cd_block *b, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_header_check_l1 checks number, coinbase and every field that is computed; dev names those that were chosen.
 * Errors: CD_EINVAL, CD_EFORMAT. */
cd_err cd_header_check_l1(const cd_parent_l1 *p, const cd_header *h, const cd_dev_record *dev,
                          cd_errinfo *why) CD_CHECK;

/* cd_header_base_fee_l1 gives the base fee of a child at a time (seconds; time_ms 0: to the second).
 * Errors: CD_EFORMAT. */
cd_err cd_header_base_fee_l1(cd_u256 *out, const cd_parent_l1 *p, u64 time, u64 time_ms) CD_CHECK;

/* cd_header_capacity_l1 gives the gas that a child with this header may use in all. Errors: CD_EFORMAT. */
cd_err cd_header_capacity_l1(u64 *out, const cd_parent_l1 *p, const cd_header *h) CD_CHECK;

/* cd_header_ext_l1 says in a header what stands in the extra data of its block (empty: nothing) and what gas that
 * takes; cd_header_front_l1 writes the front of its extra field when the gas is known. Errors: CD_EFORMAT, CD_ELIMIT
 * when the gas is above the capacity. */
void cd_header_ext_l1(const cd_chain_rules *r, cd_header *h, cd_bytes ext_data, u64 gas);
cd_err cd_header_front_l1(const cd_parent_l1 *p, cd_header *h, cd_arena *a) CD_CHECK;

/* What the builder of a block chooses; zero and NULL leave it to the rules. */
typedef struct cd_header_wish {
    u64 time;    /* Unix seconds; not before the parent's */
    u64 time_ms; /* from Granite on; 0 = time * 1000 */
    const cd_addr20 *coinbase;
    /* Development network only. */
    const cd_u256 *base_fee;
    const cd_hash32 *prev_randao;
    u64 gas_limit;
} cd_header_wish;

/* cd_header_make_l1 fills in a child's header: all but parent hash, roots, gas used, bloom; extra (without predicate
 * results) lies in the arena. *chosen gets CD_DEV_* for what the rules would have decided otherwise.
 * Errors: CD_EINVAL when the coinbase is not the sender's choice, CD_EFORMAT. */
cd_err cd_header_make_l1(const cd_parent_l1 *p, cd_header *out, u32 *chosen, cd_arena *a, const cd_header_wish *wish,
                         cd_errinfo *why) CD_CHECK;

/* cd_header_fee_l1: the tips (sum of effective tip * gas used) must pay the block gas cost. Errors: CD_EINVAL. */
cd_err cd_header_fee_l1(const cd_header *h, const cd_u256 *tips, cd_errinfo *why) CD_CHECK;

/* cd_header_genesis_l1 fills in what the rules add to a genesis header; skip_post_merge: without the fields of
 * Cancun and later, whatever holds. */
void cd_header_genesis_l1(const cd_chain_rules *r, cd_header *h, bool skip_post_merge);

#endif
