#include "explorer/explorer.h"

#include "chains/evmchain/evm_vm.h"
#include "commands.h"

/* The one explorer of the process. */
typedef struct pages {
    cd_explorer *x;
    const char *name;
    cd_vm *vm;
    cd_node_hands hands;
} pages;

static cd_err on_run(void *ctx, void (*job)(void *arg), void *arg)
{
    const cd_node_hands *hands = &((pages *)ctx)->hands;
    return hands->run(hands->node, job, arg);
}

static cd_err on_pool(void *ctx, void (*job)(void *arg, cd_txpool *pool), void *arg)
{
    return cd_evm_vm_with_pool(((pages *)ctx)->vm, job, arg);
}

static void on_state(void *ctx, cd_buf *out)
{
    const cd_node_hands *hands = &((pages *)ctx)->hands;
    hands->state(hands->node, out);
}

static void on_news(void *ctx)
{
    cd_explorer_news(((pages *)ctx)->x);
}

static void on_open(void *ctx, cd_vm *vm, const cd_node_hands *hands)
{
    pages *p = ctx;
    const cd_explorer_cfg cfg = {
        .chain = cd_evm_vm_chain(vm),
        .clock = cd_clock_real(),
        .network = p->name,
        .loop = hands->loop,
        .run = on_run,
        .with_pool = on_pool,
        .node_state = on_state,
        .ctx = p,
    };
    p->vm = vm;
    p->hands = *hands;
    p->x = cd_explorer_new(&cfg);
    cd_evm_vm_watch(vm, on_news, p);
}

static bool on_serve_here(void *ctx, cd_http_req *req)
{
    return cd_explorer_serve_here(((pages *)ctx)->x, req);
}

static void on_serve(void *ctx, cd_http_req *req)
{
    cd_explorer_serve(((pages *)ctx)->x, req);
}

static void on_close(void *ctx)
{
    pages *p = ctx;
    cd_explorer_free(p->x);
    p->x = NULL;
}

const cd_node_pages *cd__explorer_pages(const char *name)
{
    static pages all;
    static const cd_node_pages out = {.root = CD_EXPLORER_ROOT,
                                      .open = on_open,
                                      .serve_here = on_serve_here,
                                      .serve = on_serve,
                                      .close = on_close,
                                      .ctx = &all};
    all.name = name;
    return &out;
}
