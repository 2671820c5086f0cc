/* Lists of the index: rows of one key walked from the place that the caller knows, newest first. */
#include "explorer/index_priv.h"

#include <stdlib.h>

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

/* --- rows of addresses --- */

/* What a list is made of, place after place; *more false ends the walk. */
typedef cd_err visit(void *ctx, bool *more, const cd_index_at *at);

/* Those of one block that were not folded yet, from the last on: those of one address came in the order of their
 * places. */
static cd_err walk_block(cd_bytes row, u64 height, const u8 *group, const cd_index_at *upto, visit *fn, void *ctx,
                         bool *more)
{
    enum { GROUP = 1 + 20, SIZE = sizeof(cd__ix_entry) };
    const u8 *last = NULL;
    cd_err e = row.n % SIZE == 0 ? CD_OK : CD_ECORRUPT;
    for (usize i = row.n; e == CD_OK && *more && i != 0; i -= SIZE) {
        const u8 *p = row.p + i - SIZE;
        if (memcmp(p, group, GROUP) != 0) {
            continue;
        }
        const cd_index_at at = {height, cd_be32(p + GROUP), cd_be32(p + GROUP + 4), 0};
        bool is_twice = last != NULL && memcmp(p, last, SIZE) == 0;
        last = p;
        if (!is_twice && !is_before(upto, &at)) {
            e = fn(ctx, more, &at);
        }
    }
    return e;
}

/* The newest blocks, whose entries were not folded yet. */
static cd_err walk_blocks(cd_view *v, const u8 *group, const cd_index_at *upto, visit *fn, void *ctx, bool *more)
{
    u8 key[10];
    cd_kv_iter *it = NULL;
    cd_bytes start = cd__ix_height_key(key, CD__IX_ENTRIES, upto->height);
    CD_TRY(cd_kv_iter_new(&it, cd_view_kv(v),
                          &(cd_kv_range){.prefix = cd_bytes_of(key, 2), .start = start, .reverse = true}));
    cd_err e = CD_OK;
    while (e == CD_OK && *more && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        e = k.n != sizeof key ? CD_ECORRUPT
                              : walk_block(cd_kv_iter_value(it), cd_be64(k.p + 2), group, upto, fn, ctx, more);
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

/* Calls fn for the places of an address at or before a place (which has no sub). */
static cd_err walk(cd_view *v, cd__ix_table t, const cd_addr20 *addr, const cd_index_at *upto, visit *fn, void *ctx)
{
    u8 key[CD__IX_ROW];
    cd_kv_iter *it = NULL;
    bool more = true;
    (void)cd__ix_key(key, t, addr, upto->height);
    CD_TRY(walk_blocks(v, key + 1, upto, fn, ctx, &more));
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

/* A list that is being read. */
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

/* --- tokens --- */

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

static cd_err moves(cd_view *v, cd__ix_table t, cd_token_move *out, usize *cnt, usize max, const cd_addr20 *addr,
                    const cd_index_at *before)
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

cd_err cd_index_moves_of_token(cd_view *v, cd_token_move *out, usize *cnt, usize max, const cd_addr20 *token,
                               const cd_index_at *before)
{
    return moves(v, CD__IX_SAID, out, cnt, max, token, before);
}

cd_err cd_index_token_get(cd_view *v, cd_index_token *out, const cd_addr20 *token)
{
    return cd__ix_first(cd_view_kv(v), out, token);
}

cd_err cd_index_tokens(cd_view *v, cd_index_token *out, usize *cnt, usize max, const cd_index_at *before)
{
    enum { PLACE = 10 + CD__IX_ITEM };
    u8 start[PLACE + 20];
    cd_kv_iter *it = NULL;
    usize n = 0;
    (void)cd__ix_height_key(start, CD__IX_TOKENS, before->height);
    cd_put_be32(start + 10, before->tx);
    cd_put_be32(start + 14, before->item);
    memset(start + PLACE, 0xff, 20);
    CD_TRY(cd_kv_iter_new(
        &it, cd_view_kv(v),
        &(cd_kv_range){.prefix = cd_bytes_of(start, 2), .start = cd_bytes_of(start, sizeof start), .reverse = true}));
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

/* --- holdings --- */

/* What the lists of holdings are made of: the keys of a table that begin with an address, folded or not. */
typedef struct gathering {
    u8 group[1 + 20]; /* table and address, which the keys begin with */
    cd__ix_got after;
    bool has_after;
    cd__ix_got *v;
    usize cnt;
    usize cap;
    usize max; /* at most so many folded keys are read */
    cd_arena a;
} gathering;

static void gather(gathering *g, const cd__ix_got *got)
{
    if (memcmp(got->b, g->group, sizeof g->group) != 0 ||
        (g->has_after && memcmp(got->b, g->after.b, sizeof got->b) <= 0)) {
        return;
    }
    if (g->cnt == g->cap) {
        g->cap = g->cap == 0 ? 64 : 2 * g->cap;
        cd__ix_got *more = cd_arena_array(&g->a, cd__ix_got, g->cap);
        if (g->cnt != 0) {
            memcpy(more, g->v, g->cnt * sizeof *more);
        }
        g->v = more;
    }
    g->v[g->cnt++] = *got;
}

static cd_err gather_rows(gathering *g, cd_kv *kv)
{
    u8 start[1 + sizeof(cd__ix_got)] = {CD__IX_PREFIX};
    usize middle = g->group[0] == CD__IX_IDS ? 21 : 41; /* where the kind is in a key without prefix */
    usize start_n = CD__IX_ADDR;
    cd_kv_iter *it = NULL;
    memcpy(start + 1, g->group, sizeof g->group);
    if (g->has_after) {
        usize id = g->after.b[41] == CD_TOKEN_ERC20 ? 1 : 33;
        memcpy(start + 1, g->after.b, middle);
        memcpy(start + 1 + middle, g->after.b + 41, id);
        start_n = 1 + middle + id;
    }
    CD_TRY(cd_kv_iter_new(
        &it, kv, &(cd_kv_range){.prefix = cd_bytes_of(start, CD__IX_ADDR), .start = cd_bytes_of(start, start_n)}));
    cd_err e = CD_OK;
    while (e == CD_OK && g->cnt < g->max && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        cd__ix_got got = {{0}};
        usize id = k.n - cd_min_u64(k.n, 1 + middle);
        e = (id == 1 || id == 33) && k.p[1 + middle] <= CD_TOKEN_ERC1155 ? CD_OK : CD_ECORRUPT;
        if (e == CD_OK) {
            memcpy(got.b, k.p + 1, middle);
            memcpy(got.b + 41, k.p + 1 + middle, id);
            gather(g, &got);
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

static cd_err gather_blocks(gathering *g, cd_kv *kv)
{
    static const u8 prefix[2] = {CD__IX_PREFIX, CD__IX_GOT};
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(prefix, 2)}));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes row = cd_kv_iter_value(it);
        e = row.n % sizeof(cd__ix_got) == 0 ? CD_OK : CD_ECORRUPT;
        for (usize i = 0; e == CD_OK && i < row.n; i += sizeof(cd__ix_got)) {
            gather(g, (const cd__ix_got *)(const void *)(row.p + i));
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

static int compare_got(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(cd__ix_got));
}

static cd_index_holding holding_of(const cd__ix_got *got)
{
    cd_index_holding h = {.kind = (cd_token_kind)got->b[41]};
    bool is_of_holder = got->b[0] == CD__IX_HOLDS;
    memcpy((is_of_holder ? &h.holder : &h.token)->b, got->b + 1, 20);
    memcpy((is_of_holder ? &h.token : &h.holder)->b, got->b + 21, 20);
    cd_u256_load_be(&h.id, got->b + 42);
    return h;
}

static cd_err holdings(cd_view *v, cd__ix_table t, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *addr,
                       const cd_index_holding *after)
{
    gathering g = {.group = {(u8)t}, .has_after = after != NULL, .max = max + 1};
    memcpy(g.group + 1, addr->b, 20);
    if (after != NULL) {
        memcpy(g.after.b, g.group, sizeof g.group);
        memcpy(g.after.b + 21, (t == CD__IX_HOLDS ? &after->token : &after->holder)->b, 20);
        g.after.b[41] = (u8)after->kind;
        cd_u256_store_be(g.after.b + 42, &after->id);
    }
    cd_err e = gather_rows(&g, cd_view_kv(v));
    e = e == CD_OK ? gather_blocks(&g, cd_view_kv(v)) : e;
    if (e == CD_OK && g.cnt > 1) {
        qsort(g.v, g.cnt, sizeof *g.v, compare_got);
    }
    usize n = 0;
    for (usize i = 0; e == CD_OK && i < g.cnt && n < max; i++) {
        if (i == 0 || compare_got(&g.v[i], &g.v[i - 1]) != 0) {
            out[n++] = holding_of(&g.v[i]);
        }
    }
    cd_arena_fini(&g.a);
    CD_TRY(e);
    *cnt = n;
    return CD_OK;
}

cd_err cd_index_holdings(cd_view *v, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *addr,
                         const cd_index_holding *after)
{
    return holdings(v, CD__IX_HOLDS, out, cnt, max, addr, after);
}

cd_err cd_index_holders(cd_view *v, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *token,
                        const cd_index_holding *after)
{
    return holdings(v, CD__IX_HOLDERS, out, cnt, max, token, after);
}

cd_err cd_index_ids(cd_view *v, cd_index_holding *out, usize *cnt, usize max, const cd_addr20 *token,
                    const cd_index_holding *after)
{
    return holdings(v, CD__IX_IDS, out, cnt, max, token, after);
}

/* --- inside transactions --- */

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
    ((cd_index_internal *)l->out)[l->cnt++] = internal_of(&l->inside[at->item], at->height, at->item);
    *more = l->cnt < l->max;
    return CD_OK;
}

cd_err cd_index_internals(cd_view *v, cd_index_internal *out, usize *cnt, usize max, const cd_addr20 *addr,
                          const cd_index_at *before)
{
    list l = {.v = v, .before = before, .max = max, .out = out};
    cd_err e = max == 0 ? CD_OK : walk(v, CD__IX_INTERNALS, addr, before, take_internal, &l);
    cd_arena_fini(&l.a);
    CD_TRY(e);
    *cnt = l.cnt;
    return CD_OK;
}

cd_err cd_index_internals_of_tx(cd_view *v, cd_index_internal *out, usize *cnt, usize max, const cd_index_at *at)
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
        cd_kv_iter_new(&it, cd_view_kv(v), &(cd_kv_range){.prefix = cd_bytes_of(key, CD__IX_ADDR), .reverse = true}));
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
