#include "plugin/host/db.h"

#include "plugin/wire/wire.h"
#include "vm/shared/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A chain's part of a store, a peer that shares memory with it, and a plugin's database on it. */
typedef struct rig {
    cd_kv *store;
    cd_kv *kv;
    cd_kv *memory;
    cd_vm_memory ours;
    cd_vm_memory theirs;
    cd_hash32 peer;
    cd_plugin_db *db;
    cd_arena mem;
    cd_buf out;
    cd_errinfo why;
} rig;

static void begin(rig *r)
{
    *r = (rig){.store = cd_kv_mem_open(), .peer = {.b = {7}}};
    r->kv = cd_kv_prefix_open(r->store, cd_bytes_str("K01"));
    r->memory = cd_kv_prefix_open(r->store, cd_bytes_str("M"));
    const cd_hash32 self = {.b = {5}};
    cd_vm_memory_init(&r->ours, r->memory, &self);
    cd_vm_memory_init(&r->theirs, r->memory, &r->peer);
    r->db = cd_plugin_db_new(r->kv, r->store, &r->ours.shared);
}

static void end(rig *r)
{
    cd_plugin_db_free(r->db);
    cd_kv_close(r->memory);
    cd_kv_close(r->kv);
    cd_kv_close(r->store);
    cd_buf_fini(&r->out);
    cd_arena_fini(&r->mem);
}

/* Makes a call as the plugin does; the answer is in out. */
static cd_err call_bytes(rig *r, const char *path, cd_bytes msg)
{
    usize n[2];
    const cd_plugin_method *rows[2] = {cd_plugin_db_methods(&n[0]), cd_plugin_shared_methods(&n[1])};
    cd_buf_clear(&r->out);
    r->why = (cd_errinfo){0};
    for (usize k = 0; k < 2; k++) {
        for (usize i = 0; i < n[k]; i++) {
            if (strcmp(rows[k][i].path, path) == 0) {
                return rows[k][i].serve(r->db, &r->out, &r->mem, msg, &r->why);
            }
        }
    }
    fail_msg("%s", path);
    return CD_ENOENT;
}

static cd_err call(rig *r, const char *path, const cd_proto_type *type, const void *m)
{
    cd_buf msg = {0};
    cd_proto_put(&msg, type, m);
    cd_err e = call_bytes(r, path, cd_buf_bytes(&msg));
    cd_buf_fini(&msg);
    return e;
}

static u32 put(rig *r, const char *key, const char *value)
{
    const cd_wire_db_pair m = {.key = cd_bytes_str(key), .value = cd_bytes_str(value)};
    cd_wire_db_err got = {0};
    assert_int_equal(call(r, "/rpcdb.Database/Put", &cd_wire_db_pair_type, &m), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, db_err, &r->mem, cd_buf_bytes(&r->out), NULL), CD_OK);
    return got.err;
}

static u32 del(rig *r, const char *key)
{
    const cd_wire_db_key m = {.key = cd_bytes_str(key)};
    cd_wire_db_err got = {0};
    assert_int_equal(call(r, "/rpcdb.Database/Delete", &cd_wire_db_key_type, &m), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, db_err, &r->mem, cd_buf_bytes(&r->out), NULL), CD_OK);
    return got.err;
}

/* The value of a key as the plugin reads it: a string, "-" for not found, "!" for closed. */
static const char *get(rig *r, const char *key)
{
    const cd_wire_db_key m = {.key = cd_bytes_str(key)};
    cd_wire_db_value got = {0};
    assert_int_equal(call(r, "/rpcdb.Database/Get", &cd_wire_db_key_type, &m), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, db_value, &r->mem, cd_buf_bytes(&r->out), NULL), CD_OK);
    return got.err == CD_WIRE_NOT_FOUND ? "-" : got.err == CD_WIRE_CLOSED ? "!" : cd_arena_str(&r->mem, got.value);
}

/* The value of a key in the store itself. */
static const char *stored(rig *r, const char *key)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(r->kv, &v, cd_bytes_str(key));
    const char *s = e == CD_OK ? cd_arena_str(&r->mem, cd_buf_bytes(&v)) : "-";
    cd_buf_fini(&v);
    return s;
}

static void test_pairs(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    assert_string_equal(get(&r, "a"), "-");
    assert_int_equal(put(&r, "a", "1"), 0);
    assert_string_equal(get(&r, "a"), "1");
    assert_string_equal(stored(&r, "a"), "1");
    assert_int_equal(put(&r, "a", ""), 0);
    assert_string_equal(get(&r, "a"), "");
    assert_int_equal(del(&r, "a"), 0);
    assert_string_equal(get(&r, "a"), "-");
    /* A key may be empty. */
    assert_int_equal(put(&r, "", "none"), 0);
    assert_string_equal(get(&r, ""), "none");
    end(&r);
}

static void test_bounds(void **state)
{
    (void)state;
    rig r;
    u8 longest[CD_PLUGIN_DB_KEY_MAX + 1] = {0};
    begin(&r);
    cd_wire_db_pair m = {.key = cd_bytes_of(longest, CD_PLUGIN_DB_KEY_MAX)};
    assert_int_equal(call(&r, "/rpcdb.Database/Put", &cd_wire_db_pair_type, &m), CD_OK);
    m.key.n++;
    assert_int_equal(call(&r, "/rpcdb.Database/Put", &cd_wire_db_pair_type, &m), CD_ELIMIT);
    const cd_wire_db_key d = {.key = m.key};
    assert_int_equal(call(&r, "/rpcdb.Database/Delete", &cd_wire_db_key_type, &d), CD_ELIMIT);
    assert_int_equal(call(&r, "/rpcdb.Database/Get", &cd_wire_db_key_type, &d), CD_OK);
    assert_int_equal(call(&r, "/rpcdb.Database/Has", &cd_wire_db_key_type, &d), CD_OK);
    const cd_wire_db_iter_new it = {.prefix = m.key};
    assert_int_equal(call(&r, "/rpcdb.Database/NewIteratorWithStartAndPrefix", &cd_wire_db_iter_new_type, &it),
                     CD_ELIMIT);
    assert_int_equal(call_bytes(&r, "/rpcdb.Database/Put", cd_bytes_str("\x0a\xff")), CD_EFORMAT);
    end(&r);
}

static void test_batch(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    assert_int_equal(put(&r, "x", "old"), 0);
    const cd_wire_db_pair puts[] = {
        {.key = cd_bytes_str("y"), .value = cd_bytes_str("1")},
        {.key = cd_bytes_str("z"), .value = cd_bytes_str("2")},
    };
    const cd_wire_db_key dels[] = {{.key = cd_bytes_str("x")}};
    const cd_wire_db_batch b = {.puts = cd_wire_list(puts, 2), .deletes = cd_wire_list(dels, 1)};
    assert_int_equal(call(&r, "/rpcdb.Database/WriteBatch", &cd_wire_db_batch_type, &b), CD_OK);
    assert_string_equal(stored(&r, "x"), "-");
    assert_string_equal(stored(&r, "z"), "2");
    /* An empty batch is fine, too. */
    assert_int_equal(call_bytes(&r, "/rpcdb.Database/WriteBatch", (cd_bytes){0}), CD_OK);
    end(&r);
}

/* --- iterators --- */

static u64 iter(rig *r, const char *start, const char *prefix)
{
    const cd_wire_db_iter_new m = {.start = cd_bytes_str(start), .prefix = cd_bytes_str(prefix)};
    cd_wire_db_iter got = {0};
    assert_int_equal(call(r, "/rpcdb.Database/NewIteratorWithStartAndPrefix", &cd_wire_db_iter_new_type, &m), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, db_iter, &r->mem, cd_buf_bytes(&r->out), NULL), CD_OK);
    return got.id;
}

/* The next keys of an iterator, one behind the other. */
static const char *next(rig *r, u64 id)
{
    const cd_wire_db_iter m = {.id = id};
    cd_wire_db_pairs got = {0};
    cd_buf keys = {0};
    assert_int_equal(call(r, "/rpcdb.Database/IteratorNext", &cd_wire_db_iter_type, &m), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, db_pairs, &r->mem, cd_buf_bytes(&r->out), NULL), CD_OK);
    const cd_wire_db_pair *p = got.data.v;
    for (u32 i = 0; i < got.data.cnt; i++) {
        cd_buf_put(&keys, p[i].key);
    }
    const char *s = cd_arena_str(&r->mem, cd_buf_bytes(&keys));
    cd_buf_fini(&keys);
    return s;
}

static void release(rig *r, u64 id)
{
    const cd_wire_db_iter m = {.id = id};
    assert_int_equal(call(r, "/rpcdb.Database/IteratorRelease", &cd_wire_db_iter_type, &m), CD_OK);
}

static void test_iterators(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    static const char *const keys[] = {"a", "b1", "b2", "b3", "c"};
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        assert_int_equal(put(&r, keys[i], "v"), 0);
    }
    u64 all = iter(&r, "", "");
    u64 some = iter(&r, "", "b");
    u64 from = iter(&r, "b2", "b");
    u64 before = iter(&r, "a", "b");
    u64 behind = iter(&r, "c", "b");
    assert_int_equal(all, 0);
    /* An iterator sees what was there when it was made. */
    assert_int_equal(del(&r, "b2"), 0);
    assert_string_equal(next(&r, all), "ab1b2b3c");
    assert_string_equal(next(&r, all), "");
    assert_string_equal(next(&r, some), "b1b2b3");
    assert_string_equal(next(&r, from), "b2b3");
    assert_string_equal(next(&r, before), "b1b2b3");
    assert_string_equal(next(&r, behind), "");
    release(&r, all);
    release(&r, all);
    const cd_wire_db_iter m = {.id = all};
    assert_int_equal(call(&r, "/rpcdb.Database/IteratorNext", &cd_wire_db_iter_type, &m), CD_ENOENT);
    assert_string_equal(r.why.msg, "unknown iterator");
    assert_int_equal(call(&r, "/rpcdb.Database/IteratorError", &cd_wire_db_iter_type, &m), CD_ENOENT);
    end(&r);
}

/* Entries come in pieces of a little more than 128 KiB; the number of iterators is limited. */
static void test_iterator_bounds(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    char *big = cd_arena_zalloc(&r.mem, 50001);
    memset(big, 'v', 50000);
    static const char *const keys[] = {"1", "2", "3", "4", "5"};
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        assert_int_equal(put(&r, keys[i], big), 0);
    }
    u64 it = iter(&r, "", "");
    assert_string_equal(next(&r, it), "123");
    assert_string_equal(next(&r, it), "45");
    assert_string_equal(next(&r, it), "");
    for (u32 i = 1; i < CD_PLUGIN_DB_ITERS_MAX; i++) {
        (void)iter(&r, "", "");
    }
    const cd_wire_db_iter_new m = {0};
    assert_int_equal(call(&r, "/rpcdb.Database/NewIteratorWithStartAndPrefix", &cd_wire_db_iter_new_type, &m),
                     CD_ELIMIT);
    release(&r, it);
    assert_int_equal(call(&r, "/rpcdb.Database/NewIteratorWithStartAndPrefix", &cd_wire_db_iter_new_type, &m), CD_OK);
    end(&r);
}

static void test_close(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    assert_int_equal(put(&r, "a", "1"), 0);
    u64 it = iter(&r, "", "");
    assert_int_equal(call_bytes(&r, "/rpcdb.Database/Close", (cd_bytes){0}), CD_OK);
    assert_string_equal(get(&r, "a"), "!");
    assert_int_equal(put(&r, "b", "1"), CD_WIRE_CLOSED);
    const cd_wire_db_iter m = {.id = it};
    assert_int_equal(call(&r, "/rpcdb.Database/IteratorNext", &cd_wire_db_iter_type, &m), CD_ENOENT);
    assert_int_equal(call_bytes(&r, "/rpcdb.Database/HealthCheck", (cd_bytes){0}), CD_OK);
    end(&r);
}

/* --- while a block is accepted --- */

static void take(rig *r, cd_kv_batch *batch)
{
    cd_kv_batch_for(batch, r->kv);
    assert_int_equal(cd_plugin_db_take(r->db, batch, NULL), CD_OK);
    cd_kv_batch_widen(batch);
}

static void test_hold(void **state)
{
    (void)state;
    rig r;
    cd_kv_batch batch = {0};
    begin(&r);
    assert_int_equal(put(&r, "head", "1"), 0);
    assert_int_equal(put(&r, "gone", "x"), 0);
    cd_plugin_db_hold(r.db);
    assert_int_equal(put(&r, "head", "2"), 0);
    assert_int_equal(del(&r, "gone"), 0);
    assert_int_equal(put(&r, "new", "y"), 0);
    /* The plugin sees what it wrote, the store has nothing of it. */
    assert_string_equal(get(&r, "head"), "2");
    assert_string_equal(get(&r, "gone"), "-");
    assert_string_equal(stored(&r, "head"), "1");
    u64 it = iter(&r, "", "");
    assert_string_equal(next(&r, it), "headnew");
    take(&r, &batch);
    /* Writes after take, before the block has landed. */
    assert_int_equal(put(&r, "head", "3"), 0);
    assert_int_equal(put(&r, "late", "z"), 0);
    u64 late = iter(&r, "", "");
    assert_string_equal(get(&r, "head"), "3");
    assert_string_equal(stored(&r, "head"), "1");
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_SYNC, NULL), CD_OK);
    assert_string_equal(stored(&r, "head"), "2");
    assert_string_equal(stored(&r, "gone"), "-");
    assert_string_equal(stored(&r, "new"), "y");
    assert_string_equal(stored(&r, "late"), "-");
    assert_int_equal(cd_plugin_db_landed(r.db, NULL), CD_OK);
    assert_string_equal(stored(&r, "head"), "3");
    assert_string_equal(stored(&r, "late"), "z");
    assert_false(cd_plugin_db_is_holding(r.db));
    /* Iterators outlive the layers that they were made on. */
    assert_string_equal(next(&r, late), "headlatenew");
    /* The same for the next block. */
    cd_plugin_db_hold(r.db);
    assert_int_equal(put(&r, "head", "4"), 0);
    take(&r, &batch);
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_SYNC, NULL), CD_OK);
    assert_int_equal(cd_plugin_db_landed(r.db, NULL), CD_OK);
    assert_string_equal(get(&r, "head"), "4");
    cd_kv_batch_fini(&batch);
    end(&r);
}

/* When the batch is not written, the writes in it are forgotten, and every later call is answered with "closed". */
static void test_abandon(void **state)
{
    (void)state;
    rig r;
    cd_kv_batch batch = {0};
    begin(&r);
    assert_int_equal(put(&r, "head", "1"), 0);
    cd_plugin_db_hold(r.db);
    assert_int_equal(put(&r, "head", "2"), 0);
    take(&r, &batch);
    assert_int_equal(put(&r, "late", "z"), 0);
    cd_plugin_db_abandon(r.db);
    assert_string_equal(stored(&r, "head"), "1");
    assert_string_equal(stored(&r, "late"), "-");
    assert_string_equal(get(&r, "head"), "!");
    assert_int_equal(put(&r, "head", "5"), CD_WIRE_CLOSED);
    assert_string_equal(stored(&r, "head"), "1");
    cd_kv_batch_fini(&batch);
    end(&r);
}

static void test_held_bound(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    const usize piece = 64 << 20;
    const cd_wire_db_pair m = {.key = cd_bytes_str("a"), .value = cd_bytes_of(cd_arena_zalloc(&r.mem, piece), piece)};
    cd_plugin_db_hold(r.db);
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(call(&r, "/rpcdb.Database/Put", &cd_wire_db_pair_type, &m), CD_OK);
    }
    assert_int_equal(call(&r, "/rpcdb.Database/Put", &cd_wire_db_pair_type, &m), CD_ELIMIT);
    assert_int_equal(put(&r, "b", "small"), 0);
    cd_plugin_db_abandon(r.db);
    end(&r);
}

/* --- shared memory --- */

static cd_err apply(rig *r, const char *puts, const char *removes, const char *head)
{
    const cd_bytes trait = cd_bytes_str("owner");
    const cd_bytes gone = cd_bytes_str(removes == NULL ? "" : removes);
    const cd_wire_shared_elem elem = {
        .key = cd_bytes_str(puts == NULL ? "" : puts),
        .value = cd_bytes_str("value"),
        .traits = cd_wire_list(&trait, 1),
    };
    const cd_wire_shared_change change = {
        .remove_requests = cd_wire_list(&gone, removes == NULL ? 0 : 1),
        .put_requests = cd_wire_list(&elem, puts == NULL ? 0 : 1),
        .peer_chain_id = cd_bytes_of(r->peer.b, 32),
    };
    const cd_wire_db_pair pair = {.key = cd_bytes_str("head"), .value = cd_bytes_str(head)};
    const cd_wire_db_batch batch = {.puts = cd_wire_list(&pair, 1)};
    const cd_wire_shared_apply m = {.requests = cd_wire_list(&change, 1), .batches = cd_wire_list(&batch, 1)};
    return call(r, "/sharedmemory.SharedMemory/Apply", &cd_wire_shared_apply_type, &m);
}

static cd_err peer_gets(rig *r, const char *key)
{
    cd_bytes v;
    const cd_hash32 us = {.b = {5}};
    return r->theirs.shared.get(&r->theirs.shared, &v, &r->mem, &us, cd_bytes_str(key));
}

static void test_shared(void **state)
{
    (void)state;
    rig r;
    cd_kv_batch batch = {0};
    begin(&r);
    assert_int_equal(apply(&r, "utxo", NULL, "1"), CD_OK);
    assert_int_equal(peer_gets(&r, "utxo"), CD_OK);
    assert_string_equal(stored(&r, "head"), "1");
    assert_int_equal(apply(&r, "utxo", NULL, "2"), CD_EEXIST);
    assert_string_equal(stored(&r, "head"), "1");
    /* While a block is accepted, a change waits for that block. */
    cd_plugin_db_hold(r.db);
    assert_int_equal(apply(&r, "second", NULL, "2"), CD_OK);
    assert_int_equal(apply(&r, "utxo", NULL, "3"), CD_EEXIST);
    assert_int_equal(peer_gets(&r, "second"), CD_ENOENT);
    assert_string_equal(get(&r, "head"), "2");
    take(&r, &batch);
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_SYNC, NULL), CD_OK);
    assert_int_equal(cd_plugin_db_landed(r.db, NULL), CD_OK);
    assert_int_equal(peer_gets(&r, "second"), CD_OK);
    assert_string_equal(stored(&r, "head"), "2");
    cd_kv_batch_fini(&batch);
    end(&r);
}

static void test_shared_reads(void **state)
{
    (void)state;
    rig r;
    cd_kv_batch batch = {0};
    begin(&r);
    const cd_hash32 us = {.b = {5}};
    const cd_bytes trait = cd_bytes_str("owner");
    const cd_vm_shared_elem elem = {
        .key = cd_bytes_str("k"), .value = cd_bytes_str("left for us"), .traits = &trait, .trait_cnt = 1};
    const cd_vm_shared_change change = {.peer = us, .puts = &elem, .put_cnt = 1};
    cd_kv_batch_for(&batch, r.memory);
    assert_int_equal(r.theirs.shared.apply(&r.theirs.shared, &batch, &change, 1), CD_OK);
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_SYNC, NULL), CD_OK);
    const cd_wire_shared_get g = {.peer_chain_id = cd_bytes_of(r.peer.b, 32), .keys = cd_wire_list(&elem.key, 1)};
    cd_wire_shared_values got = {0};
    assert_int_equal(call(&r, "/sharedmemory.SharedMemory/Get", &cd_wire_shared_get_type, &g), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, shared_values, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_true(cd_bytes_eq(((const cd_bytes *)got.values.v)[0], elem.value));
    cd_wire_shared_indexed i = {
        .peer_chain_id = cd_bytes_of(r.peer.b, 32), .traits = cd_wire_list(&trait, 1), .limit = 10};
    cd_wire_shared_found found = {0};
    assert_int_equal(call(&r, "/sharedmemory.SharedMemory/Indexed", &cd_wire_shared_indexed_type, &i), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&found, shared_found, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_int_equal(found.values.cnt, 1);
    assert_true(cd_bytes_eq(found.last_key, elem.key));
    i.limit = -1;
    assert_int_equal(call(&r, "/sharedmemory.SharedMemory/Indexed", &cd_wire_shared_indexed_type, &i), CD_OK);
    i.peer_chain_id.n = 31;
    assert_int_equal(call(&r, "/sharedmemory.SharedMemory/Indexed", &cd_wire_shared_indexed_type, &i), CD_EFORMAT);
    cd_kv_batch_fini(&batch);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),     cmocka_unit_test(test_bounds),          cmocka_unit_test(test_batch),
        cmocka_unit_test(test_iterators), cmocka_unit_test(test_iterator_bounds), cmocka_unit_test(test_close),
        cmocka_unit_test(test_hold),      cmocka_unit_test(test_abandon),         cmocka_unit_test(test_held_bound),
        cmocka_unit_test(test_shared),    cmocka_unit_test(test_shared_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
