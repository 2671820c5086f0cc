/* codec/base58.h - numbers written with the 58 letters and digits that are hard to confuse (Bitcoin's alphabet), and
 * CB58: the same with a checksum, the last four bytes of the SHA-256 of what is written.
 *
 * The work grows with the square of the length, so lengths are bounded. Leading zero bytes are leading '1's. Error
 * texts are those of the original node. Threading: pure. [spec:node-api#2.1] */
#ifndef CD_CODEC_BASE58_H
#define CD_CODEC_BASE58_H

#include "base/mem/buf.h"

/* The most bytes that are written or read, checksum included, and the most text they may need. */
enum { CD_BASE58_BYTES_MAX = 260, CD_BASE58_TEXT_MAX = 356, CD_CB58_BYTES_MAX = CD_BASE58_BYTES_MAX - 4 };

/* cd_base58_put appends b as text. More than CD_BASE58_BYTES_MAX bytes are a bug of the caller. */
void cd_base58_put(cd_buf *out, cd_bytes b);

/* cd_base58_parse reads text and gives the number of bytes in *n. On failure out and *n are undefined.
 * Errors: CD_EFORMAT (empty text, or a character that is no digit), CD_ELIMIT (longer than the bounds above). */
cd_err cd_base58_parse(u8 out[CD_BASE58_BYTES_MAX], usize *n, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_cb58_put appends b, at most CD_CB58_BYTES_MAX bytes, and its checksum as text. */
void cd_cb58_put(cd_buf *out, cd_bytes b);

/* cd_cb58_parse is cd_base58_parse that checks the checksum and leaves it out of *n.
 * Errors: those of cd_base58_parse, CD_ESHORT (no room for a checksum), CD_EFORMAT (a wrong one). */
cd_err cd_cb58_parse(u8 out[CD_BASE58_BYTES_MAX], usize *n, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_cb58_parse_fixed reads text that must hold exactly n bytes; out is untouched on failure.
 * Errors: those of cd_cb58_parse, CD_ERANGE (another number of bytes). */
cd_err cd_cb58_parse_fixed(void *out, usize n, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
