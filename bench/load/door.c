/* bench-door: blocks of a C-Chain taken in by the VM in this process and by candela-evm behind the plugin's door, with
 * a store of its own; parsed, verified, preferred, accepted and committed one by one. A line of JSON each: processor
 * time of all processes together, what opening and closing take left out.
 *
 * usage: bench-door FOLDER PLUGIN [ROUNDS]   FOLDER as `peer dump` of tests/e2e/guest writes it */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/fileio.h"
#include "chains/evmchain/evm_vm.h"
#include "consensus/engine.h"
#include "crypto/bls/bls.h"
#include "lab/cputime.h"
#include "plugin/host/vm.h"
#include "types/network.h"
#include "vm/shared/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

typedef struct input {
    cd_buf genesis;
    cd_buf blocks;
    const char *plugin;
    u8 bls_key[48];
} input;

/* A store, and a VM on it. */
typedef struct bench {
    char dir[32];
    cd_kv *store;
    cd_kv *part;
    cd_kv *shared_part;
    cd_vm_memory memory;
    cd_network network;
    cd_vm_primary primary;
    cd_rng rng;
    cd_plugin_vm_cfg plugin;
    cd_vm *vm;
} bench;

static void must(cd_err e, const char *what, const cd_errinfo *why)
{
    if (e != CD_OK) {
        (void)fprintf(stderr, "%s: %s %s\n", what, cd_err_str(e), why->msg);
        exit(1);
    }
}

static u64 cpu_ns(void)
{
    struct rusage kids;
    (void)getrusage(RUSAGE_CHILDREN, &kids);
    u64 us = (u64)(kids.ru_utime.tv_sec + kids.ru_stime.tv_sec) * 1000000 +
             (u64)(kids.ru_utime.tv_usec + kids.ru_stime.tv_usec);
    return cd_lab_process_cpu_ns() + us * 1000;
}

static void bench_open(bench *b, input *in, bool is_plugin)
{
    static const char config[] = "{\"use-standalone-database\":true,\"network-profile\":\"upstream\"}";
    cd_errinfo why = {0};
    char path[64];
    *b = (bench){.dir = "/tmp/candela-door-XXXXXX", .network = cd_network_of(12345), .rng = cd_rng_seeded(1)};
    if (mkdtemp(b->dir) == NULL) {
        must(CD_EIO, "no temporary directory", &why);
    }
    (void)snprintf(path, sizeof path, "%s/db", b->dir);
    const cd_kv_cfg kcfg = {.dir = path, .layout = 1};
    must(cd_kv_rocksdb_open(&b->store, &kcfg, &why), "store", &why);
    must(cd_network_profile(&b->network, "upstream", &why), "profile", &why);
    b->part = cd_kv_prefix_open(b->store, cd_bytes_str("C"));
    b->shared_part = cd_kv_prefix_open(b->store, cd_bytes_str("M"));
    b->primary = (cd_vm_primary){.x_chain_id = {"X"}, .c_chain_id = {"C"}, .asset_id = {"a"}, .network = &b->network};
    cd_vm_memory_init(&b->memory, b->shared_part, &b->primary.c_chain_id);
    b->plugin = (cd_plugin_vm_cfg){
        .path = in->plugin,
        .store = b->store,
        .bls_key = cd_bytes_of(in->bls_key, sizeof in->bls_key),
        .has_own_store = true,
    };
    const cd_vm_ctx ctx = {
        .kv = b->part,
        .clock = cd_clock_real(),
        .rng = &b->rng,
        .shared = &b->memory.shared,
        .primary = &b->primary,
        .genesis = cd_buf_bytes(&in->genesis),
        .config = is_plugin ? cd_bytes_str(config) : (cd_bytes){0},
        .network_id = 12345,
        .chain_id = b->primary.c_chain_id,
        .name = "C",
        .dev = is_plugin ? &b->plugin : NULL,
        .dir = b->dir,
    };
    char sub[64];
    (void)snprintf(sub, sizeof sub, "%s/chain", b->dir);
    cd_vm_ctx own = ctx;
    own.dir = sub;
    must(is_plugin ? cd_plugin_vm_open(&b->vm, &own, &why) : cd_evm_vm_open(&b->vm, &own, &why), "VM", &why);
    must(b->vm->ops->set_state(b->vm, CD_VM_BOOTSTRAPPING, &why), "state", &why);
}

static void bench_close(bench *b)
{
    b->vm->ops->close(b->vm);
    cd_kv_close(b->part);
    cd_kv_close(b->shared_part);
    cd_kv_close(b->store);
    (void)!cd_fs_remove_tree(cd_fs_real(), b->dir, NULL);
}

/* The RLP list at the beginning of all. */
static cd_bytes first_list(cd_bytes all)
{
    usize digits = all.p[0] > 0xf7 ? all.p[0] - 0xf7U : 0;
    usize n = digits == 0 ? all.p[0] - 0xc0U : 0;
    for (usize i = 0; i < digits; i++) {
        n = n << 8 | all.p[1 + i];
    }
    return cd_bytes_sub(all, 0, 1 + digits + n);
}

static u32 take_in(bench *b, cd_bytes all)
{
    const cd_commit_door door = {.store = b->store, .chain = b->part, .sync = CD_KV_SYNC};
    const cd_vm_block_ctx none = {0};
    const cd_vm_ops *ops = b->vm->ops;
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    u32 cnt = 0;
    bool is_in;
    while (all.n != 0) {
        cd_bytes bytes = first_list(all);
        cd_vm_block *blk;
        must(ops->parse(b->vm, &blk, bytes, &why), "parse", &why);
        must(ops->verify(b->vm, blk, &none, &why), "verify", &why);
        must(ops->set_preference(b->vm, &blk->id), "preference", &why);
        must(cd_commit_door_accept(&door, b->vm, blk, &batch, &is_in, &why), "accept", &why);
        ops->release(b->vm, blk);
        all = cd_bytes_sub(all, bytes.n, all.n - bytes.n);
        cnt++;
    }
    cd_kv_batch_fini(&batch);
    return cnt;
}

/* Processor time of opening, taking in and closing; blocks empty: nothing is taken in. */
static u64 round_ns(input *in, bool is_plugin, cd_bytes blocks, u32 *cnt, u64 *wall)
{
    static bench b;
    u64 from = cpu_ns();
    bench_open(&b, in, is_plugin);
    u64 begin = cd_lab_wall_ns();
    *cnt = take_in(&b, blocks);
    *wall = cd_lab_wall_ns() - begin;
    bench_close(&b);
    return cpu_ns() - from;
}

static double measure(input *in, bool is_plugin, u32 rounds)
{
    u64 best = UINT64_MAX;
    u64 empty = UINT64_MAX;
    u64 best_wall = UINT64_MAX;
    u64 wall;
    u32 cnt = 0;
    u32 none;
    for (u32 i = 0; i < rounds; i++) {
        empty = cd_min_u64(empty, round_ns(in, is_plugin, (cd_bytes){0}, &none, &wall));
        best = cd_min_u64(best, round_ns(in, is_plugin, cd_buf_bytes(&in->blocks), &cnt, &wall));
        best_wall = cd_min_u64(best_wall, wall);
    }
    double us = (double)(best - empty) / 1e3 / cnt;
    (void)printf("{\"bench\":\"door\",\"impl\":\"%s\",\"blocks\":%u,\"cpu_us_block\":%.1f,\"wall_us_block\":%.1f,"
                 "\"open_cpu_ms\":%.1f}\n",
                 is_plugin ? "plugin" : "inside", cnt, us, (double)best_wall / 1e3 / cnt, (double)empty / 1e6);
    return us;
}

static cd_err read_in(cd_buf *out, const char *dir, const char *file, cd_errinfo *why)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    return cd_fs_read_file(cd_fs_real(), out, path, (usize)1 << 30, why);
}

int main(int argc, char **argv)
{
    static input in;
    cd_errinfo why = {0};
    cd_bls_sk sk;
    cd_bls_pk pk;
    const u8 ikm[32] = {1};
    u64 rounds = 3;
    if (argc < 3 || argc > 4 || (argc == 4 && cd_u64_parse(&rounds, cd_bytes_str(argv[3])) != CD_OK)) {
        (void)fprintf(stderr, "usage: bench-door FOLDER PLUGIN [ROUNDS]\n");
        return 2;
    }
    cd_mem_tune();
    in.plugin = argv[2];
    must(read_in(&in.genesis, argv[1], "genesis.json", &why), "genesis", &why);
    must(read_in(&in.blocks, argv[1], "blocks.rlp", &why), "blocks", &why);
    must(cd_bls_keygen(&sk, cd_bytes_of(ikm, sizeof ikm)), "key", &why);
    must(cd_bls_pk_of(&pk, &sk), "key", &why);
    cd_bls_pk_enc(in.bls_key, &pk);
    double inside = measure(&in, false, (u32)rounds);
    double plugin = measure(&in, true, (u32)rounds);
    (void)printf("{\"bench\":\"door\",\"ratio\":%.3f,\"limit\":1.15}\n", plugin / inside);
    cd_buf_fini(&in.genesis);
    cd_buf_fini(&in.blocks);
    return 0;
}
