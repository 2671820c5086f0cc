/* Transactions and receipts: what decodes must encode, field by field, to the same bytes, and its
 * signing hash must not depend on whether the encoding is at hand. */
#include "types/receipt.h"
#include "types/tx_codec.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void check_tx(cd_arena *a, cd_bytes in)
{
    cd_tx tx;
    cd_errinfo why = {0};
    if (cd_tx_dec(&tx, a, in, &why) != CD_OK) {
        return;
    }
    cd_tx bare = tx;
    bare.raw = (cd_bytes){0};
    bare.unsigned_fields = (cd_bytes){0};
    cd_buf out = {0};
    cd_tx_enc(&out, &bare);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
    cd_hash32 with;
    cd_hash32 without;
    cd_tx_sign_hash(&with, &tx);
    cd_tx_sign_hash(&without, &bare);
    CD_ASSERT(cd_hash32_eq(&with, &without));
    cd_tx_hash(&without, &bare);
    CD_ASSERT(cd_hash32_eq(&tx.hash, &without));
    (void)!cd_tx_recover(&tx, true);
    cd_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_bytes in = cd_bytes_of(data, size);
    check_tx(&a, in);
    cd_receipt r;
    if (cd_receipt_dec(&r, &a, in) == CD_OK) {
        cd_buf out = {0};
        cd_receipt_enc(&out, &r);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
        cd_buf_fini(&out);
    }
    cd_arena_fini(&a);
    return 0;
}
