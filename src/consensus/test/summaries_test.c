/* Syncing the state before blocks are fetched, message by message: which summary is believed, when there is none, when
 * the sync comes to nothing. The toy's sync takes over a peer's blocks in one go. */
#include "consensus/test/bootstrap_rig.h"

enum { SUMMARY_BYTES = 9 };

/* What our VM's sync does. */
typedef struct sync_seat {
    bool is_enabled;
    cd_vm_sync_mode mode;
    u32 accepts;
    u64 accepted; /* height of the summary */
    u64 ongoing;  /* 0: none */
    bool fails;
} sync_seat;

static sync_seat seat;

static void summary_of(cd_vm_summary *out, cd_arena *a, u64 height)
{
    u8 bytes[SUMMARY_BYTES] = {'S'};
    cd_put_be64(bytes + 1, height);
    *out = (cd_vm_summary){.height = height, .bytes = cd_arena_dup(a, cd_bytes_of(bytes, sizeof bytes))};
    cd_sha256(&out->id, out->bytes);
}

static bool is_enabled(cd_vm *vm)
{
    (void)vm;
    return seat.is_enabled;
}

static cd_err ongoing(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    (void)vm;
    summary_of(out, a, seat.ongoing);
    return seat.ongoing == 0 ? CD_ENOENT : CD_OK;
}

/* A peer has a summary at every hundredth height, and tells of the newest. */
static cd_err at(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height)
{
    bool has = height != 0 && height % 100 == 0 && height <= toy_of(vm)->blocks.last_height;
    summary_of(out, a, height);
    return has ? CD_OK : CD_ENOENT;
}

static cd_err last(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    u64 height = toy_of(vm)->blocks.last_height;
    return at(vm, out, a, height - height % 100);
}

static cd_err parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    (void)vm;
    if (bytes.n != SUMMARY_BYTES || bytes.p[0] != 'S') {
        return cd_fail(why, CD_EFORMAT, "no summary");
    }
    summary_of(out, a, cd_be64(bytes.p + 1));
    return CD_OK;
}

static cd_err accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    (void)vm;
    assert_int_equal(the_rig->state, CD_VM_SYNCING);
    seat.accepts++;
    seat.accepted = s->height;
    *mode = seat.mode;
    return seat.fails ? cd_fail(why, CD_EIO, "no") : CD_OK;
}

static const cd_vm_sync_ops sync_ops = {
    .is_enabled = is_enabled,
    .ongoing = ongoing,
    .last = last,
    .at = at,
    .parse = parse,
    .accept = accept,
};

static cd_vm_ops peer_ops;

static void add(rig *r, manner m, u32 blocks)
{
    add_peer(r, m, blocks);
    peer_ops = toy_ops;
    peer_ops.sync = &sync_ops;
    r->peers[r->peer_cnt - 1].t->vm.ops = &peer_ops;
}

static void get_summary_frontier(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request)
{
    for (u32 i = 0; i < cnt; i++) {
        (void)new_ask(n, SUMMARIES, &to[i], request);
    }
}

static void get_summaries(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request, const u64 *heights,
                          u32 height_cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        ask *a = new_ask(n, WEIGHED, &to[i], request);
        memcpy(a->heights, heights, height_cnt * sizeof *heights);
        a->cnt = height_cnt;
    }
}

static void say_summary(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes summary)
{
    const rig *r = rig_of(n);
    (void)to;
    cd_bootstrap_summary_frontier(r->e, &r->answers->id, request, summary);
}

static void say_summaries(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    const rig *r = rig_of(n);
    (void)to;
    cd_bootstrap_summaries(r->e, &r->answers->id, request, ids, cnt);
}

static void answer_of_state(rig *r, const ask *a)
{
    member *p = &r->peers[a->to.b[0] - 1];
    const cd_serve s = {.net = &r->back, .vm = &p->t->vm};
    const cd_node_id self = {.b = {99}};
    cd_arena mem = {0};
    cd_vm_summary x;
    cd_hash32 ids[CD_BOOTSTRAP_SAMPLE];
    r->answers = p;
    if (p->manner == SILENT) {
        cd_bootstrap_failed(r->e, &p->id, a->request);
    } else if (p->manner == GARBAGE && a->kind == SUMMARIES) {
        cd_bootstrap_summary_frontier(r->e, &p->id, a->request, cd_bytes_str("what is this"));
    } else if (p->manner == LIES && a->kind == SUMMARIES) {
        summary_of(&x, &mem, 900000);
        cd_bootstrap_summary_frontier(r->e, &p->id, a->request, x.bytes);
    } else if (p->manner == LIES) {
        for (u32 i = 0; i < a->cnt; i++) {
            summary_of(&x, &mem, a->heights[i]);
            ids[i] = x.id;
        }
        cd_bootstrap_summaries(r->e, &p->id, a->request, ids, a->cnt);
    } else if (a->kind == SUMMARIES) {
        cd_serve_summary_frontier(&s, &self, a->request);
    } else {
        cd_serve_summaries(&s, &self, a->request, a->heights, a->cnt);
    }
    cd_arena_fini(&mem);
}

static void start(rig *r)
{
    begin(r);
    seat = (sync_seat){.is_enabled = true, .mode = CD_VM_SYNC_STATIC};
    r->net.get_summary_frontier = get_summary_frontier;
    r->net.get_summaries = get_summaries;
    r->back.state_summary_frontier = say_summary;
    r->back.accepted_state_summary = say_summaries;
    r->answer_more = answer_of_state;
}

static void open_synced(rig *r)
{
    r->sync = &sync_ops;
    open_own(r);
}

/* Takes over the blocks of a peer up to a height, as a sync that is over. */
static void finish(rig *r, u32 peer, u64 height)
{
    cd_kv_batch batch = {0};
    member *p = &r->peers[peer];
    const cd_commit_door door = {.store = r->kv, .chain = r->kv};
    const cd_vm_block_ctx ctx = {0};
    for (u64 h = r->t->blocks.last_height + 1; h <= height; h++) {
        cd_hash32 id;
        cd_vm_block *theirs;
        cd_vm_block *b;
        bool is_in;
        assert_int_equal(toy_ops.id_at_height(&p->t->vm, &id, h), CD_OK);
        assert_int_equal(toy_ops.get(&p->t->vm, &theirs, &id), CD_OK);
        assert_int_equal(toy_ops.parse(&r->t->vm, &b, theirs->bytes, NULL), CD_OK);
        assert_int_equal(toy_verify(&r->t->vm, b, &ctx, NULL), CD_OK);
        assert_int_equal(cd_commit_door_accept(&door, &r->t->vm, b, &batch, &is_in, NULL), CD_OK);
        toy_release(&r->t->vm, b);
        toy_release(&p->t->vm, theirs);
    }
    cd_kv_batch_fini(&batch);
    r->e->ops->notify(r->e, CD_VM_SYNC_DONE);
}

static void state_then_blocks(void **state)
{
    (void)state;
    rig r;
    start(&r);
    for (u32 i = 0; i < 5; i++) {
        add(&r, HONEST, 450);
    }
    open_synced(&r);
    go(&r, 2);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_SYNCS);
    assert_int_equal(seat.accepts, 1);
    assert_int_equal(seat.accepted, 400);
    assert_int_equal(r.t->blocks.last_height, 0); /* no block is fetched as long as it lasts */
    finish(&r, 0, 400);
    go(&r, 3);
    is_where_peer_is(&r, 0);
    assert_int_equal(r.e->stats.accepted, 50);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    assert_int_equal(r.state, CD_VM_NORMAL);
    end(&r);
}

/* Two of five lie: they show a summary, and confirm all. One is silent. */
static void liars(void **state)
{
    (void)state;
    rig r;
    start(&r);
    static const manner all[] = {LIES, LIES, GARBAGE, HONEST, HONEST, HONEST, SILENT};
    for (u32 i = 0; i < CD_COUNT(all); i++) {
        add(&r, all[i], 450);
    }
    open_synced(&r);
    go(&r, 2);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_SYNCS);
    assert_int_equal(seat.accepted, 400);
    end(&r);
}

/* Nobody is far enough, or most are silent: blocks alone, and soon. */
static void nothing_to_sync_to(void **state)
{
    (void)state;
    for (u32 way = 0; way < 4; way++) {
        rig r;
        start(&r);
        for (u32 i = 0; i < 5; i++) {
            add(&r, HONEST, way == 0 ? 50 : 150);
        }
        seat.mode = way == 2 ? CD_VM_SYNC_SKIPPED : CD_VM_SYNC_STATIC;
        seat.fails = way == 3;
        for (u32 i = 0; i < 3; i++) {
            r.peers[i].is_stateless = way == 1;
        }
        open_synced(&r);
        go(&r, way == 1 ? 8 : 3);
        is_where_peer_is(&r, 4);
        assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
        assert_int_equal(seat.accepts, way < 2 ? 0 : 1);
        end(&r);
    }
}

/* No two of the stake agree on a summary: blocks. */
static void no_majority(void **state)
{
    (void)state;
    rig r;
    start(&r);
    for (u32 i = 0; i < 6; i++) {
        add(&r, HONEST, i < 3 ? 50 : 150);
    }
    open_synced(&r);
    go(&r, 4);
    assert_int_equal(seat.accepts, 0); /* three of six are not more than half */
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    end(&r);
}

static void goes_on_with_the_ongoing_one(void **state)
{
    (void)state;
    rig r;
    start(&r);
    for (u32 i = 0; i < 4; i++) {
        add(&r, HONEST, 250 + (i == 0 ? 100 : 0));
    }
    seat.ongoing = 200;
    open_synced(&r);
    go(&r, 2);
    assert_int_equal(seat.accepted, 200);
    end(&r);
}

/* A sync that ends nowhere is begun anew with what the beacons say then, and given up after some. */
static void ends_nowhere(void **state)
{
    (void)state;
    rig r;
    start(&r);
    for (u32 i = 0; i < 3; i++) {
        add(&r, HONEST, 150);
    }
    open_synced(&r);
    go(&r, 2);
    assert_int_equal(seat.accepted, 100);
    for (u32 i = 0; i < 3; i++) {
        grow(r.peers[i].t, r.peers[i].kv, 60, 100 + 150);
    }
    r.e->ops->notify(r.e, CD_VM_SYNC_DONE);
    go(&r, 15);
    assert_int_equal(seat.accepts, 2);
    assert_int_equal(seat.accepted, 200);
    for (u32 i = 0; i < 8; i++) {
        r.e->ops->notify(r.e, CD_VM_SYNC_DONE);
        go(&r, 15);
    }
    assert_int_equal(seat.accepts, 8);
    is_where_peer_is(&r, 0);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    end(&r);
}

/* Others than the beacons are asked for summaries; a VM that does not want to is not synced. */
static void own_beacons(void **state)
{
    (void)state;
    rig r;
    start(&r);
    for (u32 i = 0; i < 4; i++) {
        add(&r, HONEST, i == 3 ? 350 : 150);
    }
    r.sync_beacons = 1; /* the last one */
    open_synced(&r);
    go(&r, 2);
    assert_int_equal(seat.accepted, 300);
    end(&r);
    start(&r);
    add(&r, HONEST, 150);
    seat.is_enabled = false;
    open_synced(&r);
    go(&r, 2);
    assert_int_equal(seat.accepts, 0);
    is_where_peer_is(&r, 0);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_then_blocks),
        cmocka_unit_test(liars),
        cmocka_unit_test(nothing_to_sync_to),
        cmocka_unit_test(no_majority),
        cmocka_unit_test(goes_on_with_the_ongoing_one),
        cmocka_unit_test(ends_nowhere),
        cmocka_unit_test(own_beacons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
