#include "chains/xvm/state.h"

enum {
    TX = 't',
    ASSET = 'A',
    ALIAS = 'n',
    NAME = 'N',
    BLOCK = 'b',
    HEIGHT = 'h',
    LAST = 'L',
    ORIGIN = 'G',
    LISTED = 'x',
    LISTED_CNT = 'X',
    ALIAS_MAX = 256,
    LIST_KEY = 1 + 20 + 32,
};

/* --- keys --- */

static cd_bytes key_of(u8 *key, u8 table, const void *p, usize n)
{
    key[0] = table;
    memcpy(key + 1, p, n);
    return cd_bytes_of(key, 1 + n);
}

static cd_bytes id_key(u8 key[33], u8 table, const cd_hash32 *id)
{
    return key_of(key, table, id->b, sizeof id->b);
}

static cd_bytes height_key(u8 key[9], u64 height)
{
    key[0] = HEIGHT;
    cd_put_be64(key + 1, height);
    return cd_bytes_of(key, 9);
}

static cd_bytes list_key(u8 key[LIST_KEY + 8], u8 table, const cd_addr20 *addr, const cd_hash32 *asset)
{
    key[0] = table;
    memcpy(key + 1, addr->b, sizeof addr->b);
    memcpy(key + 21, asset->b, sizeof asset->b);
    return cd_bytes_of(key, LIST_KEY);
}

/* Reads a value of exactly n bytes. */
static cd_err get_fixed(cd_kv *kv, void *out, usize n, cd_bytes key)
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

/* --- reading --- */

cd_err cd_xvm_get_tx(cd_kv *kv, cd_xvm_tx *out, cd_arena *a, const cd_hash32 *id)
{
    u8 key[33];
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, id_key(key, TX, id));
    if (e == CD_OK) {
        /* A genesis may hold assets that are larger than what is sent. */
        cd_xvm_tx t = {.bytes = cd_arena_dup(a, cd_buf_bytes(&v))};
        e = cd_linear_parse(&t.tx, &cd_x_tx_table, a, t.bytes, v.n, NULL) == CD_OK ? CD_OK : CD_ECORRUPT;
        t.id = *id;
        *out = t;
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_xvm_has_tx(cd_kv *kv, bool *found, const cd_hash32 *id)
{
    u8 key[33];
    return cd_kv_has(kv, found, id_key(key, TX, id));
}

cd_err cd_xvm_get_asset(cd_kv *kv, u8 *fxs, const cd_hash32 *id)
{
    u8 key[33];
    return get_fixed(kv, fxs, 1, id_key(key, ASSET, id));
}

cd_err cd_xvm_assets(cd_kv *kv, cd_hash32 **out, usize *cnt, bool *more, cd_arena *a, const cd_hash32 *after, usize max)
{
    u8 key[33];
    cd_kv_iter *it;
    const cd_kv_range range = {
        .prefix = cd_bytes_of(&(u8){ASSET}, 1),
        .start = after == NULL ? (cd_bytes){0} : id_key(key, ASSET, after),
    };
    cd_hash32 *v = cd_arena_array(a, cd_hash32, max);
    *cnt = 0;
    *more = false;
    CD_TRY(cd_kv_iter_new(&it, kv, &range));
    while (!*more && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        if (k.n != sizeof key || (after != NULL && memcmp(k.p + 1, after->b, sizeof after->b) == 0)) {
            continue;
        }
        *more = *cnt == max;
        if (!*more) {
            memcpy(v[(*cnt)++].b, k.p + 1, sizeof v->b);
        }
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    *out = v;
    return e;
}

cd_err cd_xvm_get_alias(cd_kv *kv, cd_hash32 *out, cd_bytes alias)
{
    u8 key[1 + ALIAS_MAX];
    if (alias.n == 0 || alias.n > ALIAS_MAX) {
        return CD_ENOENT;
    }
    return get_fixed(kv, out, sizeof *out, key_of(key, ALIAS, alias.p, alias.n));
}

cd_err cd_xvm_get_name(cd_kv *kv, cd_buf *out, const cd_hash32 *id)
{
    u8 key[33];
    return cd_kv_get(kv, out, id_key(key, NAME, id));
}

cd_err cd_xvm_get_block(cd_kv *kv, cd_buf *out, const cd_hash32 *id)
{
    u8 key[33];
    return cd_kv_get(kv, out, id_key(key, BLOCK, id));
}

cd_err cd_xvm_get_height(cd_kv *kv, cd_hash32 *id, u64 height)
{
    u8 key[9];
    return get_fixed(kv, id, sizeof *id, height_key(key, height));
}

cd_err cd_xvm_get_last(cd_kv *kv, cd_hash32 *id)
{
    return get_fixed(kv, id, sizeof *id, cd_bytes_of(&(u8){LAST}, 1));
}

cd_err cd_xvm_get_origin(cd_kv *kv, cd_xvm_origin *out)
{
    u8 v[64];
    CD_TRY(get_fixed(kv, v, sizeof v, cd_bytes_of(&(u8){ORIGIN}, 1)));
    memcpy(out->genesis.b, v, 32);
    memcpy(out->fee_asset.b, v + 32, 32);
    return CD_OK;
}

/* --- writing --- */

void cd_xvm_put_tx(cd_kv_batch *b, const cd_xvm_tx *t)
{
    u8 key[33];
    u8 fxs = 0;
    cd_kv_batch_put(b, id_key(key, TX, &t->id), t->bytes);
    if (t->tx.body.is->id != CD_X_CREATE_ASSET) {
        return;
    }
    const cd_x_create_asset *tx = t->tx.body.v;
    for (u32 i = 0; i < tx->states.cnt; i++) {
        fxs |= (u8)(1u << ((const cd_x_initial_state *)tx->states.v)[i].fx_index);
    }
    cd_kv_batch_put(b, id_key(key, ASSET, &t->id), cd_bytes_of(&fxs, 1));
}

void cd_xvm_put_alias(cd_kv_batch *b, cd_bytes alias, const cd_hash32 *asset)
{
    u8 key[1 + ALIAS_MAX];
    if (alias.n > 0 && alias.n <= ALIAS_MAX) {
        cd_kv_batch_put(b, key_of(key, ALIAS, alias.p, alias.n), cd_bytes_of(asset->b, 32));
        cd_kv_batch_put(b, id_key(key, NAME, asset), alias);
    }
}

void cd_xvm_put_block(cd_kv_batch *b, const cd_hash32 *id, u64 height, cd_bytes bytes)
{
    u8 key[33];
    cd_kv_batch_put(b, id_key(key, BLOCK, id), bytes);
    cd_kv_batch_put(b, height_key(key, height), cd_bytes_of(id->b, 32));
    cd_kv_batch_put(b, cd_bytes_of(&(u8){LAST}, 1), cd_bytes_of(id->b, 32));
}

void cd_xvm_put_origin(cd_kv_batch *b, const cd_xvm_origin *o)
{
    u8 v[64];
    memcpy(v, o->genesis.b, 32);
    memcpy(v + 32, o->fee_asset.b, 32);
    cd_kv_batch_put(b, cd_bytes_of(&(u8){ORIGIN}, 1), cd_bytes_of(v, sizeof v));
}

/* --- transactions of an address --- */

cd_err cd_xvm_list_tx(cd_kv *kv, cd_kv_batch *b, const cd_addr20 *addr, const cd_hash32 *asset, const cd_hash32 *id)
{
    u8 key[LIST_KEY + 8];
    u8 be[8] = {0};
    cd_bytes cnt_key = list_key(key, LISTED_CNT, addr, asset);
    cd_err e = get_fixed(kv, be, sizeof be, cnt_key);
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    u64 n = cd_be64(be);
    (void)list_key(key, LISTED, addr, asset);
    cd_put_be64(key + LIST_KEY, n);
    cd_kv_batch_put(b, cd_bytes_of(key, sizeof key), cd_bytes_of(id->b, 32));
    cd_put_be64(be, n + 1);
    cd_kv_batch_put(b, list_key(key, LISTED_CNT, addr, asset), cd_bytes_of(be, sizeof be));
    return CD_OK;
}

cd_err cd_xvm_listed(cd_kv *kv, cd_hash32 **out, usize *cnt, cd_arena *a, const cd_addr20 *addr, const cd_hash32 *asset,
                     u64 from, usize max)
{
    u8 key[LIST_KEY + 8];
    cd_kv_iter *it = NULL;
    cd_hash32 *v = cd_arena_array(a, cd_hash32, max);
    usize n = 0;
    cd_kv_range range = {.prefix = list_key(key, LISTED, addr, asset)};
    cd_put_be64(key + LIST_KEY, from);
    range.start = cd_bytes_of(key, sizeof key);
    CD_TRY(cd_kv_iter_new(&it, kv, &range));
    while (n < max && cd_kv_iter_next(it) && cd_kv_iter_value(it).n == 32) {
        memcpy(v[n++].b, cd_kv_iter_value(it).p, 32);
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    *out = v;
    *cnt = n;
    return e;
}
