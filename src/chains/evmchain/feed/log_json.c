/* A log as JSON, of which answers hold thousands: one reservation, then copies and hexadecimal digits. */
#include "base/hex.h"
#include "chains/evmchain/feed/json.h"

/* Room for everything of a log but topics and data. */
enum { LOG_FIXED_MAX = 640, TOPIC_SIZE = 2 + 64 + 3 };

static char *lit(char *p, const char *s, usize n)
{
    memcpy(p, s, n);
    return p + n;
}
#define LIT(p, s) lit((p), "" s, sizeof(s) - 1)

static char *hex(char *p, const u8 *b, usize n)
{
    cd_hex_fmt(p, cd_bytes_of(b, n));
    return p + 2 * n;
}

/* The digits of a quantity, behind its "0x". */
static char *quantity(char *p, u64 v)
{
    static const char digits[] = "0123456789abcdef";
    u32 len = v == 0 ? 1 : (67 - (u32)__builtin_clzll(v)) / 4;
    for (u32 i = len; i != 0; i--) {
        p[i - 1] = digits[v & 15];
        v >>= 4;
    }
    return p + len;
}

void cd_api_log(cd_json_w *w, const cd_log *log, const cd_tx_place *at, usize idx)
{
    usize room = LOG_FIXED_MAX + (usize)log->topic_cnt * TOPIC_SIZE + 2 * log->data.n;
    char *start = (char *)cd_buf_reserve(w->out, room);
    char *p = start;
    if (w->comma) {
        *p++ = ',';
    }
    p = LIT(p, "{\"address\":\"0x");
    p = hex(p, log->addr.b, 20);
    p = LIT(p, "\",\"topics\":[");
    for (u32 i = 0; i < log->topic_cnt; i++) {
        if (i != 0) {
            *p++ = ',';
        }
        p = LIT(p, "\"0x");
        p = hex(p, log->topics[i].b, 32);
        *p++ = '"';
    }
    p = LIT(p, "],\"data\":\"0x");
    p = hex(p, log->data.p, log->data.n);
    p = LIT(p, "\",\"blockNumber\":\"0x");
    p = quantity(p, at->block->header.number);
    p = LIT(p, "\",\"transactionHash\":\"0x");
    p = hex(p, at->block->txs[at->idx].hash.b, 32);
    p = LIT(p, "\",\"transactionIndex\":\"0x");
    p = quantity(p, at->idx);
    p = LIT(p, "\",\"blockHash\":\"0x");
    p = hex(p, at->block->hash.b, 32);
    p = LIT(p, "\",\"logIndex\":\"0x");
    p = quantity(p, idx);
    p = LIT(p, "\",\"removed\":false}");
    CD_ASSERT((usize)(p - start) <= room);
    w->out->n += (usize)(p - start);
    w->comma = true;
}
