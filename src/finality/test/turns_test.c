/* Sets that sign the next one over the network, and what somebody with an old checkpoint makes of it.
 * [spec:finality#5] */
#include "finality/test/network.h"

#include "finality/cert/book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CAP = 16 };

/* A new set begins at a height, a quarter of an hour after the one before: all but the left out, with that weight of
 * the first. */
static void set_begins(network *n, u64 height, u64 weight, u32 without)
{
    cd_vm_validator set[NET_MAX];
    u32 cnt = 0;
    for (u32 i = 0; i < n->n; i++) {
        if (i != without) {
            set[cnt] = n->validators[i];
            set[cnt].weight = i == 0 ? weight : set[cnt].weight;
            cnt++;
        }
    }
    for (u32 i = 0; i < n->n; i++) {
        if (!n->node[i].is_dead) {
            assert_int_equal(cd_finality_pblock(n->node[i].f, height, 1000 + 900 * height, set, cnt), CD_OK);
        }
    }
}

static cd_buf checkpoint_of(network *n, u32 i)
{
    cd_buf out = {0};
    cd_fin_epoch e = {.network = 0};
    assert_true(cd_finality_newest(n->node[i].f, &e.number, &e.set));
    e.set.group = NULL;
    cd_fin_checkpoint_put(&out, &e, NULL, 0);
    return out;
}

static cd_buf changes_of(network *n, u32 i, u64 from)
{
    cd_buf out = {0};
    assert_int_equal(cd_finality_changes(n->node[i].kv, &out, from, NULL), CD_OK);
    return out;
}

/* Follows a list from a checkpoint; what is wrong, and to which epoch it leads in how many changes. */
static cd_fin_flaw follow(cd_buf *point, const cd_buf *list, u64 *epoch, u32 *changes, bool *is_quantum)
{
    cd_fin_book *b = cd_fin_book_init(cd_alloc_aligned(16, cd_fin_book_bytes(CAP)), CAP);
    assert_int_equal(cd_fin_book_open(b, cd_buf_bytes(point)), CD_FLAW_NONE);
    cd_fin_flaw flaw = cd_fin_book_follow(b, cd_buf_bytes(list), UINT64_MAX - 1);
    *epoch = b->epoch.number;
    *changes = b->changes;
    *is_quantum = b->is_quantum_final;
    cd_free(b);
    return flaw;
}

static void leads(network *n, cd_buf *point, u32 i, u64 from, u64 to, u32 steps, bool quantum)
{
    u64 epoch;
    u32 changes;
    bool is_quantum;
    cd_buf list = changes_of(n, i, from);
    assert_int_equal(follow(point, &list, &epoch, &changes, &is_quantum), CD_FLAW_NONE);
    assert_int_equal(epoch, to);
    assert_int_equal(changes, steps);
    assert_int_equal(is_quantum, quantum);
    cd_buf_fini(&list);
}

/* Each epoch is signed by the one before; who was away for many follows in one step, as two thirds have stayed. */
static void followed(void **state)
{
    (void)state;
    network *n = net_new(5, 200, false);
    net_run(n, 100);
    cd_buf point = checkpoint_of(n, 0);
    for (u64 e = 1; e <= 6; e++) {
        set_begins(n, e, 100 + e, UINT32_MAX);
        net_run(n, 3000);
        for (u32 i = 0; i < 5; i++) {
            leads(n, &point, i, 0, e, 1, true);
        }
    }
    cd_buf later = checkpoint_of(n, 1);
    leads(n, &later, 2, 6, 6, 0, true);
    cd_buf list = {0};
    assert_int_equal(cd_finality_changes(n->node[0].kv, &list, 99, NULL), CD_ENOENT);
    cd_buf_fini(&list);
    cd_buf_fini(&later);
    cd_buf_fini(&point);
    net_free(n);
}

/* A validator that leaves, another that comes: the new one is in the set that strangers then know. */
static void members_change(void **state)
{
    (void)state;
    network *n = net_new(6, 210, false);
    net_run(n, 100);
    set_begins(n, 1, 100, 5);
    net_run(n, 3000);
    cd_buf point = checkpoint_of(n, 0);
    set_begins(n, 2, 100, 0);
    net_run(n, 3000);
    cd_finality_stats stats;
    cd_finality_stats_get(n->node[1].f, &stats);
    assert_int_equal(stats.refused, 0);
    for (u32 i = 0; i < 5; i++) {
        leads(n, &point, i, 1, 2, 1, true);
    }
    /* the checkpoint of somebody who knows fewer keys, or others, still leads there as far as its signers' are known */
    cd_fin_epoch e = {0};
    cd_fin_book *b = cd_fin_book_init(cd_alloc_aligned(16, cd_fin_book_bytes(CAP)), CAP);
    assert_int_equal(cd_fin_book_open(b, cd_buf_bytes(&point)), CD_FLAW_NONE);
    e = b->epoch;
    cd_fin_validator *v = cd_alloc(sizeof *v * e.set.cnt);
    memcpy(v, e.set.validators, sizeof *v * e.set.cnt);
    v[0].mldsa = n->w->mldsa_pk[4]; /* who left, and did not sign this one, for it is dead */
    e.set.validators = v;
    cd_buf other = {0};
    cd_fin_checkpoint_put(&other, &e, NULL, 0);
    cd_buf list = changes_of(n, 1, 1);
    u64 epoch;
    u32 changes;
    bool is_quantum;
    assert_int_equal(follow(&other, &list, &epoch, &changes, &is_quantum), CD_FLAW_MLDSA);
    cd_buf_fini(&list);
    cd_buf_fini(&other);
    cd_buf_fini(&point);
    cd_free(v);
    cd_free(b);
    net_free(n);
}

/* Two of five are dead: less than two thirds sign nothing; with one more, all is signed. */
static void too_little_stake(void **state)
{
    (void)state;
    network *n = net_new(5, 220, false);
    net_run(n, 100);
    cd_buf point = checkpoint_of(n, 0);
    net_kill(n, 3);
    net_kill(n, 4);
    set_begins(n, 1, 101, UINT32_MAX);
    net_run(n, 70000);
    leads(n, &point, 0, 0, 0, 0, true);
    net_revive(n, 3);
    net_run(n, 100);
    cd_vm_validator set[NET_MAX];
    memcpy(set, n->validators, sizeof set);
    set[0].weight = 101;
    assert_int_equal(cd_finality_pblock(n->node[3].f, 1, 1900, set, 5), CD_OK);
    net_run(n, 40000);
    for (u32 i = 0; i < 4; i++) {
        leads(n, &point, i, 0, 1, 1, true);
    }
    /* the fourth comes when all is done, and is given the certificate */
    net_revive(n, 4);
    assert_int_equal(cd_finality_pblock(n->node[4].f, 1, 1900, set, 5), CD_OK);
    net_run(n, 40000);
    leads(n, &point, 4, 0, 1, 1, true);
    cd_buf_fini(&point);
    net_free(n);
}

/* --- lies --- */

static bool is_of_set(const cd_fin_says *s)
{
    return cd_hash32_eq(&s->chain, &cd_fin_epoch_chain);
}

static int forged(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    if (from == 0 && is_of_set(says)) {
        bytes->p[bytes->n - 40] ^= 1;
    }
    return 0;
}

/* A signature that is good, of something else. */
static int of_something_else(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)to;
    if (from == 0 && is_of_set(says) && says->kind == CD_FIN_SAYS_SHARE) {
        CD_ASSERT(net_sign(&n->node[0].signer, bytes->p + bytes->n - CD_BLS_SIG_LEN, cd_bytes_str("else")) == CD_OK);
    }
    return 0;
}

/* In the name of another. */
static int named(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)to;
    if (from == 0 && is_of_set(says) && (says->kind == CD_FIN_SAYS_SHARE || says->kind == CD_FIN_SAYS_STAMP)) {
        memcpy(bytes->p + 3 + 32 + CD_FIN_MSG_BYTES, n->w->validators[1].node.b, CD_FIN_NODE_BYTES);
    }
    return 0;
}

static int without_stamps(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)from;
    (void)to;
    (void)bytes;
    return is_of_set(says) && says->kind == CD_FIN_SAYS_STAMP;
}

static void lies(void **state)
{
    (void)state;
    net_filter *const filters[] = {forged, named, of_something_else};
    for (usize k = 0; k < CD_COUNT(filters); k++) {
        network *n = net_new(4, 230 + k, false);
        net_run(n, 100);
        cd_buf point = checkpoint_of(n, 1);
        n->filter = filters[k];
        set_begins(n, 1, 101, UINT32_MAX);
        net_run(n, 3000);
        for (u32 i = 1; i < 4; i++) {
            leads(n, &point, i, 0, 1, 1, true);
        }
        cd_finality_stats stats;
        cd_finality_stats_get(n->node[1].f, &stats);
        assert_true(stats.refused != 0);
        cd_buf_fini(&point);
        net_free(n);
    }
}

/* Without ML-DSA there is a change by BLS alone, which says so; once the others come, it is replaced. */
static void by_bls_alone(void **state)
{
    (void)state;
    network *n = net_new(4, 240, false);
    net_run(n, 100);
    cd_buf point = checkpoint_of(n, 0);
    n->filter = without_stamps;
    set_begins(n, 1, 101, UINT32_MAX);
    net_run(n, 3000);
    leads(n, &point, 1, 0, 1, 1, false);
    n->filter = NULL;
    net_run(n, 40000);
    leads(n, &point, 1, 0, 1, 1, true);
    cd_buf cert = {0};
    assert_int_equal(cd_finality_cert_at(n->node[1].kv, &cert, &cd_fin_epoch_chain, 1), CD_OK);
    assert_int_equal(cert.p[2], CD_FIN_MLDSA);
    cd_buf_fini(&cert);
    cd_buf_fini(&point);
    net_free(n);
}

/* Signatures and certificates of an older turn, said again in a newer one by their owners and by others. */
static cd_buf said[64];
static u32 said_by[64];
static u32 said_cnt;

static int remember(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    if (is_of_set(says) && said_cnt < CD_COUNT(said)) {
        cd_buf_put(&said[said_cnt], cd_buf_bytes(bytes));
        said_by[said_cnt++] = from;
    }
    return 0;
}

static void replayed(void **state)
{
    (void)state;
    network *n = net_new(4, 250, false);
    net_run(n, 100);
    cd_buf point = checkpoint_of(n, 0);
    said_cnt = 0;
    n->filter = remember;
    set_begins(n, 1, 101, UINT32_MAX);
    net_run(n, 3000);
    assert_true(said_cnt >= 8);
    cd_buf old = changes_of(n, 0, 0);
    n->filter = NULL;
    net_kill(n, 2);
    net_kill(n, 3); /* so that nobody can sign the next one, but by what was said */
    set_begins(n, 2, 102, UINT32_MAX);
    for (u32 i = 0; i < said_cnt; i++) {
        for (u32 to = 0; to < 2; to++) {
            cd_finality_hear(n->node[to].f, &n->w->validators[said_by[i]].node, cd_buf_bytes(&said[i]), n->now);
        }
    }
    net_run(n, 20000);
    leads(n, &point, 0, 0, 1, 1, true);
    /* the old change again: it leads nobody back */
    u64 epoch;
    u32 changes;
    bool is_quantum;
    cd_buf newer = checkpoint_of(n, 0);
    assert_int_equal(follow(&newer, &old, &epoch, &changes, &is_quantum), CD_FLAW_NONE);
    assert_int_equal(epoch, 2);
    assert_int_equal(changes, 0);
    /* and any bit of it that is another leads nowhere */
    cd_rng rng = cd_rng_seeded(9);
    for (u32 i = 0; i < 200; i++) {
        u64 bit = 80 + cd_rng_below(&rng, (old.n - 10) * 8);
        old.p[bit / 8] ^= (u8)(1 << bit % 8);
        cd_fin_flaw flaw = follow(&point, &old, &epoch, &changes, &is_quantum);
        assert_true(flaw != CD_FLAW_NONE || changes == 0);
        old.p[bit / 8] ^= (u8)(1 << bit % 8);
    }
    for (u32 i = 0; i < said_cnt; i++) {
        cd_buf_fini(&said[i]);
    }
    cd_buf_fini(&old);
    cd_buf_fini(&newer);
    cd_buf_fini(&point);
    net_free(n);
}

/* kill -9 of each in the middle: what was signed stays, and nothing is signed in two ways. */
static void killed(void **state)
{
    (void)state;
    network *n = net_new(4, 260, false);
    net_run(n, 100);
    cd_buf point = checkpoint_of(n, 0);
    set_begins(n, 1, 101, UINT32_MAX);
    for (u32 i = 0; i < 4; i++) {
        net_run(n, 4);
        net_kill(n, i);
        net_revive(n, i);
    }
    net_run(n, 40000);
    for (u32 i = 0; i < 4; i++) {
        leads(n, &point, i, 0, 1, 1, true);
    }
    set_begins(n, 2, 102, UINT32_MAX);
    net_run(n, 3000);
    for (u32 i = 0; i < 4; i++) {
        net_kill(n, i);
        net_revive(n, i);
        leads(n, &point, i, 0, 2, 1, true);
    }
    cd_buf_fini(&point);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(followed), cmocka_unit_test(members_change), cmocka_unit_test(too_little_stake),
        cmocka_unit_test(lies),     cmocka_unit_test(by_bls_alone),   cmocka_unit_test(replayed),
        cmocka_unit_test(killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
