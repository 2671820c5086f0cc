/* Two nodes' P-Chains on a wire: what one is given waits at both; what a peer may make this node keep and remember. */
#include "chains/platform/test/ledger.h"
#include "vm/gossip/test/wire.h"

static ledger sides[2];
static wire wires[2];

static void begin(void)
{
    for (u8 i = 0; i < 2; i++) {
        wire_init(&wires[i], 1 + i);
        ledger_init(&sides[i]);
        sides[i].vm->ops->close(sides[i].vm);
        sides[i].sender = &wires[i].sender;
        sides[i].vm = ledger_open(&sides[i], sides[i].kv);
        assert_int_equal(sides[i].vm->ops->set_state(sides[i].vm, CD_VM_NORMAL, NULL), CD_OK);
    }
    wires[0].to = sides[1].vm;
    wires[1].to = sides[0].vm;
}

static void end(void)
{
    for (u32 i = 0; i < 2; i++) {
        ledger_fini(&sides[i]);
        wire_fini(&wires[i]);
    }
}

static void push(cd_bytes item)
{
    wire_push(sides[1].vm, CD_P2P_HANDLER_TX, item);
}

static void told_and_built_elsewhere(void **state)
{
    cd_hash32 id;
    cd_errinfo why = {0};
    (void)state;
    begin();
    cd_bytes tx = ledger_transfer(&sides[0], 5 * LEDGER_TOKEN, 0, 1);
    assert_int_equal(ledger_issue(&sides[0], &id, tx, &why), CD_OK);
    assert_int_equal(ledger_status(&sides[1], &id), CD_P_STATUS_UNKNOWN);
    (void)sides[0].vm->ops->wake(sides[0].vm);
    assert_int_equal(ledger_status(&sides[1], &id), CD_P_STATUS_PROCESSING);
    assert_int_equal(wires[0].gossips, 1);
    assert_int_equal(ledger_issue(&sides[0], &id, tx, &why), CD_OK); /* a second time is not told again */
    cd_clock_virtual_advance(&sides[0].clock, CD_NS_PER_SEC);
    (void)sides[0].vm->ops->wake(sides[0].vm);
    (void)sides[1].vm->ops->wake(sides[1].vm);
    assert_int_equal(wires[0].gossips, 1);
    assert_int_equal(wires[1].gossips, 0); /* nor by those who heard it */
    assert_true(ledger_step(&sides[1], false));
    assert_int_equal(ledger_status(&sides[1], &id), CD_P_STATUS_COMMITTED);
    push(tx); /* comes late */
    assert_int_equal(ledger_status(&sides[1], &id), CD_P_STATUS_COMMITTED);
    end();
}

static void what_peers_may_not(void **state)
{
    cd_errinfo why = {0};
    cd_arena a = {0};
    cd_ptx t;
    cd_hash32 id;
    (void)state;
    begin();
    push(cd_bytes_str("no transaction"));
    cd_bytes tx = ledger_transfer(&sides[1], 5 * LEDGER_TOKEN, 0, 1);
    cd_bytes bad = cd_arena_dup(&a, tx);
    ((u8 *)(usize)bad.p)[bad.n - 1] ^= 1; /* not its owner's signature */
    assert_int_equal(cd_ptx_parse(&t, &a, bad, 0, NULL), CD_OK);
    push(bad);
    assert_int_equal(ledger_status(&sides[1], &t.id), CD_P_STATUS_UNKNOWN); /* no reason is kept for it */
    assert_int_not_equal(ledger_issue(&sides[1], &id, bad, &why), CD_OK);
    assert_int_equal(ledger_status(&sides[1], &t.id), CD_P_STATUS_DROPPED); /* as it is for a client */
    push(tx);
    assert_int_equal(cd_p_pool_cnt(cd_pchain_pool(cd_platform_vm_chain(sides[1].vm))), 1);
    assert_int_equal(sides[1].vm->ops->set_state(sides[1].vm, CD_VM_BOOTSTRAPPING, NULL), CD_OK);
    push(ledger_transfer(&sides[1], 7 * LEDGER_TOKEN, 1, 2));
    assert_int_equal(cd_p_pool_cnt(cd_pchain_pool(cd_platform_vm_chain(sides[1].vm))), 1);
    cd_arena_fini(&a);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_and_built_elsewhere),
        cmocka_unit_test(what_peers_may_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
