#include "chains/evmchain/sync/check.h"

#include "chains/evmchain/core/block_exec.h"
#include "chains/evmchain/sync/side.h"
#include "codec/rlp.h"
#include "crypto/hash/keccak.h"

/* Bytes of the longest contract. [EIP-170] */
enum { CODE_BYTES_MAX = 24576 };

bool cd_sync_next_key(u8 *out, const u8 *key, usize n)
{
    memcpy(out, key, n);
    for (usize i = n; i-- > 0;) {
        if (++out[i] != 0) {
            return true;
        }
    }
    return false;
}

static cd_err spoilt(cd_errinfo *why, const char *what)
{
    return cd_fail(why, CD_EPROOF, "%s", what);
}

cd_err cd_sync_check_leafs(cd_sync_run *out, cd_arena *a, const cd_sync_ask_leafs *ask, cd_bytes answer,
                           cd_errinfo *why)
{
    cd_sync_leafs got = {.keys = {0}};
    CD_TRY(cd_linear_parse(&got, &cd_sync_leafs_table, a, answer, CD_SYNC_MESSAGE_MAX, why));
    if (got.keys.cnt > ask->limit || got.keys.cnt != got.values.cnt) {
        return cd_fail(why, CD_ELIMIT, "%u keys and %u values, %u were asked for", got.keys.cnt, got.values.cnt,
                       ask->limit);
    }
    /* Without nodes the items are the whole trie, and a trie that is asked for has some. */
    if (got.keys.cnt == 0 && got.proof.cnt == 0) {
        return spoilt(why, "no leafs, and no proof that there are none");
    }
    const usize key_n = ask->of == CD_SYNC_OF_ATOMIC ? CD_SYNC_SIDE_KEY : 32;
    const cd_bytes *keys = got.keys.v;
    const cd_bytes *values = got.values.v;
    cd_trie_item *items = cd_arena_array(a, cd_trie_item, got.keys.cnt);
    for (u32 i = 0; i < got.keys.cnt; i++) {
        items[i] = (cd_trie_item){.key = keys[i], .value = values[i]};
        if (keys[i].n != key_n) {
            return spoilt(why, "a key of another length");
        }
    }
    static const u8 first[CD_SYNC_SIDE_KEY];
    const cd_bytes start = ask->start.n != 0 ? ask->start : cd_bytes_of(first, key_n);
    const cd_trie_proof proof = {.node = got.proof.v, .cnt = got.proof.cnt};
    bool more = false;
    if (cd_trie_verify_range(&more, &ask->root, start, items, got.keys.cnt, &proof) != CD_OK) {
        return spoilt(why, "the proof does not lead to the root");
    }
    usize cnt = got.keys.cnt;
    while (cnt != 0 && ask->end.n != 0 && cd_bytes_cmp(items[cnt - 1].key, ask->end) > 0) {
        cnt--;
        more = false;
    }
    if (cnt != 0 && ask->end.n != 0 && cd_bytes_eq(items[cnt - 1].key, ask->end)) {
        more = false;
    }
    *out = (cd_sync_run){.items = items, .cnt = cnt, .more = more};
    return CD_OK;
}

/* Whether the body is the one of the header, whose hash covers the header alone. */
static bool has_its_body(const cd_block *b, cd_header_layout layout)
{
    cd_hash32 txs;
    cd_hash32 uncles;
    bool has_hash = (b->header.has & CD_HEADER_EXT_DATA_HASH) != 0;
    cd_block_tx_root(&txs, b->txs, b->tx_cnt);
    cd_uncles_hash(&uncles, layout, b->uncles, b->uncle_cnt);
    bool is_same = cd_hash32_eq(&txs, &b->header.tx_root) && cd_hash32_eq(&uncles, &b->header.uncle_hash) &&
                   b->has_ext_data == has_hash && b->version == 0;
    if (is_same && has_hash) {
        cd_hash32 ext;
        cd_buf rlp = {0};
        cd_rlp_put_str(&rlp, b->ext_data);
        cd_keccak256(&ext, cd_buf_bytes(&rlp));
        cd_buf_fini(&rlp);
        is_same = cd_hash32_eq(&ext, &b->header.ext_data_hash);
    }
    return is_same;
}

cd_err cd_sync_check_blocks(cd_block **out, cd_bytes **raw, usize *cnt, cd_arena *a, cd_header_layout layout,
                            const cd_sync_ask_blocks *ask, cd_bytes answer, cd_errinfo *why)
{
    cd_sync_items got = {{0}};
    CD_TRY(cd_linear_parse(&got, &cd_sync_items_table, a, answer, CD_SYNC_MESSAGE_MAX, why));
    if (got.items.cnt == 0 || got.items.cnt > ask->cnt) {
        return cd_fail(why, CD_ELIMIT, "%u blocks, %u were asked for", got.items.cnt, ask->cnt);
    }
    cd_block *blocks = cd_arena_array(a, cd_block, got.items.cnt);
    cd_hash32 want = ask->hash;
    for (u32 i = 0; i < got.items.cnt; i++) {
        CD_TRY(cd_block_dec(&blocks[i], a, layout, ((cd_bytes *)got.items.v)[i], why));
        if (!cd_hash32_eq(&blocks[i].hash, &want) || blocks[i].header.number != ask->height - i) {
            return spoilt(why, "a block that was not asked for");
        }
        if (!has_its_body(&blocks[i], layout)) {
            return spoilt(why, "a block with the body of another");
        }
        want = blocks[i].header.parent_hash;
    }
    *out = blocks;
    *raw = got.items.v;
    *cnt = got.items.cnt;
    return CD_OK;
}

cd_err cd_sync_check_code(cd_bytes **out, cd_arena *a, const cd_sync_ask_code *ask, cd_bytes answer, cd_errinfo *why)
{
    cd_sync_items got = {{0}};
    CD_TRY(cd_linear_parse(&got, &cd_sync_items_table, a, answer, CD_SYNC_MESSAGE_MAX, why));
    if (got.items.cnt != ask->hashes.cnt) {
        return cd_fail(why, CD_EPROOF, "%u codes for %u hashes", got.items.cnt, ask->hashes.cnt);
    }
    const cd_hash32 *want = ask->hashes.v;
    cd_bytes *code = got.items.v;
    for (u32 i = 0; i < got.items.cnt; i++) {
        cd_hash32 hash;
        if (code[i].n > CODE_BYTES_MAX) {
            return cd_fail(why, CD_ELIMIT, "code of %zu bytes", code[i].n);
        }
        cd_keccak256(&hash, code[i]);
        if (!cd_hash32_eq(&hash, &want[i])) {
            return spoilt(why, "code that does not have the hash");
        }
    }
    *out = code;
    return CD_OK;
}
