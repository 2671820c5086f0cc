#include "net/ws/deflate.h"

#include "base/mem/mem.h"

#include <zlib.h>

enum {
    LEVEL = 1,     /* of blocks of logs, 6 would save another 8 % of the bytes for four times the CPU */
    MEM_LEVEL = 8, /* zlib's default */
    STEP = 16 * 1024,
};

/* A sync flush ends with these bytes, which are not sent. */
static const u8 tail[4] = {0x00, 0x00, 0xff, 0xff};

struct cd_ws_deflater {
    z_stream z;
    u32 bits; /* 0: not made yet */
};

struct cd_ws_inflater {
    z_stream z;
    bool is_over; /* the last byte so far was the end of a final block */
};

cd_ws_deflater *cd_ws_deflater_new(void)
{
    return cd_new(cd_ws_deflater);
}

void cd_ws_deflater_free(cd_ws_deflater *d)
{
    if (d != NULL) {
        if (d->bits != 0) {
            (void)deflateEnd(&d->z);
        }
        cd_free(d);
    }
}

static void deflater_ready(cd_ws_deflater *d, u32 bits)
{
    if (d->bits == bits) {
        (void)deflateReset(&d->z);
        return;
    }
    if (d->bits != 0) {
        (void)deflateEnd(&d->z);
    }
    d->z = (z_stream){0};
    int rc = deflateInit2(&d->z, LEVEL, Z_DEFLATED, -(int)bits, MEM_LEVEL, Z_DEFAULT_STRATEGY);
    CD_ASSERT(rc == Z_OK);
    d->bits = bits;
}

void cd_ws_deflate(cd_ws_deflater *d, cd_buf *out, u32 bits, cd_bytes message)
{
    CD_ASSERT(message.n <= UINT32_MAX / 2);
    if (message.n == 0) {
        cd_buf_u8(out, 0); /* the sync flush of nothing, without its tail [RFC 7692 7.2.3.6] */
        return;
    }
    deflater_ready(d, bits);
    d->z.next_in = (Bytef *)(uintptr_t)message.p;
    d->z.avail_in = (uInt)message.n;
    usize room = deflateBound(&d->z, (uLong)message.n) + 16;
    do {
        d->z.next_out = cd_buf_reserve(out, room);
        d->z.avail_out = (uInt)room;
        int rc = deflate(&d->z, Z_SYNC_FLUSH);
        CD_ASSERT(rc == Z_OK || rc == Z_BUF_ERROR);
        out->n += room - d->z.avail_out;
    } while (d->z.avail_out == 0);
    CD_ASSERT(memcmp(out->p + out->n - sizeof tail, tail, sizeof tail) == 0);
    out->n -= sizeof tail;
}

void cd_ws_stored_enc(u8 out[CD_WS_STORED_HEAD], u16 n)
{
    out[0] = 0;
    out[1] = (u8)n;
    out[2] = (u8)(n >> 8);
    out[3] = (u8)~out[1];
    out[4] = (u8)~out[2];
}

cd_ws_inflater *cd_ws_inflater_new(void)
{
    cd_ws_inflater *f = cd_new(cd_ws_inflater);
    int rc = inflateInit2(&f->z, -MAX_WBITS);
    CD_ASSERT(rc == Z_OK);
    return f;
}

void cd_ws_inflater_free(cd_ws_inflater *f)
{
    if (f != NULL) {
        (void)inflateEnd(&f->z);
        cd_free(f);
    }
}

void cd_ws_inflater_reset(cd_ws_inflater *f)
{
    (void)inflateReset(&f->z);
    f->is_over = false;
}

/* A final block ends the stream, not the message: another stream may follow [RFC 7692 7.2.3.4]. */
static cd_err inflate_all(cd_ws_inflater *f, cd_buf *out, cd_bytes in, usize max)
{
    f->z.next_in = (Bytef *)(uintptr_t)in.p;
    f->z.avail_in = (uInt)in.n;
    for (;;) {
        if (f->is_over && f->z.avail_in != 0) {
            cd_ws_inflater_reset(f);
        }
        usize room = max - out->n + 1; /* one too many shows that there is more */
        room = room < STEP ? room : STEP;
        f->z.next_out = cd_buf_reserve(out, room);
        f->z.avail_out = (uInt)room;
        int rc = inflate(&f->z, Z_NO_FLUSH);
        out->n += room - f->z.avail_out;
        if (out->n > max) {
            return CD_ELIMIT;
        }
        f->is_over = rc == Z_STREAM_END;
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
            return CD_EFORMAT;
        }
        if (f->z.avail_in == 0 && f->z.avail_out != 0) {
            return CD_OK;
        }
    }
}

cd_err cd_ws_inflate(cd_ws_inflater *f, cd_buf *out, cd_bytes part, bool is_last, usize max)
{
    enum { AT_BLOCK = 128 }; /* in data_type: between two blocks */
    CD_ASSERT(part.n <= UINT32_MAX && out->n <= max);
    if (part.n != 0) {
        CD_TRY(inflate_all(f, out, part, max));
    }
    /* Nothing at all is taken for the empty message, though its sender owes us a byte. */
    if (is_last && !f->is_over && f->z.total_in != 0) {
        CD_TRY(inflate_all(f, out, cd_bytes_of(tail, sizeof tail), max));
        if ((f->z.data_type & AT_BLOCK) == 0) {
            return CD_EFORMAT;
        }
    }
    return CD_OK;
}
