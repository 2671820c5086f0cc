/* base/text.h - letters of ASCII in any case, and blanks at the ends. Threading: pure. */
#ifndef CD_BASE_TEXT_H
#define CD_BASE_TEXT_H

#include "base/bytes.h"

/* The blanks of most formats. */
#define CD_TEXT_BLANKS " \t\r\n"

/* cd_text_lower makes an ASCII capital small and leaves every other byte. */
CD_INLINE u8 cd_text_lower(u8 c)
{
    return (u8)(c - 'A') < 26 ? (u8)(c | 0x20) : c;
}

/* cd_text_same: a and b are equal when the case of ASCII letters does not count. */
CD_INLINE bool cd_text_same(cd_bytes a, cd_bytes b)
{
    if (a.n != b.n) {
        return false;
    }
    for (usize i = 0; i < a.n; i++) {
        if (cd_text_lower(a.p[i]) != cd_text_lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

/* cd_text_is_in: c is one of the characters of the string set; with NULL: c is a blank or a control character. */
CD_INLINE bool cd_text_is_in(u8 c, const char *set)
{
    return set == NULL ? c <= ' ' : c != '\0' && strchr(set, c) != NULL;
}

/* cd_text_trim takes the characters of a set off both ends. */
CD_INLINE cd_bytes cd_text_trim(cd_bytes b, const char *set)
{
    while (b.n != 0 && cd_text_is_in(b.p[0], set)) {
        b = cd_bytes_sub(b, 1, b.n - 1);
    }
    while (b.n != 0 && cd_text_is_in(b.p[b.n - 1], set)) {
        b.n--;
    }
    return b;
}

#endif
