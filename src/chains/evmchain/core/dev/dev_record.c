#include "chains/evmchain/core/dev/dev_record.h"

enum { PREFIX = 'd', KEY_SIZE = 33 };

static cd_bytes key_of(u8 key[KEY_SIZE], const cd_hash32 *block)
{
    key[0] = PREFIX;
    memcpy(key + 1, block->b, 32);
    return cd_bytes_of(key, KEY_SIZE);
}

void cd_dev_record_enc(cd_buf *out, const cd_dev_record *r)
{
    usize list = cd_rlp_begin(out);
    cd_rlp_put_u64(out, r->chosen);
    usize senders = cd_rlp_begin(out);
    for (usize i = 0; i < r->sender_cnt; i++) {
        usize one = cd_rlp_begin(out);
        cd_rlp_put_u64(out, r->senders[i].idx);
        cd_rlp_put_str(out, cd_bytes_of(r->senders[i].addr.b, 20));
        cd_rlp_close(out, one);
    }
    cd_rlp_close(out, senders);
    cd_rlp_close(out, list);
}

cd_err cd_dev_record_dec(cd_dev_record *out, cd_arena *a, cd_bytes in)
{
    cd_rlp r = cd_rlp_init(in);
    cd_rlp list = cd_rlp_list(&r);
    u64 chosen = cd_rlp_u64(&list);
    cd_rlp senders = cd_rlp_list(&list);
    usize cnt = cd_rlp_count(&senders);
    cd_dev_sender *items = cd_arena_array(a, cd_dev_sender, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rlp one = cd_rlp_list(&senders);
        items[i].idx = cd_rlp_u64(&one);
        cd_rlp_fixed(&one, items[i].addr.b, 20);
        cd_rlp_leave(&senders, &one);
    }
    cd_rlp_leave(&list, &senders);
    cd_rlp_leave(&r, &list);
    CD_TRY(cd_rlp_end(&r));
    if (chosen > UINT32_MAX) {
        return CD_ERANGE;
    }
    *out = (cd_dev_record){.chosen = (u32)chosen, .senders = items, .sender_cnt = cnt};
    return CD_OK;
}

void cd_dev_record_put(cd_kv_batch *batch, const cd_hash32 *block, const cd_dev_record *r)
{
    u8 key[KEY_SIZE];
    cd_buf value = {0};
    if (r->chosen == 0 && r->sender_cnt == 0) {
        return;
    }
    cd_dev_record_enc(&value, r);
    cd_kv_batch_put(batch, key_of(key, block), cd_buf_bytes(&value));
    cd_buf_fini(&value);
}

void cd_dev_record_del(cd_kv_batch *batch, const cd_hash32 *block)
{
    u8 key[KEY_SIZE];
    cd_kv_batch_del(batch, key_of(key, block));
}

cd_err cd_dev_record_get(cd_kv *kv, cd_dev_record *out, cd_arena *a, const cd_hash32 *block)
{
    u8 key[KEY_SIZE];
    cd_buf value = {0};
    cd_err e = cd_kv_get(kv, &value, key_of(key, block));
    if (e == CD_ENOENT) {
        *out = (cd_dev_record){0};
        e = CD_OK;
    } else if (e == CD_OK) {
        e = cd_dev_record_dec(out, a, cd_buf_bytes(&value)) == CD_OK ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&value);
    return e;
}

void cd_dev_record_senders(const cd_dev_record *r, cd_block *block)
{
    for (usize i = 0; i < r->sender_cnt; i++) {
        if (r->senders[i].idx < block->tx_cnt) {
            cd_tx *tx = &block->txs[r->senders[i].idx];
            tx->sender = r->senders[i].addr;
            tx->has_sender = true;
        }
    }
}
