/* ML-DSA keys that are replaced, lost, told in two ways, and announced by those whose they are not.
 * [spec:finality#6] */
#include "finality/test/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Validator i has another key from now on, its old one is lost. */
static void other_key(network *n, u32 i, u8 seed)
{
    u8 bytes[CD_MLDSA_SEED] = {seed, (u8)i};
    cd_mldsa_keygen(n->w->mldsa_pk[i], n->w->mldsa_sk[i], bytes);
}

static const u8 *key_at(network *n, u32 at, u32 of)
{
    u64 number;
    cd_fin_set set;
    assert_true(cd_finality_newest(n->node[at].f, &number, &set));
    return set.validators[of].mldsa;
}

static void all_know(network *n, u32 of, const u8 *key)
{
    for (u32 i = 0; i < n->n; i++) {
        assert_non_null(key_at(n, i, of));
        assert_memory_equal(key_at(n, i, of), key, CD_MLDSA_PK);
    }
}

static u64 refused(network *n)
{
    u64 all = 0;
    for (u32 i = 0; i < n->n; i++) {
        cd_finality_stats stats;
        cd_finality_stats_get(n->node[i].f, &stats);
        all += stats.refused;
    }
    return all;
}

/* What validator `by` signs as the key of `of`. */
static cd_buf announcement(network *n, u32 of, u32 by, const u8 *key, u64 number)
{
    cd_buf text = {0};
    cd_buf out = {0};
    u8 proof[CD_BLS_SIG_LEN];
    cd_fin_key_text(&text, &n->w->validators[of].node, key, number);
    assert_int_equal(net_sign(&n->node[by].signer, proof, cd_buf_bytes(&text)), CD_OK);
    const cd_fin_says says = {.kind = number == 0 ? CD_FIN_SAYS_KEY : CD_FIN_SAYS_NEXT_KEY,
                              .node = n->w->validators[of].node,
                              .number = number,
                              .bytes = cd_bytes_of(key, CD_MLDSA_PK),
                              .proof = cd_bytes_of(proof, sizeof proof)};
    cd_fin_says_put(&out, &says);
    cd_buf_fini(&text);
    return out;
}

static void is_final_everywhere(network *n, u64 height)
{
    net_accept(n, height, true);
    net_run(n, 8000);
    assert_int_equal(net_count(n, height, CD_FIN_MLDSA), n->n);
}

/* Each in turn starts with a new key: the others take it, and the old one does not count any more. */
static void rotated(void **state)
{
    (void)state;
    network *n = net_new(4, 300, false);
    net_run(n, 100);
    is_final_everywhere(n, 1);
    for (u32 i = 0; i < 4; i++) {
        u8 old[CD_MLDSA_PK];
        memcpy(old, n->w->mldsa_pk[i], sizeof old);
        net_kill(n, i);
        other_key(n, i, 77);
        net_revive(n, i);
        net_run(n, 100);
        all_know(n, i, n->w->mldsa_pk[i]);
        is_final_everywhere(n, 2 + i);
        net_run(n, 61000);                            /* so that it could be taken */
        cd_buf again = announcement(n, i, i, old, 0); /* what it said first, again */
        for (u32 to = 0; to < 4; to++) {
            net_push(n, (i + 1) % 4, to, cd_buf_bytes(&again), NULL);
        }
        net_run(n, 100);
        all_know(n, i, n->w->mldsa_pk[i]);
        cd_buf_fini(&again);
    }
    assert_int_equal(refused(n), 0);
    for (u32 i = 0; i < 4; i++) { /* and it is known after starts */
        net_kill(n, i);
        net_revive(n, i);
        for (u32 of = 0; of < 4; of++) {
            assert_memory_equal(key_at(n, i, of), n->w->mldsa_pk[of], CD_MLDSA_PK);
        }
    }
    net_free(n);
}

/* A validator has lost its key and all it knew: the others tell it that they know another. */
static void lost(void **state)
{
    (void)state;
    for (u8 seed = 1; seed <= 6; seed++) { /* whichever hash is lesser */
        network *n = net_new(4, 310 + seed, false);
        net_run(n, 100);
        net_kill(n, 2);
        cd_kv_close(n->node[2].kv);
        n->node[2].kv = cd_kv_mem_open();
        other_key(n, 2, seed);
        net_revive(n, 2);
        net_run(n, 500);
        all_know(n, 2, n->w->mldsa_pk[2]);
        is_final_everywhere(n, 1);
        net_free(n);
    }
}

/* In the name of another, with any number: refused. By the owner's own older words: nothing comes of it. */
static void by_somebody_else(void **state)
{
    (void)state;
    network *n = net_new(4, 320, false);
    net_run(n, 100);
    const u64 numbers[] = {0, 1, 9, UINT64_MAX};
    u8 least[CD_MLDSA_PK] = {0};
    for (usize k = 0; k < CD_COUNT(numbers); k++) {
        for (u8 x = 0; x < 8; x++) {
            least[0] = x;
            cd_buf forged = announcement(n, 1, 0, least, numbers[k]);
            cd_finality_hear(n->node[2].f, &n->w->validators[x % 4].node, cd_buf_bytes(&forged), n->now);
            cd_buf_fini(&forged);
        }
        assert_memory_equal(key_at(n, 2, 1), n->w->mldsa_pk[1], CD_MLDSA_PK);
    }
    assert_true(refused(n) >= 3);
    /* the number is signed, too */
    cd_buf moved = announcement(n, 1, 1, least, 1);
    moved.p[3 + 32 + CD_FIN_MSG_BYTES + CD_FIN_NODE_BYTES + 7] = 2;
    cd_finality_hear(n->node[3].f, &n->w->validators[1].node, cd_buf_bytes(&moved), n->now);
    assert_memory_equal(key_at(n, 3, 1), n->w->mldsa_pk[1], CD_MLDSA_PK);
    cd_buf_fini(&moved);
    net_free(n);
}

/* Who tells one key to some and another to others: all end with the same, and the set changes go on. */
static void two_ways(void **state)
{
    (void)state;
    network *n = net_new(5, 330, false);
    net_run(n, 100);
    u8 keys[2][CD_MLDSA_PK];
    u8 secret[CD_MLDSA_SK];
    for (u8 k = 0; k < 2; k++) {
        u8 seed[CD_MLDSA_SEED] = {9, k};
        cd_mldsa_keygen(keys[k], secret, seed);
    }
    net_kill(n, 0);
    n->node[0].is_dead = false; /* its words are on their way still */
    for (u32 to = 1; to < 5; to++) {
        cd_buf one = announcement(n, 0, 0, keys[to % 2], 3);
        cd_finality_hear(n->node[to].f, &n->w->validators[0].node, cd_buf_bytes(&one), n->now);
        cd_buf_fini(&one);
    }
    n->node[0].is_dead = true;
    for (u32 i = 0; i < 80; i++) {
        net_accept(n, 1 + i, true); /* what is held is looked at again when there is news */
        net_run(n, 1000);
    }
    for (u32 i = 2; i < 5; i++) {
        assert_memory_equal(key_at(n, i, 0), key_at(n, 1, 0), CD_MLDSA_PK);
    }
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotated),
        cmocka_unit_test(lost),
        cmocka_unit_test(by_somebody_else),
        cmocka_unit_test(two_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
