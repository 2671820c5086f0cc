/* A chain of the L1 family through the eyes of somebody who syncs from it: the state of a summary comes over whole,
 * with nothing but what the VM answers to peers; what it does not give is refused. */
#include "chains/evmchain/test/sync_rig.h"

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
        more = run.more && cd_sync_next_key(next, run.items[run.cnt - 1].key.p, 32);
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
