/* What nodes that catch up are answered: only what was accepted, within the bounds. */
#include "consensus/bootstrap/serve.h"

#include "base/mem/mem.h"
#include "consensus/engine.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The last answer of each kind, and how many there were. */
typedef struct heard {
    cd_serve_net net; /* first */
    u32 frontiers, accepted, ancestors, puts, summaries, ids;
    cd_hash32 frontier;
    cd_hash32 list[CD_SERVE_IDS_MAX];
    u32 cnt;
    cd_buf blocks;
} heard;

static heard *heard_of(const cd_serve_net *n)
{
    return (heard *)(void *)(uintptr_t)n;
}

static void on_frontier(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    assert_int_equal(to->b[0], 3);
    assert_int_equal(request, 44);
    heard_of(n)->frontiers++;
    heard_of(n)->frontier = *id;
}

static void on_accepted(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    heard *h = heard_of(n);
    (void)to;
    (void)request;
    h->accepted++;
    h->cnt = cnt;
    memcpy(h->list, ids, cnt * sizeof *ids);
}

static void on_ancestors(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_buf *blocks)
{
    heard *h = heard_of(n);
    (void)to;
    (void)request;
    h->ancestors++;
    cd_buf_clear(&h->blocks);
    cd_buf_put(&h->blocks, cd_buf_bytes(blocks));
}

static void on_put(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes block)
{
    heard *h = heard_of(n);
    (void)to;
    (void)request;
    h->puts++;
    cd_buf_clear(&h->blocks);
    cd_buf_put(&h->blocks, block);
}

static void on_summary(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes summary)
{
    heard *h = heard_of(n);
    (void)to;
    (void)request;
    h->summaries++;
    cd_buf_clear(&h->blocks);
    cd_buf_put(&h->blocks, summary);
}

static void on_ids(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    heard *h = heard_of(n);
    (void)to;
    (void)request;
    h->ids++;
    h->cnt = cnt;
    memcpy(h->list, ids, cnt * sizeof *ids);
}

static const cd_node_id to = {.b = {3}};
static heard h;
static cd_kv *kv;
static toy *t;
static cd_serve s;

static void begin(void)
{
    h = (heard){.net = {.accepted_frontier = on_frontier,
                        .accepted = on_accepted,
                        .ancestors = on_ancestors,
                        .put = on_put,
                        .state_summary_frontier = on_summary,
                        .accepted_state_summary = on_ids}};
    kv = cd_kv_mem_open();
    t = toy_of(toy_open(kv, TOY_IS_GOOD));
    s = (cd_serve){.net = &h.net, .vm = &t->vm};
}

static void end(void)
{
    t->vm.ops->close(&t->vm);
    cd_kv_close(kv);
    cd_buf_fini(&h.blocks);
}

/* Makes a verified block on the last accepted one; the use is the caller's. */
static cd_vm_block *make(u64 number)
{
    cd_vm_block *b;
    const cd_vm_block_ctx ctx = {0};
    t->wanted = number;
    assert_int_equal(toy_build(&t->vm, &b, &ctx, NULL), CD_OK);
    assert_int_equal(toy_verify(&t->vm, b, &ctx, NULL), CD_OK);
    return b;
}

static cd_hash32 grow(u32 cnt)
{
    cd_kv_batch batch = {0};
    const cd_commit_door door = {.store = kv, .chain = kv};
    for (u32 i = 0; i < cnt; i++) {
        bool is_in;
        cd_vm_block *b = make(10 + i);
        assert_int_equal(cd_commit_door_accept(&door, &t->vm, b, &batch, &is_in, NULL), CD_OK);
        toy_release(&t->vm, b);
    }
    cd_kv_batch_fini(&batch);
    return t->blocks.last;
}

static void what_is_accepted(void **state)
{
    (void)state;
    begin();
    cd_hash32 second = grow(2);
    cd_hash32 third = grow(1);
    cd_vm_block *undecided = make(99);
    const cd_hash32 ids[] = {third, {.b = {1}}, undecided->id, second};
    cd_serve_accepted_frontier(&s, &to, 44);
    assert_true(cd_hash32_eq(&h.frontier, &third));
    cd_serve_accepted(&s, &to, 44, ids, CD_COUNT(ids));
    assert_int_equal(h.cnt, 2);
    assert_true(cd_hash32_eq(&h.list[0], &third) && cd_hash32_eq(&h.list[1], &second));
    cd_serve_accepted(&s, &to, 44, NULL, 0);
    assert_int_equal(h.cnt, 0);
    assert_int_equal(h.accepted, 2);
    static cd_hash32 many[CD_SERVE_IDS_MAX + 5];
    for (u32 i = 0; i < CD_COUNT(many); i++) {
        many[i] = second;
    }
    cd_serve_accepted(&s, &to, 44, many, CD_COUNT(many));
    assert_int_equal(h.cnt, CD_SERVE_IDS_MAX);
    assert_int_equal(toy_reject(&t->vm, undecided), CD_OK);
    toy_release(&t->vm, undecided);
    end();
}

static void what_is_there(void **state)
{
    (void)state;
    enum { EACH = TOY_SIZE + 4 };
    begin();
    cd_hash32 last = grow(2);
    const cd_hash32 nothing = {.b = {1}};
    cd_serve_get(&s, &to, 44, &nothing);
    cd_serve_ancestors(&s, &to, 44, &nothing);
    assert_int_equal(h.puts + h.ancestors, 0);
    cd_serve_get(&s, &to, 44, &last);
    assert_int_equal(h.puts, 1);
    assert_int_equal(h.blocks.n, TOY_SIZE);
    cd_serve_ancestors(&s, &to, 44, &last);
    assert_int_equal(h.blocks.n, 3 * EACH); /* genesis too */
    assert_int_equal(cd_be64(h.blocks.p + 4 + 32), 2);
    assert_int_equal(cd_be64(h.blocks.p + EACH + 4 + 32), 1);
    last = grow(CD_SERVE_BLOCKS_MAX);
    cd_serve_ancestors(&s, &to, 44, &last);
    assert_int_equal(h.blocks.n, CD_SERVE_BLOCKS_MAX * EACH);
    cd_clock_virtual clock; /* it stands still */
    cd_clock_virtual_init(&clock, 0);
    s.clock = &clock.clock;
    cd_serve_ancestors(&s, &to, 44, &last);
    assert_int_equal(h.blocks.n, CD_SERVE_BLOCKS_MAX * EACH);
    end();
}

/* --- summaries --- */

/* This node does not sync itself; it serves others all the same. */
static bool sync_off(cd_vm *vm)
{
    (void)vm;
    return false;
}

static cd_err at(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height)
{
    (void)vm;
    (void)a;
    *out = (cd_vm_summary){.id = {.b = {(u8)height}}, .height = height, .bytes = cd_bytes_str("a summary")};
    return height % 2 == 0 ? CD_OK : CD_ENOENT;
}

static cd_err last_summary(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    return at(vm, out, a, 6);
}

static void summaries(void **state)
{
    (void)state;
    static const cd_vm_sync_ops sync = {.is_enabled = sync_off, .last = last_summary, .at = at};
    static const u64 heights[] = {2, 3, 8};
    begin();
    cd_serve_summary_frontier(&s, &to, 44);
    cd_serve_summaries(&s, &to, 44, heights, 3);
    assert_int_equal(h.summaries, 1); /* this VM has no summaries, and says so */
    assert_int_equal(h.blocks.n, 0);
    assert_int_equal(h.ids, 1); /* the answer has no IDs */
    assert_int_equal(h.cnt, 0);
    cd_serve_summaries(&s, &to, 44, NULL, 0);
    assert_int_equal(h.ids, 2);
    assert_int_equal(h.cnt, 0);
    cd_vm_ops with = *t->vm.ops;
    with.sync = &sync;
    t->vm.ops = &with;
    cd_serve_summary_frontier(&s, &to, 44);
    assert_int_equal(h.summaries, 2);
    assert_int_equal(h.blocks.n, 9);
    cd_serve_summaries(&s, &to, 44, heights, 3);
    assert_int_equal(h.cnt, 2);
    assert_int_equal(h.list[1].b[0], 8);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_accepted), cmocka_unit_test(what_is_there),
                                       cmocka_unit_test(summaries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
