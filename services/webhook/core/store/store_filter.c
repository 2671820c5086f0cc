#include "base/rd.h"
#include "services/webhook/core/store/store_priv.h"

/* A filter as the store keeps it, without filter.addresses, which are a table of their own:
 *
 *   1 ‖ direction ‖ min_value (32) ‖ lists in the order of the struct: count (4) ‖ items */
enum { FORMAT = 1 };

static void put_list(cd_buf *out, const void *p, usize n, usize size)
{
    u8 cnt[4];
    cd_put_be32(cnt, (u32)n);
    cd_buf_put(out, cd_bytes_of(cnt, sizeof cnt));
    cd_buf_put(out, cd_bytes_of(p, n * size));
}

static void put_addrs(cd_buf *out, cd_wh_addrs a)
{
    put_list(out, a.p, a.n, sizeof *a.p);
}

static void put_words(cd_buf *out, cd_wh_words w)
{
    put_list(out, w.p, w.n, sizeof *w.p);
}

void cd__wh_filter_enc(cd_buf *out, const cd_wh_filter *f)
{
    u8 min[32];
    cd_u256_store_be(min, &f->min_value);
    cd_buf_u8(out, FORMAT);
    cd_buf_u8(out, (u8)f->direction);
    cd_buf_put(out, cd_bytes_of(min, sizeof min));
    put_addrs(out, f->from);
    put_addrs(out, f->to);
    put_addrs(out, f->contracts);
    for (usize i = 0; i < CD_COUNT(f->topics); i++) {
        put_words(out, f->topics[i]);
    }
    put_words(out, f->token_ids);
    put_words(out, f->tx_hashes);
    put_list(out, f->selectors, f->selectors_cnt, sizeof *f->selectors);
}

static const void *take_list(cd_rd *r, usize *n, usize size, cd_arena *mem)
{
    usize cnt = cd_rd_be32(r);
    if (cnt > cd_rd_left(r) / size) {
        cd_rd_fail(r, CD_ECORRUPT);
        cnt = 0;
    }
    *n = cnt;
    return cd_arena_dup(mem, cd_rd_take(r, cnt * size)).p;
}

static cd_wh_addrs take_addrs(cd_rd *r, cd_arena *mem)
{
    cd_wh_addrs a;
    a.p = take_list(r, &a.n, sizeof *a.p, mem);
    return a;
}

static cd_wh_words take_words(cd_rd *r, cd_arena *mem)
{
    cd_wh_words w;
    w.p = take_list(r, &w.n, sizeof *w.p, mem);
    return w;
}

cd_err cd__wh_filter_dec(cd_wh_filter *out, cd_arena *mem, cd_bytes in, cd_errinfo *why)
{
    cd_rd r = cd_rd_init(in);
    cd_wh_filter f = {0};
    u8 min[32];
    u8 format = cd_rd_u8(&r);
    f.direction = (cd_wh_direction)cd_rd_u8(&r);
    cd_rd_copy(&r, min, sizeof min);
    cd_u256_load_be(&f.min_value, min);
    f.from = take_addrs(&r, mem);
    f.to = take_addrs(&r, mem);
    f.contracts = take_addrs(&r, mem);
    for (usize i = 0; i < CD_COUNT(f.topics); i++) {
        f.topics[i] = take_words(&r, mem);
    }
    f.token_ids = take_words(&r, mem);
    f.tx_hashes = take_words(&r, mem);
    f.selectors = take_list(&r, &f.selectors_cnt, sizeof *f.selectors, mem);
    if (format != FORMAT || f.direction > CD_WH_OUTGOING || cd_rd_end(&r) != CD_OK) {
        return cd_fail(why, CD_ECORRUPT, "a stored filter is damaged");
    }
    *out = f;
    return CD_OK;
}
