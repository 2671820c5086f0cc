/* The journal of changed keys: which accounts and slots every accepted version changed. */
#include "base/mem/mem.h"
#include "base/rd.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "crypto/hash/keccak.h"

static const u8 journal_prefix = 'J';

enum { KEY_SIZE = 9, HAS_HISTORY = 1, ACCT_SIZE = 20 + 4 };

static cd_bytes key_of(u8 out[KEY_SIZE], u64 version)
{
    out[0] = journal_prefix;
    cd_put_be64(out + 1, version);
    return cd_bytes_of(out, KEY_SIZE);
}

void cd__journal_put(cd_kv_batch *batch, u64 version, bool has_history, const cd__world_changes *ch)
{
    u8 key[KEY_SIZE];
    usize slots = 0; /* fewer than ch->slot_cnt where a wiped slot was written again */
    for (usize i = 0; i < ch->acct_cnt; i++) {
        slots += ch->accts[i].slot_cnt;
    }
    u8 *p = cd_kv_batch_put2(batch, key_of(key, version), (cd_bytes){0}, 1 + ch->acct_cnt * ACCT_SIZE + slots * 32);
    *p++ = has_history ? HAS_HISTORY : 0;
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        memcpy(p, a->addr.b, 20);
        cd_put_be32(p + 20, (u32)a->slot_cnt);
        p += ACCT_SIZE;
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            memcpy(p, ch->slots[j].hash.b, 32);
            p += 32;
        }
    }
}

void cd__journal_del(cd_kv_batch *batch, u64 version)
{
    u8 key[KEY_SIZE];
    cd_kv_batch_del(batch, key_of(key, version));
}

cd_err cd__journal_open(cd__journal *j, cd_kv *kv, u64 from)
{
    u8 start[KEY_SIZE];
    *j = (cd__journal){0};
    return cd_kv_iter_new(&j->it, kv,
                          &(cd_kv_range){
                              .prefix = cd_bytes_of(&journal_prefix, 1),
                              .start = key_of(start, from),
                          });
}

void cd__journal_hash(cd__journal *j)
{
    enum { CHUNK = 64 };
    cd_bytes in[CHUNK];
    cd_hash32 out[CHUNK];
    for (usize at = 0; at < j->acct_cnt; at += CHUNK) {
        usize n = cd_min_u64(CHUNK, j->acct_cnt - at);
        for (usize i = 0; i < n; i++) {
            in[i] = cd_bytes_of(j->accts[at + i].addr.b, 20);
        }
        cd_keccak256_many(out, in, n);
        for (usize i = 0; i < n; i++) {
            j->accts[at + i].hash = out[i];
        }
    }
}

/* Takes a record apart. */
static cd_err parse(cd__journal *j, cd_bytes record)
{
    cd_rd r = cd_rd_init(record);
    j->has_history = cd_rd_u8(&r) == HAS_HISTORY;
    j->acct_cnt = 0;
    while (cd_rd_left(&r) != 0) {
        if (j->acct_cnt == j->acct_cap) {
            j->acct_cap = j->acct_cap == 0 ? 64 : j->acct_cap * 2;
            j->accts = cd_realloc(j->accts, j->acct_cap * sizeof *j->accts);
        }
        cd__journal_acct *a = &j->accts[j->acct_cnt++];
        cd_rd_copy(&r, a->addr.b, 20);
        a->slot_cnt = cd_rd_be32(&r);
        a->slots = cd_rd_take(&r, (usize)a->slot_cnt * 32).p;
    }
    if (r.err != CD_OK) {
        return CD_ECORRUPT;
    }
    return CD_OK;
}

bool cd__journal_next(cd__journal *j, u64 last)
{
    if (j->err != CD_OK || !cd_kv_iter_next(j->it)) {
        return false;
    }
    cd_bytes key = cd_kv_iter_key(j->it);
    if (key.n != KEY_SIZE) {
        j->err = CD_ECORRUPT;
        return false;
    }
    j->version = cd_be64(key.p + 1);
    if (j->version > last) {
        return false;
    }
    j->err = parse(j, cd_kv_iter_value(j->it));
    return j->err == CD_OK;
}

cd_err cd__journal_last(cd_kv *kv, u64 *version, u64 last)
{
    u8 start[KEY_SIZE];
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, kv,
                          &(cd_kv_range){
                              .prefix = cd_bytes_of(&journal_prefix, 1),
                              .start = key_of(start, last),
                              .reverse = true,
                          }));
    cd_err e = CD_ENOENT;
    if (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        e = key.n == KEY_SIZE ? CD_OK : CD_ECORRUPT;
        if (e == CD_OK) {
            *version = cd_be64(key.p + 1);
        }
    } else if (cd_kv_iter_err(it) != CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}

cd_err cd__journal_close(cd__journal *j)
{
    cd_err e = j->err != CD_OK ? j->err : cd_kv_iter_err(j->it);
    cd_kv_iter_free(j->it);
    cd_free(j->accts);
    return e;
}
