#include "net/gzip.h"

#include <zlib.h>

enum {
    LEVEL = 1,
    WINDOW_BITS = 15,
    GZIP_WRAP = 16, /* added to the window bits */
    MEM_LEVEL = 8,
};

void cd_gzip(cd_buf *out, cd_bytes in)
{
    z_stream z = {0};
    int rc =
        deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP_WRAP, MEM_LEVEL, Z_DEFAULT_STRATEGY);
    CD_ASSERT(rc == Z_OK && in.n <= UINT32_MAX);
    uLong bound = deflateBound(&z, in.n);
    z.next_in = (u8 *)(uintptr_t)in.p; /* zlib does not write there */
    z.avail_in = (uInt)in.n;
    z.next_out = cd_buf_reserve(out, bound);
    z.avail_out = (uInt)bound;
    rc = deflate(&z, Z_FINISH);
    CD_ASSERT(rc == Z_STREAM_END);
    out->n += z.total_out;
    (void)deflateEnd(&z);
}
