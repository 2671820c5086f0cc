/* Files of a dealt key: read as they were written, and refused by whom they are not for. [spec:finality#7] */
#include "finality/keys.h"

#include "base/mem/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 4 };

static void dealt_and_read(void **state)
{
    (void)state;
    static const u8 dealer[32] = {1};
    static const u8 secret[32] = {2};
    cd_fin_group *g = cd_new(cd_fin_group);
    cd_fin_group *read = cd_new(cd_fin_group);
    cd_secret shares[N];
    cd_buf group = {0};
    cd_buf again = {0};
    g->cnt = N;
    for (u32 i = 0; i < N; i++) {
        g->nodes[i] = (cd_node_id){{(u8)i, 3}};
    }
    assert_int_equal(cd_fin_deal(g, shares, dealer, secret), CD_OK);
    assert_int_equal(g->threshold, 3);
    cd_fin_group_put(&group, g);
    assert_true(group.n <= CD_FIN_GROUP_FILE_MAX);
    assert_int_equal(cd_fin_group_read(read, cd_buf_bytes(&group)), CD_OK);
    assert_true(cd_hash32_eq(&read->id, &g->id));
    cd_fin_group_put(&again, read);
    assert_true(cd_bytes_eq(cd_buf_bytes(&group), cd_buf_bytes(&again)));
    for (u32 i = 0; i < N; i++) {
        cd_buf file = {0};
        cd_secret mine;
        cd_fin_share_put(&file, g, (const cd_rt_share *)(const void *)shares[i].p);
        assert_true(file.n <= CD_FIN_SHARE_FILE_MAX);
        assert_int_equal(cd_fin_share_read(&mine, cd_buf_bytes(&file), read, &g->nodes[i]), CD_OK);
        assert_int_equal(((const cd_rt_share *)(const void *)mine.p)->index, i);
        cd_secret_fini(&mine);
        assert_int_equal(cd_fin_share_read(&mine, cd_buf_bytes(&file), read, &g->nodes[(i + 1) % N]), CD_EKEY);
        read->id.b[0] ^= 1;
        assert_int_equal(cd_fin_share_read(&mine, cd_buf_bytes(&file), read, &g->nodes[i]), CD_EKEY);
        read->id.b[0] ^= 1;
        assert_int_not_equal(cd_fin_share_read(&mine, cd_bytes_of(file.p, file.n - 1), read, &g->nodes[i]), CD_OK);
        cd_wipe(file.p, file.n);
        cd_buf_fini(&file);
    }
    assert_int_not_equal(cd_fin_group_read(read, cd_bytes_of(group.p, group.n - 1)), CD_OK);
    group.p[9] ^= 1; /* the threshold */
    assert_int_equal(cd_fin_group_read(read, cd_buf_bytes(&group)), CD_EFORMAT);
    for (u32 i = 0; i < N; i++) {
        cd_secret_fini(&shares[i]);
    }
    g->cnt = 2;
    assert_int_equal(cd_fin_deal(g, shares, dealer, secret), CD_EINVAL);
    g->cnt = N;
    g->nodes[1] = g->nodes[0];
    assert_int_equal(cd_fin_deal(g, shares, dealer, secret), CD_EINVAL);
    cd_buf_fini(&group);
    cd_buf_fini(&again);
    cd_free(g);
    cd_free(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dealt_and_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
