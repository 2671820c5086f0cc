/* Batches from bytes: what is taken is written again to the letter, and committing it does the same as its records
 * one by one; what is refused changes nothing. */
#include "store/kv.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void expect_bytes(const cd_kv_batch *b, cd_bytes want)
{
    cd_buf out = {0};
    cd_kv_batch_enc(b, &out);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), want));
    cd_buf_fini(&out);
}

/* Everything in kv, with lengths in front. */
static void dump(cd_buf *out, cd_kv *kv)
{
    cd_kv_iter *it = NULL;
    cd_buf_clear(out);
    CD_ASSERT(cd_kv_iter_new(&it, kv, &(cd_kv_range){0}) == CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_bytes value = cd_kv_iter_value(it);
        cd_buf_fmt(out, "%zu %zu ", key.n, value.n);
        cd_buf_put(out, key);
        cd_buf_put(out, value);
    }
    CD_ASSERT(cd_kv_iter_err(it) == CD_OK);
    cd_kv_iter_free(it);
}

static cd_kv *filled(void)
{
    cd_kv *kv = cd_kv_mem_open();
    for (u8 key = 0; key < 8; key++) {
        cd_bytes k = cd_bytes_of(&key, key == 0 ? 0 : 1);
        CD_ASSERT(cd_kv_put(kv, k, cd_bytes_str("old")) == CD_OK);
    }
    return kv;
}

/* The records in order, into a second batch and a second engine. */
static void rebuild(cd_kv_batch *out, cd_kv *kv, const cd_kv_batch *b)
{
    cd_kv_rec rec;
    u32 cnt = 0;
    for (usize pos = 0; cd_kv_batch_next(b, &rec, &pos); cnt++) {
        if (rec.is_del) {
            cd_kv_batch_del(out, rec.key);
            CD_ASSERT(rec.value.n == 0 && cd_kv_del(kv, rec.key) == CD_OK);
        } else {
            cd_kv_batch_put(out, rec.key, rec.value);
            CD_ASSERT(cd_kv_put(kv, rec.key, rec.value) == CD_OK);
        }
    }
    CD_ASSERT(cnt == b->cnt);
}

static void use(const cd_kv_batch *b, cd_bytes in)
{
    cd_kv *whole = filled();
    cd_kv *single = filled();
    cd_kv_batch again = {0};
    cd_kv_batch undo = {0};
    cd_buf before = {0};
    cd_buf after = {0};
    cd_buf other = {0};
    expect_bytes(b, in);
    rebuild(&again, single, b);
    expect_bytes(&again, in);

    dump(&before, whole);
    CD_ASSERT(cd_kv_batch_invert(b, &undo, whole) == CD_OK);
    CD_ASSERT(cd_kv_commit(whole, b, CD_KV_NOSYNC, NULL) == CD_OK);
    dump(&after, whole);
    dump(&other, single);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&after), cd_buf_bytes(&other)));
    CD_ASSERT(cd_kv_commit(whole, &undo, CD_KV_NOSYNC, NULL) == CD_OK);
    dump(&after, whole);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&after), cd_buf_bytes(&before)));

    cd_buf_fini(&before);
    cd_buf_fini(&after);
    cd_buf_fini(&other);
    cd_kv_batch_fini(&undo);
    cd_kv_batch_fini(&again);
    cd_kv_close(single);
    cd_kv_close(whole);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_kv_batch b = {0};
    cd_buf kept = {0};
    cd_bytes in = cd_bytes_of(data, size);
    cd_kv_batch_put(&b, cd_bytes_str("key"), cd_bytes_str("value"));
    cd_kv_batch_enc(&b, &kept);
    if (cd_kv_batch_dec(&b, in) == CD_OK) {
        use(&b, in);
    } else {
        CD_ASSERT(b.cnt == 1);
        expect_bytes(&b, cd_buf_bytes(&kept));
    }
    cd_buf_fini(&kept);
    cd_kv_batch_fini(&b);
    return 0;
}
