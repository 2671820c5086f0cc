/* chains/evmchain/core/dev/dev_record.h - what a block of the development network has that no rule gives it: header
 * fields somebody chose, senders nobody signed for. Kept beside the block, so that verifying and executing it again
 * give the same.
 *
 *   'd' ‖ block hash      RLP [flags, [[index, sender]…]]           nothing is stored for a block without
 *
 * A chosen prevrandao needs no record: it stands in mixHash, which is zero otherwise. Threading: pure.
 * [spec:dev-rpc#1.2] [spec:dev-rpc#3.3] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_RECORD_H
#define CD_CHAINS_EVMCHAIN_DEV_RECORD_H

#include "store/kv.h"
#include "types/block.h"

/* Header fields that were chosen. */
enum {
    CD_DEV_BASE_FEE = 1 << 0,
    CD_DEV_GAS_LIMIT = 1 << 1,
};

/* A transaction whose sender is not its signature's. */
typedef struct cd_dev_sender {
    u64 idx;
    cd_addr20 addr;
} cd_dev_sender;

/* All zero: nothing out of the ordinary. */
typedef struct cd_dev_record {
    u32 chosen;                   /* CD_DEV_… */
    const cd_dev_sender *senders; /* ascending by idx */
    usize sender_cnt;
} cd_dev_record;

/* cd_dev_record_put appends the record of a block unless there is nothing to keep; _del its deletion. */
void cd_dev_record_put(cd_kv_batch *batch, const cd_hash32 *block, const cd_dev_record *r);
void cd_dev_record_del(cd_kv_batch *batch, const cd_hash32 *block);

/* cd_dev_record_get reads it; all zero when there is none. senders lie in the arena. Errors: CD_ECORRUPT, the
 * store's. */
cd_err cd_dev_record_get(cd_kv *kv, cd_dev_record *out, cd_arena *a, const cd_hash32 *block) CD_CHECK;

/* cd_dev_record_enc appends the value, cd_dev_record_dec reads it (for dumps of the chain). Errors: codec/rlp.h's. */
void cd_dev_record_enc(cd_buf *out, const cd_dev_record *r);
cd_err cd_dev_record_dec(cd_dev_record *out, cd_arena *a, cd_bytes in) CD_CHECK;

/* cd_dev_record_senders sets the senders of a block's transactions that the record names. */
void cd_dev_record_senders(const cd_dev_record *r, cd_block *block);

#endif
