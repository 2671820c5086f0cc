/* Interprets the input as a program of trie operations and runs it beside the book's recursion: puts and
 * deletes of short keys that share prefixes, commits, re-opens, trims, proofs. Any difference aborts. */
#include "base/rd.h"
#include "store/test/trie_ref.h"
#include "store/trie.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { MAX_OPS = 200 };

typedef struct machine {
    cd_rd in;
    cd_kv *kv;
    cd_trie_cfg cfg;
    cd_trie *t;
    ref_map m;
} machine;

static cd_bytes read_key(machine *x, u8 key[8])
{
    usize n = cd_rd_u8(&x->in) % 5;
    for (usize i = 0; i < n; i++) {
        key[i] = cd_rd_u8(&x->in) & 0x33;
    }
    return cd_bytes_of(key, n);
}

static void commit(machine *x)
{
    cd_kv_batch b = {0};
    cd_trie_commit(x->t, &x->cfg.root, &b);
    cd_err err = cd_kv_commit(x->kv, &b, CD_KV_NOSYNC, NULL);
    CD_ASSERT(err == CD_OK);
    cd_kv_batch_fini(&b);
}

static void open_again(machine *x)
{
    commit(x);
    cd_trie_close(x->t);
    cd_err err = cd_trie_open(&x->t, &x->cfg, NULL);
    CD_ASSERT(err == CD_OK);
}

static void check_root(machine *x)
{
    cd_hash32 got;
    cd_hash32 want = ref_map_root(&x->m);
    cd_trie_root(x->t, &got);
    CD_ASSERT(cd_hash32_eq(&got, &want));
}

static void check_proof(machine *x, cd_bytes key)
{
    cd_arena a = {0};
    cd_trie_proof proof;
    cd_hash32 root;
    cd_bytes value;
    cd_err err = cd_trie_prove(x->t, &proof, &a, key);
    CD_ASSERT(err == CD_OK);
    cd_trie_root(x->t, &root);
    err = cd_trie_verify(&value, &root, key, &proof);
    CD_ASSERT(err == CD_OK);
    usize i = ref_find(&x->m, key);
    bool there = ref_is_at(&x->m, i, key);
    CD_ASSERT(there == (value.n != 0));
    CD_ASSERT(!there || cd_bytes_eq(value, cd_bytes_of(x->m.pair[i].value, x->m.pair[i].value_n)));
    cd_arena_fini(&a);
}

static void step(machine *x)
{
    u8 key[8];
    u8 value[96];
    switch (cd_rd_u8(&x->in) % 8) {
    case 0:
        commit(x);
        break;
    case 1:
        open_again(x);
        break;
    case 2:
        commit(x);
        cd_trie_trim(x->t, 16 * (usize)cd_rd_u8(&x->in));
        break;
    case 3:
        check_root(x);
        break;
    case 4:
        check_proof(x, read_key(x, key));
        break;
    case 5: {
        cd_bytes k = read_key(x, key);
        cd_err err = cd_trie_del(x->t, k);
        CD_ASSERT(err == CD_OK);
        ref_put(&x->m, k, (cd_bytes){0});
        break;
    }
    case 6:
    case 7: {
        cd_bytes k = read_key(x, key);
        usize n = cd_rd_u8(&x->in) % sizeof value;
        memset(value, cd_rd_u8(&x->in), sizeof value);
        cd_err err = cd_trie_put(x->t, k, cd_bytes_of(value, n));
        CD_ASSERT(err == CD_OK);
        ref_put(&x->m, k, cd_bytes_of(value, n));
        break;
    }
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    machine x = {.in = cd_rd_init(cd_bytes_of(data, size)), .kv = cd_kv_mem_open()};
    x.cfg.nodes = x.kv;
    x.cfg.scheme = cd_rd_u8(&x.in) & 1 ? CD_TRIE_BY_HASH : CD_TRIE_BY_PATH;
    cd_err err = cd_trie_open(&x.t, &x.cfg, NULL);
    CD_ASSERT(err == CD_OK);
    for (int i = 0; i < MAX_OPS && cd_rd_left(&x.in) != 0; i++) {
        step(&x);
    }
    open_again(&x);
    check_root(&x);
    cd_trie_close(x.t);
    cd_kv_close(x.kv);
    free(x.m.pair);
    return 0;
}
