/* Local transactions on disk: one record each, written before the sender hears of it, deleted some time after it left.
 *
 *   'p' ‖ hash      arrival u64 ‖ flags u8 ‖ sender (impersonated ones) ‖ encoding
 *
 * A record that outlives its transaction is refused when it is read again (its nonce is used). */
#include "base/mem/mem.h"
#include "chains/evmchain/core/pool/pool_priv.h"

#include <stdlib.h>

enum { PREFIX = 'p', KEY_SIZE = 33, HEAD_SIZE = 9, IMPERSONATED = 1 };

static cd_bytes key_of(u8 key[KEY_SIZE], const cd_hash32 *hash)
{
    key[0] = PREFIX;
    memcpy(key + 1, hash->b, 32);
    return cd_bytes_of(key, KEY_SIZE);
}

cd_err cd__pool_journal_flush(cd_txpool *p)
{
    if (p->journal.cnt == 0) {
        return CD_OK;
    }
    cd_err e = cd_kv_commit(p->cfg.journal, &p->journal, CD_KV_NOSYNC, NULL);
    cd_kv_batch_clear(&p->journal);
    return e;
}

cd_err cd__pool_journal_put(cd_txpool *p, const cd_pool_tx *t, cd_errinfo *why)
{
    u8 key[KEY_SIZE];
    u8 head[HEAD_SIZE];
    cd_buf value = {0};
    if (p->cfg.journal == NULL) {
        return CD_OK;
    }
    cd_put_be64(head, t->arrival);
    head[8] = t->is_impersonated ? IMPERSONATED : 0;
    cd_buf_put(&value, cd_bytes_of(head, sizeof head));
    if (t->is_impersonated) {
        cd_buf_put(&value, cd_bytes_of(t->tx.sender.b, 20));
    }
    cd_buf_put(&value, t->tx.raw);
    cd_kv_batch_put(&p->journal, key_of(key, &t->tx.hash), cd_buf_bytes(&value));
    cd_buf_fini(&value);
    cd_err e = cd__pool_journal_flush(p);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "the transaction cannot be kept: %s", cd_err_str(e));
}

void cd__pool_journal_del(cd_txpool *p, const cd_pool_tx *t)
{
    u8 key[KEY_SIZE];
    if (p->cfg.journal != NULL && t->is_local) {
        cd_kv_batch_del(&p->journal, key_of(key, &t->tx.hash));
    }
}

/* --- reading back --- */

typedef struct record {
    cd_hash32 hash;
    u64 arrival;
    cd_bytes value; /* behind the arrival */
} record;

static int by_arrival(const void *x, const void *y)
{
    const record *a = x;
    const record *b = y;
    return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

/* Reads all records into the arena, in order of arrival. */
static cd_err read_all(cd_kv *kv, record **out, usize *cnt, cd_arena *a)
{
    static const u8 prefix = PREFIX;
    cd_kv_iter *it = NULL;
    record *records = NULL;
    usize n = 0;
    usize cap = 0;
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(&prefix, 1)}));
    while (cd_kv_iter_next(it)) {
        cd_bytes value = cd_kv_iter_value(it);
        if (value.n <= HEAD_SIZE || cd_kv_iter_key(it).n != KEY_SIZE) {
            continue;
        }
        if (n == cap) {
            cap = cap == 0 ? 64 : cap * 2;
            records = cd_realloc(records, cap * sizeof *records);
        }
        records[n++] = (record){
            .arrival = cd_be64(value.p),
            .value = cd_arena_dup(a, cd_bytes_sub(value, 8, value.n - 8)),
        };
        memcpy(records[n - 1].hash.b, cd_kv_iter_key(it).p + 1, 32);
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    if (n > 1) {
        qsort(records, n, sizeof *records, by_arrival);
    }
    *out = records;
    *cnt = n;
    return e;
}

/* Lets one record wait again; false when it cannot. */
static bool take_in(cd_txpool *p, const record *r)
{
    cd_bytes value = r->value;
    cd_arena a = {0};
    cd_tx tx;
    bool is_impersonated = value.p[0] == IMPERSONATED;
    usize head = is_impersonated ? 21 : 1;
    bool ok = value.n > head && cd_tx_dec(&tx, &a, cd_bytes_sub(value, head, value.n - head), NULL) == CD_OK;
    if (ok && is_impersonated) {
        memcpy(tx.sender.b, value.p + 1, 20);
        tx.has_sender = true;
    } else if (ok) {
        ok = cd_tx_recover(&tx, true) == CD_OK;
    }
    p->arrivals = r->arrival;
    ok = ok && cd__pool_admit(p, &tx, CD__POOL_JOURNAL, is_impersonated, NULL) == CD_OK;
    cd_arena_fini(&a);
    return ok;
}

cd_err cd_txpool_load(cd_txpool *p, usize *cnt, cd_errinfo *why)
{
    cd_arena a = {0};
    record *records = NULL;
    usize n = 0;
    *cnt = 0;
    if (p->cfg.journal == NULL) {
        return CD_OK;
    }
    cd_err e = read_all(p->cfg.journal, &records, &n, &a);
    for (usize i = 0; e == CD_OK && i < n; i++) {
        if (take_in(p, &records[i])) {
            ++*cnt;
        } else {
            u8 key[KEY_SIZE];
            cd_kv_batch_del(&p->journal, key_of(key, &records[i].hash));
        }
        p->arrivals = records[i].arrival + 1;
    }
    if (e == CD_OK) {
        e = cd__pool_journal_flush(p);
    }
    cd_free(records);
    cd_arena_fini(&a);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "waiting transactions cannot be read: %s", cd_err_str(e));
}
