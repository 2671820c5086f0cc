/* Keys in the store: 'b' id ─► bytes, 'h' height ─► id, 't' transaction ─► nothing, 'L' ─► id of the last block. */
#include "sim/chain.h"

#include "base/mem/mem.h"
#include "base/rd.h"
#include "crypto/hash/sha2.h"
#include "vm/blocks.h"

enum { SKEW_S = 10, FIRST_RULES = 1, SECOND_RULES = 2 };

/* A block taken apart. */
typedef struct parts {
    u16 rules;
    cd_hash32 parent;
    u64 height;
    u64 time;
    u64 maker; /* front of the ID of the node that built it: no two build the same block */
    u32 cnt;
    u64 txs[CD_SIM_BLOCK_TXS_MAX];
    cd_hash32 state;
} parts;

typedef struct chain_block {
    cd_vm_block pub; /* first */
    parts parts;
    u8 bytes[];
} chain_block;

typedef struct chain {
    cd_vm vm; /* first */
    cd_vm_ctx ctx;
    cd_sim_chain_cfg cfg;
    cd_blocks blocks;
    cd_hash32 state; /* state of the last accepted block */
    u64 time;        /* time of the last accepted block */
    u64 pool[CD_SIM_POOL_MAX];
    u32 pool_cnt;
} chain;

static chain *chain_of(void *owner)
{
    return owner;
}

static const chain_block *block_of(const cd_vm_block *b)
{
    return (const chain_block *)(const void *)b;
}

/* --- bytes --- */

static void put_be(cd_buf *out, u64 v, u32 n)
{
    u8 be[8];
    cd_put_be64(be, v);
    cd_buf_put(out, cd_bytes_of(be + 8 - n, n));
}

static void parts_put(cd_buf *out, const parts *p)
{
    put_be(out, 0, 2);
    put_be(out, p->rules, 2);
    cd_buf_put(out, cd_bytes_of(p->parent.b, 32));
    put_be(out, p->height, 8);
    put_be(out, p->time, 8);
    put_be(out, p->maker, 8);
    put_be(out, p->cnt, 2);
    for (u32 i = 0; i < p->cnt; i++) {
        put_be(out, p->txs[i], 8);
    }
    cd_buf_put(out, cd_bytes_of(p->state.b, 32));
}

static cd_err parts_parse(parts *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_rd r = cd_rd_init(bytes);
    u16 version = cd_rd_be16(&r);
    out->rules = cd_rd_be16(&r);
    cd_rd_copy(&r, out->parent.b, 32);
    out->height = cd_rd_be64(&r);
    out->time = cd_rd_be64(&r);
    out->maker = cd_rd_be64(&r);
    out->cnt = cd_rd_be16(&r);
    if (r.err == CD_OK && (version != 0 || out->cnt > CD_SIM_BLOCK_TXS_MAX)) {
        return cd_fail(why, CD_EFORMAT, "no block: version %u, %u transactions", version, out->cnt);
    }
    for (u32 i = 0; r.err == CD_OK && i < out->cnt; i++) {
        out->txs[i] = cd_rd_be64(&r);
    }
    cd_rd_copy(&r, out->state.b, 32);
    return r.err == CD_OK && cd_rd_left(&r) == 0 ? CD_OK : cd_fail(why, CD_EFORMAT, "no block: its length is wrong");
}

static cd_hash32 state_behind(const cd_hash32 *before, const parts *p)
{
    cd_sha256_ctx c;
    cd_hash32 h;
    u8 be[8];
    cd_sha256_init(&c);
    cd_sha256_update(&c, cd_bytes_of(before->b, 32));
    for (u32 i = 0; i < p->cnt; i++) {
        cd_put_be64(be, p->txs[i]);
        cd_sha256_update(&c, cd_bytes_of(be, 8));
    }
    cd_sha256_final(&c, &h);
    return h;
}

/* --- blocks as objects --- */

static cd_err chain_id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    (void)owner;
    (void)why;
    cd_sha256(out, bytes);
    return CD_OK;
}

static cd_err chain_decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    parts p = {0};
    (void)owner;
    CD_TRY(parts_parse(&p, bytes, why));
    chain_block *b = cd_alloc(sizeof *b + bytes.n);
    memcpy(b->bytes, bytes.p, bytes.n);
    b->parts = p;
    cd_sha256(&b->pub.id, bytes);
    b->pub.parent = p.parent;
    b->pub.height = p.height;
    b->pub.time = p.time;
    b->pub.span = 1;
    b->pub.bytes = cd_bytes_of(b->bytes, bytes.n);
    *out = &b->pub;
    return CD_OK;
}

typedef struct key {
    u8 b[33];
} key;

static cd_bytes key_of(key *k, char table, const void *rest, usize n)
{
    k->b[0] = (u8)table;
    memcpy(k->b + 1, rest, n);
    return cd_bytes_of(k->b, 1 + n);
}

static cd_bytes number_key(key *k, char table, u64 number)
{
    u8 be[8];
    cd_put_be64(be, number);
    return key_of(k, table, be, sizeof be);
}

static cd_err chain_load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    key k;
    cd_buf v = {0};
    cd_err e = cd_kv_get(chain_of(owner)->ctx.kv, &v, key_of(&k, 'b', id->b, 32));
    e = e != CD_OK ? e : chain_decode(owner, out, cd_buf_bytes(&v), NULL);
    cd_buf_fini(&v);
    return e;
}

static cd_err chain_at(void *owner, cd_hash32 *id, u64 height)
{
    key k;
    cd_buf v = {0};
    cd_err e = cd_kv_get(chain_of(owner)->ctx.kv, &v, number_key(&k, 'h', height));
    if (e == CD_OK && v.n == 32) {
        memcpy(id->b, v.p, 32);
    } else if (e == CD_OK) {
        e = CD_ECORRUPT;
    }
    cd_buf_fini(&v);
    return e;
}

static void chain_free(void *owner, cd_vm_block *b)
{
    (void)owner;
    cd_free(b);
}

static bool is_accepted_tx(const chain *c, u64 tx)
{
    key k;
    bool found = false;
    return cd_kv_has(c->ctx.kv, &found, number_key(&k, 't', tx)) != CD_OK || found;
}

static bool has_tx(const parts *p, u64 tx)
{
    for (u32 i = 0; i < p->cnt; i++) {
        if (p->txs[i] == tx) {
            return true;
        }
    }
    return false;
}

/* Whether a transaction is accepted, or is in b or an undecided ancestor of b. b NULL: the last accepted block. */
static bool is_used(const chain *c, const cd_vm_block *b, u64 tx)
{
    while (b != NULL && b->status == CD_VM_VERIFIED) {
        if (has_tx(&block_of(b)->parts, tx)) {
            return true;
        }
        b = cd_blocks_find(&c->blocks, &b->parent);
    }
    return is_accepted_tx(c, tx);
}

static u16 rules_at(const chain *c, u64 time)
{
    return time >= c->cfg.second_rules_s ? SECOND_RULES : FIRST_RULES;
}

static cd_err chain_check(void *owner, cd_vm_block *b, cd_vm_block *parent, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    const chain *c = chain_of(owner);
    const parts *p = &block_of(b)->parts;
    const cd_hash32 *before = parent == NULL ? &c->state : &block_of(parent)->parts.state;
    (void)ctx;
    if (p->rules != rules_at(c, p->time)) {
        return cd_fail(why, CD_EINVAL, "a block of rules %u, and its time is one of rules %u", p->rules,
                       rules_at(c, p->time));
    }
    if (p->time < (parent == NULL ? c->time : parent->time) || p->time > cd_clock_wall_s(c->ctx.clock) + SKEW_S) {
        return cd_fail(why, CD_EINVAL, "the block's time is before its parent's, or too far ahead");
    }
    for (u32 i = 0; i < p->cnt; i++) {
        if ((i > 0 && p->txs[i] <= p->txs[i - 1]) || is_used(c, parent, p->txs[i])) {
            return cd_fail(why, CD_EINVAL, "transaction %llu is there twice or out of order",
                           (unsigned long long)p->txs[i]);
        }
    }
    cd_hash32 state = state_behind(before, p);
    return p->cnt == 0                       ? cd_fail(why, CD_EINVAL, "a block without transactions")
           : cd_hash32_eq(&state, &p->state) ? CD_OK
                                             : cd_fail(why, CD_EINVAL, "the block's state is another one");
}

static void put_block(cd_kv_batch *batch, const cd_vm_block *b)
{
    key k;
    const parts *p = &block_of(b)->parts;
    cd_kv_batch_put(batch, key_of(&k, 'b', b->id.b, 32), b->bytes);
    cd_kv_batch_put(batch, number_key(&k, 'h', b->height), cd_bytes_of(b->id.b, 32));
    for (u32 i = 0; i < p->cnt; i++) {
        cd_kv_batch_put(batch, number_key(&k, 't', p->txs[i]), (cd_bytes){0});
    }
    cd_kv_batch_put(batch, cd_bytes_str("L"), cd_bytes_of(b->id.b, 32));
}

static cd_err chain_put(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    (void)owner;
    (void)why;
    put_block(batch, b);
    return CD_OK;
}

static void pool_drop(chain *c, u64 tx)
{
    u32 kept = 0;
    for (u32 i = 0; i < c->pool_cnt; i++) {
        if (c->pool[i] != tx) {
            c->pool[kept++] = c->pool[i];
        }
    }
    c->pool_cnt = kept;
}

static cd_err chain_landed(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    chain *c = owner;
    const parts *p = &block_of(b)->parts;
    (void)why;
    c->state = p->state;
    c->time = p->time;
    for (u32 i = 0; i < p->cnt; i++) {
        pool_drop(c, p->txs[i]);
    }
    if (c->pool_cnt != 0) {
        c->ctx.host->notify(c->ctx.host, CD_VM_WANTS_BLOCK);
    }
    return CD_OK;
}

static void chain_forget(void *owner, cd_vm_block *b)
{
    (void)owner;
    (void)b;
}

static const cd_blocks_ops blocks_ops = {
    .id_of = chain_id_of,
    .decode = chain_decode,
    .load = chain_load,
    .id_at_height = chain_at,
    .free = chain_free,
    .verify = chain_check,
    .accept = chain_put,
    .accepted = chain_landed,
    .reject = chain_forget,
};

/* --- the contract --- */

static cd_err chain_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    (void)vm;
    (void)state;
    (void)why;
    return CD_OK;
}

/* Chooses transactions of the pool that are not on the branch yet, ascending as in the pool. */
static u32 choose(const chain *c, u64 out[CD_SIM_BLOCK_TXS_MAX], const cd_vm_block *on)
{
    u32 cnt = 0;
    for (u32 i = 0; i < c->pool_cnt && cnt < CD_SIM_BLOCK_TXS_MAX; i++) {
        if (!is_used(c, on, c->pool[i])) {
            out[cnt++] = c->pool[i];
        }
    }
    return cnt;
}

static cd_err make(chain *c, cd_vm_block **out, const parts *p, cd_errinfo *why)
{
    cd_buf bytes = {0};
    cd_vm_block *b = NULL;
    parts_put(&bytes, p);
    cd_err e = chain_decode(c, &b, cd_buf_bytes(&bytes), why);
    if (e == CD_OK) {
        cd_blocks_add(&c->blocks, out, b, false);
    }
    cd_buf_fini(&bytes);
    return e;
}

static cd_err chain_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    chain *c = (chain *)(void *)vm;
    const cd_vm_block *on = cd_blocks_preferred(&c->blocks);
    const cd_hash32 *before = on == NULL ? &c->state : &block_of(on)->parts.state;
    u64 least = on == NULL ? c->time : on->time;
    parts p = {.parent = on == NULL ? c->blocks.last : on->id,
               .height = (on == NULL ? c->blocks.last_height : on->height) + 1,
               .time = cd_max_u64(cd_clock_wall_s(c->ctx.clock), least),
               .maker = cd_be64(c->ctx.node_id.b)};
    (void)ctx;
    p.rules = rules_at(c, p.time);
    p.cnt = choose(c, p.txs, on);
    if (p.cnt == 0) {
        return cd_fail(why, CD_ENOENT, "no transaction waits");
    }
    p.state = state_behind(before, &p);
    return make(c, out, &p, why);
}

static cd_err chain_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(&((chain *)(void *)vm)->blocks, out, bytes, why);
}

static cd_err chain_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(&((chain *)(void *)vm)->blocks, out, id);
}

static void chain_release(cd_vm *vm, cd_vm_block *b)
{
    cd_blocks_release(&((chain *)(void *)vm)->blocks, b);
}

static cd_err chain_verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_blocks_verify(&((chain *)(void *)vm)->blocks, b, ctx, why);
}

static cd_err chain_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_blocks_accept(&((chain *)(void *)vm)->blocks, b, batch, why);
}

static cd_err chain_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    return cd_blocks_accepted(&((chain *)(void *)vm)->blocks, b, why);
}

static cd_err chain_reject(cd_vm *vm, cd_vm_block *b)
{
    return cd_blocks_reject(&((chain *)(void *)vm)->blocks, b);
}

static cd_err chain_prefer(cd_vm *vm, const cd_hash32 *id)
{
    return cd_blocks_prefer(&((chain *)(void *)vm)->blocks, id);
}

static void chain_last(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    const chain *c = (chain *)(void *)vm;
    *id = c->blocks.last;
    *height = c->blocks.last_height;
}

static cd_err chain_id_at(cd_vm *vm, cd_hash32 *id, u64 height)
{
    return chain_at(vm, id, height);
}

static const cd_vm_handler *chain_handlers(cd_vm *vm, usize *cnt)
{
    (void)vm;
    *cnt = 0;
    return NULL;
}

static const char *chain_version(cd_vm *vm)
{
    (void)vm;
    return "simchain/1";
}

static void chain_close(cd_vm *vm)
{
    chain *c = (chain *)(void *)vm;
    cd_blocks_fini(&c->blocks);
    cd_free(c);
}

static const cd_vm_ops vm_ops = {
    .name = "simchain",
    .set_state = chain_set_state,
    .build = chain_build,
    .parse = chain_parse,
    .get = chain_get,
    .release = chain_release,
    .verify = chain_verify,
    .accept = chain_accept,
    .accepted = chain_accepted,
    .reject = chain_reject,
    .set_preference = chain_prefer,
    .last_accepted = chain_last,
    .id_at_height = chain_id_at,
    .handlers = chain_handlers,
    .version = chain_version,
    .close = chain_close,
};

/* --- life --- */

static cd_err begin(chain *c, cd_vm_block **out, cd_errinfo *why)
{
    const parts first = {.rules = FIRST_RULES, .time = CD_SIM_GENESIS_S};
    cd_buf bytes = {0};
    cd_kv_batch batch = {0};
    cd_vm_block *b = NULL;
    parts_put(&bytes, &first);
    cd_err e = chain_decode(c, &b, cd_buf_bytes(&bytes), why);
    if (e == CD_OK) {
        cd_kv_batch_for(&batch, c->ctx.kv);
        put_block(&batch, b);
        e = cd_kv_commit(c->ctx.kv, &batch, CD_KV_SYNC, why);
    }
    if (e == CD_OK) {
        *out = b;
    } else {
        cd_free(b);
    }
    cd_kv_batch_fini(&batch);
    cd_buf_fini(&bytes);
    return e;
}

static cd_err resume(chain *c, cd_vm_block **out, cd_errinfo *why)
{
    cd_buf v = {0};
    cd_hash32 id;
    cd_err e = cd_kv_get(c->ctx.kv, &v, cd_bytes_str("L"));
    if (e == CD_OK && v.n == 32) {
        memcpy(id.b, v.p, 32);
        e = chain_load(c, out, &id);
        e = e == CD_ENOENT ? cd_fail(why, CD_ECORRUPT, "the last block is not in the store") : e;
    } else if (e == CD_ENOENT) {
        e = begin(c, out, why);
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_sim_chain_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    chain *c = cd_new(chain);
    cd_vm_block *last = NULL;
    c->vm.ops = &vm_ops;
    c->ctx = *ctx;
    c->cfg = ctx->dev == NULL ? (cd_sim_chain_cfg){.second_rules_s = UINT64_MAX} : *(const cd_sim_chain_cfg *)ctx->dev;
    cd_err e = resume(c, &last, why);
    if (e != CD_OK) {
        cd_free(c);
        return e;
    }
    c->state = block_of(last)->parts.state;
    c->time = last->time;
    cd_blocks_init(&c->blocks, &blocks_ops, c, &last->id, last->height);
    cd_free(last);
    *out = &c->vm;
    return CD_OK;
}

/* Removes the highest block from a store. */
static cd_err cut_one(cd_kv *kv, cd_buf *v)
{
    key k;
    parts p = {0};
    cd_kv_batch batch = {0};
    CD_TRY(cd_kv_get(kv, v, cd_bytes_str("L")));
    cd_bytes id_key = key_of(&k, 'b', v->p, 32);
    CD_TRY(cd_kv_get(kv, v, id_key));
    CD_TRY(parts_parse(&p, cd_buf_bytes(v), NULL));
    if (p.height == 0) {
        return CD_OK;
    }
    cd_kv_batch_for(&batch, kv);
    cd_kv_batch_del(&batch, id_key);
    cd_kv_batch_del(&batch, number_key(&k, 'h', p.height));
    for (u32 i = 0; i < p.cnt; i++) {
        cd_kv_batch_del(&batch, number_key(&k, 't', p.txs[i]));
    }
    cd_kv_batch_put(&batch, cd_bytes_str("L"), cd_bytes_of(p.parent.b, 32));
    cd_err e = cd_kv_commit(kv, &batch, CD_KV_SYNC, NULL);
    cd_kv_batch_fini(&batch);
    return e;
}

cd_err cd_sim_chain_cut(cd_kv *kv, u64 blocks)
{
    cd_buf v = {0};
    cd_err e = CD_OK;
    for (u64 i = 0; e == CD_OK && i < blocks; i++) {
        e = cut_one(kv, &v);
    }
    cd_buf_fini(&v);
    return e;
}

void cd_sim_chain_submit(cd_vm *vm, u64 tx)
{
    chain *c = (chain *)(void *)vm;
    u32 at = c->pool_cnt;
    while (at > 0 && c->pool[at - 1] > tx) {
        at--;
    }
    if (c->pool_cnt == CD_SIM_POOL_MAX || (at > 0 && c->pool[at - 1] == tx) || is_accepted_tx(c, tx)) {
        return;
    }
    memmove(&c->pool[at + 1], &c->pool[at], (c->pool_cnt - at) * sizeof c->pool[0]);
    c->pool[at] = tx;
    c->pool_cnt++;
    c->ctx.host->notify(c->ctx.host, CD_VM_WANTS_BLOCK);
}

u32 cd_sim_chain_waiting(const cd_vm *vm)
{
    return ((const chain *)(const void *)vm)->pool_cnt;
}

/* --- for liars --- */

cd_err cd_sim_chain_twin(cd_vm *vm, cd_buf *out, cd_bytes block, u64 tx)
{
    parts p = {0};
    cd_vm_block *parent;
    CD_TRY(parts_parse(&p, block, NULL));
    CD_TRY(chain_get(vm, &parent, &p.parent));
    p.cnt = 1;
    p.txs[0] = tx;
    p.state = state_behind(&block_of(parent)->parts.state, &p);
    parts_put(out, &p);
    chain_release(vm, parent);
    return CD_OK;
}

cd_err cd_sim_chain_spoil(cd_buf *out, cd_bytes block, cd_sim_wrong wrong)
{
    parts p = {0};
    CD_TRY(parts_parse(&p, block, NULL));
    switch (wrong) {
    case CD_SIM_WRONG_STATE:
        p.state.b[0] ^= 1;
        break;
    case CD_SIM_WRONG_RULES:
        p.rules = (u16)(p.rules + 1);
        break;
    case CD_SIM_WRONG_HEIGHT:
        p.height += 5;
        break;
    case CD_SIM_WRONG_TXS:
    case CD_SIM_WRONGS:
        p.cnt = 0;
        break;
    }
    parts_put(out, &p);
    return CD_OK;
}
