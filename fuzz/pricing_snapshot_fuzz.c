/* Snapshot files with a checksum that is right, and records of the shared store: what is read can be written again. */
#include "crypto/hash/sha2.h"
#include "services/pricing/record.h"
#include "services/pricing/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_record(cd_bytes in)
{
    cd_rd rd = cd_rd_init(in);
    cd_price_record r;
    cd_price_record_dec(&rd, &r);
    if (rd.err == CD_OK) {
        cd_buf out = {0};
        cd_price_record_enc(&out, &r);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), cd_bytes_sub(in, 0, out.n)));
        cd_buf_fini(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const cd_prices_cfg cfg = {.entries_max = 1000};
    cd_prices *p = cd_prices_new(&cfg);
    cd_buf file = {0};
    cd_hash32 sum;
    usize cnt;
    cd_buf_put(&file, cd_bytes_of(data, size));
    cd_sha256(&sum, cd_buf_bytes(&file));
    cd_buf_put(&file, cd_bytes_of(sum.b, sizeof sum.b));
    if (cd_snapshot_load(p, &cnt, cd_buf_bytes(&file), NULL) == CD_OK) {
        cd_buf again = {0};
        cd_snapshot_enc(&again, p);
        cd_prices *q = cd_prices_new(&cfg);
        CD_ASSERT(cd_snapshot_load(q, &cnt, cd_buf_bytes(&again), NULL) == CD_OK);
        cd_prices_free(q);
        cd_buf_fini(&again);
    }
    try_record(cd_bytes_of(data, size));
    cd_buf_fini(&file);
    cd_prices_free(p);
    return 0;
}
