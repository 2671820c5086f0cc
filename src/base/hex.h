/* base/hex.h - hexadecimal text to bytes and back. Threading: pure. */
#ifndef CD_BASE_HEX_H
#define CD_BASE_HEX_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* cd_hex_fmt writes 2*b.n lower-case digits to out (no prefix, no NUL). */
void cd_hex_fmt(char *out, cd_bytes b);

/* cd_hex_parse reads exactly text.n/2 bytes into out. Accepts upper and lower case, no prefix.
 * Errors: CD_EFORMAT on an odd length or a digit that is none. */
cd_err cd_hex_parse(u8 *out, cd_bytes text) CD_CHECK;

/* cd_hex_parse_prefixed drops an optional "0x"/"0X" and reads into the arena. */
cd_err cd_hex_parse_prefixed(cd_bytes *out, cd_arena *a, cd_bytes text) CD_CHECK;

/* cd_hex_put appends "0x" and the digits of b. */
void cd_hex_put(cd_buf *out, cd_bytes b);

#endif
