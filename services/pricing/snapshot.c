#include "services/pricing/snapshot.h"

#include "crypto/hash/sha2.h"
#include "services/pricing/prices_priv.h"
#include "services/pricing/record.h"

enum { SNAPSHOT_VERSION = 1, HEAD_SIZE = 24, SUM_SIZE = 32, CNT_AT = 12 };

static const u8 magic[8] = {'C', 'D', 'P', 'R', 'I', 'C', 'E', 'S'};

void cd_snapshot_enc(cd_buf *out, cd_prices *p)
{
    usize begin = out->n;
    u8 head[HEAD_SIZE];
    memcpy(head, magic, sizeof magic);
    cd_put_be32(head + 8, SNAPSHOT_VERSION);
    cd_put_be32(head + CNT_AT, (u32)p->there_cnt);
    cd_put_be64(head + 16, cd_clock_wall_ns(p->clock));
    cd_buf_put(out, cd_bytes_of(head, sizeof head));
    for (cd_list *it = p->there.prev; it != &p->there; it = it->prev) {
        usize at = out->n;
        (void)cd_buf_extend(out, 4);
        cd__price_record_enc(p, out, cd_list_of(it, cd__price_entry, lru));
        cd_put_be32(out->p + at, (u32)(out->n - at - 4));
    }
    cd_hash32 sum;
    cd_sha256(&sum, cd_bytes_of(out->p + begin, out->n - begin));
    cd_buf_put(out, cd_bytes_of(sum.b, sizeof sum.b));
}

/* Visits every record; with p NULL they are only read. */
static cd_err records(cd_prices *p, usize *stored, cd_rd rd, u32 cnt)
{
    for (u32 i = 0; i < cnt && rd.err == CD_OK; i++) {
        cd_bytes bytes = cd_rd_take(&rd, cd_rd_be32(&rd));
        cd_rd one = cd_rd_init(bytes);
        cd_price_record r;
        cd_price_record_dec(&one, &r);
        if (one.err != CD_OK || cd_rd_left(&one) != 0) {
            return CD_ECORRUPT;
        }
        if (p != NULL) {
            cd__price_entry *e = cd__price_make(p, r.row.id, r.currency);
            *stored += cd__price_record_take(p, e, bytes);
            cd__price_tidy(p, e);
        }
    }
    return rd.err == CD_OK && cd_rd_left(&rd) == 0 ? CD_OK : CD_ECORRUPT;
}

cd_err cd_snapshot_load(cd_prices *p, usize *cnt, cd_bytes bytes, cd_errinfo *why)
{
    if (bytes.n < HEAD_SIZE + SUM_SIZE || memcmp(bytes.p, magic, sizeof magic) != 0) {
        return cd_fail(why, CD_ECORRUPT, "not a snapshot of prices");
    }
    if (cd_be32(bytes.p + 8) != SNAPSHOT_VERSION) {
        return cd_fail(why, CD_EVERSION, "snapshot of version %u", cd_be32(bytes.p + 8));
    }
    cd_hash32 sum;
    usize n = bytes.n - SUM_SIZE;
    cd_sha256(&sum, cd_bytes_sub(bytes, 0, n));
    if (memcmp(sum.b, bytes.p + n, SUM_SIZE) != 0) {
        return cd_fail(why, CD_ECORRUPT, "snapshot of prices is damaged");
    }
    u32 records_cnt = cd_be32(bytes.p + CNT_AT);
    cd_rd rd = cd_rd_init(cd_bytes_sub(bytes, HEAD_SIZE, n - HEAD_SIZE));
    usize stored = 0;
    if (records(NULL, NULL, rd, records_cnt) != CD_OK) {
        return cd_fail(why, CD_ECORRUPT, "snapshot of prices is malformed");
    }
    cd_err err = records(p, &stored, rd, records_cnt);
    CD_ASSERT(err == CD_OK);
    p->is_ready = true;
    *cnt = stored;
    return CD_OK;
}

u64 cd_snapshot_changes(const cd_prices *p)
{
    return p->changes;
}
