/* Epochs: begun by block time and by sets that differ, six of them kept, and stored. [spec:finality#1] */
#include "finality/epochs.h"

#include "base/mem/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NODES = 5 };
static cd_vm_validator pool[NODES];

static int make_pool(void **state)
{
    (void)state;
    for (u32 i = 0; i < NODES; i++) {
        const u8 seed[32] = {(u8)i, 1};
        cd_bls_sk sk;
        cd_bls_pk pk;
        pool[i] = (cd_vm_validator){.node_id = {{(u8)i, 7}}, .weight = 100 + i, .has_key = true};
        assert_int_equal(cd_bls_keygen(&sk, cd_bytes_of(seed, sizeof seed)), CD_OK);
        assert_int_equal(cd_bls_pk_of(&pk, &sk), CD_OK);
        cd_bls_pk_enc_raw(pool[i].key, &pk);
    }
    return 0;
}

/* Tells a block with the first cnt of the pool; whether an epoch began. */
static bool tell(cd_fin_epochs *e, u64 height, u64 time_s, usize cnt)
{
    bool is_new = false;
    assert_int_equal(cd_fin_epochs_block(e, &is_new, height, time_s, pool, cnt), CD_OK);
    return is_new;
}

static void boundaries(void **state)
{
    (void)state;
    cd_fin_epochs e = {0};
    assert_null(cd_fin_epochs_of(&e, 0));
    assert_true(cd_fin_epochs_wants(&e, 0));
    assert_true(tell(&e, 0, 1000, 3));
    assert_false(tell(&e, 1, 1599, 4)); /* differs, but is too early by a second */
    assert_false(cd_fin_epochs_wants(&e, 1599));
    assert_false(tell(&e, 2, 1600, 3)); /* late enough, but the same */
    assert_true(tell(&e, 3, 1700, 4));
    assert_false(tell(&e, 4, 2299, 3)); /* ten minutes count from the epoch's beginning */
    assert_true(tell(&e, 5, 2300, 3));
    assert_int_equal(cd_fin_epochs_of(&e, 2)->number, 0);
    assert_int_equal(cd_fin_epochs_of(&e, 3)->number, 1);
    assert_int_equal(cd_fin_epochs_of(&e, 4)->set.cnt, 4);
    assert_int_equal(cd_fin_epochs_of(&e, 4)->set.until, 5);
    assert_int_equal(cd_fin_epochs_of(&e, 99)->number, 2);
    assert_int_equal(cd_fin_epochs_of(&e, 99)->set.total, 303);
    assert_null(cd_fin_epochs_numbered(&e, 3));
    cd_fin_epochs_fini(&e);
}

static void weights_and_keys_count(void **state)
{
    (void)state;
    cd_fin_epochs e = {0};
    assert_true(tell(&e, 0, 0, 3));
    pool[1].weight++;
    assert_true(tell(&e, 1, 600, 3));
    pool[1].weight--;
    pool[2].has_key = false; /* signs no more */
    assert_true(tell(&e, 2, 1200, 3));
    assert_int_equal(cd_fin_epochs_of(&e, 2)->set.cnt, 2);
    assert_int_equal(cd_fin_set_find(&cd_fin_epochs_of(&e, 2)->set, &pool[1].node_id), 1);
    assert_int_equal(cd_fin_set_find(&cd_fin_epochs_of(&e, 2)->set, &pool[2].node_id), 2);
    pool[2].has_key = true;
    cd_fin_epochs_fini(&e);
}

static void nobody_begins_none(void **state)
{
    (void)state;
    cd_fin_epochs e = {0};
    bool is_new;
    pool[0].has_key = false;
    assert_false(tell(&e, 0, 0, 0));
    assert_false(tell(&e, 1, 0, 1));
    pool[0].has_key = true;
    assert_int_equal(cd_fin_epochs_block(&e, &is_new, 3, 0, pool, 1), CD_EINVAL); /* a height is missing */
    assert_true(tell(&e, 2, 0, 1));
    assert_int_equal(cd_fin_epochs_of(&e, 2)->set.from, 2);
    assert_null(cd_fin_epochs_of(&e, 1));
    const cd_vm_validator twice[] = {pool[0], pool[0]};
    assert_int_equal(cd_fin_epochs_block(&e, &is_new, 3, 9999, twice, 2), CD_EINVAL);
    cd_fin_epochs_fini(&e);
}

static void six_are_kept_and_stored(void **state)
{
    (void)state;
    cd_fin_epochs e = {0};
    cd_fin_epochs read;
    cd_buf bytes = {0};
    cd_buf again = {0};
    for (u64 i = 0; i < 9; i++) {
        assert_true(tell(&e, i, i * CD_FIN_EPOCH_S, 2 + i % 3));
    }
    assert_int_equal(e.cnt, CD_FIN_EPOCHS_KEPT);
    assert_null(cd_fin_epochs_of(&e, 2));
    assert_int_equal(cd_fin_epochs_of(&e, 3)->number, 3);
    cd_fin_epochs_put(&bytes, &e);
    assert_int_equal(cd_fin_epochs_read(&read, cd_buf_bytes(&bytes)), CD_OK);
    cd_fin_epochs_put(&again, &read);
    assert_true(cd_bytes_eq(cd_buf_bytes(&bytes), cd_buf_bytes(&again)));
    assert_int_equal(cd_fin_epochs_of(&read, 5)->set.until, 6);
    assert_true(tell(&read, 9, (u64)9 * CD_FIN_EPOCH_S, 3));
    cd_fin_epochs_fini(&read);
    for (usize n = 0; n < bytes.n; n += n < 64 ? 1 : 31) {
        assert_int_not_equal(cd_fin_epochs_read(&read, cd_bytes_of(bytes.p, n)), CD_OK);
    }
    cd_fin_epochs_fini(&e);
    cd_buf_fini(&bytes);
    cd_buf_fini(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundaries),
        cmocka_unit_test(weights_and_keys_count),
        cmocka_unit_test(nobody_begins_none),
        cmocka_unit_test(six_are_kept_and_stored),
    };
    return cmocka_run_group_tests(tests, make_pool, NULL);
}
