/* A chain of the L1 family through the eyes of somebody who syncs from it: the state of a summary comes over whole,
 * with nothing but what the VM answers to peers; what it does not give is refused. */
#include "base/hex.h"
#include "chains/evmchain/core/view.h"
#include "chains/evmchain/state_sync.h"
#include "chains/evmchain/sync/check.h"
#include "chains/evmchain/test/atomic_rig.h"
#include "p2p/sdk.h"
#include "types/tx_codec.h"

enum { STEP = 4, TARGET = 0x77 };

/* Who asks: one question at a time. */
typedef struct asker {
    cd_vm_sender sender; /* first */
    cd_buf answer;
    i32 code;
    u32 answers;
    u32 errors;
} asker;

typedef struct fixture {
    cd_clock_virtual clock;
    rig_keys keys;
    cd_buf genesis;
    pair_rig rig;
    asker asker;
    cd_arena a;
    u64 nonce;
} fixture;

static asker *asker_of(const cd_vm_sender *s)
{
    return (asker *)(usize)(const void *)s;
}

static void on_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    asker *x = asker_of(s);
    (void)to;
    assert_int_equal(id, 6);
    cd_buf_clear(&x->answer);
    cd_buf_put(&x->answer, msg);
    x->answers++;
}

static void on_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes message)
{
    asker *x = asker_of(s);
    (void)to;
    (void)id;
    (void)message;
    x->code = code;
    x->errors++;
}

static void on_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    (void)s;
    (void)to;
    (void)id;
    (void)msg;
}

static void on_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    (void)s;
    (void)to;
    (void)msg;
}

/* Without a primary network there are no imports and exports. */
static void open_vm(fixture *f)
{
    cd_errinfo why = {0};
    const cd_vm_ctx ctx = {
        .kv = f->rig.store,
        .host = &f->rig.host.host,
        .clock = &f->clock.clock,
        .rng = &f->rig.rng,
        .sender = &f->asker.sender,
        .name = "L1",
        .genesis = cd_buf_bytes(&f->genesis),
        .config = cd_bytes_str("{\"commit-interval\":4,\"state-sync-commit-interval\":4,\"state-history\":2}"),
        .network_id = RIG_NETWORK,
        .chain_id = {{7}},
        .is_stepped = true,
    };
    if (cd_evm_vm_open(&f->rig.vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(f->rig.vm->ops->set_state(f->rig.vm, CD_VM_NORMAL, NULL), CD_OK);
}

/* A funded account, and a contract that puts the height into a slot of this number. */
static int setup(void **state)
{
    static fixture f;
    f = (fixture){.rig = {.rng = cd_rng_seeded(1)}};
    f.asker.sender = (cd_vm_sender){on_request, on_response, on_error, on_gossip};
    cd_clock_virtual_init(&f.clock, (RIG_START + 100) * CD_NS_PER_SEC);
    rig_keys_init(&f.keys);
    const char *end_of_it = strstr(rig_genesis_l1, "\"alloc\"");
    cd_buf_put(&f.genesis, cd_bytes_of(rig_genesis_l1, (usize)(end_of_it - rig_genesis_l1)));
    cd_buf_str(&f.genesis, "\"alloc\":{\"");
    cd_hex_put(&f.genesis, cd_bytes_of(f.keys.eth[0].b, 20));
    cd_buf_str(&f.genesis, "\":{\"balance\":\"0x56bc75e2d63100000\"},"
                           "\"7700000000000000000000000000000000000000\":{\"balance\":\"0x1\",\"code\":\"0x43435500\"},"
                           "\"7800000000000000000000000000000000000000\":{\"balance\":\"0x1\",\"code\":\"0x43435500\"},"
                           "\"7900000000000000000000000000000000000000\":{\"balance\":\"0x1\",\"code\":\"0x00\"}}}");
    f.rig.store = cd_kv_mem_open();
    f.rig.host.host.notify = rig_notify;
    f.rig.clock = &f.clock;
    open_vm(&f);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    f->rig.vm->ops->close(f->rig.vm);
    cd_kv_close(f->rig.store);
    cd_buf_fini(&f->genesis);
    cd_buf_fini(&f->asker.answer);
    cd_arena_fini(&f->a);
    return 0;
}

static void send(fixture *f, cd_addr20 to)
{
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE, .chain_id = RIG_NETWORK, .is_protected = true, .gas_limit = 100000};
    cd_buf raw = {0};
    cd_buf body = {0};
    cd_buf reply = {0};
    tx.nonce = f->nonce++;
    tx.fee_cap = cd_u256_from_u64(100000000000);
    tx.tip_cap = cd_u256_from_u64(1000000000);
    tx.value = cd_u256_from_u64(1);
    tx.to = to;
    assert_int_equal(cd_tx_sign(&tx, f->keys.secret[0]), CD_OK);
    cd_tx_enc(&raw, &tx);
    cd_buf_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_sendRawTransaction\",\"params\":[\"");
    cd_hex_put(&body, cd_buf_bytes(&raw));
    cd_buf_str(&body, "\"]}");
    rig_ask(&f->rig, &reply, "/rpc", cd_buf_cstr(&body));
    assert_null(strstr(cd_buf_cstr(&reply), "\"error\""));
    cd_buf_fini(&raw);
    cd_buf_fini(&body);
    cd_buf_fini(&reply);
}

/* One block: a call of the contract, and a transfer to an address of its own. */
static void block(fixture *f)
{
    cd_vm *vm = f->rig.vm;
    cd_vm_block *b;
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    const cd_vm_block_ctx ctx = {0};
    cd_addr20 fresh = {{0xaa, (u8)f->nonce}};
    send(f, (cd_addr20){{TARGET}});
    send(f, fresh);
    cd_clock_virtual_advance(&f->clock, 10 * CD_NS_PER_SEC);
    assert_int_equal(vm->ops->build(vm, &b, &ctx, &why), CD_OK);
    assert_int_equal(vm->ops->verify(vm, b, &ctx, &why), CD_OK);
    assert_int_equal(vm->ops->accept(vm, b, &batch, &why), CD_OK);
    assert_int_equal(cd_kv_commit(f->rig.store, &batch, CD_KV_NOSYNC, &why), CD_OK);
    assert_int_equal(vm->ops->accepted(vm, b, &why), CD_OK);
    vm->ops->release(vm, b);
    cd_kv_batch_fini(&batch);
}

/* Asks the VM as a peer does; NULL: refused. */
static cd_bytes *ask(fixture *f, const cd_sync_ask *q)
{
    const cd_node_id peer = {{9}};
    cd_buf msg = {0};
    cd_bytes *out = NULL;
    u32 answers = f->asker.answers;
    u32 errors = f->asker.errors;
    cd_sync_ask_put(&msg, CD_SYNC_L1, q);
    f->rig.vm->ops->app->request(f->rig.vm, &peer, 6, UINT64_MAX, cd_buf_bytes(&msg));
    cd_buf_fini(&msg);
    assert_int_equal(f->asker.answers - answers + f->asker.errors - errors, 1);
    if (f->asker.answers != answers) {
        out = cd_arena_array(&f->a, cd_bytes, 1);
        *out = cd_arena_dup(&f->a, cd_buf_bytes(&f->asker.answer));
    }
    return out;
}

static void fetch_code(fixture *f, const cd_hash32 *hash)
{
    cd_hash32 hashes[1] = {*hash};
    const cd_sync_ask q = {.kind = CD_SYNC_CODE, .code = {.hashes = {hashes, 1}}};
    const cd_bytes *answer = ask(f, &q);
    cd_bytes *code;
    assert_non_null(answer);
    assert_int_equal(cd_sync_check_code(&code, &f->a, &q.code, *answer, NULL), CD_OK);
}

/* Asks for storage alone, of a node that was asked for nothing before. */
static void storage_first(fixture *f, const cd_sync_summary *s)
{
    cd_hash32 account;
    cd_arena mem = {0};
    cd_account x;
    const cd_sync_ask accounts = {.kind = CD_SYNC_LEAFS,
                                  .leafs = {.root = s->root, .limit = 64, .of = CD_SYNC_OF_STATE}};
    cd_sync_run run;
    const cd_addr20 target = {{TARGET}};
    const cd_bytes *answer = ask(f, &accounts);
    assert_non_null(answer);
    assert_int_equal(cd_sync_check_leafs(&run, &mem, &accounts.leafs, *answer, NULL), CD_OK);
    cd_keccak256(&account, cd_bytes_of(target.b, 20));
    usize i = 0;
    while (i < run.cnt && memcmp(run.items[i].key.p, account.b, 32) != 0) {
        i++;
    }
    assert_true(i < run.cnt);
    assert_int_equal(cd_account_dec(&x, CD_ACCOUNT_4, run.items[i].value), CD_OK);
    cd_arena_fini(&mem);
    f->rig.vm->ops->close(f->rig.vm);
    open_vm(f);
    const cd_sync_ask q = {.kind = CD_SYNC_LEAFS,
                           .leafs = {.root = x.storage_root, .account = account, .limit = 64, .of = CD_SYNC_OF_STATE}};
    answer = ask(f, &q);
    assert_non_null(answer);
    assert_int_equal(cd_sync_check_leafs(&run, &f->a, &q.leafs, *answer, NULL), CD_OK);
    assert_int_equal(run.cnt, s->height); /* one slot a block */
}

/* Fetches the trie of a root, page by page, with what hangs on its accounts; gives the number of leafs. */
static usize fetch(fixture *f, const cd_hash32 *want, const cd_hash32 *account)
{
    cd_sync_ask q = {.kind = CD_SYNC_LEAFS, .leafs = {.root = *want, .limit = 3, .of = CD_SYNC_OF_STATE}};
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    cd_hash32 got;
    u8 next[32];
    usize cnt = 0;
    if (account != NULL) {
        q.leafs.account = *account;
    }
    for (bool more = true; more;) {
        cd_sync_run run;
        const cd_bytes *answer = ask(f, &q);
        assert_non_null(answer);
        assert_int_equal(cd_sync_check_leafs(&run, &f->a, &q.leafs, *answer, NULL), CD_OK);
        for (usize i = 0; i < run.cnt; i++) {
            cd_account x;
            cd_hash32 key;
            assert_int_equal(cd_trie_build_add(b, run.items[i].key, run.items[i].value), CD_OK);
            if (account != NULL) {
                continue;
            }
            memcpy(key.b, run.items[i].key.p, 32);
            assert_int_equal(cd_account_dec(&x, CD_ACCOUNT_4, run.items[i].value), CD_OK);
            if (!cd_hash32_eq(&x.storage_root, &CD_TRIE_EMPTY_ROOT)) {
                assert_true(fetch(f, &x.storage_root, &key) != 0);
            }
            if (!cd_hash32_eq(&x.code_hash, &CD_KECCAK_EMPTY)) {
                fetch_code(f, &x.code_hash);
            }
        }
        cnt += run.cnt;
        more = run.more && cd_sync_next_key(next, run.items[run.cnt - 1].key.p);
        q.leafs.start = cd_bytes_of(next, 32);
    }
    cd_trie_build_root(b, &got);
    cd_trie_build_free(b);
    assert_memory_equal(&got, want, 32);
    return cnt;
}

static cd_sync_summary summary_at(fixture *f, u64 height)
{
    cd_vm_summary s;
    cd_vm_summary read;
    cd_sync_summary out;
    const cd_vm_sync_ops *sync = f->rig.vm->ops->sync;
    assert_int_equal(sync->at(f->rig.vm, &s, &f->a, height), CD_OK);
    assert_int_equal(s.height, height);
    assert_int_equal(sync->parse(f->rig.vm, &read, &f->a, s.bytes, NULL), CD_OK);
    assert_memory_equal(&read.id, &s.id, 32);
    assert_int_equal(cd_sync_summary_parse(&out, NULL, CD_SYNC_L1, s.bytes, NULL), CD_OK);
    return out;
}

static void whole_states(void **state)
{
    fixture *f = *state;
    const cd_vm_sync_ops *sync = f->rig.vm->ops->sync;
    cd_vm_summary s;
    for (u64 head = 0; head < (u64)3 * STEP; head++) {
        if (head < STEP) {
            assert_int_equal(sync->last(f->rig.vm, &s, &f->a), CD_ENOENT);
        }
        block(f);
    }
    /* At 12: summaries of 8 and 12, the older one far behind the history of two blocks. */
    assert_int_equal(sync->last(f->rig.vm, &s, &f->a), CD_OK);
    assert_int_equal(s.height, 3 * STEP);
    assert_int_equal(sync->at(f->rig.vm, &s, &f->a, 4), CD_ENOENT);
    assert_int_equal(sync->at(f->rig.vm, &s, &f->a, 9), CD_ENOENT);
    assert_int_equal(sync->at(f->rig.vm, &s, &f->a, 16), CD_ENOENT);
    assert_int_equal(sync->at(f->rig.vm, &s, &f->a, 0), CD_ENOENT);
    const cd_sync_summary old = summary_at(f, 8);
    block(f);
    block(f); /* states that have opened stay as they are while the chain goes on */
    const cd_sync_summary new = summary_at(f, 12);
    usize before = fetch(f, &old.root, NULL);
    assert_int_equal(fetch(f, &new.root, NULL), before + STEP);
    block(f);
    assert_int_equal(fetch(f, &old.root, NULL), before);
    /* Reopened from the store it serves the same. */
    f->rig.vm->ops->close(f->rig.vm);
    open_vm(f);
    assert_int_equal(fetch(f, &old.root, NULL), before);
    assert_int_equal(fetch(f, &new.root, NULL), before + STEP);
    storage_first(f, &old);
    storage_first(f, &new);
}

static void ancestors(void **state)
{
    fixture *f = *state;
    cd_block *got;
    cd_bytes *raw;
    usize cnt;
    for (u32 i = 0; i < 2 * STEP; i++) {
        block(f);
    }
    const cd_sync_summary s = summary_at(f, 8);
    cd_sync_ask q = {.kind = CD_SYNC_BLOCKS, .blocks = {.hash = s.hash, .height = 8, .cnt = 5}};
    const cd_bytes *answer = ask(f, &q);
    assert_non_null(answer);
    assert_int_equal(cd_sync_check_blocks(&got, &raw, &cnt, &f->a, CD_HEADER_L1, &q.blocks, *answer, NULL), CD_OK);
    assert_int_equal(cnt, 5);
    q.blocks.cnt = 64; /* down to the genesis */
    answer = ask(f, &q);
    assert_non_null(answer);
    assert_int_equal(cd_sync_check_blocks(&got, &raw, &cnt, &f->a, CD_HEADER_L1, &q.blocks, *answer, NULL), CD_OK);
    assert_int_equal(cnt, 9);
    assert_int_equal(got[8].header.number, 0);
    q.blocks.height = 7;
    assert_null(ask(f, &q));
    q.blocks.height = UINT64_MAX;
    assert_null(ask(f, &q));
    q.blocks.height = 8;
    q.blocks.cnt = 0;
    assert_null(ask(f, &q));
}

static void refusals(void **state)
{
    fixture *f = *state;
    for (u32 i = 0; i < 2 * STEP + 1; i++) {
        block(f);
    }
    const cd_sync_summary s = summary_at(f, 8);
    const cd_sync_ask good = {.kind = CD_SYNC_LEAFS, .leafs = {.root = s.root, .limit = 1, .of = CD_SYNC_OF_STATE}};
    u8 bytes[64] = {1};
    cd_sync_ask q = good;
    q.leafs.account.b[0] = 1; /* nobody's storage */
    assert_null(ask(f, &q));
    assert_int_equal(f->asker.code, CD_EVM_SYNC_NOTHING);
    q = good;
    q.leafs.root.b[5] ^= 1;
    assert_null(ask(f, &q));
    q.leafs.root = CD_TRIE_EMPTY_ROOT;
    assert_null(ask(f, &q));
    q.leafs.root = (cd_hash32){{0}};
    assert_null(ask(f, &q));
    q = good;
    q.leafs.limit = 0;
    assert_null(ask(f, &q));
    q = good;
    q.leafs.start = cd_bytes_of(bytes, 31);
    assert_null(ask(f, &q));
    q.leafs.start = cd_bytes_of(bytes, 64);
    assert_null(ask(f, &q));
    q.leafs.start = cd_bytes_of(bytes, 32);
    q.leafs.end = cd_bytes_of(bytes + 1, 32); /* before the start */
    assert_null(ask(f, &q));
    /* Code: six hashes, twice the same, one that nobody has. */
    cd_hash32 hashes[6];
    cd_keccak256(&hashes[0], cd_bytes_of("\x43\x43\x55\x00", 4));
    for (u8 i = 1; i < 6; i++) {
        hashes[i] = hashes[0];
    }
    q = (cd_sync_ask){.kind = CD_SYNC_CODE, .code = {.hashes = {hashes, 1}}};
    assert_non_null(ask(f, &q));
    q.code.hashes.cnt = 2;
    assert_null(ask(f, &q));
    hashes[1].b[0] ^= 1;
    assert_null(ask(f, &q));
    q.code.hashes.cnt = 6;
    assert_null(ask(f, &q));
    /* What is no question goes to the handlers: nobody has this one. */
    const cd_node_id peer = {{9}};
    f->rig.vm->ops->app->request(f->rig.vm, &peer, 6, UINT64_MAX, cd_bytes_of("\x33zzz", 4));
    assert_int_equal(f->asker.code, CD_P2P_APP_UNREGISTERED);
    /* A flood is cut off, and does no harm to others. */
    while (f->asker.code != CD_P2P_APP_THROTTLED) {
        assert_true(f->asker.answers + f->asker.errors <= CD_SYNC_ASKS_MAX + 2);
        (void)ask(f, &good);
    }
    cd_clock_virtual_advance(&f->clock, (u64)3 * CD_SYNC_ASKS_S * CD_NS_PER_SEC);
    assert_non_null(ask(f, &good));
    cd_clock_virtual_advance(&f->clock, 61 * CD_NS_PER_SEC);
    (void)f->rig.vm->ops->wake(f->rig.vm); /* forgets the tries, and opens them again */
    assert_non_null(ask(f, &good));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_states, setup, teardown),
        cmocka_unit_test_setup_teardown(ancestors, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
