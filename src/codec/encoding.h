/* codec/encoding.h - bytes as text where a client says how: the parameter `encoding` of the node's services.
 *
 *   hex, hexc   0x, the digits of the bytes and of the last four bytes of their SHA-256
 *   hexnc       0x and the digits of the bytes
 *   json        no text, but the value as an object; whoever has the value writes it
 *
 * Error texts are those of the original node. Threading: pure. [spec:node-api#2.1] */
#ifndef CD_CODEC_ENCODING_H
#define CD_CODEC_ENCODING_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* Forms of bytes as text. */
typedef enum cd_encoding {
    CD_ENCODING_HEX, /* the default */
    CD_ENCODING_HEXC,
    CD_ENCODING_HEXNC,
    CD_ENCODING_JSON,
} cd_encoding;

/* cd_encoding_parse reads a name in any case. Errors: CD_EFORMAT. */
cd_err cd_encoding_parse(cd_encoding *out, cd_bytes name, cd_errinfo *why) CD_CHECK;

/* cd_encoding_name gives the name as the node writes it. */
const char *cd_encoding_name(cd_encoding e);

/* cd_encoding_put appends b as text; JSON is a bug of the caller. */
void cd_encoding_put(cd_buf *out, cd_encoding e, cd_bytes b);

/* cd_encoding_dec reads text, whose length the caller has bounded, into the arena; an empty text is no bytes.
 * Errors: CD_EFORMAT (no 0x, a character that is no digit, an odd number, a wrong checksum), CD_ESHORT (no room for the
 * checksum), CD_EUNSUPPORTED (JSON). */
cd_err cd_encoding_dec(cd_bytes *out, cd_arena *a, cd_encoding e, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
