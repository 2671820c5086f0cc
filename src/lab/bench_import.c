#include "lab/bench_import.h"

#include "base/os/fileio.h"
#include "chains/evmchain/core/import.h"
#include "lab/cputime.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct workload {
    cd_arena arena;
    cd_buf genesis;
    cd_buf blocks;
    cd_hash32 last_hash;
    cd_hash32 root;
    u64 gas;
    u64 txs;
} workload;

static cd_err read_in(cd_buf *out, const char *dir, const char *file, cd_errinfo *why)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    return cd_fs_read_file(cd_fs_real(), out, path, (usize)1 << 30, why);
}

static cd_err load(workload *w, const char *dir, const char *name, cd_errinfo *why)
{
    char file[256];
    cd_buf meta = {0};
    cd_json doc;
    (void)snprintf(file, sizeof file, "blocks_%s.rlp", name);
    cd_err e = read_in(&w->genesis, dir, "genesis.json", why);
    e = e != CD_OK ? e : read_in(&w->blocks, dir, file, why);
    e = e != CD_OK ? e : read_in(&meta, dir, "blocks.json", why);
    e = e != CD_OK ? e : cd_json_parse(&doc, &w->arena, cd_buf_bytes(&meta), 0, why);
    if (e == CD_OK) {
        cd_json row = cd_json_get(doc, name);
        e = cd_json_fixed(w->last_hash.b, 32, cd_json_get(row, "last_hash"), why);
        e = e != CD_OK ? e : cd_json_fixed(w->root.b, 32, cd_json_get(row, "state_root"), why);
        e = e != CD_OK ? e : cd_json_u64(&w->gas, cd_json_get(row, "gas"), why);
        e = e != CD_OK ? e : cd_json_u64(&w->txs, cd_json_get(row, "txs"), why);
    }
    cd_buf_fini(&meta);
    return e;
}

typedef struct timing {
    u64 wall_ns;
    u64 cpu_ns; /* CPU time of the process */
    u64 own_ns; /* CPU time of the thread that imports */
} timing;

/* Times one import into a fresh directory. */
static cd_err round_once(timing *t, const workload *w, const cd_lab_import *cfg, cd_errinfo *why)
{
    bool is_open = false;
    char dir[] = "/tmp/candela-import-XXXXXX";
    cd_kv *kv = NULL;
    cd_chain *chain = NULL;
    cd_pool *pool = NULL;
    if (mkdtemp(dir) == NULL) {
        return cd_fail(why, CD_EIO, "no temporary directory below /tmp");
    }
    char path[64];
    (void)snprintf(path, sizeof path, "%s/db", dir);
    cd_kv_cfg kcfg = {.dir = path, .layout = 1};
    cd_err e = cd_kv_rocksdb_open(&kv, &kcfg, why);
    if (e == CD_OK && cfg->threads > 1) {
        e = cd_pool_new(&pool, cfg->threads - 1, 4096, "import", why);
    }
    if (e == CD_OK) {
        cd_chain_cfg ccfg = {
            .kv = kv,
            .genesis = cd_buf_bytes(&w->genesis),
            .pool = pool,
            .sync = CD_KV_NOSYNC,
            .history = cfg->history,
            .is_ethereum = true,
        };
        e = cd_chain_open(&chain, &ccfg, why);
    }
    if (e == CD_OK && cfg->opened != NULL) {
        e = cfg->opened(cfg->ctx, chain, kv, why);
        is_open = e == CD_OK;
    }
    if (e == CD_OK) {
        u64 wall = cd_lab_wall_ns();
        u64 cpu = cd_lab_process_cpu_ns();
        u64 own = cd_lab_thread_cpu_ns();
        e = cd_chain_import(chain, cd_buf_bytes(&w->blocks), pool, UINT64_MAX / 2, why);
        t->wall_ns = cd_lab_wall_ns() - wall;
        t->cpu_ns = cd_lab_process_cpu_ns() - cpu;
        t->own_ns = cd_lab_thread_cpu_ns() - own;
    }
    if (e == CD_OK) {
        const cd_block *head = cd_chain_head(chain);
        if (!cd_hash32_eq(&head->hash, &w->last_hash) || !cd_hash32_eq(&head->header.state_root, &w->root)) {
            e = cd_fail(why, CD_EINVAL, "imported chain ends in another block than blocks.json says");
        }
    }
    cd_chain_close(chain);
    if (is_open) {
        cfg->closed(cfg->ctx);
    }
    cd_pool_free(pool);
    cd_kv_close(kv);
    cd_err gone = cd_fs_remove_tree(cd_fs_real(), dir, why);
    return e != CD_OK ? e : gone;
}

cd_err cd_lab_bench_import(cd_buf *out, const char *dir, const char *name, const cd_lab_import *cfg, cd_errinfo *why)
{
    workload w = {0};
    timing best = {0};
    cd_err e = load(&w, dir, name, why);
    for (u32 i = 0; i < cfg->rounds && e == CD_OK; i++) {
        timing t = {0};
        e = round_once(&t, &w, cfg, why);
        if (e == CD_OK) {
            best.wall_ns = cd_lab_min_ns(best.wall_ns, t.wall_ns);
            best.cpu_ns = cd_lab_min_ns(best.cpu_ns, t.cpu_ns);
            best.own_ns = cd_lab_min_ns(best.own_ns, t.own_ns);
        }
    }
    if (e == CD_OK) {
        cd_buf_fmt(out,
                   "{\"bench\":\"import\",\"name\":\"%s\",\"impl\":\"%s\",\"threads\":%u,\"wall_ms\":%.3f,"
                   "\"cpu_ms\":%.3f,\"cpu_us_tx\":%.3f,\"own_us_tx\":%.3f,\"mgas_s\":%.1f,\"mgas_cpu_s\":%"
                   ".1f,\"root\":\"0x",
                   name, cfg->impl, cfg->threads, (double)best.wall_ns / 1e6, (double)best.cpu_ns / 1e6,
                   cd_lab_per((double)best.cpu_ns / 1e3, (double)w.txs),
                   cd_lab_per((double)best.own_ns / 1e3, (double)w.txs),
                   cd_lab_per((double)w.gas * 1e3, (double)best.wall_ns),
                   cd_lab_per((double)w.gas * 1e3, (double)best.cpu_ns));
        for (usize i = 0; i < 32; i++) {
            cd_buf_fmt(out, "%02x", w.root.b[i]);
        }
        cd_buf_str(out, "\"}\n");
    }
    cd_buf_fini(&w.genesis);
    cd_buf_fini(&w.blocks);
    cd_arena_fini(&w.arena);
    return e;
}
