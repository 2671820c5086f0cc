#include "codec/gzip.h"

#include <zlib.h>

enum {
    WINDOW_BITS = 15,
    GZIP_WRAP = 16, /* added to the window bits, it tells zlib to write or read gzip's head and tail */
    MEM_LEVEL = 8,
    STEP = 64 * 1024,
};

void cd_gzip_enc(cd_buf *out, cd_bytes in, cd_gzip_level level)
{
    z_stream z = {0};
    int rc = deflateInit2(&z, (int)level, Z_DEFLATED, WINDOW_BITS + GZIP_WRAP, MEM_LEVEL, Z_DEFAULT_STRATEGY);
    CD_ASSERT(rc == Z_OK && in.n <= UINT32_MAX);
    uLong bound = deflateBound(&z, in.n);
    CD_ASSERT(bound <= UINT32_MAX);
    z.next_in = (u8 *)(uintptr_t)in.p; /* zlib only reads its input */
    z.avail_in = (uInt)in.n;
    z.next_out = cd_buf_reserve(out, bound);
    z.avail_out = (uInt)bound;
    rc = deflate(&z, Z_FINISH);
    CD_ASSERT(rc == Z_STREAM_END);
    out->n += z.total_out;
    (void)deflateEnd(&z);
}

cd_err cd_gzip_dec(cd_buf *out, cd_bytes in, usize max)
{
    z_stream z = {0};
    usize before = out->n;
    cd_err e = CD_OK;
    int rc = inflateInit2(&z, WINDOW_BITS + GZIP_WRAP);
    CD_ASSERT(rc == Z_OK);
    if (in.n > UINT32_MAX) {
        e = CD_ELIMIT;
    }
    z.next_in = (u8 *)(uintptr_t)in.p;
    z.avail_in = e == CD_OK ? (uInt)in.n : 0;
    do {
        z.next_out = cd_buf_reserve(out, STEP);
        z.avail_out = STEP;
        rc = e == CD_OK ? inflate(&z, Z_NO_FLUSH) : Z_DATA_ERROR;
        out->n += STEP - z.avail_out;
        if (e == CD_OK && out->n - before > max) {
            e = CD_ELIMIT;
        }
        if (rc == Z_STREAM_END && z.avail_in != 0) {
            rc = inflateReset(&z);
        }
    } while (e == CD_OK && rc == Z_OK);
    (void)inflateEnd(&z);
    if (e == CD_OK && rc != Z_STREAM_END) {
        e = CD_EFORMAT;
    }
    if (e != CD_OK) {
        out->n = before;
    }
    return e;
}
