/* chains/evmchain/feed/render.h - what is told of a block, as notes. Each notification carries where to read on from
 * so that it comes again; with_cursor puts the place behind it into the text as well. Threading: pure.
 * [spec:eth-rpc#7] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_RENDER_H
#define CD_CHAINS_EVMCHAIN_FEED_RENDER_H

#include "chains/evmchain/core/view.h"
#include "chains/evmchain/feed/cursor.h"
#include "rpc/session.h"

/* cd__note_head renders a header as newHeads tells it; the caller owns the reference. */
cd_rpc_note *cd__note_head(const cd_accepted *acc, const cd_chain_rules *r, u64 epoch, bool with_cursor);

/* cd__note_tx renders transaction tx of an accepted block: its hash, or all of it. */
cd_rpc_note *cd__note_tx(const cd_accepted *acc, u64 epoch, u32 tx, bool is_full, bool with_cursor);

/* cd__note_log: item is the log's place in its transaction, idx in the block. */
cd_rpc_note *cd__note_log(const cd_accepted *acc, u64 epoch, u32 tx, u32 item, usize idx, bool with_cursor);

/* cd__note_pending renders a transaction that waits: its hash, or all of it. */
cd_rpc_note *cd__note_pending(const cd_tx *tx, bool is_full);

#endif
