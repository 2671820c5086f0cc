#include "chains/evmchain/feed/cursor.h"

#include "chains/evmchain/chaindb.h"

#include <stdio.h>

/* Cuts that are kept; the oldest ones are united then. */
enum { CUT_SIZE = 16, CUTS_MAX = 4096 };

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

/* --- cuts --------------------------------------------------------------------------------------- */

static cd_err load(cd_kv *kv, cd_buf *cuts)
{
    cd_err e = cd_chaindb_meta(kv, cuts, CD_CHAINDB_CUTS);
    if (e == CD_OK && cuts->n % CUT_SIZE != 0) {
        return CD_ECORRUPT;
    }
    return e;
}

/* A cut makes earlier ones above it irrelevant, so heights ascend with epochs. */
cd_err cd_cut_put(cd_kv_batch *batch, cd_kv *kv, u64 epoch, u64 height)
{
    cd_buf cuts = {0};
    cd_err e = load(kv, &cuts);
    if (e == CD_OK || e == CD_ENOENT) {
        while (cuts.n != 0 && cd_be64(cuts.p + cuts.n - 8) >= height) {
            cuts.n -= CUT_SIZE;
        }
        u8 *p = cd_buf_extend(&cuts, CUT_SIZE);
        cd_put_be64(p, epoch);
        cd_put_be64(p + 8, height);
        cd_bytes kept = cd_buf_bytes(&cuts);
        if (kept.n > (usize)CUTS_MAX * CUT_SIZE) {
            /* The oldest two become one that sends readers of either back far enough. */
            memcpy(cuts.p + CUT_SIZE + 8, cuts.p + 8, 8);
            kept = cd_bytes_sub(kept, CUT_SIZE, kept.n - CUT_SIZE);
        }
        cd_chaindb_put_meta(batch, CD_CHAINDB_CUTS, kept);
        e = CD_OK;
    }
    cd_buf_fini(&cuts);
    return e;
}

cd_err cd_cut_since(cd_kv *kv, u64 *height, u64 epoch)
{
    cd_buf cuts = {0};
    cd_err e = load(kv, &cuts);
    if (e == CD_OK) {
        e = CD_ENOENT;
        for (usize at = 0; at < cuts.n && e == CD_ENOENT; at += CUT_SIZE) {
            if (cd_be64(cuts.p + at) > epoch) {
                *height = cd_be64(cuts.p + at + 8);
                e = CD_OK;
            }
        }
    }
    cd_buf_fini(&cuts);
    return e;
}
