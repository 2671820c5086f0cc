/* chains/evmchain/dev/tell.h - the lines that a developer watches: blocks and their transactions, why they failed, what
 * contracts print. Threading: confined. [spec:dev-rpc#2.6] [spec:dev-rpc#2.7] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_TELL_H
#define CD_CHAINS_EVMCHAIN_DEV_TELL_H

#include "chains/evmchain/dev/dev_priv.h"

/* cd__dev_tell_block tells of an accepted block; watch saw it being made. _run tells of count empty ones. */
void cd__dev_tell_block(const cd_dev *d, const cd_chain_block *b, const cd_console_watch *watch);
void cd__dev_tell_run(const cd_dev *d, u64 first, u64 count);

/* cd__dev_put_amount appends wei in words: "1.5 LUX", or "7 wei" where it is little. */
void cd__dev_put_amount(cd_buf *out, const cd_u256 *wei);

#endif
