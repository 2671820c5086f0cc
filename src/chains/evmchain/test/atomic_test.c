/* Atomic transactions in the blocks of a C-Chain, in both layouts: the contract of vm/vm.h with them, money between two
 * chains with a crash between each two steps, what is refused, and the methods. */
#include "chains/evmchain/test/atomic_rig.h"

#include "vm/test/contract.h"

static const char *const layouts[] = {rig_genesis_c, rig_genesis_l1};

/* --- the contract --- */

enum { VMS = 16, OUTPUTS = 40 };

/* The contract opens VMs on stores of its own. */
typedef struct contract_world {
    const char *genesis;
    cd_clock_virtual clock;
    rig_keys keys;
    pair_rig rigs[VMS];
    usize cnt;
    u64 next;
} contract_world;

static cd_vm *open_for_contract(void *ctx, cd_kv *kv)
{
    contract_world *w = ctx;
    assert_true(w->cnt < VMS);
    pair_rig *r = &w->rigs[w->cnt++];
    rig_open_on(r, kv, "", w->genesis, &w->clock);
    cd_buf mark = {0};
    if (cd_kv_get(kv, &mark, cd_bytes_str("mark")) == CD_ENOENT) {
        for (u64 n = 0; n < OUTPUTS; n++) {
            assert_int_equal(rig_x_export(r, &w->keys.shorts[0], n, RIG_UNIT), CD_OK);
        }
        assert_int_equal(cd_kv_put(kv, cd_bytes_str("mark"), cd_bytes_str("x")), CD_OK);
    }
    cd_buf_fini(&mark);
    return r->vm;
}

static void want_for_contract(void *ctx, cd_vm *vm)
{
    contract_world *w = ctx;
    rig_tx t;
    cd_buf reply = {0};
    const pair_rig *r = NULL;
    for (usize i = 0; i < w->cnt; i++) {
        r = w->rigs[i].vm == vm ? &w->rigs[i] : r;
    }
    assert_non_null(r);
    rig_import_many(&t, &w->keys, 0, w->next++, 1, RIG_UNIT, 1000, &w->keys.eth[1]);
    const char *wrong = rig_issue(r, &reply, t.tx.bytes);
    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
    cd_clock_virtual_advance(&w->clock, 10 * CD_NS_PER_SEC);
    cd_buf_fini(&reply);
    cd_arena_fini(&t.arena);
}

static void test_contract(void **state)
{
    (void)state;
    for (usize i = 0; i < CD_COUNT(layouts); i++) {
        static contract_world w;
        w = (contract_world){.genesis = layouts[i]};
        cd_clock_virtual_init(&w.clock, (RIG_START + 100) * CD_NS_PER_SEC);
        rig_keys_init(&w.keys);
        const char *broken =
            contract_check(&(contract_rig){.open = open_for_contract, .want = want_for_contract, .ctx = &w});
        if (broken != NULL) {
            fail_msg("layout %zu: does not hold: %s", i, broken);
        }
        for (usize k = 0; k < w.cnt; k++) {
            cd_kv_close(w.rigs[k].own);
            cd_kv_close(w.rigs[k].part);
        }
    }
}

/* --- one chain that is watched --- */

typedef struct world {
    cd_kv *store;
    cd_clock_virtual clock;
    rig_keys keys;
    pair_rig r;
    cd_buf reply;
} world;

static void world_open(world *w, const char *genesis)
{
    *w = (world){.store = cd_kv_mem_open()};
    cd_clock_virtual_init(&w->clock, (RIG_START + 100) * CD_NS_PER_SEC);
    rig_keys_init(&w->keys);
    rig_open_on(&w->r, w->store, "C", genesis, &w->clock);
}

static void world_close(world *w)
{
    rig_close_on(&w->r);
    cd_kv_close(w->store);
    cd_buf_fini(&w->reply);
}

static void crash(world *w)
{
    w->r.vm->ops->close(w->r.vm);
    rig_open_vm(&w->r);
}

/* Where a block's way ends. */
typedef enum stop {
    AFTER_BUILD,
    AFTER_VERIFY,
    AFTER_ACCEPT, /* its batch is not written */
    AFTER_COMMIT, /* nobody tells the VM */
    AFTER_REJECT,
    AT_THE_END,
    STOPS,
} stop;

/* Builds a block and goes so far with it; false when there was nothing to build. The VM is opened anew unless it
 * ends well. */
static bool step(world *w, stop at, bool *is_in)
{
    const cd_vm_ops *ops = w->r.vm->ops;
    cd_vm *vm = w->r.vm;
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    cd_kv_batch batch = {0};
    *is_in = false;
    cd_clock_virtual_advance(&w->clock, 10 * CD_NS_PER_SEC);
    cd_err e = ops->build(vm, &b, &contract_no_ctx, &why);
    if (e == CD_ENOENT) {
        return false;
    }
    if (e != CD_OK) {
        fail_msg("build: %s", why.msg);
    }
    if (at == AFTER_BUILD) {
        ops->release(vm, b);
        crash(w);
        return true;
    }
    if (ops->verify(vm, b, &contract_no_ctx, &why) != CD_OK) {
        fail_msg("verify: %s", why.msg);
    }
    if (at == AFTER_REJECT) {
        assert_int_equal(ops->reject(vm, b), CD_OK);
    } else if (at >= AFTER_ACCEPT) {
        cd_kv_batch_for(&batch, w->r.own);
        if (ops->accept(vm, b, &batch, &why) != CD_OK) {
            fail_msg("accept: %s", why.msg);
        }
    }
    if (at == AFTER_COMMIT || at == AT_THE_END) {
        assert_int_equal(cd_kv_commit(w->store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
        *is_in = true;
    }
    if (at == AT_THE_END) {
        assert_int_equal(ops->accepted(vm, b, &why), CD_OK);
    }
    ops->release(vm, b);
    cd_kv_batch_fini(&batch);
    if (at != AT_THE_END && at != AFTER_REJECT) {
        crash(w);
    }
    return true;
}

/* All that lies in shared memory for a chain from the other one, in units. */
static u64 in_memory(const world *w, const cd_vm_memory *m, const cd_hash32 *peer, usize *cnt)
{
    cd_arena a = {0};
    cd_vm_shared_cursor at = {0};
    cd_bytes traits[RIG_KEYS];
    u64 sum = 0;
    *cnt = 0;
    for (usize i = 0; i < RIG_KEYS; i++) {
        traits[i] = cd_bytes_of(w->keys.shorts[i].b, 20);
    }
    for (usize n = 7; n == 7;) {
        cd_bytes *out;
        assert_int_equal(m->shared.indexed(&m->shared, &out, &n, &a, peer, traits, RIG_KEYS, &at, 7), CD_OK);
        for (usize i = 0; i < n; i++) {
            cd_utxo u = {.out = {.is = NULL}};
            u64 amount = 0;
            assert_int_equal(cd_utxo_parse(&u, &cd_c_utxo_table, &a, out[i], NULL), CD_OK);
            assert_true(cd_utxo_amount(&amount, &u.out));
            sum += amount;
            (*cnt)++;
        }
    }
    cd_arena_fini(&a);
    return sum;
}

static u64 in_accounts(const world *w)
{
    cd_u256 sum = cd_u256_zero();
    for (usize i = 0; i < RIG_KEYS; i++) {
        cd_u256 one = rig_number(&w->r, "eth_getBalance", &w->keys.eth[i]);
        cd_u256_add(&sum, &sum, &one);
    }
    assert_true(sum.w[2] == 0 && sum.w[3] == 0);
    u128 wei = (u128)sum.w[1] << 64 | sum.w[0];
    assert_true(wei % rig_rate == 0);
    return (u64)(wei / rig_rate);
}

/* What a transaction that waits would burn and bring; it is counted when its block is in. */
typedef struct pending {
    cd_hash32 id;
    u64 burned;
} pending;

static bool is_accepted(world *w, const cd_hash32 *id)
{
    cd_buf body = {0};
    cd_buf_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"avax.getAtomicTxStatus\",\"params\":{\"txID\":\"");
    cd_id_put(&body, id);
    cd_buf_str(&body, "\"}}");
    rig_ask(&w->r, &w->reply, "/avax", cd_buf_cstr(&body));
    cd_buf_fini(&body);
    return strstr(cd_buf_cstr(&w->reply), "Accepted") != NULL;
}

enum { ROUNDS = 100, WAITING = 8 };

/* Imports and exports at random, good and bad, on a chain that crashes between any two steps: what X gave, and what
 * lies in accounts and in shared memory, differ by what was burned, and nothing else; after each step. */
static void conserve(const char *genesis, u64 seed)
{
    world w;
    cd_rng rng = cd_rng_seeded(seed);
    u64 given = 0; /* by X, in all */
    u64 burned = 0;
    u64 next = 0;
    usize stopped[STOPS] = {0};
    usize taken = 0;
    world_open(&w, genesis);
    for (u32 round = 0; round < ROUNDS; round++) {
        pending waits[WAITING];
        usize wait_cnt = 0;
        u32 fresh = (u32)cd_rng_below(&rng, 3);
        for (u32 i = 0; i < fresh; i++) {
            u32 key = (u32)cd_rng_below(&rng, RIG_KEYS);
            assert_int_equal(rig_x_export(&w.r, &w.keys.shorts[key], next++, RIG_UNIT), CD_OK);
            given += RIG_UNIT;
        }
        for (u32 i = 0; i < WAITING / 2; i++) {
            rig_tx t;
            u64 fee = 300 + cd_rng_below(&rng, 1000);
            u32 key = (u32)cd_rng_below(&rng, RIG_KEYS);
            if (cd_rng_below(&rng, 2) == 0) { /* often another's, or taken */
                rig_import_many(&t, &w.keys, key, cd_rng_below(&rng, next + 1), 1, RIG_UNIT, fee,
                                &w.keys.eth[cd_rng_below(&rng, RIG_KEYS)]);
            } else {
                cd_u256 nonce = rig_number(&w.r, "eth_getTransactionCount", &w.keys.eth[key]);
                rig_export(&t, &w.keys, key, nonce.w[0], 1 + cd_rng_below(&rng, RIG_UNIT), fee);
            }
            if (rig_issue(&w.r, &w.reply, t.tx.bytes) == NULL) {
                waits[wait_cnt++] = (pending){.id = t.tx.id, .burned = fee};
            }
            cd_arena_fini(&t.arena);
        }
        bool is_in;
        stop at = (stop)cd_rng_below(&rng, STOPS);
        at = cd_rng_below(&rng, 2) == 0 ? AT_THE_END : at;
        stopped[at] += step(&w, at, &is_in) ? 1 : 0;
        for (usize i = 0; i < wait_cnt; i++) {
            if (is_accepted(&w, &waits[i].id)) {
                assert_true(is_in);
                burned += waits[i].burned;
                taken++;
            }
        }
        crash(&w); /* empties the pool: what waits is known */
        usize to_c;
        usize to_x;
        u64 there = in_memory(&w, &w.r.of_c, &rig_primary.x_chain_id, &to_c) +
                    in_memory(&w, &w.r.of_x, &rig_primary.c_chain_id, &to_x) + in_accounts(&w);
        assert_true(there + burned == given);
    }
    for (usize i = 0; i < STOPS; i++) {
        assert_true(stopped[i] != 0);
    }
    assert_true(taken > ROUNDS / 4);
    world_close(&w);
}

static void test_money(void **state)
{
    (void)state;
    conserve(rig_genesis_c, 1);
    conserve(rig_genesis_l1, 2);
}

/* --- what is refused --- */

static void refused(world *w, rig_tx *t, const char *words)
{
    const char *said = rig_issue(&w->r, &w->reply, t->tx.bytes);
    if (said == NULL || strstr(said, words) == NULL) {
        fail_msg("wanted \"%s\", got %s", words, said == NULL ? "no error" : said);
    }
    cd_arena_fini(&t->arena);
}

static void taken_in(world *w, rig_tx *t)
{
    bool is_in;
    assert_null(rig_issue(&w->r, &w->reply, t->tx.bytes));
    assert_null(rig_issue(&w->r, &w->reply, t->tx.bytes)); /* already known is no error */
    assert_true(step(w, AT_THE_END, &is_in));
    assert_true(is_accepted(w, &t->tx.id));
    assert_null(rig_issue(&w->r, &w->reply, t->tx.bytes));
    cd_arena_fini(&t->arena);
}

static void test_refusals(void **state)
{
    (void)state;
    world w;
    rig_tx t;
    world_open(&w, rig_genesis_l1); /* the base fee is 25 gwei and stays */
    for (u64 n = 0; n < 110; n++) {
        assert_int_equal(rig_x_export(&w.r, &w.keys.shorts[0], n, RIG_UNIT), CD_OK);
    }
    /* An import with one input takes 11,230 gas, which cost 281 units of six decimals. [spec:decisions#D1] */
    rig_import_many(&t, &w.keys, 0, 0, 1, RIG_UNIT, 280, &w.keys.eth[0]);
    assert_int_equal(t.tx.gas, 11230);
    refused(&w, &t, "import tx flow check failed due to: insufficient funds");
    rig_import_many(&t, &w.keys, 1, 0, 1, RIG_UNIT, 281, &w.keys.eth[0]);
    refused(&w, &t, "import tx transfer failed verification: ");
    rig_import_many(&t, &w.keys, 0, 500, 1, RIG_UNIT, 281, &w.keys.eth[0]);
    refused(&w, &t, "failed to fetch import UTXOs from ");
    rig_import_many(&t, &w.keys, 0, 0, 1, RIG_UNIT + 1, 281, &w.keys.eth[0]);
    refused(&w, &t, "import tx transfer failed verification: ");
    rig_import_many(&t, &w.keys, 0, 0, 100, RIG_UNIT, 5000, &w.keys.eth[0]);
    refused(&w, &t, "exceeds atomic gas limit");
    rig_import_many(&t, &w.keys, 0, 0, 1, RIG_UNIT, 281, &w.keys.eth[0]);
    taken_in(&w, &t);
    rig_import_many(&t, &w.keys, 0, 0, 1, RIG_UNIT, 999, &w.keys.eth[1]);
    refused(&w, &t, "failed to fetch import UTXOs from ");

    rig_export(&t, &w.keys, 0, 0, RIG_UNIT, 300);
    refused(&w, &t, "insufficient funds");
    rig_export(&t, &w.keys, 0, 1, 1000, 300);
    refused(&w, &t, "invalid nonce");
    rig_export(&t, &w.keys, 0, 0, 1000, 280);
    refused(&w, &t, "export tx flow check failed due to: insufficient funds");
    rig_export(&t, &w.keys, 0, 0, 1000, 300);
    taken_in(&w, &t);
    rig_export(&t, &w.keys, 0, 0, 1000, 300);
    rig_tx again;
    rig_export(&again, &w.keys, 0, 0, 1001, 300);
    refused(&w, &again, "invalid nonce");
    cd_arena_fini(&t.arena);
    world_close(&w);
}

/* Two that use one input: the dearer waits. */
static void test_conflicts(void **state)
{
    (void)state;
    world w;
    rig_tx cheap;
    rig_tx dear;
    bool is_in;
    world_open(&w, rig_genesis_c);
    assert_int_equal(rig_x_export(&w.r, &w.keys.shorts[0], 1, RIG_UNIT), CD_OK);
    rig_import_many(&cheap, &w.keys, 0, 1, 1, RIG_UNIT, 1000, &w.keys.eth[0]);
    rig_import_many(&dear, &w.keys, 0, 1, 1, RIG_UNIT, 1001, &w.keys.eth[0]);
    assert_null(rig_issue(&w.r, &w.reply, cheap.tx.bytes));
    assert_null(rig_issue(&w.r, &w.reply, dear.tx.bytes));
    const char *said = rig_issue(&w.r, &w.reply, cheap.tx.bytes);
    assert_non_null(said);
    assert_non_null(strstr(said, "conflict present: issued tx ("));
    assert_non_null(strstr(said, "(1 total conflicts in mempool)"));
    assert_true(step(&w, AT_THE_END, &is_in));
    assert_true(is_accepted(&w, &dear.tx.id));
    assert_false(is_accepted(&w, &cheap.tx.id));
    assert_non_null(strstr(cd_buf_cstr(&w.reply), "Dropped"));
    assert_false(step(&w, AT_THE_END, &is_in));
    cd_arena_fini(&cheap.arena);
    cd_arena_fini(&dear.arena);
    world_close(&w);
}

/* --- a block of somebody else --- */

/* Verifies bytes that another node sent; gives what is wrong. */
static cd_err verify_bytes(world *w, cd_bytes bytes, cd_errinfo *why)
{
    cd_vm_block *b = NULL;
    const cd_vm_ops *ops = w->r.vm->ops;
    cd_err e = ops->parse(w->r.vm, &b, bytes, why);
    if (e == CD_OK) {
        e = ops->verify(w->r.vm, b, &contract_no_ctx, why);
        ops->release(w->r.vm, b);
    }
    return e;
}

/* A block is valid for who has what it takes; one bit changed in its extra data and it is for nobody. */
static void test_foreign_block(void **state)
{
    (void)state;
    for (usize i = 0; i < CD_COUNT(layouts); i++) {
        world maker;
        world other;
        rig_tx t;
        cd_vm_block *b = NULL;
        cd_errinfo why = {0};
        world_open(&maker, layouts[i]);
        world_open(&other, layouts[i]);
        assert_int_equal(rig_x_export(&maker.r, &maker.keys.shorts[0], 7, RIG_UNIT), CD_OK);
        rig_import_many(&t, &maker.keys, 0, 7, 1, RIG_UNIT, 500, &maker.keys.eth[0]);
        assert_null(rig_issue(&maker.r, &maker.reply, t.tx.bytes));
        assert_true(maker.r.host.wanted != 0);
        for (u32 k = 0; k < 3; k++) { /* as long as it waits, the engine is asked again, now and then */
            u64 wanted = maker.r.host.wanted;
            u64 next = maker.r.vm->ops->wake(maker.r.vm);
            assert_int_equal(maker.r.host.wanted, wanted + (k == 0));
            cd_clock_virtual_advance(&maker.clock, next - cd_clock_mono_ns(&maker.clock.clock));
            (void)maker.r.vm->ops->wake(maker.r.vm);
            assert_int_equal(maker.r.host.wanted, wanted + 1 + (k == 0));
        }
        assert_int_equal(maker.r.vm->ops->build(maker.r.vm, &b, &contract_no_ctx, &why), CD_OK);
        cd_buf bytes = {0};
        cd_buf_put(&bytes, b->bytes);
        maker.r.vm->ops->release(maker.r.vm, b);
        assert_int_equal(verify_bytes(&other, cd_buf_bytes(&bytes), &why), CD_EINVAL);
        assert_non_null(strstr(why.msg, "failed to fetch import UTXOs from "));
        bytes.p[bytes.n - 80] ^= 1; /* in a signature: the header does not know of it */
        assert_int_equal(verify_bytes(&other, cd_buf_bytes(&bytes), &why), CD_EINVAL);
        assert_non_null(strstr(why.msg, "extra data hash mismatch"));
        bytes.p[bytes.n - 80] ^= 1;
        assert_int_equal(rig_x_export(&other.r, &other.keys.shorts[0], 7, RIG_UNIT), CD_OK);
        if (verify_bytes(&other, cd_buf_bytes(&bytes), &why) != CD_OK) {
            fail_msg("%s", why.msg);
        }
        cd_buf_fini(&bytes);
        cd_arena_fini(&t.arena);
        world_close(&maker);
        world_close(&other);
    }
}

/* Accepts bytes that another node sent. */
static void accept_bytes(world *w, cd_bytes bytes)
{
    const cd_vm_ops *ops = w->r.vm->ops;
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    cd_kv_batch batch = {0};
    assert_int_equal(ops->parse(w->r.vm, &b, bytes, &why), CD_OK);
    if (ops->verify(w->r.vm, b, &contract_no_ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_kv_batch_for(&batch, w->r.own);
    assert_int_equal(ops->accept(w->r.vm, b, &batch, &why), CD_OK);
    assert_int_equal(cd_kv_commit(w->store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    assert_int_equal(ops->accepted(w->r.vm, b, &why), CD_OK);
    ops->release(w->r.vm, b);
    cd_kv_batch_fini(&batch);
}

/* While bootstrapping the peer chain may be behind: what others took is taken, and stays so when it comes. */
static void test_bootstrapping(void **state)
{
    (void)state;
    world maker;
    world late;
    rig_tx t;
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    usize cnt;
    world_open(&maker, rig_genesis_c);
    world_open(&late, rig_genesis_c);
    assert_int_equal(rig_x_export(&maker.r, &maker.keys.shorts[0], 7, RIG_UNIT), CD_OK);
    rig_import_many(&t, &maker.keys, 0, 7, 1, RIG_UNIT, 500, &maker.keys.eth[0]);
    assert_null(rig_issue(&maker.r, &maker.reply, t.tx.bytes));
    assert_int_equal(maker.r.vm->ops->build(maker.r.vm, &b, &contract_no_ctx, &why), CD_OK);
    assert_int_equal(late.r.vm->ops->set_state(late.r.vm, CD_VM_BOOTSTRAPPING, NULL), CD_OK);
    accept_bytes(&late, b->bytes);
    maker.r.vm->ops->release(maker.r.vm, b);
    assert_int_equal(rig_x_export(&late.r, &late.keys.shorts[0], 7, RIG_UNIT), CD_OK);
    assert_true(in_memory(&late, &late.r.of_c, &rig_primary.x_chain_id, &cnt) == 0 && cnt == 0);
    cd_arena_fini(&t.arena);
    world_close(&maker);
    world_close(&late);
}

/* Builds a block with an import of output 7; its bytes. */
static void build_import(world *w, cd_buf *bytes, u64 burned)
{
    rig_tx t;
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    rig_import_many(&t, &w->keys, 0, 7, 1, RIG_UNIT, burned, &w->keys.eth[0]);
    assert_null(rig_issue(&w->r, &w->reply, t.tx.bytes));
    cd_clock_virtual_advance(&w->clock, 10 * CD_NS_PER_SEC);
    assert_int_equal(w->r.vm->ops->build(w->r.vm, &b, &contract_no_ctx, &why), CD_OK);
    cd_buf_put(bytes, b->bytes);
    w->r.vm->ops->release(w->r.vm, b);
    cd_arena_fini(&t.arena);
}

/* A block takes what its parent takes, which is not accepted yet: the output is still there, and the block is refused.
 * Its maker is a chain that had forgotten. */
static void test_ancestor_conflict(void **state)
{
    (void)state;
    world w;
    world forger;
    cd_buf a = {0};
    cd_buf b = {0};
    cd_errinfo why = {0};
    world_open(&w, rig_genesis_c);
    world_open(&forger, rig_genesis_c);
    assert_int_equal(rig_x_export(&w.r, &w.keys.shorts[0], 7, RIG_UNIT), CD_OK);
    build_import(&w, &a, 500);
    assert_int_equal(forger.r.vm->ops->set_state(forger.r.vm, CD_VM_BOOTSTRAPPING, NULL), CD_OK);
    accept_bytes(&forger, cd_buf_bytes(&a));
    assert_int_equal(forger.r.vm->ops->set_state(forger.r.vm, CD_VM_NORMAL, NULL), CD_OK);
    assert_int_equal(rig_x_export(&forger.r, &forger.keys.shorts[0], 7, RIG_UNIT), CD_OK); /* was taken before */
    assert_int_equal(rig_x_export(&forger.r, &forger.keys.shorts[0], 7, RIG_UNIT), CD_OK); /* is there once more */
    cd_clock_virtual_advance(&forger.clock, 60 * CD_NS_PER_SEC);
    build_import(&forger, &b, 600);
    cd_clock_virtual_advance(&w.clock, 90 * CD_NS_PER_SEC);
    assert_int_equal(verify_bytes(&w, cd_buf_bytes(&a), &why), CD_OK);
    assert_int_equal(verify_bytes(&w, cd_buf_bytes(&b), &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "invalid block due to conflicting atomic inputs"));
    cd_buf_fini(&a);
    cd_buf_fini(&b);
    world_close(&w);
    world_close(&forger);
}

/* --- methods --- */

/* Requests of the recorded sessions (testdata/node-api/transcripts/net12345-cchain.json) and their answers, in the
 * names and with the prefix of this network. */
static void test_methods(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        const char *params;
        const char *answer;
    } rows[] = {
        {"getUTXOs", "{\"addresses\":[\"ADDR\"],\"sourceChain\":\"X\"}",
         "\"result\":{\"numFetched\":\"0\",\"utxos\":[],\"endIndex\":{\"address\":\"ADDR\",\"utxo\":"
         "\"11111111111111111111111111111111LpoYY\"},\"encoding\":\"hex\"}"},
        {"getUTXOs", "{\"addresses\":[\"6Y3kysjF9jnHnYkdS9yGAuoHyae2eNmeV\"],\"sourceChain\":\"X\"}",
         "\"endIndex\":{\"address\":\"C-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p\""},
        {"getUTXOs", "{\"addresses\":[\"ADDR\"]}", "\"no source chain provided\""},
        {"getUTXOs", "{\"sourceChain\":\"X\"}", "\"no addresses provided\""},
        {"getUTXOs", "{\"addresses\":[\"0xzz\"],\"sourceChain\":\"X\"}",
         "couldn't parse address \\\"0xzz\\\": no separator found in address"},
        {"getUTXOs", "{\"addresses\":[\"ADDR\"],\"sourceChain\":\"nope\"}",
         "problem parsing source chainID \\\"nope\\\": there is no ID with alias: nope"},
        {"getAtomicTxStatus", "{\"txID\":\"3DDiCtDLpQ19tqZshWZvpJwVZYXJrru593Q2JqnV3HN4Zb62X\"}",
         "\"result\":{\"status\":\"Unknown\"}"},
        {"getAtomicTxStatus", "{}", "\"nil transaction ID\""},
        {"getAtomicTx", "{\"txID\":\"11111111111111111111111111111111LpoYY\"}", "\"nil transaction ID\""},
        {"getAtomicTx", "{\"txID\":\"3DDiCtDLpQ19tqZshWZvpJwVZYXJrru593Q2JqnV3HN4Zb62X\"}",
         "\"could not find tx 3DDiCtDLpQ19tqZshWZvpJwVZYXJrru593Q2JqnV3HN4Zb62X\""},
        {"issueTx", "{\"tx\":\"0x00\"}",
         "\"problem decoding transaction: input string is smaller than the checksum size\""},
        {"issueTx", "{\"tx\":\"0x000000000007c250bf55\"}", "\"problem parsing transaction: "},
        {"exportKey", "{}", "couldn't parse address"},
        {"exportKey", "{\"address\":\"0x0000000000000000000000000000000000000001\"}", "this node keeps no keys"},
        {"importKey", "{\"privateKey\":\"PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN\"}",
         "this node keeps no keys"},
        {"import", "{}", "this node keeps no keys"},
        {"import", "{\"baseFee\":\"0xzz\"}", "problem parsing baseFee"},
        {"export", "{}", "this node keeps no keys"},
    };
    world w;
    world_open(&w, rig_genesis_c);
    cd_buf addr = {0};
    cd_chain_addr_put(&addr, "C", "custom", &w.keys.shorts[0]);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        for (u32 family = 0; family < 2; family++) {
            cd_buf parts[2] = {{0}, {0}};
            cd_buf_fmt(&parts[0],
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s.%s\",\"params\":", family == 0 ? "lux" : "avax",
                       rows[i].method);
            const char *texts[2] = {rows[i].params, rows[i].answer};
            for (u32 k = 0; k < 2; k++) {
                const char *at = strstr(texts[k], "ADDR");
                if (at == NULL) {
                    cd_buf_str(&parts[k], texts[k]);
                } else {
                    cd_buf_put(&parts[k], cd_bytes_of(texts[k], (usize)(at - texts[k])));
                    cd_buf_put(&parts[k], cd_buf_bytes(&addr));
                    cd_buf_str(&parts[k], at + 4);
                }
            }
            cd_buf_str(&parts[0], "}");
            rig_ask(&w.r, &w.reply, family == 0 ? "/lux" : "/avax", cd_buf_cstr(&parts[0]));
            if (strstr(cd_buf_cstr(&w.reply), cd_buf_cstr(&parts[1])) == NULL) {
                fail_msg("%s:\n%s\nwithout\n%s", cd_buf_cstr(&parts[0]), cd_buf_cstr(&w.reply), cd_buf_cstr(&parts[1]));
            }
            cd_buf_fini(&parts[0]);
            cd_buf_fini(&parts[1]);
        }
    }
    cd_buf_fini(&addr);
    world_close(&w);
}

/* Pages of UTXOs, each of which says where the next begins. */
static void test_pages(void **state)
{
    (void)state;
    enum { ALL = 25, LIMIT = 10 };
    world w;
    char start[256] = "";
    u32 seen = 0;
    world_open(&w, rig_genesis_c);
    cd_buf addr = {0};
    cd_chain_addr_put(&addr, "C", "custom", &w.keys.shorts[0]);
    for (u64 n = 0; n < ALL; n++) {
        assert_int_equal(rig_x_export(&w.r, &w.keys.shorts[0], n, RIG_UNIT), CD_OK);
    }
    for (u32 n = LIMIT; n == LIMIT;) {
        cd_buf body = {0};
        cd_arena a = {0};
        cd_json doc;
        cd_bytes text;
        cd_buf_fmt(&body,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"lux.getUTXOs\",\"params\":{\"addresses\":[\"%s\"],"
                   "\"sourceChain\":\"X\",\"limit\":%d%s}}",
                   cd_buf_cstr(&addr), LIMIT, start);
        rig_ask(&w.r, &w.reply, "/lux", cd_buf_cstr(&body));
        assert_int_equal(cd_json_parse(&doc, &a, cd_buf_bytes(&w.reply), 0, NULL), CD_OK);
        cd_json result = cd_json_get(doc, "result");
        n = (u32)cd_json_len(cd_json_get(result, "utxos"));
        seen += n;
        assert_int_equal(cd_json_str(&text, cd_json_get(cd_json_get(result, "endIndex"), "utxo"), NULL), CD_OK);
        (void)snprintf(start, sizeof start, ",\"startIndex\":{\"address\":\"%s\",\"utxo\":\"%.*s\"}",
                       cd_buf_cstr(&addr), (int)text.n, (const char *)text.p);
        cd_arena_fini(&a);
        cd_buf_fini(&body);
    }
    assert_int_equal(seen, ALL);
    cd_buf_fini(&addr);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_money),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_foreign_block),
        cmocka_unit_test(test_bootstrapping),
        cmocka_unit_test(test_ancestor_conflict),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
