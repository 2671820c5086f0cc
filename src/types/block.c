#include "types/block.h"

#include "crypto/hash/keccak.h"

/* Bytes of the shortest encodings, which bound counts before memory is taken. */
enum { TX_MIN = 10, UNCLE_MIN = 400, WITHDRAWAL_MIN = 25 };

/* Gives the number of items in a list; CD_ERANGE when so many items of item_min bytes do not fit into it. */
static cd_err count(usize *out, const cd_rlp *list, usize item_min)
{
    usize cnt = cd_rlp_count(list);
    if (cnt > (usize)(list->end - list->p) / item_min) {
        return CD_ERANGE;
    }
    *out = cnt;
    return CD_OK;
}

static cd_err dec_txs(cd_block *b, cd_arena *a, cd_rlp *r, cd_errinfo *why)
{
    cd_rlp list = cd_rlp_list(r);
    usize cnt;
    CD_TRY(count(&cnt, &list, TX_MIN));
    cd_tx *txs = cd_arena_array(a, cd_tx, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_tx_dec_item(&txs[i], a, &list, why));
    }
    cd_rlp_leave(r, &list);
    b->txs = txs;
    b->tx_cnt = cnt;
    return r->err;
}

static cd_err dec_uncles(cd_block *b, cd_arena *a, cd_header_layout layout, cd_rlp *r, cd_errinfo *why)
{
    cd_rlp list = cd_rlp_list(r);
    usize cnt;
    CD_TRY(count(&cnt, &list, UNCLE_MIN));
    cd_header *uncles = cd_arena_array(a, cd_header, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_header_dec(&uncles[i], layout, &list, why));
    }
    cd_rlp_leave(r, &list);
    b->uncles = uncles;
    b->uncle_cnt = cnt;
    return r->err;
}

static cd_err dec_withdrawals(cd_block *b, cd_arena *a, cd_rlp *r)
{
    cd_rlp list = cd_rlp_list(r);
    usize cnt;
    CD_TRY(count(&cnt, &list, WITHDRAWAL_MIN));
    cd_withdrawal *w = cd_arena_array(a, cd_withdrawal, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rlp f = cd_rlp_list(&list);
        w[i].index = cd_rlp_u64(&f);
        w[i].validator = cd_rlp_u64(&f);
        cd_rlp_fixed(&f, w[i].addr.b, 20);
        w[i].amount = cd_rlp_u64(&f);
        cd_rlp_leave(&list, &f);
    }
    cd_rlp_leave(r, &list);
    b->has_withdrawals = true;
    b->withdrawals = w;
    b->withdrawal_cnt = cnt;
    return r->err;
}

static cd_err dec_ext_data(cd_block *b, cd_rlp *r)
{
    u64 version = cd_rlp_u64(r);
    if (version > UINT32_MAX) {
        cd_rlp_fail(r, CD_ERANGE);
    }
    b->has_ext_data = true;
    b->version = (u32)version;
    b->ext_data = cd_rlp_str(r);
    return r->err;
}

/* Reads what follows the uncles, which depends on the layout. */
static cd_err dec_rest(cd_block *b, cd_arena *a, cd_header_layout layout, cd_rlp *r)
{
    switch (layout) {
    case CD_HEADER_ETHEREUM:
        return cd_rlp_more(r) ? dec_withdrawals(b, a, r) : CD_OK;
    case CD_HEADER_L1:
        return CD_OK;
    case CD_HEADER_L1_ATOMIC:
        return cd_rlp_more(r) ? dec_ext_data(b, r) : CD_OK;
    case CD_HEADER_C:
        return dec_ext_data(b, r);
    }
    CD_UNREACHABLE();
}

static cd_err dec_block(cd_block *b, cd_arena *a, cd_header_layout layout, cd_bytes in, cd_errinfo *why)
{
    cd_rlp top = cd_rlp_init(in);
    cd_rlp r = cd_rlp_list(&top);
    cd_bytes header = cd_bytes_of(r.p, 0);
    CD_TRY(cd_header_dec(&b->header, layout, &r, why));
    header.n = (usize)(r.p - header.p);
    cd_keccak256(&b->hash, header);
    CD_TRY(dec_txs(b, a, &r, why));
    CD_TRY(dec_uncles(b, a, layout, &r, why));
    CD_TRY(dec_rest(b, a, layout, &r));
    cd_rlp_leave(&top, &r);
    return cd_rlp_end(&top);
}

cd_err cd_block_dec(cd_block *out, cd_arena *a, cd_header_layout layout, cd_bytes in, cd_errinfo *why)
{
    if (in.n > CD_BLOCK_SIZE_MAX) {
        return cd_fail(why, CD_ELIMIT, "block of %zu bytes is too long", in.n);
    }
    cd_block b = {0};
    cd_errinfo part = {0};
    cd_err e = dec_block(&b, a, layout, in, &part);
    if (e != CD_OK) {
        return cd_fail(why, e, "block: %s", part.code == e ? part.msg : cd_err_str(e));
    }
    *out = b;
    return CD_OK;
}

void cd_withdrawal_enc(cd_buf *out, const cd_withdrawal *w)
{
    usize list = cd_rlp_begin(out);
    cd_rlp_put_u64(out, w->index);
    cd_rlp_put_u64(out, w->validator);
    cd_rlp_put_str(out, cd_bytes_of(w->addr.b, 20));
    cd_rlp_put_u64(out, w->amount);
    cd_rlp_close(out, list);
}

static void enc_uncles(cd_buf *out, cd_header_layout layout, const cd_header *uncles, usize cnt)
{
    usize list = cd_rlp_begin(out);
    for (usize i = 0; i < cnt; i++) {
        cd_header_enc(out, layout, &uncles[i]);
    }
    cd_rlp_close(out, list);
}

void cd_uncles_hash(cd_hash32 *out, cd_header_layout layout, const cd_header *uncles, usize cnt)
{
    cd_buf tmp = {0};
    enc_uncles(&tmp, layout, uncles, cnt);
    cd_keccak256(out, cd_buf_bytes(&tmp));
    cd_buf_fini(&tmp);
}

void cd_block_enc(cd_buf *out, cd_header_layout layout, const cd_block *b)
{
    usize block = cd_rlp_begin(out);
    cd_header_enc(out, layout, &b->header);
    usize txs = cd_rlp_begin(out);
    for (usize i = 0; i < b->tx_cnt; i++) {
        cd_tx_enc_item(out, &b->txs[i]);
    }
    cd_rlp_close(out, txs);
    enc_uncles(out, layout, b->uncles, b->uncle_cnt);
    if (b->has_withdrawals) {
        usize list = cd_rlp_begin(out);
        for (usize i = 0; i < b->withdrawal_cnt; i++) {
            cd_withdrawal_enc(out, &b->withdrawals[i]);
        }
        cd_rlp_close(out, list);
    }
    if (b->has_ext_data) {
        cd_rlp_put_u64(out, b->version);
        cd_rlp_put_str(out, b->ext_data);
    }
    cd_rlp_close(out, block);
}
