#include "chains/evmchain/core/chaindb.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/world/reader.h"
#include "evm/evm.h"
#include "types/tx_codec.h"

#include <stdlib.h>

static const u8 genesis_key = 'g';

/* prefix ‖ 32-byte hash, and prefix ‖ number. */
typedef struct hash_key {
    u8 b[33];
} hash_key;

typedef struct number_key {
    u8 b[9];
} number_key;

static hash_key key_of_hash(u8 prefix, const cd_hash32 *hash)
{
    hash_key k;
    k.b[0] = prefix;
    memcpy(k.b + 1, hash->b, 32);
    return k;
}

static number_key key_of_number(u8 prefix, u64 number)
{
    number_key k;
    k.b[0] = prefix;
    cd_put_be64(k.b + 1, number);
    return k;
}

/* --- writing --- */

static void enc_receipts(cd_buf *out, const cd_block *block, const cd_receipt *receipts)
{
    usize list = cd_rlp_begin(out);
    for (usize i = 0; i < block->tx_cnt; i++) {
        const cd_receipt *r = &receipts[i];
        usize one = cd_rlp_begin(out);
        cd_rlp_put_str(out, cd_bytes_of(block->txs[i].sender.b, 20));
        cd_rlp_put_u64(out, r->ok ? 1 : 0);
        cd_rlp_put_u64(out, r->gas_used);
        usize logs = cd_rlp_begin(out);
        for (usize j = 0; j < r->log_cnt; j++) {
            cd_log_enc(out, &r->logs[j]);
        }
        cd_rlp_close(out, logs);
        cd_rlp_close(out, one);
    }
    cd_rlp_close(out, list);
}

/* A transaction's place in its block. */
typedef struct tx_place {
    const cd_hash32 *hash;
    u32 idx;
} tx_place;

static int compare_places(const void *x, const void *y)
{
    return memcmp(((const tx_place *)x)->hash->b, ((const tx_place *)y)->hash->b, 32);
}

/* The index goes in sorted: the engine finds the place of a key next to the one before it. */
static void put_tx_index(cd_kv_batch *batch, const cd_block *block)
{
    tx_place *places = cd_new_array(tx_place, block->tx_cnt);
    for (usize i = 0; i < block->tx_cnt; i++) {
        places[i] = (tx_place){.hash = &block->txs[i].hash, .idx = (u32)i};
    }
    if (block->tx_cnt > 1) {
        qsort(places, block->tx_cnt, sizeof *places, compare_places);
    }
    for (usize i = 0; i < block->tx_cnt; i++) {
        u8 value[12];
        hash_key key = key_of_hash('l', places[i].hash);
        cd_put_be64(value, block->header.number);
        cd_put_be32(value + 8, places[i].idx);
        cd_kv_batch_put(batch, cd_bytes_of(key.b, 33), cd_bytes_of(value, sizeof value));
    }
    cd_free(places);
}

void cd_chaindb_put_body(cd_kv_batch *batch, const cd_block *block, cd_bytes rlp)
{
    hash_key key = key_of_hash('b', &block->hash);
    cd_kv_batch_put(batch, cd_bytes_of(key.b, 33), rlp);
    put_tx_index(batch, block);
}

void cd_chaindb_put_hash(cd_kv_batch *batch, u64 number, const cd_hash32 *hash)
{
    number_key at_number = key_of_number('h', number);
    cd_kv_batch_put(batch, cd_bytes_of(at_number.b, 9), cd_bytes_of(hash->b, 32));
}

void cd_chaindb_put_accepted(cd_kv_batch *batch, const cd_block *block, const cd_receipt *receipts)
{
    cd_chaindb_put_hash(batch, block->header.number, &block->hash);

    cd_buf enc = {0};
    enc_receipts(&enc, block, receipts);
    hash_key at_hash = key_of_hash('r', &block->hash);
    cd_kv_batch_put(batch, cd_bytes_of(at_hash.b, 33), cd_buf_bytes(&enc));
    cd_buf_fini(&enc);
}

void cd_chaindb_put_genesis(cd_kv_batch *batch, const cd_hash32 *hash)
{
    cd_kv_batch_put(batch, cd_bytes_of(&genesis_key, 1), cd_bytes_of(hash->b, 32));
}

void cd_chaindb_del(cd_kv_batch *batch, const cd_block *block)
{
    number_key at_number = key_of_number('h', block->header.number);
    hash_key body = key_of_hash('b', &block->hash);
    hash_key receipts = key_of_hash('r', &block->hash);
    cd_kv_batch_del(batch, cd_bytes_of(at_number.b, 9));
    cd_kv_batch_del(batch, cd_bytes_of(body.b, 33));
    cd_kv_batch_del(batch, cd_bytes_of(receipts.b, 33));
    for (usize i = 0; i < block->tx_cnt; i++) {
        hash_key key = key_of_hash('l', &block->txs[i].hash);
        cd_kv_batch_del(batch, cd_bytes_of(key.b, 33));
    }
}

void cd_chaindb_put_meta(cd_kv_batch *batch, cd_chaindb_kind kind, cd_bytes value)
{
    u8 key[2] = {'K', (u8)kind};
    cd_kv_batch_put(batch, cd_bytes_of(key, sizeof key), value);
}

void cd_chaindb_put_edit_root(cd_kv_batch *batch, u64 version, const cd_hash32 *root)
{
    number_key key = key_of_number('R', version);
    cd_kv_batch_put(batch, cd_bytes_of(key.b, 9), cd_bytes_of(root->b, 32));
}

cd_err cd_chaindb_del_edits(cd_kv_batch *batch, cd_kv *kv, u64 above)
{
    cd_kv_iter *it = NULL;
    number_key start = key_of_number('R', above + 1);
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of("R", 1), .start = cd_bytes_of(start.b, 9)}));
    while (cd_kv_iter_next(it)) {
        cd_kv_batch_del(batch, cd_kv_iter_key(it));
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

/* --- reading --- */

/* Reads a value of exactly n bytes. */
static cd_err get_fixed(cd_kv *kv, u8 *out, usize n, cd_bytes key)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, key);
    if (e == CD_OK && v.n != n) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        memcpy(out, v.p, n);
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_chaindb_block(cd_kv *kv, cd_buf *out, const cd_hash32 *hash)
{
    hash_key k = key_of_hash('b', hash);
    return cd_kv_get(kv, out, cd_bytes_of(k.b, 33));
}

cd_err cd_chaindb_hash(cd_kv *kv, cd_hash32 *out, u64 number)
{
    number_key k = key_of_number('h', number);
    return get_fixed(kv, out->b, 32, cd_bytes_of(k.b, 9));
}

cd_err cd_chaindb_genesis(cd_kv *kv, cd_hash32 *out)
{
    return get_fixed(kv, out->b, 32, cd_bytes_of(&genesis_key, 1));
}

cd_err cd_chaindb_tx(cd_kv *kv, u64 *number, u32 *idx, const cd_hash32 *tx)
{
    u8 place[12];
    hash_key k = key_of_hash('l', tx);
    CD_TRY(get_fixed(kv, place, sizeof place, cd_bytes_of(k.b, 33)));
    *number = cd_be64(place);
    *idx = cd_be32(place + 8);
    return CD_OK;
}

static void dec_log(cd_log *out, cd_rlp *in)
{
    cd_rlp log = cd_rlp_list(in);
    cd_rlp_fixed(&log, out->addr.b, 20);
    cd_rlp topics = cd_rlp_list(&log);
    while (cd_rlp_more(&topics) && out->topic_cnt < CD_LOG_TOPICS_MAX) {
        cd_rlp_fixed(&topics, out->topics[out->topic_cnt++].b, 32);
    }
    cd_rlp_leave(&log, &topics);
    out->data = cd_rlp_str(&log);
    cd_rlp_leave(in, &log);
}

/* Fills in what the stored form leaves out. */
static void complete(cd_receipt *r, const cd_block *block, usize i, u64 cumulative)
{
    const cd_tx *tx = &block->txs[i];
    r->type = tx->type;
    r->has_created = tx->is_create;
    if (tx->is_create) {
        cd_evm_create_addr(&r->created, &tx->sender, tx->nonce);
    }
    r->cumulative_gas = cumulative;
    cd_bloom_add_logs(&r->bloom, r->logs, r->log_cnt);
    r->effective_gas_price = tx->fee_cap;
    if ((block->header.has & CD_HEADER_BASE_FEE) != 0) {
        cd_u256 price;
        cd_u256_add(&price, &block->header.base_fee, &tx->tip_cap);
        if (cd_u256_lt(&price, &tx->fee_cap)) {
            r->effective_gas_price = price;
        }
    }
}

cd_err cd_chaindb_header(cd_kv *kv, cd_header *out, cd_arena *a, cd_header_layout layout, const cd_hash32 *hash)
{
    cd_buf rlp = {0};
    cd_err e = cd_chaindb_block(kv, &rlp, hash);
    if (e == CD_OK) {
        cd_rlp in = cd_rlp_init(cd_buf_bytes(&rlp));
        cd_rlp block = cd_rlp_list(&in);
        cd_header h;
        e = cd_header_dec(&h, layout, &block, NULL) == CD_OK ? CD_OK : CD_ECORRUPT;
        if (e == CD_OK) {
            h.extra = cd_arena_dup(a, h.extra);
            *out = h;
        }
    }
    cd_buf_fini(&rlp);
    return e;
}

cd_err cd_chaindb_receipts(cd_kv *kv, cd_receipt **out, cd_arena *a, cd_block *block)
{
    cd_buf v = {0};
    hash_key k = key_of_hash('r', &block->hash);
    CD_TRY(cd_kv_get(kv, &v, cd_bytes_of(k.b, 33)));
    cd_bytes enc = cd_arena_dup(a, cd_buf_bytes(&v));
    cd_buf_fini(&v);

    cd_receipt *receipts = cd_arena_array(a, cd_receipt, block->tx_cnt);
    cd_rlp r = cd_rlp_init(enc);
    cd_rlp list = cd_rlp_list(&r);
    u64 cumulative = 0;
    for (usize i = 0; i < block->tx_cnt; i++) {
        cd_rlp one = cd_rlp_list(&list);
        cd_rlp_fixed(&one, block->txs[i].sender.b, 20);
        block->txs[i].has_sender = true;
        receipts[i].ok = cd_rlp_u64(&one) == 1;
        receipts[i].gas_used = cd_rlp_u64(&one);
        cd_rlp logs = cd_rlp_list(&one);
        receipts[i].log_cnt = cd_rlp_count(&logs);
        cd_log *log = cd_arena_array(a, cd_log, receipts[i].log_cnt);
        receipts[i].logs = log;
        for (usize j = 0; j < receipts[i].log_cnt; j++) {
            dec_log(&log[j], &logs);
        }
        cd_rlp_leave(&one, &logs);
        cd_rlp_leave(&list, &one);
        cumulative += receipts[i].gas_used;
        complete(&receipts[i], block, i, cumulative);
    }
    cd_rlp_leave(&r, &list);
    if (cd_rlp_end(&r) != CD_OK) {
        return CD_ECORRUPT;
    }
    *out = receipts;
    return CD_OK;
}

cd_err cd_chaindb_floor(cd_kv *kv, u64 *out)
{
    const u8 key[2] = {'K', CD_CHAINDB_FLOOR};
    u8 value[8] = {0};
    cd_err e = get_fixed(kv, value, sizeof value, cd_bytes_of(key, sizeof key));
    *out = cd_be64(value);
    return e == CD_ENOENT ? CD_OK : e;
}

cd_err cd_chaindb_bare_receipts(cd_receipt **out, cd_arena *a, cd_block *block)
{
    cd_receipt *receipts = cd_arena_array(a, cd_receipt, block->tx_cnt);
    CD_TRY(cd_tx_recover_many(block->txs, block->tx_cnt, false));
    for (usize i = 0; i < block->tx_cnt; i++) {
        complete(&receipts[i], block, i, 0);
    }
    *out = receipts;
    return CD_OK;
}

cd_err cd_chaindb_meta(cd_kv *kv, cd_buf *out, cd_chaindb_kind kind)
{
    u8 key[2] = {'K', (u8)kind};
    return cd_kv_get(kv, out, cd_bytes_of(key, sizeof key));
}

cd_err cd_chaindb_edit(cd_kv *kv, u64 *version, cd_hash32 *root, u64 up_to)
{
    cd_kv_iter *it = NULL;
    number_key start = key_of_number('R', up_to);
    CD_TRY(cd_kv_iter_new(
        &it, kv, &(cd_kv_range){.prefix = cd_bytes_of("R", 1), .start = cd_bytes_of(start.b, 9), .reverse = true}));
    cd_err e = CD_ENOENT;
    if (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_bytes value = cd_kv_iter_value(it);
        e = key.n == 9 && value.n == 32 ? CD_OK : CD_ECORRUPT;
        u64 found = e == CD_OK ? cd_be64(key.p + 1) : 0;
        if (e == CD_OK && found >> CD_WORLD_EDIT_BITS != up_to >> CD_WORLD_EDIT_BITS) {
            e = CD_ENOENT;
        }
        if (e == CD_OK) {
            *version = found;
            memcpy(root->b, value.p, 32);
        }
    } else if (cd_kv_iter_err(it) != CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}
