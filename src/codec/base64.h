/* codec/base64.h - base64: bytes to text and back, the standard alphabet, padded. Threading: pure. [RFC 4648 4] */
#ifndef CD_CODEC_BASE64_H
#define CD_CODEC_BASE64_H

#include "base/buf.h"

/* cd_base64_enc appends the text of bytes. */
void cd_base64_enc(cd_buf *out, cd_bytes bytes);

/* cd_base64_dec appends what text holds, line ends between allowed. out is unchanged on failure. Errors: CD_EFORMAT. */
cd_err cd_base64_dec(cd_buf *out, cd_bytes text) CD_CHECK;

#endif
