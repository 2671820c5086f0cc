#include "base/mem/mem.h"
#include "chains/xvm/service_priv.h"
#include "crypto/hash/sha2.h"

#include <stdlib.h>

/* Blocks: what they must obey, and what accepting them writes. [spec:pchain-xchain#8] */

enum {
    FUTURE_MAX_S = 10,          /* that a block may be ahead of the clock */
    BUILT_SIZE_MAX = 128 << 10, /* bytes of transactions in a block of ours */
    DROPS_MAX = 1024,           /* transactions that one attempt to build may find to be no good */
};

static u64 now_of(const cd__xvm *x)
{
    return cd_clock_wall_ns(x->ctx.clock) / CD_NS_PER_SEC;
}

/* --- as objects --- */

static cd_err on_id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    (void)owner;
    (void)why;
    cd_sha256(out, bytes);
    return CD_OK;
}

static void on_free(void *owner, cd_vm_block *b)
{
    cd__xvm_block *x = cd__xvm_block_of(b);
    (void)owner;
    cd_arena_fini(&x->arena);
    cd_free(x);
}

static cd_err on_decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd__xvm_block *b = cd_new(cd__xvm_block);
    cd_x_block read = {.body = {.v = NULL}};
    if (bytes.n > CD_LINEAR_SIZE_MAX) { /* before memory is taken */
        cd_free(b);
        return cd_fail(why, CD_ELIMIT, "size is larger than limit");
    }
    cd_bytes kept = cd_arena_dup(&b->arena, bytes);
    cd_err e = cd_linear_parse(&read, &cd_x_block_table, &b->arena, kept, 0, why);
    if (e != CD_OK) {
        on_free(owner, &b->pub);
        return e;
    }
    b->body = read.body.v;
    b->cnt = b->body->txs.cnt;
    b->txs = cd_arena_array(&b->arena, cd_xvm_tx, b->cnt);
    for (usize i = 0; i < b->cnt; i++) {
        cd_xvm_tx_of(&b->txs[i], &b->arena, &((const cd_x_tx *)b->body->txs.v)[i]);
    }
    b->pub = (cd_vm_block){
        .parent = b->body->parent, .height = b->body->height, .time = b->body->time, .bytes = kept, .span = 1};
    cd_sha256(&b->pub.id, kept);
    *out = &b->pub;
    return CD_OK;
}

static cd_err on_load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    cd__xvm *x = owner;
    cd_buf bytes = {0};
    cd_err e = cd_xvm_get_block(x->ctx.kv, &bytes, id);
    e = e != CD_OK ? e : on_decode(owner, out, cd_buf_bytes(&bytes), NULL);
    cd_buf_fini(&bytes);
    return e;
}

static cd_err on_id_at_height(void *owner, cd_hash32 *id, u64 height)
{
    return cd_xvm_get_height(((cd__xvm *)owner)->ctx.kv, id, height);
}

/* --- transactions of a block --- */

/* A block that is being looked at, or made. */
typedef struct round {
    cd__xvm *x;
    cd_vm_block *parent; /* NULL: the last accepted block */
    cd_layer *layer;
    cd_xvm_view view;
    cd_kv_batch batch;
    cd_hash32 *taken; /* input IDs taken from other chains so far */
    usize taken_cnt;
    usize taken_cap;
} round;

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_hash32));
}

static cd_err round_begin(round *r, cd__xvm *x, cd_vm_block *parent, u64 time, cd_arena *a)
{
    cd_layer *below = parent == NULL ? NULL : cd__xvm_block_of(parent)->layer;
    *r = (round){.x = x, .parent = parent};
    if (parent != NULL && below == NULL) {
        return CD_ENOENT; /* another block was accepted in its place */
    }
    CD_TRY(cd_overlay_begin(x->states, &r->layer, below));
    r->view = (cd_xvm_view){.rules = &x->rules,
                            .kv = cd_layer_kv(r->layer),
                            .fx = x->fx,
                            .now = time,
                            .is_trusted = x->state != CD_VM_NORMAL,
                            .arena = a};
    return CD_OK;
}

static void round_end(round *r)
{
    cd_kv_batch_fini(&r->batch);
    cd_free(r->taken);
}

static bool taken_above(const round *r, const cd_hash32 *id)
{
    for (cd_vm_block *b = r->parent; b != NULL && b->status == CD_VM_VERIFIED;
         b = cd_blocks_find(&r->x->blocks, &b->parent)) {
        const cd__xvm_block *x = cd__xvm_block_of(b);
        if (x->taken_cnt > 0 && bsearch(id, x->taken, x->taken_cnt, sizeof *id, compare_ids) != NULL) {
            return true;
        }
    }
    return false;
}

static bool taken_here(const round *r, const cd_hash32 *id)
{
    for (usize i = 0; i < r->taken_cnt; i++) {
        if (cd_hash32_eq(&r->taken[i], id)) {
            return true;
        }
    }
    return false;
}

/* What comes from another chain leaves it when the block is accepted; until then nothing but this says that it was
 * taken. */
static cd_err take_imports(round *r, const cd_xvm_effect *e, cd_errinfo *why)
{
    for (usize i = 0; i < e->taken_cnt; i++) {
        if (taken_here(r, &e->taken[i])) {
            return cd_fail(why, CD_EINVAL, "block contains conflicting transactions");
        }
        if (taken_above(r, &e->taken[i])) {
            return cd_fail(why, CD_EINVAL,
                           "block contains a transaction that conflicts with a transaction in a parent block");
        }
    }
    if (r->taken_cnt + e->taken_cnt > r->taken_cap) {
        r->taken_cap = 2 * (r->taken_cnt + e->taken_cnt);
        r->taken = cd_realloc(r->taken, r->taken_cap * sizeof *r->taken);
    }
    if (e->taken_cnt > 0) {
        memcpy(r->taken + r->taken_cnt, e->taken, e->taken_cnt * sizeof *e->taken);
    }
    r->taken_cnt += e->taken_cnt;
    return CD_OK;
}

/* Looks at a transaction of good form and puts what it changes into the layer. */
static cd_err round_add(round *r, const cd_xvm_tx *t, cd_errinfo *why)
{
    cd_xvm_effect effect;
    bool is_again = false;
    CD_TRY(cd_xvm_has_tx(r->view.kv, &is_again, &t->id));
    if (is_again) { /* one that takes nothing could come twice */
        return cd_fail(why, CD_EEXIST, "transaction is in the chain already");
    }
    CD_TRY(cd_xvm_check(&r->view, &effect, t, why));
    CD_TRY(take_imports(r, &effect, why));
    cd_kv_batch_clear(&r->batch);
    CD_TRY(cd_xvm_apply(&r->view, &r->batch, &effect, t));
    return cd_kv_commit(r->view.kv, &r->batch, CD_KV_NOSYNC, why);
}

/* The layer is whole: the block's own record goes on top. */
static cd_err round_close(round *r, cd__xvm_block *b, cd_errinfo *why)
{
    cd_kv_batch_clear(&r->batch);
    cd_xvm_put_block(&r->batch, &b->pub.id, b->pub.height, b->pub.bytes);
    CD_TRY(cd_kv_commit(r->view.kv, &r->batch, CD_KV_NOSYNC, why));
    cd_layer_seal(r->layer);
    b->layer = r->layer;
    b->taken_cnt = r->taken_cnt;
    b->taken = cd_arena_array(&b->arena, cd_hash32, r->taken_cnt);
    if (r->taken_cnt > 0) {
        memcpy(b->taken, r->taken, r->taken_cnt * sizeof *b->taken);
        qsort(b->taken, b->taken_cnt, sizeof *b->taken, compare_ids);
    }
    return CD_OK;
}

/* --- verifying --- */

static u64 time_of(const cd__xvm *x, const cd_vm_block *parent)
{
    return parent == NULL ? x->last_time : parent->time;
}

static cd_err check_head(const cd__xvm *x, const cd__xvm_block *b, const cd_vm_block *parent, cd_errinfo *why)
{
    u64 now = now_of(x);
    if (!cd_hash32_is_zero(&b->body->merkle_root)) {
        return cd_fail(why, CD_EINVAL, "unexpected merkle root");
    }
    if (b->pub.time > now + FUTURE_MAX_S) {
        return cd_fail(why, CD_EINVAL,
                       "proposed timestamp is too far in the future relative to local time, proposed time (%llu), "
                       "local time (%llu)",
                       (unsigned long long)b->pub.time, (unsigned long long)now);
    }
    if (b->cnt == 0) {
        return cd_fail(why, CD_EINVAL, "block contains no transactions");
    }
    for (usize i = 0; i < b->cnt; i++) {
        CD_TRY(cd_xvm_form(&x->rules, &b->txs[i], why));
    }
    if (b->pub.time < time_of(x, parent)) {
        return cd_fail(why, CD_EINVAL,
                       "proposed timestamp before current chain time: proposed timestamp (%llu), chain time (%llu)",
                       (unsigned long long)b->pub.time, (unsigned long long)time_of(x, parent));
    }
    return CD_OK;
}

static void recover_all(cd__xvm *x, const cd__xvm_block *b, cd_arena *a)
{
    cd_fx_signed *v = cd_arena_array(a, cd_fx_signed, b->cnt);
    for (usize i = 0; i < b->cnt; i++) {
        v[i] = (cd_fx_signed){.hash = b->txs[i].hash, .creds = &b->txs[i].tx.creds};
    }
    cd_fx_recover(x->fx, v, b->cnt);
}

static cd_err on_verify(void *owner, cd_vm_block *pub, cd_vm_block *parent, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd__xvm *x = owner;
    cd__xvm_block *b = cd__xvm_block_of(pub);
    cd_arena a = {0};
    round r;
    (void)ctx;
    CD_TRY(check_head(x, b, parent, why));
    CD_TRY(round_begin(&r, x, parent, pub->time, &a));
    if (!r.view.is_trusted) {
        recover_all(x, b, &a);
    }
    cd_err e = CD_OK;
    for (usize i = 0; i < b->cnt && e == CD_OK; i++) {
        cd_errinfo said = {0};
        e = round_add(&r, &b->txs[i], &said);
        if (e != CD_OK) {
            e = cd_fail(why, e == CD_ENOENT ? CD_EINVAL : e, "%s", said.msg[0] != 0 ? said.msg : cd_err_str(e));
            cd_xvm_pool_drop(x->pool, &b->txs[i].id, said.msg);
        }
    }
    e = e != CD_OK ? e : round_close(&r, b, why);
    if (e != CD_OK) {
        cd_layer_drop(r.layer);
    }
    round_end(&r);
    cd_arena_fini(&a);
    return e;
}

/* --- deciding --- */

/* Whether x stands on b, however far. */
static bool is_above(const cd__xvm *vm, const cd_vm_block *x, const cd_vm_block *b)
{
    while (x != NULL && !cd_hash32_eq(&x->parent, &b->id)) {
        x = cd_blocks_find(&vm->blocks, &x->parent);
    }
    return x != NULL;
}

/* The overlay drops layers with all that stands on them; blocks must not keep the names of such. keep: what stands on
 * b stays and all else goes, else the reverse. */
static void forget_layers(cd__xvm *vm, const cd_vm_block *b, bool keep)
{
    void *at;
    for (usize it = 0; cd_hmap_next(&vm->blocks.by_id, &it, NULL, &at);) {
        cd_vm_block *x = *(cd_vm_block **)at;
        if (x != b && is_above(vm, x, b) != keep) {
            cd__xvm_block_of(x)->layer = NULL;
        }
    }
}

/* What passes between this chain and one other. */
typedef struct passing {
    cd_vm_shared_change change;
    usize remove_cap;
    usize put_cap;
} passing;

typedef struct passings {
    passing v[16]; /* chains of one net that share: two today */
    usize cnt;
} passings;

static passing *passing_with(passings *p, const cd_hash32 *peer)
{
    for (usize i = 0; i < p->cnt; i++) {
        if (cd_hash32_eq(&p->v[i].change.peer, peer)) {
            return &p->v[i];
        }
    }
    if (p->cnt == CD_COUNT(p->v)) {
        return NULL;
    }
    p->v[p->cnt] = (passing){.change = {.peer = *peer}};
    return &p->v[p->cnt++];
}

/* Grows an array of the arena to hold more elements. */
static void *grown(cd_arena *a, const void *v, usize cnt, usize *cap, usize more, usize size)
{
    if (cnt + more <= *cap) {
        return (void *)(uintptr_t)v;
    }
    *cap = 2 * (cnt + more);
    void *out = cd_arena_zalloc_array(a, *cap, size);
    if (cnt > 0) {
        memcpy(out, v, cnt * size);
    }
    return out;
}

static void put_removes(passing *p, cd_arena *a, const cd_hash32 *ids, usize cnt)
{
    cd_vm_shared_change *c = &p->change;
    cd_bytes *v = grown(a, c->removes, c->remove_cnt, &p->remove_cap, cnt, sizeof *v);
    for (usize i = 0; i < cnt; i++) {
        v[c->remove_cnt++] = cd_bytes_of(ids[i].b, 32);
    }
    c->removes = v;
}

/* One element: its key is the input ID, its traits are the owners. */
static cd_vm_shared_elem elem_of(cd_arena *a, const cd_utxo *u)
{
    const cd_linear_list *addrs = &cd_utxo_owners(&u->out)->addrs;
    cd_hash32 *id = cd_arena_new(a, cd_hash32);
    cd_bytes *traits = cd_arena_array(a, cd_bytes, addrs->cnt);
    cd_buf bytes = {0};
    cd_utxo_id(id, &u->tx_id, u->output_idx);
    for (u32 i = 0; i < addrs->cnt; i++) {
        traits[i] = cd_bytes_of(((const cd_addr20 *)addrs->v)[i].b, 20);
    }
    cd_linear_put(&bytes, &cd_x_utxo_table, u);
    cd_vm_shared_elem e = {.key = cd_bytes_of(id->b, 32),
                           .value = cd_arena_dup(a, cd_buf_bytes(&bytes)),
                           .traits = traits,
                           .trait_cnt = addrs->cnt};
    cd_buf_fini(&bytes);
    return e;
}

static void put_puts(passing *p, cd_arena *a, const cd_utxo *out, usize cnt)
{
    cd_vm_shared_change *c = &p->change;
    cd_vm_shared_elem *v = grown(a, c->puts, c->put_cnt, &p->put_cap, cnt, sizeof *v);
    for (usize i = 0; i < cnt; i++) {
        v[c->put_cnt++] = elem_of(a, &out[i]);
    }
    c->puts = v;
}

/* What a block moves between chains, as one change for each of them. */
static cd_err gather(passings *p, cd_arena *a, const cd__xvm_block *b, cd_errinfo *why)
{
    for (usize i = 0; i < b->cnt; i++) {
        cd_hash32 peer;
        cd_hash32 *ids;
        cd_utxo *out;
        usize cnt;
        bool imports = cd_xvm_tx_imports(&peer, &ids, &cnt, a, &b->txs[i]);
        bool exports = !imports && cd_xvm_tx_exports(&peer, &out, &cnt, a, &b->txs[i]);
        if (!imports && !exports) {
            continue;
        }
        passing *with = passing_with(p, &peer);
        if (with == NULL) {
            return cd_fail(why, CD_ELIMIT, "a block that moves outputs between more than %zu chains", CD_COUNT(p->v));
        }
        if (imports) {
            put_removes(with, a, ids, cnt);
        } else {
            put_puts(with, a, out, cnt);
        }
    }
    return CD_OK;
}

static cd_err on_accept(void *owner, cd_vm_block *pub, cd_kv_batch *batch, cd_errinfo *why)
{
    cd__xvm *x = owner;
    cd__xvm_block *b = cd__xvm_block_of(pub);
    const cd_vm_shared *shared = x->rules.shared;
    cd_arena a = {0};
    passings p = {.cnt = 0};
    cd_vm_shared_change changes[CD_COUNT(p.v)];
    cd_err e = gather(&p, &a, b, why);
    for (usize i = 0; i < p.cnt; i++) {
        changes[i] = p.v[i].change;
    }
    if (e == CD_OK) {
        cd_layer_export(b->layer, batch);
    }
    if (e == CD_OK && p.cnt > 0 && shared != NULL) {
        e = shared->apply(shared, batch, changes, p.cnt);
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err on_accepted(void *owner, cd_vm_block *pub, cd_errinfo *why)
{
    cd__xvm *x = owner;
    cd__xvm_block *b = cd__xvm_block_of(pub);
    (void)why;
    forget_layers(x, pub, true);
    cd_layer_accept(b->layer);
    b->layer = NULL;
    x->last_time = pub->time;
    for (usize i = 0; i < b->cnt; i++) {
        cd_xvm_pool_decided(x->pool, &b->txs[i]);
    }
    cd__xvm_service_accepted(x->service, b);
    return CD_OK;
}

/* Gives back to the pool what is still good. */
static void on_reject(void *owner, cd_vm_block *pub)
{
    cd__xvm *x = owner;
    cd__xvm_block *b = cd__xvm_block_of(pub);
    if (b->layer != NULL) {
        forget_layers(x, pub, false);
        cd_layer_drop(b->layer);
        b->layer = NULL;
    }
    for (usize i = 0; i < b->cnt; i++) {
        cd_hash32 id;
        bool is_new;
        (void)!cd__xvm_take(x, &id, &is_new, b->txs[i].bytes, true, NULL, NULL);
    }
}

const cd_blocks_ops cd__xvm_blocks = {
    .id_of = on_id_of,
    .decode = on_decode,
    .load = on_load,
    .id_at_height = on_id_at_height,
    .free = on_free,
    .verify = on_verify,
    .accept = on_accept,
    .accepted = on_accepted,
    .reject = on_reject,
};

/* --- building --- */

/* Fills the layer from the pool and appends to txs what went in. What is not valid here leaves the pool, unless a block
 * below has it; after many such the rest is left for the next time, so that nobody's junk keeps the executor long. */
static cd_err fill(round *r, cd_buf *txs, usize *cnt, cd_arena *a)
{
    cd__xvm *x = r->x;
    usize room = BUILT_SIZE_MAX;
    usize drops = 0;
    const cd_hash32 *at = NULL;
    cd_bytes bytes;
    bool more = cd_xvm_pool_each(x->pool, &at, &bytes);
    while (more && bytes.n <= room && drops < DROPS_MAX) {
        cd_hash32 id = *at;
        cd_xvm_tx t;
        cd_errinfo why = {0};
        cd_bytes kept = cd_arena_dup(a, bytes); /* at and bytes end with their entry */
        more = cd_xvm_pool_each(x->pool, &at, &bytes);
        cd_err e = cd_xvm_tx_parse(&t, a, kept, &why);
        e = e != CD_OK ? e : round_add(r, &t, &why);
        if (e == CD_OK) {
            cd_buf_put(txs, cd_bytes_of(&t.tx, sizeof t.tx));
            ++*cnt;
            room -= kept.n;
        } else if (e == CD_EIO || e == CD_ECORRUPT || e == CD_ENOSPC) {
            return e;
        } else if (e != CD_EEXIST) {
            cd_xvm_pool_drop(x->pool, &id, why.msg);
            drops++;
        }
    }
    if (drops == DROPS_MAX && x->ctx.host != NULL) {
        x->ctx.host->notify(x->ctx.host, CD_VM_WANTS_BLOCK);
    }
    return CD_OK;
}

static cd_err make(cd__xvm *x, cd_vm_block **out, const cd_vm_block *parent, u64 time, const cd_buf *txs, usize cnt,
                   cd_errinfo *why)
{
    cd_x_standard_block body = {
        .parent = parent == NULL ? x->blocks.last : parent->id,
        .height = (parent == NULL ? x->blocks.last_height : parent->height) + 1,
        .time = time,
        .txs = {.v = txs->p, .cnt = (u32)cnt},
    };
    cd_x_block block = {.body = {.is = cd_x_case(CD_X_STANDARD_BLOCK), .v = &body}};
    cd_buf bytes = {0};
    cd_linear_put(&bytes, &cd_x_block_table, &block);
    cd_err e = on_decode(x, out, cd_buf_bytes(&bytes), why);
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__xvm_build(cd__xvm *x, cd_vm_block **out, cd_errinfo *why)
{
    cd_vm_block *parent = cd_blocks_preferred(&x->blocks);
    cd_vm_block *made = NULL;
    u64 now = now_of(x);
    u64 time = now > time_of(x, parent) ? now : time_of(x, parent);
    cd_arena a = {0};
    cd_buf txs = {0};
    usize cnt = 0;
    round r;
    CD_TRY(round_begin(&r, x, parent, time, &a));
    cd_err e = fill(&r, &txs, &cnt, &a);
    if (e == CD_OK && cnt == 0) {
        e = cd_fail(why, CD_ENOENT, "no transactions");
    }
    e = e != CD_OK ? e : make(x, &made, parent, time, &txs, cnt, why);
    e = e != CD_OK ? e : round_close(&r, cd__xvm_block_of(made), why);
    if (e == CD_OK) {
        const cd_vm_block *mine = made;
        cd_blocks_add(&x->blocks, out, made, true);
        if (*out != mine) { /* it was known, with a layer of its own if it is verified */
            cd_layer_drop(r.layer);
        }
    } else {
        cd_layer_drop(r.layer);
        if (made != NULL) {
            on_free(x, made);
        }
    }
    round_end(&r);
    cd_buf_fini(&txs);
    cd_arena_fini(&a);
    return e;
}
