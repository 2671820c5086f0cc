/* Unspent outputs by ID and by address, over layers, against a model; pages complete, without doubles, and no dearer
 * than they are long. */
#include "chains/utxo/store.h"

#include "base/os/rng.h"
#include "store/overlay.h"
#include "types/xtx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ADDRS = 6, UTXOS = 400 };

/* A kv that counts how often its iterators step and values are fetched. */
typedef struct counted {
    cd_kv base;
    cd_kv *inner;
    usize steps;
} counted;

typedef struct counted_iter {
    cd_kv_iter base;
    cd_kv_iter *inner;
    counted *of;
} counted_iter;

static bool counted_next(cd_kv_iter *it)
{
    counted_iter *c = (counted_iter *)it;
    bool found = cd_kv_iter_next(c->inner);
    c->of->steps++;
    it->err = cd_kv_iter_err(c->inner);
    if (found) {
        it->key = cd_kv_iter_key(c->inner);
        it->value = cd_kv_iter_value(c->inner);
    }
    return found;
}

static void counted_iter_free(cd_kv_iter *it)
{
    cd_kv_iter_free(((counted_iter *)it)->inner);
    free(it);
}

static const cd_kv_iter_ops counted_iter_ops = {.free = counted_iter_free, .next = counted_next};

static cd_err counted_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    counted_iter *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->base.ops = &counted_iter_ops;
    c->of = (counted *)kv;
    *out = &c->base;
    return cd_kv_iter_new(&c->inner, c->of->inner, range);
}

static cd_err counted_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    ((counted *)kv)->steps++;
    return cd_kv_get(((counted *)kv)->inner, out, key);
}

static const cd_kv_ops counted_ops = {.get = counted_get, .iter_new = counted_iter_new};

/* --- the model --- */

typedef struct model {
    cd_addr20 addr[ADDRS]; /* sorted */
    cd_addr20 owners[UTXOS][3];
    cd_transfer_output out[UTXOS];
    cd_utxo utxo[UTXOS];
    cd_hash32 id[UTXOS];
    bool is_there[UTXOS];
} model;

static void make_model(model *m, cd_rng *rng)
{
    memset(m, 0, sizeof *m);
    for (u32 i = 0; i < ADDRS; i++) {
        memset(m->addr[i].b, (int)(i + 1) * 30, 20);
    }
    for (u32 i = 0; i < UTXOS; i++) {
        cd_owners *o = &m->out[i].owners;
        u32 from = (u32)cd_rng_below(rng, ADDRS);
        o->addrs.v = m->owners[i];
        for (u32 k = from; k < ADDRS && o->addrs.cnt < 3; k++) {
            if (cd_rng_below(rng, 2) == 0) {
                m->owners[i][o->addrs.cnt++] = m->addr[k];
            }
        }
        o->threshold = o->addrs.cnt;
        m->out[i].amount = i + 1;
        m->utxo[i] = (cd_utxo){.output_idx = i, .out = {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &m->out[i]}};
        cd_rng_fill(rng, &m->utxo[i].tx_id, sizeof(cd_hash32));
        cd_utxo_id(&m->id[i], &m->utxo[i].tx_id, i);
    }
}

static bool owned_by(const model *m, u32 i, const cd_addr20 *addrs, usize cnt)
{
    for (u32 k = 0; k < m->out[i].owners.addrs.cnt; k++) {
        for (usize j = 0; j < cnt; j++) {
            if (cd_addr20_eq(&m->owners[i][k], &addrs[j])) {
                return true;
            }
        }
    }
    return false;
}

/* All pages of some addresses are what the model has of them, each once. */
static void check_pages(const model *m, cd_kv *kv, const cd_addr20 *addrs, usize cnt, usize limit)
{
    bool seen[UTXOS] = {false};
    cd_utxo_cursor at = {{{0}}, {{0}}};
    cd_arena a = {0};
    for (;;) {
        cd_addr20 asked[ADDRS * 2];
        usize n = cnt * 2;
        cd_utxo_found *found;
        usize got;
        for (usize i = 0; i < cnt; i++) { /* twice each, in the wrong order */
            asked[i] = addrs[cnt - 1 - i];
            asked[cnt + i] = addrs[i];
        }
        assert_int_equal(cd_utxo_page(&found, &got, &at, kv, &a, &cd_x_utxo_table, asked, &n, limit), CD_OK);
        assert_int_equal(n, cnt);
        assert_true(got <= limit);
        for (usize i = 0; i < got; i++) {
            u32 k = found[i].utxo.output_idx;
            assert_true(k < UTXOS && cd_hash32_eq(&m->id[k], &found[i].id));
            assert_true(m->is_there[k] && !seen[k]);
            seen[k] = true;
        }
        if (got < limit) {
            break;
        }
        cd_arena_reset(&a);
    }
    for (u32 i = 0; i < UTXOS; i++) {
        assert_int_equal(seen[i], m->is_there[i] && owned_by(m, i, addrs, cnt));
    }
    cd_arena_fini(&a);
}

static bool count_visit(void *ctx, const cd_hash32 *id, const cd_utxo *u)
{
    cd_hash32 want;
    cd_utxo_id(&want, &u->tx_id, u->output_idx);
    assert_memory_equal(&want, id, sizeof want);
    return ++*(usize *)ctx < UTXOS;
}

static void check_all(const model *m, cd_kv *kv)
{
    cd_arena a = {0};
    for (u32 i = 0; i < UTXOS; i++) {
        cd_utxo u;
        cd_err e = cd_utxo_get(&u, kv, &a, &cd_x_utxo_table, &m->id[i]);
        assert_int_equal(e, m->is_there[i] ? CD_OK : CD_ENOENT);
        if (e == CD_OK) {
            u64 amount = 0;
            assert_true(cd_utxo_amount(&amount, &u.out));
            assert_int_equal(amount, i + 1);
        }
    }
    for (usize from = 0; from < ADDRS; from++) {
        check_pages(m, kv, &m->addr[from], ADDRS - from, 7);
        check_pages(m, kv, &m->addr[from], 1, CD_UTXO_PAGE_MAX);
        usize each = 0;
        usize want = 0;
        assert_int_equal(cd_utxo_each(kv, &cd_x_utxo_table, &m->addr[from], NULL, count_visit, &each), CD_OK);
        for (u32 i = 0; i < UTXOS; i++) {
            want += m->is_there[i] && owned_by(m, i, &m->addr[from], 1);
        }
        assert_int_equal(each, want);
    }
    cd_arena_fini(&a);
}

/* Random changes through layers, of which the last accepted ones go into the base. */
static void as_the_model_over_layers(void **state)
{
    (void)state;
    static model m;
    cd_rng rng = cd_rng_seeded(3);
    cd_kv *base = cd_kv_mem_open();
    cd_overlay *ov = cd_overlay_new(base);
    cd_layer *parent = NULL;
    make_model(&m, &rng);
    for (int round = 0; round < 6; round++) {
        cd_layer *l;
        cd_kv_batch b = {0};
        assert_int_equal(cd_overlay_begin(ov, &l, parent), CD_OK);
        for (u32 i = 0; i < UTXOS; i++) {
            if (cd_rng_below(&rng, 3) != 0) {
                continue;
            }
            if (m.is_there[i]) {
                cd_utxo_del(&b, &m.utxo[i]);
            } else {
                cd_utxo_put(&b, &cd_x_utxo_table, &m.utxo[i]);
            }
            m.is_there[i] = !m.is_there[i];
        }
        assert_int_equal(cd_kv_commit(cd_layer_kv(l), &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
        cd_layer_seal(l);
        check_all(&m, cd_layer_kv(l));
        if (round % 2 == 1) {
            assert_int_equal(cd_layer_flatten(parent, NULL, CD_KV_NOSYNC, NULL), CD_OK);
            assert_int_equal(cd_layer_flatten(l, NULL, CD_KV_NOSYNC, NULL), CD_OK);
            check_all(&m, base);
        }
        parent = round % 2 == 1 ? NULL : l;
    }
    cd_overlay_free(ov);
    cd_kv_close(base);
}

/* Fills a store with cnt UTXOs of two owners. */
static void put_shared(cd_kv *kv, const cd_addr20 owners[2], u32 cnt)
{
    cd_transfer_output out = {.amount = 1, .owners = {.threshold = 1, .addrs = {.cnt = 2}}};
    cd_kv_batch b = {0};
    cd_addr20 both[2] = {owners[0], owners[1]};
    out.owners.addrs.v = both;
    for (u32 i = 0; i < cnt; i++) {
        cd_utxo u = {.output_idx = i, .out = {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &out}};
        cd_utxo_put(&b, &cd_x_utxo_table, &u);
    }
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
}

/* Asking for a few of many costs a few; a page that finds only what was given before ends, and its cursor goes on. */
static void pages_cost_their_size(void **state)
{
    (void)state;
    enum { MANY = 40000 };
    cd_addr20 a[2] = {{{1}}, {{2}}};
    counted c = {.base.ops = &counted_ops, .inner = cd_kv_mem_open()};
    cd_arena arena = {0};
    cd_utxo_cursor at = {{{0}}, {{0}}};
    usize n = 2;
    usize got = 0;
    usize total = 0;
    usize pages = 0;
    cd_utxo_found *found;
    put_shared(c.inner, a, MANY);
    assert_int_equal(cd_utxo_page(&found, &got, &at, &c.base, &arena, &cd_x_utxo_table, a, &n, 5), CD_OK);
    assert_int_equal(got, 5);
    assert_true(c.steps <= 12);
    cd_hash32 before;
    do { /* to the end: nothing twice, no page above the bound */
        before = at.utxo;
        c.steps = 0;
        total += got;
        cd_arena_reset(&arena);
        assert_int_equal(cd_utxo_page(&found, &got, &at, &c.base, &arena, &cd_x_utxo_table, a, &n, 1024), CD_OK);
        assert_true(c.steps <= (usize)2 * (1024 + (16 << 10) + 4));
        pages++;
    } while (!cd_hash32_eq(&before, &at.utxo));
    assert_int_equal(total, MANY);
    assert_true(pages > MANY / 1024);
    cd_arena_fini(&arena);
    cd_kv_close(c.inner);
}

/* A page looks at 16 MiB, whether it gives them or passes them over; nothing is lost by that. */
static void large_ones_end_a_page(void **state)
{
    (void)state;
    enum { CNT = 200, PAYLOAD = 200 << 10 };
    cd_addr20 a[2] = {{{1}}, {{2}}};
    static u8 payload[PAYLOAD];
    counted c = {.base.ops = &counted_ops, .inner = cd_kv_mem_open()};
    cd_arena arena = {0};
    cd_utxo_cursor at = {{{0}}, {{0}}};
    usize n = 2;
    usize got = 0;
    usize total = 0;
    cd_utxo_found *found;
    cd_hash32 before;
    cd_x_nft_output out = {.payload = cd_bytes_of(payload, PAYLOAD),
                           .owners = {.threshold = 1, .addrs = {.v = a, .cnt = 2}}};
    for (u32 i = 0; i < CNT; i++) {
        cd_kv_batch b = {0};
        cd_utxo u = {.output_idx = i, .out = {.is = cd_x_case(CD_X_NFT_OUTPUT), .v = &out}};
        cd_utxo_put(&b, &cd_x_utxo_table, &u);
        assert_int_equal(cd_kv_commit(c.inner, &b, CD_KV_NOSYNC, NULL), CD_OK);
        cd_kv_batch_fini(&b);
    }
    do {
        cd_addr20 asked[2] = {a[0], a[1]};
        before = at.utxo;
        c.steps = 0;
        cd_arena_reset(&arena);
        assert_int_equal(cd_utxo_page(&found, &got, &at, &c.base, &arena, &cd_x_utxo_table, asked, &n, 1024), CD_OK);
        assert_true(c.steps <= (usize)2 * ((16 << 20) / PAYLOAD + 4));
        total += got;
    } while (!cd_hash32_eq(&before, &at.utxo));
    assert_int_equal(total, CNT);
    cd_arena_fini(&arena);
    cd_kv_close(c.inner);
}

/* An index row without its UTXO is damage, not an end. */
static void damage_is_told(void **state)
{
    (void)state;
    cd_addr20 a[2] = {{{1}}, {{2}}};
    cd_kv *kv = cd_kv_mem_open();
    cd_arena arena = {0};
    cd_utxo_cursor at = {{{0}}, {{0}}};
    usize n = 1;
    usize got;
    cd_utxo_found *found;
    cd_hash32 zero = {{0}};
    cd_hash32 id;
    u8 key[33] = {'u'};
    put_shared(kv, a, 1);
    cd_utxo_id(&id, &zero, 0);
    memcpy(key + 1, id.b, 32);
    assert_int_equal(cd_kv_put(kv, cd_bytes_of(key, 33), cd_bytes_str("?")), CD_OK);
    assert_int_equal(cd_utxo_page(&found, &got, &at, kv, &arena, &cd_x_utxo_table, a, &n, 5), CD_ECORRUPT);
    assert_int_equal(cd_kv_del(kv, cd_bytes_of(key, 33)), CD_OK);
    assert_int_equal(cd_utxo_page(&found, &got, &at, kv, &arena, &cd_x_utxo_table, a, &n, 5), CD_ECORRUPT);
    cd_arena_fini(&arena);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_model_over_layers),
        cmocka_unit_test(pages_cost_their_size),
        cmocka_unit_test(large_ones_end_a_page),
        cmocka_unit_test(damage_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
