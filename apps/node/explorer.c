#include "explorer/explorer.h"

#include "chains/evmchain/evm_vm.h"
#include "commands.h"
#include "node/finality.h"
#include "report.h"

/* The explorer of one chain. */
typedef struct pages {
    cd_explorer *x;
    cd_index *index; /* NULL: off, or it could not be opened */
    cd_abis *abis;   /* NULL: none were given */
    cd__explorer_cfg cfg;
    const char *chain; /* NULL: the C-Chain */
    const char *rpc;   /* path of its methods */
    cd_vm *vm;
    cd_node_hands hands;
    cd_node_pages pub;
} pages;

static cd_err on_run(void *ctx, void (*job)(void *arg), void *arg)
{
    const cd_node_hands *hands = &((pages *)ctx)->hands;
    return hands->run(hands->ctx, job, arg);
}

static cd_err on_pool(void *ctx, void (*job)(void *arg, cd_txpool *pool), void *arg)
{
    return cd_evm_vm_with_pool(((pages *)ctx)->vm, job, arg);
}

static void on_state(void *ctx, cd_buf *out)
{
    const cd_node_hands *hands = &((pages *)ctx)->hands;
    hands->state(hands->ctx, out);
}

/* Nothing is signed before the first block that is: genesis needs nobody's word. */
static void tell_final(const cd_node_hands *hands, cd_ui_final *out)
{
    cd_node_final bls;
    cd_node_final quantum;
    if (hands->final != NULL && hands->final(hands->ctx, &bls, &quantum)) {
        *out = (cd_ui_final){
            .is_told = true,
            .is_stamped = quantum.is_there && quantum.type == CD_FIN_MLDSA,
            .bls = bls.is_there ? bls.height : 0,
            .quantum = quantum.is_there ? quantum.height : 0,
        };
    }
}

static void on_final(void *ctx, cd_ui_final *out)
{
    tell_final(&((pages *)ctx)->hands, out);
}

static u64 on_finality(void *ctx, cd_buf *report)
{
    const cd_node_hands *hands = &((pages *)ctx)->hands;
    return hands->finality == NULL ? 0 : hands->finality(hands->ctx, report);
}

static void on_news(void *ctx)
{
    cd_explorer_news(((pages *)ctx)->x);
}

static void publish(void *arg, cd_txpool *pool)
{
    (void)pool;
    cd_err e = cd_chain_publish(arg, NULL);
    (void)e; /* on an error the next block publishes */
}

static void on_refresh(void *ctx)
{
    const pages *p = ctx;
    cd_err e = cd_evm_vm_with_pool(p->vm, publish, cd_evm_vm_chain(p->vm));
    (void)e; /* an error means that the VM is stopping */
}

static void open_index(pages *p)
{
    cd_errinfo why = {0};
    const cd_index_cfg cfg = {
        .chain = cd_evm_vm_chain(p->vm),
        .kv = cd_evm_vm_kv(p->vm),
        .is_anew = p->cfg.is_index_anew,
        .log = p->cfg.log,
        .refresh = on_refresh,
        .refresh_ctx = p,
    };
    if (p->cfg.has_index && cd_index_open(&p->index, &cfg, &why) != CD_OK) {
        cd_log_error(p->cfg.log, "the explorer has no index", CD_F("error", why.msg));
    }
}

static void on_open(void *ctx, cd_vm *vm, const cd_node_hands *hands)
{
    pages *p = ctx;
    if (!cd_evm_vm_is(vm)) {
        return; /* nobody here reads its blocks: each page says so */
    }
    p->vm = vm;
    p->hands = *hands;
    open_index(p);
    p->abis = cd__abis_load(p->cfg.abis, p->cfg.abi_cnt);
    const cd_explorer_cfg cfg = {
        .chain = cd_evm_vm_chain(vm),
        .clock = cd_clock_real(),
        .network = p->cfg.name,
        .root = p->pub.root,
        .chain_name = p->chain == NULL ? "C" : p->chain,
        .rpc = p->rpc,
        .index = p->index,
        .labels = p->cfg.labels,
        .abis = p->abis,
        .primary = p->chain == NULL ? p->cfg.primary : NULL,
        .atomic = cd_evm_vm_atomic(vm),
        .loop = hands->loop,
        .run = on_run,
        .with_pool = on_pool,
        .node_state = on_state,
        .finality = on_finality,
        .ctx = p,
        .final = {.get = on_final, .ctx = p},
    };
    p->x = cd_explorer_new(&cfg);
    cd_evm_vm_watch(vm, on_news, p);
}

static bool on_serve_here(void *ctx, cd_http_req *req)
{
    const pages *p = ctx;
    return p->x != NULL && cd_explorer_serve_here(p->x, req);
}

static void on_serve(void *ctx, cd_http_req *req)
{
    const pages *p = ctx;
    if (p->x == NULL) {
        const cd_primary_cfg site = {.network = p->cfg.name, .root = CD_EXPLORER_ROOT};
        cd_primary_no_pages(&site, p->chain == NULL ? "C" : p->chain, req);
    } else {
        cd_explorer_serve(p->x, req);
    }
}

static bool on_is_heavy(void *ctx, cd_http_req *req)
{
    const pages *p = ctx;
    return p->x != NULL && cd_explorer_is_heavy(p->x, req);
}

static void on_leave(void *ctx)
{
    const pages *p = ctx;
    if (p->x != NULL) {
        cd_explorer_leave(p->x);
    }
}

static void on_close(void *ctx)
{
    pages *p = ctx;
    cd_explorer_free(p->x);
    cd_index_free(p->index);
    cd_abis_free(p->abis);
    p->abis = NULL;
    p->x = NULL;
    p->index = NULL;
}

bool cd__labels_load(cd_labels **out, cd_arena *mem, const char *path)
{
    cd_errinfo why = {0};
    cd__file f = {0};
    if (path[0] != '\0' && !cd__file_read(&f, mem, path, false)) {
        return false;
    }
    if (cd_labels_new(out, f.text, &why) != CD_OK) {
        cd__report("error", NULL, cd_arena_fmt(mem, "%s: %s", path, why.msg),
                   "each line is an address and its name: 0x… treasury");
        return false;
    }
    return true;
}

const cd_node_pages *cd__explorer_pages(cd_arena *mem, const cd__explorer_cfg *cfg, const char *chain)
{
    pages *p = cd_arena_zalloc(mem, sizeof *p);
    *p = (pages){.cfg = *cfg, .chain = chain};
    p->rpc = chain == NULL ? "/" : cd_arena_fmt(mem, "/v1/bc/%s/rpc", chain);
    p->pub = (cd_node_pages){
        .root = chain == NULL ? CD_EXPLORER_ROOT : cd_arena_fmt(mem, CD_EXPLORER_ROOT "/%s", chain),
        .open = on_open,
        .serve_here = on_serve_here,
        .serve = on_serve,
        .is_heavy = on_is_heavy,
        .leave = on_leave,
        .close = on_close,
        .ctx = p,
    };
    return &p->pub;
}

/* --- the P- and X-Chain --- */

/* The pages of one of them. */
typedef struct primary_pages {
    cd_primary *all;
    cd_primary_chain chain;
    cd_node_hands hands;
    cd_node_pages pub;
} primary_pages;

static void primary_final(void *ctx, cd_ui_final *out)
{
    tell_final(&((const primary_pages *)ctx)->hands, out);
}

static void primary_open(void *ctx, cd_vm *vm, const cd_node_hands *hands)
{
    primary_pages *p = ctx;
    const cd_ui_final_source final = {.get = primary_final, .ctx = p};
    p->hands = *hands;
    cd_primary_enter(p->all, p->chain, vm, NULL, &final);
}

static bool primary_serve_here(void *ctx, cd_http_req *req)
{
    (void)ctx;
    (void)req;
    return false;
}

static void primary_serve(void *ctx, cd_http_req *req)
{
    const primary_pages *p = ctx;
    cd_primary_serve(p->all, p->chain, req);
}

static void primary_leave(void *ctx)
{
    const primary_pages *p = ctx;
    cd_primary_leave(p->all, p->chain);
}

const cd_node_pages *cd__primary_pages(cd_arena *mem, cd_primary *primary, cd_primary_chain chain)
{
    primary_pages *p = cd_arena_zalloc(mem, sizeof *p);
    *p = (primary_pages){.all = primary, .chain = chain};
    p->pub = (cd_node_pages){
        .root = chain == CD_PRIMARY_P ? CD_EXPLORER_ROOT "/P" : CD_EXPLORER_ROOT "/X",
        .open = primary_open,
        .serve_here = primary_serve_here,
        .serve = primary_serve,
        .leave = primary_leave,
        .close = primary_leave,
        .ctx = p,
    };
    return &p->pub;
}
