/* Checkpoints, and changes of the set followed from them: also lists that lie. [spec:finality#5] */
#include "finality/cert/test/years.h"

#include "crypto/hash/sha2.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const cd_fin_chain chains[] = {{"C", {{0xc}}}, {"P", {{0}}}};

/* A pool of nine, of whom six sign in each epoch; epoch k begins with validator k. */
typedef struct tale {
    world *pool;
    year_epoch epochs[8];
    cd_buf checkpoint;
    cd_buf changes;
    void *memory;
    cd_fin_book *book;
} tale;

enum { POOL = 9, MEMBERS = 6, EPOCHS = 8 };

static cd_fin_book *book_of(tale *t, u32 cap)
{
    cd_free(t->memory);
    t->memory = cd_alloc_aligned(16, cd_fin_book_bytes(cap));
    memset(t->memory, 0xa5, cd_fin_book_bytes(cap));
    t->book = cd_fin_book_init(t->memory, cap);
    return t->book;
}

static void checkpoint_at(tale *t, u32 k)
{
    cd_buf_clear(&t->checkpoint);
    cd_fin_checkpoint_put(&t->checkpoint, &t->epochs[k].epoch, chains, CD_COUNT(chains));
}

static tale *tale_new(void)
{
    tale *t = cd_new(tale);
    t->pool = world_new(POOL, 77, 0, false);
    for (u32 k = 0; k < EPOCHS; k++) {
        year_make(&t->epochs[k], t->pool, k, k, MEMBERS);
    }
    checkpoint_at(t, 0);
    cd_fin_changes_begin(&t->changes);
    (void)book_of(t, POOL);
    return t;
}

static void tale_free(tale *t)
{
    cd_buf_fini(&t->checkpoint);
    cd_buf_fini(&t->changes);
    cd_free(t->memory);
    world_free(t->pool);
    cd_free(t);
}

static void change(tale *t, u32 from, u32 to, cd_fin_type type)
{
    year_change(&t->changes, t->pool, &t->epochs[from], &t->epochs[to], &t->epochs[from], type);
}

static cd_fin_flaw open_book(tale *t)
{
    return cd_fin_book_open(t->book, cd_buf_bytes(&t->checkpoint));
}

static cd_fin_flaw follow(tale *t, u64 height)
{
    return cd_fin_book_follow(t->book, cd_buf_bytes(&t->changes), height);
}

/* The book's set is exactly that of an epoch: what verifying relies on. */
static void is_at(const tale *t, u32 k)
{
    const cd_fin_epoch *want = &t->epochs[k].epoch;
    const cd_fin_epoch *got = &t->book->epoch;
    cd_hash32 id;
    cd_fin_epoch_id(&id, want);
    assert_memory_equal(id.b, t->book->id.b, 32);
    assert_int_equal(got->number, want->number);
    assert_int_equal(got->set.from, want->set.from);
    assert_int_equal(got->set.total, want->set.total);
    assert_int_equal(got->set.cnt, want->set.cnt);
    for (u32 i = 0; i < want->set.cnt; i++) {
        const cd_fin_validator *a = &got->set.validators[i];
        const cd_fin_validator *b = &want->set.validators[i];
        assert_memory_equal(a->node.b, b->node.b, 20);
        assert_memory_equal(&a->bls, &b->bls, sizeof a->bls);
        assert_int_equal(a->weight, b->weight);
        assert_true((a->mldsa == NULL) == (b->mldsa == NULL));
        assert_true(a->mldsa == NULL || memcmp(a->mldsa, b->mldsa, CD_MLDSA_PK) == 0);
    }
}

static void followed(void **state)
{
    (void)state;
    tale *t = tale_new();
    for (u32 k = 1; k < EPOCHS; k++) {
        change(t, k - 1, k, k == 5 ? CD_FIN_BLS : CD_FIN_MLDSA);
    }
    assert_int_equal(cd_fin_checkpoint_cnt(cd_buf_bytes(&t->checkpoint)), MEMBERS);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    is_at(t, 0);
    assert_int_equal(follow(t, 199), CD_FLAW_NONE);
    is_at(t, 0);
    assert_int_equal(follow(t, 500), CD_FLAW_NONE);
    is_at(t, 4);
    assert_int_equal(t->book->changes, 4);
    assert_true(t->book->is_quantum_final);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    is_at(t, 7);
    assert_false(t->book->is_quantum_final);
    /* again: nothing to do */
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    assert_int_equal(t->book->changes, 7);
    /* names of chains, and the sum */
    assert_memory_equal(cd_fin_book_chain(t->book, cd_bytes_str("C"))->b, chains[0].id.b, 32);
    assert_null(cd_fin_book_chain(t->book, cd_bytes_str("D")));
    assert_memory_equal(t->book->sum.b, t->checkpoint.p + t->checkpoint.n - 32, 32);
    /* a checkpoint in the middle of the list */
    checkpoint_at(t, 3);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    is_at(t, 7);
    tale_free(t);
}

/* A change over several epochs, by those of the old set, and one with everything that a validator can change. */
static void passed_over(void **state)
{
    (void)state;
    tale *t = tale_new();
    year_epoch *last = &t->epochs[5];
    last->validators[2].weight = 7;
    last->validators[3].mldsa = NULL;
    last->validators[4].bls = last->validators[0].bls;
    last->validators[4].mldsa = t->pool->mldsa_pk[8];
    last->epoch.set.total = 0;
    for (u32 i = 0; i < last->epoch.set.cnt; i++) {
        last->epoch.set.total += last->validators[i].weight;
    }
    change(t, 0, 2, CD_FIN_MLDSA);
    change(t, 2, 5, CD_FIN_MLDSA);
    change(t, 5, 6, CD_FIN_BLS);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_int_equal(follow(t, 600), CD_FLAW_NONE);
    is_at(t, 5);
    assert_int_equal(t->book->changes, 2);
    tale_free(t);
}

/* A certificate of an epoch's set is good in its epoch alone. */
static void certificates(void **state)
{
    (void)state;
    tale *t = tale_new();
    cd_buf cert = {0};
    cd_fin_cert read;
    cd_fin_msg m = {.block = {{9}}, .height = 250, .time_ns = 5};
    change(t, 0, 1, CD_FIN_MLDSA);
    change(t, 1, 2, CD_FIN_MLDSA);
    u8 text[CD_FIN_MSG_BYTES];
    u8 of_pool[WORLD_MAX / 8] = {0};
    static const u8 bits[1] = {0x3f};
    cd_buf bls = {0};
    cd_fin_msg_enc(text, &m);
    for (u32 i = 0; i < MEMBERS; i++) {
        of_pool[t->epochs[1].member[i] / 8] |= (u8)(1 << t->epochs[1].member[i] % 8);
    }
    world_sign_bls(t->pool, &bls, of_pool, cd_bytes_of(text, sizeof text));
    cd_fin_cert c = {.chain = chains[0].id, .msg = m, .bits = {bits, 1}, .bls = cd_buf_bytes(&bls)};
    c.total = c.signed_by = t->epochs[1].epoch.set.total;
    cd_fin_cert_put(&cert, &c);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_int_not_equal(cd_fin_book_verify(t->book, &read, cd_buf_bytes(&cert), &chains[0].id), CD_FLAW_NONE);
    assert_int_equal(follow(t, m.height), CD_FLAW_NONE);
    is_at(t, 1);
    assert_int_equal(cd_fin_book_verify(t->book, &read, cd_buf_bytes(&cert), &chains[0].id), CD_FLAW_NONE);
    assert_int_equal(cd_fin_book_verify(t->book, &read, cd_buf_bytes(&cert), &chains[1].id), CD_FLAW_CHAIN);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    assert_int_equal(cd_fin_book_verify(t->book, &read, cd_buf_bytes(&cert), &chains[0].id), CD_FLAW_EPOCH);
    cd_buf_fini(&bls);
    cd_buf_fini(&cert);
    tale_free(t);
}

static void wrong_changes(void **state)
{
    (void)state;
    tale *t = tale_new();
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_int_equal(cd_fin_book_follow(t->book, cd_bytes_str("CDFC"), UINT64_MAX), CD_FLAW_CHANGES);
    /* a gap, a set that somebody else signed, a change back in height */
    change(t, 1, 2, CD_FIN_MLDSA);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_CHANGE_BASE);
    cd_buf_clear(&t->changes);
    cd_fin_changes_begin(&t->changes);
    cd_buf cert = {0};
    year_certify(&cert, t->pool, &t->epochs[4], &t->epochs[1], &t->epochs[4], CD_FIN_MLDSA);
    cd_fin_change_put(&t->changes, &t->epochs[0].epoch, &t->epochs[1].epoch, false, cd_buf_bytes(&cert));
    assert_int_not_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    is_at(t, 0);
    cd_buf_clear(&t->changes);
    cd_fin_changes_begin(&t->changes);
    t->epochs[1].epoch.set.from = 100;
    change(t, 0, 1, CD_FIN_MLDSA);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_CHANGE_BASE);
    t->epochs[1].epoch.set.from = 200;
    /* somebody leaves who was not there */
    year_epoch crowd;
    year_make(&crowd, t->pool, 0, 0, MEMBERS);
    crowd.validators[crowd.epoch.set.cnt++] = t->pool->validators[7];
    cd_buf_clear(&t->changes);
    cd_fin_changes_begin(&t->changes);
    cd_buf_clear(&cert);
    year_certify(&cert, t->pool, &t->epochs[0], &t->epochs[1], &t->epochs[0], CD_FIN_MLDSA);
    cd_fin_change_put(&t->changes, &crowd.epoch, &t->epochs[1].epoch, false, cd_buf_bytes(&cert));
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_CHANGE_SET);
    is_at(t, 0);
    /* the certificate of another set */
    cd_buf_clear(&t->changes);
    cd_fin_changes_begin(&t->changes);
    cd_buf_clear(&cert);
    year_certify(&cert, t->pool, &t->epochs[0], &t->epochs[2], &t->epochs[0], CD_FIN_MLDSA);
    cd_fin_change_put(&t->changes, &t->epochs[0].epoch, &t->epochs[1].epoch, false, cd_buf_bytes(&cert));
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_CHANGE_SET);
    is_at(t, 0);
    cd_buf_fini(&cert);
    tale_free(t);
}

/* Every changed bit and every cut of a list is noticed, and the book stays what it was. */
static void tampered_changes(void **state)
{
    (void)state;
    tale *t = tale_new();
    change(t, 0, 1, CD_FIN_BLS);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    /* the first 14 bytes behind the magic are the length and the base; bits of the height may put the change off */
    for (usize bit = 0; bit < t->changes.n * 8; bit += 3) {
        t->changes.p[bit / 8] ^= (u8)(1 << bit % 8);
        (void)!follow(t, UINT64_MAX);
        is_at(t, 0);
        t->changes.p[bit / 8] ^= (u8)(1 << bit % 8);
    }
    for (usize n = 0; n < t->changes.n; n++) {
        u8 *copy = cd_alloc(n);
        memcpy(copy, t->changes.p, n);
        cd_fin_flaw flaw = cd_fin_book_follow(t->book, cd_bytes_of(copy, n), UINT64_MAX);
        assert_int_equal(flaw, n == 6 ? CD_FLAW_NONE : CD_FLAW_CHANGES);
        cd_free(copy);
    }
    is_at(t, 0);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    is_at(t, 1);
    tale_free(t);
}

static void sum_again(cd_buf *b)
{
    cd_hash32 sum;
    cd_sha256(&sum, cd_bytes_of(b->p, b->n - 32));
    memcpy(b->p + b->n - 32, sum.b, 32);
}

static void tampered_checkpoints(void **state)
{
    (void)state;
    enum { CNT_AT = 6 + 54, WEIGHT_AT = 6 + 58 + 20, FIRST_BLS_AT = WEIGHT_AT + 8, MLDSA_AT = 6 + 58 + 108 * MEMBERS };
    tale *t = tale_new();
    cd_buf good = {0};
    cd_buf_put(&good, cd_buf_bytes(&t->checkpoint));
    for (usize bit = 0; bit < good.n * 8; bit += 77) {
        t->checkpoint.p[bit / 8] ^= (u8)(1 << bit % 8);
        cd_fin_flaw flaw = open_book(t);
        assert_int_equal(flaw, bit < 32 ? CD_FLAW_CHECKPOINT : CD_FLAW_CHECKPOINT_SUM);
        assert_int_equal(t->book->epoch.set.cnt, 0);
        t->checkpoint.p[bit / 8] ^= (u8)(1 << bit % 8);
    }
    /* with a sum that fits */
    static const struct {
        u32 at;
        cd_fin_flaw want;
    } wrong[] = {
        {6, CD_FLAW_CHECKPOINT},
        {CNT_AT, CD_FLAW_ROOM},
        {WEIGHT_AT - 20, CD_FLAW_CHECKPOINT_SET},
        {FIRST_BLS_AT, CD_FLAW_CHECKPOINT_SET},
        {MLDSA_AT, CD_FLAW_CHECKPOINT_SET},
        {MLDSA_AT + CD_MLDSA_PK * MEMBERS, CD_FLAW_CHECKPOINT_SET},
        {MLDSA_AT + CD_MLDSA_PK * MEMBERS + 4, CD_FLAW_CHECKPOINT_SET},
    };
    for (usize i = 0; i < CD_COUNT(wrong); i++) {
        t->checkpoint.p[wrong[i].at] ^= 0xc0;
        sum_again(&t->checkpoint);
        assert_int_equal(open_book(t), wrong[i].want);
        t->checkpoint.p[wrong[i].at] ^= 0xc0;
    }
    for (usize n = 33; n < good.n; n += 59) {
        t->checkpoint.n = n;
        sum_again(&t->checkpoint);
        assert_int_not_equal(open_book(t), CD_FLAW_NONE);
        memcpy(t->checkpoint.p, good.p, good.n);
    }
    t->checkpoint.n = good.n;
    cd_fin_cert read;
    assert_int_equal(cd_fin_book_verify(t->book, &read, (cd_bytes){0}, &chains[0].id), CD_FLAW_CHECKPOINT);
    assert_int_equal(follow(t, 0), CD_FLAW_CHECKPOINT);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    is_at(t, 0);
    /* room */
    (void)book_of(t, MEMBERS - 1);
    assert_int_equal(open_book(t), CD_FLAW_ROOM);
    (void)book_of(t, MEMBERS);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    change(t, 0, 1, CD_FIN_MLDSA);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_NONE);
    is_at(t, 1);
    cd_buf_clear(&t->changes);
    cd_fin_changes_begin(&t->changes);
    year_make(&t->epochs[2], t->pool, 2, 1, MEMBERS + 1);
    change(t, 1, 2, CD_FIN_MLDSA);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_ROOM);
    is_at(t, 1);
    cd_buf_fini(&good);
    tale_free(t);
}

/* Threshold keys come with checkpoints and changes, are known by their hash, and stay while it stays. */
static void groups(void **state)
{
    (void)state;
    tale *t = tale_new();
    world *w = world_new(MEMBERS, 78, 0, true);
    cd_rt_key_id(&t->epochs[1].epoch.group_id, &w->group);
    t->epochs[1].epoch.set.group = &w->group;
    t->epochs[2].epoch.group_id = t->epochs[1].epoch.group_id;
    change(t, 0, 1, CD_FIN_MLDSA);
    usize first = t->changes.n;
    change(t, 1, 2, CD_FIN_MLDSA);
    change(t, 2, 3, CD_FIN_MLDSA);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_null(t->book->epoch.set.group);
    assert_int_equal(follow(t, 299), CD_FLAW_NONE);
    assert_memory_equal(t->book->epoch.set.group->a, w->group.a, sizeof w->group.a);
    assert_int_equal(follow(t, 399), CD_FLAW_NONE);
    assert_non_null(t->book->epoch.set.group);
    is_at(t, 2);
    assert_int_equal(follow(t, 499), CD_FLAW_NONE);
    assert_null(t->book->epoch.set.group);
    /* a key that is not the one of the ID */
    t->changes.n = first;
    for (usize i = first - 1; i > 0; i--) {
        if (memcmp(t->changes.p + i, "\0\2\4\x50", 4) == 0) {
            t->changes.p[i + 40] ^= 1;
            break;
        }
    }
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_int_equal(follow(t, UINT64_MAX), CD_FLAW_CHANGE_GROUP);
    is_at(t, 0);
    /* a checkpoint with one */
    checkpoint_at(t, 1);
    assert_int_equal(open_book(t), CD_FLAW_NONE);
    assert_non_null(t->book->epoch.set.group);
    world_free(w);
    tale_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(followed),      cmocka_unit_test(passed_over),      cmocka_unit_test(certificates),
        cmocka_unit_test(wrong_changes), cmocka_unit_test(tampered_changes), cmocka_unit_test(tampered_checkpoints),
        cmocka_unit_test(groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
