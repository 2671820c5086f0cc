#include "lab/bench_crypto.h"

#include "base/hex.h"
#include "base/os/fileio.h"
#include "codec/json.h"
#include "crypto/bls/bls.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/keccak.h"
#include "crypto/hash/ripemd160.h"
#include "crypto/hash/sha2.h"
#include "evm/precompile/precompile.h"

#include <stdio.h>

enum {
    FILE_MAX = 16 << 20,
    LEN_MAX = 16 << 20,  /* bytes of a message */
    SIGNERS_MAX = 65536, /* signers of a BLS signature */
    MESSAGES = 8,        /* messages of keccak256_x8 */
};
#define GAS_MAX   1000000000u /* gas of a contract call */
#define BATCH_NS  2000000u    /* one reading of the clock stands for at least this much work */
#define BATCH_MAX (1u << 24)

typedef struct op op;

/* One case of the file, ready to run. */
typedef struct subject {
    cd_bytes name;
    cd_bytes input;
    cd_bytes want; /* the expected output */
    u64 len;       /* bytes of a message */
    u64 signers;
    const op *op;
    cd_arena *arena; /* memory for as long as the case lasts */
    u8 result[256];
    /* contracts */
    cd_precompile contract;
    cd_arena scratch;
    /* BLS */
    cd_bls_sk *sks;
    cd_bls_pk *pks;
    cd_bls_sig *sigs;
    u8 key[CD_BLS_PK_LEN];        /* public key of signer 0 */
    u8 signature[CD_BLS_SIG_LEN]; /* signature of signer 0 */
    u8 aggregate[CD_BLS_SIG_LEN]; /* signature of all signers */
} subject;

/* One kind of operation. */
struct op {
    const char *name;
    cd_bytes (*run)(subject *s); /* gives the output, valid until the next run; empty: it refuses its input */
    void (*prepare)(subject *s); /* makes what run needs; may be NULL */
    const char *contract;        /* name of the contract that run_contract calls */
    usize input_n;               /* the only input length, 0: any */
    bool is_bls;                 /* needs signers */
    usize messages;              /* messages hashed at once; 0: no hash function */
};

/* Copies a value into s->result and gives that, for run to give as its output. */
static cd_bytes result_of(subject *s, const void *p, usize n)
{
    memcpy(s->result, p, n);
    return cd_bytes_of(s->result, n);
}

static cd_bytes yes(subject *s, bool is_good)
{
    s->result[0] = 1;
    return cd_bytes_of(s->result, is_good ? 1 : 0);
}

/* --- hashes --- */

static cd_bytes run_keccak256(subject *s)
{
    cd_hash32 h;
    cd_keccak256(&h, s->input);
    return result_of(s, h.b, sizeof h.b);
}

static cd_bytes run_sha256(subject *s)
{
    cd_hash32 h;
    cd_sha256(&h, s->input);
    return result_of(s, h.b, sizeof h.b);
}

static cd_bytes run_ripemd160(subject *s)
{
    cd_hash20 h;
    cd_ripemd160(&h, s->input);
    return result_of(s, h.b, sizeof h.b);
}

static cd_bytes run_keccak256_x8(subject *s)
{
    cd_bytes in[MESSAGES];
    cd_hash32 out[MESSAGES];
    for (usize i = 0; i < MESSAGES; i++) {
        in[i] = cd_bytes_sub(s->input, i, (usize)s->len);
    }
    cd_keccak256_x8(out, in);
    return result_of(s, out, sizeof out);
}

/* --- contracts and secp256k1 --- */

static void prepare_contract(subject *s)
{
    cd_err err = cd_precompile_by_name(&s->contract, s->op->contract);
    CD_ASSERT(err == CD_OK);
}

static cd_bytes run_contract(subject *s)
{
    cd_precompile_call call = {.input = s->input, .gas = GAS_MAX, .arena = &s->scratch};
    cd_arena_reset(&s->scratch);
    return s->contract.run(&call, s->contract.cfg) == CD_PRE_OK ? call.output : (cd_bytes){0};
}

static cd_bytes run_secp256k1_sign(subject *s)
{
    cd_hash32 msg;
    u8 *sig = s->result;
    memcpy(msg.b, s->input.p, sizeof msg.b);
    cd_err err = cd_secp256k1_sign(sig, sig + 64, &msg, s->input.p + 32);
    return cd_bytes_of(sig, err == CD_OK ? 65 : 0);
}

static cd_bytes run_secp256k1_verify(subject *s)
{
    cd_hash32 msg;
    memcpy(msg.b, s->input.p, sizeof msg.b);
    return yes(s, cd_secp256k1_verify(&msg, s->input.p + 32, s->input.p + 96));
}

/* --- BLS --- */

/* Secret key i is the hash of its label with the first byte cleared, so that it is below the group's order. */
static void prepare_bls(subject *s)
{
    usize cnt = (usize)s->signers;
    s->sks = cd_arena_array(s->arena, cd_bls_sk, cnt);
    s->pks = cd_arena_array(s->arena, cd_bls_pk, cnt);
    s->sigs = cd_arena_array(s->arena, cd_bls_sig, cnt);
    for (usize i = 0; i < cnt; i++) {
        char label[32];
        cd_hash32 h;
        (void)snprintf(label, sizeof label, "bench-key-%zu", i);
        cd_keccak256(&h, cd_bytes_str(label));
        memcpy(s->sks[i].b, h.b, sizeof h.b);
        s->sks[i].b[0] = 0;
        cd_err err = cd_bls_pk_of(&s->pks[i], &s->sks[i]);
        err = err != CD_OK ? err : cd_bls_sign(&s->sigs[i], CD_BLS_POP, s->input, &s->sks[i]);
        CD_ASSERT(err == CD_OK);
    }
    cd_bls_sig sum;
    cd_err err = cd_bls_agg_sigs(&sum, s->sigs, cnt);
    CD_ASSERT(err == CD_OK);
    cd_bls_pk_enc(s->key, &s->pks[0]);
    cd_bls_sig_enc(s->signature, &s->sigs[0]);
    cd_bls_sig_enc(s->aggregate, &sum);
}

static cd_bytes run_bls_sign(subject *s)
{
    cd_bls_sig sig;
    if (cd_bls_sign(&sig, CD_BLS_POP, s->input, &s->sks[0]) != CD_OK) {
        return (cd_bytes){0};
    }
    cd_bls_sig_enc(s->result, &sig);
    return cd_bytes_of(s->result, CD_BLS_SIG_LEN);
}

static cd_bytes run_bls_verify(subject *s)
{
    cd_bls_sig sig;
    return yes(s, cd_bls_sig_dec(&sig, cd_bytes_of(s->signature, sizeof s->signature)) == CD_OK &&
                      cd_bls_verify(&sig, CD_BLS_POP, s->input, &s->pks[0]));
}

static cd_bytes run_bls_key_validate(subject *s)
{
    cd_bls_pk pk;
    return yes(s, cd_bls_pk_dec(&pk, cd_bytes_of(s->key, sizeof s->key)) == CD_OK);
}

static cd_bytes run_bls_aggregate(subject *s)
{
    cd_bls_sig sum;
    if (cd_bls_agg_sigs(&sum, s->sigs, (usize)s->signers) != CD_OK) {
        return (cd_bytes){0};
    }
    cd_bls_sig_enc(s->result, &sum);
    return cd_bytes_of(s->result, CD_BLS_SIG_LEN);
}

static cd_bytes run_bls_fast_aggregate_verify(subject *s)
{
    cd_bls_sig sig;
    return yes(s, cd_bls_sig_dec(&sig, cd_bytes_of(s->aggregate, sizeof s->aggregate)) == CD_OK &&
                      cd_bls_fast_agg_verify(&sig, s->input, s->pks, (usize)s->signers));
}

/* --- the table --- */

#define CONTRACT(op_name, contract_name)                                                                               \
    {                                                                                                                  \
        .name = (op_name), .run = run_contract, .prepare = prepare_contract, .contract = (contract_name)               \
    }
#define BLS(op_name)                                                                                                   \
    {                                                                                                                  \
        .name = #op_name, .run = run_##op_name, .prepare = prepare_bls, .is_bls = true                                 \
    }

static const op ops[] = {
    {.name = "keccak256", .run = run_keccak256, .messages = 1},
    {.name = "keccak256_x8", .run = run_keccak256_x8, .messages = MESSAGES},
    {.name = "sha256", .run = run_sha256, .messages = 1},
    {.name = "ripemd160", .run = run_ripemd160, .messages = 1},
    CONTRACT("ecrecover", "ecrecover"),
    CONTRACT("modexp", "modexp_eip2565"),
    CONTRACT("bn254_add", "bn254_add"),
    CONTRACT("bn254_mul", "bn254_mul"),
    CONTRACT("bn254_pairing", "bn254_pairing"),
    CONTRACT("blake2f", "blake2f"),
    CONTRACT("kzg_point_evaluation", "kzg_point_evaluation"),
    CONTRACT("p256_verify", "p256_verify"),
    {.name = "secp256k1_sign", .run = run_secp256k1_sign, .input_n = 64},
    {.name = "secp256k1_verify", .run = run_secp256k1_verify, .input_n = 160},
    BLS(bls_sign),
    BLS(bls_verify),
    BLS(bls_key_validate),
    BLS(bls_aggregate),
    BLS(bls_fast_aggregate_verify),
};

static const op *op_find(cd_bytes name)
{
    for (usize i = 0; i < CD_COUNT(ops); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(ops[i].name))) {
            return &ops[i];
        }
    }
    return NULL;
}

/* --- running --- */

/* Gives the n bytes 0, 1, ... 255, 0, ... */
static cd_bytes pattern(cd_arena *a, usize n)
{
    u8 *p = cd_arena_alloc(a, n);
    for (usize i = 0; i < n; i++) {
        p[i] = (u8)i;
    }
    return cd_bytes_of(p, n);
}

/* Reads a number of at most max; a missing one is 0. */
static cd_err optional_u64(u64 *out, cd_json v, u64 max, cd_errinfo *why)
{
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(out, v, why));
    return *out <= max ? CD_OK : cd_json_fail(v, CD_ELIMIT, "too large", why);
}

/* Fills in s from one entry; s->op stays NULL when there is no code for it. */
static cd_err load(subject *s, cd_json entry, cd_errinfo *why)
{
    cd_bytes name;
    CD_TRY(cd_json_str(&name, cd_json_get(entry, "op"), why));
    CD_TRY(cd_json_hex(&s->want, s->arena, cd_json_get(entry, "output"), why));
    CD_TRY(optional_u64(&s->len, cd_json_get(entry, "len"), LEN_MAX, why));
    CD_TRY(optional_u64(&s->signers, cd_json_get(entry, "signers"), SIGNERS_MAX, why));
    cd_json input = cd_json_get(entry, "input");
    const op *found = op_find(name);
    if (found == NULL) {
        return CD_OK;
    }
    /* Message i of several begins at byte i: the input is longer than one message by their number less one. */
    usize tail = found->messages > 1 ? found->messages - 1 : 0;
    if (cd_json_has(input)) {
        CD_TRY(cd_json_hex(&s->input, s->arena, input, why));
    } else {
        s->input = pattern(s->arena, (usize)s->len + tail);
    }
    if (s->input.n < tail || (found->input_n != 0 && s->input.n != found->input_n)) {
        return cd_json_fail(input, CD_EFORMAT, "not a length that the operation takes", why);
    }
    s->len = s->input.n - tail;
    if (found->is_bls && s->signers == 0) {
        return cd_json_fail(entry, CD_EFORMAT, "the operation needs signers", why);
    }
    s->op = found;
    return CD_OK;
}

/* Runs the operation cnt times and gives the CPU time in ns, that of all threads together. */
static u64 time_batch(subject *s, u32 cnt)
{
    u64 start = cd_lab_process_cpu_ns();
    for (u32 i = 0; i < cnt; i++) {
        (void)s->op->run(s);
    }
    return cd_lab_process_cpu_ns() - start;
}

static void report(cd_buf *out, const subject *s, u64 best_ns, u32 batch, u64 reps)
{
    double ns = (double)best_ns / batch;
    cd_buf_fmt(out, "{\"bench\":\"crypto\",\"name\":\"%.*s\",\"impl\":\"c\",\"ns\":%.1f,\"ops_s\":%.1f,",
               (int)s->name.n, (const char *)s->name.p, ns, cd_lab_per(1e9, ns));
    if (s->op->messages != 0) {
        cd_buf_fmt(out, "\"mb_s\":%.1f,", cd_lab_per((double)(s->op->messages * s->len) * 1e3, ns));
    }
    cd_buf_fmt(out, "\"iters\":%llu,\"output\":\"", (unsigned long long)reps * batch);
    cd_hex_put(out, s->want);
    cd_buf_str(out, "\"}\n");
}

static cd_err measure(cd_buf *out, subject *s, const cd_lab_effort *effort, cd_errinfo *why)
{
    if (s->op->prepare != NULL) {
        s->op->prepare(s);
    }
    if (!cd_bytes_eq(s->op->run(s), s->want)) {
        return cd_fail(why, CD_EINVAL, "%.*s: output differs", (int)s->name.n, (const char *)s->name.p);
    }
    u32 batch = 1;
    while (effort->exact == 0 && batch < BATCH_MAX && time_batch(s, batch) < BATCH_NS) {
        batch *= 2;
    }
    cd_lab_timing t = {0};
    while (cd_lab_timing_goes_on(&t, effort)) {
        cd_lab_timing_add(&t, time_batch(s, batch));
    }
    report(out, s, t.best, batch, t.reps);
    return CD_OK;
}

static cd_err run_entry(cd_buf *out, subject *s, cd_json entry, const cd_lab_effort *effort, cd_errinfo *why)
{
    CD_TRY(load(s, entry, why));
    return s->op == NULL ? CD_OK : measure(out, s, effort, why);
}

cd_err cd_lab_bench_crypto(cd_buf *out, const char *path, const char *only, const cd_lab_effort *effort,
                           cd_errinfo *why)
{
    cd_arena doc_arena = {0};
    cd_arena arena = {0};
    cd_buf text = {0};
    cd_json doc;
    usize matched = 0;
    cd_err err = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, why);
    if (err == CD_OK) {
        err = cd_json_parse(&doc, &doc_arena, cd_buf_bytes(&text), 0, why);
    }
    if (err == CD_OK) {
        err = cd_json_arr(doc, why);
    }
    cd_json_it it = {0};
    if (err == CD_OK) {
        it = cd_json_iter(doc);
    }
    while (err == CD_OK && cd_json_next(&it)) {
        subject s = {.arena = &arena};
        err = cd_json_str(&s.name, cd_json_get(it.val, "name"), why);
        if (err == CD_OK && (only == NULL || strstr(cd_arena_str(&arena, s.name), only) != NULL)) {
            matched++;
            err = run_entry(out, &s, it.val, effort, why);
        }
        cd_arena_fini(&s.scratch);
        cd_arena_reset(&arena);
    }
    if (err == CD_OK && matched == 0) {
        err = cd_fail(why, CD_ENOENT, "no case of %s matches", path);
    }
    cd_buf_fini(&text);
    cd_arena_fini(&arena);
    cd_arena_fini(&doc_arena);
    return err;
}
