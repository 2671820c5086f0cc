/* codec/bech32.h - bech32 (BIP-173): a prefix, '1', and bytes in groups of five bits with a checksum of six characters.
 *
 *   lux1 8jma8ppw3nhx5r4ap8clazz0dps7rv5u v98e28      prefix "lux", 20 bytes, checksum
 *
 * Only the checksum of BIP-173 is taken, not that of bech32m. Error texts are those of the original node.
 * Threading: pure. [spec:node-api#2.1] */
#ifndef CD_CODEC_BECH32_H
#define CD_CODEC_BECH32_H

#include "base/mem/buf.h"

/* The longest text, and what fits into it with a prefix of one character. */
enum { CD_BECH32_TEXT_MAX = 90, CD_BECH32_BYTES_MAX = 51 };

/* cd_bech32_put appends b under a prefix of lower-case letters. A text of more than CD_BECH32_TEXT_MAX characters is a
 * bug of the caller. */
void cd_bech32_put(cd_buf *out, const char *prefix, cd_bytes b);

/* What a text held. */
typedef struct cd_bech32 {
    char prefix[CD_BECH32_TEXT_MAX]; /* lower case, with a NUL */
    u8 b[CD_BECH32_BYTES_MAX];
    usize n;
} cd_bech32;

/* cd_bech32_parse reads text in lower or in upper case, not mixed. *out is untouched on failure.
 * Errors: CD_EFORMAT with the reason. */
cd_err cd_bech32_parse(cd_bech32 *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
