/* bench-xvm: what a base transaction of the X-Chain costs from its block's bytes to the store: parsed, verified, its
 * signer recovered, accepted and committed. One input, two outputs; blocks of one and of fifty transactions; the store
 * in memory, so that what the embedded engine's threads do is not counted as ours. One line of JSON a size; CPU time of
 * this thread for each transaction. */
#include "chains/xvm/test/rig.h"
#include "lab/cputime.h"

#include <stdio.h>

enum { LARGE = 50, SMALL_BLOCKS = 300, LARGE_BLOCKS = 40 };

/* What the n-th coin has become. */
typedef struct coin {
    cd_hash32 tx_id;
    u32 idx;
    u64 amount;
} coin;

typedef struct bench {
    xrig r;
    coin coins[RIG_COINS];
} bench;

/* Pays a part of the coin to the other key; the rest is the coin from then on. */
static void pay(bench *b, cd_x_tx *out, cd_arena *a, coin *c)
{
    rig_transfer *t = cd_arena_new(a, rig_transfer);
    cd_x_output *outs = cd_arena_array(a, cd_x_output, 2);
    cd_transfer_output *small = cd_arena_new(a, cd_transfer_output);
    cd_buf bytes = {0};
    cd_xvm_tx read;
    rig_transfer_init(&b->r, t, &c->tx_id, c->idx, c->amount, RIG_FEE, 0);
    *small = t->out;
    small->amount = 1;
    small->owners.addrs.v = &b->r.addr[1];
    t->out.amount -= 1;
    outs[0] = (cd_x_output){.asset_id = b->r.asset, .out = {.is = t->output.out.is, .v = small}};
    outs[1] = t->output;
    t->base.outs = (cd_linear_list){.v = outs, .cnt = 2};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &t->base}};
    rig_sign(&b->r, &bytes, &tx, NULL, 1, 0);
    cd_err e = cd_xvm_tx_parse(&read, a, cd_arena_dup(a, cd_buf_bytes(&bytes)), NULL);
    CD_ASSERT(e == CD_OK);
    cd_buf_fini(&bytes);
    *c = (coin){.tx_id = read.id, .idx = 1, .amount = t->out.amount};
    *out = read.tx;
}

static void make_block(bench *b, cd_buf *out, u32 cnt, u32 at)
{
    cd_arena a = {0};
    u64 height;
    cd_x_tx *txs = cd_arena_array(&a, cd_x_tx, cnt);
    cd_x_standard_block body = {.time = b->r.clock.now_s, .txs = {.v = txs, .cnt = cnt}};
    cd_x_block block = {.body = {.is = cd_x_case(CD_X_STANDARD_BLOCK), .v = &body}};
    b->r.vm->ops->last_accepted(b->r.vm, &body.parent, &height);
    body.height = height + 1;
    for (u32 i = 0; i < cnt; i++) {
        pay(b, &txs[i], &a, &b->coins[(at + i) % RIG_COINS]);
    }
    cd_buf_clear(out);
    cd_linear_put(out, &cd_x_block_table, &block);
    cd_arena_fini(&a);
}

/* From bytes to the store. */
static u64 take_block(bench *b, cd_bytes bytes)
{
    static const cd_vm_block_ctx no_ctx;
    const cd_vm_ops *ops = b->r.vm->ops;
    cd_vm_block *block = NULL;
    u64 start = cd_lab_thread_cpu_ns();
    cd_err e = ops->parse(b->r.vm, &block, bytes, NULL);
    e = e != CD_OK ? e : ops->verify(b->r.vm, block, &no_ctx, NULL);
    e = e != CD_OK ? e : rig_accept(&b->r, block);
    CD_ASSERT(e == CD_OK);
    ops->release(b->r.vm, block);
    return cd_lab_thread_cpu_ns() - start;
}

static void run(u32 cnt, u32 blocks)
{
    static bench b;
    cd_buf bytes = {0};
    u64 best = 0;
    u64 total = 0;
    rig_init(&b.r, "");
    for (u32 i = 0; i < RIG_COINS; i++) {
        b.coins[i] = (coin){.tx_id = b.r.asset, .idx = i + 1, .amount = RIG_COIN + i};
    }
    for (u32 i = 0; i < blocks; i++) {
        make_block(&b, &bytes, cnt, i * cnt);
        u64 ns = take_block(&b, cd_buf_bytes(&bytes));
        best = cd_lab_min_ns(best, ns);
        total += ns;
    }
    (void)printf(
        "{\"name\":\"xvm/base_tx/block_of_%u\",\"cpu_us_tx\":%.1f,\"mean_us_tx\":%.1f,\"limit_cpu_us_tx\":80}\n", cnt,
        (double)best / cnt / 1000, (double)total / cnt / blocks / 1000);
    cd_buf_fini(&bytes);
    rig_fini(&b.r);
}

int main(void)
{
    run(1, SMALL_BLOCKS);
    run(LARGE, LARGE_BLOCKS);
    return 0;
}
