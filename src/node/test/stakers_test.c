/* Sets of validators, a net each: whose weight counts where, what a net that cannot be read costs. */
#include "base/bytes.h"
#include "node/peers/stakers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_hash32 primary;
static const cd_hash32 net_a = {.b = {'a'}};
static const cd_hash32 net_b = {.b = {'b'}};
static const cd_hash32 elsewhere = {.b = {'z'}};

static u64 p_height;
static u32 reads;
static const cd_hash32 *broken; /* the net that cannot be read; NULL: all can */

static cd_err current(const cd_vm_validators *v, u64 *height)
{
    (void)v;
    *height = p_height;
    return CD_OK;
}

/* Node i validates the primary network with 1 + i from height i on; net a has nodes 1 and 9 (which is no validator of
 * the primary network) and a weight that is inactive; net b has node 2, who has left at height 5. */
static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    (void)v;
    reads++;
    cd_vm_validator *all = cd_arena_zalloc(a, 8 * sizeof *all);
    usize n = 0;
    if (broken != NULL && cd_hash32_eq(broken, subnet)) {
        return CD_EMISSING;
    }
    if (cd_hash32_is_zero(subnet)) {
        for (u64 i = 0; i < height && n < 8; i++) {
            all[n++] = (cd_vm_validator){.node_id = {.b = {(u8)i}}, .weight = 1 + i, .has_key = i == 0};
        }
    } else if (cd_hash32_eq(subnet, &net_a)) {
        all[n++] = (cd_vm_validator){.weight = 1000}; /* of validators without money: nobody in particular */
        all[n++] = (cd_vm_validator){.node_id = {.b = {1}}, .weight = 10, .has_key = true, .key = {7}};
        all[n++] = (cd_vm_validator){.node_id = {.b = {9}}, .weight = 20};
    } else if (cd_hash32_eq(subnet, &net_b) && height < 5) {
        all[n++] = (cd_vm_validator){.node_id = {.b = {2}}, .weight = 5};
    }
    *out = all;
    *cnt = n;
    return CD_OK;
}

static const cd_vm_validators p_chain = {.current = current, .at = at};

static u64 weight_of(const cd_stakers *s, const cd_hash32 *net, u8 node)
{
    const cd_staker *v = cd_stakers_find(s, net, &(cd_node_id){.b = {node}});
    return v == NULL ? 0 : v->weight;
}

static void each_net_its_own(void **state)
{
    (void)state;
    const cd_hash32 nets[] = {net_a, net_b};
    cd_stakers *s = cd_stakers_new(nets, 2);
    p_height = 4;
    broken = NULL;
    cd_stakers_look(s, NULL, NULL);
    assert_int_equal(cd_stakers_cnt(s, &primary), 0); /* nobody has said anything */
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(cd_stakers_cnt(s, &primary), 4);
    assert_int_equal(cd_stakers_weight(s, &primary), 1 + 2 + 3 + 4);
    assert_int_equal(cd_stakers_weight(s, &net_a), 1030);
    assert_int_equal(cd_stakers_weight(s, &net_b), 5);
    assert_int_equal(weight_of(s, &primary, 1), 2);
    assert_int_equal(weight_of(s, &net_a, 1), 10);
    assert_int_equal(cd_stakers_find(s, &net_a, &(cd_node_id){.b = {1}})->key[0], 7);
    assert_int_equal(weight_of(s, &net_b, 1), 0); /* a validator of one net is a stranger on another */
    assert_int_equal(weight_of(s, &primary, 9), 0);
    assert_int_equal(weight_of(s, &net_a, 9), 20);
    assert_int_equal(weight_of(s, &net_a, 77), 0);
    assert_int_equal(weight_of(s, &elsewhere, 1), 0); /* not tracked */
    assert_int_equal(cd_stakers_weight(s, &elsewhere), 0);
    assert_int_equal(cd_stakers_cnt(s, &elsewhere), 0);
    cd_stakers_free(s);
    cd_stakers_free(NULL);
}

static void they_come_and_go(void **state)
{
    (void)state;
    const cd_hash32 nets[] = {net_b};
    cd_stakers *s = cd_stakers_new(nets, 1);
    p_height = 4;
    cd_stakers_look(s, &p_chain, NULL);
    reads = 0;
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(reads, 0); /* the P-Chain has not gone on */
    p_height = 5;
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(weight_of(s, &net_b, 2), 0);
    assert_int_equal(cd_stakers_weight(s, &net_b), 0);
    assert_int_equal(cd_stakers_cnt(s, &primary), 5);
    cd_stakers_look(s, NULL, NULL); /* without a P-Chain those hold that were read last */
    assert_int_equal(cd_stakers_cnt(s, &primary), 5);
    cd_stakers_free(s);
}

static void what_cannot_be_read_stays(void **state)
{
    (void)state;
    const cd_hash32 nets[] = {net_a, net_b};
    cd_stakers *s = cd_stakers_new(nets, 2);
    p_height = 3;
    broken = NULL;
    cd_stakers_look(s, &p_chain, NULL);
    broken = &net_a;
    p_height = 5;
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(cd_stakers_weight(s, &net_a), 1030);
    assert_int_equal(cd_stakers_weight(s, &net_b), 0); /* the others are read all the same */
    assert_int_equal(cd_stakers_cnt(s, &primary), 5);
    broken = &primary;
    p_height = 6;
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(cd_stakers_cnt(s, &primary), 5);
    broken = NULL;
    cd_stakers_look(s, &p_chain, NULL); /* tried again though the height is the same */
    assert_int_equal(cd_stakers_cnt(s, &primary), 6);
    cd_stakers_free(s);
}

/* A peer may claim to track anything: only what somebody validates is kept, and as long as that is so. */
static void nets_of_peers(void **state)
{
    (void)state;
    cd_stakers *s = cd_stakers_new(&net_a, 1);
    broken = NULL;
    p_height = 4;
    assert_false(cd_stakers_want(s, &p_chain, &net_b)); /* the P-Chain has said nothing yet */
    cd_stakers_look(s, &p_chain, NULL);
    reads = 0;
    for (u32 i = 0; i < 5000; i++) {
        cd_hash32 net = {.b = {0xff}};
        cd_put_be32(net.b + 28, i);
        assert_true(cd_stakers_want(s, &p_chain, &net));
        assert_int_equal(cd_stakers_cnt(s, &net), 0);
    }
    assert_int_equal(reads, 5000);
    assert_true(cd_stakers_want(s, &p_chain, &net_b));
    assert_int_equal(weight_of(s, &net_b, 2), 5);
    assert_false(cd_stakers_want(s, &p_chain, &net_b)); /* it is there */
    assert_false(cd_stakers_want(s, &p_chain, &net_a));
    assert_false(cd_stakers_want(s, NULL, &elsewhere));
    p_height = 5; /* nobody validates it any more */
    reads = 0;
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(reads, 3);
    assert_int_equal(cd_stakers_cnt(s, &net_b), 0);
    p_height = 6;
    reads = 0;
    cd_stakers_look(s, &p_chain, NULL);
    assert_int_equal(reads, 2); /* and so it is not asked for */
    assert_int_equal(weight_of(s, &net_a, 9), 20);
    cd_stakers_free(s);
}

static void sum(void *ctx, const cd_node_id *node, const cd_staker *v)
{
    (void)node;
    *(u64 *)ctx += v->weight;
}

static void each(void **state)
{
    (void)state;
    cd_stakers *s = cd_stakers_new(&net_a, 1);
    u64 total = 0;
    p_height = 3;
    cd_stakers_look(s, &p_chain, NULL);
    cd_stakers_each(s, &net_a, sum, &total);
    assert_int_equal(total, 1030);
    cd_stakers_each(s, &elsewhere, sum, &total);
    assert_int_equal(total, 1030);
    cd_stakers_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_net_its_own),
        cmocka_unit_test(they_come_and_go),
        cmocka_unit_test(what_cannot_be_read_stays),
        cmocka_unit_test(nets_of_peers),
        cmocka_unit_test(each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
