/* Two nodes' X-Chains on a wire: what one is given waits at both; what a peer may make this node keep. */
#include "rig.h"
#include "vm/gossip/test/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static xrig rigs[2];
static wire wires[2];

static void begin(void)
{
    for (u8 i = 0; i < 2; i++) {
        wire_init(&wires[i], 1 + i);
        rig_init(&rigs[i], "");
        rigs[i].vm->ops->close(rigs[i].vm);
        rigs[i].sender = &wires[i].sender;
        rigs[i].vm = rig_open(&rigs[i], rigs[i].kv, "");
    }
    wires[0].to = rigs[1].vm;
    wires[1].to = rigs[0].vm;
}

static void end(void)
{
    for (u32 i = 0; i < 2; i++) {
        rig_fini(&rigs[i]);
        wire_fini(&wires[i]);
    }
}

static usize waiting(u32 i)
{
    return cd_xvm_pool_cnt(cd__xvm_of(rigs[i].vm)->pool);
}

static const char *reason(u32 i, const cd_hash32 *id)
{
    return cd_xvm_pool_reason(cd__xvm_of(rigs[i].vm)->pool, id);
}

static cd_hash32 give(u32 i, u32 coin, int to)
{
    cd_buf tx = {0};
    cd_hash32 id;
    rig_coin(&rigs[i], &tx, coin, to);
    assert_int_equal(cd_xvm_issue(rigs[i].vm, &id, cd_buf_bytes(&tx), true, NULL), CD_OK);
    cd_buf_fini(&tx);
    return id;
}

static void push(cd_bytes item)
{
    wire_push(rigs[1].vm, CD_P2P_HANDLER_TX, item);
}

static void told_and_built_elsewhere(void **state)
{
    (void)state;
    begin();
    usize told = rigs[1].host.told;
    (void)give(0, 0, 1);
    (void)give(0, 1, 1);
    assert_int_equal(waiting(1), 0);
    u64 next = rigs[0].vm->ops->wake(rigs[0].vm);
    assert_true(next > rig_now(&rigs[0].clock.base) && next != UINT64_MAX);
    assert_int_equal(waiting(1), 2);
    assert_true(rigs[1].host.told > told);
    assert_int_equal(wires[0].gossips, 1);
    assert_int_equal(wires[0].said.p[0], CD_P2P_HANDLER_TX);
    (void)rigs[1].vm->ops->wake(rigs[1].vm);
    assert_int_equal(wires[1].gossips, 0);
    assert_int_equal(rig_step(&rigs[1]), CD_OK);
    assert_int_equal(waiting(1), 0);
    rigs[0].clock.now_s += 31;
    (void)rigs[0].vm->ops->wake(rigs[0].vm);
    assert_int_equal(wires[0].gossips, 2); /* it waits here still */
    assert_int_equal(waiting(1), 0);       /* and is not taken twice */
    end();
}

static void what_peers_may_not(void **state)
{
    (void)state;
    begin();
    cd_buf tx = {0};
    cd_hash32 id = give(0, 0, 1);
    (void)rigs[0].vm->ops->wake(rigs[0].vm);
    assert_int_equal(waiting(1), 1);
    push(cd_bytes_str("no transaction"));
    rig_coin(&rigs[1], &tx, 0, 0); /* takes the same coin */
    push(cd_buf_bytes(&tx));
    rig_coin(&rigs[1], &tx, 1, 0);
    tx.p[tx.n - 1] ^= 1; /* not its owner's signature */
    push(cd_buf_bytes(&tx));
    cd_xvm_tx t;
    cd_arena a = {0};
    assert_int_equal(cd_xvm_tx_parse(&t, &a, cd_buf_bytes(&tx), NULL), CD_OK);
    assert_null(reason(1, &t.id)); /* no peer can push out what clients want to know */
    cd_arena_fini(&a);
    assert_int_equal(waiting(1), 1);
    cd_xvm_pool_drop(cd__xvm_of(rigs[1].vm)->pool, &id, "for a reason");
    rig_coin(&rigs[1], &tx, 0, 1);
    push(cd_buf_bytes(&tx));
    assert_int_equal(waiting(1), 0); /* what was dropped is not looked at again for a peer */
    assert_int_equal(rigs[1].vm->ops->set_state(rigs[1].vm, CD_VM_BOOTSTRAPPING, NULL), CD_OK);
    rig_coin(&rigs[1], &tx, 2, 1);
    push(cd_buf_bytes(&tx));
    assert_int_equal(waiting(1), 0);
    cd_buf_fini(&tx);
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
