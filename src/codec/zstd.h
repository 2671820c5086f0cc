/* codec/zstd.h - Zstandard: bytes to fewer bytes and back, whole documents at once, for messages of peers.
 *
 * A cd_zstd keeps the working memory of both directions, and one buffer of `max` bytes that decompression writes to:
 * whatever a frame claims of its size or of its window, no more memory is ever taken. Frames with and without their
 * size in the head are read, and several in a row. Wraps libzstd. Threading: confined. [RFC 8878] */
#ifndef CD_CODEC_ZSTD_H
#define CD_CODEC_ZSTD_H

#include "base/mem/buf.h"

typedef struct cd_zstd cd_zstd;

/* cd_zstd_new makes a cd_zstd that decompresses to at most max bytes; cd_zstd_free: NULL is allowed. */
cd_zstd *cd_zstd_new(usize max);
void cd_zstd_free(cd_zstd *z);

/* cd_zstd_enc compresses in and appends the frame, with the size of in in its head. */
void cd_zstd_enc(cd_zstd *z, cd_buf *out, cd_bytes in);

/* cd_zstd_dec decompresses in; *out is borrowed until the next call. Errors: CD_EFORMAT with the library's reason in
 * *why, CD_ELIMIT when more than max bytes would come out. */
cd_err cd_zstd_dec(cd_zstd *z, cd_bytes *out, cd_bytes in, cd_errinfo *why) CD_CHECK;

#endif
