/* muxTracer: several tracers in one run; noopTracer: none. */
#include "base/mem/mem.h"
#include "chains/evmchain/tracers/kinds_priv.h"

/* As many as there are kinds to name. */
enum { CHILDREN_MAX = 16 };

typedef struct mux {
    cd_txtracer t;
    usize cnt;
    cd_txtracer *v[CHILDREN_MAX];
} mux;

/* One that has had enough ends it for all. */
static void pass_on_stop(mux *m)
{
    for (usize i = 0; i < m->cnt; i++) {
        m->t.hooks.stop = m->t.hooks.stop || m->v[i]->hooks.stop;
    }
}

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer *c = &m->v[i]->hooks;
        if (c->step != NULL) {
            c->step(c, s);
        }
    }
    pass_on_stop(m);
}

static void on_enter(cd_tracer *t, u32 depth, u8 op, const cd_evm_msg *msg)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer *c = &m->v[i]->hooks;
        if (c->enter != NULL) {
            c->enter(c, depth, op, msg);
        }
    }
    pass_on_stop(m);
}

static void on_exit(cd_tracer *t, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer *c = &m->v[i]->hooks;
        if (c->exit != NULL) {
            c->error = t->error;
            c->exit(c, depth, res, gas_used);
        }
    }
    pass_on_stop(m);
}

static void on_log(cd_tracer *t, const cd_log *log)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer *c = &m->v[i]->hooks;
        if (c->log != NULL) {
            c->log(c, log);
        }
    }
    pass_on_stop(m);
}

static void release(cd_txtracer *t)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer_free(m->v[i]);
    }
    cd_free(m);
}

/* Adds the tracer of one member of the configuration. */
static cd_err add(mux *m, const cd_json_it *it, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_err e = CD_OK;
    const char *name = cd_arena_str(&a, it->key);
    if (m->cnt == CHILDREN_MAX) {
        e = cd_fail(why, CD_ELIMIT, "muxTracer: more than %d tracers", CHILDREN_MAX);
    } else if (strcmp(name, cd__tracer_mux.name) == 0) {
        e = cd_fail(why, CD_EUNSUPPORTED, "muxTracer: cannot hold another muxTracer");
    } else {
        e = cd_tracer_make(&m->v[m->cnt], name, it->val, why);
        m->cnt += e == CD_OK ? 1 : 0;
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err make_mux(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    mux *m = cd_new(mux);
    m->t.kind = &cd__tracer_mux;
    cd_json_it it = cd_json_iter(cfg);
    while (cd_json_next(&it)) {
        cd_err e = add(m, &it, why);
        if (e != CD_OK) {
            release(&m->t);
            return e;
        }
    }
    for (usize i = 0; i < m->cnt; i++) {
        const cd_tracer *c = &m->v[i]->hooks;
        cd_tracer *h = &m->t.hooks;
        h->step = c->step != NULL ? on_step : h->step;
        h->enter = c->enter != NULL ? on_enter : h->enter;
        h->exit = c->exit != NULL ? on_exit : h->exit;
        h->log = c->log != NULL ? on_log : h->log;
    }
    *out = &m->t;
    return CD_OK;
}

static void begin(cd_txtracer *t)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer_begin(m->v[i], t->tx, t->budget);
    }
}

static void end(cd_txtracer *t, const cd_tx_result *res)
{
    mux *m = (mux *)(void *)t;
    for (usize i = 0; i < m->cnt; i++) {
        cd_tracer_end(m->v[i], res);
    }
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    mux *m = (mux *)(void *)t;
    cd_json_w_obj(w);
    for (usize i = 0; i < m->cnt; i++) {
        cd_json_w_key(w, m->v[i]->kind->name);
        m->v[i]->kind->result(m->v[i], w);
    }
    cd_json_w_obj_end(w);
}

const cd_tracer_kind cd__tracer_mux = {
    .name = "muxTracer",
    .make = make_mux,
    .begin = begin,
    .end = end,
    .result = result,
    .free = release,
};

/* --- noop --- */

static cd_err make_noop(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    (void)cfg;
    (void)why;
    *out = cd_new(cd_txtracer);
    (*out)->kind = &cd__tracer_noop;
    return CD_OK;
}

static void noop_result(cd_txtracer *t, cd_json_w *w)
{
    (void)t;
    cd_json_w_obj(w);
    cd_json_w_obj_end(w);
}

static void noop_free(cd_txtracer *t)
{
    cd_free(t);
}

const cd_tracer_kind cd__tracer_noop = {
    .name = "noopTracer",
    .make = make_noop,
    .result = noop_result,
    .free = noop_free,
};
