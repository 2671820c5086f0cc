#include "codec/zstd.h"

#include "base/mem/mem.h"

#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL = 5 }; /* compression level of the original */

struct cd_zstd {
    ZSTD_CCtx *enc;
    ZSTD_DCtx *dec;
    u8 *scratch; /* max bytes that decompression writes to; allocated when first needed */
    usize max;
};

cd_zstd *cd_zstd_new(usize max)
{
    cd_zstd *z = cd_new(cd_zstd);
    z->max = max;
    z->enc = ZSTD_createCCtx();
    z->dec = ZSTD_createDCtx();
    CD_ASSERT(z->enc != NULL && z->dec != NULL);
    return z;
}

void cd_zstd_free(cd_zstd *z)
{
    if (z != NULL) {
        (void)ZSTD_freeCCtx(z->enc);
        (void)ZSTD_freeDCtx(z->dec);
        cd_free(z->scratch);
        cd_free(z);
    }
}

void cd_zstd_enc(cd_zstd *z, cd_buf *out, cd_bytes in)
{
    usize bound = ZSTD_compressBound(in.n);
    u8 *at = cd_buf_reserve(out, bound);
    usize n = ZSTD_compressCCtx(z->enc, at, bound, in.n == 0 ? (const u8 *)"" : in.p, in.n, LEVEL);
    CD_ASSERT(ZSTD_isError(n) == 0);
    out->n += n;
}

cd_err cd_zstd_dec(cd_zstd *z, cd_bytes *out, cd_bytes in, cd_errinfo *why)
{
    if (z->scratch == NULL) {
        z->scratch = cd_alloc(z->max + 1);
    }
    if (in.n >= 4 && cd_le32(in.p) != ZSTD_MAGICNUMBER &&
        (cd_le32(in.p) & ZSTD_MAGIC_SKIPPABLE_MASK) != ZSTD_MAGIC_SKIPPABLE_START) {
        return cd_fail(why, CD_EFORMAT, "Unknown frame descriptor");
    }
    usize n = ZSTD_decompressDCtx(z->dec, z->scratch, z->max, in.n == 0 ? (const u8 *)"" : in.p, in.n);
    if (ZSTD_isError(n) != 0) {
        return ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall
                   ? cd_fail(why, CD_ELIMIT, "more than %zu bytes", z->max)
                   : cd_fail(why, CD_EFORMAT, "%s", ZSTD_getErrorName(n));
    }
    *out = cd_bytes_of(z->scratch, n);
    return CD_OK;
}
