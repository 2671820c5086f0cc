/* Money is conserved: random transactions, valid and not, in blocks with restarts and branches between; after each
 * block what exists of every asset is what there was, plus what was minted, minus what was burnt. */
#include "base/os/rng.h"
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROUNDS = 120, PER_ROUND = 12, PARTS = 3, UTXOS_MAX = 4096, SENT_MAX = PER_ROUND, ASSETS_MAX = 256 };

/* An output that can be spent. */
typedef struct purse {
    cd_hash32 tx_id;
    u32 idx;
    usize asset; /* in the list; 0 pays fees */
    u64 amount;  /* 0: the right to mint */
    int key;
    u64 locktime;
} purse;

/* A transaction that was issued, and what it changes if it is accepted. */
typedef struct sent {
    cd_hash32 id;
    u64 minted; /* of the asset that pays fees */
    u64 burnt;
    usize other; /* another asset, */
    u64 other_burnt;
    u64 created; /* or the amount of a new one, which is called like the transaction */
} sent;

/* An asset, and how much of it there is. */
typedef struct asset {
    cd_hash32 id;
    u64 sum;  /* as the store has it */
    u64 want; /* as it must be */
} asset;

typedef struct world {
    xrig r;
    cd_rng rng;
    purse purses[UTXOS_MAX];
    usize purse_cnt;
    asset assets[ASSETS_MAX];
    usize asset_cnt;
    sent sent[SENT_MAX];
    usize sent_cnt;
    usize accepted;
    usize refused;
} world;

static usize asset_of(world *w, const cd_hash32 *id)
{
    usize i = 0;
    while (i < w->asset_cnt && !cd_hash32_eq(&w->assets[i].id, id)) {
        i++;
    }
    if (i == w->asset_cnt) {
        assert_true(i < ASSETS_MAX);
        w->assets[w->asset_cnt++] = (asset){.id = *id};
    }
    return i;
}

/* Reads every UTXO there is. */
static void look(world *w)
{
    cd_kv_iter *it;
    cd_arena a = {0};
    cd_kv_range all = {.prefix = cd_bytes_str("u")};
    w->purse_cnt = 0;
    for (usize i = 0; i < w->asset_cnt; i++) {
        w->assets[i].sum = 0;
    }
    assert_int_equal(cd_kv_iter_new(&it, w->r.kv, &all), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_utxo u = {.out = {.v = NULL}};
        purse *p = &w->purses[w->purse_cnt];
        assert_int_equal(cd_utxo_parse(&u, &cd_x_utxo_table, &a, cd_kv_iter_value(it), NULL), CD_OK);
        const cd_owners *o = cd_utxo_owners(&u.out);
        *p = (purse){.tx_id = u.tx_id, .idx = u.output_idx, .locktime = o->locktime};
        p->asset = asset_of(w, &u.asset_id);
        p->key = memcmp(o->addrs.v, &w->r.addr[0], 20) == 0 ? 0 : 1;
        if (cd_utxo_amount(&p->amount, &u.out)) {
            w->assets[p->asset].sum += p->amount;
        }
        assert_true(++w->purse_cnt < UTXOS_MAX);
    }
    cd_kv_iter_free(it);
    cd_arena_fini(&a);
}

/* What a random transaction is made of. */
typedef struct draft {
    u32 zero;
    cd_transfer_input in[PARTS];
    cd_x_input ins[PARTS + 1];
    cd_transfer_output out[PARTS];
    cd_x_output outs[PARTS];
    u32 in_cnt;
    u32 out_cnt;
    u64 total;
    cd_x_base base;
} draft;

static void add_input(world *w, draft *d, const purse *p)
{
    u32 i = d->in_cnt++;
    d->in[i] = (cd_transfer_input){.amount = p->amount, .sig_indices = {.v = &d->zero, .cnt = 1}};
    d->ins[i] = (cd_x_input){.tx_id = p->tx_id,
                             .output_idx = p->idx,
                             .asset_id = w->assets[p->asset].id,
                             .in = {.is = cd_x_case(CD_X_SECP_INPUT), .v = &d->in[i]}};
    d->total += p->amount;
}

static int input_order(const cd_x_input *a, const cd_x_input *b)
{
    int c = memcmp(a->tx_id.b, b->tx_id.b, 32);
    return c != 0 ? c : a->output_idx < b->output_idx ? -1 : a->output_idx > b->output_idx;
}

/* Splits what comes in, ascending, as outputs must stand; what is left is burnt. */
static u64 add_outputs(world *w, draft *d, u64 left)
{
    u32 cnt = 1 + (u32)cd_rng_below(&w->rng, PARTS);
    u64 share = left / cnt;
    u64 spent = 0;
    for (u32 i = 0; i < cnt; i++) {
        int to = (int)cd_rng_below(&w->rng, 2);
        bool is_locked = cd_rng_below(&w->rng, 20) == 0;
        u64 amount = share - (cnt - 1 - i);
        d->out[i] = (cd_transfer_output){.amount = amount,
                                         .owners = {.locktime = is_locked ? w->r.clock.now_s + 50 : 0,
                                                    .threshold = 1,
                                                    .addrs = {.v = &w->r.addr[to], .cnt = 1}}};
        d->outs[i] = (cd_x_output){.asset_id = w->r.asset, .out = {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &d->out[i]}};
        spent += amount;
    }
    d->out_cnt = cnt;
    return spent;
}

/* Makes one thing wrong, which no block may take. */
static void spoil(world *w, draft *d)
{
    switch (cd_rng_below(&w->rng, 5)) {
    case 0:
        d->out[d->out_cnt - 1].amount += (u64)RIG_FEE * 2; /* more than there is, or less than the fee */
        d->out[d->out_cnt - 1].amount += d->total;
        break;
    case 1:
        d->in[0].amount += 1; /* as much as is not there */
        break;
    case 2:
        d->ins[0].output_idx += 100000;
        break;
    case 3:
        d->out[0].amount = 0;
        break;
    default:
        d->base.network_id ^= 1;
        break;
    }
}

/* says: what the transaction changes; its ID is put in. */
static void submit(world *w, cd_x_tx *tx, u32 creds, int key, sent says, bool is_spoilt)
{
    cd_buf bytes = {0};
    cd_hash32 id;
    const cd_x_type kinds[PARTS + 1] = {CD_X_SECP_CREDENTIAL, CD_X_SECP_CREDENTIAL, CD_X_SECP_CREDENTIAL,
                                        CD_X_SECP_CREDENTIAL};
    rig_sign(&w->r, &bytes, tx, kinds, creds, key);
    bool is_checked = cd_rng_below(&w->rng, 2) == 0;
    cd_err e = cd_xvm_issue(w->r.vm, &id, cd_buf_bytes(&bytes), is_checked, NULL);
    if (e == CD_OK) {
        says.id = id;
        w->sent[w->sent_cnt++] = says;
    } else {
        w->refused++;
    }
    assert_false(e == CD_OK && is_checked && is_spoilt);
    cd_buf_fini(&bytes);
}

static const purse *pick(world *w)
{
    for (int tries = 0; tries < 50; tries++) {
        const purse *p = &w->purses[cd_rng_below(&w->rng, w->purse_cnt)];
        if (p->asset == 0 && p->amount > 4 * (u64)RIG_FEE) {
            return p;
        }
    }
    return NULL;
}

static void send_base(world *w)
{
    draft d = {.base = {.network_id = RIG_NETWORK, .chain_id = w->r.chain_id}};
    const purse *p = pick(w);
    bool is_bad = cd_rng_below(&w->rng, 3) == 0;
    if (p == NULL) {
        return;
    }
    add_input(w, &d, p);
    const purse *q = pick(w);
    if (q != NULL && q->key == p->key) { /* often the same: then it is taken twice */
        add_input(w, &d, q);
        if (input_order(&d.ins[0], &d.ins[1]) > 0) {
            cd_x_input t = d.ins[0];
            d.ins[0] = d.ins[1];
            d.ins[1] = t;
        }
    }
    u64 extra = cd_rng_below(&w->rng, 2) * 17;
    u64 out = add_outputs(w, &d, d.total - RIG_FEE - extra);
    u64 burnt = d.total - out;
    if (is_bad) {
        spoil(w, &d);
    }
    d.base.ins = (cd_linear_list){.v = d.ins, .cnt = d.in_cnt};
    d.base.outs = (cd_linear_list){.v = d.outs, .cnt = d.out_cnt};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &d.base}};
    submit(w, &tx, d.in_cnt, p->key, (sent){.burnt = burnt}, is_bad);
}

static const purse *right_to_mint(const world *w)
{
    for (usize i = 0; i < w->purse_cnt; i++) {
        if (w->purses[i].amount == 0) {
            return &w->purses[i];
        }
    }
    return NULL;
}

static void send_mint(world *w)
{
    rig_transfer t;
    u32 zero = 0;
    const purse *p = pick(w);
    const purse *m = right_to_mint(w);
    assert_non_null(m); /* it never goes away */
    if (p == NULL || p->key != 0) {
        return;
    }
    cd_owners me = {.threshold = 1, .addrs = {.v = &w->r.addr[0], .cnt = 1}};
    u64 amount = 1 + cd_rng_below(&w->rng, 1000000);
    cd_x_secp_mint mint = {.input = {.sig_indices = {.v = &zero, .cnt = 1}},
                           .mint_output = me,
                           .output = {.amount = amount, .owners = me}};
    cd_x_utxo_id id = {.tx_id = m->tx_id, .output_idx = m->idx};
    cd_x_op op = {
        .asset_id = w->r.asset, .utxo_ids = {.v = &id, .cnt = 1}, .op = {.is = cd_x_case(CD_X_SECP_MINT), .v = &mint}};
    rig_transfer_init(&w->r, &t, &p->tx_id, p->idx, p->amount, RIG_FEE, 0);
    cd_x_operation body = {.base = t.base, .ops = {.v = &op, .cnt = 1}};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_OPERATION), .v = &body}};
    submit(w, &tx, 2, 0, (sent){.minted = amount, .burnt = RIG_FEE}, false);
}

/* Creates an asset, all of it in one output. */
static void send_create(world *w)
{
    rig_transfer t;
    const purse *p = pick(w);
    if (p == NULL || p->key != 0 || w->asset_cnt > ASSETS_MAX - SENT_MAX - 1) {
        return;
    }
    u64 amount = 1 + cd_rng_below(&w->rng, 1000);
    cd_transfer_output some = {.amount = amount,
                               .owners = {.threshold = 1, .addrs = {.v = &w->r.addr[p->key], .cnt = 1}}};
    cd_linear_any out = {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &some};
    cd_x_initial_state states = {.outs = {.v = &out, .cnt = 1}};
    rig_transfer_init(&w->r, &t, &p->tx_id, p->idx, p->amount, RIG_FEE, 0);
    cd_x_create_asset create = {
        .base = t.base, .name = cd_bytes_str("Thing"), .symbol = cd_bytes_str("T"), .states = {.v = &states, .cnt = 1}};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &create}};
    submit(w, &tx, 1, p->key, (sent){.burnt = RIG_FEE, .created = amount}, false);
}

static const purse *pick_other(world *w, int key)
{
    for (int tries = 0; tries < 50; tries++) {
        const purse *p = &w->purses[cd_rng_below(&w->rng, w->purse_cnt)];
        if (p->asset != 0 && p->key == key) {
            return p;
        }
    }
    return NULL;
}

/* Gives on another asset, or burns a part of it, or tries to make more of it. */
static void send_other(world *w)
{
    draft d = {.base = {.network_id = RIG_NETWORK, .chain_id = w->r.chain_id}};
    const purse *p = pick(w);
    const purse *q = p == NULL ? NULL : pick_other(w, p->key);
    if (q == NULL) {
        return;
    }
    add_input(w, &d, p);
    add_input(w, &d, q);
    if (input_order(&d.ins[0], &d.ins[1]) > 0) {
        cd_x_input t = d.ins[0];
        d.ins[0] = d.ins[1];
        d.ins[1] = t;
    }
    bool is_bad = cd_rng_below(&w->rng, 3) == 0;
    u64 burnt = is_bad || q->amount == 1 ? 0 : cd_rng_below(&w->rng, 2);
    const u64 amounts[2] = {p->amount - RIG_FEE, q->amount - burnt + (is_bad ? 1 : 0)};
    const usize assets[2] = {0, q->asset};
    bool is_swapped = memcmp(&w->assets[0].id, &w->assets[q->asset].id, 32) > 0;
    for (usize i = 0; i < 2; i++) {
        usize k = is_swapped ? 1 - i : i;
        d.out[i] = (cd_transfer_output){
            .amount = amounts[k],
            .owners = {.threshold = 1, .addrs = {.v = &w->r.addr[cd_rng_below(&w->rng, 2)], .cnt = 1}}};
        d.outs[i] = (cd_x_output){.asset_id = w->assets[assets[k]].id,
                                  .out = {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &d.out[i]}};
    }
    d.base.ins = (cd_linear_list){.v = d.ins, .cnt = 2};
    d.base.outs = (cd_linear_list){.v = d.outs, .cnt = 2};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &d.base}};
    submit(w, &tx, 2, p->key, (sent){.burnt = RIG_FEE, .other = q->asset, .other_burnt = burnt}, is_bad);
}

/* What a block did to the sums is what its transactions say. */
static void settle(world *w)
{
    for (usize i = 0; i < w->asset_cnt; i++) {
        w->assets[i].want = w->assets[i].sum;
    }
    for (usize i = 0; i < w->sent_cnt; i++) {
        bool is_in = false;
        assert_int_equal(cd_xvm_has_tx(w->r.kv, &is_in, &w->sent[i].id), CD_OK);
        if (is_in) {
            const sent *x = &w->sent[i];
            w->assets[0].want += x->minted - x->burnt;
            w->assets[x->other].want -= x->other_burnt;
            if (x->created > 0) {
                w->assets[asset_of(w, &x->id)].want = x->created;
            }
            w->accepted++;
        } else {
            w->refused++;
        }
    }
    w->sent_cnt = 0;
    look(w);
    for (usize i = 0; i < w->asset_cnt; i++) {
        assert_int_equal(w->assets[i].sum, w->assets[i].want);
    }
}

/* Two blocks of the same transactions on the same parent, of which one is accepted. */
static void branch(world *w)
{
    static const cd_vm_block_ctx no_ctx;
    const cd_vm_ops *ops = w->r.vm->ops;
    cd_vm_block *a = NULL;
    cd_vm_block *b = NULL;
    if (ops->build(w->r.vm, &a, &no_ctx, NULL) != CD_OK) {
        return;
    }
    w->r.clock.now_s++;
    if (ops->build(w->r.vm, &b, &no_ctx, NULL) != CD_OK) {
        assert_int_equal(ops->reject(w->r.vm, a), CD_OK);
        ops->release(w->r.vm, a);
        return;
    }
    assert_int_equal(rig_accept(&w->r, b), CD_OK);
    assert_int_equal(ops->reject(w->r.vm, a), CD_OK);
    ops->release(w->r.vm, a);
    ops->release(w->r.vm, b);
}

static void random_transactions(void **state)
{
    (void)state;
    static world w;
    rig_init(&w.r, "");
    w.rng = cd_rng_seeded(5);
    (void)asset_of(&w, &w.r.asset); /* the first of the list */
    look(&w);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PER_ROUND; i++) {
            switch (cd_rng_below(&w.rng, 8)) {
            case 0:
                send_mint(&w);
                break;
            case 1:
                send_create(&w);
                break;
            case 2:
            case 3:
                send_other(&w);
                break;
            default:
                send_base(&w);
                break;
            }
        }
        if (cd_rng_below(&w.rng, 2) == 0) {
            branch(&w);
        }
        while (rig_step(&w.r) == CD_OK) {
        }
        w.r.clock.now_s += 5;
        settle(&w);
        if (cd_rng_below(&w.rng, 5) == 0) { /* a crash */
            w.r.vm->ops->close(w.r.vm);
            w.r.vm = rig_open(&w.r, w.r.kv, "");
        }
    }
    print_message("%zu accepted, %zu refused\n", w.accepted, w.refused);
    assert_true(w.accepted > ROUNDS && w.refused > ROUNDS && w.asset_cnt > 10);
    rig_fini(&w.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_transactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
