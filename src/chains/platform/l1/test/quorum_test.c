/* How many may fail, in numbers and words, and steps that are refused. */
#include "chains/platform/l1/quorum.h"

#include "members.h"

static cd_arena mem;

static cd_l1_standing stand(const cd_l1_member *v, usize cnt)
{
    const cd_l1_quorum q = cd_l1_quorum_default();
    cd_l1_standing s;
    cd_l1_stand(&s, &mem, &q, v, cnt);
    return s;
}

/* The limits are those of the engine: 14 of 20 and not one unit of weight less. */
static void test_states(void **state)
{
    (void)state;
    const cd_l1_quorum q = cd_l1_quorum_default();
    assert_int_equal(cd_l1_state_of(&q, 0, 0), CD_L1_HALTS);
    assert_int_equal(cd_l1_state_of(&q, 100, 100), CD_L1_RUNS);
    assert_int_equal(cd_l1_state_of(&q, 76, 100), CD_L1_RUNS);
    assert_int_equal(cd_l1_state_of(&q, 75, 100), CD_L1_SLOW);
    assert_int_equal(cd_l1_state_of(&q, 70, 100), CD_L1_SLOW);
    assert_int_equal(cd_l1_state_of(&q, 69, 100), CD_L1_HALTS);
    assert_int_equal(cd_l1_state_of(&q, UINT64_MAX / 10 * 7, UINT64_MAX), CD_L1_HALTS); /* just less */
    assert_int_equal(cd_l1_state_of(&q, UINT64_MAX, UINT64_MAX), CD_L1_RUNS);
}

static void test_equal_weights(void **state)
{
    static const struct {
        usize cnt, can_fail, halting, alone;
        cd_l1_state one_away;
        const char *text;
    } rows[] = {
        {1, 0, 1, 1, CD_L1_HALTS, "No validator can fail: one of one vote, and any one that fails halts it."},
        {3, 0, 1, 3, CD_L1_HALTS, "No validator can fail: three of three vote, and any one that fails halts it."},
        {4, 1, 2, 0, CD_L1_SLOW, "One of four validators can fail, whichever; two can halt it."},
        {5, 1, 2, 0, CD_L1_RUNS, "One of five validators can fail, whichever; two can halt it."},
        {10, 3, 4, 0, CD_L1_RUNS, "Three of ten validators can fail, whichever; four can halt it."},
        {20, 6, 7, 0, CD_L1_RUNS, "Six of 20 validators can fail, whichever; seven can halt it."},
    };
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_l1_member v[MEMBERS_MAX];
        members_make(v, rows[i].cnt);
        cd_l1_standing s = stand(v, rows[i].cnt);
        assert_int_equal(s.state, CD_L1_RUNS);
        assert_true(s.signs);
        assert_int_equal(s.can_fail, rows[i].can_fail);
        assert_int_equal(s.halting, rows[i].halting);
        assert_int_equal(s.alone, rows[i].alone);
        assert_string_equal(cd_l1_stand_text(&mem, &s, rows[i].cnt), rows[i].text);
        v[0].reach = CD_L1_AWAY;
        assert_int_equal(stand(v, rows[i].cnt).state, rows[i].one_away);
    }
}

/* Who has no balance or no key, or is away, is in the whole weight and does not vote. */
static void test_who_votes(void **state)
{
    (void)state;
    cd_l1_member v[10];
    members_make(v, 10);
    v[0].balance = 0;
    v[1].has_key = false;
    v[2].reach = CD_L1_AWAY;
    v[3].reach = CD_L1_THERE;
    cd_l1_standing s = stand(v, 10);
    assert_int_equal(s.total, 1000);
    assert_int_equal(s.there, 700);
    assert_int_equal(s.state, CD_L1_SLOW);
    assert_int_equal(s.can_fail, 0);
    assert_int_equal(s.alone, 7);
    assert_int_equal(s.inactive + s.keyless + s.away, 3);
    assert_true(s.signs);
    assert_int_equal(s.can_fail_w, 0);
    v[4].balance = 0;
    v[4].reach = CD_L1_AWAY; /* counts once, as inactive */
    s = stand(v, 10);
    assert_int_equal(s.state, CD_L1_HALTS);
    assert_int_equal(s.away, 1);
    assert_int_equal(s.halting, 0);
    assert_false(s.signs);
    assert_string_equal(cd_l1_stand_text(&mem, &s, 10), "It stands still: six of ten validators vote, with 600 of a "
                                                        "weight of 1000; 70% are needed.");
    s = stand(v, 0);
    assert_int_equal(s.state, CD_L1_HALTS);
    assert_string_equal(cd_l1_stand_text(&mem, &s, 0), "It has no validators.");
}

/* The heaviest fail first: what is said holds whoever fails. */
static void test_heavy(void **state)
{
    (void)state;
    cd_l1_member v[6];
    members_make(v, 6);
    v[4].weight = 300; /* of 800 */
    cd_l1_standing s = stand(v, 6);
    assert_int_equal(s.heaviest, 4);
    assert_int_equal(s.can_fail, 0);
    assert_int_equal(s.alone, 1);
    assert_string_equal(cd_l1_stand_text(&mem, &s, 6),
                        "No validator can fail: six of six vote, and one halts it alone.");
}

static cd_err step(cd_l1_member *v, usize cnt, cd_l1_step s, cd_errinfo *why)
{
    const cd_l1_quorum q = cd_l1_quorum_default();
    *why = (cd_errinfo){0};
    return cd_l1_step_check(&mem, &q, v, cnt, &s, why);
}

static void test_steps(void **state)
{
    (void)state;
    cd_errinfo why;
    cd_l1_member v[8];
    members_make(v, 5);
    const cd_hash32 first = v[0].validation_id;
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_CREATE}, &why), CD_OK);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_DISABLE, .validation_id = first}, &why), CD_OK);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = first}, &why), CD_OK);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_DISABLE, .validation_id = {{99}}}, &why), CD_ENOENT);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_ADD, .weight = UINT64_MAX}, &why), CD_ERANGE);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_ADD, .weight = 100, .balance = 5}, &why), CD_OK);

    v[1].balance = 0; /* the second one that does not vote halts it */
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_DISABLE, .validation_id = first}, &why), CD_EACCES);
    assert_non_null(strstr(why.msg, "60.0% of the weight"));
    v[1].balance = 1;
    v[1].reach = CD_L1_AWAY;
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_DISABLE, .validation_id = first}, &why), CD_EACCES);
    v[1].reach = CD_L1_THERE;

    /* one that pays nothing and outweighs the others */
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_ADD, .weight = 300}, &why), CD_EACCES);
    /* one that pays, and has too much */
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_ADD, .weight = 300, .balance = 1}, &why), CD_EACCES);
    assert_non_null(strstr(why.msg, "37.5% of the weight, more than a third"));
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = first, .weight = 201}, &why),
                     CD_EACCES);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = first, .weight = 200}, &why),
                     CD_OK);

    /* few validators: nothing better could be had */
    assert_int_equal(step(v, 1, (cd_l1_step){.kind = CD_L1_STEP_CREATE}, &why), CD_OK);
    assert_int_equal(step(v, 2, (cd_l1_step){.kind = CD_L1_STEP_CREATE}, &why), CD_OK);
    assert_int_equal(step(v, 3, (cd_l1_step){.kind = CD_L1_STEP_CREATE}, &why), CD_OK);
    assert_int_equal(step(v, 0, (cd_l1_step){.kind = CD_L1_STEP_CREATE}, &why), CD_EACCES);
    v[0].weight = 101;
    assert_int_equal(step(v, 3, (cd_l1_step){.kind = CD_L1_STEP_CREATE}, &why), CD_EACCES);
    assert_int_equal(step(v, 1, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = first}, &why), CD_EACCES);
    assert_non_null(strstr(why.msg, "last validator"));
}

/* What stands still may be mended, and nothing is held against a step that makes things better. */
static void test_mending(void **state)
{
    (void)state;
    cd_errinfo why;
    cd_l1_member v[6];
    members_make(v, 5);
    v[0].balance = 0;
    v[1].balance = 0;
    assert_int_equal(stand(v, 5).state, CD_L1_HALTS);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = v[0].validation_id}, &why),
                     CD_OK);
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_DISABLE, .validation_id = v[2].validation_id}, &why),
                     CD_EACCES);
    v[2].balance = 0; /* one of three that is removed is a step on the way */
    assert_int_equal(step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = v[0].validation_id}, &why),
                     CD_OK);
    members_make(v, 5);
    v[0].weight = 1000;
    assert_int_equal(
        step(v, 5, (cd_l1_step){.kind = CD_L1_STEP_WEIGHT, .validation_id = v[0].validation_id, .weight = 500}, &why),
        CD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states), cmocka_unit_test(test_equal_weights), cmocka_unit_test(test_who_votes),
        cmocka_unit_test(test_heavy),  cmocka_unit_test(test_steps),         cmocka_unit_test(test_mending),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cd_arena_fini(&mem);
    return failed;
}
