/* explorer/text_priv.h - text as people type it. Threading: pure. */
#ifndef CD_EXPLORER_TEXT_PRIV_H
#define CD_EXPLORER_TEXT_PRIV_H

#include "base/bytes.h"

/* cd__xp_trim takes blanks and control characters off both ends. */
CD_INLINE cd_bytes cd__xp_trim(cd_bytes t)
{
    while (t.n != 0 && t.p[0] <= ' ') {
        t = cd_bytes_sub(t, 1, t.n - 1);
    }
    while (t.n != 0 && t.p[t.n - 1] <= ' ') {
        t.n--;
    }
    return t;
}

#endif
