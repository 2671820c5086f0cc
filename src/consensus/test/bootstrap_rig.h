/* A node that catches up and peers that answer as they like, in one process under a clock that a test moves: toy VMs
 * that answer through bootstrap/serve, or lie. Test code. */
#ifndef CD_CONSENSUS_TEST_BOOTSTRAP_RIG_H
#define CD_CONSENSUS_TEST_BOOTSTRAP_RIG_H

#include "base/mem/mem.h"
#include "consensus/bootstrap/bootstrap_priv.h"
#include "consensus/bootstrap/serve.h"
#include "consensus/solo.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PEERS = 7, ASKS = 64, SECOND_MS = 1000 };

/* How a peer answers. */
typedef enum manner {
    HONEST,
    SILENT,
    LIES,  /* names and confirms a chain of its own, and gives it for any block */
    EMPTY, /* agrees, and has no blocks */
    ONE_BY_ONE,
    GARBAGE, /* agrees, and gives what is no block */
} manner;

typedef struct member {
    struct rig *rig;
    cd_node_id id;
    manner manner;
    cd_kv *kv;
    toy *t;
    u32 gets;
    bool is_stateless; /* silent when asked for states */
} member;

typedef struct ask {
    enum { FRONTIER, ACCEPTED, ANCESTORS, SUMMARIES, WEIGHED } kind;
    cd_node_id to;
    u32 request;
    cd_hash32 ids[CD_BOOTSTRAP_SAMPLE];
    u64 heights[CD_BOOTSTRAP_SAMPLE];
    u32 cnt;
} ask;

typedef struct rig {
    cd_bootstrap_net net; /* first */
    cd_serve_net back;    /* answers of the peer that is asked */
    member *answers;      /* the peer that answers */
    bool has_answered;    /* with ancestors, to the question in hand */
    member peers[PEERS];
    cd_node_id beacons[PEERS];
    u32 peer_cnt;
    ask asks[ASKS];
    u32 ask_cnt, asked, told_accepted;
    cd_kv *kv;
    cd_kv *part;
    toy *t;
    cd_vm_ops ops;
    cd_engine *inner;
    cd_engine *e;
    cd_rng rng;
    u64 now_ns;
    u32 normal, synced, running;
    cd_vm_state state;
    bool may_begin, may_run, door_fails;
    void (*answer_more)(struct rig *r, const ask *a); /* to questions for states */
    const cd_vm_sync_ops *sync;                       /* of our VM */
    u32 sync_beacons;                                 /* so many of the last peers */
    u64 fails_at;                                     /* height of a block that does not verify here */
} rig;

static rig *the_rig;

/* --- chains of peers --- */

/* Makes cnt blocks; the numbers say which chain it is. */
CD_INLINE void grow(toy *t, cd_kv *kv, u32 cnt, u64 number)
{
    cd_kv_batch batch = {0};
    for (u32 i = 0; i < cnt; i++) {
        cd_vm_block *b;
        bool is_in;
        const cd_vm_block_ctx ctx = {0};
        const cd_commit_door door = {.store = kv, .chain = kv};
        t->wanted = number + i;
        assert_int_equal(toy_build(&t->vm, &b, &ctx, NULL), CD_OK);
        assert_int_equal(toy_verify(&t->vm, b, &ctx, NULL), CD_OK);
        assert_int_equal(cd_commit_door_accept(&door, &t->vm, b, &batch, &is_in, NULL), CD_OK);
        toy_release(&t->vm, b);
    }
    cd_kv_batch_fini(&batch);
}

CD_INLINE void add_peer(rig *r, manner m, u32 blocks)
{
    member *p = &r->peers[r->peer_cnt++];
    *p = (member){.rig = r, .id = {.b = {(u8)(r->peer_cnt)}}, .manner = m, .kv = cd_kv_mem_open()};
    p->t = toy_of(toy_open(p->kv, TOY_IS_GOOD));
    grow(p->t, p->kv, blocks, m == LIES ? 5000000 : 100);
}

/* --- what is asked --- */

CD_INLINE ask *new_ask(const cd_bootstrap_net *n, u32 kind, const cd_node_id *to, u32 request)
{
    rig *r = (rig *)(void *)(uintptr_t)n;
    assert_true(r->ask_cnt < ASKS);
    ask *a = &r->asks[r->ask_cnt++];
    *a = (ask){.kind = kind, .to = *to, .request = request};
    return a;
}

CD_INLINE void get_frontier(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request)
{
    for (u32 i = 0; i < cnt; i++) {
        (void)new_ask(n, FRONTIER, &to[i], request);
    }
}

CD_INLINE void get_accepted(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *ids,
                            u32 id_cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        ask *a = new_ask(n, ACCEPTED, &to[i], request);
        memcpy(a->ids, ids, id_cnt * sizeof *ids);
        a->cnt = id_cnt;
    }
}

CD_INLINE void get_ancestors(const cd_bootstrap_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    new_ask(n, ANCESTORS, to, request)->ids[0] = *id;
}

/* --- what is answered --- */

CD_INLINE rig *rig_of(const cd_serve_net *n)
{
    return (rig *)(void *)((u8 *)(uintptr_t)n - offsetof(rig, back));
}

CD_INLINE void say_frontier(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    const rig *r = rig_of(n);
    (void)to;
    cd_bootstrap_frontier(r->e, &r->answers->id, request, id);
}

CD_INLINE void say_accepted(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    rig *r = rig_of(n);
    (void)to;
    r->told_accepted++;
    cd_bootstrap_accepted(r->e, &r->answers->id, request, ids, cnt);
}

CD_INLINE void say_ancestors(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_buf *blocks)
{
    static cd_bytes list[CD_SERVE_BLOCKS_MAX];
    rig *r = rig_of(n);
    u32 cnt = 0;
    (void)to;
    for (usize at = 0; at < blocks->n; cnt++) {
        usize len = cd_be32(blocks->p + at);
        list[cnt] = cd_bytes_of(blocks->p + at + 4, len);
        at += 4 + len;
    }
    r->has_answered = true;
    if (r->answers->manner == ONE_BY_ONE) {
        cnt = 1;
    }
    cd_bootstrap_ancestors(r->e, &r->answers->id, request, list, cnt, r->now_ns);
}

CD_INLINE void answer(rig *r, const ask *a)
{
    member *p = &r->peers[a->to.b[0] - 1];
    const cd_serve s = {.net = &r->back, .vm = &p->t->vm};
    const cd_node_id self = {.b = {99}};
    const cd_bytes junk = cd_bytes_str("this is no block");
    r->answers = p;
    r->has_answered = false;
    p->gets += a->kind == ANCESTORS;
    if (a->kind == SUMMARIES || a->kind == WEIGHED) {
        if (p->is_stateless) {
            cd_bootstrap_failed(r->e, &p->id, a->request);
        } else {
            r->answer_more(r, a);
        }
        return;
    }
    if (p->manner == SILENT || (p->manner == EMPTY && a->kind == ANCESTORS)) {
        cd_bootstrap_failed(r->e, &p->id, a->request);
    } else if (p->manner == GARBAGE && a->kind == ANCESTORS) {
        cd_bootstrap_ancestors(r->e, &p->id, a->request, &junk, 1, r->now_ns);
    } else if (p->manner == LIES && a->kind == ACCEPTED) {
        cd_bootstrap_accepted(r->e, &p->id, a->request, a->ids, a->cnt);
    } else if (p->manner == LIES && a->kind == ANCESTORS) {
        cd_serve_ancestors(&s, &self, a->request, &p->t->blocks.last);
    } else if (a->kind == FRONTIER) {
        cd_serve_accepted_frontier(&s, &self, a->request);
    } else if (a->kind == ACCEPTED) {
        cd_serve_accepted(&s, &self, a->request, a->ids, a->cnt);
    } else {
        cd_serve_ancestors(&s, &self, a->request, a->ids);
        if (!r->has_answered) {
            cd_bootstrap_failed(r->e, &p->id, a->request); /* it has no such block: time is up */
        }
    }
}

/* Does one thing that is due; false: nothing is due. */
CD_INLINE bool pump_one(rig *r)
{
    if (r->asked < r->ask_cnt) {
        const ask a = r->asks[r->asked++];
        if (r->asked == r->ask_cnt) {
            r->asked = r->ask_cnt = 0;
        }
        answer(r, &a);
        return true;
    }
    return r->e->ops->step(r->e);
}

CD_INLINE void tick(rig *r, u64 ms)
{
    r->now_ns += ms * CD_NS_PER_MS;
    cd_bootstrap_tick(r->e, r->now_ns);
}

/* Lets seconds go by, with a tick in each. */
CD_INLINE void go(rig *r, u32 seconds)
{
    for (u32 i = 0; i < seconds * 10; i++) {
        tick(r, SECOND_MS / 10);
        while (pump_one(r)) {
        }
    }
}

/* --- our node --- */

CD_INLINE bool may_begin(void *ctx)
{
    return ((rig *)ctx)->may_begin;
}

CD_INLINE bool may_run(void *ctx)
{
    return ((rig *)ctx)->may_run;
}

CD_INLINE void on_synced(void *ctx)
{
    ((rig *)ctx)->synced++;
}

CD_INLINE void on_running(void *ctx)
{
    ((rig *)ctx)->running++;
}

CD_INLINE cd_err also(void *ctx, cd_kv_batch *batch, const cd_vm_block *b, cd_errinfo *why)
{
    (void)batch;
    (void)b;
    return ((rig *)ctx)->door_fails ? cd_fail(why, CD_ENOSPC, "no space") : CD_OK;
}

CD_INLINE cd_err verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    assert_int_equal(the_rig->state, the_rig->running == 0 ? CD_VM_BOOTSTRAPPING : CD_VM_NORMAL);
    return b->height == the_rig->fails_at ? cd_fail(why, CD_EINVAL, "not here") : toy_verify(vm, b, ctx, why);
}

CD_INLINE cd_err set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    (void)vm;
    (void)why;
    the_rig->state = state;
    the_rig->normal += state == CD_VM_NORMAL;
    return CD_OK;
}

CD_INLINE void open_own(rig *r)
{
    const cd_commit_door door = {.store = r->kv, .chain = r->kv, .also = also, .ctx = r};
    for (u32 i = 0; i < r->peer_cnt; i++) {
        r->beacons[i] = r->peers[i].id;
    }
    r->t = toy_of(toy_open(r->kv, TOY_IS_GOOD));
    r->ops = toy_ops;
    r->ops.verify = verify;
    r->ops.set_state = set_state;
    r->ops.sync = r->sync;
    r->t->vm.ops = &r->ops;
    r->inner = cd_solo_new(&(cd_solo_cfg){.door = door, .name = "T"});
    const cd_bootstrap_cfg cfg = {
        .engine = r->inner,
        .door = door,
        .kv = r->part,
        .net = &r->net,
        .has_beacons = true,
        .beacons = r->beacons,
        .beacon_cnt = r->peer_cnt,
        .sync_beacons = r->beacons + (r->peer_cnt - r->sync_beacons),
        .sync_beacon_cnt = r->sync_beacons,
        .self = {.b = {99}},
        .rng = &r->rng,
        .may_begin = may_begin,
        .may_run = may_run,
        .synced = on_synced,
        .running = on_running,
        .ctx = r,
        .name = "T",
    };
    assert_int_equal(cd_bootstrap_new(&r->e, &cfg, NULL), CD_OK);
    assert_int_equal(r->e->ops->start(r->e, &r->t->vm, NULL), CD_OK);
    for (u32 i = 0; i < r->peer_cnt; i++) {
        cd_bootstrap_connected(r->e, &r->peers[i].id);
    }
}

CD_INLINE void close_own(rig *r)
{
    r->e->ops->stop(r->e);
    cd_bootstrap_free(r->e);
    cd_solo_free(r->inner);
    r->t->vm.ops->close(&r->t->vm);
    r->ask_cnt = r->asked = 0;
}

CD_INLINE void begin(rig *r)
{
    *r = (rig){
        .net = {.get_accepted_frontier = get_frontier, .get_accepted = get_accepted, .get_ancestors = get_ancestors},
        .back = {.accepted_frontier = say_frontier, .accepted = say_accepted, .ancestors = say_ancestors},
        .rng = cd_rng_seeded(7),
        .may_begin = true,
        .may_run = true};
    the_rig = r;
    r->kv = cd_kv_mem_open();
    r->part = cd_kv_prefix_open(r->kv, cd_bytes_str("F"));
}

CD_INLINE void end(rig *r)
{
    close_own(r);
    for (u32 i = 0; i < r->peer_cnt; i++) {
        r->peers[i].t->vm.ops->close(&r->peers[i].t->vm);
        cd_kv_close(r->peers[i].kv);
    }
    cd_kv_close(r->part);
    cd_kv_close(r->kv);
}

CD_INLINE cd_bootstrap_step step_of(const rig *r)
{
    return cd_bootstrap_progress_get(r->e).step;
}

CD_INLINE void is_where_peer_is(const rig *r, u32 peer)
{
    assert_int_equal(r->t->blocks.last_height, r->peers[peer].t->blocks.last_height);
    assert_true(cd_hash32_eq(&r->t->blocks.last, &r->peers[peer].t->blocks.last));
}

/* Checks that nothing that was fetched is left. */
CD_INLINE void is_clean(rig *r)
{
    cd_kv_iter *it;
    assert_int_equal(cd_kv_iter_new(&it, r->part, &(cd_kv_range){0}), CD_OK);
    assert_false(cd_kv_iter_next(it));
    cd_kv_iter_free(it);
}

#endif
