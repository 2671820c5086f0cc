/* codec/gzip.h - gzip: bytes to fewer bytes and back, whole documents at once.
 *
 * Wraps zlib. Threading: pure. [RFC 1952] */
#ifndef CD_CODEC_GZIP_H
#define CD_CODEC_GZIP_H

#include "base/mem/buf.h"

/* How hard to compress. */
typedef enum cd_gzip_level {
    CD_GZIP_FAST = 1,  /* for somebody who waits */
    CD_GZIP_SMALL = 6, /* for a file */
} cd_gzip_level;

/* cd_gzip_enc compresses in, at most 2^32 - 1 bytes, and appends the result. */
void cd_gzip_enc(cd_buf *out, cd_bytes in, cd_gzip_level level);

/* cd_gzip_dec decompresses in, one or more members in a row, and appends the result. out is unchanged on failure.
 * Errors: CD_EFORMAT when in is damaged or cut, CD_ELIMIT when more than max bytes come out. */
cd_err cd_gzip_dec(cd_buf *out, cd_bytes in, usize max) CD_CHECK;

#endif
