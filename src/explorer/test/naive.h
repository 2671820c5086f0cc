/* What the index should say, found without it: every block walked, every transaction traced again, everything kept
 * in arrays. Test code: included by one file each. */
#ifndef CD_EXPLORER_TEST_NAIVE_H
#define CD_EXPLORER_TEST_NAIVE_H

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "chains/evmchain/tracers/replay.h"
#include "explorer/index.h"

/* Somebody took part at a place, in what way. */
typedef struct naive_fact {
    char what; /* t: transaction, m: token moved, k: said by a token, i: value moved inside */
    cd_addr20 addr;
    cd_index_at at;
    cd_token_move move;         /* m, k */
    cd_index_internal internal; /* i */
} naive_fact;

typedef struct naive_made {
    cd_addr20 contract;
    cd_index_creation by;
} naive_made;

typedef struct naive {
    naive_fact *v; /* oldest first */
    usize cnt;
    usize cap;
    naive_made *made;
    usize made_cnt;
    u32 item; /* of the next transfer in the block */
} naive;

static inline void naive_fini(naive *n)
{
    cd_free(n->v);
    cd_free(n->made);
    *n = (naive){0};
}

static inline void naive_add(naive *n, const naive_fact *f)
{
    if (n->cnt == n->cap) {
        n->cap = n->cap == 0 ? 1024 : 2 * n->cap;
        n->v = cd_realloc(n->v, n->cap * sizeof *n->v);
    }
    n->v[n->cnt++] = *f;
}

/* The same fact of two addresses, which may be one. */
static inline void naive_pair(naive *n, naive_fact f, const cd_addr20 *a, const cd_addr20 *b)
{
    f.addr = *a;
    naive_add(n, &f);
    f.addr = *b;
    if (!cd_addr20_eq(a, b)) {
        naive_add(n, &f);
    }
}

static inline void naive_create(naive *n, const cd_addr20 *contract, const cd_index_creation *by)
{
    n->made = cd_realloc(n->made, (n->made_cnt + 1) * sizeof *n->made);
    n->made[n->made_cnt++] = (naive_made){.contract = *contract, .by = *by};
}

static inline bool naive_is(cd_json call, const char *key, const char *text)
{
    cd_bytes s;
    return cd_json_str(&s, cd_json_get(call, key), NULL) == CD_OK && cd_bytes_eq(s, cd_bytes_str(text));
}

/* A call below the outermost one that did not fail, nor anything around it; then those below it. */
static inline cd_err naive_call(naive *n, cd_json call, cd_index_at at, u32 depth)
{
    if (cd_json_has(cd_json_get(call, "error"))) {
        return CD_OK;
    }
    if (depth != 0) {
        cd_index_internal x = {.depth = depth};
        bool is_create = naive_is(call, "type", "CREATE") || naive_is(call, "type", "CREATE2");
        bool carries = is_create || naive_is(call, "type", "CALL") || naive_is(call, "type", "SELFDESTRUCT");
        CD_TRY(cd_json_fixed(x.from.b, 20, cd_json_get(call, "from"), NULL));
        CD_TRY(cd_json_fixed(x.to.b, 20, cd_json_get(call, "to"), NULL));
        if (cd_json_has(cd_json_get(call, "value"))) {
            CD_TRY(cd_json_qty_u256(&x.value, cd_json_get(call, "value"), NULL));
        }
        if (carries && (is_create || !cd_u256_is_zero(&x.value)) && !cd_addr20_eq(&x.from, &x.to)) {
            at.item = n->item++;
            x.at = at;
            naive_pair(n, (naive_fact){.what = 'i', .at = at, .internal = x}, &x.from, &x.to);
            if (is_create) {
                naive_create(n, &x.to, &(cd_index_creation){.at = at, .creator = x.from, .is_internal = true});
            }
        }
    }
    cd_json_it it = cd_json_iter(cd_json_get(call, "calls"));
    while (cd_json_next(&it)) {
        CD_TRY(naive_call(n, it.val, at, depth + 1));
    }
    return CD_OK;
}

static inline void naive_tx(naive *n, const cd_accepted *b, cd_index_at at)
{
    const cd_tx *tx = &b->block.txs[at.tx];
    const cd_receipt *r = &b->receipts[at.tx];
    const naive_fact f = {.what = 't', .at = at};
    if (!tx->is_create) {
        naive_pair(n, f, &tx->sender, &tx->to);
    } else if (r->ok) {
        naive_pair(n, f, &tx->sender, &r->created);
        naive_create(n, &r->created, &(cd_index_creation){.at = at, .creator = tx->sender});
    } else {
        naive_pair(n, f, &tx->sender, &tx->sender);
    }
    for (usize j = 0; j < r->log_cnt; j++) {
        for (u32 k = 0; k < cd_token_moves_cnt(&r->logs[j]); k++) {
            naive_fact m = {.at = {at.height, at.tx, (u32)j, k}};
            cd_token_moves_get(&m.move, &r->logs[j], k);
            m.move.at = m.at;
            m.what = 'm';
            naive_pair(n, m, &m.move.from, &m.move.to);
            m.what = 'k';
            m.addr = m.move.token;
            naive_add(n, &m);
        }
    }
}

static inline cd_err naive_block(naive *n, cd_view *v, const cd_accepted *b, cd_errinfo *why)
{
    static const cd_trace_opts opts = {.tracer = "callTracer", .timeout_ns = 60 * CD_NS_PER_SEC};
    cd_replay *r = NULL;
    n->item = 0;
    cd_err e = b->block.tx_cnt == 0 ? CD_OK : cd_replay_new(&r, v, &b->block, why);
    for (u32 i = 0; e == CD_OK && i < b->block.tx_cnt; i++) {
        const cd_index_at at = {b->block.header.number, i, 0, 0};
        cd_arena a = {0};
        cd_buf text = {0};
        cd_json_w w = {.out = &text};
        cd_json doc;
        naive_tx(n, b, at);
        e = cd_replay_trace(r, &w, &opts, cd_clock_real(), why);
        e = e != CD_OK ? e : cd_json_parse(&doc, &a, cd_buf_bytes(&text), 0, why);
        e = e != CD_OK ? e : naive_call(n, doc, at, 0);
        cd_buf_fini(&text);
        cd_arena_fini(&a);
    }
    cd_replay_free(r);
    return e;
}

/* naive_walk finds every fact of the chain in a view. */
static inline cd_err naive_walk(naive *n, cd_view *v, cd_errinfo *why)
{
    u64 head = cd_view_head(v)->block.header.number;
    cd_err e = CD_OK;
    for (u64 h = 1; h <= head && e == CD_OK; h++) {
        cd_arena a = {0};
        const cd_accepted *b;
        e = cd_view_block(v, &b, &a, h);
        e = e == CD_OK ? naive_block(n, v, b, why) : e;
        cd_arena_fini(&a);
    }
    return e;
}

static inline bool naive_at_eq(const cd_index_at *x, const cd_index_at *y)
{
    return x->height == y->height && x->tx == y->tx && x->item == y->item && x->sub == y->sub;
}

static inline bool naive_move_eq(const cd_token_move *x, const cd_token_move *y)
{
    return naive_at_eq(&x->at, &y->at) && cd_addr20_eq(&x->token, &y->token) && x->kind == y->kind &&
           cd_addr20_eq(&x->from, &y->from) && cd_addr20_eq(&x->to, &y->to) && cd_u256_eq(&x->id, &y->id) &&
           cd_u256_eq(&x->amount, &y->amount);
}

static inline bool naive_internal_eq(const cd_index_internal *x, const cd_index_internal *y)
{
    return naive_at_eq(&x->at, &y->at) && cd_addr20_eq(&x->from, &y->from) && cd_addr20_eq(&x->to, &y->to) &&
           cd_u256_eq(&x->value, &y->value) && x->depth == y->depth;
}

enum { NAIVE_PAGE = 7 };

/* A page of one list, and what its rows are. */
typedef union naive_page {
    cd_index_at txs[NAIVE_PAGE];
    cd_token_move moves[NAIVE_PAGE];
    cd_index_internal internals[NAIVE_PAGE];
} naive_page;

static inline cd_err naive_ask(naive_page *p, usize *cnt, cd_view *v, char what, const cd_addr20 *addr,
                               const cd_index_at *before)
{
    switch (what) {
    case 't':
        return cd_index_txs(v, p->txs, cnt, NAIVE_PAGE, addr, before);
    case 'm':
        return cd_index_moves(v, p->moves, cnt, NAIVE_PAGE, addr, before);
    case 'k':
        return cd_index_moves_of_token(v, p->moves, cnt, NAIVE_PAGE, addr, before);
    default:
        return cd_index_internals(v, p->internals, cnt, NAIVE_PAGE, addr, before);
    }
}

static inline bool naive_row_eq(const naive_page *p, usize i, const naive_fact *f)
{
    return f->what == 't'   ? naive_at_eq(&p->txs[i], &f->at)
           : f->what == 'i' ? naive_internal_eq(&p->internals[i], &f->internal)
                            : naive_move_eq(&p->moves[i], &f->move);
}

/* One list of one address, page after page, against the facts. */
static inline cd_err naive_check_list(const naive *n, cd_view *v, char what, const cd_addr20 *addr, cd_errinfo *why)
{
    cd_index_at before = CD_INDEX_NEWEST;
    usize left = n->cnt;
    for (usize cnt = NAIVE_PAGE; cnt == NAIVE_PAGE;) {
        naive_page p;
        CD_TRY(naive_ask(&p, &cnt, v, what, addr, &before));
        for (usize i = 0; i < NAIVE_PAGE; i++) {
            while (left != 0 && (n->v[left - 1].what != what || !cd_addr20_eq(&n->v[left - 1].addr, addr))) {
                left--;
            }
            if ((left == 0) != (i >= cnt) || (left != 0 && !naive_row_eq(&p, i, &n->v[left - 1]))) {
                return cd_fail(why, CD_ECORRUPT, "list %c of %02x%02x…, row %zu of %zu: block %llu, not %llu", what,
                               addr->b[0], addr->b[1], i, cnt,
                               (unsigned long long)(i < cnt && what == 't' ? p.txs[i].height : 0),
                               (unsigned long long)(left == 0 ? 0 : n->v[left - 1].at.height));
            }
            if (left == 0) {
                return CD_OK;
            }
            before = n->v[--left].at;
        }
    }
    return CD_OK;
}

static inline cd_err naive_check_made(const naive *n, cd_view *v, const cd_addr20 *addr, cd_errinfo *why)
{
    cd_index_creation got;
    const cd_index_creation *want = NULL;
    for (usize i = 0; i < n->made_cnt; i++) {
        want = cd_addr20_eq(&n->made[i].contract, addr) ? &n->made[i].by : want;
    }
    cd_err e = cd_index_creation_get(v, &got, addr);
    bool agrees = want == NULL ? e == CD_ENOENT
                               : e == CD_OK && naive_at_eq(&got.at, &want->at) &&
                                     cd_addr20_eq(&got.creator, &want->creator) && got.is_internal == want->is_internal;
    return agrees ? CD_OK : cd_fail(why, CD_ECORRUPT, "creation of %02x%02x…", addr->b[0], addr->b[1]);
}

/* Who got something is among those that the index names. */
static inline cd_err naive_check_holding(cd_view *v, const cd_token_move *m, cd_errinfo *why)
{
    static const cd_addr20 nobody;
    cd_index_holding h[64];
    usize cnt = 0;
    bool found = cd_addr20_eq(&m->to, &nobody);
    const cd_index_holding *after = NULL;
    do {
        CD_TRY(cd_index_holdings(v, h, &cnt, CD_COUNT(h), &m->to, after));
        for (usize i = 0; i < cnt; i++) {
            found = found || (cd_addr20_eq(&h[i].token, &m->token) && h[i].kind == m->kind &&
                              (m->kind == CD_TOKEN_ERC20 || cd_u256_eq(&h[i].id, &m->id)));
        }
        after = cnt == 0 ? NULL : &h[cnt - 1];
    } while (cnt == CD_COUNT(h) && !found);
    return found ? CD_OK : cd_fail(why, CD_ECORRUPT, "a holding is missing");
}

static inline cd_err naive_check_tokens(const naive *n, cd_view *v, cd_errinfo *why)
{
    cd_index_token t[3];
    cd_index_at before = CD_INDEX_NEWEST;
    usize cnt = CD_COUNT(t);
    usize told = 0;
    usize all = 0;
    for (usize i = 0; i < n->cnt; i++) {
        bool is_first = n->v[i].what == 'k' && n->v[i].at.sub == 0;
        for (usize j = 0; j < i && is_first; j++) {
            is_first = n->v[j].what != 'k' || !cd_addr20_eq(&n->v[j].addr, &n->v[i].addr);
        }
        if (is_first) {
            cd_index_token got;
            all++;
            CD_TRY(cd_index_token_get(v, &got, &n->v[i].addr));
            if (!naive_at_eq(&got.first, &n->v[i].at) || got.kind != n->v[i].move.kind) {
                return cd_fail(why, CD_ECORRUPT, "a token moved first elsewhere");
            }
        }
    }
    while (cnt == CD_COUNT(t)) {
        CD_TRY(cd_index_tokens(v, t, &cnt, CD_COUNT(t), &before));
        told += cnt;
        before = cnt != 0 ? t[cnt - 1].first : before;
    }
    return told == all ? CD_OK : cd_fail(why, CD_ECORRUPT, "%zu tokens instead of %zu", told, all);
}

/* naive_check compares everything that the index says in a view with the facts of that view. */
static inline cd_err naive_check(cd_view *v, cd_errinfo *why)
{
    naive n = {0};
    cd_err e = naive_walk(&n, v, why);
    for (usize i = 0; i < n.cnt && e == CD_OK; i++) {
        const naive_fact *f = &n.v[i];
        bool is_new = true;
        for (usize j = 0; j < i && is_new; j++) {
            is_new = !cd_addr20_eq(&n.v[j].addr, &f->addr);
        }
        for (const char *what = "tmki"; is_new && *what != '\0' && e == CD_OK; what++) {
            e = naive_check_list(&n, v, *what, &f->addr, why);
        }
        e = e == CD_OK && is_new ? naive_check_made(&n, v, &f->addr, why) : e;
        e = e == CD_OK && f->what == 'm' ? naive_check_holding(v, &f->move, why) : e;
    }
    e = e == CD_OK ? naive_check_tokens(&n, v, why) : e;
    naive_fini(&n);
    return e;
}

#endif
