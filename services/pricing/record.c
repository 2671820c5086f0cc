#include "services/pricing/record.h"

#include <math.h>

enum { RECORD_VERSION = 1 };

static void put_u16(cd_buf *out, u16 v)
{
    cd_put_be16(cd_buf_extend(out, 2), v);
}

static void put_u32(cd_buf *out, u32 v)
{
    cd_put_be32(cd_buf_extend(out, 4), v);
}

static void put_u64(cd_buf *out, u64 v)
{
    cd_put_be64(cd_buf_extend(out, 8), v);
}

static void put_text(cd_buf *out, cd_bytes text)
{
    put_u16(out, (u16)text.n);
    cd_buf_put(out, text);
}

static void put_f64(cd_buf *out, double v)
{
    u64 bits;
    memcpy(&bits, &v, sizeof bits);
    put_u64(out, bits);
}

void cd_price_record_enc(cd_buf *out, const cd_price_record *r)
{
    cd_buf_u8(out, RECORD_VERSION);
    put_text(out, r->row.id);
    put_text(out, r->currency);
    put_text(out, r->row.symbol);
    put_text(out, r->row.name);
    put_text(out, r->source);
    put_f64(out, r->row.price);
    put_f64(out, r->row.change_24h);
    put_f64(out, r->row.market_cap);
    put_f64(out, r->row.volume_24h);
    put_u64(out, r->row.last_updated_s);
    put_u64(out, r->stored_wall_ns);
    cd_buf_u8(out, r->history_cnt);
    for (usize i = 0; i < r->history_cnt; i++) {
        u32 bits;
        memcpy(&bits, &r->history[i].price, sizeof bits);
        put_u32(out, r->history[i].wall_s);
        put_u32(out, bits);
    }
}

static cd_bytes take_text(cd_rd *r, usize max)
{
    usize n = cd_rd_be16(r);
    if (n > max) {
        cd_rd_fail(r, CD_EFORMAT);
        return (cd_bytes){0};
    }
    return cd_rd_take(r, n);
}

static cd_bytes take_name(cd_rd *r)
{
    char folded[CD_PRICE_NAME_MAX];
    cd_bytes name = take_text(r, CD_PRICE_NAME_MAX);
    if (!cd_price_name_fold(folded, name) || !cd_bytes_eq(cd_bytes_of(folded, name.n), name)) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    return name;
}

static double take_f64(cd_rd *r)
{
    u64 bits = cd_rd_be64(r);
    double v;
    memcpy(&v, &bits, sizeof v);
    if (!isfinite(v)) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    return v;
}

void cd_price_record_dec(cd_rd *r, cd_price_record *out)
{
    *out = (cd_price_record){.history_cnt = 0};
    if (cd_rd_u8(r) != RECORD_VERSION) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    out->row.id = take_name(r);
    out->currency = take_name(r);
    out->row.symbol = take_text(r, CD_MARKET_SYMBOL_MAX);
    out->row.name = take_text(r, CD_MARKET_NAME_MAX);
    out->source = take_name(r);
    out->row.price = take_f64(r);
    out->row.change_24h = take_f64(r);
    out->row.market_cap = take_f64(r);
    out->row.volume_24h = take_f64(r);
    out->row.last_updated_s = cd_rd_be64(r);
    out->stored_wall_ns = cd_rd_be64(r);
    u8 cnt = cd_rd_u8(r);
    if (cnt > CD_PRICES_HISTORY) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    for (u8 i = 0; i < cnt && r->err == CD_OK; i++) {
        out->history[i].wall_s = cd_rd_be32(r);
        u32 bits = cd_rd_be32(r);
        memcpy(&out->history[i].price, &bits, sizeof bits);
        out->history_cnt++;
    }
}
