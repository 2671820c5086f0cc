/* The toy VM as a chain of a node: methods over HTTP and WebSocket, a raw route, a block whenever its clock says so. */
#ifndef CD_NODE_TEST_TOY_CHAIN_H
#define CD_NODE_TEST_TOY_CHAIN_H

#include "base/log/metrics.h"
#include "vm/test/toy_vm.h"

#include <stdatomic.h>
#include <time.h>

/* What the program asks of one toy: cd_vm_ctx.dev. */
typedef struct toy_wish {
    u64 every_ns;          /* time between its blocks; 0: blocks are made on request */
    cd_buf *log;           /* a line for each accepted block; NULL: none */
    bool fails;            /* it cannot be opened */
    const cd_hash32 *peer; /* each block leaves its bytes for this chain; NULL: for none */
} toy_wish;

typedef struct toy_chain {
    cd_vm_ops ops; /* the toy's, and what is different */
    cd_vm_ctx ctx;
    toy *t;
    const toy_wish *wish;
    u64 due_ns;
    _Atomic u64 height;
    atomic_bool gate; /* toy_slow waits for it */
    atomic_bool is_slow;
    cd_rpc_table *table;
    cd_rpc_service service;
    cd_vm_handler handlers[2];
    bool keeps; /* something for who came to the raw route, until it has been left and nobody is there */
    bool has_left;
} toy_chain;

CD_INLINE toy_chain *toy_chain_of(cd_vm *vm)
{
    return (toy_chain *)(usize)(const void *)vm->ops;
}

/* Makes a block with a number. */
CD_INLINE cd_err toy_mine(cd_rpc_call *call)
{
    toy_chain *c = call->ctx;
    cd_errinfo why = {0};
    CD_TRY(cd_json_u64(&c->t->wanted, cd_json_at(call->params, 0), NULL));
    if (c->ctx.host->produce(c->ctx.host, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    cd_json_w_u64(call->out, c->t->blocks.last_height);
    return CD_OK;
}

CD_INLINE cd_err toy_height(cd_rpc_call *call)
{
    const toy_chain *c = call->ctx;
    cd_json_w_u64(call->out, atomic_load(&c->height));
    return CD_OK;
}

/* Answers when the gate is open, or when the service ends. */
CD_INLINE cd_err toy_slow(cd_rpc_call *call)
{
    toy_chain *c = call->ctx;
    atomic_store(&c->is_slow, true);
    while (!atomic_load(&c->gate)) {
        if (cd_rpc_is_late(call)) {
            return cd_rpc_fail_late(call);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    cd_json_w_cstr(call->out, c->ctx.name);
    return CD_OK;
}

static const cd_rpc_method toy_rows[] = {CD_RPC_ROW("", toy_mine, toy_mine, OWNER, 1, 1, "n: Int -> Int", "A block")
                                             CD_RPC_ROW("", toy_height, toy_height, FAST, 0, 0, "-> Int", "How high")
                                                 CD_RPC_ROW("", toy_slow, toy_slow, READ, 0, 0, "-> String", "Waits")};

CD_INLINE void toy_serve_raw(void *ctx, cd_http_req *req)
{
    toy_chain *c = ctx;
    c->keeps = true;
    cd_buf_fmt(cd_http_req_out(req), "raw %s", c->ctx.name);
    cd_http_reply(req, 200, "text/plain");
}

CD_INLINE void toy_leave_raw(void *ctx)
{
    ((toy_chain *)ctx)->has_left = true;
}

CD_INLINE bool toy_is_idle_raw(void *ctx)
{
    toy_chain *c = ctx;
    c->keeps = c->keeps && !c->has_left;
    return !c->keeps;
}

CD_INLINE const cd_vm_handler *toy_chain_handlers(cd_vm *vm, usize *cnt)
{
    *cnt = 2;
    return toy_chain_of(vm)->handlers;
}

CD_INLINE u64 toy_chain_wake(cd_vm *vm)
{
    toy_chain *c = toy_chain_of(vm);
    if (c->wish == NULL || c->wish->every_ns == 0) {
        return UINT64_MAX;
    }
    if (cd_clock_mono_ns(c->ctx.clock) >= c->due_ns) {
        c->due_ns += c->wish->every_ns;
        c->t->wanted = cd_rng_u64(c->ctx.rng) | 1;
        c->ctx.host->notify(c->ctx.host, CD_VM_WANTS_BLOCK);
    }
    return c->due_ns;
}

CD_INLINE cd_err toy_chain_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    const toy_chain *c = toy_chain_of(vm);
    CD_TRY(toy_accept(vm, b, batch, why));
    if (c->wish == NULL || c->wish->peer == NULL) {
        return CD_OK;
    }
    const cd_vm_shared_elem put = {.key = cd_bytes_of(b->id.b, 32), .value = b->bytes};
    const cd_vm_shared_change change = {.peer = *c->wish->peer, .puts = &put, .put_cnt = 1};
    return c->ctx.shared->apply(c->ctx.shared, batch, &change, 1);
}

CD_INLINE cd_err toy_chain_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    toy_chain *c = toy_chain_of(vm);
    CD_TRY(toy_accepted(vm, b, why));
    atomic_store(&c->height, b->height);
    if (c->wish != NULL && c->wish->log != NULL) {
        cd_buf_fmt(c->wish->log, "%llu %s %llu %02x%02x%02x%02x\n", (unsigned long long)cd_clock_mono_ns(c->ctx.clock),
                   c->ctx.name, (unsigned long long)b->height, b->id.b[0], b->id.b[1], b->id.b[2], b->id.b[3]);
    }
    return CD_OK;
}

CD_INLINE void toy_chain_close(cd_vm *vm)
{
    toy_chain *c = toy_chain_of(vm);
    CD_ASSERT(!c->keeps); /* whoever kept something was asked to give it back before */
    toy_close(vm);
    cd_rpc_table_free(c->table);
    cd_free(c);
}

CD_INLINE cd_err toy_factory(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    const toy_wish *wish = ctx->dev;
    if (wish != NULL && wish->fails) {
        return cd_fail(why, CD_ECORRUPT, "the toy is broken");
    }
    toy_chain *c = cd_new(toy_chain);
    c->ctx = *ctx;
    c->wish = wish;
    c->ops = toy_ops;
    c->ops.handlers = toy_chain_handlers;
    c->ops.wake = toy_chain_wake;
    c->ops.accept = toy_chain_accept;
    c->ops.accepted = toy_chain_accepted;
    c->ops.close = toy_chain_close;
    c->t = (toy *)(void *)toy_open(ctx->kv, TOY_IS_GOOD);
    c->t->vm.ops = &c->ops;
    c->height = c->t->blocks.last_height;
    c->due_ns = cd_clock_mono_ns(ctx->clock) + (wish == NULL ? 0 : wish->every_ns);
    c->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(c->table, toy_rows, CD_COUNT(toy_rows));
    c->service = (cd_rpc_service){.form = CD_RPC_ETH, .table = c->table, .limits = CD_RPC_LIMITS_DEFAULT, .ctx = c};
    c->handlers[0] = (cd_vm_handler){.route = "/rpc", .over = CD_VM_HTTP | CD_VM_WS, .service = &c->service};
    c->handlers[1] = (cd_vm_handler){.route = "/raw",
                                     .over = CD_VM_HTTP,
                                     .serve = toy_serve_raw,
                                     .leave = toy_leave_raw,
                                     .is_idle = toy_is_idle_raw,
                                     .ctx = c};
    if (ctx->metrics != NULL) {
        cd_gauge_set(cd_metrics_gauge(ctx->metrics, "toy_opened", "Times", NULL, 0), 1);
    }
    *out = &c->t->vm;
    return CD_OK;
}

#endif
