/* chains/evmchain/feed/log_index.h - which blocks have a log of an address, or with a value in a topic position.
 *
 *   'i' ‖ kind u8 ‖ digest u64 ‖ height u64   →  nothing       kind 0: address, 1…4: topic position
 *
 * A digest is 64 bits mixed out of the value, so a block found here need not have what is looked for, but every
 * block that has it is found. Postings are written and removed in the batch of their block; a store that was filled
 * without them gets them when it is opened. Threading: pure over the kv given; a walk is confined. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_LOG_INDEX_H
#define CD_CHAINS_EVMCHAIN_FEED_LOG_INDEX_H

#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/feed/criteria.h"

/* What a chain is given as its cfg.index. */
extern const cd_chain_index cd_log_index;

/* cd_log_index_complete makes the index reach the head: progress (NULL allowed) is told now and then how far it is.
 * What is interrupted goes on from there. Errors: the store's. */
typedef void cd_log_index_progress(void *ctx, u64 height, u64 head);
cd_err cd_log_index_complete(cd_kv *kv, cd_header_layout layout, u64 head, cd_log_index_progress *progress, void *ctx,
                             cd_errinfo *why) CD_CHECK;

/* cd_log_index_drop removes the index, for a chain that goes on without: logs are found by the blooms of headers
 * then, and completing it later begins anew. What is interrupted goes on with the next call. Errors: the store's. */
cd_err cd_log_index_drop(cd_kv *kv, cd_errinfo *why) CD_CHECK;

/* cd_log_index_is_whole: every block of this kv is in the index. Errors: the store's. */
cd_err cd_log_index_is_whole(cd_kv *kv, bool *out) CD_CHECK;

/* cd_log_index_find gives heights of [from, to], ascending, at most max of them, such that up to *known no other
 * block can hold a log of want, which has a value somewhere. It walks all places at once and takes the rarest.
 * Errors: the store's. */
cd_err cd_log_index_find(cd_kv *kv, u64 *heights, usize *cnt, u64 *known, const cd_log_criteria *want, u64 from, u64 to,
                         usize max) CD_CHECK;

#endif
