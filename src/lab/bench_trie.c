#include "lab/bench_trie.h"

#include "base/mem/arena.h"
#include "base/mem/mem.h"
#include "crypto/hash/keccak.h"
#include "crypto/hash/sha2.h"
#include "lab/cputime.h"
#include "store/trie.h"
#include "types/account_rlp.h"

#include <stdlib.h>

enum {
    SAMPLE = 2000,
    STRIDE = 7919,
    REPEAT_MIN = 3,
    REOPEN = 4, /* how often the short steps run on one stored trie */
};
/* Rounds are made until every step was measured for REPEAT_NS, or SIZE_NS are over for one size. */
#define REPEAT_NS 120000000u
#define SIZE_NS   2000000000u

typedef enum step {
    INSERT,
    HASH,
    COMMIT,
    PROVE,
    UPDATE_HASH,
    STACKTRIE,
    STEPS,
} step;

static const char *const step_name[STEPS] = {"insert", "hash", "commit", "prove", "update_hash", "stacktrie"};

typedef struct account {
    cd_hash32 key;
    u8 value[CD_ACCOUNT_RLP_MAX];
    u8 value_n;
} account;

typedef struct bench {
    u64 n;
    account *acc;
    account *sorted; /* the accounts in order of their keys */
    u64 best[STEPS];
    u64 spent[STEPS];
    cd_bytes keys[SAMPLE]; /* keys of the proven and updated accounts */
    cd_arena proofs;
    cd_hash32 root;
    cd_hash32 updated_root;
} bench;

/* Times the calibration unit: SHA-256 of 1 MiB in blocks of 16 KiB. */
static u64 calibrate(void)
{
    static const u8 zero[16384];
    u64 best = 0;
    for (int i = 0; i < 20; i++) {
        u64 start = cd_lab_thread_cpu_ns();
        for (int k = 0; k < 64; k++) {
            cd_hash32 h;
            cd_sha256(&h, cd_bytes_of(zero, sizeof zero));
        }
        best = cd_lab_min_ns(best, cd_lab_thread_cpu_ns() - start);
    }
    return best;
}

static void note(bench *b, step s, u64 start)
{
    u64 ns = cd_lab_thread_cpu_ns() - start;
    b->best[s] = cd_lab_min_ns(b->best[s], ns);
    b->spent[s] += ns;
}

static cd_bytes key_of(const account *a)
{
    return cd_bytes_of(a->key.b, 32);
}

static cd_bytes value_of(const account *a)
{
    return cd_bytes_of(a->value, a->value_n);
}

static int by_key(const void *x, const void *y)
{
    return memcmp(((const account *)x)->key.b, ((const account *)y)->key.b, 32);
}

static void set_value(account *a, u64 i)
{
    cd_account acc = {.nonce = i,
                      .balance = {{i * 1000000000u}},
                      .storage_root = CD_HASH_EMPTY_TRIE,
                      .code_hash = CD_HASH_EMPTY_CODE};
    a->value_n = (u8)cd_account_enc(a->value, &acc, CD_ACCOUNT_4);
}

static void make_accounts(bench *b)
{
    CD_ASSERT(b->n != 0);
    b->acc = cd_new_array(account, b->n);
    b->sorted = cd_new_array(account, b->n);
    for (u64 i = 0; i < b->n; i++) {
        u8 be[8];
        cd_put_be64(be, i);
        cd_keccak256(&b->acc[i].key, cd_bytes_of(be, 8));
        set_value(&b->acc[i], i);
    }
    for (u64 i = 0; i < SAMPLE; i++) {
        b->keys[i] = key_of(&b->acc[i * STRIDE % b->n]);
    }
    memcpy(b->sorted, b->acc, b->n * sizeof *b->acc);
    qsort(b->sorted, b->n, sizeof *b->sorted, by_key);
}

static void sorted_root(const bench *b, cd_hash32 *out)
{
    cd_trie_build *t = cd_trie_build_new(NULL, NULL);
    for (u64 i = 0; i < b->n; i++) {
        cd_err err = cd_trie_build_add(t, key_of(&b->sorted[i]), value_of(&b->sorted[i]));
        CD_ASSERT(err == CD_OK);
    }
    cd_trie_build_root(t, out);
    cd_trie_build_free(t);
}

/* Compares the trie's roots with sorted builds of the same contents, the first of which is timed. */
static cd_err compare_roots(bench *b)
{
    cd_hash32 root;
    u64 start = cd_lab_thread_cpu_ns();
    sorted_root(b, &root);
    note(b, STACKTRIE, start);
    bool same = cd_hash32_eq(&root, &b->root);
    for (u64 i = 0; i < b->n && i < SAMPLE; i++) {
        account *a = bsearch(&b->acc[i * STRIDE % b->n], b->sorted, b->n, sizeof *a, by_key);
        set_value(a, i / 2);
    }
    sorted_root(b, &root);
    same = same && cd_hash32_eq(&root, &b->updated_root);
    for (u64 i = 0; i < b->n && i < SAMPLE; i++) {
        account *a = bsearch(&b->acc[i * STRIDE % b->n], b->sorted, b->n, sizeof *a, by_key);
        set_value(a, i * STRIDE % b->n);
    }
    return same ? CD_OK : CD_EINVAL;
}

static cd_err fill(bench *b, cd_trie *t, cd_kv *kv)
{
    u64 start = cd_lab_thread_cpu_ns();
    for (u64 i = 0; i < b->n; i++) {
        CD_TRY(cd_trie_put(t, key_of(&b->acc[i]), value_of(&b->acc[i])));
    }
    note(b, INSERT, start);
    start = cd_lab_thread_cpu_ns();
    cd_trie_root(t, &b->root);
    note(b, HASH, start);
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, kv);
    start = cd_lab_thread_cpu_ns();
    cd_trie_commit(t, &b->root, &batch);
    cd_err err = cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL);
    note(b, COMMIT, start);
    cd_kv_batch_fini(&batch);
    return err;
}

static cd_err prove(bench *b, cd_trie *t)
{
    cd_arena_reset(&b->proofs);
    cd_trie_proof *proof = cd_new_array(cd_trie_proof, SAMPLE);
    u64 start = cd_lab_thread_cpu_ns();
    cd_err err = cd_trie_prove_many(t, proof, &b->proofs, b->keys, SAMPLE);
    note(b, PROVE, start);
    for (u64 i = 0; i < SAMPLE && err == CD_OK; i++) {
        const account *a = &b->acc[i * STRIDE % b->n];
        cd_bytes value;
        err = cd_trie_verify(&value, &b->root, key_of(a), &proof[i]);
        if (err == CD_OK && !cd_bytes_eq(value, value_of(a))) {
            err = CD_EINVAL;
        }
    }
    cd_free(proof);
    return err;
}

static cd_err update(bench *b, cd_trie *t)
{
    u64 cnt = cd_min_u64(b->n, SAMPLE);
    u64 start = cd_lab_thread_cpu_ns();
    CD_TRY(cd_trie_load_many(t, b->keys, cnt));
    for (u64 i = 0; i < cnt; i++) {
        CD_TRY(cd_trie_put(t, b->keys[i], value_of(&b->acc[i / 2])));
    }
    cd_trie_root(t, &b->updated_root);
    note(b, UPDATE_HASH, start);
    return CD_OK;
}

static cd_err run_once(bench *b)
{
    cd_kv *kv = cd_kv_mem_open();
    cd_trie_cfg cfg = {.nodes = kv, .scheme = CD_TRIE_BY_PATH};
    cd_trie *t = NULL;
    cd_err err = cd_trie_open(&t, &cfg, NULL);
    if (err == CD_OK) {
        err = fill(b, t, kv);
    }
    cfg.root = b->root;
    cd_err (*const reopened[])(bench *, cd_trie *) = {prove, update};
    for (usize i = 0; i < REOPEN * CD_COUNT(reopened) && err == CD_OK; i++) {
        cd_trie_close(t);
        t = NULL;
        err = cd_trie_open(&t, &cfg, NULL);
        if (err == CD_OK) {
            err = reopened[i % CD_COUNT(reopened)](b, t);
        }
    }
    cd_trie_close(t);
    cd_kv_close(kv);
    return err == CD_OK ? compare_roots(b) : err;
}

/* Tells whether this size needs no further round; begun is when its first round began. */
static bool has_run_enough(const bench *b, u64 begun)
{
    if (cd_lab_thread_cpu_ns() - begun >= SIZE_NS) {
        return true;
    }
    for (step s = 0; s < STEPS; s++) {
        if (b->spent[s] < REPEAT_NS) {
            return false;
        }
    }
    return true;
}

static void put_hash(cd_buf *out, const cd_hash32 *h)
{
    for (usize i = 0; i < 32; i++) {
        cd_buf_fmt(out, "%02x", h->b[i]);
    }
}

static void report(const bench *b, cd_buf *out, u64 cal_ns)
{
    for (step s = 0; s < STEPS; s++) {
        u64 ops = s == PROVE ? SAMPLE : s == UPDATE_HASH ? cd_min_u64(b->n, SAMPLE) : b->n;
        cd_buf_fmt(out,
                   "{\"bench\":\"trie\",\"name\":\"%s_%llu\",\"impl\":\"c\",\"ns_per_op\":%.1f,"
                   "\"mcal_per_op\":%.3f,\"root\":\"0x",
                   step_name[s], (unsigned long long)b->n, (double)b->best[s] / (double)ops,
                   cd_lab_per((double)b->best[s] * 1000 / (double)ops, (double)cal_ns));
        put_hash(out, s == UPDATE_HASH ? &b->updated_root : &b->root);
        cd_buf_fmt(out, "\",\"cal_ns\":%llu}\n", (unsigned long long)cal_ns);
    }
}

cd_err cd_lab_bench_trie(cd_buf *out, const u64 *sizes, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (sizes[i] == 0 || sizes[i] > CD_LAB_BENCH_TRIE_MAX) {
            return CD_ERANGE;
        }
        bench b = {.n = sizes[i]};
        make_accounts(&b);
        u64 cal_ns = calibrate();
        cd_err err = CD_OK;
        u64 begun = cd_lab_thread_cpu_ns();
        for (int k = 0; err == CD_OK && (k < REPEAT_MIN || !has_run_enough(&b, begun)); k++) {
            err = run_once(&b);
        }
        cal_ns = cd_lab_min_ns(cal_ns, calibrate());
        if (err == CD_OK) {
            report(&b, out, cal_ns);
        }
        cd_arena_fini(&b.proofs);
        cd_free(b.acc);
        cd_free(b.sorted);
        if (err != CD_OK) {
            return err;
        }
    }
    return CD_OK;
}
