/* Lists of the index: rows of one key walked from the place that the caller knows, newest first. */
#include "explorer/index_priv.h"

static bool is_before(const cd_index_at *x, const cd_index_at *y)
{
    if (x->height != y->height) {
        return x->height < y->height;
    }
    if (x->tx != y->tx) {
        return x->tx < y->tx;
    }
    return x->item != y->item ? x->item < y->item : x->sub < y->sub;
}

/* --- rows of addresses --------------------------------------------------------------------------------------------- */

/* What a list is made of, place after place; *more false ends the walk. */
typedef cd_err visit(void *ctx, bool *more, const cd_index_at *at);

/* Calls fn for the places of an address at or before a place (which has no sub). */
static cd_err walk(cd_view *v, cd__ix_table t, const cd_addr20 *addr, const cd_index_at *upto,
                   visit *fn, void *ctx)
{
    u8 key[CD__IX_ROW];
    cd_kv_iter *it = NULL;
    bool more = true;
    (void)cd__ix_key(key, t, addr, upto->height);
    CD_TRY(cd_kv_iter_new(&it, cd_view_kv(v),
                          &(cd_kv_range){.prefix = cd_bytes_of(key, CD__IX_ADDR),
                                         .start = cd_bytes_of(key, sizeof key),
                                         .reverse = true}));
    cd_err e = CD_OK;
    while (e == CD_OK && more && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        cd_bytes row = cd_kv_iter_value(it);
        e = k.n == CD__IX_ROW && row.n % CD__IX_ITEM == 0 ? CD_OK : CD_ECORRUPT;
        for (usize i = row.n; e == CD_OK && more && i != 0; i -= CD__IX_ITEM) {
            const u8 *p = row.p + i - CD__IX_ITEM;
            cd_index_at at = {cd_be64(k.p + CD__IX_ADDR), cd_be32(p), cd_be32(p + 4), 0};
            if (!is_before(upto, &at)) {
                e = fn(ctx, &more, &at);
            }
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

/* A list in the making. */
typedef struct list {
    cd_view *v;
    const cd_index_at *before;
    usize max;
    usize cnt;
    void *out;
    /* The block that the last place was in. */
    cd_arena a;
    const cd_accepted *b;
    cd_transfer *inside;
    usize inside_cnt;
} list;

static cd_err take_tx(void *ctx, bool *more, const cd_index_at *at)
{
    list *l = ctx;
    if (l->cnt != l->max && is_before(at, l->before)) {
        ((cd_index_at *)l->out)[l->cnt++] = *at;
    }
    *more = l->cnt < l->max;
    return CD_OK;
}

cd_err cd_index_txs(cd_view *v, cd_index_at *out, usize *cnt, usize max, const cd_addr20 *addr,
                    const cd_index_at *before)
{
    list l = {.before = before, .max = max, .out = out};
    CD_TRY(walk(v, CD__IX_TXS, addr, before, take_tx, &l));
    *cnt = l.cnt;
    return CD_OK;
}

/* --- tokens -------------------------------------------------------------------------------------------------------- */

static cd_err load(list *l, u64 height)
{
    if (l->b == NULL || l->b->block.header.number != height) {
        cd_arena_reset(&l->a);
        l->b = NULL;
        cd_err e = cd_view_block(l->v, &l->b, &l->a, height);
        return e == CD_ENOENT ? CD_ECORRUPT : e;
    }
    return CD_OK;
}

static cd_err take_moves(void *ctx, bool *more, const cd_index_at *at)
{
    list *l = ctx;
    CD_TRY(load(l, at->height));
    if (at->tx >= l->b->block.tx_cnt || at->item >= l->b->receipts[at->tx].log_cnt) {
        return CD_ECORRUPT;
    }
    const cd_log *log = &l->b->receipts[at->tx].logs[at->item];
    cd_index_at place = *at;
    for (place.sub = cd_token_moves_cnt(log); place.sub != 0 && l->cnt < l->max;) {
        place.sub--;
        if (is_before(&place, l->before)) {
            cd_token_move *m = &((cd_token_move *)l->out)[l->cnt++];
            cd_token_moves_get(m, log, place.sub);
            m->at = place;
        }
    }
    *more = l->cnt < l->max;
    return CD_OK;
}

static cd_err moves(cd_view *v, cd__ix_table t, cd_token_move *out, usize *cnt, usize max,
                    const cd_addr20 *addr, const cd_index_at *before)
{
    list l = {.v = v, .before = before, .max = max, .out = out};
    cd_err e = walk(v, t, addr, before, take_moves, &l);
    cd_arena_fini(&l.a);
    CD_TRY(e);
    *cnt = l.cnt;
    return CD_OK;
}

cd_err cd_index_moves(cd_view *v, cd_token_move *out, usize *cnt, usize max, const cd_addr20 *addr,
                      const cd_index_at *before)
{
    return moves(v, CD__IX_MOVES, out, cnt, max, addr, before);
}

cd_err cd_index_moves_of_token(cd_view *v, cd_token_move *out, usize *cnt, usize max,
                               const cd_addr20 *token, const cd_index_at *before)
{
    return moves(v, CD__IX_SAID, out, cnt, max, token, before);
}

cd_err cd_index_token_get(cd_view *v, cd_index_token *out, const cd_addr20 *token)
{
    return cd__ix_first(cd_view_kv(v), out, token);
}

cd_err cd_index_tokens(cd_view *v, cd_index_token *out, usize *cnt, usize max,
                       const cd_index_at *before)
{
    enum { PLACE = 10 + CD__IX_ITEM };
    u8 start[PLACE + 20];
    cd_kv_iter *it = NULL;
    usize n = 0;
    (void)cd__ix_height_key(start, CD__IX_TOKENS, before->height);
    cd_put_be32(start + 10, before->tx);
    cd_put_be32(start + 14, before->item);
    memset(start + PLACE, 0xff, 20);
    CD_TRY(cd_kv_iter_new(&it, cd_view_kv(v),
                          &(cd_kv_range){.prefix = cd_bytes_of(start, 2),
                                         .start = cd_bytes_of(start, sizeof start),
                                         .reverse = true}));
    cd_err e = CD_OK;
    while (e == CD_OK && n < max && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        cd_index_at at;
        cd_index_token known;
        if (k.n != sizeof start) {
            e = CD_ECORRUPT;
            continue;
        }
        at = (cd_index_at){cd_be64(k.p + 2), cd_be32(k.p + 10), cd_be32(k.p + 14), 0};
        memcpy(known.addr.b, k.p + PLACE, 20);
        e = cd__ix_first(cd_view_kv(v), &known, &known.addr);
        if (e == CD_OK && is_before(&at, before) && known.first.height == at.height) {
            out[n++] = known;
        }
        e = e == CD_ENOENT ? CD_OK : e;
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    CD_TRY(e);
    *cnt = n;
    return CD_OK;
}

/* --- holdings ------------------------------------------------------------------------------------------------------ */

/* Reads kind and id at the end of a key. */
static cd_err dec_id(cd_index_holding *out, cd_bytes end)
{
    if (end.n == 0 || end.p[0] > CD_TOKEN_ERC1155 ||
        end.n != (end.p[0] == CD_TOKEN_ERC20 ? 1u : 33u)) {
        return CD_ECORRUPT;
    }
    out->kind = (cd_token_kind)end.p[0];
    out->id = cd_u256_zero();
    if (end.n == 33) {
        cd_u256_load_be(&out->id, end.p + 1);
    }
    return CD_OK;
}

static usize enc_id(u8 *out, const cd_index_holding *h)
{
    out[0] = (u8)h->kind;
    if (h->kind == CD_TOKEN_ERC20) {
        return 1;
    }
    cd_u256_store_be(out + 1, &h->id);
    return 33;
}

/* Keys of a table that begin with an address, and but for those of ids have another in the middle. */
static cd_err holdings(cd_view *v, cd__ix_table t, cd_index_holding *out, usize *cnt, usize max,
                       const cd_addr20 *addr, const cd_index_holding *after)
{
    u8 start[CD__IX_HELD + 33] = {CD__IX_PREFIX, (u8)t};
    usize middle = t == CD__IX_IDS ? 0 : 20;
    usize start_n = CD__IX_ADDR;
    cd_kv_iter *it = NULL;
    usize n = 0;
    memcpy(start + 2, addr->b, 20);
    if (after != NULL) {
        memcpy(start + CD__IX_ADDR, (t == CD__IX_HOLDS ? &after->token : &after->holder)->b,
               middle);
        start_n += middle + enc_id(start + CD__IX_ADDR + middle, after);
        start[start_n++] = 0; /* the next key there can be */
    }
    CD_TRY(cd_kv_iter_new(&it, cd_view_kv(v),
                          &(cd_kv_range){.prefix = cd_bytes_of(start, CD__IX_ADDR),
                                         .start = cd_bytes_of(start, start_n)}));
    cd_err e = CD_OK;
    while (e == CD_OK && n < max && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        cd_index_holding h = {.token = *addr};
        if (k.n < CD__IX_ADDR + middle) {
            e = CD_ECORRUPT;
            continue;
        }
        cd_addr20 *other = t == CD__IX_HOLDS ? &h.token : &h.holder;
        h.holder = t == CD__IX_HOLDS ? *addr : h.holder;
        memcpy(other->b, k.p + CD__IX_ADDR, middle);
        e = dec_id(&h, cd_bytes_sub(k, CD__IX_ADDR + middle, k.n - CD__IX_ADDR - middle));
        out[n] = h;
        n += e == CD_OK ? 1 : 0;
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    CD_TRY(e);
    *cnt = n;
    return CD_OK;
}

cd_err cd_index_holdings(cd_view *v, cd_index_holding *out, usize *cnt, usize max,
                         const cd_addr20 *addr, const cd_index_holding *after)
{
    return holdings(v, CD__IX_HOLDS, out, cnt, max, addr, after);
}

cd_err cd_index_holders(cd_view *v, cd_index_holding *out, usize *cnt, usize max,
                        const cd_addr20 *token, const cd_index_holding *after)
{
    return holdings(v, CD__IX_HOLDERS, out, cnt, max, token, after);
}

cd_err cd_index_ids(cd_view *v, cd_index_holding *out, usize *cnt, usize max,
                    const cd_addr20 *token, const cd_index_holding *after)
{
    return holdings(v, CD__IX_IDS, out, cnt, max, token, after);
}

/* --- inside transactions ------------------------------------------------------------------------------------------- */

static cd_index_internal internal_of(const cd_transfer *t, u64 height, usize k)
{
    return (cd_index_internal){
        .at = {height, t->tx, (u32)k, 0},
        .from = t->from,
        .to = t->to,
        .value = t->value,
        .depth = t->depth,
        .op = t->op,
    };
}

static cd_err take_internal(void *ctx, bool *more, const cd_index_at *at)
{
    list *l = ctx;
    cd_index_internal *last = l->cnt == 0 ? NULL : &((cd_index_internal *)l->out)[l->cnt - 1];
    if (!is_before(at, l->before)) {
        return CD_OK;
    }
    if (last == NULL || last->at.height != at->height) {
        cd_arena_reset(&l->a);
        CD_TRY(cd__ix_inside(cd_view_kv(l->v), &l->inside, &l->inside_cnt, &l->a, at->height));
    }
    if (at->item >= l->inside_cnt) {
        return CD_ECORRUPT;
    }
    ((cd_index_internal *)l->out)[l->cnt++] =
        internal_of(&l->inside[at->item], at->height, at->item);
    *more = l->cnt < l->max;
    return CD_OK;
}

cd_err cd_index_internals(cd_view *v, cd_index_internal *out, usize *cnt, usize max,
                          const cd_addr20 *addr, const cd_index_at *before)
{
    list l = {.v = v, .before = before, .max = max, .out = out};
    cd_err e = max == 0 ? CD_OK : walk(v, CD__IX_INTERNALS, addr, before, take_internal, &l);
    cd_arena_fini(&l.a);
    CD_TRY(e);
    *cnt = l.cnt;
    return CD_OK;
}

cd_err cd_index_internals_of_tx(cd_view *v, cd_index_internal *out, usize *cnt, usize max,
                                const cd_index_at *at)
{
    cd_arena a = {0};
    cd_transfer *t = NULL;
    usize all = 0;
    usize n = 0;
    cd_err e = cd__ix_inside(cd_view_kv(v), &t, &all, &a, at->height);
    for (usize k = at->item; e == CD_OK && k < all && n < max; k++) {
        if (t[k].tx == at->tx) {
            out[n++] = internal_of(&t[k], at->height, k);
        }
    }
    cd_arena_fini(&a);
    CD_TRY(e);
    *cnt = n;
    return CD_OK;
}

cd_err cd_index_creation_get(cd_view *v, cd_index_creation *out, const cd_addr20 *contract)
{
    u8 key[CD__IX_ROW];
    cd_kv_iter *it = NULL;
    (void)cd__ix_key(key, CD__IX_MADE, contract, 0);
    CD_TRY(
        cd_kv_iter_new(&it, cd_view_kv(v),
                       &(cd_kv_range){.prefix = cd_bytes_of(key, CD__IX_ADDR), .reverse = true}));
    cd_err e = CD_ENOENT;
    if (cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        cd_bytes value = cd_kv_iter_value(it);
        e = k.n == CD__IX_ROW && value.n == CD__IX_MADE_SIZE ? CD_OK : CD_ECORRUPT;
        if (e == CD_OK) {
            *out = (cd_index_creation){
                .at = {cd_be64(k.p + CD__IX_ADDR), cd_be32(value.p), cd_be32(value.p + 4), 0},
                .is_internal = value.p[8] != 0,
            };
            memcpy(out->creator.b, value.p + 9, 20);
        }
    } else if (cd_kv_iter_err(it) != CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}
