#include "finality/store.h"

#include "base/mem/mem.h"

/* 'c' ‖ chain ‖ block: certificate. 'h' ‖ chain ‖ height: block, type. 'f' ‖ chain ‖ number: block and height of a
 * final one. 'l' ‖ chain, 'b' ‖ chain: the last final one with its number, the last of any type; as under 'h', height in front. */
enum { HEAD = 1 + 32, MARK = 8 + 32 + 1, KEY_MAX = HEAD + 32 };

struct cd_fin_store {
    cd_kv *store;
    cd_kv *part;
};

cd_fin_store *cd_fin_store_new(cd_kv *store, cd_bytes prefix)
{
    cd_fin_store *s = cd_new(cd_fin_store);
    *s = (cd_fin_store){.store = store, .part = cd_kv_prefix_open(store, prefix)};
    return s;
}

void cd_fin_store_free(cd_fin_store *s)
{
    if (s != NULL) {
        cd_kv_close(s->part);
        cd_free(s);
    }
}

static cd_bytes key_of(u8 out[KEY_MAX], char table, const cd_hash32 *chain)
{
    out[0] = (u8)table;
    memcpy(out + 1, chain->b, 32);
    return cd_bytes_of(out, HEAD);
}

static cd_bytes number_key(u8 out[KEY_MAX], char table, const cd_hash32 *chain, u64 number)
{
    (void)key_of(out, table, chain);
    cd_put_be64(out + HEAD, number);
    return cd_bytes_of(out, HEAD + 8);
}

static cd_bytes block_key(u8 out[KEY_MAX], const cd_hash32 *chain, const cd_hash32 *block)
{
    (void)key_of(out, 'c', chain);
    memcpy(out + HEAD, block->b, 32);
    return cd_bytes_of(out, HEAD + 32);
}

static void put_mark(cd_kv_batch *b, cd_bytes key, const cd_fin_mark *m, u64 number)
{
    u8 value[MARK + 8];
    cd_put_be64(value, m->height);
    memcpy(value + 8, m->block.b, 32);
    value[MARK - 1] = (u8)m->type;
    cd_put_be64(value + MARK, number);
    cd_kv_batch_put(b, key, cd_bytes_of(value, sizeof value));
}

static cd_err get_mark(cd_fin_store *s, cd_fin_mark *out, u64 *number, cd_bytes key)
{
    cd_buf value = {0};
    cd_err e = cd_kv_get(s->part, &value, key);
    if (e == CD_OK && (value.n != MARK + 8 || value.p[MARK - 1] > CD_FIN_MLDSA)) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        out->height = cd_be64(value.p);
        memcpy(out->block.b, value.p + 8, 32);
        out->type = (cd_fin_type)value.p[MARK - 1];
        *number = cd_be64(value.p + MARK);
    }
    cd_buf_fini(&value);
    return e;
}

/* Lets go of what an old mark names; its height keeps nothing either. */
static cd_err let_go(cd_fin_store *s, cd_kv_batch *b, const cd_hash32 *chain, cd_bytes key, bool is_final)
{
    u8 at[KEY_MAX];
    u64 number;
    cd_fin_mark old;
    cd_err e = get_mark(s, &old, &number, key);
    if (e != CD_OK) {
        return e == CD_ENOENT ? CD_OK : e;
    }
    if (!is_final && cd_fin_is_final(old.type)) {
        return CD_OK;
    }
    cd_kv_batch_del(b, block_key(at, chain, &old.block));
    cd_kv_batch_del(b, number_key(at, 'h', chain, old.height));
    if (is_final) {
        cd_kv_batch_del(b, key);
    }
    return CD_OK;
}

/* Numbers a final block, and lets go of one that is old. */
static cd_err put_final(cd_fin_store *s, cd_kv_batch *b, const cd_hash32 *chain, const cd_fin_mark *m)
{
    u8 key[KEY_MAX];
    cd_fin_mark last;
    u64 number = 0;
    cd_err e = get_mark(s, &last, &number, key_of(key, 'l', chain));
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    number = e == CD_OK ? number + 1 : 0;
    if (e == CD_ENOENT || last.height < m->height) {
        put_mark(b, key_of(key, 'l', chain), m, number);
    } else {
        put_mark(b, key_of(key, 'l', chain), &last, number);
    }
    put_mark(b, number_key(key, 'f', chain, number), m, number);
    if (number < CD_FIN_STORE_NEWEST || (number - CD_FIN_STORE_NEWEST) % CD_FIN_STORE_STEP == 0) {
        return CD_OK;
    }
    return let_go(s, b, chain, number_key(key, 'f', chain, number - CD_FIN_STORE_NEWEST), true);
}

static cd_err put_any(cd_fin_store *s, cd_kv_batch *b, const cd_hash32 *chain, const cd_fin_mark *m)
{
    u8 key[KEY_MAX];
    cd_fin_mark last;
    u64 number;
    cd_err e = get_mark(s, &last, &number, key_of(key, 'b', chain));
    if (e == CD_ENOENT || (e == CD_OK && last.height < m->height)) {
        put_mark(b, key_of(key, 'b', chain), m, 0);
        e = CD_OK;
    }
    put_mark(b, number_key(key, 'h', chain, m->height), m, 0);
    if (e != CD_OK || m->height < CD_FIN_STORE_BLS) {
        return e;
    }
    return let_go(s, b, chain, number_key(key, 'h', chain, m->height - CD_FIN_STORE_BLS), false);
}

cd_err cd_fin_store_put(cd_fin_store *s, const cd_hash32 *chain, const cd_fin_mark *mark, cd_bytes cert,
                        cd_errinfo *why)
{
    u8 key[KEY_MAX];
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, s->part);
    cd_kv_batch_put(&b, block_key(key, chain, &mark->block), cert);
    cd_err e = put_any(s, &b, chain, mark);
    e = e == CD_OK && cd_fin_is_final(mark->type) ? put_final(s, &b, chain, mark) : e;
    if (e == CD_OK) {
        cd_kv_batch_widen(&b);
        e = cd_kv_commit(s->store, &b, CD_KV_NOSYNC, why);
    } else {
        (void)cd_fail(why, e, "certificates cannot be kept: %s", cd_err_str(e));
    }
    cd_kv_batch_fini(&b);
    return e;
}

cd_err cd_fin_store_get(cd_fin_store *s, cd_buf *out, const cd_hash32 *chain, const cd_hash32 *block)
{
    u8 key[KEY_MAX];
    cd_buf value = {0};
    cd_err e = cd_kv_get(s->part, &value, block_key(key, chain, block));
    if (e == CD_OK) {
        cd_buf_put(out, cd_buf_bytes(&value));
    }
    cd_buf_fini(&value);
    return e;
}

cd_err cd_fin_store_at(cd_fin_store *s, cd_fin_mark *out, const cd_hash32 *chain, u64 height)
{
    u8 key[KEY_MAX];
    u64 number;
    return get_mark(s, out, &number, number_key(key, 'h', chain, height));
}

cd_err cd_fin_store_last(cd_fin_store *s, cd_fin_mark *out, const cd_hash32 *chain, bool any)
{
    u8 key[KEY_MAX];
    u64 number;
    return get_mark(s, out, &number, key_of(key, any ? 'b' : 'l', chain));
}
