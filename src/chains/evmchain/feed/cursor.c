#include "chains/evmchain/feed/cursor.h"

#include <stdio.h>

void cd_cursor_fmt(char out[CD_CURSOR_TEXT_SIZE], const cd_cursor *c)
{
    (void)snprintf(out, CD_CURSOR_TEXT_SIZE, "%llu.%llu.%u.%u", (unsigned long long)c->epoch,
                   (unsigned long long)c->height, c->tx, c->item);
}

/* Reads digits up to the end or a dot, and steps over that. */
static cd_err read_number(u64 *out, cd_bytes text, usize *pos, u64 max)
{
    u64 n = 0;
    usize start = *pos;
    for (; *pos < text.n && text.p[*pos] != '.'; (*pos)++) {
        u8 digit = (u8)(text.p[*pos] - '0');
        if (digit > 9 || n > (max - digit) / 10) {
            return CD_EFORMAT;
        }
        n = n * 10 + digit;
    }
    usize len = *pos - start;
    if (len == 0 || (len > 1 && text.p[start] == '0')) {
        return CD_EFORMAT;
    }
    *out = n;
    return CD_OK;
}

static cd_err read_dot(cd_bytes text, usize *pos)
{
    return *pos < text.n && text.p[(*pos)++] == '.' ? CD_OK : CD_EFORMAT;
}

cd_err cd_cursor_parse(cd_cursor *out, cd_bytes text)
{
    usize pos = 0;
    u64 epoch;
    u64 height;
    u64 tx;
    u64 item;
    CD_TRY(read_number(&epoch, text, &pos, UINT64_MAX));
    CD_TRY(read_dot(text, &pos));
    CD_TRY(read_number(&height, text, &pos, UINT64_MAX));
    CD_TRY(read_dot(text, &pos));
    CD_TRY(read_number(&tx, text, &pos, UINT32_MAX));
    CD_TRY(read_dot(text, &pos));
    CD_TRY(read_number(&item, text, &pos, UINT32_MAX));
    if (pos != text.n) {
        return CD_EFORMAT;
    }
    *out = (cd_cursor){.epoch = epoch, .height = height, .tx = (u32)tx, .item = (u32)item};
    return CD_OK;
}
