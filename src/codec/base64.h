/* codec/base64.h - base64 text to bytes. Threading: pure. [RFC 4648 4] */
#ifndef CD_CODEC_BASE64_H
#define CD_CODEC_BASE64_H

#include "base/buf.h"

/* cd_base64_dec appends what text holds: the standard alphabet, padded, line ends between. out is unchanged on failure.
 * Errors: CD_EFORMAT. */
cd_err cd_base64_dec(cd_buf *out, cd_bytes text) CD_CHECK;

#endif
