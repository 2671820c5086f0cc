#include "types/tx_codec.h"

#include "crypto/ec/secp256k1.h"
#include "crypto/hash/keccak.h"

/* Bytes of the shortest encodings, which bound counts before memory is taken. */
enum { ACCESS_TUPLE_MIN = 23, HASH_ITEM = 33, AUTHORIZATION_MIN = 27 };

/* --- decoding --- */

/* Reads a list of 32-byte strings into an array. */
static const cd_hash32 *dec_hashes(usize *cnt, cd_arena *a, cd_rlp *r)
{
    cd_rlp list = cd_rlp_list(r);
    usize n = (usize)(list.end - list.p);
    *cnt = 0;
    if (n % HASH_ITEM != 0) {
        cd_rlp_fail(r, CD_ERANGE);
        return NULL;
    }
    cd_hash32 *h = cd_arena_alloc(a, n / HASH_ITEM * sizeof *h);
    for (usize i = 0; i < n / HASH_ITEM; i++) {
        cd_rlp_fixed(&list, h[i].b, 32);
    }
    cd_rlp_leave(r, &list);
    *cnt = n / HASH_ITEM;
    return h;
}

static void dec_access_list(cd_tx *tx, cd_arena *a, cd_rlp *r)
{
    cd_rlp list = cd_rlp_list(r);
    usize cnt = cd_rlp_count(&list);
    if (cnt > (usize)(list.end - list.p) / ACCESS_TUPLE_MIN) {
        cd_rlp_fail(r, CD_ERANGE);
        return;
    }
    cd_access_tuple *tuples = cd_arena_array(a, cd_access_tuple, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rlp t = cd_rlp_list(&list);
        cd_rlp_fixed(&t, tuples[i].addr.b, 20);
        tuples[i].keys = dec_hashes(&tuples[i].key_cnt, a, &t);
        cd_rlp_leave(&list, &t);
    }
    cd_rlp_leave(r, &list);
    tx->access = tuples;
    tx->access_cnt = cnt;
}

static void dec_auths(cd_tx *tx, cd_arena *a, cd_rlp *r)
{
    cd_rlp list = cd_rlp_list(r);
    usize cnt = cd_rlp_count(&list);
    if (cnt > (usize)(list.end - list.p) / AUTHORIZATION_MIN) {
        cd_rlp_fail(r, CD_ERANGE);
        return;
    }
    cd_authorization *auths = cd_arena_array(a, cd_authorization, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rlp t = cd_rlp_list(&list);
        auths[i].chain_id = cd_rlp_u256(&t);
        cd_rlp_fixed(&t, auths[i].addr.b, 20);
        auths[i].nonce = cd_rlp_u64(&t);
        u64 y_parity = cd_rlp_u64(&t);
        if (y_parity > UINT8_MAX) {
            cd_rlp_fail(&t, CD_ERANGE);
        }
        auths[i].y_parity = (u8)y_parity;
        auths[i].r = cd_rlp_u256(&t);
        auths[i].s = cd_rlp_u256(&t);
        cd_rlp_leave(&list, &t);
    }
    cd_rlp_leave(r, &list);
    tx->auths = auths;
    tx->auth_cnt = cnt;
}

/* Reads the recipient: 20 bytes, or an empty string for a creation. */
static void dec_to(cd_tx *tx, cd_rlp *r)
{
    cd_bytes to = cd_rlp_str(r);
    if (to.n == 20) {
        memcpy(tx->to.b, to.p, 20);
    } else if (to.n == 0 && tx->type < CD_TX_BLOB) {
        tx->is_create = true;
    } else {
        cd_rlp_fail(r, CD_ERANGE);
    }
}

/* Reads the fields before the signature, in the order of the type. */
static void dec_fields(cd_tx *tx, cd_arena *a, cd_rlp *r)
{
    if (tx->type != CD_TX_LEGACY) {
        tx->chain_id = cd_rlp_u64(r);
    }
    tx->nonce = cd_rlp_u64(r);
    tx->tip_cap = cd_rlp_u256(r);
    tx->fee_cap = tx->type >= CD_TX_DYNAMIC_FEE ? cd_rlp_u256(r) : tx->tip_cap;
    tx->gas_limit = cd_rlp_u64(r);
    dec_to(tx, r);
    tx->value = cd_rlp_u256(r);
    tx->data = cd_rlp_str(r);
    if (tx->type != CD_TX_LEGACY) {
        dec_access_list(tx, a, r);
    }
    if (tx->type == CD_TX_BLOB) {
        tx->blob_fee_cap = cd_rlp_u256(r);
        tx->blob_hashes = dec_hashes(&tx->blob_cnt, a, r);
    }
    if (tx->type == CD_TX_SET_CODE) {
        dec_auths(tx, a, r);
    }
}

cd_err cd_tx_set_v(cd_tx *tx, const cd_u256 *v)
{
    u64 low = v->w[0];
    if (tx->type != CD_TX_LEGACY) {
        if (!cd_u256_fits_u64(v) || low > 1) {
            return CD_ESIG;
        }
        tx->y_parity = (u8)low;
        tx->is_protected = true;
        return CD_OK;
    }
    if (cd_u256_fits_u64(v) && low < 35) {
        tx->y_parity = (u8)((low - 27) & 1);
        return low == 27 || low == 28 ? CD_OK : CD_ESIG;
    }
    cd_u256 base = cd_u256_from_u64(35);
    cd_u256 rest;
    cd_u256_sub(&rest, v, &base);
    tx->y_parity = rest.w[0] & 1;
    cd_u256_shr(&rest, &rest, 1);
    tx->chain_id = rest.w[0];
    tx->is_protected = true;
    return cd_u256_fits_u64(&rest) ? CD_OK : CD_ERANGE;
}

/* Reads the list that holds all fields; nothing may follow it in `in`. */
static cd_err dec_payload(cd_tx *tx, cd_arena *a, cd_bytes in)
{
    cd_rlp top = cd_rlp_init(in);
    cd_rlp r = cd_rlp_list(&top);
    const u8 *first = r.p;
    dec_fields(tx, a, &r);
    tx->unsigned_fields = cd_bytes_of(first, (usize)(r.p - first));
    cd_u256 v = cd_rlp_u256(&r);
    tx->r = cd_rlp_u256(&r);
    tx->s = cd_rlp_u256(&r);
    cd_rlp_leave(&top, &r);
    CD_TRY(cd_rlp_end(&top));
    return cd_tx_set_v(tx, &v);
}

/* Says whether a blob transaction is in the network form, which starts with the transaction itself as an inner list. */
static bool has_sidecar(cd_bytes payload)
{
    cd_rlp top = cd_rlp_init(payload);
    cd_rlp r = cd_rlp_list(&top);
    return cd_rlp_next(&r).is_list;
}

cd_err cd_tx_dec(cd_tx *out, cd_arena *a, cd_bytes raw, cd_errinfo *why)
{
    cd_tx tx = {.raw = raw};
    cd_bytes payload = raw;
    if (raw.n == 0) {
        return cd_fail(why, CD_ESHORT, "transaction: empty");
    }
    if (raw.p[0] < 0xc0) {
        if (raw.p[0] < CD_TX_ACCESS_LIST || raw.p[0] > CD_TX_SET_CODE) {
            return cd_fail(why, CD_EUNSUPPORTED, "transaction: unknown type %u", raw.p[0]);
        }
        tx.type = (cd_tx_type)raw.p[0];
        payload = cd_bytes_sub(raw, 1, raw.n - 1);
        if (tx.type == CD_TX_BLOB && has_sidecar(payload)) {
            return cd_fail(why, CD_EUNSUPPORTED, "transaction: blobs do not belong here");
        }
    }
    cd_err e = dec_payload(&tx, a, payload);
    if (e != CD_OK) {
        return cd_fail(why, e, "transaction: %s", cd_err_str(e));
    }
    cd_keccak256(&tx.hash, raw);
    *out = tx;
    return CD_OK;
}

cd_err cd_tx_dec_item(cd_tx *out, cd_arena *a, cd_rlp *list, cd_errinfo *why)
{
    cd_rlp_item it = cd_rlp_next(list);
    if (list->err != CD_OK) {
        return cd_fail(why, list->err, "transaction: %s", cd_err_str(list->err));
    }
    if (!it.is_list && it.body.n != 0 && it.body.p[0] >= 0xc0) {
        return cd_fail(why, CD_ETYPE, "transaction: legacy form wrapped in a string");
    }
    return cd_tx_dec(out, a, it.is_list ? it.raw : it.body, why);
}

/* --- encoding --- */

static void enc_access_list(cd_buf *out, const cd_tx *tx)
{
    usize list = cd_rlp_begin(out);
    for (usize i = 0; i < tx->access_cnt; i++) {
        const cd_access_tuple *t = &tx->access[i];
        usize tuple = cd_rlp_begin(out);
        cd_rlp_put_str(out, cd_bytes_of(t->addr.b, 20));
        cd_rlp_put_list_head(out, t->key_cnt * HASH_ITEM);
        for (usize k = 0; k < t->key_cnt; k++) {
            cd_rlp_put_str(out, cd_bytes_of(t->keys[k].b, 32));
        }
        cd_rlp_close(out, tuple);
    }
    cd_rlp_close(out, list);
}

/* Appends the fields of an authorization that its signer signs, in their order. */
static void enc_auth_fields(cd_buf *out, const cd_authorization *t)
{
    cd_rlp_put_u256(out, &t->chain_id);
    cd_rlp_put_str(out, cd_bytes_of(t->addr.b, 20));
    cd_rlp_put_u64(out, t->nonce);
}

static void enc_auths(cd_buf *out, const cd_tx *tx)
{
    usize list = cd_rlp_begin(out);
    for (usize i = 0; i < tx->auth_cnt; i++) {
        const cd_authorization *t = &tx->auths[i];
        usize tuple = cd_rlp_begin(out);
        enc_auth_fields(out, t);
        cd_rlp_put_u64(out, t->y_parity);
        cd_rlp_put_u256(out, &t->r);
        cd_rlp_put_u256(out, &t->s);
        cd_rlp_close(out, tuple);
    }
    cd_rlp_close(out, list);
}

static void enc_fields(cd_buf *out, const cd_tx *tx)
{
    if (tx->type != CD_TX_LEGACY) {
        cd_rlp_put_u64(out, tx->chain_id);
    }
    cd_rlp_put_u64(out, tx->nonce);
    cd_rlp_put_u256(out, &tx->tip_cap);
    if (tx->type >= CD_TX_DYNAMIC_FEE) {
        cd_rlp_put_u256(out, &tx->fee_cap);
    }
    cd_rlp_put_u64(out, tx->gas_limit);
    cd_rlp_put_str(out, cd_bytes_of(tx->to.b, tx->is_create ? 0 : 20));
    cd_rlp_put_u256(out, &tx->value);
    cd_rlp_put_str(out, tx->data);
    if (tx->type != CD_TX_LEGACY) {
        enc_access_list(out, tx);
    }
    if (tx->type == CD_TX_BLOB) {
        cd_rlp_put_u256(out, &tx->blob_fee_cap);
        cd_rlp_put_list_head(out, tx->blob_cnt * HASH_ITEM);
        for (usize i = 0; i < tx->blob_cnt; i++) {
            cd_rlp_put_str(out, cd_bytes_of(tx->blob_hashes[i].b, 32));
        }
    }
    if (tx->type == CD_TX_SET_CODE) {
        enc_auths(out, tx);
    }
}

cd_u256 cd_tx_v(const cd_tx *tx)
{
    cd_u256 v = cd_u256_from_u64(tx->y_parity);
    if (tx->type != CD_TX_LEGACY) {
        return v;
    }
    cd_u256 base = cd_u256_from_u64(27);
    if (tx->is_protected) {
        cd_u256 eight = cd_u256_from_u64(8);
        cd_u256 twice = cd_u256_from_u64(tx->chain_id);
        cd_u256_shl(&twice, &twice, 1);
        cd_u256_add(&base, &base, &eight);
        cd_u256_add(&base, &base, &twice);
    }
    cd_u256_add(&v, &v, &base);
    return v;
}

void cd_tx_enc(cd_buf *out, const cd_tx *tx)
{
    if (tx->raw.n != 0) {
        cd_buf_put(out, tx->raw);
        return;
    }
    if (tx->type != CD_TX_LEGACY) {
        cd_buf_u8(out, (u8)tx->type);
    }
    usize list = cd_rlp_begin(out);
    enc_fields(out, tx);
    cd_u256 v = cd_tx_v(tx);
    cd_rlp_put_u256(out, &v);
    cd_rlp_put_u256(out, &tx->r);
    cd_rlp_put_u256(out, &tx->s);
    cd_rlp_close(out, list);
}

void cd_tx_enc_item(cd_buf *out, const cd_tx *tx)
{
    if (tx->type == CD_TX_LEGACY) {
        cd_tx_enc(out, tx);
        return;
    }
    cd_buf tmp = {0};
    cd_tx_enc(&tmp, tx);
    cd_rlp_put_str(out, cd_buf_bytes(&tmp));
    cd_buf_fini(&tmp);
}

/* --- hashes and signatures --- */

void cd_tx_hash(cd_hash32 *out, const cd_tx *tx)
{
    cd_buf tmp = {0};
    cd_tx_enc(&tmp, tx);
    cd_keccak256(out, cd_buf_bytes(&tmp));
    cd_buf_fini(&tmp);
}

void cd_tx_sign_hash(cd_hash32 *out, const cd_tx *tx)
{
    cd_buf made = {0};
    cd_bytes fields = tx->unsigned_fields;
    if (fields.n == 0) {
        enc_fields(&made, tx);
        fields = cd_buf_bytes(&made);
    }
    /* EIP-155 puts chain id, 0, 0 behind the fields. */
    u8 tail[16];
    usize tail_n = 0;
    if (tx->type == CD_TX_LEGACY && tx->is_protected) {
        u8 be[8];
        cd_put_be64(be, tx->chain_id);
        usize n = tx->chain_id == 0 ? 0 : 8 - (usize)__builtin_clzll(tx->chain_id) / 8;
        if (n != 1 || be[7] >= 0x80) {
            tail[tail_n++] = (u8)(0x80 + n);
        }
        memcpy(tail + tail_n, be + 8 - n, n);
        tail_n += n;
        tail[tail_n++] = 0x80;
        tail[tail_n++] = 0x80;
    }
    u8 head[10];
    usize head_n = 0;
    if (tx->type != CD_TX_LEGACY) {
        head[head_n++] = (u8)tx->type;
    }
    head_n += cd_rlp_head(head + head_n, fields.n + tail_n);
    cd_keccak k;
    cd_keccak_init(&k);
    cd_keccak_update(&k, cd_bytes_of(head, head_n));
    cd_keccak_update(&k, fields);
    cd_keccak_update(&k, cd_bytes_of(tail, tail_n));
    cd_keccak_final(&k, out);
    cd_buf_fini(&made);
}

/* Makes the query for the sender of tx. */
static cd_err query_of(cd_secp256k1_query *out, const cd_tx *tx, bool low_s_only)
{
    cd_u256_store_be(out->sig, &tx->r);
    cd_u256_store_be(out->sig + 32, &tx->s);
    if (low_s_only && !cd_secp256k1_is_low_s(out->sig)) {
        return CD_ESIG;
    }
    out->recid = tx->y_parity;
    cd_tx_sign_hash(&out->msg, tx);
    return CD_OK;
}

cd_err cd_tx_recover(cd_tx *tx, bool low_s_only)
{
    cd_secp256k1_query q;
    CD_TRY(query_of(&q, tx, low_s_only));
    CD_TRY(cd_secp256k1_recover_addr(&tx->sender, &q.msg, q.sig, q.recid));
    tx->has_sender = true;
    return CD_OK;
}

cd_err cd_tx_recover_many(cd_tx *txs, usize cnt, bool low_s_only)
{
    enum { BATCH = 32 };
    cd_secp256k1_query queries[BATCH];
    cd_tx *asked[BATCH];
    cd_addr20 found[BATCH];
    bool ok[BATCH];
    for (usize i = 0; i < cnt;) {
        usize n = 0;
        for (; i < cnt && n < BATCH; i++) {
            if (!txs[i].has_sender) {
                CD_TRY(query_of(&queries[n], &txs[i], low_s_only));
                asked[n++] = &txs[i];
            }
        }
        cd_secp256k1_recover_many(found, ok, queries, n);
        for (usize j = 0; j < n; j++) {
            if (!ok[j]) {
                return CD_ESIG;
            }
            asked[j]->sender = found[j];
            asked[j]->has_sender = true;
        }
    }
    return CD_OK;
}

cd_err cd_tx_sign(cd_tx *tx, const u8 secret[32])
{
    cd_tx t = *tx;
    u8 sig[64];
    u8 recid;
    u8 pub[64];
    cd_hash32 msg;
    t.raw = (cd_bytes){0};
    t.unsigned_fields = (cd_bytes){0};
    t.is_protected |= t.type != CD_TX_LEGACY;
    cd_tx_sign_hash(&msg, &t);
    CD_TRY(cd_secp256k1_sign(sig, &recid, &msg, secret));
    CD_TRY(cd_secp256k1_pub(pub, secret));
    cd_u256_load_be(&t.r, sig);
    cd_u256_load_be(&t.s, sig + 32);
    t.y_parity = recid & 1;
    cd_secp256k1_addr(&t.sender, pub);
    t.has_sender = true;
    cd_tx_hash(&t.hash, &t);
    *tx = t;
    return CD_OK;
}

/* --- authorizations (EIP-7702) --- */

static void auth_hash(cd_hash32 *out, const cd_authorization *a)
{
    enum { MAGIC = 5 };
    cd_buf msg = {0};
    cd_buf_u8(&msg, MAGIC);
    usize list = cd_rlp_begin(&msg);
    enc_auth_fields(&msg, a);
    cd_rlp_close(&msg, list);
    cd_keccak256(out, cd_buf_bytes(&msg));
    cd_buf_fini(&msg);
}

cd_err cd_authorization_recover(cd_addr20 *out, const cd_authorization *a)
{
    cd_hash32 msg;
    u8 sig[64];
    cd_u256_store_be(sig, &a->r);
    cd_u256_store_be(sig + 32, &a->s);
    if (a->y_parity > 1 || !cd_secp256k1_is_low_s(sig)) {
        return CD_ESIG;
    }
    auth_hash(&msg, a);
    return cd_secp256k1_recover_addr(out, &msg, sig, a->y_parity);
}

cd_err cd_authorization_sign(cd_authorization *a, const u8 secret[32])
{
    cd_hash32 msg;
    u8 sig[64];
    u8 recid;
    auth_hash(&msg, a);
    CD_TRY(cd_secp256k1_sign(sig, &recid, &msg, secret));
    cd_u256_load_be(&a->r, sig);
    cd_u256_load_be(&a->s, sig + 32);
    a->y_parity = recid & 1;
    return CD_OK;
}
