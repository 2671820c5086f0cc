#include "base/utf8.h"

/* Takes the first byte of a character: notes how many bytes follow, and what the next one may be (no overlong forms, no
 * surrogates, nothing beyond U+10FFFF). False when no character begins with c. */
static bool utf8_begin(cd_utf8 *s, u8 c)
{
    *s = (cd_utf8){.lo = 0x80, .hi = 0xbf};
    if (c < 0x80) {
        return true;
    }
    if (c < 0xc2 || c > 0xf4) {
        return false;
    }
    s->left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (c == 0xe0) {
        s->lo = 0xa0;
    } else if (c == 0xed) {
        s->hi = 0x9f;
    } else if (c == 0xf0) {
        s->lo = 0x90;
    } else if (c == 0xf4) {
        s->hi = 0x8f;
    }
    return true;
}

bool cd_utf8_feed(cd_utf8 *s, cd_bytes text)
{
    const u8 *p = text.p;
    const u8 *end = text.n == 0 ? p : p + text.n;
    while (p != end) {
        if (s->left != 0) {
            if (*p < s->lo || *p > s->hi) {
                return false;
            }
            s->left--;
            s->lo = 0x80;
            s->hi = 0xbf;
            p++;
            continue;
        }
        while (end - p >= 8 && (cd_le64(p) & 0x8080808080808080) == 0) {
            p += 8;
        }
        if (p != end && !utf8_begin(s, *p++)) {
            return false;
        }
    }
    return true;
}

bool cd_utf8_is_valid(cd_bytes text)
{
    cd_utf8 s = {0};
    return cd_utf8_feed(&s, text) && cd_utf8_is_end(&s);
}
