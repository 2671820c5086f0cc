/* Catching up in storms: random peers of which more than half are honest, who come, go, grow, lie and lose messages,
 * and a node that is killed at any moment. Whatever happens, what it accepts is the honest chain; and when the storm is
 * over it gets there. */
#include "consensus/test/bootstrap_rig.h"

enum { STORMS = 150, ROUNDS = 60 };

/* Checks that the node has accepted what the honest peers have accepted. */
static void is_honest(const rig *r, u32 honest)
{
    cd_hash32 id;
    const cd_hash32 *last = &r->t->blocks.last;
    assert_int_equal(toy_at(r->peers[honest].t, &id, r->t->blocks.last_height), CD_OK);
    assert_true(cd_hash32_eq(&id, last));
}

/* A message that nobody has asked for, or that comes late, or twice. */
static void noise(rig *r, cd_rng *rng)
{
    const member *p = &r->peers[cd_rng_below(rng, r->peer_cnt)];
    const cd_hash32 id = p->t->blocks.last;
    u32 request = (u32)cd_rng_below(rng, bootstrap_of(r->e)->request + 2);
    u8 block[TOY_SIZE];
    toy_enc(block, &id, cd_rng_below(rng, 300), 1 + cd_rng_below(rng, 1000));
    const cd_bytes blocks[] = {cd_bytes_of(block, cd_rng_below(rng, 2) == 0 ? TOY_SIZE : 7)};
    switch (cd_rng_below(rng, 4)) {
    case 0:
        if (p->manner == LIES) { /* what an honest one says is true */
            cd_bootstrap_frontier(r->e, &p->id, request, &id);
        }
        break;
    case 1:
        if (p->manner == LIES) {
            cd_bootstrap_accepted(r->e, &p->id, request, &id, 1);
        }
        break;
    case 2:
        cd_bootstrap_ancestors(r->e, &p->id, request, blocks, 1, r->now_ns);
        break;
    default:
        cd_bootstrap_failed(r->e, &p->id, request);
        break;
    }
}

/* The chain of the honest peers grows; all of them accept it soon. */
static void grow_honest(rig *r, cd_rng *rng, u64 *number)
{
    u32 cnt = (u32)cd_rng_below(rng, 40);
    for (u32 i = 0; i < r->peer_cnt; i++) {
        if (r->peers[i].manner != LIES) {
            grow(r->peers[i].t, r->peers[i].kv, cnt, *number);
        }
    }
    *number += cnt;
}

static void weather(rig *r, cd_rng *rng, u64 *number)
{
    const member *p = &r->peers[cd_rng_below(rng, r->peer_cnt)];
    switch (cd_rng_below(rng, 12)) {
    case 0:
        cd_bootstrap_disconnected(r->e, &p->id);
        break;
    case 1:
    case 2:
        cd_bootstrap_connected(r->e, &p->id);
        break;
    case 3:
        grow_honest(r, rng, number);
        break;
    case 4:
        close_own(r); /* whatever was asked is forgotten */
        open_own(r);
        break;
    case 5:
    case 6:
    case 7:
        noise(r, rng);
        break;
    case 8: /* what was asked and not answered yet is lost */
        while (r->asked < r->ask_cnt) {
            const ask a = r->asks[r->asked++];
            cd_bootstrap_failed(r->e, &a.to, a.request);
        }
        r->asked = r->ask_cnt = 0;
        break;
    default:
        tick(r, 100 + cd_rng_below(rng, 2000));
        break;
    }
}

static void a_storm(u64 seed)
{
    static const manner dishonest[] = {LIES, LIES, SILENT, EMPTY, GARBAGE, ONE_BY_ONE};
    rig r;
    cd_rng rng = cd_rng_seeded(seed);
    u64 number = 100;
    begin(&r);
    r.rng = cd_rng_seeded(seed + 1000);
    u32 peers = 3 + (u32)cd_rng_below(&rng, PEERS - 2);
    u32 others = (u32)cd_rng_below(&rng, (peers + 1) / 2); /* dishonest peers: fewer than half */
    u32 blocks = (u32)cd_rng_below(&rng, 200);
    for (u32 i = 0; i < peers; i++) {
        add_peer(&r, i < others ? dishonest[cd_rng_below(&rng, CD_COUNT(dishonest))] : HONEST, blocks);
    }
    number += blocks;
    r.may_run = false; /* the node looks for more blocks again and again */
    open_own(&r);
    for (u32 i = 0; i < ROUNDS; i++) {
        weather(&r, &rng, &number);
        for (u64 k = cd_rng_below(&rng, 60); k != 0 && pump_one(&r); k--) {
        }
        is_honest(&r, peers - 1);
    }
    for (u32 i = 0; i < peers; i++) {
        cd_bootstrap_connected(r.e, &r.peers[i].id);
    }
    go(&r, 60);
    if (r.t->blocks.last_height != r.peers[peers - 1].t->blocks.last_height) {
        fail_msg("storm %llu is over, and the node is not there", (unsigned long long)seed);
    }
    is_honest(&r, peers - 1);
    r.may_run = true;
    go(&r, 12);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    end(&r);
}

static void storms(void **state)
{
    (void)state;
    for (u64 seed = 0; seed < STORMS; seed++) {
        a_storm(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
