/* What logs say of tokens: Transfer of ERC-20 and ERC-721, TransferSingle and TransferBatch of ERC-1155. */
#include "base/num_text.h"
#include "explorer/index.h"

#include <stdio.h>

static const cd_hash32 transfer = {{0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0,
                                    0x68, 0xfc, 0x37, 0x8d, 0xaa, 0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4,
                                    0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef}};
static const cd_hash32 transfer_single = {{0xc3, 0xd5, 0x81, 0x68, 0xc5, 0xae, 0x73, 0x97, 0x73, 0x1d, 0x06,
                                           0x3d, 0x5b, 0xbf, 0x3d, 0x65, 0x78, 0x54, 0x42, 0x73, 0x43, 0xf4,
                                           0xc0, 0x83, 0x24, 0x0f, 0x7a, 0xac, 0xaa, 0x2d, 0x0f, 0x62}};
static const cd_hash32 transfer_batch = {{0x4a, 0x39, 0xdc, 0x06, 0xd4, 0xc0, 0xdb, 0xc6, 0x4b, 0x70, 0xaf,
                                          0x90, 0xfd, 0x69, 0x8a, 0x23, 0x3a, 0x51, 0x8a, 0xa5, 0xd0, 0x7e,
                                          0x59, 0x5d, 0x98, 0x3b, 0x8c, 0x05, 0x26, 0xc8, 0xf7, 0xfb}};

static bool is_addr(const cd_hash32 *topic)
{
    static const u8 zero[12];
    return memcmp(topic->b, zero, sizeof zero) == 0;
}

static cd_addr20 addr_of(const cd_hash32 *topic)
{
    cd_addr20 a;
    memcpy(a.b, topic->b + 12, 20);
    return a;
}

static cd_u256 word(cd_bytes data, usize at)
{
    cd_u256 v;
    cd_u256_load_be(&v, data.p + at);
    return v;
}

/* The array that a word of the head points at: where its first element is and how many there are; false when it is
 * not all in the data. */
static bool array_at(cd_bytes data, usize head, usize *first, u32 *cnt)
{
    cd_u256 v = word(data, head);
    u64 at = cd_u256_to_u64_sat(&v);
    if (at > data.n - 32) {
        return false;
    }
    v = word(data, (usize)at);
    u64 n = cd_u256_to_u64_sat(&v);
    *first = (usize)at + 32;
    *cnt = (u32)n;
    return n <= (data.n - *first) / 32;
}

static bool batch_of(cd_bytes data, usize *ids, usize *amounts, u32 *cnt)
{
    u32 others;
    return data.n >= 128 && array_at(data, 0, ids, cnt) && array_at(data, 32, amounts, &others) && *cnt == others;
}

u32 cd_token_moves_cnt(const cd_log *log)
{
    const cd_hash32 *t = log->topics;
    usize ids;
    usize amounts;
    u32 cnt;
    if (log->topic_cnt < 3) {
        return 0;
    }
    if (cd_hash32_eq(&t[0], &transfer)) {
        bool fits = log->topic_cnt == 3 ? log->data.n == 32 : log->data.n == 0;
        return fits && is_addr(&t[1]) && is_addr(&t[2]) ? 1 : 0;
    }
    if (log->topic_cnt != 4 || !is_addr(&t[2]) || !is_addr(&t[3])) {
        return 0;
    }
    if (cd_hash32_eq(&t[0], &transfer_single)) {
        return log->data.n == 64 ? 1 : 0;
    }
    return cd_hash32_eq(&t[0], &transfer_batch) && batch_of(log->data, &ids, &amounts, &cnt) ? cnt : 0;
}

void cd_token_moves_get(cd_token_move *out, const cd_log *log, u32 sub)
{
    const cd_hash32 *t = log->topics;
    bool is_multi = !cd_hash32_eq(&t[0], &transfer);
    *out = (cd_token_move){
        .token = log->addr,
        .kind = is_multi              ? CD_TOKEN_ERC1155
                : log->topic_cnt == 4 ? CD_TOKEN_ERC721
                                      : CD_TOKEN_ERC20,
        .from = addr_of(&t[is_multi ? 2 : 1]),
        .to = addr_of(&t[is_multi ? 3 : 2]),
        .amount = cd_u256_one(),
    };
    if (!is_multi && log->topic_cnt == 4) {
        out->id = cd_u256_from_hash(&t[3]);
    } else if (!is_multi) {
        out->amount = word(log->data, 0);
    } else {
        usize ids = 0;
        usize amounts = 32;
        u32 cnt = 1;
        if (cd_hash32_eq(&t[0], &transfer_batch)) {
            bool fits = batch_of(log->data, &ids, &amounts, &cnt);
            CD_ASSERT(fits && sub < cnt);
        }
        out->id = word(log->data, ids + 32 * (usize)sub);
        out->amount = word(log->data, amounts + 32 * (usize)sub);
    }
}

/* --- places --- */

void cd_index_at_fmt(char out[CD_INDEX_AT_SIZE], const cd_index_at *at)
{
    (void)snprintf(out, CD_INDEX_AT_SIZE, "%llu.%u.%u.%u", (unsigned long long)at->height, at->tx, at->item, at->sub);
}

cd_err cd_index_at_parse(cd_index_at *out, cd_bytes text)
{
    u64 v[4];
    for (usize i = 0; i < CD_COUNT(v); i++) {
        usize n = 0;
        while (n < text.n && text.p[n] != '.') {
            n++;
        }
        bool is_last = i + 1 == CD_COUNT(v);
        if (is_last != (n == text.n) || cd_u64_parse(&v[i], cd_bytes_sub(text, 0, n)) != CD_OK ||
            (i != 0 && v[i] > UINT32_MAX)) {
            return CD_EFORMAT;
        }
        text = is_last ? (cd_bytes){0} : cd_bytes_sub(text, n + 1, text.n - n - 1);
    }
    *out = (cd_index_at){v[0], (u32)v[1], (u32)v[2], (u32)v[3]};
    return CD_OK;
}
