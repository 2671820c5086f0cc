/* 4byteTracer: which functions were called, by the first four bytes of the call data, and how much data came with
 * it. */
#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "chains/evmchain/tracers/kinds_priv.h"
#include "evm/interp/opcode.h"

/* A selector and the size of the arguments. */
typedef struct id {
    u64 selector;
    u64 size;
} id;

typedef struct count {
    id id;
    u64 cnt;
} count;

typedef struct fourbyte {
    cd_txtracer t;
    cd_hmap map; /* id -> u32: place in v, which keeps the order of first calls */
    count *v;
    u32 cnt;
    u32 cap;
} fourbyte;

static void add(fourbyte *f, const id *what)
{
    const u32 *at = cd_hmap_get(&f->map, what);
    if (at != NULL) {
        f->v[*at].cnt++;
        return;
    }
    if (!cd_tracer_take(&f->t, 2 * sizeof(count))) {
        return;
    }
    if (f->cnt == f->cap) {
        f->cap = f->cap == 0 ? 16 : 2 * f->cap;
        f->v = cd_realloc(f->v, f->cap * sizeof *f->v);
    }
    *(u32 *)cd_hmap_put(&f->map, NULL, what) = f->cnt;
    f->v[f->cnt++] = (count){.id = *what, .cnt = 1};
}

static void on_enter(cd_tracer *t, u32 depth, u8 op, const cd_evm_msg *msg)
{
    fourbyte *f = (fourbyte *)(void *)t;
    (void)depth;
    bool is_call = op == CD_OP_CALL || op == CD_OP_CALLCODE || op == CD_OP_DELEGATECALL || op == CD_OP_STATICCALL;
    /* Ethereum's precompiles have no selectors; what a chain adds does. */
    if (is_call && msg->input.n >= 4 && !t->stop &&
        cd_precompile_find(cd_precompile_eth(f->t.tx->fork), &msg->code) == NULL) {
        id what = {.selector = cd_be32(msg->input.p), .size = msg->input.n - 4};
        add(f, &what);
    }
}

static cd_err make(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    (void)cfg;
    (void)why;
    fourbyte *f = cd_new(fourbyte);
    f->t = (cd_txtracer){.hooks = {.enter = on_enter}, .kind = &cd__tracer_4byte};
    cd_hmap_init(&f->map, CD_HASH_KEYED, sizeof(id), sizeof(u32));
    *out = &f->t;
    return CD_OK;
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    const fourbyte *f = (fourbyte *)(void *)t;
    cd_arena a = {0};
    cd_json_w_obj(w);
    for (u32 i = 0; i < f->cnt; i++) {
        const count *c = &f->v[i];
        cd_json_w_key(
            w, cd_arena_fmt(&a, "0x%08llx-%llu", (unsigned long long)c->id.selector, (unsigned long long)c->id.size));
        cd_json_w_u64(w, c->cnt);
        cd_arena_reset(&a);
    }
    cd_json_w_obj_end(w);
    cd_arena_fini(&a);
}

static void release(cd_txtracer *t)
{
    fourbyte *f = (fourbyte *)(void *)t;
    cd_hmap_fini(&f->map);
    cd_free(f->v);
    cd_free(f);
}

const cd_tracer_kind cd__tracer_4byte = {
    .name = "4byteTracer",
    .make = make,
    .result = result,
    .free = release,
};
