#include "explorer/explorer.h"

#include "chains/evmchain/evm_vm.h"
#include "commands.h"

/* The one explorer of the process. */
typedef struct pages {
    cd_explorer *x;
    const char *name;
} pages;

static void on_open(void *ctx, cd_vm *vm)
{
    pages *p = ctx;
    const cd_explorer_cfg cfg = {
        .chain = cd_evm_vm_chain(vm), .clock = cd_clock_real(), .network = p->name};
    p->x = cd_explorer_new(&cfg);
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
                                      .serve = on_serve,
                                      .close = on_close,
                                      .ctx = &all};
    all.name = name;
    return &out;
}
