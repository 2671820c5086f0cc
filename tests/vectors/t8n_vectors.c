/* Transitions recorded from go-ethereum's evm (evm-tracers/t8n-31, t8n-32): the trace of each
 * transaction, line by line. [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "base/hex.h"
#include "lab/t8n.h"

typedef struct run {
    vec *v;
    const char *folder;
} run;

static void on_trace(void *ctx, usize idx, const cd_hash32 *tx_hash, cd_bytes lines)
{
    run *r = ctx;
    char hex[65] = {0};
    cd_bytes want;
    cd_hex_fmt(hex, cd_bytes_of(tx_hash->b, 32));
    const char *name = cd_arena_fmt(&r->v->arena, "%s/trace-%zu-0x%s.jsonl", r->folder, idx, hex);
    const char *path = vec_path(r->v, name);
    if (vec_read(r->v, &want, path)) {
        vec_check(r->v, cd_bytes_eq(want, lines), "%s: lines differ", path);
    }
}

static void run_folder(vec *v, const char *folder, cd_fork fork, bool callframes)
{
    run r = {.v = v, .folder = folder};
    cd_t8n_out out = {0};
    cd_errinfo why = {0};
    cd_t8n_cfg cfg = {
        .fork = fork,
        .chain_id = 1,
        .has_reward = true,
        .trace = true,
        .trace_callframes = callframes,
        .on_trace = on_trace,
        .trace_ctx = &r,
    };
    if (vec_read(v, &cfg.alloc, vec_path(v, cd_arena_fmt(&v->arena, "%s/alloc.json", folder))) &&
        vec_read(v, &cfg.env, vec_path(v, cd_arena_fmt(&v->arena, "%s/env.json", folder))) &&
        vec_read(v, &cfg.txs, vec_path(v, cd_arena_fmt(&v->arena, "%s/txs.json", folder)))) {
        cd_err e = cd_t8n_run(&out, &cfg, &why);
        vec_check(v, e == CD_OK, "%s: %s", folder, why.msg);
    }
    cd_t8n_out_fini(&out);
}

int main(void)
{
    vec v = {0};
    run_folder(&v, "evm-tracers/t8n-31", CD_CANCUN, false);
    run_folder(&v, "evm-tracers/t8n-32", CD_PARIS, true);
    return vec_end(&v);
}
