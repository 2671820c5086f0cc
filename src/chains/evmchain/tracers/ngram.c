/* opcountTracer, unigramTracer, bigramTracer, trigramTracer: how many instructions ran, and how often each one, each
 * pair and each three in a row within one frame. */
#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "chains/evmchain/tracers/kinds_priv.h"

/* Instead of an instruction: none yet. */
enum { NOTHING = 0x100 };

typedef struct gram {
    u64 key; /* the instructions, 9 bits each, the newest lowest */
    u64 cnt;
} gram;

typedef struct ngram {
    cd_txtracer t;
    u32 n; /* instructions of a key; 0: only count */
    u32 depth;
    u64 last; /* the last n - 1 instructions */
    u64 steps;
    cd_hmap map; /* key -> u32: place in v */
    gram *v;
    u32 cnt;
    u32 cap;
} ngram;

static void add(ngram *g, u64 key)
{
    const u32 *at = cd_hmap_get(&g->map, &key);
    if (at != NULL) {
        g->v[*at].cnt++;
        return;
    }
    if (!cd_tracer_take(&g->t, 2 * sizeof(gram))) {
        return;
    }
    if (g->cnt == g->cap) {
        g->cap = g->cap == 0 ? 64 : 2 * g->cap;
        g->v = cd_realloc(g->v, g->cap * sizeof *g->v);
    }
    *(u32 *)cd_hmap_put(&g->map, NULL, &key) = g->cnt;
    g->v[g->cnt++] = (gram){.key = key, .cnt = 1};
}

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    ngram *g = (ngram *)(void *)t;
    bool same_frame = g->depth == s->depth;
    g->steps++;
    g->depth = s->depth;
    switch (g->n) {
    case 1:
        add(g, s->op);
        break;
    case 2:
        if (same_frame) {
            add(g, g->last << 9 | s->op);
        }
        g->last = s->op;
        break;
    case 3: /* the first instruction after a change of frames is left out */
        if (!same_frame) {
            g->last = NOTHING << 9 | NOTHING;
            break;
        }
        add(g, g->last << 9 | s->op);
        g->last = (g->last << 9 | s->op) & 0x3ffff;
        break;
    }
}

static cd_err make(cd_txtracer **out, const cd_tracer_kind *kind, u32 n)
{
    ngram *g = cd_new(ngram);
    *g = (ngram){.t = {.hooks = {.step = on_step}, .kind = kind}, .n = n};
    cd_hmap_init(&g->map, CD_HASH_KEYED, sizeof(u64), sizeof(u32));
    *out = &g->t;
    return CD_OK;
}

static cd_err make_opcount(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    (void)cfg;
    (void)why;
    return make(out, &cd__tracer_opcount, 0);
}

static cd_err make_unigram(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    (void)cfg;
    (void)why;
    return make(out, &cd__tracer_unigram, 1);
}

static cd_err make_bigram(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    (void)cfg;
    (void)why;
    return make(out, &cd__tracer_bigram, 2);
}

static cd_err make_trigram(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    (void)cfg;
    (void)why;
    return make(out, &cd__tracer_trigram, 3);
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    const ngram *g = (ngram *)(void *)t;
    if (g->n == 0) {
        cd_json_w_u64(w, g->steps);
        return;
    }
    cd_buf key = {0};
    cd_json_w_obj(w);
    for (u32 i = 0; i < g->cnt; i++) {
        cd_buf_clear(&key);
        for (u32 k = g->n; k-- > 0;) {
            char name[24];
            u64 op = g->v[i].key >> (9 * k) & 0x1ff;
            cd_buf_str(&key, op == NOTHING ? "" : cd__trace_op_name(name, (u8)op));
            cd_buf_str(&key, k != 0 ? "-" : "");
        }
        cd_json_w_key_str(w, cd_buf_bytes(&key));
        cd_json_w_u64(w, g->v[i].cnt);
    }
    cd_json_w_obj_end(w);
    cd_buf_fini(&key);
}

static void release(cd_txtracer *t)
{
    ngram *g = (ngram *)(void *)t;
    cd_hmap_fini(&g->map);
    cd_free(g->v);
    cd_free(g);
}

#define KIND(id, title)                                                                                                \
    const cd_tracer_kind cd__tracer_##id = {.name = title, .make = make_##id, .result = result, .free = release}

KIND(opcount, "opcountTracer");
KIND(unigram, "unigramTracer");
KIND(bigram, "bigramTracer");
KIND(trigram, "trigramTracer");
