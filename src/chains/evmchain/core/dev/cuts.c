#include "chains/evmchain/core/dev/cuts.h"

#include "chains/evmchain/core/chaindb.h"

/* Cuts that are kept; the oldest ones are united then. */
enum { CUT_SIZE = 16, CUTS_MAX = 4096 };

static cd_err load(cd_kv *kv, cd_buf *cuts)
{
    cd_err e = cd_chaindb_meta(kv, cuts, CD_CHAINDB_CUTS);
    if (e == CD_OK && cuts->n % CUT_SIZE != 0) {
        return CD_ECORRUPT;
    }
    return e;
}

/* A cut makes earlier ones above it irrelevant, so heights ascend with epochs. */
cd_err cd_cut_put(cd_kv_batch *batch, cd_kv *kv, u64 epoch, u64 height)
{
    cd_buf cuts = {0};
    cd_err e = load(kv, &cuts);
    if (e == CD_OK || e == CD_ENOENT) {
        while (cuts.n != 0 && cd_be64(cuts.p + cuts.n - 8) >= height) {
            cuts.n -= CUT_SIZE;
        }
        u8 *p = cd_buf_extend(&cuts, CUT_SIZE);
        cd_put_be64(p, epoch);
        cd_put_be64(p + 8, height);
        cd_bytes kept = cd_buf_bytes(&cuts);
        if (kept.n > (usize)CUTS_MAX * CUT_SIZE) {
            /* The oldest two become one that sends readers of either back far enough. */
            memcpy(cuts.p + CUT_SIZE + 8, cuts.p + 8, 8);
            kept = cd_bytes_sub(kept, CUT_SIZE, kept.n - CUT_SIZE);
        }
        cd_chaindb_put_meta(batch, CD_CHAINDB_CUTS, kept);
        e = CD_OK;
    }
    cd_buf_fini(&cuts);
    return e;
}

cd_err cd_cut_since(cd_kv *kv, u64 *height, u64 epoch)
{
    cd_buf cuts = {0};
    cd_err e = load(kv, &cuts);
    if (e == CD_OK) {
        e = CD_ENOENT;
        for (usize at = 0; at < cuts.n && e == CD_ENOENT; at += CUT_SIZE) {
            if (cd_be64(cuts.p + at) > epoch) {
                *height = cd_be64(cuts.p + at + 8);
                e = CD_OK;
            }
        }
    }
    cd_buf_fini(&cuts);
    return e;
}
