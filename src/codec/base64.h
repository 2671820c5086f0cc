/* codec/base64.h - base64: bytes to text and back, the standard alphabet, padded, and the one for URLs, not padded.
 * Threading: pure. [RFC 4648 4, 5] */
#ifndef CD_CODEC_BASE64_H
#define CD_CODEC_BASE64_H

#include "base/mem/buf.h"

/* cd_base64_enc appends the text of bytes. */
void cd_base64_enc(cd_buf *out, cd_bytes bytes);

/* cd_base64_dec appends the bytes of text, in which line ends are allowed. out is unchanged on failure. Errors:
 * CD_EFORMAT. */
cd_err cd_base64_dec(cd_buf *out, cd_bytes text) CD_CHECK;

/* cd_base64url_enc and cd_base64url_dec: the same with '-' and '_', without padding and line ends. */
void cd_base64url_enc(cd_buf *out, cd_bytes bytes);
cd_err cd_base64url_dec(cd_buf *out, cd_bytes text) CD_CHECK;

#endif
