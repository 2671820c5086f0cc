/* base/utf8.h - is a text UTF-8? Threading: pure. [RFC 3629] */
#ifndef CD_BASE_UTF8_H
#define CD_BASE_UTF8_H

#include "base/bytes.h"

/* The state of a check in pieces; all zero at the beginning and whenever a character is complete. */
typedef struct cd_utf8 {
    u8 left;   /* bytes of the character still to come */
    u8 lo, hi; /* least and greatest value of the next byte */
} cd_utf8;

/* cd_utf8_feed takes the next piece; true while the text so far can be the beginning of UTF-8. cd_utf8_is_end: the
 * text so far does not end inside a character. */
bool cd_utf8_feed(cd_utf8 *s, cd_bytes text);
CD_INLINE bool cd_utf8_is_end(const cd_utf8 *s)
{
    return s->left == 0;
}

/* cd_utf8_is_valid checks a whole text. */
bool cd_utf8_is_valid(cd_bytes text);

#endif
