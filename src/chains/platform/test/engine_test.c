/* The P-Chain in the seat of a single node's engine: a proposal is followed by its option, by the clock alone. */
#include "chains/platform/test/ledger.h"
#include "consensus/solo.h"

typedef struct seat {
    cd_vm_host host; /* first */
    cd_engine *engine;
} seat;

static void notify(cd_vm_host *host, cd_vm_event event)
{
    cd_engine *e = ((seat *)(void *)host)->engine;
    e->ops->notify(e, event);
}

static void a_staker_leaves_by_the_clock(void **state)
{
    ledger l;
    seat s = {.host = {.notify = notify}};
    cd_vm *vm = NULL;
    cd_hash32 last;
    u64 height;
    (void)state;
    ledger_prepare(&l);
    cd_kv *kv = cd_kv_mem_open();
    const cd_vm_ctx ctx = {
        .kv = kv, .clock = &l.clock.clock, .genesis = l.genesis, .network_id = 1337, .name = "P", .host = &s.host};
    const cd_solo_cfg cfg = {.door = {.store = kv, .chain = kv, .sync = CD_KV_NOSYNC}, .name = "P"};
    s.engine = cd_solo_new(&cfg);
    assert_int_equal(cd_platform_vm_open(&vm, &ctx, NULL), CD_OK);
    assert_int_equal(s.engine->ops->start(s.engine, vm, NULL), CD_OK);
    u64 before = cd_clock_mono_ns(&l.clock.clock);
    assert_true(vm->ops->wake(vm) > before); /* nothing yet: asked again later */
    assert_false(s.engine->ops->step(s.engine));
    ledger_wait(&l, LEDGER_YEAR);
    assert_true(vm->ops->wake(vm) <= cd_clock_mono_ns(&l.clock.clock) + CD_NS_PER_SEC);
    while (s.engine->ops->step(s.engine)) {
    }
    vm->ops->last_accepted(vm, &last, &height);
    assert_int_equal(height, 2); /* the proposal and one of its options */
    assert_int_equal(s.engine->stats.accepted, 2);
    s.engine->ops->stop(s.engine);
    vm->ops->close(vm);
    cd_solo_free(s.engine);
    cd_kv_close(kv);
    ledger_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_staker_leaves_by_the_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
