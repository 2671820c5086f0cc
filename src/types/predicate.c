#include "types/predicate.h"

#include "base/rd.h"
#include "types/warp.h"

enum { WORD = 32, DELIMITER = 0xff, VERSION = 0 };

/* --- messages as words --- */

void cd_predicate_pack(cd_buf *out, cd_bytes b)
{
    cd_buf_put(out, b);
    cd_buf_u8(out, DELIMITER);
    cd_buf_fill(out, 0, WORD - 1 - b.n % WORD);
}

cd_err cd_predicate_unpack(cd_bytes *out, const cd_hash32 *words, usize cnt, cd_errinfo *why)
{
    const u8 *p = cnt == 0 ? NULL : words[0].b;
    usize padded = cnt * WORD;
    usize n = padded;
    while (n != 0 && p[n - 1] == 0) {
        n--;
    }
    if (n == 0) {
        return cd_fail(why, CD_EFORMAT, "no delimiter found");
    }
    if (padded - n >= WORD) {
        return cd_fail(why, CD_EFORMAT, "predicate included excess padding");
    }
    if (p[n - 1] != DELIMITER) {
        return cd_fail(why, CD_EFORMAT, "wrong delimiter");
    }
    *out = cd_bytes_of(p, n - 1);
    return CD_OK;
}

/* --- results --- */

/* place gives the index of hash, or the index at which to insert it. */
static usize place(const cd_predicate_results *r, const cd_hash32 *hash)
{
    usize lo = 0;
    usize hi = r->cnt;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        if (memcmp(r->txs[mid].hash.b, hash->b, 32) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

void cd_predicate_results_add(cd_predicate_results *r, cd_arena *a, const cd_predicate_tx *tx)
{
    if (r->cnt == r->cap) {
        r->cap = r->cap == 0 ? 8 : r->cap * 2;
        cd_predicate_tx *txs = cd_arena_array(a, cd_predicate_tx, r->cap);
        if (r->cnt != 0) {
            memcpy(txs, r->txs, r->cnt * sizeof *txs);
        }
        r->txs = txs;
    }
    usize at = place(r, &tx->hash);
    memmove(&r->txs[at + 1], &r->txs[at], (r->cnt - at) * sizeof *r->txs);
    r->txs[at] = *tx;
    r->cnt++;
}

bool cd_predicate_failed(const cd_predicate_results *r, const cd_hash32 *hash, const cd_addr20 *addr, u64 idx)
{
    usize at = place(r, hash);
    if (at == r->cnt || !cd_hash32_eq(&r->txs[at].hash, hash)) {
        return false;
    }
    const cd_predicate_tx *tx = &r->txs[at];
    for (usize i = 0; i < tx->cnt; i++) {
        if (cd_addr20_eq(&tx->items[i].addr, addr)) {
            return cd_bits_has(tx->items[i].failed, idx);
        }
    }
    return false;
}

static cd_err dec_tx(cd_predicate_tx *out, cd_arena *a, cd_rd *r)
{
    enum { ITEM_MIN = 20 + 4 };
    cd_rd_copy(r, out->hash.b, 32);
    usize cnt = cd_rd_be32(r);
    if (cnt > cd_rd_left(r) / ITEM_MIN) {
        return CD_ESHORT;
    }
    cd_predicate_bits *items = cd_arena_array(a, cd_predicate_bits, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rd_copy(r, items[i].addr.b, 20);
        items[i].failed = cd_rd_take(r, cd_rd_be32(r));
        bool ascends = i == 0 || memcmp(items[i - 1].addr.b, items[i].addr.b, 20) < 0;
        if (r->err == CD_OK && (!ascends || !cd_bits_is_minimal(items[i].failed))) {
            return CD_ECANON;
        }
    }
    out->items = items;
    out->cnt = cnt;
    return r->err;
}

cd_err cd_predicate_results_dec(cd_predicate_results *out, cd_arena *a, cd_bytes in)
{
    enum { TX_MIN = 32 + 4 };
    if (in.n > CD_PREDICATE_RESULTS_MAX) {
        return CD_ELIMIT;
    }
    cd_rd r = cd_rd_init(in);
    if (cd_rd_be16(&r) != VERSION) {
        return CD_EVERSION;
    }
    usize cnt = cd_rd_be32(&r);
    if (r.err != CD_OK || cnt > cd_rd_left(&r) / TX_MIN) {
        return CD_ESHORT;
    }
    cd_predicate_tx *txs = cd_arena_array(a, cd_predicate_tx, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(dec_tx(&txs[i], a, &r));
        if (i != 0 && memcmp(txs[i - 1].hash.b, txs[i].hash.b, 32) >= 0) {
            return CD_ECANON;
        }
    }
    CD_TRY(cd_rd_end(&r));
    *out = (cd_predicate_results){.txs = txs, .cnt = cnt, .cap = cnt};
    return CD_OK;
}

void cd_predicate_results_enc(cd_buf *out, const cd_predicate_results *r)
{
    cd_put_be16(cd_buf_extend(out, 2), VERSION);
    cd_put_be32(cd_buf_extend(out, 4), (u32)r->cnt);
    for (usize i = 0; i < r->cnt; i++) {
        const cd_predicate_tx *tx = &r->txs[i];
        cd_buf_put(out, cd_bytes_of(tx->hash.b, 32));
        cd_put_be32(cd_buf_extend(out, 4), (u32)tx->cnt);
        for (usize j = 0; j < tx->cnt; j++) {
            cd_buf_put(out, cd_bytes_of(tx->items[j].addr.b, 20));
            cd_put_be32(cd_buf_extend(out, 4), (u32)tx->items[j].failed.n);
            cd_buf_put(out, tx->items[j].failed);
        }
    }
}
